//! `services`: IP VPNs, point-to-point and multipoint Ethernet services all at once, with their
//! routes, MAC addresses, filters, policers and hierarchical queues, half of the traffic each way;
//! over rings, one core for the plane.
//!
//! Linux has no part in it here: this kernel has neither 802.1Q nor VRFs nor MPLS.

use anyhow::Context;
use forwarder_bench::{Bench, Memory, Provider, Reached, Rings, Scale};
use packet_load::Sizes;
use peers::Priority;
use report::contract::{Options, Outcome, Row};
use report::progress::Progress;
use report::{host, published};
use serde_json::json;
use std::time::Duration;

const NAME: &str = "services";
/// Of the report's scale without `--full`, and in a quick run.
const PART: u32 = 10;
const QUICK_PART: u32 = 50;
/// The size of the report's second run.
const SMALL: usize = 173;
const PUBLISHED_CORES: f64 = 18.0;
const RING_PPS_MAX: f64 = 40e6;

/// What was found with one mix of sizes.
struct Found {
    reached: Reached,
    in_memory_pps: f64,
    clocks: f64,
}

/// The edge in memory.
struct Setup {
    bench: Bench,
    provider: Provider,
    memory: Memory,
}

impl Setup {
    fn new(bench: Bench, scale: Scale) -> anyhow::Result<Self> {
        let provider = Provider::new(scale);
        let mut memory = Memory::new(&provider.programs())?;
        for plan in provider.learning() {
            memory.learn(&plan).context("MAC addresses")?;
        }
        Ok(Self { bench, provider, memory })
    }

    fn measure(&mut self, sizes: &Sizes) -> anyhow::Result<Found> {
        let plan = self.provider.plan(sizes);
        let time = Duration::from_millis(if self.bench.is_quick { 500 } else { 2_000 });
        let alone = self.memory.run(&plan, time)?;
        anyhow::ensure!(alone.lost == 0, "in memory {} of {} lost", alone.lost, alone.sent);
        let (rings, mut tester) = Rings::new(&plan, self.bench.cores.1)?;
        let bench = self.bench;
        let search = || Ok(bench.search(&mut tester, RING_PPS_MAX));
        let reached = rings.run(&mut self.memory, bench.cores, search)?;
        Ok(Found { reached, in_memory_pps: alone.pps, clocks: alone.clocks })
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
    let scale = match (options.plane.full, options.quick) {
        (true, _) => Scale::FULL,
        (false, true) => Scale::FULL.divided(QUICK_PART),
        (false, false) => Scale::FULL.divided(PART),
    };
    let progress = Progress::new(NAME, 2);
    progress.say(&format!("{scale:?}"));
    let bench = Bench::new(host::cores(), options.quick);
    let mut stand = Setup::new(bench, scale).map_err(|error| format!("{error:#}"));
    let mut both = Vec::new();
    for (name, sizes) in [("IMIX", Sizes::imix()), ("173 B", Sizes::fixed(SMALL))] {
        progress.say(name);
        let measured =
            |stand: &mut Setup| stand.measure(&sizes).map_err(|error| format!("{name}: {error:#}"));
        both.push(stand.as_mut().map_err(|why| why.clone()).and_then(measured));
        progress.step();
    }
    let [imix, small] = &both[..] else { anyhow::bail!("two runs") };
    let gigabits = |found: &Found| found.reached.at_best.report.all.received_bits_per_s / 1e9;
    let megapackets = |found: &Found| found.reached.pps / 1e6;
    let longest = |found: &Found| found.reached.delays().max_ns as f64 / 1e3;
    let [throughput, packets, latency] = &table.rows[..] else {
        anyhow::bail!("the published table has three rows")
    };
    let cores = PUBLISHED_CORES;
    let mut rows = vec![
        row(throughput, "Gbit/s a core", cores, imix, gigabits),
        row(packets, "Mpps a core", cores, small, megapackets),
        row(latency, "us, the longest", 1.0, imix, longest),
    ];
    rows.retain(|row| options.wants(&row.scenario));
    for row in &mut rows {
        row.detail["priority"] = json!(priority.granted);
        row.detail["scale"] = json!(format!("{scale:?}"));
        if let Ok(stand) = &stand {
            row.detail["queues"] = json!(scale.queues());
            row.detail["routes"] = json!(stand.provider.routes());
            row.detail["programs_s"] = json!(stand.memory.applied_s);
        }
    }
    let broken = both.iter().filter_map(|found| found.as_ref().err().cloned()).collect();
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

fn row(
    published: &published::PublishedRow,
    unit: &str,
    cores: f64,
    found: &Result<Found, String>,
    value: impl Fn(&Found) -> f64,
) -> Row {
    let detail = match found {
        Ok(found) => json!({
            "note": format!(
                "{}; in memory {:.1} Mpps, {:.0} clocks",
                found.reached.note(), found.in_memory_pps / 1e6, found.clocks),
            "tandem": found.reached.detail(),
            "in_memory_pps": found.in_memory_pps.round(),
            "clocks": found.clocks,
        }),
        Err(why) => json!({ "why": why }),
    };
    Row {
        scenario: published.scenario.clone(),
        unit: unit.into(),
        published: published.value.map(|value| value / cores),
        peer: None,
        tandem: found.as_ref().ok().map(value),
        detail,
    }
}
