//! Loss: independent, or in bursts by the model of Gilbert and Elliott.
//!
//! ```text
//!              p
//!   ┌──────┐ ────→ ┌─────┐      lost with probability 1-k in GOOD, 1-h in BAD
//!   │ GOOD │       │ BAD │      in the long run: (r (1-k) + p (1-h)) / (p + r)
//!   └──────┘ ←──── └─────┘      a stay in BAD: 1/r packets in the mean
//!              r
//! ```

use crate::{Probability, Random};
use std::str::FromStr;

/// How packets are lost on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Loss {
    /// None is.
    #[default]
    None,
    /// Each with this probability, whatever became of the others.
    Random(Probability),
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

/// The four parameters of Elliott's model (Bell System Technical Journal 42, 1963).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// p: from GOOD to BAD, before each packet.
    pub to_bad: Probability,
    /// r: from BAD to GOOD.
    pub to_good: Probability,
    /// 1-h: a packet is lost in BAD.
    pub lost_in_bad: Probability,
    /// 1-k: a packet is lost in GOOD.
    pub lost_in_good: Probability,
}

impl GilbertElliott {
    /// The share of packets that are lost in the long run.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let (p, r) = (self.to_bad.value(), self.to_good.value());
        if p + r == 0.0 {
            return self.lost_in_good.value();
        }
        (r * self.lost_in_good.value() + p * self.lost_in_bad.value()) / (p + r)
    }
}

impl FromStr for GilbertElliott {
    type Err = String;

    /// Reads `p,r[,1-h[,1-k]]`; 1-h is 100 % and 1-k 0 % when absent, as in netem.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<Probability> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [to_bad, to_good, ref rest @ ..] = parts[..] else {
            return Err("two to four probabilities, p,r[,1-h[,1-k]]: 1%,20%".into());
        };
        if rest.len() > 2 {
            return Err("at most four probabilities, p,r,1-h,1-k".into());
        }
        let lost_in_bad = rest.first().copied().unwrap_or(Probability::ALWAYS);
        let lost_in_good = rest.get(1).copied().unwrap_or(Probability::NEVER);
        Ok(Self { to_bad, to_good, lost_in_bad, lost_in_good })
    }
}

/// Where the model stands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossState {
    is_bad: bool,
}

impl LossState {
    /// Whether the next packet is lost.
    pub(crate) fn takes(&mut self, loss: &Loss, random: &mut Random) -> bool {
        match loss {
            Loss::None => false,
            Loss::Random(probability) => random.chance(probability.value()),
            Loss::GilbertElliott(model) => {
                let leaves = if self.is_bad { model.to_good } else { model.to_bad };
                self.is_bad ^= random.chance(leaves.value());
                let lost = if self.is_bad { model.lost_in_bad } else { model.lost_in_good };
                random.chance(lost.value())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 400_000;

    fn run(loss: &Loss, seed: u64) -> Vec<bool> {
        let (mut state, mut random) = (LossState::default(), Random::new(seed));
        (0..PACKETS).map(|_| state.takes(loss, &mut random)).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn bursts_lose_the_stationary_share_and_last_as_long_as_the_model_says() {
        for (text, seed) in [("1%,20%", 1), ("2%,10%,70%,0.1%", 2), ("0.5%,50%,100%,1%", 3)] {
            let model: GilbertElliott = text.parse().unwrap();
            let (p, r) = (model.to_bad.value(), model.to_good.value());
            let lost = run(&Loss::GilbertElliott(model), seed);
            // States of packets n apart correlate by (1-p-r)^n: so many packets count as one.
            let correlated = (2.0 - p - r) / (p + r);
            let mean = model.mean();
            let deviation = (mean * (1.0 - mean) * correlated / PACKETS as f64).sqrt();
            let found = share(&lost);
            assert!((found - mean).abs() < 4.0 * deviation, "{text}: {found} for {mean}");
        }
        let lost = run(&Loss::GilbertElliott("1%,20%".parse().unwrap()), 4);
        let begins = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let length = share(&lost) * PACKETS as f64 / begins;
        assert!((4.7..5.3).contains(&length), "bursts of {length} instead of 1/r = 5");
    }

    #[test]
    fn random_loss_has_its_share_and_no_memory() {
        let lost = run(&Loss::Random(Probability::new(0.05).unwrap()), 9);
        assert!((share(&lost) - 0.05).abs() < 4.0 * (0.05 * 0.95 / PACKETS as f64).sqrt());
        let pairs = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect::<Vec<_>>();
        assert!((share(&pairs) - 0.05).abs() < 0.007, "after a loss: {}", share(&pairs));
    }

    #[test]
    fn a_model_that_never_moves_stays_good() {
        let model: GilbertElliott = "0,0,100%,0".parse().unwrap();
        assert_eq!((model.mean(), share(&run(&Loss::GilbertElliott(model), 1))), (0.0, 0.0));
        for text in ["1%", "1%,2%,3%,4%,5%", "", "1%,x"] {
            assert!(text.parse::<GilbertElliott>().is_err(), "{text}");
        }
    }
}
