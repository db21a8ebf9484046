//! Addresses of record in the one form in which they are compared (RFC 3261 §10.3 step 5):
//! `user@host`, or the digits of a telephone number; without parameters, the host in small
//! letters.

use core::fmt;
use core::ops::Deref;
use sip::{Scheme, Uri};

/// Octets of an address of record at most.
pub const AOR_BYTES_MAX: usize = 255;

/// An address of record, kept in place.
#[derive(Clone, Copy)]
pub struct Aor {
    length: u8,
    bytes: [u8; AOR_BYTES_MAX],
}

impl Deref for Aor {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl PartialEq for Aor {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Aor {}

impl fmt::Debug for Aor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self))
    }
}

impl Aor {
    /// The address of record that a URI names; `None` for other schemes and for one too long.
    #[must_use]
    pub fn of(uri: &Uri<'_>) -> Option<Self> {
        let mut aor = Self { length: 0, bytes: [0; AOR_BYTES_MAX] };
        match uri.scheme {
            Scheme::Tel => uri.digits().try_for_each(|digit| aor.push(digit))?,
            Scheme::Sip | Scheme::Sips => {
                if let Some(user) = uri.user {
                    user.iter().try_for_each(|&octet| aor.push(octet))?;
                    aor.push(b'@')?;
                }
                uri.host.iter().try_for_each(|octet| aor.push(octet.to_ascii_lowercase()))?;
            }
            Scheme::Other => return None,
        }
        (aor.length > 0).then_some(aor)
    }

    /// As [`Aor::of`], from the URI as text.
    #[must_use]
    pub fn parse(uri: &[u8]) -> Option<Self> {
        Self::of(&Uri::parse(uri).ok()?)
    }

    fn push(&mut self, octet: u8) -> Option<()> {
        *self.bytes.get_mut(usize::from(self.length))? = octet;
        self.length += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(uri: &str) -> Option<String> {
        Aor::parse(uri.as_bytes()).map(|aor| format!("{aor:?}"))
    }

    #[test]
    fn one_user_has_one_form() {
        let alice = Some("alice@example.com".to_owned());
        for uri in [
            "sip:alice@Example.COM",
            "sips:alice@example.com;user=phone",
            "sip:alice@example.com:5060",
        ] {
            assert_eq!(form(uri), alice, "{uri}");
        }
        assert_ne!(form("sip:Alice@example.com"), alice);
        assert_eq!(form("tel:+49-30-1234;phone-context=x"), Some("+49301234".to_owned()));
        assert_eq!(form("http://example.com"), None);
        assert_eq!(form(&format!("sip:{}@x", "a".repeat(300))), None);
    }
}
