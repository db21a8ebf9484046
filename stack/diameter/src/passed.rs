//! What passed: for the service assurance of whoever has the peers.

use bytes::Bytes;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// A message that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Whether it left here.
    pub is_sent: bool,
    /// The address of this end, and that of the other one; of an association one of each.
    pub ends: (SocketAddr, SocketAddr),
    /// What carried it, as HEP numbers it.
    pub protocol: u8,
    /// The connection that it took, numbered as it was opened.
    pub connection: u64,
    /// The message.
    pub octets: Bytes,
}

/// What passed and was not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Passages {
    pub is_wanted: bool,
    pub all: VecDeque<Passed>,
}
