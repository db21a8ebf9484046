//! The section of a site file that describes an endpoint, and that of a peer.

use crate::parameters::{Extensions, Overrides, preset};
use config::Issue;
use core::net::{IpAddr, SocketAddr};
use runtime::{PortId, PortSpec, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Addresses of one endpoint, or of one peer.
pub const ADDRESSES_MAX: usize = 8;
/// Associations of one endpoint.
pub const ASSOCIATIONS_MAX: u32 = 65_536;
/// The UDP port that IANA gave to the encapsulation (RFC 6951 §5.1).
pub const ENCAPSULATION_PORT: u16 = 9_899;
/// The number of SCTP among the protocols of IP.
const SCTP_PROTOCOL: u8 = 132;

/// An SCTP endpoint: one port on one or several addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Addresses of the endpoint. Peers are told of all of them when there are several
    /// (multihoming); each has a port of its own in the kernel.
    pub addresses: Vec<IpAddr>,
    /// SCTP port.
    pub port: u16,
    /// What carries the packets.
    pub carrier: Carrier,
    /// UDP port of ours with the carrier `udp`; 0 lets the kernel choose.
    pub encapsulation_port: u16,
    /// Whether associations are taken that peers begin.
    pub listens: bool,
    /// Associations at most.
    pub associations_max: u32,
    /// Where the parameters start from: `rfc9260` (§16), or `telecom(P)`: RTO 80 to 150 ms, SACK
    /// after 40 ms, a path fails after more than P time-outs in a row.
    pub preset: String,
    /// Parameters that differ from the preset. Changes reach the associations that stand.
    pub parameters: Overrides,
    /// Extensions that differ from the preset, for associations to come.
    pub extensions: Extensions,
}

/// What carries SCTP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// UDP datagrams (RFC 6951); needs no privilege.
    Udp,
    /// IP packets of protocol 132; needs `CAP_NET_RAW`, and a machine whose kernel has no SCTP or
    /// one address of its own: two stacks on one address abort each other's associations.
    Ip,
}

/// A peer to associate with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Its addresses; the first is the primary path. It tells the others itself, but only the
    /// ones listed here help while the association is set up.
    pub addresses: Vec<IpAddr>,
    /// Its SCTP port.
    pub port: u16,
    /// Its UDP port with the carrier `udp`.
    #[serde(default = "encapsulation_port")]
    pub encapsulation_port: u16,
}

const fn encapsulation_port() -> u16 {
    ENCAPSULATION_PORT
}

impl Default for Config {
    fn default() -> Self {
        Self {
            addresses: vec![IpAddr::from([127, 0, 0, 1])],
            port: 2_905,
            carrier: Carrier::Udp,
            encapsulation_port: ENCAPSULATION_PORT,
            listens: true,
            associations_max: 10_000,
            preset: "rfc9260".to_owned(),
            parameters: Overrides::default(),
            extensions: Extensions::default(),
        }
    }
}

impl Config {
    /// The ports that the function lists in its [`runtime::ShardSpec`], one an address, numbered
    /// from `first` on; `name` is the doorway's name for people.
    #[must_use]
    pub fn ports(&self, first: PortId, name: &str) -> Vec<PortSpec> {
        let numbers = first.0..;
        let port = |(number, address): (u16, &IpAddr)| PortSpec {
            id: PortId(number),
            name: format!("{name} {address}"),
            transport: Transport::Udp,
            protocol: self.carrier.protocol(),
            whole: true,
            listen: SocketAddr::new(*address, self.carrier.port(self.encapsulation_port)),
            ..PortSpec::default()
        };
        numbers.zip(&self.addresses).map(port).collect()
    }

    /// What associations begin with. A preset that [`Config::validate`] refuses counts as
    /// `rfc9260`.
    #[must_use]
    pub fn parameters(&self) -> sctp::Parameters {
        let mut parameters = preset(&self.preset).unwrap_or_else(sctp::Parameters::rfc9260);
        self.parameters.apply(&mut parameters);
        self.extensions.apply(&mut parameters.extensions);
        parameters
    }

    /// Whether `next` can be taken while associations stand. Port and carrier cannot change:
    /// then [`crate::Doorway::configure`] aborts what stands and begins anew.
    #[must_use]
    pub fn continues(&self, next: &Self) -> bool {
        self.port == next.port && self.carrier == next.carrier
    }

    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        validate_addresses(&self.addresses, issues);
        let has_wildcard = self.addresses.iter().any(IpAddr::is_unspecified);
        if has_wildcard && self.addresses.len() > 1 {
            let mend = "list the addresses themselves: peers are told of them";
            issues.push(Issue::new("addresses", "a wildcard beside other addresses", mend));
        }
        if self.port == 0 {
            issues.push(Issue::new("port", "0 is not an SCTP port", "use 1 to 65535"));
        }
        if !(1..=ASSOCIATIONS_MAX).contains(&self.associations_max) {
            let what = format!("{} is out of range", self.associations_max);
            let mend = format!("use 1 to {ASSOCIATIONS_MAX}");
            issues.push(Issue::new("associations_max", what, mend));
        }
        if preset(&self.preset).is_none() {
            let what = format!("`{}` is not a preset", self.preset);
            issues.push(Issue::new("preset", what, "write rfc9260 or telecom(2)"));
        }
        let mut inner = Vec::new();
        Overrides::validate(&self.parameters(), &mut inner);
        issues.extend(inner.into_iter().map(|issue| issue.under("parameters")));
    }
}

impl Carrier {
    /// The IP protocol, where it is not UDP.
    const fn protocol(self) -> Option<u8> {
        match self {
            Self::Udp => None,
            Self::Ip => Some(SCTP_PROTOCOL),
        }
    }

    /// The port of the carrier's own: zero where nothing is encapsulated.
    const fn port(self, encapsulation: u16) -> u16 {
        match self {
            Self::Udp => encapsulation,
            Self::Ip => 0,
        }
    }
}

impl Peer {
    /// Its paths as the machine takes them.
    pub(crate) fn paths(&self, carrier: Carrier) -> Vec<SocketAddr> {
        let port = carrier.port(self.encapsulation_port);
        self.addresses.iter().map(|address| SocketAddr::new(*address, port)).collect()
    }

    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        validate_addresses(&self.addresses, issues);
        if self.addresses.iter().any(IpAddr::is_unspecified) {
            let mend = "write the peer's own address";
            issues.push(Issue::new("addresses", "a wildcard is no destination", mend));
        }
        for (key, port) in [("port", self.port), ("encapsulation_port", self.encapsulation_port)] {
            if port == 0 {
                issues.push(Issue::new(key, "0 is not a destination port", "use 1 to 65535"));
            }
        }
    }
}

fn validate_addresses(addresses: &[IpAddr], issues: &mut Vec<Issue>) {
    if addresses.is_empty() || addresses.len() > ADDRESSES_MAX {
        let what = format!("{} addresses", addresses.len());
        issues.push(Issue::new("addresses", what, format!("give 1 to {ADDRESSES_MAX}")));
    }
    for (at, address) in addresses.iter().enumerate() {
        let path = format!("addresses[{at}]");
        if addresses[..at].contains(address) {
            issues.push(Issue::new(&path, format!("{address} stands twice"), "name it once"));
        }
        if address.is_multicast() {
            let mend = "SCTP has unicast addresses only (RFC 9260 §6.4)";
            issues.push(Issue::new(path, format!("{address} is a multicast address"), mend));
        }
    }
}
