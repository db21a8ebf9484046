//! The lives of calls through the whole graph of a router, drawn by seed: packets of both sides,
//! of strangers and to nobody, holds, other ports, other keys, ends. Whatever happens, a packet
//! leaves to the other side of its own call alone, as it came, in its order, and with an index that
//! its key never had.

use super::world::{World, ethernet, packet6, programs};
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use graph::Outbox;
use media::program::{FEATURE, FlowSaid, Guard, Keys, Name, Place, Range, Said};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::Program;
use nodes::header::{checksum, seal_ip4, sum};
use nodes::program::{Item, Removed};
use rtp::{ClockRate, Header, Packet, Rewrite};
use srtp::{KeyEntry, MasterKey, Parameters, Receiver, Sender, Suite};
use std::collections::{BTreeMap, BTreeSet};

const CALLS: usize = 5;
const SUITES: [Option<Suite>; 4] = [
    None,
    Some(Suite::AesCm128HmacSha1_80),
    Some(Suite::AeadAes128Gcm),
    Some(Suite::AesCm256HmacSha1_32),
];

/// Numbers of a seed.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }
}

fn keys(suite: Suite, number: u32) -> Keys {
    let mut octets = vec![7; MasterKey::octets_of(suite)];
    octets[..4].copy_from_slice(&number.to_be_bytes());
    let key = MasterKey::of(suite, &octets).unwrap();
    Keys { parameters: Parameters::of(suite), entries: vec![KeyEntry::alone(key)] }
}

/// One side of a call: whoever is there, and its place.
struct Side {
    peer: SocketAddr,
    place: SocketAddr,
    /// Its suite, and the numbers of the keys that it sends and opens with.
    suite: Option<(Suite, u32, u32)>,
    sender: Option<Sender>,
    sequence: u16,
    is_held: bool,
}

struct Life {
    world: World,
    drawn: Drawn,
    calls: Vec<[Side; 2]>,
    /// By the number of the key: what the peers open with, whatever call has it.
    receivers: BTreeMap<u32, Receiver>,
    /// Each key, source and index that a packet left with.
    spent: BTreeSet<(u32, u32, u64)>,
    said: BTreeSet<SocketAddr>,
    next_key: u32,
    next_port: u16,
    passed: usize,
}

pub(crate) fn place(at: SocketAddr) -> Place {
    Place { vrf: 0, address: at.ip(), port: at.port() }
}

pub(crate) fn item(said: &Said) -> Program {
    let (key, value) = (said.name().key(), said.value());
    Program::Item(Item { feature: FEATURE.to_owned(), key, value })
}

/// A frame of UDP, and the port that it comes by.
pub(crate) fn frame(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> (u16, Vec<u8>) {
    let length = (payload.len() + 8) as u16;
    let mut udp = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
    udp.extend(length.to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(payload);
    let mut addresses = Vec::new();
    for ip in [from.ip(), to.ip()] {
        match ip {
            IpAddr::V4(ip) => addresses.extend(ip.octets()),
            IpAddr::V6(ip) => addresses.extend(ip.octets()),
        }
    }
    let check = checksum(sum(&udp, sum(&addresses, u32::from(length) + 17)));
    udp[6..8].copy_from_slice(&check.to_be_bytes());
    let port = match from.ip() {
        IpAddr::V4(ip) => u16::from(ip.octets()[2] - 1),
        IpAddr::V6(ip) => ip.segments()[2] - 1,
    };
    if from.is_ipv6() {
        let (from, to) = (from.ip().to_string(), to.ip().to_string());
        return (port, ethernet(port, 0x86dd, &packet6(&from, &to, 60, 17, &udp)));
    }
    let total = (udp.len() + 20) as u16;
    let mut packet = vec![0x45, 0, (total >> 8) as u8, total as u8, 0, 9, 0x40, 0, 60, 17, 0, 0];
    packet.extend(addresses);
    seal_ip4(&mut packet);
    packet.extend(udp);
    (port, ethernet(port, 0x0800, &packet))
}

/// From where to where a frame goes, and its payload; its checksums are right.
fn read(frame: &[u8]) -> (SocketAddr, SocketAddr, Vec<u8>) {
    let packet = &frame[14..];
    let is_four = packet[0] >> 4 == 4;
    let (header, addresses) = if is_four { (20, &packet[12..20]) } else { (40, &packet[8..40]) };
    let udp = &packet[header..];
    assert_eq!(checksum(sum(udp, sum(addresses, udp.len() as u32 + 17))), 0);
    let ip = |octets: &[u8]| match <[u8; 4]>::try_from(octets) {
        Ok(four) => IpAddr::from(four),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(octets).unwrap()),
    };
    let (from, to) = addresses.split_at(addresses.len() / 2);
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    (SocketAddr::new(ip(from), port(0)), SocketAddr::new(ip(to), port(2)), udp[8..].to_vec())
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut world = World::of(&programs());
        for address in ["10.0.1.1", "10.0.2.1", "2001:db8:1::1", "2001:db8:2::1"] {
            let address = address.parse().unwrap();
            let range = Range { vrf: 0, address, first: 20_000, ports: 10_000 };
            world.apply(item(&Said::Range(range)));
        }
        let mut life = Self {
            world,
            drawn: Drawn(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            calls: Vec::new(),
            receivers: BTreeMap::new(),
            spent: BTreeSet::new(),
            said: BTreeSet::new(),
            next_key: 1,
            next_port: 20_000,
            passed: 0,
        };
        for _ in 0..CALLS {
            life.begin();
        }
        life
    }

    fn side(&mut self, net: u16) -> Side {
        let (host, own): (IpAddr, IpAddr) = match self.drawn.below(2) {
            0 => (IpAddr::from([10, 0, net as u8, 2]), IpAddr::from([10, 0, net as u8, 1])),
            _ => {
                let at = |last| IpAddr::from([0x2001, 0xdb8, net, 0, 0, 0, 0, last]);
                (at(2), at(1))
            }
        };
        self.next_port += 1;
        let peer = SocketAddr::new(host, self.next_port - 15_000);
        let place = SocketAddr::new(own, self.next_port);
        let sequence = self.drawn.below(65_536) as u16;
        let mut side = Side { peer, place, suite: None, sender: None, sequence, is_held: false };
        self.rekey(&mut side);
        side
    }

    /// Other keys, or none.
    fn rekey(&mut self, side: &mut Side) {
        let suite = SUITES[self.drawn.below(SUITES.len())];
        side.suite = suite.map(|suite| (suite, self.next_key, self.next_key + 1));
        self.next_key += 2;
        side.sender = side.suite.map(|(suite, send, receive)| {
            let theirs = keys(suite, receive);
            let receiver = Receiver::new(theirs.parameters, &theirs.entries).unwrap();
            self.receivers.insert(receive, receiver);
            let own = keys(suite, send);
            Sender::new(own.parameters, &own.entries).unwrap()
        });
    }

    fn begin(&mut self) {
        let call = [self.side(1), self.side(2)];
        self.calls.push(call);
        let at = self.calls.len() - 1;
        self.say(at, 0);
        self.say(at, 1);
    }

    fn say(&mut self, call: usize, side: usize) {
        let (it, other) = (&self.calls[call][side], &self.calls[call][1 - side]);
        let guard = it.suite.map_or(Guard::None, |(suite, send, receive)| Guard::Keys {
            receive: keys(suite, send),
            send: keys(suite, receive),
        });
        let settings = Settings {
            of: Use::Muxed,
            is_active: !it.is_held,
            payload_types: PayloadTypes::ALL,
            untimed: PayloadTypes::default(),
            ssrcs: Sources::ANY,
            clock: ClockRate::TELEPHONY,
            rate: Rate::bits(100_000_000),
            rewrite: Rewrite::default(),
        };
        let said = FlowSaid {
            at: place(it.place),
            to: Some(place(other.place)),
            settings,
            expected: Expected::at(it.peer),
            guard,
            dscp: None,
            timeout: None,
            becomes: Vec::new(),
            branches: Vec::new(),
            up: PayloadTypes::default(),
            up_per_s: 0,
            digits: PayloadTypes::default(),
            stun: false,
            dtls: false,
            association: None,
            resume: None,
        };
        self.said.insert(it.place);
        self.world.apply(item(&Said::Flow(Box::new(said))));
    }

    fn remove(&mut self, at: SocketAddr) {
        self.said.remove(&at);
        let key = Name::Flow(place(at)).key();
        self.world.apply(Program::Remove(Removed::Item(FEATURE.to_owned(), key)));
    }

    fn step(&mut self) {
        let (call, side) = (self.drawn.below(self.calls.len()), self.drawn.below(2));
        match self.drawn.below(24) {
            0 => {
                self.calls[call][side].is_held ^= true;
                self.say(call, side);
            }
            1 => {
                // Another port on our side; keys and all else stay.
                let before = self.calls[call][side].place;
                self.next_port += 1;
                self.calls[call][side].place.set_port(self.next_port);
                // Whichever is first.
                if self.drawn.below(2) == 0 {
                    self.remove(before);
                    self.say(call, side);
                } else {
                    self.say(call, side);
                    self.remove(before);
                }
                self.say(call, 1 - side);
            }
            2 => {
                let it = self.calls[call].each_mut();
                let mut side_taken = std::mem::replace(
                    it[side],
                    Side {
                        peer: "10.0.1.2:1".parse().unwrap(),
                        place: "10.0.1.1:1".parse().unwrap(),
                        suite: None,
                        sender: None,
                        sequence: 0,
                        is_held: false,
                    },
                );
                self.rekey(&mut side_taken);
                self.calls[call][side] = side_taken;
                self.say(call, side);
            }
            3 => {
                let [one, other] = self.calls[call].each_ref().map(|side| side.place);
                self.remove(one);
                self.remove(other);
                self.calls.swap_remove(call);
                self.begin();
            }
            4 => self.say(call, side),
            5 => drop(self.world.pass(Duration::from_millis(20))),
            _ => self.packets(),
        }
    }

    /// A vector of packets of all calls at once, and what leaves of them.
    fn packets(&mut self) {
        let mut sent: Vec<(usize, usize, Vec<u8>)> = Vec::new();
        let mut slots = Vec::new();
        for _ in 0..1 + self.drawn.below(40) {
            let (call, side) = (self.drawn.below(self.calls.len()), self.drawn.below(2));
            let kind = self.drawn.below(16);
            let it = &mut self.calls[call][side];
            it.sequence = it.sequence.wrapping_add(1 + u16::from(kind == 7) * 3);
            let header = Header {
                payload_type: 8,
                sequence: it.sequence,
                timestamp: 0,
                ssrc: 1 + side as u32,
                marker: false,
            };
            let payload: Vec<u8> = (0..20).map(|at| (call * 50 + side + at) as u8).collect();
            let mut plain = Vec::new();
            Packet { header, payload: &payload, ..Packet::default() }.write(&mut plain);
            let mut octets = plain.clone();
            if let Some(sender) = &mut it.sender {
                octets.resize(plain.len() + sender.overhead(), 0);
                sender.protect(&mut octets, plain.len()).unwrap();
            }
            let (mut from, mut to) = (it.peer, it.place);
            match kind {
                // A stranger, and nobody's port.
                0 => from.set_port(9),
                1 => to.set_port(29_999),
                // One octet is broken on the way.
                2 if it.sender.is_some() => octets[15] ^= 4,
                _ => {
                    if !it.is_held {
                        sent.push((call, side, plain));
                    }
                }
            }
            let (port, frame) = frame(from, to, &octets);
            let slot = self.world.pool.put(&frame).unwrap();
            self.world.pool.meta_mut(slot).port = port;
            slots.push(slot);
        }
        let entry = self.world.graph.entry("ethernet-input").unwrap();
        let World { graph, pool, now, .. } = &mut self.world;
        graph.push(entry, &slots, pool);
        let mut out = Outbox::default();
        graph.run(pool, &mut out, *now);
        assert!(out.punted().is_empty());
        let mut left = Vec::new();
        for port in 0..2 {
            for slot in out.port(port).map(std::mem::take).unwrap_or_default() {
                left.push(read(pool.bytes(slot)));
                pool.free(slot);
            }
        }
        assert_eq!(pool.free_slots(), pool.slots());
        self.check(sent, left);
    }

    /// What leaves is what was sent, each to its own other side and in its order.
    fn check(
        &mut self,
        sent: Vec<(usize, usize, Vec<u8>)>,
        left: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
    ) {
        let mut wanted: BTreeMap<(SocketAddr, SocketAddr), Vec<Vec<u8>>> = BTreeMap::new();
        for (call, side, plain) in sent {
            let to = &self.calls[call][1 - side];
            wanted.entry((to.place, to.peer)).or_default().push(plain);
        }
        let mut got: BTreeMap<(SocketAddr, SocketAddr), Vec<Vec<u8>>> = BTreeMap::new();
        for (from, to, octets) in left {
            let side = self.calls.iter().flatten().find(|side| side.place == from);
            let side = side.expect("it leaves from a place of a call");
            let mut plain = octets.clone();
            if let Some((_, _, receive)) = side.suite {
                let receiver = self.receivers.get_mut(&receive).unwrap();
                let length = receiver.unprotect(&mut plain).expect("a new index, and a right tag");
                plain.truncate(length);
                let ssrc = Header::peek(&plain).unwrap().ssrc;
                let highest = receiver.stream(ssrc).unwrap().highest.unwrap().number();
                assert!(self.spent.insert((receive, ssrc, highest)), "an index came twice");
            }
            self.passed += 1;
            got.entry((from, to)).or_default().push(plain);
        }
        assert_eq!(got, wanted);
    }
}

#[test]
fn whatever_happens_packets_leave_to_their_own_other_side_in_their_order_with_new_indices() {
    for seed in 1..=60 {
        let mut life = Life::new(seed);
        for _ in 0..150 {
            life.step();
        }
        assert!(life.passed > 500, "seed {seed}: {}", life.passed);
        for place in std::mem::take(&mut life.said) {
            life.remove(place);
        }
        // Nothing passes without a flow.
        let Life { calls, world, .. } = &mut life;
        for side in calls.iter().flatten() {
            let (port, frame) = frame(side.peer, side.place, &[0x80; 40]);
            let left = world.send(port, &frame);
            assert_eq!(left, super::world::Left::default());
        }
    }
}
