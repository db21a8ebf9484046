//! One system that takes registrations: its subscribers stand, then the highest rate is searched.

use super::super::measure::{IDLE_SHARE, SETUP_P99_MAX};
use super::super::registrants::Subscribers;
use super::super::topology::System;
use super::{BINDINGS, Plan, Scenario};
use report::progress::Progress;
use serde_json::{Value, json};
use sip_load::{Found, Purpose, Search};
use sip_load::{Report, Trial};
use std::time::{Duration, Instant};

/// More subscribers than any run registers: each is a new one.
const UNLIMITED: u32 = 1_000_000_000;
/// Subscribers before memory is looked at first: connections, buffers, tables.
const WARM_UP_SUBSCRIBERS: u32 = 2_000;
/// Octets that a binding may take when [`BINDINGS`] stand; with fewer, what the tables and buffers
/// of any number take weighs more, and the figure is not judged.
const BINDING_BYTES_MAX: u64 = 600;
/// Share of the first rate, and rate, at which a table is filled: it need not be high.
const FILL: (f64, f64) = (0.7, 30_000.0);
/// Times the table is filled before the rate counts as too high for filling.
const FILLS_MAX: usize = 3;

/// One trial.
#[derive(Debug, Clone)]
pub struct Measured {
    rate: f64,
    report: Report,
    cpu_us: f64,
}

impl Measured {
    fn held(&self) -> bool {
        let report = &self.report;
        report.failed() == 0
            && report.started > 0
            && report.completed == report.started
            && u128::from(report.setup.p99_us) <= SETUP_P99_MAX.as_micros()
    }

    /// Neither failed nor busy: the machine was elsewhere.
    fn stalled(&self) -> bool {
        !self.held() && self.report.failed() == 0 && self.cpu_us * self.rate / 1e6 < IDLE_SHARE
    }

    fn json(&self) -> Value {
        let report = &self.report;
        json!({
            "rate": self.rate,
            "registrations": report.started,
            "failed": report.failures,
            "examples": report.examples,
            "cpu_us_per_registration": self.cpu_us,
            "answer_p50_us": report.setup.p50_us,
            "answer_p99_us": report.setup.p99_us,
            "answer_max_us": report.setup.max_us,
            "asked_core": report.answered,
            "retransmissions": report.retransmissions,
            "generator_lag_max_us": report.lag_max_us,
        })
    }
}

/// What one system did.
#[derive(Debug)]
pub struct Side {
    /// Name and version of the system.
    pub name: String,
    found: Found<Measured>,
    /// Subscribers that were registered, the growth of memory by that, those told to stand.
    filled: u32,
    grown_bytes: u64,
    standing: Option<u64>,
}

impl Side {
    /// The highest rate that it held.
    pub fn rate(&self) -> Option<f64> {
        self.found.best.as_ref().map(|(rate, _)| *rate)
    }

    /// For the row's detail.
    pub fn json(&self) -> Value {
        let mut detail = self.found.best.as_ref().map_or(json!({}), |(_, best)| best.json());
        detail["trials"] = json!(self.found.trials);
        detail["first_failure"] =
            json!(self.found.first_failure.as_ref().map(|(_, failed)| failed.json()));
        detail["subscribers"] = json!(self.filled);
        detail["standing"] = json!(self.standing);
        detail["bytes_per_binding"] = json!(self.bytes_per_binding());
        detail
    }

    fn bytes_per_binding(&self) -> u64 {
        let counted = self.filled.saturating_sub(WARM_UP_SUBSCRIBERS).max(1);
        self.grown_bytes / u64::from(counted)
    }

    /// What did not hold, of either system.
    pub fn violations(&self, scenario: &Scenario) -> Vec<String> {
        let held = self.found.best.is_some();
        let words = format!("{}: {} held no rate", scenario.name, self.name);
        if held { Vec::new() } else { vec![words] }
    }

    /// What did not hold of the SSC: all must stand, in as much room as they may take, and each
    /// first registration must have asked the core.
    pub fn violations_of_tandem(&self, scenario: &Scenario) -> Vec<String> {
        let mut violations = Vec::new();
        let standing = self.standing.unwrap_or_default();
        if standing < u64::from(self.filled) {
            violations.push(format!("{}: {standing} of {} stand", scenario.name, self.filled));
        }
        let octets = self.bytes_per_binding();
        if octets == 0 || (self.filled >= BINDINGS && octets > BINDING_BYTES_MAX) {
            violations.push(format!("{}: {octets} octets for each binding", scenario.name));
        }
        let asked = self.found.best.as_ref().map(|(_, best)| &best.report);
        if let Some(report) = asked.filter(|r| !scenario.fast && r.answered < r.started) {
            let (asked, all) = (report.answered, report.started);
            violations.push(format!("{}: the core was asked for {asked} of {all}", scenario.name));
        }
        violations
    }
}

/// Where systems are measured.
pub struct Stage<'a> {
    /// What is asked of them.
    pub scenario: &'a Scenario,
    /// How exactly.
    pub plan: Plan,
    /// Who asks.
    pub load: &'a Subscribers,
    /// Who is told.
    pub progress: &'a Progress,
}

impl Stage<'_> {
    /// Fills a system with subscribers, then searches the highest rate that it holds.
    ///
    /// # Errors
    /// When the subscribers cannot be registered or the generator does not answer.
    pub fn run(
        &self,
        system: System,
        subscribers: u32,
        first_rate: f64,
        standing: impl Fn() -> Option<u64>,
    ) -> anyhow::Result<Side> {
        // Those of the trials must not stand already, unless they shall.
        let rotation = if self.scenario.fast { subscribers } else { UNLIMITED };
        let name = system.name();
        self.progress.say(&format!("{}: {name}", self.scenario.name));
        let begun = Instant::now();
        self.fill(&system, rotation, WARM_UP_SUBSCRIBERS, first_rate)?;
        let before = system.usage().resident_bytes;
        self.fill(&system, rotation, subscribers - WARM_UP_SUBSCRIBERS, first_rate)?;
        let grown_bytes = system.usage().resident_bytes.saturating_sub(before);
        let standing = standing();
        let search = Search {
            start: first_rate,
            factor: self.plan.factor,
            precision: self.plan.precision,
            step_back: 0.92,
            budget: self.plan.budget.map(|budget| budget.saturating_sub(begun.elapsed())),
        };
        let found = search.run(|rate, purpose| self.attempt(&system, rotation, rate, purpose))?;
        Ok(Side { name, found, filled: subscribers, grown_bytes, standing })
    }

    /// Registers the next `count` of all subscribers.
    fn fill(&self, system: &System, subscribers: u32, count: u32, rate: f64) -> anyhow::Result<()> {
        let mut rate = (rate * FILL.0).min(FILL.1);
        for _ in 0..FILLS_MAX {
            let length = Duration::from_secs_f64((f64::from(count) - 0.5) / rate);
            let trial = Trial { rate, length, subscribers, ..Trial::default() };
            let report = self.load.run(trial, Duration::from_secs(3))?;
            self.progress.say(&format!(
                "{} subscribers registered at {rate:.0}/s with {}, {} failed{}",
                report.completed,
                system.name(),
                report.failed(),
                report.examples.first().map(|words| format!(" ({words})")).unwrap_or_default(),
            ));
            if report.failed() == 0 {
                return Ok(());
            }
            rate /= 2.0;
        }
        anyhow::bail!("{}: the subscribers cannot be registered", system.name())
    }

    fn attempt(
        &self,
        system: &System,
        subscribers: u32,
        rate: f64,
        purpose: Purpose,
    ) -> anyhow::Result<(bool, Measured)> {
        let length = match purpose {
            Purpose::Try => self.plan.trial,
            Purpose::Confirm => self.plan.confirm,
        };
        let trial = Trial { rate, length, subscribers, ..Trial::default() };
        let mut measured = self.trial(system, trial)?;
        if measured.stalled() {
            self.progress.say(&sentence(&measured, purpose));
            measured = self.trial(system, trial)?;
        }
        self.progress.say(&sentence(&measured, purpose));
        Ok((measured.held(), measured))
    }

    fn trial(&self, system: &System, trial: Trial) -> anyhow::Result<Measured> {
        let before = system.usage();
        let report = self.load.run(trial, self.plan.drain)?;
        let cpu = system.usage().cpu.saturating_sub(before.cpu);
        let cpu_us = cpu.as_secs_f64() * 1e6 / report.started.max(1) as f64;
        Ok(Measured { rate: trial.rate, report, cpu_us })
    }
}

fn sentence(measured: &Measured, purpose: Purpose) -> String {
    let report = &measured.report;
    let verdict = if measured.held() { "holds" } else { "fails" };
    let confirm = if purpose == Purpose::Confirm { "confirmation: " } else { "" };
    format!(
        "{confirm}{:.0} REGISTER/s {verdict}: {} failed, p99 {:.1} ms, {:.1} us CPU each{}",
        measured.rate,
        report.failed(),
        report.setup.p99_us as f64 / 1e3,
        measured.cpu_us,
        report.examples.first().map(|words| format!(" ({words})")).unwrap_or_default(),
    )
}
