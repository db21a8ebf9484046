//! `AF_XDP`: the kernel, or the NIC itself, writes packets into the worker's pool and sends them
//! from there (Documentation/networking/af_xdp.rst).
//!
//! ```text
//!          ┌─ take ─→ fill ring ─→ kernel ─→ receive ring ─→ packet ─┐ one UMEM for all ports of
//!   Pool ──┤                                                         │ a worker: in by one, out
//!          └─ free ←─ completion ring ←─ kernel ←─ send ring ←───────┘ by another, no copy here
//! ```
//! | what | why |
//! |---|---|
//! | one port is one queue of an interface | no lock; [`Redirect`] leads to all its queues |
//! | the fill ring leaves [`RESERVE`] cells | for packets that are made here |
//! | wake-ups only when the kernel asks | it polls by itself where it can |
//! | sums left to hardware come unfinished | the kernel does not say so: see below |
//!
//! A sender on the same machine (a veth) leaves checksums to hardware that is not there, and a
//! packet that XDP redirects does not say that: switch the sender's offloads off
//! ([`super::Device::set_offloads_off`] at the far end of the veth).

mod rings;
mod umem;

use super::checksum;
use super::counters::{Counters, ReceiveDrop, SendDrop};
use super::device::{Device, Link};
use super::{LINK_OCTETS, VECTOR};
use driver::call::octets_of;
use driver::{QUEUES_MAX, Redirect};
use graph::{Pool, Region, Slot};
use machine::narrow::place;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use umem::Socket;

pub use umem::{STRIDE_MAX, Umem};

/// Entries of each ring unless said otherwise.
pub const ENTRIES: u32 = 2_048;
/// Entries of a ring at most.
pub const ENTRIES_MAX: u32 = 1 << 15;
/// MetricCells of the pool that fill rings leave to others.
pub const RESERVE: usize = 512;
/// Where an address has the packet's offset in its cell (`XSK_UNALIGNED_BUF_OFFSET_SHIFT`).
const OFFSET_AT: u32 = 48;
/// Calls to send one vector at most; each takes 32 packets or more.
const CALLS_MAX: usize = 64;
/// The shortest packet: an Ethernet header.
const SHORTEST: usize = 14;
/// Contiguous memory begins anew here.
const HUGE_PAGE: usize = 2 << 20;

/// A port on one queue of an interface. Needs `CAP_NET_ADMIN`, `CAP_NET_RAW` and `CAP_BPF`.
#[derive(Debug)]
pub struct XdpPort {
    socket: Socket,
    _redirect: Arc<Redirect>,
    device: Device,
    link: Link,
    counters: Counters,
    /// What the kernel had counted when it was asked last.
    seen: libc::xdp_statistics,
    /// The pool had fewer cells than the fill ring takes since that.
    is_starved: bool,
    /// Which cells the kernel has.
    held: Box<[bool]>,
    /// MetricCells that no NIC can write into: they straddle huge pages.
    spare: Vec<Slot>,
    stride: usize,
    region: Option<Arc<Region>>,
}

impl XdpPort {
    /// Opens a queue of the interface that `redirect` is for, with rings of `entries` (a
    /// power of two), for the pool of `umem`.
    ///
    /// # Errors
    /// The kernel's: no such queue, not permitted, somebody has that queue.
    pub fn open(
        redirect: &Arc<Redirect>,
        queue: u32,
        entries: u32,
        umem: &mut Umem,
    ) -> io::Result<Self> {
        if !entries.is_power_of_two() || entries > ENTRIES_MAX || queue >= QUEUES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let device = Device::open(redirect.interface())?;
        let socket = umem.socket(device.index(), queue, entries, !redirect.is_native())?;
        redirect.steer(queue, socket.fd.as_raw_fd())?;
        let link = device.link()?;
        // SAFETY: a structure of integers, for which all-zero is a value.
        let seen = unsafe { std::mem::zeroed() };
        Ok(Self {
            socket,
            _redirect: Arc::clone(redirect),
            device,
            link,
            counters: Counters::default(),
            seen,
            is_starved: false,
            held: vec![false; umem.slots()].into_boxed_slice(),
            spare: Vec::new(),
            stride: umem.stride(),
            region: Some(Arc::clone(umem.region())),
        })
    }

    /// Whether the NIC writes into the pool by itself.
    #[must_use]
    pub fn is_zero_copy(&self) -> bool {
        self.socket.is_zero_copy
    }

    /// The interface, to set it up or to ask it.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The cell of an address that the kernel gives back, if it had it.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "lines of a pool fit 32 bits")]
    fn give_back(&mut self, address: u64) -> Option<Slot> {
        // MetricCells are whole lines, and the lines of a pool fit 32 bits: a shorter division.
        let line = ((address & ((1 << OFFSET_AT) - 1)) >> 6) as u32;
        let slot = line / (self.stride >> 6) as u32;
        let held = self.held.get_mut(slot as usize)?;
        std::mem::take(held).then_some(Slot(slot))
    }

    fn check(&self, pool: &Pool) {
        let own = self.region.as_ref().is_some_and(|own| Arc::ptr_eq(own, pool.region()));
        assert!(own, "the pool of the UMEM that it was opened with");
    }

    pub(super) fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Slot>) -> usize {
        self.check(pool);
        let start = into.len();
        for _ in 0..self.socket.receive.waiting().min(VECTOR) {
            let descriptor = self.socket.receive.read();
            let Some(slot) = self.give_back(descriptor.addr) else {
                self.counters.drop_received(ReceiveDrop::Malformed, 1);
                continue;
            };
            let (offset, length) = ((descriptor.addr >> OFFSET_AT) as usize, descriptor.len);
            if offset + length as usize > self.stride {
                self.counters.drop_received(ReceiveDrop::Malformed, 1);
                pool.free(slot);
                continue;
            }
            let meta = pool.meta_mut(slot);
            #[allow(clippy::cast_possible_truncation, reason = "both lie within a cell of 16 bits")]
            let (offset, octets) = (offset as u16, length as u16);
            (meta.offset, meta.length) = (offset, octets);
            self.counters.received.add(length as usize);
            into.push(slot);
        }
        let first = into.get(start).map(|slot| checksum::is_unfinished(pool.bytes(*slot)));
        self.counters.unfinished += u64::from(first.unwrap_or(false));
        self.socket.receive.release();
        self.complete(pool);
        self.refill(pool);
        if self.socket.send.waiting() > 0 {
            self.push();
        }
        into.len() - start
    }

    /// Frees what was sent.
    #[inline]
    fn complete(&mut self, pool: &mut Pool) {
        let waiting = self.socket.completion.waiting();
        if waiting == 0 {
            return;
        }
        for _ in 0..waiting {
            let address = self.socket.completion.read();
            if let Some(slot) = self.give_back(address) {
                pool.free(slot);
            }
        }
        self.socket.completion.release();
    }

    /// Gives the kernel cells to write into.
    #[inline]
    fn refill(&mut self, pool: &mut Pool) {
        let mut cells = [Slot(0); VECTOR];
        let room = self.socket.fill.room();
        let wanted = room.min(pool.free_slots().saturating_sub(RESERVE));
        self.is_starved |= wanted < room;
        // A few at a time are not worth a change of cache lines between cores.
        if wanted >= VECTOR / 8 {
            let mut left = wanted;
            while left > 0 {
                let count = pool.take_all(&mut cells[..left.min(VECTOR)]);
                left -= count;
                for &slot in &cells[..count] {
                    self.fill(slot);
                }
            }
            self.socket.fill.publish();
        }
        if self.socket.fill.needs_wakeup() {
            // SAFETY: no buffer is given; it tells the driver to look at the rings.
            unsafe {
                let (fd, none) = (self.socket.fd.as_raw_fd(), std::ptr::null_mut());
                let no_address = (std::ptr::null_mut(), std::ptr::null_mut());
                let how = libc::MSG_DONTWAIT;
                libc::recvfrom(fd, none, 0, how, no_address.0, no_address.1);
            }
        }
    }

    fn fill(&mut self, slot: Slot) {
        let place = slot.0 as usize * self.stride;
        if self.socket.is_zero_copy && straddles(place, self.stride) {
            return self.spare.push(slot);
        }
        self.held[slot.0 as usize] = true;
        self.socket.fill.write(place as u64);
    }

    pub(super) fn send(&mut self, pool: &mut Pool, slots: &mut Vec<Slot>) {
        self.check(pool);
        self.complete(pool);
        if !self.link.is_up {
            self.counters.drop_sent(SendDrop::Down, slots.len() as u64);
            pool.free_all(slots);
            return slots.clear();
        }
        let mut room = self.socket.send.room();
        let longest = self.link.mtu + LINK_OCTETS;
        for slot in slots.drain(..) {
            let meta = pool.meta(slot);
            let (offset, length) = (usize::from(meta.offset), usize::from(meta.length));
            let len = u32::from(meta.length);
            let why = match length {
                _ if room == 0 => SendDrop::QueueFull,
                _ if length > longest => SendDrop::TooLong,
                _ if length < SHORTEST || offset + length > self.stride => SendDrop::Refused,
                _ => {
                    let place = slot.0 as usize * self.stride;
                    let addr = place as u64 | (offset as u64) << OFFSET_AT;
                    self.held[slot.0 as usize] = true;
                    let options = 0;
                    self.socket.send.write(libc::xdp_desc { addr, len, options });
                    self.counters.sent.add(length);
                    room -= 1;
                    continue;
                }
            };
            self.counters.drop_sent(why, 1);
            pool.free(slot);
        }
        self.socket.send.publish();
        self.push();
        self.complete(pool);
    }

    /// Lets the kernel send what stands in the ring, where it does not look by itself.
    fn push(&mut self) {
        let mut waiting = self.socket.send.waiting();
        for _ in 0..CALLS_MAX {
            if waiting == 0 || !self.socket.send.needs_wakeup() {
                return;
            }
            // SAFETY: no buffer is given; it tells the kernel to look at the ring.
            let sent = unsafe {
                let (fd, how) = (self.socket.fd.as_raw_fd(), libc::MSG_DONTWAIT);
                libc::sendto(fd, std::ptr::null(), 0, how, std::ptr::null(), 0)
            };
            let left = self.socket.send.waiting();
            let error = io::Error::last_os_error().raw_os_error();
            if sent < 0 && matches!(error, Some(libc::ENETDOWN | libc::ENXIO)) {
                self.link.is_up = false;
            }
            // The queue behind is full: the next call goes on.
            if left == waiting {
                return;
            }
            waiting = left;
        }
    }

    pub(super) fn attend(&mut self, pool: &mut Pool) {
        self.complete(pool);
        self.refill(pool);
        match self.device.link() {
            Ok(link) => self.link = link,
            Err(_) => self.link.is_up = false,
        }
        if let Ok(now) = self.statistics() {
            self.count(&now);
            self.seen = now;
        }
        self.push();
    }

    /// Counts what the kernel dropped since it was asked last.
    fn count(&mut self, now: &libc::xdp_statistics) {
        let seen = &self.seen;
        let lost = now.rx_dropped - seen.rx_dropped;
        let unfilled = lost.min(now.rx_fill_ring_empty_descs - seen.rx_fill_ring_empty_descs);
        let full = now.rx_ring_full - seen.rx_ring_full;
        let invalid = now.rx_invalid_descs - seen.rx_invalid_descs;
        let refused = now.tx_invalid_descs - seen.tx_invalid_descs;
        // A fill ring runs out when the pool does, or when the worker is too slow to fill it.
        let starved = std::mem::take(&mut self.is_starved);
        let why = if starved { ReceiveDrop::NoCell } else { ReceiveDrop::QueueFull };
        self.counters.drop_received(why, unfilled);
        self.counters.drop_received(ReceiveDrop::TooLong, lost - unfilled);
        self.counters.drop_received(ReceiveDrop::QueueFull, full);
        self.counters.drop_received(ReceiveDrop::Malformed, invalid);
        self.counters.drop_sent(SendDrop::Refused, refused);
    }

    fn statistics(&self) -> io::Result<libc::xdp_statistics> {
        // SAFETY: a structure of integers, for which all-zero is a value.
        let mut counts: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        let mut length = octets_of::<libc::xdp_statistics>();
        // SAFETY: the kernel writes at most `length` bytes into the structure.
        driver::call::check(unsafe {
            let (fd, what) = (self.socket.fd.as_raw_fd(), libc::XDP_STATISTICS);
            let out = (&raw mut counts).cast();
            libc::getsockopt(fd, libc::SOL_XDP, what, out, &raw mut length)
        })?;
        Ok(counts)
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.fd.as_fd()
    }

    pub(super) fn doze(&mut self) -> bool {
        self.push();
        self.socket.receive.waiting() == 0
    }

    pub(super) fn rise(&mut self) {}

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn mac(&self) -> [u8; 6] {
        self.link.mac
    }

    pub(super) fn mtu(&self) -> usize {
        self.link.mtu
    }

    pub(super) fn is_up(&self) -> bool {
        self.link.is_up
    }

    pub(super) fn close(mut self, pool: &mut Pool) -> usize {
        self.check(pool);
        pool.free_all(&self.spare);
        self.spare.clear();
        let held = std::mem::take(&mut self.held);
        let is_zero_copy = self.socket.is_zero_copy;
        drop(self);
        let mine = held.iter().enumerate().filter(|(_, held)| **held);
        let mine: Vec<Slot> = mine.map(|(at, _)| Slot(place(at))).collect();
        if is_zero_copy {
            return mine.len();
        }
        // In copy mode the kernel touches nothing any more when the socket is closed.
        pool.free_all(&mine);
        0
    }
}

impl Drop for XdpPort {
    fn drop(&mut self) {
        // The kernel lets go of a NIC's queue a while after the socket is closed; until then the
        // NIC may write. The memory stays for good.
        if self.socket.is_zero_copy {
            std::mem::forget(self.region.take());
        }
    }
}

/// Whether a cell lies on two huge pages.
const fn straddles(place: usize, stride: usize) -> bool {
    place / HUGE_PAGE != (place + stride - 1) / HUGE_PAGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::{STRIDE, STRIDE_JUMBO};

    #[test]
    fn cells_that_lie_on_two_huge_pages_are_known() {
        let across: Vec<usize> = (0..2_000).filter(|at| straddles(at * STRIDE, STRIDE)).collect();
        assert_eq!(across, [992, 1_985]);
        assert!(!straddles(HUGE_PAGE, STRIDE) && !straddles(HUGE_PAGE - STRIDE, STRIDE));
    }

    #[test]
    fn jumbo_cells_are_refused_in_words() {
        let error = Umem::new(&Pool::new(1, STRIDE_JUMBO), false).unwrap_err();
        assert!(error.to_string().contains("packet port"), "{error}");
    }
}
