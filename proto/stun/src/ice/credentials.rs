//! Fragments and passwords (RFC 8445 §5.3, RFC 8839 §5.4).

use crate::random::Random;
use core::fmt;
use wire::Malformed;

/// Characters of a fragment that is made here: 48 random bits, of which 24 are asked for.
pub const FRAGMENT_CHARACTERS: usize = 8;
/// Characters of a password that is made here: 144 random bits, of which 128 are asked for.
pub const PASSWORD_CHARACTERS: usize = 24;
/// Characters of a fragment and of a password at least and at most.
const FRAGMENT: core::ops::RangeInclusive<usize> = 4..=256;
const PASSWORD: core::ops::RangeInclusive<usize> = 22..=256;
const SPEC: &str = "RFC 8839 §5.4";

/// The fragment of a user name and the password of one side.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    fragment: Box<str>,
    password: Box<str>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("fragment", &self.fragment).finish_non_exhaustive()
    }
}

/// Text of characters that stand in a fragment or a password.
fn read(text: &[u8], length: core::ops::RangeInclusive<usize>) -> Option<Box<str>> {
    let is_character = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/');
    let is_valid = length.contains(&text.len()) && text.iter().all(is_character);
    is_valid.then(|| String::from_utf8_lossy(text).into_owned().into())
}

impl Credentials {
    /// Those that the values of `a=ice-ufrag` and `a=ice-pwd` are.
    ///
    /// # Errors
    /// A length or a character that they cannot have.
    pub fn read(fragment: &[u8], password: &[u8]) -> Result<Self, Malformed> {
        let violation = |what| Malformed::new(0, what, SPEC);
        Ok(Self {
            fragment: read(fragment, FRAGMENT).ok_or(violation("the fragment is none"))?,
            password: read(password, PASSWORD).ok_or(violation("the password is none"))?,
        })
    }

    /// New ones, by a seed that is used once.
    #[must_use]
    pub fn generate(seed: [u8; 32]) -> Self {
        let mut random = Random::new(seed);
        Self {
            fragment: random.characters(FRAGMENT_CHARACTERS),
            password: random.characters(PASSWORD_CHARACTERS),
        }
    }

    /// The value of `a=ice-ufrag`.
    #[must_use]
    pub fn fragment(&self) -> &str {
        &self.fragment
    }

    /// The value of `a=ice-pwd`.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Appends both as lines of SDP.
    pub fn write_lines(&self, out: &mut String) {
        for (name, value) in [("ice-ufrag", &self.fragment), ("ice-pwd", &self.password)] {
            out.extend(["a=", name, ":", value, "\r\n"]);
        }
    }
}
