//! Transaction identifiers (Q.773 §3.1): one to four octets.

use core::fmt;

/// A transaction identifier as it stands on the wire: two of different lengths are different.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId {
    number: u32,
    octets: u8,
}

impl TransactionId {
    /// Four octets.
    #[must_use]
    pub const fn of(number: u32) -> Self {
        Self { number, octets: 4 }
    }

    /// Reads octets; `None` for none and for more than four.
    #[must_use]
    #[inline]
    pub fn read(octets: &[u8]) -> Option<Self> {
        if let Ok(four) = <[u8; 4]>::try_from(octets) {
            return Some(Self::of(u32::from_be_bytes(four)));
        }
        let count = u8::try_from(octets.len()).ok().filter(|count| (1..=4).contains(count))?;
        let number = octets.iter().fold(0, |number, octet| number << 8 | u32::from(*octet));
        Some(Self { number, octets: count })
    }

    /// The number that it is, when it has four octets: those given here have.
    #[must_use]
    pub const fn number(self) -> Option<u32> {
        if self.octets == 4 { Some(self.number) } else { None }
    }

    /// The octets.
    pub(crate) fn octets(self) -> ([u8; 4], usize) {
        (self.number.to_be_bytes(), 4 - usize::from(self.octets))
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$x}", self.number, width = usize::from(self.octets) * 2)
    }
}
