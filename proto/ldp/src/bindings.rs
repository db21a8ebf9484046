//! Bindings: what each prefix's label is, and who has to know.

use crate::codec::Prefix;
use crate::settings::{LabelHop, NextHop};
use std::collections::BTreeMap;

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
}

impl Bindings {
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
