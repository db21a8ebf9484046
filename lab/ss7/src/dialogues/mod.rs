//! `map-sri-for-sm` and `cap-call-monitoring`: the report's roles as processes.
//!
//! ```text
//!   generator ─ Unix socket ─ gateway 4 ══ SCTP in UDP, or TCP ══ gateway 3 ─ HLR, gsmSCF
//!   the lab                   core 0                             core 1      the lab
//! ```
//! The generator and who answers are applications of `clients/rust` in the lab's own process, so
//! that what the gateways use is theirs alone. jSS7 is its own generator, over TCP.

mod flow;
mod generator;
mod nodes;
mod peer;

use crate::dialogues::flow::Flow;
use crate::dialogues::generator::{Found, Generator, Load, Pace};
use crate::dialogues::nodes::{Carrier, FAR, Nodes, Used};
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
/// Octets a standing call may take.
const STANDING_BAR: f64 = 512.0;

/// One of the two experiments.
struct Experiment {
    name: &'static str,
    flow: Flow,
    /// Dialogues a second in the report.
    per_s: f64,
    /// Times its rate jSS7's should be ours at least.
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
    let before = (Instant::now(), nodes.used());
    let mut after = before;
    let found = generator.run(&mut || after = (Instant::now(), nodes.used()))?;
    let seconds = (after.0 - before.0).as_secs_f64();
    let each = |of: fn(&Usage, &Usage, f64) -> f64| -> [f64; 2] {
        let both: Vec<f64> =
            before.1.iter().zip(&after.1).map(|(old, new)| of(old, new, seconds)).collect();
        [both[0], both[1]]
    };
    let cpu = each(|old, new, seconds| (new.cpu - old.cpu).as_secs_f64() / seconds * 100.0);
    let resident = resident(&after.1);
    Ok(Measured { found, cpu, resident })
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

/// Seconds of a closed loop, and of an open one: before it is measured, and while it is.
fn spans(experiment: &Experiment, options: &Options) -> [(Duration, Duration); 2] {
    let seconds = |warm, measured| (Duration::from_secs(warm), Duration::from_secs(measured));
    // A call has ended once before what is measured begins.
    let pauses = match experiment.flow {
        Flow::Call(answer, release) => (answer + release).as_secs(),
        Flow::Routing => 0,
    };
    match (options.quick, options.plane.full) {
        (true, _) => [seconds(1, 4), seconds(1 + pauses, 6)],
        (false, false) => [seconds(5, 20), seconds(5 + pauses, 60)],
        (false, true) => [seconds(60, 60), seconds(600, 7_200)],
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
    let load = |flow, pace, (warm, measured)| Load { flow, pace, warm, measured };
    let most = load(experiment.flow.at_once(), Pace::Window(WINDOW), closed);
    let most = measure(&nodes, most)?;
    let paced = measure(&nodes, load(experiment.flow, Pace::PerSecond(experiment.per_s), open))?;
    drop(nodes);
    let paced_detail = json!({
        "per_s": paced.found.per_s.round(), "failed": paced.found.failed,
        "why": paced.found.why, "asked_per_s": experiment.per_s,
    });
    let values = [
        (
            most.found.per_s,
            json!({ "window": WINDOW, "failed": most.found.failed,
            "cpu": most.cpu, "ms": times(&most.found.sent) }),
        ),
        (paced.cpu[1], json!({ "nodes": paced.cpu, "load": paced_detail })),
        (paced.resident[1] as f64 / 1e6, json!({ "nodes": paced.resident })),
        (
            *times(&paced.found.sent).last().unwrap_or(&0.0),
            json!({
                "ms": times(&paced.found.sent), "ms_from_due": times(&paced.found.due),
                "bar": [0.7, 2.0],
            }),
        ),
    ];
    for (published, (value, detail)) in table.rows.iter().zip(values) {
        let mut row = table.absent(published, "");
        (row.tandem, row.detail) = (Some(value), detail);
        outcome.rows.push(row);
    }
    for (what, found) in [("closed loop", &most.found), ("the report's rate", &paced.found)] {
        check(what, found, outcome);
    }
    Ok(())
}

fn check(what: &str, found: &Found, outcome: &mut Outcome) {
    if found.failed > 0 {
        let why = found.why.as_deref().unwrap_or("no answer");
        outcome.broken.push(format!("{what}: {} failed: {why}", found.failed));
    }
}

/// Rows over TCP, beside two ends of jSS7 in the same run.
fn beside(experiment: &Experiment, options: &Options, outcome: &mut Outcome) -> anyhow::Result<()> {
    let [(warm, measured), open] = spans(experiment, options);
    let nodes = Nodes::start(&options.tandem, Carrier::Tcp)?;
    let flow = experiment.flow.at_once();
    let most = measure(&nodes, Load { flow, pace: Pace::Window(WINDOW), warm, measured })?;
    let pace = Pace::PerSecond(experiment.per_s);
    let paced = measure(&nodes, Load { flow, pace, warm: open.0, measured: open.1 })?;
    drop(nodes);
    let seconds = measured.as_secs();
    let peer =
        [0, experiment.per_s as u64].map(|rate| peer::load(flow.name(), rate, seconds, WINDOW));
    let [peer_most, peer_paced] = peer;
    let name = "jSS7 8.0.112, its own generator";
    let row = |scenario: &str,
               unit: &str,
               tandem: f64,
               of: &anyhow::Result<Value>,
               value: f64,
               mut detail: Value| {
        match of {
            Ok(found) => detail["peer"] = found.clone(),
            Err(why) => detail["peer"] = json!(format!("{why:#}")),
        }
        let peer = of.is_ok().then(|| Peer { name: name.into(), value });
        let (scenario, unit) = (scenario.to_owned(), unit.to_owned());
        Row { scenario, unit, published: None, peer, tandem: Some(tandem), detail }
    };
    let number = |of: &anyhow::Result<Value>, path: &str| {
        of.as_ref().ok().and_then(|it| it.pointer(path)?.as_f64()).unwrap_or_default()
    };
    let rate = number(&peer_most, "/per_s");
    outcome.rows.push(row(
        "rate over TCP",
        "dialogues/s",
        most.found.per_s,
        &peer_most,
        rate,
        json!({ "bar": experiment.bar, "ratio": most.found.per_s / rate.max(1.0),
            "window": WINDOW, "cpu": most.cpu, "failed": most.found.failed }),
    ));
    let p99 = *times(&paced.found.due).last().unwrap_or(&0.0);
    outcome.rows.push(row(
        "p99 over TCP at the report's rate, from when it was due",
        "ms",
        p99,
        &peer_paced,
        number(&peer_paced, "/ms/4"),
        json!({ "bar": 2.0, "ms": times(&paced.found.due), "cpu": paced.cpu,
            "failed": paced.found.failed, "per_s": paced.found.per_s }),
    ));
    check("over TCP", &most.found, outcome);
    check("over TCP at the report's rate", &paced.found, outcome);
    Ok(())
}

/// What a call that stands takes in each gateway.
fn standing(
    experiment: &Experiment,
    options: &Options,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let nodes = Nodes::start(&options.tandem, Carrier::Sctp)?;
    let (warm, measured) = (Duration::ZERO, Duration::from_secs(300));
    let few = Load { flow: experiment.flow, pace: Pace::Standing(1_000), warm, measured };
    measure(&nodes, few)?;
    let before = resident(&nodes.used());
    let pace = Pace::Standing(STANDING);
    let all = measure(&nodes, Load { pace, ..few })?;
    let octets = |at: usize| (all.resident[at].saturating_sub(before[at])) as f64 / STANDING as f64;
    let most = octets(0).max(octets(1));
    let mb = all.resident.iter().max().copied().unwrap_or_default() as f64 / 1e6;
    let detail = |bar: f64| {
        json!({ "bar": bar, "calls": STANDING, "octets": [octets(0), octets(1)],
            "resident": all.resident, "failed": all.found.failed })
    };
    for (scenario, unit, value, bar) in [
        ("octets a standing call", "octets", most, STANDING_BAR),
        ("resident with 420,000 calls", "MB", mb, 240.0),
    ] {
        let mut row = Row::absent(scenario, unit, None, "");
        (row.tandem, row.detail) = (Some(value), detail(bar));
        outcome.rows.push(row);
    }
    check("calls that stand", &all.found, outcome);
    Ok(())
}
