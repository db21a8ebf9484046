//! The keys of a file: one a line, the newest first.

use aws_lc_rs::hmac;
use core::fmt;

/// Shortest key, characters: 128 bits in base64 have more, and 64 bits in hexadecimal as many.
pub const KEY_CHARACTERS_MIN: usize = 16;
/// Keys that are accepted at the same time.
pub const KEYS_MAX: usize = 4;

/// What is wrong with a text of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysError {
    /// There is none.
    None,
    /// The key in this line, counted from one, is shorter than [`KEY_CHARACTERS_MIN`].
    Short(usize),
    /// There are more than [`KEYS_MAX`].
    Many,
}

impl fmt::Display for KeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("it has no key"),
            Self::Short(line) => {
                write!(f, "the key in line {line} has less than {KEY_CHARACTERS_MIN} characters")
            }
            Self::Many => write!(f, "it has more than {KEYS_MAX} keys"),
        }
    }
}

impl core::error::Error for KeysError {}

/// Keys that both ends know: the first one seals, each of them opens.
#[derive(Clone)]
pub struct Keys(Vec<hmac::Key>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.0.len())
    }
}

impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        self.prove(b"equal", &[]) == other.prove(b"equal", &[])
    }
}

impl Eq for Keys {}

impl Keys {
    /// Reads the text of a key file: one key a line, empty lines and those that begin with `#`
    /// are passed over.
    ///
    /// # Errors
    /// No key, a short one, or too many.
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        let lines = text.lines().map(str::trim).enumerate();
        let mut keys = Vec::new();
        for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            if line.len() < KEY_CHARACTERS_MIN {
                return Err(KeysError::Short(at + 1));
            }
            if keys.len() == KEYS_MAX {
                return Err(KeysError::Many);
            }
            keys.push(hmac::Key::new(hmac::HMAC_SHA256, line.as_bytes()));
        }
        if keys.is_empty() { Err(KeysError::None) } else { Ok(Self(keys)) }
    }

    /// The proofs that this end has each of the keys, the newest first: of a challenge that the
    /// other end drew at random for this one time. `label` says to what end; no label is the begin
    /// of another.
    #[must_use]
    pub fn prove(&self, label: &[u8], challenge: &[u8]) -> Vec<Vec<u8>> {
        self.proofs(label, challenge).map(|proof| proof.as_ref().to_vec()).collect()
    }

    /// Whether somebody who has one of the keys made this proof.
    #[must_use]
    pub fn is_proof(&self, label: &[u8], challenge: &[u8], proof: &[u8]) -> bool {
        // All are compared: how long it takes says nothing of which.
        self.proofs(label, challenge).fold(false, |is, one| is | crate::same(one.as_ref(), proof))
    }

    fn proofs(&self, label: &[u8], challenge: &[u8]) -> impl Iterator<Item = hmac::Tag> {
        self.0.iter().map(move |key| {
            let mut proof = hmac::Context::with_key(key);
            proof.update(label);
            proof.update(&[0]);
            proof.update(challenge);
            proof.sign()
        })
    }

    /// A key of 32 octets for one use from each of the keys, the one that seals first:
    /// HMAC-SHA-256 as the pseudorandom function of SP 800-108 §4.1. `label` says what the key is
    /// for, `context` between whom and when; no label is the begin of another.
    pub(crate) fn derived<'a>(
        &'a self,
        label: &'a [u8],
        context: u64,
    ) -> impl Iterator<Item = [u8; 32]> + 'a {
        self.0.iter().map(move |key| {
            let mut derivation = hmac::Context::with_key(key);
            derivation.update(label);
            derivation.update(&[0]);
            derivation.update(&context.to_be_bytes());
            let mut octets = [0; 32];
            octets.copy_from_slice(derivation.sign().as_ref());
            octets
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_challenge_and_end_by_any_of_the_keys() {
        let old = Keys::parse("0123456789abcdef\n").unwrap();
        let both = Keys::parse("fedcba9876543210\n0123456789abcdef\n").unwrap();
        let proof = old.prove(b"door", b"challenge").remove(0);
        assert!(both.is_proof(b"door", b"challenge", &proof));
        let proofs = both.prove(b"door", b"challenge");
        let are = proofs.iter().map(|it| old.is_proof(b"door", b"challenge", it));
        assert_eq!(are.collect::<Vec<_>>(), [false, true]);
        for (label, challenge) in [(&b"window"[..], &b"challenge"[..]), (b"door", b"challengf")] {
            assert!(!both.is_proof(label, challenge, &proof));
        }
        assert!(
            !both.is_proof(b"door", b"challenge", &[]) && !both.is_proof(b"", b"", &proof[1..])
        );
        assert!(old == old.clone() && old != both);
    }

    #[test]
    fn a_file_has_one_to_four_keys_and_each_gives_a_key_of_its_own() {
        let keys = Keys::parse("# ours\n\n  0123456789abcdef \nfedcba9876543210\n").unwrap();
        let derived: Vec<_> = keys.derived(b"a", 1).collect();
        assert_eq!(derived.len(), 2);
        assert_ne!(derived[0], derived[1]);
        for (label, context) in [(&b"b"[..], 1), (b"a", 2)] {
            assert_ne!(keys.derived(label, context).next(), Some(derived[0]));
        }
        assert_eq!(format!("{keys:?}"), "2 keys");
        let refused = |text: &str| Keys::parse(text).unwrap_err();
        assert_eq!(refused("# nothing\n"), KeysError::None);
        assert_eq!(refused("0123456789abcdef\nshort\n"), KeysError::Short(2));
        assert_eq!(refused(&"0123456789abcdef\n".repeat(5)), KeysError::Many);
    }
}
