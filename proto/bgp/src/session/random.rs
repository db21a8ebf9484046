//! Jitter from a seed (RFC 4271 §10).

use machine::Duration;

/// A small generator (splitmix64): sessions of one process shall not act in step.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        it ^ (it >> 31)
    }

    /// Between three quarters of `time` and all of it.
    pub(super) fn jitter(&mut self, time: Duration) -> Duration {
        let per_mille = 750 + (self.next() % 251) as u32;
        time * per_mille / 1_000
    }
}
