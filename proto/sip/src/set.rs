//! Sets of header rows.

use crate::header::Header;

/// A set of header rows, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderSet(u128);

const _: () = assert!(Header::COUNT <= 128, "a set has a bit for every row");

impl HeaderSet {
    /// These rows.
    #[must_use]
    pub const fn of(headers: &[Header]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < headers.len() {
            bits |= 1 << headers[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    /// Both sets.
    #[must_use]
    #[inline]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set but for the rows of the other one.
    #[must_use]
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the row is in the set.
    #[must_use]
    #[inline]
    pub const fn has(self, header: Header) -> bool {
        self.0 >> header as u8 & 1 == 1
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
    }
}
