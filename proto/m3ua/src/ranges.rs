//! A value for each destination of a network, told in ranges: what was told last holds (RFC 4666
//! §3.4.1).

use crate::codec::{Affected, PointCode};
use std::collections::BTreeMap;

/// Ranges kept at most; one more is not kept, and the caller counts it.
pub(crate) const RANGES_MAX: usize = 65_536;
const MASKS: u8 = 25;

/// Values by range; destinations that nothing was told of have the value that is default.
#[derive(Debug, Clone)]
pub(crate) struct Ranges<T> {
    entries: BTreeMap<(u8, PointCode), (u64, T)>,
    /// Bit `m` is set when there may be a range of mask `m`.
    masks: u32,
    told: u64,
}

/// There was no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl<T: Copy + Eq + Default> Ranges<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: BTreeMap::new(), masks: 0, told: 0 }
    }

    fn used(&self) -> impl Iterator<Item = u8> + use<T> {
        let masks = self.masks;
        (0..MASKS).filter(move |mask| masks & (1 << mask) != 0)
    }

    /// The value of one destination.
    #[inline]
    pub(crate) fn value(&self, point_code: PointCode) -> T {
        if self.masks == 0 { T::default() } else { self.value_of(Affected::one(point_code)) }
    }

    /// The value of a range, apart from smaller ones within it that have one of their own.
    pub(crate) fn value_of(&self, range: Affected) -> T {
        let point_code = range.point_code;
        let found = self.used().filter(|mask| *mask >= range.mask.min(MASKS - 1));
        let found = found.filter_map(|mask| {
            let (first, _) = Affected { point_code, mask }.bounds();
            self.entries.get(&(mask, first))
        });
        found.max_by_key(|(told, _)| *told).map_or_else(T::default, |(_, value)| *value)
    }

    /// The value of what lies around a range.
    pub(crate) fn around(&self, range: Affected) -> T {
        self.value_of(Affected { mask: range.mask.saturating_add(1), ..range })
    }

    /// Everything in the range has the value from now on.
    pub(crate) fn tell(&mut self, range: Affected, value: T) -> Result<(), Full> {
        let mask = range.mask.min(MASKS - 1);
        let (first, last) = range.bounds();
        for inner in self.used().filter(|inner| *inner <= mask) {
            let within = self.entries.range((inner, first)..=(inner, last));
            let within: Vec<_> = within.map(|(key, _)| *key).collect();
            for key in within {
                self.entries.remove(&key);
            }
        }
        if self.value(first) == value {
            return Ok(());
        }
        if self.entries.len() >= RANGES_MAX {
            return Err(Full);
        }
        self.told += 1;
        self.masks |= 1 << mask;
        self.entries.insert((mask, first), (self.told, value));
        Ok(())
    }

    /// Whether a smaller range within this one has a value of its own.
    pub(crate) fn is_split(&self, range: Affected) -> bool {
        self.within(range).next().is_some()
    }

    /// Smaller ranges within this one that have a value of their own.
    pub(crate) fn within(&self, range: Affected) -> impl Iterator<Item = Affected> {
        let (first, last) = range.bounds();
        let smaller = self.used().filter(move |inner| *inner < range.mask.min(MASKS - 1));
        let entries =
            smaller.flat_map(move |inner| self.entries.range((inner, first)..=(inner, last)));
        entries.map(|((mask, point_code), _)| Affected { point_code: *point_code, mask: *mask })
    }

    /// All ranges that a value was told of: the default too, where another one holds around it.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Affected, T)> {
        self.entries.iter().map(|((mask, point_code), (_, value))| {
            (Affected { point_code: *point_code, mask: *mask }, *value)
        })
    }

    /// The ranges whose value is not the default.
    pub(crate) fn odd(&self) -> impl Iterator<Item = (Affected, T)> {
        let all = self.entries.iter();
        all.filter(|(_, (_, value))| *value != T::default()).map(
            |((mask, point_code), (_, value))| {
                (Affected { point_code: *point_code, mask: *mask }, *value)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(point_code: u32, mask: u8) -> Affected {
        Affected { point_code: PointCode::truncated(point_code), mask }
    }

    #[test]
    fn what_was_told_last_holds() {
        let mut ranges = Ranges::<u8>::new();
        ranges.tell(range(0x1234, 0), 1).unwrap();
        ranges.tell(range(0x1200, 8), 2).unwrap();
        assert_eq!(ranges.value(PointCode::truncated(0x1234)), 2);
        ranges.tell(range(0x1234, 0), 3).unwrap();
        assert_eq!(ranges.value(PointCode::truncated(0x1234)), 3);
        assert_eq!(ranges.value(PointCode::truncated(0x12ff)), 2);
        assert_eq!(ranges.value(PointCode::truncated(0x1300)), 0);
        assert_eq!(ranges.value_of(range(0x1234, 8)), 2);
        assert!(ranges.is_split(range(0x1200, 8)) && !ranges.is_split(range(0x1234, 0)));
        ranges.tell(range(0, 200), 0).unwrap();
        assert_eq!((ranges.value(PointCode::truncated(0x1234)), ranges.odd().count()), (0, 0));
    }

    #[test]
    fn every_destination_has_the_value_that_a_plain_table_would_have() {
        let mut seed = 7u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 40
        };
        for _ in 0..200 {
            let (mut ranges, mut plain) = (Ranges::<u8>::new(), [0u8; 64]);
            for _ in 0..30 {
                let (at, mask, value) = (next() as u32 % 64, next() as u8 % 8, next() as u8 % 3);
                let told = range(at, mask);
                ranges.tell(told, value).unwrap();
                for (code, slot) in plain.iter_mut().enumerate() {
                    if told.contains(PointCode::truncated(code as u32)) {
                        *slot = value;
                    }
                }
                for (code, slot) in plain.iter().enumerate() {
                    assert_eq!(ranges.value(PointCode::truncated(code as u32)), *slot);
                }
            }
        }
    }
}
