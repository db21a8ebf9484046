//! `sctp-failover --live`: the same tests with real packets. Every test has two endpoints on
//! threads of their own, in two namespaces, and two paths by way of a third one, where the link
//! emulator stands. Half of the runs go over UDP (RFC 6951), half as IP protocol 132.
//!
//! ```text
//!  tq-N-sf-left: source ──┬── tq-N-sf-middle: link, cut ──┬── tq-N-sf-right: sink
//!                         └── tq-N-sf-middle: link ───────┘
//! ```
//! What must hold: each mean is within 10 % of that of the simulation of the same runs.

use super::configuration::{Configuration, Test, at_every_delay, scenario, tests};
use super::course::{Case, Course, Load};
use super::failover_rows::{Judged, row};
use super::live_end::{Carrier, Place, Shared, Timeline, Told, sink, source};
use super::sctp_failover::{NAME, case, courses};
use super::{field, statistics::Sample};
use crate::contract::{Options, Outcome};
use crate::host;
use crate::progress::Progress;
use crate::published;
use anyhow::Context;
use attack::{Namespace, Veth};
use link::{Change, Emulator, LinkPlan, Plan, Rate, Span, Way, Which};
use machine::Duration;
use serde_json::json;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;

/// Associations have come up and paths are measured when traffic begins.
const SETTLED: Duration = Duration::from_secs(4);
/// How far means may be from those of the simulation.
const TOLERANCE: f64 = 0.10;
/// Runs of each test: one after the other, or in a quick run all at once.
const ROUNDS: usize = 10;
const QUICK_AT_ONCE: usize = 4;
/// Traffic before the cut and in all, of a quick run.
const QUICK_CUT: Duration = Duration::from_secs(6);
const QUICK_LENGTH: Duration = Duration::from_secs(12);
const PATHS: usize = 2;

/// Runs it.
///
/// # Errors
/// When the endpoints cannot be set up.
pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let published = published::ss7();
    let table = published.table(NAME).context("the published table is part of the program")?;
    let pairs = pairs(options);
    let ground = match Ground::new(pairs.len()) {
        Ok(ground) => ground,
        Err(error) => return Ok(Outcome::without_namespaces(NAME, table, options, &error)),
    };
    let rounds = if options.quick { 1 } else { ROUNDS };
    let progress = Progress::new(NAME, rounds as u64);
    let mut found: Vec<Vec<Course>> = vec![Vec::new(); pairs.len()];
    let mut late_us = Vec::new();
    for round in 0..rounds {
        progress.say(&format!("round {} of {rounds}: {} at once", round + 1, pairs.len()));
        let cases: Vec<Case> = pairs.iter().map(|test| live_case(options, test, 0)).collect();
        let (courses, late) = ground.run(&cases, round)?;
        found.iter_mut().zip(courses).for_each(|(all, course)| all.push(course));
        late_us.extend(late);
        progress.step();
    }
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    let mut index = 0;
    while let Some(test) = pairs.get(index) {
        let same = pairs.iter().filter(|other| scenario(other) == scenario(test)).count();
        let courses: Vec<Course> = found[index..index + same].concat();
        index += same;
        compare(options, test, &courses, table, &mut outcome)?;
    }
    let late = Sample::of(late_us).map_or(0.0, |late| late.most);
    for row in &mut outcome.rows {
        row.detail["late_99_of_100_us"] = json!(late);
        row.detail["quick"] = json!(options.quick);
    }
    Ok(outcome)
}

/// The tests, each as often as it runs at once. A quick run has no time for RFC2960.
fn pairs(options: &Options) -> Vec<Test> {
    let all: Vec<Test> = match options.quick {
        true => [Configuration::telecom(2), Configuration::telecom(5), Configuration::tandem()]
            .map(|configuration| (configuration, 10))
            .into(),
        false => tests().into_iter().chain(at_every_delay(Configuration::tandem())).collect(),
    };
    let at_once = if options.quick { QUICK_AT_ONCE } else { 1 };
    let wanted = all.into_iter().filter(|test| options.wants(&scenario(test)));
    wanted.flat_map(|test| std::iter::repeat_n(test, at_once)).collect()
}

fn live_case(options: &Options, test: &Test, seed: u64) -> Case {
    let whole = case(test, Load::REPORT, seed);
    match options.quick {
        true => Case { cut: Some(QUICK_CUT), length: QUICK_LENGTH, ..whole },
        false => whole,
    }
}

/// The row of a test with the simulation of the same runs beside it.
fn compare(
    options: &Options,
    test: &Test,
    live: &[Course],
    table: &published::Table,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let published = table.rows.iter().find(|row| row.scenario == scenario(test));
    let (mut row, broken) = row(&Judged { test, load: Load::REPORT, courses: live }, published);
    let cases: Vec<Case> = (1..=10).map(|seed| live_case(options, test, seed)).collect();
    let simulated = courses(&cases)?;
    let simulated = Judged { test, load: Load::REPORT, courses: &simulated };
    let live = Judged { test, load: Load::REPORT, courses: live };
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
    let note = row.detail["note"].as_str().unwrap_or_default();
    row.detail["note"] = json!(format!("live{words}; {note}"));
    outcome.rows.push(row);
    outcome.broken.extend(broken);
    Ok(())
}

/// Address of a side of a pair on a path.
fn address(pair: usize, path: usize, side: usize) -> IpAddr {
    [10, 100 + pair as u8, path as u8, 1 + side as u8].into()
}

/// Namespaces with so many pairs of endpoints.
struct Ground {
    left: Namespace,
    right: Namespace,
    middle: Namespace,
}

impl Ground {
    fn new(pairs: usize) -> anyhow::Result<Self> {
        let [left, right, middle] = ["sf-left", "sf-right", "sf-middle"].map(Namespace::new);
        let ground = Self { left: left?, right: right?, middle: middle? };
        for namespace in [&ground.left, &ground.right, &ground.middle] {
            // Only what the endpoints send shall cross the links.
            namespace.set("net.ipv6.conf.default.disable_ipv6", "1")?;
        }
        for pair in 0..pairs {
            for path in 0..PATHS {
                for (side, namespace) in [(0, &ground.left), (1, &ground.right)] {
                    ground.wire(pair, path, (side, namespace))?;
                }
            }
        }
        Ok(ground)
    }

    fn wire(
        &self,
        pair: usize,
        path: usize,
        (side, namespace): (usize, &Namespace),
    ) -> anyhow::Result<()> {
        let mac = |end: u8| format!("02:5f:{end:02x}:{pair:02x}:{path:02x}:{side:02x}");
        let (near, far) = (format!("near{pair}p{path}"), format!("far{pair}p{path}s{side}"));
        let v4 = format!("{}/24", address(pair, path, side));
        let (near_mac, far_mac) = (mac(0), mac(1));
        Veth::pair(
            Veth { namespace, interface: &near, addresses: &[&v4], mac: &near_mac },
            Veth { namespace: &self.middle, interface: &far, addresses: &[], mac: &far_mac },
        )
    }

    /// A link for each path of each pair.
    fn plan(&self, cases: &[Case]) -> anyhow::Result<Plan> {
        let mut links = Vec::new();
        for (pair, case) in cases.iter().enumerate() {
            for path in 0..PATHS {
                let place = |side: usize| {
                    let name = format!("{}/far{pair}p{path}s{side}", self.middle.name());
                    name.parse().map_err(anyhow::Error::msg)
                };
                let way = Way {
                    delay: Some(Span(case.delay)),
                    rate: Rate::new(field::RATE),
                    ..Way::default()
                };
                let name = format!("{pair}p{path}");
                let between = [place(0)?, place(1)?];
                let link = LinkPlan::new(name, between, (&way, &Way::default()), &[]);
                links.push(link.map_err(anyhow::Error::msg)?);
            }
        }
        Ok(Plan { seed: 1, links })
    }

    /// Runs all at once; what became of each, and how late packets left the links, us.
    fn run(&self, cases: &[Case], round: usize) -> anyhow::Result<(Vec<Course>, Vec<f64>)> {
        let emulator = Emulator::start(&self.plan(cases)?)?;
        let shared = Arc::new(Shared::start());
        let first = cases.first().context("no test is wanted")?;
        let cut = first.cut.context("a live run has a cut")?;
        let timeline = Timeline { settled: SETTLED, length: first.length };
        let courses = thread::scope(|scope| {
            let mut threads = Vec::new();
            for (pair, case) in cases.iter().enumerate() {
                let place = |side: usize| Place {
                    namespace: [self.left.name(), self.right.name()][side],
                    side,
                    carrier: [Carrier::Udp, Carrier::Ip][(pair + round) % 2],
                    here: [address(pair, 0, side), address(pair, 1, side)],
                    there: [address(pair, 0, 1 - side), address(pair, 1, 1 - side)],
                };
                let (far, near) = (place(1), place(0));
                let (one, two) = (Arc::clone(&shared), Arc::clone(&shared));
                let sink = scope.spawn(move || sink(&far, case, timeline, &one));
                let source = scope.spawn(move || source(&near, case, timeline, &two));
                threads.push((source, sink));
            }
            thread::sleep(SETTLED + cut);
            for pair in 0..cases.len() {
                emulator.change(&format!("{pair}p0"), Which::Both, Change::Cut)?;
            }
            shared.cut();
            let joined = threads.into_iter().map(|(source, sink)| {
                let crashed = || anyhow::anyhow!("an endpoint crashed");
                let source = source.join().map_err(|_| crashed())?;
                let sink = sink.join().map_err(|_| crashed())?;
                Ok::<Course, anyhow::Error>(together(source?, sink?))
            });
            joined.collect::<anyhow::Result<Vec<Course>>>()
        })?;
        let summary = emulator.end()?;
        let ways = summary.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let late = ways.filter_map(|way| way.late_us.as_ref()).map(|late| late.p99);
        Ok((courses, late.collect()))
    }
}

/// What both endpoints saw.
fn together(source: Told, sink: Told) -> Course {
    let mut offences = source.offences;
    offences.extend(sink.offences);
    let course = Course {
        spurious: source.course.spurious + sink.course.spurious,
        excursions: source.course.excursions + sink.course.excursions,
        lost: source.course.lost || sink.course.lost,
        offences,
        ..source.course
    };
    course.settled(&sink.ledger, source.ledger.sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_has_the_tests_that_end_within_seconds_and_a_full_one_has_all() {
        let mut options = Options::of_this_executable(true).unwrap();
        let names: Vec<String> = pairs(&options).iter().map(scenario).collect();
        assert!(names.len() == 12 && !names.iter().any(|name| name.starts_with("RFC")));
        options.quick = false;
        assert_eq!(pairs(&options).len(), 14);
    }
}
