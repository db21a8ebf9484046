//! Open-loop arrivals: calls are due at set times, whether or not those before them are done.
//!
//! Every latency counts from the time that the schedule gave, so that a stall of the element
//! under test, or of the generator, cannot hide the calls that should have come meanwhile.

use machine::{Duration, Time};

/// How arrivals are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// The same distance between any two.
    Uniform,
    /// Independent of each other.
    Poisson,
}

/// A schedule of calls.
#[derive(Debug, Clone)]
pub struct Arrivals {
    next: Time,
    until: Time,
    mean_ns: f64,
    /// What rounding left over, nanoseconds.
    rest_ns: f64,
    spread: Spread,
    random: u64,
    /// When the ramp began, and how long it is.
    ramp: Option<(Time, Duration)>,
}

impl Arrivals {
    /// Calls at `rate` per second from `now` for `length`.
    #[must_use]
    pub fn new(now: Time, rate: f64, length: Duration, spread: Spread, seed: u64) -> Self {
        let mean_ns = 1e9 / rate.max(0.001);
        let (until, random) = (now + length, seed | 1);
        Self { next: now, until, mean_ns, rest_ns: 0.0, spread, random, ramp: None }
    }

    /// The rate rises from nothing within this time, evenly; it counts as part of the length.
    #[must_use]
    pub fn rising(self, ramp: Duration) -> Self {
        let ramp = Some((self.next, ramp)).filter(|_| !ramp.is_zero());
        Self { ramp, ..self }
    }

    /// The time to the next call that a gap at the full rate becomes: with a rate that rises by
    /// `t / ramp`, the calls until `t` are `rate * t * t / (2 * ramp)`.
    fn stretched(&self, at: Time, gap_ns: f64) -> f64 {
        let Some((begun, ramp)) = self.ramp else { return gap_ns };
        let (past, ramp) = (at.since(begun).as_nanos() as f64, ramp.as_nanos() as f64);
        if past >= ramp {
            return gap_ns;
        }
        let next = (past * past + 2.0 * ramp * gap_ns).sqrt();
        if next <= ramp {
            return next - past;
        }
        let rest = gap_ns - (ramp * ramp - past * past) / (2.0 * ramp);
        ramp + rest - past
    }

    /// The next call's time, if it is due at `now`.
    pub fn due(&mut self, now: Time) -> Option<Time> {
        let at = self.peek().filter(|at| *at <= now)?;
        let gap_ns = match self.spread {
            Spread::Uniform => self.mean_ns,
            Spread::Poisson => -self.mean_ns * (1.0 - self.uniform()).ln(),
        };
        let gap_ns = self.stretched(at, gap_ns) + self.rest_ns;
        self.rest_ns = gap_ns.fract();
        self.next = at + Duration::from_nanos(gap_ns as u64);
        Some(at)
    }

    /// When the next call is due; `None` when the schedule is over.
    #[must_use]
    pub fn peek(&self) -> Option<Time> {
        (self.next < self.until).then_some(self.next)
    }

    /// A number from 0 to below 1 (splitmix64).
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(spread: Spread, rate: f64) -> usize {
        let start = Time::from_millis(5);
        let mut arrivals = Arrivals::new(start, rate, Duration::from_secs(10), spread, 7);
        let mut last = start;
        let mut calls = 0;
        while let Some(at) = arrivals.due(Time::MAX) {
            assert!(at >= last);
            (last, calls) = (at, calls + 1);
        }
        calls
    }

    #[test]
    fn the_rate_is_kept_without_drift() {
        assert_eq!(count(Spread::Uniform, 30_000.0), 300_000);
        let poisson = count(Spread::Poisson, 3_000.0);
        assert!((29_000..31_000).contains(&poisson), "{poisson}");
    }

    #[test]
    fn a_ramp_has_half_of_the_calls_and_then_the_rate_is_kept() {
        for spread in [Spread::Uniform, Spread::Poisson] {
            let (start, length) = (Time::from_millis(5), Duration::from_secs(20));
            let ramp = Duration::from_secs(10);
            let mut arrivals = Arrivals::new(start, 2_000.0, length, spread, 7).rising(ramp);
            let mut seconds = [0u32; 20];
            while let Some(at) = arrivals.due(Time::MAX) {
                seconds[at.since(start).as_secs() as usize] += 1;
            }
            let near = |is: u32, wanted: u32| is.abs_diff(wanted) <= 20 + wanted / 10;
            for (second, count) in seconds.iter().enumerate() {
                let wanted = if second < 10 { 200 * second as u32 + 100 } else { 2_000 };
                assert!(near(*count, wanted), "{spread:?} {seconds:?}");
            }
        }
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let start = Time::from_millis(1);
        let mut arrivals =
            Arrivals::new(start, 1_000.0, Duration::from_secs(1), Spread::Uniform, 1);
        assert_eq!(arrivals.due(Time::ZERO), None);
        assert_eq!(arrivals.due(start), Some(start));
        assert_eq!(arrivals.due(start), None);
        assert_eq!(arrivals.peek(), Some(Time::from_millis(2)));
    }
}
