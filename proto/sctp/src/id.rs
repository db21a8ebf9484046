//! Names of associations, and the arithmetic of sequence numbers (RFC 9260 §2.6).

/// An association of one endpoint; an old one is never taken for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl AssociationId {
    /// The name of an association of another stack that counts its own.
    #[must_use]
    pub const fn foreign(number: u32) -> Self {
        Self { index: number, generation: 0 }
    }

    /// That number again.
    #[must_use]
    pub const fn foreign_number(self) -> u32 {
        self.index
    }
}

impl core::fmt::Display for AssociationId {
    /// A place and how often it was taken: `3.1`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// `number`, of 32 bits on the wire, as the number of 64 bits that is nearest to `near`.
pub(crate) const fn unwrap32(near: u64, number: u32) -> u64 {
    near.wrapping_add(number.wrapping_sub(near as u32) as i32 as i64 as u64)
}

/// The same for numbers of 16 bits.
pub(crate) const fn unwrap16(near: u64, number: u16) -> u64 {
    near.wrapping_add(number.wrapping_sub(near as u16) as i16 as i64 as u64)
}

/// A number of 32 bits at the start of an unwrapped sequence: it can go back a whole turn.
pub(crate) const fn origin(number: u32) -> u64 {
    (1 << 32) | number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_past_the_turn_is_the_next_one() {
        let near = origin(u32::MAX);
        assert_eq!(unwrap32(near, 0), near + 1);
        assert_eq!(unwrap32(near, u32::MAX - 4), near - 4);
        assert_eq!(unwrap16(65_535 + 65_536, 1), 65_535 + 65_536 + 2);
    }
}
