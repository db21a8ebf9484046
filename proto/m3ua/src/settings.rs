//! What is configured: peers and Application Servers.

use crate::codec::{NetworkAppearance, PointCode, RoutingContext, TrafficMode};

/// Destinations in one Routing Key at most.
pub const KEY_DESTINATIONS_MAX: usize = 256;
/// Service Indicators, or Originating Point Codes, for one destination of a key at most.
pub const KEY_LIST_MAX: usize = 256;
/// ASPs in one Application Server at most.
pub const MEMBERS_MAX: usize = 256;
/// Application Servers of one peer at most.
pub const SERVERS_PER_PEER_MAX: usize = 4096;

/// What this process is towards a peer (RFC 4666 §1.2, §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An ASP; the peer is an SGP.
    Asp,
    /// An SGP; the peer is an ASP.
    Sgp,
    /// An IPSP of a single exchange that asks: one ASP Up and one ASP Active are for both.
    IpspClient,
    /// An IPSP of a single exchange that is asked.
    IpspServer,
    /// An IPSP of a double exchange: each asks the other.
    IpspDouble,
}

/// Who the ASPs of an Application Server are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// This process is one of them: it serves the traffic that comes for the key.
    Here,
    /// The peers are: traffic for the key is sent to them.
    There,
}

/// A peer, known to both sides by an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerSettings {
    /// What this process is towards it.
    pub role: Role,
    /// The number of the Signalling Gateway that an SGP belongs to: the destinations behind SGPs
    /// of one gateway are the same.
    pub gateway: u16,
    /// The lower, the rather is the gateway chosen.
    pub priority: u8,
    /// This process asks by ASP Up when the association comes up; else when
    /// [`crate::In::AspUp`] says so.
    pub starts: bool,
    /// What this process calls itself in its ASP Up.
    pub asp_identifier: Option<u32>,
    /// The peer may register Routing Keys.
    pub may_register: bool,
}

impl PeerSettings {
    /// One that starts by itself, of gateway 0, without an ASP Identifier, that may register.
    #[must_use]
    pub const fn new(role: Role) -> Self {
        Self {
            role,
            gateway: 0,
            priority: 0,
            starts: true,
            asp_identifier: None,
            may_register: true,
        }
    }
}

/// Traffic to one destination (RFC 4666 §1.4.2.1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination {
    /// Destination Point Code.
    pub dpc: PointCode,
    /// Only these Service Indicators; empty: all.
    pub service_indicators: Vec<u8>,
    /// Only from these; empty: from all.
    pub originating: Vec<PointCode>,
}

impl Destination {
    /// All traffic to `dpc`.
    #[must_use]
    pub const fn all(dpc: PointCode) -> Self {
        Self { dpc, service_indicators: Vec::new(), originating: Vec::new() }
    }

    /// Whether an MSU belongs to it.
    #[must_use]
    pub fn takes(&self, dpc: PointCode, si: u8, opc: PointCode) -> bool {
        self.dpc == dpc
            && (self.service_indicators.is_empty() || self.service_indicators.contains(&si))
            && (self.originating.is_empty() || self.originating.contains(&opc))
    }

    /// Whether an MSU could belong to both.
    fn overlaps(&self, other: &Self) -> bool {
        fn meet<T: PartialEq>(one: &[T], other: &[T]) -> bool {
            one.is_empty() || other.is_empty() || one.iter().any(|item| other.contains(item))
        }
        self.dpc == other.dpc
            && meet(&self.service_indicators, &other.service_indicators)
            && meet(&self.originating, &other.originating)
    }
}

/// Which traffic an Application Server is for (RFC 4666 §1.4.2.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Key {
    /// Which SS7 network.
    pub network: Option<NetworkAppearance>,
    /// Which traffic.
    pub destinations: Vec<Destination>,
}

impl Key {
    /// All traffic to `dpc`.
    #[must_use]
    pub fn of(dpc: PointCode) -> Self {
        Self { network: None, destinations: vec![Destination::all(dpc)] }
    }

    /// Whether an MSU belongs to it.
    #[must_use]
    pub fn takes(&self, dpc: PointCode, si: u8, opc: PointCode) -> bool {
        self.destinations.iter().any(|destination| destination.takes(dpc, si, opc))
    }

    /// Whether an MSU could belong to both: such keys cannot be told apart (RFC 4666 §1.4.2.2).
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.network == other.network
            && self
                .destinations
                .iter()
                .any(|one| other.destinations.iter().any(|destination| one.overlaps(destination)))
    }

    /// Lists in order, so that equal keys are equal.
    pub(crate) fn normalise(&mut self) {
        for destination in &mut self.destinations {
            destination.service_indicators.sort_unstable();
            destination.service_indicators.dedup();
            destination.originating.sort_unstable();
            destination.originating.dedup();
        }
        self.destinations.sort_unstable();
        self.destinations.dedup();
    }

    pub(crate) fn fits(&self) -> bool {
        let lists_fit = self.destinations.iter().all(|destination| {
            destination.service_indicators.len() <= KEY_LIST_MAX
                && destination.originating.len() <= KEY_LIST_MAX
        });
        lists_fit && (1..=KEY_DESTINATIONS_MAX).contains(&self.destinations.len())
    }
}

/// An Application Server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// Who its ASPs are.
    pub side: Side,
    /// Its name on associations; with `None`, messages have no Routing Context, and a peer has
    /// no other Application Server.
    pub routing_context: Option<RoutingContext>,
    /// Its traffic.
    pub key: Key,
    /// How traffic is dealt; `None`: as the first ASP Active says, else override.
    pub mode: Option<TrafficMode>,
    /// Active ASPs that the load needs: fewer do not make it AS-ACTIVE (loadshare and broadcast).
    pub asps_min: u16,
    /// This process becomes active without being told ([`Side::Here`], or an
    /// [`Role::IpspClient`]).
    pub starts: bool,
    /// This process becomes active when it is notified of AS-PENDING or of insufficient
    /// resources: the spare of a 1+1 or n+k.
    pub takes_over: bool,
    /// The Routing Context is obtained by registration.
    pub registers: bool,
}

impl ServerSettings {
    /// One that starts by itself, with the mode open and one ASP enough.
    #[must_use]
    pub const fn new(side: Side, routing_context: Option<RoutingContext>, key: Key) -> Self {
        Self {
            side,
            routing_context,
            key,
            mode: None,
            asps_min: 1,
            starts: true,
            takes_over: false,
            registers: false,
        }
    }
}

/// Why something cannot be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There are as many as there may be.
    Full,
    /// There is no such peer or server.
    Unknown,
    /// The peer's role and the server's side do not go together.
    Side,
    /// The key has no destination, or more than [`KEY_DESTINATIONS_MAX`], or a list too long.
    Key,
    /// The key overlaps that of another Application Server.
    Overlap,
    /// That Routing Context is taken, or one is needed to tell the servers of the peer apart.
    RoutingContext,
    /// It is configured already.
    Exists,
}
