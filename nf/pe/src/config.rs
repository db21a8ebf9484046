//! The `[[pe]]` section of a site file: its shape and its help (the doc comments).

mod advertise;
mod bgp;
mod change;
mod class;
mod labels;
mod read;
mod service;
mod validate;
mod vpn;

pub use advertise::{Advertise, AdvertisedPrefix, Preference};
pub(crate) use advertise::{preferred_s, valid_s};
pub(crate) use bgp::PORT as BGP_PORT;
pub use bgp::{Bgp, From, Redistribute};
pub use class::{
    Collector, Colour, Drops, Marking, PointIn, PointOut, PriorityIn, PriorityOut, Wred,
};
pub use dataplane::section::{Driver, ForwarderStart, OnExit, Port};
pub(crate) use dataplane::section::{mac, network, port_range, prefix};
pub(crate) use labels::{Claim, Giver};
pub(crate) use read::{ethertype, ip_protocol, mac_prefix, tcp_flags};
pub use service::{
    Bridge, ClassPolicer, CrossConnect, Filter, Incoming, Policer, PolicerKind, Protection,
    Pseudowire, Queue, Rule, Scheduler, Station, Tunnel,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A provider edge router with static configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pe {
    /// Name of the function, unique in the site.
    pub name: String,
    /// Threads of the control, which is one and has little to do: `workers` are those that forward.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub shards: u16,
    /// Threads that forward. Each needs a queue of every port; changes with a restart of the
    /// forwarder.
    #[serde(default = "one")]
    pub workers: u16,
    /// Cores to pin them to, in turn; empty leaves them to the kernel.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Packets that one of them holds at most.
    #[serde(default = "packets")]
    pub packets: u32,
    /// Octets of the longest frame, up to 10,000; longer than 1,850 costs memory and AF_XDP.
    #[serde(default = "frame_octets")]
    pub frame_octets: u16,
    /// A TUN device of this machine's kernel: packets for the router's own addresses come out of
    /// it, and what the kernel sends into it is routed. Its addresses are those of the loopback
    /// interface of this section. Absent: the router answers echo requests only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// A file with a key a line, the newest first, relative to the site's directory: who has one of
    /// them controls the forwarder. Absent: who may open its socket (its user, and root) does,
    /// where no other control lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Who starts the forwarder: `own`, this site does, wherever none stands; `external`, somebody
    /// else does, as a unit of its own, and this site waits until it stands, and never ends it.
    #[serde(default)]
    pub forwarder: ForwarderStart,
    /// What becomes of the forwarder when the site is ended in order: `stop` or `keep`. After a
    /// crash it always goes on, and the next start takes it over. One that is external goes on.
    #[serde(default)]
    pub on_exit: OnExit,
    /// Ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub port: Vec<Port>,
    /// Routing tables of customers, beside the global one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vrf: Vec<Vrf>,
    /// Interfaces and sub-interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interface: Vec<Interface>,
    /// Neighbours that are known without asking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbour: Vec<Neighbour>,
    /// Static routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<Route>,
    /// OSPF in the global routing table: what it learns stands beside connected and static routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ospf: Option<igp::config::Ospf>,
    /// IS-IS in the global routing table, for IPv4 and IPv6, alone or beside OSPF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isis: Option<igp::config::Isis>,
    /// LDP in the global routing table: labels for what OSPF and IS-IS learn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ldp: Option<ldp_stack::config::Ldp>,
    /// BGP: sessions with peers, and their routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bgp: Option<Bgp>,
    /// Files of static routes, a line each: `[vrf] prefix gateway`, relative to the site's
    /// directory. They are read when the configuration is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route_files: Vec<String>,
    /// What becomes of packets with a label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label: Vec<Incoming>,
    /// The first and the last label that this router gives: those of this section, of LDP and of
    /// VPNs are among them, and each has one giver. Absent: 16 to 1,048,575.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<[u32; 2]>,
    /// Cross-connects (VPWS).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cross_connect: Vec<CrossConnect>,
    /// Bridge domains (VPLS).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bridge: Vec<Bridge>,
    /// Filters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<Filter>,
    /// Policers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policer: Vec<Policer>,
    /// Maps between code points, priorities and classes, for interfaces to use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marking: Vec<Marking>,
    /// Who is told of samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<Collector>,
    /// Queues of ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheduler: Vec<Scheduler>,
    /// What the control plane accepts; a class that is not named keeps its default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protection: Vec<Protection>,
}

const fn is_one(it: &u16) -> bool {
    *it == 1
}

const fn one() -> u16 {
    1
}

const fn packets() -> u32 {
    16_384
}

const fn frame_octets() -> u16 {
    1_850
}

/// A routing table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vrf {
    /// Name, unique in the function.
    pub name: String,
    /// The label with which its packets come from other edges; absent: none do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<u32>,
    /// What the label's time to live and class do when it comes off: `pipe`, `short-pipe` or
    /// `uniform`.
    #[serde(default)]
    pub tunnel: Tunnel,
    /// Route distinguisher: `65000:1` or `192.0.2.1:1`. BGP tells its subnets and static routes
    /// with it (RFC 4364, families `vpnv4` and `vpnv6`), and with a label: `label`,
    /// or one of `vpn_labels` of BGP. Absent: it has no part in that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rd: Option<String>,
    /// Route targets whose routes it takes: `65000:1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub import_targets: Vec<String>,
    /// Route targets that its routes are told with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub export_targets: Vec<String>,
    /// Prefixes that it may have, those of customers among them, before no further ones are taken
    /// of other edges, and routes of customers that it tells to other edges: alarms say so.
    #[serde(default = "routes_max")]
    pub routes_max: usize,
}

const fn routes_max() -> usize {
    100_000
}

/// Whether the source of a packet must be reachable (RFC 3704).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Urpf {
    /// It need not.
    #[default]
    Off,
    /// By any interface.
    Loose,
    /// By the interface that the packet came by.
    Strict,
}

/// An interface: the untagged packets of a port, or those of a VLAN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Name, unique in the function.
    pub name: String,
    /// Its port; absent: the port of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Instead of a port: it is the routed side of this bridge domain (integrated routing and
    /// bridging), and needs a `mac`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
    /// VLAN, the outer of two; absent: packets without a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The inner VLAN of two (QinQ).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner_vlan: Option<u16>,
    /// Addresses with the lengths of their subnets: `10.0.0.1/24`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Its routing table; absent: the global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<String>,
    /// MAC address; absent: the port's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Octets of the longest IP packet; absent: as the port's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// Packets with labels are taken.
    #[serde(default)]
    pub mpls: bool,
    /// Routers of the core are there: labels of routing tables, bridges and pseudowires are taken,
    /// and any below a label that is swapped. Absent: where it is of the global table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<bool>,
    /// Whether sources are checked: `off`, `loose` or `strict`.
    #[serde(default)]
    pub urpf: Urpf,
    /// It answers ARP for addresses that it has routes to (RFC 1027).
    #[serde(default)]
    pub proxy_arp: bool,
    /// Broadcasts to its subnets are sent on (RFC 2644).
    #[serde(default)]
    pub directed_broadcast: bool,
    /// Filters that its packets pass on their way in, one of each family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter_in: Vec<String>,
    /// … and out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter_out: Vec<String>,
    /// The policer that they pass on their way in; those who name the same one share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer_in: Option<String>,
    /// … and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer_out: Option<String>,
    /// Policers of single classes on their way in, in place of `policer_in`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_policer_in: Vec<ClassPolicer>,
    /// … and out, in place of `policer_out`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_policer_out: Vec<ClassPolicer>,
    /// It tells the hosts of its link of this router (RFC 4861 §6.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise: Option<Advertise>,
    /// How code points and priorities become classes, and what classes leave with: the name of a
    /// `marking`. Absent: the priority of the outer tag or label is the class, in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<String>,
    /// One packet of so many is sampled and told to the collector; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_one_in: Option<u32>,
    /// Octets of a sampled packet that are told; 0: flows of sampled packets are told instead.
    #[serde(default = "sample_octets")]
    pub sample_octets: u16,
    /// In a bridge domain: members of one group do not talk to each other; 0: all do.
    #[serde(default)]
    pub split_horizon: u8,
    /// In a bridge domain: MAC addresses behind it at most; 0: as many as the domain has.
    #[serde(default)]
    pub macs_max: u32,
}

/// Headers, and what tells applications apart.
const fn sample_octets() -> u16 {
    128
}

/// A neighbour that is known without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// The interface where it is.
    pub interface: String,
    /// Its address.
    pub address: IpAddr,
    /// Its MAC address.
    pub mac: String,
}

/// A way to the next router.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Via {
    /// The neighbour; absent: the packet's own destination is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// The interface where it is; absent: that whose subnet has the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Labels to push, the first is the outermost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<u32>,
    /// Its share of the flows among several.
    #[serde(default = "weight")]
    pub weight: u32,
    /// What the time to live of its labels is: `pipe` and `short-pipe` start at 255, `uniform` at
    /// that of the packet (RFC 3443).
    #[serde(default)]
    pub tunnel: Tunnel,
    /// An entropy label follows its labels, so that routers on the way share flows without
    /// looking further (RFC 6790).
    #[serde(default)]
    pub entropy: bool,
}

const fn weight() -> u32 {
    1
}

/// What becomes of packets that go nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Discard {
    /// They vanish.
    Blackhole,
    /// Their sender hears that there is no way.
    Unreachable,
    /// Their sender hears that it may not.
    Prohibited,
}

const fn distance() -> u8 {
    1
}

/// A static route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Its routing table; absent: the global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<String>,
    /// Where to: `10.1.0.0/16`, `2001:db8::/32`.
    pub prefix: String,
    /// Ways, among which flows are shared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Via>,
    /// The way as long as none of `via` works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Via>,
    /// Flows stay where they are when another way comes or goes.
    #[serde(default)]
    pub resilient: bool,
    /// Its preference against what OSPF and IS-IS learn of the same prefix, 1 to 255: the lower one
    /// holds.
    #[serde(default = "distance")]
    pub distance: u8,
    /// No way at all: `blackhole`, `unreachable` or `prohibited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<Discard>,
}
