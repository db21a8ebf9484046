//! Names of associations.

pub(crate) use machine::sequence::{low16, low32, origin, place, unwrap16, unwrap32};

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
