//! `sctp-failover`: how long until SCTP tells that its primary path has failed, and the longest
//! transfer of an MSU, for the configurations and path delays of the report; then the preset
//! `tandem`, which leaves a path at its first time-out (RFC 7829), under loss, jitter and competing
//! traffic: the report's own future work.
//!
//! | what | how |
//! |---|---|
//! | paths | two of 100 Mbit/s; the primary is cut both ways after 30 s, traffic runs 90 s more |
//! | failover time | from the cut to the INACTIVE that SCTP tells the source |
//! | transfer time | from MTP-TRANSFER request to indication; first and last second left out |
//! | a failure of the run | an MSU that is lost, comes twice or out of the order of its SLS |

use super::failover_rows::{Judged, row};
use super::side_by_side::side_by_side;
use super::{failover_live, failover_search};
use failover::configuration::{Condition, Configuration, Test, at_every_delay, scenario, tests};
use failover::course::{CUT, Case, Course, Load};
use failover::simulation;
use machine::Duration;
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::published;
use serde_json::json;
use std::time::Instant;

pub(crate) const NAME: &str = "sctp-failover";
/// Runs of each test, as in the report.
pub(super) const REPETITIONS: u64 = 10;
/// The 110 runs of the report may take so long.
const RUNS_MAX_S: f64 = 60.0;
/// The failover time of Telecom(2) at 10 ms, ms: Linux takes 392.
const TELECOM_2_MAX: f64 = 395.0;
/// Rates at which Telecom(2) is run again, MSUs a second.
const OTHER_LOADS: [u32; 4] = [20, 1_000, 2_000, 5_000];
/// The preset under loss: 1,000 runs of 300 s, or few in a quick run.
const LOSSY_RUNS: u64 = 1_000;
const LOSSY_RUNS_QUICK: u64 = 20;
const LOSSY_LENGTH: Duration = Duration::from_secs(300);
const LOSSY: &str = "tandem, 10 ms, 1 % loss for 300 s";

/// Runs it.
///
/// # Errors
/// When the endpoints cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    if options.live {
        return failover_live::run(options);
    }
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    let progress = Progress::new(NAME, 4);
    progress.say("the 110 runs of the report");
    report(options, &mut outcome)?;
    progress.step();
    progress.say("other loads");
    loads(options, &mut outcome)?;
    progress.step();
    progress.say("the preset tandem under loss");
    lossy(options, &mut outcome)?;
    progress.step();
    progress.say("configurations under loss, jitter and competing traffic");
    failover_search::run(options, &mut outcome)?;
    Ok(outcome)
}

/// Each test so often, with seeds from 1 on.
pub(super) fn courses(cases: &[Case]) -> anyhow::Result<Vec<Course>> {
    side_by_side(cases, simulation::run).into_iter().collect()
}

/// Table 3 and Figure 4, and the preset beside them.
fn report(options: &Options, outcome: &mut Outcome) -> anyhow::Result<()> {
    let all: Vec<Test> =
        tests().into_iter().chain(at_every_delay(Configuration::tandem())).collect();
    let wanted: Vec<&Test> = all.iter().filter(|test| options.wants(&scenario(test))).collect();
    let seeds = || 1..=REPETITIONS;
    let cases =
        wanted.iter().flat_map(|test| seeds().map(|seed| Case::of(test, Load::REPORT, seed)));
    let cases: Vec<Case> = cases.collect();
    let begun = Instant::now();
    let courses = courses(&cases)?;
    let seconds = begun.elapsed().as_secs_f64();
    let published = published::ss7();
    let table = published.table(NAME);
    for (test, courses) in wanted.iter().zip(courses.chunks(REPETITIONS as usize)) {
        let row_of = |table: &published::Table| {
            table.rows.iter().find(|row| row.scenario == scenario(test)).cloned()
        };
        let judged = Judged { test, load: Load::REPORT, courses };
        let (mut row, broken) = row(&judged, table.and_then(row_of).as_ref());
        row.detail["seconds_of_all_runs"] = json!(seconds);
        let mean = row.tandem.unwrap_or(f64::INFINITY);
        if row.scenario == "Telecom(2), 10 ms" && mean > TELECOM_2_MAX {
            outcome.broken.push(format!("{}: {mean:.0} ms", row.scenario));
        }
        outcome.rows.push(row);
        outcome.broken.extend(broken);
    }
    if seconds > RUNS_MAX_S {
        outcome.broken.push(format!("{} runs took {seconds:.0} s", cases.len()));
    }
    Ok(())
}

/// Telecom(2) at other loads: what the report does not say.
fn loads(options: &Options, outcome: &mut Outcome) -> anyhow::Result<()> {
    let test = (Configuration::telecom(2), 10);
    for per_s in OTHER_LOADS {
        let load = Load { per_s, ..Load::REPORT };
        let scenario = format!("{}, {per_s} MSU/s", scenario(&test));
        if !options.wants(&scenario) {
            continue;
        }
        let short = |seed| Case { length: CUT, cut: Some(CUT / 3), ..Case::of(&test, load, seed) };
        let cases: Vec<Case> = (1..=REPETITIONS).map(short).collect();
        let courses = courses(&cases)?;
        let (mut row, broken) = row(&Judged { test: &test, load, courses: &courses }, None);
        row.scenario = scenario;
        outcome.rows.push(row);
        outcome.broken.extend(broken);
    }
    Ok(())
}

/// The preset over a path that loses one packet in a hundred: no path may be given up.
fn lossy(options: &Options, outcome: &mut Outcome) -> anyhow::Result<()> {
    if !options.wants(LOSSY) {
        return Ok(());
    }
    let runs = if options.quick { LOSSY_RUNS_QUICK } else { LOSSY_RUNS };
    let begun = Instant::now();
    let lossy = Lossy::of(runs)?;
    let hours = runs as f64 * LOSSY_LENGTH.as_secs_f64() / 3_600.0;
    outcome.rows.push(Row {
        scenario: LOSSY.into(),
        unit: "spurious failovers".into(),
        published: None,
        peer: None,
        tandem: Some(lossy.spurious as f64),
        detail: json!({
            "runs": runs,
            "hours": hours,
            "excursions_per_hour": lossy.excursions as f64 / hours,
            "max_transfer_ms": lossy.max_transfer_ms,
            "sent": lossy.sent,
            "seconds": begun.elapsed().as_secs_f64(),
            "note": format!(
                "{runs} runs: INACTIVE {} times, POTENTIALLY FAILED {} times in {hours:.1} h; \
                 longest transfer {:.0} ms",
                lossy.spurious, lossy.excursions, lossy.max_transfer_ms,
            ),
        }),
    });
    if lossy.spurious + lossy.lost > 0 {
        let Lossy { spurious, lost, .. } = lossy;
        let what = format!("{LOSSY}: {spurious} spurious failovers, {lost} associations lost");
        outcome.broken.push(what);
    }
    outcome.broken.extend(lossy.violations.into_iter().map(|what| format!("{LOSSY}: {what}")));
    Ok(())
}

/// What the preset `tandem` does over paths of 10 ms that lose one packet in a hundred, 300 s each.
#[derive(Debug, Default)]
pub struct Lossy {
    /// Spurious failovers: see [`Course::spurious`].
    pub spurious: u64,
    /// Associations that were lost.
    pub lost: u64,
    /// See [`Course::excursions`].
    pub excursions: u64,
    /// MSUs sent.
    pub sent: u64,
    /// The longest transfer, ms.
    pub max_transfer_ms: f64,
    /// What may not happen.
    pub violations: Vec<String>,
}

impl Lossy {
    /// Runs with the seeds 1 to `runs`.
    ///
    /// # Errors
    /// When the endpoints cannot be set up.
    pub fn of(runs: u64) -> anyhow::Result<Self> {
        let case = |seed| Case {
            condition: Condition::loss("1 % random", 0.01),
            cut: None,
            length: LOSSY_LENGTH,
            ..Case::of(&(Configuration::tandem(), 10), Load::REPORT, seed)
        };
        let mut all = Self::default();
        for course in courses(&(1..=runs).map(case).collect::<Vec<_>>())? {
            all.lost += u64::from(course.lost);
            all.spurious += course.spurious;
            all.excursions += course.excursions;
            all.sent += course.sent;
            all.max_transfer_ms =
                all.max_transfer_ms.max(failover::arithmetic::ms(course.max_transfer));
            all.violations.extend(course.violations);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleven_tests_are_those_of_table_2() {
        let names: Vec<String> = tests().iter().map(scenario).collect();
        assert_eq!(names.len(), 11);
        for row in &report::published::ss7().table("sctp-failover").unwrap().rows {
            assert!(names.contains(&row.scenario), "{}", row.scenario);
        }
    }
}
