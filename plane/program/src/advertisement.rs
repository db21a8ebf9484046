//! What an interface tells the hosts of its link of this router (RFC 4861 §6.2.1).

use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

/// Among several default routers (RFC 4191 §2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preference {
    /// After all others.
    Low,
    /// As most.
    #[default]
    Medium,
    /// Before all others.
    High,
}

/// A prefix of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvertisedPrefix {
    /// The prefix.
    pub prefix: Ipv6Addr,
    /// Its length.
    pub length: u8,
    /// Seconds from when it is told for which addresses of it are valid.
    pub valid_s: u32,
    /// … and preferred.
    pub preferred_s: u32,
    /// Its addresses are on the link.
    pub on_link: bool,
    /// Hosts make addresses of it (RFC 4862).
    pub autonomous: bool,
}

/// Router advertisements of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advertisement {
    /// The interface; it speaks from its link-local address.
    pub interface: u32,
    /// Seconds between two of them at most, 4 to 1,800.
    pub interval_max_s: u16,
    /// Seconds between two of them at least, from 3.
    pub interval_min_s: u16,
    /// Seconds for which this is a default router; 0: it is none.
    pub lifetime_s: u16,
    /// Hop limit that hosts use; 0: not told.
    pub hop_limit: u8,
    /// Addresses come by DHCPv6.
    pub managed: bool,
    /// Other configuration comes by DHCPv6.
    pub other: bool,
    /// Milliseconds for which a neighbour that answered is there; 0: not told.
    pub reachable_ms: u32,
    /// Milliseconds between two solicitations; 0: not told.
    pub retransmit_ms: u32,
    /// The link's MTU; 0: not told.
    pub mtu: u32,
    /// Among several default routers.
    #[serde(default)]
    pub preference: Preference,
    /// Prefixes of the link, 32 at most.
    pub prefixes: Vec<AdvertisedPrefix>,
    /// Resolvers of names (RFC 8106), 8 at most.
    #[serde(default)]
    pub resolvers: Vec<Ipv6Addr>,
}
