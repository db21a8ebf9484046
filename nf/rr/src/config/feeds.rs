//! What a reflector reads and tells beside BGP: caches of validated prefixes, monitoring stations.

use super::Rr;
use super::ports::{BMP_IPV4, BMP_IPV6, RPKI_IPV4, RPKI_IPV6};
use bgp_stack::config::{validate_address, validate_name};
use config::Issue;
use runtime::{Carrier, Flow, PortId, PortSpec, StreamSpec, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Stations of one function at most.
pub(crate) const STATIONS_MAX: usize = 6;
/// Seconds of one file of records at most: a week.
const ROTATE_S_MAX: u32 = 7 * 86_400;
/// Files of records at most.
const FILES_MAX: u32 = 100_000;
/// Seconds between statistics at most: a day.
const STATISTICS_S_MAX: u32 = 86_400;

/// A cache of validated prefixes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rpki {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    #[serde(default = "rpki_port")]
    pub port: u16,
    /// The one with the smallest number that answers is asked; of equal ones the first.
    #[serde(default = "preference")]
    pub preference: u8,
    /// This node's address towards it; absent: as the routes say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<IpAddr>,
}

/// A table of which a station is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BmpTable {
    /// What peers send, as it comes (RFC 7854).
    PrePolicy,
    /// The same behind the import policies (RFC 7854).
    PostPolicy,
    /// What was chosen (RFC 9069).
    LocRib,
    /// What peers are sent (RFC 8671).
    AdjRibOut,
}

/// A monitoring station (BMP, RFC 7854): this node connects to it and tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bmp {
    /// Name, unique in the function.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// This node's address towards it; absent: as the routes say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<IpAddr>,
    /// What it is told: `pre-policy`, `post-policy`, `loc-rib`, `adj-rib-out`.
    #[serde(default = "tables")]
    pub tables: Vec<BmpTable>,
    /// Time between statistics of each peer, seconds; 0 is none.
    #[serde(default = "statistics_s")]
    pub statistics_s: u32,
    /// Time until the next attempt after the first failure, seconds; it doubles up to twelve
    /// minutes (RFC 7854 §3.2).
    #[serde(default = "retry_s")]
    pub retry_s: u32,
}

/// Where what comes is recorded (MRT, RFC 6396).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mrt {
    /// The folder of the files, relative to the site's directory.
    pub directory: String,
    /// Time after which the next file begins, seconds.
    #[serde(default = "rotate_s")]
    pub rotate_s: u32,
    /// Files that are kept; the oldest go.
    #[serde(default = "files_max")]
    pub files_max: u32,
}

const fn rotate_s() -> u32 {
    900
}

const fn files_max() -> u32 {
    96
}

const fn rpki_port() -> u16 {
    rpki::PORT
}

const fn preference() -> u8 {
    100
}

fn tables() -> Vec<BmpTable> {
    vec![BmpTable::PrePolicy]
}

const fn statistics_s() -> u32 {
    60
}

const fn retry_s() -> u32 {
    30
}

/// The way to somebody who is only connected to.
fn way(ports: [PortId; 2], local: Option<IpAddr>, remote: SocketAddr) -> Flow {
    let (port, any) = match remote {
        SocketAddr::V4(_) => (ports[0], IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        SocketAddr::V6(_) => (ports[1], IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
    };
    Flow::to(port, Transport::Tcp, SocketAddr::new(local.unwrap_or(any), 0), remote)
}

impl Rpki {
    pub(crate) fn target(&self) -> Flow {
        way([RPKI_IPV4, RPKI_IPV6], self.local, SocketAddr::new(self.address, self.port))
    }
}

impl Bmp {
    pub(crate) fn target(&self) -> Flow {
        way([BMP_IPV4, BMP_IPV6], self.local, SocketAddr::new(self.address, self.port))
    }

    pub(crate) fn has(&self, table: BmpTable) -> bool {
        self.tables.contains(&table)
    }
}

impl Rr {
    /// The caches, the most preferred first.
    pub(crate) fn caches(&self) -> Vec<Rpki> {
        let mut caches = self.rpki.clone();
        caches.sort_by_key(|cache| cache.preference);
        caches
    }

    /// The ports towards caches and stations.
    pub(super) fn feeds(&self) -> Vec<PortSpec> {
        let rpki = self.rpki.iter().map(Rpki::target).map(|flow| (flow, "rpki", false));
        let bmp = self.bmp.iter().map(Bmp::target).map(|flow| (flow, "bmp", true));
        let mut ports: Vec<PortSpec> = Vec::new();
        for (flow, name, paced) in rpki.chain(bmp) {
            if ports.iter().any(|port| port.id == flow.port) {
                continue;
            }
            let any: IpAddr = match flow.remote {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            ports.push(PortSpec {
                id: flow.port,
                name: name.to_owned(),
                listen: SocketAddr::new(any, 0),
                carrier: Carrier::Stream(StreamSpec {
                    connect_only: true,
                    paced,
                    ..StreamSpec::default()
                }),
                ..PortSpec::default()
            });
        }
        ports
    }

    pub(super) fn validate_feeds(&self, issues: &mut Vec<Issue>) {
        if self.rpki.len() > rpki::CACHES_MAX {
            let what = format!("{} caches", self.rpki.len());
            issues.push(Issue::new("rpki", what, format!("use {} or fewer", rpki::CACHES_MAX)));
        }
        for (n, cache) in self.rpki.iter().enumerate() {
            let at = format!("rpki[{n}]");
            let same = |it: &Rpki| (it.address, it.port) == (cache.address, cache.port);
            let twice = self.rpki[..n].iter().any(same);
            validate_end(&at, cache.address, cache.port, cache.local, twice, issues);
        }
        if let Some(mrt) = &self.mrt {
            validate_mrt(mrt, issues);
        }
        if self.bmp.len() > STATIONS_MAX {
            let what = format!("{} stations", self.bmp.len());
            issues.push(Issue::new("bmp", what, format!("use {STATIONS_MAX} or fewer")));
        }
        for (n, station) in self.bmp.iter().enumerate() {
            self.validate_station(n, station, issues);
        }
    }

    fn validate_station(&self, n: usize, station: &Bmp, issues: &mut Vec<Issue>) {
        let at = format!("bmp[{n}]");
        let before = &self.bmp[..n];
        let twice = before.iter().any(|it| it.name == station.name);
        validate_name(&station.name, twice, &at, issues);
        let same = |it: &Bmp| (it.address, it.port) == (station.address, station.port);
        let is_twice = before.iter().any(same);
        validate_end(&at, station.address, station.port, station.local, is_twice, issues);
        if station.tables.is_empty() {
            let hint = "name a table, or remove the key for `pre-policy`";
            issues.push(Issue::new(format!("{at}.tables"), "it is told nothing", hint));
        }
        if station.statistics_s > STATISTICS_S_MAX {
            let what = format!("{} is out of range", station.statistics_s);
            let hint = format!("use 0 to {STATISTICS_S_MAX}");
            issues.push(Issue::new(format!("{at}.statistics_s"), what, hint));
        }
        if !(1..=720).contains(&station.retry_s) {
            let what = format!("{} is out of range", station.retry_s);
            issues.push(Issue::new(format!("{at}.retry_s"), what, "use 1 to 720"));
        }
    }
}

fn validate_mrt(mrt: &Mrt, issues: &mut Vec<Issue>) {
    if mrt.directory.is_empty() {
        let hint = "write a path, as in `directory = \"mrt\"`";
        issues.push(Issue::new("mrt.directory", "the path is empty", hint));
    }
    let ranges =
        [("rotate_s", mrt.rotate_s, 10, ROTATE_S_MAX), ("files_max", mrt.files_max, 1, FILES_MAX)];
    for (key, value, least, most) in ranges {
        if !(least..=most).contains(&value) {
            let what = format!("{value} is out of range");
            let hint = format!("use {least} to {most}");
            issues.push(Issue::new(format!("mrt.{key}"), what, hint));
        }
    }
}

fn validate_end(
    at: &str,
    address: IpAddr,
    port: u16,
    local: Option<IpAddr>,
    twice: bool,
    issues: &mut Vec<Issue>,
) {
    validate_address(address, &format!("{at}.address"), issues);
    if twice {
        let what = format!("{} is named twice", SocketAddr::new(address, port));
        issues.push(Issue::new(format!("{at}.address"), what, "remove it once"));
    }
    if port == 0 {
        issues.push(Issue::new(format!("{at}.port"), "0 is no port", "write its port"));
    }
    if let Some(local) = local.filter(|local| local.is_ipv4() != address.is_ipv4()) {
        let what = format!("{local} is of another address family than {address}");
        issues.push(Issue::new(format!("{at}.local"), what, "use one of the same"));
    }
}
