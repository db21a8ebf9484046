//! What a node of a cluster wants done.

use runtime::{GroupId, GroupOrder, NodeId};

/// An effect of [`super::Cluster`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Send to a node.
    Send(NodeId, Vec<u8>),
    /// Ask the arbiter for its vote; it is a request of [`crate::Arbiter`].
    ToArbiter(Vec<u8>),
    /// Tell the function, on the shard of the group that the order is about, or on all shards.
    Order(GroupOrder),
    /// Tell the function on that shard, modulo the number that there is.
    ToShard(u16, GroupOrder),
}

/// Which shards are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// That of a group.
    Group(GroupId),
    /// One by its number, modulo the number that there is.
    Shard(u16),
    /// All.
    All,
}

impl Out {
    /// What a function is told, and on which shards; `None`: nothing.
    #[must_use]
    pub fn order(self) -> Option<(Whose, GroupOrder)> {
        match self {
            Self::Send(..) | Self::ToArbiter(_) => None,
            Self::Order(order) => {
                let whose = order.group().map_or(Whose::All, Whose::Group);
                Some((whose, order))
            }
            Self::ToShard(shard, order) => Some((Whose::Shard(shard), order)),
        }
    }
}
