//! The configuration of the links: peers, M3UA over TCP, and what a function's section says of the
//! rest ([`Section`]).

mod point_code;
mod ports;
mod validate;

pub use point_code::{PointCodeFormat, show_network};
pub use ports::{SCTP_PORTS, TCP_LISTENERS_MAX, TCP_PORTS};
pub use validate::validate_name;

use m3ua::{PeerSettings, Role};
use machine::Duration;
use runtime::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Peers of one function at most.
pub const PEERS_MAX: usize = 1_024;

/// What the section of a function says of its links. The function owns the keys, so that its
/// section is one table with keys of its own beside these.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// The key of the function in the site file, as in `[[sgc]]`.
    pub key: &'a str,
    /// The name of the function.
    pub name: &'a str,
    /// The SCTP endpoint, if there is one.
    pub sctp: Option<&'a sctp_stack::Config>,
    /// M3UA over TCP.
    pub tcp: &'a Tcp,
    /// The peers.
    pub peer: &'a [Peer],
    /// Pause between two attempts to open an association.
    pub reconnect: Duration,
    /// The first of its ports; those over SCTP begin [`SCTP_PORTS`] behind it.
    pub first_port: PortId,
}

/// M3UA over TCP, each message framed by its length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Addresses to listen on: `127.0.0.1:2905`, `[::1]:2905`.
    pub listen: Vec<SocketAddr>,
    /// Octets that wait for one peer that reads slowly; what comes on top is shed, newest first.
    pub send_queue_octets_max: u32,
}

impl Default for Tcp {
    fn default() -> Self {
        Self { listen: Vec::new(), send_queue_octets_max: 4 << 20 }
    }
}

/// What carries the messages of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Carriage {
    /// SCTP.
    #[default]
    Sctp,
    /// TCP.
    Tcp,
}

/// What a peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PeerRole {
    /// An ASP: this node is its SGP.
    Asp,
    /// An SGP: this node is one of its ASPs.
    Sgp,
    /// An IPSP, single exchange: one ASP Up and one ASP Active are for both directions.
    Ipsp,
    /// An IPSP, double exchange: each asks the other.
    IpspDouble,
}

/// A peer: one association.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Name, unique in the function.
    pub name: String,
    /// What it is: `asp`, `sgp`, `ipsp` (single exchange) or `ipsp-double`.
    pub role: PeerRole,
    /// `sctp` or `tcp`.
    #[serde(default)]
    pub transport: Carriage,
    /// Its addresses. An association from one of them is its own; an empty list takes one from any
    /// address that no other peer has.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// Its port. When it connects to this node, absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Its UDP port, where SCTP is carried in UDP and this node connects.
    #[serde(default = "encapsulation_port")]
    pub encapsulation_port: u16,
    /// This node opens the association (to port 2905 unless told); else it waits for the peer.
    #[serde(default)]
    pub connect: bool,
    /// Single exchange: this node sends ASP Up and ASP Active; absent: who connects does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<bool>,
    /// What this node calls itself in its ASP Up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asp_identifier: Option<u32>,
    /// Number of the Signalling Gateway that an SGP belongs to: all SGPs of one gateway lead to the
    /// same destinations.
    #[serde(default)]
    pub gateway: u16,
    /// The lower, the rather is this gateway chosen.
    #[serde(default)]
    pub priority: u8,
    /// Which MSUs may come from it.
    #[serde(default)]
    pub screening: Screening,
    /// It may register Routing Keys (see `policy.registration`).
    #[serde(default = "yes")]
    pub may_register: bool,
    /// The association is used as soon as it stands; else when `tandem ctl m3ua unblock` says so.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// Which MSUs may come from a peer. What may not is discarded and counted, and is an alarm. A point
/// code of this node itself is never an origin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Screening {
    /// Originating Point Codes: `2-100-3`, ranges `2-100-0..2-100-7`, or `any` alone. Absent: an
    /// ASP or IPSP has those of its Application Servers, one without Application Servers those that
    /// none here has; an SGP, behind which there is a network, has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub originating: Option<Vec<String>>,
    /// Destination Point Codes and ranges of them; absent: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<String>>,
    /// Service Indicators (3 SCCP, 5 ISUP); absent: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_indicators: Option<Vec<u8>>,
    /// Network Indicators (0 and 1 international, 2 and 3 national); absent: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_indicators: Option<Vec<u8>>,
}

impl Peer {
    /// What this node is towards it.
    #[must_use]
    pub fn role(&self) -> Role {
        match self.role {
            PeerRole::Asp => Role::Sgp,
            PeerRole::Sgp => Role::Asp,
            PeerRole::IpspDouble => Role::IpspDouble,
            PeerRole::Ipsp if self.asks.unwrap_or(self.connect) => Role::IpspClient,
            PeerRole::Ipsp => Role::IpspServer,
        }
    }

    /// Where it is reached over SCTP.
    #[must_use]
    pub fn endpoint(&self) -> sctp_stack::Peer {
        sctp_stack::Peer {
            addresses: self.addresses.clone(),
            port: self.port.unwrap_or(m3ua::codec::PORT),
            encapsulation_port: self.encapsulation_port,
        }
    }

    /// What the M3UA process is told of it.
    #[must_use]
    pub fn settings(&self) -> PeerSettings {
        PeerSettings {
            role: self.role(),
            gateway: self.gateway,
            priority: self.priority,
            starts: self.enabled,
            asp_identifier: self.asp_identifier,
            may_register: self.may_register,
        }
    }
}

/// RFC 6951 §5.1.
const fn encapsulation_port() -> u16 {
    9_899
}

const fn yes() -> bool {
    true
}
