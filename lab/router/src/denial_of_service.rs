//! `denial-of-service`: a flood of ICMP echo requests at the router's own address beside traffic
//! that it forwards; what the traffic loses, how busy the core is, and whether a control session
//! with the router stays up.
//!
//! The report does not say how long the flood's packets are. Its row has the same mix of sizes for
//! both; a row of our own has packets of 64 octets, as many as there are of the background.

use super::linux_name;
use super::throughput;
use anyhow::Context;
use forwarder_bench::{
    Bench, Case, Edge, Found, Held, IN_MAC, LEFT_MAC, SUT_V4, Session, Testbed, Tester, Version,
    Who, router,
};
use packet_load::{Layer, Order, Part, Plan, Route, Sizes, Stream, Trial, Values, Vary};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published::{self, PublishedRow};
use report::scratch::Scratch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

const NAME: &str = "denial-of-service";
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

/// The row of our own about the session.
const SESSION: &str = "control session beside the attack: longest answer";
/// The light traffic while a session comes up and ends.
const LIGHT: Trial = Trial::Rate { pps: 5_000.0, duration: Duration::from_millis(100) };

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
    /// The session with the router, or why it did not stay up.
    session: Result<Held, String>,
    /// What was dropped on the way, by place and reason.
    drops: Vec<(String, u64)>,
}

impl Outcomes {
    fn detail(&self) -> Value {
        let Found { report, unsent, busy, away, .. } = &self.beside;
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
            "latency_max_us": background.delays.max_ns as f64 / 1e3,
            "tester_away_max_us": away.as_secs_f64() * 1e6,
            "drops": self.drops.iter().cloned().collect::<BTreeMap<_, _>>(),
            "session": match &self.session {
                Ok(held) => json!({
                    "messages": held.messages,
                    "longest_ms": held.longest.as_secs_f64() * 1e3,
                }),
                Err(why) => json!({ "why": why }),
            },
        })
    }

    /// What must not be.
    fn faults(&self) -> impl Iterator<Item = String> {
        let lost = (self.lost() > 0).then(|| format!("{} packets lost", self.lost()));
        let session = self.session.as_ref().err().map(|why| format!("control session: {why}"));
        lost.into_iter().chain(session)
    }

    fn lost(&self) -> u64 {
        self.beside.report.streams.first().map_or(u64::MAX, |background| background.lost)
    }
}

/// The background's throughput, then the background beside the flood.
fn measure(
    bench: &Bench,
    tested: Tested<'_>,
    routes: &[Route],
    scenario: &Scenario,
    flows: u32,
) -> anyhow::Result<Outcomes> {
    let Tested { ground, who, edge } = tested;
    let case = Case { version: Version::V4, sizes: Sizes::imix(), flows };
    let search = |tester: &mut Tester| Ok(bench.search(tester, WIRE_PPS_MAX).pps);
    let alone_pps = bench.on_wires(ground, &case.plan(routes), search)?;
    let mut streams = vec![case.stream(routes), flood(&scenario.sizes)];
    let [background, flood] = scenario.weights;
    (streams[0].weight, streams[1].weight) = (background, flood);
    let all = f64::from(background + flood) / f64::from(background);
    // Longer than the session's hold time.
    let duration = Duration::from_secs(if bench.is_quick { 4 } else { 10 });
    let trial = Trial::Rate { pps: alone_pps * LOAD * all, duration };
    let plan = Plan { streams, seed: SEED };
    let mut drops = Drops { ground, edge };
    let (beside, session, drops) = bench.on_wires(ground, &plan, |tester| {
        tester.host(Session::guest(ground)?);
        let before = drops.count()?;
        let session = Session::start(ground, who);
        while !session.is_up() && !session.is_lost() {
            tester.trial(LIGHT);
        }
        let beside = tester.trial(trial);
        session.end();
        // The last answer is still under way.
        tester.trial(LIGHT);
        let session = session.held().map_err(|error| format!("{error:#}"));
        let pairs = drops.count()?.into_iter().zip(before);
        let drops = pairs.map(|((place, now), (_, then))| (place, now - then));
        Ok((beside, session, drops.filter(|(_, count)| *count > 0).collect()))
    })?;
    Ok(Outcomes { alone_pps, beside, session, drops })
}

/// Who is measured, and where.
struct Tested<'a> {
    ground: &'a Testbed,
    who: Who,
    /// The forwarder of Tandem's, to be asked what it dropped.
    edge: Option<&'a mut Edge>,
}

/// Whoever counts drops.
struct Drops<'a> {
    ground: &'a Testbed,
    edge: Option<&'a mut Edge>,
}

impl Drops<'_> {
    fn count(&mut self) -> anyhow::Result<Vec<(String, u64)>> {
        let mut all = self.ground.drops()?;
        if let Some(edge) = &mut self.edge {
            all.extend(edge.drops()?);
        }
        Ok(all)
    }
}

/// Linux and Tandem, with the same routes.
struct Setup {
    bench: Bench,
    routes: Vec<Route>,
    linux: Testbed,
    tandem: Testbed,
    edge: Result<Edge, String>,
    flows: u32,
}

impl Setup {
    fn new(options: &Options, bench: Bench, grounds: (Testbed, Testbed)) -> anyhow::Result<Self> {
        let (linux, tandem) = grounds;
        let usual = if options.quick { QUICK_FLOWS } else { FLOWS };
        let flows = options.plane.flows.first().copied().unwrap_or(usual);
        let [routes, _] = throughput::tables(options);
        linux.forward(&routes, &[])?;
        let edge = Edge::on_wires(&options.tandem, &tandem, bench.cores.1)
            .and_then(|mut edge| edge.apply(&router(&routes, &[])).map(|_| edge))
            .map_err(|error| format!("{error:#}"));
        Ok(Self { bench, routes, linux, tandem, edge, flows })
    }

    /// What Linux did, and what Tandem did.
    fn both(&mut self, scenario: &Scenario) -> [Result<Outcomes, String>; 2] {
        let Self { bench, routes, linux, tandem, edge, flows } = self;
        let on = |tested| {
            let found = measure(bench, tested, routes, scenario, *flows);
            found.map_err(|error| format!("{error:#}"))
        };
        let linux = on(Tested { ground: linux, who: Who::Linux, edge: None });
        let tandem = match edge {
            Ok(edge) => on(Tested { ground: tandem, who: Who::Tandem, edge: Some(edge) }),
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
    let ground = |who| Testbed::new(who, bench.cores, scratch.path());
    let grounds = match ground(Who::Linux).and_then(|one| Ok((one, ground(Who::Tandem)?))) {
        Ok(grounds) => grounds,
        Err(error) => return Ok(Outcome::without_namespaces(NAME, table, options, &error)),
    };
    let [loss, busy, average] = &table.rows[..] else {
        anyhow::bail!("the published table has three rows")
    };
    let mut stand = Setup::new(options, bench, grounds)?;
    let scenarios = [
        Scenario {
            name: loss.scenario.clone(),
            published: loss.value,
            sizes: Sizes::imix(),
            weights: WEIGHTS,
        },
        Scenario { name: SMALL.into(), published: None, sizes: Sizes::fixed(64), weights: [1, 1] },
    ];
    let progress = Progress::new(NAME, 2);
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for scenario in &scenarios {
        // The report's flood has rows beside its own.
        let of_report = |name| scenario.published.is_some() && options.wants(name);
        let (is_busiest, has_session) = (of_report(&busy.scenario), of_report(SESSION));
        let is_average = of_report(&average.scenario);
        if !options.wants(&scenario.name) && !is_busiest && !has_session && !is_average {
            continue;
        }
        progress.say(&scenario.name);
        let both = stand.both(scenario);
        for (who, found) in ["Linux", "Tandem"].iter().zip(&both) {
            if let Err(why) = found {
                broken.push(format!("{}, {who}: {why}", scenario.name));
            }
        }
        if let Ok(found) = &both[1] {
            broken.extend(found.faults().map(|fault| format!("{}: {fault}", scenario.name)));
        }
        let lost = |found: &Outcomes| found.lost() as f64;
        rows.push(row(&scenario.name, "packets", scenario.published, &both, lost));
        if is_busiest {
            rows.push(busiest(busy, &both));
        }
        if is_average {
            let why = "an average over 18 cores; here one core forwards: see the busiest core";
            rows.push(table.absent(average, why));
        }
        if has_session {
            rows.push(session(&both));
        }
        progress.step();
    }
    rows.retain(|row| options.wants(&row.scenario));
    rows.iter_mut().for_each(|row| row.detail["priority"] = json!(priority.granted));
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

/// The share of the forwarding core that was busy.
fn busiest(published: &PublishedRow, both: &[Result<Outcomes, String>; 2]) -> Row {
    let share = |found: &Outcomes| found.beside.busy * 100.0;
    let mut row = row(&published.scenario, "% of a core", published.value, both, share);
    if both[1].is_ok() {
        row.detail["note"] = json!("a worker that polls is busy as long as packets come");
    }
    row
}

/// The longest answer of the control session.
fn session(both: &[Result<Outcomes, String>; 2]) -> Row {
    let longest = |found: &Outcomes| {
        let held = found.session.as_ref();
        held.map_or(f64::INFINITY, |held| held.longest.as_secs_f64() * 1e3)
    };
    let mut row = row(SESSION, "ms", None, both, longest);
    // One that went down has no longest answer.
    row.peer = row.peer.filter(|peer| peer.value.is_finite());
    row.tandem = row.tandem.filter(|value| value.is_finite());
    row
}

fn row(
    scenario: &str,
    unit: &str,
    published: Option<f64>,
    [linux, tandem]: &[Result<Outcomes, String>; 2],
    value: impl Fn(&Outcomes) -> f64,
) -> Row {
    let shown = |found: &Result<Outcomes, String>| match found {
        Ok(found) => found.detail(),
        Err(why) => json!({ "why": why }),
    };
    let mut detail = json!({ "peer": shown(linux), "tandem": shown(tandem) });
    match tandem {
        Ok(found) if found.beside.unsent > 0 => {
            let unsent = found.beside.unsent;
            detail["note"] = json!(format!("the tester did not manage to send {unsent} packets"));
        }
        Ok(_) => {}
        Err(why) => detail["why"] = json!(why),
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
