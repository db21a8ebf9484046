//! Sets of header rows.

use crate::header::Header;

/// A set of header rows, one bit each. Bits past [`Header::COUNT`] belong to who makes the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderSet([u64; 4]);

const _: () = assert!(Header::COUNT <= 240, "a set has a bit for every row, and some besides");

impl HeaderSet {
    /// The set with that one bit.
    #[must_use]
    #[inline]
    pub const fn bit(number: u8) -> Self {
        let mut words = [0; 4];
        words[(number / 64) as usize] = 1 << (number % 64);
        Self(words)
    }

    /// These rows.
    #[must_use]
    pub const fn of(headers: &[Header]) -> Self {
        let (mut set, mut at) = (Self([0; 4]), 0);
        while at < headers.len() {
            set = set.and(Self::bit(headers[at] as u8));
            at += 1;
        }
        set
    }

    /// Both sets.
    #[must_use]
    #[inline]
    pub const fn and(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a | e, b | f, c | g, d | h])
    }

    /// This set but for the rows of the other one.
    #[must_use]
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a & !e, b & !f, c & !g, d & !h])
    }

    /// Whether the sets have a row in common.
    #[must_use]
    #[inline]
    pub const fn meets(self, other: Self) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        a & e | b & f | c & g | d & h != 0
    }

    /// Whether the row is in the set.
    #[must_use]
    #[inline]
    pub const fn has(self, header: Header) -> bool {
        let number = header as u8;
        self.0[(number / 64) as usize] >> (number % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it_and_nothing_else() {
        let set = HeaderSet::of(&[Header::Via]).and(HeaderSet::of(&[Header::PermissionMissing]));
        let held: Vec<Header> = Header::all().filter(|&header| set.has(header)).collect();
        assert_eq!(held, [Header::Via, Header::PermissionMissing]);
        assert!(!HeaderSet::default().has(Header::Unknown));
        assert!(!set.without(HeaderSet::of(&[Header::Via, Header::To])).has(Header::Via));
        assert!(set.without(HeaderSet::of(&[Header::Via])).has(Header::PermissionMissing));
        let far = HeaderSet::bit(255);
        assert!(far.meets(far.and(set)) && !far.meets(set) && set.meets(set));
        assert_eq!(far.and(set).without(far), set);
    }
}
