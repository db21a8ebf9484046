//! A word that a protocol carries in clear to say who speaks (HEP3 chunk 14).

use crate::same;
use core::fmt;

/// A password that no log shows.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// The password that `text` says.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its octets; none where there is no password.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Whether `word` is it; in the same time for all words of its length.
    #[must_use]
    pub fn is(&self, word: &[u8]) -> bool {
        same(self.as_bytes(), word)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "***" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_recognised_and_never_shown() {
        let password = Password::new("open sesame");
        assert!(password.is(b"open sesame"));
        assert!(!password.is(b"open sesamE") && !password.is(b"open") && !password.is(b""));
        assert_eq!(format!("{password:?} {:?}", Password::default()), "*** none");
    }
}
