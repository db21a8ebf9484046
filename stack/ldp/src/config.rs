//! What a function's section says of LDP: its keys and their help (the doc comments).

use config::{Issue, interrupted};
use dataplane::section::{known, network, prefix};
use igp::config::Known;
use ldp::{Control, Prefix};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// Labels that mean something by themselves are below (RFC 3032 §2.1).
const LABEL_MIN: u32 = 16;
/// The greatest one.
const LABEL_MAX: u32 = 0x000F_FFFF;
/// Interfaces at most.
const INTERFACES_MAX: usize = 1_024;

/// LDP (RFC 5036) for IPv4 in the global routing table: labels for what is learnt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ldp {
    /// The router's number, unique in the domain: `192.0.2.1`. Another one ends all sessions.
    pub router_id: Ipv4Addr,
    /// Where sessions end: an address of an interface of the global table that neighbours reach.
    /// Absent: `router_id` is one. Another one ends all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Ipv4Addr>,
    /// When labels are told: `independent`, as soon as there is a route, or `ordered`, as soon as
    /// the next router has told its own.
    #[serde(default)]
    pub control: Order,
    /// Seconds for which hellos hold, 3 to 65534.
    #[serde(default = "hold_s")]
    pub hold_s: u16,
    /// Seconds of silence after which a session is over, 3 or more.
    #[serde(default = "keepalive_s")]
    pub keepalive_s: u16,
    /// The first and the last label that are given. A control that is started anew gives those of
    /// the other half, so that no packet on its way is misled.
    #[serde(default = "labels")]
    pub labels: [u32; 2],
    /// Only prefixes within one of these have a label: `10.255.0.0/16`; empty: all that are learnt,
    /// and own subnets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// OSPF and IS-IS say that a link costs the most until the session on it has told its labels
    /// (RFC 5443).
    #[serde(default)]
    pub igp_sync: bool,
    /// Hellos and sessions come with a hop limit of 255, or are not taken, where neighbours say so
    /// too (RFC 6720).
    #[serde(default = "yes")]
    pub gtsm: bool,
    /// Interfaces. Packets with labels are taken there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interface: Vec<Interface>,
}

const fn hold_s() -> u16 {
    15
}

const fn keepalive_s() -> u16 {
    180
}

const fn labels() -> [u32; 2] {
    [100_000, 199_999]
}

const fn yes() -> bool {
    true
}

/// When labels are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As soon as there is a route.
    #[default]
    Independent,
    /// As soon as the next router has told its own.
    Ordered,
}

impl Order {
    /// As the machine has it.
    pub(crate) const fn control(self) -> Control {
        match self {
            Self::Independent => Control::Independent,
            Self::Ordered => Control::Ordered,
        }
    }
}

/// An interface on which neighbours are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
}

impl Ldp {
    /// Where its sessions end.
    #[must_use]
    pub fn transport(&self) -> Ipv4Addr {
        self.transport.unwrap_or(self.router_id)
    }

    /// Whether it speaks by an interface.
    #[must_use]
    pub fn speaks(&self, name: &str) -> bool {
        self.interface.iter().any(|it| it.name == name)
    }

    /// Whether a prefix has a label.
    #[must_use]
    pub fn takes(&self, to: Prefix) -> bool {
        let has = |text: &String| {
            prefix(text).map(network).is_some_and(|(address, length)| {
                let outer = Prefix::new(address, length);
                length <= to.length && Prefix::new(to.address, length) == outer
            })
        };
        to.address.is_ipv4() && (self.within.is_empty() || self.within.iter().any(has))
    }

    /// Pushes what the types alone cannot refuse; paths begin with `at`, that of the section, whose
    /// global table has these addresses.
    pub fn validate(
        &self,
        at: &str,
        interfaces: &[Known<'_>],
        addresses: &[IpAddr],
        issues: &mut Vec<Issue>,
    ) {
        if self.router_id.is_unspecified() {
            let hint = "use an address of this router";
            issues.push(Issue::new(format!("{at}.router_id"), "0.0.0.0 is no number", hint));
        }
        let transport = self.transport();
        if !addresses.contains(&transport.into()) {
            let key = if self.transport.is_some() { "transport" } else { "router_id" };
            let what = format!("{transport} is no address of an interface of the global table");
            let hint = "name one in `transport`: sessions end there";
            issues.push(Issue::new(format!("{at}.{key}"), what, hint));
        }
        if !(3..u16::MAX).contains(&self.hold_s) {
            let what = "it is out of range";
            issues.push(Issue::new(format!("{at}.hold_s"), what, "use 15"));
        }
        if self.keepalive_s < 3 {
            let what = "it is out of range";
            issues.push(Issue::new(format!("{at}.keepalive_s"), what, "use 180"));
        }
        let [first, last] = self.labels;
        if first < LABEL_MIN || last > LABEL_MAX || last.saturating_sub(first) < 2 {
            let what = format!("{first} to {last} are no labels to give");
            let hint = format!("use {LABEL_MIN} to {LABEL_MAX}");
            issues.push(Issue::new(format!("{at}.labels"), what, hint));
        }
        for (n, text) in self.within.iter().enumerate() {
            if !prefix(text).is_some_and(|(address, _)| address.is_ipv4()) {
                let what = format!("`{text}` is no prefix of IPv4");
                let path = format!("{at}.within[{n}]");
                issues.push(Issue::new(path, what, "write `10.0.0.0/8`"));
            }
        }
        self.validate_interfaces(at, interfaces, issues);
    }

    fn validate_interfaces(&self, at: &str, interfaces: &[Known<'_>], issues: &mut Vec<Issue>) {
        let mut seen = BTreeSet::new();
        for (n, Interface { name }) in self.interface.iter().enumerate() {
            let path = format!("{at}.interface[{n}].name");
            let names = interfaces.iter().map(|it| it.name);
            known(&path, "interface", name, names, issues);
            if !seen.insert(name) {
                issues.push(Issue::new(path.clone(), format!("`{name}` stands here already"), ""));
            }
            let Some(it) = interfaces.iter().find(|it| it.name == name) else { continue };
            if !it.is_global {
                let what = format!("`{name}` is not one of the global table");
                issues.push(Issue::new(path, what, "remove its `vrf`, bridge or cross-connect"));
            } else if it.address.is_none() {
                let what = format!("`{name}` has no address of IPv4");
                issues.push(Issue::new(path, what, "add one to its `addresses`"));
            }
        }
        if seen.len() > INTERFACES_MAX {
            let what = format!("more than {INTERFACES_MAX} interfaces");
            issues.push(Issue::new(format!("{at}.interface"), what, ""));
        }
    }

    /// What neighbours lose when `next` takes the place of this section: a sentence each.
    #[must_use]
    pub fn interruptions(&self, next: Option<&Self>) -> Vec<String> {
        let is_same = next.is_some_and(|it| self.is_met_as(it));
        if next.is_some() && !is_same {
            return vec!["all sessions of LDP begin anew, and their labels".to_owned()];
        }
        let gone = self.interface.iter().filter(|it| !next.is_some_and(|to| to.speaks(&it.name)));
        let gone: Vec<String> = gone.map(|it| it.name.clone()).collect();
        interrupted("interface", "interfaces", "speak LDP no more", &gone).into_iter().collect()
    }

    /// Whether sessions outlive another section.
    #[must_use]
    pub(crate) fn is_met_as(&self, other: &Self) -> bool {
        let met = |it: &Self| {
            let times = (it.hold_s, it.keepalive_s);
            (it.router_id, it.transport(), it.control, times, it.labels, it.gtsm)
        };
        met(self) == met(other)
    }
}
