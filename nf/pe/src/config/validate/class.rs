//! Marks, classes, early drops, samples and stations: what cannot be.

use super::{Issues, known};
use crate::compile::source;
use crate::config::{Bridge, Drops, Interface, Marking, Pe, Queue};
use config::Issue;
use std::collections::BTreeMap;

/// Of a thousand.
const PERMILLE_MAX: u16 = 1_000;
/// Octets of a sample at most, as the plane has it.
const SAMPLE_OCTETS_MAX: u16 = 1_024;

impl Pe {
    pub(super) fn validate_markings(&self, issues: Issues<'_>) {
        for (at, marking) in self.marking.iter().enumerate() {
            validate_marking(&format!("marking[{at}]"), marking, issues);
        }
    }

    pub(super) fn validate_marks(&self, path: &str, it: &Interface, issues: Issues<'_>) {
        if let Some(name) = &it.marking {
            let markings = self.marking.iter().map(|marking| marking.name.as_str());
            known(&format!("{path}.marking"), "marking", name, markings, issues);
        }
        if it.sample_one_in == Some(0) {
            let what = "one packet of none";
            issues.push(Issue::new(format!("{path}.sample_one_in"), what, "use 1 or more"));
        }
        if it.sample_one_in.is_some() && self.collector.is_none() {
            let what = "nobody is told of samples";
            issues.push(Issue::new(format!("{path}.sample_one_in"), what, "add `collector`"));
        }
        if it.sample_octets > SAMPLE_OCTETS_MAX {
            let hint = format!("use {SAMPLE_OCTETS_MAX} or fewer");
            issues.push(Issue::new(format!("{path}.sample_octets"), "too long", hint));
        }
        let bridged = self.bridge.iter().any(|bridge| bridge.interfaces.contains(&it.name));
        for (key, said) in [("split_horizon", it.split_horizon > 0), ("macs_max", it.macs_max > 0)]
        {
            if said && !bridged {
                let what = "the interface is in no bridge domain";
                let hint = "name it in the `interfaces` of one";
                issues.push(Issue::new(format!("{path}.{key}"), what, hint));
            }
        }
    }

    /// The routed side of a bridge domain has neither port nor VLAN, and is the only one.
    pub(super) fn validate_routed_side(
        &self,
        path: &str,
        at: usize,
        it: &Interface,
        issues: Issues<'_>,
    ) {
        let Some(bridge) = &it.bridge else { return };
        let bridges = self.bridge.iter().map(|bridge| bridge.name.as_str());
        known(&format!("{path}.bridge"), "bridge domain", bridge, bridges, issues);
        let is_twin = |other: &&Interface| other.bridge.as_ref() == Some(bridge);
        if let Some(other) = self.interface[..at].iter().find(is_twin) {
            let what = format!("`{}` is the routed side of it already", other.name);
            issues.push(Issue::new(format!("{path}.bridge"), what, ""));
        }
        let ported = [("port", it.port.is_some()), ("vlan", it.vlan.is_some()), ("mpls", it.mpls)];
        for (key, _) in ported.into_iter().filter(|(_, said)| *said) {
            let what = "the routed side of a bridge domain has none";
            issues.push(Issue::new(format!("{path}.{key}"), what, "remove it"));
        }
        if it.mac.is_none() {
            let what = "there is no device that it could take a MAC address from";
            let hint = "add `mac`, one of your own: `02:…`";
            issues.push(Issue::new(path, what, hint));
        }
    }

    pub(super) fn validate_collector(&self, issues: Issues<'_>) {
        let Some(collector) = &self.collector else { return };
        if let Some(vrf) = &collector.vrf {
            let vrfs = self.vrf.iter().map(|vrf| vrf.name.as_str());
            known("collector.vrf", "routing table", vrf, vrfs, issues);
        }
        if collector.address.is_multicast() || collector.address.is_unspecified() {
            let what = format!("{} is nobody's address", collector.address);
            issues.push(Issue::new("collector.address", what, ""));
        }
        if collector.port == 0 {
            issues.push(Issue::new("collector.port", "0 is no port", "use 1 to 65535"));
        }
        let family = collector.address.is_ipv4();
        if collector.source.is_some_and(|source| source.is_ipv4() != family) {
            let what = "the address is of the other family";
            issues.push(Issue::new("collector.source", what, "use one of the collector's"));
        } else if source(self, collector).is_none() {
            let what = "no interface of that table has such an address";
            issues.push(Issue::new("collector.source", what, "name an own address"));
        }
    }

    /// Stations are at a member of their domain, each at one.
    pub(super) fn validate_stations(&self, issues: Issues<'_>) {
        for (at, bridge) in self.bridge.iter().enumerate() {
            let mut taken = BTreeMap::new();
            for (n, station) in bridge.station.iter().enumerate() {
                let path = format!("bridge[{at}].station[{n}]");
                super::is_mac(&format!("{path}.mac"), &station.mac, issues);
                validate_station(&path, bridge, station, issues);
                if let Some(other) = taken.insert(station.mac.to_lowercase(), n) {
                    let what = format!("the address is that of station[{other}] already");
                    issues.push(Issue::new(format!("{path}.mac"), what, ""));
                }
            }
        }
    }
}

fn validate_station(
    path: &str,
    bridge: &Bridge,
    station: &crate::config::Station,
    issues: Issues<'_>,
) {
    match (&station.interface, station.label_in) {
        (Some(name), None) => {
            let members = bridge.interfaces.iter().map(String::as_str);
            known(&format!("{path}.interface"), "member", name, members, issues);
        }
        (None, Some(label)) => {
            if !bridge.pseudowire.iter().any(|wire| wire.label_in == label) {
                let what = format!("no pseudowire of this domain comes with label {label}");
                issues.push(Issue::new(format!("{path}.label_in"), what, ""));
            }
        }
        _ => {
            let what = "a station is behind an interface or behind a pseudowire";
            issues.push(Issue::new(path, what, "use one of `interface` and `label_in`"));
        }
    }
}

fn validate_marking(path: &str, it: &Marking, issues: Issues<'_>) {
    let mut each = |key: &str, rows: Vec<(&[u8], u8)>, (of, to): (u8, u8)| {
        for (n, (list, value)) in rows.into_iter().enumerate() {
            let path = format!("{path}.{key}[{n}]");
            if list.is_empty() {
                issues.push(Issue::new(&path, "a row of nothing", "name one or more"));
            }
            if list.iter().any(|one| *one >= of) {
                let hint = format!("use 0 to {}", of - 1);
                issues.push(Issue::new(&path, "its list is out of range", hint));
            }
            if value >= to {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use 0 to {}", to - 1)));
            }
        }
    };
    each("dscp_in", it.dscp_in.iter().map(|row| (&*row.dscp, row.class)).collect(), (64, 8));
    let rows = it.priority_in.iter().map(|row| (&*row.priority, row.class));
    each("priority_in", rows.collect(), (8, 8));
    each("dscp_out", it.dscp_out.iter().map(|row| (&*row.class, row.dscp)).collect(), (8, 64));
    let rows = it.priority_out.iter().map(|row| (&*row.class, row.priority));
    each("priority_out", rows.collect(), (8, 8));
}

pub(super) fn validate_wred(path: &str, queue: &Queue, all: &[Queue], issues: Issues<'_>) {
    let Some(wred) = &queue.wred else { return };
    if all.iter().any(|other| other.parent.as_ref() == Some(&queue.name)) {
        let what = "packets wait in the queues below";
        issues.push(Issue::new(format!("{path}.wred"), what, "say it of those"));
    }
    let colours = [("green", Some(wred.green)), ("yellow", wred.yellow), ("red", wred.red)];
    for (colour, drops) in colours {
        let Some(Drops { min_octets, max_octets, permille }) = drops else { continue };
        if min_octets > max_octets {
            let hint = "use min_octets up to max_octets";
            let what = "all are dropped before the first is";
            issues.push(Issue::new(format!("{path}.wred.{colour}"), what, hint));
        }
        if permille > PERMILLE_MAX {
            let what = "more than all";
            let hint = format!("use {PERMILLE_MAX} or fewer");
            issues.push(Issue::new(format!("{path}.wred.{colour}.permille"), what, hint));
        }
    }
}
