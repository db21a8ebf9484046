//! `map-sri-for-sm` and `cap-call-monitoring`: the report's roles as processes.
//!
//! ```text
//!   generator ─ Unix socket ─ gateway 4 ══ SCTP in UDP, or TCP ══ gateway 3 ─ HLR, gsmSCF
//!   core 0, the lab           core 0                             core 1      core 1, the lab
//! ```
//! The generator and who answers are applications of `clients/rust` in the lab's own process, so
//! that what the gateways use is theirs alone; each is on the core of its gateway, and writes and
//! reads every parameter by the types of MAP and CAP. jSS7 is its own generator, over TCP: who asks
//! on the one core, who answers on the other.

pub mod failover;
mod flow;
mod generator;
mod nodes;
mod peer;

use crate::dialogues::flow::{Counts, Flow};
use crate::dialogues::generator::{Found, Generator, Load, Pace, Span};
use crate::dialogues::nodes::{Carrier, FAR, Nodes, Used, core};
use crate::dialogues::peer::Ends;
use hdrhistogram::Histogram;
use m3ua::codec::PointCode;
use peers::Usage;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, Table};
use sccp::codec::Address;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Dialogues at once of a closed loop.
const WINDOW: usize = 256;
/// The parts of the times that the report prints.
const PARTS: [f64; 5] = [0.5, 0.75, 0.9, 0.95, 0.99];
/// Calls that stand in the report: 6,000 a second for 70 s.
const STANDING: usize = 420_000;
/// Calls that stand before what others take is counted: buffers have their size then.
const STANDING_BEFORE: usize = 1_000;
/// Octets a standing call may take, and megabytes that a gateway has resident with all of them.
const STANDING_BAR: f64 = 512.0;
const RESIDENT_BAR: f64 = 240.0;

/// One of the two experiments.
struct Experiment {
    name: &'static str,
    flow: Flow,
    /// Dialogues a second in the report.
    per_s: f64,
    /// How many times the rate of jSS7 ours should be at least.
    bar: f64,
}

/// Runs sendRoutingInfoForSM.
///
/// # Errors
/// When the gateways do not come up.
pub fn routing(options: &Options) -> anyhow::Result<Outcome> {
    let (name, flow) = ("map-sri-for-sm", Flow::Routing);
    run(&Experiment { name, flow, per_s: 20_000.0, bar: 3.0 }, options)
}

/// Runs the monitoring of calls. They pause 10 s and 60 s, a tenth of it when it is quick.
///
/// # Errors
/// When the gateways do not come up.
pub fn calls(options: &Options) -> anyhow::Result<Outcome> {
    let part = if options.quick { 10 } else { 1 };
    let flow = Flow::Call(Duration::from_secs(10) / part, Duration::from_secs(60) / part);
    let name = "cap-call-monitoring";
    run(&Experiment { name, flow, per_s: 6_000.0, bar: 3.0 }, options)
}

/// What one load on a pair of gateways found.
struct Measured {
    found: Found,
    /// Processor time a second, hundredths of a core, and octets resident: who asks, who answers.
    cpu: [f64; 2],
    resident: [u64; 2],
    /// What who answers has counted.
    heard: Counts,
}

impl Flow {
    /// Without its pauses: a closed loop asks for nothing but rate.
    const fn at_once(self) -> Self {
        match self {
            Self::Call(..) => Self::Call(Duration::ZERO, Duration::ZERO),
            other => other,
        }
    }
}

fn measure(nodes: &Nodes, load: Load) -> anyhow::Result<Measured> {
    let far = Address::subsystem(PointCode::new(FAR), load.flow.subsystem());
    let generator = Generator::new(&nodes.socket(), far, load)?;
    let earlier = nodes.heard();
    let heard = || nodes.heard().since(earlier);
    let mut marks = Vec::new();
    let mut mark = || marks.push((Instant::now(), nodes.used()));
    let found = peers::pinned(core(false), || {
        generator.run(&mut mark, &|said: &Counts| *said == heard())
    })??;
    let [before, after] = marks.as_slice() else { anyhow::bail!("the load was not measured") };
    let seconds = (after.0 - before.0).as_secs_f64();
    let each = |of: fn(&Usage, &Usage, f64) -> f64| -> [f64; 2] {
        let both: Vec<f64> =
            before.1.iter().zip(&after.1).map(|(old, new)| of(old, new, seconds)).collect();
        [both[0], both[1]]
    };
    let cpu = each(|old, new, seconds| (new.cpu - old.cpu).as_secs_f64() / seconds * 100.0);
    let resident = resident(&after.1);
    Ok(Measured { found, cpu, resident, heard: heard() })
}

fn resident(used: &Used) -> [u64; 2] {
    [used[0].resident_bytes, used[1].resident_bytes]
}

fn times(of: &Histogram<u64>) -> Vec<f64> {
    PARTS.iter().map(|part| of.value_at_quantile(*part) as f64 / 1e3).collect()
}

fn run(experiment: &Experiment, options: &Options) -> anyhow::Result<Outcome> {
    let report = published::ss7();
    let table = report.table(experiment.name).cloned();
    let table = table.ok_or_else(|| anyhow::anyhow!("{} has no table", experiment.name))?;
    let mut outcome = Outcome {
        experiment: experiment.name,
        host: host::describe(),
        rows: Vec::new(),
        broken: Vec::new(),
    };
    let progress = Progress::new(experiment.name, 4);
    progress.say("over SCTP, as in the report");
    own(experiment, options, &table, &mut outcome)?;
    progress.step();
    progress.say("over TCP, beside jSS7");
    beside(experiment, options, &mut outcome)?;
    progress.step();
    if let Flow::Call(..) = experiment.flow {
        progress.say("calls that stand");
        standing(experiment, options, &mut outcome)?;
    }
    progress.step();
    Ok(outcome)
}

/// A closed loop, and an open one.
fn spans(experiment: &Experiment, options: &Options) -> [Span; 2] {
    let span = |warm, measured| Span {
        warm: Duration::from_secs(warm),
        measured: Duration::from_secs(measured),
    };
    // A call has ended once before what is measured begins.
    let pauses = match experiment.flow {
        Flow::Call(answer, release) => (answer + release).as_secs(),
        Flow::Routing => 0,
    };
    match (options.quick, options.plane.full) {
        (true, _) => [span(1, 4), span(1 + pauses, 6)],
        (false, false) => [span(5, 20), span(5 + pauses, 60)],
        (false, true) => [span(60, 60), span(600, 7_200)],
    }
}

/// The report's rows, over our SCTP.
fn own(
    experiment: &Experiment,
    options: &Options,
    table: &Table,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let [closed, open] = spans(experiment, options);
    let nodes = Nodes::start(&options.tandem, Carrier::Sctp)?;
    let load = |flow, pace, span| Load { flow, pace, span };
    let most = load(experiment.flow.at_once(), Pace::Window(WINDOW), closed);
    let most = measure(&nodes, most)?;
    let paced = measure(&nodes, load(experiment.flow, Pace::PerSecond(experiment.per_s), open))?;
    drop(nodes);
    let paced_detail = json!({
        "per_s": paced.found.per_s.round(), "failed": paced.found.failed,
        "unbegun": paced.found.unbegun, "why": paced.found.why, "asked_per_s": experiment.per_s,
    });
    let values = [
        (
            "rate",
            most.found.per_s,
            json!({ "window": WINDOW, "failed": most.found.failed, "cpu": most.cpu,
                "note": "a closed loop: calls do not pause, and so many stand as the window has",
                "ms": times(&most.found.sent) }),
        ),
        ("CPU a node", paced.cpu[1], json!({ "nodes": paced.cpu, "load": paced_detail })),
        ("heap a node", paced.resident[1] as f64 / 1e6, json!({ "nodes": paced.resident })),
        (
            "response p50/p75/p90/p95/p99",
            *times(&paced.found.sent).last().unwrap_or(&0.0),
            json!({
                "ms": times(&paced.found.sent), "ms_from_due": times(&paced.found.due),
                "bar": [0.7, 2.0],
            }),
        ),
    ];
    anyhow::ensure!(table.rows.len() == values.len(), "{} has other rows", experiment.name);
    for (scenario, value, detail) in values {
        let mut row = table.absent(table.row(scenario)?, "");
        (row.tandem, row.detail) = (Some(value), detail);
        outcome.rows.push(row);
    }
    check("closed loop", &most, outcome);
    check("the report's rate", &paced, outcome);
    Ok(())
}

fn check(what: &str, of: &Measured, outcome: &mut Outcome) {
    let wrongs = wrongs(&of.found, &of.heard);
    outcome.broken.extend(wrongs.into_iter().map(|wrong| format!("{what}: {wrong}")));
}

/// What did not hold of a load: who asks, beside who answers.
fn wrongs(found: &Found, heard: &Counts) -> Vec<String> {
    let mut wrongs = Vec::new();
    if found.failed > 0 {
        let why = found.why.as_deref().unwrap_or("no answer");
        wrongs.push(format!("{} failed: {why}", found.failed));
    }
    if found.unbegun > 0 {
        wrongs.push(format!("the rate was not reached: {} were not begun", found.unbegun));
    }
    if found.counts.answered == 0 {
        wrongs.push("nothing was answered".to_owned());
    }
    if found.counts != *heard {
        wrongs.push(format!("who asks counts {:?}, who answers {heard:?}", found.counts));
    }
    wrongs
}

/// Rows over TCP, beside two ends of jSS7 in the same run, which measure as long.
fn beside(experiment: &Experiment, options: &Options, outcome: &mut Outcome) -> anyhow::Result<()> {
    let [span, _] = spans(experiment, options);
    let nodes = Nodes::start(&options.tandem, Carrier::Tcp)?;
    let flow = experiment.flow.at_once();
    let most = measure(&nodes, Load { flow, pace: Pace::Window(WINDOW), span })?;
    let pace = Pace::PerSecond(experiment.per_s);
    let paced = measure(&nodes, Load { flow, pace, span })?;
    drop(nodes);
    let mut peer = |rate: u64| -> Result<Value, String> {
        let ends = Ends::start(flow.name(), rate, span, WINDOW);
        let (line, wrongs) = match ends.map_err(|why| format!("{why:#}"))?.load() {
            Ok(found) => found,
            Err(why) => (Value::Null, vec![format!("{why:#}")]),
        };
        if wrongs.is_empty() {
            return Ok(line);
        }
        outcome.broken.extend(wrongs.iter().map(|wrong| format!("jSS7: {wrong}")));
        Err(wrongs.join("; "))
    };
    let (peer_most, peer_paced) = (peer(0), peer(experiment.per_s as u64));
    let detail = json!({ "window": WINDOW, "cpu": most.cpu, "failed": most.found.failed });
    let mut row = row("rate over TCP, without pauses", "dialogues/s", most.found.per_s, detail);
    beside_rate(&mut row, peer_most, experiment.bar);
    outcome.rows.push(row);
    let p99 = *times(&paced.found.due).last().unwrap_or(&0.0);
    let detail = json!({ "bar": 2.0, "ms": times(&paced.found.due), "cpu": paced.cpu,
        "failed": paced.found.failed, "per_s": paced.found.per_s });
    let name = "p99 over TCP at the report's rate, without pauses, from when it was due";
    let mut row = self::row(name, "ms", p99, detail);
    beside_paced(&mut row, peer_paced);
    outcome.rows.push(row);
    check("over TCP", &most, outcome);
    check("over TCP at the report's rate", &paced, outcome);
    Ok(())
}

fn row(scenario: &str, unit: &str, tandem: f64, detail: Value) -> Row {
    let mut row = Row::absent(scenario, unit, None, "");
    (row.tandem, row.detail) = (Some(tandem), detail);
    row
}

/// Puts a number of jSS7's line beside ours, or why there is none; the number.
fn put_peer(row: &mut Row, line: Result<Value, String>, path: &str) -> Option<f64> {
    let line = match line {
        Ok(line) => line,
        Err(why) => {
            row.detail["peer"] = why.into();
            return None;
        }
    };
    let value = line.pointer(path).and_then(Value::as_f64).filter(|it| *it > 0.0);
    row.detail["peer"] = line;
    let name = "jSS7 8.0.112, its own generator";
    row.peer = value.map(|value| Peer { name: name.into(), value });
    value
}

/// The ratio and whether it is the bar's at least; neither without a peer.
fn beside_rate(row: &mut Row, line: Result<Value, String>, bar: f64) {
    row.detail["bar"] = bar.into();
    let (ours, theirs) = (row.tandem, put_peer(row, line, "/per_s"));
    if let (Some(ours), Some(theirs)) = (ours, theirs) {
        row.detail["ratio"] = (ours / theirs).into();
        row.detail["held"] = (ours >= bar * theirs).into();
    }
}

/// Times of a rate that jSS7 does not reach are no peer's.
fn beside_paced(row: &mut Row, line: Result<Value, String>) {
    let unbegun = |line: &Value| line.get("unbegun").and_then(Value::as_u64).unwrap_or(0);
    match line {
        Ok(line) if unbegun(&line) > 0 => {
            row.detail["peer"] = line;
            row.detail["why"] = "jSS7 does not reach the rate here".into();
        }
        line => {
            put_peer(row, line, "/ms/4");
        }
    }
}

/// What a call that stands takes in each gateway.
fn standing(
    experiment: &Experiment,
    options: &Options,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let nodes = Nodes::start(&options.tandem, Carrier::Sctp)?;
    let span = Span { warm: Duration::ZERO, measured: Duration::from_secs(300) };
    let pace = Pace::Standing(STANDING_BEFORE);
    let few = Load { flow: experiment.flow, pace, span };
    let first = measure(&nodes, few)?;
    let before = resident(&nodes.used());
    let pace = Pace::Standing(STANDING);
    let all = measure(&nodes, Load { pace, ..few })?;
    let stand = all.found.counts.answered;
    let octets =
        |at: usize| (all.resident[at].saturating_sub(before[at])) as f64 / stand.max(1) as f64;
    let most = octets(0).max(octets(1));
    let mb = all.resident.iter().max().copied().unwrap_or_default() as f64 / 1e6;
    for (scenario, unit, value, bar) in [
        ("octets a standing call", "octets", most, STANDING_BAR),
        ("resident with 420,000 calls", "MB", mb, RESIDENT_BAR),
    ] {
        let detail = json!({ "bar": bar, "calls": stand, "octets": [octets(0), octets(1)],
            "resident": all.resident, "failed": all.found.failed });
        outcome.rows.push(row(scenario, unit, value, detail));
        if value > bar {
            outcome.broken.push(format!("{scenario}: {value:.0} {unit}, at most {bar:.0}"));
        }
    }
    for (what, of, count) in [
        ("the first calls that stand", &first, STANDING_BEFORE),
        ("calls that stand", &all, STANDING),
    ] {
        check(what, of, outcome);
        let stand = of.found.counts.answered;
        if stand != count as u64 {
            outcome.broken.push(format!("{what}: {stand} of {count} were answered"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: Result<Value, String>) -> Row {
        let mut row = row("rate", "dialogues/s", 60_000.0, json!({}));
        beside_rate(&mut row, line, 3.0);
        row
    }

    #[test]
    fn there_is_no_ratio_without_a_peer() {
        for line in [Err("no java".to_owned()), Ok(json!({ "per_s": 0 })), Ok(json!({}))] {
            let row = one(line);
            assert!(row.detail.get("ratio").is_none() && row.peer.is_none(), "{row:?}");
        }
        let row = one(Ok(json!({ "per_s": 30_000 })));
        let peer = row.peer.as_ref().map(|it| it.value);
        assert_eq!((&row.detail["ratio"], peer), (&json!(2.0), Some(30_000.0)), "{row:?}");
        assert_eq!(row.detail["held"], false);
    }

    #[test]
    fn times_of_a_rate_that_was_not_reached_are_no_peer_s() {
        for (unbegun, peer) in [(0, Some(5.0)), (9, None)] {
            let mut row = row("p99", "ms", 1.0, json!({}));
            let line = json!({ "unbegun": unbegun, "ms": [1.0, 2.0, 3.0, 4.0, 5.0] });
            beside_paced(&mut row, Ok(line));
            assert_eq!(row.peer.map(|it| it.value), peer);
        }
    }

    #[test]
    fn what_one_side_counts_and_the_other_does_not_breaks_a_run() {
        let counts = Counts { answered: 9, reported: 9, released: 9, wrong: 0 };
        let found = || {
            let mut found = Found::new();
            found.counts = counts;
            found
        };
        assert_eq!(wrongs(&found(), &counts), Vec::<String>::new());
        // The far node drops every report, one of them, or an answer; or hears something else.
        for heard in [
            Counts { reported: 0, released: 0, ..counts },
            Counts { released: 8, ..counts },
            Counts { answered: 8, ..counts },
            Counts { wrong: 1, ..counts },
        ] {
            assert_eq!(wrongs(&found(), &heard).len(), 1, "{heard:?}");
        }
        let (mut failed, mut late) = (found(), found());
        (failed.failed, late.unbegun) = (1, 1);
        for found in [failed, late] {
            assert_eq!(wrongs(&found, &counts).len(), 1, "{found:?}");
        }
        assert_eq!(wrongs(&Found::new(), &Counts::default()), ["nothing was answered"]);
    }

    #[test]
    fn the_published_rows_are_those_that_are_rerun() {
        for name in ["map-sri-for-sm", "cap-call-monitoring"] {
            let report = published::ss7();
            let table = report.table(name).expect("it is published");
            let names: Vec<&str> = table.rows.iter().map(|it| &*it.scenario).collect();
            let all = ["rate", "CPU a node", "heap a node", "response p50/p75/p90/p95/p99"];
            assert_eq!(names, all, "{name}");
        }
    }
}
