//! When data, acknowledgements, probes and heartbeats may leave: RFC 9260 §5.4, §6, §7, §8.
#![allow(clippy::needless_range_loop)]

use crate::world::{Link, World, address, kinds, packet_to};
use machine::{Duration, Time};
use sctp::codec::{Chunk, ChunkType, Data, DataFlags, Packet as Octets};
use sctp::{AssociationId, In, Outgoing, Parameters, Reliability, State};

const MS: Duration = Duration::from_millis(1);
const DATA: u8 = ChunkType::Data.number();
const HEARTBEAT: u8 = ChunkType::Heartbeat.number();

/// Two ends that have spoken once, so that nothing is the first any more.
fn spoken(parameters: Parameters, links: &[Link]) -> (World, [AssociationId; 2]) {
    let mut world = World::new(1, parameters, links);
    world.keeps_packets = true;
    let ids = world.up();
    world.send(0, ids[0], 0, vec![0]);
    world.run(1_000 * MS);
    (world, ids)
}

/// When `side` sent packets that begin with a chunk of that type.
fn times(world: &World, side: usize, path: usize, kind: u8) -> Vec<Time> {
    let it = world.sent.iter();
    let it = it.filter(|it| it.1 == side && it.2 == path && kinds(&it.3)[0] == kind);
    it.map(|it| it.0).collect()
}

/// Gap Ack Blocks and window of the last SACK that `side` sent, and the octets of its packet.
fn last_sack(world: &World, side: usize) -> (usize, u32, usize) {
    let sacks = world.sent.iter().filter(|it| it.1 == side);
    let mut found = sacks.filter_map(|it| {
        let raw = Octets::read(&it.3).unwrap().chunks().next()?.unwrap();
        match Chunk::read(&raw) {
            Ok(Chunk::Sack(sack)) => Some((sack.gaps.iter().count(), sack.a_rwnd, it.3.len())),
            _ => None,
        }
    });
    found.next_back().unwrap()
}

/// §7.2.3.
#[test]
fn after_a_time_out_one_packet_is_on_its_way_until_it_is_acknowledged() {
    let (mut world, ids) = spoken(Parameters::telecom(5), &[Link::perfect(5)]);
    world.links[0].is_cut = true;
    (0..60).for_each(|n| world.send(0, ids[0], 0, vec![n; 100]));
    world.run(20 * MS);
    world.sent.clear();
    for expected in 1..=3 {
        world.run(81 * MS * expected.min(2));
        let sent = times(&world, 0, 0, DATA);
        assert_eq!(sent.len(), expected as usize, "one a time-out: {sent:?}");
    }
    world.links[0].is_cut = false;
    world.run(5_000 * MS);
    assert_eq!(world.messages(1, 0).len(), 61);
}

/// §6.2: as many as the PMTU allows.
#[test]
fn a_sack_reports_as_many_gaps_as_fit_the_packet() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
    world.keeps_packets = true;
    world.up();
    let init = world.sent.iter().find(|it| kinds(&it.3) == [1]).unwrap().3.clone();
    let echo = world.sent.iter().find(|it| kinds(&it.3) == [10]).unwrap().3.clone();
    let tsn = u32::from_be_bytes(init[28..32].try_into().unwrap());
    let tag = Octets::read(&echo).unwrap().header.verification_tag;
    for n in 0..500u32 {
        let flags = DataFlags(DataFlags::BEGIN | DataFlags::END | DataFlags::UNORDERED);
        let tsn = tsn.wrapping_add(1 + 2 * n);
        let data = Data { flags, tsn, stream: 0, ssn: 0, ppid: 0, payload: b"x" };
        world.step(1, packet_to(1, tag, &[Chunk::Data(data)]));
    }
    let (gaps, _, bytes) = last_sack(&world, 1);
    assert_eq!(bytes, 1472, "an IP packet of 1500 less 28");
    assert_eq!(gaps, (1472 - 12 - 16) / 4);
}

/// §6.1 A.
#[test]
fn a_closed_window_is_probed_after_an_rto_and_then_less_and_less_often() {
    let mut parameters = Parameters::telecom(2);
    parameters.path.rto_max = Duration::from_secs(60);
    parameters.receive_buffer = 20_000;
    parameters.counts_unread = true;
    let (mut world, ids) = spoken(parameters, &[Link::perfect(10)]);
    world.step(1, In::Consume(ids[1], 1));
    world.sent.clear();
    (0..50).for_each(|n| world.send(0, ids[0], 0, vec![n; 1_000]));
    world.run(3_000 * MS);
    assert_eq!(last_sack(&world, 1).1, 0, "the window is closed");
    let closed = world.sent.iter().filter(|it| it.1 == 1).position(|it| {
        let raw = Octets::read(&it.3).unwrap().chunks().next().unwrap().unwrap();
        matches!(Chunk::read(&raw), Ok(Chunk::Sack(sack)) if sack.a_rwnd == 0)
    });
    let told = world.sent.iter().filter(|it| it.1 == 1).nth(closed.unwrap()).unwrap().0 + 10 * MS;
    let probes = times(&world, 0, 0, DATA).into_iter().filter(|at| *at >= told);
    let waits: Vec<Duration> = probes.map(|at| at - told).take(3).collect();
    assert!(waits[0] >= 80 * MS && waits[0] <= 100 * MS, "{waits:?}");
    assert!(waits[2] - waits[1] >= 2 * (waits[1] - waits[0]) - MS, "{waits:?}");
    assert_eq!(world.ends[0].status(ids[0]).unwrap().errors, 0, "a peer that answers is alive");
}

/// §8.3.
#[test]
fn heartbeats_end_with_the_shutdown() {
    let mut parameters = Parameters::telecom(9);
    parameters.path.hb_interval = Some(50 * MS);
    let (mut world, ids) = spoken(parameters, &[Link::perfect(10); 2]);
    world.links.iter_mut().for_each(|link| link.is_cut = true);
    world.sent.clear();
    world.step(0, In::Shutdown(ids[0]));
    assert_eq!(world.ends[0].status(ids[0]).unwrap().state, State::ShutdownSent);
    world.run(500 * MS);
    let beats: usize = (0..2).map(|path| times(&world, 0, path, HEARTBEAT).len()).sum();
    assert_eq!(beats, 0);
}

/// §8.1.
#[test]
fn heartbeats_lost_on_a_path_without_data_do_not_count_against_the_association() {
    let mut parameters = Parameters::telecom(2);
    parameters.association_max_retrans = 3;
    parameters.path.hb_interval = Some(100 * MS);
    let (mut world, ids) = spoken(parameters, &[Link::perfect(10); 2]);
    let quiet = sctp::PathParameters { hb_interval: None, ..parameters.path };
    world.step(0, In::SetPathParameters(ids[0], address(0, 1), quiet));
    world.links[1].is_cut = true;
    world.run(10_000 * MS);
    let status = world.ends[0].status(ids[0]).expect("the path of the data works");
    assert_eq!(status.errors, 0);
    assert_eq!(status.paths[1].errors, 3, "an inactive path counts no more (§8.3)");
}

/// §5.4.
#[test]
fn an_address_that_never_answers_is_asked_as_rarely_as_any_other() {
    let mut world = World::new(1, Parameters::telecom(2), &[Link::perfect(10); 2]);
    world.keeps_packets = true;
    world.links[1].is_cut = true;
    world.up();
    world.run(60_000 * MS);
    let beats = times(&world, 0, 1, HEARTBEAT).len();
    assert!((4..=6).contains(&beats), "{beats}");
}

/// §9.2: a peer that still sends is there, however long it takes.
#[test]
fn data_while_shutting_down_starts_the_count_of_time_outs_anew() {
    let mut parameters = Parameters::telecom(2);
    parameters.association_max_retrans = 2;
    parameters.path.rto_max = Duration::from_secs(10);
    let (mut world, ids) = spoken(parameters, &[Link::perfect(10)]);
    let init_ack = world.sent.iter().find(|it| kinds(&it.3) == [2]).unwrap().3.clone();
    let tag = Octets::read(&init_ack).unwrap().header.verification_tag;
    let tsn = u32::from_be_bytes(init_ack[28..32].try_into().unwrap());
    world.links[0].is_cut = true;
    world.step(0, In::Shutdown(ids[0]));
    for (n, wait) in [(0, 300), (1, 400)] {
        world.run(wait * MS);
        let flags = DataFlags(DataFlags::BEGIN | DataFlags::END);
        let (tsn, ssn) = (tsn.wrapping_add(n), n as u16);
        let data = Data { flags, tsn, stream: 0, ssn, ppid: 0, payload: b"x" };
        world.step(0, packet_to(0, tag, &[Chunk::Data(data)]));
    }
    assert_eq!(world.ends[0].status(ids[0]).map(|it| it.state), Some(State::ShutdownSent));
    world.run(10_000 * MS);
    assert_eq!(world.ends[0].status(ids[0]), None, "and then it is not there any more");
}

/// RFC 3758 §3.5 C4: numbers are skipped on more streams than one FORWARD-TSN can name.
#[test]
fn every_stream_goes_on_when_messages_are_given_up_on_more_of_them_than_fit_a_packet() {
    const STREAMS: u16 = 500;
    for is_interleaved in [false, true] {
        let mut parameters = Parameters::telecom(9);
        parameters.extensions.interleaving = is_interleaved;
        parameters.outbound_streams = STREAMS;
        parameters.max_burst = None;
        let (mut world, ids) = spoken(parameters, &[Link::perfect(10)]);
        world.keeps_packets = false;
        (0..40).for_each(|_| world.send(0, ids[0], 0, vec![1; 10_000]));
        world.run(3_000 * MS);
        let cwnd = world.ends[0].status(ids[0]).unwrap().paths[0].cwnd;
        assert!(cwnd > usize::from(STREAMS) * 40, "all of them leave at once: {cwnd}");
        world.links[0].is_cut = true;
        for stream in 0..STREAMS {
            let mut message = Outgoing::new(stream, 0, vec![2; 10].into());
            message.reliability = Reliability::Retransmissions(0);
            world.step(0, In::Send(ids[0], message));
        }
        world.run(70 * MS);
        world.links[0].is_cut = false;
        world.run(3_000 * MS);
        for stream in 0..STREAMS {
            world.send(0, ids[0], stream, vec![3; 10]);
        }
        world.run(3_000 * MS);
        for stream in 0..STREAMS {
            let last = world.messages(1, stream).pop();
            assert_eq!(last, Some(vec![3; 10]), "stream {stream} goes on");
        }
    }
}
