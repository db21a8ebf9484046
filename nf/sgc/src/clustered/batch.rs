//! What a message has led to, until it may leave.

use cluster::{Cluster, Hold, Partition};
use machine::Time;
use sccp::Unitdata;
use std::collections::VecDeque;
use tcu::Wanted;

/// Batches that wait, at most: beyond them no dialogue begins.
const BATCHES_MAX: usize = 65_536;

/// What one turn has led to.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// What the standbys have to have before.
    pub(crate) holds: Vec<Hold>,
    /// Dialogues that are over: the standbys hear so when that was said.
    pub(crate) gone: Vec<(Partition, u32)>,
    /// The partitions that it is of.
    pub(crate) partitions: Vec<Partition>,
    pub(crate) unitdata: Vec<Unitdata>,
    pub(crate) wanted: Vec<Wanted>,
    /// The association that has led to it: what leaves goes to where that may send.
    pub(crate) by: Option<m3ua::PeerId>,
}

impl Batch {
    /// Whether it told of a dialogue that stands.
    pub(crate) fn has_told(&self) -> bool {
        !self.partitions.is_empty()
    }

    fn is_open(&self, now: Time, cluster: &Cluster) -> bool {
        cluster.may_serve(now) && self.holds.iter().all(|it| cluster.is_open(it))
    }
}

/// Those that wait, in their order.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    waiting: VecDeque<Batch>,
    /// What this turn leads to.
    pub(crate) now: Batch,
}

impl Batches {
    /// The turn is over. What told nothing leaves at once; but who is closed is told what waits for
    /// him before.
    pub(crate) fn end(&mut self, wanted: Vec<Wanted>) -> Option<Batch> {
        let mut batch = core::mem::take(&mut self.now);
        batch.wanted.extend(wanted);
        let closes = batch.wanted.iter().any(|it| matches!(it, Wanted::Close(_)));
        let follows = batch.has_told() || closes;
        if !batch.holds.is_empty() || (follows && !self.waiting.is_empty()) {
            self.waiting.push_back(batch);
            return None;
        }
        Some(batch)
    }

    /// Whether this turn has led to more since it ended.
    pub(crate) fn has_more(&self) -> bool {
        self.now.has_told() || !self.now.unitdata.is_empty()
    }

    /// The next one that may leave.
    pub(crate) fn next(&mut self, now: Time, cluster: &Cluster) -> Option<Batch> {
        self.waiting.pop_front_if(|it| it.is_open(now, cluster))
    }

    /// A dialogue stands where another one is over that was not told: it is told by this.
    pub(crate) fn stands(&mut self, partition: Partition, slot: u32) {
        let all = self.waiting.iter_mut().chain([&mut self.now]);
        all.for_each(|it| it.gone.retain(|of| *of != (partition, slot)));
    }

    /// What waits of a partition that is handed over: it may leave, for who serves now has it.
    pub(crate) fn take_of(&mut self, partition: Partition) -> Vec<Batch> {
        let is_of = |it: &Batch| it.partitions.contains(&partition);
        let (of, rest): (VecDeque<Batch>, VecDeque<Batch>) =
            core::mem::take(&mut self.waiting).into_iter().partition(is_of);
        self.waiting = rest;
        of.into()
    }

    /// Another node serves that partition now: what was to be said of it, it says.
    pub(crate) fn drop_of(&mut self, partition: Partition) -> u64 {
        let mut count = 0;
        for it in self.waiting.iter_mut().filter(|it| it.partitions.contains(&partition)) {
            count += 1;
            it.unitdata.clear();
            it.wanted.retain(|it| matches!(it, Wanted::Close(_)));
        }
        count
    }

    /// Batches that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether so many wait that nothing more may begin.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= BATCHES_MAX
    }
}
