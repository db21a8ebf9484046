//! One band: quantizer, its inverse and the predictor (G.722 §6.2).

use super::lanes::{Levels, Zeros};
use crate::sample::saturated;

/// Decision levels of the low band's quantizer (table 9), shifted so that the product with the
/// scale factor needs its upper 16 bits alone; two that are none fill the last register.
const LEVELS: [u16; 32] = levels();
const Q6: [u16; 30] = [
    0, 35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940,
    1023, 1121, 1219, 1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919,
];
/// Codes of the low band by interval, of negative and of other differences (table 10).
const LOW_NEGATIVE: [u8; 32] = [
    0, 63, 62, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
    10, 9, 8, 7, 6, 5, 4, 0,
];
const LOW_POSITIVE: [u8; 32] = [
    0, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39,
    38, 37, 36, 35, 34, 33, 32, 0,
];
/// Output of the inverse quantizer of six bits (table 12).
const QM6: [i16; 64] = [
    -136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232,
    -9360, -8576, -7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776,
    -2400, -2032, -1688, -1360, -1040, -728, 24808, 21904, 19008, 16704, 14984, 13512, 12280,
    11192, 10232, 9360, 8576, 7856, 7192, 6576, 6000, 5456, 4944, 4464, 4008, 3576, 3168, 2776,
    2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432, -136,
];
/// Output of the inverse quantizer of four bits, by which the predictor adapts (table 11).
const QM4: [i16; 16] = [
    0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584,
    1200, 0,
];
/// Output of the inverse quantizer of the high band (table 13).
const QM2: [i16; 4] = [-7408, -1616, 7408, 1616];
/// Multipliers of the scale factor by code: low band, high band (table 14).
const LOG_LOW: [i16; 16] =
    [-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60];
const LOG_HIGH: [i16; 4] = [798, -214, 798, -214];
const LOG_LOW_MAX: i32 = 18_432;
const LOG_HIGH_MAX: i32 = 22_528;
/// Powers of two (table 15).
const ILB: [u16; 32] = [
    2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834,
    2896, 2960, 3025, 3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008,
];
/// The quantizer of the high band has one decision level.
const Q2: i32 = 564;

const fn levels() -> [u16; 32] {
    let mut levels = [0; 32];
    let mut at = 0;
    while at < Q6.len() {
        levels[at] = Q6[at] << 4;
        at += 1;
    }
    levels
}

/// The state of a band.
#[derive(Debug, Clone)]
pub(crate) struct Band {
    /// The signal estimate, and the part of the zeros in it.
    estimate: i32,
    zeros: i32,
    /// Reconstructed signal of one sample before.
    reconstructed: i32,
    /// Signs of the partially reconstructed signal, one and two samples before.
    partial: [i32; 2],
    /// Coefficients of the two poles.
    poles: [i32; 2],
    /// The last six quantized differences, and the coefficients of the six zeros.
    adaptive: Zeros,
    log_scale: i32,
    scale: i32,
}

impl Band {
    /// The low band at its beginning.
    pub(crate) fn low() -> Self {
        Self::with_scale(32)
    }

    /// The high band at its beginning.
    pub(crate) fn high() -> Self {
        Self::with_scale(8)
    }

    fn with_scale(scale: i32) -> Self {
        Self {
            estimate: 0,
            zeros: 0,
            reconstructed: 0,
            partial: [0; 2],
            poles: [0; 2],
            adaptive: Zeros::new(),
            log_scale: 0,
            scale,
        }
    }

    /// SUBTRA, QUANTL and the adaptation: the code of a sample of the low band.
    #[inline]
    pub(crate) fn encode_low(&mut self, sample: i16) -> u8 {
        let difference = saturated(i32::from(sample) - self.estimate);
        let magnitude = if difference < 0 { !difference } else { difference };
        // The scale factor is at most 16,384.
        let scale = u16::try_from(self.scale).unwrap_or(u16::MAX);
        let interval = Levels::new(&LEVELS, scale).reached(magnitude) & 31;
        let codes = if difference < 0 { &LOW_NEGATIVE } else { &LOW_POSITIVE };
        let code = codes[interval];
        self.adapt_low(code);
        code
    }

    /// SUBTRA, QUANTH and the adaptation: the code of a sample of the high band.
    #[inline]
    pub(crate) fn encode_high(&mut self, sample: i16) -> u8 {
        let difference = saturated(i32::from(sample) - self.estimate);
        let magnitude = if difference < 0 { !difference } else { difference };
        let is_large = i32::from(magnitude) >= (Q2 * self.scale) >> 12;
        let code = match (difference < 0, is_large) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        self.adapt_high(code);
        code
    }

    /// INVQBL, RECONS, LIMIT and the adaptation: the sample of a code of the low band.
    #[inline]
    pub(crate) fn decode_low(&mut self, code: u8) -> i16 {
        let code = code & 63;
        let difference = (self.scale * i32::from(QM6[usize::from(code)])) >> 15;
        let sample = limited(self.estimate + difference);
        self.adapt_low(code);
        sample
    }

    /// INVQAH, RECONS, LIMIT and the adaptation: the sample of a code of the high band.
    #[inline]
    pub(crate) fn decode_high(&mut self, code: u8) -> i16 {
        let code = code & 3;
        let difference = (self.scale * i32::from(QM2[usize::from(code)])) >> 15;
        let sample = limited(self.estimate + difference);
        self.adapt_high(code);
        sample
    }

    /// INVQAL, LOGSCL, SCALEL and the predictor.
    #[inline]
    fn adapt_low(&mut self, code: u8) {
        let code = usize::from(code >> 2) & 15;
        let difference = (self.scale * i32::from(QM4[code])) >> 15;
        let log_scale = ((self.log_scale * 127) >> 7) + i32::from(LOG_LOW[code]);
        self.log_scale = log_scale.clamp(0, LOG_LOW_MAX);
        self.scale = scale(self.log_scale, 8);
        self.predict(difference);
    }

    /// INVQAH, LOGSCH, SCALEH and the predictor.
    #[inline]
    fn adapt_high(&mut self, code: u8) {
        let code = usize::from(code) & 3;
        let difference = (self.scale * i32::from(QM2[code])) >> 15;
        let log_scale = ((self.log_scale * 127) >> 7) + i32::from(LOG_HIGH[code]);
        self.log_scale = log_scale.clamp(0, LOG_HIGH_MAX);
        self.scale = scale(self.log_scale, 10);
        self.predict(difference);
    }

    /// PARREC, RECONS, UPPOL2, UPPOL1, UPZERO, FILTEP, FILTEZ, PREDIC.
    #[inline]
    fn predict(&mut self, difference: i32) {
        let reconstructed = i32::from(saturated(self.estimate + difference));
        let partial = i32::from(saturated(self.zeros + difference)) >> 31;
        let [sign1, sign2] = self.partial;
        let [pole1, pole2] = self.poles;

        let step = i32::from(saturated(pole1 << 2));
        let step = if partial == sign1 { (-step).min(32_767) } else { step };
        let leak = if partial == sign2 { 128 } else { -128 };
        let new2 = (leak + (step >> 7) + ((pole2 * 32_512) >> 15)).clamp(-12_288, 12_288);
        let leak = if partial == sign1 { 192 } else { -192 };
        let bound = 15_360 - new2;
        let new1 = (leak + ((pole1 * 32_640) >> 15)).clamp(-bound, bound);

        let quantized = saturated(difference);
        let zeros = self.adaptive.step(quantized);
        let first = twice(reconstructed, new1);
        let second = twice(self.reconstructed, new2);
        let poles = i32::from(saturated(first + second));
        self.partial = [partial, sign1];
        self.poles = [new1, new2];
        self.reconstructed = reconstructed;
        self.zeros = i32::from(saturated(zeros));
        self.estimate = i32::from(saturated(poles + self.zeros));
    }
}

/// SCALEL and SCALEH.
#[inline]
fn scale(log_scale: i32, shift: i32) -> i32 {
    let mantissa = i32::from(ILB[(log_scale >> 6 & 31) as usize]);
    let shift = shift - (log_scale >> 11);
    (if shift < 0 { mantissa << -shift } else { mantissa >> shift }) << 2
}

/// FILTEP's product.
#[inline]
fn twice(signal: i32, coefficient: i32) -> i32 {
    (coefficient * i32::from(saturated(signal + signal))) >> 15
}

/// LIMIT: 15 bits.
#[inline]
fn limited(value: i32) -> i16 {
    saturated(value.clamp(-16_384, 16_383))
}
