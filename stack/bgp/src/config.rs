//! The configuration of a speaker: the sections of peers and groups, and what a function's section
//! says of the rest ([`Section`]).
//!
//! What may stand at a peer may stand at its group as well: both are written by one table below,
//! and [`PeerOptions`] is what holds for a peer in the end.

mod families;
mod interruptions;
mod peer_options;
mod peer_settings;
mod ports;
mod range;
mod secret;
mod section;
mod validate;

pub use interruptions::Interruptions;
pub(crate) use peer_settings::{Change, EXCESS_RESTART};
pub use peer_settings::{Limit, PeerGuard, PeerSettings};
pub use ports::{LISTENERS_MAX, PORTS};
pub use range::Range;
pub use secret::Secret;
pub(crate) use section::Resolved;
pub use section::Section;
pub use validate::{validate_address, validate_name};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Peers of one speaker at most, dynamic ones included.
pub const PEERS_MAX: usize = 8_192;

/// Which AS a peer may be of, where no single one is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnyAs {
    /// Any but this node's.
    External,
    /// Any.
    Any,
}

/// What a node is to its external peer (RFC 9234).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It gives transit.
    Provider,
    /// A route server.
    RouteServer,
    /// A client of a route server.
    RouteServerClient,
    /// It takes transit.
    Customer,
    /// Neither.
    Peer,
}

/// What happens when a peer has more routes than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Excess {
    /// An alarm.
    Warn,
    /// The session ends and does not come back before `tandem ctl bgp enable`.
    #[default]
    Drop,
    /// The session ends and comes back after `restart_s`.
    Restart,
}

/// What becomes of routes where no policy is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefaultPolicy {
    /// All pass as they are.
    Accept,
    /// None passes.
    Refuse,
}

/// How many routes of a family a peer may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefixLimit {
    /// The family: `ipv4-unicast`.
    pub family: String,
    /// Routes at most; with path identifiers each path is one.
    pub max: u32,
    /// From that many per cent of `max` on there is an alarm.
    #[serde(default = "warn_percent")]
    pub warn_percent: u8,
    /// Beyond `max`: `warn`, `drop` or `restart`.
    #[serde(default)]
    pub excess: Excess,
    /// Time until the session may come back, with `restart`, seconds.
    #[serde(default = "restart_s")]
    pub restart_s: u32,
}

const fn warn_percent() -> u8 {
    80
}

const fn restart_s() -> u32 {
    300
}

/// Writes group and peer, which share what a peer may say.
macro_rules! peer_options {
    ($($(#[$what:meta])* $key:ident: $kind:ty,)+) => {
        /// A group of peers.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Group {
            /// Name, unique in the function.
            pub name: String,
            /// Peers from these prefixes need no section of their own: `10.1.0.0/16`. They connect
            /// to this node, and are forgotten when they have gone. The longest prefix decides.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub ranges: Vec<String>,
            /// Peers from the ranges at the same time.
            #[serde(default = "peers_max")]
            pub peers_max: u32,
            /// A peer from the ranges whose session has ended is listed as `away`, with an alarm,
            /// until it comes back or for so many seconds; 0 is not at all. The 256 of a range that
            /// went last are remembered; `tandem ctl bgp forget` forgets them.
            #[serde(default = "remember_s")]
            pub remember_s: u32,
            $($(#[$what])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $key: Option<$kind>,)+
        }

        /// A peer.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Peer {
            /// Name, unique in the function.
            pub name: String,
            /// Its address.
            pub address: IpAddr,
            /// The group whose keys hold where this section has none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub group: Option<String>,
            $($(#[$what])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $key: Option<$kind>,)+
        }

        /// What holds for a peer: its own keys, and for those that it lacks its group's.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub(crate) struct PeerOptions {
            $(pub(crate) $key: Option<$kind>,)+
        }

        impl PeerOptions {
            /// Of a peer and its group.
            pub(crate) fn of(peer: Option<&Peer>, group: Option<&Group>) -> Self {
                Self {
                    $($key: peer
                        .and_then(|peer| peer.$key.clone())
                        .or_else(|| group.and_then(|group| group.$key.clone())),)+
                }
            }

            /// What stands in the section of a group itself.
            pub(crate) fn of_group(group: &Group) -> Self {
                Self { $($key: group.$key.clone(),)+ }
            }

            /// What stands in the section of a peer itself.
            pub(crate) fn of_peer(peer: &Peer) -> Self {
                Self { $($key: peer.$key.clone(),)+ }
            }
        }
    };
}

const fn peers_max() -> u32 {
    1_000
}

const fn remember_s() -> u32 {
    86_400
}

peer_options! {
    /// For people.
    description: String,
    /// Its AS; absent: this node's.
    asn: u32,
    /// Which AS it may be of, in place of a single one: `external` or `any`.
    any_asn: AnyAs,
    /// It is a client: its routes are reflected to everybody, everybody's to it. Absent: no.
    client: bool,
    /// It is told this node as the next hop, as external peers always are; absent: no. A reflector
    /// leaves next hops as they are (RFC 4456 §10).
    next_hop_self: bool,
    /// The session exists; else it ends with a Cease. Absent: yes.
    enabled: bool,
    /// Its port, where this node connects; absent: 179.
    port: u16,
    /// This node's address towards it; absent: that of `listen`, else as the routes say.
    local: IpAddr,
    /// Only the peer connects; absent: both do.
    passive: bool,
    /// Address families; absent: `ipv4-unicast`. See docs/bgp.md for their names.
    families: Vec<String>,
    /// Families without which there is no session.
    required_families: Vec<String>,
    /// Hold time, seconds; 0 is none; absent: 90.
    hold_time_s: u16,
    /// The shortest hold time that is taken from the peer, seconds; absent: 3.
    hold_time_min_s: u16,
    /// Time for which the peer may read nothing, seconds; absent: eight minutes or twice the hold
    /// time (RFC 9687).
    send_hold_s: u32,
    /// Time between attempts to connect, seconds; absent: 120.
    connect_retry_s: u32,
    /// Time in which the peer's OPEN is awaited before this node sends its own, seconds; absent: 0.
    delay_open_s: u32,
    /// Time without attempts after a failure, seconds; it doubles with each. Absent: 1.
    idle_hold_s: u32,
    /// That time at most, seconds; absent: 120.
    idle_hold_max_s: u32,
    /// Families of which it is sent several paths, where it takes them (RFC 7911).
    add_path_send: Vec<String>,
    /// Families of which it may send several paths (RFC 7911).
    add_path_receive: Vec<String>,
    /// Families of IPv4 that may have IPv6 next hops (RFC 8950).
    extended_next_hop: Vec<String>,
    /// Labels that a route may have, in families with labels (RFC 8277); absent: 1.
    labels_max: u8,
    /// Route refresh is offered (RFC 2918, 7313); absent: yes.
    route_refresh: bool,
    /// Messages of 65,535 octets are offered (RFC 8654); absent: yes.
    extended_message: bool,
    /// ASes of four octets are offered (RFC 6793); absent: yes.
    four_octet_as: bool,
    /// What this node is to an external peer (RFC 9234): `provider`, `customer`, …
    role: Role,
    /// A peer that says no role of its own is refused.
    role_strict: bool,
    /// An external peer is of the same confederation (RFC 5065).
    confederation: bool,
    /// The path of an external peer must begin with its AS; absent: yes.
    first_as: bool,
    /// The accumulated metric is taken from it (RFC 7311); absent: no.
    aigp: bool,
    /// Graceful restart is offered: its routes stay for the time that it says, and this node says
    /// that many seconds (RFC 4724, 8538); absent: it is not offered.
    graceful_restart_s: u16,
    /// Its routes stay for that many seconds more, as a last resort (RFC 9494).
    long_lived_s: u32,
    /// Time until the End-of-RIB of a peer that is back, seconds; absent: 360.
    stale_s: u32,
    /// On a provider edge: the routing table that it is a customer of; absent: the global one.
    vrf: String,
    /// Its site (RFC 4364 §7), as `65000:7`: its routes are marked with it, and what is so marked
    /// is not told to it. For customers of a `vrf`.
    site: String,
    /// Its AS in the paths that it is told is replaced by this node's: other sites of the customer
    /// have the same one. For customers of a `vrf`; absent: no.
    as_override: bool,
    /// Attributes that steer the provider's core pass between it and its table, both ways: tunnel
    /// encapsulations (RFC 9012), prefix SIDs (RFC 8669), PMSI tunnels, labels of edges, IPv6
    /// extended communities, attribute sets, opaque extended communities (colours) and those of
    /// EVPN. For customers of a `vrf`; absent: no, they are dropped.
    core_attributes: bool,
    /// Where it stands (`[[rr.location]]`): its best paths are chosen by the metrics from there.
    location: String,
    /// The policy that its routes go through when they come; absent: what `default_policy` says.
    import: String,
    /// The policy that routes go through when it is told them; absent: what `default_policy` says.
    export: String,
    /// What a policy that is absent does with every route: `accept` or `refuse`. Absent: an
    /// external peer is refused (RFC 8212), an internal one accepted.
    default_policy: DefaultPolicy,
    /// How often this node's AS may stand in the path of a route that is taken from it; absent: 0
    /// (RFC 4271 §9.1.2).
    allow_own_as: u8,
    /// Password for TCP MD5 (RFC 2385). The revisions of the site file keep it as it stands there:
    /// `password_file` does not.
    password: Secret,
    /// File whose first line is the password, relative to the site's directory; `ctl reload-keys`
            /// reads it again.
    password_file: String,
    /// Routers between this node and the peer, plus one: its packets must have come no further
    /// (RFC 5082). 1 is a neighbour.
    ttl_security_hops: u8,
    /// How many routes it may have, by family. Absent for a family, an external peer may have
    /// 2,000,000 routes of IPv4, 500,000 of IPv6 and 1,000,000 of any other, a customer of a `vrf`
    /// half of its table's `routes_max`, in equal parts for its families; an internal one any
    /// number.
    prefix_limit: Vec<PrefixLimit>,
    /// Octets of attributes with which its routes may stand in the table, each set of attributes
    /// once. Beyond them its session ends and comes back after five minutes. Absent: 268435456 for
    /// an external peer, any number for an internal one.
    attribute_octets_max: u64,
}
