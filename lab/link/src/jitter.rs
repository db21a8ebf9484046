//! How the delay wanders: its distribution, and how much of it a packet inherits from the last.
//!
//! Memory is put into a normal variable (z' = ρ z + √(1-ρ²) ε), which is then mapped to the wanted
//! distribution. So the distribution stays the same whatever the correlation is; netem, which mixes
//! uniform numbers, loses spread by it.

use crate::{Probability, Random};
use machine::Duration;
use std::f64::consts::TAU;
use std::str::FromStr;

/// Shape of the Pareto distribution: variance exists, further moments do not.
const PARETO_SHAPE: f64 = 3.0;
/// Its mean and standard deviation, from a smallest value of 1.
const PARETO_MEAN: f64 = PARETO_SHAPE / (PARETO_SHAPE - 1.0);
const PARETO_DEVIATION: f64 = 0.866_025_403_784_438_6; // √(3/4)
/// No delay is further from the mean than this many standard deviations.
pub const DEVIATIONS_MAX: f64 = 20.0;

/// Distribution of the delay around its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Evenly between delay - spread and delay + spread.
    #[default]
    Uniform,
    /// Normal; the spread is its standard deviation.
    Normal,
    /// Pareto with shape 3: never below delay - 0.58 spread, with a heavy tail above; the spread
    /// is its standard deviation.
    Pareto,
}

/// How the delay of a pipe varies from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Jitter {
    /// How far it reaches; zero is no jitter.
    pub spread: Duration,
    /// The distribution.
    pub shape: Shape,
    /// How much of its delay a packet inherits from the one before it.
    pub correlation: Probability,
    /// Whether a packet may overtake another by it. Otherwise it waits for those before it.
    pub overtakes: bool,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "uniform" => Ok(Self::Uniform),
            "normal" => Ok(Self::Normal),
            "pareto" => Ok(Self::Pareto),
            _ => Err(format!("`{text}` is no distribution: uniform, normal, pareto")),
        }
    }
}

/// The memory of a pipe's delay.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wander {
    last: Option<f64>,
}

impl Wander {
    /// The next packet's delay around a mean of `delay`; never below zero.
    pub(crate) fn next(
        &mut self,
        delay: Duration,
        jitter: &Jitter,
        random: &mut Random,
    ) -> Duration {
        if jitter.spread.is_zero() {
            return delay;
        }
        let aside = jitter.spread.as_nanos() as f64 * self.unit(jitter, random);
        Duration::from_nanos((delay.as_nanos() as f64 + aside).max(0.0) as u64)
    }

    /// A value of the distribution around 0 with a spread of 1.
    fn unit(&mut self, jitter: &Jitter, random: &mut Random) -> f64 {
        let inherited = jitter.correlation.value();
        match jitter.shape {
            Shape::Normal => self.normal(inherited, random).clamp(-DEVIATIONS_MAX, DEVIATIONS_MAX),
            Shape::Uniform => 2.0 * self.fraction(inherited, random) - 1.0,
            Shape::Pareto => {
                let value = (1.0 - self.fraction(inherited, random)).cbrt().recip();
                ((value - PARETO_MEAN) / PARETO_DEVIATION).min(DEVIATIONS_MAX)
            }
        }
    }

    /// A normal variable that inherits from the last one.
    fn normal(&mut self, inherited: f64, random: &mut Random) -> f64 {
        let fresh = normal(random);
        let kept = (1.0 - inherited * inherited).sqrt();
        let z = self.last.map_or(fresh, |last| inherited * last + kept * fresh);
        self.last = Some(z);
        z
    }

    /// A fraction, evenly from 0 to 1, that inherits from the last one.
    fn fraction(&mut self, inherited: f64, random: &mut Random) -> f64 {
        if inherited == 0.0 { random.fraction() } else { below(self.normal(inherited, random)) }
    }
}

/// A standard normal variable (Box and Muller 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.fraction()).ln()).sqrt();
    radius * (TAU * random.fraction()).cos()
}

/// The fraction of a standard normal variable's values below `z`, within 7.5e-8 (Abramowitz and
/// Stegun 26.2.17).
fn below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    let above = (-z * z / 2.0).exp() / TAU.sqrt() * sum;
    (if z < 0.0 { above } else { 1.0 - above }).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 200_000;

    fn units(shape: Shape, correlation: f64) -> Vec<f64> {
        let correlation = Probability::new(correlation).unwrap();
        let spread = Duration::from_millis(1);
        let jitter = Jitter { spread, shape, correlation, overtakes: true };
        let (mut wander, mut random) = (Wander::default(), Random::new(5));
        (0..PACKETS).map(|_| wander.unit(&jitter, &mut random)).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn moments(values: &[f64]) -> (f64, f64, f64) {
        let mean_value = mean(values);
        let apart: Vec<f64> = values.iter().map(|value| value - mean_value).collect();
        let squares: Vec<f64> = apart.iter().map(|value| value * value).collect();
        let pairs: Vec<f64> = apart.windows(2).map(|pair| pair[0] * pair[1]).collect();
        (mean_value, mean(&squares).sqrt(), mean(&pairs) / mean(&squares))
    }

    #[test]
    fn each_distribution_keeps_its_mean_and_spread_whatever_the_correlation() {
        for (shape, deviation) in
            [(Shape::Uniform, 1.0 / 3f64.sqrt()), (Shape::Normal, 1.0), (Shape::Pareto, 0.97)]
        {
            for correlation in [0.0, 0.25, 0.8] {
                let (mean, found, kept) = moments(&units(shape, correlation));
                assert!(mean.abs() < 0.03, "{shape:?} {correlation}: mean {mean}");
                let near = (found / deviation - 1.0).abs() < 0.06;
                assert!(near, "{shape:?} {correlation}: deviation {found}");
                // Mapping bends the correlation of what is not normal, more in a heavy tail.
                let bend = if shape == Shape::Pareto { 0.25 } else { 0.03 };
                assert!((kept - correlation).abs() < bend, "{shape:?} {correlation}: {kept}");
            }
        }
    }

    #[test]
    fn a_pareto_tail_reaches_far_above_and_never_far_below() {
        let values = units(Shape::Pareto, 0.0);
        let below = values.iter().copied().fold(f64::MAX, f64::min);
        assert!((-0.578..-0.57).contains(&below), "{below}");
        let far = values.iter().filter(|&&value| value > 5.0).count() as f64 / PACKETS as f64;
        let expected = (5.0 * PARETO_DEVIATION + PARETO_MEAN).powi(-3);
        assert!((far / expected - 1.0).abs() < 0.15, "{far} for {expected}");
        assert!(values.iter().all(|&value| value <= DEVIATIONS_MAX));
    }

    #[test]
    fn a_delay_never_becomes_negative() {
        let jitter =
            Jitter { spread: Duration::from_millis(10), shape: Shape::Normal, ..Jitter::default() };
        let (mut wander, mut random) = (Wander::default(), Random::new(1));
        let mut next = || wander.next(Duration::from_millis(1), &jitter, &mut random);
        assert!((0..1_000).filter(|_| next().is_zero()).count() > 300);
    }

    #[test]
    fn the_normal_fractions_are_those_of_the_tables() {
        for (z, fraction) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.96, 0.024_997_9), (9.0, 1.0)] {
            assert!((below(z) - fraction).abs() < 2e-7, "{z}: {}", below(z));
        }
    }
}
