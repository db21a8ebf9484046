//! Messages that came for a partition while nobody served it: they wait for a moment, and in their
//! order.

use crate::partition::PartitionSet;
use machine::{Duration, Time};
use runtime::NodeId;
use std::collections::VecDeque;

/// Messages that wait, at most.
const EARLY_MAX: usize = 8_192;
/// How long they wait: whoever serves it is known by then, or nobody does.
const EARLY_FOR: Duration = Duration::from_secs(2);

/// Who serves a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// This node.
    Here,
    /// Another one, that is heard.
    At(NodeId),
    /// Nobody yet.
    Nowhere,
}

#[derive(Debug)]
struct Waiting<W> {
    until: Time,
    /// When it is tried again, whatever is heard.
    again: Time,
    partition: u8,
    hops: u8,
    work: W,
}

/// What becomes of those that wait.
#[derive(Debug)]
pub(crate) struct Sorted<W> {
    /// What is served here: how often it has crossed, and what it is.
    pub(crate) here: Vec<(u8, W)>,
    pub(crate) elsewhere: Vec<(NodeId, u8, W)>,
    /// Those that nobody has served in time.
    pub(crate) lost: u64,
}

/// Those that wait.
#[derive(Debug)]
pub(crate) struct Early<W> {
    waiting: VecDeque<Waiting<W>>,
    /// The partitions that they are of.
    partitions: PartitionSet,
    /// When they are looked at next; none: nothing waits.
    look: Option<Time>,
}

impl<W> Early<W> {
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::new(), partitions: PartitionSet::default(), look: None }
    }

    /// Whether something waits for a partition: what comes later is served later.
    pub(crate) const fn has(&self, partition: u8) -> bool {
        self.partitions.has(partition)
    }

    /// Lets work that has crossed so often wait, and looks at it again after `pause` at the latest.
    /// Whether there is room.
    pub(crate) fn keep(
        &mut self,
        now: Time,
        partition: u8,
        hops: u8,
        work: W,
        pause: Duration,
    ) -> bool {
        let has_room = self.waiting.len() < EARLY_MAX;
        if has_room {
            let (until, again) = (now + EARLY_FOR, now + pause.min(EARLY_FOR));
            self.waiting.push_back(Waiting { until, again, partition, hops, work });
            self.partitions.set(partition, true);
            self.look = Some(self.look.map_or(again, |look| look.min(again)));
        }
        has_room
    }

    /// Somebody else serves, or is heard, from now on.
    pub(crate) fn news(&mut self, now: Time) {
        self.look = self.look.map(|look| look.min(now));
    }

    /// When they want to be looked at.
    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.look
    }

    /// Takes those that somebody serves now, where it is time to look. Of a partition either all
    /// are taken, or none.
    pub(crate) fn sort(&mut self, now: Time, place: impl Fn(u8) -> Place) -> Sorted<W> {
        let mut sorted = Sorted { here: Vec::new(), elsewhere: Vec::new(), lost: 0 };
        if self.look.is_none_or(|look| look > now) {
            return sorted;
        }
        (self.look, self.partitions) = (None, PartitionSet::default());
        for it in core::mem::take(&mut self.waiting) {
            match place(it.partition) {
                Place::Here => sorted.here.push((it.hops, it.work)),
                Place::At(node) => sorted.elsewhere.push((node, it.hops, it.work)),
                Place::Nowhere if it.until <= now => sorted.lost += 1,
                Place::Nowhere => {
                    let next = if it.again > now { it.again } else { it.until };
                    self.look = Some(self.look.map_or(next, |look| look.min(next)));
                    self.partitions.set(it.partition, true);
                    self.waiting.push_back(it);
                }
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Time {
        Time::from_millis(milliseconds)
    }

    #[test]
    fn what_waits_leaves_in_order_when_somebody_serves_and_has_crossed_as_often_as_before() {
        let mut early = Early::new();
        let pause = EARLY_FOR;
        for (hops, work) in [(0, "a"), (1, "b")] {
            assert!(early.keep(ms(10), 3, hops, work, pause));
        }
        assert!(early.keep(ms(10), 4, 2, "c", pause));
        assert!(early.has(3) && early.has(4) && !early.has(5));
        let place = |partition| if partition == 3 { Place::Here } else { Place::At(NodeId(2)) };
        assert!(early.sort(ms(20), place).here.is_empty(), "nothing has changed");
        early.news(ms(20));
        let sorted = early.sort(ms(20), place);
        assert_eq!(sorted.here, [(0, "a"), (1, "b")]);
        assert_eq!((sorted.elsewhere, sorted.lost), (vec![(NodeId(2), 2, "c")], 0));
        assert!(early.deadline().is_none() && !early.has(3));
    }

    #[test]
    fn what_nobody_serves_in_time_is_lost_and_there_are_not_more_than_may_be() {
        let mut early = Early::new();
        assert!(early.keep(ms(0), 3, 0, (), Duration::from_millis(20)));
        assert_eq!(early.deadline(), Some(ms(20)));
        assert_eq!(early.sort(ms(20), |_| Place::Nowhere).lost, 0);
        assert_eq!(early.deadline(), Some(ms(2_000)));
        assert_eq!(early.sort(ms(2_000), |_| Place::Nowhere).lost, 1);
        assert!((0..EARLY_MAX).all(|_| early.keep(ms(1), 3, 0, (), EARLY_FOR)));
        assert!(!early.keep(ms(1), 3, 0, (), EARLY_FOR));
    }
}
