//! The search for the highest rate without a failure: a ramp, a bisection, a confirmation.

use std::time::{Duration, Instant};

/// Rates tried in one search.
const TRIALS_MAX: usize = 40;
/// Times that a confirmation may fail before the search gives up.
const CONFIRMATIONS_MAX: usize = 12;

/// Share of the time budget after which no further rate is tried before the confirmation.
const TRY_SHARE: f64 = 0.55;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// The first rate.
    pub start: f64,
    /// Factor between two rates of the ramp.
    pub factor: f64,
    /// The bisection ends when the bounds are this close, as a factor.
    pub precision: f64,
    /// What a rate that was not confirmed is multiplied with before the next attempt.
    pub step_back: f64,
    /// Time for the whole search; then it is content with less precision. `None`: no limit.
    pub budget: Option<Duration>,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Found<T> {
    /// The highest confirmed rate and what was measured there.
    pub best: Option<(f64, T)>,
    /// The lowest rate that failed, and how.
    pub first_failure: Option<(f64, T)>,
    /// Rates that were tried, in order, and whether they held.
    pub trials: Vec<(f64, bool)>,
}

/// What a trial is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To find out whether a rate holds.
    Try,
    /// To be sure of it: longer.
    Confirm,
}

impl Search {
    /// Runs `trial(rate, purpose)` until the highest rate that holds is known. The trial says
    /// whether it held.
    ///
    /// # Errors
    /// Those of the trial.
    pub fn run<T: Clone>(
        &self,
        mut trial: impl FnMut(f64, Purpose) -> anyhow::Result<(bool, T)>,
    ) -> anyhow::Result<Found<T>> {
        let mut found = Found { best: None, first_failure: None, trials: Vec::new() };
        let begun = Instant::now();
        let spent = |share: f64| self.budget.is_some_and(|b| begun.elapsed() > b.mul_f64(share));
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut rate = self.start;
        while found.trials.len() < TRIALS_MAX && high / low > self.precision && rate >= 1.0 {
            if low > 0.0 && spent(TRY_SHARE) {
                break;
            }
            let (held, measured) = trial(rate, Purpose::Try)?;
            found.trials.push((rate, held));
            if held {
                low = rate;
            } else {
                high = rate;
                found.first_failure = Some((rate, measured));
            }
            rate = match (low > 0.0, high.is_finite()) {
                (true, true) => (low * high).sqrt(),
                (true, false) => low * self.factor,
                (false, _) => high / self.factor,
            };
        }
        let mut rate = low;
        for _ in 0..CONFIRMATIONS_MAX {
            if rate < 1.0 {
                break;
            }
            let (held, measured) = trial(rate, Purpose::Confirm)?;
            found.trials.push((rate, held));
            if held {
                found.best = Some((rate, measured));
                break;
            }
            rate *= if spent(1.0) { self.step_back.powi(4) } else { self.step_back };
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Search =
        Search { start: 1_000.0, factor: 1.5, precision: 1.03, step_back: 0.95, budget: None };

    #[test]
    fn a_search_without_time_left_is_content_with_the_first_rate_that_holds() {
        let hasty = Search { budget: Some(Duration::ZERO), ..SEARCH };
        let found = hasty.run(|rate, _| Ok((rate <= 23_456.0, ()))).unwrap();
        assert_eq!(found.trials, [(1_000.0, true), (1_000.0, true)]);
    }

    #[test]
    fn the_highest_rate_that_holds_is_found_within_the_precision() {
        for limit in [120.0, 999.0, 1_000.0, 23_456.0] {
            let found = SEARCH.run(|rate, _| Ok((rate <= limit, rate))).unwrap();
            let (best, measured) = found.best.unwrap();
            assert!(best <= limit && best * 1.031 >= limit, "{best} for {limit}");
            assert!((best - measured).abs() < f64::EPSILON);
            assert!(found.first_failure.unwrap().0 > limit);
        }
    }

    #[test]
    fn a_rate_that_is_not_confirmed_is_not_reported() {
        let found = SEARCH
            .run(|rate, purpose| {
                let limit = if purpose == Purpose::Try { 5_000.0 } else { 4_600.0 };
                Ok((rate <= limit, ()))
            })
            .unwrap();
        let (best, ()) = found.best.unwrap();
        assert!(best <= 4_600.0 && best > 4_000.0, "{best}");
    }

    #[test]
    fn a_system_that_never_holds_has_no_rate() {
        let found = SEARCH.run(|_, _| Ok((false, ()))).unwrap();
        assert!(found.best.is_none() && found.trials.len() < TRIALS_MAX);
    }
}
