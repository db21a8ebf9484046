//! Eight numbers of 16 bits at once: what the predictor's zeros and the quantizer's levels are.
//!
//! On x86-64 they are a register; elsewhere an array, which compilers turn into one. A sample waits
//! for the one before it, so that what counts is how long one step takes: with arrays in memory it
//! took six times as long.
#![allow(unsafe_code, reason = "registers of SSE2, which is part of x86-64; no pointers")]

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::{Levels, Zeros};
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::{Levels, Zeros};

/// An interval that all magnitudes reach at most (G.722 table 9 has thirty).
const INTERVALS: u32 = 30;

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::INTERVALS;
    use core::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_adds_epi16, _mm_and_si128, _mm_cmpeq_epi16, _mm_cmpgt_epi16,
        _mm_cvtsi128_si32, _mm_insert_epi16, _mm_madd_epi16, _mm_movemask_epi8, _mm_mulhi_epi16,
        _mm_mulhi_epu16, _mm_mullo_epi16, _mm_or_si128, _mm_packs_epi16, _mm_set1_epi16,
        _mm_setr_epi16, _mm_setzero_si128, _mm_shuffle_epi32, _mm_slli_epi16, _mm_slli_si128,
        _mm_srai_epi16, _mm_srli_epi16, _mm_sub_epi16, _mm_xor_si128,
    };

    /// The six zeros of a predictor; two lanes idle.
    #[derive(Debug, Clone)]
    pub(in super::super) struct Zeros {
        coefficients: __m128i,
        differences: __m128i,
    }

    impl Zeros {
        pub(in super::super) fn new() -> Self {
            // SAFETY: every x86-64 has SSE2.
            let zero = unsafe { _mm_setzero_si128() };
            Self { coefficients: zero, differences: zero }
        }

        /// UPZERO and FILTEZ: adapts, takes the new difference in; the sum of all.
        #[inline]
        pub(in super::super) fn step(&mut self, quantized: i16) -> i32 {
            // SAFETY: every x86-64 has SSE2; nothing here touches memory.
            unsafe {
                let (old, all) = (self.coefficients, _mm_set1_epi16(quantized));
                let leak = _mm_set1_epi16(if quantized == 0 { 0 } else { 128 });
                // +leak where the signs are the same, else -leak.
                let opposite = _mm_srai_epi16(_mm_xor_si128(self.differences, all), 15);
                let step = _mm_sub_epi16(_mm_xor_si128(leak, opposite), opposite);
                // The product with 255/256, rounded down: a 256th less, rounded up.
                let low = _mm_and_si128(old, _mm_set1_epi16(0xFF));
                let is_whole = _mm_cmpeq_epi16(low, _mm_setzero_si128());
                let leaked = _mm_sub_epi16(old, _mm_srai_epi16(old, 8));
                let leaked = _mm_sub_epi16(_mm_sub_epi16(leaked, _mm_set1_epi16(1)), is_whole);
                let coefficients = _mm_adds_epi16(leaked, step);
                let shifted = _mm_slli_si128(self.differences, 2);
                let shifted = _mm_insert_epi16(shifted, i32::from(quantized), 0);
                let six = _mm_setr_epi16(-1, -1, -1, -1, -1, -1, 0, 0);
                let differences = _mm_and_si128(shifted, six);
                (self.coefficients, self.differences) = (coefficients, differences);
                let doubled = _mm_adds_epi16(differences, differences);
                // Bits 15 to 30 of each product; differences have 15 bits at most: they fit.
                let high = _mm_slli_epi16(_mm_mulhi_epi16(coefficients, doubled), 1);
                let low = _mm_srli_epi16(_mm_mullo_epi16(coefficients, doubled), 15);
                let sums = _mm_madd_epi16(_mm_or_si128(high, low), _mm_set1_epi16(1));
                let sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0b01_00_11_10));
                let sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0b10_11_00_01));
                _mm_cvtsi128_si32(sums)
            }
        }
    }

    /// Decision levels under a scale factor.
    #[derive(Debug, Clone)]
    pub(in super::super) struct Levels([__m128i; 4]);

    impl Levels {
        #[inline]
        pub(in super::super) fn new(levels: &[u16; 32], scale: u16) -> Self {
            let (eights, _) = levels.as_chunks::<8>();
            // SAFETY: every x86-64 has SSE2; nothing here touches memory.
            let level = |at: usize| unsafe {
                let [a, b, c, d, e, f, g, h] = eights[at].map(u16::cast_signed);
                let scale = _mm_set1_epi16(scale.cast_signed());
                _mm_mulhi_epu16(_mm_setr_epi16(a, b, c, d, e, f, g, h), scale)
            };
            Self([level(0), level(1), level(2), level(3)])
        }

        /// How many levels a magnitude reaches, of those before the first that it does not.
        #[inline]
        pub(in super::super) fn reached(&self, magnitude: i16) -> usize {
            // SAFETY: every x86-64 has SSE2; nothing here touches memory.
            let (low, high) = unsafe {
                let all = _mm_set1_epi16(magnitude);
                let below = |at: usize| _mm_cmpgt_epi16(self.0[at], all);
                let low = _mm_packs_epi16(below(0), below(1));
                let high = _mm_packs_epi16(below(2), below(3));
                (_mm_movemask_epi8(low), _mm_movemask_epi8(high))
            };
            let (low, high) = (low.cast_unsigned(), high.cast_unsigned());
            (low | high << 16 | 1 << INTERVALS).trailing_zeros() as usize
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::INTERVALS;

    /// The six zeros of a predictor; two lanes idle.
    #[derive(Debug, Clone)]
    pub(in super::super) struct Zeros {
        coefficients: [i16; 8],
        differences: [i16; 8],
    }

    impl Zeros {
        pub(in super::super) fn new() -> Self {
            Self { coefficients: [0; 8], differences: [0; 8] }
        }

        /// UPZERO and FILTEZ: adapts, takes the new difference in; the sum of all.
        #[inline]
        pub(in super::super) fn step(&mut self, quantized: i16) -> i32 {
            let leak = if quantized == 0 { 0_i16 } else { 128 };
            for (coefficient, &difference) in self.coefficients.iter_mut().zip(&self.differences) {
                let opposite = (difference ^ quantized) >> 15;
                let step = (leak ^ opposite) - opposite;
                let old = *coefficient;
                let leaked = old - (old >> 8) - i16::from(old & 0xFF != 0);
                *coefficient = leaked.saturating_add(step);
            }
            self.differences.copy_within(..5, 1);
            self.differences[0] = quantized;
            let products = self.coefficients.iter().zip(&self.differences).take(6);
            let product = |(&coefficient, &difference): (&i16, &i16)| {
                (i32::from(coefficient) * i32::from(difference.saturating_add(difference))) >> 15
            };
            products.map(product).sum()
        }
    }

    /// Decision levels under a scale factor.
    #[derive(Debug, Clone)]
    pub(in super::super) struct Levels([u32; 32]);

    impl Levels {
        #[inline]
        pub(in super::super) fn new(levels: &[u16; 32], scale: u16) -> Self {
            Self(levels.map(|level| (u32::from(level) * u32::from(scale)) >> 16))
        }

        /// How many levels a magnitude reaches, of those before the first that it does not.
        #[inline]
        pub(in super::super) fn reached(&self, magnitude: i16) -> usize {
            let magnitude = u32::from(magnitude.unsigned_abs());
            let first = self.0.iter().take(INTERVALS as usize).position(|&it| magnitude < it);
            first.unwrap_or(INTERVALS as usize)
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::{portable, sse2};

    #[test]
    fn registers_and_arrays_are_the_same() {
        let (mut fast, mut plain) = (sse2::Zeros::new(), portable::Zeros::new());
        let mut number = 1_u32;
        for round in 0..200_000 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // For long of one sign, so that coefficients saturate.
            let large = (number >> 18) as i16 % 10_229;
            let value = match round / 5_000 % 4 {
                0 => large.abs(),
                1 => -large.abs(),
                2 => large * i16::from(number & 0x100 != 0),
                _ => large,
            };
            assert_eq!(fast.step(value), plain.step(value), "{round}");
        }
        let levels = core::array::from_fn(|at| if at < 30 { at as u16 * 1_500 } else { 0 });
        for scale in [32, 700, 16_384, 16_032] {
            let fast = sse2::Levels::new(&levels, scale);
            let plain = portable::Levels::new(&levels, scale);
            for magnitude in 0..=i16::MAX {
                assert_eq!(fast.reached(magnitude), plain.reached(magnitude));
            }
        }
    }
}
