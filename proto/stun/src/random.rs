//! Transactions, fragments and passwords that nobody can guess, from the seed that the machine was
//! given (RFC 8489 §5, RFC 8445 §5.3).

use crate::message::TransactionId;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The characters of fragments and passwords (RFC 8839 §5.4, `ice-char`): six bits each.
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A generator of unguessable numbers.
#[derive(Debug)]
pub(crate) struct Random(ChaCha12Rng);

impl Random {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self(ChaCha12Rng::from_seed(seed))
    }

    pub(crate) fn long(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn transaction(&mut self) -> TransactionId {
        let mut octets = [0; 12];
        self.0.fill_bytes(&mut octets);
        TransactionId(octets)
    }

    pub(crate) fn characters(&mut self, count: usize) -> Box<str> {
        let mut octets = vec![0; count];
        self.0.fill_bytes(&mut octets);
        let characters = octets.iter().map(|it| char::from(CHARACTERS[usize::from(it & 0x3F)]));
        characters.collect::<String>().into()
    }
}
