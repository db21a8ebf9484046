//! Identities in 32 and 64 bits, for the fields of a protocol that are no longer: a TEID
//! (TS 29.281 §5.1), a TCAP transaction identifier (Q.773 §3.1), a Diameter Hop-by-Hop identifier
//! (RFC 6733 §3), the SPI of ESP (RFC 4303 §2.1) and of IKE (RFC 7296 §3.1).
//!
//! ```text
//!  most significant                                        least significant
//!  | shard + 1 | slot, generation: under a mask made of the check | check |
//! ```
//! The shard stands in front and in the clear, so that whoever steers looks at one octet or two. It
//! counts from one: no identity is below 256, which SPI reserves and which zero belongs to. The
//! check is a keyed digest of the rest, as many bits as are left: a number that was guessed is
//! taken for an identity as rarely as these say, and nothing must rest on it that a peer could gain
//! by guessing.

use super::mix;
use crate::slots::Key;

/// How many bits of an identity say what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    shard: u32,
    slot: u32,
    generation: u32,
    check: u32,
}

/// What an identity says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The shard that made it.
    pub shard: u16,
    /// The slot that it stands for.
    pub index: u32,
    /// The low bits of the slot's generation, see [`Layout::is_of`].
    pub generation: u32,
}

impl Layout {
    /// A layout of 32 bits; the check has what shard, slot and generation leave.
    ///
    /// # Panics
    /// When a part is too long: a layout is a constant, so that this fails when it is compiled.
    #[must_use]
    pub const fn of_32(shard: u32, slot: u32, generation: u32) -> Self {
        Self::new(32, shard, slot, generation)
    }

    /// A layout of 64 bits, the same way.
    ///
    /// # Panics
    /// When a part is too long.
    #[must_use]
    pub const fn of_64(shard: u32, slot: u32, generation: u32) -> Self {
        Self::new(64, shard, slot, generation)
    }

    const fn new(bits: u32, shard: u32, slot: u32, generation: u32) -> Self {
        let used = shard + slot + generation;
        assert!(shard > 0 && shard <= 16, "a shard has 1 to 16 bits");
        assert!(slot > 0 && slot <= 32, "a slot has 1 to 32 bits");
        assert!(generation <= 32, "a generation has 32 bits at most");
        assert!(used <= bits && bits - shard >= 8, "the parts do not fit");
        Self { shard, slot, generation, check: bits - used }
    }

    /// Shards that it tells apart.
    #[must_use]
    pub const fn shards_max(self) -> u16 {
        low(u64::MAX, self.shard) as u16
    }

    /// Slots that it tells apart.
    #[must_use]
    pub const fn slots_max(self) -> u64 {
        1 << self.slot
    }

    /// The identity of a slot under a secret; `None` for a shard or a slot beyond the layout.
    #[must_use]
    pub const fn write(self, secret: u64, shard: u16, key: Key) -> Option<u64> {
        if shard >= self.shards_max() || key.index as u64 >= self.slots_max() {
            return None;
        }
        let generation = low(key.generation as u64, self.generation);
        let inner = (key.index as u64) << self.generation | generation;
        let shard = shard as u64 + 1;
        let check = self.check(secret, shard, inner);
        let inner = inner ^ self.mask(secret, shard, check);
        let word = shard << (self.slot + self.generation) | inner;
        Some(word << self.check | check)
    }

    /// Reads an identity; `None` for a number that was not written under this secret.
    #[must_use]
    pub const fn read(self, secret: u64, number: u64) -> Option<Number> {
        let (check, word) = (low(number, self.check), number >> self.check);
        let inner_bits = self.slot + self.generation;
        let shard = word >> inner_bits;
        if shard == 0 || shard > self.shards_max() as u64 {
            return None;
        }
        let inner = low(word, inner_bits) ^ self.mask(secret, shard, check);
        if self.check(secret, shard, inner) != check {
            return None;
        }
        Some(Number {
            shard: (shard - 1) as u16,
            index: (inner >> self.generation) as u32,
            generation: low(inner, self.generation) as u32,
        })
    }

    /// The shard that made an identity, without a look at the rest: where it is steered to.
    #[must_use]
    pub const fn shard_of(self, number: u64) -> Option<u16> {
        let shard = number >> (self.check + self.slot + self.generation);
        if shard == 0 || shard > self.shards_max() as u64 { None } else { Some(shard as u16 - 1) }
    }

    /// Whether what was read stands for that slot, of that generation.
    #[must_use]
    pub const fn is_of(self, number: Number, key: Key) -> bool {
        number.index == key.index
            && number.generation as u64 == low(key.generation as u64, self.generation)
    }

    const fn check(self, secret: u64, shard: u64, inner: u64) -> u64 {
        let word = mix(secret ^ mix(inner ^ shard << 48)) ^ secret.rotate_left(17);
        low(mix(word), self.check)
    }

    const fn mask(self, secret: u64, shard: u64, check: u64) -> u64 {
        let word = mix(secret.rotate_left(32) ^ (check << 8 | shard));
        low(mix(word), self.slot + self.generation)
    }
}

/// The lowest bits of a word.
const fn low(word: u64, bits: u32) -> u64 {
    if bits >= 64 { word } else { word & ((1 << bits) - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: u64 = 0x0123_4567_89ab_cdef;
    /// What the functions to come have in mind, and the edges of a layout.
    const LAYOUTS: [(Layout, u64); 6] = [
        (Layout::of_32(7, 20, 2), u32::MAX as u64),
        (Layout::of_32(3, 22, 4), u32::MAX as u64),
        (Layout::of_32(1, 31, 0), u32::MAX as u64),
        (Layout::of_64(7, 24, 16), u64::MAX),
        (Layout::of_64(16, 32, 16), u64::MAX),
        (Layout::of_64(1, 31, 32), u64::MAX),
    ];

    proptest! {
        #[test]
        fn an_identity_is_read_as_it_was_written(secret: u64, shard: u16, index: u32, age: u32) {
            for (layout, most) in LAYOUTS {
                let shard = shard % layout.shards_max();
                let index = (u64::from(index) % layout.slots_max()) as u32;
                let key = Key { index, generation: age };
                let number = layout.write(secret, shard, key).unwrap();
                prop_assert!((256..=most).contains(&number), "{layout:?}: {number:x}");
                let read = layout.read(secret, number).unwrap();
                prop_assert_eq!((read.shard, read.index), (shard, index));
                prop_assert!(layout.is_of(read, key));
                prop_assert_eq!(layout.shard_of(number), Some(shard));
            }
        }
    }

    #[test]
    fn different_slots_and_generations_have_different_identities() {
        let layout = Layout::of_32(3, 12, 4);
        let mut numbers: Vec<u64> = (0..1 << 16)
            .map(|n| Key { index: n >> 4, generation: n & 15 })
            .map(|key| layout.write(SECRET, 2, key).unwrap())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 1 << 16);
    }

    #[test]
    fn a_guess_passes_as_rarely_as_the_check_is_long() {
        let layout = Layout::of_32(3, 16, 3);
        let guesses = (0..1u64 << 20).map(|n| mix(n) >> 32);
        let passed = guesses.filter(|&guess| layout.read(SECRET, guess).is_some()).count();
        // Ten bits of check, and one shard of eight stands for nothing.
        assert!((700..1_200).contains(&passed), "{passed} of a million");
    }

    #[test]
    fn what_is_beyond_the_layout_has_no_identity_and_a_shard_of_none_is_not_read() {
        let layout = Layout::of_32(3, 20, 4);
        let key = |index| Key { index, generation: 0 };
        assert_eq!(layout.write(SECRET, 7, key(0)), None, "seven shards, from 0");
        assert_eq!(layout.write(SECRET, 0, key(1 << 20)), None);
        for number in [0, 1, 255, 1 << 28, u64::MAX] {
            assert_eq!(layout.read(SECRET, number), None, "{number:x}");
            assert_eq!(layout.shard_of(number), None, "{number:x}");
        }
        let number = layout.write(SECRET, 0, key(7)).unwrap();
        assert_eq!(layout.read(SECRET ^ 1, number), None, "another secret");
    }
}
