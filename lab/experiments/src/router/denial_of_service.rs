//! `denial-of-service`: a flood of ICMP echo requests at the router's own address beside traffic
//! that it forwards; what the traffic loses, and how busy the core is.
//!
//! The report does not say how long the flood's packets are. Its row has the same mix of sizes for
//! both; a row of our own has packets of 64 octets, as many as there are of the background.

use super::linux_name;
use super::throughput;
use crate::contract::{Options, Outcome, Peer, Row};
use crate::progress::Progress;
use crate::scratch::Scratch;
use crate::{host, published};
use anyhow::Context;
use packets::{
    Bench, Case, Edge, Found, Ground, IN_MAC, LEFT_MAC, SUT_V4, Tester, Version, Who, router,
};
use peers::Priority;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::time::Duration;
use traffic::{Layer, Order, Part, Plan, Route, Sizes, Stream, Trial, Values, Vary};

pub(crate) const NAME: &str = "denial-of-service";
/// Background and line of the report, Gbit/s: so much of its maximum the background is.
const LOAD: f64 = 42.8 / 79.5;
/// Weights of background and flood that give the report's 42.8 and 9 Gbit/s.
const WEIGHTS: [u32; 2] = [1_000, 210];
/// The row of our own.
const SMALL: &str = "ICMP attack of 64 B, a packet for each of the background: background loss";
const FLOWS: u32 = 1_000_000;
const QUICK_FLOWS: u32 = 100_000;
const WIRE_PPS_MAX: f64 = 5e6;
const SEED: u64 = 2;

/// A flood.
struct Scenario {
    name: String,
    published: Option<f64>,
    sizes: Sizes,
    weights: [u32; 2],
}

/// Echo requests from many to what is tested.
fn flood(sizes: &Sizes) -> Stream {
    let ethernet = Layer::Ethernet { destination: IN_MAC, source: LEFT_MAC };
    let source = Ipv4Addr::UNSPECIFIED;
    let ip = Layer::Ipv4 { source, destination: SUT_V4, class: 0, ttl: 64 };
    let mut stream = Stream::new("flood", vec![ethernet, ip, Layer::Echo { identifier: 1 }], 64);
    let from = Values::Random { first: 0xc612_0000, bits: 16 };
    stream.vary = vec![
        Vary { layer: 1, part: Part::Source, values: from },
        Vary { layer: 2, part: Part::Source, values: Values::count(0_u32, 1 << 16) },
    ];
    (stream.sizes, stream.flows, stream.order) = (sizes.clone(), 1 << 16, Order::Random);
    stream
}

/// What one forwarder did.
struct Outcomes {
    /// Throughput of the background alone, packets a second.
    alone_pps: f64,
    /// The background beside the flood.
    beside: Found,
}

impl Outcomes {
    fn told(&self) -> Value {
        let Found { report, unsent, busy, .. } = &self.beside;
        let [background, flood] = &report.streams[..] else { return Value::Null };
        json!({
            "alone_pps": self.alone_pps.round(),
            "background_sent": background.sent,
            "background_lost": background.lost,
            "flood_sent": flood.sent,
            "background_bits_per_s": background.received_bits_per_s.round(),
            "unsent": unsent,
            "core_busy": (busy * 1e3).round() / 1e3,
            "latency_mean_us": (background.delays.mean_ns / 10.0).round() / 100.0,
            "latency_p999_us": background.delays.p999_ns as f64 / 1e3,
        })
    }

    fn lost(&self) -> u64 {
        self.beside.report.streams.first().map_or(u64::MAX, |background| background.lost)
    }
}

/// The background's throughput, then the background beside the flood.
fn measure(
    bench: &Bench,
    ground: &Ground,
    routes: &[Route],
    (scenario, flows): (&Scenario, u32),
) -> anyhow::Result<Outcomes> {
    let case = Case { version: Version::V4, sizes: Sizes::imix(), flows };
    let search = |tester: &mut Tester| Ok(bench.search(tester, WIRE_PPS_MAX).pps);
    let alone_pps = bench.on_wires(ground, &case.plan(routes), search)?;
    let mut streams = vec![case.stream(routes), flood(&scenario.sizes)];
    let [background, flood] = scenario.weights;
    (streams[0].weight, streams[1].weight) = (background, flood);
    let all = f64::from(background + flood) / f64::from(background);
    let duration = Duration::from_secs(if bench.is_quick { 2 } else { 10 });
    let trial = Trial::Rate { pps: alone_pps * LOAD * all, duration };
    let plan = Plan { streams, seed: SEED };
    let beside = bench.on_wires(ground, &plan, |tester| Ok(tester.trial(trial)))?;
    Ok(Outcomes { alone_pps, beside })
}

/// Linux and Tandem, with the same routes.
struct Stand {
    bench: Bench,
    routes: Vec<Route>,
    linux: Ground,
    tandem: Ground,
    edge: Result<Edge, String>,
    flows: u32,
}

impl Stand {
    fn new(
        options: &Options,
        bench: Bench,
        (linux, tandem): (Ground, Ground),
    ) -> anyhow::Result<Self> {
        let usual = if options.quick { QUICK_FLOWS } else { FLOWS };
        let flows = options.plane.flows.first().copied().unwrap_or(usual);
        let [routes, _] = throughput::tables(options);
        linux.forward(&routes, &[])?;
        let edge = Edge::start(&options.tandem, &tandem, bench.cores.1)
            .and_then(|mut edge| edge.apply(&router(&routes, &[])).map(|_| edge))
            .map_err(|error| format!("{error:#}"));
        Ok(Self { bench, routes, linux, tandem, edge, flows })
    }

    /// What Linux did, and what Tandem did.
    fn both(&self, scenario: &Scenario) -> [Result<Outcomes, String>; 2] {
        let on = |ground: &Ground| {
            let found = measure(&self.bench, ground, &self.routes, (scenario, self.flows));
            found.map_err(|error| format!("{error:#}"))
        };
        let linux = on(&self.linux);
        let tandem = match &self.edge {
            Ok(_) => on(&self.tandem),
            Err(why) => Err(why.clone()),
        };
        [linux, tandem]
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
    let ground = |who| Ground::new(who, bench.cores, scratch.path());
    let grounds = match ground(Who::Linux).and_then(|one| Ok((one, ground(Who::Tandem)?))) {
        Ok(grounds) => grounds,
        Err(error) => return Ok(Outcome::without_namespaces(NAME, table, options, &error)),
    };
    let [loss, busy] = &table.rows[..] else { anyhow::bail!("the published table has two rows") };
    let stand = Stand::new(options, bench, grounds)?;
    let scenarios = [
        Scenario {
            name: loss.scenario.clone(),
            published: Some(loss.value),
            sizes: Sizes::imix(),
            weights: WEIGHTS,
        },
        Scenario { name: SMALL.into(), published: None, sizes: Sizes::fixed(64), weights: [1, 1] },
    ];
    let progress = Progress::new(NAME, 2);
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for scenario in &scenarios {
        let is_busiest = scenario.published.is_some() && options.wants(&busy.scenario);
        if !options.wants(&scenario.name) && !is_busiest {
            continue;
        }
        progress.say(&scenario.name);
        let both = stand.both(scenario);
        for (who, found) in ["Linux", "Tandem"].iter().zip(&both) {
            if let Err(why) = found {
                broken.push(format!("{}, {who}: {why}", scenario.name));
            }
        }
        if let Ok(found) = &both[1]
            && found.lost() > 0
        {
            broken.push(format!("{}: {} packets lost", scenario.name, found.lost()));
        }
        let lost = |found: &Outcomes| found.lost() as f64;
        rows.push(row((&scenario.name, "packets"), scenario.published, &both, lost));
        if is_busiest {
            let share = |found: &Outcomes| found.beside.busy * 100.0;
            let mut row = row((&busy.scenario, "% of a core"), Some(busy.value), &both, share);
            if both[1].is_ok() {
                row.detail["note"] = json!("a worker that polls is busy as long as packets come");
            }
            rows.push(row);
        }
        progress.step();
    }
    rows.retain(|row| options.wants(&row.scenario));
    rows.iter_mut().for_each(|row| row.detail["priority"] = json!(priority.granted));
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

fn row(
    (scenario, unit): (&str, &str),
    published: Option<f64>,
    [linux, tandem]: &[Result<Outcomes, String>; 2],
    value: impl Fn(&Outcomes) -> f64,
) -> Row {
    let told = |found: &Result<Outcomes, String>| match found {
        Ok(found) => found.told(),
        Err(why) => json!({ "why": why }),
    };
    let mut detail = json!({ "peer": told(linux), "tandem": told(tandem) });
    if let Err(why) = tandem {
        detail["why"] = json!(why);
    }
    let peer = linux.as_ref().ok();
    Row {
        scenario: scenario.into(),
        unit: unit.into(),
        published,
        peer: peer.map(|found| Peer { name: linux_name(), value: value(found) }),
        tandem: tandem.as_ref().ok().map(value),
        detail,
    }
}
