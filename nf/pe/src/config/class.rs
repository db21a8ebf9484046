//! Classes and colours: what they are made of, what leaves with them, who is dropped early, and
//! who is told of samples.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// How far a packet is from what was agreed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Colour {
    /// Within.
    #[default]
    Green,
    /// Beyond the committed rate.
    Yellow,
    /// Beyond all rates.
    Red,
}

/// What packets with a code point are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointIn {
    /// Code points (DSCP), 0 to 63.
    pub dscp: Vec<u8>,
    /// Their class, 0 to 7.
    pub class: u8,
    /// Their colour: `green`, `yellow` or `red`.
    #[serde(default)]
    pub colour: Colour,
}

/// What frames and labels with a priority are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityIn {
    /// Priorities of tags (802.1p) or traffic classes of labels, 0 to 7.
    pub priority: Vec<u8>,
    /// Their class, 0 to 7.
    pub class: u8,
    /// Their colour: `green`, `yellow` or `red`.
    #[serde(default)]
    pub colour: Colour,
}

/// The code point with which packets of a class leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointOut {
    /// Classes, 0 to 7.
    pub class: Vec<u8>,
    /// Their colour; absent: whatever it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<Colour>,
    /// The code point, 0 to 63.
    pub dscp: u8,
}

/// The priority with which frames and labels of a class leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityOut {
    /// Classes, 0 to 7.
    pub class: Vec<u8>,
    /// The priority of tags and traffic class of labels, 0 to 7.
    pub priority: u8,
}

/// How code points and priorities become classes, and what classes leave with (RFC 2474,
/// RFC 3270, IEEE 802.1Q §6.9). A list without rows leaves all as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Marking {
    /// Name, unique in the function.
    pub name: String,
    /// What comes in with a code point; those that no row names have the class of their first
    /// three bits (RFC 2474 §4.2.2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp_in: Vec<PointIn>,
    /// What comes in with a priority and without a code point that counts; one that no row names
    /// is its own class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priority_in: Vec<PriorityIn>,
    /// Code points of what leaves; classes that no row names keep theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp_out: Vec<PointOut>,
    /// Priorities of what leaves; classes that no row names keep theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priority_out: Vec<PriorityOut>,
}

/// When packets of a colour are dropped before the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drops {
    /// Below this average length of the queue, octets, none is.
    pub min_octets: u32,
    /// From this one on, octets, each is.
    pub max_octets: u32,
    /// Of a thousand packets so many are just below `max_octets`.
    pub permille: u16,
}

/// Early drops by colour (WRED).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wred {
    /// Of green packets.
    pub green: Drops,
    /// Of yellow ones; absent: as of green ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yellow: Option<Drops>,
    /// Of red ones; absent: as of yellow ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<Drops>,
}

/// Who is told of samples: IPFIX over UDP (RFC 7011, RFC 5477).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collector {
    /// Its address.
    pub address: IpAddr,
    /// Its UDP port.
    #[serde(default = "ipfix")]
    pub port: u16,
    /// The routing table that leads to it; absent: the global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf: Option<String>,
    /// The own address in whose name messages are sent; absent: the first of that table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
}

/// The port of IPFIX (RFC 7011 §12).
const fn ipfix() -> u16 {
    4_739
}
