//! What a node is, what its peers are, where requests go, and every limit.

use machine::Duration;
use std::net::IpAddr;

/// Peers of a node at most, whatever is set.
pub const PEERS_MAX: usize = 1_024;
/// Routes of a node at most.
pub const ROUTES_MAX: usize = 4_096;
/// Peers of one route at most.
pub const HOPS_MAX: usize = 32;
/// Requests under way at most, whatever is set: what a Hop-by-Hop Identifier tells apart.
pub const REQUESTS_MAX: u32 = 1 << 18;

/// A peer of a node. An old name is never taken for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// A transport connection, by the number that its owner gave it; no number is used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub u64);

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its Origin-Host.
    pub host: String,
    /// Its Origin-Realm.
    pub realm: String,
    /// Its Product-Name.
    pub product: String,
    /// Its Vendor-Id.
    pub vendor: u32,
    /// Its addresses, for Host-IP-Address; empty: that of the connection.
    pub addresses: Vec<IpAddr>,
    /// Its Origin-State-Id: higher each time that its state is lost (RFC 6733 §8.16); 0: none.
    pub origin_state: u32,
    /// Application-IDs that it speaks itself.
    pub applications: Vec<u32>,
    /// It relays for others: it tells the relay application (RFC 6733 §2.4).
    pub relays: bool,
    /// The shard it lives on, which its Hop-by-Hop Identifiers carry.
    pub shard: u16,
    /// From the owner's random source.
    pub seed: u128,
    /// Timers and limits.
    pub parameters: Parameters,
}

/// Timers and limits of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Tc: the pause before a peer is connected to again (RFC 6733 §2.1); it doubles with each
    /// attempt that fails …
    pub t_connect: Duration,
    /// … up to this.
    pub t_connect_max: Duration,
    /// How long a connection, a CER and a CEA may take.
    pub t_capabilities: Duration,
    /// Tw: the watchdog's interval (RFC 3539 §3.4.1), 2 seconds more or less each time.
    pub t_watchdog: Duration,
    /// How long a DPA may take, and the end of the connection after it.
    pub t_disconnect: Duration,
    /// How long an own or relayed request may take, failovers included.
    pub t_request: Duration,
    /// How long this node's application may take for an answer.
    pub t_answer: Duration,
    /// How long a request that comes again is known for one (RFC 6733 §3: four minutes).
    pub t_duplicates: Duration,
    /// Connections that have not said who they are, at most.
    pub strangers_max: usize,
    /// Requests sent and not answered, at most.
    pub requests_max: u32,
    /// Octets of these; those that one peer has others relay have at most as much as is left.
    pub requests_octets_max: usize,
    /// Requests that the application has and has not answered, at most.
    pub arrived_max: u32,
    /// Octets of these, shared by peers in the same way.
    pub arrived_octets_max: usize,
    /// Octets of answers that are kept for requests that come again.
    pub duplicates_octets_max: usize,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            t_connect: Duration::from_secs(30),
            t_connect_max: Duration::from_secs(120),
            t_capabilities: Duration::from_secs(10),
            t_watchdog: Duration::from_secs(30),
            t_disconnect: Duration::from_secs(5),
            t_request: Duration::from_secs(10),
            t_answer: Duration::from_secs(10),
            t_duplicates: Duration::from_secs(240),
            strangers_max: 256,
            requests_max: 65_536,
            requests_octets_max: 64 << 20,
            arrived_max: 65_536,
            arrived_octets_max: 64 << 20,
            duplicates_octets_max: 32 << 20,
        }
    }
}

impl Parameters {
    /// Checks every value.
    ///
    /// # Errors
    /// The name of the first one out of its range.
    pub fn validate(&self) -> Result<(), &'static str> {
        let (least, most) = (Duration::from_millis(10), Duration::from_secs(3_600));
        let times = [
            ("t_connect", self.t_connect, least),
            ("t_connect_max", self.t_connect_max, self.t_connect),
            ("t_capabilities", self.t_capabilities, least),
            // RFC 3539 §3.4.1: no less than six seconds.
            ("t_watchdog", self.t_watchdog, Duration::from_secs(6)),
            ("t_disconnect", self.t_disconnect, least),
            ("t_request", self.t_request, least),
            ("t_answer", self.t_answer, least),
            ("t_duplicates", self.t_duplicates, least),
        ];
        let octets_max = 1 << 34;
        let counts = [
            ("strangers_max", self.strangers_max, 65_536),
            ("requests_max", self.requests_max as usize, REQUESTS_MAX as usize),
            ("requests_octets_max", self.requests_octets_max, octets_max),
            ("arrived_max", self.arrived_max as usize, REQUESTS_MAX as usize),
            ("arrived_octets_max", self.arrived_octets_max, octets_max),
            ("duplicates_octets_max", self.duplicates_octets_max, octets_max),
        ];
        let time = times.iter().find(|it| !(it.2..=most).contains(&it.1)).map(|it| it.0);
        let count = counts.iter().find(|it| !(1..=it.2).contains(&it.1)).map(|it| it.0);
        time.or(count).map_or(Ok(()), Err)
    }
}

/// What a peer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerSettings {
    /// Its Origin-Host: a CER from it must say so, in any case of letters.
    pub host: String,
    /// Its Origin-Realm, if another one is refused.
    pub realm: Option<String>,
    /// This node connects to it.
    pub connects: bool,
}

/// Where requests of a realm and an application go (RFC 6733 §2.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Destination-Realm; `None`: any that no other route has.
    pub realm: Option<String>,
    /// The application; `None`: any that no other route of the realm has.
    pub application: Option<u32>,
    /// What is done.
    pub action: Action,
}

/// What is done with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It is this node's own.
    Local,
    /// It goes to one of these.
    Relay(Vec<Hop>),
    /// Whoever asks is told to ask these (`aaa://host.example`), and for how many seconds all
    /// requests of the realm and the application may go there; 0: this one alone.
    Redirect(Vec<String>, u32),
}

/// A peer of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Which one.
    pub peer: PeerId,
    /// The lower, the rather is it taken.
    pub priority: u8,
    /// Its share among those of its priority.
    pub weight: u16,
}

/// Why something was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There are as many as there may be.
    Full,
    /// There is one with that host.
    Exists,
    /// Something of it is no name of a host or realm.
    Name,
    /// There is no such peer.
    Unknown,
}
