//! `map-sri-for-sm` and `cap-call-monitoring`: the report's roles as processes.
//!
//! ```text
//!   generator ─ Unix socket ─ gateway 4 ══ SCTP in UDP, or TCP ══ gateway 3 ─ HLR, gsmSCF
//!   core 0, the lab           core 0                             core 1      core 1, the lab
//! ```
//! The generator and who answers are applications of `clients/rust` in the lab's own process, so
//! that what the gateways use is theirs alone; each is on the core of its gateway, and writes and
//! reads every parameter by the types of MAP and CAP. jSS7 is its own generator, over TCP: who asks
//! on the one core, who answers on the other. Beside it the HLR and the gsmSCF are services inside
//! gateway 3, as jSS7 has both in one process.

pub mod commit;
pub mod failover;
mod flow;
mod generator;
mod nodes;
pub mod overload;
mod peer;
mod rows;

use crate::dialogues::flow::{Counts, Flow};
use crate::dialogues::generator::{Found, Generator, Load, Pace, Span, times};
use crate::dialogues::nodes::{Answering, Carrier, FAR, Nodes, Used, core};
use crate::dialogues::peer::Ends;
use crate::dialogues::rows::{Course, Line, at_most, row, spread};
use m3ua::codec::PointCode;
use peers::Usage;
use report::contract::{Options, Outcome};
use report::host;
use report::progress::Progress;
use report::published::{self, Table};
use sccp::codec::Address;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Dialogues at once of a closed loop.
const WINDOW: usize = 256;
/// Runs of which the median counts, where it is not quick.
const RUNS: usize = 5;
/// What the 50th and the 99th part of response times may be, milliseconds.
const P50_BAR: f64 = 0.7;
const P99_BAR: f64 = 2.0;
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
    /// What who answers has counted, and what it should have.
    heard: Counts,
    /// What both have used over time.
    course: Course,
}

/// A run beside jSS7: as much as can be, and the report's rate.
struct Trial {
    most: Measured,
    paced: Measured,
    peer_most: Line,
    peer_paced: Line,
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
    let agrees = |said: &Counts| nodes.should_hear(*said) == heard();
    let is_over = AtomicBool::new(false);
    let (found, course) = std::thread::scope(|scope| {
        // Looks at what is used take their time: they are not on the way of the load.
        let course = scope.spawn(|| looks(nodes, load.span.sample(), &is_over));
        let over = Over(&is_over);
        let found = peers::pinned(core(false), || generator.run(&mut mark, &agrees));
        drop(over);
        (found, course.join())
    });
    let mut found = found??;
    let course = course.map_err(|_| anyhow::anyhow!("who looks at what is used panicked"))?;
    let [before, after] = marks.as_slice() else { anyhow::bail!("the load was not measured") };
    let seconds = (after.0 - before.0).as_secs_f64();
    let each = |of: fn(&Usage, &Usage, f64) -> f64| -> [f64; 2] {
        let both: Vec<f64> =
            before.1.iter().zip(&after.1).map(|(old, new)| of(old, new, seconds)).collect();
        [both[0], both[1]]
    };
    let cpu = each(|old, new, seconds| (new.cpu - old.cpu).as_secs_f64() / seconds * 100.0);
    let resident = resident(&after.1);
    let heard = heard();
    found.should_hear = nodes.should_hear(found.counts);
    Ok(Measured { found, cpu, resident, heard, course })
}

/// Says in the end that something is over, however it ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What both gateways have used, every so often until it is over.
fn looks(nodes: &Nodes, every: Duration, is_over: &AtomicBool) -> Course {
    let mut course = Vec::new();
    let mut next = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        if Instant::now() >= next {
            course.push((Instant::now(), nodes.used()));
            next += every;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    course
}

fn resident(used: &Used) -> [u64; 2] {
    [used[0].resident_bytes, used[1].resident_bytes]
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
    let runs = Runs::of(options);
    let progress = Progress::new(experiment.name, runs.closed as u64 * 2 + 1);
    own(experiment, options, &table, &progress, &mut outcome)?;
    beside(experiment, options, &progress, &mut outcome)?;
    if let Flow::Call(..) = experiment.flow {
        progress.say("calls that stand");
        standing(experiment, options, &mut outcome)?;
    }
    progress.step();
    Ok(outcome)
}

/// How often loads run.
struct Runs {
    closed: usize,
    /// At the report's rate: of hours there is one.
    open: usize,
}

impl Runs {
    const fn of(options: &Options) -> Self {
        match (options.quick, options.plane.full) {
            (true, _) => Self { closed: 1, open: 1 },
            (false, true) => Self { closed: RUNS, open: 1 },
            (false, false) => Self { closed: RUNS, open: RUNS },
        }
    }
}

/// A closed loop, and an open one.
fn spans(experiment: &Experiment, options: &Options) -> [Span; 2] {
    let seconds = Duration::from_secs;
    let span = |warm, measured| Span::steady(seconds(warm), seconds(measured));
    // A call has ended once before what is measured begins.
    let pauses = match experiment.flow {
        Flow::Call(answer, release) => (answer + release).as_secs(),
        Flow::Routing => 0,
    };
    match (options.quick, options.plane.full) {
        (true, _) => [span(1, 4), span(1 + pauses, 6)],
        (false, false) => [span(5, 20), span(5 + pauses, 60)],
        // The report's: 10 minutes of ramp, 2 hours, 2 minutes of drain.
        (false, true) => {
            let whole = Span { ramp: seconds(600), drain: seconds(120), ..span(0, 7_200) };
            [span(5, 20), whole]
        }
    }
}

/// The report's rows, over our SCTP.
fn own(
    experiment: &Experiment,
    options: &Options,
    table: &Table,
    progress: &Progress,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let ([closed, open], runs) = (spans(experiment, options), Runs::of(options));
    let (mut most, mut paced) = (Vec::new(), Vec::new());
    for run in 0..runs.closed {
        progress.say("over SCTP, as in the report");
        let nodes = Nodes::start(&options.tandem, Carrier::Sctp, Answering::Apart)?;
        let load = |flow, pace, span| Load { flow, pace, span };
        let window = load(experiment.flow.at_once(), Pace::Window(WINDOW), closed);
        most.push(measure(&nodes, window)?);
        if run < runs.open {
            let pace = Pace::PerSecond(experiment.per_s);
            paced.push(measure(&nodes, load(experiment.flow, pace, open))?);
        }
        progress.step();
    }
    put_own(experiment, table, [&most, &paced], outcome)?;
    for (what, runs) in [("closed loop", &most), ("the report's rate", &paced)] {
        runs.iter().for_each(|run| check(what, run, outcome));
    }
    Ok(())
}

/// The report's rows of a closed loop and of the report's rate.
fn put_own(
    experiment: &Experiment,
    table: &Table,
    [most, paced]: [&[Measured]; 2],
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let failed = |runs: &[Measured]| runs.iter().map(|it| it.found.failed).sum::<u64>();
    let paced_detail = json!({
        "per_s": spread(paced, |it| it.found.per_s).median().round(), "failed": failed(paced),
        "unbegun": paced.iter().map(|it| it.found.unbegun).sum::<u64>(),
        "why": paced.iter().find_map(|it| it.found.why.clone()), "asked_per_s": experiment.per_s,
    });
    let ms = rows::parts(paced, |it| &it.found.sent);
    let due = rows::parts(paced, |it| &it.found.due);
    let [p50, .., p99] = ms;
    let p99_runs = spread(paced, |it| times(&it.found.sent)[ms.len() - 1]);
    let values = [
        (
            "rate",
            spread(most, |it| it.found.per_s),
            json!({ "window": WINDOW, "failed": failed(most),
                "cpu": most.iter().map(|it| it.cpu).collect::<Vec<_>>(),
                "note": "a closed loop: calls do not pause, and so many stand as the window has",
                "ms": rows::parts(most, |it| &it.found.sent) }),
        ),
        (
            "CPU a node",
            spread(paced, |it| it.cpu[1]),
            json!({ "nodes": paced.iter().map(|it| it.cpu).collect::<Vec<_>>(),
                "load": paced_detail }),
        ),
        (
            "heap a node",
            spread(paced, |it| it.resident[1] as f64 / 1e6),
            json!({ "nodes": paced.iter().map(|it| it.resident).collect::<Vec<_>>() }),
        ),
        (
            "response p50/p75/p90/p95/p99",
            p99_runs,
            json!({ "ms": ms, "ms_from_due": due, "bar": [P50_BAR, P99_BAR],
                "over_time": paced.last().map(rows::over_time) }),
        ),
    ];
    anyhow::ensure!(table.rows.len() == values.len(), "{} has other rows", experiment.name);
    for (scenario, value, mut detail) in values {
        let mut row = table.absent(table.row(scenario)?, "");
        value.put(&mut detail);
        (row.tandem, row.detail) = (Some(value.median()), detail);
        outcome.rows.push(row);
    }
    at_most(outcome, "response p50", "ms", [p50, P50_BAR]);
    at_most(outcome, "response p99", "ms", [p99, P99_BAR]);
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
    if found.should_hear != *heard {
        wrongs.push(format!("who asks counts {:?}, who answers {heard:?}", found.should_hear));
    }
    wrongs
}

/// Rows beside two ends of jSS7 in the same run, which measure as long: what answers is inside the
/// gateway, as it is there. M3UA over TCP as jSS7 has it, and over our SCTP.
fn beside(
    experiment: &Experiment,
    options: &Options,
    progress: &Progress,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let ([span, _], runs) = (spans(experiment, options), Runs::of(options));
    let (mut tcp, mut sctp) = (Vec::new(), Vec::new());
    for _ in 0..runs.closed {
        progress.say("a service inside, beside jSS7");
        let peer_most = peer(experiment, 0, span, outcome);
        let peer_paced = peer(experiment, experiment.per_s as u64, span, outcome);
        for (carrier, trials) in [(Carrier::Tcp, &mut tcp), (Carrier::Sctp, &mut sctp)] {
            let nodes = Nodes::start(&options.tandem, carrier, Answering::Inside)?;
            let flow = experiment.flow.at_once();
            let most = measure(&nodes, Load { flow, pace: Pace::Window(WINDOW), span })?;
            let pace = Pace::PerSecond(experiment.per_s);
            let paced = measure(&nodes, Load { flow, pace, span })?;
            let (peer_most, peer_paced) = (peer_most.clone(), peer_paced.clone());
            trials.push(Trial { most, paced, peer_most, peer_paced });
        }
        progress.step();
    }
    for (over, trials) in [("TCP", &tcp), ("SCTP", &sctp)] {
        let name = format!("rate over {over}, a service inside, without pauses");
        rows::beside_rate(&name, experiment.bar, trials, outcome);
        let name = format!("p99 over {over} at the report's rate, without pauses, from when due");
        rows::beside_paced(&name, P99_BAR, trials, outcome);
        for trial in trials {
            check(&format!("over {over}"), &trial.most, outcome);
            check(&format!("over {over} at the report's rate"), &trial.paced, outcome);
        }
    }
    Ok(())
}

/// jSS7 at a rate; 0 is a closed loop. What does not hold of it breaks the run.
fn peer(experiment: &Experiment, rate: u64, span: Span, outcome: &mut Outcome) -> Line {
    let ends = Ends::start(experiment.flow.name(), rate, span, WINDOW);
    let wrongs = match ends.map_err(|why| format!("{why:#}"))?.load() {
        Ok((line, wrongs)) if wrongs.is_empty() => return Ok(line),
        Ok((_, wrongs)) => wrongs,
        Err(why) => vec![format!("{why:#}")],
    };
    outcome.broken.extend(wrongs.iter().map(|wrong| format!("jSS7: {wrong}")));
    Err(wrongs.join("; "))
}

/// What a call that stands takes in each gateway.
fn standing(
    experiment: &Experiment,
    options: &Options,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let nodes = Nodes::start(&options.tandem, Carrier::Sctp, Answering::Apart)?;
    let span = Span::steady(Duration::ZERO, Duration::from_secs(300));
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
        at_most(outcome, scenario, unit, [value, bar]);
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

    #[test]
    fn response_times_beyond_their_bars_break_a_run() {
        let report = published::ss7();
        let table = report.table("map-sri-for-sm").expect("it is published");
        let experiment =
            Experiment { name: "map-sri-for-sm", flow: Flow::Routing, per_s: 20_000.0, bar: 3.0 };
        let broken = |ms: &[u64]| {
            let mut it = rows::tests::outcome();
            let runs: Vec<Measured> = ms.iter().map(|ms| rows::tests::measured(1.0, *ms)).collect();
            put_own(&experiment, table, [&runs, &runs], &mut it).expect("it has these rows");
            assert_eq!(it.rows.len(), 4);
            it.broken
        };
        assert_eq!(broken(&[0, 0, 9]), Vec::<String>::new(), "the median holds");
        assert_eq!(broken(&[1]), ["response p50: 1.0 ms, at most 0.700"]);
        let both = ["response p50: 3.0 ms, at most 0.700", "response p99: 3.0 ms, at most 2.0"];
        assert_eq!(broken(&[0, 3, 9]), both);
    }

    #[test]
    fn what_one_side_counts_and_the_other_does_not_breaks_a_run() {
        let counts = Counts { answered: 9, reported: 9, released: 9, wrong: 0 };
        let found = || {
            let mut found = Found::new();
            (found.counts, found.should_hear) = (counts, counts);
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
