//! Services: labels, cross-connects, bridges, filters, policers, queues.

use super::{Via, Wred};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether labels hide the hops that they cross (RFC 3443 §3, RFC 3270 §2.6).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Tunnel {
    /// They do: what is inside keeps its time to live, and its class is that of the labels.
    #[default]
    Pipe,
    /// They do; where the label comes off, what is inside decides its class.
    ShortPipe,
    /// They do not: the time to live goes from the inside to the labels and back.
    Uniform,
}

/// What becomes of packets with a label: one of `via`, `vrf` and `pop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incoming {
    /// The label, 16 to 1,048,575.
    pub label: u32,
    /// They go on with the labels of this way in its place; without labels it is popped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Via>,
    /// What is below is looked up in this routing table; `global` is the global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<String>,
    /// The label below is looked at.
    #[serde(default)]
    pub pop: bool,
    /// The way as long as none of `via` works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Via>,
    /// What its time to live and class do where it comes off: `pipe`, `short-pipe` or `uniform`.
    #[serde(default)]
    pub tunnel: Tunnel,
}

/// A pseudowire to another edge (RFC 4447, 4448).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pseudowire {
    /// The label with which its frames come.
    pub label_in: u32,
    /// The way of frames into it: labels of the transport, then the pseudowire's own.
    pub via: Via,
    /// The way as long as `via` does not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Via>,
    /// A control word follows the labels, both ways (RFC 4385); the far end does the same.
    #[serde(default)]
    pub control_word: bool,
    /// A flow label follows the pseudowire's, both ways, so that routers on the way share its
    /// flows (RFC 6391).
    #[serde(default)]
    pub flow_label: bool,
    /// Members of one group do not talk to each other; those to other edges of a full mesh share
    /// one (RFC 4762 §4.4).
    #[serde(default = "mesh")]
    pub split_horizon: u8,
    /// In a bridge domain: MAC addresses behind it at most; 0: as many as the domain has.
    #[serde(default)]
    pub macs_max: u32,
}

const fn mesh() -> u8 {
    1
}

/// A cross-connect: all frames of one interface go to another one, or into a pseudowire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossConnect {
    /// Name, unique in the function.
    pub name: String,
    /// The interface.
    pub interface: String,
    /// The other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Or a pseudowire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pseudowire: Option<Pseudowire>,
}

/// A bridge domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    /// Name, unique in the function.
    pub name: String,
    /// Its interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// Its pseudowires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pseudowire: Vec<Pseudowire>,
    /// Seconds until a MAC address that is not heard is forgotten; 0: never.
    #[serde(default = "ageing_s")]
    pub ageing_s: u32,
    /// MAC addresses at most.
    #[serde(default = "macs_max")]
    pub macs_max: u32,
    /// Frames to unknown addresses go to all members.
    #[serde(default = "yes")]
    pub flood_unknown: bool,
    /// Addresses are learnt.
    #[serde(default = "yes")]
    pub learn: bool,
    /// Frames a second that each member may flood (broadcast, multicast, unknown); 0: any number.
    #[serde(default)]
    pub storm_pps: u32,
    /// Moves of an address within three minutes after which it stays where it is for ten
    /// (RFC 7432 §15.1); 0: any number.
    #[serde(default)]
    pub moves_max: u32,
    /// Addresses that neither move nor age.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub station: Vec<Station>,
}

/// A configured MAC address of a bridge domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// The address.
    pub mac: String,
    /// The interface of the domain behind which it is …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// … or the `label_in` of the pseudowire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_in: Option<u32>,
}

const fn ageing_s() -> u32 {
    300
}

const fn macs_max() -> u32 {
    65_536
}

const fn yes() -> bool {
    true
}

/// A rule of a filter; what is not said matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `permit`, `deny`, `class N` (0 to 7), `mark N` (a code point, 0 to 63), `police NAME`, or
    /// `redirect`: routed packets that come in go by `via`, whatever their destination.
    pub action: String,
    /// Where `redirect` sends packets; without `interface` the gateway is one of the global table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Prefix of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Prefix of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// `tcp`, `udp`, `icmp`, `icmp6`, `sctp`, `gre`, `esp`, `ah`, `ospf`, or its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Ports of the source, one of which holds: `80`, `1024-65535`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_ports: Vec<String>,
    /// Ports of the destination.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destination_ports: Vec<String>,
    /// TCP flags that are set: any of `F S R P A U`; those with a `!` before them are not: `S!A`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_flags: Option<String>,
    /// Code point (DSCP), 0 to 63.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Whether the packet is a fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<bool>,
    /// Of frames: MAC address of the source, or how many of its bits count:
    /// `02:00:5e:00:00:00/24`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_mac: Option<String>,
    /// MAC address of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_mac: Option<String>,
    /// EtherTypes behind all tags, one of which holds: `ipv4`, `ipv6`, `arp`, `mpls`, or a number:
    /// `0x88cc`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ethertypes: Vec<String>,
    /// Identifiers of the outer VLAN, 0 without a tag, one of which holds: `7`, `100-199`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vlans: Vec<String>,
    /// Priority of the outer tag, 0 to 7; 0 without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

/// A filter: the first rule that matches decides; what none matches is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Name, unique in the function.
    pub name: String,
    /// Of IPv6 packets; else of IPv4.
    #[serde(default)]
    pub ipv6: bool,
    /// Of the frames of cross-connects and bridges, by address, EtherType, VLAN and priority.
    #[serde(default)]
    pub ethernet: bool,
    /// Its rules in their order.
    #[serde(default)]
    pub rule: Vec<Rule>,
}

/// The policer of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassPolicer {
    /// The class, 0 to 7.
    pub class: u8,
    /// The policer's name.
    pub policer: String,
}

/// How a policer counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicerKind {
    /// One rate, three colours (RFC 2697).
    #[default]
    SingleRate,
    /// Two rates, three colours (RFC 2698).
    TwoRate,
    /// Two rates, what was not used of the first counts for the second (RFC 4115).
    TwoRateEfficient,
}

/// A policer; all that name it share its buckets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Name, unique in the function.
    pub name: String,
    /// `single-rate`, `two-rate` or `two-rate-efficient`.
    #[serde(default)]
    pub kind: PolicerKind,
    /// The colour that a packet has already counts.
    #[serde(default)]
    pub colour_aware: bool,
    /// Committed rate, kbit/s.
    pub committed_kbps: u64,
    /// Committed burst, octets.
    pub committed_burst: u32,
    /// Excess or peak rate, kbit/s.
    #[serde(default)]
    pub excess_kbps: u64,
    /// Excess or peak burst, octets.
    #[serde(default)]
    pub excess_burst: u32,
    /// Code point that yellow packets get; absent: they keep theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_yellow: Option<u8>,
    /// Code point that red packets get; absent: they are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_red: Option<u8>,
}

/// A queue, or a node of the tree above the queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Name, unique in the scheduler.
    pub name: String,
    /// The node above; absent: the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The interface whose packets it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The class whose packets it takes, 0 to 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// Shaped to this rate, kbit/s; 0: not.
    #[serde(default)]
    pub rate_kbps: u64,
    /// Strict priority among its siblings, 0 goes first.
    #[serde(default)]
    pub priority: u8,
    /// Its share among siblings of one priority.
    #[serde(default = "weight")]
    pub weight: u32,
    /// Packets that it holds at most.
    #[serde(default = "queue_packets")]
    pub packets_max: u32,
    /// Early drops by colour; absent: packets are dropped when it is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wred: Option<Wred>,
}

const fn weight() -> u32 {
    1
}

const fn queue_packets() -> u32 {
    256
}

/// The queues of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// The port.
    pub port: String,
    /// Rate of the port, kbit/s; 0: what the line has.
    #[serde(default)]
    pub rate_kbps: u64,
    /// Queues and the nodes above them, parents first.
    #[serde(default)]
    pub queue: Vec<Queue>,
}

/// What the control plane accepts of a class of packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protection {
    /// `neighbours`, `icmp`, `bgp`, `ospf`, `ldp`, `bfd`, `management`, `exceptions`, `samples`
    /// or `other`.
    pub class: String,
    /// Packets a second, of all workers together. One interface has three quarters of them at most.
    pub rate_pps: u32,
    /// Packets at once, of all workers together.
    pub burst: u32,
    /// Packets a second of one source (of class `neighbours`: of one interface); 0: as many as of
    /// all.
    #[serde(default)]
    pub source_pps: u32,
}
