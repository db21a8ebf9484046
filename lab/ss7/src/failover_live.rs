//! `sctp-failover --live`: the same tests with real packets. Every test has two endpoints on
//! threads of their own, in two namespaces, and two paths by way of a third one, where the link
//! emulator stands. Half of the runs go over UDP (RFC 6951), half as IP protocol 132.
//!
//! ```text
//!  tq-N-sf-left: source ──┬── tq-N-sf-middle: link, cut ──┬── tq-N-sf-right: sink
//!                         └── tq-N-sf-middle: link ───────┘
//! ```
//! What must hold: each mean is within 10 % of that of the simulation of the same runs.

use super::failover_rows::{Judged, row};
use super::sctp_failover::{NAME, courses};
use anyhow::Context;
use failover::arithmetic::theory;
use failover::configuration::{Configuration, Test, at_every_delay, scenario, tests};
use failover::course::{Case, Course, Load};
use failover::live_testbed::{Run, Testbed};
use failover::pauses::Spoilt;
use failover::statistics::Sample;
use machine::Duration;
use report::contract::{Options, Outcome};
use report::host;
use report::progress::Progress;
use report::published;
use serde_json::json;
use std::collections::BTreeSet;

/// How far means may be from those of the simulation.
const TOLERANCE: f64 = 0.10;
/// Runs of each test: one after the other, or in a quick run all at once.
const ROUNDS: usize = 10;
const QUICK_AT_ONCE: usize = 4;
/// Traffic before the cut, and in all beside the time that the failover takes, of a quick run.
const QUICK_CUT: Duration = Duration::from_secs(6);
const QUICK_LENGTH: Duration = Duration::from_secs(12);
/// A run that a pause of the machine has spoilt is repeated so often; what the last time finds
/// counts, spoilt or not.
const REPEATS_MAX: usize = 3;

/// All runs of a pair of endpoints.
#[derive(Debug, Clone, Default)]
struct Found {
    courses: Vec<Course>,
    /// What may not happen, in a run that is being repeated.
    violations: Vec<String>,
    /// Why runs were repeated.
    repeated: Vec<Spoilt>,
    /// Those that count although they were spoilt each time.
    spoilt: Vec<Spoilt>,
}

/// Runs it.
///
/// # Errors
/// When the endpoints cannot be set up.
pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let published = published::ss7();
    let table = published.table(NAME).context("the published table is part of the program")?;
    let pairs = pairs(options);
    let ground = match Testbed::new(pairs.len()) {
        Ok(ground) => ground,
        Err(error) => return Ok(Outcome::without_namespaces(NAME, table, options, &error)),
    };
    let rounds = if options.quick { 1 } else { ROUNDS };
    let progress = Progress::new(NAME, rounds as u64);
    let cases: Vec<Case> = pairs.iter().map(|test| live_case(options, test, 0)).collect();
    let mut found = vec![Found::default(); pairs.len()];
    let mut late_us = Vec::new();
    for round in 0..rounds {
        progress.say(&format!("round {} of {rounds}: {} at once", round + 1, pairs.len()));
        late_us.extend(play(&ground, &cases, round, &mut found, &progress)?);
        progress.step();
    }
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    let mut index = 0;
    while let Some(test) = pairs.get(index) {
        let same = pairs.iter().filter(|other| scenario(other) == scenario(test)).count();
        let mut all = Found::default();
        for one in found.drain(..same) {
            all.courses.extend(one.courses);
            all.repeated.extend(one.repeated);
            all.spoilt.extend(one.spoilt);
        }
        index += same;
        compare(options, test, &all, table, &mut outcome)?;
    }
    let late = Sample::of(late_us).map_or(0.0, |late| late.most);
    for row in &mut outcome.rows {
        row.detail["late_99_of_100_us"] = json!(late);
        row.detail["quick"] = json!(options.quick);
    }
    Ok(outcome)
}

/// A round: all pairs at once, then again those whose run a pause has spoilt. Returns how late
/// packets left the links, us.
fn play(
    ground: &Testbed,
    cases: &[Case],
    round: usize,
    found: &mut [Found],
    progress: &Progress,
) -> anyhow::Result<Vec<f64>> {
    let mut runs: Vec<(usize, Case)> = cases.iter().copied().enumerate().collect();
    let mut late_us = Vec::new();
    for repeats in 0..=REPEATS_MAX {
        let (over, late) = ground.run(&runs, round)?;
        late_us.extend(late);
        let again = settle(over, repeats == REPEATS_MAX, found);
        runs.retain(|(pair, _)| again.contains(pair));
        if runs.is_empty() {
            break;
        }
        let spoilt = runs.iter().filter_map(|(pair, _)| found[*pair].repeated.last());
        let longest = spoilt.map(|it| it.pause_ms).fold(0.0, f64::max);
        progress.say(&format!(
            "the machine paused, up to {longest:.0} ms: {} runs are repeated",
            runs.len()
        ));
    }
    Ok(late_us)
}

/// Takes what runs found; which pairs are to run again. A pause is no excuse for MSUs that were
/// lost, doubled or out of order: these count in a run that is repeated too.
fn settle(over: Vec<Run>, is_last: bool, found: &mut [Found]) -> Vec<usize> {
    let mut again = Vec::new();
    for Run { pair, mut course, spoilt } in over {
        let found = &mut found[pair];
        course.violations.splice(0..0, std::mem::take(&mut found.violations));
        match spoilt {
            Some(spoilt) if !is_last => {
                found.violations = course.violations;
                found.repeated.push(spoilt);
                again.push(pair);
            }
            _ => {
                found.spoilt.extend(spoilt);
                found.courses.push(course);
            }
        }
    }
    again
}

/// The tests, each as often as it runs at once. A quick run has time for RFC2960 when it is asked
/// for by name only.
fn pairs(options: &Options) -> Vec<Test> {
    let quick = || [Configuration::telecom(2), Configuration::telecom(5), Configuration::tandem()];
    let all: Vec<Test> = match options.quick && options.scenarios.is_empty() {
        true => quick().map(|configuration| (configuration, 10)).into(),
        false => tests().into_iter().chain(at_every_delay(Configuration::tandem())).collect(),
    };
    let at_once = if options.quick { QUICK_AT_ONCE } else { 1 };
    let wanted = all.into_iter().filter(|test| options.wants(&scenario(test)));
    wanted.flat_map(|test| std::iter::repeat_n(test, at_once)).collect()
}

fn live_case(options: &Options, test: &Test, seed: u64) -> Case {
    let whole = Case::of(test, Load::REPORT, seed);
    let length = QUICK_LENGTH + theory(&whole.parameters.path);
    match options.quick {
        true => Case { cut: Some(QUICK_CUT), length, ..whole },
        false => whole,
    }
}

/// The row of a test with the simulation of the same runs beside it.
fn compare(
    options: &Options,
    test: &Test,
    found: &Found,
    table: &published::Table,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let published = table.rows.iter().find(|row| row.scenario == scenario(test));
    let live = Judged { test, load: Load::REPORT, courses: &found.courses };
    let (mut row, broken) = row(&live, published);
    let cases: Vec<Case> = (1..=10).map(|seed| live_case(options, test, seed)).collect();
    let simulated = courses(&cases)?;
    let simulated = Judged { test, load: Load::REPORT, courses: &simulated };
    let both = [
        ("failover", live.failover(), simulated.failover()),
        ("longest transfer", live.max_transfer(), simulated.max_transfer()),
    ];
    let mut words = String::new();
    for (what, live, simulated) in both {
        let (Some(live), Some(simulated)) = (live, simulated) else { continue };
        let apart = live.mean / simulated.mean - 1.0;
        words += &format!("; simulated {what} {:.0} ({:+.1} %)", simulated.mean, apart * 100.0);
        if apart.abs() > TOLERANCE {
            let name = &row.scenario;
            outcome.broken.push(format!(
                "{name}: {what} {:.1} ms live, {:.1} ms simulated",
                live.mean, simulated.mean
            ));
        }
    }
    row.detail["simulated_failover_ms"] = json!(simulated.failover());
    row.detail["simulated_max_transfer_ms"] = json!(simulated.max_transfer());
    row.detail["repeated"] = json!(found.repeated);
    row.detail["spoilt"] = json!(found.spoilt);
    words += &pauses(found);
    let note = row.detail["note"].as_str().unwrap_or_default();
    row.detail["note"] = json!(format!("live{words}; {note}"));
    outcome.rows.push(row);
    outcome.broken.extend(broken);
    Ok(())
}

/// What pauses of the machine did, in words; one pause may have spoilt several runs.
fn pauses(found: &Found) -> String {
    let mut words = String::new();
    for (what, all) in [("repeated", &found.repeated), ("spoilt each time", &found.spoilt)] {
        let one = |it: &Spoilt| format!("{:.0} ms at {:+.0} ms", it.pause_ms, it.after_cut_ms);
        let list: BTreeSet<String> = all.iter().map(one).collect();
        if let Some(first) = list.first() {
            let more = if list.len() > 1 { " and others" } else { "" };
            words += &format!("; {} runs {what} (pause of {first}{more})", all.len());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_has_the_tests_that_end_within_seconds_and_others_by_name_and_a_full_one_all() {
        let mut options = Options::of_this_executable(true).unwrap();
        let names: Vec<String> = pairs(&options).iter().map(scenario).collect();
        assert!(names.len() == 12 && !names.iter().any(|name| name.starts_with("RFC")));
        options.scenarios = vec!["RFC2960, 5 ms".into()];
        let slow = pairs(&options);
        assert_eq!(slow.len(), 4);
        assert!(live_case(&options, &slow[0], 1).length > Duration::from_secs(70));
        options.scenarios.clear();
        options.quick = false;
        assert_eq!(pairs(&options).len(), 14);
    }

    fn over(spoilt: bool, violations: &[&str]) -> Vec<Run> {
        let violations = violations.iter().map(|it| (*it).to_owned()).collect();
        let course = Course { violations, ..Course::default() };
        let spoilt = spoilt.then_some(Spoilt { pause_ms: 40.0, after_cut_ms: 7.0 });
        vec![Run { pair: 0, course, spoilt }]
    }

    #[test]
    fn a_run_that_a_pause_has_spoilt_is_repeated_and_what_it_lost_is_not_forgotten() {
        let mut found = [Found::default()];
        assert_eq!(settle(over(true, &["an MSU was lost"]), false, &mut found), [0]);
        assert!(found[0].courses.is_empty());
        assert!(settle(over(false, &["another"]), false, &mut found).is_empty());
        assert_eq!(found[0].courses[0].violations, ["an MSU was lost", "another"]);
        assert_eq!(pauses(&found[0]), "; 1 runs repeated (pause of 40 ms at +7 ms)");
        assert!(settle(over(false, &[]), false, &mut found).is_empty());
        assert!(found[0].courses[1].violations.is_empty() && found[0].spoilt.is_empty());
    }

    #[test]
    fn the_last_repetition_counts_whatever_has_spoilt_it() {
        let mut found = [Found::default()];
        assert!(settle(over(true, &[]), true, &mut found).is_empty());
        assert_eq!((found[0].courses.len(), found[0].spoilt.len()), (1, 1));
        assert!(pauses(&found[0]).starts_with("; 1 runs spoilt each time"));
    }
}
