//! An adjacency: a system at the other end of a circuit.

use crate::address::{Level, Levels, NodeId, Snpa, SystemId};
use crate::pdu::Restart;
use machine::Time;
use std::net::{Ipv4Addr, Ipv6Addr};

/// How far an adjacency is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdjacencyState {
    /// It is gone.
    Down,
    /// The neighbour is heard.
    Initializing,
    /// Both hear each other.
    Up,
}

/// Which adjacency of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AdjacencyKey {
    /// The one of a link of two.
    PointToPoint,
    /// One of a LAN: each level has its own.
    Lan(Level, Snpa),
}

#[derive(Debug, Clone)]
pub(crate) struct Adjacency {
    pub(crate) system: SystemId,
    pub(crate) snpa: Snpa,
    pub(crate) levels: Levels,
    pub(crate) state: AdjacencyState,
    pub(crate) hold_until: Time,
    /// Since when it is heard.
    pub(crate) since: Time,
    pub(crate) priority: u8,
    /// The pseudonode, as the neighbour has it.
    pub(crate) lan: NodeId,
    /// The neighbour's number of a link of two.
    pub(crate) circuit: u32,
    pub(crate) addresses: Vec<Ipv4Addr>,
    pub(crate) ipv6: Vec<Ipv6Addr>,
    /// It restarts, and is not told anything new of.
    pub(crate) is_restarting: bool,
    /// It does not want to be told to others yet.
    pub(crate) is_suppressed: bool,
    /// Octets that its hellos are padded to; 0: they are not.
    pub(crate) padded: u16,
    /// What it is answered in the next hello.
    pub(crate) answer: Option<Restart>,
}

impl Adjacency {
    pub(crate) const fn new(system: SystemId, snpa: Snpa, since: Time) -> Self {
        Self {
            system,
            snpa,
            levels: Levels::NONE,
            state: AdjacencyState::Down,
            hold_until: Time::MAX,
            since,
            priority: 0,
            lan: NodeId { system: SystemId([0; 6]), pseudonode: 0 },
            circuit: 0,
            addresses: Vec::new(),
            ipv6: Vec::new(),
            is_restarting: false,
            is_suppressed: false,
            padded: 0,
            answer: None,
        }
    }

    pub(crate) fn is_up(&self, level: Level) -> bool {
        self.state == AdjacencyState::Up && self.levels.has(level)
    }

    /// Whether others are told of it.
    pub(crate) fn is_advertised(&self, level: Level) -> bool {
        self.is_up(level) && !self.is_suppressed
    }
}
