//! Far ends that do not exist, do not read, or do not go: what that costs, in connections that were
//! looked at and octets that are kept, and who is kept away by it (nobody).

use crate::world::{ACCEPTED, CONNECTIONS, HERE, PORT, TABLE, THERE, WAITING, World, open};
use crate::{SECOND, octets};
use bytes::Bytes;
use machine::Duration;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use streams::Event;
use tcp::{Flags, Segment};

/// Connections that are remembered before their far end has proved that it is there.
const BEGINNING: usize = 512;

fn syn(seq: u32) -> Segment<'static> {
    let (flags, window, mss) = (Flags::SYN, 9_000, Some(1_400));
    Segment { source: 0, destination: 0, seq, ack: 0, flags, window, mss, payload: &[] }
}

fn stranger(number: u32) -> IpAddr {
    Ipv4Addr::from(0x0a40_0000 + number).into()
}

/// So many SYNs, each of another stranger.
fn flood(world: &mut World, range: core::ops::Range<u32>) {
    for number in range {
        let ends = (SocketAddr::new(stranger(number), 5_000), SocketAddr::new(THERE, PORT));
        world.forge(1, ends, syn(number));
    }
}

#[test]
fn syns_of_a_whole_range_cost_a_few_looks_each_and_keep_nobody_away() {
    let mut world = World::new(11, 0);
    for id in 1..=3 {
        world.open(id, HERE, THERE, open());
    }
    world.run(SECOND);
    let before = world.ends[1].tally();
    flood(&mut world, 0..20_000);
    let after = world.ends[1].tally();
    let looks = after.looks - before.looks;
    assert!(looks <= 2 * BEGINNING as u64, "{looks} looks for 20,000 SYNs");
    assert_eq!(after.answered, 20_000 - BEGINNING as u64, "others are answered all the same");
    assert_eq!((world.ends[1].beginning(), world.ends[1].len()), (BEGINNING, BEGINNING + 3));
    // Who is there comes in, and carries octets; who is asked for here, too.
    world.open(4, HERE, THERE, open());
    let to = SocketAddr::new(stranger(50_000), PORT);
    world.ends[1].open(world.now, 7, (TABLE, THERE), to, open());
    for turn in 0..50 {
        flood(&mut world, 20_000 + 200 * turn..20_200 + 200 * turn);
        world.run(Duration::from_millis(10));
    }
    assert!(world.told[0].contains(&Event::Connected(4)));
    assert_eq!(world.ends[1].tally().proven, 1);
    assert!(!world.told[1].iter().any(|it| matches!(it, Event::Closed(..))), "nobody makes way");
    let payload = vec![7; 100_000];
    world.ends[0].write(4, &payload);
    world.run(SECOND * 60);
    assert_eq!(octets(&world.told[1]), payload);
    assert_eq!(world.ends[1].beginning(), 0, "what nobody follows up is forgotten");
}

#[test]
fn syns_in_the_name_of_a_peer_do_not_keep_it_away() {
    let mut world = World::new(12, 0);
    let forged = |world: &mut World, number: u16| {
        let ends = (SocketAddr::new(HERE, 1_000 + number), SocketAddr::new(THERE, PORT));
        world.forge(1, ends, syn(number.into()));
    };
    (0..100).for_each(|number| forged(&mut world, number));
    assert_eq!(world.ends[1].beginning(), 4);
    world.open(1, HERE, THERE, open());
    for number in 100..5_100 {
        forged(&mut world, number);
        world.run(Duration::from_micros(200));
    }
    assert!(world.told[0].contains(&Event::Connected(1)));
    assert!(matches!(world.told[1][..], [Event::Accepted(_)]), "and it alone");
}

#[test]
fn an_acknowledgment_that_nobody_was_asked_for_is_no_connection() {
    let mut world = World::new(13, 0);
    let ends = (SocketAddr::new(HERE, 1_000), SocketAddr::new(THERE, PORT));
    let guess = |world: &mut World| {
        for number in 0..10_000_u32 {
            let (ack, flags) = (number.wrapping_mul(0x9e37_79b9), Flags::ACK);
            world.forge(1, ends, Segment { ack, flags, ..syn(8) });
        }
    };
    guess(&mut world);
    flood(&mut world, 0..2_000);
    guess(&mut world);
    assert_eq!((world.ends[1].tally().proven, world.told[1].len()), (0, 0));
}

#[test]
fn a_syn_of_a_stranger_does_not_disturb_who_is_being_connected_to() {
    for seed in 0..20 {
        let mut world = World::new(seed, 100);
        world.open(1, HERE, THERE, open());
        world.run(Duration::ZERO);
        let own = world.ends[0].ends(1).map(|it| it.own);
        let ends = (SocketAddr::new(THERE, PORT), own.expect("it is there"));
        for number in 0..1_000 {
            world.forge(0, ends, syn(number));
            world.run(Duration::from_millis(1));
        }
        world.run(SECOND * 29);
        assert!(world.told[0].contains(&Event::Connected(1)), "seed {seed}");
    }
}

#[test]
fn what_waits_for_all_is_bounded_and_whoever_has_most_of_it_is_given_up() {
    let mut world = World::new(14, 0);
    for id in 1..=3 {
        world.open(id, HERE, THERE, open());
    }
    world.run(SECOND);
    world.told[0].clear();
    // The far end takes nothing: nothing passes any more.
    for (id, size) in [(1, 400_000), (2, 1_500_000), (3, 100_000)] {
        world.ends[0].write(id, &vec![1; size]);
    }
    world.ends[0].write(3, &vec![1; 200_000]);
    let tally = world.ends[0].tally();
    assert_eq!((tally.relieved, world.ends[0].waiting()), (1, 700_000));
    // What others have, too, is bounded by whoever has it.
    let piece = Bytes::from(vec![1; WAITING]);
    world.ends[0].write_shared(1, piece.clone());
    world.ends[0].write_shared(3, piece);
    assert_eq!(world.ends[0].tally().relieved, 1);
    world.run(SECOND * 120);
    let closed = |it: &&Event<u32>| matches!(it, Event::Closed(..));
    let closed: Vec<_> = world.told[0].iter().filter(closed).collect();
    assert_eq!(closed, [&Event::Closed(2, Some(tcp::Why::Aborted))]);
    assert_eq!(octets(&world.told[1]).len(), 700_000 + 2 * WAITING);
    assert_eq!(world.ends[0].waiting(), 0);
}

/// A stranger connects from a port.
fn connect(world: &mut World, from: (IpAddr, u16)) {
    let ends = (SocketAddr::from(from), SocketAddr::new(THERE, PORT));
    world.forge(1, ends, syn(9));
    let answer = world.last.clone();
    let answer = Segment::read(&answer).expect("it was answered");
    let (seq, ack, flags) = (10, answer.seq.wrapping_add(1), Flags::ACK);
    world.forge(1, ends, Segment { seq, ack, flags, ..syn(9) });
}

#[test]
fn connections_that_are_closed_make_way_for_others_of_their_far_end() {
    let mut world = World::new(17, 0);
    for number in 0..20_u16 {
        connect(&mut world, (stranger(1), 5_000 + number));
        let id = world.told[1].iter().rev().find_map(|it| match it {
            Event::Accepted(id) => Some(*id),
            _ => None,
        });
        assert_eq!(world.told[1].len(), usize::from(number) + 1, "{:?}", world.told[1]);
        world.ends[1].close(world.now, id.expect("it stands"));
        world.run(Duration::ZERO);
        assert!(world.ends[1].len() <= 4, "it has no more than its share");
    }
    // What stands does not, and a SYN alone ends nothing.
    let mut world = World::new(18, 0);
    (0..8).for_each(|number| connect(&mut world, (stranger(1), 5_000 + number)));
    assert_eq!((world.ends[1].len(), world.told[1].len()), (4, 4));
    world.ends[1].close(world.now, ACCEPTED + 1);
    world.run(Duration::ZERO);
    let ends = (SocketAddr::new(stranger(1), 9_000), SocketAddr::new(THERE, PORT));
    world.forge(1, ends, syn(9));
    assert!(world.ends[1].ends(ACCEPTED + 1).is_some(), "it is closing yet");
}

#[test]
fn connections_that_are_closed_make_way_for_others_before_their_far_end_agrees() {
    let mut world = World::new(15, 0);
    for number in 0..3 * CONNECTIONS as u32 {
        connect(&mut world, (stranger(number), 5_000));
        let id = ACCEPTED + number + 1;
        assert_eq!(world.told[1].last(), Some(&Event::Accepted(id)), "{number}");
        world.ends[1].close(world.now, id);
        world.run(Duration::ZERO);
        assert!(world.ends[1].len() <= CONNECTIONS);
    }
    // What stands does not.
    let mut world = World::new(16, 0);
    (0..2 * CONNECTIONS as u32).for_each(|it| connect(&mut world, (stranger(it), 5_000)));
    assert_eq!((world.ends[1].len(), world.told[1].len()), (CONNECTIONS, CONNECTIONS));
}
