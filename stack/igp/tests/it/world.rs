//! Routers joined by links of their forwarders, in virtual time.

use crate::watcher::Watcher;
use dataplane::PacketChannel;
use detection::program::{Name, Notice};
use forwarder::ToPackets;
use igp::config::{Isis, KeyChains, Ospf};
use igp::ip4::Packet;
use igp::{External, Link, LinkState, Prefix, Protocol, Router, Sections, Start, Surroundings};
use machine::{Duration, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use runtime::{ChannelEvent, ChannelOrder, Effects, PacketRecord, PacketTo, PortId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

pub const SECOND: Duration = Duration::from_secs(1);
pub const PACKET_CHANNEL: PortId = PortId(2);

/// The class of packets of BFD, which no packet channel has.
const BFD: u8 = u8::MAX;

/// A link: its routers with what it costs them, and whether it is of two.
#[derive(Debug, Clone)]
pub struct Wire {
    pub ends: Vec<(usize, u16)>,
    pub is_broadcast: bool,
    /// Packets pass.
    pub passes: bool,
    /// Routers see that it is there.
    pub is_up: bool,
}

/// Arrival, number, interface, router, class, octets.
type Flying = (Time, u64, u32, usize, u8, Vec<u8>);

pub struct World {
    pub now: Time,
    pub routers: Vec<Option<Router>>,
    watchers: Vec<Watcher>,
    pub wires: Vec<Wire>,
    pub externals: Vec<Vec<External>>,
    pub keys: KeyChains,
    /// What all routers speak.
    pub speaks: Vec<Protocol>,
    /// Lines that each interface of a section of OSPF gets, and of IS-IS.
    pub lines: String,
    pub isis_lines: String,
    /// Lines that each section of IS-IS gets.
    pub own_isis_lines: Vec<String>,
    /// What the interfaces of the first one have in place of what all have.
    pub own_interface: String,
    /// The area of the first one; one less of IS-IS.
    pub area: String,
    pub mtus: Vec<u16>,
    /// Lines that each section gets.
    pub own_lines: Vec<String>,
    /// Packets of a thousand that are lost.
    pub loss: u64,
    pub sent: Vec<Vec<u8>>,
    /// The frames among what was sent.
    pub frames: Vec<Vec<u8>>,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    random: ChaCha8Rng,
}

impl World {
    pub fn new(seed: u64, routers: usize) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            routers: (0..routers).map(|_| None).collect(),
            watchers: (0..routers).map(|n| Watcher::new(n as u8)).collect(),
            wires: Vec::new(),
            externals: vec![Vec::new(); routers],
            keys: KeyChains::new(),
            speaks: vec![Protocol::Ospf],
            lines: String::new(),
            isis_lines: String::new(),
            own_isis_lines: vec![String::new(); routers],
            own_interface: String::new(),
            area: "0".to_owned(),
            mtus: vec![1_500; routers],
            own_lines: vec![String::new(); routers],
            loss: 0,
            sent: Vec::new(),
            frames: Vec::new(),
            flying: BinaryHeap::new(),
            number: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.random.next_u64() % end.max(1) as u64) as usize
    }

    pub fn id(router: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 255, 0, router as u8 + 1)
    }

    /// The address of a wire's end: 10.WIRE.0.END + 1.
    pub fn address(wire: usize, end: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, wire as u8, 0, end as u8 + 1)
    }

    pub fn prefix(wire: usize) -> Prefix {
        Prefix::new(IpAddr::V4(Self::address(wire, 0)), 24)
    }

    pub fn ipv6(wire: usize, end: usize) -> Ipv6Addr {
        Ipv6Addr::new(0x2001, 0xdb8, wire as u16, 0, 0, 0, 0, end as u16 + 1)
    }

    pub fn prefix_ipv6(wire: usize) -> Prefix {
        Prefix::new(Self::ipv6(wire, 0).into(), 64)
    }

    pub fn wire(&mut self, is_broadcast: bool, ends: &[(usize, u16)]) -> usize {
        let ends = ends.to_vec();
        self.wires.push(Wire { ends, is_broadcast, passes: true, is_up: true });
        self.wires.len() - 1
    }

    pub fn section(&self, router: usize) -> Arc<Ospf> {
        let mut text =
            format!("router_id = \"{}\"\n{}\n", Self::id(router), self.own_lines[router]);
        let area = if router == 0 { &*self.area } else { "0.0.0.0" };
        text += &format!("[[area]]\nid = \"{area}\"\n");
        for (number, wire) in self.wires.iter().enumerate() {
            let Some((_, cost)) = wire.ends.iter().find(|(of, _)| *of == router) else { continue };
            let network = if wire.is_broadcast { "broadcast" } else { "point-to-point" };
            let own = if router == 0 { &*self.own_interface } else { "" };
            let is_said = own.contains("network");
            let network =
                if is_said { String::new() } else { format!("network = \"{network}\"\n") };
            text += &format!(
                "[[area.interface]]\nname = \"w{number}\"\ncost = {cost}\n{network}{own}\n{}\n",
                self.lines
            );
        }
        Arc::new(toml::from_str(&text).unwrap())
    }

    pub fn sections(&self, router: usize) -> Sections {
        let speaks = |it| self.speaks.contains(&it);
        let ospf = speaks(Protocol::Ospf).then(|| (self.section(router), self.keys.clone()));
        let isis = speaks(Protocol::Isis).then(|| (self.isis(router), self.keys.clone()));
        Sections { ospf, isis, bfd: Default::default() }
    }

    pub fn isis(&self, router: usize) -> Arc<Isis> {
        let area = if router == 0 { &*self.area } else { "0" };
        let area = area.parse::<u16>().unwrap() + 1;
        let mut text = format!(
            "net = \"49.{area:04x}.0000.0000.{:04x}.00\"\n{}\n",
            router + 1,
            self.own_isis_lines[router]
        );
        for (number, wire) in self.wires.iter().enumerate() {
            let Some((_, cost)) = wire.ends.iter().find(|(of, _)| *of == router) else { continue };
            let network = if wire.is_broadcast { "broadcast" } else { "point-to-point" };
            let own = if router == 0 { &*self.own_interface } else { "" };
            let is_said = own.contains("network");
            let network =
                if is_said { String::new() } else { format!("network = \"{network}\"\n") };
            text += &format!(
                "[[interface]]\nname = \"w{number}\"\nmetric = {cost}\n{network}{own}\n{}\n",
                self.isis_lines
            );
        }
        Arc::new(toml::from_str(&text).unwrap())
    }

    pub fn around_of(&self, router: usize) -> Surroundings {
        let mut links = Vec::new();
        for (number, wire) in self.wires.iter().enumerate() {
            if let Some(end) = wire.ends.iter().position(|(of, _)| *of == router) {
                links.push(Link {
                    name: format!("w{number}"),
                    index: number as u32 + 1,
                    address: Some((Self::address(number, end), 24)),
                    addresses: vec![
                        (IpAddr::V4(Self::address(number, end)), 24),
                        (IpAddr::V6(Self::ipv6(number, end)), 64),
                    ],
                    mac: Some(Self::mac(number, end)),
                    tags: Vec::new(),
                    mtu: self.mtus[router],
                    is_up: wire.is_up,
                    is_dear: false,
                });
            }
        }
        Surroundings { links, externals: self.externals[router].clone() }
    }

    fn mac(wire: usize, end: usize) -> [u8; 6] {
        [2, 0, 0, 0, wire as u8, end as u8 + 1]
    }

    pub fn start(&mut self, router: usize, is_restart: bool) {
        let mut random = [0; 32];
        self.random.fill_bytes(&mut random);
        let classes = self.sections(router).classes();
        let to =
            ToPackets { socket: "/none".into(), keys: None, classes: classes.clone(), epoch: None };
        let channel = PacketChannel::new(self.now, PACKET_CHANNEL, to);
        let function = format!("pe{router}");
        let restarts = Vec::from(if is_restart { &Protocol::ALL[..] } else { &[] });
        let start = Start { now: self.now, random, function, restarts };
        let mut made = Router::new(start, classes, channel);
        let mut out = Effects::default();
        made.tick(self.now, &mut out);
        assert!(matches!(out.channels[..], [(PACKET_CHANNEL, ChannelOrder::Connect(_))]));
        made.step(self.now, PACKET_CHANNEL, ChannelEvent::Up, &mut out);
        made.step(self.now, PACKET_CHANNEL, ChannelEvent::Message(&[]), &mut out);
        self.routers[router] = Some(made);
        self.configure(router);
    }

    pub fn start_all(&mut self) {
        (0..self.routers.len()).for_each(|router| self.start(router, false));
    }

    /// Gives a router the section and the surroundings as they are now.
    pub fn configure(&mut self, router: usize) {
        let (sections, around) = (self.sections(router), self.around_of(router));
        let now = self.now;
        self.with(router, |it, out| it.configure(now, &sections, &around, out));
    }

    /// Tells the routers of a wire whether it is there.
    pub fn set_up(&mut self, wire: usize, is_up: bool) {
        (self.wires[wire].is_up, self.wires[wire].passes) = (is_up, is_up);
        let now = self.now;
        for router in 0..self.routers.len() {
            let links = self.around_of(router).links.into_iter();
            let stands: BTreeMap<String, LinkState> =
                links.map(|it| (it.name, LinkState { is_up: it.is_up, mac: it.mac })).collect();
            self.with(router, |it, out| it.links(now, |name| stands[name], out));
        }
    }

    pub fn with(&mut self, router: usize, act: impl FnOnce(&mut Router, &mut Effects)) {
        let mut out = Effects::default();
        let Some(it) = &mut self.routers[router] else { return };
        act(it, &mut out);
        for (port, order) in out.channels {
            let ChannelOrder::Send(packets) = order else { continue };
            assert_eq!(port, PACKET_CHANNEL);
            for (to, packet) in packets.iter() {
                self.send(router, to, packet);
            }
        }
        let watched = self.routers[router].as_mut().map(Router::take_watched).unwrap_or_default();
        for (name, said) in watched {
            self.watchers[router].tell(self.now, name, said);
        }
        self.watch(router);
    }

    /// What a router's forwarder sends of BFD, and what it tells.
    fn watch(&mut self, router: usize) {
        for (interface, from, to, datagram) in std::mem::take(&mut self.watchers[router].leaving) {
            let number = interface as usize - 1;
            let wire = &self.wires[number];
            let end = (0..wire.ends.len()).find(|end| Self::address(number, *end) == to);
            let Some(end) = end.filter(|_| wire.passes) else { continue };
            let octets = [&from.octets()[..], datagram.octets()].concat();
            self.number += 1;
            let at = self.now + Duration::from_millis(1);
            let flying = (at, self.number, interface, wire.ends[end].0, BFD, octets);
            self.flying.push(Reverse(flying));
        }
        let now = self.now;
        for (name, notice) in std::mem::take(&mut self.watchers[router].notices) {
            self.with(router, |it, out| it.hear(now, &name, notice, out));
        }
    }

    fn send(&mut self, from: usize, to: PacketTo, octets: &[u8]) {
        let is_frame = matches!(to, PacketTo::Interface(_));
        let packet = (!is_frame).then(|| Packet::read(octets).unwrap());
        let sent = if is_frame { &mut self.frames } else { &mut self.sent };
        sent.push(octets.to_vec());
        let class = match packet {
            None => "isis",
            Some(it) if it.protocol == ospf::PROTOCOL => "ospf",
            Some(it) => panic!("{it:?}"),
        };
        for (number, wire) in self.wires.clone().into_iter().enumerate() {
            if !wire.passes || !wire.ends.iter().any(|(of, _)| *of == from) {
                continue;
            }
            for (end, (router, _)) in wire.ends.iter().enumerate() {
                let is_meant = match to {
                    PacketTo::Link(index) | PacketTo::Interface(index) => {
                        index == number as u32 + 1
                    }
                    PacketTo::Vrf(0) => {
                        packet.is_some_and(|it| it.destination == Self::address(number, end))
                    }
                    other => panic!("{other:?}"),
                };
                if *router == from || !is_meant || self.random.next_u64() % 1_000 < self.loss {
                    continue;
                }
                let jitter = Duration::from_micros(self.random.next_u64() % 3_000);
                let at = self.now + Duration::from_millis(1) + jitter;
                self.number += 1;
                let Some(it) = &self.routers[*router] else { continue };
                let classes = it.classes();
                let Some(class) = classes.iter().position(|it| it.0 == class) else { continue };
                let interface = number as u32 + 1;
                let flying = (at, self.number, interface, *router, class as u8, octets.to_vec());
                self.flying.push(Reverse(flying));
            }
        }
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due = self.routers.iter().flatten().filter_map(Router::deadline);
            let due = due.chain(self.watchers.iter().filter_map(Watcher::deadline));
            let next = due.chain(self.flying.peek().map(|it| it.0.0)).min();
            let Some(at) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            while self.flying.peek().is_some_and(|it| it.0.0 <= self.now) {
                let Some(Reverse((_, _, interface, router, class, octets))) = self.flying.pop()
                else {
                    break;
                };
                if !self.wires[interface as usize - 1].passes {
                    continue;
                }
                if class == BFD {
                    let (from, octets) = octets.split_first_chunk::<4>().unwrap();
                    self.watchers[router].receive(self.now, interface, (*from).into(), octets);
                    self.watch(router);
                    continue;
                }
                let record = PacketRecord { interface, class, ..PacketRecord::default() };
                let now = self.now;
                self.with(router, |it, out| {
                    it.step(now, PACKET_CHANNEL, ChannelEvent::Packet(record, &octets), out);
                });
            }
            for router in 0..self.routers.len() {
                let now = self.now;
                self.watchers[router].tick(now);
                self.watch(router);
                let is_due = |it: &Router| it.deadline().is_some_and(|at| at <= now);
                if self.routers[router].as_ref().is_some_and(is_due) {
                    self.with(router, |it, out| it.tick(now, out));
                }
            }
        }
        self.now = end;
    }

    /// The forwarder of a router says how a session of BFD stands.
    pub fn hear(&mut self, router: usize, name: &Name, notice: Notice) {
        let now = self.now;
        self.with(router, |it, out| it.hear(now, name, notice, out));
    }

    pub fn at(&self, router: usize) -> &Router {
        self.routers[router].as_ref().unwrap()
    }

    /// What a router says of its neighbours: interface and state.
    pub fn states(&self, router: usize) -> Vec<(String, String)> {
        let rows = question::value(self.at(router).neighbours(self.now));
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| (text(&row["interface"]), text(&row["state"]))).collect()
    }

    /// A route as its row shows it, of the protocol that is named.
    pub fn row(&self, router: usize, of: Protocol, to: Prefix) -> Option<serde_json::Value> {
        let params = [("protocol", of.name().to_owned()), ("within", to.to_string())];
        let params = params.map(|(key, value)| (key.to_owned(), value)).into();
        let ask = runtime::Ask { path: "igp/routes".to_owned(), params };
        let rows = question::value(
            self.at(router).route_rows(&ask, |_| Some(true), |_, _| true).unwrap().rows,
        );
        let rows = rows.as_array().unwrap();
        rows.iter().find(|row| row["prefix"] == to.to_string()).cloned()
    }

    /// Whether packets pass a wire, which both ends take for there.
    pub fn set_passing(&mut self, wire: usize, passes: bool) {
        self.wires[wire].passes = passes;
    }

    /// What its alarms say.
    pub fn said(&self, router: usize) -> Vec<String> {
        self.at(router).alarms(self.now).into_iter().map(|it| it.text).collect()
    }

    pub fn alarms(&self, router: usize) -> Vec<String> {
        self.at(router).alarms(self.now).into_iter().map(|it| it.name).collect()
    }

    /// Each router has a route to each wire that it is not on, at the price of a slow reference. To
    /// its own it may have a cheaper one by others, which the plane's own route hides.
    pub fn check(&self, what: &str) {
        for from in 0..self.routers.len() {
            let way = self.distances(from);
            for (number, wire) in self.wires.iter().enumerate() {
                let is_own = wire.is_up && wire.ends.iter().any(|(of, _)| *of == from);
                let ends = wire.ends.iter().filter(|_| wire.is_up);
                let ends = ends.filter(|(of, _)| way[*of] != u32::MAX);
                let wanted = ends.map(|(of, cost)| way[*of] + u32::from(*cost)).min();
                if is_own {
                    continue;
                }
                let route = self.at(from).route(Self::prefix(number));
                let cost = route.map(|it| it.cost);
                assert_eq!(cost, wanted, "{what}: {from} to wire {number}");
                if self.speaks.contains(&Protocol::Isis) {
                    let route = self.at(from).route(Self::prefix_ipv6(number));
                    let cost = route.map(|it| it.cost);
                    assert_eq!(cost, wanted, "{what}: {from} to wire {number} by IPv6");
                }
            }
        }
    }

    fn distances(&self, from: usize) -> Vec<u32> {
        let mut way = vec![u32::MAX; self.routers.len()];
        way[from] = 0;
        for _ in 0..self.routers.len() {
            for wire in self.wires.iter().filter(|it| it.is_up) {
                for (one, cost) in &wire.ends {
                    for (two, _) in &wire.ends {
                        if way[*one] != u32::MAX && one != two {
                            way[*two] = way[*two].min(way[*one] + u32::from(*cost));
                        }
                    }
                }
            }
        }
        way
    }
}
