//! Adjacencies: who was heard, where, and for how long that holds.

use crate::codec::LdpId;
use machine::Time;
use std::net::IpAddr;

/// Where an adjacency is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// On a link: the interface and the sender's address there.
    Link(u32, IpAddr),
    /// Anywhere: the sender's address.
    Targeted(IpAddr),
}

#[derive(Debug, Clone)]
pub(crate) struct Adjacency {
    pub(crate) peer: LdpId,
    /// Where the peer's sessions end.
    pub(crate) transport: IpAddr,
    pub(crate) ends: Time,
    /// Both say that packets come with a hop limit of 255.
    pub(crate) has_gtsm: bool,
}

/// Where a datagram came from.
pub(crate) struct Arrival {
    pub(crate) interface: u32,
    pub(crate) source: IpAddr,
    pub(crate) is_multicast: bool,
    pub(crate) hop_limit: u8,
}
