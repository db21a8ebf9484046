//! What a session is told: its path, its times, its role.

use machine::Duration;
use std::net::IpAddr;

/// A session of one [`crate::Sessions`]: an old one names no later session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId {
    pub(crate) place: u16,
    pub(crate) generation: u32,
}

impl SessionId {
    /// The place that it was added at.
    #[must_use]
    pub const fn place(self) -> u16 {
        self.place
    }
}

/// What a session watches. A packet that names no session is matched by it, and one that does must
/// have come by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// A neighbour on an interface (RFC 5881).
    SingleHop {
        /// The interface.
        interface: u32,
        /// The neighbour.
        remote: IpAddr,
    },
    /// A router over several hops (RFC 5883).
    Multihop {
        /// The table that leads there.
        vrf: u32,
        /// Our address.
        local: IpAddr,
        /// Its address.
        remote: IpAddr,
    },
    /// A label switched path (RFC 5884), by the number that its owner gives to its FEC.
    Lsp {
        /// The FEC.
        fec: u32,
    },
    /// A pseudowire (RFC 5885), by the number that its owner gives.
    Pseudowire {
        /// The pseudowire.
        number: u32,
    },
}

/// Whether a session speaks first (RFC 5880 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// It does.
    #[default]
    Active,
    /// It waits for the peer's first packet.
    Passive,
}

/// The times of a session. They may be changed while it is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timers {
    /// The interval of our packets (bfd.DesiredMinTxInterval). While the session is not up it is
    /// one second at least (RFC 5880 §6.8.3).
    pub desired_min_tx: Duration,
    /// The interval of packets that we can take (bfd.RequiredMinRxInterval).
    pub required_min_rx: Duration,
    /// The interval of the peer's echo packets that we can send back; zero: none.
    pub required_min_echo_rx: Duration,
    /// The interval of our echo packets; zero: none are sent. The peer's word may make it longer.
    pub echo: Duration,
    /// Intervals without a packet that the peer shall bear (bfd.DetectMult), and echoes that we do.
    pub detect_mult: u8,
}

impl Timers {
    /// Packets at `interval` both ways, no echoes.
    #[must_use]
    pub const fn every(interval: Duration, detect_mult: u8) -> Self {
        Self {
            desired_min_tx: interval,
            required_min_rx: interval,
            required_min_echo_rx: Duration::ZERO,
            echo: Duration::ZERO,
            detect_mult,
        }
    }
}

/// What a session is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// What it watches.
    pub path: Path,
    /// Its times.
    pub timers: Timers,
    /// Whether it speaks first.
    pub role: Role,
    /// Whether we ask the peer to be silent while both are up (RFC 5880 §6.6).
    pub demand: bool,
    /// What authenticates its packets, as [`crate::Keys::add`] numbered it.
    pub authentication: Option<u16>,
    /// The least TTL that a packet may arrive with (RFC 5082). On one hop it is 255 whatever stands
    /// here; label switched paths and pseudowires are not looked at.
    pub ttl_min: u8,
}

impl SessionSettings {
    /// An active session without authentication.
    #[must_use]
    pub const fn new(path: Path, timers: Timers) -> Self {
        let (role, authentication) = (Role::Active, None);
        Self { path, timers, role, demand: false, authentication, ttl_min: 1 }
    }

    /// The least TTL in force.
    pub(crate) const fn ttl_least(&self) -> u8 {
        match self.path {
            Path::SingleHop { .. } => crate::TTL,
            Path::Multihop { .. } => self.ttl_min,
            Path::Lsp { .. } | Path::Pseudowire { .. } => 0,
        }
    }
}

/// What all sessions of a machine have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Sessions at once; 65,535 at most.
    pub sessions: u16,
    /// The shortest interval that a session may have, in either direction.
    pub interval_min: Duration,
    /// The longest time without a packet, whatever the peer says: a session that would take longer
    /// is down by then.
    pub detection_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 4_096,
            interval_min: Duration::from_millis(5),
            detection_max: Duration::from_secs(300),
        }
    }
}
