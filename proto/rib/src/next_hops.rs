//! Next hops that are followed one by one: each once for a table, with the attribute sets over it.

use crate::NONE;
use bgp::codec::{AttributeType, Attributes, NextHop};
use core::net::IpAddr;
use hashbrown::HashMap;

/// A next hop that attribute sets have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHopView {
    /// Its address.
    pub address: IpAddr,
    /// How far it is; `None`: it cannot be reached, or nobody has said yet that it can.
    pub metric: Option<u32>,
    /// How many attribute sets have it, of all families.
    pub sets: usize,
}

/// A next hop and the first of the sets over it.
#[derive(Debug, Clone, Copy)]
struct Slot {
    address: IpAddr,
    metric: Option<u32>,
    first: u32,
    sets: u32,
    /// It is among those that the owner was not told yet.
    is_listed: bool,
}

/// The place of a set among those of its next hop.
#[derive(Debug, Clone, Copy)]
struct Link {
    hop: u32,
    next: u32,
    prev: u32,
}

const UNLINKED: Link = Link { hop: NONE, next: NONE, prev: NONE };

/// The next hops of a table.
#[derive(Debug, Default)]
pub(crate) struct NextHops {
    index: HashMap<IpAddr, u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// By the number of the set.
    links: Vec<Link>,
    /// Slots that came into use since the owner asked; some may be free again.
    fresh: Vec<u32>,
}

/// The next hop of a route, of MP_REACH_NLRI or of NEXT_HOP; none for one that leads nowhere (a
/// flow specification).
pub(crate) fn address(attributes: &[u8], next_hop: &[u8]) -> Option<IpAddr> {
    let octets = match next_hop {
        [] => Attributes::new(attributes).value(AttributeType::NextHop).unwrap_or_default(),
        octets => octets,
    };
    NextHop::read(octets).map(|hop| hop.address)
}

impl NextHops {
    /// How far a next hop is; one that is not known cannot be reached.
    pub(crate) fn metric(&self, address: IpAddr) -> Option<u32> {
        self.slots[*self.index.get(&address)? as usize].metric
    }

    fn slot(&mut self, address: IpAddr) -> u32 {
        if let Some(known) = self.index.get(&address) {
            return *known;
        }
        let fresh = Slot { address, metric: None, first: NONE, sets: 0, is_listed: true };
        let number = match self.free.pop() {
            Some(number) => {
                let slot = &mut self.slots[number as usize];
                let was_listed = slot.is_listed;
                *slot = fresh;
                if !was_listed {
                    self.fresh.push(number);
                }
                number
            }
            None => {
                self.slots.push(fresh);
                let number = crate::number(self.slots.len() - 1);
                self.fresh.push(number);
                number
            }
        };
        self.index.insert(address, number);
        number
    }

    /// A set has that next hop.
    pub(crate) fn link(&mut self, set: u32, address: IpAddr) {
        let hop = self.slot(address);
        let slot = &mut self.slots[hop as usize];
        let next = core::mem::replace(&mut slot.first, set);
        slot.sets += 1;
        let at = set as usize;
        if self.links.len() <= at {
            self.links.resize(at + 1, UNLINKED);
        }
        self.links[at] = Link { hop, next, prev: NONE };
        if next != NONE {
            self.links[next as usize].prev = set;
        }
    }

    /// A set is no more.
    pub(crate) fn unlink(&mut self, set: u32) {
        let Some(link) = self.links.get_mut(set as usize) else { return };
        let Link { hop, next, prev } = core::mem::replace(link, UNLINKED);
        if hop == NONE {
            return;
        }
        let slot = &mut self.slots[hop as usize];
        slot.sets -= 1;
        if prev == NONE {
            slot.first = next;
        }
        if slot.sets == 0 {
            self.index.remove(&slot.address);
            self.free.push(hop);
        }
        if prev != NONE {
            self.links[prev as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].prev = prev;
        }
    }

    /// Those that came into use since this was asked, and still are.
    pub(crate) fn take_fresh(&mut self, out: &mut Vec<IpAddr>) {
        for number in core::mem::take(&mut self.fresh) {
            let slot = &mut self.slots[number as usize];
            slot.is_listed = false;
            if slot.sets > 0 {
                out.push(slot.address);
            }
        }
    }

    /// Those that are in use, and how many sets have each.
    pub(crate) fn used(&self) -> impl Iterator<Item = NextHopView> + '_ {
        let used = self.slots.iter().filter(|slot| slot.sets > 0);
        used.map(|&Slot { address, metric, sets, .. }| NextHopView {
            address,
            metric,
            sets: sets as usize,
        })
    }

    /// The sets over a next hop whose metric is another one now.
    pub(crate) fn change(&mut self, address: IpAddr, metric: Option<u32>) -> Vec<u32> {
        let Some(&hop) = self.index.get(&address) else { return Vec::new() };
        let slot = &mut self.slots[hop as usize];
        if core::mem::replace(&mut slot.metric, metric) == metric {
            return Vec::new();
        }
        let some = |set| (set != NONE).then_some(set);
        std::iter::successors(some(slot.first), |set| some(self.links[*set as usize].next))
            .collect()
    }
}
