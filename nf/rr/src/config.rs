//! The `[[rr]]` section of a site file: its shape and its help (the doc comments).
//!
//! What may stand at a peer may stand at its group as well: both are written by one table below,
//! and [`Manner`] is what holds for a peer in the end.

mod doors;
mod families;
mod feeds;
mod manner;
mod places;
mod secret;
mod speaker;
mod validate;

pub use doors::PORTS_MAX;
pub(crate) use doors::{CAPTURE_PORT, Door};
pub(crate) use feeds::STATIONS_MAX;
pub use feeds::{Bmp, BmpTable, Mrt, Rpki};
pub use places::{Location, NextHopMetric};
pub use secret::Secret;
pub(crate) use speaker::{Change, EXCESS_RESTART, Limit, PEERS_MAX, Range, Speaker};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};

/// A route reflector (RFC 4456): sessions with clients and others, and the routes between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rr {
    /// Name of the function, unique in the site.
    pub name: String,
    /// Cores to pin its threads to, in turn; empty leaves them to the kernel.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Threads. The first has the sessions and the routes, further ones read and write the
    /// connections; changes with a restart of the site.
    #[serde(default = "one")]
    pub shards: u16,
    /// Its AS.
    pub asn: u32,
    /// BGP Identifier, unique in the AS: `10.0.0.1`.
    pub identifier: Ipv4Addr,
    /// Cluster Identifier; absent: the BGP Identifier. Reflectors of the same clients may share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Ipv4Addr>,
    /// Collector for captured messages and events (HEP3): `tcp:127.0.0.1:9060`; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    /// Number of this agent in the captured packets (HEP3 chunk 12).
    #[serde(default = "capture_id")]
    pub capture_id: u32,
    /// File with the key that the collector wants (HEP3 chunk 14), in the site's directory and its
    /// owner's alone; the first line is sent, in clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_key_file: Option<String>,
    /// The key of that file.
    #[serde(skip)]
    pub capture_key: authentication::Password,
    /// Addresses to listen on, port 179 unless told: `10.0.0.1`, `[2001:db8::1]:1179`.
    #[serde(default)]
    pub listen: Vec<String>,
    /// What this node says when it ends its sessions (RFC 9003), up to 255 octets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown_text: Option<String>,
    /// How far next hops are from this node; those in none of the prefixes cannot be reached.
    /// Absent: all can, at the same metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<NextHopMetric>,
    /// Places where peers stand, with how far next hops are from there: best paths are chosen for
    /// each place (RFC 9107).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub location: Vec<Location>,
    /// After a start nobody is told anything for that long, seconds, or until every peer that
    /// restarts gracefully has told all of its routes (RFC 4724 §4.1); absent: everybody is told
    /// at once. With `ranges` the time is waited for, as nobody knows who is still to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferral_s: Option<u32>,
    /// Routing policies, which `import` and `export` name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<policy::PolicyConfig>,
    /// Caches of validated prefixes (RPKI to Router, RFC 8210): what `match.validation` of the
    /// policies goes by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rpki: Vec<Rpki>,
    /// Monitoring stations (BMP, RFC 7854).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bmp: Vec<Bmp>,
    /// What comes is recorded in files (MRT, RFC 6396); changes with a restart of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mrt: Option<Mrt>,
    /// Groups of peers: what stands here holds for those that name the group, and for all that come
    /// from its ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group: Vec<Group>,
    /// The peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer: Vec<Peer>,
}

const fn capture_id() -> u32 {
    2001
}

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

const fn one() -> u16 {
    1
}

const fn warn_percent() -> u8 {
    80
}

const fn restart_s() -> u32 {
    300
}

/// Writes group and peer, which share what a peer may say.
macro_rules! manners {
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
        pub(crate) struct Manner {
            $(pub(crate) $key: Option<$kind>,)+
        }

        impl Manner {
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

manners! {
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
    /// File whose first line is the password, relative to the site's directory.
    password_file: String,
    /// Routers between this node and the peer, plus one: its packets must have come no further
    /// (RFC 5082). 1 is a neighbour.
    ttl_security_hops: u8,
    /// How many routes it may have, by family. Absent for a family, an external peer may have
    /// 2,000,000 routes of IPv4, 500,000 of IPv6 and 1,000,000 of any other; an internal one any
    /// number.
    prefix_limit: Vec<PrefixLimit>,
    /// Octets of attributes with which its routes may stand in the table, each set of attributes
    /// once. Beyond them its session ends and comes back after five minutes. Absent: 268435456 for
    /// an external peer, any number for an internal one.
    attribute_octets_max: u64,
}
