//! Who speaks when: spurts of talk and pauses in steps of a packet, by seed.

use crate::random::mix;

/// Silence suppression: nothing is sent in pauses but now and then a packet that tells the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suppression {
    /// A spurt of talk in the mean, milliseconds.
    pub talk_ms: u32,
    /// A pause in the mean, milliseconds.
    pub pause_ms: u32,
}

/// Milliseconds of a step.
const STEP_MS: u32 = 20;
/// Packets that tell the noise: one as a pause begins, and one every so many steps of it. G.729
/// sends one when the noise changes (Annex B); of steady noise nobody would know that the far end
/// is still there.
const NOISE_STEPS: u16 = 50;
/// A spurt or a pause has at most so many times its mean.
const LONGEST: f64 = 5.0;

impl Suppression {
    /// Talk and pauses of a conversation (ITU-T P.59 table 1).
    pub const CONVERSATION: Self = Self { talk_ms: 1_004, pause_ms: 1_587 };

    /// The share of steps in which something is sent, in the mean.
    #[must_use]
    pub fn activity(&self) -> f64 {
        let (talk, pause) = (self.mean(true), self.mean(false));
        // Of exponential pauses, so many reach their first, second … packet of noise.
        let noise = 1.0 / (1.0 - (-f64::from(NOISE_STEPS) / pause).exp());
        (talk + noise) / (talk + pause)
    }

    /// Steps of a spurt or a pause in the mean.
    fn mean(&self, is_talk: bool) -> f64 {
        let ms = if is_talk { self.talk_ms } else { self.pause_ms };
        f64::from(ms.max(STEP_MS)) / f64::from(STEP_MS)
    }

    /// Steps of spurt or pause number `number` of a flow: exponential, at least one, bounded.
    fn length(&self, number: u32, seed: u64) -> u16 {
        let mean = self.mean(is_talk(number));
        let drawn = mix(seed ^ u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 11;
        let fraction = (drawn as f64 + 0.5) / (1u64 << 53) as f64;
        let steps = (-fraction.ln()).min(LONGEST) * mean;
        steps.round().clamp(1.0, f64::from(u16::MAX)) as u16
    }
}

const fn is_talk(number: u32) -> bool {
    number.is_multiple_of(2)
}

/// What a flow sends in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Speech; `is_first` of its spurt (RFC 3551 §4.1: the marker).
    Speech { is_first: bool },
    /// The noise of the pause.
    Noise,
    /// Nothing.
    Nothing,
}

/// How far a flow is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Talk {
    /// Number of the spurt or pause, and steps of it that were and that there are.
    number: u32,
    at: u16,
    length: u16,
}

impl Talk {
    /// Somewhere in a first spurt or pause: flows do not begin together.
    pub(crate) fn new(how: &Suppression, seed: u64) -> Self {
        let drawn = mix(seed);
        let number = u32::from(drawn >> 32 & 0xff >= 0x62); // 38 % of the time somebody speaks
        let length = how.length(number, seed);
        let at = (drawn as u16) % length;
        Self { number, at, length }
    }

    /// The next step.
    pub(crate) fn step(&mut self, how: &Suppression, seed: u64) -> Step {
        if self.at >= self.length {
            self.number = self.number.wrapping_add(1);
            *self = Self { number: self.number, at: 0, length: how.length(self.number, seed) };
        }
        let at = self.at;
        self.at += 1;
        match is_talk(self.number) {
            true => Step::Speech { is_first: at == 0 },
            false if at.is_multiple_of(NOISE_STEPS) => Step::Noise,
            false => Step::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(seed: u64, count: usize) -> Vec<Step> {
        let how = Suppression::CONVERSATION;
        let mut talk = Talk::new(&how, seed);
        (0..count).map(|_| talk.step(&how, seed)).collect()
    }

    #[test]
    fn the_same_seed_talks_alike_and_another_one_otherwise() {
        assert!(steps(1, 5_000) == steps(1, 5_000) && steps(1, 5_000) != steps(2, 5_000));
    }

    #[test]
    fn talk_takes_its_part_of_the_time_and_a_pause_begins_with_its_noise() {
        let all: Vec<Vec<Step>> = (0..200).map(|seed| steps(seed, 20_000)).collect();
        let sent = all.iter().flatten().filter(|step| **step != Step::Nothing).count();
        let share = sent as f64 / 4e6;
        let wanted = Suppression::CONVERSATION.activity();
        assert!((share / wanted - 1.0).abs() < 0.03, "{share} for {wanted}");
        for pair in all.iter().flat_map(|steps| steps.windows(2)) {
            let begins = matches!(pair, [Step::Speech { .. }, Step::Noise | Step::Nothing]);
            assert!(!begins || pair[1] == Step::Noise);
            let ends = matches!(pair, [Step::Noise | Step::Nothing, Step::Speech { .. }]);
            assert!(!ends || pair[1] == Step::Speech { is_first: true });
        }
    }
}
