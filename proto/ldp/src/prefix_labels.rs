//! Labels of prefixes as one side of a session has told them, found by either.

use crate::codec::Prefix;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

#[derive(Debug, Default)]
pub(crate) struct PrefixLabels {
    of: BTreeMap<Prefix, u32>,
    by_label: BTreeSet<(u32, Prefix)>,
}

impl PrefixLabels {
    pub(crate) fn get(&self, prefix: &Prefix) -> Option<u32> {
        self.of.get(prefix).copied()
    }

    pub(crate) fn contains(&self, prefix: &Prefix) -> bool {
        self.of.contains_key(prefix)
    }

    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// The label that it was before.
    pub(crate) fn insert(&mut self, prefix: Prefix, label: u32) -> Option<u32> {
        let was = self.remove(&prefix);
        self.of.insert(prefix, label);
        self.by_label.insert((label, prefix));
        was
    }

    pub(crate) fn remove(&mut self, prefix: &Prefix) -> Option<u32> {
        let label = self.of.remove(prefix)?;
        self.by_label.remove(&(label, *prefix));
        Some(label)
    }

    pub(crate) fn labels(&self) -> impl Iterator<Item = u32> {
        self.of.values().copied()
    }

    pub(crate) fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        self.of.keys().copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Prefix, u32)> {
        self.of.iter().map(|(prefix, label)| (*prefix, *label))
    }

    /// The prefixes of a label; without one, all.
    pub(crate) fn of_label(&self, label: Option<u32>) -> Vec<Prefix> {
        let Some(label) = label else { return self.prefixes().collect() };
        let first = Prefix { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), length: 0 };
        let of = self.by_label.range((label, first)..(label.saturating_add(1), first));
        of.map(|it| it.1).collect()
    }
}
