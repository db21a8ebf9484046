//! `ddos`: the call rate under floods of forged sources, Table 6 of the report.
//!
//! | what | how |
//! |---|---|
//! | place | namespaces and veth pairs of its own ([`testbed`]); needs root |
//! | good load | calls of one registered address, open loop, both ends on core 1 |
//! | attack | `tandem lab attack` on core 1 at low priority, as fast as the veth takes it |
//! | under test | the SSC on core 0, calls from registered callers only, no capture |
//! | beside it | the same floods with `kernel = "off"`: the shield in user space alone |
//! | peer | Kamailio: it serves the callers' address; `pike` and a list of banned ones for others |
//! | criterion | calls within 2 % of those without attack; none fails from 1 s after it began |

pub mod testbed;

use super::topology::{Load, Topology};
use anyhow::Context;
use peers::{Priority, Process, ProcessSpec};
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, PublishedRow, Table};
use runtime::Transport;
use serde_json::{Value, json};
use sip_load::{Ladder, Report, Trial};
use std::fs;
use std::time::{Duration, Instant};
use testbed::{EVIL, Registrar, SUT_MAC, Target, Testbed};

const NAME: &str = "ddos";
/// Good calls a second.
const RATE: f64 = 2_000.0;
/// Good calls run alone for this long before the flood begins.
const LEAD: Duration = Duration::from_secs(1);
/// From this time after the flood began no good call may fail.
const GRACE: Duration = Duration::from_secs(1);
/// What still runs this long after the last call was due to end has failed.
const DRAIN: Duration = Duration::from_millis(2_500);
const HOLD: Duration = Duration::from_millis(200);
/// The flood of the run before is forgotten after this long.
const CALM: Duration = Duration::from_millis(5_500);
/// Share of the calls without attack that must be held.
const HELD_SHARE: f64 = 0.98;
/// More than any veth takes.
const ATTACK_RATE: &str = "2000000";
const SOURCES: &str = "198.18.0.0/15";

const GUARD: &str = "XDP; what it lets pass is policed by the SSC's shield";

struct Scenario {
    name: &'static str,
    word: &'static str,
    /// Whether the SSC itself sees it.
    is_sip: bool,
    /// Who holds it off.
    guard: &'static str,
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "INVITE flood", word: "invite", is_sip: true, guard: GUARD },
    Scenario { name: "REGISTER flood", word: "register", is_sip: true, guard: GUARD },
    Scenario {
        name: "ICMP echo flood",
        word: "icmp",
        is_sip: false,
        guard: "XDP; what it lets pass, the kernel answers before any socket sees it",
    },
    Scenario {
        name: "TCP SYN flood",
        word: "syn",
        is_sip: false,
        guard: "XDP; what it lets pass meets SYN cookies once the listener's queue is full",
    },
];

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up although there may be namespaces.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let _priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).context("the published table is part of the program")?;
    let wanted: Vec<&PublishedRow> =
        table.rows.iter().filter(|row| options.wants(&row.scenario)).collect();
    let testbed = match Testbed::new() {
        Ok(testbed) => testbed,
        Err(error) => return Ok(Outcome::without_namespaces(NAME, table, options, &error)),
    };
    // A thread of its own, for it moves into a namespace and nobody else shall.
    let rows = std::thread::scope(|scope| {
        let inside = scope.spawn(|| -> anyhow::Result<Vec<Row>> {
            attack::enter(testbed.good.name())?;
            inside(options, table, &wanted, &testbed)
        });
        inside.join().unwrap_or_else(|_| anyhow::bail!("the measuring thread failed"))
    })?;
    let broken = rows.iter().flat_map(violations).collect();
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

/// Everything that happens in the generator's namespace.
fn inside(
    options: &Options,
    table: &Table,
    wanted: &[&PublishedRow],
    testbed: &Testbed,
) -> anyhow::Result<Vec<Row>> {
    let progress = Progress::new(NAME, 1 + 3 * wanted.len() as u64);
    let topology = testbed::topology()?;
    let registrar = Registrar::start()?;
    let known = |row: &&PublishedRow| SCENARIOS.iter().find(|s| s.name == row.scenario);
    let scenarios: Vec<&Scenario> = wanted.iter().filter_map(known).collect();
    let lengths = if options.quick { [3, 4] } else { [11, 21] }.map(Duration::from_secs);
    let compared = |name: &str, target: Target| -> anyhow::Result<Vec<Value>> {
        progress.say(name);
        let run = Run::start(options, testbed, &topology, target, lengths[0])?;
        let mut rows = Vec::new();
        for scenario in &scenarios {
            // A quick run's minute has no room for more.
            let is_run = scenario.is_sip || !options.quick;
            let done = is_run.then(|| run.flooded(scenario)).transpose()?;
            rows.push(done.map_or(Value::Null, |flooded| flooded.brief(lengths[0])));
            progress.step();
        }
        Ok(rows)
    };
    let peer = testbed::kamailio(testbed, &topology)?;
    let version = peer.version.clone();
    let peer = compared(&version, Target::Peer(peer))?;
    let tandem = |kernel| testbed::tandem(testbed, &topology, &options.tandem, kernel);
    let without = compared("the shield in user space alone", tandem("off")?)?;
    let run = Run::start(options, testbed, &topology, tandem("auto")?, lengths[1])?;
    progress.say("without attack");
    let baseline = run.trial(run.length)?;
    progress.step();
    let mut rows = Vec::new();
    for (at, scenario) in scenarios.iter().enumerate() {
        progress.say(scenario.name);
        let mut row = run.row(scenario, table, wanted[at], &baseline)?;
        row.detail["without_kernel"] = without[at].clone();
        let held = peer[at]["value"].as_f64();
        row.peer = held.map(|value| Peer { name: version.clone(), value });
        row.detail["peer"] = peer[at].clone();
        rows.push(row);
        progress.step();
        if scenarios.get(at + 1).is_some_and(|next| next.is_sip) {
            std::thread::sleep(CALM);
        }
    }
    let passed = registrar.stop();
    for row in &mut rows {
        row.detail["registers_at_the_core_in_the_whole_run"] = json!(passed);
    }
    Ok(rows)
}

/// What all trials share.
struct Run<'a> {
    options: &'a Options,
    testbed: &'a Testbed,
    topology: &'a Topology,
    target: Target,
    load: Load,
    length: Duration,
}

/// One trial with its attack.
struct Flooded {
    report: Report,
    /// Failures when the grace was over.
    failed_in_grace: u64,
    attack: attack::Report,
    /// What the shield shows: the shard's row, and the kernel's.
    shield: Value,
    kernel: Value,
    cpu_share: f64,
}

impl Flooded {
    /// The figures of a run that is compared.
    fn brief(&self, length: Duration) -> Value {
        let Self { report, failed_in_grace, attack, cpu_share, .. } = self;
        json!({
            "value": report.completed as f64 / length.as_secs_f64(),
            "attack_packets_s": attack.frames_per_s,
            "failed_in_first_second": failed_in_grace,
            "failed_after": report.failed().saturating_sub(*failed_in_grace),
            "setup_p99_us": report.setup.p99_us,
            "cpu_share": cpu_share,
        })
    }
}

impl<'a> Run<'a> {
    /// The generator before a fresh system, both warm.
    fn start(
        options: &'a Options,
        testbed: &'a Testbed,
        topology: &'a Topology,
        target: Target,
        length: Duration,
    ) -> anyhow::Result<Self> {
        if matches!(target, Target::Tandem(_)) {
            testbed::register(topology)?;
        }
        let load = Load::start_without_sink(topology, Ladder::built_in("SIP")?, Transport::Udp)?;
        let run = Self { options, testbed, topology, target, load, length };
        run.trial(Duration::from_secs(1))?;
        Ok(run)
    }

    fn trial(&self, length: Duration) -> anyhow::Result<Report> {
        let trial = Trial { rate: RATE, length, hold: HOLD, ..Trial::default() };
        self.load.run(trial, DRAIN, 0)
    }

    fn flooded(&self, scenario: &Scenario) -> anyhow::Result<Flooded> {
        let seconds = (self.length - LEAD).as_secs();
        let (before, began) = (self.target.cpu(), Instant::now());
        let dropped = self.target.policing()?[1].clone();
        std::thread::scope(|scope| {
            let calls = scope.spawn(|| self.trial(self.length));
            std::thread::sleep(LEAD);
            let mut attacker = self.attacker(scenario, seconds)?;
            std::thread::sleep(GRACE);
            let failed_in_grace = self.load.report()?.failed();
            attacker.wait(Duration::from_secs(seconds + 5))?;
            let used = self.target.cpu().saturating_sub(before).as_secs_f64();
            let cpu_share = used / began.elapsed().as_secs_f64();
            let shown = self.target.policing()?;
            let (shield, kernel) = (shown[0].clone(), since(&shown[1], &dropped));
            let said = fs::read_to_string(self.topology.directory().join("attack.log"))?;
            let attack = serde_json::from_str(said.lines().last().unwrap_or_default())
                .with_context(|| format!("the attacker says: {said}"))?;
            let report = calls.join().map_err(|_| anyhow::anyhow!("the generator failed"))??;
            Ok(Flooded { report, failed_in_grace, attack, shield, kernel, cpu_share })
        })
    }

    fn attacker(&self, scenario: &Scenario, seconds: u64) -> anyhow::Result<Process> {
        let program = self.options.tandem.to_string_lossy().into_owned();
        let (target, time) = (self.topology.access.to_string(), seconds.to_string());
        let mut spec = ProcessSpec::new("attack", "nice", self.topology.directory());
        spec.core = Some(Topology::cores().1);
        spec.namespace = Some(self.testbed.evil.name().to_owned());
        // Attacker and generator share a core: the attacker takes what the generator leaves.
        let words = ["-n", "39", &program];
        let attack = ["lab", "attack", scenario.word, "--interface", EVIL, "--to", &target];
        let how = ["--mac", SUT_MAC, "--rate", ATTACK_RATE, "--seconds", &time];
        let sources = ["--sources", SOURCES, "--json"];
        spec = spec.with(words).with(attack).with(how).with(sources);
        Process::start(&spec)
    }

    fn row(
        &self,
        scenario: &Scenario,
        table: &Table,
        published: &PublishedRow,
        baseline: &Report,
    ) -> anyhow::Result<Row> {
        let flooded = self.flooded(scenario)?;
        let Flooded { report, failed_in_grace, attack, shield, kernel, cpu_share } = flooded;
        let seconds = self.length.as_secs_f64();
        let per_s = |report: &Report| report.completed as f64 / seconds;
        let recognised = shield["flood"]["recognised_at_us"].as_u64();
        let recognised_ms =
            recognised.map(|at| at.saturating_sub(attack.began_at_us) as f64 / 1_000.0);
        let note = format!(
            "{:.0} % of the calls without attack; {:.0} Mbit/s, {:.0} packets/s",
            per_s(&report) / per_s(baseline) * 100.0,
            attack.mbit_s,
            attack.frames_per_s,
        );
        let detail = json!({
            "note": note,
            "baseline": per_s(baseline),
            "share_of_baseline": per_s(&report) / per_s(baseline),
            "attack_mbit_s": attack.mbit_s,
            "attack_packets_s": attack.frames_per_s,
            "attack_seconds": attack.seconds,
            "failed_in_first_second": failed_in_grace,
            "failed_after": report.failed().saturating_sub(failed_in_grace),
            "failures": report.failures,
            "examples": report.examples,
            "retransmissions": report.retransmissions,
            "setup_p99_us": report.setup.p99_us,
            "baseline_setup_p99_us": baseline.setup.p99_us,
            "recognised_after_ms": recognised_ms,
            "recognised_as": shield["flood"]["kind"],
            "must_be_recognised": scenario.is_sip,
            "shield": shield,
            "kernel": kernel,
            "cpu_share": cpu_share,
            "held_off_by": scenario.guard,
        });
        Ok(Row {
            scenario: published.scenario.clone(),
            unit: table.unit.clone(),
            published: published.value,
            peer: None,
            tandem: Some(per_s(&report)),
            detail,
        })
    }
}

/// What the kernel counted since an earlier look.
fn since(now: &Value, before: &Value) -> Value {
    let mut row = now.clone();
    for (key, value) in row.as_object_mut().into_iter().flatten() {
        if let (Some(now), Some(before)) = (value.as_u64(), before[key].as_u64()) {
            *value = json!(now.saturating_sub(before));
        }
    }
    row
}

/// What does not hold in a row.
fn violations(row: &Row) -> Vec<String> {
    let number = |key: &str| row.detail[key].as_f64();
    let mut found = Vec::new();
    if number("attack_packets_s").unwrap_or_default() < 1.0 {
        found.push(format!("{}: no attack left", row.scenario));
    }
    let share = number("share_of_baseline").unwrap_or_default();
    if share < HELD_SHARE {
        found.push(format!("{}: {:.1} % of the calls held", row.scenario, share * 100.0));
    }
    let failed = number("failed_after").unwrap_or_default();
    if failed > 0.0 {
        found.push(format!("{}: {failed} calls failed after the first second", row.scenario));
    }
    let late = number("recognised_after_ms").is_none_or(|ms| ms >= 1_000.0);
    if row.detail["must_be_recognised"] == true && late {
        found.push(format!("{}: not recognised within a second", row.scenario));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_judged_by_its_own_figures() {
        let detail = json!({
            "attack_packets_s": 1e5, "share_of_baseline": 0.995, "failed_after": 0,
            "recognised_after_ms": 12.0, "must_be_recognised": true,
        });
        let row = |change: &[(&str, Value)]| {
            let mut row = Row::absent("REGISTER flood", "calls/s", None, "");
            row.detail = detail.clone();
            for (key, value) in change {
                row.detail[*key] = value.clone();
            }
            violations(&row)
        };
        assert!(row(&[]).is_empty());
        assert_eq!(row(&[("share_of_baseline", json!(0.97))]).len(), 1);
        assert_eq!(row(&[("failed_after", json!(1))]).len(), 1);
        assert_eq!(row(&[("recognised_after_ms", json!(1_500.0))]).len(), 1);
        assert_eq!(row(&[("recognised_after_ms", Value::Null)]).len(), 1);
        assert_eq!(row(&[("attack_packets_s", json!(0.0))]).len(), 1);
    }
}
