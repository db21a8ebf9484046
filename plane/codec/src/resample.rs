//! From one sample rate to another: 8, 16 and 48 kHz, by a polyphase filter.
//!
//! The filter is a sinc under a Kaiser window: flat up to 0.86 of the lower rate's half, 60 dB down
//! from 1.14 of it. It delays by [`DELAY`] samples of the lower rate, 2 ms at 8 kHz.
//!
//! Between 8 and 16 kHz it is a half-band filter: of its taps every second one but the middle is
//! zero, so that half of the samples of the higher rate are those of the lower one.

use crate::sample::saturated;

/// Taps of each phase, in samples of the lower rate.
const TAPS: usize = 32;
/// Of a window the sample behind which the middle of a half-band filter stands.
const MIDDLE: usize = TAPS / 2 - 1;
/// Samples of the lower rate by which the filter delays.
pub const DELAY: usize = TAPS / 2;
/// Shape of the window: 60 dB.
const BETA: f64 = 5.65;
/// Taps are integers with so many bits behind the point: sums of their products with samples stay
/// within 32 bits, and what they are rounded by is 80 dB down.
const POINT: u32 = 14;

/// Rates that frames have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rate {
    /// 8,000 samples a second.
    Narrow,
    /// 16,000 samples a second.
    Wide,
    /// 48,000 samples a second.
    Full,
}

impl Rate {
    /// Samples a second.
    #[must_use]
    pub const fn hertz(self) -> u32 {
        self.per_ms() as u32 * 1_000
    }

    /// Samples a millisecond.
    #[must_use]
    pub const fn per_ms(self) -> u16 {
        match self {
            Self::Narrow => 8,
            Self::Wide => 16,
            Self::Full => 48,
        }
    }

    /// Samples of so many milliseconds.
    #[must_use]
    pub const fn samples(self, ms: u16) -> usize {
        self.per_ms() as usize * ms as usize
    }
}

/// What turns samples of one rate into those of another.
#[derive(Debug, Clone)]
pub struct Resampler {
    direction: Direction,
    /// Samples of before, then those that are turned; of a half only each first of two.
    line: Vec<i16>,
    /// Each second of two, where only half of them are left.
    second: Vec<i16>,
    /// Taps: of each phase one behind the other, newest sample last.
    taps: Box<[i16]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Same,
    /// Twice as many, half as many.
    Double,
    Half,
    /// So many times as many, a so much smaller part.
    Up(usize),
    Down(usize),
}

impl Resampler {
    /// From one rate to another; the same passes everything as it is.
    #[must_use]
    pub fn new(from: Rate, to: Rate) -> Self {
        let (from, to) = (usize::from(from.per_ms()), usize::from(to.per_ms()));
        let (direction, taps, past) = match from.cmp(&to) {
            core::cmp::Ordering::Equal => (Direction::Same, Vec::new(), 0),
            core::cmp::Ordering::Less if to == 2 * from => {
                (Direction::Double, half_band(1.0), TAPS - 1)
            }
            core::cmp::Ordering::Greater if from == 2 * to => {
                (Direction::Half, half_band(0.5), TAPS - 1)
            }
            core::cmp::Ordering::Less => {
                let factor = to / from;
                (Direction::Up(factor), phases(factor), TAPS - 1)
            }
            core::cmp::Ordering::Greater => {
                let factor = from / to;
                (Direction::Down(factor), prototype(factor, 1.0), TAPS * factor - 1)
            }
        };
        let second = if direction == Direction::Half { vec![0; past] } else { Vec::new() };
        Self { direction, line: vec![0; past], second, taps: taps.into() }
    }

    /// Whether it passes samples as they are.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.direction == Direction::Same
    }

    /// Appends what becomes of samples. Of a lower rate's sample all belong to one call: what is
    /// left of the last factor is passed over.
    pub fn resample(&mut self, samples: &[i16], out: &mut Vec<i16>) {
        let past = self.line.len();
        match self.direction {
            Direction::Same => return out.extend_from_slice(samples),
            Direction::Half => {
                let (pairs, _) = samples.as_chunks::<2>();
                self.line.extend(pairs.iter().map(|pair| pair[0]));
                self.second.extend(pairs.iter().map(|pair| pair[1]));
            }
            Direction::Double | Direction::Up(_) | Direction::Down(_) => {
                self.line.extend_from_slice(samples);
            }
        }
        let start = out.len();
        match self.direction {
            Direction::Same => {}
            Direction::Double => {
                out.resize(start + 2 * samples.len(), 0);
                let (pairs, _) = out[start..].as_chunks_mut::<2>();
                for (window, pair) in self.windows().zip(pairs) {
                    *pair = [window[MIDDLE], rounded(dot(window, self.half_band()))];
                }
            }
            Direction::Half => {
                out.resize(start + samples.len() / 2, 0);
                let between = self.second[MIDDLE..].iter();
                for ((window, &middle), out) in self.windows().zip(between).zip(&mut out[start..]) {
                    let middle = i32::from(middle) << (POINT - 1);
                    *out = rounded(dot(window, self.half_band()) + middle);
                }
            }
            Direction::Up(factor) => {
                out.resize(start + factor * samples.len(), 0);
                let (taps, _) = self.taps.as_chunks::<TAPS>();
                for (window, out) in self.windows().zip(out[start..].chunks_exact_mut(factor)) {
                    for (taps, out) in taps.iter().zip(out) {
                        *out = rounded(dot(window, taps));
                    }
                }
            }
            Direction::Down(factor) => {
                out.resize(start + samples.len() / factor, 0);
                let (taps, _) = self.taps.as_chunks::<TAPS>();
                let windows = self.line.windows(TAPS * factor).skip(factor - 1).step_by(factor);
                for (window, out) in windows.zip(&mut out[start..]) {
                    let parts = window.as_chunks::<TAPS>().0.iter().zip(taps);
                    *out = rounded(parts.map(|(window, taps)| dot(window, taps)).sum());
                }
            }
        }
        let used = self.line.len() - past;
        for line in [&mut self.line, &mut self.second] {
            if !line.is_empty() {
                line.copy_within(used.., 0);
                line.truncate(past);
            }
        }
    }

    /// The samples that each turned one stands for, the newest last.
    fn windows(&self) -> impl Iterator<Item = &[i16; TAPS]> {
        self.line.windows(TAPS).filter_map(<[i16]>::first_chunk)
    }

    fn half_band(&self) -> &[i16; TAPS] {
        self.taps.first_chunk().unwrap_or(&[0; TAPS])
    }
}

/// A sum of products; the number of taps is known, so that it takes no loop.
#[inline]
fn dot(samples: &[i16; TAPS], taps: &[i16; TAPS]) -> i32 {
    samples.iter().zip(taps).map(|(&it, &tap)| i32::from(it) * i32::from(tap)).sum()
}

#[inline]
fn rounded(sum: i32) -> i16 {
    saturated((sum + (1 << (POINT - 1))) >> POINT)
}

/// The filter at the higher rate, which is `factor` times the lower.
#[allow(clippy::cast_possible_truncation, reason = "no tap is larger than one")]
fn prototype(factor: usize, gain: f64) -> Vec<i16> {
    let length = TAPS * factor;
    let middle = (length - 1) as f64 / 2.0;
    let mut taps: Vec<f64> = (0..length)
        .map(|at| {
            let offset = at as f64 - middle;
            let angle = core::f64::consts::PI * offset / factor as f64;
            let sinc = if angle == 0.0 { 1.0 } else { angle.sin() / angle };
            let place = offset / (middle + 0.5);
            sinc * bessel(BETA * (1.0 - place * place).max(0.0).sqrt())
        })
        .collect();
    let sum: f64 = taps.iter().sum();
    taps.iter_mut().for_each(|tap| *tap *= gain / sum);
    taps.into_iter().map(|tap| (tap * f64::from(1 << POINT)).round() as i16).collect()
}

/// The taps of a half-band filter that are not zero, but for the one in the middle. They are the
/// same backwards.
#[allow(clippy::cast_possible_truncation, reason = "no tap is larger than one")]
fn half_band(gain: f64) -> Vec<i16> {
    let taps = (0..TAPS).map(|at| {
        // In samples of the higher rate.
        let offset = 2.0 * at as f64 - (TAPS - 1) as f64;
        let angle = core::f64::consts::PI * offset / 2.0;
        let place = offset / TAPS as f64;
        angle.sin() / angle * bessel(BETA * (1.0 - place * place).sqrt())
    });
    let taps: Vec<f64> = taps.collect();
    let sum: f64 = taps.iter().sum();
    let scale = gain / sum * f64::from(1 << POINT);
    taps.into_iter().map(|tap| (tap * scale).round() as i16).collect()
}

/// The filter as its phases, each backwards.
fn phases(factor: usize) -> Vec<i16> {
    let whole = prototype(factor, factor as f64);
    let phase = |phase| (0..TAPS).rev().map(move |tap| phase + factor * tap);
    (0..factor).flat_map(phase).map(|at| whole[at]).collect()
}

/// The modified Bessel function of the first kind and order zero.
fn bessel(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..32 {
        term *= (x / 2.0 / f64::from(k)).powi(2);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(hertz: f64, rate: Rate, ms: u16) -> Vec<i16> {
        let step = core::f64::consts::TAU * hertz / f64::from(rate.hertz());
        (0..rate.samples(ms)).map(|at| (8_000.0 * (step * at as f64).sin()) as i16).collect()
    }

    fn power(samples: &[i16]) -> f64 {
        samples.iter().map(|&it| f64::from(it).powi(2)).sum::<f64>() / samples.len() as f64
    }

    #[test]
    fn tones_of_speech_pass_and_what_would_fold_does_not() {
        use Rate::{Full, Narrow, Wide};
        for (from, to) in [(Narrow, Wide), (Wide, Narrow), (Narrow, Full), (Full, Wide)] {
            for hertz in [300.0, 1_000.0, 3_300.0] {
                let mut resampler = Resampler::new(from, to);
                let mut out = Vec::new();
                for piece in tone(hertz, from, 400).chunks(from.samples(20)) {
                    resampler.resample(piece, &mut out);
                }
                assert_eq!(out.len(), to.samples(400));
                let ratio = power(&out[to.samples(40)..]) / 32.0e6;
                assert!((ratio - 1.0).abs() < 0.03, "{from:?} {to:?} {hertz}: {ratio}");
            }
        }
        let mut out = Vec::new();
        Resampler::new(Wide, Narrow).resample(&tone(4_700.0, Wide, 400), &mut out);
        assert!(power(&out[Narrow.samples(40)..]) < 32.0e6 / 1e5, "50 dB");
    }

    #[test]
    fn the_same_rate_passes_samples_as_they_are() {
        let (mut same, mut out) = (Resampler::new(Rate::Wide, Rate::Wide), Vec::new());
        same.resample(&[1, -2, 3], &mut out);
        assert!(same.is_same() && out == [1, -2, 3]);
    }
}
