//! A thousand peers that read as they like: what it costs to tell all of them a whole table again.

use crate::world::{Spec, World};
use bgp::codec::{Messages, write_attribute};
use bgp::pack::{Announcement, Limits};
use rib::{Bounds, Kind, PeerId};
use std::collections::VecDeque;
use std::ops::Range;

const PEERS: usize = 1_000;
const ROUTES: u32 = 40_000;
/// Octets that the kernel holds for a peer.
const KERNEL_BYTES: u64 = 512 << 10;
/// Octets that come in of the table in a step of the simulation.
const FEED_BYTES: usize = 128 << 10;
/// Octets of the table, a little more than that.
const TABLE_BYTES: u64 = 10_500_000;
const STEPS_MAX: usize = 10_000;

/// What was counted while a table was told.
#[derive(Debug, Default)]
struct Cost {
    steps: usize,
    /// Octets that were encoded, whomever they are sent to.
    encoded: u64,
    /// Octets of the peer that was sent most.
    told_most: u64,
    cohorts_most: usize,
    /// Octets that waited outside of the kernel at most, shared ones once.
    held_most: u64,
}

struct Crowd {
    world: World,
    /// For each peer, chunks that the kernel has not taken whole: their numbers and what is left.
    queues: Vec<VecDeque<(usize, u64)>>,
    kernel: Vec<u64>,
    told: Vec<u64>,
    /// Of each chunk its octets, and for how many peers it waits.
    chunks: Vec<(u64, usize)>,
    last: *const u8,
}

/// The table of 10 MB, with this LOCAL_PREF.
fn table(preference: u32) -> Vec<u8> {
    routes(0..ROUTES, 48, preference)
}

/// Routes with so many communities each.
fn routes(numbers: Range<u32>, communities: usize, preference: u32) -> Vec<u8> {
    let mut out = Vec::new();
    for number in numbers {
        let mut attributes = Vec::new();
        write_attribute(0x40, 1, &[0], &mut attributes);
        write_attribute(0x40, 2, &[], &mut attributes);
        write_attribute(0x40, 3, &[192, 0, 2, 1], &mut attributes);
        write_attribute(0x40, 5, &preference.to_be_bytes(), &mut attributes);
        write_attribute(0xc0, 8, &number.to_be_bytes().repeat(communities), &mut attributes);
        let limits = Limits { message_max: 4_096, add_path: false };
        let mut packing = Announcement::plain(limits, &attributes, &mut out).expect("room");
        let [_, first, second, third] = number.to_be_bytes();
        packing.route(0, &[32, 10, first, second, third]).expect("room");
        packing.finish();
    }
    out
}

impl Crowd {
    fn new(bounds: Bounds) -> Self {
        let client = Spec {
            kind: Kind::Client,
            add_path: false,
            constrained: false,
            four_octet_as: true,
            location: 0,
            import: 0,
            export: 0,
            role: None,
            long_lived: false,
        };
        let mut world = World::bounded(1, vec![client; PEERS], bounds);
        (0..PEERS).for_each(|number| world.up(number));
        Self {
            world,
            queues: vec![VecDeque::new(); PEERS],
            kernel: vec![0; PEERS],
            told: vec![0; PEERS],
            chunks: Vec::new(),
            last: std::ptr::null(),
        }
    }

    /// The reflector works; the kernel takes what it has room for.
    fn work(&mut self) {
        loop {
            let more = self.world.work(20_000);
            while let Some(sending) = self.world.rib.next_sending() {
                if sending.bytes.as_ptr() != self.last {
                    self.last = sending.bytes.as_ptr();
                    self.chunks.push((sending.bytes.len() as u64, 0));
                }
                let (number, at) = (sending.peer.0 as usize, self.chunks.len() - 1);
                self.chunks[at].1 += 1;
                self.told[number] += sending.bytes.len() as u64;
                self.queues[number].push_back((at, sending.bytes.len() as u64));
            }
            self.last = std::ptr::null();
            (0..PEERS).for_each(|number| self.take(number));
            if !more {
                return;
            }
        }
    }

    fn take(&mut self, number: usize) {
        let mut written = 0;
        while let Some((chunk, left)) = self.queues[number].front_mut() {
            let taken = (*left).min(KERNEL_BYTES - self.kernel[number]);
            (self.kernel[number], written) = (self.kernel[number] + taken, written + taken);
            *left -= taken;
            if *left > 0 {
                break;
            }
            self.chunks[*chunk].1 -= 1;
            self.queues[number].pop_front();
        }
        if written > 0 {
            self.world.rib.written(PeerId(number as u32), written);
        }
    }

    fn held(&self) -> u64 {
        self.chunks.iter().filter(|(_, count)| *count > 0).map(|(octets, _)| octets).sum()
    }

    fn is_done(&self, but: &[usize]) -> bool {
        let is_empty = |at: usize| self.kernel[at] == 0 && self.queues[at].is_empty();
        (0..PEERS).all(|at| but.contains(&at) || is_empty(at))
    }

    /// Feeds a table while `read` says how many octets each peer reads in a step, until those
    /// who read have all of it.
    fn tell(&mut self, feed: &[u8], but: &[usize], read: impl Fn(usize, usize) -> u64) -> Cost {
        let mut cost = Cost::default();
        self.told.fill(0);
        let before = self.chunks.len();
        let mut messages = Messages::new(feed, 4_096).peekable();
        loop {
            let mut octets = 0;
            while let Some((_, message)) = messages.next_if(|_| octets < FEED_BYTES) {
                octets += message.len();
                self.world.rib.update(PeerId(0), message).expect("nothing offends");
            }
            self.work();
            for number in 0..PEERS {
                let octets = read(cost.steps, number).min(self.kernel[number]);
                self.kernel[number] -= octets;
                self.take(number);
            }
            cost.steps += 1;
            cost.cohorts_most = cost.cohorts_most.max(self.world.rib.counters().cohorts);
            cost.held_most = cost.held_most.max(self.held());
            assert!(cost.steps < STEPS_MAX, "it never settles: {cost:?}");
            if messages.peek().is_none() && self.is_done(but) && !self.world.work(20_000) {
                break;
            }
        }
        cost.encoded = self.chunks[before..].iter().map(|(octets, _)| octets).sum();
        cost.told_most = self.told.iter().copied().max().unwrap_or(0);
        cost
    }
}

/// How many octets a peer reads in a step: step, peer.
type Habit = fn(usize, usize) -> u64;

/// Ways to read a table, none of them steady.
const HABITS: [(&str, Habit); 5] = [
    ("all alike", |_, _| 64 << 10),
    ("one five times as fast as another", |_, at| (16 << 10) + 64 * at as u64),
    ("each nothing for a while, at another time", |step, at| {
        if (step + at * 7) % 400 < 150 { 0 } else { 64 << 10 }
    }),
    ("most nothing for a while, at the same time", |step, at| {
        if at % 10 < 6 && step % 300 < 150 { 0 } else { (32 << 10) + 32 * at as u64 }
    }),
    ("one after another, much at once", |step, at| {
        if (step * 40..step * 40 + 40).any(|turn| turn % PEERS == at) { 512 << 10 } else { 0 }
    }),
];

#[test]
fn a_table_for_a_thousand_is_encoded_once_however_they_read_it() {
    let bounds = Bounds::default();
    let mut crowd = Crowd::new(bounds);
    for (at, (name, habit)) in HABITS.iter().enumerate() {
        let table = table(at as u32);
        let cost = crowd.tell(&table, &[], habit);
        assert!(cost.encoded < TABLE_BYTES, "{name}: {cost:?}");
        assert!(cost.held_most <= bounds.behind_bytes, "{name}: {cost:?}");
    }
    let cost = crowd.tell(&table(100), &[7], |_, at| if at == 7 { 0 } else { 64 << 10 });
    assert!(cost.encoded < TABLE_BYTES, "one that reads nothing costs nothing: {cost:?}");
}

#[test]
fn a_group_that_falls_apart_is_told_little_more_and_holds_no_more_than_it_may() {
    let (chunk_bytes, cohorts_max) = (32 << 10, 8);
    let (behind_bytes, held_bytes) = (1 << 20, 4 << 20);
    let mut crowd = Crowd::new(Bounds {
        chunk_bytes,
        behind_bytes,
        held_bytes,
        cohorts_max,
        ..Bounds::default()
    });
    for (at, (name, habit)) in HABITS.iter().enumerate() {
        let table = table(at as u32);
        let cost = crowd.tell(&table, &[], habit);
        assert!(cost.cohorts_most < 2 * cohorts_max, "{name}: {cost:?}");
        assert!(cost.encoded < 20 * TABLE_BYTES, "{name}: {cost:?}");
        assert!(cost.told_most < TABLE_BYTES * 3 / 2, "{name}: {cost:?}");
        let held_most = held_bytes + PEERS as u64 * behind_bytes / 16;
        assert!(cost.held_most <= held_most, "{name}: {cost:?}");
    }
}

#[test]
fn many_that_read_nothing_while_routes_change_one_by_one_hold_no_more_than_they_may() {
    let (chunk_bytes, behind_bytes, held_bytes) = (512, 16 << 10, 4 << 20);
    let bounds = Bounds { chunk_bytes, behind_bytes, held_bytes, ..Bounds::default() };
    let mut crowd = Crowd::new(bounds);
    for number in 0..200 {
        for (_, message) in Messages::new(&routes(number..number + 1, 1, number), 4_096) {
            crowd.world.rib.update(PeerId(0), message).expect("nothing offends");
        }
        crowd.world.work(20_000);
        while let Some(sending) = crowd.world.rib.next_sending() {
            if sending.peer == PeerId(1) {
                crowd.world.rib.written(PeerId(1), sending.bytes.len() as u64);
            }
        }
    }
    let waiting = (0..PEERS as u32).map(|number| crowd.world.rib.waiting(PeerId(number)));
    let (most, sum) = waiting.fold((0, 0), |(most, sum), it| (it.max(most), sum + it));
    assert!(crowd.world.rib.held() >= sum, "short octets wait as copies");
    assert!(sum <= held_bytes + PEERS as u64 * behind_bytes / 16, "{sum}, of one {most}");
    assert_eq!(crowd.world.rib.waiting(PeerId(1)), 0, "who reads is told all");
}

#[test]
fn who_stalls_for_good_takes_nobody_back_however_many_cohorts_there_are() {
    let bounds = Bounds { behind_bytes: 1 << 20, cohorts_max: 2, ..Bounds::default() };
    let mut crowd = Crowd::new(bounds);
    for stalled in 0..8 {
        let but: Vec<usize> = (1..=stalled).collect();
        let reads = |_: usize, at: usize| if but.contains(&at) { 0 } else { 64 << 10 };
        let cost = crowd.tell(&table(stalled as u32), &but, reads);
        assert!(cost.told_most < TABLE_BYTES * 5 / 4, "{stalled} stall: {cost:?}");
        assert!(cost.encoded < 2 * TABLE_BYTES, "{stalled} stall: {cost:?}");
    }
}
