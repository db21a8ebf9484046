//! The nodes, what is on its way between them, and the time that passes.

use super::forwarder::{Arp, Came, Datagram, Forwarder, HOST};
use super::node::{Node, Runs};
use super::phones::Host;
use super::sections::{PAIRS, control, media_controller, session_controller};
use anchor::row;
use forwarder::ipc::{self, Request};
use link::Random;
use machine::{Duration, Time};
use replica::{Arbiter, In as PairIn, Out as PairOut, Role, Terms};
use runtime::{ChannelEvent, ChannelOrder, ConnId, Flow, In, Mirrored, Seed, Transport};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

const ARBITER: usize = 2;
/// Between two packets of an end.
const PACKET: Duration = Duration::from_millis(100);
/// Of a forwarder's main thread.
const TURN: Duration = Duration::from_millis(10);
const WIRE: Duration = Duration::from_micros(300);

/// What is on its way.
enum Event {
    Sip {
        from: SocketAddr,
        to: SocketAddr,
        text: Vec<u8>,
    },
    /// Between the nodes of a pair, and to and from the arbiter.
    Pair {
        pair: usize,
        from: usize,
        to: usize,
        octets: Vec<u8>,
    },
    Up {
        conn: u32,
    },
    Refused {
        node: usize,
        life: u64,
        flow: Flow,
    },
    Row {
        conn: u32,
        to: usize,
        octets: Vec<u8>,
    },
    /// One end of a connection is over.
    Down {
        conn: u32,
        to: usize,
    },
    Frame {
        pair: usize,
        node: usize,
        port: u16,
        frame: Vec<u8>,
    },
    Media {
        side: usize,
        port: u16,
        packet: Vec<u8>,
    },
    Channel {
        pair: usize,
        node: usize,
        life: u64,
        event: Told,
    },
    Turn {
        pair: usize,
        node: usize,
    },
    Start {
        pair: usize,
        node: usize,
    },
    Heal,
    Speak,
    Again,
}

enum Told {
    Up,
    Down,
    Octets(Vec<u8>),
}

/// A connection between a session controller (0) and a media controller (1).
struct Conn {
    places: [(usize, usize); 2],
    lives: [u64; 2],
    flows: [Flow; 2],
    /// What came in pieces.
    rest: [Vec<u8>; 2],
}

pub(super) struct World {
    pub now: Time,
    random: Random,
    events: BTreeMap<(Time, u64), Event>,
    number: u64,
    nodes: [[Option<Node>; 2]; PAIRS],
    pub forwarders: [[Option<Forwarder>; 2]; PAIRS],
    arbiter: Arbiter,
    conns: BTreeMap<u32, Conn>,
    pub hosts: [Host; 2],
    /// Who announced an address last.
    owners: BTreeMap<[u8; 4], (usize, usize)>,
    /// A node that nothing reaches.
    cut: Option<(usize, usize)>,
    pub loss_percent: u64,
    lives: u64,
    steps: u64,
    is_speaking: bool,
    settings: (Arc<ssc::config::Ssc>, [[Arc<msc::Settings>; 2]; 2]),
}

impl World {
    pub fn new(seed: u64) -> Self {
        let now = Time::from_millis(1_700_000_000_000);
        let terms = Terms { promise_max: Duration::from_secs(1), pairs: Vec::new() };
        let of = |pair| [0, 1].map(|node| media_controller(pair, node));
        let mut random = Random::new(seed);
        let arbiter = Arbiter::new(now, &terms, || random.number());
        let mut world = Self {
            now,
            random,
            events: BTreeMap::new(),
            number: 0,
            nodes: Default::default(),
            forwarders: Default::default(),
            arbiter,
            conns: BTreeMap::new(),
            hosts: [Host::new(true), Host::new(false)],
            owners: BTreeMap::new(),
            cut: None,
            loss_percent: 0,
            lives: 0,
            steps: 0,
            is_speaking: true,
            settings: (Arc::new(session_controller()), [of(1), of(2)]),
        };
        for pair in 0..PAIRS {
            for node in 0..2 {
                world.start(pair, node);
            }
        }
        world.later(PACKET, Event::Speak);
        world.later(TURN, Event::Again);
        world
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.random.number() % end
    }

    fn later(&mut self, after: Duration, event: Event) {
        self.number += 1;
        self.events.insert((self.now + after, self.number), event);
    }

    fn is_lost(&mut self) -> bool {
        self.loss_percent > 0 && self.below(100) < self.loss_percent
    }

    fn is_cut(&self, pair: usize, node: usize) -> bool {
        self.cut == Some((pair, node))
    }

    /// A node's process begins.
    fn start(&mut self, pair: usize, node: usize) {
        if self.nodes[pair][node].is_some() {
            return;
        }
        self.lives += 1;
        let mut random = [0; 32];
        random[..8].copy_from_slice(&self.lives.to_be_bytes());
        let seed = Seed { shard: 0, shards: 1, random, now: self.now };
        let function: Box<dyn Runs> = match pair {
            0 => Box::new(ssc::Controller::new(seed, Arc::clone(&self.settings.0))),
            _ => {
                let settings = Arc::clone(&self.settings.1[pair - 1][node]);
                Box::new(msc::MediaController::new(seed, settings))
            }
        };
        let made = Node::new(function, pair as u64, node, self.lives, self.now);
        self.nodes[pair][node] = Some(made);
        self.flush(pair, node);
    }

    /// A node's process is gone; its forwarder is another one.
    fn die(&mut self, pair: usize, node: usize) {
        if self.nodes[pair][node].take().is_none() {
            return;
        }
        let place = (pair, node);
        let ends = |it: &Conn| it.places.iter().position(|at| *at == place);
        let over: Vec<(u32, usize)> =
            self.conns.iter().filter_map(|(conn, it)| Some((*conn, 1 - ends(it)?))).collect();
        for (conn, to) in over {
            self.later(WIRE, Event::Down { conn, to });
        }
        if let Some(forwarder) = &mut self.forwarders[pair][node] {
            forwarder.is_controlled = false;
        }
        self.later(Duration::from_millis(700), Event::Start { pair, node });
    }

    fn forwarder_dies(&mut self, pair: usize, node: usize) {
        if self.forwarders[pair][node].take().is_some()
            && let Some(life) = self.nodes[pair][node].as_ref().map(|it| it.life)
        {
            self.later(WIRE, Event::Channel { pair, node, life, event: Told::Down });
        }
    }

    /// Does what the machine of a pair wants.
    fn act(&mut self, pair: usize, node: usize, outs: Vec<PairOut>) {
        for out in outs {
            let Some(it) = &mut self.nodes[pair][node] else { return };
            let now = self.now;
            let mut mirror = |input: Mirrored<'_>| it.function.replicate(now, input, &mut it.out);
            match out {
                PairOut::ToPeer(octets) => self.send(pair, node, 1 - node, octets),
                PairOut::ToArbiter(octets) => self.send(pair, node, ARBITER, octets),
                PairOut::Activate { is_current, .. } => {
                    mirror(Mirrored::Activate { is_current });
                    it.has_addresses = true;
                }
                PairOut::ActivateLane(_) => mirror(Mirrored::Activate { is_current: true }),
                PairOut::Outdated => {
                    mirror(Mirrored::Deactivate);
                    mirror(Mirrored::Activate { is_current: false });
                }
                PairOut::Deactivate => {
                    mirror(Mirrored::Deactivate);
                    it.has_addresses = false;
                    self.flush(pair, node);
                    self.input(pair, node, PairIn::Quiet);
                }
                PairOut::Forget => mirror(Mirrored::Forget),
                PairOut::Whole(_) => {}
                PairOut::Apply(_, delta) => mirror(Mirrored::Delta(&delta)),
                PairOut::Snapshot(number) => mirror(Mirrored::Snapshot(number)),
                PairOut::Followed(_, mark) => mirror(Mirrored::Followed(Some(mark))),
                PairOut::Unfollowed => mirror(Mirrored::Followed(None)),
                PairOut::Paced(pace) => mirror(Mirrored::Paced(pace)),
            }
            self.flush(pair, node);
        }
    }

    fn input(&mut self, pair: usize, node: usize, input: PairIn<'_>) {
        let Some(it) = &mut self.nodes[pair][node] else { return };
        let mut outs = Vec::new();
        it.pair.step(self.now, input, &mut outs);
        self.act(pair, node, outs);
    }

    fn send(&mut self, pair: usize, from: usize, to: usize, octets: Vec<u8>) {
        let is_cut = [from, to].iter().any(|at| *at < 2 && self.is_cut(pair, *at));
        if !is_cut && !self.is_lost() {
            self.later(WIRE, Event::Pair { pair, from, to, octets });
        }
    }

    /// Carries out what a function wants: what it tells first, then the rest.
    fn flush(&mut self, pair: usize, node: usize) {
        let Some(it) = &mut self.nodes[pair][node] else { return };
        let mut effects = std::mem::take(&mut it.out);
        let mut outs = Vec::new();
        it.pair.publish(self.now, 0, effects.marked(), effects.deltas(), &mut outs);
        if let Some(number) = effects.snapshot_ended.take() {
            it.pair.step(self.now, PairIn::SnapshotEnded(number), &mut outs);
        }
        if effects.hands_over {
            it.pair.step(self.now, PairIn::Switchover, &mut outs);
        }
        if effects.asks_for_all() {
            it.pair.step(self.now, PairIn::LaneLost(0), &mut outs);
        }
        let may_speak = self.now < it.pair.lease();
        let channels = std::mem::take(&mut effects.channels);
        for (port, order) in channels {
            if port == msc::CHANNELS.control {
                self.channel(pair, node, order);
            }
        }
        if may_speak {
            for flow in std::mem::take(&mut effects.opens) {
                self.open(pair, node, flow);
            }
            let sends: Vec<(Flow, Vec<u8>)> =
                effects.sends().map(|(flow, octets)| (flow, octets.to_vec())).collect();
            for (flow, octets) in sends {
                self.leave(pair, node, flow, octets);
            }
        }
        for flow in std::mem::take(&mut effects.closes) {
            let side = usize::from(pair > 0);
            if let Some(conn) = self.conns.get(&flow.conn.0)
                && conn.places[side] == (pair, node)
            {
                self.later(WIRE, Event::Down { conn: flow.conn.0, to: 1 - side });
            }
        }
        effects.clear();
        if let Some(it) = &mut self.nodes[pair][node] {
            // What came meanwhile goes with the next one.
            if it.out.is_empty() {
                it.out = effects;
            }
        }
        self.act(pair, node, outs);
    }

    fn leave(&mut self, pair: usize, node: usize, flow: Flow, octets: Vec<u8>) {
        if flow.transport == Transport::Udp {
            if !self.is_cut(pair, node) && !self.is_lost() {
                let (from, to) = (flow.local, flow.remote);
                self.later(WIRE, Event::Sip { from, to, text: octets });
            }
            return;
        }
        let side = usize::from(pair > 0);
        let Some(conn) = self.conns.get_mut(&flow.conn.0) else { return };
        let length = octets.len() as u64;
        conn.rest[side].extend(octets);
        let mut whole = Vec::new();
        while let Ok(Some((_, length))) = row::read(&conn.rest[side]) {
            whole.push(conn.rest[side].drain(..length).collect::<Vec<u8>>());
        }
        for octets in whole {
            self.later(WIRE, Event::Row { conn: flow.conn.0, to: 1 - side, octets });
        }
        if side == 0 {
            self.step(pair, node, In::Written { flow, octets: length, left: 0 });
        }
    }

    fn open(&mut self, pair: usize, node: usize, flow: Flow) {
        let places = (1..PAIRS).flat_map(|pair| [(pair, 0), (pair, 1)]);
        let target = places.into_iter().find(|(pair, node)| control(*pair, *node) == flow.remote);
        let life = self.nodes[pair][node].as_ref().map_or(0, |it| it.life);
        let alive = target
            .and_then(|(pair, node)| Some((pair, node, self.nodes[pair][node].as_ref()?.life)));
        let Some((to, at, their_life)) = alive.filter(|it| !self.is_cut(it.0, it.1)) else {
            return self.later(WIRE * 4, Event::Refused { node, life, flow });
        };
        self.number += 1;
        let conn = self.number as u32;
        let own = Flow { conn: ConnId(conn), ..flow };
        let theirs = Flow {
            port: msc::config::CONTROL_PORT,
            conn: ConnId(conn),
            local: flow.remote,
            remote: SocketAddr::from(([127, 0, 9, node as u8 + 1], 40_000)),
            ..flow
        };
        let made = Conn {
            places: [(pair, node), (to, at)],
            lives: [life, their_life],
            flows: [own, theirs],
            rest: [Vec::new(), Vec::new()],
        };
        self.conns.insert(conn, made);
        self.later(WIRE, Event::Up { conn });
    }

    fn channel(&mut self, pair: usize, node: usize, order: ChannelOrder) {
        let Some(life) = self.nodes[pair][node].as_ref().map(|it| it.life) else { return };
        match order {
            ChannelOrder::Connect(_) => {
                let mut after = WIRE;
                if self.forwarders[pair][node].is_none() {
                    let number = (pair * 2 + node) as u8;
                    let made = Forwarder::new(number, self.below(1 << 30) as u32);
                    self.forwarders[pair][node] = Some(made);
                    self.later(TURN, Event::Turn { pair, node });
                    after = Duration::from_millis(60);
                }
                self.later(after, Event::Channel { pair, node, life, event: Told::Up });
            }
            ChannelOrder::Write(octets) => {
                let mut came = Came::default();
                let mut at = 0;
                while let Some((request, used)) = ipc::read::<Request>(&octets[at..]).unwrap() {
                    at += used;
                    if let Some(forwarder) = &mut self.forwarders[pair][node] {
                        forwarder.request(request, &mut came);
                    }
                }
                self.came(pair, node, came);
            }
            _ => {}
        }
    }

    /// Frames leave a forwarder, and words for its control.
    fn came(&mut self, pair: usize, node: usize, came: Came) {
        let Came { frames, replies } = came;
        if let Some(life) = self.nodes[pair][node].as_ref().map(|it| it.life) {
            for reply in replies {
                if let ipc::Reply::Refused { what, why, .. } = &reply {
                    panic!("msc{pair} {node}: {what}: {why}");
                }
                let mut octets = Vec::new();
                ipc::write(&reply, &mut octets).unwrap();
                let event = Told::Octets(octets);
                self.later(WIRE, Event::Channel { pair, node, life, event });
            }
        }
        if self.is_cut(pair, node) {
            return;
        }
        for (port, frame) in frames {
            if let Some(arp) = Arp::read(&frame) {
                self.arp(pair, node, port, &arp, &frame);
            } else if let Some(it) = Datagram::read(&frame)
                && frame[..6] == HOST
                && !self.is_lost()
            {
                let side = usize::from(port);
                let (port, packet) = (it.to.port(), it.payload);
                self.later(WIRE, Event::Media { side, port, packet });
            }
        }
    }

    fn arp(&mut self, pair: usize, node: usize, port: u16, arp: &Arp, frame: &[u8]) {
        if arp.source == arp.target {
            self.owners.insert(arp.source, (pair, node));
            let (other, frame) = (1 - node, frame.to_vec());
            self.later(WIRE, Event::Frame { pair, node: other, port, frame });
        } else if arp.is_request && arp.target[3] == 50 {
            let frame = arp.answer();
            self.later(WIRE, Event::Frame { pair, node, port, frame });
        }
    }

    fn step(&mut self, pair: usize, node: usize, input: In<'_>) {
        let Some(it) = &mut self.nodes[pair][node] else { return };
        it.function.step(self.now, input, &mut it.out);
        self.flush(pair, node);
    }

    /// An end of a connection, if its node is in the life that it was opened in.
    fn end_of(&self, conn: u32, side: usize) -> Option<((usize, usize), Flow)> {
        let it = self.conns.get(&conn)?;
        let (pair, node) = it.places[side];
        let life = self.nodes[pair][node].as_ref()?.life;
        (life == it.lives[side]).then_some(((pair, node), it.flows[side]))
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Sip { from, to, text } => self.sip(from, to, &text),
            Event::Pair { pair, from, to: ARBITER, octets } => {
                let mut answer = Vec::new();
                let _ = self.arbiter.step(self.now, &octets, &mut answer);
                if !answer.is_empty() {
                    self.send(pair, ARBITER, from, answer);
                }
            }
            Event::Pair { pair, from: ARBITER, to, octets } => {
                self.input(pair, to, PairIn::Answered(&octets));
            }
            Event::Pair { pair, to, octets, .. } => self.input(pair, to, PairIn::Heard(&octets)),
            Event::Up { conn } => {
                for side in [1, 0] {
                    if let Some(((pair, node), flow)) = self.end_of(conn, side) {
                        self.step(pair, node, In::Up { flow });
                    }
                }
            }
            Event::Refused { node, life, flow } => {
                if self.nodes[0][node].as_ref().is_some_and(|it| it.life == life) {
                    self.step(0, node, In::Down { flow, why: "refused" });
                }
            }
            Event::Row { conn, to, octets } => {
                let ends = self.end_of(conn, to).zip(self.conns.get(&conn).map(|it| it.places));
                let Some((((pair, node), flow), places)) = ends else { return };
                // What TCP says again to a node that is cut off comes when that is over.
                if places.iter().any(|(pair, node)| self.is_cut(*pair, *node)) {
                    return self.later(TURN * 10, Event::Row { conn, to, octets });
                }
                self.step(pair, node, In::Message { flow, bytes: &octets });
            }
            Event::Down { conn, to } => {
                let Some(((pair, node), flow)) = self.end_of(conn, to) else { return };
                if self.is_cut(pair, node)
                    || self.is_cut(
                        self.conns[&conn].places[1 - to].0,
                        self.conns[&conn].places[1 - to].1,
                    )
                {
                    return self.later(TURN * 10, Event::Down { conn, to });
                }
                self.conns.remove(&conn);
                self.step(pair, node, In::Down { flow, why: "it is over" });
            }
            Event::Frame { pair, node, port, frame } => {
                if self.is_cut(pair, node) {
                    return;
                }
                let mut came = Came::default();
                let Some(it) = &mut self.forwarders[pair][node] else { return };
                it.frame(self.now, port, &frame, &mut came);
                self.came(pair, node, came);
            }
            Event::Media { side, port, packet } => self.hosts[side].hear(self.now, port, &packet),
            Event::Channel { pair, node, life, event } => {
                if self.nodes[pair][node].as_ref().is_none_or(|it| it.life != life) {
                    return;
                }
                let mut came = Came::default();
                let event = match &event {
                    Told::Up => {
                        let Some(it) = &mut self.forwarders[pair][node] else { return };
                        it.is_controlled = true;
                        // Who connects says hello at once.
                        it.request(Request::Hello, &mut came);
                        ChannelEvent::Up
                    }
                    Told::Down => ChannelEvent::Down("it died"),
                    Told::Octets(octets) => ChannelEvent::Message(octets),
                };
                let port = msc::CHANNELS.control;
                self.step(pair, node, In::Channel { port, event });
                self.came(pair, node, came);
            }
            Event::Turn { pair, node } => {
                let mut came = Came::default();
                let Some(it) = &mut self.forwarders[pair][node] else { return };
                it.tick(self.now, &mut came);
                self.came(pair, node, came);
                self.later(TURN, Event::Turn { pair, node });
            }
            Event::Start { pair, node } => self.start(pair, node),
            Event::Heal => self.cut = None,
            Event::Speak => {
                self.speak();
                self.later(PACKET, Event::Speak);
            }
            Event::Again => {
                for side in 0..2 {
                    self.hosts[side].tick(self.now);
                    self.say(side);
                }
                self.later(TURN, Event::Again);
            }
        }
    }

    /// What a host has to say by SIP leaves.
    pub fn say(&mut self, side: usize) {
        let (from, to) = (self.hosts[side].at(), self.hosts[side].proxy());
        for text in std::mem::take(&mut self.hosts[side].said) {
            if !self.is_lost() {
                self.later(WIRE, Event::Sip { from, to, text: text.into_bytes() });
            }
        }
    }

    fn sip(&mut self, from: SocketAddr, to: SocketAddr, text: &[u8]) {
        if let Some(side) = (0..2).find(|side| self.hosts[*side].at() == to) {
            let text = std::str::from_utf8(text).unwrap();
            self.hosts[side].receive(self.now, text);
            return self.say(side);
        }
        let serves = (0..2).find(|node| {
            self.nodes[0][*node].as_ref().is_some_and(|it| it.has_addresses)
                && !self.is_cut(0, *node)
        });
        let Some(node) = serves else { return };
        let ports = self.settings.0.ports();
        let port = ports.iter().find(|it| it.listen == to).unwrap().id;
        let flow = Flow::to(port, Transport::Udp, to, from);
        self.step(0, node, In::Message { flow, bytes: text });
    }

    fn speak(&mut self) {
        if !self.is_speaking {
            return;
        }
        for side in 0..2 {
            let from = self.hosts[side].at().ip();
            for (port, to, payload) in self.hosts[side].speak() {
                let std::net::IpAddr::V4(ip) = to.ip() else { panic!("IPv4 alone") };
                let Some(&(pair, node)) = self.owners.get(&ip.octets()) else { continue };
                if self.is_lost() {
                    continue;
                }
                let it = Datagram { from: SocketAddr::new(from, port), to, payload };
                let mac = [2, 0, 0, 0, (pair * 2 + node) as u8, side as u8 + 1];
                let (port, frame) = (side as u16, it.frame(mac));
                self.later(WIRE, Event::Frame { pair, node, port, frame });
            }
        }
    }

    /// Lets time pass until `end`, and so many steps at most.
    pub fn run(&mut self, end: Time, steps: u64) {
        let last = self.steps.saturating_add(steps);
        loop {
            let mut due = self.events.keys().next().map_or(Time::MAX, |(at, _)| *at);
            for node in self.nodes.iter().flatten().flatten() {
                due = due.min(node.deadline(self.now).max(self.now));
            }
            if due > end || self.steps >= last {
                break;
            }
            self.now = self.now.max(due);
            self.steps += 1;
            while let Some(first) = self.events.first_entry()
                && first.key().0 <= self.now
            {
                let event = first.remove();
                self.happens(event);
            }
            self.tick();
        }
        if self.steps < last {
            self.now = end;
        }
    }

    fn tick(&mut self) {
        for pair in 0..PAIRS {
            for node in 0..2 {
                let now = self.now;
                let Some(it) = &mut self.nodes[pair][node] else { continue };
                let mut outs = Vec::new();
                if it.pair.deadline(now) <= now {
                    it.pair.tick(now, &mut outs);
                }
                let is_due = it.function.deadline().is_some_and(|at| at <= now);
                if is_due {
                    it.function.tick(now, &mut it.out);
                }
                if is_due || !outs.is_empty() {
                    self.flush(pair, node);
                    self.act(pair, node, outs);
                }
            }
        }
    }

    pub fn pass(&mut self, time: Duration) {
        self.run(self.now + time, u64::MAX);
    }

    pub fn active(&self, pair: usize) -> Option<usize> {
        let serves = |node: &usize| {
            let it = self.nodes[pair][*node].as_ref();
            it.is_some_and(|it| it.pair.standing(self.now).role == Role::Active)
        };
        (0..2).find(serves)
    }

    /// Something dies, or nothing reaches it for a while.
    pub fn strike(&mut self) -> String {
        let pair = self.below(PAIRS as u64) as usize;
        let active = self.active(pair).unwrap_or(0);
        let node = if self.below(4) == 0 { 1 - active } else { active };
        let what = self.below(4);
        match what {
            // A machine, and all that runs on it.
            0 => {
                self.die(pair, node);
                self.forwarders[pair][node] = None;
            }
            1 => self.die(pair, node),
            2 if pair > 0 => self.forwarder_dies(pair, node),
            _ => {
                let ms = 100 + self.below(2_500);
                self.cut = Some((pair, node));
                self.later(Duration::from_millis(ms), Event::Heal);
            }
        }
        format!("{what} at node {node} of pair {pair}")
    }

    /// The streams of the media controllers that serve: at no port there are two.
    pub fn streams(&mut self) -> usize {
        let mut count = 0;
        for pair in 1..PAIRS {
            let Some(node) = self.active(pair) else { continue };
            let now = self.now;
            let rows = self.nodes[pair][node].as_mut().unwrap().function.ask(now, "streams");
            let mut ports = BTreeSet::new();
            for row in rows.as_array().unwrap() {
                for end in row["ends"].as_array().unwrap() {
                    let local = end["local"].as_str().unwrap().to_owned();
                    assert!(ports.insert(local), "a port has two streams: {rows}");
                }
                count += 1;
            }
        }
        count
    }

    pub fn metric(&mut self, pair: usize, node: usize, name: &str) -> u64 {
        let function = &mut self.nodes[pair][node].as_mut().unwrap().function;
        // Asked, it counts what stands.
        function.ask(self.now, "realms");
        let cells = function.cells();
        let found = cells.iter().flat_map(event::MetricCells::samples);
        match found.into_iter().find(|(row, _)| row.name == name).unwrap().1 {
            event::Sample::Value(value) => value,
            event::Sample::Histogram { count, .. } => count,
        }
    }
}
