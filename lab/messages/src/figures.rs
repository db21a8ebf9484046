//! What a load found.

use hdrhistogram::Histogram;
use std::time::Duration;

/// The parts of the times that the report prints.
const PARTS: [f64; 5] = [0.5, 0.75, 0.9, 0.95, 0.99];
const TIME_MAX_US: u64 = 60_000_000;

/// A kind of session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A terminal's message, from its MESSAGE to the MESSAGE with its report.
    Submission,
    /// A message to a terminal, from the question for its routing information to the result of
    /// mt-ForwardSM.
    Delivery,
    /// An initial third-party registration, from its REGISTER to the answer.
    Registration,
    /// As [`Kind::Delivery`], by an MSC.
    Circuits,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] =
        [Self::Submission, Self::Delivery, Self::Registration, Self::Circuits];
    /// The report's mix, equal parts.
    pub(crate) const MIX: [Self; 3] = [Self::Submission, Self::Delivery, Self::Registration];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Submission => "MO submission",
            Self::Delivery => "MT PS delivery",
            Self::Registration => "third-party registration",
            Self::Circuits => "CS delivery",
        }
    }
}

/// Sessions of one kind.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Those that ended as they should while it was measured.
    pub ended: u64,
    /// Those that did not, of all.
    pub failed: u64,
    /// From when each was due, microseconds.
    times: Histogram<u64>,
}

impl Figures {
    pub(crate) fn new() -> Self {
        let times = Histogram::new_with_max(TIME_MAX_US, 3);
        let times = times.expect("three digits up to a minute is a valid range");
        Self { ended: 0, failed: 0, times }
    }

    pub(crate) fn ends(&mut self, time: Duration) {
        self.ended += 1;
        self.times.saturating_record(u64::try_from(time.as_micros()).unwrap_or(TIME_MAX_US));
    }

    /// The report's percentiles, milliseconds.
    pub(crate) fn times_ms(&self) -> Vec<f64> {
        PARTS.iter().map(|part| self.times.value_at_quantile(*part) as f64 / 1e3).collect()
    }

    /// The last of those.
    pub(crate) fn p99_ms(&self) -> f64 {
        self.times_ms().last().copied().unwrap_or_default()
    }
}

/// What a load found.
#[derive(Debug)]
pub(crate) struct Found {
    figures: [Figures; 4],
    /// Sessions that were due and were never begun.
    pub unbegun: u64,
    /// The first failure in words.
    pub why: Option<String>,
    pub measured: Duration,
}

impl Found {
    pub(crate) fn new(measured: Duration) -> Self {
        let figures = Kind::ALL.map(|_| Figures::new());
        Self { figures, unbegun: 0, why: None, measured }
    }

    pub(crate) fn of(&self, kind: Kind) -> &Figures {
        &self.figures[kind as usize]
    }

    pub(crate) fn of_mut(&mut self, kind: Kind) -> &mut Figures {
        &mut self.figures[kind as usize]
    }

    pub(crate) fn failed(&self) -> u64 {
        self.figures.iter().map(|it| it.failed).sum()
    }

    /// Sessions a second that ended.
    pub(crate) fn per_s(&self) -> f64 {
        let ended: u64 = self.figures.iter().map(|it| it.ended).sum();
        ended as f64 / self.measured.as_secs_f64()
    }

    /// Whether all that was due was begun and ended as it should.
    pub(crate) fn is_whole(&self) -> bool {
        self.failed() == 0 && self.unbegun == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_fails_or_was_not_begun_is_enough() {
        let mut found = Found::new(Duration::from_secs(2));
        found.of_mut(Kind::Delivery).ends(Duration::from_millis(3));
        found.of_mut(Kind::Circuits).ends(Duration::from_millis(9));
        assert!(found.is_whole() && (found.per_s() - 1.0).abs() < 1e-9);
        let p99 = found.of(Kind::Delivery).p99_ms();
        assert!((2.9..3.1).contains(&p99), "{p99}");
        found.unbegun = 1;
        assert!(!found.is_whole());
        found.unbegun = 0;
        found.of_mut(Kind::Registration).failed = 1;
        assert!(!found.is_whole());
    }
}
