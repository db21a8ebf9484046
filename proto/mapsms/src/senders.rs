//! What each sender may do: how many messages, and which of them came already.

use crate::buckets::Buckets;
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
    /// A service centre was asked to take it, here or by another node: nobody knows whether it did.
    Asked(Asked),
}

/// A message that a service centre was asked to take, which has not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// It is debited, and to be refunded where it is not taken.
    pub is_debited: bool,
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

    /// What each sender has used of his rate.
    pub const fn buckets(&mut self) -> &mut Buckets {
        &mut self.buckets
    }

    /// What is known of a message by its sum; it is under way from now on if nothing was, or if
    /// nobody knows whether it was taken.
    pub fn seen(&mut self, now: Time, sum: u64) -> Option<Known> {
        self.tick(now);
        let known = self.seen.get(&sum).map(|it| it.0.clone());
        if matches!(known, None | Some(Known::Asked(_))) {
            self.keep(now + self.time, sum, Known::UnderWay);
        }
        known
    }

    /// Knows a message until then; of too many, the first ones are forgotten.
    fn keep(&mut self, until: Time, sum: u64, known: Known) {
        // Those that were forgotten early stand here until their time is over.
        if self.due.len() >= REMEMBERED_MAX {
            self.forget_first();
        }
        self.count += 1;
        self.seen.insert(sum, (known, self.count));
        self.due.push_back((until, sum, self.count));
    }

    /// A message was taken by whoever had the rows before: it is known as one that was taken here.
    pub fn was_taken(&mut self, now: Time, sum: u64, at: Time) {
        self.remember(now, sum, at, Known::Taken(at));
    }

    /// What whoever had the rows before knew of a message that came then. Of more than are
    /// remembered the last to come stay: they are in doubt, and come again at once.
    pub fn remember(&mut self, now: Time, sum: u64, at: Time, known: Known) {
        if sum != 0 && at + self.time > now {
            self.keep(at + self.time, sum, known);
        }
    }

    /// When a message was taken by whoever had the rows before, if it was.
    #[must_use]
    pub fn taken_at(&self, sum: u64) -> Option<Time> {
        match self.seen.get(&sum)?.0 {
            Known::Taken(at) => Some(at),
            Known::UnderWay | Known::Reported(_) | Known::Asked(_) => None,
        }
    }

    /// A message failed for a reason that passes: it is new when it comes again.
    pub fn forget(&mut self, sum: u64) {
        self.seen.remove(&sum);
    }

    /// Nobody knows whether a service centre took a message: that is told when it comes again.
    pub fn unanswered(&mut self, sum: u64, asked: Asked) {
        if let Some((known, _)) = self.seen.get_mut(&sum) {
            *known = Known::Asked(asked);
        }
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
    use crate::identity::Msisdn;

    #[test]
    fn a_message_is_known_for_its_time_and_a_sender_has_his_rate() {
        let (rate, now) = (Rate::new(1.0, Some(2)), Time::from_millis(1));
        let mut senders = Senders::new(rate, Duration::from_secs(10));
        let sender = Msisdn::of("44").unwrap();
        let admitted: Vec<_> = (0..3).map(|_| senders.buckets().admit(now, &sender)).collect();
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
    fn what_another_node_was_asking_for_is_under_way_once_it_comes_again() {
        let now = Time::from_millis(20_000);
        let mut senders = Senders::new(Rate::new(1.0, Some(2)), Duration::from_secs(10));
        let asked = Known::Asked(Asked { is_debited: true });
        senders.remember(now, 3, now, asked.clone());
        senders.remember(now, 4, now, Known::Reported(vec![3]));
        assert_eq!(senders.seen(now, 3), Some(asked));
        assert_eq!(senders.seen(now, 3), Some(Known::UnderWay), "it is asked for once");
        senders.unanswered(3, Asked::default());
        assert_eq!(senders.seen(now, 3), Some(Known::Asked(Asked::default())));
        assert_eq!(senders.seen(now, 4), Some(Known::Reported(vec![3])));
        assert_eq!(senders.seen(now + Duration::from_secs(10), 3), None, "its time is over");
    }

    #[test]
    fn a_message_that_comes_again_is_under_way_for_its_whole_time() {
        let at = |s: u64| Time::from_millis(s * 1_000);
        let mut senders = Senders::new(Rate::new(1.0, Some(2)), Duration::from_secs(10));
        let asked = Known::Asked(Asked::default());
        senders.remember(at(1), 3, at(1), asked.clone());
        assert_eq!(senders.seen(at(9), 3), Some(asked));
        assert_eq!(senders.seen(at(18), 3), Some(Known::UnderWay));
        assert_eq!(senders.seen(at(19), 3), None, "its time is over");
    }

    #[test]
    fn of_too_many_that_another_node_took_the_last_to_come_are_known() {
        let (last, now) = (REMEMBERED_MAX as u64 + 1, Time::from_millis(1));
        let mut senders = Senders::new(Rate::new(1.0, Some(2)), Duration::from_secs(10));
        for sum in 1..=last {
            senders.remember(now, sum, now, Known::Asked(Asked::default()));
        }
        assert_eq!((senders.due.len(), senders.seen.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
        assert_eq!(senders.seen(now, last), Some(Known::Asked(Asked::default())));
        assert_eq!(senders.seen(now, 1), None);
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
