//! Next hops that are followed one by one: each once for a table, with the attribute sets over it.

use crate::{NONE, PeerId};
use bgp::codec::{AttributeType, Attributes, NextHop};
use core::net::IpAddr;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Next hops that one peer may have in a table: what leads over others cannot be reached.
pub const NEXT_HOPS_OF_PEER_MAX: usize = 4_096;

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

/// What one peer has of them.
#[derive(Debug, Default)]
struct Share {
    /// How many of its sets have each.
    sets: HashMap<u32, u32>,
    /// Sets that it may have no further next hop for.
    waiting: BTreeMap<u32, IpAddr>,
}

/// The next hops of a table.
#[derive(Debug, Default)]
pub(crate) struct NextHops {
    shares: HashMap<PeerId, Share>,
    /// Peers with sets that wait, and room for one of them.
    eased: BTreeSet<PeerId>,
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

    /// Whether a peer may have that next hop.
    pub(crate) fn has_room(&self, peer: PeerId, address: IpAddr) -> bool {
        let Some(share) = self.shares.get(&peer) else { return true };
        let known = self.index.get(&address).is_some_and(|hop| share.sets.contains_key(hop));
        known || share.sets.len() < NEXT_HOPS_OF_PEER_MAX
    }

    /// A set of a peer has that next hop, or waits until the peer may have it.
    pub(crate) fn link(&mut self, set: u32, peer: PeerId, address: IpAddr) {
        if !self.has_room(peer, address) {
            self.shares.entry(peer).or_default().waiting.insert(set, address);
            return;
        }
        let hop = self.slot(address);
        *self.shares.entry(peer).or_default().sets.entry(hop).or_default() += 1;
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

    /// A set of a peer is no more.
    pub(crate) fn unlink(&mut self, set: u32, peer: PeerId) {
        let waited = self.shares.get_mut(&peer).and_then(|it| it.waiting.remove(&set));
        if waited.is_some() {
            return self.settle(peer);
        }
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
        let Some(share) = self.shares.get_mut(&peer) else { return };
        if let Some(sets) = share.sets.get_mut(&hop) {
            *sets -= 1;
            if *sets == 0 {
                share.sets.remove(&hop);
                self.settle(peer);
            }
        }
    }

    /// A peer has a next hop less, or waits for one less.
    fn settle(&mut self, peer: PeerId) {
        let Some(share) = self.shares.get(&peer) else { return };
        match (share.sets.is_empty(), share.waiting.is_empty()) {
            (true, true) => drop(self.shares.remove(&peer)),
            (_, false) => drop(self.eased.insert(peer)),
            (false, true) => {}
        }
    }

    /// Sets that have waited and need not any more, with how far their next hops are.
    pub(crate) fn admit(&mut self) -> Vec<(u32, Option<u32>)> {
        let mut admitted = Vec::new();
        for peer in core::mem::take(&mut self.eased) {
            while let Some((set, address)) = self.first_waiting(peer)
                && self.has_room(peer, address)
            {
                self.shares.entry(peer).or_default().waiting.remove(&set);
                self.link(set, peer, address);
                admitted.push((set, self.metric(address)));
            }
        }
        admitted
    }

    fn first_waiting(&self, peer: PeerId) -> Option<(u32, IpAddr)> {
        let first = self.shares.get(&peer)?.waiting.first_key_value()?;
        Some((*first.0, *first.1))
    }

    /// Sets of a peer that wait.
    pub(crate) fn waiting(&self, peer: PeerId) -> usize {
        self.shares.get(&peer).map_or(0, |it| it.waiting.len())
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
