//! The `[[rr]]` section of a site file: its shape and its help (the doc comments). Peers and groups
//! are the speaker's (`bgp_stack::config`).

mod feeds;
mod places;
mod ports;
mod validate;

pub use bgp_stack::config::{Group, Peer, Secret};
pub(crate) use feeds::STATIONS_MAX;
pub use feeds::{Bmp, BmpTable, Mrt, Rpki};
pub use places::{Location, NextHopMetric};
pub(crate) use ports::{CAPTURE_PORT, PortProtocol};

use bgp_stack::config::Section;
use config::{Issue, interrupted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

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
    /// Where messages and events go.
    #[serde(flatten)]
    pub capture: trail::Section<2_001>,
    /// UPDATEs a second, of all sessions and both directions, that are captured beside what manages
    /// the sessions.
    #[serde(default)]
    pub capture_updates_per_s: u32,
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

const fn one() -> u16 {
    1
}

impl Rr {
    /// What this section says of the speaker.
    #[must_use]
    pub fn speaker(&self) -> Section<'_> {
        Section {
            key: "rr",
            asn: self.asn,
            identifier: self.identifier,
            listen: &self.listen,
            group: &self.group,
            peer: &self.peer,
            policy: &self.policy,
            locations: self.location.iter().map(|it| &*it.name).collect(),
            vrfs: BTreeMap::new(),
            first_port: ports::BGP,
        }
    }

    /// The sessions that end or restart when `next` takes the place of this section: a sentence
    /// each. Those that are not named go on.
    #[must_use]
    pub fn interruptions(&self, next: &Self) -> Vec<Issue> {
        let found = self.speaker().interruptions(&next.speaker(), !self.is_same(next));
        let feeds = [self.interrupted_stations(next), self.interrupted_caches(next)];
        let said = found.sentences().into_iter().chain(feeds.into_iter().flatten());
        said.map(|what| Issue::new("name", what, "")).collect()
    }

    /// What monitoring stations (BMP) notice: all of them begin anew when the list is another one,
    /// when the node is, or when the tables are of which one is told.
    fn interrupted_stations(&self, next: &Self) -> Vec<String> {
        let name = |it: &Bmp| it.name.clone();
        let (gone, stay): (Vec<&Bmp>, Vec<&Bmp>) =
            self.bmp.iter().partition(|it| next.bmp.iter().all(|other| other.name != it.name));
        let is_told = |table| next.bmp.iter().any(|station| station.tables.contains(&table));
        let is_rejudged =
            self.policy != next.policy || self.policies_used() != next.policies_used();
        let is_other = self.bmp != next.bmp
            || self.name != next.name
            || !self.is_same(next)
            || self.speaker().families() != next.speaker().families()
            || is_rejudged && (is_told(BmpTable::PostPolicy) || is_told(BmpTable::AdjRibOut));
        let stay: Vec<String> = stay.into_iter().filter(|_| is_other).map(name).collect();
        let gone: Vec<String> = gone.into_iter().map(name).collect();
        let said = [("restart", stay), ("end", gone)].into_iter();
        said.filter_map(|(verb, it)| interrupted("BMP session", "BMP sessions", verb, &it))
            .collect()
    }

    /// The names of the policies of groups and peers.
    fn policies_used(&self) -> Vec<(&str, Option<&str>, Option<&str>)> {
        let groups =
            self.group.iter().map(|it| (&*it.name, it.import.as_deref(), it.export.as_deref()));
        let peers =
            self.peer.iter().map(|it| (&*it.name, it.import.as_deref(), it.export.as_deref()));
        groups.chain(peers).collect()
    }

    /// What happens to the sessions with caches of validated prefixes: all of them begin anew when
    /// the list is another one; what they said stays meanwhile.
    fn interrupted_caches(&self, next: &Self) -> Vec<String> {
        if self.caches() == next.caches() {
            return Vec::new();
        }
        let at = |it: &Rpki| SocketAddr::new(it.address, it.port);
        let new: Vec<SocketAddr> = next.rpki.iter().map(at).collect();
        let all = self.rpki.iter().map(at);
        let (stay, gone): (Vec<SocketAddr>, Vec<SocketAddr>) = all.partition(|it| new.contains(it));
        let text = |all: Vec<SocketAddr>| all.iter().map(ToString::to_string).collect();
        let said: [(&str, Vec<String>); 2] = [("restart", text(stay)), ("end", text(gone))];
        let said = said.into_iter();
        said.filter_map(|(verb, it)| interrupted("RPKI session", "RPKI sessions", verb, &it))
            .collect()
    }
}
