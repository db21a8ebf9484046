//! Chance by seed: the only source of it in a simulation.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A generator that gives the same numbers for the same seed, on every machine.
#[derive(Debug, Clone)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// A fraction: at least 0, below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with that probability, 0 to 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// 32 secret-looking bytes, as a shard gets at its start.
    pub fn seed(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
