//! Chance by seed: SplitMix64, the same numbers on every machine and in every version.

/// A source of numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(end)) >> 64) as u64
    }

    /// The index of one of `weights`, by their weight; 0 when there is none.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let all = weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut left = self.below(all);
        for (index, weight) in weights.iter().enumerate() {
            match left.checked_sub(u64::from(*weight)) {
                Some(rest) => left = rest,
                None => return index,
            }
        }
        0
    }
}
