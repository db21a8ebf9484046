//! Room for requests, by number and by octets: no peer has more of either than is left for others.

use crate::settings::PeerId;
use machine::shares::Shares;

/// What a request costs beside its octets.
const COST: usize = 256;

/// Whose requests these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holder {
    /// This node's own application, which no stranger makes ask: by octets alone.
    Own,
    Peer(PeerId),
}

/// The room of one table.
#[derive(Debug, Default)]
pub(crate) struct Room {
    numbers: Shares<Holder>,
    octets: Shares<Holder>,
}

impl Room {
    /// Takes room for one of so many octets; false when the holder would have more than is left.
    pub(crate) fn take(
        &mut self,
        holder: Holder,
        octets: usize,
        number_max: u32,
        octets_max: usize,
    ) -> bool {
        let number_max = match holder {
            Holder::Own => usize::MAX,
            Holder::Peer(_) => number_max as usize,
        };
        if !self.numbers.take(holder, 1, number_max) {
            return false;
        }
        let has_room = self.octets.take(holder, octets + COST, octets_max);
        if !has_room {
            self.numbers.give_back(&holder, 1);
        }
        has_room
    }

    /// Gives the room of one of so many octets back.
    pub(crate) fn give_back(&mut self, holder: Holder, octets: usize) {
        self.numbers.give_back(&holder, 1);
        self.octets.give_back(&holder, octets + COST);
    }

    /// Octets of all, with what they cost.
    pub(crate) const fn octets(&self) -> usize {
        self.octets.sum()
    }
}
