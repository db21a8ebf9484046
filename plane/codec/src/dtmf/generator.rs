//! Tones of a digit, with edges that fade.

use super::frequencies;
use crate::resample::Rate;

/// How loud each tone of a digit is unless it is told, in dBm0 without the sign (Q.23, RFC 4733
/// §2.3.5).
pub const VOLUME: u8 = 10;
/// The amplitude of a tone of 0 dBm0: 3.14 dB below the largest of G.711 (G.711 §2).
const AMPLITUDE_0_DBM0: f64 = 32_768.0 * 0.696;
/// Milliseconds in which it becomes loud, and in which it ends.
const EDGE_MS: u16 = 3;

/// Tones of one digit.
#[derive(Debug, Clone)]
pub struct Tones {
    amplitude: f64,
    steps: [f64; 2],
    made: usize,
    edge: usize,
}

impl Tones {
    /// Tones of an event, each of that volume in dBm0 without the sign; `None` if it is no digit.
    #[must_use]
    pub fn new(code: u8, volume: u8, rate: Rate) -> Option<Self> {
        let (low, high) = frequencies(code)?;
        let step = |hertz: f64| core::f64::consts::TAU * hertz / f64::from(rate.hertz());
        // Two of more than -3 dBm0 each would not fit.
        let decibels = f64::from(volume.clamp(4, 63));
        let amplitude = AMPLITUDE_0_DBM0 * 10_f64.powf(-decibels / 20.0);
        let edge = rate.samples(EDGE_MS);
        Some(Self { amplitude, steps: [step(low), step(high)], made: 0, edge })
    }

    /// Appends so many samples; those that end the digit fade.
    #[allow(clippy::cast_possible_truncation, reason = "a conversion that saturates")]
    pub fn generate(&mut self, samples: usize, is_end: bool, out: &mut Vec<i16>) {
        for left in (0..samples).rev() {
            let at = self.made as f64;
            let sum: f64 = self.steps.iter().map(|step| (step * at).sin()).sum();
            let ends = if is_end { left + 1 } else { usize::MAX };
            let edge = (self.made + 1).min(ends).min(self.edge);
            out.push((self.amplitude * sum * edge as f64 / self.edge as f64) as i16);
            self.made += 1;
        }
    }
}
