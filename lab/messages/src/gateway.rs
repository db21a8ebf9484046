//! `ipsmgw`: the report's sessions through one to three nodes, a third of the subscribers each: the
//! highest rate without a failure, and how long each kind takes at the report's rate, or at what is
//! carried of it.

use crate::figures::{Found, Kind};
use crate::load::{Load, Pace};
use crate::nodes::Nodes;
use peers::{Priority, Usage};
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, Report};
use serde_json::{Value, json};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const NAME: &str = "ipsmgw";
/// Nodes of the report.
const NODES: usize = 3;
/// The report's rate, and where the search for the highest begins.
const REPORTED_PER_S: f64 = 2_000.0;
const FIRST_PER_S: f64 = 250.0;
/// No more than this is looked for.
const MOST_PER_S: f64 = 64_000.0;
/// Part of the highest rate at which times are taken, where that is below the report's.
const PART: f64 = 0.7;
/// A rate holds when the 99th percentile of each kind is below this: what waits does not grow.
const P99_MAX_MS: f64 = 250.0;
/// Deliveries by circuits, a second.
const CIRCUITS_PER_S: f64 = 200.0;
/// Sessions of a subscriber in the busy hour (two messages sent and received, two registrations).
const SESSIONS: f64 = 6.0;

/// How long each part takes.
struct Spans {
    warm: Duration,
    search: Duration,
    measured: Duration,
    /// Rates between the highest that held and the first that did not.
    halvings: u32,
}

impl Spans {
    fn of(options: &Options) -> Self {
        let spans = |warm, search, measured, halvings| Self {
            warm: Duration::from_secs(warm),
            search: Duration::from_secs(search),
            measured: Duration::from_secs(measured),
            halvings,
        };
        match (options.quick, options.plane.full) {
            (true, _) => spans(1, 4, 10, 2),
            (false, false) => spans(5, 10, 60, 3),
            (false, true) => spans(240, 30, 3_600, 4),
        }
    }
}

/// Runs it.
///
/// # Errors
/// When the nodes do not come up, or subscribers do not register.
pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let spans = Spans::of(options);
    let _priority = Priority::claim();
    let progress = Progress::new(NAME, 4);
    progress.say("three nodes and a signalling gateway start");
    let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let nodes = Nodes::start(&options.tandem, NODES, socket.local_addr()?)?;
    nodes.wait()?;
    let mut load = Load::new(&nodes, socket)?;
    peers::pinned(0, || load.register())??;
    progress.step();
    progress.say("the highest rate");
    let most = peers::pinned(0, || search(&mut load, &spans))??;
    progress.step();
    let per_s = REPORTED_PER_S.min(most.per_s * PART);
    progress.say(&format!("times at {per_s:.0} sessions/s"));
    let mix = measure(&nodes, &mut load, &Kind::MIX, per_s, &spans)?;
    progress.step();
    progress.say("deliveries by circuits");
    let circuits_per_s = CIRCUITS_PER_S.min(per_s / 2.0);
    let circuits = measure(&nodes, &mut load, &[Kind::Circuits], circuits_per_s, &spans)?;
    progress.step();
    let mut outcome = Outcome {
        experiment: NAME,
        host: host::describe(),
        rows: rows(&most, &mix, &circuits)?,
        broken: Vec::new(),
    };
    for (what, of) in [("the mix", &mix), ("CS delivery", &circuits)] {
        let found = &of.found;
        if !found.is_whole() {
            let why = found.why.as_deref().unwrap_or("the load did not keep up");
            let (failed, unbegun) = (found.failed(), found.unbegun);
            outcome.broken.push(format!("{what}: {failed} failed, {unbegun} not begun: {why}"));
        }
    }
    if !outcome.broken.is_empty() {
        outcome.broken.push(nodes.alarms()?);
    }
    Ok(outcome)
}

/// The highest rate that held, and what became of the next one.
struct Most {
    per_s: f64,
    why: Option<String>,
}

/// Doubles the rate until sessions fail, and looks between.
fn search(load: &mut Load, spans: &Spans) -> anyhow::Result<Most> {
    let mut most = Most { per_s: 0.0, why: None };
    let mut holds = |per_s: f64, most: &mut Most| -> anyhow::Result<bool> {
        let pace = Pace { kinds: &Kind::MIX, per_s, warm: spans.warm, measured: spans.search };
        let found = load.load(pace, &mut || ())?;
        let p99_ms = Kind::MIX.map(|it| found.of(it).p99_ms()).into_iter().fold(0.0, f64::max);
        if found.is_whole() && p99_ms < P99_MAX_MS {
            most.per_s = per_s;
            return Ok(true);
        }
        let queue = || format!("the 99th percentile is {p99_ms:.0} ms at {per_s:.0} sessions/s");
        most.why = Some(found.why.unwrap_or_else(queue));
        Ok(false)
    };
    let mut failed = FIRST_PER_S;
    while failed <= MOST_PER_S && holds(failed, &mut most)? {
        failed *= 2.0;
    }
    for _ in 0..spans.halvings {
        let per_s = f64::midpoint(most.per_s, failed);
        if !holds(per_s, &mut most)? {
            failed = per_s;
        }
    }
    anyhow::ensure!(most.per_s > 0.0, "no rate holds: {}", most.why.unwrap_or_default());
    Ok(most)
}

/// A load at one rate, and what the nodes used.
struct Measured {
    found: Found,
    per_s: f64,
    /// Of each gateway, and of the signalling gateway last: hundredths of a core.
    cpu: Vec<f64>,
    resident: Vec<u64>,
}

fn measure(
    nodes: &Nodes,
    load: &mut Load,
    kinds: &[Kind],
    per_s: f64,
    spans: &Spans,
) -> anyhow::Result<Measured> {
    let mut marks: Vec<(Instant, Vec<Usage>)> = Vec::new();
    let mut mark = || marks.push((Instant::now(), nodes.used()));
    let pace = Pace { kinds, per_s, warm: spans.warm, measured: spans.measured };
    let found = peers::pinned(0, || load.load(pace, &mut mark))??;
    let [before, .., after] = marks.as_slice() else { anyhow::bail!("nothing was measured") };
    let seconds = (after.0 - before.0).as_secs_f64();
    let both = before.1.iter().zip(&after.1);
    let cpu = both.map(|(old, new)| (new.cpu - old.cpu).as_secs_f64() / seconds * 100.0).collect();
    let resident = after.1.iter().map(|it| it.resident_bytes).collect();
    Ok(Measured { found, per_s, cpu, resident })
}

/// What the report prints for a scenario.
fn published(report: &Report, table: &str, scenario: &str) -> (Option<f64>, Value) {
    let row = report.table(table).and_then(|it| it.row(scenario).ok());
    let further = row.map(|it| json!(it.further)).unwrap_or_default();
    (row.and_then(|it| it.value), further)
}

fn rows(most: &Most, mix: &Measured, circuits: &Measured) -> anyhow::Result<Vec<Row>> {
    let report = published::ipsmgw();
    let row = |table: &str, scenario: &str, unit: &str, value: f64, mut detail: Value| {
        let (published, further) = published(&report, table, scenario);
        let mut row = Row::absent(scenario, unit, published, "");
        if further.as_object().is_some_and(|it| !it.is_empty()) {
            detail["report"] = further;
        }
        (row.tandem, row.detail) = (Some(value), detail);
        row
    };
    let subscribers = most.per_s * 3_600.0 / SESSIONS;
    let detail = json!({
        "subscribers": subscribers.round(), "nodes": NODES, "why_no_more": most.why,
        "note": format!("{} standard subscribers", report::thousands(subscribers)),
    });
    let mut rows =
        vec![row("call-rate", "three nodes, no redundancy", "sessions/s", most.per_s, detail)];
    let kinds = [Kind::Delivery, Kind::Submission, Kind::Registration];
    let of_mix = kinds.map(|kind| (kind, mix));
    for (kind, of) in of_mix.into_iter().chain([(Kind::Circuits, circuits)]) {
        let figures = of.found.of(kind);
        let ms = figures.times_ms();
        let parts: Vec<_> = ms.iter().map(|it| format!("{it:.1}")).collect();
        let detail = json!({
            "ms": ms, "ended": figures.ended, "failed": figures.failed, "per_s": of.per_s,
            "note": format!("p50 to p99: {} at {:.0} sessions/s", parts.join(", "), of.per_s),
        });
        rows.push(row("latency", kind.name(), "ms", figures.p99_ms(), detail));
    }
    let gateways = mix.cpu.len().saturating_sub(1);
    let (cpu, resident) = (&mix.cpu[..gateways], &mix.resident[..gateways]);
    let most_cpu = cpu.iter().copied().fold(0.0, f64::max);
    let most_mb = resident.iter().copied().max().unwrap_or_default() as f64 / 1e6;
    let detail = |what: Value| json!({ "nodes": what, "per_s": mix.found.per_s().round() });
    rows.push(row("call-rate", "CPU a node", "% of a core", most_cpu, detail(json!(mix.cpu))));
    let all = detail(json!(mix.resident));
    rows.push(row("call-rate", "memory a node", "MB", most_mb, all));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_beside_what_the_report_prints() {
        let most = Most { per_s: 4_000.0, why: None };
        let measured = || Measured {
            found: Found::new(Duration::from_secs(1)),
            per_s: 2_000.0,
            cpu: vec![10.0, 30.0, 20.0, 90.0],
            resident: vec![1, 2_000_000, 3, 9_000_000],
        };
        let rows = rows(&most, &measured(), &measured()).expect("they are made");
        let named = |name: &str| rows.iter().find(|it| it.scenario == name).expect("it is there");
        let first = named("three nodes, no redundancy");
        assert_eq!((first.published, first.tandem), (Some(2_000.0), Some(4_000.0)));
        assert_eq!(first.detail["subscribers"], 2_400_000.0);
        assert_eq!(named("MO submission").published, Some(103.2));
        assert_eq!(named("MT PS delivery").detail["report"]["value"][0], 31.5);
        assert_eq!(named("CS delivery").published, None);
        assert_eq!(
            (named("CPU a node").tandem, named("memory a node").tandem),
            (Some(30.0), Some(2.0))
        );
    }
}
