//! What a node of a cluster wants done.

use runtime::{GroupId, GroupOrder, NodeId, Pace};

/// An effect of [`super::Cluster`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "those of functions are the ones of runtime::Grouped")]
pub enum Out {
    /// Send to a node.
    Send(NodeId, Vec<u8>),
    /// Ask the arbiter for its vote; it is a request of [`crate::Arbiter`].
    ToArbiter(Vec<u8>),
    Activate {
        group: GroupId,
        epoch: u64,
        is_current: bool,
    },
    Deactivate {
        group: GroupId,
    },
    Forget {
        group: GroupId,
    },
    Delta {
        group: GroupId,
        delta: Vec<u8>,
    },
    Slice {
        group: GroupId,
        number: u64,
        cursor: u64,
        room: usize,
    },
    Followed {
        group: GroupId,
        mark: Option<u64>,
    },
    Paced {
        group: GroupId,
        pace: Pace,
    },
    Serves {
        group: GroupId,
        node: Option<NodeId>,
        epoch: u64,
    },
    Node {
        node: NodeId,
        is_alive: bool,
    },
    /// For that shard, modulo the number that there is.
    Post {
        from: NodeId,
        shard: u16,
        bytes: Vec<u8>,
    },
    /// To the shard that had posted it.
    Returned {
        to: NodeId,
        shard: u16,
        bytes: Vec<u8>,
    },
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
        let order = match self {
            Self::Send(..) | Self::ToArbiter(_) => return None,
            Self::Activate { group, epoch, is_current } => {
                GroupOrder::Activate { group, epoch, is_current }
            }
            Self::Deactivate { group } => GroupOrder::Deactivate { group },
            Self::Forget { group } => GroupOrder::Forget { group },
            Self::Delta { group, delta } => GroupOrder::Delta { group, delta },
            Self::Slice { group, number, cursor, room } => {
                GroupOrder::Slice { group, number, cursor, room }
            }
            Self::Followed { group, mark } => GroupOrder::Followed { group, mark },
            Self::Paced { group, pace } => GroupOrder::Paced { group, pace },
            Self::Serves { group, node, epoch } => {
                return Some((Whose::All, GroupOrder::Serves { group, node, epoch }));
            }
            Self::Node { node, is_alive } => {
                return Some((Whose::All, GroupOrder::Node { node, is_alive }));
            }
            Self::Post { from, shard, bytes } => {
                return Some((Whose::Shard(shard), GroupOrder::Post { from, bytes }));
            }
            Self::Returned { to, shard, bytes } => {
                return Some((Whose::Shard(shard), GroupOrder::Returned { to, bytes }));
            }
        };
        let group = match &order {
            GroupOrder::Activate { group, .. }
            | GroupOrder::Deactivate { group }
            | GroupOrder::Forget { group }
            | GroupOrder::Delta { group, .. }
            | GroupOrder::Slice { group, .. }
            | GroupOrder::Followed { group, .. }
            | GroupOrder::Paced { group, .. } => *group,
            _ => return None,
        };
        Some((Whose::Group(group), order))
    }
}
