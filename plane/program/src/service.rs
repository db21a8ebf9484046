//! Programs of labels, bridges, filters and policers.

use super::{Direction, Family, Mac};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Whether labels hide the hops that they cross (RFC 3443 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tunnel {
    /// They do: what is inside keeps its time to live. Classes go by the labels.
    #[default]
    Pipe,
    /// They do; classes go by what is inside when the label comes off (RFC 3270 §2.6.3).
    ShortPipe,
    /// They do not: the time to live goes from the inside to the labels and back.
    Uniform,
}

/// What becomes of packets whose outermost label is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelAction {
    /// The label comes off, and on by a hop: `Hop::Push` with one label is a swap, with several a
    /// swap and a push, a hop without labels is penultimate-hop popping.
    Forward {
        /// The hop.
        hop: u32,
        /// For penultimate-hop popping: what the label's time to live does.
        #[serde(default)]
        tunnel: Tunnel,
    },
    /// The label comes off; the packet below is looked up in this table.
    PopVrf {
        /// The routing table.
        vrf: u32,
        /// What the label's time to live and class do.
        #[serde(default)]
        tunnel: Tunnel,
    },
    /// The label comes off; the frame below came by this pseudowire of a bridge domain.
    PopPseudowire {
        /// Its number.
        pseudowire: u32,
        /// Whether a control word follows the labels (RFC 4385).
        #[serde(default)]
        control_word: bool,
        /// Whether a flow label may follow the label (RFC 6391).
        #[serde(default)]
        flow_label: bool,
    },
    /// The label comes off; the frame below leaves by this interface.
    PopInterface {
        /// The interface.
        interface: u32,
        /// Whether a control word follows the labels (RFC 4385).
        #[serde(default)]
        control_word: bool,
        /// Whether a flow label may follow the label (RFC 6391).
        #[serde(default)]
        flow_label: bool,
    },
    /// The label comes off; the label below is looked at, or the packet (explicit null).
    Pop {
        /// What the label's time to live and class do.
        #[serde(default)]
        tunnel: Tunnel,
    },
}

/// Labels that go before what a hop carries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// The hop that carries it: a neighbour, a group of them, other labels.
    pub over: u32,
    /// The labels, the first is the outermost.
    pub labels: Vec<u32>,
    /// What the time to live does.
    #[serde(default)]
    pub tunnel: Tunnel,
    /// An entropy label and its indicator follow (RFC 6790).
    #[serde(default)]
    pub entropy: bool,
    /// Of a pseudowire: a flow label follows (RFC 6391).
    #[serde(default)]
    pub flow_label: bool,
    /// Of a pseudowire: a control word follows (RFC 4385).
    #[serde(default)]
    pub control_word: bool,
}

/// A bridge domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridge {
    /// Its number, 1 to 65,533.
    pub bridge: u32,
    /// Seconds until a MAC address that is not heard any more is forgotten; 0: never.
    pub ageing_s: u32,
    /// MAC addresses at most.
    pub macs_max: u32,
    /// Whether frames to unknown addresses are flooded.
    pub flood_unknown: bool,
    /// Whether addresses are learnt.
    pub learn: bool,
    /// Flooded frames a second that each member may send; 0: any number.
    #[serde(default)]
    pub storm_pps: u32,
    /// Moves of an address within three minutes after which it stays where it is; 0: any number.
    #[serde(default)]
    pub moves_max: u32,
}

/// A MAC address that is configured: it neither moves nor ages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaticMac {
    /// The bridge domain.
    pub bridge: u32,
    /// The address.
    pub mac: Mac,
    /// The member that has it.
    pub member: BridgeMember,
}

/// A member of a bridge domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BridgeMember {
    /// An interface.
    Interface(u32),
    /// A pseudowire.
    Pseudowire(u32),
}

/// A pseudowire as a member of a bridge domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pseudowire {
    /// Its number; interfaces and pseudowires are numbered apart.
    pub pseudowire: u32,
    /// The domain.
    pub bridge: u32,
    /// Where frames into it go: a `Hop::Push` with the pseudowire's label.
    pub hop: u32,
    /// Members of one group (not 0) do not talk to each other.
    pub split_horizon: u8,
    /// MAC addresses behind it at most; 0: as many as the domain has.
    #[serde(default)]
    pub macs_max: u32,
}

/// What a rule does. Every rule counts its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The packet goes on.
    Permit,
    /// It does not.
    Deny,
    /// It goes on in this class (0 to 7).
    Class(u8),
    /// It goes on with this code point (0 to 63).
    Mark(u8),
    /// It goes on if this policer lets it.
    Police(u32),
    /// It goes on by this hop, whatever its destination (routed packets that come in).
    Redirect(u32),
}

/// What a rule asks for; what is not said matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Match {
    /// Source prefix.
    #[serde(default)]
    pub source: Option<(IpAddr, u8)>,
    /// Destination prefix.
    #[serde(default)]
    pub destination: Option<(IpAddr, u8)>,
    /// Source and destination MAC address with the number of bits that count (family `Ethernet`).
    #[serde(default)]
    pub macs: [Option<(Mac, u8)>; 2],
    /// EtherTypes behind all tags (family `Ethernet`).
    #[serde(default)]
    pub ethertypes: Vec<u16>,
    /// Protocols or next headers.
    #[serde(default)]
    pub protocols: Vec<u8>,
    /// Ranges of source ports, one of which holds.
    #[serde(default)]
    pub source_ports: Vec<(u16, u16)>,
    /// Ranges of destination ports, one of which holds.
    #[serde(default)]
    pub destination_ports: Vec<(u16, u16)>,
    /// ICMP types, each with the range of its codes.
    #[serde(default)]
    pub icmp: Vec<(u8, u8, u8)>,
    /// TCP flags: value and mask.
    #[serde(default)]
    pub tcp_flags: Vec<(u8, u8)>,
    /// Code points (DSCP).
    #[serde(default)]
    pub dscp: Vec<u8>,
    /// Whether the packet is a fragment.
    #[serde(default)]
    pub fragment: Option<bool>,
    /// Ranges of lengths of the packet from its IP header.
    #[serde(default)]
    pub lengths: Vec<(u16, u16)>,
}

/// A rule of a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// What it asks for.
    pub matches: Match,
    /// What it does.
    pub verdict: Verdict,
}

/// A filter: the first rule that matches decides; a packet that none matches is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Its number, 1 to 65,535.
    pub filter: u32,
    /// Its family.
    pub family: Family,
    /// Its rules in their order.
    pub rules: Vec<Rule>,
}

/// Which filter packets pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterUse {
    /// The interface.
    pub interface: u32,
    /// On their way in or out.
    pub direction: Direction,
    /// The filter; its family says which packets.
    pub filter: u32,
}

/// How a policer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Meter {
    /// Single rate, three colours (RFC 2697).
    SingleRate,
    /// Two rates, three colours (RFC 2698).
    TwoRate,
    /// Two rates with efficient handling of in-profile traffic (RFC 4115).
    TwoRateEfficient,
}

/// A policer; all interfaces that use it share its buckets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policer {
    /// Its number, 1 to 65,535.
    pub policer: u32,
    /// How it counts.
    pub meter: Meter,
    /// Whether it takes the packet's colour into account.
    #[serde(default)]
    pub colour_aware: bool,
    /// Committed rate, octets a second.
    pub committed_bytes: u64,
    /// Committed burst, octets.
    pub committed_burst: u32,
    /// Excess or peak rate, octets a second.
    #[serde(default)]
    pub excess_bytes: u64,
    /// Excess or peak burst, octets.
    #[serde(default)]
    pub excess_burst: u32,
    /// Code point (0 to 63) for yellow packets; `None`: as it is.
    #[serde(default)]
    pub mark_yellow: Option<u8>,
    /// Code point (0 to 63) for red packets; `None`: they are dropped.
    #[serde(default)]
    pub mark_red: Option<u8>,
}

/// Which policer packets pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicerUse {
    /// The interface.
    pub interface: u32,
    /// On their way in or out.
    pub direction: Direction,
    /// For packets of this class only (0 to 7); `None`: for those of all classes that have none.
    #[serde(default)]
    pub class: Option<u8>,
    /// The policer.
    pub policer: u32,
}

/// In a map of what leaves: a class keeps its mark.
pub const AS_IT_IS: u8 = 0xff;

/// How marks and classes go together at an interface; a map that is not given leaves all as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marking {
    /// The interface.
    pub interface: u32,
    /// In: class (0 to 7) and colour (0 to 2) by code point, 64 rows.
    #[serde(default)]
    pub by_dscp: Vec<(u8, u8)>,
    /// In: class and colour by priority (802.1p) or traffic class of labels, 8 rows.
    #[serde(default)]
    pub by_priority: Vec<(u8, u8)>,
    /// Out: code point by class, then by colour: 24 rows; [`AS_IT_IS`] leaves it.
    #[serde(default)]
    pub to_dscp: Vec<u8>,
    /// Out: priority or traffic class by class: 8 rows; [`AS_IT_IS`] leaves it.
    #[serde(default)]
    pub to_priority: Vec<u8>,
}

/// When a queue of this average length drops a packet of one colour although there is room.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drops {
    /// Below this average, octets, nothing is dropped.
    pub min_octets: u32,
    /// From this average on, octets, everything is dropped.
    pub max_octets: u32,
    /// Of a thousand packets so many are dropped just below `max_octets`.
    pub permille: u16,
}

/// WRED of a class: green, yellow, red (RFC 2309; `Meta::colour`).
pub type Wred = [Drops; 3];

/// A node of a port's tree of queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Its number in the tree; 0 is the port itself.
    pub queue: u32,
    /// The node above.
    pub parent: u32,
    /// The interface whose packets it takes.
    #[serde(default)]
    pub interface: Option<u32>,
    /// The class whose packets it takes (leaves).
    #[serde(default)]
    pub class: Option<u8>,
    /// Shaped to this rate, octets a second; 0: not.
    #[serde(default)]
    pub rate_bytes: u64,
    /// Strict priority among its siblings, 0 first; those of the last one share by weight.
    pub priority: u8,
    /// Its share among siblings of one priority.
    pub weight: u32,
    /// Packets it holds at most.
    pub packets_max: u32,
    /// Early drops by colour.
    #[serde(default)]
    pub wred: Option<Wred>,
}

/// The queues of a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scheduler {
    /// The port.
    pub port: u16,
    /// Rate of the port, octets a second; 0: as the line has.
    pub rate_bytes: u64,
    /// The tree.
    pub queues: Vec<Queue>,
}

/// Sampling of an interface's packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// The interface.
    pub interface: u32,
    /// One packet of so many.
    pub one_in: u32,
    /// Octets of a sample at most.
    pub octets: u16,
}

/// Who is told of samples (RFC 7011): messages leave by UDP. Without one they are handed up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collector {
    /// The routing table that leads to it.
    pub vrf: u32,
    /// In whose name they are sent: an own address of the same family.
    pub source: IpAddr,
    /// Where it is.
    pub address: IpAddr,
    /// Its UDP port.
    pub port: u16,
}
