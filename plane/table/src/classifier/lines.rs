//! Cache lines of words, and what is done with them at once: by vectors of 512 bits, or word by
//! word (which the compiler makes into narrower vectors where the processor has them).

/// A cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u64; 8]);

impl Line {
    pub(super) const ZERO: Self = Self([0; 8]);
}

/// A way to work on lines.
pub(super) trait Unit: Copy {
    /// Bounds of a line of 32-bit words (low half first) that are below `wanted`.
    fn above32(self, bounds: &Line, wanted: u32) -> usize;
    /// Bounds of a line of 64-bit words that are below `wanted`.
    fn above64(self, bounds: &Line, wanted: u64) -> usize;
    /// Bounds, high and low halves in a line each, that are below `wanted`.
    fn above128(self, high: &Line, low: &Line, wanted: u128) -> usize;
    /// The lines at `at` of all rows, and-ed.
    fn and(self, rows: &[*const Line], at: usize) -> Line;
    /// The lowest bit of two lines, 1024 if there is none.
    fn first(self, rows: &[*const Line], lines: usize) -> u32;
}

/// Word by word.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Unit for Plain {
    #[inline(always)]
    fn above32(self, bounds: &Line, wanted: u32) -> usize {
        let both = |word: &u64| {
            u32::from(wanted > *word as u32) + u32::from(wanted > (*word >> 32) as u32)
        };
        bounds.0.iter().map(both).sum::<u32>() as usize
    }

    #[inline(always)]
    fn above64(self, bounds: &Line, wanted: u64) -> usize {
        bounds.0.iter().map(|bound| u64::from(wanted > *bound)).sum::<u64>() as usize
    }

    #[inline(always)]
    fn above128(self, high: &Line, low: &Line, wanted: u128) -> usize {
        let (wanted_high, wanted_low) = ((wanted >> 64) as u64, wanted as u64);
        let above = |(high, low): (&u64, &u64)| {
            let same = wanted_high == *high && wanted_low > *low;
            u64::from(wanted_high > *high || same)
        };
        high.0.iter().zip(&low.0).map(above).sum::<u64>() as usize
    }

    #[inline(always)]
    fn and(self, rows: &[*const Line], at: usize) -> Line {
        let mut line = Line([u64::MAX; 8]);
        for row in rows {
            // SAFETY: the caller's rows have a line at `at`.
            let other = unsafe { &*row.add(at) };
            for (word, other) in line.0.iter_mut().zip(other.0) {
                *word &= other;
            }
        }
        line
    }

    #[inline(always)]
    fn first(self, rows: &[*const Line], lines: usize) -> u32 {
        for at in 0..lines {
            let line = self.and(rows, at);
            if let Some(word) = line.0.iter().position(|word| *word != 0) {
                return (at * 512 + word * 64) as u32 + line.0[word].trailing_zeros();
            }
        }
        super::NO_RULE
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
        fn above128(self, high: &Line, low: &Line, wanted: u128) -> usize {
            // SAFETY: a `Wide` exists.
            let above = unsafe {
                let upper = _mm512_set1_epi64(((wanted >> 64) as u64).cast_signed());
                let lower = _mm512_set1_epi64((wanted as u64).cast_signed());
                let same = _mm512_cmpeq_epu64_mask(upper, load(high));
                _mm512_cmpgt_epu64_mask(upper, load(high))
                    | _mm512_mask_cmpgt_epu64_mask(same, lower, load(low))
            };
            above.count_ones() as usize
        }

        #[inline(always)]
        fn and(self, rows: &[*const Line], at: usize) -> Line {
            let mut line = Line::ZERO;
            // SAFETY: a line is 64 bytes, aligned; a `Wide` exists.
            unsafe { _mm512_store_si512(line.0.as_mut_ptr().cast(), and(rows, at)) };
            line
        }

        #[inline(always)]
        fn first(self, rows: &[*const Line], lines: usize) -> u32 {
            for at in 0..lines {
                let all = and(rows, at);
                // SAFETY: a `Wide` exists.
                let (set, words) = unsafe {
                    let set = _mm512_test_epi64_mask(all, all);
                    (set, _mm512_maskz_compress_epi64(set, all))
                };
                if set != 0 {
                    // SAFETY: a `Wide` exists.
                    let word = unsafe { _mm_cvtsi128_si64(_mm512_castsi512_si128(words)) };
                    let base = at as u32 * 512 + set.trailing_zeros() * 64;
                    return base + word.trailing_zeros();
                }
            }
            super::super::NO_RULE
        }
    }
}
