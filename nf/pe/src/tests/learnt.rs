//! What OSPF learns beside static routes: which holds, and what the forwarder is told of it.

use super::read;
use crate::learnt::IGP_CHANNEL;
use crate::{CHANNELS, ProviderEdge, Settings};
use forwarder::Launch;
use forwarder::ipc::{self, Reply, Request};
use igp::ip4::{Head, Packet, write};
use machine::{Duration, Machine as _, Time};
use nodes::Program;
use nodes::program::Hop;
use ospf::{AreaKind, In as OspfIn, InterfaceSettings, LinkType, Out as OspfOut, Redistributed};
use runtime::{Ask, ChannelEvent, ChannelOrder, Effects, Function as _, In, PacketRecord, Seed};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

const EDGE: &str = r#"
name = "pe1"
[[port]]
name = "ge0"
driver = "af_packet"
[[interface]]
name = "ge0"
addresses = ["10.0.0.1/24"]
[[route]]
prefix = "198.51.100.0/24"
via = [{ gateway = "10.0.0.9" }]
[[route]]
prefix = "203.0.113.0/24"
distance = 200
via = [{ gateway = "10.0.0.9" }]
[ospf]
router_id = "10.0.0.1"
[[ospf.area]]
id = "0.0.0.0"
[[ospf.area.interface]]
name = "ge0"
network = "point-to-point"
hello_s = 1
dead_s = 4
"#;

const MAC: Option<[u8; 6]> = Some([2, 0, 0, 0, 0, 1]);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

type Route = (Ipv4Addr, u8);

/// An edge, what its forwarder was told, and a neighbour.
pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) edge: ProviderEdge,
    peer: ospf::Instance,
    memo: Vec<u8>,
    hops: BTreeMap<u32, Hop>,
    pub(crate) routes: BTreeMap<Route, u32>,
    /// Programs of the last seconds.
    told: Vec<Program>,
}

pub(crate) fn settings(text: &str) -> Arc<Settings> {
    let (socket, command, log) = ("/".into(), Vec::new(), "/".into());
    let launch = Launch { socket, command, log, ..Launch::default() };
    let (pe, routes) = (read(text), Vec::new());
    let (ospf_keys, isis_keys, bfd_keys) = Default::default();
    Arc::new(Settings { pe, routes, launch, ospf_keys, isis_keys, bfd_keys })
}

fn edge(now: Time, text: &str) -> ProviderEdge {
    let seed = Seed { shard: 0, shards: 1, random: [3; 32], now };
    ProviderEdge::new(seed, settings(text))
}

impl World {
    pub(crate) fn new(text: &str) -> Self {
        let now = Time::from_millis(1_000_000);
        let mut peer = ospf::Instance::new(ospf::Settings::new(PEER), now);
        peer.add_area(0, AreaKind::Normal);
        let interface = InterfaceSettings::new(1, 0, PEER, 24);
        let link = LinkType::PointToPoint;
        peer.add_interface(InterfaceSettings { link, hello_s: 1, dead_s: 4, ..interface });
        let mut world = Self {
            now,
            edge: edge(now, text),
            peer,
            memo: Vec::new(),
            hops: BTreeMap::new(),
            routes: BTreeMap::new(),
            told: Vec::new(),
        };
        world.meet();
        world.peer(OspfIn::InterfaceUp(1));
        world
    }

    /// The edge finds its forwarder, its link and its packet channel.
    fn meet(&mut self) {
        self.edge(|it, now, out| it.tick(now, out));
        self.control(ChannelEvent::Up);
        let (ports, memo) = (Vec::new(), self.memo.clone());
        self.says(&Reply::Welcome { ports, memo, is_taken: false });
        self.says(&Reply::Link { port: 0, up: true, mac: MAC });
        self.edge(|it, now, out| it.tick(now, out));
        for event in [ChannelEvent::Up, ChannelEvent::Message(&[])] {
            self.edge(|it, now, out| it.step(now, In::Channel { port: IGP_CHANNEL, event }, out));
        }
    }

    fn control(&mut self, event: ChannelEvent<'_>) {
        let port = CHANNELS.control;
        self.edge(|it, now, out| it.step(now, In::Channel { port, event }, out));
    }

    fn says(&mut self, reply: &Reply) {
        let mut octets = Vec::new();
        ipc::write(reply, &mut octets).expect("it is short");
        self.control(ChannelEvent::Message(&octets));
    }

    pub(crate) fn edge(&mut self, act: impl FnOnce(&mut ProviderEdge, Time, &mut Effects)) {
        let mut out = Effects::default();
        act(&mut self.edge, self.now, &mut out);
        for (_, order) in out.channels {
            match order {
                ChannelOrder::Write(octets) => self.written(&octets),
                ChannelOrder::Send(packets) => {
                    let all: Vec<Vec<u8>> = packets.iter().map(|(_, it)| it.to_vec()).collect();
                    all.iter().for_each(|it| self.heard(it));
                }
                ChannelOrder::Connect(_) | ChannelOrder::HangUp => {}
            }
        }
    }

    fn written(&mut self, mut octets: &[u8]) {
        while let Some((request, used)) = ipc::read::<Request>(octets).expect("a request") {
            octets = &octets[used..];
            match request {
                Request::Apply(programs) => programs.into_iter().for_each(|it| self.apply(it)),
                Request::Keep(memo) => self.memo = memo,
                _ => {}
            }
        }
    }

    fn apply(&mut self, program: Program) {
        match &program {
            Program::Hop { id, hop } => drop(self.hops.insert(*id, hop.clone())),
            Program::Routes4 { vrf: 0, routes } => {
                for (address, length, hop) in routes {
                    match hop {
                        0 => drop(self.routes.remove(&(*address, *length))),
                        hop => drop(self.routes.insert((*address, *length), *hop)),
                    }
                }
            }
            _ => {}
        }
        self.told.push(program);
    }

    /// A packet of the edge comes to the neighbour.
    fn heard(&mut self, octets: &[u8]) {
        let packet = Packet::read(octets).expect("a packet");
        let (source, destination) = (packet.source, packet.destination);
        let octets = packet.payload.to_vec();
        self.peer(OspfIn::Packet { interface: 1, source, destination, octets });
    }

    fn peer(&mut self, input: OspfIn) {
        let mut out = Vec::new();
        self.peer.step(self.now, input, &mut out);
        self.sent(out);
    }

    fn sent(&mut self, out: Vec<OspfOut>) {
        for one in out {
            let OspfOut::Send { destination, octets, .. } = one else { continue };
            let protocol = ospf::PROTOCOL;
            let head = Head { source: PEER, destination, ttl: 1, protocol, id: 0 };
            let mut whole = Vec::new();
            write(&head, &octets, 1_500, |head, part| whole = [head, part].concat());
            let record = PacketRecord { interface: 1, ..PacketRecord::default() };
            let event = ChannelEvent::Packet(record, &whole);
            self.edge(|it, now, out| it.step(now, In::Channel { port: IGP_CHANNEL, event }, out));
        }
    }

    pub(crate) fn run(&mut self, seconds: u64) {
        self.told.clear();
        for _ in 0..seconds * 20 {
            self.now += Duration::from_millis(50);
            self.edge(|it, now, out| it.tick(now, out));
            let mut out = Vec::new();
            self.peer.tick(self.now, &mut out);
            self.sent(out);
        }
    }

    fn announce(&mut self, to: Route) {
        let outside = Redistributed { metric: 5, is_type2: true, tag: 0 };
        self.peer(OspfIn::Redistribute(ospf::Prefix::new(to.0.into(), to.1), outside));
    }

    fn withdraw(&mut self, to: Route) {
        self.peer(OspfIn::WithdrawExternal(ospf::Prefix::new(to.0.into(), to.1)));
    }

    /// The gateway of a route.
    fn gateway(&self, to: Route) -> Option<Ipv4Addr> {
        match self.hops.get(self.routes.get(&to)?) {
            Some(Hop::Via { gateway: Some(gateway), .. }) => gateway.to_string().parse().ok(),
            other => panic!("{other:?}"),
        }
    }
}

const FIRM: Route = (Ipv4Addr::new(198, 51, 100, 0), 24);
const WAITING: Route = (Ipv4Addr::new(203, 0, 113, 0), 24);
const NEW: Route = (Ipv4Addr::new(192, 0, 2, 0), 24);
const STATIC: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

#[test]
fn the_lowest_distance_holds_and_what_waits_comes_back_when_nothing_is_learnt_any_more() {
    let mut world = World::new(EDGE);
    [FIRM, WAITING, NEW].into_iter().for_each(|to| world.announce(to));
    world.run(20);
    let gateways = |world: &World| [FIRM, WAITING, NEW].map(|to| world.gateway(to));
    assert_eq!(gateways(&world), [Some(STATIC), Some(PEER), Some(PEER)]);
    // What is asked says the same.
    let ask = Ask { path: "igp/routes".to_owned(), params: BTreeMap::new() };
    let rows = world.edge.own(world.now, &ask, &mut Effects::default()).expect("routes");
    let rows = rows["rows"].as_array().expect("a page").iter();
    let held: Vec<_> = rows.map(|it| (it["prefix"].clone(), it["held_by"].clone())).collect();
    let wanted = [
        ("10.0.0.0/24", "connected"),
        ("192.0.2.0/24", "ospf"),
        ("198.51.100.0/24", "static"),
        ("203.0.113.0/24", "ospf"),
    ];
    assert_eq!(held, wanted.map(|(to, by)| (to.into(), by.into())));
    let mut asked = |params: &[(&str, &str)]| {
        let params = params.iter().map(|(key, it)| ((*key).to_owned(), (*it).to_owned()));
        let ask = Ask { path: "pe/routes".to_owned(), params: params.collect() };
        let page = world.edge.own(world.now, &ask, &mut Effects::default()).expect("routes");
        let rows = page["rows"].as_array().expect("a page").iter();
        let told = |it: &serde_json::Value| {
            format!("{} {} {}", it["prefix"], it["origin"], it["holds"]).replace('"', "")
        };
        (rows.map(told).collect::<Vec<_>>(), page["next"].as_u64())
    };
    let all = [
        "10.0.0.0/24 connected true",
        "198.51.100.0/24 static true",
        "203.0.113.0/24 static false",
        "192.0.2.0/24 ospf true",
        "203.0.113.0/24 ospf true",
    ];
    assert_eq!(asked(&[]), (all.map(String::from).to_vec(), None));
    assert_eq!(asked(&[("within", "203.0.113.0/24"), ("skip", "3")]).0, [all[4]]);
    assert_eq!(asked(&[("limit", "4")]).1, Some(4));
    assert_eq!(asked(&[("skip", "4")]).0, [all[4]]);
    [FIRM, WAITING, NEW].into_iter().for_each(|to| world.withdraw(to));
    world.run(10);
    assert_eq!(gateways(&world), [Some(STATIC), Some(STATIC), None]);
    // Another distance of OSPF, live.
    [FIRM, WAITING].into_iter().for_each(|to| world.announce(to));
    world.run(10);
    assert_eq!(gateways(&world), [Some(STATIC), Some(PEER), None]);
    let text = EDGE.replace("router_id = \"10.0.0.1\"", "router_id = \"10.0.0.1\"\ndistance = 250");
    world.edge(|it, now, out| it.configure(now, settings(&text), out));
    assert_eq!(gateways(&world), [Some(STATIC), Some(STATIC), None]);
    // No OSPF any more.
    let text = &EDGE[..EDGE.find("[ospf]").expect("it is there")];
    world.edge(|it, now, out| it.configure(now, settings(text), out));
    world.run(1);
    assert_eq!(gateways(&world), [Some(STATIC), Some(STATIC), None]);
}

#[test]
fn a_route_that_changes_is_one_program_and_nothing_is_said_again() {
    let mut world = World::new(EDGE);
    world.announce(WAITING);
    world.run(20);
    world.told.clear();
    world.announce(NEW);
    world.run(10);
    let hop = world.routes[&NEW];
    let routes = vec![(NEW.0, NEW.1, hop)];
    assert_eq!(world.told, [Program::Routes4 { vrf: 0, routes }], "its hop was known");
    world.run(30);
    assert_eq!(world.told, [], "at rest nothing is told");
    world.withdraw(NEW);
    world.run(10);
    assert_eq!(world.told, [Program::Routes4 { vrf: 0, routes: vec![(NEW.0, NEW.1, 0)] }]);
}

#[test]
fn the_next_control_leaves_what_stands_until_all_is_learnt_again() {
    let mut world = World::new(EDGE);
    world.announce(NEW);
    world.run(20);
    let before = world.routes.clone();
    assert!(before.contains_key(&NEW));
    // The control dies and comes back beside the forwarder.
    world.now += Duration::from_secs(1);
    world.edge = edge(world.now, EDGE);
    world.told.clear();
    world.meet();
    let has_ended = |world: &World| world.told.iter().any(|it| matches!(it, Program::End { .. }));
    assert!(!has_ended(&world), "what was not said stays");
    let mut told = Vec::new();
    for _ in 0..30 {
        world.run(1);
        told.append(&mut world.told);
        assert_eq!(world.routes, before, "no route is taken away or changed");
    }
    world.told = told;
    assert!(has_ended(&world), "all is learnt again: what is left over goes");
    let said = world.told.iter().any(|it| match it {
        Program::Routes4 { routes, .. } => routes.iter().any(|it| (it.0, it.1) == NEW),
        _ => false,
    });
    assert!(said, "and it was said");
    assert_eq!(
        world.edge.alarms(world.now).iter().filter(|it| it.name.starts_with("igp")).count(),
        0
    );
}

/// An edge that speaks BGP alone, whose peer bears a restart.
pub(crate) const OF_BGP: &str = r#"
name = "pe1"
[[port]]
name = "ge0"
driver = "af_packet"
[[interface]]
name = "ge0"
addresses = ["10.0.0.1/24"]
[bgp]
asn = 65000
identifier = "10.0.0.1"
deferral_s = 10
[[bgp.peer]]
name = "other"
address = "10.0.0.2"
graceful_restart_s = 60
"#;

#[test]
fn what_stands_of_bgp_alone_stays_as_long_as_peers_are_waited_for() {
    let mut world = World::new(OF_BGP);
    let has_ended = |world: &World| world.told.iter().any(|it| matches!(it, Program::End { .. }));
    assert!(has_ended(&world), "nothing stood there");
    world.run(1);
    world.edge = edge(world.now, OF_BGP);
    world.told.clear();
    world.meet();
    // A commit meanwhile gives nothing up.
    world.edge(|it, now, out| it.configure(now, settings(OF_BGP), out));
    for _ in 0..9 {
        assert!(!has_ended(&world), "the peer has not come yet");
        world.run(1);
    }
    world.run(2);
    assert!(has_ended(&world), "it is not waited for any longer");
}

#[test]
fn a_link_that_goes_takes_what_was_learnt_by_it() {
    let mut world = World::new(EDGE);
    world.announce(NEW);
    world.run(20);
    assert_eq!(world.gateway(NEW), Some(PEER));
    world.says(&Reply::Link { port: 0, up: false, mac: MAC });
    world.run(3);
    assert_eq!(world.gateway(NEW), None);
    world.says(&Reply::Link { port: 0, up: true, mac: MAC });
    world.run(20);
    assert_eq!(world.gateway(NEW), Some(PEER));
}
