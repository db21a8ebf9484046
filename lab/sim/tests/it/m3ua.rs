//! ASPs that exchange MSUs through two signalling gateways over SCTP with two paths each, in
//! virtual time and by seeds: paths that are cut, networks that lose, ends and gateways that crash.
//!
//! `SGC_SEEDS=500 cargo test -p tandem-sim --test it m3ua` runs more of them.

use crate::signalling::{End, FLOWS, Plan};
use link::{Change, Loss, Pipe, PipeSpec, Probability, Schedule};
use machine::{Duration, Time};
use runtime::{Ask, Function, PortId, Seed};
use sgc::Gateway;
use sgc::config::Sgc;
use sim::{Hosted, LinkSpec, NodeId, Random, World};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

const START: Time = Time::from_millis(1_700_000_000_000);
const SEEDS: u64 = 12;
const PACE: Duration = Duration::from_millis(5);
const COUNT: u32 = 1_600;
/// From the start until the first MSU: associations stand and ASPs are active by then.
const SETTLED: Duration = Duration::from_secs(3);
const END: Duration = Duration::from_secs(40);

const A: u8 = 10;
const B: u8 = 20;
const SPARE: u8 = 21;

fn seeds() -> std::ops::Range<u64> {
    let wanted = std::env::var("SGC_SEEDS").ok().and_then(|text| text.parse().ok());
    1..1 + wanted.unwrap_or(SEEDS)
}

/// The two addresses of an end, one in each network.
fn addresses(last: u8) -> Vec<IpAddr> {
    [1, 2].map(|network| IpAddr::from([10, network, 0, last])).to_vec()
}

fn section(last: u8, mode: &str) -> Sgc {
    let text = format!(
        r#"
name = "stp-{last}"
point_code_format = "decimal"
peer = [
  {{ name = "a", role = "asp", addresses = ["10.1.0.{A}", "10.2.0.{A}"] }},
  {{ name = "b", role = "asp", addresses = ["10.1.0.{B}", "10.2.0.{B}"] }},
  {{ name = "spare", role = "asp", addresses = ["10.1.0.{SPARE}", "10.2.0.{SPARE}"] }},
]
application_server = [
  {{ name = "one", peers = ["a"], routing_context = 1, destination = [{{ point_code = "1" }}] }},
  {{ name = "two", peers = ["b", "spare"], routing_context = 2, traffic_mode = "{mode}",
     destination = [{{ point_code = "2" }}] }},
]
[sctp]
addresses = ["10.1.0.{last}", "10.2.0.{last}"]
preset = "telecom(2)"
parameters = {{ hb_interval_ms = 2000 }}
"#
    );
    toml::from_str(&text).expect("the section is well-formed")
}

struct Site {
    world: World,
    gateways: Vec<NodeId>,
    ends: Vec<NodeId>,
    random: Random,
    mode: &'static str,
}

fn gateway(random: &mut Random, last: u8, mode: &str, now: Time) -> Gateway {
    let config = section(last, mode);
    let mut issues = Vec::new();
    config.validate(&mut issues);
    assert!(issues.is_empty(), "{issues:?}");
    let seed = Seed { shard: 0, shards: 1, random: random.seed(), now };
    Gateway::simulated(seed, Arc::new(config))
}

/// Gateways `.1` and on, an ASP that sends, and the ASPs that it sends to.
fn site(seed: u64, loss: f64, mode: &'static str, gateways: u8, takers: &[u8]) -> Site {
    let mut random = Random::new(seed);
    let spec = LinkSpec {
        loss,
        jitter: Duration::from_millis(3),
        ..LinkSpec::perfect(Duration::from_millis(5))
    };
    let mut world = World::new(seed, spec, START);
    let mut nodes = Vec::new();
    for last in 1..=gateways {
        let function = gateway(&mut random, last, mode, START);
        let ports = section(last, mode).ports();
        let ports: Vec<(PortId, SocketAddr)> =
            ports.iter().map(|port| (port.id, port.listen)).collect();
        let homes: Vec<SocketAddr> = ports.iter().map(|port| port.1).collect();
        nodes.push(world.add(Hosted::new(function, &ports), &homes));
    }
    let all: Vec<Vec<IpAddr>> = (1..=gateways).map(addresses).collect();
    let plan = |last, context, own, sends| Plan {
        addresses: addresses(last),
        gateways: all.clone(),
        context,
        own,
        sends,
        preset: "telecom(2)",
        port: 2_905,
        udp_port: 9_899,
    };
    let mut plans = vec![plan(A, 1, 1, Some((2, COUNT, PACE)))];
    plans.extend(takers.iter().map(|last| plan(*last, 2, 2, None)));
    let mut ends = Vec::new();
    for plan in plans {
        let end = End::new(plan, random.number(), START, SETTLED);
        let homes = end.addresses();
        ends.push(world.add(end, &homes));
    }
    Site { world, gateways: nodes, ends, random, mode }
}

impl Site {
    fn end(&mut self, number: usize) -> &mut End {
        self.world.node_mut(self.ends[number]).expect("it was put there")
    }

    fn ask(&mut self, number: usize, path: &str) -> serde_json::Value {
        let now = self.world.now();
        let hosted = self.world.node_mut::<Hosted<Gateway>>(self.gateways[number]);
        let (gateway, effects) = hosted.expect("it was put there").function_mut();
        let ask = Ask { path: path.to_owned(), ..Ask::default() };
        gateway.ask(now, &ask, effects).expect("it answers")
    }

    fn alarms(&mut self, number: usize) -> Vec<String> {
        let rows = self.ask(number, "alarms");
        let rows = rows.as_array().cloned().unwrap_or_default();
        rows.iter()
            .map(|row| format!("{} {}", row["name"], row["subject"]).replace('"', ""))
            .collect()
    }

    fn metric(&mut self, number: usize, name: &str) -> u64 {
        self.ask(number, "alarms");
        let hosted = self.world.node::<Hosted<Gateway>>(self.gateways[number]);
        let cells = hosted.expect("it was put there").function().cells();
        let mut rows = cells.iter().flat_map(event::MetricCells::samples);
        match rows.find(|(row, _)| row.name == name) {
            Some((_, event::Sample::Value(value))) => value,
            _ => panic!("there is no {name}"),
        }
    }

    fn run(&mut self, until: Duration) {
        self.world.run_until(START + until);
    }

    /// A gateway begins anew, with no memory.
    fn crash_gateway(&mut self, number: usize) {
        let (now, mode) = (self.world.now(), self.mode);
        let fresh = gateway(&mut self.random, number as u8 + 1, mode, now);
        let hosted = self.world.node_mut::<Hosted<Gateway>>(self.gateways[number]);
        *hosted.expect("it was put there").function_mut().0 = fresh;
    }

    /// Every MSU that came at some end, in the order of coming, by SLS.
    fn came(&mut self, taker: usize) -> Vec<Vec<u32>> {
        let came = self.end(taker).came.clone();
        (0..FLOWS as u8).map(|sls| came.get(&sls).cloned().unwrap_or_default()).collect()
    }
}

fn rises(numbers: &[u32]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

/// Pipes of one network between an end and the gateways, cut and healed.
fn cut(site: &mut Site, seed: u64, last: u8, from_ms: u64, until_ms: u64) {
    let loss = Probability::new(0.01).expect("it is one");
    let spec = PipeSpec { loss: Loss::Random(loss), ..PipeSpec::delayed(Duration::from_millis(5)) };
    let changes = [
        (Duration::from_millis(from_ms), Change::Cut),
        (Duration::from_millis(until_ms), Change::Heal),
    ];
    let (end, gateway) = (addresses(last)[0], addresses(1)[0]);
    for (from, to) in [(end, gateway), (gateway, end)] {
        let schedule = Schedule::new(START, &changes);
        site.world.lay(from, to, Pipe::new(seed ^ u64::from(last), spec, schedule));
    }
}

#[test]
fn a_path_is_cut_in_a_lossy_network_and_every_msu_comes_once_and_in_order() {
    for seed in seeds() {
        let mut site = site(seed, 0.01, "override", 1, &[B]);
        cut(&mut site, seed, A, 5_000, 8_000);
        cut(&mut site, seed + 1, B, 5_500, 9_000);
        site.run(Duration::from_millis(7_500));
        // Towards a only heartbeats go: its own end notices sooner than the gateway.
        let alarms = site.alarms(0);
        let path = format!("path-inactive b/10.1.0.{B}");
        assert!(alarms.contains(&path), "seed {seed}: {alarms:?}");
        site.run(END);
        let came = site.came(1);
        let total: usize = came.iter().map(Vec::len).sum();
        assert!(came.iter().all(|numbers| rises(numbers)), "seed {seed}");
        assert_eq!(total, COUNT as usize, "seed {seed}");
        assert_eq!(site.metric(0, "m3ua_associations_lost_total"), 0, "seed {seed}");
        let alarms = site.alarms(0);
        assert_eq!(alarms, ["association-down spare"], "seed {seed}");
        let paths = site.ask(0, "sctp/paths");
        let paths = paths.as_array().expect("a list of paths");
        let named = |name: &str| paths.iter().filter(|row| row["name"] == name).count();
        assert_eq!((named("a"), named("b")), (2, 2), "seed {seed}");
        let rto = |row: &serde_json::Value| row["rto_ms"].as_f64().unwrap_or(0.0);
        assert!(paths.iter().all(|row| (80.0..=150.0).contains(&rto(row))), "{paths:?}");
    }
}

#[test]
fn an_asp_crashes_and_its_spare_goes_on_and_every_msu_that_lacks_was_counted() {
    for seed in seeds() {
        let mut site = site(seed, 0.005, "loadshare", 1, &[B, SPARE]);
        site.run(Duration::from_millis(6_000));
        site.end(1).crash();
        site.run(Duration::from_millis(9_000));
        let now = site.world.now();
        site.end(1).live(now);
        site.run(END);
        let (first, second) = (site.came(1), site.came(2));
        let mut all: Vec<u32> = first.iter().chain(&second).flatten().copied().collect();
        assert!(second.iter().all(|numbers| rises(numbers)), "seed {seed}");
        assert!(first.iter().all(|numbers| rises(numbers)), "seed {seed}");
        let total = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), total, "seed {seed}: none comes twice");
        let lacks = u64::from(COUNT) - total as u64;
        let counted = site.metric(0, "sgc_messages_lost_total");
        assert!(lacks > 0 && lacks <= counted, "seed {seed}: {lacks} lack, {counted} counted");
        assert!(counted < 200, "seed {seed}: {counted} in the time that a loss takes to be seen");
        assert!(!first[0].is_empty() && first[0].last() != second[0].last());
        assert_eq!(site.alarms(0), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn the_only_asp_crashes_and_what_waits_for_it_comes_in_order_when_it_is_back() {
    for seed in seeds() {
        let mut site = site(seed, 0.0, "override", 1, &[B]);
        site.run(Duration::from_millis(6_000));
        site.end(1).crash();
        // The association is lost after Association.Max.Retrans time-outs; then T(r) begins.
        while !site.alarms(0).contains(&"as-pending two".to_owned()) {
            let next = site.world.now() + Duration::from_millis(20);
            site.world.run_until(next);
            assert!(next < START + END, "seed {seed}: the loss is never seen");
        }
        let waits = site.world.now() + Duration::from_millis(300);
        site.world.run_until(waits);
        site.end(1).live(waits);
        site.run(END);
        let came = site.came(1);
        assert!(came.iter().all(|numbers| rises(numbers)), "seed {seed}");
        let total: usize = came.iter().map(Vec::len).sum();
        let lacks = u64::from(COUNT) - total as u64;
        assert!(site.metric(0, "m3ua_recovered_total") > 50, "seed {seed}");
        assert!(lacks <= site.metric(0, "sgc_messages_lost_total"), "seed {seed}");
        assert_eq!(site.metric(0, "m3ua_expired_total"), 0, "seed {seed}");
    }
}

#[test]
fn a_gateway_crashes_and_the_other_one_carries_on_without_a_duplicate() {
    for seed in seeds() {
        let mut site = site(seed, 0.005, "override", 2, &[B]);
        site.run(Duration::from_millis(6_000));
        site.crash_gateway(0);
        site.run(END);
        let mut all: Vec<u32> = site.came(1).into_iter().flatten().collect();
        let total = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), total, "seed {seed}: none comes twice");
        let lacks = COUNT as usize - total;
        assert!(lacks < 100, "seed {seed}: {lacks} lack");
        assert_eq!(*all.last().expect("some came"), COUNT - 1, "seed {seed}");
        for gateway in 0..2 {
            assert_eq!(site.alarms(gateway), ["association-down spare"], "seed {seed}");
        }
    }
}

#[test]
fn a_full_send_buffer_is_told_as_congestion_and_what_it_refuses_is_counted() {
    let mut site = site(1, 0.0, "override", 1, &[B]);
    let small = || {
        let mut config = section(1, "override");
        let sctp = config.sctp.as_mut().expect("it is there");
        sctp.parameters.send_buffer_bytes = Some(4_096);
        sctp.parameters.association_max_retrans = Some(100);
        Arc::new(config)
    };
    site.run(SETTLED);
    let now = site.world.now();
    let hosted = site.world.node_mut::<Hosted<Gateway>>(site.gateways[0]);
    let (gateway, effects) = hosted.expect("it was put there").function_mut();
    gateway.configure(now, small(), effects);
    for network in 0..2 {
        let ends = [addresses(1)[network], addresses(B)[network]];
        let changes =
            [(Duration::from_millis(3_500), Change::Cut), (Duration::from_secs(8), Change::Heal)];
        for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            let spec = PipeSpec::delayed(Duration::from_millis(5));
            site.world.lay(from, to, Pipe::new(1, spec, Schedule::new(START, &changes)));
        }
    }
    site.run(Duration::from_secs(7));
    assert!(site.alarms(0).contains(&"association-congested b".to_owned()));
    assert_eq!(site.metric(0, "sgc_congestion_level"), 3);
    site.run(END);
    let shed = site.metric(0, "sgc_msus_transport_shed_total");
    let total: usize = site.came(1).iter().map(Vec::len).sum();
    assert!(shed > 0 && total as u64 + shed == u64::from(COUNT), "{total} came, {shed} were shed");
    assert_eq!(site.alarms(0), ["association-down spare"]);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let digest = || {
        let mut site = site(5, 0.02, "loadshare", 2, &[B, SPARE]);
        site.run(Duration::from_secs(12));
        site.world.digest()
    };
    assert_eq!(digest(), digest());
}

/// Nearer to the gateway's address than those of b: packets leave from it.
const STRANGER: u8 = 2;
/// The peer that no end plays.
const NOT_THERE: &str = "association-down spare";

/// Somebody at an address of his own, who writes those of b into his INIT and sends from a port
/// that b does not have.
fn stranger(site: &mut Site) -> NodeId {
    let now = site.world.now();
    let mut claimed = vec![IpAddr::from([10, 1, 0, STRANGER])];
    claimed.extend(addresses(B));
    let plan = Plan {
        addresses: claimed,
        gateways: vec![addresses(1)],
        context: 2,
        own: 2,
        sends: None,
        preset: "telecom(2)",
        port: 4_000,
        udp_port: 9_899,
    };
    let end = End::new(plan, site.random.number(), now, SETTLED);
    let homes = end.addresses();
    site.world.add(end, &homes[..1])
}

#[test]
fn a_stranger_who_names_the_addresses_of_a_peer_gets_neither_its_place_nor_its_msus() {
    for seed in seeds() {
        let mut site = site(seed, 0.0, "override", 1, &[B]);
        site.run(Duration::from_secs(4));
        let stranger = stranger(&mut site);
        site.run(END);
        let came = site.came(1);
        assert_eq!(came.iter().map(Vec::len).sum::<usize>(), COUNT as usize, "seed {seed}");
        assert!(came.iter().all(|flow| rises(flow)), "seed {seed}");
        let taken = &site.world.node_mut::<End>(stranger).expect("it was put there").came;
        assert!(taken.is_empty(), "seed {seed}: {taken:?}");
        assert!(site.metric(0, "sgc_associations_refused_total") > 0, "seed {seed}");
        assert_eq!(site.alarms(0), [NOT_THERE], "seed {seed}");
    }
}

/// The same end at its own address, with another port each time: nobody but it could answer there.
#[test]
fn a_newcomer_at_the_address_of_a_peer_waits_until_the_old_association_is_known_to_be_dead() {
    for seed in seeds() {
        let mut site = site(seed, 0.0, "override", 1, &[B]);
        site.run(Duration::from_secs(4));
        let now = site.world.now();
        site.end(1).crash();
        site.end(1).at_port(4_001);
        site.end(1).live(now);
        site.run(Duration::from_secs(8));
        assert_eq!(site.alarms(0), [NOT_THERE], "seed {seed}: it has its place");
        let before = site.came(1).iter().map(Vec::len).sum::<usize>();
        site.run(Duration::from_secs(9));
        assert!(site.came(1).iter().map(Vec::len).sum::<usize>() > before, "seed {seed}");
    }
}

/// Another program of the same host, say: its address is the peer's.
#[test]
fn a_newcomer_at_the_address_of_a_peer_that_lives_is_turned_away() {
    for seed in seeds() {
        let mut site = site(seed, 0.01, "override", 1, &[B]);
        site.run(Duration::from_secs(4));
        let plan = Plan {
            addresses: addresses(B),
            gateways: vec![addresses(1)],
            context: 2,
            own: 2,
            sends: None,
            preset: "telecom(2)",
            port: 4_000,
            udp_port: 9_900,
        };
        let now = site.world.now();
        let end = End::new(plan, site.random.number(), now, SETTLED);
        let homes = end.addresses();
        let other = site.world.add(end, &homes);
        site.run(END);
        assert_eq!(site.came(1).iter().map(Vec::len).sum::<usize>(), COUNT as usize, "seed {seed}");
        assert!(site.world.node_mut::<End>(other).expect("it is there").came.is_empty());
        assert!(site.metric(0, "sgc_association_claims_refused_total") > 0, "seed {seed}");
        assert_eq!(site.alarms(0), [NOT_THERE], "seed {seed}");
    }
}
