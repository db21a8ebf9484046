//! Loads and stores of up to 64 octets; what lies outside of a slice is neither read nor written.

use std::arch::x86_64::*;

/// A round key, a power, a piece of a state.
pub(super) type Line = [u8; 16];

/// A bit for each of the first `octets`.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn first(octets: usize) -> __mmask64 {
    // The instruction leaves all bits where the number is 64 or more, but looks at 8 bits of it.
    _bzhi_u64(u64::MAX, octets.min(64) as u32)
}

/// The first 64 octets, zeros where there are fewer.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
pub(super) fn load(octets: &[u8]) -> __m512i {
    // SAFETY: the mask holds no octet behind the slice, and what it does not hold is not read.
    unsafe { _mm512_maskz_loadu_epi8(first(octets.len()), octets.as_ptr().cast()) }
}

/// As many of the first octets as have room behind `before` zeros, fewer than 64.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
pub(super) fn load_behind(octets: &[u8], before: usize) -> __m512i {
    let at = octets.as_ptr().wrapping_sub(before);
    // SAFETY: the mask holds no octet before and none behind the slice.
    unsafe { _mm512_maskz_loadu_epi8(first(octets.len()) << before, at.cast()) }
}

/// 64 octets.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn load_all(octets: &[u8; 64]) -> __m512i {
    // SAFETY: an array of 64 octets.
    unsafe { _mm512_loadu_si512(octets.as_ptr().cast()) }
}

/// The first octets over those of the slice, 64 at most.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
pub(super) fn store(octets: &mut [u8], value: __m512i) {
    // SAFETY: the mask holds no octet behind the slice, and what it does not hold is not written.
    unsafe {
        _mm512_mask_storeu_epi8(octets.as_mut_ptr().cast(), first(octets.len()), value);
    }
}

/// As [`store`], of what stands behind the first octets, fewer than 64.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
pub(super) fn store_behind(octets: &mut [u8], before: usize, value: __m512i) {
    let at = octets.as_mut_ptr().wrapping_sub(before);
    // SAFETY: the mask holds no octet before and none behind the slice.
    unsafe { _mm512_mask_storeu_epi8(at.cast(), first(octets.len()) << before, value) };
}

/// All octets over those of the array.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn store_all(octets: &mut [u8; 64], value: __m512i) {
    // SAFETY: an array of 64 octets.
    unsafe { _mm512_storeu_si512(octets.as_mut_ptr().cast(), value) };
}

#[target_feature(enable = "sse2")]
#[inline]
pub(super) fn block(octets: &[u8; 16]) -> __m128i {
    // SAFETY: an array of 16 octets.
    unsafe { _mm_loadu_si128(octets.as_ptr().cast()) }
}

#[target_feature(enable = "sse2")]
#[inline]
pub(super) fn octets(block: __m128i) -> [u8; 16] {
    let mut octets = [0; 16];
    // SAFETY: an array of 16 octets.
    unsafe { _mm_storeu_si128(octets.as_mut_ptr().cast(), block) };
    octets
}

/// The same block in all four lanes.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn four(line: &Line) -> __m512i {
    _mm512_broadcast_i32x4(block(line))
}

/// Whether octets are the first ones of the block; how long it takes does not tell where they
/// differ.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
pub(super) fn equal(octets: &[u8], block: __m512i) -> bool {
    let mask = first(octets.len());
    _mm512_mask_cmpneq_epi8_mask(mask, load(octets), block) == 0
}
