//! Routes as the function has them, and what happens to their ways.

use crate::around::Protocol;
use isis::Prefix;
use std::net::IpAddr;

/// A way of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// Out of this interface.
    pub interface: u32,
    /// To this neighbour.
    pub gateway: IpAddr,
}

/// The route to a prefix that the lowest distance makes hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Whose it is.
    pub protocol: Protocol,
    /// Its preference.
    pub distance: u8,
    /// What it costs.
    pub cost: u32,
    /// Equal ways, in order.
    pub ways: Vec<Way>,
    /// Where its packets go while the only one of them does not work.
    pub repair: Option<Repair>,
    /// Its ways are told by hops of their own, which end with an adjacency.
    pub is_guarded: bool,
}

/// A way as one protocol knows it: what another knows of the same neighbour is its own.
pub type Guard = (Protocol, Way);

/// Where a route's packets go while its only way does not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// By that way.
    pub way: Way,
    /// In a tunnel to that address of another router; none: as they are.
    pub tunnel: Option<Prefix>,
}

/// What happened in a protocol that repairs are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A neighbour is adjacent no more.
    Lost(Way),
    /// It is again.
    Back(Way),
    /// SPF ran, after something else than the end of a link of our own, or not.
    Ran { is_disturbed: bool },
}
