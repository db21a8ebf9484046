//! Cache lines of words, and what is done with them at once: by vectors of 512 bits, or word by
//! word (which the compiler makes into narrower vectors where the processor has them).

use crate::memory::count;

/// Fields whose rows are and-ed: two of addresses, and all small ones if none could be joined.
pub(super) const FIELDS_MAX: usize = 8;

/// A cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u64; 8]);

// SAFETY: integers, aligned to a line.
unsafe impl crate::pages::Zeros for Line {}

impl Line {
    pub(super) const ZERO: Self = Self([0; 8]);
}

/// A way to work on lines.
pub(super) trait Unit: Copy {
    /// Bounds of a line of 32-bit words (low half first) that are below `wanted`.
    fn above32(self, bounds: &Line, wanted: u32) -> usize;
    /// Bounds of a line of 64-bit words that are below `wanted`.
    fn above64(self, bounds: &Line, wanted: u64) -> usize;
    /// The lines of all rows, and-ed: each word with any bit as a bit of the mask, and the line.
    fn and(self, rows: &[*const Line]) -> (u8, Line);
    /// The lowest bit in rows of one line.
    fn first1(self, rows: &[*const Line]) -> u32;
    /// The lowest bit in rows of two lines.
    fn first2(self, rows: &[*const Line]) -> u32;
    /// The bytes of a line that are not 0, as bits.
    fn bytes(self, line: &Line) -> u64;
}

/// Word by word.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Unit for Plain {
    #[inline(always)]
    fn above32(self, bounds: &Line, wanted: u32) -> usize {
        let both = |word: &u64| {
            u32::from(wanted > (*word & 0xFFFF_FFFF) as u32)
                + u32::from(wanted > (*word >> 32) as u32)
        };
        bounds.0.iter().map(both).sum::<u32>() as usize
    }

    #[inline(always)]
    fn above64(self, bounds: &Line, wanted: u64) -> usize {
        count(bounds.0.iter().map(|bound| u64::from(wanted > *bound)).sum())
    }

    #[inline(always)]
    fn and(self, rows: &[*const Line]) -> (u8, Line) {
        let mut line = Line([u64::MAX; 8]);
        for row in rows {
            // SAFETY: the caller's rows are lines.
            let other = unsafe { &**row };
            for (word, other) in line.0.iter_mut().zip(other.0) {
                *word &= other;
            }
        }
        let words = line.0.iter().enumerate();
        (words.fold(0, |mask, (at, word)| mask | u8::from(*word != 0) << at), line)
    }

    #[inline(always)]
    fn first1(self, rows: &[*const Line]) -> u32 {
        let (mask, line) = self.and(rows);
        if mask == 0 {
            return super::NO_RULE;
        }
        let word = mask.trailing_zeros();
        word * 64 + line.0[word as usize].trailing_zeros()
    }

    #[inline(always)]
    fn first2(self, rows: &[*const Line]) -> u32 {
        let first = self.first1(rows);
        if first != super::NO_RULE {
            return first;
        }
        let mut second = [std::ptr::null(); FIELDS_MAX];
        for (place, row) in second.iter_mut().zip(rows) {
            *place = row.wrapping_add(1);
        }
        let found = self.first1(&second[..rows.len()]);
        if found == super::NO_RULE { found } else { found + 512 }
    }

    #[inline(always)]
    fn bytes(self, line: &Line) -> u64 {
        let bytes = line.0.iter().flat_map(|word| word.to_le_bytes());
        bytes.enumerate().fold(0, |bits, (at, byte)| bits | u64::from(byte != 0) << at)
    }
}

/// By AVX-512; made only where [`crate::lanes::Lanes`] says that the processor has it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy)]
pub(super) struct Wide(());

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod wide {
    use super::{Line, Unit, Wide};
    use std::arch::x86_64::*;

    impl Wide {
        /// # Safety
        /// The processor has AVX-512 F, BW, DQ and VL.
        pub(in super::super) unsafe fn new() -> Self {
            Self(())
        }
    }

    #[inline(always)]
    fn load(line: &Line) -> __m512i {
        // SAFETY: a line is 64 bytes, aligned; a `Wide` exists, so the processor has AVX-512.
        unsafe { _mm512_load_si512(std::ptr::from_ref(line).cast()) }
    }

    /// The lines at `at` of all rows, and-ed.
    #[inline(always)]
    fn and(rows: &[*const Line], at: usize) -> __m512i {
        // SAFETY: the caller's rows have a line at `at`; a `Wide` exists.
        unsafe {
            let mut all = load(&*rows[0].add(at));
            for row in &rows[1..] {
                all = _mm512_and_si512(all, load(&*row.add(at)));
            }
            all
        }
    }

    /// The lowest word of a line that is not 0.
    #[inline(always)]
    fn lowest(set: u8, line: __m512i) -> u64 {
        // SAFETY: a `Wide` exists.
        let word = unsafe {
            let words = _mm512_maskz_compress_epi64(set, line);
            _mm_cvtsi128_si64(_mm512_castsi512_si128(words))
        };
        word.cast_unsigned()
    }

    impl Unit for Wide {
        #[inline(always)]
        fn above32(self, bounds: &Line, wanted: u32) -> usize {
            // SAFETY: a `Wide` exists.
            let above = unsafe {
                let wanted = _mm512_set1_epi32(wanted.cast_signed());
                _mm512_cmpgt_epu32_mask(wanted, load(bounds))
            };
            above.count_ones() as usize
        }

        #[inline(always)]
        fn above64(self, bounds: &Line, wanted: u64) -> usize {
            // SAFETY: a `Wide` exists.
            let above = unsafe {
                let wanted = _mm512_set1_epi64(wanted.cast_signed());
                _mm512_cmpgt_epu64_mask(wanted, load(bounds))
            };
            above.count_ones() as usize
        }

        #[inline(always)]
        fn and(self, rows: &[*const Line]) -> (u8, Line) {
            let (all, mut line) = (and(rows, 0), Line::ZERO);
            // SAFETY: a line is 64 bytes, aligned; a `Wide` exists.
            unsafe {
                _mm512_store_si512(line.0.as_mut_ptr().cast(), all);
                (_mm512_test_epi64_mask(all, all), line)
            }
        }

        #[inline(always)]
        fn first1(self, rows: &[*const Line]) -> u32 {
            let all = and(rows, 0);
            // SAFETY: a `Wide` exists.
            let set = unsafe { _mm512_test_epi64_mask(all, all) };
            let found = set.trailing_zeros() * 64 + lowest(set, all).trailing_zeros();
            if set == 0 { super::super::NO_RULE } else { found }
        }

        #[inline(always)]
        fn first2(self, rows: &[*const Line]) -> u32 {
            let (low, high) = (and(rows, 0), and(rows, 1));
            // Without a branch: in which half the rule stands is anybody's guess.
            // SAFETY: a `Wide` exists.
            let (l, h) =
                unsafe { (_mm512_test_epi64_mask(low, low), _mm512_test_epi64_mask(high, high)) };
            let both = u32::from(l) | u32::from(h) << 8;
            let word = (both | 1 << 15).trailing_zeros();
            // The word is and-ed once more, by itself: to get it out of two vectors costs more.
            let and = |bits, row: &*const Line| {
                // SAFETY: the caller's rows have two lines, of eight words each.
                bits & unsafe { *row.cast::<u64>().add(word as usize) }
            };
            let found = word * 64 + rows.iter().fold(u64::MAX, and).trailing_zeros();
            if both == 0 { super::super::NO_RULE } else { found }
        }

        #[inline(always)]
        fn bytes(self, line: &Line) -> u64 {
            let line = load(line);
            // SAFETY: a `Wide` exists.
            unsafe { _mm512_test_epi8_mask(line, line) }
        }
    }
}
