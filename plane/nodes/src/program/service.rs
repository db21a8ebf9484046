//! Programs of labels, bridges, filters and queues.

use super::{Direction, Family};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// What becomes of packets whose outermost label is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelAction {
    /// Another label, and on by a hop (which pushes it: `Hop::Via.labels`); a hop without labels
    /// is penultimate-hop popping.
    Forward {
        /// The hop.
        hop: u32,
    },
    /// The label comes off; what is below is looked up in this table.
    PopVrf {
        /// The routing table.
        vrf: u32,
    },
    /// The label comes off; the frame below came by this pseudowire.
    PopPseudowire {
        /// Its number.
        pseudowire: u32,
    },
    /// The label comes off; the frame below leaves by this interface.
    PopInterface {
        /// The interface.
        interface: u32,
    },
    /// The label comes off; the label below is looked at (explicit null and the like).
    Pop,
}

/// A bridge domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridge {
    /// Its number.
    pub bridge: u32,
    /// Seconds until a MAC address that is not heard any more is forgotten; 0: never.
    pub ageing_s: u32,
    /// MAC addresses at most.
    pub macs_max: u32,
    /// Whether frames to unknown addresses are flooded.
    pub flood_unknown: bool,
    /// Whether addresses are learnt.
    pub learn: bool,
}

/// A pseudowire as a member of a bridge domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pseudowire {
    /// Its number; interfaces and pseudowires are numbered apart.
    pub pseudowire: u32,
    /// The domain.
    pub bridge: u32,
    /// Where frames into it go; its labels are the transport's and the pseudowire's.
    pub hop: u32,
    /// Members of one group (not 0) do not talk to each other.
    pub split_horizon: u8,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The packet goes on.
    Permit,
    /// It does not.
    Deny,
    /// It goes on in this class (0 to 7).
    Class(u8),
    /// It goes on through this policer.
    Police(u32),
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
    /// Protocol or next header.
    #[serde(default)]
    pub protocol: Option<u8>,
    /// Ranges of source ports, one of which holds.
    #[serde(default)]
    pub source_ports: Vec<(u16, u16)>,
    /// Ranges of destination ports, one of which holds.
    #[serde(default)]
    pub destination_ports: Vec<(u16, u16)>,
    /// TCP flags: value and mask.
    #[serde(default)]
    pub tcp_flags: Option<(u8, u8)>,
    /// Type of service or traffic class: value and mask.
    #[serde(default)]
    pub service: Option<(u8, u8)>,
    /// Whether the packet is a fragment.
    #[serde(default)]
    pub fragment: Option<bool>,
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
    /// Its number.
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
    /// Its number.
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
}

/// Which policer packets pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicerUse {
    /// The interface.
    pub interface: u32,
    /// On their way in or out.
    pub direction: Direction,
    /// The policer.
    pub policer: u32,
}

/// A node of a port's tree of queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Its number in the tree; 0 is the port itself.
    pub queue: u32,
    /// The node above.
    pub parent: u32,
    /// The interface whose packets it takes (leaves).
    #[serde(default)]
    pub interface: Option<u32>,
    /// The class whose packets it takes (leaves).
    #[serde(default)]
    pub class: Option<u8>,
    /// Shaped to this rate, octets a second; 0: not.
    #[serde(default)]
    pub rate_bytes: u64,
    /// Strict priority among its siblings, 0 first; those of one priority share by weight.
    pub priority: u8,
    /// Its share among siblings of one priority.
    pub weight: u32,
    /// Packets it holds at most.
    pub packets_max: u32,
}

/// The queues of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
