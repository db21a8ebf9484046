//! Which packet this is: the index of RTP (48 bits: rollover counter and sequence number) guessed
//! from 16 bits, and the window of what came (RFC 3711 §3.3.1, §3.3.2, App. A).

/// The index of an RTP packet: 2^16 × rollover counter + sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(u64);

impl Index {
    /// The last one that a master key may have.
    pub const MAX: Self = Self((1 << 48) - 1);

    /// From rollover counter and sequence number.
    #[must_use]
    pub const fn new(roc: u32, sequence: u16) -> Self {
        Self((roc as u64) << 16 | sequence as u64)
    }

    /// From the number; `None` past 48 bits.
    #[must_use]
    pub const fn of(number: u64) -> Option<Self> {
        if number <= Self::MAX.0 { Some(Self(number)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The rollover counter.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "48 bits less 16 are 32")]
    pub const fn roc(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// The sequence number: its low 16 bits.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the low bits are what is asked for")]
    pub const fn sequence(self) -> u16 {
        self.0 as u16
    }

    /// The index of the packet with this sequence number, seen from the highest index so far: the
    /// nearest one (RFC 3711 App. A). Before the first packet the rollover counter is zero.
    /// `None` after the last index of all.
    #[must_use]
    pub const fn estimate(highest: Option<Self>, sequence: u16) -> Option<Self> {
        let Some(highest) = highest else { return Some(Self::new(0, sequence)) };
        let (roc, last) = (highest.roc(), highest.sequence());
        let roc = if last < 0x8000 {
            // What would lie before the first index of all lies ahead instead.
            if sequence > last && sequence - last > 0x8000 { roc.saturating_sub(1) } else { roc }
        } else if last - 0x8000 > sequence {
            match roc.checked_add(1) {
                Some(roc) => roc,
                None => return None,
            }
        } else {
            roc
        };
        Some(Self::new(roc, sequence))
    }
}

/// Numbers that a window looks back (RFC 3711 §3.3.2: at least 64).
pub const WINDOW: u64 = 128;

/// What a number is to a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It did not come yet.
    New,
    /// It came.
    Replayed,
    /// It is so old that nobody knows.
    Old,
}

/// The highest number that came and which of those before it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Window {
    /// The highest number and one; zero before the first.
    end: u64,
    /// Bit 0 stands for the highest number.
    bits: [u64; 2],
}

impl Window {
    /// Nothing up to and with `highest` is new.
    pub const fn after(highest: u64) -> Self {
        Self { end: highest.saturating_add(1), bits: [u64::MAX; 2] }
    }

    pub const fn highest(&self) -> Option<u64> {
        self.end.checked_sub(1)
    }

    /// The highest number and one; zero before the first.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// By how many numbers it has moved since that was its end; what has just begun moved by one.
    #[inline]
    pub fn moved_since(&self, end: u64) -> u32 {
        if end == 0 { 1 } else { u32::try_from(self.end - end).unwrap_or(u32::MAX) }
    }

    pub fn look(&self, number: u64) -> Seen {
        let Some(highest) = self.highest() else { return Seen::New };
        if number > highest {
            return Seen::New;
        }
        let back = highest - number;
        if back >= WINDOW {
            return Seen::Old;
        }
        let bits = u128::from(self.bits[1]) << 64 | u128::from(self.bits[0]);
        if bits >> back & 1 == 1 { Seen::Replayed } else { Seen::New }
    }

    /// Takes `number`; it was new if the answer says so, and is not any more.
    pub fn take(&mut self, number: u64) -> Seen {
        let seen = self.look(number);
        if seen != Seen::New {
            return seen;
        }
        let bits = u128::from(self.bits[1]) << 64 | u128::from(self.bits[0]);
        let end = number.saturating_add(1);
        let bits = if end > self.end {
            let by = u32::try_from(end - self.end).unwrap_or(u32::MAX);
            self.end = end;
            bits.checked_shl(by).unwrap_or(0) | 1
        } else {
            bits | 1 << (self.end - end)
        };
        self.bits = machine::narrow::halves(bits);
        Seen::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_nearest_index_with_that_sequence_number_is_meant() {
        let cases: [(Option<Index>, u16, Option<Index>); 11] = [
            (None, 65_535, Some(Index::new(0, 65_535))),
            (Some(Index::new(0, 65_535)), 0, Some(Index::new(1, 0))),
            (Some(Index::new(1, 0)), 65_535, Some(Index::new(0, 65_535))),
            (Some(Index::new(7, 32_767)), 65_535, Some(Index::new(7, 65_535))),
            (Some(Index::new(7, 32_766)), 65_535, Some(Index::new(6, 65_535))),
            (Some(Index::new(7, 32_768)), 0, Some(Index::new(7, 0))),
            (Some(Index::new(7, 32_769)), 0, Some(Index::new(8, 0))),
            (Some(Index::new(7, 40_000)), 39_999, Some(Index::new(7, 39_999))),
            (Some(Index::new(0, 5)), 60_000, Some(Index::new(0, 60_000))),
            (Some(Index::MAX), 0, None),
            (Some(Index::MAX), 65_534, Some(Index::new(u32::MAX, 65_534))),
        ];
        for (highest, sequence, expected) in cases {
            assert_eq!(Index::estimate(highest, sequence), expected, "{highest:?} {sequence}");
        }
    }

    #[test]
    fn a_stream_with_loss_and_reordering_is_followed_over_many_wraps() {
        let (mut highest, mut state) = (None, 1u64);
        for step in 0..400_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = step * 7 + (state >> 60);
            let index = Index::of(number).unwrap();
            assert_eq!(Index::estimate(highest, index.sequence()), Some(index));
            highest = highest.max(Some(index));
        }
        assert!(highest.unwrap().roc() > 40);
    }

    #[test]
    fn each_number_is_taken_once_whatever_the_order_and_none_behind_the_window() {
        let mut window = Window::default();
        let (mut taken, mut highest, mut state) = (BTreeSet::new(), 0u64, 3u64);
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let ahead = if state >> 33 & 0xff == 0 { 500 } else { 8 };
            let number = (highest + ahead).saturating_sub((state >> 40) % 150);
            let expected = match () {
                () if taken.is_empty() || number > highest => Seen::New,
                () if highest - number >= WINDOW => Seen::Old,
                () if taken.contains(&number) => Seen::Replayed,
                () => Seen::New,
            };
            assert_eq!(window.look(number), expected, "{number} of {highest}");
            assert_eq!(window.take(number), expected);
            assert_ne!(window.look(number), Seen::New);
            if expected == Seen::New {
                taken.insert(number);
                highest = highest.max(number);
            }
            assert_eq!(window.highest(), taken.last().copied());
        }
    }

    #[test]
    fn after_a_number_only_later_ones_are_new() {
        let mut window = Window::after(1_000);
        assert!((0..=1_000).all(|number| window.look(number) != Seen::New));
        assert_eq!(window.take(1_003), Seen::New);
        assert_eq!(window.take(1_001), Seen::New);
        assert_eq!(window.take(1_001), Seen::Replayed);
        assert_eq!((window.look(1_000), window.look(876)), (Seen::Replayed, Seen::Replayed));
    }
}
