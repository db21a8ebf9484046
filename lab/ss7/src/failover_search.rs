//! Which configuration meets Q.706 and TCAP with the fewest spurious failovers, under loss, jitter
//! and competing traffic. The preset `tandem` is the answer, and has to stay it.
//!
//! - A *spurious failover*: a path is told INACTIVE (more than Path.Max.Retrans time-outs in a row)
//!   although its link was not cut.
//! - An *excursion*: the same for POTENTIALLY FAILED (RFC 7829). Data goes elsewhere for a round
//!   trip or so.
//! - It *meets* the limits when it takes under no condition longer than 800 ms to tell that the
//!   primary was cut (Q.706), and on quiet paths no MSU takes longer than 600 ms meanwhile (TCAP).

use super::failover_rows::{CHANGEOVER_MAX, TRANSFER_MAX};
use super::sctp_failover::courses;
use failover::arithmetic::ms;
use failover::configuration::{Condition, Configuration};
use failover::course::{Case, Course, Load};
use failover::ledger::TRANSFER_LIMITS;
use machine::Duration;
use report::contract::{Options, Outcome, Row};
use sctp::Parameters;
use serde_json::{Value, json};

const UNIT: &str = "spurious failovers/h";
/// Path delay, ms.
const DELAY_MS: u64 = 10;
/// Path delays and traffic of a run without a cut, and how many runs.
const STEADY: Duration = Duration::from_secs(300);
const STEADY_RUNS: u64 = 6;
const STEADY_RUNS_QUICK: u64 = 1;
const STEADY_QUICK: Duration = Duration::from_secs(60);
/// Runs with a cut.
const CUT: Duration = Duration::from_secs(5);
const CUT_LENGTH: Duration = Duration::from_secs(10);
const CUT_RUNS: u64 = 20;
const CUT_RUNS_QUICK: u64 = 3;
/// Conditions of a quick run.
const QUICK: [&str; 3] = ["no loss", "1 % random", "5 % in bursts of 3 packets"];

/// What the search varies.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// RTO.Min and RTO.Max, ms.
    rto_ms: [u64; 2],
    p: u16,
    /// PotentiallyFailed.Max.Retrans.
    pf: Option<u16>,
    sack_ms: u64,
}

impl Candidate {
    fn configuration(self) -> Configuration {
        let Self { rto_ms: [least, most], p, pf, sack_ms } = self;
        let mut parameters = Parameters::tandem();
        parameters.path.rto_min = Duration::from_millis(least);
        parameters.path.rto_max = Duration::from_millis(most);
        parameters.path.path_max_retrans = p;
        parameters.path.potentially_failed_max_retrans = pf;
        parameters.sack_delay = Duration::from_millis(sack_ms);
        let pf = pf.map_or_else(|| "none".into(), |pf| pf.to_string());
        let name = format!("RTO {least} to {most} ms, p {p}, PFMR {pf}, SACK {sack_ms} ms");
        Configuration { name, parameters }
    }
}

/// What is compared: those of the report, the preset, and what lies around it.
fn candidates(is_quick: bool) -> Vec<Configuration> {
    let mut all: Vec<Configuration> = [2, 3, 5].map(Configuration::telecom).into();
    for p in [2, 5] {
        let mut telecom = Configuration::telecom(p);
        telecom.parameters.path.potentially_failed_max_retrans = Some(0);
        telecom.name += " with PFMR 0";
        all.push(telecom);
    }
    let around = |rto_ms, p, pf, sack_ms| Candidate { rto_ms, p, pf, sack_ms }.configuration();
    if !is_quick {
        for least in [40, 60, 80] {
            for (most, p) in [(150, 4), (100, 6), (100, 7)] {
                all.push(around([least, most], p, Some(0), 10));
            }
        }
        all.push(around([40, 100], 6, Some(1), 10));
        all.push(around([60, 100], 6, Some(1), 10));
        all.push(around([60, 100], 6, None, 10));
        all.push(around([60, 100], 6, Some(0), 40));
    }
    let tandem = Configuration::tandem();
    all.retain(|it| it.parameters != tandem.parameters);
    all.push(tandem);
    all
}

/// A configuration under one condition.
struct Exposed {
    condition: Condition,
    steady: Vec<Course>,
    cut: Vec<Course>,
    hours: f64,
}

impl Exposed {
    fn spurious(&self) -> u64 {
        self.steady.iter().map(|course| course.spurious).sum()
    }

    fn excursions(&self) -> u64 {
        self.steady.iter().map(|course| course.excursions).sum()
    }

    /// Of the runs with a cut; where the path was INACTIVE before, there is no failover time.
    fn slowest(&self, time: impl Fn(&Course) -> Option<Duration>) -> f64 {
        self.cut.iter().filter_map(time).map(ms).fold(0.0, f64::max)
    }

    fn lost(&self) -> usize {
        self.steady.iter().chain(&self.cut).filter(|course| course.lost).count()
    }

    fn json(&self) -> Value {
        let late = |limit: usize| {
            let late: u64 = self.steady.iter().map(|course| course.late[limit]).sum();
            let sent: u64 = self.steady.iter().map(|course| course.sent).sum();
            late as f64 * 1e6 / sent as f64
        };
        json!({
            "condition": self.condition.name,
            "spurious_per_hour": self.spurious() as f64 / self.hours,
            "excursions_per_hour": self.excursions() as f64 / self.hours,
            "associations_lost": self.lost(),
            "late_600_ms_per_million": late(0),
            "late_1000_ms_per_million": late(1),
            "failover_most_ms": self.slowest(|course| course.failover),
            "max_transfer_ms": self.steady.iter().map(|it| ms(it.max_transfer)).fold(0.0, f64::max),
            "max_transfer_after_cut_ms": self.slowest(|course| Some(course.max_transfer)),
        })
    }
}

/// Adds a row for each configuration.
pub(super) fn run(options: &Options, outcome: &mut Outcome) -> anyhow::Result<()> {
    let mut found = Vec::new();
    for configuration in candidates(options.quick) {
        let scenario = format!("search: {}", configuration.name);
        if options.wants(&scenario) {
            let exposed = expose(&configuration, options.quick)?;
            outcome.rows.push(row(scenario, &exposed));
            let violations = exposed.iter().flat_map(|it| it.steady.iter().chain(&it.cut));
            let violations = violations.flat_map(|course| &course.violations);
            let named = violations.map(|what| format!("{}: {what}", configuration.name));
            outcome.broken.extend(named.take(1));
            found.push((configuration, exposed));
        }
    }
    outcome.broken.extend(beaten(&found));
    Ok(())
}

fn expose(configuration: &Configuration, is_quick: bool) -> anyhow::Result<Vec<Exposed>> {
    let conditions = Condition::all().into_iter();
    let conditions = conditions.filter(|it| !is_quick || QUICK.contains(&it.name));
    let (length, runs, cuts) = match is_quick {
        true => (STEADY_QUICK, STEADY_RUNS_QUICK, CUT_RUNS_QUICK),
        false => (STEADY, STEADY_RUNS, CUT_RUNS),
    };
    let test = (configuration.clone(), DELAY_MS);
    let plain = |seed| Case::of(&test, Load::REPORT, seed);
    let exposed = conditions.map(|condition| {
        let steady = |seed| Case { condition, cut: None, length, ..plain(seed) };
        let cut = |seed| Case { condition, cut: Some(CUT), length: CUT_LENGTH, ..plain(seed) };
        let cases: Vec<Case> = (1..=runs).map(steady).chain((1..=cuts).map(cut)).collect();
        let mut steady = courses(&cases)?;
        let cut = steady.split_off(runs as usize);
        let hours = runs as f64 * length.as_secs_f64() / 3_600.0;
        Ok(Exposed { condition, steady, cut, hours })
    });
    exposed.collect()
}

/// Spurious failovers an hour, all conditions taken together.
fn spurious_per_hour(exposed: &[Exposed]) -> f64 {
    let spurious: u64 = exposed.iter().map(Exposed::spurious).sum();
    spurious as f64 / exposed.iter().map(|it| it.hours).sum::<f64>()
}

/// What it does on quiet paths.
fn quiet(exposed: &[Exposed]) -> Option<&Exposed> {
    exposed.iter().find(|it| it.condition.name == Condition::QUIET.name)
}

/// The longest time until the failure was told, under any condition, ms.
fn worst(exposed: &[Exposed]) -> f64 {
    exposed.iter().map(|it| it.slowest(|course| course.failover)).fold(0.0, f64::max)
}

/// The longest transfer on quiet paths one of which is cut, ms.
fn longest(exposed: &[Exposed]) -> f64 {
    quiet(exposed).map_or(f64::INFINITY, |it| it.slowest(|course| Some(course.max_transfer)))
}

fn meets(exposed: &[Exposed]) -> bool {
    worst(exposed) <= CHANGEOVER_MAX && longest(exposed) <= ms(TRANSFER_LIMITS[0])
}

fn row(scenario: String, exposed: &[Exposed]) -> Row {
    let quiet = quiet(exposed);
    let meets = meets(exposed);
    let lost: usize = exposed.iter().map(Exposed::lost).sum();
    let excursions: u64 = exposed.iter().map(Exposed::excursions).sum();
    let hours: f64 = exposed.iter().map(|it| it.hours).sum();
    let failover = quiet.map_or(f64::NAN, |it| it.slowest(|course| course.failover));
    let transfer = quiet.map_or(f64::NAN, |it| it.slowest(|course| Some(course.max_transfer)));
    let note = format!(
        "{}: failover {failover:.0} ms, at worst {:.0}, max MSU {transfer:.0} ms; {:.1} \
         excursions/h; {lost} associations lost",
        if meets { "meets the limits" } else { "too slow" },
        worst(exposed),
        excursions as f64 / hours,
    );
    let steady = exposed.iter().flat_map(|it| &it.steady);
    let longest = steady.map(|course| ms(course.max_transfer)).fold(0.0, f64::max);
    Row {
        scenario,
        unit: UNIT.into(),
        published: None,
        peer: None,
        tandem: Some(spurious_per_hour(exposed)),
        detail: json!({
            "note": note,
            "meets": meets,
            "failover_most_ms": failover,
            "failover_worst_ms": worst(exposed),
            "associations_lost": lost,
            "max_transfer_ms": transfer,
            "excursions_per_hour": excursions as f64 / hours,
            "hours": hours,
            "max_transfer_without_cut_ms": longest,
            "conditions": exposed.iter().map(Exposed::json).collect::<Vec<_>>(),
        }),
    }
}

/// Says so when the preset does not meet the limits, or when another one that meets them has fewer
/// spurious failovers by more than chance (two deviations of the difference of two counts).
fn beaten(found: &[(Configuration, Vec<Exposed>)]) -> Vec<String> {
    let count = |exposed: &[Exposed]| exposed.iter().map(Exposed::spurious).sum::<u64>() as f64;
    let suits = |exposed: &[Exposed]| meets(exposed) && longest(exposed) <= TRANSFER_MAX;
    let tandem = found.iter().find(|(configuration, _)| configuration.name == "tandem");
    let Some((_, exposed)) = tandem else { return Vec::new() };
    if !suits(exposed) {
        return vec!["the preset tandem does not meet the limits".into()];
    }
    let own = count(exposed);
    let others = found.iter().filter(|(_, exposed)| suits(exposed));
    let better = others.filter(|(_, exposed)| {
        let other = count(exposed);
        own - other > 2.0 * (own + other).sqrt()
    });
    better.map(|(it, _)| format!("{} has fewer spurious failovers than tandem", it.name)).collect()
}
