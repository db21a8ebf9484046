//! Several workers at once, whose packets meet at the same flows and the same keys, while the
//! control changes them: none waits for ever, and no index is used twice.

use super::world::programs;
use core::net::SocketAddr;
use graph::{Outbox, Pool, STRIDE};
use machine::Time;
use media::program::{FEATURE, FlowSaid, Guard, Keys, Place, Range, Said};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::Program;
use nodes::program::Item;
use plane_control::Plane;
use rtp::{ClockRate, Header, Packet, Rewrite};
use srtp::{KeyEntry, MasterKey, Parameters, Suite};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const FLOWS: u16 = 8;
const WORKERS: usize = 3;
/// Streams of a world by seed, its workers, and packets of each stream.
const STREAMS: u16 = 24;
const WORKERS_MAX: usize = 4;
const PACKETS: u16 = 300;
const ROUNDS: u16 = 400;

/// What left: by which port, of which source, with which number.
type Left = (u16, u32, u16);

fn item(said: &Said) -> Program {
    let (key, value) = (said.name().key(), said.value());
    Program::Item(Item { feature: FEATURE.to_owned(), key, value })
}

fn keys(suite: Suite, octet: u8) -> Keys {
    let key = MasterKey::of(suite, &vec![octet; MasterKey::octets_of(suite)]).unwrap();
    Keys { parameters: Parameters::of(suite), entries: vec![KeyEntry::alone(key)] }
}

/// The flow of a port: the inner ones are in the clear and go on to the outer ones, which protect
/// with two keys in all.
fn flow(is_outer: bool, number: u16) -> Program {
    let suite = Suite::AesCm128HmacSha1_80;
    flow_of(is_outer, number, Some((suite, (number % 2) as u8 + 1)))
}

/// The same with keys of that suite and number towards the outer side, or none.
fn flow_of(is_outer: bool, number: u16, suite: Option<(Suite, u8)>) -> Program {
    let (address, other) =
        if is_outer { ([10, 0, 1, 1], [10, 0, 2, 1]) } else { ([10, 0, 2, 1], [10, 0, 1, 1]) };
    let place = |address: [u8; 4]| Place { vrf: 0, address: address.into(), port: 20_000 + number };
    let peer =
        SocketAddr::from(if is_outer { ([10, 0, 1, 2], 4_000) } else { ([10, 0, 2, 2], 5_000) });
    let guard = match suite {
        Some((suite, key)) if is_outer => {
            Guard::Keys { receive: keys(suite, 100), send: keys(suite, key) }
        }
        _ => Guard::None,
    };
    let settings = Settings {
        of: Use::Muxed,
        is_active: true,
        payload_types: PayloadTypes::ALL,
        untimed: PayloadTypes::default(),
        ssrcs: Sources::ANY,
        clock: ClockRate::TELEPHONY,
        rate: Rate::bits(u64::MAX),
        rewrite: Rewrite::default(),
    };
    item(&Said::Flow(Box::new(FlowSaid {
        at: place(address),
        to: Some(place(other)),
        settings,
        expected: Expected::at(peer),
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
    })))
}

fn frame(number: u16, ssrc: u32, sequence: u16) -> Vec<u8> {
    let header = Header { payload_type: 0, sequence, timestamp: 0, ssrc, marker: false };
    let mut payload = Vec::new();
    Packet { header, payload: &[7; 40], ..Packet::default() }.write(&mut payload);
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 9, 9, 8, 0];
    let length = (payload.len() + 28) as u16;
    let mut ip = vec![0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0, 0, 64, 17, 0, 0];
    ip.extend([10, 0, 2, 2, 10, 0, 2, 1]);
    nodes::header::seal_ip4(&mut ip);
    frame.extend(ip);
    frame.extend([5_000_u16.to_be_bytes(), (20_000 + number).to_be_bytes()].concat());
    frame.extend((length - 20).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

#[test]
fn workers_that_meet_at_flows_and_keys_neither_wait_for_ever_nor_use_an_index_twice() {
    let mut plane = Plane::new(1).unwrap();
    for program in programs() {
        plane.apply(&program).unwrap();
    }
    for address in [[10, 0, 1, 1], [10, 0, 2, 1]] {
        let range = Range { vrf: 0, address: address.into(), first: 20_000, ports: 100 };
        plane.apply(&item(&Said::Range(range))).unwrap();
    }
    for number in 0..FLOWS {
        plane.apply(&flow(true, number)).unwrap();
        plane.apply(&flow(false, number)).unwrap();
    }
    plane.publish();
    let graphs: Vec<_> = (0..WORKERS).map(|_| plane.graph().unwrap()).collect();
    plane.publish();
    let running = AtomicUsize::new(WORKERS);
    let left: Vec<Vec<Left>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..)
            .zip(graphs)
            .map(|(worker, mut graph)| {
                let running = &running;
                scope.spawn(move || {
                    let mut pool = Pool::new(256, STRIDE);
                    let entry = graph.entry("ethernet-input").unwrap();
                    let mut left = Vec::new();
                    for round in 0..ROUNDS {
                        let mut slots = Vec::new();
                        // Each worker has a source of its own at every flow: a stream stays on one.
                        for number in 0..FLOWS {
                            let ssrc = 1 + worker + 10 * u32::from(number);
                            let slot = pool.put(&frame(number, ssrc, round)).unwrap();
                            pool.meta_mut(slot).port = 1;
                            slots.push(slot);
                        }
                        let mut out = Outbox::default();
                        graph.push(entry, &slots, &mut pool);
                        graph.run(&mut pool, &mut out, Time::from_millis(1_000));
                        for slot in out.port(0).map(std::mem::take).unwrap_or_default() {
                            let octets = pool.bytes(slot);
                            let header = Header::peek(&octets[42..]).unwrap();
                            let port = u16::from_be_bytes([octets[34], octets[35]]);
                            left.push((port, header.ssrc, header.sequence));
                            pool.free(slot);
                        }
                        out.clear(&mut pool);
                    }
                    graph.leave();
                    running.fetch_sub(1, Relaxed);
                    left
                })
            })
            .collect();
        let mut round = 0_u64;
        while running.load(Relaxed) > 0 {
            round += 1;
            let number = (round % u64::from(FLOWS)) as u16;
            plane.apply(&flow(round.is_multiple_of(2), number)).unwrap();
            plane.publish();
            let mut out = Vec::new();
            plane.tick(Time::from_millis(1_000 + round), &mut out);
            std::thread::yield_now();
        }
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut spent = BTreeSet::new();
    for (worker, left) in (0_u32..).zip(&left) {
        assert_eq!(left.len(), usize::from(FLOWS) * usize::from(ROUNDS), "none is lost");
        for number in 0..FLOWS {
            let ssrc = 1 + worker + 10 * u32::from(number);
            let of = left.iter().filter(|it| it.1 == ssrc);
            let sequences: Vec<u16> = of.map(|it| it.2).collect();
            assert_eq!(sequences, (0..ROUNDS).collect::<Vec<_>>(), "the order of a stream stands");
        }
        for (port, ssrc, sequence) in left {
            assert!(spent.insert((port % 2, *ssrc, *sequence)), "an index of a key, twice");
        }
    }
}

/// Numbers of a seed.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: u16) -> u16 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % u64::from(end)) as u16
    }
}

/// What a worker does with the streams that its queues have: vectors of any length of any of them,
/// each in its order. What left, in the order in which it did.
fn works(graph: &mut graph::Graph, own: &[u16], mut drawn: Drawn) -> Vec<(u16, u16)> {
    let mut pool = Pool::new(256, STRIDE);
    let entry = graph.entry("ethernet-input").unwrap();
    let mut sent: Vec<(u16, u16)> = own.iter().map(|number| (*number, 0)).collect();
    let mut left = Vec::new();
    while !sent.is_empty() {
        let mut slots = Vec::new();
        for _ in 0..=drawn.below(200) {
            let Some(at) = (sent.len() as u16).checked_sub(1).map(|most| drawn.below(most + 1))
            else {
                break;
            };
            let (number, sequence) = &mut sent[usize::from(at)];
            let slot = pool.put(&frame(*number, 1 + u32::from(*number), *sequence)).unwrap();
            pool.meta_mut(slot).port = 1;
            slots.push(slot);
            *sequence += 1;
            if *sequence == PACKETS {
                sent.swap_remove(usize::from(at));
            }
        }
        let mut out = Outbox::default();
        graph.push(entry, &slots, &mut pool);
        graph.run(&mut pool, &mut out, Time::from_millis(1_000));
        for slot in out.port(0).map(std::mem::take).unwrap_or_default() {
            let octets = pool.bytes(slot);
            let header = Header::peek(&octets[42..]).unwrap();
            left.push((u16::from_be_bytes([octets[34], octets[35]]), header.sequence));
            pool.free(slot);
        }
        out.clear(&mut pool);
    }
    left
}

#[test]
fn a_stream_is_in_its_order_and_whole_whatever_the_number_of_workers() {
    let suites = [
        None,
        Some(Suite::AesCm128HmacSha1_80),
        Some(Suite::AeadAes128Gcm),
        Some(Suite::AesCm256HmacSha1_32),
    ];
    for seed in 1..=12_u64 {
        let workers = 1 + (seed as usize) % WORKERS_MAX;
        let mut drawn = Drawn(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut plane = Plane::new(seed as u32).unwrap();
        programs().iter().for_each(|program| plane.apply(program).unwrap());
        for address in [[10, 0, 1, 1], [10, 0, 2, 1]] {
            let range = Range { vrf: 0, address: address.into(), first: 20_000, ports: 100 };
            plane.apply(&item(&Said::Range(range))).unwrap();
        }
        let mut guards = Vec::new();
        for number in 0..STREAMS {
            // Some have the keys of others: workers meet at their senders.
            let kind = drawn.below(4);
            let suite =
                suites[usize::from(kind)].map(|it| (it, 10 * kind as u8 + drawn.below(3) as u8));
            guards.push(suite);
            plane.apply(&flow_of(true, number, suite)).unwrap();
            plane.apply(&flow_of(false, number, suite)).unwrap();
        }
        plane.publish();
        let graphs: Vec<_> = (0..workers).map(|_| plane.graph().unwrap()).collect();
        plane.publish();
        let mut own = vec![Vec::new(); workers];
        (0..STREAMS).for_each(|number| own[usize::from(drawn.below(workers as u16))].push(number));
        let running = AtomicUsize::new(workers);
        let left: Vec<Vec<(u16, u16)>> = std::thread::scope(|scope| {
            let all = graphs.into_iter().zip(&own).zip(1..).map(|((mut graph, own), worker)| {
                let (running, drawn) = (&running, Drawn(seed << 8 | worker));
                scope.spawn(move || {
                    let left = works(&mut graph, own, drawn);
                    graph.leave();
                    running.fetch_sub(1, Relaxed);
                    left
                })
            });
            let all: Vec<_> = all.collect();
            let mut round = 0;
            while running.load(Relaxed) > 0 {
                round += 1;
                let number = drawn.below(STREAMS);
                let said = flow_of(round % 2 == 0, number, guards[usize::from(number)]);
                plane.apply(&said).unwrap();
                plane.publish();
                plane.tick(Time::from_millis(1_000 + round), &mut Vec::new());
                std::thread::yield_now();
            }
            all.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        for (left, own) in left.iter().zip(&own) {
            for number in own {
                let of = left.iter().filter(|(port, _)| *port == 20_000 + number);
                let sequences: Vec<u16> = of.map(|(_, sequence)| *sequence).collect();
                let wanted: Vec<u16> = (0..PACKETS).collect();
                assert_eq!(sequences, wanted, "seed {seed}, stream {number}");
            }
        }
    }
}
