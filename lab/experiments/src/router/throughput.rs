//! `throughput`: the highest packet rate with a loss of at most 20 ppm (RFC 2544, RFC 9971), by
//! size and by number of flows, beside Linux on the same wires.

use super::packets::{Bench, Case, Ground, Reached, Version};
use crate::contract::{Options, Outcome, Peer, Row};
use crate::progress::Progress;
use crate::{host, published};
use anyhow::Context;
use peers::Priority;
use serde_json::{Value, json};
use traffic::{Route, Sizes, table_v4, table_v6};

pub(crate) const NAME: &str = "throughput";
/// Cores of the report's socket: its figures are told for one of them.
const PUBLISHED_CORES: f64 = 18.0;
/// Routes of a full run, IPv4 and IPv6.
const ROUTES: [usize; 2] = [1_000_000, 250_000];
const QUICK_ROUTES: [usize; 2] = [50_000, 12_500];
/// Flows of the report's figures by size.
const FLOWS: u32 = 1_000_000;
/// The curve by flows.
const CURVE: [u32; 6] = [1, 100, 10_000, 100_000, 1_000_000, 2_000_000];
const QUICK_CURVE: [u32; 3] = [1, 10_000, 1_000_000];
/// The highest rate on wires, packets a second: no sender here makes more.
const WIRE_PPS_MAX: f64 = 5e6;
const UNIT: &str = "kpps a core";
const SEED: u64 = 1;

/// A row of the table.
#[derive(Debug, Clone)]
struct Scenario {
    name: String,
    case: Case,
    published: Option<f64>,
}

/// The published rows, and the curve.
fn scenarios(table: &published::Table, curve: &[u32]) -> Vec<Scenario> {
    let cases = [(Version::V4, 64), (Version::V4, 128), (Version::V4, 256), (Version::V6, 78)];
    let flows = [FLOWS, FLOWS, FLOWS, 2 * FLOWS];
    let rows = table.rows.iter().zip(cases).zip(flows);
    let printed = rows.map(|((row, (version, size)), flows)| Scenario {
        name: row.scenario.clone(),
        case: Case { version, sizes: Sizes::fixed(size), flows },
        published: Some(row.value * 1e3 / PUBLISHED_CORES),
    });
    let longer = [512, 1_518].map(|size| Scenario {
        name: format!("IPv4 {size} B"),
        case: Case { version: Version::V4, sizes: Sizes::fixed(size), flows: FLOWS },
        published: None,
    });
    let curve = curve.iter().map(|flows| Scenario {
        name: format!("IPv4 64 B, {flows} flows"),
        case: Case { version: Version::V4, sizes: Sizes::fixed(64), flows: *flows },
        published: None,
    });
    printed.chain(longer).chain(curve).collect()
}

/// Tables of both versions.
pub(super) fn tables(options: &Options) -> [Vec<Route>; 2] {
    let usual = if options.quick { QUICK_ROUTES } else { ROUTES };
    let [v4, v6] = match options.plane.routes {
        Some(routes) => [routes, routes / 4],
        None => usual,
    };
    [table_v4(v4, SEED), table_v6(v6, SEED)]
}

/// Runs it.
///
/// # Errors
/// When the published table is missing. What cannot run is a row that says so.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::router();
    let table = report.table(NAME).context("the published table is part of the program")?;
    let cores = (0, 1.min(host::cores() - 1));
    let ground = match Ground::new(cores.0, cores.1) {
        Ok(ground) => ground,
        Err(error) => return Ok(Outcome::without_namespaces(NAME, table, options, &error)),
    };
    let curve = match &options.plane.flows[..] {
        [] if options.quick => QUICK_CURVE.to_vec(),
        [] => CURVE.to_vec(),
        asked => asked.to_vec(),
    };
    let wanted = scenarios(table, &curve);
    let wanted: Vec<_> = wanted.iter().filter(|one| options.wants(&one.name)).collect();
    let progress = Progress::new(NAME, wanted.len() as u64);
    let bench = Bench { cores, is_quick: options.quick };
    let [v4, v6] = tables(options);
    progress.say(&format!("Linux takes {} IPv4 and {} IPv6 routes", v4.len(), v6.len()));
    ground.forward(&v4, &v6)?;
    let mut broken = Vec::new();
    let held = ground.routes()?;
    if held != [v4.len(), v6.len()] {
        broken.push(format!("Linux has {held:?} routes"));
    }
    let mut rows = Vec::with_capacity(wanted.len());
    for scenario in wanted {
        progress.say(&scenario.name);
        let routes = if scenario.case.version == Version::V4 { &v4 } else { &v6 };
        let plan = scenario.case.plan(routes);
        let linux = bench.on_wires(&ground, &plan, |tester| Ok(bench.search(tester, WIRE_PPS_MAX)));
        let mut row = row(scenario, routes.len(), linux.as_ref().map_err(|e| format!("{e:#}")));
        row.detail["priority"] = json!(priority.granted);
        if let Err(error) = linux {
            broken.push(format!("{}: {error:#}", scenario.name));
        }
        rows.push(row);
        progress.step();
    }
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

fn row(scenario: &Scenario, routes: usize, linux: Result<&Reached, String>) -> Row {
    let peer = linux.as_ref().ok().map(|reached| Peer {
        name: format!("Linux {}", host::describe()["kernel"].as_str().unwrap_or_default()),
        value: reached.pps_a_core() / 1e3,
    });
    let told = match &linux {
        Ok(reached) => reached.told(),
        Err(why) => json!({ "why": why }),
    };
    Row {
        scenario: scenario.name.clone(),
        unit: UNIT.into(),
        published: scenario.published,
        peer,
        tandem: None,
        detail: json!({
            "why": "the forwarder cannot be started yet",
            "flows": scenario.case.flows,
            "routes": routes,
            "peer": told,
            "tandem": Value::Null,
        }),
    }
}
