//! Sizes of frames, with the frame check sequence (RFC 2544 §9, RFC 6985).

use crate::random::Random;

/// Octets of the frame check sequence: part of a size, never part of a packet in memory.
pub const FCS: usize = 4;
/// The smallest frame.
pub const SIZE_MIN: usize = 64;
/// The largest frame: a jumbo frame of 9,000 octets of payload with two tags and labels.
pub const SIZE_MAX: usize = 9_100;
/// The simple IMIX: 7 of 64 octets, 4 of 570, 1 of 1,518.
pub const IMIX: [(usize, u32); 3] = [(64, 7), (570, 4), (1_518, 1)];
/// Sizes of the report's throughput figures over IPv4, octets.
pub const REPORT: [usize; 7] = [64, 128, 256, 512, 1_024, 1_280, 1_518];
/// Frames after which a mix begins again, at most.
const ROUND_MAX: u32 = 4_096;

/// How long the frames of a stream are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes(Vec<(usize, u32)>);

impl Sizes {
    /// All of one size.
    #[must_use]
    pub fn fixed(size: usize) -> Self {
        Self(vec![(size, 1)])
    }

    /// The simple IMIX.
    #[must_use]
    pub fn imix() -> Self {
        Self(IMIX.to_vec())
    }

    /// Sizes with their weights.
    #[must_use]
    pub fn mix(parts: &[(usize, u32)]) -> Self {
        Self(parts.to_vec())
    }

    /// The mix with no size below `least`: what needs more room takes it.
    #[must_use]
    pub fn at_least(&self, least: usize) -> Self {
        Self(self.0.iter().map(|(size, weight)| ((*size).max(least), *weight)).collect())
    }

    /// The octets of a frame in the mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let weights: f64 = self.0.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let octets = self.0.iter().map(|(size, weight)| *size as f64 * f64::from(*weight));
        octets.sum::<f64>() / weights.max(1.0)
    }

    /// The different sizes.
    pub(crate) fn each(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|(size, _)| *size)
    }

    /// Whether the weights are some and not too many.
    pub(crate) fn is_sound(&self) -> bool {
        let weights: u64 = self.0.iter().map(|(_, weight)| u64::from(*weight)).sum();
        (1..=u64::from(ROUND_MAX)).contains(&weights) && self.0.len() <= usize::from(u8::MAX)
    }

    /// One round of the mix in an order by seed: numbers of [`Sizes::each`].
    pub(crate) fn round(&self, random: &mut Random) -> Box<[u8]> {
        let weights: u32 = self.0.iter().map(|(_, weight)| *weight).sum();
        // A short mix is repeated, so that it does not always fall on the same flows.
        let times = (ROUND_MAX / weights.max(1)).max(1) as usize;
        let numbered = self.0.iter().enumerate();
        let numbers =
            numbered.flat_map(|(at, (_, weight))| vec![at as u8; *weight as usize * times]);
        let mut round: Vec<u8> = numbers.collect();
        random.shuffle(&mut round);
        round.into_boxed_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_of_a_mix_has_each_size_by_its_weight() {
        let mix = Sizes::imix();
        let round = mix.round(&mut Random::new(1));
        let count = |at: u8| round.iter().filter(|number| **number == at).count();
        assert_eq!((count(0), count(1), count(2)), (7 * 341, 4 * 341, 341));
        assert!((mix.mean() - 353.83).abs() < 0.01, "{}", mix.mean());
    }

    #[test]
    fn a_mix_without_weight_is_not_sound() {
        assert!(!Sizes::mix(&[(64, 0)]).is_sound() && !Sizes::mix(&[]).is_sound());
        assert!(!Sizes::mix(&[(64, ROUND_MAX + 1)]).is_sound() && Sizes::fixed(64).is_sound());
    }
}
