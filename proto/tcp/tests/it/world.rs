//! Two ends and what flies between them, by seed.

use machine::{Duration, Time};
use std::net::IpAddr;
use tcp::{Connection, Segment, State, Why};

pub const ENDS: (IpAddr, IpAddr) = (
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
);
const MSS: u16 = 1_200;

/// Numbers by seed.
pub struct Draw(u64);

impl Draw {
    pub const fn new(seed: u64) -> Self {
        Self(machine::identity::mix(seed ^ 0x0074_6370))
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        machine::identity::mix(self.0) % end
    }
}

pub struct World {
    pub now: Time,
    /// The one that opens, and the other once its SYN has come.
    pub ends: [Option<Connection>; 2],
    /// What flies: when it arrives, to which end, its number, the octets.
    flying: Vec<(Time, usize, u64, Vec<u8>)>,
    number: u64,
    draw: Draw,
    /// Of a hundred packets so many are lost, doubled, late.
    pub faults: [u64; 3],
    pub took: [Vec<u8>; 2],
}

impl World {
    pub fn new(seed: u64, faults: [u64; 3]) -> Self {
        let mut draw = Draw::new(seed);
        // Numbers that go round.
        let iss = u32::MAX - draw.below(3_000) as u32;
        let opened = Connection::open(Time::ZERO, (6_200, 5_062), iss, MSS);
        let mut world = Self {
            now: Time::ZERO,
            ends: [Some(opened), None],
            flying: Vec::new(),
            number: 0,
            draw,
            faults,
            took: [Vec::new(), Vec::new()],
        };
        world.leave(0);
        world
    }

    pub fn end(&mut self, at: usize) -> &mut Connection {
        self.ends[at].as_mut().expect("it has begun")
    }

    /// What an end has to say flies.
    pub fn leave(&mut self, from: usize) {
        for _ in 0..1_000 {
            let Some(end) = &mut self.ends[from] else { return };
            let mut octets = Vec::new();
            if !end.next(self.now, ENDS, &mut octets) {
                return;
            }
            let copies = 1 + u64::from(self.draw.below(100) < self.faults[1]);
            for _ in 0..copies {
                if self.draw.below(100) < self.faults[0] {
                    continue;
                }
                let late = if self.draw.below(100) < self.faults[2] { 80 } else { 5 };
                let at = self.now + Duration::from_millis(5 + self.draw.below(late));
                self.flying.push((at, 1 - from, self.number, octets.clone()));
                self.number += 1;
            }
        }
        panic!("an end does not stop");
    }

    fn arrives(&mut self, to: usize, octets: &[u8]) {
        let segment = Segment::read(octets).unwrap();
        match &mut self.ends[to] {
            Some(end) if !end.makes_way_for(&segment) => end.receive(self.now, &segment),
            end => {
                let iss = self.draw.below(1 << 32) as u32;
                if let Some(made) = Connection::accept(self.now, &segment, iss, MSS) {
                    *end = Some(made);
                }
            }
        }
        let Some(end) = &mut self.ends[to] else { return };
        self.took[to].append(end.incoming());
        self.leave(to);
    }

    /// Time goes on until nothing is due, or so long.
    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        for _ in 0..1_000_000 {
            let flies = self.flying.iter().map(|(at, ..)| *at);
            let due = self.ends.iter().flatten().filter_map(Connection::deadline);
            let Some(next) = flies.chain(due).min().filter(|next| *next <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            let first = self.flying.iter().enumerate().min_by_key(|(_, it)| (it.0, it.2));
            if let Some((place, _)) = first.filter(|(_, it)| it.0 <= self.now) {
                let (_, to, _, octets) = self.flying.swap_remove(place);
                self.arrives(to, &octets);
            }
            for at in 0..2 {
                let now = self.now;
                if let Some(end) = &mut self.ends[at] {
                    end.tick(now);
                }
                self.leave(at);
            }
        }
        panic!("the world does not come to rest");
    }
}

fn text(seed: u64, octets: usize) -> Vec<u8> {
    (0..octets).map(|at| (at as u64).wrapping_mul(seed | 1) as u8).collect()
}

#[test]
fn what_is_sent_comes_whole_and_in_order_whatever_the_network_does() {
    for seed in 0..200 {
        let faults = [seed % 25, seed % 11, seed % 40];
        let mut world = World::new(seed, faults);
        let sizes = [(seed as usize * 97) % 60_000, (seed as usize * 31) % 9_000];
        assert!(world.end(0).send(&text(seed, sizes[0])));
        world.leave(0);
        world.run(Duration::from_secs(60));
        if world.ends[1].is_none() || world.end(0).why() == Some(Why::Silence) {
            assert!(seed % 25 > 10, "{seed}: it has not begun");
            continue;
        }
        assert!(world.end(1).send(&text(seed + 1, sizes[1])));
        world.leave(1);
        world.end(0).close();
        world.leave(0);
        for _ in 0..100 {
            world.run(Duration::from_secs(6));
            if world.end(1).state() == State::CloseWait && world.end(1).waiting() == 0 {
                world.end(1).close();
                world.leave(1);
            }
        }
        for (at, &size) in sizes.iter().enumerate() {
            assert_eq!(world.took[1 - at], text(seed + at as u64, size), "{seed}, {at}");
            assert_eq!(world.end(at).state(), State::Closed, "{seed}, {at}");
            // Its last acknowledgment may be lost, and nobody is left who would repeat it.
            let why = world.end(at).why();
            let unheard = at == 1 && faults[0] > 0 && why == Some(Why::Silence);
            assert!(unheard || why == Some(Why::Ended), "{seed}, {at}: {why:?}");
        }
    }
}

#[test]
fn an_end_that_nobody_answers_gives_up() {
    let mut world = World::new(1, [100, 0, 0]);
    assert!(world.end(0).send(b"OPTIONS"));
    world.run(Duration::from_secs(300));
    assert_eq!(world.end(0).why(), Some(Why::Silence));
    let mut world = World::new(1, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    world.faults = [100, 0, 0];
    assert!(world.end(0).send(b"OPTIONS"));
    world.leave(0);
    world.run(Duration::from_secs(600));
    assert_eq!(world.end(0).why(), Some(Why::Silence));
    assert_eq!(world.end(0).waiting(), 0, "nothing is kept");
    assert_eq!(world.end(1).state(), State::Established, "it has nothing to say");
}

#[test]
fn an_end_that_is_full_closes_its_window_and_opens_it_again() {
    let mut world = World::new(7, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    // Nobody takes what comes to the other end.
    let whole = text(3, 150_000);
    assert!(world.end(0).send(&whole));
    let mut kept: Vec<u8> = Vec::new();
    for _ in 0..400 {
        let mut octets = Vec::new();
        let now = world.now;
        while world.end(0).next(now, ENDS, &mut octets) {
            let segment = Segment::read(&octets).unwrap();
            world.end(1).receive(now, &segment);
            octets.clear();
        }
        while world.end(1).next(now, ENDS, &mut octets) {
            let segment = Segment::read(&octets).unwrap();
            world.end(0).receive(now, &segment);
            octets.clear();
        }
        assert!(world.end(1).incoming().len() <= tcp::INCOMING_MAX);
        world.now += Duration::from_secs(1);
        let now = world.now;
        world.end(0).tick(now);
        if now.as_millis() % 5_000 < 1_000 {
            kept.append(world.end(1).incoming());
        }
    }
    kept.append(world.end(1).incoming());
    assert!(kept == whole, "{} octets of {} came", kept.len(), whole.len());
}

#[test]
fn an_end_that_was_closed_first_lets_a_new_syn_begin_anew() {
    let mut world = World::new(3, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    world.end(1).close();
    world.leave(1);
    world.run(Duration::from_secs(1));
    assert_eq!(world.end(0).state(), State::CloseWait);
    world.end(0).close();
    world.leave(0);
    world.run(Duration::from_secs(1));
    assert_eq!(world.end(1).state(), State::TimeWait);
    let iss = 1_000_000; // beyond what was used
    world.ends[0] = Some(Connection::open(world.now, (6_200, 5_062), iss, MSS));
    world.leave(0);
    world.run(Duration::from_secs(1));
    let states = [0, 1].map(|at| world.end(at).state());
    assert_eq!(states, [State::Established; 2]);
}

#[test]
fn both_may_open_and_close_at_once() {
    let mut world = World::new(5, [0, 0, 0]);
    world.ends[1] = Some(Connection::open(Time::ZERO, (5_062, 6_200), 77, MSS));
    world.leave(1);
    world.run(Duration::from_secs(5));
    let states = [0, 1].map(|at| world.end(at).state());
    assert_eq!(states, [State::Established; 2]);
    for at in 0..2 {
        world.end(at).close();
    }
    for at in 0..2 {
        world.leave(at);
    }
    world.run(Duration::from_secs(100));
    assert_eq!([0, 1].map(|at| world.end(at).why()), [Some(Why::Ended); 2]);
}
