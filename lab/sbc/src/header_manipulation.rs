//! `header-manipulation`: what it costs to change two headers and add two on each message that is
//! forwarded, on both sides.
//!
//! The messages carry User-Agent and Organization, so that something is changed and not added. The
//! call rate is searched without and with the rules, for the peer and for Tandem; beside it stands
//! the processor time of a call, which a busy machine blurs less.

use super::measure::{Measured, Plan, highest_rate, trial};
use super::topology::{Load, System, Topology};
use peers::{Duty, Priority};
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published;
use runtime::Transport;
use serde_json::json;
use sip_load::{Ladder, Trial};
use std::time::Duration;

const NAME: &str = "header-manipulation";
/// Where the searches begin: the peer's, Tandem's.
const FIRST_RATES: (f64, f64) = (6_000.0, 20_000.0);
/// What the rules may cost.
const COST_MAX: f64 = 0.05;
/// What is between two searches of a quick run beside the rules.
const QUICK_SLACK: f64 = 0.15;
const QUICK_SEARCH: Duration = Duration::from_secs(10);
/// Headers of the flow that the rules change.
const CARRIED: [&str; 2] = ["User-Agent: lab/1.0", "Organization: the lab"];
/// Trials at one rate, without and with the rules in turn, for the processor time.
const PAIRS: usize = 3;
/// Searches of a full run in steps of [`FINE`], without and with the rules in turn: a share of 5 %
/// is not judged by one search whose steps are 3 %.
const FINE_SEARCHES: usize = 3;
/// The last step of such a search, and its step back.
const FINE: f64 = 1.01;
/// Length of its trials: a rate that holds for a shorter one is rarely confirmed.
const FINE_TRIAL: Duration = Duration::from_secs(8);
/// The first step of such a search up or down from where the last one ended.
const FINE_FACTOR: f64 = 1.04;

const REALM: &str = "[[ssc.realm]]\nname = \"access\"";
const RULES: &str = r#"[[ssc.rule]]
direction = "out"
[[ssc.rule.do]]
set = "User-Agent"
value = "another/2.0"
[[ssc.rule.do]]
set = "Organization"
value = "changed"
[[ssc.rule.do]]
add = "X-First"
value = "one"
[[ssc.rule.do]]
add = "X-Second"
value = "two"

[[ssc.realm]]
name = "access""#;

/// Two values, without and with the rules.
type Both<T> = [T; 2];

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let progress = Progress::new(NAME, 5);
    let topology = Topology::new()?;
    let load = Load::start(&topology, ladder()?, Transport::Udp)?;
    let bench = Bench { options, topology: &topology, load: &load, progress: &progress };
    let peer = [bench.search(true, false)?, bench.search(true, true)?];
    let coarse = [bench.search(false, false)?, bench.search(false, true)?];
    let tandem = if options.quick { coarse } else { bench.refine(coarse)? };
    let rate = tandem.iter().flatten().map(|(rate, _, _)| *rate).fold(f64::INFINITY, f64::min);
    let cpu = bench.cpu(if rate.is_finite() { rate * 0.8 } else { FIRST_RATES.1 / 4.0 })?;
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    outcome.broken.extend(violations(&tandem, &cpu, options.quick));
    let rows = table.rows.iter().enumerate().filter(|(_, row)| options.wants(&row.scenario));
    for (at, row) in rows {
        let at = at.min(1);
        let rate = |both: &Both<Side>| both[at].as_ref().map(|(rate, _, _)| *rate);
        let name = peer[at].as_ref().map(|(_, _, name)| name.clone()).unwrap_or_default();
        outcome.rows.push(Row {
            scenario: row.scenario.clone(),
            unit: table.unit.clone(),
            published: row.value,
            peer: rate(&peer).map(|value| Peer { name, value }),
            tandem: rate(&tandem),
            detail: json!({
                "priority": priority.granted,
                "cost_of_rules": cost(&tandem),
                "peer_cost_of_rules": cost(&peer),
                "cpu_us_per_call": { "baseline": cpu[0], "with rules": cpu[1] },
                "cpu_cost_of_rules": cpu[1] / cpu[0] - 1.0,
                "tandem": tandem[at].as_ref().map_or(json!({}), |(_, best, _)| best.json()),
                "peer": peer[at].as_ref().map_or(json!({}), |(_, best, _)| best.json()),
            }),
        });
    }
    Ok(outcome)
}

/// The SIP flow, with two more headers on every message.
fn ladder() -> anyhow::Result<Ladder> {
    let mut ladder = Ladder::built_in("SIP")?;
    for step in &mut ladder.steps {
        step.headers.extend(CARRIED.map(String::from));
    }
    Ok(ladder)
}

/// The highest rate, what was measured there, the system's name.
type Side = Option<(f64, Measured, String)>;

struct Bench<'a> {
    options: &'a Options,
    topology: &'a Topology,
    load: &'a Load,
    progress: &'a Progress,
}

impl Bench<'_> {
    fn start(&self, is_peer: bool, has_rules: bool) -> anyhow::Result<System> {
        if is_peer {
            let duty = if has_rules { Duty::Manipulate } else { Duty::None };
            return System::kamailio_with(self.topology, false, duty);
        }
        let changes = [(REALM, RULES)];
        let changes = if has_rules { &changes[..] } else { &[] };
        System::tandem_with(self.topology, &self.options.tandem, changes)
    }

    fn search(&self, is_peer: bool, has_rules: bool) -> anyhow::Result<Side> {
        let plan = Plan::of(self.options.quick);
        let plan =
            Plan { budget: plan.budget.map(|_| QUICK_SEARCH), confirm_hold: plan.hold, ..plan };
        let first = if is_peer { FIRST_RATES.0 } else { FIRST_RATES.1 };
        self.search_from(&plan, first, is_peer, has_rules)
    }

    fn search_from(
        &self,
        plan: &Plan,
        first: f64,
        is_peer: bool,
        has_rules: bool,
    ) -> anyhow::Result<Side> {
        let with = if has_rules { "with rules" } else { "baseline" };
        self.progress.say(if is_peer { "the peer" } else { "Tandem" });
        self.progress.say(with);
        let (found, name) = highest_rate(plan, self.load, first, self.progress, || {
            Ok(Some(self.start(is_peer, has_rules)?))
        })?;
        Ok(found.best.map(|(rate, best)| (rate, best, name)))
    }

    /// The best of some searches in fine steps, each from the best so far.
    fn refine(&self, coarse: Both<Side>) -> anyhow::Result<Both<Side>> {
        let plan =
            Plan { factor: FINE_FACTOR, precision: FINE, step_back: 1.0 / FINE, ..Plan::FULL };
        let plan = Plan { trial: FINE_TRIAL, confirm: FINE_TRIAL, confirm_hold: plan.hold, ..plan };
        let mut best = coarse;
        for _ in 0..FINE_SEARCHES {
            for (at, best) in best.iter_mut().enumerate() {
                let Some((rate, ..)) = best else { continue };
                let found = self.search_from(&plan, *rate, false, at == 1)?;
                if found.as_ref().is_some_and(|(found, ..)| found > rate) {
                    *best = found;
                }
            }
        }
        Ok(best)
    }

    /// Processor time of a call without and with the rules, at the same rate, the best of some.
    fn cpu(&self, rate: f64) -> anyhow::Result<Both<f64>> {
        let length = Duration::from_millis(if self.options.quick { 800 } else { 5_000 });
        let mut best = [f64::INFINITY; 2];
        for _ in 0..PAIRS {
            for (at, best) in best.iter_mut().enumerate() {
                let system = self.start(false, at == 1)?;
                let asked = Trial { rate, length, ..Trial::default() };
                let measured = trial(self.load, Some(&system), asked)?;
                *best = best.min(measured.cpu_us_per_call);
            }
        }
        self.progress.step();
        Ok(best)
    }
}

/// The share of the rate that the rules cost.
fn cost(both: &Both<Side>) -> Option<f64> {
    let [Some((without, ..)), Some((with, ..))] = both else { return None };
    Some(1.0 - with / without)
}

fn violations(tandem: &Both<Side>, cpu: &Both<f64>, quick: bool) -> Vec<String> {
    let mut violations = Vec::new();
    let slack = if quick { QUICK_SLACK } else { 0.0 };
    match cost(tandem) {
        None => violations.push("no rate held".into()),
        Some(cost) if cost > COST_MAX + slack => {
            let cpu = (cpu[1] / cpu[0] - 1.0) * 100.0;
            let cost = cost * 100.0;
            violations.push(format!("the rules cost {cost:.1} % of the rate, {cpu:.1} % of CPU"));
        }
        Some(_) => {}
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_of_the_flow_carries_what_is_changed() {
        let ladder = ladder().unwrap();
        assert!(ladder.steps.iter().all(|step| step.headers.len() == CARRIED.len()));
        assert_eq!(ladder.messages(), 7);
    }
}
