//! What IMS access is in a pair of nodes.

use crate::set::Identity;

/// How far a snapshot is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Snapshot {
    /// The next agreement.
    Sets(u32),
    /// The last flow that was told.
    Vacated(Option<Identity>),
    /// The next subscription to registrations.
    Watches(u32),
    /// The last emergency call that was told.
    Calls(Option<u64>),
}

/// This node of a pair.
#[derive(Debug, Default)]
pub(crate) struct Pair {
    /// Whether there is another node.
    is_on: bool,
    is_standby: bool,
    pub snapshot: Option<Snapshot>,
    /// Something that it was told could not be taken.
    pub lacks_some: bool,
    /// Whether it was told by what indices are found; what stands on them is not taken before.
    pub has_secrets: bool,
    /// Room for a record.
    pub scratch: Vec<u8>,
}

impl Pair {
    /// Whether there is another node, which must be able to go on.
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether the other node is told what changes here.
    pub const fn tells(&self) -> bool {
        self.is_on && !self.is_standby
    }

    /// The other node serves.
    pub const fn stand_by(&mut self) {
        (self.is_on, self.is_standby, self.snapshot) = (true, true, None);
    }

    /// This node serves.
    pub const fn serve(&mut self) {
        (self.is_standby, self.lacks_some) = (false, false);
    }
}
