//! Phones of IMS that register with AKA and IPsec: each attaches as if it had been switched off and
//! on.
//!
//! ```text
//!   phone ── REGISTER, clear ──→ SSC ──→ home: 401 with ck and ik      (a round)
//!         ══ REGISTER, ESP ════→     ──→       200                     (the other)
//! ```
//! The report counts messages: two REGISTERs of a phone are one registration here, and both numbers
//! stand in the row. All phones stand before the search begins; then they attach again in rotation,
//! and the associations before make way. In the storm all attach at once while calls stand, and
//! those who are refused come again. A full run has three rounds of each, on fresh systems; what
//! counts are the medians.
//!
//! Of calls in progress in a storm the row says where their time goes: the generator is as busy as
//! the system under test, so that what it adds itself stands apart ([`sip_load::InDialog`]).

use super::super::ims::ImsGround;
use super::super::measure::SETUP_P99_MAX;
use super::super::rounds::{Rounds, notes, rounds};
use super::super::topology::{Load, System};
use super::Plan;
use report::contract::{Options, Row};
use report::progress::Progress;
use report::published::PublishedRow;
use serde_json::{Value, json};
use sip_load::{Act, Found, Ladder, Purpose, Report, Search, Times, Trial};
use std::time::{Duration, Instant};

pub const NAME: &str = "Authenticated VoLTE IMS-AKA";
pub const STORM: &str = "Restart storm (IMS-AKA)";
/// Phones in a full and in a quick run.
const PHONES: [u32; 2] = [100_000, 4_000];
/// Where the search begins.
const FIRST_RATES: [f64; 2] = [6_000.0, 1_000.0];
/// REGISTERs of a registration, and messages between phone and SSC.
const REGISTERS: f64 = 2.0;
const MESSAGES: f64 = 4.0;
/// What a full run holds the row to: registrations a second, octets of memory for each phone.
const RATE_MIN: f64 = 10_000.0;
const PHONE_BYTES_MAX: u64 = 2_048;
/// Phones that attach before memory is looked at first: buffers, tables.
const WARM_UP: u32 = 1_000;
/// The rate at which phones attach at first, and for how long before memory is looked at.
const ATTACH_RATE: f64 = 2_000.0;
const TRANSACTIONS: Duration = Duration::from_secs(34);
/// Seconds within which all attach in a storm, calls that stand meanwhile, and their end.
const STORM_WITHIN: Duration = Duration::from_secs(4);
const STORM_CALLS: u32 = 500;
const STORM_MAX: Duration = Duration::from_secs(90);
/// Requests of calls are answered within this meanwhile, 99 of 100.
const IN_DIALOG_P99_MAX_MS: f64 = 50.0;
const HOLD: Duration = Duration::from_secs(3_600);
const POLL: Duration = Duration::from_millis(50);

/// What the rows are made with.
pub struct Bench<'a> {
    /// The options.
    pub options: &'a Options,
    /// How long and how exactly.
    pub plan: Plan,
    /// Who is told.
    pub progress: &'a Progress,
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

    fn json(&self) -> Value {
        let report = &self.report;
        json!({
            "registrations_per_s": self.rate,
            "registers_per_s": self.rate * REGISTERS,
            "messages_per_s": self.rate * MESSAGES,
            "registrations": report.completed,
            "failed": report.failures,
            "examples": report.examples,
            "cpu_us_per_registration": self.cpu_us,
            "setup_p50_us": report.setup.p50_us,
            "setup_p99_us": report.setup.p99_us,
            "setup_max_us": report.setup.max_us,
            "generator_lag_max_us": report.lag_max_us,
        })
    }

    fn sentence(&self, purpose: Purpose) -> String {
        let verdict = if self.held() { "holds" } else { "fails" };
        let confirm = if purpose == Purpose::Confirm { "confirmation: " } else { "" };
        let first = self.report.examples.first().map(|words| format!(" ({words})"));
        format!(
            "{confirm}{:.0} registrations/s ({:.0} REGISTER/s, {:.0} messages/s) {verdict}: \
            {} failed, p99 {:.1} ms, {:.1} us CPU each{}",
            self.rate,
            self.rate * REGISTERS,
            self.rate * MESSAGES,
            self.report.failed(),
            self.report.setup.p99_us as f64 / 1e3,
            self.cpu_us,
            first.unwrap_or_default(),
        )
    }
}

impl Bench<'_> {
    /// The rows that are wanted, and what did not hold.
    ///
    /// # Errors
    /// When the topology cannot be set up.
    pub fn rows(&self, row: &PublishedRow, unit: &str) -> anyhow::Result<(Vec<Row>, Vec<String>)> {
        let (mut rows, mut broken) = (Vec::new(), Vec::new());
        if self.options.wants(NAME) {
            self.progress.say(&format!("{NAME}: phones register with AKA and IPsec"));
            rows.push(self.rate(row, unit, &mut broken)?);
            self.progress.step();
        }
        if self.options.wants(STORM) {
            self.progress.say(STORM);
            rows.push(self.storm(unit, &mut broken)?);
            self.progress.step();
        }
        Ok((rows, broken))
    }

    const fn of<T: Copy>(&self, [full, quick]: [T; 2]) -> T {
        if self.plan.quick { quick } else { full }
    }

    fn rate(
        &self,
        row: &PublishedRow,
        unit: &str,
        broken: &mut Vec<String>,
    ) -> anyhow::Result<Row> {
        let count = rounds(self.plan.quick);
        let all = (1..=count).map(|number| {
            if count > 1 {
                self.progress.say(&format!("{NAME}: round {number} of {count}"));
            }
            self.round()
        });
        let all = all.collect::<anyhow::Result<Vec<Round>>>()?;
        let values = Rounds::of(all.iter().map(Round::rate));
        let value = values.median();
        let octets = Rounds::of(all.iter().map(|it| Some(it.bytes_per_phone as f64)));
        broken.extend(self.violations(&all, value, octets.median().unwrap_or_default()));
        let Round { found, phones, .. } = &all[values.median_at()];
        let mut detail = found.best.as_ref().map_or(json!({}), |(_, best)| best.json());
        detail["trials"] = json!(found.trials);
        detail["first_failure"] = json!(found.first_failure.as_ref().map(|(_, it)| it.json()));
        detail["phones"] = json!(phones);
        detail["bytes_per_phone"] = json!(octets.median());
        detail["values"] = values.json();
        detail["bytes_per_phone_of_rounds"] = octets.json();
        let both = value.map(|rate| {
            let (registers, messages) = (rate * REGISTERS, rate * MESSAGES);
            format!("{registers:.0} REGISTER/s, {messages:.0} messages/s with the phones")
        });
        Ok(Row {
            scenario: row.scenario.clone(),
            unit: unit.into(),
            published: row.value,
            peer: None,
            tandem: value,
            detail: json!({
                "note": notes(&[both.unwrap_or_default(), values.words(0)]),
                "published": "of messages: 810 are 405 registrations, if REGISTERs are meant",
                "peer": "none: see docs/lab.md",
                "capture": "off",
                "tandem": detail,
            }),
        })
    }

    /// One search, on a fresh system before which all phones stand.
    fn round(&self) -> anyhow::Result<Round> {
        let ims = ImsGround::new(self.of(PHONES))?;
        let load = ims.load(Ladder::built_in("SIP")?, 0, false)?;
        let system = ims.system(&self.options.tandem, false)?;
        let begun = Instant::now();
        load.attach(WARM_UP)?;
        if !self.plan.quick {
            // Transactions stand for 32 s (RFC 3261 §17, timer J): their tables are as large then
            // as they are when all attach, and what is counted is the phones'.
            let (rate, length) = (ATTACH_RATE, TRANSACTIONS);
            let trial = Trial { rate, length, subscribers: WARM_UP, ..Trial::default() };
            load.run_phones(Act::Attach, &trial, self.plan.drain)?;
        }
        let before = system.usage().resident_bytes;
        let counted = ims.phones() - WARM_UP;
        // Some of the first attach again, others at the end for the first time.
        load.attach(ims.phones())?;
        let grown = system.usage().resident_bytes.saturating_sub(before);
        let bytes_per_phone = grown / u64::from(counted.max(1));
        self.progress.say(&format!("{} phones stand, {bytes_per_phone} octets each", ims.phones()));
        let search = Search {
            start: self.of(FIRST_RATES),
            factor: self.plan.factor,
            precision: self.plan.precision,
            step_back: 0.92,
            budget: self.plan.budget.map(|budget| budget.saturating_sub(begun.elapsed())),
        };
        let found = search.run(|rate, purpose| {
            let measured = self.trial(&load, &system, rate, purpose)?;
            self.progress.say(&measured.sentence(purpose));
            Ok((measured.held(), measured))
        })?;
        Ok(Round { found, bytes_per_phone, phones: ims.phones() })
    }

    fn trial(
        &self,
        load: &Load,
        system: &System,
        rate: f64,
        purpose: Purpose,
    ) -> anyhow::Result<Measured> {
        let length = match purpose {
            Purpose::Try => self.plan.trial,
            Purpose::Confirm => self.plan.confirm,
        };
        let trial = Trial { rate, length, ..Trial::default() };
        let before = system.usage();
        let report = load.run_phones(Act::Attach, &trial, self.plan.drain)?;
        let cpu = system.usage().cpu.saturating_sub(before.cpu);
        let cpu_us = cpu.as_secs_f64() * 1e6 / report.started.max(1) as f64;
        Ok(Measured { rate, report, cpu_us })
    }

    /// What did not hold: of the rounds each, of the medians in a full run.
    fn violations(&self, all: &[Round], rate: Option<f64>, octets: f64) -> Vec<String> {
        let none = all.iter().filter(|it| it.found.best.is_none());
        let mut broken: Vec<String> = none.map(|_| format!("{NAME}: no rate was held")).collect();
        if self.plan.quick {
            return broken;
        }
        if let Some(rate) = rate.filter(|rate| *rate < RATE_MIN) {
            broken.push(format!("{NAME}: {rate:.0} registrations/s"));
        }
        if octets > PHONE_BYTES_MAX as f64 {
            broken.push(format!("{NAME}: {octets:.0} octets for each phone"));
        }
        broken
    }

    /// The storm of the median, by what it makes of calls in progress; of all rounds none may fail.
    fn storm(&self, unit: &str, broken: &mut Vec<String>) -> anyhow::Result<Row> {
        let count = rounds(self.plan.quick);
        let all: Vec<Storm> =
            (0..count).map(|_| self.storm_once()).collect::<anyhow::Result<_>>()?;
        all.iter().for_each(|storm| broken.extend(storm.violations()));
        let p99 = Rounds::of(all.iter().map(|it| Some(it.bye().p99_us as f64 / 1e3)));
        let elsewhere = |it: &Storm| Some(it.ended.in_dialog.elsewhere.p99_us as f64 / 1e3);
        let elsewhere = Rounds::of(all.iter().map(elsewhere));
        let storm = &all[p99.median_at()];
        if let Some(p99_ms) = p99.median().filter(|it| *it > IN_DIALOG_P99_MAX_MS)
            && !self.plan.quick
        {
            broken.push(format!("{STORM}: p99 of calls in progress {p99_ms:.1} ms"));
        }
        let spread = p99.words(1);
        let spread = if spread.is_empty() { spread } else { format!("p99 in ms: {spread}") };
        let seconds = storm.seconds();
        Ok(Row {
            scenario: STORM.into(),
            unit: unit.into(),
            published: None,
            peer: None,
            tandem: (seconds > 0.0).then(|| storm.report.completed as f64 / seconds),
            detail: json!({
                "note": notes(&[storm.note(), spread]),
                "in_dialog_p99_ms": p99.json(),
                "in_dialog_elsewhere_p99_ms": elsewhere.json(),
                "storm": storm.json(),
            }),
        })
    }

    /// All attach at once, while calls of some of them stand and end one by one.
    fn storm_once(&self) -> anyhow::Result<Storm> {
        let calls = self.of([STORM_CALLS, STORM_CALLS / 5]);
        let ims = ImsGround::new(self.of(PHONES) + calls)?;
        let load = ims.load(Ladder::built_in("SIP")?, 0, false)?;
        let system = ims.system(&self.options.tandem, false)?;
        let stood = stand(&load, calls)?;
        let count = ims.phones() - calls;
        let length = self.of([STORM_WITHIN, STORM_WITHIN / 8]);
        let rate = f64::from(count) / length.as_secs_f64();
        let begun = Instant::now();
        load.begin_phones(Act::Attach, &Trial { rate, length, again: true, ..Trial::default() })?;
        load.release(f64::from(calls) / (2.0 * length.as_secs_f64()))?;
        let report = until(STORM_MAX, || {
            let report = load.phones()?;
            Ok((!report.running, report))
        })?;
        let took = begun.elapsed();
        let ended = until(Duration::from_secs(5), || {
            let report = load.report()?;
            Ok((!report.running, report))
        })?;
        let failed = ended.failed() + stood.failed();
        let resident_bytes = system.usage().resident_bytes;
        let storm = Storm { count, calls, rate, took, report, ended, failed, resident_bytes };
        self.progress.say(&storm.note());
        Ok(storm)
    }
}

/// What a search found, on a system of its own.
struct Round {
    found: Found<Measured>,
    bytes_per_phone: u64,
    phones: u32,
}

impl Round {
    fn rate(&self) -> Option<f64> {
        self.found.best.as_ref().map(|(rate, _)| *rate)
    }
}

/// A storm that is over.
struct Storm {
    /// Phones that attached, calls that stood meanwhile, phones a second.
    count: u32,
    calls: u32,
    rate: f64,
    took: Duration,
    /// Of the phones, and of the calls.
    report: Report,
    ended: Report,
    /// Calls that failed, while they were set up too.
    failed: u64,
    resident_bytes: u64,
}

impl Storm {
    fn bye(&self) -> Times {
        self.ended.responses.get("BYE").copied().unwrap_or_default()
    }

    fn seconds(&self) -> f64 {
        self.report.last_us as f64 / 1e6
    }

    fn violations(&self) -> Vec<String> {
        let (stood, count, mut broken) = (self.report.completed, self.count, Vec::new());
        if stood < u64::from(count) {
            broken.push(format!("{STORM}: {stood} of {count} phones stand"));
        }
        if self.failed > 0 {
            broken.push(format!("{STORM}: {} calls failed", self.failed));
        }
        broken
    }

    fn note(&self) -> String {
        let parts = self.ended.in_dialog;
        let p99_ms = |times: Times| times.p99_us as f64 / 1e3;
        format!(
            "{} of {} phones stand after {:.1} s, {} came again; calls in progress: p99 {:.1} ms, \
            {} failed; from due to read p99 {:.1} ms: from sending to arrival {:.1} ms (the \
            answering end's {:.1} ms in it), the generator's own {:.1} ms",
            self.report.completed,
            self.count,
            self.seconds(),
            self.report.again,
            p99_ms(self.bye()),
            self.failed,
            p99_ms(parts.whole),
            p99_ms(parts.elsewhere),
            p99_ms(parts.answering),
            p99_ms(parts.own),
        )
    }

    fn json(&self) -> Value {
        json!({
            "phones": self.count,
            "offered_per_s": self.rate,
            "all_stood_s": self.seconds(),
            "took_s": self.took.as_secs_f64(),
            "came_again": self.report.again,
            "failed": self.report.failures,
            "examples": self.report.examples,
            "setup_p99_us": self.report.setup.p99_us,
            "calls": self.calls,
            "calls_failed": self.ended.failures,
            "in_dialog_p99_us": self.bye().p99_us,
            "in_dialog": self.ended.in_dialog,
            "resident_mb": self.resident_bytes as f64 / 1e6,
        })
    }
}

/// So many phones attach, and each has a call that stands.
fn stand(load: &Load, calls: u32) -> anyhow::Result<Report> {
    load.attach(calls)?;
    let rate = f64::from(calls);
    load.begin(Trial { rate, hold: HOLD, subscribers: calls, ..Trial::default() })?;
    until(Duration::from_secs(5), || {
        let report = load.report()?;
        Ok((report.setup.count >= u64::from(calls), report))
    })
}

/// The report once it is as wanted, or after `limit`.
fn until(
    limit: Duration,
    mut look: impl FnMut() -> anyhow::Result<(bool, Report)>,
) -> anyhow::Result<Report> {
    let end = Instant::now() + limit;
    loop {
        let (done, report) = look()?;
        if done || Instant::now() > end {
            return Ok(report);
        }
        std::thread::sleep(POLL);
    }
}
