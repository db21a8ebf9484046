//! What a node is told, and what it wants.

use crate::node::{NodeId, Partition};
use bytes::Bytes;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum In {
    /// A datagram of that node came, and its seal is right.
    Datagram(NodeId, Bytes),
    /// To serve nothing any more, or to take part again.
    Drain(bool),
    /// Work for another node.
    Forward(NodeId, Bytes),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// A datagram for that node leaves.
    Datagram(NodeId, Vec<u8>),
    /// Another node has forwarded this.
    Work(NodeId, Bytes),
    /// This was for a node that is no more, and was never sent.
    Returned(NodeId, Bytes),
    /// The function serves a partition from now on.
    Activate {
        /// Which.
        partition: Partition,
        /// Counts those who serve it one after the other.
        epoch: u32,
        /// What stands.
        records: Vec<(u32, Bytes)>,
        /// Whether that is all that stands.
        is_whole: bool,
    },
    /// The function serves it no more. With `keeps` it says what stands by
    /// [`crate::Cluster::keep`], and then [`crate::Cluster::left`].
    Deactivate {
        /// Which.
        partition: Partition,
        /// Whether this node stands by from now on.
        keeps: bool,
    },
}
