//! Who holds how much of what all interfaces share: the interface that holds most, of the routing
//! table that holds most, gives way first.

use std::collections::{BTreeMap, BTreeSet};

/// An interface in its routing table.
pub(super) type Holder = (u32, u32);

/// Places that are held, by routing table and interface.
#[derive(Debug, Default)]
pub(super) struct Tally {
    total: usize,
    by_holder: BTreeMap<Holder, usize>,
    by_vrf: BTreeMap<u32, usize>,
    /// By routing table: its interfaces, those with most places last.
    ranked: BTreeSet<(u32, usize, u32)>,
    vrfs: BTreeSet<(usize, u32)>,
}

impl Tally {
    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn of(&self, holder: Holder) -> usize {
        self.by_holder.get(&holder).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, holder: Holder) {
        self.change(holder, |count| count + 1);
    }

    pub(super) fn take(&mut self, holder: Holder) {
        if self.of(holder) > 0 {
            self.change(holder, |count| count - 1);
        }
    }

    fn change(&mut self, holder: Holder, step: impl Fn(usize) -> usize) {
        let (vrf, interface) = holder;
        let before = self.of((vrf, interface));
        let all = self.by_vrf.get(&vrf).copied().unwrap_or(0);
        self.total = step(self.total);
        self.ranked.remove(&(vrf, before, interface));
        self.vrfs.remove(&(all, vrf));
        match step(before) {
            0 => self.by_holder.remove(&(vrf, interface)),
            after => {
                self.ranked.insert((vrf, after, interface));
                self.by_holder.insert((vrf, interface), after)
            }
        };
        match step(all) {
            0 => self.by_vrf.remove(&vrf),
            after => {
                self.vrfs.insert((after, vrf));
                self.by_vrf.insert(vrf, after)
            }
        };
    }

    /// The interface that holds most, of the routing table that holds most.
    pub(super) fn most(&self) -> Option<Holder> {
        let (_, vrf) = *self.vrfs.last()?;
        let (_, _, interface) =
            self.ranked.range((vrf, 0, 0)..=(vrf, usize::MAX, u32::MAX)).next_back()?;
        Some((vrf, *interface))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_interface_of_the_fullest_table_is_found_while_places_come_and_go() {
        let mut tally = Tally::default();
        assert_eq!(tally.most(), None);
        for (holder, places) in [((1, 10), 5), ((2, 20), 4), ((2, 21), 3)] {
            (0..places).for_each(|_| tally.add(holder));
        }
        assert_eq!((tally.total(), tally.most()), (12, Some((2, 20))), "7 of table 2");
        (0..3).for_each(|_| tally.take((2, 20)));
        assert_eq!((tally.of((2, 20)), tally.most()), (1, Some((1, 10))));
        (0..9).for_each(|_| tally.take((1, 10)));
        assert_eq!((tally.total(), tally.most()), (4, Some((2, 21))));
        assert_eq!(tally.by_holder.len() + tally.by_vrf.len(), 3, "nothing is left of who is gone");
    }
}
