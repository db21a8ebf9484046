//! `session-capacity`: calls that stand at once, Table 4 of the report, and their memory.
//!
//! | what | how |
//! |---|---|
//! | load | calls set up at a steady rate, none released until all stand; then all released |
//! | value | calls that stood at once, every one set up and released as its flow says |
//! | memory | growth of the SSC's resident memory by the calls that stand, everything included |
//! | full run | then four times as many, if the machine's memory allows: `detail.tandem.limit` |
//! | bar | the published number stands in at most 4 KiB each, judged in a full run; of VoLTE with
//! |     | IMS-AKA 85,000 in place of 50,000 |
//!
//! Phones with AKA attach before memory is looked at first: what they take is in `registration`.
//! Transactions of the last 32 seconds stand beside the calls (RFC 3261 §17, timers J, L and M):
//! the faster the set-up, the more of them are in the figure.

use super::ims::ImsGround;
use super::topology::{Load, MEMORY, System, Topology};
use peers::Priority;
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, NO_EXPERIMENT};
use runtime::Transport;
use serde_json::{Value, json};
use sip_load::{Ladder, Report, Trial};
use std::time::{Duration, Instant};

const NAME: &str = "session-capacity";
/// Longer than any run: calls end when they are released.
const HOLD: Duration = Duration::from_secs(3_600);
/// What is not set up, or not released, this long after it was due has failed.
const DRAIN: Duration = Duration::from_secs(4);
const POLL: Duration = Duration::from_millis(50);
/// Calls before memory is looked at first: connections, buffers, tables.
const WARM_UP_CALLS: u32 = 500;
/// Subscribers in rotation.
const SUBSCRIBERS: u32 = 1_000_000;
/// Room that a call takes in the generator, both ends, octets.
const GENERATOR_BYTES_PER_CALL: u64 = 4_096;
/// Share of the machine's free memory that a run may take.
const MEMORY_SHARE: f64 = 0.8;
/// What a call may take where that number stands: a full run sets them up slowly enough
/// for the figure to be theirs and not their transactions'.
const CALL_BYTES_MAX: u64 = 4_096;
/// How many times as many a full run asks for when the published number stood.
const MORE: u32 = 4;

struct Scenario {
    name: &'static str,
    flow: &'static str,
    transport: Transport,
    /// Phones with AKA and IPsec of whom the calls are, in a full and in a quick run; none: 0.
    phones: [u32; 2],
    /// Calls that must stand in a full run, if they are more than the published number; none: 0.
    must_stand: u32,
    /// Calls set up per second in a full run (at first: more calls come faster) and in a quick run,
    /// and calls released per second.
    rates: (f64, f64, f64),
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "SIP",
        flow: "SIP",
        transport: Transport::Udp,
        phones: [0, 0],
        must_stand: 0,
        rates: (4_000.0, 12_000.0, 20_000.0),
    },
    Scenario {
        name: "SIP+TLS",
        flow: "SIP",
        transport: Transport::Tls,
        phones: [0, 0],
        must_stand: 0,
        rates: (3_000.0, 8_000.0, 16_000.0),
    },
    Scenario {
        name: "VoLTE",
        flow: "VoLTE",
        transport: Transport::Udp,
        phones: [0, 0],
        must_stand: 0,
        rates: (1_000.0, 5_000.0, 20_000.0),
    },
    Scenario {
        name: "VoLTE+IMS-AKA",
        flow: "VoLTE",
        transport: Transport::Udp,
        phones: [50_000, 4_000],
        must_stand: 85_000,
        rates: (1_000.0, 3_000.0, 10_000.0),
    },
];

impl Scenario {
    /// Calls that are asked for at first, and have to stand.
    fn first(&self, published: Option<f64>, quick: bool) -> u32 {
        let published = published.unwrap_or_default() as u32;
        if quick { published } else { published.max(self.must_stand) }
    }
}

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let scenarios = SCENARIOS.iter().filter(|s| options.wants(s.name)).count();
    let progress = Progress::new(NAME, scenarios as u64);
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    let memory_mb = outcome.host["memory_mb"].as_u64().unwrap_or_default();
    for row in table.rows.iter().filter(|row| options.wants(&row.scenario)) {
        let published = row.value;
        let Some(scenario) = SCENARIOS.iter().find(|s| s.name == row.scenario) else {
            outcome.rows.push(table.absent(row, NO_EXPERIMENT));
            continue;
        };
        let stage = Stage { scenario, options, progress: &progress };
        let Climbed { best, limit, bytes_per_call } =
            stage.climb(scenario.first(published, options.quick))?;
        progress.step();
        let may_be = if options.quick { 1..=u64::MAX } else { 1..=CALL_BYTES_MAX };
        if let Some(octets) = bytes_per_call.filter(|octets| !may_be.contains(octets)) {
            outcome.broken.push(format!("{}: {octets} octets for each call", scenario.name));
        }
        let value = best.as_ref().map(|stood| f64::from(stood.calls));
        let mut detail = best.as_ref().map_or(json!({}), |stood| stood.json(memory_mb));
        detail["limit"] = json!(limit);
        detail["bytes_per_call_of_the_published_number"] = json!(bytes_per_call);
        let wanted = f64::from(scenario.first(published, options.quick));
        if value.unwrap_or_default() < wanted {
            outcome.broken.push(format!("{}: {limit}", scenario.name));
        }
        outcome.rows.push(Row {
            scenario: row.scenario.clone(),
            unit: table.unit.clone(),
            published,
            peer: None,
            tandem: value,
            detail: json!({
                "tandem": detail,
                "priority": priority.granted,
                "peer": "none: the published value is a count that memory allows, see docs/lab.md",
            }),
        });
    }
    Ok(outcome)
}

/// Calls that stood.
#[derive(Debug)]
struct Stood {
    calls: u32,
    /// Calls set up per second.
    rate: f64,
    grown_bytes: u64,
    resident_bytes: u64,
    /// Of the set-up and of the whole run.
    cpu_us_per_call: f64,
    report: Report,
}

/// What came of the attempts.
struct Climbed {
    /// The most that stood.
    best: Option<Stood>,
    /// What kept more from standing.
    limit: String,
    /// Where the published number stood.
    bytes_per_call: Option<u64>,
}

impl Stood {
    fn bytes_per_call(&self) -> u64 {
        self.grown_bytes / u64::from(self.calls.max(1))
    }

    fn json(&self, memory_mb: u64) -> Value {
        let resident_mb = self.resident_bytes as f64 / 1_048_576.0;
        json!({
            "setup_rate": self.rate,
            "bytes_per_call": self.bytes_per_call(),
            "resident_mb": resident_mb,
            "ram_percent": 100.0 * resident_mb / memory_mb.max(1) as f64,
            "cpu_us_per_call": self.cpu_us_per_call,
            "setup_p50_us": self.report.setup.p50_us,
            "setup_p99_us": self.report.setup.p99_us,
            "retransmissions": self.report.retransmissions,
            "failed": self.report.failures,
        })
    }
}

/// A system and who calls through it.
struct Stand {
    load: Load,
    system: System,
    subscribers: u32,
    /// Its files stay as long.
    topology: Topology,
}

struct Stage<'a> {
    scenario: &'a Scenario,
    options: &'a Options,
    progress: &'a Progress,
}

impl Stage<'_> {
    /// The published number of calls, then more of them.
    fn climb(&self, first: u32) -> anyhow::Result<Climbed> {
        let (slow, fast, _) = self.scenario.rates;
        let rate = if self.options.quick { fast } else { slow.min(fast) };
        let stood = match self.attempt(first, rate)? {
            Ok(stood) => stood,
            Err(limit) => return Ok(Climbed { best: None, limit, bytes_per_call: None }),
        };
        let bytes_per_call = Some(stood.bytes_per_call());
        let climbed = |best, limit| Ok(Climbed { best: Some(best), limit, bytes_per_call });
        if self.options.quick {
            return climbed(stood, format!("{first} calls were asked for in a quick run"));
        }
        let calls = first.saturating_mul(MORE).min(sip_load::LEGS_MAX as u32);
        let needed = (stood.bytes_per_call() + GENERATOR_BYTES_PER_CALL) * u64::from(calls);
        let free = free_bytes();
        if needed as f64 > free as f64 * MEMORY_SHARE {
            let limit = format!(
                "memory of this machine: {calls} calls and their generator need {} MB of {}",
                needed >> 20,
                free >> 20
            );
            return climbed(stood, limit);
        }
        match self.attempt(calls, (slow * f64::from(MORE)).min(fast))? {
            Ok(more) => climbed(more, format!("{calls} calls were asked for")),
            Err(limit) => climbed(stood, limit),
        }
    }

    /// A fresh system before its subscribers; phones of IMS have attached.
    fn stand(&self) -> anyhow::Result<Stand> {
        let ladder = Ladder::built_in(self.scenario.flow)?;
        let [full, quick] = self.scenario.phones;
        let phones = if self.options.quick { quick } else { full };
        if phones == 0 {
            let topology = Topology::new()?;
            let load = Load::start(&topology, ladder, self.scenario.transport)?;
            let system = System::tandem_with(&topology, &self.options.tandem, &[(MEMORY, "")])?;
            return Ok(Stand { load, system, subscribers: SUBSCRIBERS, topology });
        }
        let ims = ImsGround::new(phones)?;
        let load = ims.load(ladder, 0, true)?;
        let text = ims.site(true)?;
        let system = System::of(&ims.topology, &self.options.tandem, &text)?;
        load.attach(phones)?;
        Ok(Stand { load, system, subscribers: ims.phones(), topology: ims.topology })
    }

    /// `calls` on a fresh system; in words what did not hold.
    fn attempt(&self, calls: u32, rate: f64) -> anyhow::Result<Result<Stood, String>> {
        let Stand { topology: _ground, load, system, subscribers } = self.stand()?;
        let all = Trial { subscribers, ..Trial::default() };
        let release_rate = self.scenario.rates.2;
        let warm = Duration::from_secs_f64(f64::from(WARM_UP_CALLS) / rate);
        load.run(Trial { rate, length: warm, ..all }, DRAIN, 0)?;
        let before = system.usage();
        let length = Duration::from_secs_f64((f64::from(calls) - 0.5) / rate);
        load.begin(Trial { rate, length, hold: HOLD, ..all })?;
        let report = until(&load, length + DRAIN, |report| {
            report.started > 0 && report.setup.count >= u64::from(calls)
        })?;
        let standing = system.usage();
        let stood = report.live.min(report.setup.count);
        self.progress.say(&format!(
            "{}: {stood} calls stand at {rate:.0}/s, {} failed, {:.0} octets each",
            self.scenario.name,
            report.failed(),
            standing.resident_bytes.saturating_sub(before.resident_bytes) as f64
                / stood.max(1) as f64,
        ));
        if report.failed() > 0 || stood < u64::from(calls) {
            return Ok(Err(words("set up", calls, &report)));
        }
        load.release(release_rate)?;
        let time = Duration::from_secs_f64(f64::from(calls) / release_rate) + DRAIN;
        let ended = until(&load, time, |report| !report.running)?;
        let cpu = system.usage().cpu.saturating_sub(before.cpu);
        if ended.failed() > 0 || ended.running || ended.completed < u64::from(calls) {
            return Ok(Err(words("released", calls, &ended)));
        }
        Ok(Ok(Stood {
            calls,
            rate,
            grown_bytes: standing.resident_bytes.saturating_sub(before.resident_bytes),
            resident_bytes: standing.resident_bytes,
            cpu_us_per_call: cpu.as_secs_f64() * 1e6 / f64::from(calls),
            report: ended,
        }))
    }
}

fn words(what: &str, calls: u32, report: &Report) -> String {
    format!(
        "not all of {calls} calls were {what}: {} set up, {} ended well, {} failed{}",
        report.setup.count,
        report.completed,
        report.failed(),
        report.examples.first().map(|first| format!(" ({first})")).unwrap_or_default(),
    )
}

/// The report once it is as `wanted`, or after `limit`.
fn until(load: &Load, limit: Duration, wanted: impl Fn(&Report) -> bool) -> anyhow::Result<Report> {
    let end = Instant::now() + limit;
    loop {
        let report = load.report()?;
        if wanted(&report) || Instant::now() > end {
            return Ok(report);
        }
        std::thread::sleep(POLL);
    }
}

/// Memory that could be had.
fn free_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kb = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kb.unwrap_or_default() * 1_024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_run_of_ims_aka_asks_for_85_000_calls_and_others_for_what_was_published() {
        let asked = |quick| -> Vec<u32> {
            SCENARIOS.iter().map(|it| it.first(Some(50_000.0), quick)).collect()
        };
        assert_eq!(asked(false), [50_000, 50_000, 50_000, 85_000]);
        assert_eq!(asked(true), [50_000; 4]);
    }

    #[test]
    fn every_published_row_is_measured() {
        let report = published::sbc();
        for row in &report.table(NAME).unwrap().rows {
            let is_it = |it: &Scenario| it.name == row.scenario;
            assert!(SCENARIOS.iter().any(is_it), "{}", row.scenario);
        }
    }
}
