//! Numbers that another node of a pair has to know before they are used: it goes on behind what it
//! was told last, so that no number is used twice under one key.
//!
//! ```text
//!            used        granted              promised
//!   ───────────┼────────────┼────────────────────┤
//!     spent    │ may be used│ told, not applied yet
//! ```
//! A block is asked for when half of the one before is used. It is told at once, and granted when
//! the other node has applied that, or when that one could not be current any more without: who
//! takes over and lacks what was told so long ago forgets all keys. What would leave before is
//! dropped. Who takes over begins behind what was promised.

use crate::set::Lane;
use machine::slots::Key;
use machine::{Duration, Time};
use std::collections::VecDeque;

/// Numbers that are promised at once.
pub const BLOCK: u32 = 4_096;

/// A node that has not applied what was told so long ago is not current: it may be so for 4 s
/// (`node/replica`, freshness).
pub(crate) const STALE: Duration = Duration::from_secs(5);

/// A block of an association that is not granted yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promise {
    pub set: Key,
    pub lane: Lane,
    pub up_to: u64,
}

/// A promise that was told.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Time,
    is_told: bool,
    /// The mark behind which it was told.
    mark: Option<u64>,
    promise: Promise,
}

/// Promises of one shard: each association waits for one at most.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    /// Whether another node is there that says what it has applied.
    is_followed: bool,
    asked: Vec<Promise>,
    waiting: VecDeque<Waiting>,
    /// The mark that was set last, until it is heard of.
    marked: Option<u64>,
    marks: u64,
}

impl Promises {
    /// An association wants its next block.
    pub fn ask(&mut self, promise: Promise) {
        self.asked.push(promise);
    }

    /// What was asked for is told in this step. What may be granted because it was told long ago.
    pub fn tick(&mut self, now: Time) -> Vec<Promise> {
        let asked = |promise| Waiting { since: now, is_told: false, mark: None, promise };
        self.waiting.extend(self.asked.drain(..).map(asked));
        let mut granted = Vec::new();
        while let Some(first) = self.waiting.pop_front_if(|it| it.since + STALE <= now) {
            granted.push(first.promise);
        }
        // What was said to a mark may have been lost on its way: others go on by the next one.
        let is_over = |mark| !self.waiting.iter().any(|it| it.mark == Some(mark));
        if !granted.is_empty() && self.marked.is_some_and(is_over) {
            self.marked = None;
        }
        granted
    }

    /// Sets that have a promise which was not told yet. Whoever asks tells them.
    pub fn untold(&mut self) -> Vec<Key> {
        let untold = self.waiting.iter_mut().rev().take_while(|it| !it.is_told);
        let keys = untold.map(|it| {
            it.is_told = true;
            it.promise.set
        });
        keys.collect()
    }

    /// The mark that shall stand behind all that has been told by now, if any: one at a time.
    pub fn mark(&mut self) -> Option<u64> {
        let is_new = |it: &Waiting| it.mark.is_none();
        if !self.is_followed || self.marked.is_some() || !self.waiting.iter().any(is_new) {
            return None;
        }
        self.marks += 1;
        self.marked = Some(self.marks);
        self.waiting.iter_mut().filter(|it| is_new(it)).for_each(|it| it.mark = self.marked);
        self.marked
    }

    /// The other node follows, and has applied all up to a mark (zero: none yet); `None`: none
    /// does. What is granted by that.
    pub fn followed(&mut self, mark: Option<u64>) -> Vec<Promise> {
        self.is_followed = mark.is_some();
        if mark.is_none() {
            self.unmark();
        }
        if self.marked.is_none() || self.marked != mark {
            return Vec::new();
        }
        self.marked = None;
        let reached = self.waiting.iter().filter(|it| it.mark == mark).map(|it| it.promise);
        let reached = reached.collect();
        self.waiting.retain(|it| it.mark != mark);
        reached
    }

    /// The other node is told everything anew: what was marked is not heard of any more.
    pub fn anew(&mut self) {
        self.is_followed = true;
        self.unmark();
    }

    /// There are no sets any more: nothing waits.
    pub fn forget(&mut self) {
        self.asked.clear();
        self.waiting.clear();
    }

    fn unmark(&mut self) {
        self.marked = None;
        self.waiting.iter_mut().for_each(|it| it.mark = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(index: u32) -> Promise {
        let set = Key { index, generation: 0 };
        Promise { set, lane: Lane::First, up_to: 8_192 }
    }

    #[test]
    fn a_block_is_granted_when_it_was_applied_or_when_it_was_told_long_ago() {
        let (mut promises, now) = (Promises::default(), Time::from_millis(1_000));
        promises.anew();
        assert_eq!(promises.mark(), None);
        promises.ask(promise(1));
        assert_eq!((promises.tick(now), promises.mark()), (vec![], Some(1)));
        promises.ask(promise(2));
        assert_eq!((promises.tick(now), promises.mark()), (vec![], None), "one at a time");
        assert_eq!(promises.followed(Some(7)), []);
        assert_eq!(promises.followed(Some(0)), []);
        assert_eq!(promises.followed(Some(1)), [promise(1)]);
        assert_eq!(promises.mark(), Some(2));
        // Another stream: the mark is lost.
        promises.anew();
        assert_eq!(promises.followed(Some(2)), []);
        assert_eq!(promises.mark(), Some(3));
        // Nobody follows.
        assert_eq!((promises.followed(None), promises.mark()), (vec![], None));
        assert_eq!(promises.untold(), [promise(2).set]);
        assert_eq!(promises.untold(), []);
        let later = now + STALE;
        assert_eq!(promises.tick(Time::from_millis(5_999)), []);
        assert_eq!(promises.tick(later), [promise(2)]);
        assert_eq!(promises.tick(later + STALE), []);
    }

    #[test]
    fn a_mark_of_which_nobody_hears_does_not_hold_up_those_behind_it() {
        let (mut promises, now) = (Promises::default(), Time::from_millis(1_000));
        promises.anew();
        promises.ask(promise(1));
        assert_eq!((promises.tick(now), promises.mark()), (vec![], Some(1)));
        // What would be said to it is lost; meanwhile another block is asked for.
        let later = now + STALE;
        promises.ask(promise(2));
        assert_eq!((promises.tick(later), promises.mark()), (vec![promise(1)], Some(2)));
        assert_eq!(promises.followed(Some(1)), [], "it comes late");
        assert_eq!(promises.followed(Some(2)), [promise(2)]);
    }
}
