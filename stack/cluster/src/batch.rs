//! What a turn has led to, until it may leave.
//!
//! ```text
//!   the turn ends ─┬─ it told nothing: it leaves
//!                  └─ Batch ─→ the queues of its partitions ─→ it leaves when it is the first in
//!                              each, its marks are reached, and this node may speak
//! ```
//! A partition whose standby is slow holds up no other one.

use crate::partition::{ALL, PartitionSet};
use m3ua::{PeerId, Transfer};
use sccp::Unitdata;
use std::collections::{BTreeMap, HashMap, VecDeque};
use tcap::Transactions;
use tcu::Wanted;

/// Batches that wait, at most: beyond them no dialogue begins.
const BATCHES_MAX: usize = 65_536;

/// What one turn has led to.
#[derive(Debug, Default)]
pub struct Batch {
    /// Partitions whose standby has to have all up to this mark before.
    pub holds: PartitionSet,
    /// The mark.
    pub mark: u64,
    /// Dialogues that are over: the standbys hear so when that was said.
    pub gone: Vec<(u8, u32)>,
    /// The partitions of dialogues that stand, or stood, and of which it is.
    pub partitions: PartitionSet,
    /// What is to be sent.
    pub unitdata: Vec<Unitdata>,
    /// Messages of connections, and the partition of each.
    pub transfers: Vec<(u8, Transfer)>,
    /// Connections that are over: the standbys hear so when that was said.
    pub disconnected: Vec<(u8, u32)>,
    /// What instances of applications are to be told.
    pub wanted: Vec<Wanted>,
    /// The association that has led to it: what leaves goes to where that may send.
    pub by: Option<PeerId>,
}

impl Batch {
    /// Whether it told of a dialogue that stands.
    #[must_use]
    pub const fn tells(&self) -> bool {
        !self.partitions.is_empty()
    }

    fn closes(&self) -> bool {
        self.wanted.iter().any(|it| matches!(it, Wanted::Close(_)))
    }

    /// What of it is of one partition alone; the rest is of the others. A message says of which
    /// partition it is, unless it ends a dialogue.
    fn part(&mut self, partition: u8) -> Self {
        self.partitions.set(partition, false);
        self.holds.set(partition, false);
        if self.partitions.is_empty() {
            return core::mem::take(self);
        }
        let gone = self.gone.extract_if(.., |it| it.0 == partition).collect();
        let unitdata = self.unitdata.extract_if(.., |it| partition_of(it) == Some(partition));
        let unitdata = unitdata.collect();
        let transfers = self.transfers.extract_if(.., |it| it.0 == partition).collect();
        let disconnected = self.disconnected.extract_if(.., |it| it.0 == partition).collect();
        Self { gone, unitdata, transfers, disconnected, by: self.by, ..Self::default() }
    }
}

/// The partition of the dialogue that has sent this, if that goes on.
fn partition_of(unitdata: &Unitdata) -> Option<u8> {
    let message = tcap::codec::Message::read(&unitdata.data).ok()?;
    Transactions::partition_of_sender(&message)
}

/// Those that wait.
#[derive(Debug, Default)]
pub struct Batches {
    /// By the number of the turn.
    waiting: BTreeMap<u64, Batch>,
    turns: u64,
    /// Those of each partition, the first first.
    queues: BTreeMap<u8, VecDeque<u64>>,
    /// Those that close somebody, who is told all that waits before.
    closing: VecDeque<u64>,
    /// Which one says of a dialogue that it is over.
    gone: HashMap<(u8, u32), u64>,
    /// What this turn leads to.
    pub now: Batch,
    /// The mark up to which the standby of each partition has everything.
    reached: BTreeMap<u8, u64>,
}

impl Batches {
    /// The standby of a partition has everything up to that mark.
    pub fn reached(&mut self, partition: u8, mark: u64) {
        let reached = self.reached.entry(partition).or_default();
        *reached = (*reached).max(mark);
    }

    fn has_reached(&self, partition: u8, mark: u64) -> bool {
        self.reached.get(&partition).is_some_and(|it| *it >= mark)
    }

    /// The turn is over. What told nothing leaves at once; but who is closed is told what waits for
    /// him before.
    pub fn end(&mut self, wanted: Vec<Wanted>) -> Option<Batch> {
        let mut batch = core::mem::take(&mut self.now);
        batch.wanted.extend(wanted);
        if !batch.tells() && (!batch.closes() || self.waiting.is_empty()) {
            return Some(batch);
        }
        self.turns += 1;
        let turn = self.turns;
        for partition in batch.partitions.iter() {
            self.queues.entry(partition).or_default().push_back(turn);
        }
        if batch.closes() {
            self.closing.push_back(turn);
        }
        self.gone.extend(batch.gone.iter().map(|it| (*it, turn)));
        self.waiting.insert(turn, batch);
        None
    }

    /// Whether this turn has led to more since it ended.
    #[must_use]
    pub const fn has_more(&self) -> bool {
        self.now.tells() || !self.now.unitdata.is_empty() || !self.now.transfers.is_empty()
    }

    /// The next one that may leave: `may_speak` for all of its partitions, of which those that are
    /// `followed` have reached its mark, and which none before it is of.
    pub fn next(
        &mut self,
        followed: PartitionSet,
        may_speak: impl Fn(u8) -> bool,
    ) -> Option<Batch> {
        let oldest = self.waiting.first_key_value().map(|it| *it.0)?;
        let is_first = |turn: u64, of: u8| self.front(of) == Some(turn);
        let may_leave = |turn: &u64| {
            self.waiting.get(turn).is_some_and(|it| {
                let has = |of: u8| !followed.has(of) || self.has_reached(of, it.mark);
                it.partitions.iter().all(|of| is_first(*turn, of) && may_speak(of))
                    && it.holds.iter().all(has)
                    && (!it.closes() || *turn == oldest)
            })
        };
        let fronts = ALL.filter_map(|it| self.front(it));
        let turn = fronts.chain(self.closing.front().copied()).filter(may_leave).min()?;
        self.take(turn)
    }

    fn front(&self, partition: u8) -> Option<u64> {
        self.queues.get(&partition)?.front().copied()
    }

    fn take(&mut self, turn: u64) -> Option<Batch> {
        let batch = self.waiting.remove(&turn)?;
        for partition in batch.partitions.iter() {
            let queue = self.queues.entry(partition).or_default();
            if queue.front() == Some(&turn) {
                queue.pop_front();
            } else {
                queue.retain(|it| *it != turn);
            }
        }
        if batch.closes() {
            self.closing.retain(|it| *it != turn);
        }
        batch.gone.iter().for_each(|it| _ = self.gone.remove(it));
        Some(batch)
    }

    /// A dialogue stands where another one is over that was not told: it is told by this.
    pub fn stands(&mut self, partition: u8, slot: u32) {
        let of = (partition, slot);
        self.now.gone.retain(|it| *it != of);
        let waiting = self.gone.remove(&of).and_then(|turn| self.waiting.get_mut(&turn));
        if let Some(batch) = waiting {
            batch.gone.retain(|it| *it != of);
        }
    }

    /// What waits of a partition that is handed over: it may leave, for who serves now has it.
    pub fn take_of(&mut self, partition: u8) -> Vec<Batch> {
        let turns = self.queues.remove(&partition).unwrap_or_default();
        let mut all = Vec::new();
        for turn in turns {
            let Some(batch) = self.waiting.get_mut(&turn) else { continue };
            let part = batch.part(partition);
            let is_whole = !batch.tells();
            part.gone.iter().for_each(|it| _ = self.gone.remove(it));
            if is_whole {
                self.waiting.remove(&turn);
                self.closing.retain(|it| *it != turn);
            }
            all.push(part);
        }
        all
    }

    /// Another node serves that partition now: what was to be said of it, it says. How many turns
    /// had led to something of it.
    pub fn drop_of(&mut self, partition: u8) -> u64 {
        let turns = self.queues.get(&partition).cloned().unwrap_or_default();
        let mut count = 0;
        for (turn, mut part) in turns.into_iter().zip(self.take_of(partition)) {
            count += 1;
            part.wanted.retain(|it| matches!(it, Wanted::Close(_)));
            if part.closes() {
                let closed = Batch { wanted: part.wanted, ..Batch::default() };
                self.waiting.insert(turn, closed);
                let at = self.closing.partition_point(|it| *it < turn);
                self.closing.insert(at, turn);
            }
        }
        count
    }

    /// Batches that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether so many wait that nothing more may begin.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= BATCHES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use machine::Duration;
    use machine::Time;
    use sccp::codec::{Address, Class};
    use tcap::codec::{TransactionId, Writer};

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
    fn a_partition_whose_standby_is_slow_holds_up_no_other() {
        let mut batches = Batches::default();
        (1..=2_000).for_each(|mark| of(&mut batches, 1, mark));
        of(&mut batches, 2, 2_001);
        batches.reached(2, 2_001);
        let marks = |it: Batch| it.mark;
        assert_eq!(batches.next(followed(&[1, 2]), |_| true).map(marks), Some(2_001));
        assert!(batches.next(followed(&[1, 2]), |_| true).is_none());
        assert_eq!(batches.len(), 2_000);
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
        assert!(batches.next(followed(&[1]), |_| true).is_some_and(|it| it.wanted.len() == 1));
        assert!(batches.is_empty());
        // One that is of a partition as well is closed though that is another node's now.
        batches.now.partitions.set(1, true);
        assert!(batches.end(close()).is_none());
        assert_eq!(batches.drop_of(1), 1);
        assert!(batches.next(followed(&[1]), |_| true).is_some_and(|it| it.wanted.len() == 1));
        assert!(batches.is_empty());
    }

    #[test]
    fn of_a_turn_that_concerns_many_partitions_goes_only_what_is_of_the_one_that_goes() {
        let settings = tcap::Settings {
            shard: 0,
            secret: 7,
            dialogues_max: 10,
            dialogues_per_source_max: 10,
            sources_elsewhere: false,
            idle: Duration::from_secs(60),
        };
        let mut transactions = Transactions::shared(settings, Time::ZERO);
        let mut begin = |partition: u8| -> Unitdata {
            (0..8).for_each(|it| _ = transactions.leave(it));
            transactions.serve(partition, 0, 9);
            let (called, calling) = (Address::subsystem(None, 8), Address::subsystem(None, 6));
            let begin = tcap::Begin { called, calling, context: None, user_information: &[] };
            let mut out = Vec::new();
            transactions.begin(Time::ZERO, &begin, &[], &mut out).unwrap();
            match out.pop() {
                Some(tcap::Out::Unitdata(it)) => it,
                other => panic!("{other:?}"),
            }
        };
        let mut data = Vec::new();
        Writer::end(TransactionId::of(5)).write(&mut data, |_| ());
        let address = Address::subsystem(None, 8);
        let class = Class { is_sequenced: true, returns: true };
        let (sls, importance, data) = (0, None, Bytes::from(data));
        let end = Unitdata { called: address, calling: address, class, sls, importance, data };
        let turn = [begin(1), begin(2), end.clone()];
        let lead = |batches: &mut Batches| {
            batches.now = Batch {
                gone: vec![(1, 7), (2, 8)],
                partitions: followed(&[1, 2]),
                unitdata: turn.to_vec(),
                ..Batch::default()
            };
            assert!(batches.end(Vec::new()).is_none());
        };
        let mut batches = Batches::default();
        lead(&mut batches);
        assert_eq!(batches.drop_of(1), 1);
        let left = batches.next(followed(&[]), |_| true).unwrap();
        assert_eq!((left.gone, left.unitdata), (vec![(2, 8)], turn[1..].to_vec()));
        assert!(batches.is_empty());
        lead(&mut batches);
        let handed = batches.take_of(2);
        assert_eq!((&handed[0].gone, &handed[0].unitdata), (&vec![(2, 8)], &turn[1..2].to_vec()));
        let left = batches.next(followed(&[]), |_| true).unwrap();
        assert_eq!((left.gone, left.unitdata), (vec![(1, 7)], vec![turn[0].clone(), end]));
    }

    #[test]
    fn a_slot_that_has_another_dialogue_is_not_said_to_be_empty() {
        let mut batches = Batches::default();
        batches.now.gone.push((1, 7));
        of(&mut batches, 1, 1);
        batches.now.gone.push((1, 8));
        batches.stands(1, 7);
        batches.stands(1, 8);
        assert!(batches.now.gone.is_empty());
        assert!(batches.next(followed(&[]), |_| true).unwrap().gone.is_empty());
    }
}
