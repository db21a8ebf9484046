//! How a batch goes down its tables: all addresses a level together, so that the memory of many is
//! waited for at the same time. What a level needs is asked for while the level above is gone
//! through; no step has a branch that depends on a node.

use super::BATCH_MAX;
use super::address::Address;
use super::find::{WAYS, Walk, Way};
use super::node::{CLASSES, Class, Entry};
use crate::memory::{LINE_BYTES, LINE_WORDS};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::sync::atomic::Ordering;

/// Addresses that are not at their hop yet.
pub(super) struct Open {
    /// One more than there can be: what is not open is written past the open ones.
    lanes: [u8; BATCH_MAX + 1],
    count: usize,
    /// Where in the address, from its lowest octet, the next chunk is: by lane.
    chunks: [u8; BATCH_MAX],
}

impl Open {
    /// None, and whose are decided from `offset` on.
    #[inline]
    pub(super) fn new<A: Address>(offset: u8) -> Self {
        let chunk = A::BITS / 8 - 2 - offset / 8;
        Self { lanes: [0; BATCH_MAX + 1], count: 0, chunks: [chunk; BATCH_MAX] }
    }

    /// One lane more, if it is at a node.
    #[inline]
    pub(super) fn push(&mut self, lane: usize, entry: Entry) {
        #[allow(clippy::cast_possible_truncation, reason = "below `BATCH_MAX`, 256")]
        let octet = lane as u8;
        self.lanes[self.count] = octet;
        self.count += usize::from(entry.is_node());
    }

    /// Those who are at a top go on to what it says.
    pub(super) fn leave_tops<A: Address>(
        &mut self,
        walk: &Walk<'_>,
        addresses: &[A],
        hops: &mut [u32],
    ) {
        let count = std::mem::take(&mut self.count);
        for at in 0..count {
            let lane = usize::from(self.lanes[at]);
            if Entry(hops[lane]).class() == Class::Top {
                hops[lane] = walk.top(Entry(hops[lane]), addresses[lane]).0;
                self.chunks[lane] = A::BITS / 8 - 4;
            }
            self.push(lane, Entry(hops[lane]));
        }
    }
}

/// Takes all open addresses down until none is open. `below` finds how many ends of a row are
/// below a value, of those that the way says; it is told where the line is that has been asked
/// for.
///
/// # Safety
/// There are as many hops as addresses, and open lanes are below that number; their hops are nodes
/// that can be found, and none is a top.
#[inline(always)]
pub(super) unsafe fn go_down<A: Address>(
    walk: &Walk<'_>,
    addresses: &[A],
    hops: &mut [u32],
    open: &mut Open,
    below: impl Fn(*const u8, &Way, u16) -> usize,
) {
    let octets = addresses.as_ptr().cast::<u8>();
    let region = walk.region.base().cast_const();
    for at in 0..open.count {
        // SAFETY: open lanes are lanes of the batch, and are at nodes.
        unsafe {
            let lane = usize::from(*open.lanes.get_unchecked(at));
            let chunk = chunk_of::<A>(octets, lane, *open.chunks.get_unchecked(lane));
            ask(needed(region, Entry(*hops.get_unchecked(lane)), chunk));
        }
    }
    while open.count > 0 {
        let mut count = 0;
        for at in 0..open.count {
            // SAFETY: open lanes are lanes of the batch; a chunk lies in its address while there
            // is a node that decides it; ends and entries are where the class has them.
            unsafe {
                let octet = *open.lanes.get_unchecked(at);
                let lane = usize::from(octet);
                let node = Entry(*hops.get_unchecked(lane));
                let way = way_of(node);
                let chunk_at = open.chunks.get_unchecked_mut(lane);
                let chunk = chunk_of::<A>(octets, lane, *chunk_at);
                let cell = below(needed(region, node, chunk), way, chunk)
                    + usize::from((chunk >> way.shift) & way.mask);
                let word = node.line() as usize * LINE_WORDS + usize::from(way.first) + cell;
                let entry = Entry(walk.region.known_word(word).load(Ordering::Acquire));
                *hops.get_unchecked_mut(lane) = entry.0;
                *chunk_at = chunk_at.wrapping_sub(way.advance / 8);
                let is_node = entry.is_node();
                // Past the last chunk there is no node: then the first line is asked for.
                let next = chunk_of::<A>(octets, lane, if is_node { *chunk_at } else { 0 });
                ask(needed(region, if is_node { entry } else { Entry(Entry::NODE) }, next));
                *open.lanes.get_unchecked_mut(count) = octet;
                count += usize::from(is_node);
            }
        }
        open.count = count;
    }
}

/// The way of a node's class.
#[inline]
fn way_of(node: Entry) -> &'static Way {
    // SAFETY: there are as many ways as classes.
    unsafe { WAYS.get_unchecked((node.0 >> 28) as usize & (CLASSES - 1)) }
}

/// The chunk of a lane's address that begins at an octet, counted from the lowest.
///
/// # Safety
/// The lane is in the batch, and its address has two octets there.
#[inline]
unsafe fn chunk_of<A: Address>(octets: *const u8, lane: usize, at: u8) -> u16 {
    // SAFETY: as this function's.
    unsafe { octets.add(lane * size_of::<A>() + usize::from(at)).cast::<u16>().read_unaligned() }
}

/// The place in a node that a chunk needs first: its ends, or the entry itself.
#[inline]
fn needed(region: *const u8, node: Entry, chunk: u16) -> *const u8 {
    let way = way_of(node);
    let word = usize::from((chunk >> way.shift) & way.mask);
    region.wrapping_add(node.line() as usize * LINE_BYTES + word * 4)
}

/// Asks the memory for a line.
#[inline]
fn ask(at: *const u8) {
    // SAFETY: a prefetch reads nothing that can be seen.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}
