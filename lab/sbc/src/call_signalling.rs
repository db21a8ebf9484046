//! `call-signalling`: calls per second on one core, Table 1 of the report.
//!
//! | what | how |
//! |---|---|
//! | load | 1 M subscribers in rotation, open-loop arrivals, both ends on the other core |
//! | criterion | no failed call, in-dialog order at both ends, no growing queue |
//! | search | ramp, bisection, a longer confirmation; a fresh system after each failure |
//! | Tandem | the B2BUA, one shard, HEP capture on |
//! | without runs | the same search with `UDP_SEGMENT` and `UDP_GRO` off at both ends (`detail`) |
//! | IMS-AKA | phones register with AKA, their calls travel in ESP; judged by VoLTE without runs; |
//! |         | a full run has three rounds, whose medians count |
//! | media anchored | every description rewritten, by `[[msc]]` and by rtpengine; no packets |
//! | peer | Kamailio, dialog-stateful record-routing proxy, one worker a socket, no capture |

mod ims_aka;

use super::measure::{Measured, Plan, highest_rate};
use super::rounds::rounds;
use super::topology::{Load, System, Topology};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, NO_EXPERIMENT};
use runtime::Transport;
use serde_json::{Value, json};
use sip_load::Found;
use sip_load::Ladder;
use std::time::Instant;

const NAME: &str = "call-signalling";
/// Where the search without runs of datagrams begins, as a share of the one with them.
const APART_SHARE: f64 = 0.5;

/// The row of calls whose media are anchored, and what part of the first row it is.
const ANCHORED: &str = "SIP, media anchored";
const PART: &str = "SIP, media anchored, part of bypass";
/// Where its searches begin: the peer's, Tandem's.
const ANCHORED_RATES: (f64, f64) = (1_500.0, 15_000.0);
/// What a full run holds it to: part of bypass, times the peer's rate.
const PART_MIN: f64 = 0.75;
const TIMES_MIN: f64 = 4.0;

/// One row of the table, as it is measured.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) flow: &'static str,
    pub(super) transport: Transport,
    /// Where the searches begin: the peer's, Tandem's.
    pub(super) first_rates: (f64, f64),
}

pub(super) const SCENARIOS: &[Scenario] = &[
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
    let is_ims = options.wants(ims_aka::NAME);
    let of_ims = searches * rounds(options.quick) as u64;
    let steps = searches * SCENARIOS.len() as u64 + 2 + of_ims * u64::from(is_ims);
    let progress = Progress::new(NAME, steps);
    let begun = Instant::now();
    let is_anchored = options.wants(ANCHORED) | options.wants(PART);
    let mut searches_left = 2 * SCENARIOS.iter().filter(|s| options.wants(s.name)).count() as u32;
    searches_left += 2 * u32::from(is_anchored) + u32::from(is_ims);
    // Calls a second of VoLTE without runs.
    let mut volte = None;
    // Searches of the first row, where media pass by.
    let mut bypass = None;
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    if host::cores() < 2 {
        outcome.broken.push("one core only: generator and system under test share it".into());
    }
    for row in table.rows.iter().filter(|row| options.wants(&row.scenario)) {
        let published = row.value;
        if row.scenario == ims_aka::NAME {
            let plan = planned(options, begun, searches_left);
            searches_left -= 1;
            let bench = Bench { plan, options, progress: &progress, priority: priority.granted };
            outcome.rows.push(bench.ims_aka(row, volte, &mut outcome.broken)?);
            continue;
        }
        let Some(scenario) = SCENARIOS.iter().find(|s| s.name == row.scenario) else {
            outcome.rows.push(table.absent(row, NO_EXPERIMENT));
            continue;
        };
        let plan = planned(options, begun, searches_left);
        searches_left -= 2;
        let (peer, tandem) = measure(scenario, &plan, options, &progress)?;
        let apart = apart(scenario, &plan, options, &progress)?;
        outcome.broken.extend(violations(scenario.name, &tandem.0, &peer.0));
        let mut detail = detail(scenario, &plan, &tandem.0, &peer.0, priority.granted)?;
        if let Some((found, _)) = &apart {
            detail["without_udp_runs"] = json!(rate(found));
            volte = if scenario.name == ims_aka::BESIDE { rate(found) } else { volte };
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
        if scenario.name == SCENARIOS[0].name {
            bypass = Some([rate(&peer.0), rate(&tandem.0)]);
        }
    }
    if is_anchored {
        let plan = planned(options, begun, searches_left);
        let bench = Bench { plan, options, progress: &progress, priority: priority.granted };
        bench.anchored(bypass, &table.unit, &mut outcome)?;
    }
    Ok(outcome)
}

/// How one of so many searches that are left is done.
fn planned(options: &Options, begun: Instant, searches_left: u32) -> Plan {
    let plan = Plan::of(options.quick);
    let left = plan.budget.map(|budget| budget.saturating_sub(begun.elapsed()));
    Plan { budget: left.map(|left| left / searches_left.max(1)), ..plan }
}

/// What searches of calls with anchored media need.
struct Bench<'a> {
    plan: Plan,
    options: &'a Options,
    progress: &'a Progress,
    priority: bool,
}

impl Bench<'_> {
    /// The rows of anchored media. `bypass` are the rates of peer and Tandem in the first row, if
    /// it was part of this run; else they are measured here.
    fn anchored(
        &self,
        bypass: Option<[Option<f64>; 2]>,
        unit: &str,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let Self { plan, options, progress, .. } = self;
        let bypass = match bypass {
            Some(bypass) => bypass,
            None => {
                let (peer, tandem) = measure(&SCENARIOS[0], plan, options, progress)?;
                [rate(&peer.0), rate(&tandem.0)]
            }
        };
        let topology = Topology::new()?;
        let ladder = Ladder::built_in(SCENARIOS[0].flow)?;
        let load = Load::start(&topology, ladder, Transport::Udp)?;
        progress.say(&format!("{ANCHORED}: the peer with rtpengine"));
        let peer = highest_rate(plan, &load, ANCHORED_RATES.0, progress, || {
            Ok(Some(System::kamailio_anchored(&topology)?))
        })?;
        progress.say(&format!("{ANCHORED}: Tandem"));
        let tandem = highest_rate(plan, &load, ANCHORED_RATES.1, progress, || {
            Ok(Some(System::tandem_anchored(&topology, &options.tandem)?))
        })?;
        outcome.broken.extend(violations(ANCHORED, &tandem.0, &peer.0));
        let rates = [rate(&peer.0), rate(&tandem.0)];
        let mut detail = detail(&SCENARIOS[0], plan, &tandem.0, &peer.0, self.priority)?;
        detail["bypass"] = json!({ "peer": bypass[0], "tandem": bypass[1] });
        let parts: [Option<f64>; 2] = [0, 1].map(|of| Some(rates[of]? / bypass[of]?));
        let times = rates[1].zip(rates[0]).map(|(tandem, peer)| tandem / peer);
        if !options.quick {
            outcome.broken.extend(short(parts[1], times));
        }
        let row =
            |scenario: &str, unit: &str, [peer_value, tandem]: [Option<f64>; 2], detail| Row {
                scenario: scenario.into(),
                unit: unit.into(),
                published: None,
                peer: peer_value.map(|value| Peer { name: peer.1.clone(), value }),
                tandem,
                detail,
            };
        let percent = parts.map(|part| part.map(|part| (part * 1e3).round() / 10.0));
        let note = json!({ "note": format!("x {:.1} of the peer", times.unwrap_or_default()) });
        let rows = [row(ANCHORED, unit, rates, detail), row(PART, "% of bypass", percent, note)];
        outcome.rows.extend(rows.into_iter().filter(|row| options.wants(&row.scenario)));
        Ok(())
    }
}

/// What anchored media cost more than they may.
fn short(part: Option<f64>, times: Option<f64>) -> Vec<String> {
    let mut short = Vec::new();
    if part.is_some_and(|part| part < PART_MIN) {
        short.push(format!("{ANCHORED}: {:.2} of bypass", part.unwrap_or_default()));
    }
    if times.is_some_and(|times| times < TIMES_MIN) {
        short.push(format!("{ANCHORED}: {:.1} times the peer", times.unwrap_or_default()));
    }
    short
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
    let mut topology = Topology::new()?;
    topology.udp_runs = false;
    let load = Load::start(&topology, Ladder::built_in(scenario.flow)?, scenario.transport)?;
    progress.say(&format!("{}: Tandem without runs of datagrams", scenario.name));
    let (_, first) = scenario.first_rates;
    let start = || Ok(Some(System::tandem(&topology, &options.tandem)?));
    highest_rate(plan, &load, first * APART_SHARE, progress, start).map(Some)
}

type Side = (Found<Measured>, String);

/// The peer and Tandem, one after the other, on the same topology.
fn measure(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> anyhow::Result<(Side, Side)> {
    let topology = Topology::new()?;
    let tls = scenario.transport == Transport::Tls;
    let (peer_rate, tandem_rate) = scenario.first_rates;
    let load = Load::start(&topology, Ladder::built_in(scenario.flow)?, scenario.transport)?;
    progress.say(&format!("{}: the peer", scenario.name));
    let peer = highest_rate(plan, &load, peer_rate, progress, || {
        Ok(Some(System::kamailio(&topology, tls)?))
    })?;
    progress.say(&format!("{}: Tandem", scenario.name));
    let tandem = highest_rate(plan, &load, tandem_rate, progress, || {
        Ok(Some(System::tandem(&topology, &options.tandem)?))
    })?;
    Ok((peer, tandem))
}

/// What did not hold in the run itself.
fn violations(scenario: &str, tandem: &Found<Measured>, peer: &Found<Measured>) -> Vec<String> {
    let mut violations = Vec::new();
    for (name, found) in [("Tandem", tandem), ("the peer", peer)] {
        match &found.best {
            None => violations.push(format!("{scenario}: {name} held no rate")),
            Some((_, best)) if !best.held() => {
                violations.push(format!("{scenario}: {name} failed calls"));
            }
            Some(_) => {}
        }
    }
    let captured = tandem.best.as_ref().map_or(0, |(_, best)| best.report.captured);
    if tandem.best.is_some() && captured == 0 {
        violations.push(format!("{scenario}: nothing was captured"));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_is_measured() {
        let report = published::sbc();
        for row in &report.table(NAME).unwrap().rows {
            let is_it = |it: &Scenario| it.name == row.scenario;
            assert!(
                row.scenario == ims_aka::NAME || SCENARIOS.iter().any(is_it),
                "{}",
                row.scenario
            );
        }
    }

    #[test]
    fn anchored_media_are_held_to_a_part_of_bypass_and_to_the_peer() {
        assert!(short(Some(0.8), Some(4.1)).is_empty() && short(None, None).is_empty());
        assert_eq!(short(Some(0.7), Some(3.0)).len(), 2);
    }
}
