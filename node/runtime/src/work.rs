//! Work that one shard's function hands to a sibling's: a bounded queue for each pair of shards.
//!
//! ```text
//! shard 0 ─ Effects::hand ─→ Batch ─┬→ queue 0→1 ─→ WorkQueue of 1 ─ In::Work ─→ function
//!                                   └─ no room ──→ WorkQueue of 0 ─ In::HandedBack ─→ function
//! ```
//! What one flush has for a shard travels as one batch. A batch that finds its queue full waits and
//! takes more until it is full itself; what comes then is handed back. So one shard that is slow
//! costs others no more than a queue, and work between two shards keeps its order.
//!
//! A function that panics over a piece of work loses that piece: the queues, the rest of the batch
//! and what came back are there for the function that is made anew. Only of a shard that has failed
//! for good the queues are lost; what is handed to it comes back.

use crate::function::In;
use crate::metrics::RuntimeMetric;
use crate::ring::Mailbox;
use crossbeam_queue::ArrayQueue;
use event::Metrics;
use machine::Time;
use machine::narrow::{index, place};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

/// Batches that wait in one queue.
const QUEUE_BATCHES_MAX: usize = 64;
/// Pieces of work of one batch.
const BATCH_WORKS_MAX: usize = 1_024;
/// Octets after which a batch is full.
const BATCH_BYTES: usize = 64 << 10;

/// What one flush of one shard has for another.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// When the first of it was handed over.
    pub(crate) handed: Time,
    /// The shard that it comes from; where it came back, the one that did not take it.
    other: u16,
    came_back: bool,
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Batch {
    fn is_full(&self) -> bool {
        self.ends.len() >= BATCH_WORKS_MAX || self.bytes.len() >= BATCH_BYTES
    }

    fn push(&mut self, now: Time, work: &[u8]) {
        if self.ends.is_empty() {
            self.handed = now;
        }
        self.bytes.extend_from_slice(work);
        self.ends.push(place(self.bytes.len()));
    }

    /// Piece number `at`, as the function is told it.
    fn piece(&self, at: usize) -> Option<In<'_>> {
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let (other, work) = (self.other, &self.bytes[start..end]);
        Some(match self.came_back {
            true => In::HandedBack { to: other, work },
            false => In::Work { from: other, work },
        })
    }
}

/// What waits for one shard, queue by queue of those that handed it over.
#[derive(Debug)]
pub(crate) struct Queues(Box<[ArrayQueue<Batch>]>);

impl Queues {
    /// Queues from so many shards.
    pub(crate) fn new(shards: u16) -> Self {
        Self((0..shards).map(|_| ArrayQueue::new(QUEUE_BATCHES_MAX)).collect())
    }

    pub(crate) fn are_empty(&self) -> bool {
        self.0.iter().all(ArrayQueue::is_empty)
    }
}

/// One shard's work: on its way out, at hand, and come back.
#[derive(Debug)]
pub(crate) struct WorkQueue {
    own: u16,
    /// What waits for room, shard by shard.
    out: Vec<Batch>,
    /// What the function is told now, and how much of it was.
    at_hand: Option<(Batch, usize)>,
    back: VecDeque<Batch>,
    /// Whose queue is looked at next.
    next: usize,
}

impl WorkQueue {
    /// That of shard `own` of so many.
    pub(crate) fn new(own: u16, shards: u16) -> Self {
        let out = (0..shards).map(|_| Batch { other: own, ..Batch::default() }).collect();
        Self { own, out, at_hand: None, back: VecDeque::new(), next: 0 }
    }

    /// Whether anything lies here.
    pub(crate) fn has_any(&self) -> bool {
        self.at_hand.is_some()
            || !self.back.is_empty()
            || self.out.iter().any(|batch| !batch.ends.is_empty())
    }

    /// Hands work over, each piece with the number of its shard.
    pub(crate) fn hand<'a>(
        &mut self,
        now: Time,
        works: impl Iterator<Item = (u16, &'a [u8])>,
        mailboxes: &[Mailbox],
        metrics: &Metrics<RuntimeMetric>,
    ) {
        for (to, work) in works {
            let at = usize::from(to);
            if self.out.get(at).is_some_and(Batch::is_full) {
                self.dispatch(at, mailboxes, metrics);
            }
            match self.out.get_mut(at) {
                Some(batch) if !batch.is_full() => batch.push(now, work),
                _ => {
                    metrics.add(RuntimeMetric::HandedBack, 1);
                    self.give_back(now, to, work);
                }
            }
        }
        self.post(mailboxes, metrics);
    }

    /// Sends what waits, as far as there is room.
    pub(crate) fn post(&mut self, mailboxes: &[Mailbox], metrics: &Metrics<RuntimeMetric>) {
        for at in 0..self.out.len() {
            if !self.out[at].ends.is_empty() {
                self.dispatch(at, mailboxes, metrics);
            }
        }
    }

    fn dispatch(&mut self, at: usize, mailboxes: &[Mailbox], metrics: &Metrics<RuntimeMetric>) {
        let fresh = Batch { other: self.own, ..Batch::default() };
        let batch = std::mem::replace(&mut self.out[at], fresh);
        let mailbox = &mailboxes[at];
        if !mailbox.open.load(Relaxed) {
            metrics.add(RuntimeMetric::HandedBack, batch.ends.len() as u64);
            return self.back.push_back(Batch { other: index(at), came_back: true, ..batch });
        }
        if let Err(batch) = mailbox.work.0[usize::from(self.own)].push(batch) {
            self.out[at] = batch;
        }
        mailbox.waker.wake();
    }

    fn give_back(&mut self, now: Time, to: u16, work: &[u8]) {
        let fits = |last: &&mut Batch| last.other == to && !last.is_full();
        match self.back.back_mut().filter(fits) {
            Some(last) => last.push(now, work),
            None => {
                let mut batch = Batch { other: to, came_back: true, ..Batch::default() };
                batch.push(now, work);
                self.back.push_back(batch);
            }
        }
    }

    /// How many batches have come back.
    pub(crate) fn came_back(&self) -> usize {
        self.back.len()
    }

    /// The next batch: the rest of the one at hand, what came back, then one queue after the other.
    pub(crate) fn lay_next(&mut self, queues: &Queues) -> Option<Time> {
        if self.at_hand.is_none() {
            let next = self.back.pop_front().or_else(|| self.pop(queues));
            self.at_hand = next.map(|batch| (batch, 0));
        }
        self.at_hand.as_ref().map(|(batch, _)| batch.handed)
    }

    fn pop(&mut self, queues: &Queues) -> Option<Batch> {
        for _ in 0..queues.0.len() {
            let queue = &queues.0[self.next];
            self.next = (self.next + 1) % queues.0.len();
            if let Some(batch) = queue.pop() {
                return Some(batch);
            }
        }
        None
    }

    /// The next piece of the batch at hand. It counts as done before the function sees it.
    pub(crate) fn take(&mut self) -> Option<In<'_>> {
        if self.at_hand.as_ref().is_some_and(|(batch, at)| *at == batch.ends.len()) {
            self.at_hand = None;
        }
        let (batch, at) = self.at_hand.as_mut()?;
        *at += 1;
        batch.piece(*at - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two shards: their mailboxes, and the queue of each.
    struct Pair {
        mailboxes: Vec<Mailbox>,
        queues: [WorkQueue; 2],
        metrics: Metrics<RuntimeMetric>,
    }

    impl Pair {
        fn new() -> Self {
            let mailboxes = (0..2).map(|_| Mailbox::new(2).unwrap()).collect();
            Self {
                mailboxes,
                queues: [WorkQueue::new(0, 2), WorkQueue::new(1, 2)],
                metrics: Metrics::new(),
            }
        }

        /// The first shard hands these numbers to a shard.
        fn hand(&mut self, to: u16, numbers: std::ops::Range<u32>) {
            let octets: Vec<[u8; 4]> = numbers.map(u32::to_be_bytes).collect();
            let works = octets.iter().map(|octets| (to, &octets[..]));
            self.queues[0].hand(Time::ZERO, works, &self.mailboxes, &self.metrics);
        }

        /// What a shard finds: numbers that were handed to it, and such as came back.
        fn found(&mut self, shard: usize) -> (Vec<u32>, Vec<u32>) {
            let (mut work, mut back) = (Vec::new(), Vec::new());
            while self.queues[shard].lay_next(&self.mailboxes[shard].work).is_some() {
                while let Some(input) = self.queues[shard].take() {
                    let number = |octets: &[u8]| u32::from_be_bytes(octets.try_into().unwrap());
                    match input {
                        In::Work { from: 0, work: octets } => work.push(number(octets)),
                        In::HandedBack { work: octets, .. } => back.push(number(octets)),
                        other => panic!("{other:?}"),
                    }
                }
            }
            self.queues[0].post(&self.mailboxes, &self.metrics);
            (work, back)
        }
    }

    #[test]
    fn what_finds_no_room_comes_back_and_the_rest_arrives_in_order() {
        let mut pair = Pair::new();
        let room = place((QUEUE_BATCHES_MAX + 1) * BATCH_WORKS_MAX);
        pair.hand(1, 0..room + 3);
        assert_eq!(pair.found(0), (Vec::new(), (room..room + 3).collect()));
        let all: Vec<u32> = (0..room).collect();
        let (first, _) = pair.found(1);
        let (rest, _) = pair.found(1);
        assert_eq!([first, rest].concat(), all);
        assert!(!pair.queues[0].has_any() && pair.mailboxes[1].work.are_empty());
    }

    #[test]
    fn a_crowd_of_small_batches_is_not_handed_back() {
        let mut pair = Pair::new();
        (0..500).for_each(|number| pair.hand(1, number..number + 1));
        let (first, _) = pair.found(1);
        let (rest, _) = pair.found(1);
        assert_eq!([first, rest].concat(), (0..500).collect::<Vec<u32>>());
        assert_eq!(pair.found(0), (Vec::new(), Vec::new()));
    }

    #[test]
    fn what_is_handed_to_a_shard_that_is_none_or_has_failed_comes_back() {
        let mut pair = Pair::new();
        pair.hand(7, 0..2);
        assert_eq!(pair.found(0), (Vec::new(), vec![0, 1]));
        pair.mailboxes[1].open.store(false, Relaxed);
        pair.hand(1, 2..4);
        assert_eq!(pair.found(0), (Vec::new(), vec![2, 3]));
    }

    #[test]
    fn a_shard_may_hand_work_to_itself() {
        let mut pair = Pair::new();
        pair.hand(0, 0..3);
        assert_eq!(pair.found(0), (vec![0, 1, 2], Vec::new()));
    }

    #[test]
    fn a_piece_that_was_taken_does_not_come_again_after_a_panic_but_those_behind_it_do() {
        let mut pair = Pair::new();
        pair.hand(1, 0..3);
        pair.queues[1].lay_next(&pair.mailboxes[1].work).unwrap();
        let first = format!("{:?}", pair.queues[1].take().unwrap());
        assert!(first.contains("[0, 0, 0, 0]"), "{first}");
        assert_eq!(pair.found(1).0, [1, 2]);
    }
}
