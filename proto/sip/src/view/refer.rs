//! Replaces, Join, Target-Dialog (RFC 3891, 3911, 4538) and Privacy (RFC 3323, 3325, 7044).

use crate::octet::{self, SPACE};
use crate::param;
use wire::Malformed;

/// A dialog, named by a request outside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replaces<'a> {
    /// Its Call-ID.
    pub call_id: &'a [u8],
    /// The tag of the far end of that dialog, seen from the receiver: its local tag.
    pub to_tag: &'a [u8],
    /// The tag of the other end.
    pub from_tag: &'a [u8],
    /// Whether only an early dialog may be replaced.
    pub is_early_only: bool,
}

impl<'a> Replaces<'a> {
    /// Reads a Replaces value. Join and Target-Dialog are written alike; the latter's
    /// `local-tag` counts as `to-tag`, its `remote-tag` as `from-tag`.
    ///
    /// # Errors
    /// No Call-ID, not exactly one of each tag, or a bad parameter.
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let end = memchr::memchr(b';', value).unwrap_or(value.len());
        let call_id = octet::trim(&value[..end]);
        if call_id.is_empty() || call_id.iter().any(|&octet| octet::is(octet, SPACE)) {
            return Err(Malformed::new(0, "Replaces without a Call-ID", "RFC 3891 §6.1"));
        }
        let params = &value[end..];
        param::check(params).map_err(|m| m.shifted(end))?;
        let tag = |names: [&[u8]; 2]| {
            let mut found = param::Params::new(params)
                .filter(|p| names.iter().any(|name| octet::same(p.name, name)));
            let tag = found.next().and_then(|p| p.value);
            tag.filter(|_| found.next().is_none()).ok_or(Malformed::new(
                end,
                "Replaces without both tags",
                "RFC 3891 §6.1",
            ))
        };
        Ok(Self {
            call_id,
            to_tag: tag([b"to-tag", b"local-tag"])?,
            from_tag: tag([b"from-tag", b"remote-tag"])?,
            is_early_only: param::param(params, b"early-only").is_some(),
        })
    }
}

/// What a Privacy header asks to hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Privacy {
    /// `none`: hide nothing, whatever the default is.
    pub none: bool,
    /// `header`: headers that name the user's equipment.
    pub header: bool,
    /// `session`: media addresses.
    pub session: bool,
    /// `user`: From, Subject, … (RFC 3323 §4.1).
    pub user: bool,
    /// `id`: P-Asserted-Identity (RFC 3325 §9.3).
    pub id: bool,
    /// `history`: History-Info (RFC 7044 §9.3).
    pub history: bool,
    /// `critical`: refuse the request if privacy cannot be had.
    pub critical: bool,
}

/// Reads a Privacy value: tokens separated by `;` (and `,`, as some write it).
#[must_use]
pub fn privacy(value: &[u8]) -> Privacy {
    let mut found = Privacy::default();
    for token in value.split(|&octet| octet == b';' || octet == b',').map(octet::trim) {
        for (name, wish) in [
            (&b"none"[..], &mut found.none),
            (b"header", &mut found.header),
            (b"session", &mut found.session),
            (b"user", &mut found.user),
            (b"id", &mut found.id),
            (b"history", &mut found.history),
            (b"critical", &mut found.critical),
        ] {
            *wish |= octet::same(token, name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaces_names_a_dialog() {
        let replaces =
            Replaces::parse(b"425928@bobster.example.org;to-tag=7743;from-tag=6472;early-only")
                .unwrap();
        assert_eq!(replaces.call_id, b"425928@bobster.example.org");
        assert_eq!((replaces.to_tag, replaces.from_tag), (&b"7743"[..], &b"6472"[..]));
        assert!(replaces.is_early_only);
        for bad in ["", ";to-tag=1;from-tag=2", "c;to-tag=1", "c;to-tag=1;to-tag=1;from-tag=2"] {
            assert!(Replaces::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_privacy_header_is_a_set_of_wishes() {
        let wishes = privacy(b"Header; user;id ;critical;unknowntoken");
        let expected =
            Privacy { header: true, user: true, id: true, critical: true, ..Privacy::default() };
        assert_eq!(wishes, expected);
        assert!(privacy(b"none").none);
    }
}
