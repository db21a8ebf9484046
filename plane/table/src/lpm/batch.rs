//! How a vector of addresses is looked up: by what the machine has, chosen once.

use super::address::Address;
use super::find::Walk;
use super::node::Entry;

/// What lookups are done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Scalar,
}

impl Unit {
    pub(super) fn of_this_machine() -> Self {
        Self::Scalar
    }

    /// All addresses from one root.
    pub(super) fn one_table<A: Address>(
        self,
        walk: &Walk<'_>,
        root: Entry,
        addresses: &[A],
        hops: &mut [u32],
    ) {
        for (address, hop) in addresses.iter().zip(hops) {
            *hop = walk.find(root, *address);
        }
    }

    /// Each address from the root that stands where its hop shall be.
    pub(super) fn roots_given<A: Address>(
        self,
        walk: &Walk<'_>,
        addresses: &[A],
        hops: &mut [u32],
    ) {
        for (address, hop) in addresses.iter().zip(hops) {
            *hop = walk.find(Entry(*hop), *address);
        }
    }
}
