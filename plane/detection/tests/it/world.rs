//! Two routers, each with two interfaces, and wires between them in virtual time: interface 1 is
//! 10.0.1.1/24 or .2, interface 2 is 10.0.2.1/24 or .2, and so in 2001:db8:1::/64.

use detection::program::{FEATURE, Name, Notice, Said};
use graph::{Graph, Outbox, Pool, STRIDE};
use machine::{Duration, Time};
use nodes::program::{Address, Class, Hop, Interface, Item, Mode, Neighbour, Port, Removed, Urpf};
use nodes::{Out, Program};
use plane_control::Plane;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;

const CELLS: usize = 900;
/// Between two looks of the plane's writer.
const TICK: Duration = Duration::from_millis(5);

pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub struct Router {
    pub plane: Plane,
    graphs: Vec<Graph>,
    pool: Pool,
    /// What the control was told last of each session.
    pub heard: BTreeMap<Name, Notice>,
    /// All of it.
    pub notices: Vec<(Time, Notice)>,
    pub punted: usize,
    /// Frames that left, by port.
    pub sent: Vec<(Time, u16, Vec<u8>)>,
    ticked: Time,
    writer_rests: bool,
}

type Flying = (Time, u64, usize, u16, Vec<u8>);

pub struct World {
    pub now: Time,
    pub routers: [Router; 2],
    /// Whether packets pass, by wire.
    pub passes: [bool; 2],
    /// Packets of a hundred that are lost.
    pub loss: u64,
    /// Whether the writers do what is due.
    pub writer_looks: bool,
    /// All frames that left since somebody looked.
    pub seen: Vec<Vec<u8>>,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    random: ChaCha8Rng,
}

pub fn mac(side: usize, port: u16) -> [u8; 6] {
    [2, 0, 0, 0, side as u8, port as u8 + 1]
}

pub fn address(side: usize, interface: u32) -> IpAddr {
    IpAddr::from([10, 0, interface as u8, side as u8 + 1])
}

pub fn name(side: usize, interface: u32) -> Name {
    Name { interface, address: address(1 - side, interface) }
}

/// The hop of the neighbour at an interface.
pub fn via(side: usize, interface: u32) -> Program {
    let gateway = Some(address(1 - side, interface));
    let hop = Hop::Via { interface, gateway, labels: Vec::new() };
    Program::Hop { id: interface, hop }
}

pub fn session(side: usize, interface: u32, interval: Duration) -> Said {
    Said {
        name: name(side, interface),
        local: address(side, interface),
        hop: interface,
        turn: 0,
        interval,
        multiplier: 3,
        is_shut: false,
        authentication: None,
    }
}

pub fn item(said: &Said) -> Program {
    let (feature, key) = (FEATURE.to_owned(), said.name.key());
    Program::Item(Item { feature, key, value: said.value() })
}

fn programs(side: usize) -> Vec<Program> {
    let mut said = Vec::new();
    for port in 0..2_u16 {
        let index = u32::from(port) + 1;
        let (name, own) = (format!("port{port}"), mac(side, port));
        said.push(Program::Port(Port { port, name, mac: own, mtu: 1_500, up: true }));
        said.push(Program::Interface(Interface {
            index,
            port,
            outer: None,
            inner: None,
            mode: Mode::Routed { vrf: 0 },
            mtu: 0,
            mac: None,
            mpls: false,
            transit_only: false,
            urpf: Urpf::Off,
            proxy_arp: false,
            directed_broadcast: false,
            speaks: Class::OF_LINKS.to_vec(),
        }));
        let own = address(side, index);
        said.push(Program::Address(Address { interface: index, address: own, length: 24 }));
        let (address, mac) = (address(1 - side, index), mac(1 - side, port));
        said.push(Program::Neighbour(Neighbour { interface: index, address, mac }));
        said.push(via(side, index));
    }
    said
}

impl Router {
    fn new(side: usize, workers: usize) -> Self {
        let mut plane = Plane::new(side as u32 + 1).unwrap().with_key(side as u64 * 7 + 3);
        let graphs = (0..workers).map(|_| plane.graph().unwrap()).collect();
        for program in programs(side) {
            plane.apply(&program).unwrap();
        }
        plane.publish();
        let (heard, notices) = (BTreeMap::new(), Vec::new());
        let pool = Pool::new(CELLS, STRIDE);
        let (punted, sent, ticked, writer_rests) = (0, Vec::new(), Time::ZERO, false);
        Self { plane, graphs, pool, heard, notices, punted, sent, ticked, writer_rests }
    }

    pub fn say(&mut self, program: &Program) {
        self.plane.apply(program).unwrap_or_else(|why| panic!("{program:?}: {why}"));
        self.plane.publish();
    }

    /// Everything again, as a control says it that begins anew.
    pub fn say_all(&mut self, side: usize, generation: u64, more: &[Program]) {
        self.say(&Program::Begin { generation });
        programs(side).iter().chain(more).for_each(|it| self.say(it));
        self.say(&Program::End { generation });
    }

    fn run(&mut self, worker: usize, now: Time) {
        let mut out = Outbox::default();
        self.graphs[worker].run(&mut self.pool, &mut out, now);
        for port in 0..2 {
            for slot in out.port(usize::from(port)).map(std::mem::take).unwrap_or_default() {
                self.sent.push((now, port, self.pool.bytes(slot).to_vec()));
                self.pool.free(slot);
            }
        }
        for slot in std::mem::take(out.punted()) {
            self.punted += 1;
            self.pool.free(slot);
        }
        assert_eq!(self.pool.free_slots(), self.pool.slots(), "every cell came back");
        if out.take_call() {
            self.tick(now);
        }
    }

    fn tick(&mut self, now: Time) {
        self.ticked = now;
        if self.writer_rests {
            return;
        }
        let mut out = Vec::new();
        self.plane.tick(now, &mut out);
        for out in out {
            if let Out::Item(item) = out {
                assert_eq!(item.feature, FEATURE);
                let notice = Notice::read(&item.value).unwrap();
                self.notices.push((now, notice));
                self.heard.insert(Name::read(&item.key).unwrap(), notice);
            }
        }
        self.plane.publish();
    }

    /// A frame comes by a port, to a worker.
    pub fn arrive(&mut self, worker: usize, port: u16, frame: &[u8], now: Time) {
        let slot = self.pool.put(frame).expect("it fits");
        self.pool.meta_mut(slot).port = port;
        let graph = &mut self.graphs[worker];
        let entry = graph.entry("ethernet-input").unwrap();
        graph.push(entry, &[slot], &mut self.pool);
        self.run(worker, now);
    }

    fn deadline(&self) -> Time {
        let due = self.graphs.iter().filter_map(Graph::deadline).min().unwrap_or(Time::MAX);
        due.min(self.ticked + TICK)
    }

    fn pass(&mut self, now: Time) {
        for worker in 0..self.graphs.len() {
            if self.graphs[worker].deadline().is_some_and(|at| at <= now) {
                self.run(worker, now);
            }
        }
        if self.ticked + TICK <= now {
            self.tick(now);
        }
    }

    /// Why packets were dropped so far.
    pub fn dropped(&self) -> BTreeMap<&'static str, u64> {
        let mut all = BTreeMap::new();
        for (why, count) in self.graphs.iter().flat_map(Graph::counters).flat_map(|it| it.dropped) {
            *all.entry(why).or_default() += count;
        }
        all
    }

    /// The state of a session in a word, as the control knows it.
    pub fn state(&self, name: Name) -> &'static str {
        self.heard.get(&name).and_then(|it| it.state).map_or("", bfd::State::name)
    }

    /// By which ports packets to these addresses leave.
    pub fn ways(&mut self, now: Time, to: impl Iterator<Item = [u8; 4]>) -> Vec<u16> {
        let mut found = Vec::new();
        for to in to {
            self.sent.clear();
            self.arrive(0, 1, &frame(&packet(to)), now);
            // Without a label, and behind one.
            let left = self.sent.drain(..).filter(|it| matches!(it.2.len(), 34 | 38));
            found.extend(left.map(|it| it.1));
        }
        found
    }
}

/// A frame to the second interface of the first router.
fn frame(packet: &[u8]) -> Vec<u8> {
    [&mac(0, 1)[..], &[2, 0, 0, 0, 9, 9], &[8, 0], packet].concat()
}

fn packet(to: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 99, 0, 0, 192, 0, 2, 9];
    packet.extend(to);
    nodes::header::seal_ip4(&mut packet);
    packet
}

impl World {
    pub fn new(seed: u64, workers: usize) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            routers: [0, 1].map(|side| Router::new(side, workers)),
            passes: [true; 2],
            loss: 0,
            writer_looks: true,
            seen: Vec::new(),
            flying: BinaryHeap::new(),
            number: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Both sides have a session at an interface.
    pub fn watch(&mut self, interface: u32, interval: Duration) {
        for side in 0..2 {
            self.routers[side].say(&item(&session(side, interface, interval)));
        }
    }

    pub fn chance(&mut self) -> u64 {
        self.random.next_u64()
    }

    fn collect(&mut self) {
        for side in 0..2 {
            for (at, port, frame) in std::mem::take(&mut self.routers[side].sent) {
                self.seen.push(frame.clone());
                let is_lost = self.random.next_u64() % 100 < self.loss;
                if is_lost || !self.passes[usize::from(port)] {
                    continue;
                }
                self.number += 1;
                let arrives = at + Duration::from_micros(200 + self.random.next_u64() % 300);
                self.flying.push(Reverse((arrives, self.number, 1 - side, port, frame)));
            }
        }
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        for router in &mut self.routers {
            router.writer_rests = !self.writer_looks;
        }
        loop {
            self.collect();
            let due = self.routers.iter().map(Router::deadline).min().unwrap_or(end);
            let next = self.flying.peek().map_or(due, |it| it.0.0.min(due)).max(self.now);
            if next > end {
                break;
            }
            self.now = next;
            while self.flying.peek().is_some_and(|it| it.0.0 <= self.now) {
                let Some(Reverse((_, _, side, port, frame))) = self.flying.pop() else { break };
                let worker = self.random.next_u64() as usize % self.routers[side].graphs.len();
                self.routers[side].arrive(worker, port, &frame, self.now);
            }
            self.routers.iter_mut().for_each(|it| it.pass(next));
        }
        self.now = end;
    }

    pub fn states(&self, interface: u32) -> [&'static str; 2] {
        [0, 1].map(|side| self.routers[side].state(name(side, interface)))
    }

    pub fn notice(&self, side: usize) -> Notice {
        self.routers[side].heard[&name(side, 1)]
    }
}

pub fn end_of(name: &Name) -> Program {
    Program::Remove(Removed::Item(FEATURE.to_owned(), name.key()))
}
