//! Processes, associations between them, virtual time, chance by a seed.
//!
//! An association keeps the order within a stream, and with [`Link::jitter`] not between streams,
//! as SCTP under loss does. What is under way when it is cut is lost.

use bytes::Bytes;
use m3ua::codec::{Message, PointCode, RoutingContext, Tag};
use m3ua::{
    In, Indication, Key, Metric, Out, Parameters, PeerId, PeerSettings, Process, Role, ServerId,
    ServerSettings, Settings, Side, Transfer,
};
use machine::{Duration, Machine, Time};
use std::collections::BTreeMap;

/// Chance by a seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }
}

pub type Node = usize;

/// One end of an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub node: Node,
    pub peer: PeerId,
}

#[derive(Debug)]
pub struct Link {
    pub ends: [End; 2],
    pub is_up: bool,
    pub delay: Duration,
    /// Messages on a stream are late by up to this.
    pub jitter: Duration,
    /// Counts associations: what an earlier one carried does not arrive.
    epoch: u64,
    /// When the last message of each direction and stream arrives.
    last: BTreeMap<(usize, u16), Time>,
}

/// A message under way.
#[derive(Debug)]
struct Flight {
    link: usize,
    epoch: u64,
    side: usize,
    stream: u16,
    bytes: Bytes,
}

pub struct World {
    pub now: Time,
    pub nodes: Vec<Process>,
    pub names: Vec<String>,
    pub links: Vec<Link>,
    pub chance: Rng,
    flying: BTreeMap<(Time, u64), Flight>,
    number: u64,
    /// What users were told: when, node, what.
    pub told: Vec<(Time, Node, Indication)>,
    /// Every message but DATA: "asp1 > sgp ASPUP", with its contexts.
    pub trace: Vec<String>,
    /// DATA that was under way when its association was cut.
    pub lost: Vec<Bytes>,
}

pub const STREAMS: u16 = 17;

pub fn pc(number: u32) -> PointCode {
    PointCode::new(number).unwrap()
}

pub fn parameters() -> Parameters {
    Parameters::rfc4666()
}

pub fn msu(opc: u32, dpc: u32, sls: u8, payload: &[u8]) -> Transfer {
    let payload = Bytes::copy_from_slice(payload);
    Transfer { network: None, opc: pc(opc), dpc: pc(dpc), si: 3, ni: 2, mp: 0, sls, payload }
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self {
            now: Time::from_millis(1),
            nodes: Vec::new(),
            names: Vec::new(),
            links: Vec::new(),
            chance: Rng(seed),
            flying: BTreeMap::new(),
            number: 0,
            told: Vec::new(),
            trace: Vec::new(),
            lost: Vec::new(),
        }
    }

    pub fn node(&mut self, name: &str, parameters: Parameters) -> Node {
        let settings = Settings { peers_max: 64, servers_max: 64, parameters };
        self.nodes.push(Process::new(settings).unwrap());
        self.names.push(name.into());
        self.nodes.len() - 1
    }

    /// A server of `node` with one context and one destination.
    pub fn server(&mut self, node: Node, side: Side, context: u32, dpc: u32) -> ServerId {
        self.serve(node, ServerSettings::new(side, Some(RoutingContext(context)), Key::of(pc(dpc))))
    }

    pub fn serve(&mut self, node: Node, settings: ServerSettings) -> ServerId {
        self.nodes[node].add_server(settings).unwrap()
    }

    /// A link that is down, between two nodes with these roles.
    pub fn link(&mut self, one: (Node, PeerSettings), other: (Node, PeerSettings)) -> usize {
        let mut end = |(node, settings): (Node, PeerSettings)| End {
            node,
            peer: self.nodes[node].add_peer(settings).unwrap(),
        };
        let ends = [end(one), end(other)];
        let (delay, jitter) = (Duration::from_millis(10), Duration::ZERO);
        let last = BTreeMap::new();
        self.links.push(Link { ends, is_up: false, delay, jitter, epoch: 0, last });
        self.links.len() - 1
    }

    /// A link between an ASP and an SGP.
    pub fn asp_to_sgp(&mut self, asp: Node, sgp: Node, identifier: u32) -> usize {
        let mut settings = PeerSettings::new(Role::Asp);
        settings.asp_identifier = Some(identifier);
        self.link((asp, settings), (sgp, PeerSettings::new(Role::Sgp)))
    }

    pub fn assign(&mut self, link: usize, side: usize, server: ServerId) {
        let End { node, peer } = self.links[link].ends[side];
        let mut out = Vec::new();
        self.nodes[node].assign(self.now, server, peer, &mut out).unwrap();
        self.take(node, out);
    }

    pub fn peer(&self, link: usize, side: usize) -> PeerId {
        self.links[link].ends[side].peer
    }

    pub fn up(&mut self, link: usize) {
        self.links[link].is_up = true;
        self.links[link].epoch += 1;
        self.links[link].last.clear();
        for End { node, peer } in self.links[link].ends {
            self.step(node, In::CommunicationUp(peer, Some(STREAMS)));
        }
    }

    /// Both ends hear of it at once; what is under way is lost.
    pub fn cut(&mut self, link: usize) {
        if !std::mem::take(&mut self.links[link].is_up) {
            return;
        }
        let cut = self.flying.values().filter(|flight| flight.link == link && flight.bytes[2] == 1);
        self.lost.extend(cut.map(|flight| flight.bytes.clone()));
        self.flying.retain(|_, flight| flight.link != link);
        for End { node, peer } in self.links[link].ends {
            self.step(node, In::CommunicationLost(peer));
        }
    }

    pub fn step(&mut self, node: Node, input: In) {
        let mut out = Vec::new();
        self.nodes[node].step(self.now, input, &mut out);
        self.take(node, out);
    }

    /// The operator does something to a process.
    pub fn act(&mut self, node: Node, act: impl FnOnce(&mut Process, Time, &mut Vec<Out>)) {
        let mut out = Vec::new();
        act(&mut self.nodes[node], self.now, &mut out);
        self.take(node, out);
    }

    /// A node begins anew with another process: its associations are lost.
    pub fn end_of(&self, node: Node, peer: PeerId) -> Option<(usize, usize)> {
        let end = End { node, peer };
        self.links
            .iter()
            .enumerate()
            .find_map(|(index, link)| Some((index, link.ends.iter().position(|it| *it == end)?)))
    }

    fn take(&mut self, node: Node, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Send(peer, stream, bytes) => self.launch(node, peer, stream, bytes),
                Out::Indicate(what) => self.told.push((self.now, node, what)),
                Out::Abort(peer) => {
                    let (link, _) = self.end_of(node, peer).unwrap();
                    self.cut(link);
                }
            }
        }
    }

    fn launch(&mut self, node: Node, peer: PeerId, stream: u16, bytes: Bytes) {
        let (index, side) = self.end_of(node, peer).unwrap();
        let message = Message::read(&bytes).expect("what is sent is well-formed");
        let to = self.links[index].ends[1 - side].node;
        if bytes[2] != 1 {
            let mut line =
                format!("{} > {} {}", self.names[node], self.names[to], message.kind.name());
            if let Some(status) = message.word(Tag::Status) {
                let what = m3ua::codec::Notification::of(status).unwrap();
                line += &format!(" {}", what.name());
            }
            if let Some(code) = message.word(Tag::ErrorCode) {
                line += &format!(" {}", m3ua::codec::ErrorCode::of(code).unwrap().name());
            }
            for context in message.routing_contexts() {
                line += &format!(" RC={}", context.0);
            }
            self.trace.push(line);
        }
        if !self.links[index].is_up {
            return;
        }
        let late = self.chance.below(self.links[index].jitter.as_nanos() as u64 + 1);
        let link = &mut self.links[index];
        let at = self.now + link.delay + Duration::from_nanos(late);
        let last = link.last.entry((side, stream)).or_default();
        let at = at.max(*last);
        *last = at;
        self.number += 1;
        let epoch = link.epoch;
        let flight = Flight { link: index, epoch, side: 1 - side, stream, bytes };
        self.flying.insert((at, self.number), flight);
    }

    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        for _ in 0..10_000_000u64 {
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let deadlines = self.nodes.iter().filter_map(Machine::deadline);
            let Some(next) = deadlines.chain(arrival).min().filter(|at| *at <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            if arrival.is_some_and(|at| at <= self.now) {
                let (_, flight) = self.flying.pop_first().unwrap();
                let Flight { link, epoch, side, stream, bytes } = flight;
                let End { node, peer } = self.links[link].ends[side];
                if self.links[link].epoch == epoch && self.links[link].is_up {
                    self.step(node, In::Message(peer, stream, bytes));
                }
            }
            for node in 0..self.nodes.len() {
                let mut out = Vec::new();
                self.nodes[node].tick(self.now, &mut out);
                self.take(node, out);
                let after = self.nodes[node].deadline();
                assert!(after.is_none_or(|at| at > self.now), "the deadline advances");
            }
        }
        panic!("time does not advance");
    }

    pub fn run_ms(&mut self, span_ms: u64) {
        self.run(Duration::from_millis(span_ms));
    }

    /// The lines traced since the last call.
    pub fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.trace)
    }

    /// Runs until all is quiet, then compares what was said.
    pub fn expect(&mut self, lines: &[&str]) {
        self.run_ms(500);
        assert_eq!(self.lines(), lines);
    }

    /// The payloads that `node` was given, oldest first, with the correlation of each.
    pub fn payloads(&self, node: Node) -> Vec<(Option<u32>, Bytes)> {
        let told = self.told.iter().filter(|(_, of, _)| *of == node);
        let came = told.filter_map(|(.., what)| match what {
            Indication::Transfer(_, _, correlation, transfer) => {
                Some((*correlation, transfer.payload.clone()))
            }
            _ => None,
        });
        came.collect()
    }

    /// What `node` was told, DATA apart, since the last call of [`World::forget`].
    pub fn told(&self, node: Node) -> Vec<&Indication> {
        let told = self.told.iter().filter(|(_, of, _)| *of == node).map(|(.., what)| what);
        told.filter(|what| !matches!(what, Indication::Transfer(..))).collect()
    }

    pub fn forget(&mut self) {
        self.told.clear();
        self.trace.clear();
    }

    pub fn metric(&self, node: Node, metric: Metric) -> u64 {
        self.nodes[node].metrics().read(metric)
    }
}
