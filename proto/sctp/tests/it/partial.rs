//! Messages that are given in parts, before they have come whole (RFC 9260 §6.9, RFC 6458 §8.1.21).

use crate::world::{Link, World};
use machine::Duration;
use sctp::{AssociationId, In, Indication, Outgoing, Parameters, Part, Reliability};

const MS: Duration = Duration::from_millis(1);
const POINT: u32 = 5_000;

fn in_parts() -> Parameters {
    let mut parameters = Parameters::telecom(2);
    parameters.partial_delivery_point = Some(POINT);
    parameters.association_max_retrans = 100;
    parameters
}

/// The parts that the second side was told: stream, unordered, which, octets.
fn parts(world: &World) -> Vec<(u16, bool, Part, usize)> {
    let told = world.told(1).filter_map(|what| match what {
        Indication::DataPart(it, part) => {
            Some((it.stream, it.is_unordered, *part, it.payload.len()))
        }
        _ => None,
    });
    told.collect()
}

fn pattern(octets: usize, first: u8) -> Vec<u8> {
    (0..octets).map(|at| first.wrapping_add((at % 251) as u8)).collect()
}

fn send(world: &mut World, id: AssociationId, is_unordered: bool, (stream, bytes): (u16, &[u8])) {
    let mut message = Outgoing::new(stream, 7, bytes.to_vec().into());
    message.is_unordered = is_unordered;
    let mut out = Vec::new();
    world.ends[0].step(world.now, In::Send(id, message), &mut out);
    world.take(0, out);
}

#[test]
fn a_message_longer_than_the_receive_buffer_comes_in_parts_and_little_of_it_is_held() {
    for (is_interleaved, is_unordered) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let mut parameters = in_parts();
        parameters.receive_buffer = 20_000;
        parameters.extensions.interleaving = is_interleaved;
        let mut world = World::new(3, parameters, &[Link::perfect(10)]);
        let ids = world.up();
        let long = pattern(200_000, 1);
        send(&mut world, ids[0], is_unordered, (4, &long));
        send(&mut world, ids[0], is_unordered, (4, b"short"));
        for _ in 0..1_000 {
            world.run(10 * MS);
            let held = world.ends[1].status(ids[1]).unwrap().held;
            assert!(held <= 20_000, "{held} octets are held");
        }
        assert_eq!(world.messages(1, 4), [long, b"short".to_vec()]);
        let parts = parts(&world);
        let (last, before) = parts.split_last().unwrap();
        assert_eq!((before[0].2, last.2), (Part::First, Part::Last));
        assert!(before[1..].iter().all(|part| part.2 == Part::Middle));
        assert!(before.iter().all(|part| part.3 >= POINT as usize) && before.len() > 10);
        assert!(parts.iter().all(|part| (part.0, part.1) == (4, is_unordered)));
    }
}

#[test]
fn without_a_point_and_below_it_messages_come_whole() {
    for point in [None, Some(9_000)] {
        let parameters = Parameters { partial_delivery_point: point, ..in_parts() };
        let mut world = World::new(3, parameters, &[Link::perfect(10)]);
        let ids = world.up();
        let message = pattern(9_000, 1);
        send(&mut world, ids[0], false, (0, &message));
        world.run(2_000 * MS);
        assert_eq!(world.messages(1, 0), [message]);
        assert_eq!(parts(&world), []);
    }
}

#[test]
fn with_i_data_several_streams_come_in_parts_at_once_and_each_keeps_its_order() {
    let mut parameters = in_parts();
    parameters.extensions.interleaving = true;
    let mut link = Link::perfect(10);
    (link.loss, link.duplicate) = (0.05, 0.05);
    let mut world = World::new(3, parameters, &[link]);
    let ids = world.up();
    world.step(0, In::SetScheduler(ids[0], sctp::Scheduler::RoundRobin));
    let long = |stream: u16, number: u8| pattern(40_000, stream as u8 * 50 + number);
    for number in 0..2 {
        for stream in 0..3 {
            send(&mut world, ids[0], stream == 2, (stream, &long(stream, number)));
        }
    }
    world.run(60_000 * MS);
    for stream in 0..3 {
        let mut messages = world.messages(1, stream);
        if stream == 2 {
            messages.sort(); // they are unordered
        }
        assert_eq!(messages, [long(stream, 0), long(stream, 1)], "stream {stream}");
    }
    let streams: Vec<u16> = parts(&world).iter().map(|part| part.0).collect();
    let changes = streams.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes > 10, "they come by turns: {streams:?}");
}

#[test]
fn the_end_of_a_message_that_was_given_up_is_told_and_the_stream_goes_on() {
    for is_interleaved in [false, true] {
        let mut parameters = in_parts();
        parameters.extensions.interleaving = is_interleaved;
        parameters.max_burst = None;
        let mut world = World::new(3, parameters, &[Link::perfect(10)]);
        let ids = world.up();
        let mut message = Outgoing::new(1, 7, pattern(300_000, 1).into());
        message.reliability = Reliability::Until(world.now + 150 * MS);
        world.step(0, In::Send(ids[0], message));
        world.run(100 * MS);
        assert_eq!(parts(&world)[0].2, Part::First);
        world.links[0].is_cut = true;
        world.run(100 * MS);
        world.links[0].is_cut = false;
        send(&mut world, ids[0], false, (1, b"after it"));
        world.run(10_000 * MS);
        let aborted = Indication::PartialDeliveryAborted(1, false);
        assert_eq!(world.told(1).filter(|it| **it == aborted).count(), 1);
        assert_eq!(world.messages(1, 1), [b"after it"]);
        let status = world.ends[1].status(ids[1]).unwrap();
        assert_eq!(status.held, 0);
    }
}

#[test]
fn parts_that_the_user_has_not_taken_count_against_the_window() {
    let mut parameters = in_parts();
    parameters.receive_buffer = 20_000;
    parameters.counts_unread = true;
    let mut world = World::new(3, parameters, &[Link::perfect(10)]);
    let ids = world.up();
    let long = pattern(100_000, 1);
    send(&mut world, ids[0], false, (0, &long));
    let mut taken = 0;
    for _ in 0..200 {
        world.run(Duration::from_millis(500));
        let given: usize = parts(&world).iter().map(|part| part.3).sum();
        // What has begun to gather when the window closes comes to one part more.
        let most = 20_000 + POINT as usize + 1_500;
        assert!(given - taken <= most, "{given} given, {taken} taken");
        world.step(1, In::Consume(ids[1], (given - taken) as u32));
        taken = given;
    }
    assert_eq!(world.messages(1, 0), [long]);
}
