//! The rows of both experiments: medians of several runs, and what misses its bar.

use super::generator::{PARTS, times};
use super::nodes::Used;
use super::{Measured, Trial};
use hdrhistogram::Histogram;
use peers::Usage;
use report::contract::{Outcome, Peer, Row};
use report::{Spread, exact};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What jSS7 is called beside a figure of its own.
const PEER: &str = "jSS7 8.0.112, its own generator";

/// A row without a published value.
pub(super) fn row(scenario: &str, unit: &str, tandem: f64, detail: Value) -> Row {
    let mut row = Row::absent(scenario, unit, None, "");
    (row.tandem, row.detail) = (Some(tandem), detail);
    row
}

/// A value of several runs.
pub(super) fn spread<T>(runs: &[T], of: impl Fn(&T) -> f64) -> Spread {
    Spread::of(runs.iter().map(of))
}

/// The parts of response times, each the median of the runs, milliseconds.
pub(super) fn parts(runs: &[Measured], of: fn(&Measured) -> &Histogram<u64>) -> [f64; PARTS.len()] {
    core::array::from_fn(|part| spread(runs, |run| times(of(run))[part]).median())
}

/// Notes a value that is more than its bar.
pub(super) fn at_most(outcome: &mut Outcome, what: &str, unit: &str, [value, bar]: [f64; 2]) {
    if value > bar {
        let (value, bar) = (exact(value), exact(bar));
        outcome.broken.push(format!("{what}: {value} {unit}, at most {bar}"));
    }
}

/// What jSS7 did in a run, or why it has no figure.
pub(super) type Line = Result<Value, String>;

/// A number of jSS7's lines, of all runs; or why there is none.
fn numbers(lines: &[Line], path: &str) -> Result<Vec<f64>, String> {
    let number = |line: &Line| {
        let line = line.as_ref().map_err(Clone::clone)?;
        let value = line.pointer(path).and_then(Value::as_f64).filter(|it| *it > 0.0);
        value.ok_or_else(|| format!("jSS7 printed {line}"))
    };
    lines.iter().map(number).collect()
}

/// Puts the median of jSS7's runs beside ours, or why there is none.
fn put_peer(row: &mut Row, lines: &[Line], path: &str) -> Option<Vec<f64>> {
    match numbers(lines, path) {
        Err(why) => {
            row.detail["peer"] = why.into();
            None
        }
        Ok(values) => {
            row.detail["peer"] = json!(lines.iter().flatten().collect::<Vec<_>>());
            let value = Spread::of(values.iter().copied()).median();
            row.peer = Some(Peer { name: PEER.into(), value });
            Some(values)
        }
    }
}

/// The rate of pairs of runs: the ratio is the median of theirs, and has to be the bar's at least.
/// Without a peer there is none, and nothing is missed.
pub(super) fn beside_rate(name: &str, bar: f64, trials: &[Trial], outcome: &mut Outcome) {
    let ours: Vec<f64> = trials.iter().map(|it| it.most.found.per_s).collect();
    let mut detail = json!({ "bar": bar,
        "cpu": trials.iter().map(|it| it.most.cpu).collect::<Vec<_>>(),
        "failed": trials.iter().map(|it| it.most.found.failed).sum::<u64>() });
    let all = Spread::of(ours.iter().copied());
    all.put(&mut detail);
    let mut row = row(name, "dialogues/s", all.median(), detail);
    let lines: Vec<Line> = trials.iter().map(|it| it.peer_most.clone()).collect();
    if let Some(theirs) = put_peer(&mut row, &lines, "/per_s") {
        let ratios = Spread::of(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs));
        let ratio = ratios.median();
        let mut of_pairs = json!({});
        ratios.put(&mut of_pairs);
        row.detail["ratio"] = ratio.into();
        row.detail["ratios"] = of_pairs["runs"].take();
        row.detail["held"] = (ratio >= bar).into();
        if ratio < bar {
            let what = format!("{name}: {} x jSS7, at least {}", exact(ratio), exact(bar));
            outcome.broken.push(what);
        }
    }
    outcome.rows.push(row);
}

/// The 99th percentile at a rate, from when a dialogue was due. Times of a rate that jSS7 does not
/// reach are no peer's.
pub(super) fn beside_paced(name: &str, bar: f64, trials: &[Trial], outcome: &mut Outcome) {
    let due = |it: &Trial| times(&it.paced.found.due);
    let last = PARTS.len() - 1;
    let p99 = spread(trials, |it| due(it)[last]);
    let ms: [f64; PARTS.len()] =
        core::array::from_fn(|part| spread(trials, |it| due(it)[part]).median());
    let mut detail = json!({ "bar": bar, "ms": ms,
        "cpu": trials.iter().map(|it| it.paced.cpu).collect::<Vec<_>>(),
        "failed": trials.iter().map(|it| it.paced.found.failed).sum::<u64>(),
        "per_s": spread(trials, |it| it.paced.found.per_s).median() });
    p99.put(&mut detail);
    let mut row = row(name, "ms", p99.median(), detail);
    let lines: Vec<Line> = trials.iter().map(|it| it.peer_paced.clone()).collect();
    let unbegun = |line: &Value| line.get("unbegun").and_then(Value::as_u64).unwrap_or(0);
    if lines.iter().flatten().any(|line| unbegun(line) > 0) {
        row.detail["peer"] = json!(lines.iter().flatten().collect::<Vec<_>>());
        row.detail["note"] = "jSS7 does not reach the rate here".into();
    } else {
        put_peer(&mut row, &lines, &format!("/ms/{last}"));
    }
    at_most(outcome, name, "ms", [p99.median(), bar]);
    outcome.rows.push(row);
}

/// What was used at times, for [`over_time`].
pub(super) type Course = Vec<(Instant, Used)>;

/// Rate, processor, memory and response times over time, as the page draws them.
pub(super) fn over_time(of: &Measured) -> Value {
    let seconds = |at: Duration| (at.as_secs_f64() * 10.0).round() / 10.0;
    let samples = &of.found.samples;
    let rate: Vec<[f64; 2]> = samples.iter().map(|it| [seconds(it.at), it.per_s]).collect();
    let first = of.course.first().map(|it| it.0);
    let at = |it: &Instant| first.map_or(0.0, |first| seconds(*it - first));
    let cpu = |node: usize| -> Vec<[f64; 2]> {
        let pairs = of.course.windows(2);
        let part = |old: &(Instant, Used), new: &(Instant, Used)| {
            let spent = new.1[node].cpu.saturating_sub(old.1[node].cpu).as_secs_f64();
            [at(&new.0), spent / (new.0 - old.0).as_secs_f64().max(1e-3) * 100.0]
        };
        pairs.filter_map(|pair| Some(part(pair.first()?, pair.last()?))).collect()
    };
    let memory = |node: usize| -> Vec<[f64; 2]> {
        let mb = |it: &Usage| it.resident_bytes as f64 / 1e6;
        of.course.iter().map(|(when, used)| [at(when), mb(&used[node])]).collect()
    };
    let part = |part: usize| -> Vec<[f64; 2]> {
        samples.iter().map(|it| [seconds(it.at), it.ms[part]]).collect()
    };
    json!([
        { "title": "dialogues that ended a second", "series": [["all", rate]] },
        { "title": "processor, % of a core",
            "series": [["who asks", cpu(0)], ["who answers", cpu(1)]] },
        { "title": "resident memory, MB",
            "series": [["who asks", memory(0)], ["who answers", memory(1)]] },
        { "title": "response time, ms",
            "series": [["p50", part(0)], ["p90", part(2)], ["p95", part(3)], ["p99", part(4)]] },
    ])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::dialogues::flow::Counts;
    use crate::dialogues::generator::{Found, Sample};
    use report::host;

    pub(crate) fn outcome() -> Outcome {
        let (rows, broken) = (Vec::new(), Vec::new());
        Outcome { experiment: "map-sri-for-sm", host: host::describe(), rows, broken }
    }

    /// A load of that rate, whose response times are all the same.
    pub(crate) fn measured(per_s: f64, ms: u64) -> Measured {
        let mut found = Found::new();
        found.per_s = per_s;
        found.counts.answered = 9;
        found.sent.record(ms * 1_000).expect("it is in range");
        found.due.record(ms * 1_000).expect("it is in range");
        let heard = Counts { answered: 9, ..Counts::default() };
        let course = Vec::new();
        Measured { found, cpu: [50.0; 2], resident: [1 << 20; 2], heard, course }
    }

    fn trial(per_s: f64, ms: u64, line: &Line) -> Trial {
        let (peer_most, peer_paced) = (line.clone(), line.clone());
        Trial { most: measured(per_s, ms), paced: measured(9.0, ms), peer_most, peer_paced }
    }

    #[test]
    fn a_rate_below_its_bar_is_broken_and_without_a_peer_there_is_no_ratio() {
        let rate = |theirs: Line| {
            let mut it = outcome();
            let trials = [60_000.0, 90_000.0, 30_000.0].map(|ours| trial(ours, 1, &theirs));
            beside_rate("rate", 3.0, &trials, &mut it);
            (it.rows.remove(0), it.broken)
        };
        for line in [Err("no java".to_owned()), Ok(json!({ "per_s": 0 })), Ok(json!({}))] {
            let (row, broken) = rate(line);
            assert!(row.detail.get("ratio").is_none() && row.peer.is_none(), "{row:?}");
            assert_eq!(broken, Vec::<String>::new());
        }
        let (row, broken) = rate(Ok(json!({ "per_s": 30_000 })));
        assert_eq!((row.tandem, row.peer.map(|it| it.value)), (Some(60_000.0), Some(30_000.0)));
        assert_eq!((&row.detail["ratio"], &row.detail["held"]), (&json!(2.0), &json!(false)));
        assert_eq!(row.detail["ratios"], json!([1.0, 2.0, 3.0]));
        assert_eq!(broken, ["rate: 2.0 x jSS7, at least 3.0"]);
        let (row, broken) = rate(Ok(json!({ "per_s": 20_000 })));
        assert_eq!((&row.detail["held"], broken), (&json!(true), Vec::<String>::new()));
    }

    #[test]
    fn a_time_beyond_its_bar_is_broken_and_of_a_rate_not_reached_no_peer_s() {
        for (unbegun, peer) in [(0, Some(5.0)), (9, None)] {
            let line = Ok(json!({ "unbegun": unbegun, "ms": [1.0, 2.0, 3.0, 4.0, 5.0] }));
            for (ms, is_broken) in [(2, false), (3, true)] {
                let mut it = outcome();
                beside_paced("p99", 2.5, &[trial(1.0, ms, &line)], &mut it);
                assert_eq!(it.rows[0].peer.as_ref().map(|it| it.value), peer);
                assert_eq!(!it.broken.is_empty(), is_broken, "{:?}", it.broken);
            }
        }
    }

    #[test]
    fn what_is_seen_over_time_has_a_point_for_each_part_and_each_pair_of_looks() {
        let mut it = measured(1.0, 1);
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let used = |n: u32| Usage { cpu: second / 4 * n, resident_bytes: 1_000_000 };
        it.course = (0..3).map(|n| (begun + second * n, [used(n), used(2 * n)])).collect();
        it.found.samples.push(Sample { at: second, per_s: 7.0, ms: [1.0, 2.0, 3.0, 4.0, 5.0] });
        let drawn = over_time(&it);
        assert_eq!(drawn[0]["series"][0][1], json!([[1.0, 7.0]]));
        assert_eq!(drawn[1]["series"][1][1], json!([[1.0, 50.0], [2.0, 50.0]]));
        assert_eq!(drawn[2]["series"][0][1].as_array().map(Vec::len), Some(3));
        assert_eq!(drawn[3]["series"][3], json!(["p99", [[1.0, 5.0]]]));
    }
}
