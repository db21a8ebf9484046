//! Contact with the parameters of registrations (RFC 3261 §20.10, RFC 5626).

use crate::address::NameAddr;
use crate::octet;
use crate::param;
use wire::Malformed;

/// The option tag of client-initiated connections (RFC 5626 §10).
pub const OPTION_OUTBOUND: &[u8] = b"outbound";
/// The option tag of Path (RFC 3327 §3).
pub const OPTION_PATH: &[u8] = b"path";

/// One Contact value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contact<'a> {
    /// `*`: all bindings.
    All,
    /// An address.
    Address(NameAddr<'a>),
}

impl<'a> Contact<'a> {
    /// Reads one Contact value.
    ///
    /// # Errors
    /// As [`NameAddr::parse`].
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        if value == b"*" { Ok(Self::All) } else { NameAddr::parse(value).map(Self::Address) }
    }

    /// The address, unless it is `*`.
    #[must_use]
    pub const fn address(&self) -> Option<NameAddr<'a>> {
        match self {
            Self::All => None,
            Self::Address(address) => Some(*address),
        }
    }
}

impl<'a> NameAddr<'a> {
    /// `expires` in seconds; a value that is no number counts as 3600 and one past 32 bits as
    /// 2^32 - 1 (RFC 3261 §20.10, §20.19).
    #[must_use]
    pub fn expires_s(&self) -> Option<u32> {
        let text = self.param(b"expires")?;
        let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let number = octet::number(text, u32::MAX.into()).unwrap_or(u32::MAX);
        Some(if is_number { number } else { 3600 })
    }

    /// `q` in thousandths, 0 to 1000; `None` when absent or malformed.
    #[must_use]
    pub fn q_thousandths(&self) -> Option<u16> {
        let text = self.param(b"q")?;
        let (whole, fraction) = match memchr::memchr(b'.', text) {
            Some(dot) => (&text[..dot], &text[dot + 1..]),
            None => (text, &b""[..]),
        };
        let whole: u16 = octet::number(whole, 1)?;
        if fraction.len() > 3 || !fraction.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let digit = |at: usize| fraction.get(at).map_or(0, |&octet| u16::from(octet - b'0'));
        let value = whole * 1000 + digit(0) * 100 + digit(1) * 10 + digit(2);
        (value <= 1000).then_some(value)
    }

    /// `+sip.instance` without quotes and angle brackets: a URN (RFC 5626 §4.1).
    #[must_use]
    pub fn instance(&self) -> Option<&'a [u8]> {
        let text = param::unquoted(self.param(b"+sip.instance")?);
        Some(text.strip_prefix(b"<").and_then(|t| t.strip_suffix(b">")).unwrap_or(text))
    }

    /// `reg-id`: which of its flows the agent registers, 1 to 2^31 - 1 (RFC 5626 §4.2).
    #[must_use]
    pub fn reg_id(&self) -> Option<u32> {
        let id: u32 = octet::number(self.param(b"reg-id")?, (1 << 31) - 1)?;
        (id > 0).then_some(id)
    }

    /// Whether the URI asks to be reached over the flow of its registration: `ob` (RFC 5626 §5.4).
    #[must_use]
    pub fn is_outbound(&self) -> bool {
        self.parse_uri().is_ok_and(|uri| uri.param(b"ob").is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> NameAddr<'_> {
        NameAddr::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_parameters_of_a_registered_contact_are_read() {
        let contact = address(
            "<sip:a@192.0.2.2;transport=tcp;ob>;reg-id=1;expires=3600;q=0.75;\
             +sip.instance=\"<urn:uuid:00000000-0000-1000-8000-000A95A0E128>\"",
        );
        assert_eq!(contact.expires_s(), Some(3600));
        assert_eq!(contact.q_thousandths(), Some(750));
        assert_eq!(contact.reg_id(), Some(1));
        assert!(contact.is_outbound());
        assert_eq!(contact.instance(), Some(&b"urn:uuid:00000000-0000-1000-8000-000A95A0E128"[..]));
    }

    #[test]
    fn a_star_is_all_contacts() {
        assert_eq!(Contact::parse(b"*"), Ok(Contact::All));
        assert!(Contact::parse(b"<sip:a@b>").unwrap().address().is_some());
    }

    #[test]
    fn odd_expires_and_q_values_are_tamed() {
        assert_eq!(address("<sip:a@b>;expires=280297596632815").expires_s(), Some(u32::MAX));
        assert_eq!(address("<sip:a@b>;expires=soon").expires_s(), Some(3600));
        for (q, expected) in
            [("1", Some(1000)), ("1.000", Some(1000)), ("0", Some(0)), (".5", None), ("1.1", None)]
        {
            assert_eq!(address(&format!("<sip:a@b>;q={q}")).q_thousandths(), expected, "{q}");
        }
    }
}
