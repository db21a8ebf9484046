//! `call-signalling`: calls per second on one core, Table 1 of the report.
//!
//! | what | how |
//! |---|---|
//! | load | 1 M subscribers in rotation, open-loop arrivals, both ends on the other core |
//! | criterion | no failed call, in-dialog order at both ends, no growing queue |
//! | search | ramp, bisection, a longer confirmation; a fresh system after each failure |
//! | Tandem | the B2BUA, one shard, HEP capture on |
//! | without runs | the same search with `UDP_SEGMENT` and `UDP_GRO` off at both ends (`detail`) |
//! | peer | Kamailio, dialog-stateful record-routing proxy, one worker a socket, no capture |

use super::measure::{Measured, Plan, highest_rate};
use super::topology::{Ground, Load, System};
use load::Found;
use load::Ladder;
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, NEEDS_IPSEC};
use runtime::Transport;
use serde_json::{Value, json};
use std::time::Instant;

const NAME: &str = "call-signalling";
/// Where the search without runs of datagrams begins, as a share of the one with them.
const APART_SHARE: f64 = 0.5;

struct Scenario {
    name: &'static str,
    flow: &'static str,
    transport: Transport,
    /// Where the searches begin: the peer's, Tandem's.
    first_rates: (f64, f64),
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "SIP",
        flow: "SIP",
        transport: Transport::Udp,
        first_rates: (6_000.0, 25_000.0),
    },
    Scenario {
        name: "SIP+TLS",
        flow: "SIP",
        transport: Transport::Tls,
        first_rates: (4_000.0, 12_000.0),
    },
    Scenario {
        name: "VoLTE",
        flow: "VoLTE",
        transport: Transport::Udp,
        first_rates: (2_000.0, 7_000.0),
    },
];

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let searches = if options.quick { 2 } else { 3 };
    let progress = Progress::new(NAME, searches * SCENARIOS.len() as u64);
    let begun = Instant::now();
    let mut searches_left = 2 * SCENARIOS.iter().filter(|s| options.wants(s.name)).count() as u32;
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    if host::cores() < 2 {
        outcome.broken.push("one core only: generator and system under test share it".into());
    }
    for row in table.rows.iter().filter(|row| options.wants(&row.scenario)) {
        let published = row.value;
        let Some(scenario) = SCENARIOS.iter().find(|s| s.name == row.scenario) else {
            outcome.rows.push(table.absent(row, NEEDS_IPSEC));
            continue;
        };
        let plan = Plan::of(options.quick);
        let left = plan.budget.map(|budget| budget.saturating_sub(begun.elapsed()));
        let budget = left.map(|left| left / searches_left.max(1));
        searches_left -= 2;
        let plan = Plan { budget, ..plan };
        let (peer, tandem) = measure(scenario, &plan, options, &progress)?;
        let apart = apart(scenario, &plan, options, &progress)?;
        outcome.broken.extend(offences(scenario, &tandem.0, &peer.0));
        let mut detail = detail(scenario, &plan, &tandem.0, &peer.0, priority.granted)?;
        if let Some((found, _)) = &apart {
            detail["without_udp_runs"] = json!(rate(found));
            detail["tandem_without_udp_runs"] = side(found);
        }
        outcome.rows.push(Row {
            scenario: row.scenario.clone(),
            unit: table.unit.clone(),
            published,
            peer: rate(&peer.0).map(|value| Peer { name: peer.1, value }),
            tandem: rate(&tandem.0),
            detail,
        });
    }
    Ok(outcome)
}

fn rate(found: &Found<Measured>) -> Option<f64> {
    found.best.as_ref().map(|(rate, _)| *rate)
}

/// Everything that was measured, for both.
fn detail(
    scenario: &Scenario,
    plan: &Plan,
    tandem: &Found<Measured>,
    peer: &Found<Measured>,
    priority: bool,
) -> anyhow::Result<Value> {
    let mut detail = json!({
        "messages_per_call": Ladder::built_in(scenario.flow)?.messages(),
        "subscribers": plan.subscribers,
        "priority": priority,
    });
    for (name, found) in [("tandem", tandem), ("peer", peer)] {
        detail[name] = side(found);
    }
    Ok(detail)
}

/// What a search found, and where it ended.
fn side(found: &Found<Measured>) -> Value {
    let mut side = found.best.as_ref().map_or(json!({}), |(_, best)| best.json());
    side["trials"] = json!(found.trials);
    side["first_failure"] = json!(found.first_failure.as_ref().map(|(_, failed)| failed.json()));
    side
}

/// Tandem without runs of datagrams at either end. A quick run has no time for it.
fn apart(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> anyhow::Result<Option<Side>> {
    if options.quick || scenario.transport != Transport::Udp {
        return Ok(None);
    }
    let mut ground = Ground::new()?;
    ground.udp_runs = false;
    let load = Load::start(&ground, Ladder::built_in(scenario.flow)?, scenario.transport)?;
    progress.say(&format!("{}: Tandem without runs of datagrams", scenario.name));
    let (_, first) = scenario.first_rates;
    let start = || Ok(Some(System::tandem(&ground, &options.tandem)?));
    highest_rate(plan, &load, first * APART_SHARE, progress, start).map(Some)
}

type Side = (Found<Measured>, String);

/// The peer and Tandem, one after the other, on the same ground.
fn measure(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> anyhow::Result<(Side, Side)> {
    let ground = Ground::new()?;
    let tls = scenario.transport == Transport::Tls;
    let (peer_rate, tandem_rate) = scenario.first_rates;
    let load = Load::start(&ground, Ladder::built_in(scenario.flow)?, scenario.transport)?;
    progress.say(&format!("{}: the peer", scenario.name));
    let peer = highest_rate(plan, &load, peer_rate, progress, || {
        Ok(Some(System::kamailio(&ground, tls)?))
    })?;
    progress.say(&format!("{}: Tandem", scenario.name));
    let tandem = highest_rate(plan, &load, tandem_rate, progress, || {
        Ok(Some(System::tandem(&ground, &options.tandem)?))
    })?;
    Ok((peer, tandem))
}

/// What did not hold in the run itself.
fn offences(scenario: &Scenario, tandem: &Found<Measured>, peer: &Found<Measured>) -> Vec<String> {
    let mut offences = Vec::new();
    for (name, found) in [("Tandem", tandem), ("the peer", peer)] {
        match &found.best {
            None => offences.push(format!("{}: {name} held no rate", scenario.name)),
            Some((_, best)) if !best.held() => {
                offences.push(format!("{}: {name} failed calls", scenario.name));
            }
            Some(_) => {}
        }
    }
    let captured = tandem.best.as_ref().map_or(0, |(_, best)| best.report.captured);
    if tandem.best.is_some() && captured == 0 {
        offences.push(format!("{}: nothing was captured", scenario.name));
    }
    offences
}
