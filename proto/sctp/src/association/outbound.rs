//! What is to be sent and what is on its way: the send queue, and the ring of TSNs that wait for
//! their acknowledgement (RFC 9260 §6.1, §6.9; RFC 3758).

use super::scheduler::{Partial, Queue};
use crate::codec::{DATA_BYTES, Data, DataFlags, I_DATA_BYTES, IData, padded};
use crate::id::{low16, low32, origin};
use bytes::Bytes;
use machine::Time;
use std::collections::VecDeque;

/// How long a message is worth sending (RFC 3758 §4, RFC 7496 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// Until it has arrived.
    #[default]
    Full,
    /// Until that time.
    Until(Time),
    /// With that many retransmissions of a chunk.
    Retransmissions(u16),
}

/// A message that the user wants to be sent.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Its stream.
    pub stream: u16,
    /// Payload Protocol Identifier.
    pub ppid: u32,
    /// Out of the order of its stream.
    pub is_unordered: bool,
    /// The peer is asked to acknowledge it at once (RFC 7053).
    pub is_immediate: bool,
    /// How long it is worth sending.
    pub reliability: Reliability,
    /// Comes back with a failure.
    pub context: u64,
    /// The user data.
    pub payload: Bytes,
}

impl Outgoing {
    /// A message that arrives whole and in order.
    #[must_use]
    pub const fn new(stream: u16, ppid: u32, payload: Bytes) -> Self {
        Self {
            stream,
            ppid,
            is_unordered: false,
            is_immediate: false,
            reliability: Reliability::Full,
            context: 0,
            payload,
        }
    }

    /// Whether its time has ended.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        matches!(self.reliability, Reliability::Until(end) if now >= end)
    }
}

/// Where a chunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flight {
    /// On its way, or lost without our knowing.
    Outstanding,
    /// To be retransmitted; `true`: because of three reports that it lacks.
    Marked(bool),
    /// Reported by a Gap Ack Block.
    Acked,
    /// Given up (RFC 3758).
    Abandoned,
}

/// A chunk with a TSN.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) payload: Bytes,
    pub(crate) context: u64,
    pub(crate) sent_at: Time,
    pub(crate) reliability: Reliability,
    pub(crate) stream: u16,
    pub(crate) flags: DataFlags,
    pub(crate) flight: Flight,
    pub(crate) path: u8,
    pub(crate) misses: u8,
    /// It was retransmitted fast once, which is as often as it may be.
    pub(crate) was_fast: bool,
    /// It was sent over another path before.
    pub(crate) was_elsewhere: bool,
    pub(crate) transmissions: u16,
    /// Stream Sequence Number or Message Identifier.
    pub(crate) number: u32,
    pub(crate) ppid: u32,
    pub(crate) fsn: u32,
}

impl Sent {
    /// Appends it as DATA or I-DATA.
    #[inline]
    pub(crate) fn write(&self, tsn: u64, is_interleaved: bool, out: &mut Vec<u8>) {
        let (tsn, stream, flags) = (low32(tsn), self.stream, self.flags);
        let payload = &self.payload[..];
        match is_interleaved {
            false => {
                let ssn = low16(self.number.into());
                Data { flags, tsn, stream, ssn, ppid: self.ppid, payload }.write(out);
            }
            true => {
                let ppid_or_fsn = if flags.is_begin() { self.ppid } else { self.fsn };
                IData { flags, tsn, stream, mid: self.number, ppid_or_fsn, payload }.write(out);
            }
        }
    }

    /// Octets of its chunk, padding included.
    #[inline]
    pub(crate) fn chunk_bytes(&self, header: usize) -> usize {
        padded(header + self.payload.len())
    }

    /// Whether it is not worth another transmission.
    pub(crate) fn is_stale(&self, now: Time) -> bool {
        match self.reliability {
            Reliability::Full => false,
            Reliability::Until(end) => now >= end,
            Reliability::Retransmissions(max) => self.transmissions > max,
        }
    }
}

/// Queue and ring.
#[derive(Debug)]
pub(crate) struct Outbound {
    pub(crate) queue: Queue,
    /// Octets in the queue that have no TSN yet.
    pub(crate) queued: usize,
    pub(crate) ring: VecDeque<Sent>,
    /// The TSN of the first entry of the ring: Cumulative TSN Ack Point + 1.
    pub(crate) first: u64,
    /// Octets of user data in the ring.
    pub(crate) held: usize,
    /// Octets of user data outstanding on all paths.
    pub(crate) outstanding: usize,
    /// Entries that are marked for retransmission, and no marked one is before `marked_from`.
    pub(crate) marked: usize,
    pub(crate) marked_from: usize,
    /// Chunks that were sent again.
    pub(crate) retransmitted: u64,
    /// Entries of limited reliability in the ring.
    pub(crate) unreliable: usize,
    /// The next number of each stream: ordered, unordered (I-DATA numbers both).
    numbers: Vec<[u32; 2]>,
    pub(crate) is_interleaved: bool,
    /// Streams of ours.
    pub(crate) streams: u16,
    /// a_rwnd of the peer's last SACK.
    pub(crate) peer_rwnd: usize,
    /// When the peer's closed window is to be probed.
    pub(crate) window_probe: Option<Time>,
    pub(crate) recovery: Recovery,
    /// Advanced.Peer.Ack.Point (RFC 3758 §3.5).
    pub(crate) advanced: u64,
    pub(crate) is_forward_due: bool,
    /// The user found the send buffer full.
    pub(crate) wants_buffer: bool,
}

/// What is known of losses.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    /// Fast Recovery ends when this TSN is acknowledged.
    pub(crate) exit: Option<u64>,
    /// Gap Ack Blocks of the last SACK reached this far, as index in the ring.
    pub(crate) gaps_to: usize,
    /// One packet of retransmissions may leave whatever cwnd says.
    pub(crate) may_burst: bool,
}

impl Outbound {
    pub(crate) fn new(initial_tsn: u32, streams: u16) -> Self {
        Self {
            queue: Queue::default(),
            queued: 0,
            ring: VecDeque::new(),
            first: origin(initial_tsn),
            held: 0,
            outstanding: 0,
            marked: 0,
            marked_from: 0,
            retransmitted: 0,
            unreliable: 0,
            numbers: Vec::new(),
            is_interleaved: false,
            streams,
            peer_rwnd: 0,
            window_probe: None,
            recovery: Recovery::default(),
            advanced: origin(initial_tsn) - 1,
            is_forward_due: false,
            wants_buffer: false,
        }
    }

    /// The next TSN.
    pub(crate) fn next_tsn(&self) -> u64 {
        self.first + self.ring.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.ring.is_empty()
    }

    pub(crate) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(crate) fn push(&mut self, message: Outgoing) {
        self.queued += message.payload.len();
        self.queue.push(message);
    }

    /// Octets of header of our chunks of user data.
    pub(crate) const fn header_bytes(&self) -> usize {
        if self.is_interleaved { I_DATA_BYTES } else { DATA_BYTES }
    }

    /// Octets that the entry takes of a congestion window: its chunk with header and padding
    /// (RFC 9260 §7.2).
    #[inline]
    pub(crate) fn chunk_bytes(&self, index: usize) -> usize {
        self.ring[index].chunk_bytes(self.header_bytes())
    }

    /// Octets of user data of the next new chunk, when a chunk can have `max` of them and there is
    /// room for `room` in the packet. A message of `split_from_bytes` octets or more is split to
    /// fill the packet while others wait behind it.
    pub(crate) fn next_bytes(
        &mut self,
        max: usize,
        room: usize,
        split_from_bytes: Option<u32>,
    ) -> Option<usize> {
        let queued = self.queued;
        let (message, partial) = self.queue.head()?;
        let length = message.payload.len();
        let left = length - partial.map_or(0, |partial| partial.at);
        let bytes = left.min(max);
        let fills = split_from_bytes.is_some_and(|point| length >= point as usize) && queued > left;
        Some(if fills && (1..bytes).contains(&room) { room } else { bytes })
    }

    /// The numbers of these streams begin anew; none listed: of all.
    pub(crate) fn reset(&mut self, streams: &[u16]) {
        for (stream, next) in (0..=u16::MAX).zip(&mut self.numbers) {
            if streams.is_empty() || streams.contains(&stream) {
                *next = [0; 2];
            }
        }
    }

    /// The next TSN is another one; the ring is empty.
    pub(crate) fn begin_at(&mut self, tsn: u32) {
        if self.ring.is_empty() {
            self.first = origin(tsn);
        }
    }

    /// Takes the next message out when it is not worth sending any more.
    pub(crate) fn expire(&mut self, now: Time) -> Option<Outgoing> {
        let message = self.queue.expire(now)?;
        self.queued -= message.payload.len();
        Some(message)
    }

    /// Gives the next chunk its TSN and puts it into the ring, on its way over `path`.
    pub(crate) fn emit(&mut self, now: Time, path: u8, max: usize) -> Option<usize> {
        let (message, partial) = self.queue.head()?;
        let (stream, is_unordered) = (message.stream, message.is_unordered);
        let partial = match partial {
            Some(partial) => partial,
            None => Partial { at: 0, fsn: 0, number: self.number(stream, is_unordered) },
        };
        let (message, _) = self.queue.head()?;
        let is_immediate = message.is_immediate;
        let (ppid, reliability, context) = (message.ppid, message.reliability, message.context);
        let bytes = (message.payload.len() - partial.at).min(max);
        let end = partial.at + bytes;
        let is_end = end == message.payload.len();
        let payload = match is_end && partial.at == 0 {
            true => core::mem::take(&mut message.payload),
            false => message.payload.slice(partial.at..end),
        };
        let mut flags = 0;
        for (is_set, flag) in [
            (partial.at == 0, DataFlags::BEGIN),
            (is_end, DataFlags::END),
            (is_unordered, DataFlags::UNORDERED),
            (is_immediate && is_end, DataFlags::IMMEDIATE),
        ] {
            flags |= if is_set { flag } else { 0 };
        }
        let rest = Partial { at: end, fsn: partial.fsn + 1, ..partial };
        self.queue.served(bytes, (!is_end).then_some(rest));
        self.queued -= bytes;
        self.held += bytes;
        self.outstanding += bytes;
        self.unreliable += usize::from(reliability != Reliability::Full);
        self.ring.push_back(Sent {
            payload,
            context,
            sent_at: now,
            reliability,
            stream,
            flags: DataFlags(flags),
            flight: Flight::Outstanding,
            path,
            misses: 0,
            was_fast: false,
            was_elsewhere: false,
            transmissions: 1,
            number: partial.number,
            ppid,
            fsn: partial.fsn,
        });
        Some(bytes)
    }

    /// The next number of a stream (RFC 9260 §6.5, RFC 8260 §2.1). DATA that is unordered has
    /// none.
    fn number(&mut self, stream: u16, is_unordered: bool) -> u32 {
        if is_unordered && !self.is_interleaved {
            return 0;
        }
        let index = usize::from(stream);
        if index >= self.numbers.len() {
            self.numbers.resize(index + 1, [0; 2]);
        }
        let next = &mut self.numbers[index][usize::from(is_unordered)];
        let number = *next;
        *next = next.wrapping_add(1);
        number
    }

    /// The rest of a message whose chunks were given up leaves the queue. It takes one TSN that is
    /// never sent: without it the next message would follow right upon fragments without an end,
    /// which breaks the rules of fragmentation for a peer that has not heard of the skip yet.
    pub(crate) fn cut_partial(&mut self, index: usize) {
        let last = &self.ring[index];
        let Some((message, partial)) = self.queue.cut(last.stream) else { return };
        self.queued -= message.payload.len() - partial.at;
        let end = Sent {
            payload: Bytes::new(),
            flags: DataFlags(last.flags.0 & DataFlags::UNORDERED | DataFlags::END),
            flight: Flight::Abandoned,
            fsn: partial.fsn,
            ..*last
        };
        self.unreliable += usize::from(end.is_unreliable());
        self.ring.push_back(end);
    }

    /// Marks the entry for retransmission; its path, and the octets that it takes no more of the
    /// window there.
    pub(crate) fn mark(&mut self, index: usize, is_fast: bool) -> (usize, usize) {
        let chunk_bytes = self.chunk_bytes(index);
        let entry = &mut self.ring[index];
        let (path, bytes) = (usize::from(entry.path), entry.payload.len());
        entry.flight = Flight::Marked(is_fast);
        entry.misses = 0;
        self.outstanding -= bytes;
        self.marked_from = if self.marked == 0 { index } else { self.marked_from.min(index) };
        self.marked += 1;
        (path, chunk_bytes)
    }

    /// The first entry marked for retransmission.
    pub(crate) fn first_marked(&mut self) -> Option<usize> {
        if self.marked == 0 {
            return None;
        }
        let from = self.marked_from;
        let is_marked = |entry: &Sent| matches!(entry.flight, Flight::Marked(_));
        let found = self.ring.range(from..).position(is_marked)? + from;
        self.marked_from = found;
        Some(found)
    }

    /// Every message that has not been acknowledged leaves: those with a TSN first.
    pub(crate) fn drain(&mut self, mut failed: impl FnMut(u64, bool)) {
        for entry in self.ring.drain(..).filter(|entry| entry.flags.is_end()) {
            // A Gap Ack Block is no promise that the message was delivered (RFC 9260 §6.2).
            if entry.flight != Flight::Abandoned {
                failed(entry.context, true);
            }
        }
        for (message, was_sent) in self.queue.drain() {
            failed(message.context, was_sent);
        }
    }
}

impl Sent {
    pub(crate) fn is_unreliable(&self) -> bool {
        self.reliability != Reliability::Full
    }
}
