//! Lookups with AVX-512. All addresses of the batch go down their tables a level together, so that
//! the memory of many is waited for at the same time. Nodes with an entry for each value are
//! indexed for sixteen addresses at once; in a row of pieces one comparison finds the piece among
//! up to 32, and the row was asked for while the level above was gone through.

use super::BATCH_MAX;
use super::address::Address;
use super::find::{WAYS, Walk};
use super::node::{Class, Entry, NO_SHORT};
use crate::memory::{LINE_BYTES, Region};
use std::arch::x86_64::*;
use std::sync::atomic::Ordering;

/// Addresses of a step.
const STEP: usize = 16;
/// The words of sixteen addresses of four words each.
const WORDS: [i32; STEP] = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60];

/// What of each address is decided next: where its chunk is, from its lowest octet.
#[repr(align(64))]
struct Chunks([u8; BATCH_MAX]);

impl Chunks {
    fn new<A: Address>(offset: u8) -> Self {
        Self([A::BITS / 8 - 2 - offset / 8; BATCH_MAX])
    }
}

/// All addresses from one root.
///
/// # Safety
/// The machine has AVX-512 F, BW and VL, and POPCNT; the root is a node that can be found;
/// there are no more than [`BATCH_MAX`] addresses, and as many hops.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) unsafe fn one_table<A: Address>(
    walk: &Walk<'_>,
    root: Entry,
    addresses: &[A],
    hops: &mut [u32],
) {
    // SAFETY: as this function's.
    unsafe {
        let is_open = match (root.class(), walk.shorts) {
            (Class::Top, Some(shorts)) => from_top(walk, root, shorts, addresses, hops),
            (Class::Top | Class::Wide, _) => from_array(walk, root, addresses, hops),
            _ => {
                hops.fill(root.0);
                return go_down(walk, addresses, hops, &mut Chunks::new::<A>(0));
            }
        };
        if is_open {
            go_down(walk, addresses, hops, &mut Chunks::new::<A>(16));
        }
    }
}

/// Each address from its own root, which stands where its hop shall be.
///
/// # Safety
/// As [`one_table`], of all roots.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) unsafe fn roots_given<A: Address>(walk: &Walk<'_>, addresses: &[A], hops: &mut [u32]) {
    let mut chunks = Chunks::new::<A>(0);
    for (lane, hop) in hops.iter_mut().enumerate() {
        let root = Entry(*hop);
        if root.is_node() && root.class() == Class::Top {
            *hop = walk.top(root, addresses[lane]).0;
            chunks.0[lane] = A::BITS / 8 - 4;
        }
    }
    // SAFETY: as this function's; no hop is a top.
    unsafe { go_down(walk, addresses, hops, &mut chunks) };
}

/// One bit for each of so many lanes.
#[inline]
fn lanes(count: usize) -> u16 {
    if count < STEP { (1 << count) - 1 } else { u16::MAX }
}

/// One bit for each entry that is a node.
#[inline]
#[target_feature(enable = "avx512f")]
fn nodes(entries: __m512i) -> u16 {
    _mm512_cmplt_epi32_mask(entries, _mm512_setzero_si512())
}

/// The first entries of all addresses, from a root with one for each value. Whether one is a node.
///
/// # Safety
/// As [`one_table`]; the root is a wide or a top.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn from_array<A: Address>(
    walk: &Walk<'_>,
    root: Entry,
    addresses: &[A],
    hops: &mut [u32],
) -> bool {
    let cells = walk.row(root).cast::<i32>();
    let shift = _mm_cvtsi32_si128(if root.class() == Class::Top { 8 } else { 16 });
    let zero = _mm512_setzero_si512();
    let mut open = 0;
    // A gather waits for all of its cells before the next begins: ask for all of the batch first.
    for address in addresses {
        let cell = match root.class() {
            Class::Top => address.first_24() as usize,
            _ => usize::from(address.chunk(0)),
        };
        _mm_prefetch::<_MM_HINT_T0>(cells.wrapping_add(cell).cast());
    }
    for first in (0..addresses.len()).step_by(STEP) {
        let lanes = lanes(addresses.len() - first);
        // SAFETY: only lanes that are in the slices are read and written; the indices are below
        // the number of the root's cells, which this machine reads as it reads atomic words.
        unsafe {
            let at = addresses.as_ptr().add(first).cast::<i32>();
            let words = highest::<A>(lanes, at);
            let index = _mm512_srl_epi32(words, shift);
            let entries = _mm512_mask_i32gather_epi32::<4>(zero, lanes, index, cells);
            _mm512_mask_storeu_epi32(hops.as_mut_ptr().add(first).cast(), lanes, entries);
            ask_rows(walk, entries);
            open |= nodes(entries);
        }
    }
    open != 0
}

/// The first entries of all addresses, from a top: by their shorts, or by themselves where those
/// say that there is more. Whether one is a node.
///
/// # Safety
/// As [`one_table`]; the root is a top, and `shorts` are those of its family.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn from_top<A: Address>(
    walk: &Walk<'_>,
    root: Entry,
    shorts: &Region,
    addresses: &[A],
    hops: &mut [u32],
) -> bool {
    let first_word = root.first();
    #[allow(clippy::cast_possible_truncation, reason = "words of roots are below 2³¹")]
    let first_index = first_word as i32;
    let pairs = shorts.base().cast_const().cast::<i32>();
    let cells = walk.region.base().cast_const().cast::<i32>();
    for address in addresses {
        let short = first_word + address.first_24() as usize;
        _mm_prefetch::<_MM_HINT_T0>(pairs.cast::<i8>().wrapping_add(2 * short));
    }
    let (one, zero) = (_mm512_set1_epi32(1), _mm512_setzero_si512());
    let no_short = _mm512_set1_epi32(i32::from(NO_SHORT));
    let mut open = 0;
    for first in (0..addresses.len()).step_by(STEP) {
        let lanes = lanes(addresses.len() - first);
        // SAFETY: only lanes that are in the slices are read and written; the indices are words of
        // the root, below 2³¹, which has as many shorts. This machine reads both as it reads
        // atomic words.
        unsafe {
            let words = highest::<A>(lanes, addresses.as_ptr().add(first).cast::<i32>());
            let cell = _mm512_srli_epi32::<8>(words);
            let index = _mm512_add_epi32(cell, _mm512_set1_epi32(first_index));
            let pair = _mm512_srli_epi32::<1>(index);
            let pair = _mm512_mask_i32gather_epi32::<4>(zero, lanes, pair, pairs);
            let odd = _mm512_slli_epi32::<4>(_mm512_and_si512(index, one));
            let mut entries = _mm512_and_si512(_mm512_srlv_epi32(pair, odd), no_short);
            let more = _mm512_cmpeq_epi32_mask(entries, no_short);
            if more != 0 {
                entries = _mm512_mask_i32gather_epi32::<4>(entries, more, index, cells);
                ask_rows(walk, entries);
                open |= nodes(entries);
            }
            _mm512_mask_storeu_epi32(hops.as_mut_ptr().add(first).cast(), lanes, entries);
        }
    }
    open != 0
}

/// The highest words of sixteen addresses.
///
/// # Safety
/// The addresses of the lanes are there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn highest<A: Address>(lanes: u16, at: *const i32) -> __m512i {
    // SAFETY: only lanes that are there are read; the constant has as many words.
    unsafe {
        if A::BITS == 32 {
            return _mm512_maskz_loadu_epi32(lanes, at);
        }
        let words = _mm512_loadu_epi32(WORDS.as_ptr());
        _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), lanes, words, at.wrapping_add(3))
    }
}

/// Takes all addresses down, level by level, until each is at its hop.
///
/// # Safety
/// As [`one_table`]; hops are entries that can be found, and none is a top.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn go_down<A: Address>(
    walk: &Walk<'_>,
    addresses: &[A],
    hops: &mut [u32],
    chunks: &mut Chunks,
) {
    let mut values = [0_u32; BATCH_MAX];
    let mut open = true;
    while open {
        // Cells of arrays are asked for when all of them are known: a gather waits for its own.
        for first in (0..hops.len()).step_by(STEP) {
            let lanes = lanes(hops.len() - first);
            // SAFETY: only lanes that are in the slices are read, and those whose hops are nodes
            // have a chunk that they decide; there are values for whole steps.
            unsafe {
                let entries = _mm512_maskz_loadu_epi32(lanes, hops.as_ptr().add(first).cast());
                let nodes = nodes(entries);
                if nodes != 0 {
                    let of = addresses.as_ptr().add(first).cast::<i32>();
                    let chunk = chunk::<A>(of, chunks.0.as_ptr().add(first), nodes);
                    _mm512_storeu_epi32(values.as_mut_ptr().add(first).cast(), chunk);
                    ask_cells(walk, entries, chunk, nodes);
                }
            }
        }
        open = false;
        for first in (0..hops.len()).step_by(STEP) {
            let lanes = lanes(hops.len() - first);
            // SAFETY: as above; also hops are written of lanes that are in the slice alone.
            unsafe {
                let at = hops.as_mut_ptr().add(first);
                let entries = _mm512_maskz_loadu_epi32(lanes, at.cast());
                let nodes = nodes(entries);
                if nodes != 0 {
                    let chunk = _mm512_loadu_epi32(values.as_ptr().add(first).cast());
                    let chunk_at = chunks.0.as_mut_ptr().add(first);
                    open |= step(walk, chunk_at, at, entries, chunk, nodes);
                }
            }
        }
    }
}

/// The chunks that sixteen addresses are looked up by next; of those whose bit is not set in
/// `open`, anything.
///
/// # Safety
/// The machine has AVX-512 F, BW and VL; there are chunks for sixteen lanes, and addresses of those
/// that are open.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn chunk<A: Address>(addresses: *const i32, chunk_at: *const u8, open: u16) -> __m512i {
    // SAFETY: there are chunks for sixteen lanes; of the rest only open lanes are read.
    unsafe {
        let at = _mm512_cvtepu8_epi32(_mm_loadu_si128(chunk_at.cast()));
        let word = if A::BITS == 32 {
            _mm512_maskz_loadu_epi32(open, addresses)
        } else {
            let words = _mm512_loadu_epi32(WORDS.as_ptr());
            let words = _mm512_add_epi32(words, _mm512_srli_epi32::<2>(at));
            _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), open, words, addresses)
        };
        let odd = _mm512_slli_epi32::<3>(_mm512_and_si512(at, _mm512_set1_epi32(2)));
        let chunk = _mm512_srlv_epi32(word, odd);
        _mm512_and_si512(chunk, _mm512_set1_epi32(0xffff))
    }
}

/// Takes up to sixteen addresses down one level. Whether one is not at its hop yet.
///
/// # Safety
/// As [`go_down`]; of those lanes whose bit is set in `open`, chunks and hops are there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn step(
    walk: &Walk<'_>,
    chunk_at: *mut u8,
    hops: *mut u32,
    entries: __m512i,
    chunk: __m512i,
    open: u16,
) -> bool {
    // SAFETY: there are chunks for sixteen lanes; of the rest only open lanes are read.
    unsafe {
        let array = _mm512_test_epi32_mask(entries, _mm512_set1_epi32(ARRAYS)) & open;
        // What was just stored is not loaded again: that would wait for each of the stores.
        let (advance, mut is_open) = if array == 0 {
            (_mm512_set1_epi32(2), false)
        } else {
            arrays(walk, hops, entries, chunk, array)
        };
        let at = _mm512_cvtepu8_epi32(_mm_loadu_si128(chunk_at.cast()));
        _mm_storeu_si128(chunk_at.cast(), _mm512_cvtepi32_epi8(_mm512_sub_epi32(at, advance)));
        let rows = open & !array;
        if rows != 0 {
            is_open |= self::rows(walk, hops, entries, chunk, rows);
        }
        is_open
    }
}

/// The bits of an entry that say that its node is no row.
const ARRAYS: i32 = 0x6000_0000;
const _: () = assert!(Class::Few as u8 == 0 && Class::Fan as u8 == 1 && Class::Top as u8 == 5);

/// Indexes the nodes of lanes that have an entry for each value. How many octets of each address
/// are decided, of all lanes, and whether one of them is at a node again.
///
/// # Safety
/// As [`step`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn arrays(
    walk: &Walk<'_>,
    hops: *mut u32,
    entries: __m512i,
    chunk: __m512i,
    lanes: u16,
) -> (__m512i, bool) {
    let (class, index) = cells(entries, chunk);
    let advance = _mm512_permutexvar_epi32(class, table([2, 2, 0, 2, 2]));
    let base = walk.region.base().cast_const().cast::<i32>();
    // SAFETY: the indices are words of nodes that can be found, below 2³¹ as the region's limit
    // is; this machine reads each as it reads an atomic word. Hops of open lanes are there.
    unsafe {
        let next = _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), lanes, index, base);
        _mm512_mask_storeu_epi32(hops.cast(), lanes, next);
        ask_rows(walk, next);
        (advance, nodes(next) != 0)
    }
}

/// The classes of nodes and, of arrays, the words of the cells that chunks choose.
#[inline]
#[target_feature(enable = "avx512f")]
fn cells(entries: __m512i, chunk: __m512i) -> (__m512i, __m512i) {
    let class = _mm512_and_si512(_mm512_srli_epi32::<28>(entries), _mm512_set1_epi32(7));
    // Few, fan, split, low, wide.
    let shift = _mm512_permutexvar_epi32(class, table([0, 0, 8, 0, 0]));
    let mask = _mm512_permutexvar_epi32(class, table([0, 0, 0xff, 0xff, 0xffff]));
    let cell = _mm512_and_si512(_mm512_srlv_epi32(chunk, shift), mask);
    let line = _mm512_and_si512(entries, _mm512_set1_epi32(Entry::LINE as i32));
    (class, _mm512_add_epi32(_mm512_slli_epi32::<4>(line), cell))
}

/// Asks for the cells that chunks choose in the arrays among nodes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
fn ask_cells(walk: &Walk<'_>, entries: __m512i, chunk: __m512i, open: u16) {
    let mut lanes = _mm512_test_epi32_mask(entries, _mm512_set1_epi32(ARRAYS)) & open;
    if lanes == 0 {
        return;
    }
    let mut words = [0_u32; STEP];
    // SAFETY: the array is as large as the vector.
    unsafe { _mm512_storeu_epi32(words.as_mut_ptr().cast(), cells(entries, chunk).1) };
    while lanes != 0 {
        let word = words[lanes.trailing_zeros() as usize & (STEP - 1)] as usize;
        lanes &= lanes - 1;
        let cell = walk.region.base().wrapping_add(4 * word);
        _mm_prefetch::<_MM_HINT_T0>(cell.cast_const().cast());
    }
}

/// A number for each class.
#[inline]
#[target_feature(enable = "avx512f")]
fn table([few, fan, split, low, wide]: [i32; 5]) -> __m512i {
    _mm512_setr_epi32(few, fan, split, low, wide, wide, wide, wide, 0, 0, 0, 0, 0, 0, 0, 0)
}

/// Finds the pieces of lanes that are at rows. Whether one of them is a node again.
///
/// # Safety
/// As [`step`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn rows(
    walk: &Walk<'_>,
    hops: *mut u32,
    entries: __m512i,
    chunk: __m512i,
    mut lanes: u16,
) -> bool {
    const FEW: u32 = WAYS[Class::Few as usize].ends;
    const FIRST: usize = Class::Few.first();
    const FURTHER: usize = Class::Fan.first() - FIRST;
    let (mut nodes, mut values) = ([0_u32; STEP], [0_u32; STEP]);
    // SAFETY: the arrays are as large as the vectors.
    unsafe {
        _mm512_storeu_epi32(nodes.as_mut_ptr().cast(), entries);
        _mm512_storeu_epi32(values.as_mut_ptr().cast(), chunk);
    }
    let mut all = 0;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize & (STEP - 1);
        lanes &= lanes - 1;
        let node = Entry(nodes[lane]);
        let is_fan = node.0 >> 28 & 1;
        let ends_there = FEW | is_fan.wrapping_neg();
        let line = walk.row(node);
        // SAFETY: the row has as many ends, which do not change, and an entry for each piece.
        unsafe {
            let ends = _mm512_maskz_loadu_epi16(ends_there, line.cast());
            let value = _mm512_set1_epi16(((values[lane] & 0xFFFF) as u16).cast_signed());
            let below = _mm512_mask_cmplt_epu16_mask(ends_there, ends, value);
            let word = FIRST + FURTHER * is_fan as usize + below.count_ones() as usize;
            let word = node.line() as usize * (LINE_BYTES / 4) + word;
            let next = walk.region.known_word(word).load(Ordering::Acquire);
            *hops.add(lane) = next;
            all |= next;
            ask(walk, Entry(next));
        }
    }
    Entry(all).is_node()
}

/// Asks for the lines of entries that are rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
fn ask_rows(walk: &Walk<'_>, entries: __m512i) {
    let arrays = _mm512_test_epi32_mask(entries, _mm512_set1_epi32(ARRAYS));
    let mut lanes = nodes(entries) & !arrays;
    let mut all = [0_u32; STEP];
    // SAFETY: the array is as large as the vector.
    unsafe { _mm512_storeu_epi32(all.as_mut_ptr().cast(), entries) };
    while lanes != 0 {
        ask(walk, Entry(all[lanes.trailing_zeros() as usize & (STEP - 1)]));
        lanes &= lanes - 1;
    }
}

/// Asks for a node's first line; for the region's if it is none.
#[inline]
fn ask(walk: &Walk<'_>, entry: Entry) {
    let node = if entry.is_node() { entry } else { Entry(Entry::NODE) };
    // SAFETY: a prefetch reads nothing that can be seen.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(walk.row(node).cast()) };
}
