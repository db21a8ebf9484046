//! Groups of a cluster, as a function sees them.
//!
//! A *group* is a part of a function's state that one node serves and another one can take over at
//! once. A function has several; each stands on one shard of every node ([`GroupId::shard`]) and
//! moves by itself.
//!
//! ```text
//! active    of(group) · delta · mark ──→ the cluster's link ──→ standby: Grouped::Delta
//!           ←── Slice: tell a piece of what stands · Followed: applied so far · Paced
//! any node  ←── Serves: who serves a group · Node: who is heard · Post: from a node
//! ```

use core::fmt;
use serde::Serialize;

/// Groups of one cluster.
pub const GROUPS_MAX: u16 = 1_024;
/// Nodes of one cluster.
pub const NODES_MAX: u8 = 16;

/// Number of a group, below [`GROUPS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct GroupId(pub u16);

impl GroupId {
    /// The shard that has it, of so many.
    #[must_use]
    pub fn shard(self, shards: u16) -> u16 {
        self.0 % shards.max(1)
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of a node in its cluster, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct NodeId(pub u8);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a standby keeps up with what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// It does.
    #[default]
    Current,
    /// So much waits for it that no more of a snapshot shall be told. What is told by slices is
    /// asked for, and hears nothing of this.
    Busy,
    /// Half of the log waits for it: who goes on to take new work at this rate loses it.
    Behind,
    /// The log was full: it follows no more, and will be told everything anew.
    Lost,
}

/// What a cluster wants of one of its functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouped<'a> {
    /// This node serves the group from now on.
    Activate {
        /// Which.
        group: GroupId,
        /// Grows with each change of the node that serves.
        epoch: u64,
        /// Whether what it has of it is whole and of the last term.
        is_current: bool,
    },
    /// It serves the group no more: keep still for it, and forget what waits for a mark, which
    /// comes no more. All groups of a function start so.
    Deactivate {
        /// Which.
        group: GroupId,
    },
    /// Forget what was replicated of the group; a snapshot follows.
    Forget {
        /// Which.
        group: GroupId,
    },
    /// A change that the node made that serves.
    Delta {
        /// Of which group.
        group: GroupId,
        /// As it was told by [`crate::Effects::delta`].
        delta: &'a [u8],
    },
    /// Tell a piece of what stands of the group, as deltas, then [`crate::Effects::sliced`].
    Slice {
        /// Which.
        group: GroupId,
        /// Number of the snapshot.
        number: u64,
        /// Where the piece begins, as the function said of the one before; zero: the beginning.
        cursor: u64,
        /// Octets that it shall have, about.
        room: usize,
    },
    /// The standby has applied all that was told before that [`crate::Effects::mark`]; `Some(0)`:
    /// from now on one follows that has everything; `None`: none does any more.
    Followed {
        /// Which.
        group: GroupId,
        /// The mark.
        mark: Option<u64>,
    },
    /// How its standby keeps up, when that changes.
    Paced {
        /// Which.
        group: GroupId,
        /// How.
        pace: Pace,
    },
    /// Who serves a group, when that changes. Every shard is told.
    Serves {
        /// Which.
        group: GroupId,
        /// Who, if one is known.
        node: Option<NodeId>,
        /// Since which change.
        epoch: u64,
    },
    /// A node is heard, or is not any more. Every shard is told.
    Node {
        /// Which.
        node: NodeId,
        /// Whether it is heard.
        is_alive: bool,
    },
    /// The same function at another node has posted this.
    Post {
        /// Which node.
        from: NodeId,
        /// As it was written there.
        bytes: &'a [u8],
    },
    /// A post found no way, or no room on it; or its node is gone and has not acknowledged it.
    Returned {
        /// To which node.
        to: NodeId,
        /// As it was written.
        bytes: &'a [u8],
        /// It was sent: it may have arrived, and what is posted again may come twice.
        has_left: bool,
    },
}

/// The same, on its way to a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the one of Grouped")]
pub enum GroupOrder {
    Activate { group: GroupId, epoch: u64, is_current: bool },
    Deactivate { group: GroupId },
    Forget { group: GroupId },
    Delta { group: GroupId, delta: Vec<u8> },
    Slice { group: GroupId, number: u64, cursor: u64, room: usize },
    Followed { group: GroupId, mark: Option<u64> },
    Paced { group: GroupId, pace: Pace },
    Serves { group: GroupId, node: Option<NodeId>, epoch: u64 },
    Node { node: NodeId, is_alive: bool },
    Post { from: NodeId, bytes: Vec<u8> },
    Returned { to: NodeId, bytes: Vec<u8>, has_left: bool },
}

impl GroupOrder {
    /// The group whose shard is told; `None`: all shards are, or that for which a post is.
    #[must_use]
    pub const fn group(&self) -> Option<GroupId> {
        match *self {
            Self::Activate { group, .. }
            | Self::Deactivate { group }
            | Self::Forget { group }
            | Self::Delta { group, .. }
            | Self::Slice { group, .. }
            | Self::Followed { group, .. }
            | Self::Paced { group, .. } => Some(group),
            Self::Serves { .. } | Self::Node { .. } | Self::Post { .. } | Self::Returned { .. } => {
                None
            }
        }
    }

    /// As the function sees it.
    #[must_use]
    pub fn view(&self) -> Grouped<'_> {
        match *self {
            Self::Activate { group, epoch, is_current } => {
                Grouped::Activate { group, epoch, is_current }
            }
            Self::Deactivate { group } => Grouped::Deactivate { group },
            Self::Forget { group } => Grouped::Forget { group },
            Self::Delta { group, ref delta } => Grouped::Delta { group, delta },
            Self::Slice { group, number, cursor, room } => {
                Grouped::Slice { group, number, cursor, room }
            }
            Self::Followed { group, mark } => Grouped::Followed { group, mark },
            Self::Paced { group, pace } => Grouped::Paced { group, pace },
            Self::Serves { group, node, epoch } => Grouped::Serves { group, node, epoch },
            Self::Node { node, is_alive } => Grouped::Node { node, is_alive },
            Self::Post { from, ref bytes } => Grouped::Post { from, bytes },
            Self::Returned { to, ref bytes, has_left } => Grouped::Returned { to, bytes, has_left },
        }
    }
}

/// Who says whether this node may speak for a group now: whoever hands something of it to the
/// network looks here before.
pub trait Authority: Send + Sync {
    /// Whether it may.
    fn may_speak(&self, group: GroupId) -> bool;
}
