//! First hops from the root, and sets of them: every set is kept once.
//!
//! A set keeps the lowest [`PATHS_MAX`] hops. The lowest of a union are the lowest of the lowest,
//! so the order in which paths are found makes no difference.

use crate::graph::{EdgeId, Node};
use std::collections::BTreeMap;

/// Equal paths that are kept of a destination.
pub const PATHS_MAX: usize = 64;

/// How a packet leaves the root: by which of its edges, and to whom. `via` is the next router; of
/// a network that the root itself is on, it is that network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The edge out of the root.
    pub edge: EdgeId,
    /// Who gets the packet.
    pub via: Node,
}

/// A set of hops, by its number.
pub(crate) type SetId = u32;
/// The set without hops: of the root, and of what cannot be reached.
pub(crate) const EMPTY: SetId = 0;
/// Unions that are remembered.
const REMEMBERED: usize = 1_024;
/// Sets after which a full run begins a new collection.
const SETS_MAX: usize = 1 << 18;

#[derive(Debug, Clone)]
pub(crate) struct HopSets {
    sets: Vec<Box<[Hop]>>,
    numbers: BTreeMap<Box<[Hop]>, SetId>,
    unions: Vec<[SetId; 3]>,
}

impl HopSets {
    pub(crate) fn new() -> Self {
        let mut sets = Self { sets: Vec::new(), numbers: BTreeMap::new(), unions: Vec::new() };
        sets.clear();
        sets
    }

    pub(crate) fn clear(&mut self) {
        self.sets.clear();
        self.numbers.clear();
        self.unions.clear();
        self.unions.resize(REMEMBERED, [EMPTY; 3]);
        self.intern(Box::new([]));
    }

    pub(crate) fn is_full(&self) -> bool {
        self.sets.len() >= SETS_MAX
    }

    pub(crate) fn hops(&self, set: SetId) -> &[Hop] {
        &self.sets[set as usize]
    }

    fn intern(&mut self, hops: Box<[Hop]>) -> SetId {
        if let Some(&number) = self.numbers.get(&hops) {
            return number;
        }
        let number = machine::narrow::place(self.sets.len());
        self.sets.push(hops.clone());
        self.numbers.insert(hops, number);
        number
    }

    pub(crate) fn one(&mut self, hop: Hop) -> SetId {
        self.intern(Box::new([hop]))
    }

    /// The hops of both.
    #[inline]
    pub(crate) fn union(&mut self, one: SetId, two: SetId) -> SetId {
        if one == two || two == EMPTY {
            return one;
        }
        if one == EMPTY {
            return two;
        }
        let slot = (one.wrapping_mul(0x9E37_79B1) ^ two) as usize % REMEMBERED;
        let [known_one, known_two, union] = self.unions[slot];
        if known_one == one && known_two == two {
            return union;
        }
        let union = self.merge(one, two);
        self.unions[slot] = [one, two, union];
        union
    }

    fn merge(&mut self, one: SetId, two: SetId) -> SetId {
        let mut hops = [self.hops(one), self.hops(two)].concat();
        hops.sort_unstable();
        hops.dedup();
        hops.truncate(PATHS_MAX);
        self.intern(hops.into())
    }

    /// The hops to a router on a network that has `set`: where the root is on the network too,
    /// the router itself gets the packet.
    pub(crate) fn across(&mut self, set: SetId, network: Node, router: Node) -> SetId {
        if self.hops(set).iter().all(|hop| hop.via != network) {
            return set;
        }
        let onto =
            |hop: &Hop| Hop { via: if hop.via == network { router } else { hop.via }, ..*hop };
        let mut hops: Vec<Hop> = self.hops(set).iter().map(onto).collect();
        hops.sort_unstable();
        self.intern(hops.into())
    }
}
