//! Routers joined by links of their forwarders, in virtual time.

use dataplane::PacketDoor;
use forwarder::ToPackets;
use igp::config::{KeyChains, Ospf};
use igp::ip4::Packet;
use igp::{External, Link, Prefix, Router, Start, Surroundings};
use machine::{Duration, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use runtime::{ChannelEvent, ChannelOrder, Effects, PacketRecord, PacketTo, PortId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::Ipv4Addr;
use std::sync::Arc;

pub const SECOND: Duration = Duration::from_secs(1);
pub const DOOR: PortId = PortId(2);

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

/// Arrival, number, interface, router, octets.
type Flying = (Time, u64, u32, usize, Vec<u8>);

pub struct World {
    pub now: Time,
    pub routers: Vec<Option<Router>>,
    pub wires: Vec<Wire>,
    pub externals: Vec<Vec<External>>,
    pub keys: KeyChains,
    /// Lines that each interface of a section gets.
    pub lines: String,
    /// Lines that each section gets.
    pub own_lines: Vec<String>,
    /// Packets of a thousand that are lost.
    pub loss: u64,
    pub sent: Vec<Vec<u8>>,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    random: ChaCha8Rng,
}

impl World {
    pub fn new(seed: u64, routers: usize) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            routers: (0..routers).map(|_| None).collect(),
            wires: Vec::new(),
            externals: vec![Vec::new(); routers],
            keys: KeyChains::new(),
            lines: String::new(),
            own_lines: vec![String::new(); routers],
            loss: 0,
            sent: Vec::new(),
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
        Prefix::new(Self::address(wire, 0).into(), 24)
    }

    pub fn wire(&mut self, is_broadcast: bool, ends: &[(usize, u16)]) -> usize {
        let ends = ends.to_vec();
        self.wires.push(Wire { ends, is_broadcast, passes: true, is_up: true });
        self.wires.len() - 1
    }

    pub fn section(&self, router: usize) -> Arc<Ospf> {
        let mut text =
            format!("router_id = \"{}\"\n{}\n", Self::id(router), self.own_lines[router]);
        text += "[[area]]\nid = \"0.0.0.0\"\n";
        for (number, wire) in self.wires.iter().enumerate() {
            let Some((_, cost)) = wire.ends.iter().find(|(of, _)| *of == router) else { continue };
            let network = if wire.is_broadcast { "broadcast" } else { "point-to-point" };
            text += &format!(
                "[[area.interface]]\nname = \"w{number}\"\ncost = {cost}\nnetwork = \"{network}\"\n\
                 {}\n",
                self.lines
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
                    mtu: 1_500,
                    is_up: wire.is_up,
                });
            }
        }
        Surroundings { links, externals: self.externals[router].clone() }
    }

    pub fn start(&mut self, router: usize, is_restart: bool) {
        let mut random = [0; 32];
        self.random.fill_bytes(&mut random);
        let to = ToPackets { socket: "/none".into(), keys: None, classes: igp::classes() };
        let door = PacketDoor::new(self.now, DOOR, to);
        let function = format!("pe{router}");
        let start = Start { now: self.now, random, function, is_restart };
        let mut made = Router::new(start, self.section(router), door);
        let mut out = Effects::default();
        made.tick(self.now, &mut out);
        assert!(matches!(out.channels[..], [(DOOR, ChannelOrder::Connect(_))]));
        made.step(self.now, DOOR, ChannelEvent::Up, &mut out);
        made.step(self.now, DOOR, ChannelEvent::Message(&[]), &mut out);
        self.routers[router] = Some(made);
        self.configure(router);
    }

    pub fn start_all(&mut self) {
        (0..self.routers.len()).for_each(|router| self.start(router, false));
    }

    /// Gives a router the section and the surroundings as they are now.
    pub fn configure(&mut self, router: usize) {
        let (section, keys, around) =
            (self.section(router), self.keys.clone(), self.around_of(router));
        let now = self.now;
        self.with(router, |it, out| it.configure(now, section, keys, around, out));
    }

    /// Tells the routers of a wire whether it is there.
    pub fn set_up(&mut self, wire: usize, is_up: bool) {
        (self.wires[wire].is_up, self.wires[wire].passes) = (is_up, is_up);
        let now = self.now;
        let up: BTreeMap<String, bool> =
            self.wires.iter().enumerate().map(|(n, it)| (format!("w{n}"), it.is_up)).collect();
        for router in 0..self.routers.len() {
            self.with(router, |it, out| it.links(now, |name| up[name], out));
        }
    }

    pub fn with(&mut self, router: usize, act: impl FnOnce(&mut Router, &mut Effects)) {
        let mut out = Effects::default();
        let Some(it) = &mut self.routers[router] else { return };
        act(it, &mut out);
        for (port, order) in out.channels {
            let ChannelOrder::Send(packets) = order else { continue };
            assert_eq!(port, DOOR);
            for (to, packet) in packets.iter() {
                self.send(router, to, packet);
            }
        }
    }

    fn send(&mut self, from: usize, to: PacketTo, octets: &[u8]) {
        let packet = Packet::read(octets).unwrap();
        self.sent.push(octets.to_vec());
        for (number, wire) in self.wires.clone().into_iter().enumerate() {
            if !wire.passes || !wire.ends.iter().any(|(of, _)| *of == from) {
                continue;
            }
            for (end, (router, _)) in wire.ends.iter().enumerate() {
                let is_meant = match to {
                    PacketTo::Link(index) => index == number as u32 + 1,
                    PacketTo::Vrf(0) => packet.destination == Self::address(number, end),
                    other => panic!("{other:?}"),
                };
                if *router == from || !is_meant || self.random.next_u64() % 1_000 < self.loss {
                    continue;
                }
                let jitter = Duration::from_micros(self.random.next_u64() % 3_000);
                let at = self.now + Duration::from_millis(1) + jitter;
                self.number += 1;
                let flying = (at, self.number, number as u32 + 1, *router, octets.to_vec());
                self.flying.push(Reverse(flying));
            }
        }
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due = self.routers.iter().flatten().filter_map(Router::deadline);
            let next = due.chain(self.flying.peek().map(|it| it.0.0)).min();
            let Some(at) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            while self.flying.peek().is_some_and(|it| it.0.0 <= self.now) {
                let Some(Reverse((_, _, interface, router, octets))) = self.flying.pop() else {
                    break;
                };
                if !self.wires[interface as usize - 1].passes {
                    continue;
                }
                let record = PacketRecord { interface, ..PacketRecord::default() };
                let now = self.now;
                self.with(router, |it, out| {
                    it.step(now, DOOR, ChannelEvent::Packet(record, &octets), out);
                });
            }
            for router in 0..self.routers.len() {
                let now = self.now;
                let is_due = |it: &Router| it.deadline().is_some_and(|at| at <= now);
                if self.routers[router].as_ref().is_some_and(is_due) {
                    self.with(router, |it, out| it.tick(now, out));
                }
            }
        }
        self.now = end;
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
