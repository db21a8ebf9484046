//! What an interface tells the hosts of its link of this router (RFC 4861 §6.2.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

/// Router advertisements of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Advertise {
    /// Seconds between two of them at most, 4 to 1,800; at least it is a third of that.
    #[serde(default = "interval_s")]
    pub interval_s: u16,
    /// Seconds for which this is a default router, from `interval_s` to 9,000; 0: it is none;
    /// absent: three times `interval_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_s: Option<u16>,
    /// Among several default routers: `low`, `medium` or `high` (RFC 4191).
    #[serde(default)]
    pub preference: Preference,
    /// Addresses come by DHCPv6.
    #[serde(default)]
    pub managed: bool,
    /// Other configuration comes by DHCPv6.
    #[serde(default)]
    pub other: bool,
    /// Hop limit that hosts use; 0: not told.
    #[serde(default = "hop_limit")]
    pub hop_limit: u8,
    /// Milliseconds for which a neighbour that answered is there, up to 3,600,000; 0: not told.
    #[serde(default)]
    pub reachable_ms: u32,
    /// Milliseconds between two solicitations of a neighbour; 0: not told.
    #[serde(default)]
    pub retransmit_ms: u32,
    /// The link's MTU; absent: not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// Prefixes; absent: the subnets of its addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<AdvertisedPrefix>,
    /// Resolvers of names (RFC 8106).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolvers: Vec<Ipv6Addr>,
}

const fn interval_s() -> u16 {
    600
}

const fn hop_limit() -> u8 {
    64
}

/// Among several default routers (RFC 4191 §2.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preference {
    /// After all others.
    Low,
    /// As most.
    #[default]
    Medium,
    /// Before all others.
    High,
}

/// A prefix that hosts hear of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdvertisedPrefix {
    /// The prefix: `2001:db8:1::/64`.
    pub prefix: String,
    /// Seconds for which addresses of it are valid.
    #[serde(default = "valid_s")]
    pub valid_s: u32,
    /// … and preferred.
    #[serde(default = "preferred_s")]
    pub preferred_s: u32,
    /// Its addresses are on the link.
    #[serde(default = "yes")]
    pub on_link: bool,
    /// Hosts make addresses of it (RFC 4862); absent: of one of 64 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomous: Option<bool>,
}

/// AdvValidLifetime: thirty days.
pub(crate) const fn valid_s() -> u32 {
    2_592_000
}

/// AdvPreferredLifetime: seven days.
pub(crate) const fn preferred_s() -> u32 {
    604_800
}

const fn yes() -> bool {
    true
}
