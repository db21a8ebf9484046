//! Finds digits in samples at 8 kHz by eight filters of Goertzel.
//!
//! ITU-T Q.24: tones of 40 ms and more are a digit, of 20 ms and less none; an interruption of
//! 10 ms ends none, a pause of 40 ms does; frequencies within 1.5 % are taken and beyond 3.5 % are
//! not; the high group may be 4 dB louder or 8 dB quieter than the low one.

use super::{GRID, HIGH, LOW};

/// Samples of a block: 12.75 ms, so that the filters of a group do not overlap, and two blocks lie
/// within any 40 ms.
pub const BLOCK: usize = 102;
/// Rate of the samples, Hz.
const RATE: f64 = 8_000.0;
/// The least power of a tone: -37 dBm0, as the square of half an amplitude.
const POWER_LEAST: f64 = 80.0 * 80.0;
/// How much louder than the others of its group a tone is: 8 dB.
const OTHERS: f64 = 6.3;
/// The high group may be quieter than the low one by 8 dB, or louder by 4.
const TWIST: f64 = 6.3;
const REVERSE_TWIST: f64 = 2.51;
/// The share of all power that the two tones have.
const SHARE: f64 = 0.75;
/// A block at an edge has less than this share of the power of a whole one, and is none.
const WHOLE: f64 = 0.7;
/// Blocks in which a digit is heard before it is one, and in which it is not before it is over:
/// an interruption of 10 ms spoils two at most.
const BLOCKS_ON: u8 = 2;
const BLOCKS_OFF: u8 = 3;

/// What was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// A digit has begun so many samples ago.
    Began {
        /// Its event.
        code: u8,
        /// Samples, the last one that was given included.
        ago: usize,
    },
    /// It ended.
    Ended {
        /// Its event.
        code: u8,
        /// Samples that it lasted.
        lasted: usize,
    },
}

/// Filters of the frequencies of both groups, the low one first.
#[derive(Debug, Clone)]
struct Filters {
    coefficients: [f32; 8],
    s1: [f32; 8],
    s2: [f32; 8],
    energy: f32,
}

impl Filters {
    #[allow(clippy::cast_possible_truncation, reason = "single precision is enough for a block")]
    fn new() -> Self {
        let coefficient = |hertz: f64| (2.0 * (core::f64::consts::TAU * hertz / RATE).cos()) as f32;
        let hertz = |at: usize| if at < 4 { LOW[at] } else { HIGH[at - 4] };
        let coefficients = core::array::from_fn(|at| coefficient(hertz(at)));
        Self { coefficients, s1: [0.0; 8], s2: [0.0; 8], energy: 0.0 }
    }

    fn filter(&mut self, samples: &[i16]) {
        for &sample in samples {
            let sample = f32::from(sample);
            self.energy += sample * sample;
            for at in 0..8 {
                let s0 = sample + self.coefficients[at] * self.s1[at] - self.s2[at];
                self.s2[at] = self.s1[at];
                self.s1[at] = s0;
            }
        }
    }

    /// The powers in the block, which ends: squares of half the amplitudes, and the power of all.
    fn take(&mut self) -> ([f64; 4], [f64; 4], f64) {
        let power = |at: usize| {
            let [s1, s2, coefficient] =
                [self.s1[at], self.s2[at], self.coefficients[at]].map(f64::from);
            (s1 * s1 + s2 * s2 - coefficient * s1 * s2) / (BLOCK * BLOCK) as f64
        };
        let low = core::array::from_fn(power);
        let high = core::array::from_fn(|at| power(at + 4));
        let total = f64::from(self.energy) / BLOCK as f64;
        (self.s1, self.s2, self.energy) = ([0.0; 8], [0.0; 8], 0.0);
        (low, high, total)
    }
}

/// Finds the digits of one signal.
#[derive(Debug, Clone)]
pub struct Detector {
    filters: Filters,
    /// Samples of the block that has begun.
    filled: usize,
    /// What the last block had, and with which power.
    last: Option<(u8, f64)>,
    alike: u8,
    digit: Option<u8>,
    /// Blocks without the digit that lasts.
    absent: u8,
    lasted: usize,
}

impl Default for Detector {
    fn default() -> Self {
        Self {
            filters: Filters::new(),
            filled: 0,
            last: None,
            alike: 0,
            digit: None,
            absent: 0,
            lasted: 0,
        }
    }
}

impl Detector {
    /// The digit that lasts.
    #[must_use]
    pub const fn digit(&self) -> Option<u8> {
        self.digit
    }

    /// Whether the last block had a digit's tones, be it one or not.
    #[must_use]
    pub const fn is_suspicious(&self) -> bool {
        self.last.is_some()
    }

    /// Takes samples, and appends what was heard in them.
    pub fn hear(&mut self, samples: &[i16], out: &mut Vec<Heard>) {
        let mut rest = samples;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(rest.len().min(BLOCK - self.filled));
            self.filters.filter(piece);
            self.filled += piece.len();
            rest = tail;
            if self.filled == BLOCK {
                self.filled = 0;
                self.block(rest.len(), out);
            }
        }
    }

    /// A block is full; so many samples came behind it.
    fn block(&mut self, behind: usize, out: &mut Vec<Heard>) {
        let found = self.found();
        let whole = match (found, self.last) {
            (Some((code, power)), Some((before, earlier))) if code == before => {
                let is_whole = power > WHOLE * earlier && earlier > WHOLE * power;
                self.alike = if is_whole { self.alike.saturating_add(1) } else { 1 };
                Some(code)
            }
            (Some((code, _)), _) => {
                self.alike = 1;
                Some(code)
            }
            (None, _) => None,
        };
        self.last = found;
        match self.digit {
            Some(digit) if whole == Some(digit) => {
                self.lasted += BLOCK * (1 + usize::from(self.absent));
                self.absent = 0;
            }
            Some(digit) => {
                self.absent += 1;
                // Another digit ends it, too.
                if self.absent >= BLOCKS_OFF || whole.is_some() && self.alike >= BLOCKS_ON {
                    out.push(Heard::Ended { code: digit, lasted: self.lasted });
                    self.digit = None;
                }
            }
            None => {}
        }
        if let (None, Some(code), true) = (self.digit, whole, self.alike >= BLOCKS_ON) {
            self.digit = Some(code);
            self.absent = 0;
            self.lasted = BLOCK * usize::from(BLOCKS_ON);
            out.push(Heard::Began { code, ago: self.lasted + behind });
        }
    }

    /// The digit whose tones the block has, and their power.
    fn found(&mut self) -> Option<(u8, f64)> {
        let (low, high, total) = self.filters.take();
        let (low, low_power) = loudest(low)?;
        let (high, high_power) = loudest(high)?;
        let is_even = low_power <= TWIST * high_power && high_power <= REVERSE_TWIST * low_power;
        // A tone's power in all is twice the square of half its amplitude.
        let is_clean = 2.0 * (low_power + high_power) > SHARE * total;
        (is_even && is_clean).then(|| (GRID[low][high], low_power + high_power))
    }
}

/// The loudest of a group, if it stands out.
fn loudest(powers: [f64; 4]) -> Option<(usize, f64)> {
    let (at, power) = powers.into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut others = powers.iter().enumerate().filter(|(other, _)| *other != at);
    (power > POWER_LEAST && others.all(|(_, &other)| other * OTHERS < power)).then_some((at, power))
}

#[cfg(test)]
mod tests {
    use super::super::frequencies;
    use super::*;
    use crate::dtmf::Tones;
    use crate::resample::Rate;

    fn heard(samples: &[i16]) -> Vec<Heard> {
        let (mut detector, mut out) = (Detector::default(), Vec::new());
        for piece in samples.chunks(160) {
            detector.hear(piece, &mut out);
        }
        out
    }

    fn silence(ms: u16) -> Vec<i16> {
        vec![0; Rate::Narrow.samples(ms)]
    }

    fn digit(code: u8, ms: u16, out: &mut Vec<i16>) {
        let mut tones = Tones::new(code, 10, Rate::Narrow).expect("a digit");
        tones.generate(Rate::Narrow.samples(ms), true, out);
    }

    /// Two tones with their frequencies off by a share, and amplitudes.
    fn pair(code: u8, off: f64, amplitudes: (f64, f64), ms: u16) -> Vec<i16> {
        let (low, high) = frequencies(code).expect("a digit");
        let at = |at: usize| {
            let wave = |hertz: f64| {
                (core::f64::consts::TAU * hertz * (1.0 + off) * at as f64 / RATE).sin()
            };
            (amplitudes.0 * wave(low) + amplitudes.1 * wave(high)) as i16
        };
        (0..Rate::Narrow.samples(ms)).map(at).chain(silence(100)).collect()
    }

    #[test]
    fn each_digit_of_40_ms_is_heard_once_wherever_it_begins() {
        for code in 0..16 {
            for offset in [0, 3, 7, 11] {
                let mut samples = silence(20 + offset);
                digit(code, 40, &mut samples);
                samples.extend(silence(40));
                digit(code, 40, &mut samples);
                samples.extend(silence(60));
                let codes: Vec<u8> = heard(&samples)
                    .iter()
                    .filter_map(|it| match it {
                        Heard::Began { code, .. } => Some(*code),
                        Heard::Ended { .. } => None,
                    })
                    .collect();
                assert_eq!(codes, [code, code], "{code} at {offset}");
                assert_eq!(heard(&samples).len(), 4);
            }
        }
    }

    #[test]
    fn tones_of_20_ms_are_no_digit_and_an_interruption_of_10_ms_ends_none() {
        for offset in 0..13 {
            let mut samples = silence(20 + offset);
            digit(5, 20, &mut samples);
            samples.extend(silence(60));
            assert_eq!(heard(&samples), [], "at {offset}");
            let mut samples = silence(20 + offset);
            digit(5, 60, &mut samples);
            samples.extend(silence(10));
            digit(5, 60, &mut samples);
            samples.extend(silence(60));
            assert_eq!(heard(&samples).len(), 2, "at {offset}");
        }
    }

    #[test]
    fn twist_and_frequencies_are_as_q_24_has_them() {
        let is_heard = |off, amplitudes| !heard(&pair(6, off, amplitudes, 80)).is_empty();
        let level = |decibels: f64| 4_000.0 * 10_f64.powf(decibels / 20.0);
        assert!(is_heard(0.015, (4_000.0, 4_000.0)) && is_heard(-0.015, (4_000.0, 4_000.0)));
        assert!(!is_heard(0.035, (4_000.0, 4_000.0)) && !is_heard(-0.035, (4_000.0, 4_000.0)));
        assert!(is_heard(0.0, (level(0.0), level(-7.5))), "the high group quieter");
        assert!(!is_heard(0.0, (level(0.0), level(-9.0))));
        assert!(is_heard(0.0, (level(-3.5), level(0.0))), "the high group louder");
        assert!(!is_heard(0.0, (level(-5.0), level(0.0))));
        assert!(!is_heard(0.0, (level(-40.0), level(-40.0))), "too quiet");
    }

    #[test]
    fn noise_and_one_tone_are_no_digit() {
        let mut noise = crate::noise::Generator::new(5);
        noise.describe(&rtp::comfort_noise::ComfortNoise { level: 12, coefficients: &[20, 200] });
        let mut samples = Vec::new();
        noise.generate(80_000, &mut samples);
        assert_eq!(heard(&samples), []);
        assert_eq!(heard(&pair(1, 0.0, (8_000.0, 0.0), 200)), []);
    }
}
