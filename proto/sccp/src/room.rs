//! Room by association, and by the point codes within one: who writes what he likes as his point
//! code has the room of one association.

use m3ua::PeerId;
use m3ua::codec::PointCode;
use machine::shares::Shares;

/// What there is of each association, and of each point code within it.
#[derive(Debug, Default)]
pub(crate) struct Room {
    associations: Shares<Option<PeerId>>,
    sources: Shares<(Option<PeerId>, PointCode)>,
}

impl Room {
    /// What all have together.
    pub(crate) const fn sum(&self) -> usize {
        self.associations.sum()
    }

    /// Takes so much of `max`: an association has no more than is left by the others, a point code
    /// no more than is left of that.
    pub(crate) fn take(
        &mut self,
        by: Option<PeerId>,
        opc: PointCode,
        amount: usize,
        max: usize,
    ) -> bool {
        let left = max.saturating_sub(self.associations.sum());
        let left_of_it = left.saturating_sub(self.associations.of(&by));
        // The shares take of what all sources have together.
        let most = left_of_it.saturating_add(self.sources.sum());
        self.sources.take((by, opc), amount, most) && self.associations.take(by, amount, max)
    }

    pub(crate) fn give_back(&mut self, by: Option<PeerId>, opc: PointCode, amount: usize) {
        self.associations.give_back(&by, amount);
        self.sources.give_back(&(by, opc), amount);
    }
}
