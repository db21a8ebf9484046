//! A network that clients are in.

/// A network, by the numbering of the function that embeds the registrar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RealmId(pub u16);
