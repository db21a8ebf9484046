//! The search for the highest load, for several goals at once (RFC 9971, MLRsearch).
//!
//! ```text
//!   maximum → what came through → for each goal, for each phase (short and coarse … final):
//!      no lower bound: down, twice as far each time     no upper bound: up
//!      both: what earlier phases found first, then the middle, until they are near enough
//! ```
//! What one goal's trials found holds for the others too.

use super::verdict::{Bounds, Goal, Tried, Verdict, classify, conditional};
use super::{Measured, Method, TRIALS_MAX, Trial};
use core::time::Duration;
use std::collections::BTreeMap;

/// Phases before the last, each half as coarse and with longer trials.
const PHASES: u32 = 2;
/// Doublings of a step outwards at most.
const DOUBLINGS_MAX: u32 = 24;

/// The loads that were tried, packets a second.
type Loads = BTreeMap<u64, Vec<Tried>>;

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    goals: Vec<Goal>,
    least: u64,
    most: u64,
    loads: Loads,
    /// Which goal and phase it is at, and steps outwards in it.
    goal: usize,
    phase: u32,
    steps: u32,
    wanted: Option<(u64, Duration)>,
    trials: usize,
}

/// What it found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOutcome {
    /// For each goal, in their order.
    pub bounds: Vec<Bounds>,
    /// Trials.
    pub trials: usize,
    /// Their time.
    pub time: Duration,
}

impl Search {
    /// Between two loads, packets a second; the goals in the order in which they are searched.
    #[must_use]
    pub fn new(goals: Vec<Goal>, least_pps: f64, most_pps: f64) -> Self {
        let least = (least_pps as u64).max(1);
        let most = (most_pps as u64).max(least);
        let loads = Loads::new();
        Self { goals, least, most, loads, goal: 0, phase: 0, steps: 0, wanted: None, trials: 0 }
    }

    /// What was found so far.
    #[must_use]
    pub fn outcome(&self) -> SearchOutcome {
        let all = self.loads.values().flatten();
        SearchOutcome {
            bounds: self.goals.iter().map(|goal| self.bounds_of(goal)).collect(),
            trials: self.trials,
            time: all.map(|trial| trial.duration).sum(),
        }
    }

    fn bounds_of(&self, goal: &Goal) -> Bounds {
        let (lower, upper) = self.bounds(goal);
        let through = |load: u64| conditional(goal, load as f64, &self.loads[&load]);
        Bounds {
            lower_pps: lower.map(|load| load as f64),
            upper_pps: upper.map(|load| load as f64),
            conditional_pps: lower.map(through),
        }
    }

    /// The relevant bounds: the lowest load that fails, the highest below it that holds.
    fn bounds(&self, goal: &Goal) -> (Option<u64>, Option<u64>) {
        let (mut lower, mut upper) = (None, None);
        for (load, trials) in &self.loads {
            match classify(goal, trials) {
                Verdict::Upper => {
                    upper = Some(*load);
                    break;
                }
                Verdict::Lower => lower = Some(*load),
                Verdict::Undecided => {}
            }
        }
        (lower, upper)
    }

    /// The goal with the shorter trials and wider bounds of a phase.
    fn target(&self, goal: &Goal, phase: u32) -> Goal {
        let share = f64::from(phase) / f64::from(PHASES);
        let (first, last) =
            (goal.initial_duration.as_secs_f64(), goal.final_duration.as_secs_f64());
        if phase >= PHASES || first >= last {
            return Goal {
                width: goal.width * f64::from(1 << (PHASES - phase.min(PHASES))),
                ..*goal
            };
        }
        let duration = Duration::from_secs_f64(first * (last / first).powf(share));
        Goal {
            final_duration: duration,
            duration_sum: duration,
            width: goal.width * f64::from(1 << (PHASES - phase)),
            ..*goal
        }
    }

    /// The next load and the time of the trial.
    fn find(&mut self) -> Option<(u64, Duration)> {
        while let Some(goal) = self.goals.get(self.goal).copied() {
            let target = self.target(&goal, self.phase);
            if let Some(load) = self.load(&target) {
                return Some((load, target.final_duration));
            }
            self.steps = 0;
            self.phase += 1;
            if self.phase > PHASES {
                (self.goal, self.phase) = (self.goal + 1, 0);
            }
        }
        self.again()
    }

    /// A trial for a goal whose bounds those for a later one have moved.
    fn again(&mut self) -> Option<(u64, Duration)> {
        for goal in self.goals.clone() {
            if let Some(load) = self.load(&goal) {
                return Some((load, goal.final_duration));
            }
        }
        None
    }

    /// The next load for a target; `None` when its bounds are near enough.
    fn load(&mut self, target: &Goal) -> Option<u64> {
        let (lower, upper) = self.bounds(target);
        if lower == Some(self.most) || upper == Some(self.least) {
            return None;
        }
        if let (Some(lower), Some(upper)) = (lower, upper)
            && (upper - lower <= 1 || (upper - lower) as f64 <= upper as f64 * target.width)
        {
            return None;
        }
        if let Some(load) = self.begun(target, lower, upper) {
            return Some(load);
        }
        Some(match (lower, upper) {
            (Some(lower), Some(upper)) => middle(lower, upper),
            (None, Some(upper)) => self.outwards(upper, target.width, false),
            (Some(lower), None) => self.outwards(lower, target.width, true),
            (None, None) => self.most,
        })
    }

    /// A load between the bounds that was tried but is not decided: what is nearest to the middle
    /// of what earlier, coarser trials say.
    fn begun(&self, target: &Goal, lower: Option<u64>, upper: Option<u64>) -> Option<u64> {
        let inside = self.loads.range(lower.map_or(0, |load| load + 1)..upper.unwrap_or(u64::MAX));
        let is_fair = |trials: &[Tried]| {
            // One that lost in its latest short trial is no candidate for the upper bound alone.
            trials.last().is_some_and(|trial| trial.loss_ratio <= target.loss_ratio)
        };
        let longest = |trials: &[Tried]| trials.iter().map(|trial| trial.duration).max();
        let under_way =
            inside.clone().find(|(_, trials)| longest(trials) >= Some(target.final_duration));
        let promising = || inside.clone().rev().find(|(_, trials)| is_fair(trials));
        under_way.or_else(promising).map(|(load, _)| *load)
    }

    /// A step away from a bound, further each time.
    fn outwards(&mut self, from: u64, width: f64, is_up: bool) -> u64 {
        // After the first trial, at the maximum, what came through is the best guess.
        if self.loads.len() == 1 && !is_up {
            let loss = self.loads[&from].last().map_or(0.0, |trial| trial.loss_ratio);
            let through = (from as f64 * (1.0 - loss)) as u64;
            if through < from {
                return through.clamp(self.least, from);
            }
        }
        let factor = (1.0 - width).powf(f64::from(1u32 << self.steps.min(DOUBLINGS_MAX)));
        self.steps += 1;
        let to = if is_up { from as f64 / factor } else { from as f64 * factor } as u64;
        let to = if is_up { to.max(from + 1) } else { to.min(from - 1) };
        to.clamp(self.least, self.most)
    }
}

/// Between two loads, in the same proportion to both.
fn middle(lower: u64, upper: u64) -> u64 {
    let middle = (lower as f64 * upper as f64).sqrt() as u64;
    middle.clamp(lower + 1, upper - 1)
}

impl Method for Search {
    fn next(&mut self) -> Option<Trial> {
        if self.trials >= TRIALS_MAX {
            return None;
        }
        if self.wanted.is_none() {
            self.wanted = self.find();
        }
        self.wanted.map(|(load, duration)| Trial::Rate { pps: load as f64, duration })
    }

    fn take(&mut self, measured: &Measured) {
        let Some((load, duration)) = self.wanted.take() else { return };
        self.trials += 1;
        // What took longer tested the load no better than it was meant to.
        let tried = Tried { duration, loss_ratio: measured.loss_ratio() };
        self.loads.entry(load).or_default().push(tried);
    }
}
