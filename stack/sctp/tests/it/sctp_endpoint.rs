//! Two endpoints whose packets are carried by hand: what a function sees of SCTP.

use bytes::Bytes;
use core::net::IpAddr;
use event::Sample;
use machine::{Duration, Time};
use runtime::{Ask, AskError, Effects, Flow, PortId, Seed, Transport};
use sctp::{AssociationId, In, Indication, Lost, Outgoing, PathState};
use sctp_stack::{Config, Extensions, Overrides, Peer, SctpEndpoint};

/// One way through the network.
const DELAY: Duration = Duration::from_millis(5);
/// The first port of each side.
const FIRST: PortId = PortId(3);

struct World {
    now: Time,
    sides: [SctpEndpoint; 2],
    told: [Vec<(AssociationId, Indication)>; 2],
    wire: Vec<(Time, usize, Flow, Vec<u8>)>,
    /// Networks (second octet) that lose everything.
    cut: Vec<u8>,
    damages: bool,
}

fn ip(net: u8, host: u8) -> IpAddr {
    IpAddr::from([10, net, 0, host])
}

fn config(host: u8, networks: u8) -> Config {
    Config {
        addresses: (1..=networks).map(|net| ip(net, host)).collect(),
        preset: "telecom(2)".into(),
        ..Config::default()
    }
}

fn peer(host: u8, networks: u8) -> Peer {
    let addresses = (1..=networks).map(|net| ip(net, host)).collect();
    Peer { addresses, port: 2_905, encapsulation_port: 9_899 }
}

impl World {
    fn new(configs: [&Config; 2]) -> Self {
        let seed = |n| Seed { shard: 0, shards: 1, random: [n; 32], now: Time::ZERO };
        let [a, b] = configs;
        Self {
            now: Time::from_millis(1),
            sides: [
                SctpEndpoint::simulated(a, FIRST, &seed(1)),
                SctpEndpoint::simulated(b, FIRST, &seed(2)),
            ],
            told: [Vec::new(), Vec::new()],
            wire: Vec::new(),
            cut: Vec::new(),
            damages: false,
        }
    }

    fn settle(&mut self, side: usize) {
        while let Some(told) = self.sides[side].next() {
            self.told[side].push(told);
        }
        let mut effects = Effects::default();
        self.sides[side].flush(&mut effects);
        for (flow, bytes) in effects.sends() {
            let (IpAddr::V4(from), IpAddr::V4(to)) = (flow.local.ip(), flow.remote.ip()) else {
                panic!("the world has IPv4 only");
            };
            if from.octets()[1] != to.octets()[1] {
                continue; // the networks are not connected
            }
            let port = PortId(FIRST.0 + u16::from(to.octets()[1]) - 1);
            let arrives = Flow::to(port, Transport::Udp, flow.remote, flow.local);
            let mut bytes = bytes.to_vec();
            if self.damages {
                *bytes.last_mut().unwrap() ^= 1;
            }
            if !self.cut.contains(&to.octets()[1]) {
                let far = usize::from(to.octets()[3] - 1);
                self.wire.push((self.now + DELAY, far, arrives, bytes));
            }
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        for side in [0, 1] {
            self.settle(side);
        }
        loop {
            let deadlines = self.sides.iter().filter_map(SctpEndpoint::deadline);
            let next = self.wire.iter().map(|it| it.0).chain(deadlines).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            let now = self.now;
            let (due, later): (Vec<_>, Vec<_>) = self.wire.drain(..).partition(|it| it.0 <= now);
            self.wire = later;
            for (_, side, flow, bytes) in due {
                assert!(self.sides[side].owns(&flow));
                self.sides[side].message(now, &flow, &bytes);
            }
            for side in [0, 1] {
                self.sides[side].tick(now);
                self.settle(side);
            }
        }
        self.now = end;
    }

    fn associate(&mut self, networks: u8) -> AssociationId {
        let id = self.sides[0].associate(self.now, &peer(2, networks)).unwrap();
        self.run(Duration::from_millis(200));
        assert!(self.was_told(0, &Indication::CommunicationUp(10, 10)), "{:?}", self.told[0]);
        id
    }

    fn wish(&mut self, side: usize, wish: In) {
        self.sides[side].wish(self.now, wish);
        self.settle(side);
    }

    fn send(&mut self, side: usize, id: AssociationId, text: &'static str) {
        let message = Outgoing::new(1, 3, Bytes::from_static(text.as_bytes()));
        self.wish(side, In::Send(id, message));
    }

    fn was_told(&self, side: usize, what: &Indication) -> bool {
        self.told[side].iter().any(|(_, it)| it == what)
    }

    fn rows(&self, side: usize, path: &str) -> Vec<serde_json::Value> {
        let ask = Ask { path: path.into(), ..Ask::default() };
        self.sides[side].ask(&ask).unwrap().as_array().unwrap().clone()
    }

    fn metric(&self, side: usize, name: &str) -> u64 {
        let cells = self.sides[side].cells();
        let found = cells.samples().find(|(row, _)| row.name == name).unwrap();
        let Sample::Value(value) = found.1 else { panic!("{name} is a histogram") };
        value
    }
}

#[test]
fn a_message_crosses_two_endpoints_and_the_end_is_in_order() {
    let mut world = World::new([&config(1, 1), &config(2, 1)]);
    let id = world.associate(1);
    world.send(0, id, "hello");
    world.run(Duration::from_millis(100));
    let data = world.told[1].iter().find_map(|(_, told)| match told {
        Indication::Data(message) => Some(message.clone()),
        _ => None,
    });
    let data = data.unwrap();
    assert_eq!((data.stream, data.ppid, &data.payload[..]), (1, 3, &b"hello"[..]));
    world.wish(0, In::Shutdown(id));
    world.run(Duration::from_millis(100));
    assert!(world.was_told(0, &Indication::ShutdownComplete));
    assert_eq!(world.rows(0, "sctp/associations"), Vec::<serde_json::Value>::new());
    let metrics = ["sctp_associations_up_total", "sctp_associations_shut_down_total"];
    assert_eq!(metrics.map(|name| world.metric(1, name)), [1, 1]);
    assert_eq!(world.metric(1, "sctp_associations"), 0);
    assert_eq!(world.metric(0, "sctp_messages_out_total"), 1);
    assert_eq!(world.metric(1, "sctp_messages_in_total"), 1);
}

#[test]
fn each_path_keeps_to_its_network_and_data_moves_when_the_primary_is_cut() {
    let mut world = World::new([&config(1, 2), &config(2, 2)]);
    let id = world.associate(2);
    world.run(Duration::from_secs(40)); // both were named by the user: confirmed (RFC 9260 §5.4)
    let states: Vec<_> = world.rows(0, "sctp/paths").iter().map(|it| it["state"].clone()).collect();
    assert_eq!(states, ["active", "active"]);
    world.cut.push(1);
    for _ in 0..6 {
        world.send(0, id, "around");
        world.run(Duration::from_millis(300));
    }
    let failed = Indication::NetworkStatusChange(ip(1, 2), PathState::Inactive);
    assert!(world.was_told(0, &failed));
    assert_eq!(world.metric(1, "sctp_messages_in_total"), 6);
    let paths = world.rows(0, "sctp/paths");
    assert_eq!((&paths[0]["state"], &paths[0]["primary"]), (&"inactive".into(), &true.into()));
    assert_eq!(world.rows(0, "sctp/associations")[0]["paths_active"], 1);
    world.cut.clear();
    world.run(Duration::from_secs(70)); // two intervals of heartbeats
    assert_eq!(world.rows(0, "sctp/paths")[0]["state"], "active");
    assert!(world.metric(0, "sctp_paths_failed_total") >= 1);
    assert!(world.metric(0, "sctp_paths_active_total") >= 1);
}

#[test]
fn parameters_change_while_the_association_stands() {
    let mut world = World::new([&config(1, 1), &config(2, 1)]);
    world.associate(1);
    world.run(Duration::from_secs(31)); // a heartbeat has measured the round trip
    assert_eq!(world.rows(0, "sctp/paths")[0]["rto_ms"], 80.0);
    let mut next = config(1, 1);
    next.parameters = Overrides { rto_min_ms: Some(120), ..Overrides::default() };
    let now = world.now;
    world.sides[0].configure(now, &next, FIRST);
    assert_eq!(world.rows(0, "sctp/paths")[0]["rto_ms"], 120.0);
    assert_eq!(world.rows(0, "sctp/associations")[0]["state"], "established");
}

#[test]
fn another_port_ends_what_stands_and_the_endpoint_serves_on() {
    let mut world = World::new([&config(1, 1), &config(2, 1)]);
    world.associate(1);
    let next = Config { port: 3_000, ..config(1, 1) };
    let now = world.now;
    world.sides[0].configure(now, &next, FIRST);
    world.run(Duration::from_millis(100));
    assert!(world.was_told(0, &Indication::CommunicationLost(Lost::UserAborted)));
    assert_eq!(world.metric(1, "sctp_associations_lost_total"), 1);
    world.associate(1);
    assert_eq!(world.rows(0, "sctp/associations")[0]["port"], 3_000);
}

#[test]
fn a_new_address_is_told_to_a_peer_that_takes_it() {
    let extensions = Extensions { address_reconfiguration: Some(true), ..Extensions::default() };
    let [one, two] = [1, 2].map(|host| Config { extensions, ..config(host, 1) });
    let mut world = World::new([&one, &two]);
    world.associate(1);
    assert_eq!(world.rows(1, "sctp/paths").len(), 1);
    let next = Config { addresses: vec![ip(1, 1), ip(2, 1)], ..one };
    let now = world.now;
    world.sides[0].configure(now, &next, FIRST);
    world.run(Duration::from_secs(1));
    let addresses: Vec<_> =
        world.rows(1, "sctp/paths").iter().map(|it| it["address"].clone()).collect();
    assert_eq!(addresses, ["10.1.0.1", "10.2.0.1"]);
}

#[test]
fn a_peer_that_comes_again_or_is_too_many_is_refused() {
    let mut world = World::new([&Config { associations_max: 1, ..config(1, 1) }, &config(2, 1)]);
    world.associate(1);
    let now = world.now;
    assert_eq!(world.sides[0].associate(now, &peer(2, 1)), Err(sctp_stack::Refused::Exists));
    assert_eq!(world.sides[0].associate(now, &peer(3, 1)), Err(sctp_stack::Refused::Full));
    assert_eq!(world.metric(0, "sctp_associations_refused_total"), 2);
}

#[test]
fn one_association_can_be_asked_for_and_nothing_else_is_known() {
    let mut world = World::new([&config(1, 1), &config(2, 1)]);
    let id = world.associate(1);
    let mut ask = Ask { path: "sctp/associations".into(), ..Ask::default() };
    ask.params.insert("association".into(), id.to_string());
    assert_eq!(world.sides[0].ask(&ask).unwrap().as_array().unwrap().len(), 1);
    ask.params.insert("association".into(), "77.1".into());
    assert!(matches!(world.sides[0].ask(&ask), Err(AskError::NotFound(_))));
    let other = Ask { path: "calls".into(), ..Ask::default() };
    assert!(matches!(world.sides[0].ask(&other), Err(AskError::NotFound(_))));
}

/// Lets every way of losing packets and associations happen once.
fn misfortunes(world: &mut World, id: AssociationId) {
    world.damages = true;
    world.send(0, id, "damaged");
    world.run(Duration::from_millis(20));
    world.damages = false;
    world.run(Duration::from_secs(1));
    let flow = |port: u16| {
        let local = (ip(1, 2), 9_899).into();
        Flow::to(PortId(port), Transport::Udp, local, (ip(1, 9), 9_899).into())
    };
    let now = world.now;
    let abort = |tag: [u8; 4]| {
        let mut packet = [&2_905u16.to_be_bytes()[..], &2_905u16.to_be_bytes(), &tag].concat();
        packet.extend([0, 0, 0, 0, 6, 0, 0, 4]);
        sctp::codec::seal(&mut packet);
        packet
    };
    world.sides[1].message(now, &flow(FIRST.0), &[0; 5]);
    world.sides[1].message(now, &flow(FIRST.0), &abort([9; 4]));
    let mut standing = flow(FIRST.0);
    standing.remote = (ip(1, 1), 9_899).into();
    world.sides[1].message(now, &standing, &abort([9; 4]));
    world.run(Duration::from_millis(10));
}

#[test]
fn every_fact_that_is_declared_moves() {
    let small = Overrides { send_buffer_bytes: Some(4_096), ..Overrides::default() };
    let one = Config { parameters: small, ..config(1, 1) };
    let mut world = World::new([&one, &Config { associations_max: 1, ..config(2, 1) }]);
    let id = world.associate(1);
    assert_eq!(world.metric(0, "sctp_associations"), 1);
    for _ in 0..2 {
        world.wish(0, In::Send(id, Outgoing::new(0, 0, Bytes::from(vec![0; 4_000]))));
    }
    assert_eq!(world.metric(0, "sctp_send_failures_total"), 1);
    misfortunes(&mut world, id);
    for name in ["checksum", "malformed", "tag"] {
        assert!(world.metric(1, &format!("sctp_dropped_{name}_total")) >= 1, "{name}");
    }
    assert!(world.metric(1, "sctp_out_of_the_blue_total") >= 1);
    for name in ["sctp_packets_in_total", "sctp_packets_out_total"] {
        assert!(world.metric(0, name) > 1, "{name}");
    }
    let nowhere = Peer { addresses: vec!["fd00::1".parse().unwrap()], ..peer(2, 1) };
    let now = world.now;
    world.sides[0].associate(now, &nowhere).unwrap();
    world.run(Duration::from_millis(1));
    assert!(world.metric(0, "sctp_dropped_no_port_total") >= 1);
}
