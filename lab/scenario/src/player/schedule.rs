//! Which play begins when.

use crate::file::{Load, Spread};
use crate::program::Program;
use crate::report::Phase;
use machine::{Duration, Time};
use sip_load::Arrivals;

/// Longer than any run.
const EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Arrivals, phases and shares.
#[derive(Debug)]
pub(super) struct Schedule {
    arrivals: Option<Arrivals>,
    begun: Option<Time>,
    measures_from: Time,
    drains_from: Time,
    ends: Time,
    drain: Duration,
    /// Plays that may still be begun.
    left: u64,
    /// Scenarios that begin, their weights, and what they have saved.
    shares: Vec<(usize, i64, i64)>,
}

impl Schedule {
    pub(super) fn new(program: &Program, is_here: &[bool]) -> Self {
        let is_here = |role: usize| is_here.get(role).copied().unwrap_or(false);
        let all = program.scenarios.iter().enumerate();
        let begin = all.filter(|(_, it)| it.begins && it.weight > 0 && is_here(it.role));
        Self {
            arrivals: None,
            begun: None,
            measures_from: Time::ZERO,
            drains_from: Time::MAX,
            ends: Time::MAX,
            drain: Duration::ZERO,
            left: u64::MAX,
            shares: begin.map(|(at, it)| (at, it.weight.into(), 0)).collect(),
        }
    }

    pub(super) fn start(&mut self, now: Time, load: &Load, count: Option<u64>, seed: u64) {
        let ramp = Duration::from_secs_f64(load.ramp_s);
        let measure = Duration::from_secs_f64(load.measure_s);
        let length = if count.is_some() { EVER } else { ramp + measure };
        let spread = match load.spread {
            Spread::Uniform => sip_load::Spread::Uniform,
            Spread::Poisson => sip_load::Spread::Poisson,
        };
        self.begun = Some(now);
        self.drain = Duration::from_secs_f64(load.drain_s);
        self.measures_from = now + ramp;
        if count.is_none() {
            self.drains_from = now + length;
            self.ends = self.drains_from + self.drain;
        }
        self.left = count.unwrap_or(u64::MAX);
        let arrivals = Arrivals::new(now, load.rate, length, spread, seed).rising(ramp);
        self.arrivals = Some(arrivals).filter(|_| !self.shares.is_empty() && self.left > 0);
    }

    /// None begins any more.
    pub(super) fn stop(&mut self) {
        self.arrivals = None;
    }

    /// When the next one is due, if it is by now.
    pub(super) fn due(&mut self, now: Time) -> Option<Time> {
        let due = self.arrivals.as_mut()?.due(now)?;
        self.left -= 1;
        if self.left == 0 {
            self.arrivals = None;
            (self.drains_from, self.ends) = (now, now + self.drain);
        }
        Some(due)
    }

    pub(super) fn peek(&self) -> Option<Time> {
        self.arrivals.as_ref().and_then(Arrivals::peek)
    }

    /// The scenario whose turn it is: shares are exact, and evenly mixed.
    pub(super) fn choose(&mut self) -> Option<usize> {
        let all: i64 = self.shares.iter().map(|it| it.1).sum();
        self.shares.iter_mut().for_each(|it| it.2 += it.1);
        let chosen = self.shares.iter_mut().max_by_key(|it| it.2)?;
        chosen.2 -= all;
        Some(chosen.0)
    }

    /// The end of the drain.
    pub(super) const fn ends(&self) -> Time {
        self.ends
    }

    pub(super) fn is_measured(&self, due: Time) -> bool {
        due >= self.measures_from && due <= self.drains_from
    }

    pub(super) fn past(&self, now: Time) -> Duration {
        self.begun.map(|it| now.since(it)).unwrap_or_default()
    }

    pub(super) fn phase(&self, now: Time, running: u64) -> Phase {
        let begins = self.peek().is_some();
        // Who only answers does so to the end.
        let serves = self.shares.is_empty() && now < self.drains_from;
        match () {
            () if now >= self.ends => Phase::Over,
            () if !begins && !serves && running == 0 => Phase::Over,
            () if !begins && !serves => Phase::Drain,
            () if now < self.measures_from => Phase::Ramp,
            () => Phase::Measurement,
        }
    }
}
