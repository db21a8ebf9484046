//! Lookups with AVX2: a root is indexed for eight addresses at once, and two comparisons find the
//! piece among up to 32.

use super::address::Address;
use super::descend::{Open, go_down};
use super::find::{Walk, Way};
use super::node::{Class, Entry};
use std::arch::x86_64::*;

/// Addresses of a step.
const STEP: usize = 8;

/// All addresses from one root.
///
/// # Safety
/// The machine has AVX2 and POPCNT; the root is a node that can be found; there are no more
/// than `BATCH_MAX` addresses, and as many hops.
#[target_feature(enable = "avx2,popcnt")]
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
        from_array(walk, root, addresses, hops);
        hops.iter().enumerate().for_each(|(lane, hop)| open.push(lane, Entry(*hop)));
        go_down(walk, addresses, hops, &mut open, |line, way, value| below(line, way, value));
    }
}

/// Each address from its own root, which stands where its hop shall be.
///
/// # Safety
/// As [`one_table`], of all roots.
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn roots_given<A: Address>(walk: &Walk<'_>, addresses: &[A], hops: &mut [u32]) {
    let mut open = Open::new::<A>(0);
    hops.iter().enumerate().for_each(|(lane, hop)| open.push(lane, Entry(*hop)));
    open.leave_tops(walk, addresses, hops);
    // SAFETY: what is open is a node that can be found.
    unsafe {
        go_down(walk, addresses, hops, &mut open, |line, way, value| below(line, way, value));
    }
}

/// How many ends of a row are below a value.
///
/// # Safety
/// The machine has AVX2; `line` is in a line of the region.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn below(line: *const u8, way: &Way, value: u16) -> usize {
    let line = line.map_addr(|at| at & !63).cast::<__m256i>();
    // SAFETY: a line is as large as both. What of it may change while it is read is not counted.
    let (low, high) = unsafe { (_mm256_load_si256(line), _mm256_load_si256(line.add(1))) };
    let value = _mm256_set1_epi16(value as i16);
    let zero = _mm256_setzero_si256();
    // Two bits for each end that is not below the value: what remains of the value is nothing.
    let not = |ends| _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_subs_epu16(value, ends), zero));
    let not_below = u64::from(not(low) as u32) | u64::from(not(high) as u32) << 32;
    let counted =
        if way.ends == u32::MAX { u64::MAX } else { (1 << (2 * way.ends.count_ones())) - 1 };
    ((!not_below & counted).count_ones() / 2) as usize
}

/// The first entries of all addresses, from a root with one for each value.
///
/// # Safety
/// As [`one_table`]; the root is a wide or a top.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn from_array<A: Address>(walk: &Walk<'_>, root: Entry, addresses: &[A], hops: &mut [u32]) {
    let cells = walk.row(root).cast::<i32>();
    let shift = if root.class() == Class::Top { 8 } else { 16 };
    let index = |address: A| ((address.widened() >> 96) as u32 >> shift) as i32;
    let mut steps = addresses.chunks_exact(STEP).zip(hops.chunks_exact_mut(STEP));
    for (addresses, hops) in &mut steps {
        let mut indices = [0; STEP];
        indices.iter_mut().zip(addresses).for_each(|(to, address)| *to = index(*address));
        // SAFETY: the indices are below the number of the root's cells, which are read like
        // atomic words by this machine; both slices are as large as the vectors.
        unsafe {
            let index = _mm256_loadu_si256(indices.as_ptr().cast());
            let entries = _mm256_i32gather_epi32::<4>(cells, index);
            _mm256_storeu_si256(hops.as_mut_ptr().cast(), entries);
        }
    }
    let done = addresses.len() / STEP * STEP;
    for (address, hop) in addresses[done..].iter().zip(&mut hops[done..]) {
        *hop = walk.entry(root, index(*address) as usize).0;
    }
}
