//! `generator`: how fast the lab's own generator is, both ends on one core, against itself. No
//! figure of the lab is worth anything near this rate.

use super::measure::{Plan, highest_rate};
use super::topology::{Load, Topology};
use peers::Priority;
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use runtime::Transport;
use serde_json::json;
use sip_load::Ladder;

const UNIT: &str = "calls/s";
const FIRST_RATE: f64 = 20_000.0;

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let plan = Plan::of(options.quick);
    let budget = plan.budget.map(|budget| budget / 2);
    let plan = Plan { confirm_hold: Plan::QUICK.hold, budget, ..plan };
    let mut outcome = Outcome {
        experiment: "generator",
        host: host::describe(),
        rows: Vec::new(),
        broken: Vec::new(),
    };
    let scenarios = [("SIP", "SIP"), ("VoLTE", "VoLTE")];
    let progress = Progress::new("generator", scenarios.len() as u64);
    for (scenario, flow) in scenarios.into_iter().filter(|(name, _)| options.wants(name)) {
        let mut topology = Topology::new()?;
        topology.access = topology.answerer;
        let load = Load::start(&topology, Ladder::built_in(flow)?, Transport::Udp)?;
        let (found, _) = highest_rate(&plan, &load, FIRST_RATE, &progress, || Ok(None))?;
        if found.best.is_none() {
            outcome.broken.push(format!("{scenario}: no rate held"));
        }
        let best = found.best.as_ref();
        outcome.rows.push(Row {
            scenario: scenario.into(),
            unit: UNIT.into(),
            published: None,
            peer: None,
            tandem: best.map(|(rate, _)| *rate),
            detail: json!({
                "tandem": best.map(|(_, measured)| measured.json()),
                "trials": found.trials,
                "priority": priority.granted,
            }),
        });
    }
    Ok(outcome)
}
