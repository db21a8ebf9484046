//! Two endpoints, two paths, virtual time, chance by a seed.
#![allow(clippy::needless_range_loop)]

use machine::{Duration, Time};
use sctp::codec::{Chunk, Header, Packet as Octets, seal};
use sctp::{
    AssociationId, Endpoint, In, Indication, Out, Outgoing, Packet, Parameters, Part, Settings,
    Transmit,
};
use std::collections::BTreeMap;
use std::net::IpAddr;

pub const CLIENT_PORT: u16 = 1001;
pub const SERVER_PORT: u16 = 1002;

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
    pub fn happens(&mut self, probability: f64) -> bool {
        ((self.number() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// What a path does to packets.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    pub delay: Duration,
    pub loss: f64,
    pub duplicate: f64,
    pub reorder: f64,
    pub corrupt: f64,
    pub is_cut: bool,
    /// Larger IP packets are lost unless they may be fragmented.
    pub mtu: usize,
}

impl Link {
    pub const fn perfect(delay_ms: u64) -> Self {
        let delay = Duration::from_millis(delay_ms);
        Self {
            delay,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            corrupt: 0.0,
            is_cut: false,
            mtu: 1500,
        }
    }
    pub const fn bad(delay_ms: u64) -> Self {
        let delay = Duration::from_millis(delay_ms);
        Self {
            delay,
            loss: 0.05,
            duplicate: 0.03,
            reorder: 0.05,
            corrupt: 0.02,
            is_cut: false,
            mtu: 1500,
        }
    }
}

/// Side 0 is the client at 10.p.0.1, side 1 the server at 10.p.0.2, where p is the path.
pub struct World {
    pub now: Time,
    pub ends: [Endpoint; 2],
    pub links: Vec<Link>,
    pub chance: Rng,
    flying: BTreeMap<(Time, u64), (usize, Packet)>,
    number: u64,
    /// What the users were told: when, side, association, what.
    pub told: Vec<(Time, usize, AssociationId, Indication)>,
    /// Every packet that was sent: when, side, path, octets.
    pub sent: Vec<(Time, usize, usize, Vec<u8>)>,
    pub keeps_packets: bool,
    /// Where packets of a side come from that does not say it; `None`: from its end of the path.
    pub routes: [Option<IpAddr>; 2],
}

pub fn address(path: usize, side: usize) -> IpAddr {
    [10, path as u8, 0, 1 + side as u8].into()
}

/// Types of the chunks in a packet.
pub fn kinds(bytes: &[u8]) -> Vec<u8> {
    let packet = Octets::read(bytes).expect("ours");
    packet.chunks().map(|raw| raw.expect("ours").kind).collect()
}

/// A packet with these chunks to `side`, as from the other one.
pub fn packet_to(side: usize, tag: u32, chunks: &[Chunk<'_>]) -> In {
    packet_from(address(0, 1 - side), side, tag, chunks)
}

/// The same, as from somewhere else.
pub fn packet_from(source: IpAddr, side: usize, tag: u32, chunks: &[Chunk<'_>]) -> In {
    let [source_port, destination_port] =
        if side == 1 { [CLIENT_PORT, SERVER_PORT] } else { [SERVER_PORT, CLIENT_PORT] };
    let mut bytes = Vec::new();
    Header { source_port, destination_port, verification_tag: tag }.write(&mut bytes);
    chunks.iter().for_each(|chunk| chunk.write(&mut bytes));
    seal(&mut bytes);
    let (source, destination) = ((source, 0).into(), address(0, side));
    In::Packet(Packet { source, destination, bytes: bytes.into() })
}

pub fn settings(side: usize, paths: usize, parameters: Parameters) -> Settings {
    Settings {
        port: [CLIENT_PORT, SERVER_PORT][side],
        addresses: (0..paths).map(|path| address(path, side)).collect(),
        listens: side == 1,
        associations_max: 64,
        parameters,
    }
}

impl World {
    pub fn new(seed: u64, parameters: Parameters, links: &[Link]) -> Self {
        Self::of(seed, [parameters; 2], links)
    }

    pub fn of(seed: u64, parameters: [Parameters; 2], links: &[Link]) -> Self {
        let mut chance = Rng(seed);
        let mut key = || std::array::from_fn(|_| chance.number() as u8);
        let ends =
            [0, 1].map(|side| Endpoint::new(settings(side, links.len(), parameters[side]), key()));
        Self {
            now: Time::from_millis(1),
            ends,
            links: links.to_vec(),
            chance,
            flying: BTreeMap::new(),
            number: 0,
            told: Vec::new(),
            sent: Vec::new(),
            keeps_packets: false,
            routes: [None; 2],
        }
    }

    /// Side `side` begins an association by way of path 0.
    pub fn associate(&mut self, side: usize) -> AssociationId {
        self.associate_on(side, [CLIENT_PORT, SERVER_PORT][1 - side])
    }

    /// The same, with another port of the peer.
    pub fn associate_on(&mut self, side: usize, port: u16) -> AssociationId {
        let mut out = Vec::new();
        let peer = (address(0, 1 - side), 0).into();
        let id = self.ends[side].associate(self.now, &[peer], port, &mut out).expect("room");
        self.take(side, out);
        id
    }

    /// Begins one and lets it come up; the ids of both sides.
    pub fn up(&mut self) -> [AssociationId; 2] {
        let client = self.associate(0);
        for _ in 0..400 {
            self.run(Duration::from_millis(100));
            let is_up = |side: usize| {
                self.told.iter().find_map(|(_, of, id, what)| {
                    let is_up = matches!(what, Indication::CommunicationUp(..));
                    (*of == side && is_up).then_some(*id)
                })
            };
            if let (Some(_), Some(server)) = (is_up(0), is_up(1)) {
                return [client, server];
            }
        }
        panic!("the association does not come up: {:?}", self.told);
    }

    pub fn step(&mut self, side: usize, input: In) {
        let mut out = Vec::new();
        self.ends[side].step(self.now, input, &mut out);
        self.take(side, out);
    }

    pub fn send(&mut self, side: usize, id: AssociationId, stream: u16, payload: Vec<u8>) {
        self.step(side, In::Send(id, Outgoing::new(stream, 7, payload.into())));
    }

    pub fn take(&mut self, side: usize, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Transmit(transmit) => self.launch(side, transmit),
                Out::Indicate(id, what) => self.told.push((self.now, side, id, what)),
            }
        }
    }

    fn launch(&mut self, side: usize, transmit: Transmit) {
        let IpAddr::V4(to) = transmit.destination.ip() else { panic!("IPv4 only") };
        let path = usize::from(to.octets()[1]);
        let is_data = |kind: &u8| matches!(kind, 0 | 64);
        let kinds = kinds(&transmit.bytes);
        let in_order = kinds.windows(2).all(|pair| is_data(&pair[1]) || !is_data(&pair[0]));
        assert!(in_order, "control chunks come first (RFC 9260 §6.10): {kinds:?}");
        if self.keeps_packets {
            self.sent.push((self.now, side, path, transmit.bytes.clone()));
        }
        let link = self.links[path];
        let source = transmit.source.or(self.routes[side]).unwrap_or(address(path, side));
        let is_large = transmit.bytes.len() + 28 > link.mtu && !transmit.may_fragment;
        let copies = 1 + usize::from(self.chance.happens(link.duplicate));
        for _ in 0..copies {
            if link.is_cut || is_large || self.chance.happens(link.loss) {
                continue;
            }
            let mut bytes = transmit.bytes.clone();
            if self.chance.happens(link.corrupt) {
                let at = self.chance.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << self.chance.below(8);
            }
            let late = self.chance.happens(link.reorder);
            let held = Duration::from_millis(if late { self.chance.below(40) } else { 0 });
            self.number += 1;
            let at = self.now + link.delay + held;
            let packet = Packet {
                source: (source, transmit.destination.port()).into(),
                destination: to.into(),
                bytes: bytes.into(),
            };
            self.flying.insert((at, self.number), (1 - side, packet));
        }
        self.ends[side].recycle(transmit.bytes);
    }

    /// Time goes on by `span`.
    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        for _ in 0..10_000_000u64 {
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let ticks = self.ends.iter().filter_map(Endpoint::deadline);
            let Some(next) = ticks.chain(arrival).min().filter(|at| *at <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            if arrival.is_some_and(|at| at <= self.now) {
                let (_, (side, packet)) = self.flying.pop_first().expect("there is one");
                self.step(side, In::Packet(packet));
            }
            for side in 0..2 {
                let mut out = Vec::new();
                self.ends[side].tick(self.now, &mut out);
                self.take(side, out);
                let after = self.ends[side].deadline();
                assert!(after.is_none_or(|at| at > self.now), "the deadline advances");
            }
        }
        panic!("time does not advance");
    }

    /// What `side` was told, without times.
    pub fn told(&self, side: usize) -> impl Iterator<Item = &Indication> {
        self.told.iter().filter(move |(_, of, ..)| *of == side).map(|(.., what)| what)
    }

    /// The messages that `side` received on `stream`, in order; what came in parts is put together,
    /// and what of that was aborted left out.
    pub fn messages(&self, side: usize, stream: u16) -> Vec<Vec<u8>> {
        let (mut whole, mut parts) = (Vec::new(), [Vec::new(), Vec::new()]);
        for what in self.told(side) {
            match what {
                Indication::Data(it) if it.stream == stream => whole.push(it.payload.to_vec()),
                Indication::DataPart(it, part) if it.stream == stream => {
                    let begun = &mut parts[usize::from(it.is_unordered)];
                    assert_eq!(begun.is_empty(), *part == Part::First, "parts in their order");
                    begun.extend_from_slice(&it.payload);
                    if *part == Part::Last {
                        whole.push(core::mem::take(begun));
                    }
                }
                Indication::PartialDeliveryAborted(of, is_unordered) if *of == stream => {
                    let begun = core::mem::take(&mut parts[usize::from(*is_unordered)]);
                    assert!(!begun.is_empty(), "it had begun");
                }
                Indication::Restart | Indication::CommunicationUp(..) => {
                    parts = [Vec::new(), Vec::new()];
                }
                _ => {}
            }
        }
        whole
    }

    /// When `side` was first told `what` after `from`.
    pub fn when(&self, side: usize, from: Time, what: &Indication) -> Option<Time> {
        let found =
            self.told.iter().find(|(at, of, _, it)| *at >= from && *of == side && it == what);
        found.map(|(at, ..)| *at)
    }
}
