//! Packet loss concealment for codecs that have none of their own, after ITU-T G.711 Appendix I:
//! the last pitch period goes on, fades after 10 ms and is silent after 60.

use crate::resample::Rate;

/// Pitch periods that are looked for, in milliseconds.
const PITCH_MS: core::ops::RangeInclusive<u16> = 5..=15;
/// Samples of before that are kept, in milliseconds: the longest period, and a window of 20.
const HISTORY_MS: u16 = 35;
const WINDOW_MS: u16 = 20;
/// What is concealed at full strength, then fades, in milliseconds.
const FULL_MS: u16 = 10;
const SILENT_MS: u16 = 60;
/// Milliseconds in which what was concealed goes over into what came.
const OVERLAP_MS: u16 = 4;

/// What is known of a signal, and what went on without it.
#[derive(Debug, Clone)]
pub struct Concealment {
    rate: Rate,
    history: Vec<i16>,
    /// The period that is repeated while something lacks.
    period: Vec<i16>,
    /// Samples that were made up since the last that came.
    made: usize,
}

impl Concealment {
    /// Of a signal at that rate.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { rate, history: vec![0; rate.samples(HISTORY_MS)], period: Vec::new(), made: 0 }
    }

    /// Takes samples that came, and smooths where they follow on made ones.
    pub fn heard(&mut self, samples: &mut [i16]) {
        if self.made > 0 {
            let overlap = self.rate.samples(OVERLAP_MS).min(samples.len());
            for (at, sample) in (0_i32..).zip(samples.iter_mut().take(overlap)) {
                let made = i32::from(self.next());
                let of = i32::try_from(overlap).unwrap_or(i32::MAX);
                let mixed = (i32::from(*sample) * at + made * (of - at)) / of;
                *sample = i16::try_from(mixed).unwrap_or(*sample);
            }
            self.made = 0;
            self.period.clear();
        }
        self.keep(samples);
    }

    /// Appends so many made samples.
    pub fn conceal(&mut self, samples: usize, out: &mut Vec<i16>) {
        if self.made == 0 {
            self.period = self.last_period();
        }
        let start = out.len();
        out.extend((0..samples).map(|_| self.next()));
        self.keep(&out[start..]);
    }

    /// The next made sample.
    fn next(&mut self) -> i16 {
        let (full, silent) = (self.rate.samples(FULL_MS), self.rate.samples(SILENT_MS));
        let at = self.made;
        self.made += 1;
        if at >= silent || self.period.is_empty() {
            return 0;
        }
        let sample = i32::from(self.period[at % self.period.len()]);
        let left = i32::try_from(silent - at.max(full)).unwrap_or(0);
        let whole = i32::try_from(silent - full).unwrap_or(1);
        i16::try_from(sample * left / whole).unwrap_or(0)
    }

    fn keep(&mut self, samples: &[i16]) {
        let length = self.history.len();
        let samples = &samples[samples.len().saturating_sub(length)..];
        self.history.copy_within(samples.len().., 0);
        self.history[length - samples.len()..].copy_from_slice(samples);
    }

    /// The last period of the signal: that by which it is most like itself. Where it repeats, its
    /// end goes over into what came before its beginning, so that no edge is heard.
    fn last_period(&self) -> Vec<i16> {
        let length = self.history.len();
        let window = self.rate.samples(WINDOW_MS);
        let now = &self.history[length - window..];
        let likeness = |lag: &usize| {
            let then = &self.history[length - window - lag..length - lag];
            let product = |a: &[i16], b: &[i16]| -> f64 {
                let pairs = a.iter().zip(b).step_by(2);
                pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
            };
            product(now, then) / (product(then, then) + 1.0).sqrt()
        };
        let lags = self.rate.samples(*PITCH_MS.start())..=self.rate.samples(*PITCH_MS.end());
        let best = lags.max_by(|a, b| likeness(a).total_cmp(&likeness(b))).unwrap_or(window);
        let mut period = self.history[length - best..].to_vec();
        let overlap = best / 4;
        let before = &self.history[length - best - overlap..length - best];
        let end = &mut period[best - overlap..];
        for ((at, sample), &before) in (1_i32..).zip(end).zip(before) {
            let of = i32::try_from(overlap).unwrap_or(i32::MAX);
            let mixed = (i32::from(*sample) * (of - at) + i32::from(before) * at) / of;
            *sample = i16::try_from(mixed).unwrap_or(*sample);
        }
        period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vowel: eight harmonics of 125 Hz.
    fn vowel(rate: Rate, from: usize, samples: usize) -> Vec<i16> {
        let step = core::f64::consts::TAU * 125.0 / f64::from(rate.hertz());
        let at = |at: usize| {
            let harmonics = 1..=8;
            let sum: f64 = harmonics.map(|it| (step * f64::from(it) * at as f64).sin()).sum();
            (1_000.0 * sum) as i16
        };
        (from..from + samples).map(at).collect()
    }

    #[test]
    fn a_vowel_goes_on_as_it_would_have_then_fades_and_ends() {
        for rate in [Rate::Narrow, Rate::Wide] {
            let frame = rate.samples(10);
            let mut concealment = Concealment::new(rate);
            concealment.heard(&mut vowel(rate, 0, frame * 6));
            let mut made = Vec::new();
            concealment.conceal(frame * 7, &mut made);
            let wanted = vowel(rate, frame * 6, frame);
            let error = |(a, b): (&i16, &i16)| (f64::from(*a) - f64::from(*b)).powi(2);
            let noise: f64 = made.iter().zip(&wanted).map(error).sum();
            let signal: f64 = wanted.iter().map(|&it| f64::from(it).powi(2)).sum();
            assert!(signal / noise.max(1.0) > 10.0, "{rate:?}: {}", signal / noise);
            assert!(made[frame * 6..].iter().all(|&it| it == 0), "after 60 ms it is silent");
            let mut back = vowel(rate, frame * 13, frame);
            concealment.heard(&mut back);
            assert_eq!(back[0], 0, "it fades in");
            assert_eq!(back[frame - 1], vowel(rate, frame * 13, frame)[frame - 1]);
        }
    }
}
