//! What RFC 9260 makes of a configuration, and the terms that measured times consist of.
//!
//! A path fails at time-out p + 1 (§8.2: the counter *exceeds* Path.Max.Retrans), and RTO doubles
//! with each (§6.3.3 E2), so that from the last start of T3-rtx on it takes
//!
//! ```text
//! T(p) = Σ (i = 0 … p) min(RTO · 2^i, RTO.Max)        RTO = RTO.Min on paths of a few ms
//! ```
//!
//! Telecom(p): 80 + 150 p ms; RFC2960: 1 + 2 + 4 + 8 + 16 + 32 = 63 s.

use crate::course::Course;
use machine::Duration;
use sctp::PathParameters;
use serde::Serialize;

/// When the time-outs of a failed path come, from the last start of T3-rtx on, when RTO is RTO.Min
/// as it fails.
pub fn time_outs(path: &PathParameters) -> Vec<Duration> {
    let mut at = Duration::ZERO;
    let mut time_out = |doublings: u16| {
        let factor = 1u32.checked_shl(u32::from(doublings)).unwrap_or(u32::MAX);
        at += path.rto_min.saturating_mul(factor).min(path.rto_max);
        at
    };
    (0..=path.path_max_retrans).map(&mut time_out).collect()
}

/// T(p): the last of them.
pub fn theory(path: &PathParameters) -> Duration {
    time_outs(path).last().copied().unwrap_or_default()
}

/// A time as milliseconds.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// What a failover time of ours consists of, ms. The sum of the four is the failover time.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Terms {
    /// T(p).
    pub theory: f64,
    /// RTO was above RTO.Min when the path was cut, by so much in all time-outs.
    pub rto: f64,
    /// From the cut to the last start of T3-rtx before the first time-out: SACKs that were on
    /// their way still came, at most one path delay later (§6.3.2 R3), or the next MSU started it.
    pub last_start: f64,
    /// From a time-out to the next start of T3-rtx: new data or a heartbeat has to set out on the
    /// path, and new data waits until what was lost has set out over the other one (§6.1 C).
    pub restarts: f64,
}

impl Terms {
    /// `None` when the path did not fail.
    pub fn of(path: &PathParameters, course: &Course) -> Option<Self> {
        let failover = ms(course.failover?);
        let (first, rto) = course.time_outs.first()?;
        let waited: f64 = course.time_outs.iter().map(|(_, rto)| ms(*rto)).sum();
        let theory = ms(theory(path));
        let last_start = ms(*first) - ms(*rto);
        let restarts = failover - last_start - waited;
        Some(Self { theory, rto: waited - theory, last_start, restarts })
    }
}

/// What the report's failover time consists of, ms, when its sender sends new data over the failed
/// path only after the SACK of what it retransmitted over the other one: one round trip for each
/// back-off.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Excess {
    /// Published less T(p).
    pub excess: f64,
    /// The last SACK came one path delay after the cut.
    pub last_start: f64,
    /// p round trips.
    pub round_trips: f64,
    /// What is left: timers in steps of 10 ms, queues in hosts and dummynet, log times.
    pub rest: f64,
}

impl Excess {
    /// Of a published failover time.
    pub fn of(published_ms: f64, path: &PathParameters, delay_ms: f64) -> Self {
        let excess = published_ms - ms(theory(path));
        let round_trips = 2.0 * delay_ms * f64::from(path.path_max_retrans);
        Self { excess, last_start: delay_ms, round_trips, rest: excess - delay_ms - round_trips }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sctp::Parameters;

    #[test]
    fn the_arithmetic_of_the_report_is_63_s_and_80_and_150_p_ms() {
        assert_eq!(theory(&Parameters::rfc9260().path), Duration::from_secs(63));
        for p in 2..=5 {
            let expected = Duration::from_millis(80 + 150 * u64::from(p));
            assert_eq!(theory(&Parameters::telecom(p).path), expected);
        }
    }

    #[test]
    fn the_terms_of_a_failover_add_up() {
        let (path, at) = (Parameters::telecom(2).path, Duration::from_millis);
        let time_outs = vec![(at(90), at(81)), (at(243), at(150)), (at(395), at(150))];
        let course = Course { failover: Some(at(395)), time_outs, ..Course::default() };
        let terms = Terms::of(&path, &course).unwrap();
        let all = [terms.theory, terms.rto, terms.last_start, terms.restarts];
        for (found, expected) in all.into_iter().zip([380.0, 1.0, 9.0, 5.0]) {
            assert!((found - expected).abs() < 1e-9, "{terms:?}");
        }
        let excess = Excess::of(484.0, &path, 10.0);
        assert!((excess.rest - 54.0).abs() < 1e-9, "{excess:?}");
    }
}
