//! One system at one rate, and the search for the highest rate that it holds.

use super::topology::{Load, System};
use report::progress::Progress;
use serde_json::{Value, json};
use sip_load::{Found, Purpose, Search};
use sip_load::{Report, Trial};
use std::time::Duration;

/// What still runs this long after the last call was due to end has failed.
const DRAIN: Duration = Duration::from_millis(1_500);
/// A set-up time that 1 % of the calls exceed and that grows past this is a queue that grows: the
/// rate does not hold, whatever the buffers still swallow.
pub const SETUP_P99_MAX: Duration = Duration::from_millis(100);
/// A system that used less of its core than this was not the one that was late.
pub const IDLE_SHARE: f64 = 0.75;
/// Rate of the warm-up, as a share of the first rate.
const WARM_UP_SHARE: f64 = 0.25;

/// How long and how exactly to measure.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Length of a trial.
    pub trial: Duration,
    /// Hold time of the calls of a trial.
    pub hold: Duration,
    /// Length of the confirmation.
    pub confirm: Duration,
    /// Hold time of the calls of the confirmation.
    pub confirm_hold: Duration,
    /// Factor of the ramp, precision of the bisection.
    pub factor: f64,
    /// The bisection ends when the bounds are this close, as a factor.
    pub precision: f64,
    /// What a rate that was not confirmed is multiplied with.
    pub step_back: f64,
    /// Subscribers in rotation.
    pub subscribers: u32,
    /// Warm-up: connections, caches, allocations.
    pub warm_up: Duration,
    /// Time for the whole experiment.
    pub budget: Option<Duration>,
    /// Whether a rate at which a capture was shed does not hold.
    pub must_capture: bool,
}

impl Plan {
    /// Coarse enough for three scenarios and two systems in a minute.
    pub const QUICK: Self = Self {
        trial: Duration::from_millis(700),
        hold: Duration::from_millis(50),
        confirm: Duration::from_millis(1_500),
        confirm_hold: Duration::from_millis(100),
        factor: 1.6,
        precision: 1.15,
        step_back: 0.92,
        subscribers: 1_000_000,
        warm_up: Duration::from_millis(300),
        budget: Some(Duration::from_secs(46)),
        must_capture: true,
    };
    /// The report's method: one million subscribers in rotation. Its calls last 30 seconds; at
    /// sixty times its rate 5 seconds are more calls at once than it had.
    pub const FULL: Self = Self {
        trial: Duration::from_millis(2_500),
        hold: Duration::from_secs(1),
        confirm: Duration::from_secs(15),
        confirm_hold: Duration::from_secs(5),
        factor: 1.3,
        precision: 1.03,
        step_back: 0.92,
        subscribers: 1_000_000,
        warm_up: Duration::from_secs(1),
        budget: None,
        must_capture: true,
    };

    /// The plan that the options ask for.
    #[must_use]
    pub const fn of(quick: bool) -> Self {
        if quick { Self::QUICK } else { Self::FULL }
    }
}

/// One trial of one system.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Calls per second offered.
    pub rate: f64,
    /// What the generator saw.
    pub report: Report,
    /// Processor time of the system under test for each call, microseconds.
    pub cpu_us_per_call: f64,
    /// Its resident memory at the end.
    pub resident_bytes: u64,
    /// Hold time of the calls.
    pub hold: Duration,
    /// Captured messages that each call must have left.
    pub captures: u64,
}

impl Measured {
    /// Captured messages that did not reach the sink.
    #[must_use]
    pub const fn captures_shed(&self) -> u64 {
        (self.captures * self.report.started).saturating_sub(self.report.captured)
    }

    /// Whether the rate holds: [`Measured::calls_held`], and every capture arrived.
    #[must_use]
    pub fn held(&self) -> bool {
        self.calls_held() && self.captures_shed() == 0
    }

    /// Whether every call ended as its flow says and no queue grew.
    #[must_use]
    pub fn calls_held(&self) -> bool {
        let report = &self.report;
        report.failed() == 0
            && report.started > 0
            && report.completed == report.started
            && u128::from(report.setup.p99_us) <= SETUP_P99_MAX.as_micros()
    }

    /// What did not hold of the calls, in words; none: all of it did.
    #[must_use]
    pub fn violation(&self) -> Option<String> {
        let report = &self.report;
        let (failed, open) = (report.failed(), report.started.saturating_sub(report.completed));
        let p99_ms = report.setup.p99_us as f64 / 1e3;
        match () {
            () if self.calls_held() => None,
            () if report.started == 0 => Some("no call began".to_owned()),
            () if failed > 0 => Some(format!("{failed} calls failed")),
            () if open > 0 => Some(format!("{open} calls did not end as their flow says")),
            () => Some(format!("p99 of the set-up was {p99_ms:.1} ms")),
        }
    }

    /// Whether a rate was missed although no call failed or was refused and the system had time
    /// left: the machine did something else meanwhile.
    fn was_idle(&self) -> bool {
        let share = self.cpu_us_per_call * self.rate / 1e6;
        self.report.failed() + self.report.refused() == 0 && share < IDLE_SHARE
    }

    /// For the row's detail.
    #[must_use]
    pub fn json(&self) -> Value {
        let report = &self.report;
        json!({
            "rate": self.rate,
            "calls": report.started,
            "failed": report.failures,
            "examples": report.examples,
            "cpu_us_per_call": self.cpu_us_per_call,
            "resident_mb": self.resident_bytes as f64 / 1e6,
            "setup_p50_us": report.setup.p50_us,
            "setup_p99_us": report.setup.p99_us,
            "setup_max_us": report.setup.max_us,
            "responses": report.responses,
            "retransmissions": report.retransmissions,
            "duplicates": report.duplicates,
            "missing": report.missing,
            "captured": report.captured,
            "captures_shed": self.captures_shed(),
            "live_max": report.live_max,
            "hold_s": self.hold.as_secs_f64(),
            "generator_lag_max_us": report.lag_max_us,
        })
    }
}

/// One trial.
///
/// # Errors
/// When the generator does not answer.
pub fn trial(load: &Load, system: Option<&System>, trial: Trial) -> anyhow::Result<Measured> {
    observe(load, system, trial, |captures| load.run(trial, DRAIN, captures))
}

/// What a system used while `run` went on, told how many captures each call makes.
fn observe(
    load: &Load,
    system: Option<&System>,
    trial: Trial,
    run: impl FnOnce(u64) -> anyhow::Result<Report>,
) -> anyhow::Result<Measured> {
    let used = |system: Option<&System>| system.map(System::usage).unwrap_or_default();
    let before = used(system);
    let captures = system.map_or(0, |system| system.captures(load.ladder()));
    let report = run(captures)?;
    let after = used(system);
    let cpu = after.cpu.saturating_sub(before.cpu);
    Ok(Measured {
        rate: trial.rate,
        cpu_us_per_call: cpu.as_secs_f64() * 1e6 / report.started.max(1) as f64,
        resident_bytes: after.resident_bytes,
        hold: trial.hold,
        captures,
        report,
    })
}

/// Searches the highest rate that a system holds. `start` makes a fresh system: a failed trial
/// leaves retransmissions behind that the next one must not pay for.
///
/// # Errors
/// When the system does not start or the generator does not answer.
pub fn highest_rate(
    plan: &Plan,
    load: &Load,
    first_rate: f64,
    progress: &Progress,
    mut start: impl FnMut() -> anyhow::Result<Option<System>>,
) -> anyhow::Result<(Found<Measured>, String)> {
    let search = Search {
        start: first_rate,
        factor: plan.factor,
        precision: plan.precision,
        step_back: plan.step_back,
        budget: plan.budget,
    };
    let mut fresh = |rate: f64| -> anyhow::Result<Option<System>> {
        let system = start()?;
        let warm = Trial {
            rate: rate * WARM_UP_SHARE,
            length: plan.warm_up,
            subscribers: plan.subscribers,
            ..Trial::default()
        };
        trial(load, system.as_ref(), warm)?;
        Ok(system)
    };
    let mut system = fresh(first_rate)?;
    let mut repeated = 0u32;
    let name = system.as_ref().map_or_else(|| "itself".into(), System::name);
    let found = search.run(|rate, purpose| {
        let (length, hold) = match purpose {
            Purpose::Try => (plan.trial, plan.hold),
            Purpose::Confirm => (plan.confirm, plan.confirm_hold),
        };
        let subscribers = plan.subscribers;
        let asked = Trial { rate, length, hold, subscribers, ..Trial::default() };
        let attempt = |system: &Option<System>| {
            let run = |captures| load.run_while_held(asked, DRAIN, captures);
            observe(load, system.as_ref(), asked, run)
        };
        let holds = |measured: &Measured| match plan.must_capture {
            true => measured.held(),
            false => measured.calls_held(),
        };
        let mut measured = attempt(&system)?;
        if !holds(&measured) && measured.was_idle() {
            // Neither failed nor busy: the machine was elsewhere. Once more, for either system.
            repeated += 1;
            progress.say(&sentence(&name, &measured, purpose));
            measured = attempt(&system)?;
        }
        let held = holds(&measured);
        progress.say(&sentence(&name, &measured, purpose));
        if !held {
            drop(system.take());
            system = fresh(first_rate)?;
        }
        Ok((held, measured))
    })?;
    progress.step();
    if repeated > 0 {
        progress
            .say(&format!("{name}: {repeated} trials repeated, the machine was busy elsewhere"));
    }
    Ok((found, name))
}

fn sentence(name: &str, measured: &Measured, purpose: Purpose) -> String {
    let report = &measured.report;
    let verdict = if measured.calls_held() { "holds" } else { "fails" };
    let confirm = if purpose == Purpose::Confirm { "confirmation: " } else { "" };
    let first = report.examples.first().filter(|_| !measured.held());
    format!(
        "{confirm}{name} at {:.0} calls/s {verdict}: {} failed, {} captures shed, p99 {:.1} ms, \
        {:.1} us CPU a call{}",
        measured.rate,
        report.failed(),
        measured.captures_shed(),
        report.setup.p99_us as f64 / 1e3,
        measured.cpu_us_per_call,
        first.map(|words| format!(" ({words})")).unwrap_or_default(),
    )
}
