//! What next hops that are followed one by one do to the routes over them.

use crate::key::Key;
use crate::next_hops::{NextHopView, NextHops};
use crate::rib::{Any, with};
use crate::table::Table;
use crate::{PeerId, Rib};
use bgp::family::Family;
use core::net::IpAddr;
use std::collections::BTreeMap;

impl<K: Key> Table<K> {
    /// Next hops are followed from now on: none can be reached until it is said.
    pub(crate) fn follow_next_hops(&mut self) {
        if !leads_somewhere(self.family) || self.sets.next_hops.is_some() {
            return;
        }
        let sets = self.sets.follow_next_hops();
        self.see_with(&sets, None);
    }

    /// The next hop of these sets has that metric now.
    fn see_with(&mut self, sets: &[u32], metric: Option<u32>) {
        let mut changed = Vec::with_capacity(sets.len());
        for &number in sets {
            let set = self.sets.get_mut(number);
            let before = set.rank;
            set.rank = before.seen_with(metric);
            if before != set.rank {
                changed.push((number, before.is_unreachable() != set.rank.is_unreachable()));
            }
        }
        // All are compared by what holds now, also with each other.
        changed.into_iter().for_each(|(set, is_turned)| self.rerank(set, is_turned));
    }

    /// Sets that have waited for room among the next hops of their peer have it.
    fn admit_next_hops(&mut self) {
        let admitted = self.sets.next_hops.as_deref_mut().map(NextHops::admit);
        for (set, metric) in admitted.unwrap_or_default() {
            self.see_with(&[set], metric);
        }
    }

    fn set_next_hop(&mut self, address: IpAddr, metric: Option<u32>) {
        let Some(hops) = &mut self.sets.next_hops else { return };
        let sets = hops.change(address, metric);
        self.see_with(&sets, metric);
    }
}

/// Whether traffic follows the next hops of a family.
const fn leads_somewhere(family: Family) -> bool {
    !matches!(family, Family::RouteTarget)
}

impl Rib {
    /// Next hops are followed one by one from now on, by [`Rib::set_next_hop`]: those of
    /// [`Rib::set_metrics`] count for other locations only (RFC 9107). None can be reached until
    /// that is said of it. Wishes for route targets lead nowhere, and are not concerned.
    pub fn follow_next_hops(&mut self) {
        self.follows_next_hops = true;
        for any in self.tables.iter_mut().flatten() {
            with!(&mut **any, table => table.follow_next_hops());
        }
    }

    /// How far a next hop is from now on; `None`: it cannot be reached, and what leads over it is
    /// not taken (RFC 4271 §9.1.2). Only what leads over it is decided anew. Of a next hop that no
    /// route has nothing is kept: [`Rib::new_next_hops`] says which come into use.
    pub fn set_next_hop(&mut self, address: IpAddr, metric: Option<u32>) {
        for any in self.tables.iter_mut().flatten() {
            with!(&mut **any, table => table.set_next_hop(address, metric));
        }
    }

    /// The same for routes of one family, where the way to a next hop is not one for all: labels
    /// must lead to those of VPNs.
    pub fn set_next_hop_of(&mut self, family: Family, address: IpAddr, metric: Option<u32>) {
        if let Some(any) = &mut self.tables[family as usize] {
            with!(&mut **any, table => table.set_next_hop(address, metric));
        }
    }

    /// Attribute sets of a peer that cannot be reached since it has as many next hops as it may
    /// ([`crate::NEXT_HOPS_OF_PEER_MAX`] of each family).
    #[must_use]
    pub fn excess_next_hops(&self, peer: PeerId) -> usize {
        let all = self.tables.iter().flatten();
        all.filter_map(|any| with!(&**any, table => table.sets.next_hops.as_deref()))
            .map(|hops| hops.waiting(peer))
            .sum()
    }

    /// Next hops that came into use since this was asked, each for every family that it is new to:
    /// whether they can be reached is to be said.
    pub fn new_next_hops(&mut self) -> Vec<IpAddr> {
        let mut new = Vec::new();
        for any in self.tables.iter_mut().flatten() {
            with!(&mut **any, table => table.admit_next_hops());
            let hops = with!(&mut **any, table => table.sets.next_hops.as_deref_mut());
            hops.into_iter().for_each(|hops| hops.take_fresh(&mut new));
        }
        new.sort_unstable();
        new.dedup();
        new
    }

    /// Next hops that are in use, in their order.
    #[must_use]
    pub fn next_hops(&self) -> Vec<NextHopView> {
        let mut all: BTreeMap<IpAddr, NextHopView> = BTreeMap::new();
        for any in self.tables.iter().flatten() {
            let hops = with!(&**any, table => table.sets.next_hops.as_deref());
            for hop in hops.into_iter().flat_map(NextHops::used) {
                let none = NextHopView { sets: 0, ..hop };
                all.entry(hop.address).or_insert(none).sets += hop.sets;
            }
        }
        all.into_values().collect()
    }
}
