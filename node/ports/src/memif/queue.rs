//! One ring with its buffers, as the one side or the other sees it.
//!
//! | | who writes packets | moves | who reads | moves |
//! |---|---|---|---|---|
//! | to the master | slave | head | master | tail |
//! | to the slave | master, where the slave offered buffers | tail | slave | head: offers anew |

use super::control::BUFFER_OCTETS_MIN;
use crate::VECTOR;
use crate::bell::Interrupt;
use crate::counters::{Counters, ReceiveDrop};
use crate::shared::{Descriptor, NEXT, Ring, Segment};
use graph::{Pool, Slot, room};
use machine::narrow::{self, index};
use std::sync::Arc;

/// Where a side finds the buffers of descriptors.
#[derive(Debug)]
pub(super) enum Buffers {
    /// The slave: it made them, one of `octets` for each descriptor from `start` on, and looks
    /// nowhere else.
    Own { segment: Arc<Segment>, start: u32, octets: u32 },
    /// The master: wherever the slave's descriptors say.
    Told(Arc<[Arc<Segment>]>),
}

/// Descriptors that one call looks at, at most: what the other side wrote into them may be worth
/// nothing.
const LOOKED_AT_MAX: usize = 2 * VECTOR;

/// One ring.
#[derive(Debug)]
pub(super) struct Queue {
    pub ring: Ring,
    buffers: Buffers,
    /// The next descriptor to be read or written.
    at: u16,
}

/// The other side did what it must not: the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

impl Queue {
    pub fn new(ring: Ring, buffers: Buffers) -> Self {
        Self { ring, buffers, at: 0 }
    }

    fn is_own(&self) -> bool {
        matches!(self.buffers, Buffers::Own { .. })
    }

    /// The buffer of a descriptor; a slave's own, whatever stands there.
    fn place(&self, number: u16, told: Descriptor) -> Descriptor {
        match &self.buffers {
            Buffers::Own { start, octets, .. } => {
                let index = u32::from(number & (self.ring.size() - 1));
                Descriptor { region: 0, offset: start + index * octets, ..told }
            }
            Buffers::Told(_) => told,
        }
    }

    fn segment(&self, region: u16) -> Option<&Segment> {
        match &self.buffers {
            Buffers::Own { segment, .. } => Some(segment),
            Buffers::Told(segments) => segments.get(usize::from(region)).map(|found| &**found),
        }
    }

    /// Offers all buffers of a ring to the master.
    pub fn offer(&mut self) {
        for number in 0..self.ring.size() {
            self.offer_one(number);
        }
        self.ring.set_head(self.ring.size());
    }

    fn offer_one(&self, number: u16) {
        let Buffers::Own { octets, .. } = self.buffers else { return };
        let empty = Descriptor { length: octets, ..Descriptor::default() };
        self.ring.set_descriptor(number, self.place(number, empty));
    }

    /// Descriptors that wait to be read.
    fn waiting(&self) -> Result<u16, Broken> {
        let end = if self.is_own() { self.ring.tail() } else { self.ring.head() };
        let count = end.wrapping_sub(self.at);
        if count <= self.ring.size() { Ok(count) } else { Err(Broken) }
    }

    /// Whether something waits.
    pub fn is_waiting(&self) -> bool {
        self.waiting() != Ok(0)
    }

    /// Receives until `into` has grown by [`VECTOR`] beyond `start`, nothing is left, or enough was
    /// looked at.
    pub fn receive(
        &mut self,
        pool: &mut Pool,
        into: &mut Vec<Slot>,
        start: usize,
        counters: &mut Counters,
    ) -> Result<(), Broken> {
        let mut left = self.waiting()?;
        let (began, pieces_max) = (self.at, pieces_max(pool));
        let has_budget = |at: u16| usize::from(at.wrapping_sub(began)) < LOOKED_AT_MAX;
        while left > 0
            && into.len() - start < VECTOR
            && pool.free_slots() > 0
            && has_budget(self.at)
        {
            let Some(pieces) = self.pieces(left, pieces_max)? else { break };
            match self.gather(pieces, pool)? {
                Ok(slot) => {
                    counters.received.add(usize::from(pool.meta(slot).length));
                    into.push(slot);
                }
                Err(why) => counters.drop_received(why, 1),
            }
            self.at = self.at.wrapping_add(pieces);
            left -= pieces;
        }
        if began == self.at {
            return Ok(());
        }
        if self.is_own() {
            let mut number = began;
            while number != self.at {
                self.offer_one(number);
                number = number.wrapping_add(1);
            }
            self.ring.set_head(self.at.wrapping_add(self.ring.size()));
        } else {
            self.ring.set_tail(self.at);
        }
        Ok(())
    }

    /// Descriptors of the next packet; `None` while its end is not there. One of more than `most`
    /// is none.
    fn pieces(&self, left: u16, most: u16) -> Result<Option<u16>, Broken> {
        let goes_on = |n: &u16| self.ring.descriptor(self.at.wrapping_add(*n)).flags & NEXT != 0;
        match (0..left.min(most)).find(|n| !goes_on(n)) {
            Some(last) => Ok(Some(last + 1)),
            None if left >= most => Err(Broken),
            // A packet that fills the whole ring can never end.
            None => Ok((left == self.ring.size()).then_some(left)),
        }
    }

    /// Copies a packet's pieces into a cell.
    fn gather(&self, pieces: u16, pool: &mut Pool) -> Result<Result<Slot, ReceiveDrop>, Broken> {
        let Some(slot) = pool.take() else { return Ok(Err(ReceiveDrop::NoCell)) };
        let longest = room(pool.stride());
        let (meta, _) = pool.packet_mut(slot);
        meta.length = index(longest);
        let bytes = pool.bytes_mut(slot);
        let mut length = 0;
        let mut result = Ok(());
        for piece in 0..pieces {
            let number = self.at.wrapping_add(piece);
            let from = self.place(number, self.ring.descriptor(number));
            let Some(into) = bytes[length..].get_mut(..from.length as usize) else {
                result = Err(ReceiveDrop::TooLong);
                break;
            };
            let Some(segment) = self.segment(from.region) else {
                pool.free(slot);
                return Err(Broken);
            };
            if !segment.read(from.offset, into) {
                result = Err(ReceiveDrop::Malformed);
                break;
            }
            length += into.len();
        }
        if let Err(why) = result {
            pool.free(slot);
            return Ok(Err(why));
        }
        pool.meta_mut(slot).length = index(length);
        Ok(Ok(slot))
    }

    /// Descriptors that can be written.
    pub fn room(&mut self) -> Result<u16, Broken> {
        let (head, tail, size) = (self.ring.head(), self.ring.tail(), self.ring.size());
        let between = head.wrapping_sub(tail);
        match between <= size {
            true if self.is_own() => Ok(size - between),
            true => Ok(between),
            false => Err(Broken),
        }
    }

    /// Writes a packet into the next buffers; how many it took, or `None` if `room` was too
    /// little. The reader sees it after [`Queue::publish`].
    pub fn write(&mut self, packet: &[u8], room: u16) -> Result<Option<u16>, Broken> {
        let (mut rest, mut pieces) = (packet, 0u16);
        loop {
            if pieces == room {
                return Ok(None);
            }
            let number = self.at.wrapping_add(pieces);
            let mut to = self.place(number, self.ring.descriptor(number));
            if let Buffers::Own { octets, .. } = self.buffers {
                to.length = octets;
            }
            let (here, later) = rest.split_at(rest.len().min(to.length as usize));
            let segment = self.segment(to.region).ok_or(Broken)?;
            if here.is_empty() || !segment.write(to.offset, here) {
                return Err(Broken);
            }
            (to.length, to.metadata) = (narrow::place(here.len()), 0);
            to.flags = if later.is_empty() { 0 } else { NEXT };
            self.ring.set_descriptor(number, to);
            pieces += 1;
            rest = later;
            if rest.is_empty() {
                self.at = self.at.wrapping_add(pieces);
                return Ok(Some(pieces));
            }
        }
    }

    /// Lets the reader see what was written; what is to be rung then, while nobody waits for it.
    pub fn publish(&self) -> Option<Arc<Interrupt>> {
        if self.is_own() {
            self.ring.set_head(self.at);
        } else {
            self.ring.set_tail(self.at);
        }
        self.ring.wanted_interrupt().map(Arc::clone)
    }
}

/// Pieces that a packet for a cell can need, of the smallest buffers.
fn pieces_max(pool: &Pool) -> u16 {
    index(room(pool.stride()).div_ceil(BUFFER_OCTETS_MIN))
}
