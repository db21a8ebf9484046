//! Reading fields one after the other, with the offset of what lacks.

use crate::Malformed;

/// A place in a message: fields are taken from its front.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    at: usize,
    spec: &'static str,
}

impl<'a> Cursor<'a> {
    /// The beginning of `bytes`, which begin `at` octets into the message; what lacks offends
    /// `spec`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], at: usize, spec: &'static str) -> Self {
        Self { rest: bytes, at, spec }
    }

    /// Offset in the message of what comes next.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// What was not taken yet.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything was taken.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The violation `what` at this place.
    #[must_use]
    pub const fn violation(&self, what: &'static str) -> Malformed {
        Malformed::new(self.at, what, self.spec)
    }

    /// Takes that many octets.
    ///
    /// # Errors
    /// `what`, if there are fewer.
    #[inline]
    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.violation(what));
        };
        self.rest = rest;
        self.at += count;
        Ok(taken)
    }

    /// Takes `N` octets.
    ///
    /// # Errors
    /// `what`, if there are fewer.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.violation(what));
        };
        self.rest = rest;
        self.at += N;
        Ok(*taken)
    }

    /// Takes an octet.
    ///
    /// # Errors
    /// `what`, if there is none.
    #[inline]
    pub fn octet(&mut self, what: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(what).map(|octets| octets[0])
    }

    /// Takes a number of 16 bits, the high octet first.
    ///
    /// # Errors
    /// `what`, if there are fewer than two octets.
    #[inline]
    pub fn be16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        self.array(what).map(u16::from_be_bytes)
    }

    /// Takes a number of 32 bits, the high octet first.
    ///
    /// # Errors
    /// `what`, if there are fewer than four octets.
    #[inline]
    pub fn be32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        self.array(what).map(u32::from_be_bytes)
    }

    /// Takes a number of 64 bits, the high octet first.
    ///
    /// # Errors
    /// `what`, if there are fewer than eight octets.
    #[inline]
    pub fn be64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        self.array(what).map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_is_told_with_its_place_and_nothing_is_taken() {
        let mut cursor = Cursor::new(&[1, 2, 3, 4, 5], 100, "TOY §1");
        assert_eq!(cursor.be32("a number lacks"), Ok(0x0102_0304));
        let violation = cursor.be16("a number is cut off");
        assert_eq!(violation, Err(Malformed::new(104, "a number is cut off", "TOY §1")));
        assert_eq!(cursor.octet("an octet lacks"), Ok(5));
        assert!(cursor.is_empty() && cursor.at() == 105);
    }
}
