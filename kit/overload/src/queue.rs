//! A queue of new work, which waits while there is work in progress.
//!
//! ```text
//!             ┌── of work in progress ─────────────────────────────→ dealt with at once
//!   request ──┤                                  ┌── nothing waits ─→
//!             └── new work ──→ admission ────────┼── else ──→ queue ─→ a few in each turn
//!                                                └── refused
//! ```
//! Work in progress is brought to its end first: its messages are dealt with within a turn or two,
//! and take as long under overload as they do without. How long the oldest request waits here is
//! what admission goes by; as nothing but new work waits, that answers at once to what is admitted.
//! When even the work in progress is behind, one request begins in each turn.
//!
//! The function tells the queue how long messages waited and on which port each of them came, has a
//! deadline while a request waits, and begins [`Queue::room`] of them in its tick.

use machine::{Duration, Time};
use std::collections::VecDeque;

/// Requests that begin in a turn: enough for messages to travel together. As measured, twice as
/// many serve no more of those with twenty messages, an eighth a quarter fewer of those with seven.
const BEGUN_MAX: usize = 32;
/// What waited longer in the kernel's queue is behind.
const BEHIND: Duration = Duration::from_millis(1);
/// Requests that wait at most, and their octets.
const WAITING_MAX: usize = 1 << 13;
const WAITING_OCTETS_MAX: usize = 16 << 20;

/// A request that was put off. `S` is the function's name for where requests come from.
#[derive(Debug)]
pub struct Queued<S> {
    /// Where it came from.
    pub source: S,
    /// When it came.
    pub at: Time,
    /// What its function knows it by; `None` for what follows another one.
    pub name: Option<u64>,
    /// The request.
    pub bytes: Box<[u8]>,
}

/// Requests that wait.
#[derive(Debug)]
pub struct Queue<S> {
    queue: VecDeque<Queued<S>>,
    octets: usize,
    /// How long the messages that are looked at waited.
    delay: Duration,
    /// The port of the message that was looked at last, and how long that waited.
    port: Option<u16>,
    last: Duration,
    /// The longest that the last message of any other port waited in this turn.
    others: Duration,
}

impl<S> Default for Queue<S> {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            octets: 0,
            delay: Duration::ZERO,
            port: None,
            last: Duration::ZERO,
            others: Duration::ZERO,
        }
    }
}

impl<S: PartialEq> Queue<S> {
    /// The messages that follow waited so long.
    #[inline]
    pub const fn waited(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// A message of this port is looked at.
    #[inline]
    pub fn look(&mut self, port: u16) {
        if self.port != Some(port) {
            self.others = self.others.max(self.last);
            self.port = Some(port);
        }
        self.last = self.delay;
    }

    /// Whether a request may begin at once: nothing waits.
    #[inline]
    #[must_use]
    pub fn is_needless(&self) -> bool {
        self.queue.is_empty() && self.delay <= BEHIND
    }

    /// Whether no more can wait: new ones are to be refused.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.queue.len() >= WAITING_MAX || self.octets >= WAITING_OCTETS_MAX
    }

    /// How long the oldest one has waited.
    #[must_use]
    pub fn delay(&self, now: Time) -> Duration {
        self.deadline().map_or(Duration::ZERO, |at| now.since(at))
    }

    /// When the oldest one came: some are to begin.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.queue.front().map(|waiter| waiter.at)
    }

    /// Puts a request off when there is other work; whether it did.
    #[must_use]
    pub fn put_off(&mut self, now: Time, source: S, name: u64, bytes: &[u8]) -> bool {
        let is_put_off = !self.is_needless();
        if is_put_off {
            self.push(Queued { source, at: now, name: Some(name), bytes: bytes.into() });
        }
        is_put_off
    }

    /// What must not pass a request before it waits behind all that do; whether it does.
    #[must_use]
    pub fn follow(&mut self, now: Time, source: S, bytes: &[u8]) -> bool {
        let is_behind = !self.queue.is_empty() && !self.is_full();
        if is_behind {
            self.push(Queued { source, at: now, name: None, bytes: bytes.into() });
        }
        is_behind
    }

    fn push(&mut self, waiter: Queued<S>) {
        self.octets += waiter.bytes.len();
        self.queue.push_back(waiter);
    }

    /// How many may begin in this turn.
    pub fn room(&mut self) -> usize {
        let behind = self.others.max(self.last);
        (self.port, self.last, self.others) = (None, Duration::ZERO, Duration::ZERO);
        if behind > BEHIND { 1 } else { BEGUN_MAX }
    }

    /// The oldest one, which begins.
    pub fn begin(&mut self) -> Option<Queued<S>> {
        let waiter = self.queue.pop_front()?;
        self.octets -= waiter.bytes.len();
        Some(waiter)
    }

    /// A source is gone: its requests do not begin.
    pub fn forget(&mut self, source: &S) {
        self.queue.retain(|waiter| waiter.source != *source);
        self.octets = self.queue.iter().map(|waiter| waiter.bytes.len()).sum();
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(1);
    const LATE: Duration = Duration::from_millis(2);

    #[test]
    fn one_begins_in_a_turn_while_any_port_is_behind() {
        let room = |messages: &[(u16, Duration)]| {
            let mut waiting = Queue::<u8>::default();
            for &(port, delay) in messages {
                waiting.waited(delay);
                waiting.look(port);
            }
            (waiting.room(), waiting.room())
        };
        // The last message of each port counts: what came before it is dealt with.
        assert_eq!(room(&[(1, LATE), (1, BEHIND), (2, LATE), (2, BEHIND)]).0, BEGUN_MAX);
        assert_eq!(room(&[(1, BEHIND), (2, LATE), (3, BEHIND)]), (1, BEGUN_MAX));
        assert_eq!(room(&[(1, LATE), (2, BEHIND)]), (1, BEGUN_MAX));
        assert_eq!(room(&[(1, BEHIND), (2, LATE)]), (1, BEGUN_MAX));
        assert_eq!(room(&[]).0, BEGUN_MAX);
    }

    #[test]
    fn requests_wait_in_order_behind_work_and_those_of_a_source_that_is_gone_go() {
        let (one, two) = ('1', '2');
        let mut waiting = Queue::default();
        assert!(!waiting.put_off(NOW, one, 1, b"one") && !waiting.follow(NOW, one, b"two"));
        waiting.waited(LATE);
        assert!(waiting.put_off(NOW, one, 1, b"one"));
        waiting.waited(Duration::ZERO);
        assert!(waiting.put_off(NOW + LATE, two, 2, b"two"), "it does not pass");
        assert!(waiting.follow(NOW + LATE, one, b"three"));
        assert_eq!((waiting.len(), waiting.delay(NOW + LATE)), (3, LATE));
        waiting.forget(&two);
        waiting.forget(&'3');
        let left: Vec<_> =
            std::iter::from_fn(|| waiting.begin()).map(|waiter| waiter.name).collect();
        assert_eq!(left, [Some(1), None]);
        assert!(waiting.is_empty() && waiting.is_needless() && waiting.octets == 0);
    }

    #[test]
    fn the_queue_is_full_by_number_and_by_octets() {
        let fill = |length: usize| {
            let (mut waiting, bytes) = (Queue::default(), vec![0; length]);
            waiting.waited(LATE);
            while !waiting.is_full() {
                assert!(waiting.put_off(NOW, (), 1, &bytes));
            }
            assert!(!waiting.follow(NOW, (), &bytes));
            waiting.len()
        };
        assert_eq!(fill(100), WAITING_MAX);
        assert_eq!(fill(1 << 16), WAITING_OCTETS_MAX >> 16);
    }
}
