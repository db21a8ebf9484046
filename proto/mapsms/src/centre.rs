//! The service centre's messages that wait (TS 23.040 §3.1): in the order in which they came for
//! each receiver, one of them under way at a time, tried again by a plan until their time is over.
//!
//! ```text
//!   reserve ─→ insert ─→ due ─→ under way ─→ done
//!                         ↑         │
//!                         └─ postponed by the plan, or until the receiver is reachable
//! ```

use crate::identity::Msisdn;
use machine::shares::Shares;
use machine::{Duration, Time};
use sms::Address;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What did not find room among the flows is tried again so soon.
const CROWDED: Duration = Duration::from_secs(1);
/// Between two receivers whose messages found no next hop before there was one.
const APART: Duration = Duration::from_millis(5);
/// Why a message waits that found no next hop.
pub const UNROUTED: &str = "no next hop takes it";
/// Why a message waits whose attempt failed before this node had it: its reason is not stored.
pub const TRIED: &str = "tried in vain before a restart, or by another node";

/// A message that the centre has taken: a TPDU as it is delivered, and what is known besides.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored {
    /// Whom it is for.
    pub to: Msisdn,
    /// Who sent it, if it was a subscriber: who is told what becomes of it.
    pub sender: Option<Msisdn>,
    /// TP-MR of what was submitted.
    pub reference: u8,
    /// Whether a status report is asked for.
    pub wants_report: bool,
    /// SMS-DELIVER or SMS-STATUS-REPORT.
    pub tpdu: Vec<u8>,
    /// When it was taken.
    pub received: Time,
    /// When its validity ends.
    pub until: Time,
    /// Its trail in the service assurance.
    pub trail: u64,
    /// What tells it from other messages of its sender's, so that it is known when it comes again
    /// after the node that took it has died; zero: nothing does.
    pub sum: u64,
}

impl core::fmt::Debug for Stored {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Stored")
            .field("to", &self.to)
            .field("sender", &self.sender)
            .field("octets", &self.tpdu.len())
            .field("trail", &self.trail)
            .finish_non_exhaustive()
    }
}

impl Stored {
    /// The other end as the receiver sees it.
    #[must_use]
    pub fn shown(&self) -> Option<Address> {
        let kind = sms::Kind::in_data(sms::Direction::ToTerminal, &self.tpdu)?;
        kind.read(&self.tpdu).ok()?.address().copied()
    }
}

/// How much a centre takes, and when it tries again.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Messages in all.
    pub messages_max: usize,
    /// Messages of one receiver.
    pub messages_per_receiver_max: usize,
    /// How long after each failure in a row; the last one is repeated. At least one.
    pub retries: Vec<Duration>,
}

#[derive(Debug)]
struct Queue {
    numbers: VecDeque<u64>,
    is_under_way: bool,
    /// Reachable again while one was under way: what fails is tried once more at once.
    is_reachable: bool,
    due: Time,
    failures: u32,
    why: &'static str,
}

/// How often a receiver was tried in vain, and when next: what the plan goes on with elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Failures in a row.
    pub failures: u32,
    /// When it is tried next.
    pub due: Time,
    /// It waits since there was no next hop, and for one.
    pub is_unrouted: bool,
}

/// A message that waits, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending<'a> {
    /// Its number.
    pub number: u64,
    /// It.
    pub stored: &'a Stored,
    /// Failures in a row of its receiver.
    pub failures: u32,
    /// When its receiver is tried next; none while one of its messages is under way.
    pub due: Option<Time>,
    /// Why it waits.
    pub why: &'static str,
}

/// All messages that wait.
#[derive(Debug)]
pub struct Centre {
    plan: Plan,
    messages: BTreeMap<u64, Stored>,
    queues: BTreeMap<Msisdn, Queue>,
    due: BTreeSet<(Time, Msisdn)>,
    expiries: BTreeSet<(Time, u64)>,
    /// Places of messages that the store was not asked to take yet, or has not taken.
    reserved: BTreeMap<Msisdn, usize>,
    places: usize,
    /// Messages and places of each sender: nobody has more than are left for all others.
    senders: Shares<Msisdn>,
    /// Receivers who wait since there was no next hop.
    unrouted: BTreeSet<Msisdn>,
    /// Until when nothing is begun: there was no room for the last one.
    crowded_until: Time,
    last: u64,
}

impl Centre {
    /// None waits.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            messages: BTreeMap::new(),
            queues: BTreeMap::new(),
            due: BTreeSet::new(),
            expiries: BTreeSet::new(),
            reserved: BTreeMap::new(),
            places: 0,
            senders: Shares::default(),
            unrouted: BTreeSet::new(),
            crowded_until: Time::ZERO,
            last: 0,
        }
    }

    /// Takes another plan; what waits waits as it was told before.
    pub fn configure(&mut self, plan: Plan) {
        self.plan = plan;
    }

    /// A place for one more message of a sender for a receiver; none if there are too many.
    pub fn reserve(&mut self, to: &Msisdn, sender: Option<&Msisdn>, now: Time) -> Option<u64> {
        let waiting = self.queues.get(to).map_or(0, |it| it.numbers.len());
        let own = self.reserved.get(to).copied().unwrap_or_default();
        if self.messages.len() + self.places >= self.plan.messages_max
            || waiting + own >= self.plan.messages_per_receiver_max
        {
            return None;
        }
        let most = self.plan.messages_max;
        if sender.is_some_and(|it| !self.senders.take(it.clone(), 1, most)) {
            return None;
        }
        self.places += 1;
        *self.reserved.entry(to.clone()).or_default() += 1;
        // Numbers follow the clock: those of another start of the process are not given again.
        self.last = now.as_micros().max(self.last + 1);
        Some(self.last)
    }

    /// A place is not needed any more.
    pub fn release(&mut self, to: &Msisdn, sender: Option<&Msisdn>) {
        let Some(own) = self.reserved.get_mut(to) else { return };
        sender.into_iter().for_each(|it| self.senders.give_back(it, 1));
        self.places = self.places.saturating_sub(1);
        *own -= 1;
        if *own == 0 {
            self.reserved.remove(to);
        }
    }

    /// A message was stored, and takes its place; its receiver is tried at once.
    pub fn insert(&mut self, number: u64, stored: Stored, now: Time) {
        self.release(&stored.to, stored.sender.as_ref());
        self.restore(number, stored, now, None);
    }

    /// A message stood in the store already, and its receiver was tried in vain by whoever had it.
    pub fn restore(&mut self, number: u64, stored: Stored, now: Time, retry: Option<Retry>) {
        self.last = self.last.max(number);
        let (to, sender) = (stored.to.clone(), stored.sender.clone());
        self.expiries.insert((stored.until, number));
        if self.messages.insert(number, stored).is_some() {
            return;
        }
        // What stands is not refused, whoever has more than his share now.
        if let Some(sender) = sender {
            self.senders.take(sender, 1, usize::MAX);
        }
        let is_new = !self.queues.contains_key(&to);
        let first = Retry { failures: 0, due: now, is_unrouted: false };
        let Retry { failures, due, is_unrouted } = retry.unwrap_or(first);
        if is_unrouted {
            self.unrouted.insert(to.clone());
        }
        let queue = self.queues.entry(to.clone()).or_insert_with(|| Queue {
            numbers: VecDeque::new(),
            is_under_way: false,
            is_reachable: false,
            due,
            failures,
            why: match (is_unrouted, failures) {
                (true, _) => UNROUTED,
                (false, 0) => "it is due",
                (false, _) => TRIED,
            },
        });
        queue.numbers.push_back(number);
        if queue.is_under_way || !is_new && retry.is_some() {
            return;
        }
        if is_new {
            self.due.insert((due, to));
            return;
        }
        // One more is a reason to try: its sender expects it to be delivered at once.
        self.due.remove(&(queue.due, to.clone()));
        queue.due = now;
        self.due.insert((now, to));
    }

    /// How often a receiver was tried in vain; none: never since it was reached.
    #[must_use]
    pub fn retry(&self, to: &Msisdn) -> Option<Retry> {
        let queue = self.queues.get(to).filter(|it| it.failures > 0)?;
        let is_unrouted = self.unrouted.contains(to);
        Some(Retry { failures: queue.failures, due: queue.due, is_unrouted })
    }

    /// A message is under way since before, from another node. False: it is not the first of its
    /// receiver's.
    pub fn resume(&mut self, number: u64) -> bool {
        let Some(to) = self.messages.get(&number).map(|it| it.to.clone()) else { return false };
        let is_first = |it: &&mut Queue| !it.is_under_way && it.numbers.front() == Some(&number);
        let Some(queue) = self.queues.get_mut(&to).filter(is_first) else { return false };
        queue.is_under_way = true;
        self.unrouted.remove(&to);
        self.due.remove(&(queue.due, to));
        true
    }

    /// Nothing is begun for a while.
    pub fn pause(&mut self, now: Time) {
        self.crowded_until = now + CROWDED;
    }

    /// Receivers whose first message is due: it is under way from now on.
    pub fn ready(&mut self, now: Time) -> Option<Msisdn> {
        if now < self.crowded_until {
            return None;
        }
        let first = self.due.first().filter(|it| it.0 <= now)?.clone();
        self.due.remove(&first);
        self.unrouted.remove(&first.1);
        if let Some(queue) = self.queues.get_mut(&first.1) {
            queue.is_under_way = true;
            queue.is_reachable = false;
        }
        Some(first.1)
    }

    /// Messages whose time is over and that are not under way: they leave their receiver's queue.
    pub fn expired(&mut self, now: Time) -> Option<u64> {
        if now < self.crowded_until {
            return None;
        }
        loop {
            let (_, number) = self.expiries.pop_first_if_due(now)?;
            let Some(to) = self.messages.get(&number).map(|it| it.to.clone()) else { continue };
            if let Some(queue) = self.queues.get_mut(&to) {
                if queue.is_under_way && queue.numbers.front() == Some(&number) {
                    continue; // when it fails, its time is looked at again
                }
                queue.numbers.retain(|it| *it != number);
                self.tidy(&to);
            }
            return Some(number);
        }
    }

    /// The first message of a receiver.
    #[must_use]
    pub fn first(&self, to: &Msisdn) -> Option<(u64, &Stored)> {
        let number = *self.queues.get(to)?.numbers.front()?;
        Some((number, self.messages.get(&number)?))
    }

    /// A message by its number.
    #[must_use]
    pub fn at(&self, number: u64) -> Option<&Stored> {
        self.messages.get(&number)
    }

    /// Whether more than one message of a receiver wait.
    #[must_use]
    pub fn has_more(&self, to: &Msisdn) -> bool {
        self.queues.get(to).is_some_and(|it| it.numbers.len() > 1)
    }

    /// Whether a sender's message of that reference waits for that receiver (TP-RD).
    #[must_use]
    pub fn has_duplicate(&self, to: &Msisdn, sender: &Msisdn, reference: u8) -> bool {
        let queue = self.queues.get(to).into_iter().flat_map(|it| &it.numbers);
        queue
            .filter_map(|it| self.messages.get(it))
            .any(|it| it.reference == reference && it.sender.as_ref() == Some(sender))
    }

    /// A message is dealt with to its end; the next one of its receiver is due.
    pub fn done(&mut self, number: u64, now: Time) {
        let Some(stored) = self.messages.remove(&number) else { return };
        self.expiries.remove(&(stored.until, number));
        stored.sender.iter().for_each(|it| self.senders.give_back(it, 1));
        let Some(queue) = self.queues.get_mut(&stored.to) else { return };
        if queue.numbers.front() != Some(&number) {
            return queue.numbers.retain(|it| *it != number);
        }
        queue.numbers.pop_front();
        (queue.is_under_way, queue.failures, queue.why) = (false, 0, "it is due");
        self.due.remove(&(queue.due, stored.to.clone()));
        queue.due = now;
        self.due.insert((now, stored.to.clone()));
        self.tidy(&stored.to);
    }

    /// The message under way to a receiver was not delivered: it is tried again by the plan.
    pub fn postponed(&mut self, to: &Msisdn, now: Time, why: &'static str) {
        let Some(queue) = self.queues.get_mut(to).filter(|it| it.is_under_way) else { return };
        let at = usize::try_from(queue.failures).unwrap_or(usize::MAX);
        let last = self.plan.retries.last();
        let wait = self.plan.retries.get(at).or(last).copied().unwrap_or(CROWDED);
        queue.failures = queue.failures.saturating_add(1);
        let is_reachable = core::mem::take(&mut queue.is_reachable);
        let due = if is_reachable { now } else { now + wait };
        if why == UNROUTED {
            self.unrouted.insert(to.clone());
        }
        self.waits(to, due, why);
    }

    /// There was no room for the flow that a receiver's message needs, nor is there for others.
    pub fn crowded(&mut self, to: &Msisdn, now: Time) {
        self.crowded_until = now + CROWDED;
        self.waits(to, now + CROWDED, "too much is under way");
    }

    /// There was no room for the flow that a message's end needs.
    pub fn expires_later(&mut self, number: u64, now: Time) {
        self.crowded_until = now + CROWDED;
        self.expiries.insert((now + CROWDED, number));
    }

    fn waits(&mut self, to: &Msisdn, due: Time, why: &'static str) {
        let Some(queue) = self.queues.get_mut(to) else { return };
        (queue.is_under_way, queue.why, queue.due) = (false, why, due);
        self.due.insert((due, to.clone()));
        // Its time may have passed while it was under way.
        if let Some((number, stored)) = self.first(to) {
            self.expiries.insert((stored.until, number));
        }
    }

    /// A receiver can be reached, or an operator wants it to be tried: its messages are due.
    pub fn reachable(&mut self, to: &Msisdn, now: Time) -> bool {
        let Some(queue) = self.queues.get_mut(to) else { return false };
        if queue.is_under_way {
            queue.is_reachable = true;
            return true;
        }
        self.due.remove(&(queue.due, to.clone()));
        (queue.due, queue.failures) = (now, 0);
        self.due.insert((now, to.clone()));
        true
    }

    /// A next hop takes messages: those that found none are due, one after the other, and no later
    /// than they were. Their receivers, whose plan begins anew.
    pub fn next_hop(&mut self, now: Time) -> Vec<Msisdn> {
        let (mut at, mut begun) = (now, Vec::new());
        for to in core::mem::take(&mut self.unrouted) {
            let Some(queue) = self.queues.get_mut(&to).filter(|it| !it.is_under_way) else {
                continue;
            };
            self.due.remove(&(queue.due, to.clone()));
            (queue.due, queue.failures) = (queue.due.min(at), 0);
            self.due.insert((queue.due, to.clone()));
            begun.push(to);
            at += APART;
        }
        begun
    }

    /// Every receiver's messages are due; those who were tried in vain, whose plan begins anew.
    pub fn retry_all(&mut self, now: Time) -> Vec<Msisdn> {
        let waits = self.queues.iter().filter(|it| it.1.failures > 0 && !it.1.is_under_way);
        let begun = waits.map(|it| it.0.clone()).collect();
        let all: Vec<Msisdn> = self.queues.keys().cloned().collect();
        for to in all {
            self.reachable(&to, now);
        }
        begun
    }

    fn tidy(&mut self, to: &Msisdn) {
        if self.queues.get(to).is_some_and(|it| it.numbers.is_empty() && !it.is_under_way)
            && let Some(queue) = self.queues.remove(to)
        {
            self.due.remove(&(queue.due, to.clone()));
            self.unrouted.remove(to);
        }
    }

    /// When something is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let (due, expiry) = (self.due.first(), self.expiries.first());
        let first = due.map(|it| it.0).into_iter().chain(expiry.map(|it| it.0)).min();
        first.map(|it| it.max(self.crowded_until))
    }

    /// Messages that wait, and receivers that they wait for.
    #[must_use]
    pub fn len(&self) -> (usize, usize) {
        (self.messages.len(), self.queues.len())
    }

    /// Places that are kept for messages that are being stored.
    #[must_use]
    pub const fn places(&self) -> usize {
        self.places
    }

    /// Messages that wait, receiver by receiver.
    pub fn pending(&self) -> impl Iterator<Item = Pending<'_>> {
        self.queues.values().flat_map(|queue| {
            let due = (!queue.is_under_way).then_some(queue.due);
            let messages = &self.messages;
            queue.numbers.iter().enumerate().filter_map(move |(at, &number)| {
                let why = match (at, queue.is_under_way) {
                    (0, true) => "it is under way",
                    (0, false) => queue.why,
                    _ => "others are before it",
                };
                let (stored, failures) = (messages.get(&number)?, queue.failures);
                Some(Pending { number, stored, failures, due, why })
            })
        })
    }
}

/// The first element of what is ordered by time.
trait PopDue {
    fn pop_first_if_due(&mut self, now: Time) -> Option<(Time, u64)>;
}

impl PopDue for BTreeSet<(Time, u64)> {
    fn pop_first_if_due(&mut self, now: Time) -> Option<(Time, u64)> {
        self.first().filter(|it| it.0 <= now)?;
        self.pop_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn centre() -> Centre {
        Centre::new(Plan {
            messages_max: 4,
            messages_per_receiver_max: 3,
            retries: vec![MINUTE, 5 * MINUTE],
        })
    }

    fn stored(to: &Msisdn, until: Time) -> Stored {
        Stored {
            to: to.clone(),
            sender: Msisdn::of("44"),
            reference: 7,
            wants_report: false,
            tpdu: Vec::new(),
            received: Time::ZERO,
            until,
            trail: 1,
            sum: 0,
        }
    }

    fn at(seconds: u64) -> Time {
        Time::from_millis(seconds * 1_000)
    }

    #[test]
    fn one_message_of_a_receiver_is_under_way_at_a_time_and_the_plan_says_when_it_is_tried_again() {
        let (mut centre, to) = (centre(), Msisdn::of("49").unwrap());
        let numbers: Vec<u64> = (0..2)
            .map(|_| {
                let number = centre.reserve(&to, Msisdn::of("44").as_ref(), at(1)).unwrap();
                centre.insert(number, stored(&to, at(9_999)), at(1));
                number
            })
            .collect();
        assert_eq!((centre.ready(at(1)), centre.ready(at(1))), (Some(to.clone()), None));
        assert_eq!(centre.first(&to).map(|it| it.0), Some(numbers[0]));
        assert!(centre.has_more(&to) && centre.has_duplicate(&to, &Msisdn::of("44").unwrap(), 7));
        for (now, due) in [(1, 61), (61, 361), (361, 661)] {
            centre.postponed(&to, at(now), "absent");
            assert_eq!(centre.deadline(), Some(at(due)));
            assert_eq!(centre.ready(at(due)), Some(to.clone()));
        }
        centre.done(numbers[0], at(700));
        assert_eq!(centre.ready(at(700)), Some(to.clone()));
        assert!(centre.reachable(&to, at(701)), "while one is under way it is remembered");
        centre.postponed(&to, at(702), "absent");
        assert_eq!(centre.ready(at(702)), Some(to.clone()));
        centre.done(numbers[1], at(703));
        assert_eq!((centre.len(), centre.deadline()), ((0, 0), None));
    }

    #[test]
    fn what_has_no_place_is_refused_and_a_message_whose_time_is_over_leaves() {
        let (mut centre, to) = (centre(), Msisdn::of("49").unwrap());
        let numbers: Vec<u64> = (0..3).map(|_| centre.reserve(&to, None, at(1)).unwrap()).collect();
        assert_eq!(centre.reserve(&to, None, at(1)), None, "three of one receiver");
        let other = Msisdn::of("50").unwrap();
        assert!(centre.reserve(&other, None, at(1)).is_some(), "four in all");
        assert!(centre.reserve(&other, None, at(1)).is_none());
        centre.release(&other, None);
        centre.release(&to, None);
        numbers[..2].iter().zip([5, 90]).for_each(|(it, until)| {
            centre.insert(*it, stored(&to, at(until)), at(1));
        });
        assert_eq!((centre.places(), centre.ready(at(1))), (0, Some(to.clone())));
        assert_eq!(centre.expired(at(6)), None, "it is under way");
        centre.postponed(&to, at(7), "absent");
        assert_eq!(centre.expired(at(7)), Some(numbers[0]));
        centre.done(numbers[0], at(7));
        assert_eq!(centre.first(&to).map(|it| it.0), Some(numbers[1]));
        assert_eq!(centre.expired(at(99)), Some(numbers[1]));
        centre.done(numbers[1], at(99));
        assert_eq!((centre.len(), centre.deadline()), ((0, 0), None));
    }

    #[test]
    fn a_sender_has_no_more_than_is_left_for_all_others() {
        let mut centre = centre();
        let [one, other] = ["44", "45"].map(|it| Msisdn::of(it).unwrap());
        let number = |n: u8| Msisdn::of(&format!("49{n}")).unwrap();
        let mut numbers = Vec::new();
        for n in 0..2 {
            let place = centre.reserve(&number(n), Some(&one), at(1)).unwrap();
            centre.insert(place, stored(&number(n), at(99)), at(1));
            numbers.push(place);
        }
        assert_eq!(centre.reserve(&number(2), Some(&one), at(1)), None, "two are left");
        assert!(centre.reserve(&number(2), Some(&other), at(1)).is_some());
        centre.release(&number(2), Some(&other));
        centre.done(numbers[0], at(2));
        assert!(centre.reserve(&number(2), Some(&one), at(2)).is_some());
    }

    #[test]
    fn without_room_for_one_no_other_is_looked_at_for_a_second() {
        let mut centre = centre();
        for n in 0..3 {
            let to = Msisdn::of(&format!("49{n}")).unwrap();
            let place = centre.reserve(&to, None, at(1)).unwrap();
            centre.insert(place, stored(&to, at(99)), at(1));
        }
        let first = centre.ready(at(1)).unwrap();
        centre.crowded(&first, at(1));
        assert_eq!((centre.ready(at(1)), centre.deadline()), (None, Some(at(2))));
        assert_eq!((0..4).filter_map(|_| centre.ready(at(2))).count(), 3);
        let number = centre.first(&first).unwrap().0;
        centre.postponed(&first, at(2), "absent");
        assert_eq!(centre.expired(at(99)), Some(number));
        centre.expires_later(number, at(99));
        assert_eq!((centre.expired(at(99)), centre.deadline()), (None, Some(at(100))));
        assert_eq!(centre.expired(at(100)), Some(number));
    }

    #[test]
    fn those_that_found_no_next_hop_are_due_when_there_is_one_and_others_are_not() {
        let mut centre = centre();
        let [one, two, three] = ["491", "492", "493"].map(|it| Msisdn::of(it).unwrap());
        for (to, why) in [(&one, UNROUTED), (&two, "absent"), (&three, UNROUTED)] {
            let place = centre.reserve(to, None, at(1)).unwrap();
            centre.insert(place, stored(to, at(999)), at(1));
            assert_eq!(centre.ready(at(1)).as_ref(), Some(to));
            centre.postponed(to, at(1), why);
        }
        centre.next_hop(at(2));
        assert_eq!((centre.ready(at(2)), centre.ready(at(2))), (Some(one.clone()), None));
        assert_eq!(centre.deadline(), Some(at(2) + APART), "they do not leave at once");
        assert_eq!(centre.ready(at(3)), Some(three));
        // What failed for another reason waits on, and nobody is tried twice.
        centre.postponed(&one, at(3), "absent");
        assert_eq!(centre.next_hop(at(4)), []);
        assert_eq!(centre.ready(at(4)), None);
    }

    #[test]
    fn those_that_waited_for_a_next_hop_elsewhere_wait_for_one_here() {
        let (mut one, to) = (centre(), Msisdn::of("491").unwrap());
        let place = one.reserve(&to, None, at(1)).unwrap();
        one.insert(place, stored(&to, at(999)), at(1));
        one.ready(at(1)).unwrap();
        one.postponed(&to, at(1), UNROUTED);
        let retry = one.retry(&to);
        assert!(retry.is_some_and(|it| it.is_unrouted && it.due == at(61)));
        let mut other = centre();
        other.restore(place, stored(&to, at(999)), at(2), retry);
        let why = other.pending().next().map(|it| it.why);
        assert_eq!((other.ready(at(2)), why), (None, Some(UNROUTED)));
        assert_eq!(other.next_hop(at(2)), core::slice::from_ref(&to));
        assert_eq!((other.retry(&to), other.ready(at(2))), (None, Some(to)));
    }

    #[test]
    fn what_was_tried_in_vain_elsewhere_is_not_said_to_be_due() {
        let (mut one, to) = (centre(), Msisdn::of("491").unwrap());
        let place = one.reserve(&to, None, at(1)).unwrap();
        one.insert(place, stored(&to, at(999)), at(1));
        one.ready(at(1)).unwrap();
        one.postponed(&to, at(1), "absent");
        for (retry, why) in [(one.retry(&to), TRIED), (None, "it is due")] {
            let mut other = centre();
            other.restore(place, stored(&to, at(999)), at(2), retry);
            assert_eq!(other.pending().next().map(|it| it.why), Some(why));
            assert_eq!(other.ready(at(2)).is_none(), retry.is_some());
        }
    }

    #[test]
    fn when_all_are_tried_again_the_plan_begins_anew_of_those_that_were_tried_in_vain() {
        let mut centre = centre();
        let [one, two, three] = ["491", "492", "493"].map(|it| Msisdn::of(it).unwrap());
        for to in [&one, &two, &three] {
            let place = centre.reserve(to, None, at(1)).unwrap();
            centre.insert(place, stored(to, at(999)), at(1));
            centre.ready(at(1)).unwrap();
        }
        centre.postponed(&one, at(1), "absent");
        centre.postponed(&two, at(1), "absent");
        centre.reachable(&two, at(2));
        // That of the second one did before, and the third one is under way.
        assert_eq!(centre.retry_all(at(3)), core::slice::from_ref(&one));
        assert_eq!((centre.retry(&one), centre.deadline()), (None, Some(at(3))));
        centre.postponed(&three, at(4), "absent");
        let due: Vec<_> = (0..4).filter_map(|_| centre.ready(at(4))).collect();
        assert_eq!(due, [one, two, three]);
    }
}
