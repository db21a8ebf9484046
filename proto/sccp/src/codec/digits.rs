//! Digits of a global title (Q.713 §3.4.2.3): two in an octet, the first one in the low half.

use core::fmt;

/// Digits that are kept, at most; the plans have 15 or 16.
pub const DIGITS_MAX: usize = 32;
const OCTETS: usize = DIGITS_MAX / 2;

/// Digits, each from 0 to 15: 10 to 14 are codes 11, 12 and spare ones, 15 is ST.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digits {
    octets: [u8; OCTETS],
    count: u8,
}

impl Digits {
    /// No digits.
    pub const NONE: Self = Self { octets: [0; OCTETS], count: 0 };

    /// Reads octets; of the last one only the low half counts when `is_odd`. `None` for more than
    /// [`DIGITS_MAX`], and for an odd number of digits in no octets.
    #[must_use]
    pub fn read(octets: &[u8], is_odd: bool) -> Option<Self> {
        let count = (octets.len() * 2).checked_sub(usize::from(is_odd))?;
        let mut digits = Self { count: u8::try_from(count).ok()?, ..Self::NONE };
        digits.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        if is_odd && let Some(last) = digits.octets.get_mut(octets.len() - 1) {
            *last &= 0x0f;
        }
        Some(digits)
    }

    /// Digits as text: `0` to `9`, `a` to `f`. `None` for others and for too many.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut digits = Self::NONE;
        for letter in text.chars() {
            let digit = u8::try_from(letter.to_digit(16)?).ok()?;
            digits = digits.with(digit)?;
        }
        Some(digits)
    }

    /// These digits and one more. `None` when there is no room.
    #[must_use]
    pub fn with(mut self, digit: u8) -> Option<Self> {
        let octet = self.octets.get_mut(usize::from(self.count / 2))?;
        let digit = digit & 0x0f;
        *octet = if self.count.is_multiple_of(2) { digit } else { *octet | digit << 4 };
        self.count += 1;
        Some(self)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether their number is odd.
    #[must_use]
    pub const fn is_odd(&self) -> bool {
        self.count % 2 == 1
    }

    /// The octets on the wire; the high half of the last one is zero when the number is odd.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.len().div_ceil(2)]
    }

    /// The first `count` of them, or all.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        self.iter().take(count).try_fold(Self::NONE, Self::with).unwrap_or(*self)
    }

    /// The digits, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        let half = |at: usize| self.octets[at / 2] >> (4 * (at % 2)) & 0x0f;
        (0..self.len()).map(half)
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|digit| write!(f, "{digit:x}"))
    }
}

impl fmt::Debug for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
