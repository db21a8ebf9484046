//! The section of a site file that describes an endpoint, and that of a peer.

use crate::parameters::{Extensions, Overrides, preset};
use config::Issue;
use core::net::{IpAddr, SocketAddr};
use runtime::{PortId, PortSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Addresses of one endpoint, or of one peer.
pub const ADDRESSES_MAX: usize = 8;
/// Associations of one endpoint.
pub const ASSOCIATIONS_MAX: u32 = 65_536;
/// Answers a second to those that have no association.
const ANSWERS_MAX: u32 = 10_000_000;
/// The UDP port that IANA gave to the encapsulation (RFC 6951 §5.1).
pub const ENCAPSULATION_PORT: u16 = 9_899;
/// What is wrong with the carrier `kernel` on most machines in containers.
pub(crate) const NO_SCTP: &str = "this machine's kernel has no SCTP";
/// Octets of a message from which on it fills packets where each packet costs.
const SPLIT_FROM_BYTES: u32 = 512;
/// The number of SCTP among the protocols of IP.
pub const SCTP_PROTOCOL: u8 = 132;

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
    /// UDP port of ours with the carrier `udp`, the same on all addresses; 0 lets the kernel choose
    /// where there is one address.
    pub encapsulation_port: u16,
    /// Whether associations are taken that peers begin.
    pub listens: bool,
    /// Associations at most.
    pub associations_max: u32,
    /// INITs, and packets of no association, that are answered each second, from one source (an
    /// IPv4 address, an IPv6 prefix of 64 bits); ten times as many where it is a peer's address.
    pub answers_of_source_max: u32,
    /// The same from all sources together that are no peer's.
    pub answers_of_strangers_max: u32,
    /// Where the parameters start from: `rfc9260` (§16); `tandem`, for round trips below 50 ms:
    /// data leaves a path at its first time-out; or `telecom(P)`: RTO 80 to 150 ms, SACK after 40
    /// ms, a path fails after more than P time-outs in a row.
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
    /// The same packets past the kernel's IP (`AF_XDP`), each address on an Ethernet interface of
    /// its own; needs `CAP_NET_ADMIN` and `CAP_BPF` too. The kernel's filters (nftables), queues
    /// (tc) and IPsec policies do not see them. What has no neighbour on that interface goes as
    /// with `ip`.
    Xdp,
    /// The SCTP of this machine's kernel, where it has one. What the kernel has no option for
    /// (PMTU, HB.Max.Burst, cookie keys, extensions) stays as its sysctls say.
    Kernel,
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
            answers_of_source_max: sctp::Answers::default().of_source,
            answers_of_strangers_max: sctp::Answers::default().of_strangers,
            preset: "rfc9260".to_owned(),
            parameters: Overrides::default(),
            extensions: Extensions::default(),
        }
    }
}

impl Config {
    /// The ports that the function lists in its [`runtime::ShardSpec`], one an address, numbered
    /// from `first` on; `name` is the endpoint's name for people.
    #[must_use]
    pub fn ports(&self, first: PortId, name: &str) -> Vec<PortSpec> {
        if self.carrier == Carrier::Kernel {
            return Vec::new(); // the endpoint opens its socket itself
        }
        let numbers = first.0..;
        let port = |(number, address): (u16, &IpAddr)| PortSpec {
            id: PortId(number),
            name: format!("{name} {address}"),
            listen: SocketAddr::new(*address, self.carrier.port(self.encapsulation_port)),
            carrier: match self.carrier.protocol() {
                None => runtime::Carrier::Udp { whole: true, runs: true },
                Some(protocol) => {
                    runtime::Carrier::Raw { protocol, bypass: self.carrier == Carrier::Xdp }
                }
            },
            ..PortSpec::default()
        };
        numbers.zip(&self.addresses).map(port).collect()
    }

    /// How often those are answered that have no association.
    #[must_use]
    pub const fn answers(&self) -> sctp::Answers {
        sctp::Answers {
            of_source: self.answers_of_source_max,
            of_strangers: self.answers_of_strangers_max,
        }
    }

    /// What associations begin with. A preset that [`Config::validate`] refuses counts as
    /// `rfc9260`.
    #[must_use]
    pub fn parameters(&self) -> sctp::Parameters {
        let mut parameters = preset(&self.preset).unwrap_or_else(sctp::Parameters::rfc9260);
        self.extensions.apply(&mut parameters.extensions);
        // Linux (6.1) numbers the fragments of I-DATA otherwise than RFC 8260: they are avoided.
        if self.carrier.protocol().is_some() && !parameters.extensions.interleaving {
            parameters.split_from_bytes = Some(SPLIT_FROM_BYTES);
        }
        self.parameters.apply(&mut parameters);
        parameters
    }

    /// Whether `next` can be taken while associations stand. Port and carrier cannot change:
    /// then [`crate::SctpEndpoint::configure`] aborts what stands and begins anew.
    #[must_use]
    pub fn continues(&self, next: &Self) -> bool {
        self.port == next.port && self.carrier == next.carrier
    }

    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        validate_addresses(&self.addresses, issues);
        if self.carrier == Carrier::Kernel && !driver::sctp::is_there() {
            let hint = "use ip (the same packets, of Tandem's own SCTP) or udp";
            issues.push(Issue::new("carrier", NO_SCTP, hint));
        }
        let has_wildcard = self.addresses.iter().any(IpAddr::is_unspecified);
        if has_wildcard && self.addresses.len() > 1 {
            let hint = "list the addresses themselves: peers are told of them";
            issues.push(Issue::new("addresses", "a wildcard beside other addresses", hint));
        }
        let is_bare = |it: &&IpAddr| it.is_unspecified() || it.is_loopback();
        if let (Carrier::Xdp, Some(bare)) = (self.carrier, self.addresses.iter().find(is_bare)) {
            let what =
                format!("the carrier xdp needs an Ethernet interface, which {bare} is not on");
            issues.push(Issue::new("carrier", what, "name the addresses, or use ip"));
        }
        let is_open = self.carrier == Carrier::Udp && self.encapsulation_port == 0;
        if is_open && self.addresses.len() > 1 {
            let what = "0 would be another port on each address";
            let hint = "name one: peers take it for the port of all addresses";
            issues.push(Issue::new("encapsulation_port", what, hint));
        }
        if self.port == 0 {
            issues.push(Issue::new("port", "0 is not an SCTP port", "use 1 to 65535"));
        }
        if !(1..=ASSOCIATIONS_MAX).contains(&self.associations_max) {
            let what = format!("{} is out of range", self.associations_max);
            let hint = format!("use 1 to {ASSOCIATIONS_MAX}");
            issues.push(Issue::new("associations_max", what, hint));
        }
        let rates = [
            ("answers_of_source_max", self.answers_of_source_max),
            ("answers_of_strangers_max", self.answers_of_strangers_max),
        ];
        for (key, rate) in rates {
            if !(1..=ANSWERS_MAX).contains(&rate) {
                let what = format!("{rate} a second is out of range");
                issues.push(Issue::new(key, what, format!("use 1 to {ANSWERS_MAX}")));
            }
        }
        if preset(&self.preset).is_none() {
            let what = format!("`{}` is not a preset", self.preset);
            issues.push(Issue::new("preset", what, "write rfc9260, tandem or telecom(2)"));
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
            Self::Udp | Self::Kernel => None,
            Self::Ip | Self::Xdp => Some(SCTP_PROTOCOL),
        }
    }

    /// The port of the carrier's own: zero where nothing is encapsulated.
    const fn port(self, encapsulation: u16) -> u16 {
        match self {
            Self::Udp => encapsulation,
            Self::Ip | Self::Xdp | Self::Kernel => 0,
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
            let hint = "write the peer's own address";
            issues.push(Issue::new("addresses", "a wildcard is no destination", hint));
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
            let hint = "SCTP has unicast addresses only (RFC 9260 §6.4)";
            issues.push(Issue::new(path, format!("{address} is a multicast address"), hint));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;

    #[test]
    fn the_default_is_valid_and_every_violation_is_named_with_its_path() {
        let mut issues = Vec::new();
        Config::default().validate(&mut issues);
        assert_eq!(issues, []);
        let wrong = r#"
            addresses = ["10.0.0.1", "0.0.0.0", "10.0.0.1", "224.0.0.1"]
            port = 0
            encapsulation_port = 0
            associations_max = 0
            preset = "telecom"
            [parameters]
            rto_min_ms = 5000
            rto_max_ms = 100
            sack_delay_ms = 501
            pmtu = 100
            sack_frequency = 0
            partial_delivery_point = 600000
            send_buffer_bytes = 1
            valid_cookie_life_ms = 0
        "#;
        let wrong: Config = toml::from_str(wrong).expect("the types have nothing against it");
        wrong.validate(&mut issues);
        let paths: Vec<_> = issues.iter().map(|issue| issue.path.as_str()).collect();
        let expected = [
            "addresses[2]",
            "addresses[3]",
            "addresses",
            "encapsulation_port",
            "port",
            "associations_max",
            "preset",
            "parameters.valid_cookie_life_ms",
            "parameters.rto_min_ms",
            "parameters.sack_delay_ms",
            "parameters.pmtu",
            "parameters.partial_delivery_point",
            "parameters.sack_frequency",
            "parameters.send_buffer_bytes",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn a_preset_and_what_differs_from_it_make_the_parameters() {
        let text = "preset = \"telecom(4)\"\n\
            [parameters]\nrto_max_ms = 200\nhb_interval_ms = 0\nmax_burst = 0\npmtu_max = 9000\n\
            potentially_failed_max_retrans = 1\n[extensions]\ninterleaving = true\n";
        let config: Config = toml::from_str(text).expect("it is a configuration");
        let parameters = config.parameters();
        let mut expected = sctp::Parameters::telecom(4);
        expected.path.rto_max = Duration::from_millis(200);
        expected.path.hb_interval = None;
        expected.max_burst = None;
        expected.path.pmtu_max = Some(9_000);
        expected.path.potentially_failed_max_retrans = Some(1);
        expected.extensions.interleaving = true;
        assert_eq!(parameters, expected);
        let mut over_ip = Config { carrier: Carrier::Ip, ..config };
        assert_eq!(over_ip.parameters(), expected, "fragments of I-DATA are avoided");
        over_ip.extensions.interleaving = None;
        expected.extensions.interleaving = false;
        expected.split_from_bytes = Some(SPLIT_FROM_BYTES);
        assert_eq!(over_ip.parameters(), expected, "packets are to be few there");
        over_ip.parameters.split_from_bytes = Some(0);
        assert_eq!(over_ip.parameters().split_from_bytes, None);
        let unknown = toml::from_str::<Config>("[parameters]\nrto_minimum_ms = 1\n");
        assert!(unknown.expect_err("there is no such key").to_string().contains("rto_minimum_ms"));
    }

    #[test]
    fn each_address_has_a_port_that_keeps_datagrams_whole() {
        let addresses: Vec<IpAddr> = vec![[10, 1, 0, 1].into(), [10, 2, 0, 1].into()];
        let whole = runtime::Carrier::Udp { whole: true, runs: true };
        let raw = runtime::Carrier::Raw { protocol: 132, bypass: false };
        for (carrier, port, by) in [(Carrier::Udp, 9_899, whole), (Carrier::Ip, 0, raw)] {
            let config = Config { addresses: addresses.clone(), carrier, ..Config::default() };
            let ports = config.ports(PortId(7), "sigtran");
            let listens: Vec<_> = ports.iter().map(|it| (it.id, it.listen.to_string())).collect();
            let expected = [(PortId(7), 1), (PortId(8), 2)];
            let expected = expected.map(|(id, net)| (id, format!("10.{net}.0.1:{port}")));
            assert_eq!(listens, expected);
            assert!(ports.iter().all(|it| it.carrier == by));
            assert_eq!(ports[1].name, "sigtran 10.2.0.1");
        }
    }
}
