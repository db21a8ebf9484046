//! Two addresses a node, a pipe of its own between each pair: what is sent on one path does not
//! wait for the other, and a cut concerns its path alone.

use link::{Change, Pipe, PipeSpec, Schedule};
use machine::{Duration, Time};
use sim::{LinkSpec, Node, Outbox, World};
use std::net::SocketAddr;

const PERIOD: Duration = Duration::from_millis(10);

/// Sends a number from each of its addresses every ten milliseconds.
struct Source {
    pairs: Vec<(SocketAddr, SocketAddr)>,
    next: Time,
    number: u8,
}

/// Notes what came, when, and to which address.
#[derive(Default)]
struct Sink(Vec<(Time, SocketAddr, u8)>);

impl Node for Source {
    fn receive(&mut self, _: Time, _: SocketAddr, _: SocketAddr, _: &[u8], _: &mut Outbox) {}

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        for &(from, to) in &self.pairs {
            out.send(from, to, [self.number]);
        }
        self.number += 1;
        self.next = now + PERIOD;
    }

    fn deadline(&self) -> Option<Time> {
        (self.number < 100).then_some(self.next)
    }
}

impl Node for Sink {
    fn receive(&mut self, now: Time, _: SocketAddr, to: SocketAddr, bytes: &[u8], _: &mut Outbox) {
        self.0.push((now, to, bytes[0]));
    }

    fn tick(&mut self, _: Time, _: &mut Outbox) {}

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn address(path: u8, end: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, path, end], 2905))
}

#[test]
fn each_path_has_its_own_delay_and_a_cut_concerns_one_alone() {
    let mut world = World::new(1, LinkSpec::perfect(Duration::from_secs(5)), Time::ZERO);
    let pairs: Vec<_> = (1..=3).map(|path| (address(path, 1), address(path, 2))).collect();
    let ours: Vec<_> = pairs.iter().map(|pair| pair.0).collect();
    let theirs: Vec<_> = pairs.iter().map(|pair| pair.1).collect();
    world.add(Source { pairs: pairs.clone(), next: Time::ZERO, number: 0 }, &ours);
    let sink = world.add(Sink::default(), &theirs);
    let cut =
        [(Duration::from_millis(205), Change::Cut), (Duration::from_millis(505), Change::Heal)];
    let mut lay = |path: usize, delay_ms: u64, changes: &[(Duration, Change)]| {
        let spec = PipeSpec::delayed(Duration::from_millis(delay_ms));
        let pipe = Pipe::new(7, spec, Schedule::new(Time::ZERO, changes));
        world.lay(pairs[path].0.ip(), pairs[path].1.ip(), pipe)
    };
    let (first, second) = (lay(0, 10, &cut), lay(1, 25, &[]));
    world.run_until(Time::from_millis(700));
    world.change(second, Change::Cut);
    world.run_until(Time::from_millis(10_000));
    let sink = world.node::<Sink>(sink).expect("it was put there");
    let came = |path: u8| -> Vec<(u64, u8)> {
        let own = sink.0.iter().filter(|(_, to, _)| *to == address(path, 2));
        own.map(|(at, _, number)| (at.as_millis(), *number)).collect()
    };
    let sent = |numbers: std::ops::Range<u8>, delay_ms: u64| {
        numbers.map(move |number| (10 * u64::from(number) + delay_ms, number))
    };
    assert!(came(1).into_iter().eq(sent(0..21, 10).chain(sent(51..100, 10))));
    assert!(came(2).into_iter().eq(sent(0..71, 25)));
    assert!(came(3).into_iter().eq(sent(0..100, 5_000)), "without a pipe: the world's link");
    assert_eq!((world.pipe_counts(first).cut, world.pipe_counts(second).cut), (30, 29));
}
