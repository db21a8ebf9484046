//! Comfort noise (RFC 3389): what the background sounds like is measured, told and made again.

use rtp::comfort_noise::ComfortNoise;

/// Reflection coefficients that are told (RFC 3389 §3.2 leaves the order to the sender).
const ORDER: usize = 6;
/// 0 dBov: the power of a square wave of the largest samples.
const OVERLOAD: f64 = 32_768.0 * 32_768.0;
/// The lowest level, in dBov without the sign.
const LEVEL_LOWEST: u8 = 127;
/// The highest of a coefficient.
const COEFFICIENT_MOST: u8 = 254;

/// The level of samples in dBov without the sign, 0 to 127.
#[must_use]
pub fn level(samples: &[i16]) -> u8 {
    let energy: i64 = samples.iter().map(|&it| i64::from(it) * i64::from(it)).sum();
    let power = energy as f64 / samples.len().max(1) as f64;
    let level = -10.0 * (power / OVERLOAD).max(1e-13).log10();
    octet(level, LEVEL_LOWEST)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn octet(value: f64, most: u8) -> u8 {
    value.round().clamp(0.0, f64::from(most)) as u8
}

/// Appends the payload that describes the noise in samples.
pub fn describe(samples: &[i16], out: &mut Vec<u8>) {
    let coefficients = reflections(samples).map(|it| {
        // RFC 3389 §3.2: 127 is zero, and a step is 258/32,768.
        octet(it * 32_768.0 / 258.0 + 127.0, COEFFICIENT_MOST)
    });
    let coefficients = match level(samples) {
        LEVEL_LOWEST => &[][..],
        _ => &coefficients[..],
    };
    ComfortNoise { level: level(samples), coefficients }.write(out);
}

/// The recursion of Levinson and Durbin.
fn reflections(samples: &[i16]) -> [f64; ORDER] {
    let product = |lag: usize| -> f64 {
        let pairs = samples.iter().zip(samples.iter().skip(lag));
        pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    let correlation: [f64; ORDER + 1] = core::array::from_fn(product);
    let (mut reflections, mut predictor) = ([0.0; ORDER], [0.0; ORDER]);
    // A little white noise keeps it stable.
    let mut error = correlation[0] * 1.0001 + 1.0;
    for order in 0..ORDER {
        let of = (0..order).map(|at| predictor[at] * correlation[order - at]);
        let reflection = -(correlation[order + 1] + of.sum::<f64>()) / error;
        let before = predictor;
        for at in 0..order {
            predictor[at] += reflection * before[order - 1 - at];
        }
        predictor[order] = reflection;
        reflections[order] = reflection;
        error *= 1.0 - reflection * reflection;
    }
    reflections
}

/// Makes noise as it was described.
#[derive(Debug, Clone)]
pub struct Generator {
    random: u32,
    /// The level of the noise as an amplitude of what drives the filter.
    amplitude: f64,
    reflections: [f64; ORDER],
    state: [f64; ORDER],
}

impl Generator {
    /// No noise yet; the seed chooses which noise it will be.
    #[must_use]
    pub const fn new(seed: u32) -> Self {
        Self { random: seed, amplitude: 0.0, reflections: [0.0; ORDER], state: [0.0; ORDER] }
    }

    /// The noise is as described from now on; of a model the first [`ORDER`] coefficients count.
    pub fn describe(&mut self, noise: &ComfortNoise<'_>) {
        self.reflections = [0.0; ORDER];
        for (mine, told) in self.reflections.iter_mut().zip(noise.reflections()) {
            // Inside the circle: the filter is stable whatever is told.
            *mine = told.clamp(-0.98, 0.98);
        }
        let power = OVERLOAD * 10_f64.powf(-f64::from(noise.level) / 10.0);
        let gain: f64 = self.reflections.iter().map(|it| 1.0 - it * it).product();
        // What drives it is uniform: its power is a third of the square of its largest sample.
        self.amplitude =
            if noise.level >= LEVEL_LOWEST { 0.0 } else { (3.0 * power * gain).sqrt() };
    }

    /// Appends so many samples.
    pub fn generate(&mut self, samples: usize, out: &mut Vec<i16>) {
        out.extend((0..samples).map(|_| self.next()));
    }

    #[allow(clippy::cast_possible_truncation, reason = "a conversion that saturates")]
    fn next(&mut self) -> i16 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let uniform = f64::from(self.random.cast_signed()) / 2_147_483_648.0;
        // The lattice of an all-pole filter.
        let mut forward = uniform * self.amplitude;
        for at in (0..ORDER).rev() {
            forward -= self.reflections[at] * self.state[at];
            if at + 1 < ORDER {
                self.state[at + 1] = self.state[at] + self.reflections[at] * forward;
            }
        }
        self.state[0] = forward;
        forward as i16
    }
}

/// Milliseconds of sound after which what is quiet is silence.
const HANGOVER_MS: u32 = 200;
/// Decibels above the floor that are sound.
const MARGIN: f64 = 9.0;
/// What is quieter is silence whatever the floor is, in dBov.
const SILENT: f64 = -60.0;
/// What is louder is sound whatever the floor is.
const LOUD: f64 = -35.0;

/// Tells sound from silence by the level above a floor that follows the quietest.
#[derive(Debug, Clone)]
pub struct Detector {
    /// dBov.
    floor: f64,
    quiet_ms: u32,
}

impl Default for Detector {
    fn default() -> Self {
        Self { floor: -50.0, quiet_ms: 0 }
    }
}

impl Detector {
    /// Whether a frame of so many milliseconds is silence.
    pub fn is_silence(&mut self, samples: &[i16], ms: u16) -> bool {
        let level = -f64::from(level(samples));
        // Down at once, up by 3 dB a second.
        self.floor = level.min(self.floor + 0.003 * f64::from(ms)).max(-90.0);
        let is_sound = level > LOUD || level > SILENT && level > self.floor + MARGIN;
        self.quiet_ms = if is_sound { 0 } else { self.quiet_ms.saturating_add(ms.into()) };
        self.quiet_ms > HANGOVER_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(level: u8, seed: u32, samples: usize) -> Vec<i16> {
        let mut generator = Generator::new(seed);
        generator.describe(&ComfortNoise { level, coefficients: &[] });
        let mut out = Vec::new();
        generator.generate(samples, &mut out);
        out
    }

    #[test]
    fn noise_is_as_loud_as_was_told_and_described_as_it_was_told() {
        for told in [30, 45, 60] {
            let samples = noise(told, 7, 4_000);
            assert!(level(&samples).abs_diff(told) <= 1, "{told}: {}", level(&samples));
            let mut payload = Vec::new();
            describe(&samples, &mut payload);
            let read = ComfortNoise::read(&payload).unwrap();
            assert!(read.level.abs_diff(told) <= 1);
            assert!(read.reflections().all(|it| it.abs() < 0.1), "it is white");
        }
        assert_eq!(level(&[0; 160]), 127);
    }

    #[test]
    fn coloured_noise_has_the_colour_and_the_level_that_were_told() {
        let coefficients = [30, 160, 127, 120];
        let told = ComfortNoise { level: 40, coefficients: &coefficients };
        let (mut generator, mut samples) = (Generator::new(1), Vec::new());
        generator.describe(&told);
        generator.generate(16_000, &mut samples);
        let mut payload = Vec::new();
        describe(&samples, &mut payload);
        let read = ComfortNoise::read(&payload).unwrap();
        assert!(read.level.abs_diff(40) <= 1, "{}", read.level);
        for (told, read) in told.reflections().zip(read.reflections()) {
            assert!((told - read).abs() < 0.06, "{told} {read}");
        }
    }

    #[test]
    fn any_description_makes_noise_that_ends_with_it() {
        let mut generator = Generator::new(3);
        for octet in 0..=255 {
            let coefficients = [octet; 32];
            generator.describe(&ComfortNoise { level: octet & 127, coefficients: &coefficients });
            generator.generate(160, &mut Vec::new());
        }
        generator.describe(&ComfortNoise { level: 127, coefficients: &[] });
        let mut out = Vec::new();
        generator.generate(16_000, &mut out);
        assert!(out[8_000..].iter().all(|&it| it == 0));
    }

    #[test]
    fn sound_becomes_silence_after_a_hangover_and_is_sound_at_once() {
        let mut detector = Detector::default();
        let (quiet, loud) = (noise(65, 1, 160), noise(25, 2, 160));
        assert!(!detector.is_silence(&loud, 20));
        let frames = (0..).find(|_| detector.is_silence(&quiet, 20));
        assert_eq!(frames, Some(10));
        assert!(detector.is_silence(&quiet, 20) && !detector.is_silence(&loud, 20));
    }
}
