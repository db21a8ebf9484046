//! Lookups with AVX-512: a root is indexed for sixteen addresses at once, and one comparison finds
//! the piece among up to 32.

use super::address::Address;
use super::down::{Open, STEP, go_down};
use super::find::{Walk, Way};
use super::node::{Class, Entry};
use std::arch::x86_64::*;

/// Each highest word of four-word addresses.
const HIGHEST: [i32; STEP] = [3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47, 51, 55, 59, 63];

/// All addresses from one root.
///
/// # Safety
/// The machine has AVX-512 F, BW and VL, POPCNT and BMI2; the root is a node that can be found;
/// there are no more than `BATCH_MAX` addresses, and as many hops.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt,bmi1,bmi2")]
pub(super) unsafe fn one_table<A: Address>(
    walk: &Walk<'_>,
    root: Entry,
    addresses: &[A],
    hops: &mut [u32],
) {
    if !matches!(root.class(), Class::Top | Class::Wide) {
        hops.fill(root.0);
        // SAFETY: as this function's.
        return unsafe { roots_given(walk, addresses, hops) };
    }
    let mut open = Open::new::<A>(16);
    // SAFETY: as this function's; what is open is a node that can be found.
    unsafe {
        from_array(walk, root, addresses, hops, &mut open);
        go_down(walk, addresses, hops, &mut open, |line, way, value| below(line, way, value));
    }
}

/// Each address from its own root, which stands where its hop shall be.
///
/// # Safety
/// As [`one_table`], of all roots.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt,bmi1,bmi2")]
pub(super) unsafe fn roots_given<A: Address>(walk: &Walk<'_>, addresses: &[A], hops: &mut [u32]) {
    let mut open = Open::new::<A>(0);
    for first in (0..hops.len()).step_by(STEP) {
        let lanes = lanes(hops.len() - first);
        // SAFETY: only lanes that are in the slice are read.
        let roots = unsafe { _mm512_maskz_loadu_epi32(lanes, hops.as_ptr().add(first).cast()) };
        push_nodes(&mut open, first, roots);
    }
    open.leave_tops(walk, addresses, hops);
    // SAFETY: what is open is a node that can be found.
    unsafe {
        go_down(walk, addresses, hops, &mut open, |line, way, value| below(line, way, value));
    }
}

/// How many ends of a row are below a value.
///
/// # Safety
/// The machine has AVX-512 F and BW; a row of as many ends is at `line`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt,bmi1,bmi2")]
unsafe fn below(line: *const u8, way: &Way, value: u16) -> usize {
    // SAFETY: no more is read than the ends that are there, which do not change: nothing of what
    // is indexed by a chunk.
    let ends = unsafe { _mm512_maskz_loadu_epi16(way.ends, line.cast()) };
    let value = _mm512_set1_epi16(value as i16);
    _mm512_mask_cmplt_epu16_mask(way.ends, ends, value).count_ones() as usize
}

/// One bit for each of so many lanes.
#[inline]
fn lanes(count: usize) -> u16 {
    if count < STEP { (1 << count) - 1 } else { u16::MAX }
}

/// Opens the lanes from `first` on that are at nodes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt,bmi1,bmi2")]
fn push_nodes(open: &mut Open, first: usize, entries: __m512i) {
    let nodes = _mm512_cmplt_epi32_mask(entries, _mm512_setzero_si512());
    if nodes == 0 {
        return;
    }
    let numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(first as i32));
    let packed = _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32(nodes, numbers));
    let room = &mut open.lanes[open.count..open.count + STEP];
    // SAFETY: the room is as large.
    unsafe { _mm_storeu_si128(room.as_mut_ptr().cast(), packed) };
    open.count += nodes.count_ones() as usize;
}

/// The first entries of all addresses, from a root with one for each value.
///
/// # Safety
/// As [`one_table`]; the root is a wide or a top.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt,bmi1,bmi2")]
unsafe fn from_array<A: Address>(
    walk: &Walk<'_>,
    root: Entry,
    addresses: &[A],
    hops: &mut [u32],
    open: &mut Open,
) {
    let cells = walk.row(root).cast::<i32>();
    let shift = _mm_cvtsi32_si128(if root.class() == Class::Top { 8 } else { 16 });
    let zero = _mm512_setzero_si512();
    // SAFETY: the array is as large.
    let highest = unsafe { _mm512_loadu_epi32(HIGHEST.as_ptr()) };
    for first in (0..addresses.len()).step_by(STEP) {
        let lanes = lanes(addresses.len() - first);
        // SAFETY: only lanes that are in the slices are read and written; the indices are below
        // the number of the root's cells, which are read like atomic words by this machine.
        unsafe {
            let at = addresses.as_ptr().add(first).cast::<i32>();
            let words = if A::BITS == 32 {
                _mm512_maskz_loadu_epi32(lanes, at)
            } else {
                _mm512_mask_i32gather_epi32::<4>(zero, lanes, highest, at)
            };
            let index = _mm512_srl_epi32(words, shift);
            let entries = _mm512_mask_i32gather_epi32::<4>(zero, lanes, index, cells);
            _mm512_mask_storeu_epi32(hops.as_mut_ptr().add(first).cast(), lanes, entries);
            push_nodes(open, first, entries);
        }
    }
}
