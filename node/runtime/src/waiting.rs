//! What begins something waits while there is work for what was begun.
//!
//! ```text
//!             ┌── of a call in progress, a registration ───────────────→ dealt with at once
//!   message ──┤                                  ┌── nothing waits ────→
//!             └── begins a call ──→ admission ───┼── else ──→ queue ───→ a few in each turn
//!                                                └── refused
//! ```
//! A call that was begun is brought to its end first: its messages are dealt with within a turn or
//! two, and take as long under overload as they do without. How long the oldest request waits here
//! is what admission goes by; as nothing but new requests waits, that answers at once to what is
//! admitted. When even the work for what was begun is behind, one request begins in each turn.
//!
//! The function tells the queue what [`crate::Function::waited`] tells it and whose messages it
//! looks at, has a deadline while somebody waits, and begins [`Waiting::room`] of them in its tick.

use crate::port::{Flow, PortId};
use machine::{Duration, Time};
use std::collections::VecDeque;

/// Requests that begin in a turn: enough for messages to travel together; twice as many serve no
/// more calls of twenty messages, an eighth serve a quarter fewer of seven.
const BEGUN_MAX: usize = 32;
/// What waited longer in the kernel's queue is behind.
const BEHIND: Duration = Duration::from_millis(1);
/// Requests that wait at most, and their octets.
const WAITING_MAX: usize = 1 << 13;
const WAITING_OCTETS_MAX: usize = 16 << 20;

/// A request that was put off.
#[derive(Debug)]
pub struct Waiter {
    /// Where it came from.
    pub flow: Flow,
    /// When it came.
    pub at: Time,
    /// What its function knows it by; `None` for what follows another one.
    pub name: Option<u64>,
    /// The request.
    pub bytes: Box<[u8]>,
}

/// Requests that wait.
#[derive(Debug, Default)]
pub struct Waiting {
    queue: VecDeque<Waiter>,
    octets: usize,
    /// How long the messages that are looked at waited.
    delay: Duration,
    /// The port of the message that was looked at last, and how long that waited.
    port: Option<PortId>,
    last: Duration,
    /// The longest that the last message of any other port waited in this turn.
    others: Duration,
}

impl Waiting {
    /// The messages that follow waited so long.
    #[inline]
    pub const fn waited(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// A message of this port is looked at.
    #[inline]
    pub fn look(&mut self, port: PortId) {
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
    pub fn put_off(&mut self, now: Time, (flow, name): (Flow, u64), bytes: &[u8]) -> bool {
        let is_put_off = !self.is_needless();
        if is_put_off {
            self.push(Waiter { flow, at: now, name: Some(name), bytes: bytes.into() });
        }
        is_put_off
    }

    /// What must not pass a request (a CANCEL its INVITE) waits behind those that do; whether it
    /// does.
    #[must_use]
    pub fn follow(&mut self, now: Time, flow: Flow, bytes: &[u8]) -> bool {
        let is_behind = !self.queue.is_empty() && !self.is_full();
        if is_behind {
            self.push(Waiter { flow, at: now, name: None, bytes: bytes.into() });
        }
        is_behind
    }

    fn push(&mut self, waiter: Waiter) {
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
    pub fn begin(&mut self) -> Option<Waiter> {
        let waiter = self.queue.pop_front()?;
        self.octets -= waiter.bytes.len();
        Some(waiter)
    }

    /// A connection ended: its requests do not begin.
    pub fn forget(&mut self, flow: &Flow) {
        if flow.transport.is_stream() {
            self.queue.retain(|waiter| waiter.flow != *flow);
            self.octets = self.queue.iter().map(|waiter| waiter.bytes.len()).sum();
        }
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
    use crate::port::Transport;

    const NOW: Time = Time::from_millis(1);
    const LATE: Duration = Duration::from_millis(2);

    fn flow(transport: Transport) -> Flow {
        let local = "127.0.0.1:5060".parse().unwrap();
        Flow::to(PortId(1), transport, local, "10.0.0.1:5062".parse().unwrap())
    }

    #[test]
    fn one_begins_in_a_turn_while_any_port_is_behind() {
        let room = |messages: &[(u16, Duration)]| {
            let mut waiting = Waiting::default();
            for &(port, delay) in messages {
                waiting.waited(delay);
                waiting.look(PortId(port));
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
    fn requests_wait_in_order_behind_work_and_those_of_an_ended_connection_go() {
        let (udp, tcp) = (flow(Transport::Udp), flow(Transport::Tcp));
        let mut waiting = Waiting::default();
        assert!(!waiting.put_off(NOW, (udp, 1), b"one") && !waiting.follow(NOW, udp, b"two"));
        waiting.waited(LATE);
        assert!(waiting.put_off(NOW, (udp, 1), b"one"));
        waiting.waited(Duration::ZERO);
        assert!(waiting.put_off(NOW + LATE, (tcp, 2), b"two"), "it does not pass");
        assert!(waiting.follow(NOW + LATE, udp, b"three"));
        assert_eq!((waiting.len(), waiting.delay(NOW + LATE)), (3, LATE));
        waiting.forget(&udp);
        waiting.forget(&tcp);
        let left: Vec<_> =
            std::iter::from_fn(|| waiting.begin()).map(|waiter| waiter.name).collect();
        assert_eq!(left, [Some(1), None]);
        assert!(waiting.is_empty() && waiting.is_needless() && waiting.octets == 0);
    }

    #[test]
    fn the_queue_is_full_by_number_and_by_octets() {
        let fill = |length: usize| {
            let (mut waiting, bytes) = (Waiting::default(), vec![0; length]);
            waiting.waited(LATE);
            while !waiting.is_full() {
                assert!(waiting.put_off(NOW, (flow(Transport::Udp), 1), &bytes));
            }
            assert!(!waiting.follow(NOW, flow(Transport::Udp), &bytes));
            waiting.len()
        };
        assert_eq!(fill(100), WAITING_MAX);
        assert_eq!(fill(1 << 16), WAITING_OCTETS_MAX >> 16);
    }
}
