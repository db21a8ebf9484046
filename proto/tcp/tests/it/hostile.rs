//! Whoever guesses, and whoever sends nonsense.

use crate::world::{Draw, World};
use machine::{Duration, Time};
use tcp::{Connection, Flags, INCOMING_MAX, QUEUE_MAX, Segment, State, Why};

fn segment(seq: u32, ack: u32, flags: Flags) -> Segment<'static> {
    let (source, destination) = (5_062, 6_200);
    Segment { source, destination, seq, ack, flags, window: 1_000, mss: None, payload: &[] }
}

/// The numbers of an end: the next that it sends, the next that it waits for.
fn numbers(world: &mut World, at: usize) -> (u32, u32) {
    assert!(world.end(at).send(b"x"));
    let (now, mut octets) = (world.now, Vec::new());
    assert!(world.end(at).next(now, crate::world::ENDS, &mut octets));
    let it = Segment::read(&octets).unwrap();
    (it.seq.wrapping_add(1), it.ack)
}

#[test]
fn a_reset_or_a_syn_that_only_fits_the_window_is_challenged() {
    let mut world = World::new(9, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    let (nxt, wanted) = numbers(&mut world, 0);
    let now = world.now;
    for off in [1, 100, 60_000] {
        world.end(0).receive(now, &segment(wanted.wrapping_add(off), nxt, Flags::RST));
        assert_eq!(world.end(0).state(), State::Established);
        let mut octets = Vec::new();
        assert!(world.end(0).next(now, crate::world::ENDS, &mut octets), "a challenge leaves");
        world.end(0).receive(now, &segment(wanted.wrapping_add(off), nxt, Flags::SYN));
        assert_eq!(world.end(0).state(), State::Established);
    }
    let outside = wanted.wrapping_sub(1);
    world.end(0).receive(now, &segment(outside, nxt, Flags::RST));
    assert_eq!(world.end(0).state(), State::Established);
    world.end(0).receive(now, &segment(wanted, nxt, Flags::RST));
    assert_eq!(world.end(0).why(), Some(Why::Reset));
}

#[test]
fn what_nobody_has_sent_is_not_acknowledged() {
    let mut world = World::new(9, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    let (nxt, wanted) = numbers(&mut world, 0);
    let now = world.now;
    world.end(0).receive(now, &segment(wanted, nxt.wrapping_add(5), Flags::ACK));
    assert_eq!(world.end(0).waiting(), 1, "its octet still waits");
    world.end(0).receive(now, &segment(wanted, nxt, Flags::ACK));
    assert_eq!(world.end(0).waiting(), 0);
}

#[test]
fn a_refused_connection_and_an_old_answer_are_told_apart() {
    let mut end = Connection::open(Time::ZERO, (6_200, 5_062), 100, 1_200);
    let mut octets = Vec::new();
    assert!(end.next(Time::ZERO, crate::world::ENDS, &mut octets));
    end.receive(Time::ZERO, &segment(7, 99, Flags::SYN.and(Flags::ACK)));
    assert_eq!(end.state(), State::SynSent);
    octets.clear();
    assert!(end.next(Time::ZERO, crate::world::ENDS, &mut octets));
    assert!(Segment::read(&octets).unwrap().flags.has(Flags::RST), "the old one is ended");
    end.receive(Time::ZERO, &segment(0, 101, Flags::RST.and(Flags::ACK)));
    assert_eq!(end.why(), Some(Why::Reset));
}

#[test]
fn whatever_comes_memory_is_bounded_and_the_machine_stops() {
    for seed in 0..300 {
        let mut draw = Draw::new(seed);
        let mut world = World::new(seed, [0, 0, 0]);
        world.run(Duration::from_millis(draw.below(300)));
        let at = usize::from(world.ends[1].is_some());
        let payload = vec![7; 3_000];
        for _ in 0..200 {
            let near = [0, 1, u32::MAX, 60_000, draw.below(1 << 32) as u32];
            let pick = |draw: &mut Draw| near[draw.below(5) as usize];
            let it = Segment {
                source: 1,
                destination: 2,
                seq: pick(&mut draw),
                ack: pick(&mut draw),
                flags: Flags(draw.below(64) as u8),
                window: draw.below(1 << 16) as u16,
                mss: None,
                payload: &payload[..draw.below(3_000) as usize],
            };
            world.now += Duration::from_millis(draw.below(2_000));
            let now = world.now;
            let end = world.end(at);
            end.receive(now, &it);
            end.tick(now);
            let _ = end.send(&payload);
            if draw.below(50) == 0 {
                end.close();
            }
            world.leave(at);
            let end = world.end(at);
            assert!(end.incoming().len() <= INCOMING_MAX && end.waiting() <= QUEUE_MAX);
            assert!(end.deadline().is_none_or(|at| at + Duration::from_secs(100) > now));
        }
    }
}
