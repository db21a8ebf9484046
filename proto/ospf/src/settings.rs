//! What an instance, its areas and its interfaces are told.

use crate::packet::Authentication;
use machine::Duration;
use spf::{Method, SpfDelays};
use std::net::Ipv4Addr;

/// A prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// Its address, zero behind its length.
    pub address: u32,
    /// Its length.
    pub length: u8,
}

impl Prefix {
    /// From any address in it; a length beyond 32 counts as 32.
    #[must_use]
    pub const fn new(address: u32, length: u8) -> Self {
        let length = if length > 32 { 32 } else { length };
        Self { address: address & mask_of(length), length }
    }

    /// From an address and a mask.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "at most 32")]
    pub const fn of_mask(address: u32, mask: u32) -> Self {
        Self::new(address, mask.leading_ones() as u8)
    }

    /// Its mask.
    #[must_use]
    pub const fn mask(self) -> u32 {
        mask_of(self.length)
    }

    /// Whether it contains an address.
    #[must_use]
    pub const fn has(self, address: u32) -> bool {
        address & self.mask() == self.address
    }
}

const fn mask_of(length: u8) -> u32 {
    if length == 0 { 0 } else { u32::MAX << (32 - length) }
}

impl core::fmt::Display for Prefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.address), self.length)
    }
}

/// What an area lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AreaKind {
    /// Externals and summaries.
    #[default]
    Normal,
    /// No externals: a default route in their place (RFC 2328 §3.6).
    Stub {
        /// No summaries either.
        is_totally: bool,
        /// What the default route costs.
        default_cost: u32,
    },
    /// Externals of its own only (RFC 3101).
    Nssa {
        /// No summaries: a default route in their place.
        is_totally: bool,
        /// What the default route costs; none: there is none.
        default_cost: Option<u32>,
    },
}

impl AreaKind {
    /// The E- and N-bits of hellos.
    pub(crate) const fn options(self) -> u8 {
        match self {
            Self::Normal => crate::lsa::OPTION_EXTERNAL,
            Self::Stub { .. } => 0,
            Self::Nssa { .. } => crate::lsa::OPTION_NSSA,
        }
    }

    /// Whether LSAs of the whole domain pass.
    pub(crate) const fn is_normal(self) -> bool {
        matches!(self, Self::Normal)
    }
}

/// The kind of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// Any number of routers that hear each other's multicast.
    Broadcast,
    /// One neighbour.
    PointToPoint,
}

/// An interface.
#[derive(Debug, Clone)]
pub struct InterfaceSettings {
    /// Its number.
    pub index: u32,
    /// Its area.
    pub area: u32,
    /// Its address.
    pub address: Ipv4Addr,
    /// The length of its prefix.
    pub length: u8,
    /// The kind of its link.
    pub link: LinkType,
    /// What it costs to send by it.
    pub cost: u16,
    /// Priority as designated router; 0: never.
    pub priority: u8,
    /// Seconds between hellos.
    pub hello_s: u16,
    /// Seconds of silence after which a neighbour is dead.
    pub dead_s: u32,
    /// Seconds between two sendings of what is not acknowledged.
    pub retransmit_s: u16,
    /// Seconds that an LSA ages on the link.
    pub delay_s: u16,
    /// Octets of the longest IP packet.
    pub mtu: u16,
    /// A neighbour may have another MTU.
    pub ignores_mtu: bool,
    /// No packets: it is only announced.
    pub is_passive: bool,
    /// How its packets are authenticated.
    pub authentication: Authentication,
    /// What a neighbour's digests were numbered with outlives it: recordings of it prove nothing,
    /// and it may never begin anew with lower numbers.
    pub keeps_numbers: bool,
}

impl InterfaceSettings {
    /// With the values of RFC 2328 §C.3.
    #[must_use]
    pub fn new(index: u32, area: u32, address: Ipv4Addr, length: u8) -> Self {
        Self {
            index,
            area,
            address,
            length,
            link: LinkType::Broadcast,
            cost: 10,
            priority: 1,
            hello_s: 10,
            dead_s: 40,
            retransmit_s: 5,
            delay_s: 1,
            mtu: 1_500,
            ignores_mtu: false,
            is_passive: false,
            authentication: Authentication::Null,
            keeps_numbers: false,
        }
    }

    /// Its prefix.
    #[must_use]
    pub fn prefix(&self) -> Prefix {
        Prefix::new(self.address.into(), self.length)
    }
}

/// How much a database and the neighbours of an interface may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// LSAs at once.
    pub lsas: usize,
    /// Octets of them.
    pub octets: usize,
    /// LSAs of one advertising router.
    pub lsas_of_router: usize,
    /// Neighbours of an interface.
    pub neighbours: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lsas: 500_000, octets: 256 << 20, lsas_of_router: 200_000, neighbours: 256 }
    }
}

/// An instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The router's own number.
    pub router: u32,
    /// Delays of runs of SPF.
    pub delays: SpfDelays,
    /// How much may grow.
    pub limits: Limits,
    /// Time between two instances of an own LSA (MinLSInterval; RFC 2328 §B says 5 s).
    pub ls_interval: Duration,
    /// Time between two instances of an LSA that are taken (MinLSArrival; RFC 2328 §B: 1 s).
    pub ls_arrival: Duration,
    /// Neighbours that restart are borne, at most for so long; zero: not at all (RFC 3623).
    pub grace_max: Duration,
    /// We come back from a restart, and neighbours were asked for patience (RFC 3623 §2): until
    /// then nothing is said anew, and routes stay as they were.
    pub restart: Option<Duration>,
    /// Links cost the most that there is, so that nothing passes through (RFC 6987).
    pub is_stub_router: bool,
    /// Equal paths of a route.
    pub paths: usize,
    /// How routes are repaired ahead of a failure, if they are.
    pub repair: Option<Method>,
}

impl Settings {
    /// With the values of the standards.
    #[must_use]
    pub fn new(router: Ipv4Addr) -> Self {
        Self {
            router: router.into(),
            delays: SpfDelays::default(),
            limits: Limits::default(),
            ls_interval: Duration::from_secs(5),
            ls_arrival: Duration::from_secs(1),
            grace_max: Duration::from_secs(1_800),
            restart: None,
            is_stub_router: false,
            paths: spf::PATHS_MAX,
            repair: None,
        }
    }
}
