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
fn a_syn_before_the_answer_to_ours_is_answered_and_changes_nothing() {
    let now = Time::ZERO;
    let mut end = Connection::open(now, (6_200, 5_062), 100, 1_200);
    let mut octets = Vec::new();
    let mut next = |end: &mut Connection| {
        octets.clear();
        let leaves = end.next(now, crate::world::ENDS, &mut octets);
        leaves.then(|| {
            let it = Segment::read(&octets).unwrap();
            (it.seq, it.ack, it.flags)
        })
    };
    let both = Flags::SYN.and(Flags::ACK);
    assert_eq!(next(&mut end), Some((100, 0, Flags::SYN)));
    let answers = (0..1_000).filter(|number| {
        end.receive(now, &segment(*number, 0, Flags::SYN));
        assert_eq!(end.state(), State::SynSent);
        let answer = next(&mut end);
        assert!(answer.is_none_or(|it| it == (100, number + 1, both)));
        answer.is_some()
    });
    assert_eq!(answers.count(), 10, "and that not for ever");
    // It is neither ended nor begun by who does not know our number.
    end.receive(now, &segment(1_000, 0, Flags::RST));
    end.receive(now, &segment(1_000, 99, Flags::ACK));
    assert_eq!(
        (end.state(), next(&mut end).map(|it| it.2)),
        (State::SynSent, Some(Flags::RST.and(Flags::ACK)))
    );
    end.receive(now, &segment(7_000, 101, both));
    assert_eq!((end.state(), next(&mut end)), (State::Established, Some((101, 7_001, Flags::ACK))));
}

#[test]
fn a_connection_goes_on_from_an_answer_that_nobody_remembers() {
    let now = Time::ZERO;
    let answer = segment(7, 0, Flags::SYN).answer(1_000, 1_200);
    assert_eq!((answer.seq, answer.ack, answer.mss), (1_000, 8, Some(1_200)));
    for flags in [Flags::SYN, Flags::RST, Flags::SYN.and(Flags::ACK), Flags::PSH] {
        assert!(Connection::proven(now, &segment(8, 1_001, flags), (1_200, 536)).is_none());
    }
    // The acknowledgment itself may be lost: what comes next says as much.
    for payload in [&b""[..], b"octets"] {
        let ack = Segment { payload, ..segment(8, 1_001, Flags::ACK) };
        let mut end = Connection::proven(now, &ack, (1_200, 536)).unwrap();
        assert_eq!((end.state(), &end.incoming()[..]), (State::Established, payload));
        assert!(end.send(&[1; 2_000]));
        let mut octets = Vec::new();
        assert!(end.next(now, crate::world::ENDS, &mut octets));
        let it = Segment::read(&octets).unwrap();
        assert_eq!((it.seq, it.ack, it.payload.len()), (1_001, 8 + payload.len() as u32, 536));
        assert_eq!(it.source, 6_200);
    }
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

/// What an end has to say, each segment's number, octets and flags.
fn said(world: &mut World, at: usize) -> Vec<(u32, usize, Flags)> {
    let (now, mut found) = (world.now, Vec::new());
    loop {
        let mut octets = Vec::new();
        if !world.end(at).next(now, crate::world::ENDS, &mut octets) {
            return found;
        }
        let it = Segment::read(&octets).unwrap();
        found.push((it.seq, it.payload.len(), it.flags));
    }
}

#[test]
fn a_fin_whose_acknowledgment_comes_after_a_timeout_is_not_sent_under_another_number() {
    let mut world = World::new(9, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    let (first, wanted) = numbers(&mut world, 0);
    let it = Segment { window: 60_000, ..segment(wanted, first, Flags::ACK) };
    let now = world.now;
    world.end(0).receive(now, &it);
    assert!(world.end(0).send(&[7; 3_000]));
    world.end(0).close();
    let left = said(&mut world, 0);
    assert!(left.last().unwrap().2.has(Flags::FIN), "{left:?}");
    world.now += Duration::from_secs(5);
    let now = world.now;
    world.end(0).tick(now);
    let again = said(&mut world, 0);
    assert_eq!(again.len(), 1, "one segment: {again:?}");
    // The far end had everything all the while.
    let all = first.wrapping_add(3_001);
    world.end(0).receive(now, &Segment { ack: all, ..it });
    assert_eq!(world.end(0).state(), State::FinWait2);
    assert_eq!(said(&mut world, 0), []);
}

#[test]
fn who_acknowledges_nothing_new_behind_an_open_window_is_given_up_and_behind_a_closed_one_not() {
    for (window, is_over) in [(1_000, true), (0, false)] {
        let mut world = World::new(9, [0, 0, 0]);
        world.run(Duration::from_secs(1));
        let (nxt, wanted) = numbers(&mut world, 0);
        let it = segment(wanted, nxt.wrapping_sub(1), Flags::ACK);
        assert!(world.end(0).send(&[7; 3_000]));
        for _ in 0..600 {
            let now = world.now;
            world.end(0).receive(now, &Segment { window, ..it });
            world.end(0).tick(now);
            said(&mut world, 0);
            world.now += Duration::from_secs(1);
        }
        let why = is_over.then_some(Why::Silence);
        assert_eq!(world.end(0).why(), why, "{window}");
    }
}

#[test]
fn what_fits_no_window_is_answered_ten_times_a_second() {
    let mut world = World::new(9, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    let (nxt, wanted) = numbers(&mut world, 0);
    for second in 1..=2 {
        let mut answers = 0;
        for flags in [Flags::ACK, Flags::SYN, Flags::RST].into_iter().cycle().take(60) {
            let off = if flags == Flags::RST { 100 } else { u32::MAX };
            let now = world.now;
            let it = segment(wanted.wrapping_add(off), nxt, flags);
            world.end(0).receive(now, &it);
            answers += said(&mut world, 0).len();
        }
        assert_eq!(answers, 10, "{second}");
        world.now += Duration::from_secs(1);
    }
}

#[test]
fn an_acknowledgment_of_long_ago_brings_nothing_with_it() {
    let mut world = World::new(9, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    let (nxt, wanted) = numbers(&mut world, 0);
    let now = world.now;
    for (back, taken) in [(1 << 30, 0), (100_000, 0), (1, 3)] {
        let it = segment(wanted, nxt.wrapping_sub(back), Flags::ACK);
        world.end(0).receive(now, &Segment { payload: b"abc", ..it });
        assert_eq!(world.end(0).incoming().len(), taken, "{back}");
    }
}

#[test]
fn who_acknowledges_something_older_than_our_syn_is_reset() {
    let syn = Segment { mss: Some(1_200), ..segment(50, 0, Flags::SYN) };
    let mut end = Connection::accept(Time::ZERO, &syn, 100, 1_200).unwrap();
    let mut octets = Vec::new();
    assert!(end.next(Time::ZERO, crate::world::ENDS, &mut octets));
    for ack in [100, 99, 102] {
        end.receive(Time::ZERO, &segment(51, ack, Flags::ACK));
        octets.clear();
        assert!(end.next(Time::ZERO, crate::world::ENDS, &mut octets), "{ack}");
        let reset = Segment::read(&octets).unwrap();
        assert!(reset.flags.has(Flags::RST) && reset.seq == ack, "{ack}");
        assert_eq!(end.state(), State::SynReceived);
    }
    end.receive(Time::ZERO, &segment(51, 101, Flags::ACK));
    assert_eq!(end.state(), State::Established);
}

#[test]
fn a_window_that_opens_by_a_few_octets_is_not_followed_and_one_that_was_closed_is_used_at_once() {
    let mut world = World::new(9, [0, 0, 0]);
    world.run(Duration::from_secs(1));
    let (first, wanted) = numbers(&mut world, 0);
    let now = world.now;
    let ack = |ack, window| Segment { window, ..segment(wanted, ack, Flags::ACK) };
    world.end(0).receive(now, &ack(first, 2_400));
    assert!(world.end(0).send(&vec![7; 20_000]));
    let octets = |left: Vec<(u32, usize, Flags)>| left.iter().map(|it| it.1).sum::<usize>();
    assert_eq!(octets(said(&mut world, 0)), 2_400);
    for few in 1..20 {
        // It takes what it has, and ten octets more each time.
        world.end(0).receive(now, &ack(first.wrapping_add(few * 10), 2_400));
        assert_eq!(octets(said(&mut world, 0)), 0, "{few}");
    }
    world.end(0).receive(now, &ack(first.wrapping_add(2_400), 2_400));
    assert_eq!(octets(said(&mut world, 0)), 2_400, "with none on its way all that fits leaves");
    world.end(0).receive(now, &ack(first.wrapping_add(4_800), 0));
    for _ in 0..60 {
        world.now += Duration::from_secs(1);
        let now = world.now;
        world.end(0).tick(now);
        if octets(said(&mut world, 0)) > 0 {
            world.end(0).receive(now, &ack(first.wrapping_add(4_800), 0));
        }
    }
    let now = world.now;
    world.end(0).tick(now + Duration::from_secs(60));
    assert_eq!(octets(said(&mut world, 0)), 1, "a probe");
    world.end(0).receive(now, &ack(first.wrapping_add(4_800), 2_400));
    let left = said(&mut world, 0);
    assert_eq!((left[0].0, octets(left)), (first.wrapping_add(4_800), 2_400));
}
