//! What each sender may do: how many messages, and which of them came already.

use crate::buckets::Buckets;
use crate::identity::Msisdn;
use machine::bucket::Rate;
use machine::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Messages that are remembered.
const REMEMBERED_MAX: usize = 100_000;

/// A message of a terminal that came already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// Its flow is under way.
    UnderWay,
    /// It has been reported: that report again.
    Reported(Vec<u8>),
    /// Another node, or another start of this one, took it then.
    Taken(Time),
}

/// Who sends.
#[derive(Debug)]
pub struct Senders {
    buckets: Buckets,
    time: Duration,
    seen: BTreeMap<u64, (Known, u64)>,
    due: VecDeque<(Time, u64, u64)>,
    count: u64,
}

impl Senders {
    /// Nobody yet.
    #[must_use]
    pub const fn new(rate: Rate, time: Duration) -> Self {
        Self {
            buckets: Buckets::new(rate),
            time,
            seen: BTreeMap::new(),
            due: VecDeque::new(),
            count: 0,
        }
    }

    /// Takes another rate, and another time.
    pub const fn configure(&mut self, rate: Rate, time: Duration) {
        self.buckets.configure(rate);
        self.time = time;
    }

    /// Whether a sender may send one more, which is counted then.
    pub fn admit(&mut self, now: Time, sender: &Msisdn) -> bool {
        self.buckets.admit(now, sender)
    }

    /// What is known of a message by its sum; it is under way from now on if nothing was.
    pub fn seen(&mut self, now: Time, sum: u64) -> Option<Known> {
        self.tick(now);
        if let Some((known, _)) = self.seen.get(&sum) {
            return Some(known.clone());
        }
        // Those that were forgotten early stand here until their time is over.
        if self.due.len() >= REMEMBERED_MAX {
            self.forget_first();
        }
        self.count += 1;
        self.seen.insert(sum, (Known::UnderWay, self.count));
        self.due.push_back((now + self.time, sum, self.count));
        None
    }

    /// A message was taken by whoever had the rows before: it is known as one that was taken here.
    pub fn was_taken(&mut self, now: Time, sum: u64, at: Time) {
        if sum == 0 || at + self.time <= now || self.due.len() >= REMEMBERED_MAX {
            return;
        }
        self.count += 1;
        self.seen.insert(sum, (Known::Taken(at), self.count));
        self.due.push_back((at + self.time, sum, self.count));
    }

    /// When a message was taken by whoever had the rows before, if it was.
    #[must_use]
    pub fn taken_at(&self, sum: u64) -> Option<Time> {
        match self.seen.get(&sum)?.0 {
            Known::Taken(at) => Some(at),
            Known::UnderWay | Known::Reported(_) => None,
        }
    }

    /// A message failed for a reason that passes: it is new when it comes again.
    pub fn forget(&mut self, sum: u64) {
        self.seen.remove(&sum);
    }

    /// A message was reported, and shall be so again if it comes again.
    pub fn reported(&mut self, sum: u64, report: &[u8]) {
        if let Some((known, _)) = self.seen.get_mut(&sum) {
            *known = Known::Reported(report.to_vec());
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, sum, count)) = self.due.pop_front()
            && self.seen.get(&sum).is_some_and(|it| it.1 == count)
        {
            self.seen.remove(&sum);
        }
    }

    /// Forgets messages whose time is over.
    pub fn tick(&mut self, now: Time) {
        while self.due.front().is_some_and(|it| it.0 <= now) {
            self.forget_first();
        }
    }

    /// When the next message is forgotten.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.due.front().map(|it| it.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_known_for_its_time_and_a_sender_has_his_rate() {
        let (rate, now) = (Rate::new(1.0, Some(2)), Time::from_millis(1));
        let mut senders = Senders::new(rate, Duration::from_secs(10));
        let sender = Msisdn::of("44").unwrap();
        let admitted: Vec<_> = (0..3).map(|_| senders.admit(now, &sender)).collect();
        assert_eq!(admitted, [true, true, false]);
        assert_eq!(senders.seen(now, 7), None);
        assert_eq!(senders.seen(now, 7), Some(Known::UnderWay));
        senders.reported(7, &[3, 1]);
        assert_eq!(senders.seen(now, 7), Some(Known::Reported(vec![3, 1])));
        assert_eq!(senders.seen(senders.deadline().unwrap(), 7), None);
    }

    #[test]
    fn what_another_node_took_is_known_for_as_long_as_what_was_taken_here() {
        let now = Time::from_millis(20_000);
        let at = |s: u64| Time::from_millis(s * 1_000);
        let mut senders = Senders::new(Rate::new(1.0, Some(2)), Duration::from_secs(10));
        for (sum, taken) in [(1, 10), (2, 11), (0, 12)] {
            senders.was_taken(now, sum, at(taken));
        }
        assert_eq!([0, 1, 2].map(|it| senders.taken_at(it)), [None, None, Some(at(11))]);
        assert_eq!(senders.seen(now, 2), Some(Known::Taken(at(11))));
        senders.reported(2, &[3]);
        assert_eq!(senders.seen(now, 2), Some(Known::Reported(vec![3])));
        assert_eq!(senders.seen(at(21), 2), None, "its time is over");
    }

    #[test]
    fn messages_that_fail_and_come_again_take_no_more_room_than_others() {
        let now = Time::from_millis(1);
        let mut senders = Senders::new(Rate::new(1.0, Some(2)), Duration::from_secs(10));
        for sum in 0..REMEMBERED_MAX as u64 + 10 {
            assert_eq!(senders.seen(now, sum), None);
            senders.forget(sum);
        }
        assert_eq!((senders.due.len(), senders.seen.len()), (REMEMBERED_MAX, 0));
    }
}
