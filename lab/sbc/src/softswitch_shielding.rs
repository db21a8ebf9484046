//! `softswitch-shielding`: a next hop gets exactly the rate it may get, the excess its status.
//!
//! 700 calls/s are offered and 400 may pass, as in the report; then the same shares of a rate
//! twenty times as high. Nothing but the limit may refuse a call, and no call may fail. The peer is
//! Kamailio with `pipelimit`, which counts by the second.

use super::measure::{Measured, trial};
use super::topology::{Load, System, Topology};
use peers::{Duty, Priority};
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published;
use runtime::Transport;
use serde_json::{Value, json};
use sip_load::{Ladder, Trial};
use std::time::Duration;

const NAME: &str = "softswitch-shielding";
const OFFERED: f64 = 700.0;
const LIMIT: f64 = 400.0;
/// How far the rate that passes may be from the limit.
const PRECISION: f64 = 0.01;
/// The second measurement offers, and lets pass, so many times as much.
const HIGHER: f64 = 20.0;
/// The answer to the excess.
const BUSY: u16 = 486;
const HOLD: Duration = Duration::from_millis(500);
const FAR_END: &str = "name = \"far-end\"";

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let progress = Progress::new(NAME, 4);
    let length = Duration::from_secs(if options.quick { 10 } else { 30 });
    let step = |who: Who, factor| {
        let (offered, limit, s) = (OFFERED * factor, LIMIT * factor, length.as_secs());
        progress
            .say(&format!("{}: {offered} calls/s offered, {limit} may pass, {s} s", who.word()));
        let measured = measure(options, who, factor, length);
        progress.step();
        measured
    };
    let (shielded, higher) = (step(Who::Tandem, 1.0)?, step(Who::Tandem, HIGHER)?);
    let (peer, peer_higher) = (step(Who::Peer, 1.0)?, step(Who::Peer, HIGHER)?);
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    for (factor, (measured, _)) in [(1.0, &shielded), (HIGHER, &higher)] {
        outcome.broken.extend(violations(factor, measured, length));
    }
    for row in table.rows.iter().filter(|row| options.wants(&row.scenario)) {
        let is_passed = row.scenario == "passed";
        let value = |measured: &Measured| {
            let report = &measured.report;
            let count = if is_passed { report.completed } else { busy(measured) };
            count as f64 / length.as_secs_f64()
        };
        outcome.rows.push(Row {
            scenario: row.scenario.clone(),
            unit: table.unit.clone(),
            published: row.value,
            peer: Some(Peer { name: peer.1.clone(), value: value(&peer.0) }),
            tandem: Some(value(&shielded.0)),
            detail: json!({
                "offered": OFFERED,
                "limit": LIMIT,
                "priority": priority.granted,
                "tandem": side(&shielded.0),
                "peer": side(&peer.0),
                "higher": {
                    "offered": OFFERED * HIGHER,
                    "limit": LIMIT * HIGHER,
                    "value": value(&higher.0),
                    "tandem": side(&higher.0),
                    "peer_value": value(&peer_higher.0),
                    "peer": side(&peer_higher.0),
                },
            }),
        });
    }
    Ok(outcome)
}

fn busy(measured: &Measured) -> u64 {
    measured.report.rejected.get(&BUSY).copied().unwrap_or_default()
}

fn side(measured: &Measured) -> Value {
    let mut json = measured.json();
    json["completed"] = json!(measured.report.completed);
    json["rejected"] = json!(measured.report.rejected);
    json
}

/// Who is measured.
#[derive(Debug, Clone, Copy)]
enum Who {
    Tandem,
    Peer,
}

impl Who {
    const fn word(self) -> &'static str {
        match self {
            Self::Tandem => "Tandem",
            Self::Peer => "Kamailio",
        }
    }
}

fn measure(
    options: &Options,
    who: Who,
    factor: f64,
    length: Duration,
) -> anyhow::Result<(Measured, String)> {
    let topology = Topology::new()?;
    let load = Load::start(&topology, Ladder::built_in("SIP")?, Transport::Udp)?;
    let limit = LIMIT * factor;
    let system = match who {
        Who::Peer => System::kamailio_with(&topology, false, Duty::Limit(limit as u32))?,
        Who::Tandem => {
            let limit = format!("{FAR_END}\nlimit = {{ calls_per_s = {limit:.1} }}");
            System::tandem_with(&topology, &options.tandem, &[(FAR_END, &limit)])?
        }
    };
    let rate = OFFERED * factor;
    let asked = Trial { rate, length, hold: HOLD, ..Trial::default() };
    Ok((trial(&load, Some(&system), asked)?, system.name()))
}

fn violations(factor: f64, measured: &Measured, length: Duration) -> Vec<String> {
    let report = &measured.report;
    let mut violations = Vec::new();
    let passed = report.completed as f64 / length.as_secs_f64();
    let limit = LIMIT * factor;
    if (passed / limit - 1.0).abs() > PRECISION {
        violations.push(format!("{passed:.1} calls/s passed at a limit of {limit}"));
    }
    if report.failed() > 0 {
        let words = report.examples.first().cloned().unwrap_or_default();
        violations.push(format!("{} calls failed: {words}", report.failed()));
    }
    if report.completed + busy(measured) != report.started {
        let other = report.started - report.completed.min(report.started) - busy(measured);
        violations.push(format!("{other} calls neither passed nor were answered {BUSY}"));
    }
    violations
}
