//! What is under way to each subscriber: references that are in use, and messages of one sender in
//! the order in which they came.

use crate::identity::Msisdn;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is under way to one subscriber.
#[derive(Debug, Default)]
struct Subscriber {
    next: u8,
    references: BTreeSet<u8>,
    /// By the sender: flows in their order; the first is under way.
    queues: BTreeMap<Vec<u8>, VecDeque<u64>>,
}

/// What is under way to all.
#[derive(Debug, Default)]
pub struct Subscribers {
    all: BTreeMap<Msisdn, Subscriber>,
}

/// Whether a flow may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It is the first of its sender's.
    Now,
    /// Others of its sender's are before it.
    Later,
    /// There are too many already.
    Full,
}

impl Subscribers {
    /// A flow has a message of a sender for a subscriber, to whom at most `max` are under way.
    pub fn join(&mut self, to: &Msisdn, of: &[u8], flow: u64, max: usize) -> Turn {
        let subscriber = self.all.entry(to.clone()).or_default();
        if subscriber.queues.values().map(VecDeque::len).sum::<usize>() >= max {
            return Turn::Full;
        }
        let queue = subscriber.queues.entry(of.to_vec()).or_default();
        queue.push_back(flow);
        if queue.len() == 1 { Turn::Now } else { Turn::Later }
    }

    /// A flow is over: the one whose turn it is now.
    pub fn leave(&mut self, to: &Msisdn, of: &[u8], flow: u64) -> Option<u64> {
        let subscriber = self.all.get_mut(to)?;
        let queue = subscriber.queues.get_mut(of)?;
        let was_first = queue.front() == Some(&flow);
        queue.retain(|it| *it != flow);
        let next = queue.front().copied().filter(|_| was_first);
        if queue.is_empty() {
            subscriber.queues.remove(of);
        }
        self.tidy(to);
        next
    }

    /// A reference that is not in use towards a subscriber (TS 24.011 §8.2.3); none if all are.
    pub fn reference(&mut self, to: &Msisdn) -> Option<u8> {
        let subscriber = self.all.entry(to.clone()).or_default();
        let first = subscriber.next;
        let free = (0..=u8::MAX)
            .map(|it| first.wrapping_add(it))
            .find(|it| !subscriber.references.contains(it))?;
        subscriber.references.insert(free);
        subscriber.next = free.wrapping_add(1);
        Some(free)
    }

    /// That reference is in use towards a subscriber; false: it was already.
    pub fn claim(&mut self, to: &Msisdn, reference: u8) -> bool {
        self.all.entry(to.clone()).or_default().references.insert(reference)
    }

    /// A reference is not in use any more.
    pub fn release(&mut self, to: &Msisdn, reference: u8) {
        if let Some(subscriber) = self.all.get_mut(to) {
            subscriber.references.remove(&reference);
        }
        self.tidy(to);
    }

    fn tidy(&mut self, to: &Msisdn) {
        let is_over = |it: &Subscriber| it.references.is_empty() && it.queues.is_empty();
        if self.all.get(to).is_some_and(is_over) {
            self.all.remove(to);
        }
    }

    /// Subscribers to whom something is under way.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_sender_wait_for_each_other_and_references_are_not_shared() {
        let (mut all, to) = (Subscribers::default(), Msisdn::of("44").unwrap());
        assert_eq!(all.join(&to, b"a", 1, 3), Turn::Now);
        assert_eq!(all.join(&to, b"a", 2, 3), Turn::Later);
        assert_eq!(all.join(&to, b"b", 3, 3), Turn::Now);
        assert_eq!(all.join(&to, b"c", 4, 3), Turn::Full);
        let references: BTreeSet<_> = (0..256).filter_map(|_| all.reference(&to)).collect();
        assert_eq!((references.len(), all.reference(&to)), (256, None));
        all.release(&to, 9);
        assert_eq!(all.reference(&to), Some(9));
        assert_eq!(all.leave(&to, b"a", 1), Some(2));
        assert_eq!(all.leave(&to, b"b", 3), None);
        assert_eq!(all.leave(&to, b"a", 2), None);
        (0..=255).for_each(|it| all.release(&to, it));
        assert_eq!(all.count(), 0);
    }
}
