//! The label space of a router: who gives which labels, and by which interfaces which are taken.
//!
//! ```text
//!   16 ─ labels ──────────────────────────────────────────── 1,048,575
//!        │ single ones of the section │ LDP, two halves │ VPNs │
//! ```

use super::{Interface, Pe};
use config::Issue;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Labels below mean something by themselves (RFC 3032 §2.1), and the greatest one.
pub(super) const LABEL_MIN: u32 = 16;
pub(super) const LABEL_MAX: u32 = 0x000F_FFFF;

/// Who gives labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Giver {
    /// A routing table.
    Table,
    /// `[[pe.label]]`.
    Static,
    /// A pseudowire.
    Pseudowire,
    /// LDP, as prefixes come.
    Ldp,
    /// Routing tables with `rd`, as they are there.
    Vpn,
}

impl Giver {
    /// Whether it has labels of its own to give, and not one.
    pub(crate) const fn has_range(self) -> bool {
        matches!(self, Self::Ldp | Self::Vpn)
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Static => "static",
            Self::Pseudowire => "pseudowire",
            Self::Ldp => "ldp",
            Self::Vpn => "vpn",
        }
    }
}

/// Labels that somebody gives, from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) giver: Giver,
    /// The key that says so.
    pub(crate) at: String,
    /// For whom, where it is for one.
    pub(crate) name: Option<String>,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Pe {
    /// Who gives labels: single ones first.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let one = |giver, at: String, name: Option<&str>, label: u32| Claim {
            giver,
            at,
            name: name.map(str::to_owned),
            first: label,
            last: label,
        };
        let tables = self.vrf.iter().enumerate().filter_map(|(at, it)| {
            Some(one(Giver::Table, format!("vrf[{at}].label"), Some(&it.name), it.label?))
        });
        let fixed = self.label.iter().enumerate();
        let fixed =
            fixed.map(|(at, it)| one(Giver::Static, format!("label[{at}].label"), None, it.label));
        let wires = self.pseudowires().into_iter().map(|(at, name, it)| {
            one(Giver::Pseudowire, format!("{at}.label_in"), Some(name), it.label_in)
        });
        let range = |giver, at: &str, [first, last]: [u32; 2]| {
            let (at, name) = (at.to_owned(), None);
            Claim { giver, at, name, first, last }
        };
        let ldp = self.ldp.iter().map(|it| range(Giver::Ldp, "ldp.labels", it.labels));
        let vpn = self.bgp.iter().map(|it| range(Giver::Vpn, "bgp.vpn_labels", it.vpn_labels));
        tables.chain(fixed).chain(wires).chain(ldp).chain(vpn).collect()
    }

    /// The labels that all of these are of.
    pub(crate) fn label_space(&self) -> [u32; 2] {
        self.labels.unwrap_or([LABEL_MIN, LABEL_MAX])
    }

    /// Every label has one giver, and is of this router's.
    pub(super) fn validate_label_space(&self, issues: &mut Vec<Issue>) {
        let [least, most] = self.label_space();
        if least < LABEL_MIN || most > LABEL_MAX || most < least {
            let what = format!("{least} to {most} are no labels to give");
            let hint = format!("use {LABEL_MIN} to {LABEL_MAX}");
            return issues.push(Issue::new("labels", what, hint));
        }
        // By their first label: no two of them lie over each other.
        let mut taken: BTreeMap<u32, Claim> = BTreeMap::new();
        for it in self.claims().into_iter().filter(|it| it.first <= it.last) {
            let is_one = it.first == it.last;
            if it.first < least || it.last > most {
                let what = match is_one {
                    true => format!("{} is out of range", it.first),
                    false => format!("{} to {} is out of range", it.first, it.last),
                };
                issues.push(Issue::new(&it.at, what, format!("use {least} to {most}")));
            }
            let before = taken.range(..=it.last).next_back().map(|(_, other)| other);
            if let Some(other) = before.filter(|other| other.last >= it.first) {
                let label = it.first.max(other.first);
                let what = format!("label {label} is that of `{}` already", other.at);
                let hint = if is_one { "" } else { "give others" };
                issues.push(Issue::new(&it.at, what, hint));
                continue;
            }
            taken.insert(it.first, it);
        }
    }

    /// Whether packets with labels come by an interface since LDP speaks there.
    pub(crate) fn speaks_ldp(&self, it: &Interface) -> bool {
        self.ldp.as_ref().is_some_and(|ldp| ldp.speaks(&it.name))
    }

    /// Interfaces by which others than routers of the core may send labels of all tables.
    pub(super) fn advise_labels(&self, found: &mut Vec<Issue>) {
        for (n, it) in self.interface.iter().enumerate() {
            if !(it.mpls || self.speaks_ldp(it)) || !it.is_core() {
                continue;
            }
            let hint = "set `core = false`: then none of these are taken";
            if let Some(vrf) = &it.vrf {
                let what = format!(
                    "who is there reaches all routing tables and pseudowires by their labels, not \
                     `{vrf}` alone"
                );
                found.push(Issue::new(format!("interface[{n}].core"), what, hint));
                continue;
            }
            let subnets = it.addresses.iter().filter_map(|text| super::prefix(text));
            let subnets: Vec<_> = subnets.map(super::network).collect();
            let is_there = |address: IpAddr| {
                let of = |(network, length): &(IpAddr, u8)| {
                    network.is_ipv4() == address.is_ipv4()
                        && super::network((address, *length)) == (*network, *length)
                };
                subnets.iter().any(of)
            };
            let mut others = self.bgp.iter().flat_map(super::Bgp::outsiders);
            if let Some((peer, _)) = others.find(|(_, it)| is_there(*it)) {
                let what = format!(
                    "peer `{peer}`, which is of another AS, reaches all routing tables and \
                     pseudowires by their labels"
                );
                found.push(Issue::new(format!("interface[{n}].mpls"), what, hint));
            }
        }
    }

    /// Routes of VPNs have labels, and what the far edge sends to them comes by no interface.
    pub(super) fn advise_vpns(&self, found: &mut Vec<Issue>) {
        let is_taken = |it: &Interface| (it.mpls || self.speaks_ldp(it)) && it.is_core();
        let has_vpn = self.vrf.iter().any(|it| it.rd.is_some());
        if !has_vpn || self.interface.iter().any(is_taken) {
            return;
        }
        let Some((at, peer)) = self.bgp.iter().flat_map(super::Bgp::tell_vpns).next() else {
            return;
        };
        let leads_there = |it: &Interface| {
            let subnets = it.addresses.iter().filter_map(|text| super::prefix(text));
            it.vrf.is_none()
                && subnets.map(super::network).any(|(network, length)| {
                    peer.is_some_and(|peer| super::network((peer, length)) == (network, length))
                })
        };
        let near =
            self.interface.iter().position(leads_there).map(|n| format!("interface[{n}].mpls"));
        let what = "packets of VPNs come with labels, and no interface of the core takes any: \
                    what other edges send to the routing tables with `rd` is dropped";
        let hint = "set `mpls = true` where the other edges are, or add those interfaces to \
                    `[pe.ldp]`";
        let at = near.unwrap_or_else(|| format!("bgp.{at}.families"));
        found.push(Issue::new(at, what, hint));
    }
}

impl Interface {
    /// Whether labels of services are taken there.
    pub(crate) fn is_core(&self) -> bool {
        self.core.unwrap_or(self.vrf.is_none())
    }
}
