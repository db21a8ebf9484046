//! Octets of all MSUs that wait for Application Servers which are AS-PENDING.
//!
//! No holder has more than is left for all others (Choudhury and Hahne, "Dynamic Queue Length
//! Thresholds", 1998): the sum keeps its limit, and there is always room for a newcomer.

use crate::id::{PeerId, ServerId};
use std::collections::BTreeMap;

/// What a waiting MSU costs beside its user data, octets.
const MESSAGE_BYTES: usize = 96;

/// Who answers for what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// An Application Server that was configured.
    Server(ServerId),
    /// The peer that registered Application Servers, for all of them together.
    Registrant(PeerId),
}

#[derive(Debug, Default)]
pub(super) struct Backlog {
    held: BTreeMap<Holder, usize>,
    sum: usize,
}

/// The cost of an MSU with so much user data.
pub(super) const fn cost(payload: usize) -> usize {
    payload + MESSAGE_BYTES
}

impl Backlog {
    /// Takes room for so much; false when there is none for this holder.
    pub(super) fn take(&mut self, holder: Holder, cost: usize, max: usize) -> bool {
        let held = self.held.get(&holder).copied().unwrap_or(0);
        if held + cost > max.saturating_sub(self.sum) {
            return false;
        }
        self.held.insert(holder, held + cost);
        self.sum += cost;
        true
    }

    /// Gives room back.
    pub(super) fn give_back(&mut self, holder: Holder, cost: usize) {
        let Some(held) = self.held.get_mut(&holder) else { return };
        let cost = cost.min(*held);
        *held -= cost;
        self.sum -= cost;
        if *held == 0 {
            self.held.remove(&holder);
        }
    }

    pub(super) const fn sum(&self) -> usize {
        self.sum
    }
}
