//! What trials at one load say about a goal (RFC 9971: load classification, conditional
//! throughput).

use core::time::Duration;

/// What is searched for: the highest load whose loss is bearable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The part of the packets that may be lost, 0 to 1.
    pub loss_ratio: f64,
    /// The part of the trials, by their time, that may lose more, 0 to 1.
    pub exceed_ratio: f64,
    /// Trials at least that long decide by themselves.
    pub final_duration: Duration,
    /// The time of trials after which a load is decided at the latest.
    pub duration_sum: Duration,
    /// Trials that are only to find the way are this long.
    pub initial_duration: Duration,
    /// How far the bounds may be apart in the end, as a part of the upper one.
    pub width: f64,
}

impl Goal {
    /// The throughput of RFC 2544 §26.1: no loss in 60 seconds, or what of it is borne.
    #[must_use]
    pub const fn rfc_2544(loss_ratio: f64) -> Self {
        let minute = Duration::from_secs(60);
        Self {
            loss_ratio,
            exceed_ratio: 0.0,
            final_duration: minute,
            duration_sum: minute,
            initial_duration: Duration::from_secs(1),
            width: 0.005,
        }
    }

    /// With short trials of which half may exceed: what a noisy machine reaches most of the time.
    #[must_use]
    pub const fn noisy(loss_ratio: f64) -> Self {
        Self {
            loss_ratio,
            exceed_ratio: 0.5,
            final_duration: Duration::from_secs(1),
            duration_sum: Duration::from_secs(21),
            initial_duration: Duration::from_secs(1),
            width: 0.005,
        }
    }

    /// With other times, for a search that must be short.
    #[must_use]
    pub const fn within(mut self, initial: Duration, last: Duration, sum: Duration) -> Self {
        (self.initial_duration, self.final_duration, self.duration_sum) = (initial, last, sum);
        self
    }
}

/// A trial at some load, as far as the classification cares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tried {
    pub(crate) duration: Duration,
    pub(crate) loss_ratio: f64,
}

/// What is known of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The goal is reached, whatever further trials would say.
    Lower,
    /// It is not, whatever they would say.
    Upper,
    /// Further trials could turn it.
    Undecided,
}

/// What a search found for a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The highest load that reaches the goal with no lower one that does not, packets a second.
    pub lower_pps: Option<f64>,
    /// The lowest load that does not reach it.
    pub upper_pps: Option<f64>,
    /// What came through at the lower bound in the worst trial that counts.
    pub conditional_pps: Option<f64>,
}

/// Seconds of trials by length and loss.
#[derive(Debug, Default)]
struct Seconds {
    full_low: f64,
    full_high: f64,
    short_low: f64,
    short_high: f64,
}

impl Seconds {
    fn of(goal: &Goal, trials: &[Tried]) -> Self {
        let mut seconds = Self::default();
        for trial in trials {
            let is_high = trial.loss_ratio > goal.loss_ratio;
            let place = match (trial.duration >= goal.final_duration, is_high) {
                (true, false) => &mut seconds.full_low,
                (true, true) => &mut seconds.full_high,
                (false, false) => &mut seconds.short_low,
                (false, true) => &mut seconds.short_high,
            };
            *place += trial.duration.as_secs_f64();
        }
        seconds
    }

    /// Short trials with high loss count for what those with low loss do not outweigh.
    fn high(&self, goal: &Goal) -> f64 {
        let balance = match goal.exceed_ratio {
            ratio if ratio < 1.0 => self.short_low * ratio / (1.0 - ratio),
            _ => f64::INFINITY,
        };
        self.full_high + (self.short_high - balance).max(0.0)
    }

    /// What counts in all, the time that is still to be measured with it.
    fn whole(&self, goal: &Goal) -> f64 {
        (self.full_low + self.high(goal)).max(goal.duration_sum.as_secs_f64())
    }
}

/// What the trials at one load say of a goal (RFC 9971, appendix on load classification).
pub(crate) fn classify(goal: &Goal, trials: &[Tried]) -> Verdict {
    let seconds = Seconds::of(goal, trials);
    let (high, whole) = (seconds.high(goal), seconds.whole(goal));
    let bearable = whole * goal.exceed_ratio + f64::EPSILON;
    if high > bearable {
        Verdict::Upper
    } else if whole - seconds.full_low <= bearable {
        Verdict::Lower
    } else {
        Verdict::Undecided
    }
}

/// The load less the loss of the worst trial that counts (RFC 9971, appendix on conditional
/// throughput).
pub(crate) fn conditional(goal: &Goal, load: f64, trials: &[Tried]) -> f64 {
    let whole = Seconds::of(goal, trials).whole(goal);
    let full = trials.iter().filter(|trial| trial.duration >= goal.final_duration);
    let mut full: Vec<_> = full.collect();
    full.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
    let mut left = whole * (1.0 - goal.exceed_ratio);
    let mut loss = 0.0;
    for trial in full {
        if left <= f64::EPSILON {
            break;
        }
        loss = trial.loss_ratio;
        left -= trial.duration.as_secs_f64();
    }
    load * (1.0 - loss)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(seconds: f64, loss_ratio: f64) -> Tried {
        Tried { duration: Duration::from_secs_f64(seconds), loss_ratio }
    }

    #[test]
    fn a_minute_without_loss_decides_for_rfc_2544_and_any_loss_against() {
        let goal = Goal::rfc_2544(0.0);
        assert_eq!(classify(&goal, &[]), Verdict::Undecided);
        assert_eq!(classify(&goal, &[tried(60.0, 0.0)]), Verdict::Lower);
        assert_eq!(classify(&goal, &[tried(60.0, 1e-9)]), Verdict::Upper);
        assert_eq!(classify(&goal, &[tried(1.0, 1e-9)]), Verdict::Upper);
        assert_eq!(classify(&goal, &[tried(1.0, 0.0)]), Verdict::Undecided);
    }

    #[test]
    fn half_of_the_trials_may_exceed_where_the_goal_says_so() {
        let goal = Goal::noisy(0.0);
        let trials = |low: usize, high: usize| {
            [vec![tried(1.0, 0.0); low], vec![tried(1.0, 0.1); high]].concat()
        };
        assert_eq!(classify(&goal, &trials(10, 10)), Verdict::Undecided);
        assert_eq!(classify(&goal, &trials(11, 0)), Verdict::Lower);
        assert_eq!(classify(&goal, &trials(11, 10)), Verdict::Lower);
        assert_eq!(classify(&goal, &trials(10, 11)), Verdict::Upper);
        assert_eq!(classify(&goal, &trials(0, 11)), Verdict::Upper);
    }

    #[test]
    fn short_trials_with_high_loss_count_for_what_is_not_outweighed() {
        let goal = Goal { final_duration: Duration::from_secs(2), ..Goal::noisy(0.0) };
        let short = |low: usize, high: usize| {
            [vec![tried(1.0, 0.0); low], vec![tried(1.0, 0.1); high]].concat()
        };
        assert_eq!(classify(&goal, &short(0, 11)), Verdict::Upper);
        assert_eq!(classify(&goal, &short(11, 11)), Verdict::Undecided);
        assert_eq!(classify(&goal, &short(100, 0)), Verdict::Undecided);
    }

    #[test]
    fn the_conditional_throughput_is_that_of_the_worst_trial_that_counts() {
        let goal = Goal { duration_sum: Duration::from_secs(4), ..Goal::noisy(0.01) };
        let trials = [tried(1.0, 0.0), tried(1.0, 0.005), tried(1.0, 0.5), tried(1.0, 0.9)];
        assert_eq!(classify(&goal, &trials), Verdict::Lower);
        assert!((conditional(&goal, 1_000.0, &trials) - 995.0).abs() < 1e-9);
    }
}
