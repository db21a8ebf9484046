//! What the types alone cannot refuse.

mod advertise;
mod class;
mod filter;

use super::labels::LABEL_MAX;
use super::{Pe, Tunnel, Via, prefix};
use crate::compile::GLOBAL;
use crate::hops::subnet_of;
use config::Issue;
use dataplane::section::{self, is_mac, is_name, known, unique};
use forwarder::WORKERS_MAX;
use nodes::program::Class;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// Labels pushed at once at most.
const LABELS_MAX: usize = nodes::program::LABELS_MAX;
/// VLAN numbers that can be used (IEEE 802.1Q §9.6).
const VLANS: core::ops::RangeInclusive<u16> = 1..=4_094;
/// Packets of a worker, least and most.
const PACKETS: core::ops::RangeInclusive<u32> = 1_024..=1 << 20;
/// Octets of the longest frame, least and most.
const FRAME_OCTETS: core::ops::RangeInclusive<u16> = 1_518..=10_000;

/// Octets of the longest packet into a bridge, where nothing else is said.
const BRIDGE_MTU: u16 = 1_500;

type Issues<'a> = &'a mut Vec<Issue>;

impl Pe {
    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        is_name("name", &self.name, issues);
        if self.shards != 1 {
            let what = "the control of a forwarder is one thread: it has one table to say";
            issues.push(Issue::new("shards", what, "leave it out; `workers` forward packets"));
        }
        self.validate_own(issues);
        self.validate_names(issues);
        section::validate(&self.port, self.frame_octets, issues);
        self.validate_interfaces(issues);
        self.validate_neighbours(issues);
        self.validate_routes(issues);
        self.validate_label_space(issues);
        self.validate_labels(issues);
        self.validate_members(issues);
        self.validate_filters(issues);
        self.validate_queues(issues);
        self.validate_markings(issues);
        self.validate_collector(issues);
        self.validate_stations(issues);
        if let Some(ospf) = &self.ospf {
            ospf.validate("ospf", &self.known_links(), issues);
        }
        if let Some(isis) = &self.isis {
            isis.validate("isis", &self.known_links(), issues);
        }
        if let Some(ldp) = &self.ldp {
            ldp.validate("ldp", &self.known_links(), &self.global_addresses(), issues);
        }
        if let Some(bgp) = &self.bgp {
            let mut own = Vec::new();
            bgp.validate(self, &mut own);
            issues.extend(own.into_iter().map(|it| it.under("bgp")));
        }
        self.validate_vpns(issues);
        self.validate_repairs(issues);
    }

    /// Tunnels of repairs are those of LDP.
    fn validate_repairs(&self, issues: Issues<'_>) {
        let ospf = self.ospf.as_ref().and_then(|it| it.repair).map(|it| ("ospf", it));
        let isis = self.isis.as_ref().and_then(|it| it.repair).map(|it| ("isis", it));
        for (key, repair) in ospf.into_iter().chain(isis) {
            if repair == igp::config::Repair::RemoteLfa && self.ldp.is_none() {
                let what = "`remote-lfa` goes by tunnels of LDP, which is not spoken";
                let hint = "add `[pe.ldp]`, or use `lfa`";
                issues.push(Issue::new(format!("{key}.repair"), what, hint));
            }
        }
    }

    /// Interfaces as OSPF asks for them.
    fn known_links(&self) -> Vec<igp::config::Known<'_>> {
        let known = self.interface.iter().map(|it| igp::config::Known {
            name: &it.name,
            address: self.address4(it),
            has_address: !it.addresses.is_empty(),
            has_port: self.port_of(it).is_some(),
            is_global: it.vrf.is_none() && !self.carries_frames(&it.name),
            mtu: self.mtu_of(it),
        });
        known.collect()
    }

    /// Addresses of the global table.
    pub(crate) fn global_addresses(&self) -> Vec<IpAddr> {
        self.addresses_of(None)
    }

    /// Addresses of the interfaces of a routing table; `None`: of the global one.
    pub(crate) fn addresses_of(&self, vrf: Option<&str>) -> Vec<IpAddr> {
        let routed = self.interface.iter().filter(|it| it.vrf.as_deref() == vrf);
        let routed = routed.filter(|it| vrf.is_some() || !self.carries_frames(&it.name));
        let all = routed.flat_map(|it| &it.addresses).filter_map(|text| prefix(text));
        all.map(|(address, _)| address).collect()
    }

    /// The first IPv4 address of an interface.
    pub(crate) fn address4(&self, it: &super::Interface) -> Option<(Ipv4Addr, u8)> {
        it.addresses.iter().filter_map(|text| prefix(text)).find_map(|(address, length)| {
            match address {
                IpAddr::V4(address) => Some((address, length)),
                IpAddr::V6(_) => None,
            }
        })
    }

    /// The port of an interface; the routed side of a bridge has none.
    pub(crate) fn port_of<'a>(&'a self, it: &'a super::Interface) -> Option<&'a str> {
        let port = it.port.as_deref().unwrap_or(&it.name);
        it.bridge.is_none().then_some(port)
    }

    /// Octets of the longest packet that leaves by an interface.
    pub(crate) fn mtu_of(&self, it: &super::Interface) -> u16 {
        let port = self.port_of(it);
        let port = self.port.iter().find(|known| Some(known.name.as_str()) == port);
        let most = port.map_or(BRIDGE_MTU, |port| port.mtu);
        it.mtu.filter(|mtu| *mtu != 0).map_or(most, |mtu| mtu.min(most))
    }

    fn validate_own(&self, issues: Issues<'_>) {
        if !(1..=WORKERS_MAX).contains(&self.workers) {
            let what = format!("{} is out of range", self.workers);
            issues.push(Issue::new("workers", what, format!("use 1 to {WORKERS_MAX}")));
        }
        if self.key_file.as_ref().is_some_and(String::is_empty) {
            issues.push(Issue::new("key_file", "the path is empty", "write a file's name"));
        }
        if !PACKETS.contains(&self.packets) {
            let hint = format!("use {} to {}", PACKETS.start(), PACKETS.end());
            issues.push(Issue::new("packets", format!("{} is out of range", self.packets), hint));
        }
        if !FRAME_OCTETS.contains(&self.frame_octets) {
            let hint = format!("use {} to {}", FRAME_OCTETS.start(), FRAME_OCTETS.end());
            let what = format!("{} is out of range", self.frame_octets);
            issues.push(Issue::new("frame_octets", what, hint));
        }
    }

    fn validate_names(&self, issues: Issues<'_>) {
        unique("port", self.port.iter().map(|it| &it.name), issues);
        unique("vrf", self.vrf.iter().map(|it| &it.name), issues);
        unique("interface", self.interface.iter().map(|it| &it.name), issues);
        unique("bridge", self.bridge.iter().map(|it| &it.name), issues);
        unique("cross_connect", self.cross_connect.iter().map(|it| &it.name), issues);
        unique("filter", self.filter.iter().map(|it| &it.name), issues);
        unique("marking", self.marking.iter().map(|it| &it.name), issues);
        unique("policer", self.policer.iter().map(|it| &it.name), issues);
        if let Some(at) = self.vrf.iter().position(|vrf| vrf.name == GLOBAL) {
            let what = "`global` is the table of those that name none";
            issues.push(Issue::new(format!("vrf[{at}].name"), what, "choose another name"));
        }
    }

    fn validate_interfaces(&self, issues: Issues<'_>) {
        let mut places = BTreeMap::new();
        for (at, interface) in self.interface.iter().enumerate() {
            let path = format!("interface[{at}]");
            if interface.bridge.is_some() {
                self.validate_routed_side(&path, at, interface, issues);
                self.validate_interface(&path, interface, issues);
                continue;
            }
            let port = interface.port.as_ref().unwrap_or(&interface.name);
            let key = if interface.port.is_some() { "port" } else { "name" };
            let ports = self.port.iter().map(|port| port.name.as_str());
            known(&format!("{path}.{key}"), "port", port, ports, issues);
            for (key, vlan) in [("vlan", interface.vlan), ("inner_vlan", interface.inner_vlan)] {
                if vlan.is_some_and(|vlan| !VLANS.contains(&vlan)) {
                    let what = "VLANs are numbered 1 to 4094";
                    issues.push(Issue::new(format!("{path}.{key}"), what, ""));
                }
            }
            if interface.inner_vlan.is_some() && interface.vlan.is_none() {
                let what = "an inner VLAN needs an outer one";
                issues.push(Issue::new(format!("{path}.inner_vlan"), what, "add `vlan`"));
            }
            let place = (port.as_str(), interface.vlan, interface.inner_vlan);
            if let Some(other) = places.insert(place, &interface.name) {
                let what = format!("`{other}` has these packets already");
                issues.push(Issue::new(format!("{path}.vlan"), what, ""));
            }
            self.validate_interface(&path, interface, issues);
        }
    }

    fn validate_interface(&self, path: &str, it: &super::Interface, issues: Issues<'_>) {
        for (n, text) in it.addresses.iter().enumerate() {
            let path = format!("{path}.addresses[{n}]");
            match text.parse::<IpAddr>() {
                Ok(bare) => {
                    let length = if bare.is_ipv4() { 24 } else { 64 };
                    let what = format!("`{text}` has no length");
                    issues.push(Issue::new(path, what, format!("write `{text}/{length}`")));
                }
                Err(_) => drop(is_prefix(&path, text, issues)),
            }
        }
        if let Some(vrf) = &it.vrf {
            let vrfs = self.vrf.iter().map(|vrf| vrf.name.as_str());
            known(&format!("{path}.vrf"), "routing table", vrf, vrfs, issues);
        }
        if let Some(text) = &it.mac {
            is_mac(&format!("{path}.mac"), text, issues);
        }
        for (key, names) in [("filter_in", &it.filter_in), ("filter_out", &it.filter_out)] {
            for (n, name) in names.iter().enumerate() {
                let filters = self.filter.iter().map(|filter| filter.name.as_str());
                known(&format!("{path}.{key}[{n}]"), "filter", name, filters, issues);
                let found = self.filter.iter().find(|filter| filter.name == *name);
                if found.is_some_and(|filter| filter.ethernet) && !self.carries_frames(&it.name) {
                    let what = "no frames of a bridge or a cross-connect pass here";
                    let hint = "use a filter of IPv4 or IPv6 packets";
                    issues.push(Issue::new(format!("{path}.{key}[{n}]"), what, hint));
                }
                let mut rules = found.into_iter().flat_map(|filter| &filter.rule);
                if key == "filter_out" && rules.any(|rule| rule.action == "redirect") {
                    let what = "packets that leave are not redirected any more";
                    let hint = "use the filter in `filter_in` of where they come in";
                    issues.push(Issue::new(format!("{path}.{key}[{n}]"), what, hint));
                }
            }
        }
        for (key, name) in [("policer_in", &it.policer_in), ("policer_out", &it.policer_out)] {
            if let Some(name) = name {
                self.is_policer(&format!("{path}.{key}"), name, issues);
            }
        }
        let of_classes = [
            ("class_policer_in", &it.class_policer_in),
            ("class_policer_out", &it.class_policer_out),
        ];
        for (key, list) in of_classes {
            for (n, one) in list.iter().enumerate() {
                let path = format!("{path}.{key}[{n}]");
                self.is_policer(&format!("{path}.policer"), &one.policer, issues);
                if one.class > 7 {
                    issues.push(Issue::new(format!("{path}.class"), "classes are 0 to 7", ""));
                }
                if list[..n].iter().any(|other| other.class == one.class) {
                    let what = "the class has a policer already";
                    issues.push(Issue::new(format!("{path}.class"), what, "name it once"));
                }
            }
        }
        self.validate_marks(path, it, issues);
        advertise::validate_advertise(path, it, issues);
    }

    /// Whether an interface is of a bridge or a cross-connect.
    pub(crate) fn carries_frames(&self, name: &str) -> bool {
        let is_it = |one: &String| one == name;
        self.bridge.iter().any(|bridge| bridge.interfaces.iter().any(is_it))
            || self
                .cross_connect
                .iter()
                .any(|it| it.interface == name || it.to.as_deref() == Some(name))
    }

    fn is_policer(&self, path: &str, name: &str, issues: Issues<'_>) {
        let policers = self.policer.iter().map(|policer| policer.name.as_str());
        known(path, "policer", name, policers, issues);
    }

    fn is_interface(&self, path: &str, name: &str, issues: Issues<'_>) {
        let interfaces = self.interface.iter().map(|it| it.name.as_str());
        known(path, "interface", name, interfaces, issues);
    }

    fn validate_neighbours(&self, issues: Issues<'_>) {
        for (at, neighbour) in self.neighbour.iter().enumerate() {
            let path = format!("neighbour[{at}]");
            self.is_interface(&format!("{path}.interface"), &neighbour.interface, issues);
            is_mac(&format!("{path}.mac"), &neighbour.mac, issues);
        }
    }

    fn validate_routes(&self, issues: Issues<'_>) {
        for (at, route) in self.route.iter().enumerate() {
            let path = format!("route[{at}]");
            let to = is_prefix(&format!("{path}.prefix"), &route.prefix, issues);
            if let Some(vrf) = &route.vrf {
                let vrfs = self.vrf.iter().map(|vrf| vrf.name.as_str());
                known(&format!("{path}.vrf"), "routing table", vrf, vrfs, issues);
            }
            if route.distance == 0 {
                let what = "only connected subnets have 0";
                issues.push(Issue::new(format!("{path}.distance"), what, "use 1 to 255"));
            }
            if route.via.is_empty() == route.discard.is_none() {
                let what = "a route has ways, or `discard`, not both";
                issues.push(Issue::new(format!("{path}.via"), what, ""));
            }
            let ways = route.via.iter().enumerate().map(|(n, via)| (format!("via[{n}]"), via));
            let backup = route.backup.iter().map(|via| ("backup".to_owned(), via));
            for (key, via) in ways.chain(backup) {
                let vrf = route.vrf.as_deref();
                self.validate_via(&format!("{path}.{key}"), vrf, to, via, issues);
            }
        }
    }

    fn validate_via(
        &self,
        path: &str,
        vrf: Option<&str>,
        to: Option<IpAddr>,
        via: &Via,
        issues: Issues<'_>,
    ) {
        match (&via.interface, via.gateway) {
            (Some(name), _) => self.is_interface(&format!("{path}.interface"), name, issues),
            (None, Some(gateway)) if subnet_of(self, vrf, gateway).is_none() => {
                let what = format!("{gateway} is in no subnet of an interface");
                let hint = "name the interface, or a gateway of one of its subnets";
                issues.push(Issue::new(format!("{path}.gateway"), what, hint));
            }
            (None, Some(_)) => {}
            (None, None) => {
                let what = "a way needs a gateway, an interface or both";
                issues.push(Issue::new(path, what, ""));
            }
        }
        // Behind labels anything may go; a bare packet goes to a neighbour of its own family.
        let is_other = |gateway: IpAddr| to.is_some_and(|to| to.is_ipv4() != gateway.is_ipv4());
        if via.labels.is_empty() && via.gateway.is_some_and(is_other) {
            let what = "the gateway is of the other family";
            issues.push(Issue::new(format!("{path}.gateway"), what, ""));
        }
        if via.gateway.is_none() && !via.labels.is_empty() {
            let what = "packets with labels go to a neighbour";
            issues.push(Issue::new(path, what, "add `gateway`"));
        }
        if via.labels.len() > LABELS_MAX {
            let hint = format!("use {LABELS_MAX} or fewer");
            issues.push(Issue::new(format!("{path}.labels"), "too many labels", hint));
        }
        if via.labels.iter().any(|label| *label > LABEL_MAX) {
            let what = format!("labels go to {LABEL_MAX}");
            issues.push(Issue::new(format!("{path}.labels"), what, ""));
        }
        if via.entropy && via.labels.is_empty() {
            let what = "an entropy label needs labels before it";
            issues.push(Issue::new(format!("{path}.entropy"), what, "add `labels`"));
        }
        if via.weight == 0 {
            issues.push(Issue::new(format!("{path}.weight"), "no share at all", "use 1 or more"));
        }
    }

    /// What becomes of packets with a label.
    fn validate_labels(&self, issues: Issues<'_>) {
        for (at, it) in self.label.iter().enumerate() {
            let path = format!("label[{at}]");
            let meanings = [!it.via.is_empty(), it.vrf.is_some(), it.pop];
            if meanings.iter().filter(|is| **is).count() != 1 {
                let what = "a label has one of `via`, `vrf` and `pop`";
                issues.push(Issue::new(format!("{path}.label"), what, ""));
            }
            let ways = it.via.iter().enumerate().map(|(n, via)| (format!("{path}.via[{n}]"), via));
            let backup = it.backup.iter().map(|via| (format!("{path}.backup"), via));
            for (path, via) in ways.chain(backup) {
                self.validate_via(&path, None, None, via, issues);
                if via.tunnel != Tunnel::Pipe {
                    let what = "a label that stands in the place of another one keeps its model";
                    issues.push(Issue::new(path.clone() + ".tunnel", what, "set the label's"));
                }
                if via.entropy {
                    let what = "the edge where the packet came in has put its entropy label";
                    issues.push(Issue::new(path + ".entropy", what, "remove it"));
                }
            }
            if it.backup.is_some() && it.via.is_empty() {
                let what = "there is no way that this one stands in for";
                issues.push(Issue::new(format!("{path}.backup"), what, "add `via`"));
            }
            if let Some(vrf) = &it.vrf {
                let vrfs = self.vrf.iter().map(|vrf| vrf.name.as_str()).chain([GLOBAL]);
                known(&format!("{path}.vrf"), "routing table", vrf, vrfs, issues);
            }
        }
    }

    /// Pseudowires: where each stands, and what it belongs to.
    pub(super) fn pseudowires(&self) -> Vec<(String, &str, &super::Pseudowire)> {
        let crossed = self.cross_connect.iter().enumerate().filter_map(|(at, it)| {
            let path = format!("cross_connect[{at}].pseudowire");
            Some((path, &*it.name, it.pseudowire.as_ref()?))
        });
        let bridged = self.bridge.iter().enumerate().flat_map(|(at, bridge)| {
            let wires = bridge.pseudowire.iter().enumerate();
            wires.map(move |(n, wire)| {
                (format!("bridge[{at}].pseudowire[{n}]"), &*bridge.name, wire)
            })
        });
        crossed.chain(bridged).collect()
    }

    /// Interfaces of bridges and cross-connects: each of one only, and of no routing table.
    fn validate_members(&self, issues: Issues<'_>) {
        let mut members: Vec<(String, &str)> = Vec::new();
        for (at, bridge) in self.bridge.iter().enumerate() {
            let of_bridge = bridge.interfaces.iter().enumerate();
            members
                .extend(of_bridge.map(|(n, it)| (format!("bridge[{at}].interfaces[{n}]"), &**it)));
        }
        for (at, it) in self.cross_connect.iter().enumerate() {
            members.push((format!("cross_connect[{at}].interface"), &it.interface));
            if let Some(to) = &it.to {
                members.push((format!("cross_connect[{at}].to"), to));
            }
            if it.to.is_some() == it.pseudowire.is_some() {
                let what = "a cross-connect has another interface, or a pseudowire";
                issues.push(Issue::new(format!("cross_connect[{at}].to"), what, ""));
            }
        }
        let mut taken = BTreeMap::new();
        for (path, name) in members {
            self.is_interface(&path, name, issues);
            let is_routed = |it: &&super::Interface| it.name == name && !it.addresses.is_empty();
            if self.interface.iter().any(|it| is_routed(&it)) {
                let what = format!("`{name}` has addresses: it routes its packets");
                issues.push(Issue::new(&path, what, "remove its addresses"));
            }
            if self.interface.iter().any(|it| it.name == name && it.bridge.is_some()) {
                let what = format!("`{name}` is the routed side of a bridge domain");
                issues.push(Issue::new(&path, what, "name an interface of a port"));
            }
            if let Some(other) = taken.insert(name, path.clone()) {
                issues.push(Issue::new(path, format!("`{name}` belongs to `{other}`"), ""));
            }
        }
        for (path, _, wire) in self.pseudowires() {
            let backup = wire.backup.iter().map(|via| (format!("{path}.backup"), via));
            for (path, via) in [(format!("{path}.via"), &wire.via)].into_iter().chain(backup) {
                self.validate_wire(&path, wire.flow_label, via, issues);
            }
        }
    }

    fn validate_wire(&self, path: &str, flow_label: bool, via: &Via, issues: Issues<'_>) {
        self.validate_via(path, None, None, via, issues);
        if via.labels.is_empty() {
            let what = "the far end knows its frames by a label";
            issues.push(Issue::new(path, what, "add `labels`"));
        }
        if via.tunnel == Tunnel::Uniform {
            let what = "a frame has no time to live that its labels could have";
            issues.push(Issue::new(format!("{path}.tunnel"), what, "use `pipe`"));
        }
        if via.entropy && flow_label {
            let what = "an entropy label and a flow label do the same";
            issues.push(Issue::new(format!("{path}.entropy"), what, "use one of them"));
        }
    }

    fn validate_queues(&self, issues: Issues<'_>) {
        for (at, scheduler) in self.scheduler.iter().enumerate() {
            let path = format!("scheduler[{at}]");
            let ports = self.port.iter().map(|port| port.name.as_str());
            known(&format!("{path}.port"), "port", &scheduler.port, ports, issues);
            for (n, queue) in scheduler.queue.iter().enumerate() {
                let path = format!("{path}.queue[{n}]");
                let before = scheduler.queue[..n].iter().map(|queue| queue.name.as_str());
                if let Some(parent) = &queue.parent {
                    known(&format!("{path}.parent"), "node", parent, before.clone(), issues);
                }
                if before.into_iter().any(|name| name == queue.name) {
                    issues.push(Issue::new(format!("{path}.name"), "the name is taken", ""));
                }
                if let Some(interface) = &queue.interface {
                    self.is_interface(&format!("{path}.interface"), interface, issues);
                }
                if queue.class.is_some_and(|class| class > 7) {
                    issues.push(Issue::new(format!("{path}.class"), "classes are 0 to 7", ""));
                }
                class::validate_wred(&path, queue, &scheduler.queue, issues);
                if queue.weight == 0 {
                    let what = "no share at all";
                    issues.push(Issue::new(format!("{path}.weight"), what, "use 1 or more"));
                }
            }
        }
        for (at, protection) in self.protection.iter().enumerate() {
            let classes = Class::ALL.iter().map(|(name, _)| *name);
            let path = format!("protection[{at}].class");
            known(&path, "class", &protection.class, classes, issues);
        }
    }
}

fn is_prefix(path: &str, text: &str, issues: Issues<'_>) -> Option<IpAddr> {
    let read = prefix(text);
    if read.is_none() {
        let hint = "write `10.1.0.0/16` or `2001:db8::/32`";
        issues.push(Issue::new(path, format!("`{text}` is no prefix"), hint));
    }
    read.map(|(address, _)| address)
}
