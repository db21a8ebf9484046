//! The configuration of Diameter in a function: who this node is, its peers, its routes, and what
//! the function's section says of the rest ([`Section`]).

mod change;
mod ports;
mod routes;
mod validate;

pub use ports::{LISTENERS_MAX, SCTP_PORTS, STREAM_PORTS};
pub use routes::application;

use diameter::Parameters;
use machine::Duration;
use runtime::{ClientAuth, PortId, TlsSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// What the section of a function says of Diameter. The function owns the keys, so that its
/// section is one table with keys of its own beside these.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// The key of the function in the site file, as in `[[ipsmgw]]`.
    pub key: &'a str,
    /// The name of the function.
    pub name: &'a str,
    /// Who this node is, its ports and limits.
    pub node: &'a Node,
    /// The peers.
    pub peer: &'a [Peer],
    /// The routes.
    pub route: &'a [Route],
    /// Application-IDs that the function speaks.
    pub applications: &'a [u32],
    /// The first of its ports; those over SCTP begin [`SCTP_PORTS`] behind it.
    pub first_port: PortId,
}

/// Who a node is, its ports and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Origin-Host: `ipsmgw1.ims.example.org`.
    pub host: String,
    /// Origin-Realm: `ims.example.org`.
    pub realm: String,
    /// Product-Name.
    #[serde(default = "product")]
    pub product: String,
    /// Requests of peers go on to other peers by the routes; else this node is an end alone.
    #[serde(default)]
    pub relays: bool,
    /// Over TCP.
    #[serde(default)]
    pub tcp: Tcp,
    /// Over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// The SCTP endpoint, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sctp: Option<sctp_stack::Config>,
    /// Timers.
    #[serde(default)]
    pub timers: Timers,
    /// Limits.
    #[serde(default)]
    pub limits: Limits,
}

/// Diameter over TCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Addresses to listen on: `127.0.0.1:3868`, `[::1]:3868`.
    pub listen: Vec<SocketAddr>,
    /// Octets that wait for one peer that reads slowly, over TCP or TLS; what comes on top is
    /// shed, newest first.
    pub send_queue_octets_max: u32,
}

impl Default for Tcp {
    fn default() -> Self {
        Self { listen: Vec::new(), send_queue_octets_max: 4 << 20 }
    }
}

/// Diameter over TLS from the first octet on (RFC 6733 §13.1). Files are PEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Addresses to listen on: `127.0.0.1:5658`.
    #[serde(default)]
    pub listen: Vec<SocketAddr>,
    /// Certificate chain of this node.
    pub certificate: String,
    /// Private key of this node.
    pub key: String,
    /// Certificates that sign those of the peers; absent: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<String>,
    /// Peers that connect must show a certificate that carries their host.
    #[serde(default = "yes")]
    pub verify_clients: bool,
    /// The certificate of a peer that is connected to must carry its host.
    #[serde(default = "yes")]
    pub verify_servers: bool,
}

impl Tls {
    /// The names of its files.
    pub fn files(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.certificate, &mut self.key].into_iter().chain(&mut self.roots)
    }

    /// As a port takes it.
    #[must_use]
    pub fn spec(&self) -> TlsSpec {
        TlsSpec {
            certificate: Some(self.certificate.clone().into()),
            key: Some(self.key.clone().into()),
            roots: self.roots.clone().map(Into::into),
            client_auth: if self.verify_clients { ClientAuth::Required } else { ClientAuth::Off },
            verify: self.verify_servers,
            ..TlsSpec::default()
        }
    }
}

/// Timers, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timers {
    /// Tc: the pause before a peer is connected to again; it doubles with each attempt that fails.
    pub reconnect_ms: u32,
    /// The longest that this pause becomes.
    pub reconnect_max_ms: u32,
    /// Time for a connection and the exchange of capabilities.
    pub capabilities_ms: u32,
    /// Tw: the watchdog's interval, 6 s at least (RFC 3539 §3.4.1).
    pub watchdog_ms: u32,
    /// Time for the answer to a disconnect.
    pub disconnect_ms: u32,
    /// Time for a request, failovers included.
    pub request_ms: u32,
    /// Time for this node's own answer to a request.
    pub answer_ms: u32,
    /// How long a request that comes again is known for one.
    pub duplicates_ms: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            reconnect_ms: 5_000,
            reconnect_max_ms: 60_000,
            capabilities_ms: 10_000,
            watchdog_ms: 30_000,
            disconnect_ms: 5_000,
            request_ms: 10_000,
            answer_ms: 10_000,
            duplicates_ms: 240_000,
        }
    }
}

/// Limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connections that have not said who they are.
    pub strangers_max: u32,
    /// Of these, from one source: an IPv4 address, an IPv6 prefix of 56 bits.
    pub strangers_of_source_max: u32,
    /// Requests sent and not answered.
    pub requests_max: u32,
    /// Octets of these.
    pub requests_octets_max: u64,
    /// Requests that came and are not answered.
    pub arrived_max: u32,
    /// Octets of these.
    pub arrived_octets_max: u64,
    /// Octets of answers that are kept for requests that come again.
    pub duplicates_octets_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            strangers_max: 256,
            strangers_of_source_max: 16,
            requests_max: 65_536,
            requests_octets_max: 64 << 20,
            arrived_max: 65_536,
            arrived_octets_max: 64 << 20,
            duplicates_octets_max: 32 << 20,
        }
    }
}

/// What carries the messages of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Carriage {
    /// TCP.
    #[default]
    Tcp,
    /// TLS over TCP.
    Tls,
    /// SCTP.
    Sctp,
}

/// A peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Name, unique in the function.
    pub name: String,
    /// Its Origin-Host.
    pub host: String,
    /// Its Origin-Realm, if another one shall be refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realm: Option<String>,
    /// `tcp`, `tls` or `sctp`.
    #[serde(default)]
    pub transport: Carriage,
    /// Its addresses. A connection from another one is not its own; an empty list takes any.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// Its port, where this node connects; absent: 3868, and 5658 over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Its UDP port, where SCTP is carried in UDP and this node connects.
    #[serde(default = "encapsulation_port")]
    pub encapsulation_port: u16,
    /// This node opens the connection; else it waits for the peer.
    #[serde(default)]
    pub connect: bool,
    /// Applications that it asks and is asked, by their names: `["Sh"]`. Requests of its `realm`
    /// (absent: of any) go to it where no route of that realm and application says otherwise. An
    /// empty list: all that this node speaks, and requests go to it by routes alone.
    #[serde(default)]
    pub applications: Vec<String>,
    /// The lower, the rather is it asked, among peers of the same realm and application.
    #[serde(default)]
    pub priority: u8,
}

/// Where requests go. The most exact route is taken: realm and application, then realm, then the
/// application of any realm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destination-Realm; absent: any that no other route has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realm: Option<String>,
    /// Application-ID; absent: any that no other route of the realm has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<u32>,
    /// Names of peers, the best one first; those with one priority share by weight.
    #[serde(default)]
    pub to: Vec<To>,
    /// Instead of `to`: whoever asks is told to ask these (`aaa://hss.example.org`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect: Vec<String>,
    /// How long the redirect may be used for all requests of realm and application, in seconds.
    #[serde(default)]
    pub redirect_cache_s: u32,
}

/// A peer of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct To {
    /// Name of the peer.
    pub peer: String,
    /// The lower, the rather is it taken.
    #[serde(default)]
    pub priority: u8,
    /// Its share among those of its priority.
    #[serde(default = "one")]
    pub weight: u16,
}

fn product() -> String {
    String::from("Tandem")
}

/// RFC 6951 §5.1.
const fn encapsulation_port() -> u16 {
    9_899
}

const fn yes() -> bool {
    true
}

const fn one() -> u16 {
    1
}

const fn millis(number: u32) -> Duration {
    Duration::from_millis(number as u64)
}

fn octets(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Node {
    /// As the machine takes them.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        let (timers, limits) = (&self.timers, &self.limits);
        Parameters {
            t_connect: millis(timers.reconnect_ms),
            t_connect_max: millis(timers.reconnect_max_ms),
            t_capabilities: millis(timers.capabilities_ms),
            t_watchdog: millis(timers.watchdog_ms),
            t_disconnect: millis(timers.disconnect_ms),
            t_request: millis(timers.request_ms),
            t_answer: millis(timers.answer_ms),
            t_duplicates: millis(timers.duplicates_ms),
            strangers_max: limits.strangers_max as usize,
            requests_max: limits.requests_max,
            requests_octets_max: octets(limits.requests_octets_max),
            arrived_max: limits.arrived_max,
            arrived_octets_max: octets(limits.arrived_octets_max),
            duplicates_octets_max: octets(limits.duplicates_octets_max),
        }
    }
}

impl Peer {
    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        let own = match self.transport {
            Carriage::Tls => diameter::codec::SECURE_PORT,
            Carriage::Tcp | Carriage::Sctp => diameter::codec::PORT,
        };
        self.port.unwrap_or(own)
    }

    /// Where it is reached over SCTP.
    #[must_use]
    pub fn endpoint(&self) -> sctp_stack::Peer {
        sctp_stack::Peer {
            addresses: self.addresses.clone(),
            port: self.port(),
            encapsulation_port: self.encapsulation_port,
        }
    }

    /// Whether a connection from there may be its own.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.is_empty() || self.addresses.contains(&address)
    }

    /// What the machine is told of it.
    #[must_use]
    pub fn settings(&self) -> diameter::PeerSettings {
        diameter::PeerSettings {
            host: self.host.clone(),
            realm: self.realm.clone(),
            connects: self.connect,
        }
    }
}
