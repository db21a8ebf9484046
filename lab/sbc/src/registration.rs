//! `registration`: REGISTERs per second on one core, Table 3 of the report.
//!
//! | what | how |
//! |---|---|
//! | first registrations | each REGISTER is a new subscriber's; the SSC asks the core for it |
//! | fast registrations | all subscribers stand and refresh in rotation; the SSC answers itself |
//! | criterion | no failed REGISTER, every 200 lists the contact, no growing queue |
//! | peer | Kamailio as registrar: `save()` into memory in every row, it needs no core |
//!
//! Neither side captures. `detail.tandem.bytes_per_binding` is the growth of the SSC's resident
//! memory by the subscribers that stand, everything included. Rows more than the report has: after
//! a restart all subscribers register at once ([`storm`]), phones of IMS too ([`ims_aka`]).

mod ims_aka;
mod side;
mod storm;

use super::registrants::{self, Subscribers, TLS_CONNECTIONS};
use super::topology::Topology;
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, NO_EXPERIMENT, PublishedRow};
use runtime::Transport;
use serde_json::json;
use side::{Side, Stage};
use std::time::{Duration, Instant};
use storm::Storm;

const NAME: &str = "registration";
/// Subscribers of the report; so many bindings stand in a full run, and come back in a storm.
const BINDINGS: u32 = 700_000;

struct Scenario {
    name: &'static str,
    transport: Transport,
    /// Whether standing subscribers refresh.
    fast: bool,
    /// Subscribers that stand in a full run: with the peer those of the report, with Tandem.
    full: (u32, u32),
    /// The same in a quick run, with either.
    quick: u32,
    /// Where the searches begin: the peer's, Tandem's.
    first_rates: (f64, f64),
    /// The name of the row of its storm.
    storm: Option<&'static str>,
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "Plain",
        transport: Transport::Udp,
        fast: false,
        full: (BINDINGS, BINDINGS),
        quick: 60_000,
        first_rates: (40_000.0, 40_000.0),
        storm: Some("Restart storm (plain)"),
    },
    Scenario {
        name: "TLS",
        transport: Transport::Tls,
        fast: false,
        full: (132_000, BINDINGS),
        quick: 30_000,
        first_rates: (15_000.0, 25_000.0),
        storm: Some("Restart storm (TLS)"),
    },
    Scenario {
        name: "Fast registration (plain)",
        transport: Transport::Udp,
        fast: true,
        full: (420_000, 420_000),
        quick: 60_000,
        first_rates: (50_000.0, 150_000.0),
        storm: None,
    },
    Scenario {
        name: "Fast registration (TLS)",
        transport: Transport::Tls,
        fast: true,
        full: (132_000, 132_000),
        quick: 30_000,
        first_rates: (15_000.0, 45_000.0),
        storm: None,
    },
];

#[derive(Debug, Clone, Copy)]
struct Plan {
    trial: Duration,
    confirm: Duration,
    drain: Duration,
    factor: f64,
    precision: f64,
    budget: Option<Duration>,
    quick: bool,
}

impl Plan {
    const QUICK: Self = Self {
        trial: Duration::from_millis(500),
        confirm: Duration::from_millis(1_000),
        drain: Duration::from_millis(700),
        factor: 1.35,
        precision: 1.15,
        budget: Some(Duration::from_secs(41)),
        quick: true,
    };
    const FULL: Self = Self {
        trial: Duration::from_secs(2),
        confirm: Duration::from_secs(10),
        drain: Duration::from_millis(1_500),
        factor: 1.25,
        precision: 1.03,
        budget: None,
        quick: false,
    };
}

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let mut searches_left = 2 * SCENARIOS.iter().filter(|s| options.wants(s.name)).count() as u32;
    let storms = SCENARIOS.iter().filter(|s| wants_storm(options, s)).count();
    let is_ims = options.wants(ims_aka::NAME) | options.wants(ims_aka::STORM);
    searches_left += u32::from(is_ims);
    let steps = u64::from(searches_left / 2) + storms as u64 + 2 * u64::from(is_ims);
    let progress = Progress::new(NAME, steps);
    let begun = Instant::now();
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    // Rows that the report does not have stand behind its own.
    let mut storms = Vec::new();
    for row in &table.rows {
        let plan = if options.quick { Plan::QUICK } else { Plan::FULL };
        let left = plan.budget.map(|budget| budget.saturating_sub(begun.elapsed()));
        let plan = Plan { budget: left.map(|left| left / searches_left.max(1)), ..plan };
        if row.scenario == ims_aka::NAME {
            let bench = ims_aka::Bench { options, plan, progress: &progress };
            let (rows, broken) = bench.rows(row, &table.unit)?;
            storms.extend(rows);
            outcome.broken.extend(broken);
            continue;
        }
        let Some(scenario) = SCENARIOS.iter().find(|s| s.name == row.scenario) else {
            outcome.rows.push(table.absent(row, NO_EXPERIMENT));
            continue;
        };
        if !options.wants(scenario.name) && !wants_storm(options, scenario) {
            continue;
        }
        let topology = Topology::new()?;
        let load = Subscribers::start(&topology, scenario.transport)?;
        let bench = Bench {
            scenario,
            plan,
            topology: &topology,
            load: &load,
            options,
            progress: &progress,
        };
        let mut maxima = [None, None];
        if options.wants(scenario.name) {
            searches_left = searches_left.saturating_sub(2);
            let (peer, tandem) = bench.measure()?;
            outcome.broken.extend(peer.violations(scenario));
            outcome.broken.extend(tandem.violations(scenario));
            outcome.broken.extend(tandem.violations_of_tandem(scenario));
            maxima = [peer.rate(), tandem.rate()];
            outcome.rows.push(line(row, &table.unit, scenario, &peer, &tandem, priority.granted));
        }
        if wants_storm(options, scenario) {
            let (row, broken) = bench.storm(&table.unit, maxima)?;
            storms.push(row);
            outcome.broken.extend(broken);
        }
    }
    outcome.rows.extend(storms);
    Ok(outcome)
}

fn wants_storm(options: &Options, scenario: &Scenario) -> bool {
    scenario.storm.is_some_and(|name| options.wants(name))
}

fn line(
    row: &PublishedRow,
    unit: &str,
    scenario: &Scenario,
    peer: &Side,
    tandem: &Side,
    priority: bool,
) -> Row {
    let connections = if scenario.transport.is_stream() { TLS_CONNECTIONS } else { 0 };
    Row {
        scenario: row.scenario.clone(),
        unit: unit.into(),
        published: row.value,
        peer: peer.rate().map(|value| Peer { name: peer.name.clone(), value }),
        tandem: tandem.rate(),
        detail: json!({
            "priority": priority,
            "connections": connections,
            "capture": "off on both sides",
            "core": if scenario.fast { "asked at first only" } else {
                "asked for every REGISTER by Tandem; the peer is the registrar itself"
            },
            "tandem": tandem.json(),
            "peer": peer.json(),
        }),
    }
}

/// A scenario on its topology.
struct Bench<'a> {
    scenario: &'a Scenario,
    plan: Plan,
    topology: &'a Topology,
    load: &'a Subscribers,
    options: &'a Options,
    progress: &'a Progress,
}

impl Bench<'_> {
    const fn is_tls(&self) -> bool {
        matches!(self.scenario.transport, Transport::Tls)
    }

    /// The peer and Tandem, one after the other.
    fn measure(&self) -> anyhow::Result<(Side, Side)> {
        let Scenario { full, quick, first_rates: (peer_rate, tandem_rate), .. } = self.scenario;
        let of = |full: u32| if self.plan.quick { *quick } else { full };
        let Self { scenario, plan, load, progress, .. } = *self;
        let stage = Stage { scenario, plan, load, progress };
        let peer = registrants::kamailio(self.topology, self.is_tls())?;
        let peer = stage.run(peer, of(full.0), *peer_rate, || None)?;
        let tandem = registrants::tandem(self.topology, &self.options.tandem)?;
        let standing = || registrants::standing(self.topology);
        let tandem = stage.run(tandem, of(full.1), *tandem_rate, standing)?;
        progress.step();
        Ok((peer, tandem))
    }

    /// The row of the storm, and what did not hold; `maxima` are the peer's and Tandem's.
    fn storm(&self, unit: &str, maxima: [Option<f64>; 2]) -> anyhow::Result<(Row, Vec<String>)> {
        let Self { scenario, topology, load, progress, .. } = *self;
        let name = scenario.storm.unwrap_or_default();
        let storm = if self.plan.quick {
            Storm::quick(scenario.quick / 2)
        } else {
            Storm::full(BINDINGS, self.is_tls())
        };
        progress.say(name);
        let tandem = storm::over_tandem(storm, topology, load, &self.options.tandem, progress)?;
        let peer = storm::over_peer(storm, topology, load, self.is_tls(), progress)?;
        progress.step();
        let row = Row {
            scenario: name.into(),
            unit: unit.into(),
            published: None,
            peer: peer.value().map(|value| Peer { name: peer.name.clone(), value }),
            tandem: tandem.value(),
            detail: json!({
                "note": tandem.note(),
                "tandem": tandem.json(maxima[1]),
                "peer": peer.json(maxima[0]),
            }),
        };
        Ok((row, tandem.violations(name, maxima[1])))
    }
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
}
