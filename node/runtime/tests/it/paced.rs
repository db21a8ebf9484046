//! Paced streams on real sockets: shared pieces, pacing by what the kernel took, several shards.
#![allow(clippy::expect_used, reason = "a test says no by panicking")]

use crate::feeder::{Plan, Sink, launch, octets_of, spec, stream_octet};
use machine::Duration;
use runtime::*;
use std::net::TcpListener;

#[test]
fn owned_and_shared_pieces_arrive_in_order_and_each_octet_is_told_once() {
    let plan = Plan { octets: 24 << 20, window: 1 << 20, ..Plan::default() };
    let (running, told) = launch(spec(1), plan);
    let mut sink = Sink::connect(running.local_addr(PortId(0)), 4_096);
    sink.expect(24 << 20);
    let (octets, left, waited) = told.written_until(24 << 20);
    assert_eq!((octets, left), (24 << 20, 0));
    assert!(waited, "some of it waited in the runtime");
    assert_eq!(told.sum(&running, RuntimeMetric::SendShed), 0);
}

#[test]
fn what_goes_to_a_connection_of_another_shard_arrives_whole_and_is_told_to_the_owner() {
    let plan = Plan { octets: 6 << 20, window: 1 << 20, ..Plan::default() };
    let (running, told) = launch(spec(3), plan);
    let to = running.local_addr(PortId(0));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let mut sink = Sink::connect(to, 65_536);
                sink.expect(6 << 20);
                sink
            })
        })
        .collect();
    // A connection that is gone is told nothing more: they stay.
    let _sinks: Vec<Sink> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let (octets, left, _) = told.written_until(8 * (6 << 20));
    assert_eq!((octets, left), (8 * (6 << 20), 0));
    assert_eq!(told.shards(), [0], "the owner is told, nobody else");
    assert_eq!(told.sum(&running, RuntimeMetric::RingShed), 0);
}

#[test]
fn a_reader_that_stops_costs_no_more_than_its_window_and_gets_all_of_it_later() {
    let plan = Plan { octets: 32 << 20, window: 256 << 10, ..Plan::default() };
    let (running, told) = launch(spec(1), plan);
    let mut sink = Sink::connect(running.local_addr(PortId(0)), 4_096);
    std::thread::sleep(Duration::from_millis(300));
    let before = told.sum(&running, RuntimeMetric::Queued);
    assert!(before > 0 && before <= 256 << 10, "{before} octets wait");
    let turns = told.turns(&running);
    std::thread::sleep(Duration::from_millis(300));
    assert!(told.turns(&running) - turns < 5, "it costs no turn");
    sink.expect(32 << 20);
    assert_eq!(told.written_until(32 << 20).1, 0);
}

#[test]
fn whoever_passes_the_limit_loses_the_connection_with_a_reason_and_nothing_from_its_middle() {
    let mut spec = spec(1);
    spec.ports[0].stream_mut().unwrap().queue_bytes_max = Some(300_000);
    let plan = Plan { octets: 64 << 20, window: usize::MAX, ..Plan::default() };
    let (running, told) = launch(spec, plan);
    let mut sink = Sink::connect(running.local_addr(PortId(0)), 4_096);
    let (_, why) = told.down();
    assert_eq!(why, "more waits for the far end than its queue may hold");
    let got = sink.rest();
    assert!(got.iter().enumerate().all(|(at, &octet)| octet == stream_octet(at)));
    assert_eq!(told.sum(&running, RuntimeMetric::SendShed), 0);
}

#[test]
fn what_was_sent_before_the_connection_stood_goes_first_and_is_told() {
    let (running, told) = launch(spec(1), Plan { octets: 0, ..Plan::default() });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = listener.local_addr().unwrap();
    told.speak(&running, "127.0.0.1", remote, 300_000);
    let mut sink = Sink::of(listener.accept().unwrap().0);
    sink.expect(300_000);
    let (octets, left, _) = told.written_until(300_000);
    assert_eq!((octets, left), (300_000, 0));
}

#[test]
fn connections_leave_from_the_address_of_their_flow_and_are_told_from_accepted_ones() {
    let (running, told) = launch(spec(1), Plan { octets: 0, ..Plan::default() });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = listener.local_addr().unwrap();
    let listening = running.local_addr(PortId(0)).port();
    let mut open = Vec::new();
    for local in ["127.0.0.2", "127.0.0.3"] {
        told.speak(&running, local, remote, 10);
        let (stream, from) = listener.accept().unwrap();
        assert_eq!(from.ip().to_string(), local);
        let flow = told.up();
        assert_eq!((flow.local, flow.remote), (from, remote));
        assert_ne!(flow.local.port(), listening, "we opened it");
        open.push(stream);
    }
    let accepted = Sink::connect(running.local_addr(PortId(0)), 65_536);
    assert_eq!(told.up().local.port(), listening, "the far end opened it");
    drop((open, accepted));
}

#[test]
fn a_connection_may_stand_without_a_word_for_ever() {
    let mut spec = spec(1);
    spec.streams.idle_timeout = Duration::MAX;
    spec.streams.stall_timeout = Duration::MAX;
    let (running, told) = launch(spec, Plan { octets: 0, ..Plan::default() });
    let mut sink = Sink::connect(running.local_addr(PortId(0)), 65_536);
    told.up();
    std::thread::sleep(Duration::from_millis(100));
    sink.say(&[1, 2, 3]);
    assert_eq!(told.message().1, octets_of(&[1, 2, 3]));
    assert_eq!(told.sum(&running, RuntimeMetric::TimedOut), 0);
}

#[test]
fn messages_for_a_shard_that_is_behind_wait_with_their_sender_and_none_is_lost() {
    // More than a ring holds: 1,024 batches of what one read gives.
    const MESSAGES: usize = 3_000;
    let plan = Plan { octets: 0, sleep: Duration::from_millis(1_500), ..Plan::default() };
    let (running, told) = launch(spec(2), plan);
    let to = running.local_addr(PortId(0));
    let threads: Vec<_> = (0..4u8)
        .map(|sender| {
            std::thread::spawn(move || {
                let mut sink = Sink::connect(to, 65_536);
                for n in 0..MESSAGES {
                    let mut payload = vec![sender; 60_000];
                    payload[1..5].copy_from_slice(&(n as u32).to_be_bytes());
                    sink.say(&payload);
                }
                sink
            })
        })
        .collect();
    let mut next = [0u32; 4];
    for _ in 0..4 * MESSAGES {
        let (shard, message) = told.message();
        let sender = &mut next[usize::from(message[4])];
        assert_eq!((shard, &message[5..9]), (0, &sender.to_be_bytes()[..]));
        *sender += 1;
    }
    assert_eq!(next, [MESSAGES as u32; 4]);
    assert_eq!(told.sum(&running, RuntimeMetric::RingShed), 0);
    drop(threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>());
}
