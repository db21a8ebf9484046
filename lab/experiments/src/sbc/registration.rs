//! `registration`: REGISTERs per second on one core, Table 3 of the report.
//!
//! | what | how |
//! |---|---|
//! | first registrations | each REGISTER is a new subscriber's; the SSC asks the core for it |
//! | fast registrations | all subscribers stand and refresh in rotation; the SSC answers itself |
//! | criterion | no failed REGISTER, every 200 lists the contact, no growing queue |
//! | peer | Kamailio as registrar: `save()` into memory in every row, it needs no core |
//!
//! Neither side captures. `detail.tandem.bytes_per_binding` is the growth of the SSC's resident
//! memory by the subscribers that stand, everything included.

use super::measure::{IDLE_SHARE, SETUP_P99_MAX};
use super::registrants::{self, Subscribers, TLS_CONNECTIONS};
use super::topology::{Ground, System};
use crate::contract::{Options, Outcome, Peer, Row};
use crate::host;
use crate::progress::Progress;
use crate::published::{self, PublishedRow};
use crate::search::{Found, Purpose, Search};
use load::{Report, Trial};
use peers::Priority;
use runtime::Transport;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const NAME: &str = "registration";
/// More subscribers than any run registers: each is a new one.
const UNLIMITED: u32 = 1_000_000_000;
/// Subscribers before memory is looked at first: connections, buffers, tables.
const WARM_UP_SUBSCRIBERS: u32 = 2_000;
/// Times the table is filled before the rate counts as too high for filling.
const FILLS_MAX: usize = 3;

struct Scenario {
    name: &'static str,
    transport: Transport,
    /// Whether standing subscribers refresh.
    fast: bool,
    /// Subscribers that stand: in a full run those of the report, in a quick one.
    subscribers: (u32, u32),
    /// Where the searches begin: the peer's, Tandem's.
    first_rates: (f64, f64),
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "Plain",
        transport: Transport::Udp,
        fast: false,
        subscribers: (700_000, 60_000),
        first_rates: (40_000.0, 40_000.0),
    },
    Scenario {
        name: "TLS",
        transport: Transport::Tls,
        fast: false,
        subscribers: (132_000, 30_000),
        first_rates: (15_000.0, 25_000.0),
    },
    Scenario {
        name: "Fast registration (plain)",
        transport: Transport::Udp,
        fast: true,
        subscribers: (420_000, 60_000),
        first_rates: (50_000.0, 180_000.0),
    },
    Scenario {
        name: "Fast registration (TLS)",
        transport: Transport::Tls,
        fast: true,
        subscribers: (132_000, 30_000),
        first_rates: (15_000.0, 45_000.0),
    },
];

#[derive(Debug, Clone, Copy)]
struct Plan {
    trial: Duration,
    confirm: Duration,
    drain: Duration,
    factor: f64,
    precision: f64,
    budget: Option<Duration>,
    quick: bool,
}

impl Plan {
    const QUICK: Self = Self {
        trial: Duration::from_millis(500),
        confirm: Duration::from_millis(1_000),
        drain: Duration::from_millis(700),
        factor: 1.35,
        precision: 1.15,
        budget: Some(Duration::from_secs(44)),
        quick: true,
    };
    const FULL: Self = Self {
        trial: Duration::from_secs(3),
        confirm: Duration::from_secs(15),
        drain: Duration::from_millis(1_500),
        factor: 1.25,
        precision: 1.03,
        budget: None,
        quick: false,
    };
}

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let mut searches_left = 2 * SCENARIOS.iter().filter(|s| options.wants(s.name)).count() as u32;
    let progress = Progress::new(NAME, u64::from(searches_left));
    let begun = Instant::now();
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    for row in table.rows.iter().filter(|row| options.wants(&row.scenario)) {
        let Some(scenario) = SCENARIOS.iter().find(|s| s.name == row.scenario) else {
            let why = "needs IPsec between terminal and SSC, which Tandem does not speak yet";
            outcome.rows.push(Row::absent(&row.scenario, &table.unit, Some(row.value), why));
            continue;
        };
        let plan = if options.quick { Plan::QUICK } else { Plan::FULL };
        let left = plan.budget.map(|budget| budget.saturating_sub(begun.elapsed()));
        let plan = Plan { budget: left.map(|left| left / searches_left.max(1)), ..plan };
        searches_left = searches_left.saturating_sub(2);
        let (peer, tandem) = measure(scenario, plan, options, &progress)?;
        for side in [&peer, &tandem] {
            outcome.broken.extend(side.offences(scenario));
        }
        outcome.rows.push(line(row, &table.unit, scenario, (&peer, &tandem), priority.granted));
    }
    Ok(outcome)
}

fn line(
    row: &PublishedRow,
    unit: &str,
    scenario: &Scenario,
    (peer, tandem): (&Side, &Side),
    priority: bool,
) -> Row {
    let connections = if scenario.transport.is_stream() { TLS_CONNECTIONS } else { 0 };
    Row {
        scenario: row.scenario.clone(),
        unit: unit.into(),
        published: Some(row.value),
        peer: peer.rate().map(|value| Peer { name: peer.name.clone(), value }),
        tandem: tandem.rate(),
        detail: json!({
            "priority": priority,
            "connections": connections,
            "capture": "off on both sides",
            "core": if scenario.fast { "asked at first only" } else {
                "asked for every REGISTER by Tandem; the peer is the registrar itself"
            },
            "tandem": tandem.json(),
            "peer": peer.json(),
        }),
    }
}

/// One trial.
#[derive(Debug, Clone)]
struct Measured {
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
struct Side {
    name: String,
    found: Found<Measured>,
    /// Subscribers that were registered, the growth of memory by that, those told to stand.
    filled: u32,
    grown_bytes: u64,
    standing: Option<u64>,
}

impl Side {
    fn rate(&self) -> Option<f64> {
        self.found.best.as_ref().map(|(rate, _)| *rate)
    }

    fn json(&self) -> Value {
        let mut detail = self.found.best.as_ref().map_or(json!({}), |(_, best)| best.json());
        detail["trials"] = json!(self.found.trials);
        detail["first_failure"] =
            json!(self.found.first_failure.as_ref().map(|(_, failed)| failed.json()));
        detail["subscribers"] = json!(self.filled);
        detail["standing"] = json!(self.standing);
        let counted = self.filled.saturating_sub(WARM_UP_SUBSCRIBERS).max(1);
        detail["bytes_per_binding"] = json!(self.grown_bytes / u64::from(counted));
        detail
    }

    fn offences(&self, scenario: &Scenario) -> Vec<String> {
        let mut offences = Vec::new();
        if self.found.best.is_none() {
            offences.push(format!("{}: {} held no rate", scenario.name, self.name));
        }
        if self.standing.is_some_and(|standing| standing < u64::from(self.filled)) {
            let standing = self.standing.unwrap_or_default();
            offences.push(format!("{}: {standing} of {} stand", scenario.name, self.filled));
        }
        offences
    }
}

/// The peer and Tandem, one after the other, on the same ground.
fn measure(
    scenario: &Scenario,
    plan: Plan,
    options: &Options,
    progress: &Progress,
) -> anyhow::Result<(Side, Side)> {
    let ground = Ground::new()?;
    let load = Subscribers::start(&ground, scenario.transport)?;
    let tls = scenario.transport == Transport::Tls;
    let (peer_rate, tandem_rate) = scenario.first_rates;
    let stage = Stage { scenario, plan, load: &load, progress };
    let peer = registrants::kamailio(&ground, tls)?;
    let peer = stage.run(peer, peer_rate, || None)?;
    let tandem = registrants::tandem(&ground, &options.tandem)?;
    let tandem = stage.run(tandem, tandem_rate, || registrants::standing(&ground))?;
    Ok((peer, tandem))
}

struct Stage<'a> {
    scenario: &'a Scenario,
    plan: Plan,
    load: &'a Subscribers,
    progress: &'a Progress,
}

impl Stage<'_> {
    /// Fills a system with subscribers, then searches the highest rate that it holds.
    fn run(
        &self,
        system: System,
        first_rate: f64,
        standing: impl Fn() -> Option<u64>,
    ) -> anyhow::Result<Side> {
        let (full, quick) = self.scenario.subscribers;
        let subscribers = if self.plan.quick { quick } else { full };
        let name = system.name();
        self.progress.say(&format!("{}: {name}", self.scenario.name));
        let begun = Instant::now();
        self.fill(&system, (subscribers, WARM_UP_SUBSCRIBERS), first_rate)?;
        let before = system.usage().resident_bytes;
        self.fill(&system, (subscribers, subscribers - WARM_UP_SUBSCRIBERS), first_rate)?;
        let grown_bytes = system.usage().resident_bytes.saturating_sub(before);
        let standing = standing();
        let rotation = if self.scenario.fast { subscribers } else { UNLIMITED };
        let search = Search {
            start: first_rate,
            factor: self.plan.factor,
            precision: self.plan.precision,
            step_back: 0.92,
            budget: self.plan.budget.map(|budget| budget.saturating_sub(begun.elapsed())),
        };
        let found = search.run(|rate, purpose| self.attempt(&system, rotation, rate, purpose))?;
        self.progress.step();
        Ok(Side { name, found, filled: subscribers, grown_bytes, standing })
    }

    /// Registers the next `count` of all subscribers, at a rate that need not be high.
    fn fill(
        &self,
        system: &System,
        (subscribers, count): (u32, u32),
        rate: f64,
    ) -> anyhow::Result<()> {
        let mut rate = (rate / 2.0).min(30_000.0);
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
