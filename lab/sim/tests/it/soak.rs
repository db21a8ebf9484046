//! Ten minutes of calls through the signalling controller over a network that loses one datagram
//! in a hundred, in virtual time: every call has one outcome, and then nothing is left anywhere.

use crate::endpoints::{Callee, Caller, Outcome};
use machine::{Duration, Time};
use runtime::{PortId, Seed};
use sim::{Hosted, LinkSpec, NodeId, Random, World};
use ssc::Controller;
use std::net::SocketAddr;
use std::sync::Arc;

const START: Time = Time::from_millis(1_700_000_000_000);
const PACE: Duration = Duration::from_millis(100);
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// The last call, its end and the longest memory of a transaction, twice: there are two legs.
const AFTERWARDS: Duration = Duration::from_secs(300);

const SITE: &str = r#"
name = "ssc1"
[[realm]]
name = "access"
listen = ["udp:192.0.2.10:5060"]
[[realm]]
name = "core"
side = "core"
listen = ["udp:192.0.2.11:5060"]
[[next_hop]]
name = "switch"
realm = "core"
targets = ["udp:192.0.2.2:5060"]
probe_interval_s = 0
[[route]]
from = "access"
to = ["switch"]
[timers]
no_answer_s = 60
call_max_s = 60
"#;

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 5060))
}

/// A caller, a controller and a callee.
struct Site {
    world: World,
    caller: NodeId,
    controller: NodeId,
    callee: NodeId,
}

fn site(seed: u64, spec: LinkSpec, calls: usize) -> Site {
    let config: ssc::config::Ssc = toml::from_str(SITE).expect("the site is well-formed");
    let ports: Vec<(PortId, SocketAddr)> =
        config.ports().iter().map(|port| (port.id, port.listen)).collect();
    let random = Random::new(seed).seed();
    let shard = Seed { shard: 0, shards: 1, random, now: START };
    let hosted = Hosted::new(Controller::new(shard, Arc::new(config)), &ports);
    let mut world = World::new(seed, spec, START);
    let ends = [address(1), address(10)];
    let caller = world.add(Caller::new(seed + 1, ends, calls, PACE, START), &ends[..1]);
    let controller = world.add(hosted, &[address(10), address(11)]);
    let callee = world.add(Callee::new(seed + 2, address(2), calls, START), &[address(2)]);
    Site { world, caller, controller, callee }
}

impl Site {
    /// What is left in the controller: calls, requests, transactions.
    fn left(&mut self) -> [u64; 3] {
        let now = self.world.now();
        let hosted = self.world.node_mut::<Hosted<Controller>>(self.controller);
        let (controller, effects) = hosted.expect("the controller was put there").function_mut();
        let ask = runtime::Ask { path: "calls".to_owned(), ..runtime::Ask::default() };
        runtime::Function::ask(controller, now, &ask, effects).expect("calls can be shown");
        let cells = runtime::Function::cells(controller);
        ["ssc_calls_live", "ssc_requests_live", "ssc_transactions_live"].map(|name| {
            let mut rows = cells.iter().flat_map(event::MetricCells::samples);
            match rows.find(|(row, _)| row.name == name) {
                Some((_, event::Sample::Value(value))) => value,
                _ => panic!("there is no gauge {name}"),
            }
        })
    }
}

/// Counts of the caller's outcomes after a whole run.
fn run(seed: u64, spec: LinkSpec, time: Duration) -> ([usize; 4], u64) {
    let calls = (time.as_millis() / PACE.as_millis()) as usize;
    let mut site = site(seed, spec, calls);
    site.world.run_until(START + time + AFTERWARDS);
    assert_eq!(site.left(), [0, 0, 0], "seed {seed}: calls, requests, transactions");
    let world = &site.world;
    let caller = world.node::<Caller>(site.caller).expect("a caller was put there");
    let callee = world.node::<Callee>(site.callee).expect("a callee was put there");
    assert_eq!((caller.table.len(), callee.table.len()), (0, 0), "seed {seed}");
    let mut counts = [0; 4];
    for (call, outcomes) in caller.outcomes.iter().enumerate() {
        let [outcome] = outcomes[..] else { panic!("seed {seed}, call {call}: {outcomes:?}") };
        let theirs = &callee.outcomes[call];
        assert!(theirs.len() <= 1, "seed {seed}, call {call}: callee {theirs:?}");
        if outcome == Outcome::Answered {
            assert_eq!(theirs[..], [outcome], "seed {seed}, call {call}");
        }
        counts[outcome as usize] += 1;
    }
    assert_eq!(caller.byes_done, counts[Outcome::Answered as usize], "seed {seed}");
    (counts, world.digest())
}

#[test]
fn ten_minutes_at_one_percent_loss_leave_nothing_and_lose_no_call() {
    let (counts, _) = run(1, LinkSpec::default(), TEN_MINUTES);
    let [answered, refused, cancelled, lost] = counts;
    assert_eq!(answered + refused + cancelled + lost, 6_000);
    assert_eq!((answered, refused, lost), (2_000, 2_000, 0), "cancelled {cancelled}");
}

#[test]
fn much_worse_networks_leave_nothing_either() {
    for seed in 0..20 {
        let loss = 0.05 * (seed % 5) as f64;
        let spec = LinkSpec { loss, duplicate: 0.05, reorder: 0.1, ..LinkSpec::default() };
        run(seed, spec, Duration::from_secs(10));
    }
}

#[test]
fn a_network_that_dies_leaves_nothing_once_the_longest_call_is_over() {
    let calls = 30;
    let mut site = site(4, LinkSpec::perfect(Duration::from_millis(5)), calls);
    site.world.run_until(START + Duration::from_secs(1));
    site.world.set_spec(LinkSpec { loss: 1.0, ..LinkSpec::default() });
    site.world.run_until(START + AFTERWARDS + AFTERWARDS);
    assert_eq!(site.left(), [0, 0, 0]);
}

#[test]
fn the_same_seed_gives_the_same_run_through_the_controller() {
    let digest = |seed| run(seed, LinkSpec::default(), Duration::from_secs(5)).1;
    assert_eq!(digest(9), digest(9));
    assert_ne!(digest(9), digest(10));
}
