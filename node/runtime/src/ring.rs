//! Rings between shards: batches of messages, bounded, one wake-up a turn.
//!
//! ```text
//!   shard 0 ──MessageBatch──→ ring of shard 1     what one turn has for one shard travels as one
//!   shard 2 ──MessageBatch──→ (ArrayQueue)        batch: two allocations and at most one wake-up,
//!                                           however many messages it carries
//! ```
//!
//! The work that a function hands to a sibling has queues of its own ([`crate::work`]).
//!
//! A batch that finds no room in its ring is shed, but for the ends of connections in it: they
//! are kept and leave first, for nothing else would ever tell of them. One that carries something
//! of a paced port waits instead, grows, and leaves when there is room: nothing more is read
//! meanwhile from the connections that would add to it.

use crate::function::Effects;
use crate::metrics::RuntimeMetric;
use crate::port::{ConnId, Flow};
use crate::work::{Queues, WorkQueue};
use bytes::Bytes;
use crossbeam_queue::ArrayQueue;
use driver::Waker;
use event::Metrics;
use machine::narrow::{index, place};
use machine::{Duration, Time};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Batches that wait for one shard; more are shed and counted.
const BATCHES_MAX: usize = 1_024;
/// Bytes after which a batch is sent before the turn ends.
const BATCH_BYTES: usize = 256 << 10;
/// Messages after which a batch is sent before the turn ends.
const BATCH_MESSAGES: usize = 4_096;
/// A batch that waits for room takes nothing more to send beyond so many bytes and messages.
const WAITING_BYTES_MAX: usize = 64 << 20;
const WAITING_MESSAGES_MAX: usize = 1 << 20;

/// A batch that waits for room is tried again after this. Its sibling has a whole ring to take
/// meanwhile, and one that hangs costs the others no turns.
const RETRY: Duration = Duration::from_millis(1);

/// What a shard tells another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardMessage {
    /// A message that came in here belongs to you.
    Take,
    /// Send this over your connection.
    Send,
    /// Send the shared piece of this number over your connection.
    SendShared(u32),
    /// Close your connection.
    Close,
    /// A connection of a paced port stands.
    Up,
    /// So many octets of it were written, so many still wait.
    Written(u64, u64),
    /// This far end is gone.
    Down(&'static str),
    /// This far end has proved these names, one a line.
    Proved,
}

/// What one turn of one shard has for another shard.
#[derive(Debug, Default)]
pub(crate) struct MessageBatch {
    /// When the first of its messages came in; `Time::ZERO` while it has none.
    arrived: Time,
    items: Vec<(ShardMessage, Flow, u32, u32)>,
    bytes: Vec<u8>,
    shares: Vec<Bytes>,
    /// It must not be shed.
    paced: bool,
}

impl MessageBatch {
    /// The messages in order.
    pub(crate) fn items(&self) -> impl Iterator<Item = (ShardMessage, Flow, &[u8])> {
        self.items.iter().map(|&(message, flow, start, end)| {
            (message, flow, &self.bytes[start as usize..end as usize])
        })
    }

    /// How long its first message has waited.
    pub(crate) fn waited(&self, now: Time) -> Duration {
        if self.arrived == Time::ZERO { Duration::ZERO } else { now.since(self.arrived) }
    }

    /// Shared piece number `at`.
    pub(crate) fn share(&self, at: u32) -> Bytes {
        self.shares.get(at as usize).cloned().unwrap_or_default()
    }

    /// Whether it shall leave before the turn ends.
    fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES || self.items.len() >= BATCH_MESSAGES
    }

    fn push(&mut self, message: ShardMessage, flow: Flow, bytes: &[u8]) {
        let start = place(self.bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.items.push((message, flow, start, place(self.bytes.len())));
    }
}

/// The mailbox of a shard for other threads.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) ring: ArrayQueue<MessageBatch>,
    /// Work that siblings have handed over.
    pub(crate) work: Queues,
    pub(crate) waker: Waker,
    /// Cleared when the shard ends; nobody takes its messages then.
    pub(crate) open: AtomicBool,
}

impl Mailbox {
    /// The mailbox of one of so many shards.
    pub(crate) fn new(shards: u16) -> io::Result<Self> {
        Ok(Self {
            ring: ArrayQueue::new(BATCHES_MAX),
            work: Queues::new(shards),
            waker: Waker::new()?,
            open: AtomicBool::new(true),
        })
    }
}

/// One shard's view of all mailboxes, and its batches in the making.
#[derive(Debug)]
pub(crate) struct Rings {
    pub(crate) own: u16,
    mailboxes: Arc<[Mailbox]>,
    batches: Vec<MessageBatch>,
    /// Of each shard: ends of connections that found no room in its ring.
    ends: Vec<MessageBatch>,
    /// Work on its way out, at hand, and come back.
    pub(crate) work: WorkQueue,
}

impl Rings {
    pub(crate) fn new(own: u16, mailboxes: Arc<[Mailbox]>) -> Self {
        let empty = || mailboxes.iter().map(|_| MessageBatch::default()).collect();
        let (batches, ends) = (empty(), empty());
        let work = WorkQueue::new(own, index(mailboxes.len()));
        Self { own, mailboxes, batches, ends, work }
    }

    /// Hands over what the function has for its siblings, and forgets it.
    pub(crate) fn hand(
        &mut self,
        now: Time,
        effects: &mut Effects,
        metrics: &Metrics<RuntimeMetric>,
    ) {
        if effects.handed_work().len() > 0 {
            metrics.add(RuntimeMetric::Handed, effects.handed_work().len() as u64);
            self.work.hand(now, effects.handed_work(), &self.mailboxes, metrics);
            effects.clear_handed_work();
        }
    }

    /// Lays the next batch of work out for the function; when it was handed over.
    pub(crate) fn lay_work(&mut self) -> Option<Time> {
        self.work.lay_next(&self.mailboxes[usize::from(self.own)].work)
    }

    /// Whether work waits for this shard, or has come back to it.
    pub(crate) fn has_work(&self) -> bool {
        self.work.has_any() || !self.mailbox().work.are_empty()
    }

    /// Number of shards.
    pub(crate) fn shards(&self) -> u16 {
        index(self.mailboxes.len())
    }

    /// Our own mailbox.
    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.mailboxes[usize::from(self.own)]
    }

    /// Whether `shard` is another one that takes messages.
    pub(crate) fn is_other(&self, shard: u16) -> bool {
        shard != self.own
            && self
                .mailboxes
                .get(usize::from(shard))
                .is_some_and(|mailbox| mailbox.open.load(Relaxed))
    }

    /// What another shard is given next came in at `arrived`.
    pub(crate) fn arrived(&mut self, shard: u16, arrived: Time) {
        let batch = &mut self.batches[usize::from(shard)];
        if batch.arrived == Time::ZERO {
            batch.arrived = arrived;
        }
    }

    /// Gives another shard a message; it leaves with [`Rings::post`].
    pub(crate) fn push(
        &mut self,
        shard: u16,
        message: ShardMessage,
        flow: Flow,
        bytes: &[u8],
        metrics: &Metrics<RuntimeMetric>,
    ) {
        let batch = &mut self.batches[usize::from(shard)];
        if batch.paced && batch.is_full() {
            // It waits, and takes only what must not be lost.
            metrics.add(RuntimeMetric::RingShed, 1);
            return;
        }
        batch.push(message, flow, bytes);
        if batch.is_full() {
            self.dispatch(usize::from(shard), metrics);
        }
    }

    /// The same for what belongs to a paced port and must not be lost.
    pub(crate) fn push_paced(
        &mut self,
        shard: u16,
        message: ShardMessage,
        flow: Flow,
        bytes: &[u8],
        metrics: &Metrics<RuntimeMetric>,
    ) {
        let batch = &mut self.batches[usize::from(shard)];
        let was_full = batch.is_full();
        batch.paced = true;
        batch.push(message, flow, bytes);
        if !was_full && batch.is_full() {
            self.dispatch(usize::from(shard), metrics);
        }
    }

    /// Gives another shard a shared piece to send.
    pub(crate) fn push_shared(
        &mut self,
        shard: u16,
        flow: Flow,
        piece: Bytes,
        metrics: &Metrics<RuntimeMetric>,
    ) {
        let batch = &mut self.batches[usize::from(shard)];
        let number = place(batch.shares.len());
        batch.shares.push(piece);
        self.push_paced(shard, ShardMessage::SendShared(number), flow, &[], metrics);
    }

    /// Whether another shard takes its batches so slowly that no more should be read for it.
    pub(crate) fn is_behind(&self, shard: u16) -> bool {
        let batch = &self.batches[usize::from(shard)];
        batch.paced && batch.is_full()
    }

    /// Whether its batch has waited for so long that it takes nothing more to send.
    pub(crate) fn is_overrun(&self, shard: u16) -> bool {
        let batch = &self.batches[usize::from(shard)];
        batch.bytes.len() >= WAITING_BYTES_MAX || batch.items.len() >= WAITING_MESSAGES_MAX
    }

    /// After how long to try again what waits for room: nobody tells of that.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.holds_back().then_some(RETRY)
    }

    /// Whether a batch waits for room.
    pub(crate) fn holds_back(&self) -> bool {
        self.batches.iter().any(|batch| batch.paced)
            || self.ends.iter().any(|ends| !ends.items.is_empty())
    }

    /// Tells every other shard that a far end is gone.
    pub(crate) fn broadcast_down(&mut self, flow: Flow, why: &'static str, paced: bool) {
        self.broadcast(ShardMessage::Down(why), flow, &[]);
        if paced {
            let own = usize::from(self.own);
            let others = self.batches.iter_mut().enumerate().filter(|&(shard, _)| shard != own);
            others.for_each(|(_, batch)| batch.paced |= !batch.items.is_empty());
        }
    }

    /// Tells every other shard who a far end is.
    pub(crate) fn broadcast_proved(&mut self, flow: Flow, names: &[String]) {
        self.broadcast(ShardMessage::Proved, flow, names.join("\n").as_bytes());
    }

    fn broadcast(&mut self, message: ShardMessage, flow: Flow, bytes: &[u8]) {
        let own = usize::from(self.own);
        for (shard, batch) in self.batches.iter_mut().enumerate() {
            if shard != own && self.mailboxes[shard].open.load(Relaxed) {
                batch.push(message, flow, bytes);
            }
        }
    }

    /// Sends the batches of this turn, and work that waits for room.
    pub(crate) fn post(&mut self, metrics: &Metrics<RuntimeMetric>) {
        self.work.post(&self.mailboxes, metrics);
        for shard in 0..self.batches.len() {
            if !self.batches[shard].items.is_empty() || !self.ends[shard].items.is_empty() {
                self.dispatch(shard, metrics);
            }
        }
    }

    fn dispatch(&mut self, shard: usize, metrics: &Metrics<RuntimeMetric>) {
        let mailbox = &self.mailboxes[shard];
        let mut has_room = true;
        if !self.ends[shard].items.is_empty() {
            match mailbox.ring.push(std::mem::take(&mut self.ends[shard])) {
                Ok(()) => mailbox.waker.wake(),
                Err(ends) if mailbox.open.load(Relaxed) => {
                    (self.ends[shard], has_room) = (ends, false)
                }
                Err(_) => {} // it has ended, and knows of no connection
            }
        }
        if self.batches[shard].items.is_empty() {
            return;
        }
        // Where the ends found no room there may be some by now, and they leave first.
        let batch = std::mem::take(&mut self.batches[shard]);
        match if has_room { mailbox.ring.push(batch) } else { Err(batch) } {
            Ok(()) => mailbox.waker.wake(),
            Err(batch) if batch.paced && mailbox.open.load(Relaxed) => {
                mailbox.waker.wake();
                self.batches[shard] = batch;
            }
            Err(batch) => {
                let kept = self.keep_ends(shard, &batch);
                metrics.add(RuntimeMetric::RingShed, (batch.items.len() - kept) as u64);
            }
        }
    }

    /// Keeps the ends of connections in a batch that is shed; how many.
    fn keep_ends(&mut self, shard: usize, batch: &MessageBatch) -> usize {
        let kept = &mut self.ends[shard].items;
        let (before, room) = (kept.len(), WAITING_MESSAGES_MAX.saturating_sub(kept.len()));
        let ends = batch.items.iter().filter(|(message, flow, ..)| is_end(*message, flow));
        kept.extend(ends.take(room).map(|&(message, flow, ..)| (message, flow, 0, 0)));
        kept.len() - before
    }
}

/// Whether a message tells the end of a connection.
fn is_end(message: ShardMessage, flow: &Flow) -> bool {
    matches!(message, ShardMessage::Down(_)) && flow.conn != ConnId(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{PortId, Transport};

    #[test]
    fn ends_of_connections_wait_for_room_and_everything_else_is_shed() {
        let mailboxes: Arc<[Mailbox]> = (0..2).map(|_| Mailbox::new(2).unwrap()).collect();
        let mut rings = Rings::new(0, Arc::clone(&mailboxes));
        let metrics = Metrics::new();
        let at = "127.0.0.1:5060".parse().unwrap();
        let flow =
            |conn: u32| Flow { conn: ConnId(conn), ..Flow::to(PortId(0), Transport::Tcp, at, at) };
        for _ in 0..BATCHES_MAX {
            rings.push(1, ShardMessage::Send, flow(1), b"x", &metrics);
            rings.post(&metrics);
        }
        assert!(!rings.holds_back());
        for conn in 0..10 {
            rings.push(1, ShardMessage::Send, flow(conn), b"x", &metrics);
            rings.broadcast_down(flow(conn), "closed", false);
            rings.post(&metrics);
        }
        assert_eq!(mailboxes[1].ring.len(), BATCHES_MAX);
        assert_eq!(rings.retry(), Some(RETRY), "nothing waits for long");
        while mailboxes[1].ring.pop().is_some() {}
        rings.push(1, ShardMessage::Send, flow(20), b"x", &metrics);
        rings.post(&metrics);
        assert!(!rings.holds_back());
        let ends = mailboxes[1].ring.pop().unwrap();
        let told: Vec<u32> = ends
            .items()
            .map(|(message, flow, _)| {
                assert_eq!(message, ShardMessage::Down("closed"));
                flow.conn.0
            })
            .collect();
        assert_eq!(told, (1..10).collect::<Vec<_>>());
        let next = mailboxes[1].ring.pop().unwrap();
        assert_eq!(next.items().next().unwrap().0, ShardMessage::Send);
        assert!(mailboxes[1].ring.pop().is_none());
    }

    #[test]
    fn what_follows_the_end_of_a_connection_does_not_overtake_it_while_the_sibling_takes_parcels() {
        let mailboxes: Arc<[Mailbox]> = (0..2).map(|_| Mailbox::new(2).unwrap()).collect();
        let (at, metrics) = ("127.0.0.1:5060".parse().unwrap(), Metrics::new());
        let flow =
            |conn: u32| Flow { conn: ConnId(conn), ..Flow::to(PortId(0), Transport::Tcp, at, at) };
        let theirs = Arc::clone(&mailboxes);
        let sibling = std::thread::spawn(move || {
            let mut ended = 0;
            while theirs[1].open.load(Relaxed) || !theirs[1].ring.is_empty() {
                std::thread::yield_now();
                let Some(batch) = theirs[1].ring.pop() else { continue };
                for (message, flow, _) in batch.items() {
                    match message {
                        ShardMessage::Down(_) => ended = flow.conn.0,
                        _ => assert!(flow.conn.0 <= ended, "{} before {ended}", flow.conn.0),
                    }
                }
            }
        });
        let mut rings = Rings::new(0, Arc::clone(&mailboxes));
        for conn in 1..200_000 {
            rings.broadcast_down(flow(conn), "closed", false);
            rings.post(&metrics);
            rings.push(1, ShardMessage::Send, flow(conn), b"x", &metrics);
            rings.post(&metrics);
        }
        mailboxes[1].open.store(false, Relaxed);
        sibling.join().unwrap();
    }
}
