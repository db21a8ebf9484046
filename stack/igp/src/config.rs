//! What a function's section says of OSPF: its keys and their help (the doc comments). IS-IS has a
//! file of its own, and so has what both have.

mod interruptions;
mod keys;
mod of_isis;
mod shared;
mod validate;

pub use keys::{BfdAuthentication, BfdKeys, KeyChain, KeyChains, bfd_keys};
pub use of_isis::{Advertise, Interface as IsisInterface, Isis, LevelKind};
pub use shared::{Bfd, Delays, Known, Network, Repair, Source};

use config::Issue;
use ospf::AreaKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Preference of routes that OSPF has learnt, if nothing is said.
pub const DISTANCE: u8 = 110;

/// OSPFv2 (RFC 2328) in the global routing table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ospf {
    /// The router's number, unique in the domain, often an address of its own: `192.0.2.1`. Another
    /// one ends all adjacencies.
    pub router_id: Ipv4Addr,
    /// Preference of what is learnt against other routes to the same prefix: the lower one holds.
    /// Connected subnets have 0, a static route 1 unless its `distance` says otherwise.
    #[serde(default = "distance")]
    pub distance: u8,
    /// Equal paths of a route, 1 to 64: flows are shared among them.
    #[serde(default = "paths")]
    pub paths: u8,
    /// Links cost as much as can be said, so that nothing passes through this router (RFC 6987):
    /// before maintenance.
    #[serde(default)]
    pub stub_router: bool,
    /// Seconds for which neighbours are asked to bear a control that is started anew while its
    /// forwarder goes on (RFC 3623 §2); 0: they are not asked.
    #[serde(default = "restart_s")]
    pub restart_s: u16,
    /// Neighbours that restart are borne for so many seconds at most (RFC 3623 §3); 0: not at all.
    #[serde(default = "helper_s")]
    pub helper_s: u16,
    /// LSAs of one router at most; more are not taken, which is counted.
    #[serde(default = "lsas_of_router_max")]
    pub lsas_of_router_max: u32,
    /// Delays between a change and the run of SPF that takes it in (RFC 8405).
    #[serde(default)]
    pub spf: Delays,
    /// How packets go on while the only way of their route does not work, from the moment that BFD
    /// or the link says so until SPF has run: `lfa` or `remote-lfa`; absent: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
    /// Milliseconds for which routes that a repair has taken over stay with it after a link of this
    /// router's own is lost and nothing else happens, so that no packet circles among routers that
    /// are not as fast (RFC 8333): longer than the slowest of them takes; 0: they do not.
    #[serde(default)]
    pub microloop_delay_ms: u32,
    /// What other routers are told of this one's other routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redistribute: Vec<Redistribute>,
    /// Areas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub area: Vec<Area>,
}

/// The number of an area, written as four numbers or, as other routers have it, as one.
pub(crate) fn area_id(text: &str) -> Option<Ipv4Addr> {
    let one = || text.parse::<u32>().ok().map(Ipv4Addr::from);
    text.parse().ok().or_else(one)
}

fn read_area_id<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Ipv4Addr, D::Error> {
    let text = String::deserialize(from)?;
    area_id(&text).ok_or_else(|| {
        serde::de::Error::custom(format!("`{text}` is no area: write `0.0.0.0`, or `0`"))
    })
}

const fn distance() -> u8 {
    DISTANCE
}

const fn paths() -> u8 {
    64
}

const fn restart_s() -> u16 {
    120
}

const fn helper_s() -> u16 {
    1_800
}

const fn lsas_of_router_max() -> u32 {
    200_000
}

/// What others are told of routes of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redistribute {
    /// Which: `static`, `connected` or `default`.
    pub from: Source,
    /// Only those within one of these prefixes: `10.0.0.0/8`; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// What they cost.
    #[serde(default = "external_metric")]
    pub metric: u32,
    /// 1: the metric is one like those inside, and added to them; 2: it is larger than any.
    #[serde(default = "external_type")]
    pub metric_type: u8,
    /// A tag for others to go by.
    #[serde(default)]
    pub tag: u32,
}

const fn external_metric() -> u32 {
    20
}

const fn external_type() -> u8 {
    2
}

/// What an area lets in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Everything.
    #[default]
    Normal,
    /// No routes from outside the domain: a default route in their place.
    Stub,
    /// As `stub`, and none of other areas either.
    TotallyStub,
    /// Routes from outside of its own only (RFC 3101).
    Nssa,
    /// As `nssa`, and none of other areas: a default route in their place.
    TotallyNssa,
}

/// An area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Area {
    /// Its number: `0.0.0.0` is the backbone, which `0` is as well.
    #[serde(deserialize_with = "read_area_id")]
    pub id: Ipv4Addr,
    /// What it lets in: `normal`, `stub`, `totally-stub`, `nssa` or `totally-nssa`.
    #[serde(default)]
    pub kind: Kind,
    /// What the default route costs that a border router tells a stub area or an NSSA. Absent: 1
    /// where routes are kept out, and none in an `nssa`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_cost: Option<u32>,
    /// Interfaces in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interface: Vec<Interface>,
}

impl Area {
    /// Its number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.id.into()
    }

    /// As the machine knows it.
    #[must_use]
    pub fn area_kind(&self) -> AreaKind {
        let default_cost = self.default_cost.unwrap_or(1);
        match self.kind {
            Kind::Normal => AreaKind::Normal,
            Kind::Stub => AreaKind::Stub { is_totally: false, default_cost },
            Kind::TotallyStub => AreaKind::Stub { is_totally: true, default_cost },
            Kind::Nssa => AreaKind::Nssa { is_totally: false, default_cost: self.default_cost },
            Kind::TotallyNssa => {
                AreaKind::Nssa { is_totally: true, default_cost: Some(default_cost) }
            }
        }
    }
}

/// An interface that OSPF speaks by, or announces. Its first IPv4 address and that address's subnet
/// count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
    /// Its link: `broadcast` or `point-to-point`. Neighbours must say the same.
    #[serde(default)]
    pub network: Network,
    /// What it costs to send by it, 1 to 65535.
    #[serde(default = "cost")]
    pub cost: u16,
    /// Priority as designated router; 0: never.
    #[serde(default = "priority")]
    pub priority: u8,
    /// Seconds between hellos. Neighbours must say the same.
    #[serde(default = "hello_s")]
    pub hello_s: u16,
    /// Seconds of silence after which a neighbour is dead. Neighbours must say the same.
    #[serde(default = "dead_s")]
    pub dead_s: u32,
    /// Seconds between two sendings of what was not acknowledged.
    #[serde(default = "retransmit_s")]
    pub retransmit_s: u16,
    /// Seconds by which LSAs age on the link.
    #[serde(default = "delay_s")]
    pub transmit_delay_s: u16,
    /// It is announced, and nothing is spoken there.
    #[serde(default)]
    pub passive: bool,
    /// Neighbours may have another MTU.
    #[serde(default)]
    pub ignore_mtu: bool,
    /// A file with the keys of its packets, a line each, the one that is sent with first, relative
    /// to the site's directory: `ID ALGORITHM SECRET`, where the algorithm is `md5`, `hmac-sha-1`,
    /// `hmac-sha-256`, `hmac-sha-384` or `hmac-sha-512` (RFC 2328 §D, RFC 5709); or one line
    /// `password SECRET`. Absent: packets have no proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The numbers of a neighbour's digests are kept when it is gone, so that nobody wakes it with
    /// packets that he has recorded (RFC 7474 §1). Only where no router's numbers ever go back:
    /// those of FRR begin anew when its machine boots, and it would not be heard again.
    #[serde(default)]
    pub keep_numbers: bool,
    /// Neighbours are watched by BFD (RFC 5882): an adjacency ends when a session goes down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<Bfd>,
}

impl Interface {
    /// Whether an adjacency outlives another section of it: neighbours are told of nothing else.
    fn is_heard_as(&self, other: &Self) -> bool {
        let said = |it: &Self| (it.network, it.hello_s, it.dead_s, it.passive);
        said(self) == said(other)
    }
}

const fn cost() -> u16 {
    10
}

const fn priority() -> u8 {
    1
}

const fn hello_s() -> u16 {
    10
}

const fn dead_s() -> u32 {
    40
}

const fn retransmit_s() -> u16 {
    5
}

const fn delay_s() -> u16 {
    1
}

impl Ospf {
    /// How long routes stay with their repairs.
    pub(crate) fn microloop_delay(&self) -> machine::Duration {
        machine::Duration::from_millis(self.microloop_delay_ms.into())
    }

    /// Its interfaces, with their areas.
    pub fn interfaces(&self) -> impl Iterator<Item = (&Area, &Interface)> {
        self.area.iter().flat_map(|area| area.interface.iter().map(move |it| (area, it)))
    }

    /// Files of keys, and the paths of the keys that name them.
    pub fn key_files(&self) -> impl Iterator<Item = (String, &str)> {
        self.area.iter().enumerate().flat_map(|(a, area)| {
            area.interface.iter().enumerate().filter_map(move |(n, it)| {
                let path = format!("area[{a}].interface[{n}].key_file");
                Some((path, it.key_file.as_deref()?))
            })
        })
    }

    /// Files of keys of BFD, and the paths of the keys that name them.
    pub fn bfd_key_files(&self) -> impl Iterator<Item = (String, &str)> {
        self.area.iter().enumerate().flat_map(|(a, area)| {
            area.interface.iter().enumerate().filter_map(move |(n, it)| {
                let path = format!("area[{a}].interface[{n}].bfd.key_file");
                Some((path, it.bfd.as_ref()?.key_file.as_deref()?))
            })
        })
    }

    /// Interfaces whose packets nobody has to prove, each with its path.
    pub fn exposures(&self) -> impl Iterator<Item = Issue> {
        self.area.iter().enumerate().flat_map(|(a, area)| {
            let open = |it: &&Interface| it.key_file.is_none() && !it.passive;
            let spoken = area.interface.iter().enumerate();
            spoken.filter(move |(_, it)| open(it)).map(move |(n, it)| {
                let name = &it.name;
                let what = format!("OSPF on `{name}` believes whoever is on its link");
                let hint = "add `key_file` at each router of the link, or `passive = true`";
                Issue::new(format!("area[{a}].interface[{n}]"), what, hint)
            })
        })
    }
}
