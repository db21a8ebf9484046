//! The packets of one worker: cells of memory, one packet in each, and beside them what is known
//! of it.
//!
//! ```text
//!   cell   │ room for headers, 256 │ packet: Meta.length octets from Meta.offset │ rest │
//!   Meta   64 octets a packet, all of them side by side: a vector's fit the first cache
//! ```
//! A stride of 33 cache lines instead of 32 keeps the same header of neighbouring packets out of
//! one cache set (at 2,048 octets two sets of the first cache would hold them all).

use crate::meta::Meta;
use std::ptr::NonNull;
use std::sync::Arc;

/// Octets free before a packet as it is received: what AF_XDP leaves (XDP_PACKET_HEADROOM).
pub const HEADROOM: usize = 256;
/// Octets from one cell to the next where packets are at most [`room`] octets long.
pub const STRIDE: usize = 2_112;
/// Octets from one cell to the next where packets of 9,000 octets and more are carried.
pub const STRIDE_JUMBO: usize = 10_304;
/// Cells of a pool at most.
pub const SLOTS_MAX: usize = 1 << 20;
/// Octets of a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// Octets of a small page.
const PAGE: usize = 4_096;
/// Octets of a cache line.
const LINE: usize = 64;

/// The number of a packet's cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(transparent)]
pub struct Slot(pub u32);

/// The longest packet a cell of `stride` octets takes as it is received.
#[must_use]
pub const fn room(stride: usize) -> usize {
    stride - HEADROOM
}

/// The memory of a pool's cells. Whoever lets the kernel or another worker read or write it holds
/// on to it, so that it stays as long as they may.
#[derive(Debug)]
pub struct Region {
    memory: table::Region,
    octets: usize,
}

impl Region {
    /// In huge pages: cells lie so far apart that each vector would need more translations of
    /// small ones than the processor holds.
    fn new(octets: usize) -> Self {
        let octets = octets.next_multiple_of(HUGE_PAGE);
        let memory = table::Region::new(octets / LINE).expect("memory for a pool");
        // Filled now: no packet waits for a page.
        for at in (0..octets).step_by(PAGE) {
            // SAFETY: inside the region, which nobody else has yet.
            unsafe { memory.start().add(at).write_volatile(0) };
        }
        Self { memory, octets }
    }

    /// Its first octet.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.memory.start()
    }

    /// Octets in all.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.octets
    }
}

/// The packets of one worker.
pub struct Pool {
    region: Arc<Region>,
    memory: NonNull<u8>,
    stride: usize,
    metas: Box<[Meta]>,
    free: Vec<Slot>,
    /// Debug builds see a packet that is freed twice.
    #[cfg(debug_assertions)]
    held: Vec<bool>,
}

// SAFETY: the memory belongs to the pool alone.
unsafe impl Send for Pool {}

impl Pool {
    /// `slots` cells of `stride` octets each (a multiple of 64).
    ///
    /// # Panics
    /// When there are no slots or more than [`SLOTS_MAX`], or the stride is not as said.
    #[must_use]
    pub fn new(slots: usize, stride: usize) -> Self {
        assert!((1..=SLOTS_MAX).contains(&slots), "1 to {SLOTS_MAX} slots");
        assert!(stride.is_multiple_of(LINE) && stride > HEADROOM, "a stride of whole cache lines");
        assert!(stride <= usize::from(u16::MAX), "offsets have 16 bits");
        let region = Arc::new(Region::new(slots * stride));
        Self {
            memory: region.start(),
            region,
            stride,
            metas: vec![Meta::default(); slots].into_boxed_slice(),
            // The last freed is the first taken: it is still in the cache.
            free: (0..machine::narrow::place(slots)).rev().map(Slot).collect(),
            #[cfg(debug_assertions)]
            held: vec![false; slots],
        }
    }

    /// Cells in all.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.metas.len()
    }

    /// Cells that hold no packet.
    #[must_use]
    pub fn free_slots(&self) -> usize {
        self.free.len()
    }

    /// Octets from one cell to the next.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The memory of all cells, for a driver that lets the kernel write into it. Cell `n` starts
    /// at `n * stride`.
    #[must_use]
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// Takes an empty cell; its packet is empty and starts at [`HEADROOM`]. `None` if all are
    /// taken.
    #[inline]
    pub fn take(&mut self) -> Option<Slot> {
        let slot = self.free.pop()?;
        #[cfg(debug_assertions)]
        self.hold(slot);
        self.metas[slot.0 as usize] = Meta::default();
        Some(slot)
    }

    /// Takes as many empty cells as `into` holds, or as there are; says how many.
    #[inline]
    pub fn take_all(&mut self, into: &mut [Slot]) -> usize {
        let count = into.len().min(self.free.len());
        let rest = self.free.len() - count;
        for (slot, taken) in into.iter_mut().zip(self.free[rest..].iter().rev()) {
            *slot = *taken;
        }
        self.free.truncate(rest);
        for slot in &into[..count] {
            #[cfg(debug_assertions)]
            self.hold(*slot);
            self.metas[slot.0 as usize] = Meta::default();
        }
        count
    }

    /// Gives a cell back.
    #[inline]
    pub fn free(&mut self, slot: Slot) {
        self.free_all(&[slot]);
    }

    /// Gives cells back.
    #[inline]
    pub fn free_all(&mut self, slots: &[Slot]) {
        #[cfg(debug_assertions)]
        for slot in slots {
            let held = std::mem::replace(&mut self.held[slot.0 as usize], false);
            assert!(held, "cell {} is given back twice", slot.0);
        }
        self.free.extend_from_slice(slots);
    }

    /// Puts a packet into an empty cell. `None` if all are taken or it is too long for one.
    pub fn put(&mut self, packet: &[u8]) -> Option<Slot> {
        if packet.len() > room(self.stride) {
            return None;
        }
        let slot = self.take()?;
        self.meta_mut(slot).length = machine::narrow::index(packet.len());
        self.bytes_mut(slot).copy_from_slice(packet);
        Some(slot)
    }

    /// A second packet like that in `slot`, with all that is known of it. `None` if all cells are
    /// taken.
    pub fn copy(&mut self, slot: Slot) -> Option<Slot> {
        let copy = self.take()?;
        let meta = *self.meta(slot);
        *self.meta_mut(copy) = meta;
        let from = slot.0 as usize * self.stride + usize::from(meta.offset);
        let to = copy.0 as usize * self.stride + usize::from(meta.offset);
        debug_assert!(usize::from(meta.offset) + usize::from(meta.length) <= self.stride);
        self.memory_mut().copy_within(from..from + usize::from(meta.length), to);
        Some(copy)
    }

    /// What is known of a packet.
    #[inline]
    #[must_use]
    pub fn meta(&self, slot: Slot) -> &Meta {
        &self.metas[slot.0 as usize]
    }

    /// What is known of a packet, to be changed.
    #[inline]
    pub fn meta_mut(&mut self, slot: Slot) -> &mut Meta {
        &mut self.metas[slot.0 as usize]
    }

    /// A packet from its first octet.
    #[inline]
    #[must_use]
    pub fn bytes(&self, slot: Slot) -> &[u8] {
        let meta = self.metas[slot.0 as usize];
        &self.cell(slot)[usize::from(meta.offset)..][..usize::from(meta.length)]
    }

    /// A packet from its first octet, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self, slot: Slot) -> &mut [u8] {
        let meta = self.metas[slot.0 as usize];
        &mut self.cell_mut(slot)[usize::from(meta.offset)..][..usize::from(meta.length)]
    }

    /// A packet and what is known of it at once.
    #[inline]
    pub fn packet_mut(&mut self, slot: Slot) -> (&mut Meta, &mut [u8]) {
        let at = slot.0 as usize;
        let (stride, memory) = (self.stride, self.memory);
        let meta = &mut self.metas[at];
        // SAFETY: `at` is a cell (the line before checked it), whose memory is the pool's own;
        // cells do not overlap, and metas are other memory.
        let cell =
            unsafe { std::slice::from_raw_parts_mut(memory.add(at * stride).as_ptr(), stride) };
        let bytes = &mut cell[usize::from(meta.offset)..][..usize::from(meta.length)];
        (meta, bytes)
    }

    /// What is known of a packet, and its whole cell: for nodes that find their header by offset.
    #[inline]
    pub fn parts(&mut self, slot: Slot) -> (&mut Meta, &mut [u8]) {
        let at = slot.0 as usize;
        let (stride, memory) = (self.stride, self.memory);
        let meta = &mut self.metas[at];
        // SAFETY: as in `packet_mut`.
        let cell =
            unsafe { std::slice::from_raw_parts_mut(memory.add(at * stride).as_ptr(), stride) };
        (meta, cell)
    }

    /// The whole cell of a packet.
    #[inline]
    #[must_use]
    pub fn cell(&self, slot: Slot) -> &[u8] {
        assert!((slot.0 as usize) < self.metas.len(), "a slot of this pool");
        // SAFETY: inside the memory (asserted), initialised, borrowed with the pool.
        unsafe {
            let cell = self.memory.add(slot.0 as usize * self.stride);
            std::slice::from_raw_parts(cell.as_ptr(), self.stride)
        }
    }

    /// The whole cell of a packet, to be changed.
    #[inline]
    pub fn cell_mut(&mut self, slot: Slot) -> &mut [u8] {
        assert!((slot.0 as usize) < self.metas.len(), "a slot of this pool");
        // SAFETY: inside the memory (asserted), initialised, borrowed with the pool.
        unsafe {
            let cell = self.memory.add(slot.0 as usize * self.stride);
            std::slice::from_raw_parts_mut(cell.as_ptr(), self.stride)
        }
    }

    /// Makes room for `octets` in front of the packet and hands the room out; `None` if there is
    /// no more.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "both lie within a cell of 16 bits")]
    pub fn prepend(&mut self, slot: Slot, octets: usize) -> Option<&mut [u8]> {
        let meta = &mut self.metas[slot.0 as usize];
        let offset = usize::from(meta.offset).checked_sub(octets)?;
        meta.offset = offset as u16;
        meta.length += octets as u16;
        Some(&mut self.cell_mut(slot)[offset..offset + octets])
    }

    /// Takes `octets` off the packet's front; false (and nothing is done) if it has fewer.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "at most the length, of 16 bits")]
    pub fn advance(&mut self, slot: Slot, octets: usize) -> bool {
        let meta = &mut self.metas[slot.0 as usize];
        if usize::from(meta.length) < octets {
            return false;
        }
        meta.offset += octets as u16;
        meta.length -= octets as u16;
        true
    }

    /// Asks for the first line of what is known of a packet and of the packet itself.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        let at = (slot.0 as usize).min(self.metas.len() - 1);
        let offset = usize::from(self.metas[at].offset);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch touches nothing; the address is inside the pool.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.memory.add(at * self.stride + offset).as_ptr().cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = offset;
    }

    /// The octets of all cells, for what works on many packets at once. Cell `n` starts at
    /// `n * stride`.
    #[inline]
    pub fn memory_mut(&mut self) -> &mut [u8] {
        // SAFETY: the pool's own memory, initialised, borrowed with the pool.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.region.octets()) }
    }

    #[cfg(debug_assertions)]
    fn hold(&mut self, slot: Slot) {
        assert!(!std::mem::replace(&mut self.held[slot.0 as usize], true), "taken twice");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_keeps_its_octets_until_its_cell_is_given_back() {
        let mut pool = Pool::new(3, STRIDE);
        let first = pool.put(&[1; 60]).unwrap();
        let second = pool.put(&[2; 1_500]).unwrap();
        let third = pool.copy(second).unwrap();
        assert_eq!(pool.put(&[4]), None, "all cells are taken");
        assert_eq!(pool.bytes(first), [1; 60]);
        assert_eq!(pool.bytes(third), [2; 1_500]);
        pool.free_all(&[first, third]);
        assert_eq!(pool.free_slots(), 2);
        assert_eq!(pool.put(&[0; STRIDE]), None, "too long for a cell");
    }

    #[test]
    fn headers_come_off_and_go_on_at_the_front() {
        let mut pool = Pool::new(1, STRIDE);
        let slot = pool.put(&[1, 2, 3, 4]).unwrap();
        assert!(pool.advance(slot, 2) && !pool.advance(slot, 3));
        pool.prepend(slot, 3).unwrap().copy_from_slice(&[7, 8, 9]);
        assert_eq!(pool.bytes(slot), [7, 8, 9, 3, 4]);
        assert!(pool.prepend(slot, HEADROOM).is_none(), "one octet of the room is used");
    }

    #[test]
    #[should_panic(expected = "given back twice")]
    #[cfg(debug_assertions)]
    fn a_cell_given_back_twice_is_seen_in_debug_builds() {
        let mut pool = Pool::new(2, STRIDE);
        let slot = pool.take().unwrap();
        pool.free(slot);
        pool.free(slot);
    }
}
