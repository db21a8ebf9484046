//! What the types alone cannot refuse.

use super::{Group, Interface, Msc};
use config::Issue;
use dataplane::GLOBAL;
use dataplane::section::{self, contains, is_name, known, port_range, prefix, unique};
use forwarder::WORKERS_MAX;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// VLAN numbers that can be used (IEEE 802.1Q §9.6).
const VLANS: core::ops::RangeInclusive<u16> = 1..=4_094;
/// Packets of a worker, least and most.
const PACKETS: core::ops::RangeInclusive<u32> = 1_024..=1 << 20;
/// Octets of the longest frame, least and most.
const FRAME_OCTETS: core::ops::RangeInclusive<u16> = 1_518..=10_000;
/// Streams of the transcoder.
const STREAMS_TRANSCODED: core::ops::RangeInclusive<u32> = 1..=65_536;
/// Groups, and addresses of all of them.
const GROUPS_MAX: usize = 64;
const ADDRESSES_MAX: usize = 256;
/// Pairs of a block.
const BLOCK_PAIRS: core::ops::RangeInclusive<u16> = 16..=4_096;

/// Shards, least and most.
const SHARDS: core::ops::RangeInclusive<u16> = 1..=16;

type Issues<'a> = &'a mut Vec<Issue>;

impl Msc {
    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        is_name("name", &self.name, issues);
        self.validate_shards(issues);
        self.validate_listeners(issues);
        self.validate_forwarder(issues);
        unique("port", self.port.iter().map(|it| &it.name), issues);
        unique("vrf", self.vrf.iter().map(|it| &it.name), issues);
        unique("interface", self.interface.iter().map(|it| &it.name), issues);
        unique("group", self.group.iter().map(|it| &it.name), issues);
        if let Some(at) = self.vrf.iter().position(|vrf| vrf.name == GLOBAL) {
            let what = "`global` is the table of those that name none";
            issues.push(Issue::new(format!("vrf[{at}].name"), what, "choose another name"));
        }
        section::validate(&self.port, self.forwarder.frame_octets, issues);
        self.validate_interfaces(issues);
        self.validate_groups(issues);
        self.validate_limits(issues);
        if let Some(replica) = &self.replica {
            let mut own = Vec::new();
            replica.validate(&mut own);
            if own.is_empty() && !replica.stays_current() {
                let what = format!(
                    "after {} ms of silence what a standby was told is too old: each takeover \
                     would end all streams that have keys",
                    replica.detect_ms
                );
                let hint = "with two times heartbeat_ms stay below 2000";
                own.push(Issue::new("detect_ms", what, hint));
            }
            issues.extend(own.into_iter().map(|issue| issue.under("replica")));
            self.validate_pair(issues);
        }
    }

    /// The addresses of groups go from one node to the other: they are no interface's own.
    fn validate_pair(&self, issues: Issues<'_>) {
        let interfaces = self.interface.iter().flat_map(|it| {
            let own = it.addresses.iter().filter_map(|text| prefix(text));
            own.map(move |(address, _)| (it, address))
        });
        let own: Vec<_> = interfaces.collect();
        for (at, group) in self.group.iter().enumerate() {
            for (n, address) in group.addresses.iter().enumerate() {
                let is_its =
                    |(it, own): &&(&Interface, IpAddr)| it.vrf == group.vrf && own == address;
                if let Some((interface, _)) = own.iter().find(is_its) {
                    let what =
                        format!("{address} is `{}`'s own at this node of the pair", interface.name);
                    let hint = "give the interface another address of the subnet, at each node one";
                    issues.push(Issue::new(format!("group[{at}].addresses[{n}]"), what, hint));
                }
            }
        }
    }

    fn validate_shards(&self, issues: Issues<'_>) {
        if !SHARDS.contains(&self.shards) {
            let (least, most) = (SHARDS.start(), SHARDS.end());
            let what = format!("{} is out of range", self.shards);
            issues.push(Issue::new("shards", what, format!("use {least} to {most}")));
        }
        if self.cores.len() > usize::from(self.shards.max(1)) {
            let what = format!("more cores than shards, of which there are {}", self.shards);
            issues.push(Issue::new("cores", what, "name one for each shard, or none"));
        }
    }

    fn validate_listeners(&self, issues: Issues<'_>) {
        if self.listen.is_none() && self.ng.is_none() {
            let hint = "give `listen` for session controllers, or `ng` for Kamailio";
            issues.push(Issue::new("listen", "nobody can have a stream forwarded", hint));
        }
        if self.listen.is_none() && (self.tls.is_some() || self.key_file.is_some()) {
            let key = if self.tls.is_some() { "tls" } else { "key_file" };
            issues.push(Issue::new(key, "it is of no use without `listen`", "give `listen`"));
        }
        if self.key_file.as_ref().is_some_and(String::is_empty) {
            issues.push(Issue::new("key_file", "the path is empty", "write a file's name"));
        }
        let proves =
            self.key_file.is_some() || self.tls.as_ref().is_some_and(|it| it.verify_clients);
        if self.listen.is_some_and(|address| !address.ip().is_loopback()) && !proves {
            let what = "off the loopback whoever reaches it would lease all ports";
            let hint = "give `key_file`, or `tls` with `verify_clients`";
            issues.push(Issue::new("listen", what, hint));
        }
        if self.ng.is_some() && self.ng == self.listen {
            let what = "session controllers connect there already";
            issues.push(Issue::new("ng", what, "give it another port"));
        }
        if let Some((why, hint)) = self.capture.objection() {
            issues.push(Issue::new("capture", why, hint));
        }
    }

    fn validate_forwarder(&self, issues: Issues<'_>) {
        let it = &self.forwarder;
        let mut within = |key: &str, value: u32, (low, high): (u32, u32)| {
            if !(low..=high).contains(&value) {
                let what = format!("{value} is out of range");
                let hint = format!("use {low} to {high}");
                issues.push(Issue::new(format!("forwarder.{key}"), what, hint));
            }
        };
        within("workers", it.workers.into(), (1, WORKERS_MAX.into()));
        within("packets", it.packets, (*PACKETS.start(), *PACKETS.end()));
        let frames = (u32::from(*FRAME_OCTETS.start()), u32::from(*FRAME_OCTETS.end()));
        within("frame_octets", it.frame_octets.into(), frames);
        if !STREAMS_TRANSCODED.contains(&self.transcoder.streams_max) {
            let what = format!("{} is out of range", self.transcoder.streams_max);
            let (low, high) = (STREAMS_TRANSCODED.start(), STREAMS_TRANSCODED.end());
            let hint = format!("use {low} to {high}");
            issues.push(Issue::new("transcoder.streams_max", what, hint));
        }
        if it.key_file.as_ref().is_some_and(String::is_empty) {
            issues.push(Issue::new("forwarder.key_file", "the path is empty", "name a file"));
        }
    }

    fn validate_interfaces(&self, issues: Issues<'_>) {
        let mut places = BTreeMap::new();
        for (at, interface) in self.interface.iter().enumerate() {
            let path = format!("interface[{at}]");
            let port = interface.port.as_ref().unwrap_or(&interface.name);
            let key = if interface.port.is_some() { "port" } else { "name" };
            let ports = self.port.iter().map(|port| port.name.as_str());
            known(&format!("{path}.{key}"), "port", port, ports, issues);
            if interface.vlan.is_some_and(|vlan| !VLANS.contains(&vlan)) {
                let what = "VLANs are numbered 1 to 4094";
                issues.push(Issue::new(format!("{path}.vlan"), what, ""));
            }
            if let Some(other) = places.insert((port, interface.vlan), &interface.name) {
                let what = format!("`{other}` has these packets already");
                issues.push(Issue::new(format!("{path}.vlan"), what, "give it another VLAN"));
            }
            self.is_table(&format!("{path}.vrf"), interface.vrf.as_ref(), issues);
            for (n, text) in interface.addresses.iter().enumerate() {
                if prefix(text).is_none() {
                    let hint = "write `192.0.2.1/24` or `2001:db8::1/64`";
                    let path = format!("{path}.addresses[{n}]");
                    issues.push(Issue::new(path, format!("`{text}` is no prefix"), hint));
                }
            }
            validate_gateways(&path, interface, issues);
        }
    }

    fn is_table(&self, path: &str, vrf: Option<&String>, issues: Issues<'_>) {
        if let Some(name) = vrf {
            let tables = self.vrf.iter().map(|vrf| vrf.name.as_str());
            known(path, "routing table", name, tables, issues);
        }
    }

    fn validate_groups(&self, issues: Issues<'_>) {
        if self.group.is_empty() {
            let hint = "add [[msc.group]] with `name` and `addresses`";
            issues.push(Issue::new("name", "there is no address for media", hint));
        }
        let addresses: usize = self.group.iter().map(|group| group.addresses.len()).sum();
        if self.group.len() > GROUPS_MAX || addresses > ADDRESSES_MAX {
            let hint = format!("use {GROUPS_MAX} groups and {ADDRESSES_MAX} addresses at most");
            issues.push(Issue::new("group", "too many", hint));
        }
        let mut taken = BTreeMap::new();
        for (at, group) in self.group.iter().enumerate() {
            let path = format!("group[{at}]");
            self.is_table(&format!("{path}.vrf"), group.vrf.as_ref(), issues);
            if group.pairs().is_none() {
                let what = format!("`{}` has no pair of ports", group.ports);
                issues.push(Issue::new(format!("{path}.ports"), what, ports_meant(&group.ports)));
            }
            if group.addresses.is_empty() {
                let hint = "write `addresses = [\"192.0.2.1\"]`";
                issues.push(Issue::new(format!("{path}.addresses"), "there is none", hint));
            }
            for (n, address) in group.addresses.iter().enumerate() {
                let path = format!("{path}.addresses[{n}]");
                if let Some(other) = taken.insert((&group.vrf, address), &group.name) {
                    let what = format!("{address} is an address of `{other}` already");
                    issues.push(Issue::new(&*path, what, "give each address to one group"));
                }
                if self.interface_of(group, *address).is_none() {
                    let what = format!("{address} is in no subnet of an interface");
                    let hint = "add it, or its subnet, to `addresses` of an [[msc.interface]]";
                    issues.push(Issue::new(path, what, hint));
                }
            }
        }
    }

    /// The interface in whose subnet an address of a group is.
    pub(crate) fn interface_of(&self, group: &Group, address: IpAddr) -> Option<&Interface> {
        let of_table = self.interface.iter().filter(|it| it.vrf == group.vrf);
        let mut has = of_table.filter(|it| {
            it.addresses.iter().filter_map(|text| prefix(text)).any(|it| contains(it, address))
        });
        has.next()
    }

    fn validate_limits(&self, issues: Issues<'_>) {
        let it = &self.limits;
        let mut within = |key: &str, value: u32, (low, high): (u32, u32)| {
            if !(low..=high).contains(&value) {
                let what = format!("{value} is out of range");
                let hint = format!("use {low} to {high}");
                issues.push(Issue::new(format!("limits.{key}"), what, hint));
            }
        };
        within("session_controllers_max", it.session_controllers_max.into(), (1, 256));
        within("streams_max", it.streams_max, (1, 2_000_000));
        within("stream_octets_max", it.stream_octets_max, (1 << 20, 1 << 31));
        let pairs = (u32::from(*BLOCK_PAIRS.start()), u32::from(*BLOCK_PAIRS.end()));
        within("block_pairs", it.block_pairs.into(), pairs);
        if let Some(share) = it.pairs_max {
            within("pairs_max", share, (1, u32::MAX));
        }
        within("session_controller_away_s", it.session_controller_away_s, (5, 86_400));
        within("quarantine_s", it.quarantine_s, (1, 3_600));
        within("leased_percent", it.leased_percent.into(), (1, 100));
    }
}

/// A range that is meant by one without a pair: the other way round, if that has some.
fn ports_meant(text: &str) -> String {
    let turned = text.split_once('-').map(|(low, high)| format!("{}-{}", high.trim(), low.trim()));
    let has_pair = |text: &String| port_range(text).is_some_and(|(low, high)| low < high);
    let meant = turned.filter(has_pair).unwrap_or_else(|| "20000-59999".to_owned());
    format!("write `{meant}`")
}

fn validate_gateways(path: &str, interface: &Interface, issues: Issues<'_>) {
    for (n, gateway) in interface.gateways.iter().enumerate() {
        let path = format!("{path}.gateways[{n}]");
        let mut subnets = interface.addresses.iter().filter_map(|text| prefix(text));
        if !subnets.any(|it| contains(it, *gateway)) {
            let what = format!("{gateway} is in no subnet of this interface");
            let hint = "name a router next to it, in a subnet of its `addresses`";
            issues.push(Issue::new(&*path, what, hint));
        }
        let before = &interface.gateways[..n];
        if before.iter().any(|other| other.is_ipv4() == gateway.is_ipv4()) {
            let what = "there is a gateway of this family already";
            issues.push(Issue::new(path, what, "keep one of them"));
        }
    }
}
