//! `sgc-overload`: twice the calls that a gateway can serve; those that stand go first.
//!
//! ```text
//!   calls ─ gateway 4 ══ SCTP in UDP ══ gateway 3 ─ gsmSCF inside
//!   core 0  core 0                      a part of core 1, the rest of which is spent
//! ```
//! So that who asks can ask for twice as much, gateway 3 has a third of its core: two threads of
//! the lab spend the rest. What it can serve is measured first, in a closed loop; then twice of it
//! is asked for in an open one.

use super::flow::Flow;
use super::generator::{Load, Pace, Span};
use super::nodes::{Answering, Carrier, Nodes, core};
use super::rows::{row, spread};
use super::{Measured, Over, Runs, WINDOW, measure};
use report::contract::{Options, Outcome};
use report::host;
use report::progress::Progress;
use report::{Spread, exact};
use serde_json::json;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Threads that spend the core of who answers.
const SPENDERS: usize = 2;
/// How many times as much is asked for as can be served.
const FACTOR: f64 = 2.0;
/// Calls that end as they should, of those that can be served, percent.
const GOODPUT_BAR: f64 = 95.0;
/// A call is answered, and released, after so long.
const ANSWER: Duration = Duration::from_millis(200);
const RELEASE: Duration = Duration::from_millis(800);

/// Runs it.
///
/// # Errors
/// When the gateways do not come up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let (rows, broken) = (Vec::new(), Vec::new());
    let mut outcome = Outcome { experiment: "sgc-overload", host: host::describe(), rows, broken };
    let runs = Runs::of(options).closed;
    let seconds = Duration::from_secs(if options.quick { 5 } else { 20 });
    let span = Span::steady(Duration::from_secs(3), seconds);
    let progress = Progress::new("sgc-overload", runs as u64);
    let mut trials = Vec::new();
    for _ in 0..runs {
        progress.say("what can be served, and twice of it");
        let is_over = AtomicBool::new(false);
        let trial = std::thread::scope(|scope| {
            for _ in 0..SPENDERS {
                scope.spawn(|| spend(&is_over));
            }
            let _over = Over(&is_over);
            trial(options, span)
        });
        trials.push(trial?);
        progress.step();
    }
    put(&trials, &mut outcome);
    Ok(outcome)
}

/// Spends the core of who answers.
fn spend(is_over: &AtomicBool) {
    if peers::pin(core(true)).is_ok() {
        while !is_over.load(Ordering::Relaxed) {
            spin_loop();
        }
    }
}

/// What can be served, and what came of twice of it.
struct Trial {
    most: Measured,
    twice: Measured,
}

fn trial(options: &Options, span: Span) -> anyhow::Result<Trial> {
    let nodes = Nodes::start(&options.tandem, Carrier::Sctp, Answering::Inside)?;
    let flow = Flow::Call(Duration::ZERO, Duration::ZERO);
    let most = measure(&nodes, Load { flow, pace: Pace::Window(WINDOW), span })?;
    let pace = Pace::PerSecond(most.found.per_s * FACTOR);
    let flow = Flow::Call(ANSWER, RELEASE);
    let twice = measure(&nodes, Load { flow, pace, span })?;
    Ok(Trial { most, twice })
}

impl Trial {
    /// Calls that ended as they should, of those that can be served, percent.
    fn goodput(&self) -> f64 {
        self.twice.found.per_s / self.most.found.per_s.max(1.0) * 100.0
    }
}

fn put(trials: &[Trial], outcome: &mut Outcome) {
    let most = spread(trials, |it| it.most.found.per_s);
    let mut detail = json!({ "window": WINDOW,
        "failed": trials.iter().map(|it| it.most.found.failed).sum::<u64>() });
    most.put(&mut detail);
    outcome.rows.push(row("calls that can be served", "calls/s", most.median(), detail));
    let goodput = Spread::of(trials.iter().map(Trial::goodput));
    let asked = |it: &Trial| it.twice.found.unbegun;
    let mut detail = json!({ "bar": GOODPUT_BAR, "factor": FACTOR,
        "refused": trials.iter().map(|it| it.twice.found.failed - it.twice.found.lost)
            .collect::<Vec<_>>(),
        "unbegun": trials.iter().map(asked).sum::<u64>(),
        "cpu": trials.iter().map(|it| it.twice.cpu).collect::<Vec<_>>(),
        "why": trials.iter().find_map(|it| it.twice.found.why.clone()),
        "over_time": trials.last().map(|it| super::rows::over_time(&it.twice)) });
    goodput.put(&mut detail);
    let name = "goodput at twice the load";
    outcome.rows.push(row(name, "%", goodput.median(), detail));
    if goodput.median() < GOODPUT_BAR {
        let (is, bar) = (exact(goodput.median()), exact(GOODPUT_BAR));
        outcome.broken.push(format!("{name}: {is} %, at least {bar}"));
    }
    let lost = trials.iter().map(|it| it.twice.found.lost).sum::<u64>();
    let answered = trials.iter().map(|it| it.twice.found.counts.answered).sum::<u64>();
    let detail = json!({ "bar": 0, "answered": answered });
    outcome.rows.push(row("answered calls that were lost", "calls", lost as f64, detail));
    if lost > 0 {
        outcome.broken.push(format!("{lost} of {answered} calls that were answered were lost"));
    }
    for it in trials.iter().filter(|it| it.most.found.failed > 0) {
        let why = it.most.found.why.as_deref().unwrap_or("no answer");
        outcome.broken.push(format!("closed loop: {} failed: {why}", it.most.found.failed));
    }
    if answered == 0 || trials.iter().any(|it| asked(it) > 0) {
        outcome.broken.push("twice the load was not asked for".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogues::rows::tests::{measured, outcome};

    #[test]
    fn too_little_goodput_and_calls_that_stood_and_were_lost_break_a_run() {
        let broken = |goodput: f64, lost: u64, unbegun: u64| {
            let mut twice = measured(1_000.0 * goodput, 1);
            (twice.found.lost, twice.found.failed, twice.found.unbegun) = (lost, 100, unbegun);
            let mut it = outcome();
            put(&[Trial { most: measured(1_000.0, 1), twice }], &mut it);
            assert_eq!(it.rows.len(), 3);
            it.broken.len()
        };
        assert_eq!(broken(0.96, 0, 0), 0);
        assert_eq!(broken(0.94, 0, 0), 1);
        assert_eq!(broken(0.96, 1, 0), 1);
        assert_eq!(broken(0.96, 0, 1), 1);
    }
}
