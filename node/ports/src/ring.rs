//! Two workers of one process, joined by a ring each way.
//!
//! ```text
//!   sender's pool ─ cell ─┐   descriptors: where in the sender's memory, how long
//!        ↑ freed          └→ │ │ │ │ │ │ │ ─→ copied into a cell of the receiver's pool
//!        └── reclaimed ←──────── tail
//! ```
//! A packet is copied once, by the receiver: its cell stays the ring's until then.

use super::counters::{Counters, ReceiveDrop, SendDrop};
use super::{LINK_OCTETS, VECTOR};
use driver::Waker;
use graph::{Pool, Region, Slot, room};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Packets that wait in a ring at most.
pub const CAPACITY_MAX: usize = 1 << 16;
/// Where the length stands in a descriptor, above the place.
const LENGTH_AT: u32 = 48;
/// Octets of the longest packet of an Ethernet without jumbo frames.
const MTU: usize = 1_500;

/// A number on a cache line of its own: the two sides write different ones.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// One direction.
#[derive(Debug)]
struct Lane {
    descriptors: Box<[AtomicU64]>,
    /// Descriptors written so far; the sender's.
    head: Apart<AtomicU32>,
    /// Descriptors read so far; the receiver's.
    tail: Apart<AtomicU32>,
    is_receiver_gone: AtomicBool,
    /// The sender's cells.
    region: Arc<Region>,
    /// The receiver's.
    waker: Waker,
}

impl Lane {
    fn new(capacity: usize, sender: &Pool) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            descriptors: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
            head: Apart::default(),
            tail: Apart::default(),
            is_receiver_gone: AtomicBool::new(false),
            region: Arc::clone(sender.region()),
            waker: Waker::new()?,
        }))
    }

    fn at(&self, number: u32) -> &AtomicU64 {
        &self.descriptors[number as usize & (self.descriptors.len() - 1)]
    }
}

/// One end of a pair of rings.
#[derive(Debug)]
pub struct RingPort {
    out: Arc<Lane>,
    back: Arc<Lane>,
    /// Descriptors of `out` written so far.
    head: u32,
    /// Descriptors of `out` whose cell is back in the pool.
    reclaimed: u32,
    /// Descriptors of `back` read so far.
    tail: u32,
    counters: Counters,
    mac: [u8; 6],
    mtu: usize,
    is_up: bool,
}

impl RingPort {
    /// Two ends, the first for the worker of the first pool, each with room for `capacity` packets
    /// that wait (a power of two). `macs` are what the ends say of themselves.
    ///
    /// # Errors
    /// The kernel's: out of descriptors. A capacity that is not as said is `InvalidInput`.
    pub fn pair(
        capacity: usize,
        pools: (&Pool, &Pool),
        macs: ([u8; 6], [u8; 6]),
    ) -> io::Result<(Self, Self)> {
        if !capacity.is_power_of_two() || capacity > CAPACITY_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let there = Lane::new(capacity, pools.0)?;
        let back = Lane::new(capacity, pools.1)?;
        let mtu = (room(pools.0.stride()).min(room(pools.1.stride())) - LINK_OCTETS).max(MTU);
        let first = Self::new(Arc::clone(&there), Arc::clone(&back), macs.0, mtu);
        Ok((first, Self::new(back, there, macs.1, mtu)))
    }

    fn new(out: Arc<Lane>, back: Arc<Lane>, mac: [u8; 6], mtu: usize) -> Self {
        let counters = Counters::default();
        Self { out, back, head: 0, reclaimed: 0, tail: 0, counters, mac, mtu, is_up: true }
    }

    pub(super) fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Slot>) -> usize {
        let waiting = self.back.head.0.load(Acquire).wrapping_sub(self.tail) as usize;
        let mut cells = [Slot(0); VECTOR];
        let wanted = waiting.min(VECTOR);
        let count = pool.take_all(&mut cells[..wanted]);
        let start = into.len();
        for &slot in &cells[..count] {
            let descriptor = self.back.at(self.tail).load(Relaxed);
            self.tail = self.tail.wrapping_add(1);
            let (place, length) = unpack(descriptor);
            if length > room(pool.stride()) {
                self.counters.drop_received(ReceiveDrop::TooLong, 1);
                pool.free(slot);
                continue;
            }
            #[allow(clippy::cast_possible_truncation, reason = "it fits a cell of 16 bits")]
            let short = length as u16;
            pool.meta_mut(slot).length = short;
            let to = pool.bytes_mut(slot);
            // SAFETY: `send` checked that the packet lies inside the sender's region, which the
            // lane holds on to, and leaves its cell alone until `tail` has passed it. The two
            // regions are two pools'.
            unsafe {
                let from = self.back.region.start().add(place).as_ptr();
                std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), length);
            }
            self.counters.received.add(length);
            into.push(slot);
        }
        self.back.tail.0.store(self.tail, Release);
        into.len() - start
    }

    pub(super) fn send(&mut self, pool: &mut Pool, slots: &mut Vec<Slot>) {
        self.reclaim(pool);
        if self.out.is_receiver_gone.load(Relaxed) {
            self.counters.drop_sent(SendDrop::Down, slots.len() as u64);
            pool.free_all(slots);
            return slots.clear();
        }
        let held = self.head.wrapping_sub(self.reclaimed) as usize;
        let count = slots.len().min(self.out.descriptors.len() - held);
        for &slot in &slots[..count] {
            let place = slot.0 as usize * pool.stride() + usize::from(pool.meta(slot).offset);
            let length = pool.bytes(slot).len(); // checks that it lies inside its cell
            self.out.at(self.head).store(place as u64 | (length as u64) << LENGTH_AT, Relaxed);
            self.head = self.head.wrapping_add(1);
            self.counters.sent.add(length);
        }
        self.out.head.0.store(self.head, Release);
        self.out.waker.wake();
        self.counters.drop_sent(SendDrop::QueueFull, (slots.len() - count) as u64);
        pool.free_all(&slots[count..]);
        slots.clear();
    }

    /// Takes back the cells that the other end has copied.
    fn reclaim(&mut self, pool: &mut Pool) {
        assert!(Arc::ptr_eq(pool.region(), &self.out.region), "the pool that it was made with");
        let tail = self.out.tail.0.load(Acquire);
        self.reclaim_to(pool, tail);
    }

    fn reclaim_to(&mut self, pool: &mut Pool, tail: u32) {
        while self.reclaimed != tail {
            let (place, _) = unpack(self.out.at(self.reclaimed).load(Relaxed));
            #[allow(clippy::cast_possible_truncation, reason = "a pool has fewer cells than 2³²")]
            let slot = (place / pool.stride()) as u32;
            pool.free(Slot(slot));
            self.reclaimed = self.reclaimed.wrapping_add(1);
        }
    }

    pub(super) fn attend(&mut self, pool: &mut Pool) {
        self.reclaim(pool);
        self.is_up = !self.out.is_receiver_gone.load(Relaxed);
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.back.waker.as_fd()
    }

    pub(super) fn doze(&mut self) -> bool {
        self.back.waker.clear();
        self.back.waker.doze();
        // The waker's store and this load are ordered by its SeqCst and the sender's swap.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        self.back.head.0.load(Acquire) == self.tail
    }

    pub(super) fn rise(&mut self) {
        self.back.waker.rise();
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn mac(&self) -> [u8; 6] {
        self.mac
    }

    pub(super) fn mtu(&self) -> usize {
        self.mtu
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up
    }

    pub(super) fn close(mut self, pool: &mut Pool) -> usize {
        self.reclaim(pool);
        // Whoever reads this one's cells has stopped for good when it says so.
        if self.out.is_receiver_gone.load(Acquire) {
            self.reclaim_to(pool, self.head);
        }
        self.head.wrapping_sub(self.reclaimed) as usize
    }
}

impl Drop for RingPort {
    fn drop(&mut self) {
        self.back.is_receiver_gone.store(true, Release);
        self.out.waker.wake();
    }
}

/// Place and length of a descriptor.
fn unpack(descriptor: u64) -> (usize, usize) {
    let place = descriptor & ((1 << LENGTH_AT) - 1);
    (place as usize, (descriptor >> LENGTH_AT) as usize)
}

#[cfg(test)]
mod tests;
