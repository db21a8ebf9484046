//! Tags, TSNs and nonces that nobody can guess, from the seed that the endpoint was given
//! (RFC 9260 §5.3.1, RFC 4086).

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A generator of unguessable numbers.
#[derive(Debug)]
pub(crate) struct Random(ChaCha12Rng);

impl Random {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self(ChaCha12Rng::from_seed(seed))
    }

    pub(crate) fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    pub(crate) fn long(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A tag: zero is none.
    pub(crate) fn tag(&mut self) -> u32 {
        self.word().max(1)
    }

    pub(crate) fn key(&mut self) -> [u8; 32] {
        let mut key = [0; 32];
        self.0.fill_bytes(&mut key);
        key
    }
}
