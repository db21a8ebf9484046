//! Packets on their way, by time of arrival and then in the order of sending.
//!
//! Most arrive in the order in which they were sent: these stand in a queue. Only those that
//! would arrive before its last one go through a heap.

use machine::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

#[derive(Debug)]
struct Flight<P> {
    at: Time,
    number: u64,
    packet: P,
}

impl<P> Flight<P> {
    const fn key(&self) -> (Time, u64) {
        (self.at, self.number)
    }
}

impl<P> PartialEq for Flight<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Flight<P> {}

impl<P> PartialOrd for Flight<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Flight<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[derive(Debug)]
pub(crate) struct Flying<P> {
    ordered: VecDeque<Flight<P>>,
    stray: BinaryHeap<Reverse<Flight<P>>>,
    number: u64,
}

impl<P> Default for Flying<P> {
    fn default() -> Self {
        Self { ordered: VecDeque::new(), stray: BinaryHeap::new(), number: 0 }
    }
}

impl<P> Flying<P> {
    pub(crate) fn len(&self) -> usize {
        self.ordered.len() + self.stray.len()
    }

    pub(crate) fn push(&mut self, at: Time, packet: P) {
        let flight = Flight { at, number: self.number, packet };
        self.number += 1;
        match self.ordered.back() {
            Some(last) if last.at > at => self.stray.push(Reverse(flight)),
            _ => self.ordered.push_back(flight),
        }
    }

    /// Whether the heap has the next one.
    fn strays(&self) -> bool {
        match (self.ordered.front(), self.stray.peek()) {
            (Some(first), Some(Reverse(stray))) => stray.key() < first.key(),
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        if self.stray.is_empty() {
            return self.ordered.front().map(|flight| flight.at);
        }
        let stray = self.stray.peek().map(|Reverse(flight)| flight.at);
        stray.into_iter().chain(self.ordered.front().map(|flight| flight.at)).min()
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, P)> {
        let flight = if self.strays() {
            self.stray.pop().map(|Reverse(flight)| flight)
        } else {
            self.ordered.pop_front()
        }?;
        Some((flight.at, flight.packet))
    }

    /// Forgets what arrives later than `now`.
    pub(crate) fn forget_after(&mut self, now: Time) {
        self.ordered.truncate(self.ordered.partition_point(|flight| flight.at <= now));
        self.stray.retain(|Reverse(flight)| flight.at <= now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_come_out_by_time_and_those_of_one_time_as_they_were_sent(
            times in prop::collection::vec(0u64..40, 1..200),
        ) {
            let mut flying = Flying::default();
            for (number, &at) in times.iter().enumerate() {
                flying.push(Time::from_millis(at), number);
            }
            let mut expected: Vec<(Time, usize)> =
                times.iter().enumerate().map(|(n, &at)| (Time::from_millis(at), n)).collect();
            expected.sort();
            for wanted in expected {
                prop_assert_eq!(flying.next_at(), Some(wanted.0));
                prop_assert_eq!(flying.pop(), Some(wanted));
            }
            prop_assert_eq!((flying.len(), flying.pop()), (0, None));
        }
    }
}
