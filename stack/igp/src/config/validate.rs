//! What the types alone cannot refuse.

use super::shared::{
    INTERFACES_MAX, Issues, MTU_MIN, lies_within, validate_keys, validate_repair, validate_routes,
};
use super::{Area, Interface, Kind, Known, Ospf, Source};
use config::Issue;
use dataplane::section::{known, prefix};
use std::collections::{BTreeMap, BTreeSet};

/// Costs of what is outside, and of default routes, are below (RFC 2328 §B: LSInfinity).
const METRIC_MAX: u32 = 0x00FF_FFFE;
impl Ospf {
    /// Pushes what the types alone cannot refuse; paths begin with `at`, that of the section.
    pub fn validate(&self, at: &str, interfaces: &[Known<'_>], issues: Issues<'_>) {
        self.validate_own(at, issues);
        for (n, it) in self.redistribute.iter().enumerate() {
            let path = format!("{at}.redistribute[{n}]");
            it.validate(&path, issues);
            if self.redistribute[..n].iter().any(|other| other.from == it.from) {
                let what = format!("`{}` stands here already", it.from.name());
                issues.push(Issue::new(format!("{path}.from"), what, "name it once"));
            }
        }
        let mut areas = BTreeSet::new();
        let mut names = BTreeMap::new();
        for (n, area) in self.area.iter().enumerate() {
            let path = format!("{at}.area[{n}]");
            if !areas.insert(area.id) {
                let what = format!("area {} stands here already", area.id);
                issues.push(Issue::new(format!("{path}.id"), what, "add its interfaces there"));
            }
            area.validate(&path, issues);
            for (n, it) in area.interface.iter().enumerate() {
                let path = format!("{path}.interface[{n}]");
                if let Some(other) = names.insert(&it.name, area.id) {
                    let what = format!("`{}` is in area {other} already", it.name);
                    issues.push(Issue::new(format!("{path}.name"), what, ""));
                }
                it.validate(&path, interfaces, issues);
            }
        }
        if names.len() > INTERFACES_MAX || areas.len() > INTERFACES_MAX {
            let what = format!("more than {INTERFACES_MAX} interfaces or areas");
            issues.push(Issue::new(format!("{at}.area"), what, ""));
        }
    }

    fn validate_own(&self, at: &str, issues: Issues<'_>) {
        if self.router_id.is_unspecified() {
            let hint = "use an address of this router";
            issues.push(Issue::new(format!("{at}.router_id"), "0.0.0.0 is no number", hint));
        }
        validate_routes(at, self.distance, self.paths, issues);
        validate_repair(at, self.repair, self.microloop_delay_ms, issues);
        if self.lsas_of_router_max == 0 {
            let path = format!("{at}.lsas_of_router_max");
            issues.push(Issue::new(path, "nobody could say anything", "use 1 or more"));
        }
        self.spf.validate(&format!("{at}.spf"), issues);
    }

    /// What works and is seldom meant.
    #[must_use]
    pub fn advice(&self, at: &str) -> Vec<Issue> {
        let mut found = Vec::new();
        let is_many = self.area.iter().filter(|it| !it.interface.is_empty()).count() > 1;
        if is_many && !self.area.iter().any(|it| it.id.is_unspecified()) {
            let what = "areas meet here, and none of them is the backbone: no routes pass between";
            let hint = "put an interface into area 0.0.0.0";
            found.push(Issue::new(format!("{at}.area"), what, hint));
        }
        if self.area.iter().all(|it| it.interface.is_empty()) {
            let what = "no area has an interface: nobody is spoken to";
            found.push(Issue::new(format!("{at}.area"), what, "add `interface`"));
        }
        found
    }
}

impl super::Redistribute {
    fn validate(&self, path: &str, issues: Issues<'_>) {
        if self.metric > METRIC_MAX {
            let hint = format!("use {METRIC_MAX} or less");
            let what = format!("{} is out of range", self.metric);
            issues.push(Issue::new(format!("{path}.metric"), what, hint));
        }
        if !(1..=2).contains(&self.metric_type) {
            let what = format!("there is no type {}", self.metric_type);
            issues.push(Issue::new(format!("{path}.metric_type"), what, "use 1 or 2"));
        }
        for (n, text) in self.within.iter().enumerate() {
            let is_sound = prefix(text).is_some_and(|(address, _)| address.is_ipv4());
            if !is_sound {
                let what = format!("`{text}` is no prefix of IPv4");
                let path = format!("{path}.within[{n}]");
                issues.push(Issue::new(path, what, "write `10.0.0.0/8`"));
            }
        }
        if self.from == Source::Default && !self.within.is_empty() {
            let what = "the default route is within nothing";
            issues.push(Issue::new(format!("{path}.within"), what, "remove it"));
        }
    }

    /// Whether a prefix is one that is told.
    pub(crate) fn takes(&self, to: isis::Prefix) -> bool {
        lies_within(&self.within, to)
    }
}

impl Area {
    fn validate(&self, path: &str, issues: Issues<'_>) {
        if self.id.is_unspecified() && self.kind != Kind::Normal {
            let what = "the backbone lets everything in";
            issues.push(Issue::new(format!("{path}.kind"), what, "use `normal`"));
        }
        if self.kind == Kind::Normal && self.default_cost.is_some() {
            let what = "a normal area is told of no default route";
            issues.push(Issue::new(format!("{path}.default_cost"), what, "remove it"));
        }
        if self.default_cost.is_some_and(|cost| cost > METRIC_MAX) {
            let hint = format!("use {METRIC_MAX} or less");
            issues.push(Issue::new(format!("{path}.default_cost"), "it is out of range", hint));
        }
    }
}

impl Interface {
    fn validate(&self, path: &str, interfaces: &[Known<'_>], issues: Issues<'_>) {
        let names = interfaces.iter().map(|it| it.name);
        known(&format!("{path}.name"), "interface", &self.name, names, issues);
        if let Some(it) = interfaces.iter().find(|it| it.name == self.name) {
            let at = format!("{path}.name");
            if !it.is_global {
                let what = format!("`{}` is not one of the global table", self.name);
                issues.push(Issue::new(at, what, "remove its `vrf`, bridge or cross-connect"));
            } else if it.address.is_none() {
                let what = format!("`{}` has no address of IPv4", self.name);
                issues.push(Issue::new(at, what, "add one to its `addresses`"));
            } else if it.mtu < MTU_MIN && !self.passive {
                let what = format!("packets of `{}` have {} octets at most", self.name, it.mtu);
                issues.push(Issue::new(at, what, format!("its `mtu` must be {MTU_MIN} or more")));
            }
        }
        if self.cost == 0 {
            issues.push(Issue::new(format!("{path}.cost"), "nothing costs 0", "use 1 or more"));
        }
        for (key, value) in [("hello_s", self.hello_s), ("retransmit_s", self.retransmit_s)] {
            if value == 0 {
                issues.push(Issue::new(format!("{path}.{key}"), "it is 0", "use 1 or more"));
            }
        }
        if self.dead_s <= u32::from(self.hello_s) || self.dead_s > 65_535 {
            let what = format!("{} s are no time in which a hello must come", self.dead_s);
            let hint = format!("use {} or so", u32::from(self.hello_s.max(1)) * 4);
            issues.push(Issue::new(format!("{path}.dead_s"), what, hint));
        }
        if self.transmit_delay_s == 0 || self.transmit_delay_s >= 3_600 {
            let at = format!("{path}.transmit_delay_s");
            issues.push(Issue::new(at, "LSAs age by 1 to 3599 s", "use 1"));
        }
        if self.passive && (self.key_file.is_some() || self.bfd.is_some()) {
            let what = "nothing is spoken there";
            let hint = "remove `passive`, or `key_file` and `bfd`";
            issues.push(Issue::new(format!("{path}.passive"), what, hint));
        }
        validate_keys(path, self.key_file.as_ref(), issues);
        if let Some(bfd) = &self.bfd {
            bfd.validate(&format!("{path}.bfd"), issues);
        }
    }
}
