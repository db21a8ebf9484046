//! Single messages between processes, sealed by a secret that both know: HMAC-SHA-256
//! (RFC 2104), cut to its first half. How old a message is it says itself.

use crate::same;
use aws_lc_rs::hmac;

/// Octets of the seal at the end of a message.
pub const SEAL_BYTES: usize = 16;

/// What both ends know.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl Secret {
    /// The secret that `text` says.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes()))
    }

    /// Appends the seal.
    pub fn seal(&self, message: &mut Vec<u8>) {
        let tag = hmac::sign(&self.0, message);
        message.extend_from_slice(&tag.as_ref()[..SEAL_BYTES]);
    }

    /// The message without its seal; `None` unless the seal is right.
    #[must_use]
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (message, seal) = bytes.split_last_chunk::<SEAL_BYTES>()?;
        let tag = hmac::sign(&self.0, message);
        same(&tag.as_ref()[..SEAL_BYTES], seal).then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_or_sealed_by_another_secret_is_not_opened() {
        let (secret, other) = (Secret::new("one"), Secret::new("two"));
        let mut bytes = b"a report".to_vec();
        secret.seal(&mut bytes);
        assert_eq!(secret.open(&bytes), Some(&b"a report"[..]));
        assert_eq!(other.open(&bytes), None);
        for n in 0..bytes.len() {
            bytes[n] ^= 1;
            assert_eq!(secret.open(&bytes), None, "{n}");
            bytes[n] ^= 1;
        }
        assert_eq!(secret.open(&bytes[..9]), None);
    }
}
