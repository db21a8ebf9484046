//! Chance by seed: SplitMix64, the same numbers on every machine and in every version.

/// A source of numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

/// The number that belongs to `value`: every one to another, and neighbours far apart.
#[inline]
pub(crate) const fn mix(value: u64) -> u64 {
    let mixed = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Random {
    /// From a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    #[inline]
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `end`; 0 when `end` is 0.
    #[inline]
    pub fn below(&mut self, end: u32) -> u32 {
        (((self.number() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// A fraction: at least 0, below 1.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Brings `all` into another order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at as u32 + 1) as usize);
        }
    }
}
