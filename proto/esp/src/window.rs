//! The window of numbers that may still come (RFC 4303 §3.4.3, Appendix A).

use crate::Dropped;

/// Narrowest and widest window, numbers.
pub const WINDOW_MIN: u16 = 64;
/// See [`WINDOW_MIN`].
pub const WINDOW_MAX: u16 = 1024;

/// A ring of bits: one for each number up to the highest that was seen, in its window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    edge: u64,
    bits: Bits,
}

/// Its bits: of the narrowest window they stand in the association itself.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Bits {
    One([u64; 1]),
    Many(Box<[u64]>),
}

impl Bits {
    fn new(words: usize) -> Self {
        match words {
            0 | 1 => Self::One([u64::MAX]),
            _ => Self::Many(vec![u64::MAX; words].into_boxed_slice()),
        }
    }

    #[inline]
    fn words(&self) -> &[u64] {
        match self {
            Self::One(words) => words,
            Self::Many(words) => words,
        }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Self::One(words) => words,
            Self::Many(words) => words,
        }
    }
}

impl Window {
    /// Whose highest number is `edge`, all up to which count as seen. The width is rounded up to a
    /// multiple of 64 between [`WINDOW_MIN`] and [`WINDOW_MAX`].
    pub fn new(width: u16, edge: u64) -> Self {
        let words = usize::from(width.clamp(WINDOW_MIN, WINDOW_MAX)).div_ceil(64);
        Self { edge, bits: Bits::new(words) }
    }

    /// The highest number that was seen.
    pub const fn edge(&self) -> u64 {
        self.edge
    }

    pub fn width(&self) -> u64 {
        64 * self.bits.words().len() as u64
    }

    /// Octets on the heap.
    pub fn size(&self) -> usize {
        match &self.bits {
            Bits::One(_) => 0,
            Bits::Many(words) => size_of_val(&**words),
        }
    }

    /// The number of which a packet has the lower half (Appendix A2.2): the one near the window.
    /// `None`: it would be before the first.
    pub fn infer(&self, low: u32) -> Option<u64> {
        let half = 1u64 << 32;
        let (edge_high, edge_low) = (self.edge / half, self.edge % half);
        let (low, bottom) = (u64::from(low), (self.edge_low_bottom(edge_low)));
        let high = match edge_low >= self.width() - 1 {
            // Case A: the window lies in one half.
            true if low >= bottom => edge_high,
            true => edge_high + 1,
            // Case B: it begins in the one before.
            false if low >= bottom => edge_high.checked_sub(1)?,
            false => edge_high,
        };
        high.checked_mul(half)?.checked_add(low)
    }

    fn edge_low_bottom(&self, edge_low: u64) -> u64 {
        edge_low.wrapping_sub(self.width() - 1) % (1 << 32)
    }

    fn place(&self, number: u64) -> (usize, u64) {
        let place = usize::try_from(number % self.width()).unwrap_or(0);
        (place / 64, 1 << (place % 64))
    }

    /// Whether a number may come.
    pub fn check(&self, number: u64) -> Result<(), Dropped> {
        if number > self.edge {
            return Ok(());
        }
        if self.edge - number >= self.width() {
            return Err(Dropped::Old);
        }
        let (word, bit) = self.place(number);
        if self.bits.words()[word] & bit == 0 { Ok(()) } else { Err(Dropped::Replayed) }
    }

    /// All numbers up to `edge` count as seen, and those that did before.
    pub fn skip(&mut self, edge: u64) {
        if edge >= self.edge {
            self.edge = edge;
            self.bits.words_mut().fill(u64::MAX);
        }
    }

    /// Marks a number that has been checked; whether it is the highest.
    pub fn take(&mut self, number: u64) -> bool {
        let ahead = number.saturating_sub(self.edge);
        if ahead >= self.width() {
            self.bits.words_mut().fill(0);
        } else {
            for passed in self.edge + 1..=self.edge + ahead {
                let (word, bit) = self.place(passed);
                self.bits.words_mut()[word] &= !bit;
            }
        }
        self.edge = self.edge.max(number);
        let (word, bit) = self.place(number);
        self.bits.words_mut()[word] |= bit;
        ahead > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_window_says_of_each_number_what_a_set_of_all_says() {
        let mut state = 7u64;
        let mut random = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        for width in [1, 64, 65, 256, 1000, 1024, 60_000] {
            let (mut window, mut seen) = (Window::new(width, 0), BTreeSet::from([0]));
            let mut highest = 0;
            for _ in 0..20_000 {
                let span = 2 * window.width();
                let number = (highest + random(span)).saturating_sub(random(2 * span));
                let number = if random(500) == 0 { number + 5 * span } else { number };
                let expected = match number + window.width() <= highest {
                    true => Err(Dropped::Old),
                    false if seen.contains(&number) => Err(Dropped::Replayed),
                    false => Ok(()),
                };
                assert_eq!(window.check(number), expected, "{number} at {highest}");
                if expected.is_ok() {
                    assert_eq!(window.take(number), number > highest);
                    seen.insert(number);
                    highest = highest.max(number);
                }
                assert_eq!(window.edge(), highest);
            }
        }
    }

    #[test]
    fn the_upper_half_is_guessed_within_2_31_of_the_window() {
        for edge in
            [0, 1, 63, 64, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 40, 5 << 32, 9 << 40]
        {
            let window = Window::new(64, edge);
            let near = [0, 1, 62, 63].map(|back| edge.checked_sub(back));
            let ahead = [1, 2, 1000, 1 << 30, (1 << 32) - 64].map(|more| Some(edge + more));
            for number in near.into_iter().chain(ahead).flatten() {
                assert_eq!(window.infer(number as u32), Some(number), "{number:#x} at {edge:#x}");
            }
        }
        assert_eq!(Window::new(64, 0).infer(u32::MAX), None);
    }
}
