//! Who may speak between processes of an operator: keys that both ends were given in a file, and
//! what is made of them. No clocks, files or randomness: the caller brings them.
//!
//! - [`Keys`]: the lines of a key file. The first one seals, every one of them opens, so that a key
//!   is changed one end after the other.
//! - [`Secret`]: seals single messages (HMAC-SHA-256) that say by themselves how old they are.
//! - [`Password`]: what a protocol wants to be told in clear.
//! - [`channel`]: datagrams between two ends, encrypted and each taken once. It needs no clock: a
//!   new life of the other end proves that it is there now.
//! - [`same`]: compares two secrets in constant time.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod channel;
mod keys;
mod password;
mod seal;
mod window;

pub use channel::{DATAGRAM_BYTES_ADDED, Opener, Refused, Sealer, channel};
pub use keys::{KEY_CHARACTERS_MIN, KEYS_MAX, Keys, KeysError};
pub use password::Password;
pub use seal::{SEAL_BYTES, Secret};

/// Whether two secrets are the same. Takes the same time for all of one length.
#[must_use]
pub fn same(one: &[u8], other: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(one, other).is_ok()
}
