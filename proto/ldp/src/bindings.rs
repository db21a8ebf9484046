//! Bindings: what each prefix's label is, and who has to know.

use crate::codec::{LdpId, Prefix};
use crate::settings::{LabelHop, NextHop};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A prefix that there is a route to.
#[derive(Debug, Default)]
pub(crate) struct Binding {
    /// Ways out; none: it is ours.
    pub(crate) hops: Vec<NextHop>,
    /// Our label, once it may be told.
    pub(crate) label: Option<u32>,
    /// What was said last to do with its packets.
    pub(crate) forwarded: Option<(u32, Vec<LabelHop>)>,
}

#[derive(Debug, Default)]
pub(crate) struct Bindings {
    pub(crate) prefixes: BTreeMap<Prefix, Binding>,
    /// How many peers have a label, or shall give it back; those of labels that nothing is bound to
    /// are free once nobody has them.
    users: BTreeMap<u32, usize>,
    /// Prefixes by the gateways of their ways out.
    by_gateway: BTreeMap<IpAddr, BTreeSet<Prefix>>,
    /// Peers that say an address, in the order in which they said it first.
    speakers: BTreeMap<IpAddr, Vec<LdpId>>,
    /// Labels that peers have told, all together.
    pub(crate) remote: usize,
    /// Prefixes that have no label, since all were given.
    pub(crate) lacking: BTreeSet<Prefix>,
    /// Gateways that are another peer's, or nobody's, since they were looked at.
    pub(crate) changed: BTreeSet<IpAddr>,
}

impl Bindings {
    /// The ways out of a prefix are others.
    pub(crate) fn lead(&mut self, prefix: Prefix, hops: Vec<NextHop>) {
        self.lead_nowhere(prefix);
        for hop in &hops {
            self.by_gateway.entry(hop.gateway).or_default().insert(prefix);
        }
        self.prefixes.entry(prefix).or_default().hops = hops;
    }

    /// It has none any more.
    pub(crate) fn lead_nowhere(&mut self, prefix: Prefix) {
        let binding = self.prefixes.get_mut(&prefix);
        let hops = binding.map(|it| core::mem::take(&mut it.hops)).unwrap_or_default();
        for hop in hops {
            let Some(by) = self.by_gateway.get_mut(&hop.gateway) else { continue };
            by.remove(&prefix);
            if by.is_empty() {
                self.by_gateway.remove(&hop.gateway);
            }
        }
    }

    /// A peer says an address that it did not say.
    pub(crate) fn claim(&mut self, address: IpAddr, peer: LdpId) {
        self.speakers.entry(address).or_default().push(peer);
        self.changed.insert(address);
    }

    /// A peer says an address no more.
    pub(crate) fn disclaim(&mut self, address: IpAddr, peer: LdpId) {
        self.changed.insert(address);
        if let Some(of) = self.speakers.get_mut(&address) {
            of.retain(|it| *it != peer);
            if of.is_empty() {
                self.speakers.remove(&address);
            }
        }
    }

    /// Peers that say an address, who said it first first.
    pub(crate) fn speakers(&self, address: IpAddr) -> impl Iterator<Item = LdpId> {
        self.speakers.get(&address).into_iter().flatten().copied()
    }

    /// Prefixes that go by gateways that changed.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<Prefix> {
        let changed = core::mem::take(&mut self.changed);
        let by = changed.iter().filter_map(|it| self.by_gateway.get(it));
        by.flatten().copied().collect()
    }

    pub(crate) fn hold(&mut self, label: u32) {
        *self.users.entry(label).or_insert(0) += 1;
    }

    /// A peer does not have a label any more.
    pub(crate) fn let_go(&mut self, label: u32) {
        if let Some(count) = self.users.get_mut(&label) {
            *count -= 1;
            if *count == 0 {
                self.users.remove(&label);
            }
        }
    }

    pub(crate) fn is_held(&self, label: u32) -> bool {
        self.users.contains_key(&label)
    }
}
