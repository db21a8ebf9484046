//! `throughput`: the highest packet rate with a loss of at most 20 ppm (RFC 2544, RFC 9971), by
//! size and by number of flows, beside Linux on the same wires; and the plane alone in memory.
//!
//! | rows | how |
//! |---|---|
//! | as printed | on wires, by AF_XDP: Linux in one namespace, Tandem's forwarder in another |
//! | `…, in memory` | on one core a vector is made, forwarded, looked at; the second is timed |
//! | `…, rings` | the tester on one core, the plane on the other, rings between them |
//! | `…, memif` | Tandem's forwarder by memif, and DPDK's testpmd, which looks nothing up |

use super::linux_name;
use anyhow::Context;
use forwarder_bench::{
    Bench, Case, Edge, Memory, Reached, Rings, Testbed, Tester, Testpmd, Version, Who, router,
};
use packet_load::{Plan, Route, Sizes, table_v4, table_v6};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::progress::Progress;
use report::scratch::Scratch;
use report::{host, published};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const NAME: &str = "throughput";
/// Cores of the report's socket: its figures are told for one of them.
const PUBLISHED_CORES: f64 = 18.0;
/// Routes of a full run, IPv4 and IPv6.
const ROUTES: [usize; 2] = [1_000_000, 250_000];
const QUICK_ROUTES: [usize; 2] = [50_000, 12_500];
/// Flows of the report's figures by size.
const FLOWS: u32 = 1_000_000;
/// The curve by flows.
const CURVE: [u32; 6] = [1, 100, 10_000, 100_000, 1_000_000, 2_000_000];
const QUICK_CURVE: [u32; 2] = [1, 1_000_000];
/// The highest rates, packets a second: no sender here makes more.
const WIRE_PPS_MAX: f64 = 5e6;
const RING_PPS_MAX: f64 = 40e6;
const UNIT: &str = "kpps a core";
const SEED: u64 = 1;

/// Where packets go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Wires,
    Memory,
    Rings,
    Memif,
}

/// A row of the table.
#[derive(Debug, Clone)]
struct Scenario {
    name: String,
    case: Case,
    published: Option<f64>,
    way: Way,
}

/// The published rows, and the curve; each on wires, the small packets in memory too.
fn scenarios(table: &published::Table, curve: &[u32]) -> Vec<Scenario> {
    let of = |name: String, version, size, flows| Scenario {
        name,
        case: Case { version, sizes: Sizes::fixed(size), flows },
        published: None,
        way: Way::Wires,
    };
    let cases = [
        (Version::V4, 64),
        (Version::V4, 128),
        (Version::V4, 256),
        (Version::V6, 78),
        (Version::V6, 256),
    ];
    let flows = [FLOWS; 5];
    let rows = table.rows.iter().zip(cases).zip(flows).map(|((row, (version, size)), flows)| {
        let published = row.value.map(|value| value * 1e3 / PUBLISHED_CORES);
        Scenario { published, ..of(row.scenario.clone(), version, size, flows) }
    });
    let longer = [512, 1_518].map(|size| of(format!("IPv4 {size} B"), Version::V4, size, FLOWS));
    let by_flows =
        curve.iter().map(|flows| of(format!("IPv4 64 B, {flows} flows"), Version::V4, 64, *flows));
    let wires: Vec<_> = rows.chain(longer).chain(by_flows).collect();
    let small = |one: &&Scenario| one.case.sizes.mean() < 100.0;
    let again = |way: Way, words: &str| {
        let named = |one: &Scenario| Scenario {
            name: format!("{}, {words}", one.name),
            way,
            ..one.clone()
        };
        wires.iter().filter(small).map(named).collect::<Vec<_>>()
    };
    let mut all = wires.clone();
    all.extend(again(Way::Memory, "in memory"));
    // Over wires the tester is the limit, whatever the family.
    all.extend(curve.iter().map(|flows| Scenario {
        way: Way::Memory,
        ..of(format!("IPv6 78 B, {flows} flows, in memory"), Version::V6, 78, *flows)
    }));
    all.extend(again(Way::Rings, "rings").into_iter().take(1));
    all.extend(again(Way::Memif, "memif").into_iter().take(1));
    all
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

/// What stands while the scenarios run.
struct Setup {
    bench: Bench,
    tables: [Vec<Route>; 2],
    linux: Testbed,
    tandem: Testbed,
    edge: Result<Edge, String>,
    memory: Result<Memory, String>,
    tandem_program: PathBuf,
    scratch: Scratch,
}

impl Setup {
    fn new(
        options: &Options,
        bench: Bench,
        grounds: (Testbed, Testbed),
        scratch: Scratch,
        progress: &Progress,
    ) -> anyhow::Result<Self> {
        let (linux, tandem) = grounds;
        let tables = tables(options);
        let [v4, v6] = &tables;
        progress.say(&format!("{} IPv4 and {} IPv6 routes", v4.len(), v6.len()));
        linux.forward(v4, v6)?;
        let programs = router(v4, v6);
        let told = |error: anyhow::Error| format!("{error:#}");
        let memory = Memory::new(&programs).map_err(told);
        let edge = Edge::on_wires(&options.tandem, &tandem, bench.cores.1);
        let edge = edge.and_then(|mut edge| edge.apply(&programs).map(|_| edge)).map_err(told);
        let tandem_program = options.tandem.clone();
        Ok(Self { bench, tables, linux, tandem, edge, memory, tandem_program, scratch })
    }

    /// A row; the sides that could not run are told in `broken`.
    fn row(&mut self, scenario: &Scenario, broken: &mut Vec<String>) -> Row {
        let routes = &self.tables[usize::from(scenario.case.version == Version::V6)];
        let plan = scenario.case.plan(routes);
        let mut row = empty(scenario, routes.len());
        let ours = match scenario.way {
            Way::Wires => {
                match self.wires(&self.linux, &plan) {
                    Ok(reached) => {
                        let value = reached.pps_a_core() / 1e3;
                        row.peer = Some(Peer { name: linux_name(), value });
                        row.detail["peer"] = reached.detail();
                    }
                    Err(why) => {
                        broken.push(format!("{}, Linux: {why}", scenario.name));
                        row.detail["peer"] = json!({ "why": why });
                    }
                }
                let stands = self.edge.as_ref().map_err(Clone::clone);
                stands.and_then(|_| self.wires(&self.tandem, &plan)).map(|found| polled(&found))
            }
            Way::Memory => self.in_memory(&plan),
            Way::Rings => self.rings(&plan).map(|found| polled(&found)),
            Way::Memif => {
                match self.by_testpmd(&plan) {
                    Ok((name, reached)) => {
                        row.peer = Some(Peer { name, value: reached.pps / 1e3 });
                        row.detail["peer"] = reached.detail();
                    }
                    Err(why) => row.detail["peer"] = json!({ "why": why }),
                }
                self.by_memif(&plan).map(|found| polled(&found))
            }
        };
        match ours {
            Ok((pps, told, note)) => {
                row.tandem = Some(pps / 1e3);
                row.detail["tandem"] = told;
                row.detail["note"] = json!(note);
            }
            Err(why) => {
                broken.push(format!("{}, Tandem: {why}", scenario.name));
                row.detail["why"] = json!(why);
            }
        }
        row
    }

    fn wires(&self, ground: &Testbed, plan: &Plan) -> Result<Reached, String> {
        let bench = self.bench;
        let search = |tester: &mut Tester| Ok(bench.search(tester, WIRE_PPS_MAX));
        bench.on_wires(ground, plan, search).map_err(|error| format!("{error:#}"))
    }

    fn in_memory(&mut self, plan: &Plan) -> Result<Polled, String> {
        let time = Duration::from_millis(if self.bench.is_quick { 500 } else { 2_000 });
        let memory = self.memory.as_mut().map_err(|why| why.clone())?;
        let found = memory.run(plan, time).map_err(|error| format!("{error:#}"))?;
        if found.lost > 0 {
            return Err(format!("{} of {} lost", found.lost, found.sent));
        }
        let told = json!({
            "pps": found.pps.round(),
            "clocks": (found.clocks * 10.0).round() / 10.0,
            "programs_s": memory.applied_s,
        });
        Ok((found.pps, told, format!("{:.0} clocks a packet in the nodes", found.clocks)))
    }

    /// Name and rate of testpmd. That it cannot run is no failure of Tandem's.
    fn by_testpmd(&self, plan: &Plan) -> Result<(String, Reached), String> {
        let found = || -> anyhow::Result<(String, Reached)> {
            let bench = self.bench;
            let directory = self.scratch.path().join("testpmd");
            fs::create_dir_all(&directory)?;
            let testpmd = Testpmd::start(&directory, bench.cores)?;
            let search = |tester: &mut Tester| Ok(bench.search(tester, RING_PPS_MAX));
            let reached = bench.on_memifs(&directory, plan, search)?;
            Ok((testpmd.name.clone(), reached))
        };
        found().map_err(|error| format!("{error:#}"))
    }

    fn by_memif(&self, plan: &Plan) -> Result<Reached, String> {
        let found = || -> anyhow::Result<Reached> {
            let bench = self.bench;
            let directory = self.scratch.path().join("memif");
            fs::create_dir_all(&directory)?;
            let mut edge = Edge::on_memifs(&self.tandem_program, &directory, bench.cores.1)?;
            let [v4, v6] = &self.tables;
            edge.apply(&router(v4, v6))?;
            let search = |tester: &mut Tester| Ok(bench.search(tester, RING_PPS_MAX));
            bench.on_memifs(&directory, plan, search)
        };
        found().map_err(|error| format!("{error:#}"))
    }

    fn rings(&mut self, plan: &Plan) -> Result<Reached, String> {
        let bench = self.bench;
        let memory = self.memory.as_mut().map_err(|why| why.clone())?;
        let ends = Rings::new(plan, bench.cores.1);
        let found = ends.and_then(|(rings, mut tester)| {
            rings.run(memory, bench.cores, || Ok(bench.search(&mut tester, RING_PPS_MAX)))
        });
        found.map_err(|error| format!("{error:#}"))
    }
}

/// Says at the row of the most flows of the curve what its rate is beside that of the fewest.
fn tell_flatness(rows: &mut [Row], curve: &[u32]) {
    let [Some(few), Some(many)] = [curve.iter().min(), curve.iter().max()] else { return };
    let memory = ", in memory";
    for (size, way) in [("IPv4 64 B", ""), ("IPv4 64 B", memory), ("IPv6 78 B", memory)] {
        let name = |flows: &u32| format!("{size}, {flows} flows{way}");
        let value = |flows| rows.iter().find(|row| row.scenario == name(flows))?.tandem;
        let (Some(first), Some(last)) = (value(few), value(many)) else { continue };
        let (ratio, scenario) = (last / first, name(many));
        for row in rows.iter_mut().filter(|row| row.scenario == scenario) {
            let note = row.detail["note"].as_str().unwrap_or_default().to_owned();
            row.detail["of_fewest_flows"] = json!((ratio * 1e3).round() / 1e3);
            row.detail["note"] = json!(format!("{note}; {ratio:.2} of the rate of {few} flows"));
        }
    }
}

/// Packets a second, the detail of a row, and what is said beside it.
type Polled = (f64, Value, String);

/// What Tandem reached with a worker that is never idle: its rate is that of a core.
fn polled(reached: &Reached) -> Polled {
    (reached.pps, reached.detail(), reached.note())
}

fn empty(scenario: &Scenario, routes: usize) -> Row {
    Row {
        scenario: scenario.name.clone(),
        unit: UNIT.into(),
        published: scenario.published,
        peer: None,
        tandem: None,
        detail: json!({
            "flows": scenario.case.flows,
            "routes": routes,
            "peer": Value::Null,
            "tandem": Value::Null,
        }),
    }
}

/// Runs it.
///
/// # Errors
/// When the published table is missing. What cannot run is a row that says so.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::router();
    let table = report.table(NAME).context("the published table is part of the program")?;
    let bench = Bench::new(host::cores(), options.quick);
    let scratch = Scratch::new("tandem-lab-")?;
    let ground = |who| Testbed::new(who, bench.cores, scratch.path());
    let grounds = match ground(Who::Linux).and_then(|one| Ok((one, ground(Who::Tandem)?))) {
        Ok(grounds) => grounds,
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
    let mut stand = Setup::new(options, bench, grounds, scratch, &progress)?;
    let mut broken = Vec::new();
    let held = stand.linux.routes()?;
    if held != [0, 1].map(|at: usize| stand.tables[at].len()) {
        broken.push(format!("Linux has {held:?} routes"));
    }
    let mut rows = Vec::with_capacity(wanted.len());
    for scenario in wanted {
        progress.say(&scenario.name);
        let mut row = stand.row(scenario, &mut broken);
        row.detail["priority"] = json!(priority.granted);
        rows.push(row);
        progress.step();
    }
    tell_flatness(&mut rows, &curve);
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_rows_come_first_and_small_packets_go_through_memory_too() {
        let report = published::router();
        let all = scenarios(report.table(NAME).unwrap(), &[1, 7]);
        let names: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names[..4], ["IPv4 64 B", "IPv4 128 B", "IPv4 >= 256 B", "IPv6 78 B"]);
        assert_eq!(names[4], "IPv6 >= 256 B");
        assert!(names.contains(&"IPv4 64 B, 7 flows, in memory"));
        assert!(names.contains(&"IPv6 78 B, 7 flows, in memory"));
        assert!(names.contains(&"IPv4 64 B, rings") && names.contains(&"IPv4 64 B, memif"));
        let published = all[0].published.unwrap();
        assert!((published - 57.5e3 / 18.0).abs() < 1e-6 && all[5].published.is_none());
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len());
    }
}
