//! What a message has led to, until it may leave.

use super::partition::PartitionSet;
use sccp::Unitdata;
use std::collections::VecDeque;
use tcu::Wanted;

/// Batches that wait, at most: beyond them no dialogue begins.
const BATCHES_MAX: usize = 65_536;
/// Batches that one look passes over.
const LOOKED_AT: usize = 512;

/// What one turn has led to.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Partitions whose standby has to have all up to this mark before.
    pub(crate) holds: PartitionSet,
    pub(crate) mark: u64,
    /// Dialogues that are over: the standbys hear so when that was said.
    pub(crate) gone: Vec<(u8, u32)>,
    /// The partitions of dialogues that stand, or stood, and of which it is.
    pub(crate) partitions: PartitionSet,
    pub(crate) unitdata: Vec<Unitdata>,
    pub(crate) wanted: Vec<Wanted>,
    /// The association that has led to it: what leaves goes to where that may send.
    pub(crate) by: Option<m3ua::PeerId>,
}

impl Batch {
    /// Whether it told of a dialogue that stands.
    pub(crate) const fn has_told(&self) -> bool {
        !self.partitions.is_empty()
    }

    fn closes(&self) -> bool {
        self.wanted.iter().any(|it| matches!(it, Wanted::Close(_)))
    }
}

/// Those that wait, in their order.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    waiting: VecDeque<Batch>,
    /// What this turn leads to.
    pub(crate) now: Batch,
    /// The mark up to which the standby of each partition has everything.
    reached: Vec<u64>,
}

impl Batches {
    /// The standby of a partition has everything up to that mark.
    pub(crate) fn reached(&mut self, partition: u8, mark: u64) {
        let place = usize::from(partition);
        if self.reached.len() <= place {
            self.reached.resize(place + 1, 0);
        }
        self.reached[place] = self.reached[place].max(mark);
    }

    fn has_reached(&self, partition: u8, mark: u64) -> bool {
        self.reached.get(usize::from(partition)).is_some_and(|it| *it >= mark)
    }

    /// The turn is over. What told nothing leaves at once; but who is closed is told what waits for
    /// him before.
    pub(crate) fn end(&mut self, wanted: Vec<Wanted>) -> Option<Batch> {
        let mut batch = core::mem::take(&mut self.now);
        batch.wanted.extend(wanted);
        if batch.has_told() || (batch.closes() && !self.waiting.is_empty()) {
            self.waiting.push_back(batch);
            return None;
        }
        Some(batch)
    }

    /// Whether this turn has led to more since it ended.
    pub(crate) fn has_more(&self) -> bool {
        self.now.has_told() || !self.now.unitdata.is_empty()
    }

    /// The next one that may leave: `may_speak` for all of its partitions, of which those that are
    /// `followed` have reached its mark, and which none before it is of.
    pub(crate) fn next(
        &mut self,
        followed: PartitionSet,
        may_speak: impl Fn(u8) -> bool,
    ) -> Option<Batch> {
        let mut before = PartitionSet::default();
        let is_open = |it: &Batch| {
            let reached = |of: u8| !followed.has(of) || self.has_reached(of, it.mark);
            it.holds.iter().all(reached) && it.partitions.iter().all(&may_speak)
        };
        let looked_at = self.waiting.iter().take(LOOKED_AT).enumerate();
        let found = looked_at.into_iter().find(|(at, it)| {
            let follows = !it.partitions.and(before).is_empty() || (it.closes() && *at > 0);
            let may_leave = !follows && is_open(it);
            before = before.or(it.partitions);
            may_leave
        });
        let at = found?.0;
        self.waiting.remove(at)
    }

    /// A dialogue stands where another one is over that was not told: it is told by this.
    pub(crate) fn stands(&mut self, partition: u8, slot: u32) {
        let all = self.waiting.iter_mut().chain([&mut self.now]);
        all.for_each(|it| it.gone.retain(|of| *of != (partition, slot)));
    }

    /// What waits of a partition that is handed over: it may leave, for who serves now has it.
    pub(crate) fn take_of(&mut self, partition: u8) -> Vec<Batch> {
        let is_of = |it: &Batch| it.partitions.has(partition);
        let (of, rest): (VecDeque<Batch>, VecDeque<Batch>) =
            core::mem::take(&mut self.waiting).into_iter().partition(is_of);
        self.waiting = rest;
        of.into()
    }

    /// Another node serves that partition now: what was to be said of it, it says.
    pub(crate) fn drop_of(&mut self, partition: u8) -> u64 {
        let mut count = 0;
        for it in self.waiting.iter_mut().filter(|it| it.partitions.has(partition)) {
            count += 1;
            it.unitdata.clear();
            it.gone.clear();
            it.wanted.retain(|it| matches!(it, Wanted::Close(_)));
            (it.partitions, it.holds) = (PartitionSet::default(), PartitionSet::default());
        }
        count
    }

    /// Batches that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether so many wait that nothing more may begin.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= BATCHES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(batches: &mut Batches, partition: u8, mark: u64) {
        batches.now.partitions.set(partition, true);
        batches.now.holds.set(partition, true);
        batches.now.mark = mark;
        assert!(batches.end(Vec::new()).is_none());
    }

    fn followed(partitions: &[u8]) -> PartitionSet {
        let mut set = PartitionSet::default();
        partitions.iter().for_each(|it| set.set(*it, true));
        set
    }

    #[test]
    fn what_is_told_waits_for_its_standby_and_for_no_other() {
        let mut batches = Batches::default();
        of(&mut batches, 1, 5);
        of(&mut batches, 2, 6);
        of(&mut batches, 1, 7);
        let all = followed(&[1, 2]);
        assert!(batches.next(all, |_| true).is_none());
        batches.reached(2, 6);
        assert!(batches.next(all, |it| it != 2).is_none(), "it may not speak for it");
        assert_eq!(batches.next(all, |_| true).map(|it| it.mark), Some(6));
        batches.reached(1, 5);
        assert_eq!(batches.next(all, |_| true).map(|it| it.mark), Some(5));
        assert!(batches.next(all, |_| true).is_none());
        let marks = |it: Batch| it.mark;
        assert_eq!(batches.next(followed(&[2]), |_| true).map(marks), Some(7), "nobody follows");
        assert!(batches.is_empty());
    }

    #[test]
    fn who_is_closed_is_told_what_waits_before() {
        let mut batches = Batches::default();
        let close = || vec![Wanted::Close(tcu::InstanceId(3))];
        assert!(batches.end(close()).is_some(), "nothing waits");
        of(&mut batches, 1, 1);
        assert!(batches.end(close()).is_none());
        assert!(batches.next(followed(&[1]), |_| true).is_none());
        assert_eq!(batches.drop_of(1), 1);
        assert!(batches.next(followed(&[1]), |_| true).is_some_and(|it| it.wanted.is_empty()));
        assert!(batches.next(followed(&[1]), |_| true).is_some_and(|it| it.wanted.len() == 1));
    }
}
