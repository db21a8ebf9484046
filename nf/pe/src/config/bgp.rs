//! `[pe.bgp]`: a speaker of BGP beside the router's tables, with the keys of `[[rr]]`.

use super::{Pe, Vrf, network, prefix};
use bgp_stack::config::{Group, Peer, Section};
use config::Issue;
use runtime::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The first port of the speaker's flows; nothing of the runtime has them.
const FLOWS: PortId = PortId(16);
/// BGP's port.
pub(crate) const PORT: u16 = 179;
/// Seconds for which routes may be waited for after a start at most.
const DEFERRAL_S_MAX: u32 = 3_600;
/// Labels that mean something by themselves are below (RFC 3032 §2.1), and the greatest one.
const LABEL_MIN: u32 = 16;
const LABEL_MAX: u32 = 0x000F_FFFF;
/// Families whose routes have labels.
const LABELLED: [&str; 4] = ["vpnv4", "vpnv6", "ipv4-labelled", "ipv6-labelled"];
/// Those of them that are of VPNs.
const VPNS: [&str; 2] = ["vpnv4", "vpnv6"];
/// Equal ways of a route at most.
const PATHS_MAX: u8 = 64;

/// BGP (RFC 4271) with the peers of the global routing table: the keys of a route reflector, and
/// what becomes of routes here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bgp {
    /// Its AS.
    pub asn: u32,
    /// BGP Identifier, unique in the AS: `192.0.2.1`. Sessions with peers that are not next door
    /// begin at this address, where an interface has it and the peer has no `local`.
    pub identifier: Ipv4Addr,
    /// Cluster Identifier, where it reflects (`client` of a peer); absent: the BGP Identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Ipv4Addr>,
    /// Addresses of interfaces that peers connect to: `192.0.2.1`; absent: all of the global table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<String>,
    /// What this node says when it ends its sessions (RFC 9003), up to 255 octets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown_text: Option<String>,
    /// After a start beside a forwarder that went on, nobody is told anything for that long,
    /// seconds, or until every peer that restarts gracefully has told all of its routes (RFC 4724
    /// §4.1); until then packets go as before. Absent: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferral_s: Option<u32>,
    /// Prefixes that it tells as its own: `10.1.0.0/16`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<String>,
    /// Routes that it tells beside those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redistribute: Vec<Redistribute>,
    /// Preference of routes of external peers against those of other protocols, 1 to 255: the
    /// lowest one holds.
    #[serde(default = "distance_external")]
    pub distance_external: u8,
    /// The same of routes of internal peers.
    #[serde(default = "distance_internal")]
    pub distance_internal: u8,
    /// Equal paths among which flows are shared, 1 to 64.
    #[serde(default = "paths_max", skip_serializing_if = "is_one")]
    pub paths_max: u8,
    /// The first and the last of the labels that tables with `rd` and without `label` have. That of
    /// a table which has gone is given to no other one for a day: other edges may still use it.
    #[serde(default = "vpn_labels")]
    pub vpn_labels: [u32; 2],
    /// Routing policies, which `import` and `export` name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<policy::PolicyConfig>,
    /// Groups of peers: what stands here holds for those that name the group, and for all that come
    /// from its ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group: Vec<Group>,
    /// The peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer: Vec<Peer>,
}

const fn distance_external() -> u8 {
    20
}

const fn distance_internal() -> u8 {
    200
}

const fn paths_max() -> u8 {
    1
}

const fn vpn_labels() -> [u32; 2] {
    [200_000, 265_535]
}

const fn is_one(it: &u8) -> bool {
    *it == 1
}

/// Where routes come from that are told.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// Subnets of interfaces.
    Connected,
    /// Static routes, those of files among them.
    Static,
    /// OSPF.
    Ospf,
    /// IS-IS.
    Isis,
}

/// Routes of another protocol that are told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redistribute {
    /// Whose: `connected`, `static`, `ospf` or `isis`.
    pub from: From,
    /// MULTI_EXIT_DISC of these; absent: what the protocol says they cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<u32>,
    /// Only prefixes within one of these: `10.0.0.0/8`; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
}

impl Bgp {
    /// Where it listens.
    #[must_use]
    pub fn listens(&self) -> Vec<String> {
        match &self.listen[..] {
            [] => vec!["0.0.0.0".to_owned(), "::".to_owned()],
            own => own.to_vec(),
        }
    }

    /// What this section says of the speaker, which listens there; its peers may be customers of
    /// those of the tables that have a distinguisher.
    #[must_use]
    pub fn speaker<'a>(&'a self, listens: &'a [String], tables: &'a [Vrf]) -> Section<'a> {
        let vrfs = tables.iter().filter(|it| it.rd.is_some());
        let vrfs = vrfs.map(|it| (it.name.as_str(), it.routes_max as u64)).collect();
        Section {
            key: "pe.bgp",
            asn: self.asn,
            identifier: self.identifier,
            listen: listens,
            group: &self.group,
            peer: &self.peer,
            policy: &self.policy,
            locations: Vec::new(),
            vrfs,
            first_port: FLOWS,
        }
    }

    /// Whether `other` would be the same speaker.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let own = |it: &Self| (it.asn, it.identifier, it.cluster.unwrap_or(it.identifier));
        own(self) == own(other)
    }

    /// The speakers of routing tables, by their names: with the peers of each. That of the global
    /// table is there in any case.
    pub(crate) fn by_table(&self) -> BTreeMap<Option<String>, Self> {
        let of_group = |name: &Option<String>| {
            let group = self.group.iter().find(|it| Some(&it.name) == name.as_ref());
            group.and_then(|it| it.vrf.clone())
        };
        let mut all = BTreeMap::new();
        let empty = |vrf: &Option<String>| {
            let mut it = Self { peer: Vec::new(), ..self.clone() };
            it.group.iter_mut().filter(|it| it.vrf != *vrf).for_each(|it| it.ranges.clear());
            if vrf.is_some() {
                it.listen.clear();
            }
            it
        };
        all.insert(None, empty(&None));
        for group in self.group.iter().filter(|it| !it.ranges.is_empty()) {
            all.entry(group.vrf.clone()).or_insert_with_key(empty);
        }
        for peer in &self.peer {
            let vrf = peer.vrf.clone().or_else(|| of_group(&peer.group));
            all.entry(vrf).or_insert_with_key(empty).peer.push(peer.clone());
        }
        all
    }

    /// Whether a peer may restart gracefully.
    pub(crate) fn restarts(&self) -> bool {
        self.group.iter().any(|it| it.graceful_restart_s.is_some())
            || self.peer.iter().any(|it| it.graceful_restart_s.is_some())
    }

    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub(super) fn validate(&self, pe: &Pe, issues: &mut Vec<Issue>) {
        let (listens, addresses) = (self.listens(), pe.global_addresses());
        self.speaker(&listens, &pe.vrf).validate(issues);
        for (n, text) in self.listen.iter().enumerate() {
            let at = format!("listen[{n}]");
            let address = text.parse::<SocketAddr>().map(|it| (it.ip(), it.port()));
            let address = address.or_else(|_| text.parse::<IpAddr>().map(|it| (it, PORT)));
            let Ok((address, port)) = address else { continue };
            if port != PORT {
                let what = format!("peers connect to port {PORT} of an edge");
                issues.push(Issue::new(at, what, "write the address alone"));
            } else if !addresses.contains(&address) {
                let what = format!("{address} is no address of an interface of the global table");
                issues.push(Issue::new(at, what, "name one of an interface without a `vrf`"));
            }
        }
        let peers = self.peer.iter().enumerate();
        let peers = peers.map(|(n, it)| (format!("peer[{n}].local"), it.local, &it.vrf));
        let groups = self.group.iter().enumerate();
        let groups = groups.map(|(n, it)| (format!("group[{n}].local"), it.local, &it.vrf));
        for (at, local, vrf) in peers.chain(groups) {
            let own = pe.addresses_of(vrf.as_deref());
            if let Some(local) = local.filter(|it| !own.contains(it)) {
                let table = vrf.as_deref().unwrap_or("global");
                let what = format!("{local} is no address of an interface of the {table} table");
                issues.push(Issue::new(at, what, "name one of the table that the peer is of"));
            }
        }
        self.validate_labelled(issues);
        self.validate_own(issues);
    }

    /// Routes with labels are told on with the label that they came with: where this router would
    /// name itself as their next hop, packets would come here with the label of another one.
    fn validate_labelled(&self, issues: &mut Vec<Issue>) {
        let is_labelled = |families: &Option<Vec<String>>| {
            families.iter().flatten().any(|it| LABELLED.contains(&it.as_str()))
        };
        let of_group = |name: &Option<String>| {
            let name = name.as_ref()?;
            self.group.iter().find(|it| it.name == *name)
        };
        let groups = self.group.iter().enumerate().map(|(n, it)| {
            let is_other = it.any_asn.is_some() || it.asn.is_some_and(|asn| asn != self.asn);
            (format!("group[{n}]"), is_labelled(&it.families), is_other, it.next_hop_self)
        });
        let peers = self.peer.iter().enumerate().map(|(n, it)| {
            let group = of_group(&it.group);
            let families = it.families.as_ref().or(group.and_then(|it| it.families.as_ref()));
            let asn = it.asn.or(group.and_then(|it| it.asn));
            let any = it.any_asn.as_ref().or(group.and_then(|it| it.any_asn.as_ref()));
            let is_other = any.is_some() || asn.is_some_and(|asn| asn != self.asn);
            let own = it.next_hop_self.or(group.and_then(|it| it.next_hop_self));
            (format!("peer[{n}]"), is_labelled(&families.cloned()), is_other, own)
        });
        for (at, is_labelled, is_other, next_hop_self) in groups.chain(peers) {
            if is_labelled && (is_other || next_hop_self == Some(true)) {
                let what = "routes with labels would be told on with this router as next hop, and \
                            the label of another one";
                let hint = "tell them to internal peers alone, without `next_hop_self`";
                issues.push(Issue::new(format!("{at}.families"), what, hint));
            }
        }
    }

    /// Groups and peers that are told of VPNs: where they stand, and the address of one.
    pub(super) fn tell_vpns(&self) -> Vec<(String, Option<IpAddr>)> {
        let has = |it: &Option<Vec<String>>| it.iter().flatten().any(|it| VPNS.contains(&&**it));
        let groups = self.group.iter().enumerate().filter(|(_, it)| has(&it.families));
        let groups = groups.filter(|(_, it)| !it.ranges.is_empty());
        let groups = groups.map(|(n, _)| (format!("group[{n}]"), None));
        let of_group = |it: &Peer| {
            let group = self.group.iter().find(|of| it.group.as_ref() == Some(&of.name));
            group.is_some_and(|of| has(&of.families))
        };
        let tells = |it: &Peer| has(&it.families) || it.families.is_none() && of_group(it);
        let peers = self.peer.iter().enumerate().filter(|(_, it)| tells(it));
        peers.map(|(n, it)| (format!("peer[{n}]"), Some(it.address))).chain(groups).collect()
    }

    /// Peers of other ASes.
    pub(super) fn outsiders(&self) -> Vec<(&str, IpAddr)> {
        let of_group = |name: &String| self.group.iter().find(|it| it.name == *name);
        let is_other = |it: &&Peer| {
            let group = it.group.as_ref().and_then(of_group);
            let any = it.any_asn.is_some() || group.is_some_and(|it| it.any_asn.is_some());
            let asn = it.asn.or(group.and_then(|it| it.asn));
            any || asn.is_some_and(|asn| asn != self.asn)
        };
        self.peer.iter().filter(is_other).map(|it| (&*it.name, it.address)).collect()
    }

    fn validate_own(&self, issues: &mut Vec<Issue>) {
        if self.cluster.is_some_and(|cluster| cluster.is_unspecified()) {
            let hint = "remove it: the BGP Identifier is taken then";
            issues.push(Issue::new("cluster", "the Cluster Identifier is zero", hint));
        }
        if self.deferral_s.is_some_and(|it| it > DEFERRAL_S_MAX) {
            let hint = format!("use 0 to {DEFERRAL_S_MAX}, or remove it");
            issues.push(Issue::new("deferral_s", "out of range", hint));
        }
        let octets = self.shutdown_text.as_ref().map_or(0, String::len);
        if octets > bgp::codec::CEASE_COMMUNICATION_BYTES_MAX {
            let most = bgp::codec::CEASE_COMMUNICATION_BYTES_MAX;
            let what = format!("a text of {octets} octets");
            issues.push(Issue::new("shutdown_text", what, format!("use {most} or fewer")));
        }
        for (key, distance) in [
            ("distance_external", self.distance_external),
            ("distance_internal", self.distance_internal),
        ] {
            if distance == 0 {
                let what = "connected subnets alone are preferred to all";
                issues.push(Issue::new(key, what, "use 1 to 255"));
            }
        }
        if !(1..=PATHS_MAX).contains(&self.paths_max) {
            let what = format!("{} is out of range", self.paths_max);
            issues.push(Issue::new("paths_max", what, format!("use 1 to {PATHS_MAX}")));
        }
        let [first, last] = self.vpn_labels;
        if first < LABEL_MIN || last > LABEL_MAX || last < first {
            let what = format!("{first} to {last} are no labels to give");
            let hint = format!("use {LABEL_MIN} to {LABEL_MAX}");
            issues.push(Issue::new("vpn_labels", what, hint));
        }
        let networks = self.networks.iter().enumerate();
        let networks = networks.map(|(n, text)| (format!("networks[{n}]"), text));
        let within = self.redistribute.iter().enumerate().flat_map(|(n, it)| {
            let all = it.within.iter().enumerate();
            all.map(move |(m, text)| (format!("redistribute[{n}].within[{m}]"), text))
        });
        for (at, text) in networks.chain(within) {
            let is_plain = prefix(text).is_some_and(|it| network(it) == it);
            if !is_plain {
                let what = format!("`{text}` is no prefix");
                let hint = "write one without bits behind its length: `10.1.0.0/16`";
                issues.push(Issue::new(at, what, hint));
            }
        }
        for (n, it) in self.redistribute.iter().enumerate() {
            if self.redistribute[..n].iter().any(|other| other.from == it.from) {
                let at = format!("redistribute[{n}].from");
                issues.push(Issue::new(at, "it stands here twice", "remove it once"));
            }
        }
    }

    /// The sessions that end or restart when `next` takes the place of this section: a sentence
    /// each.
    pub(super) fn interruptions(&self, next: Option<&Self>) -> Vec<String> {
        let Some(next) = next else { return vec!["all sessions of BGP end".to_owned()] };
        let (old, new) = (self.listens(), next.listens());
        let (old, new) = (self.speaker(&old, &[]), next.speaker(&new, &[]));
        let found = old.interruptions(&new, !self.is_same(next));
        found.sentences()
    }
}

impl Pe {
    /// Addresses of the speaker that peers may connect to.
    pub(crate) fn bgp_addresses(&self) -> Vec<IpAddr> {
        let own = self.global_addresses();
        let Some(bgp) = &self.bgp else { return Vec::new() };
        match &bgp.listen[..] {
            [] => own,
            listed => listed.iter().filter_map(|it| it.parse().ok()).collect(),
        }
    }
}
