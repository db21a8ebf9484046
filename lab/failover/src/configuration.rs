//! The configurations of the report's Table 1, the tests of its Table 2, and what the search for
//! the preset `tandem` varies.

use link::{GilbertElliott, Jitter, Loss, Probability, Shape};
use machine::Duration;
use sctp::Parameters;

/// Bits a second of every link.
pub const RATE: u64 = 100_000_000;
/// A configuration by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// As the report calls it.
    pub name: String,
    /// Its values.
    pub parameters: Parameters,
}

impl Configuration {
    /// Table 1, first column. RFC 9260 has another RTO.Initial than RFC 2960.
    #[must_use]
    pub fn rfc2960() -> Self {
        let mut parameters = Parameters::rfc9260();
        parameters.path.rto_initial = Duration::from_secs(3);
        Self { name: "RFC2960".into(), parameters }
    }

    /// Table 1, the others.
    #[must_use]
    pub fn telecom(p: u16) -> Self {
        Self { name: format!("Telecom({p})"), parameters: Parameters::telecom(p) }
    }

    /// The preset.
    #[must_use]
    pub fn tandem() -> Self {
        Self { name: "tandem".into(), parameters: Parameters::tandem() }
    }
}

/// A test: configuration and path delay, ms.
pub type Test = (Configuration, u64);

/// The report's scenario: `Telecom(2), 10 ms`.
pub fn scenario(test: &Test) -> String {
    let (configuration, delay_ms) = test;
    format!("{}, {delay_ms} ms", configuration.name)
}

/// The path propagation delays of Table 2, ms.
pub const DELAYS_MS: [u64; 3] = [5, 10, 20];

/// Table 2: the 11 tests.
pub fn tests() -> Vec<Test> {
    let everywhere = [Configuration::rfc2960(), Configuration::telecom(2)];
    let mut tests: Vec<Test> = everywhere.into_iter().flat_map(at_every_delay).collect();
    tests.push((Configuration::telecom(3), 10));
    tests.push((Configuration::telecom(4), 10));
    tests.extend(at_every_delay(Configuration::telecom(5)));
    tests
}

/// The configuration at the three delays.
pub fn at_every_delay(configuration: Configuration) -> Vec<Test> {
    DELAYS_MS.iter().map(|&delay| (configuration.clone(), delay)).collect()
}

/// What paths do beside delaying.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Condition {
    /// Its name.
    pub name: &'static str,
    /// Packets lost on the wire.
    pub loss: Loss,
    /// How the delay varies.
    pub jitter: Jitter,
    /// Competing traffic: its share of the rate on every path and way, and the octets of a burst
    /// in the mean.
    pub competing: Option<(f64, u32)>,
}

impl Condition {
    /// Nothing.
    pub const QUIET: Self = Self { name: "no loss", ..Self::plain() };

    const fn plain() -> Self {
        let jitter = Jitter {
            spread: Duration::ZERO,
            shape: Shape::Uniform,
            correlation: Probability::NEVER,
            overtakes: false,
        };
        Self { name: "", loss: Loss::None, jitter, competing: None }
    }

    /// Each packet is lost with this probability; 0 when it is none.
    #[must_use]
    pub fn loss(name: &'static str, probability: f64) -> Self {
        let probability = Probability::new(probability).unwrap_or(Probability::NEVER);
        Self { name, loss: Loss::Random(probability), ..Self::plain() }
    }

    /// Bursts of so many packets in the mean, all of which are lost, so that `share` is lost in
    /// the long run.
    fn bursts(name: &'static str, share: f64, packets: f64) -> Self {
        let to_good = 1.0 / packets;
        let probability = |value| Probability::new(value).unwrap_or(Probability::NEVER);
        let loss = Loss::GilbertElliott(GilbertElliott {
            to_bad: probability(share * to_good / (1.0 - share)),
            to_good: probability(to_good),
            lost_in_bad: Probability::ALWAYS,
            lost_in_good: Probability::NEVER,
        });
        Self { name, loss, ..Self::plain() }
    }

    /// The same beside a thousand small packets a second of others, so that bursts are of time and
    /// not of our own packets.
    fn bursts_of_time(name: &'static str, share: f64, burst_ms: f64) -> Self {
        /// A packet of others, octets.
        const SMALL: u32 = 250;
        const PER_MS: f64 = 1.0;
        let competing = f64::from(SMALL) * 8.0 * PER_MS * 1_000.0 / RATE as f64;
        // Our own packets are about as many as MSUs.
        let per_ms = PER_MS + f64::from(crate::course::Load::REPORT.per_s) / 1_000.0;
        let loss = Self::bursts(name, share, burst_ms * per_ms);
        Self { competing: Some((competing, SMALL)), ..loss }
    }

    /// What the search exposes configurations to.
    pub fn all() -> Vec<Self> {
        let jitter = |spread_ms, overtakes| Jitter {
            spread: Duration::from_millis(spread_ms),
            shape: Shape::Pareto,
            overtakes,
            ..Jitter::default()
        };
        let one = Self::loss("", 0.01);
        let jittery = |name, overtakes| Self { name, jitter: jitter(5, overtakes), ..one };
        let beside = |name, share, octets, loss| Self {
            name,
            competing: Some((share, octets)),
            ..Self::loss("", loss)
        };
        vec![
            Self::QUIET,
            Self::loss("1 % random", 0.01),
            Self::loss("2 % random", 0.02),
            Self::loss("5 % random", 0.05),
            Self::bursts_of_time("1 % in bursts of 10 ms", 0.01, 10.0),
            Self::bursts_of_time("5 % in bursts of 10 ms", 0.05, 10.0),
            Self::bursts_of_time("5 % in bursts of 50 ms", 0.05, 50.0),
            Self::bursts("5 % in bursts of 3 packets", 0.05, 3.0),
            jittery("1 % and jitter of 5 ms", false),
            jittery("1 % and jitter of 5 ms that overtakes", true),
            beside("50 % competing in bursts of 20 kB", 0.5, 20_000, 0.0),
            beside("90 % competing in bursts of 60 kB, 1 %", 0.9, 60_000, 0.01),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_lose_what_they_say() {
        let Loss::GilbertElliott(model) = Condition::bursts("", 0.05, 3.0).loss else {
            panic!("bursts")
        };
        assert!((model.mean() - 0.05).abs() < 1e-9);
    }
}
