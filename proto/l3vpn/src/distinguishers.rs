//! Route distinguishers of routes that are imported: a number for each, with the VRFs that have
//! routes of it. What is gone is looked for there alone.

use crate::VrfId;
use bgp::family::RouteDistinguisher;
use hashbrown::HashMap;

/// Distinguishers that have a number at the same time.
const NUMBERS_MAX: usize = 1 << 24;

/// A distinguisher and how many routes of it each VRF has.
#[derive(Debug)]
struct Slot {
    distinguisher: RouteDistinguisher,
    members: Vec<(VrfId, u32)>,
}

/// Distinguishers by number.
#[derive(Debug, Default)]
pub(crate) struct Distinguishers {
    index: HashMap<RouteDistinguisher, u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Distinguishers {
    pub(crate) fn find(&self, distinguisher: RouteDistinguisher) -> Option<u32> {
        self.index.get(&distinguisher).copied()
    }

    pub(crate) fn of(&self, number: u32) -> Option<RouteDistinguisher> {
        let slot = self.slots.get(number as usize)?;
        (!slot.members.is_empty()).then_some(slot.distinguisher)
    }

    /// The number of a distinguisher, which [`Distinguishers::settle`] takes back if no VRF gets a
    /// route of it. `None`: there are too many.
    pub(crate) fn take(&mut self, distinguisher: RouteDistinguisher) -> Option<u32> {
        if let Some(number) = self.find(distinguisher) {
            return Some(number);
        }
        let slot = Slot { distinguisher, members: Vec::new() };
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None if self.slots.len() < NUMBERS_MAX => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).ok()?
            }
            None => return None,
        };
        self.index.insert(distinguisher, number);
        Some(number)
    }

    /// The VRFs that have routes of it.
    pub(crate) fn members(&self, number: u32) -> impl Iterator<Item = VrfId> + '_ {
        self.slots[number as usize].members.iter().map(|(vrf, _)| *vrf)
    }

    /// A VRF has a further route of it.
    pub(crate) fn came(&mut self, number: u32, vrf: VrfId) {
        let members = &mut self.slots[number as usize].members;
        match members.binary_search_by_key(&vrf, |(it, _)| *it) {
            Ok(at) => members[at].1 += 1,
            Err(at) => members.insert(at, (vrf, 1)),
        }
    }

    /// A VRF has a route of it less.
    pub(crate) fn went(&mut self, number: u32, vrf: VrfId) {
        let members = &mut self.slots[number as usize].members;
        if let Ok(at) = members.binary_search_by_key(&vrf, |(it, _)| *it) {
            members[at].1 -= 1;
            if members[at].1 == 0 {
                members.remove(at);
            }
        }
    }

    /// Frees the number if no VRF has a route of it.
    pub(crate) fn settle(&mut self, number: u32) {
        let slot = &self.slots[number as usize];
        if slot.members.is_empty() && self.index.get(&slot.distinguisher) == Some(&number) {
            self.index.remove(&slot.distinguisher);
            self.free.push(number);
        }
    }

    /// A VRF is no more.
    pub(crate) fn forget(&mut self, vrf: VrfId) {
        for number in 0..self.slots.len() {
            let members = &mut self.slots[number].members;
            if let Ok(at) = members.binary_search_by_key(&vrf, |(it, _)| *it) {
                members.remove(at);
                self.settle(u32::try_from(number).expect("there are no more than that"));
            }
        }
    }
}
