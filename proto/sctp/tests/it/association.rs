//! Set-up, transfer, end: what each side must do, by the sections of RFC 9260.
#![allow(clippy::needless_range_loop)]

use crate::world::{self, Link, SERVER_PORT, World, address, kinds, packet_to};
use bytes::Bytes;
use machine::{Duration, Time};
use sctp::codec::{Chunk, ChunkType, Header, Packet as Octets, seal};
use sctp::{
    Endpoint, Failure, In, Indication, Lost, Out, Outgoing, Packet, Parameters, PathState,
    Reconfiguration, Reliability, Request, State,
};

const MS: Duration = Duration::from_millis(1);

fn numbered(count: u32, bytes: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| [&n.to_be_bytes()[..], &vec![n as u8; bytes]].concat()).collect()
}

#[test]
fn four_packets_set_an_association_up_and_both_addresses_are_confirmed() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10); 2]);
    world.keeps_packets = true;
    let ids = world.up();
    let first: Vec<u8> = world.sent.iter().take(4).map(|(.., it)| kinds(it)[0]).collect();
    let [init, init_ack] = [ChunkType::Init.number(), ChunkType::InitAck.number()];
    assert_eq!(
        first,
        [init, init_ack, ChunkType::CookieEcho.number(), ChunkType::CookieAck.number()]
    );
    world.run(3000 * MS);
    for side in 0..2 {
        let status = world.ends[side].status(ids[side]).unwrap();
        assert_eq!((status.state, status.paths.len()), (State::Established, 2));
        assert!(status.paths.iter().all(|path| path.state == PathState::Active), "{status:?}");
        let measured = status.paths.iter().filter(|path| path.srtt == Some(20 * MS)).count();
        assert_eq!(measured, 2 - side, "the handshake measures the initiator's path: {status:?}");
    }
}

#[test]
fn messages_of_all_sizes_arrive_whole_and_in_order_on_each_stream() {
    for seed in 0..3 {
        let mut world = World::new(seed, Parameters::rfc9260(), &[Link::perfect(5)]);
        let ids = world.up();
        let mut expected = vec![Vec::new(); 3];
        for (n, size) in [1, 100, 1424, 1425, 5000, 60_000, 3, 200_000].into_iter().enumerate() {
            let message = vec![n as u8; size];
            world.send(0, ids[0], n as u16 % 3, message.clone());
            expected[n % 3].push(message);
        }
        world.run(20_000 * MS);
        for stream in 0..3 {
            assert_eq!(world.messages(1, stream), expected[usize::from(stream)]);
        }
        let status = world.ends[0].status(ids[0]).unwrap();
        assert_eq!((status.queued, status.unacknowledged), (0, 0));
    }
}

#[test]
fn what_one_tick_finds_is_bundled_and_acknowledged_once_for_two_packets() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(5)]);
    let ids = world.up();
    world.keeps_packets = true;
    numbered(20, 96).into_iter().for_each(|message| world.send(0, ids[0], 0, message));
    world.run(50 * MS);
    let data: Vec<usize> =
        world.sent.iter().filter(|it| it.1 == 0).map(|it| kinds(&it.3).len()).collect();
    assert_eq!(data, [12, 8], "1472 octets hold 12 chunks of 116");
    let sacks: Vec<Vec<u8>> =
        world.sent.iter().filter(|it| it.1 == 1).map(|it| kinds(&it.3)).collect();
    assert_eq!(sacks, [[ChunkType::Sack.number()]]);
}

#[test]
fn a_lone_packet_is_acknowledged_after_sack_delay_and_at_once_when_it_asks() {
    for (is_immediate, delay) in [(false, 200), (true, 0)] {
        let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(5)]);
        let ids = world.up();
        world.send(0, ids[0], 0, vec![1]); // the first one is acknowledged at once
        world.run(100 * MS);
        world.keeps_packets = true;
        let sent_at = world.now;
        let mut message = Outgoing::new(0, 0, Bytes::from_static(b"one"));
        message.is_immediate = is_immediate;
        world.step(0, In::Send(ids[0], message));
        world.run(1000 * MS);
        let sack = world.sent.iter().find(|it| it.1 == 1).unwrap();
        assert_eq!(sack.0 - sent_at, (5 + delay) * MS);
    }
}

#[test]
fn a_lost_packet_is_retransmitted_after_three_reports_without_waiting_for_the_timer() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
    let ids = world.up();
    let begun = world.now;
    let messages = numbered(60, 1400);
    for (n, message) in messages.iter().enumerate() {
        world.links[0].is_cut = n == 2;
        world.send(0, ids[0], 0, message.clone());
        world.run(MS);
    }
    world.run(400 * MS);
    assert_eq!(world.messages(1, 0), messages);
    let last = world.told.iter().rfind(|it| it.1 == 1).unwrap().0;
    assert!(last - begun < 300 * MS, "RTO is a second: {:?}", last - begun);
    let status = world.ends[0].status(ids[0]).unwrap();
    assert!(status.ssthresh_is_set());
    assert_eq!(status.retransmitted, 1, "one packet was lost");
}

trait Halved {
    fn ssthresh_is_set(&self) -> bool;
}

impl Halved for sctp::Status {
    fn ssthresh_is_set(&self) -> bool {
        self.paths[0].ssthresh < usize::MAX
    }
}

#[test]
fn shutdown_delivers_everything_first_and_both_sides_end() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10); 2]);
    let ids = world.up();
    let messages = numbered(200, 1000);
    messages.iter().for_each(|message| world.send(0, ids[0], 1, message.clone()));
    world.step(0, In::Shutdown(ids[0]));
    world.send(0, ids[0], 1, vec![1]);
    assert!(world.told(0).any(|it| *it == Indication::SendFailure(0, Failure::Refused)));
    world.run(20_000 * MS);
    assert_eq!(world.messages(1, 1), messages);
    for side in 0..2 {
        assert_eq!(world.told(side).last(), Some(&Indication::ShutdownComplete));
        assert_eq!(world.ends[side].associations().count(), 0);
        assert_eq!(world.ends[side].deadline(), None);
    }
}

#[test]
fn both_sides_may_shut_down_at_once() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
    let ids = world.up();
    world.step(0, In::Shutdown(ids[0]));
    world.step(1, In::Shutdown(ids[1]));
    world.run(5_000 * MS);
    for side in 0..2 {
        assert_eq!(world.told(side).last(), Some(&Indication::ShutdownComplete));
    }
}

#[test]
fn abort_ends_both_sides_at_once_and_tells_of_what_was_not_acknowledged() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
    let ids = world.up();
    world.links[0].is_cut = true;
    world.send(0, ids[0], 0, vec![1; 100]);
    world.run(10 * MS);
    world.links[0].is_cut = false;
    world.step(0, In::Abort(ids[0], Bytes::from_static(b"enough")));
    assert!(world.told(0).any(|it| *it == Indication::SendFailure(0, Failure::Lost)));
    assert_eq!(world.told(0).last(), Some(&Indication::CommunicationLost(Lost::UserAborted)));
    world.run(100 * MS);
    assert_eq!(world.told(1).last(), Some(&Indication::CommunicationLost(Lost::PeerAborted(12))));
}

#[test]
fn when_both_sides_begin_at_once_one_association_stands() {
    let parameters = Parameters::rfc9260();
    let mut world = World::new(1, parameters, &[Link::perfect(10); 2]);
    let client = world.associate(0);
    let server = world.associate(1);
    world.run(3_000 * MS);
    for (side, id) in [(0, client), (1, server)] {
        assert_eq!(world.ends[side].associations().collect::<Vec<_>>(), [id]);
        assert_eq!(world.ends[side].status(id).unwrap().state, State::Established);
        let ups = world.told(side).filter(|it| matches!(it, Indication::CommunicationUp(..)));
        assert_eq!(ups.count(), 1);
    }
    world.send(0, client, 0, vec![1]);
    world.send(1, server, 0, vec![2]);
    world.run(1_000 * MS);
    assert_eq!((world.messages(1, 0), world.messages(0, 0)), (vec![vec![1]], vec![vec![2]]));
}

#[test]
fn a_peer_that_was_started_again_takes_the_place_of_its_old_life() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10); 2]);
    let ids = world.up();
    world.send(0, ids[0], 0, vec![1]);
    world.run(1_000 * MS);
    let settings = world::settings(0, 2, Parameters::rfc9260());
    world.ends[0] = Endpoint::new(settings, [9; 32]);
    let again = world.associate(0);
    world.run(1_000 * MS);
    assert!(world.told(1).any(|it| *it == Indication::Restart));
    assert_eq!(world.ends[1].associations().collect::<Vec<_>>(), [ids[1]], "the same id");
    world.send(0, again, 0, vec![2]);
    world.send(1, ids[1], 0, vec![3]);
    world.run(1_000 * MS);
    assert_eq!(
        (world.messages(1, 0), world.messages(0, 0)),
        (vec![vec![1], vec![2]], vec![vec![3]])
    );
}

#[test]
fn a_restart_from_a_new_address_is_refused() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10); 3]);
    let settings = world::settings(0, 2, Parameters::rfc9260());
    world.ends[0] = Endpoint::new(settings, [8; 32]);
    world.up();
    let settings = world::settings(0, 3, Parameters::rfc9260());
    world.ends[0] = Endpoint::new(settings, [9; 32]);
    world.told.clear();
    world.associate(0);
    world.run(1_000 * MS);
    assert_eq!(world.told(0).last(), Some(&Indication::CommunicationLost(Lost::PeerAborted(11))));
    assert!(!world.told(1).any(|it| *it == Indication::Restart));
}

#[test]
fn a_flood_of_inits_leaves_nothing_behind() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
    let mut answered = 0;
    for port in 2000..12_000u16 {
        let mut bytes = Vec::new();
        let header =
            Header { source_port: port, destination_port: SERVER_PORT, verification_tag: 0 };
        header.write(&mut bytes);
        let init = sctp::codec::Init {
            initiate_tag: 5,
            a_rwnd: 1500,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: 1,
            parameters: sctp::codec::Parameters::new(&[]),
        };
        Chunk::Init(init).write(&mut bytes);
        seal(&mut bytes);
        let source = (address(0, 0), 0).into();
        let mut out = Vec::new();
        let packet = Packet { source, destination: address(0, 1), bytes: bytes.into() };
        world.ends[1].step(world.now, In::Packet(packet), &mut out);
        let is_answer = |it: &Out| matches!(it, Out::Transmit(it) if kinds(&it.bytes) == [2]);
        assert!(out.iter().all(is_answer));
        answered += out.len();
    }
    assert_eq!(answered, 200, "what one source may have answered at once");
    assert_eq!(world.ends[1].counts().unanswered, 9_800);
    assert_eq!(world.ends[1].associations().count(), 0);
    assert_eq!(world.ends[1].deadline(), None);
}

#[test]
fn a_cookie_that_comes_too_late_is_stale_and_the_initiator_tries_once_more() {
    let mut parameters = Parameters::rfc9260();
    parameters.valid_cookie_life = 15 * MS;
    let mut world = World::new(1, parameters, &[Link::perfect(10)]);
    world.keeps_packets = true;
    world.associate(0);
    world.run(2_000 * MS);
    assert_eq!(world.ends[1].counts().stale, 1);
    assert_eq!(
        world.sent.iter().filter(|it| kinds(&it.3) == [ChunkType::Init.number()]).count(),
        2
    );
    assert!(world.told(0).any(|it| matches!(it, Indication::CommunicationUp(..))));
}

#[test]
fn a_peer_that_does_not_answer_is_given_up_after_max_init_retransmits() {
    let mut world = World::new(1, Parameters::telecom(2), &[Link::perfect(10)]);
    world.keeps_packets = true;
    world.links[0].is_cut = true;
    world.associate(0);
    world.run(10_000 * MS);
    assert_eq!(world.sent.len(), 9);
    assert_eq!(world.told(0).last(), Some(&Indication::CommunicationLost(Lost::Unreachable)));
    assert_eq!(world.ends[0].deadline(), None);
}

#[test]
fn packets_out_of_the_blue_are_answered_as_8_4_says() {
    let none = sctp::codec::Causes::new(&[]);
    let cases: [(&[Chunk<'_>], Option<Chunk<'_>>); 6] = [
        (&[Chunk::Abort { is_reflected: false, causes: none }], None),
        (&[Chunk::ShutdownAck], Some(Chunk::ShutdownComplete { is_reflected: true })),
        (&[Chunk::ShutdownComplete { is_reflected: false }], None),
        (&[Chunk::CookieAck], None),
        (&[Chunk::CookieEcho(b"forged")], None),
        (&[Chunk::Heartbeat(b"x")], Some(Chunk::Abort { is_reflected: true, causes: none })),
    ];
    for (chunks, answer) in cases {
        let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
        let mut out = Vec::new();
        world.ends[1].step(Time::ZERO, packet_to(1, 77, chunks), &mut out);
        match (&out[..], answer) {
            ([], None) => {}
            ([Out::Transmit(sent)], Some(answer)) => {
                let packet = Octets::read(&sent.bytes).unwrap();
                assert_eq!(packet.header.verification_tag, 77, "the tag is reflected");
                let raw = packet.chunks().next().unwrap().unwrap();
                assert_eq!(Chunk::read(&raw), Ok(answer));
            }
            (out, answer) => panic!("{chunks:?}: {out:?} instead of {answer:?}"),
        }
    }
}

#[test]
fn a_wrong_tag_or_checksum_changes_nothing() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
    let ids = world.up();
    let none = sctp::codec::Causes::new(&[]);
    for is_reflected in [false, true] {
        let chunk = Chunk::Abort { is_reflected, causes: none };
        world.step(1, packet_to(1, 0x1234, &[chunk]));
    }
    assert_eq!(world.ends[1].counts().tag, 2);
    let In::Packet(mut packet) = packet_to(1, 0x1234, &[Chunk::ShutdownAck]) else { return };
    let mut bytes = packet.bytes.to_vec();
    bytes[9] ^= 1;
    packet.bytes = bytes.into();
    world.step(1, In::Packet(packet));
    assert_eq!(world.ends[1].counts().checksum, 1);
    assert_eq!(world.ends[1].status(ids[1]).unwrap().state, State::Established);
}

#[test]
fn a_user_who_does_not_read_closes_the_window_and_probes_keep_the_association() {
    let mut parameters = Parameters::telecom(2);
    parameters.receive_buffer = 20_000;
    parameters.counts_unread = true;
    let mut world = World::new(1, parameters, &[Link::perfect(10)]);
    let ids = world.up();
    let messages = numbered(50, 996);
    messages.iter().for_each(|message| world.send(0, ids[0], 0, message.clone()));
    world.run(20_000 * MS);
    assert_eq!(world.messages(1, 0).len(), 20, "as many as the window holds");
    let status = world.ends[0].status(ids[0]).unwrap();
    assert_eq!((status.peer_rwnd, status.paths[0].state), (0, PathState::Active));
    world.step(1, In::Consume(ids[1], 20_000));
    world.run(5_000 * MS);
    assert_eq!(world.messages(1, 0).len(), 40);
    world.step(1, In::Consume(ids[1], 20_000));
    world.run(5_000 * MS);
    assert_eq!(world.messages(1, 0), messages);
}

#[test]
fn a_window_that_opens_before_it_is_probed_needs_no_probe_and_time_goes_on() {
    let mut parameters = Parameters::rfc9260();
    parameters.counts_unread = true;
    parameters.receive_buffer = 10_000;
    let mut world = World::new(1, parameters, &[Link::perfect(10)]);
    let ids = world.up();
    for _ in 0..12 {
        world.send(0, ids[0], 0, vec![7; 1_000]);
    }
    // Closed, everything acknowledged; the probe is due an RTO after.
    world.run(600 * MS);
    assert_eq!(world.messages(1, 0).len(), 10);
    world.step(1, In::Consume(ids[1], 10_000));
    world.run(10_000 * MS);
    assert_eq!(world.messages(1, 0).len(), 12);
    world.step(0, In::Shutdown(ids[0]));
    world.run(3_000 * MS);
    assert_eq!(world.told(0).last(), Some(&Indication::ShutdownComplete));
}

#[test]
fn a_message_whose_time_is_over_is_given_up_and_the_stream_goes_on() {
    for is_interleaved in [false, true] {
        let mut parameters = Parameters::rfc9260();
        parameters.extensions.interleaving = is_interleaved;
        let mut world = World::new(1, parameters, &[Link::perfect(10)]);
        let ids = world.up();
        assert_eq!(world.ends[0].status(ids[0]).unwrap().is_interleaved, is_interleaved);
        world.links[0].is_cut = true;
        let mut message = Outgoing::new(0, 0, vec![9; 3000].into());
        message.reliability = Reliability::Until(world.now + 100 * MS);
        message.context = 42;
        world.step(0, In::Send(ids[0], message));
        world.run(20 * MS);
        world.links[0].is_cut = false;
        world.send(0, ids[0], 0, vec![1]);
        world.run(5_000 * MS);
        assert_eq!(world.messages(1, 0), [vec![1]]);
        assert!(world.told(0).any(|it| *it == Indication::SendFailure(42, Failure::Abandoned)));
        let status = world.ends[0].status(ids[0]).unwrap();
        assert_eq!((status.unacknowledged, status.paths[0].flight), (0, 0));
    }
}

#[test]
fn messages_are_split_to_fill_packets_where_that_is_asked_for_and_others_wait_behind() {
    let lengths = |split_from_bytes: Option<u32>, is_interleaved: bool| {
        let mut parameters = Parameters::rfc9260();
        parameters.split_from_bytes = split_from_bytes;
        parameters.extensions.interleaving = is_interleaved;
        parameters.max_burst = None;
        let mut world = World::new(1, parameters, &[Link::perfect(10)]);
        let ids = world.up();
        world.keeps_packets = true;
        let messages = numbered(24, 996); // and the number
        for message in &messages {
            let send = In::Send(ids[0], Outgoing::new(0, 0, message.clone().into()));
            let mut out = Vec::new();
            world.ends[0].step(world.now, send, &mut out);
            world.take(0, out);
        }
        world.run(5_000 * MS);
        assert_eq!(world.messages(1, 0), messages);
        let sent = world.sent.iter().filter(|it| it.1 == 0);
        sent.map(|it| it.3.len()).filter(|octets| *octets > 100).collect::<Vec<_>>()
    };
    for is_interleaved in [false, true] {
        let header = if is_interleaved { 20 } else { 16 };
        assert_eq!(lengths(None, is_interleaved), [12 + header + 1_000; 24]);
        assert_eq!(lengths(Some(1_001), is_interleaved), [12 + header + 1_000; 24]);
        let filled = lengths(Some(1_000), is_interleaved);
        let (last, full) = filled.split_last().unwrap();
        assert!(filled.len() < 20 && *last < 1_480, "{filled:?}");
        // Some windows end within a packet: what is left is not split.
        let is_full = |octets: &&usize| (1_460..=1_480).contains(*octets);
        assert!(full.iter().filter(is_full).count() >= 12, "{filled:?}");
    }
}

#[test]
fn unknown_chunks_are_skipped_or_stop_the_packet_and_are_reported_as_their_bits_say() {
    for (kind, is_skipped, is_reported) in
        [(0x3Eu8, false, false), (0x7E, false, true), (0xBE, true, false), (0xFE, true, true)]
    {
        let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
        world.keeps_packets = true;
        world.up();
        let echo = world.sent.iter().find(|it| kinds(&it.3)[0] == 10).unwrap();
        let tag = Octets::read(&echo.3).unwrap().header.verification_tag;
        world.sent.clear();
        let unknown = [kind, 0, 0, 4];
        let chunks = [Chunk::Unknown(kind, &unknown), Chunk::Heartbeat(b"after it")];
        world.step(1, packet_to(1, tag, &chunks));
        let answered: Vec<u8> = world.sent.iter().flat_map(|it| kinds(&it.3)).collect();
        assert_eq!(answered.contains(&5), is_skipped, "{kind:#x}: HEARTBEAT ACK");
        assert_eq!(answered.contains(&9), is_reported, "{kind:#x}: ERROR");
    }
}

#[test]
fn a_checksum_of_zero_is_sent_and_taken_when_both_sides_say_so() {
    let mut parameters = Parameters::rfc9260();
    parameters.extensions.zero_checksum = Some(1);
    let mut world = World::new(1, parameters, &[Link::perfect(10)]);
    world.keeps_packets = true;
    let ids = world.up();
    world.send(0, ids[0], 0, vec![1; 100]);
    world.run(1_000 * MS);
    assert_eq!(world.messages(1, 0).len(), 1);
    for (.., bytes) in &world.sent {
        let packet = Octets::read(bytes).unwrap();
        let is_greeting = matches!(kinds(bytes)[0], 1 | 2 | 10);
        assert_eq!(packet.is_checksum_zero(), !is_greeting, "{:?}", kinds(bytes));
    }
}

#[test]
fn the_pmtu_is_searched_by_probes_and_a_black_hole_is_left() {
    let mut parameters = Parameters::telecom(5);
    parameters.path.pmtu = 1200;
    parameters.path.pmtu_max = Some(1500);
    let mut links = [Link::perfect(10); 2];
    links[0].mtu = 1400;
    let mut world = World::new(1, parameters, &links);
    let ids = world.up();
    world.run(10_000 * MS);
    let found = world.ends[0].status(ids[0]).unwrap();
    assert!((1392..=1400).contains(&found.paths[0].pmtu), "{found:?}");
    assert_eq!(found.paths[1].pmtu, 1500);
    assert!(found.paths.iter().all(|path| path.errors == 0), "probes are not errors");
    world.send(0, ids[0], 0, vec![1; 50_000]);
    world.run(5_000 * MS);
    world.links[0].mtu = 1250;
    world.send(0, ids[0], 0, vec![2; 50_000]);
    world.run(10_000 * MS);
    assert_eq!(world.messages(1, 0), [vec![1; 50_000], vec![2; 50_000]]);
}

#[test]
fn a_router_that_says_too_big_is_believed_when_it_quotes_a_packet_of_ours() {
    let mut world = World::new(1, Parameters::rfc9260(), &[Link::perfect(10)]);
    world.keeps_packets = true;
    let ids = world.up();
    let echo = world.sent.iter().find(|it| kinds(&it.3)[0] == 10).unwrap().3.clone();
    let mut forged = echo.clone();
    forged[7] ^= 1;
    let pmtu = |world: &World| world.ends[0].status(ids[0]).unwrap().paths[0].pmtu;
    let tell = |world: &mut World, quoted: &[u8], error| {
        let quoted = Bytes::copy_from_slice(quoted);
        world.step(0, In::Icmp(sctp::Icmp { destination: address(0, 1), error, quoted }));
    };
    for (quoted, size, is_believed) in
        [(&forged[..8], 1280, false), (&echo[..7], 1280, false), (&echo[..8], 1280, true)]
    {
        tell(&mut world, quoted, sctp::IcmpError::PacketTooBig(size));
        assert_eq!(pmtu(&world) == 1280, is_believed);
    }
    tell(&mut world, &echo[..8], sctp::IcmpError::PacketTooBig(68));
    assert_eq!(pmtu(&world), 1280, "nothing is that small");
    world.sent.clear();
    world.send(0, ids[0], 0, vec![1; 5_000]);
    world.run(1_000 * MS);
    assert!(world.sent.iter().all(|it| it.3.len() <= 1280 - 28));
    assert_eq!(world.messages(1, 0), [vec![1; 5_000]]);
    tell(&mut world, &echo[..8], sctp::IcmpError::ProtocolUnreachable);
    assert_eq!(world.told(0).last(), Some(&Indication::CommunicationLost(Lost::Unreachable)));
}

fn reconfigured(world: &World, side: usize) -> Vec<Reconfiguration> {
    let told = world.told(side).filter_map(|it| match it {
        Indication::Reconfigured(what) => Some(what.clone()),
        _ => None,
    });
    told.collect()
}

#[test]
fn streams_are_reset_in_both_directions_and_messages_go_on_in_order() {
    for loss in [0.0, 0.2] {
        let mut link = Link::perfect(10);
        link.loss = loss;
        let mut parameters = Parameters::telecom(2);
        parameters.association_max_retrans = 100;
        let mut world = World::new(3, parameters, &[link; 2]);
        let ids = world.up();
        let messages = numbered(60, 500);
        for (n, message) in messages.iter().enumerate() {
            world.send(0, ids[0], 1, message.clone());
            match n {
                20 => world.step(0, In::Reconfigure(ids[0], Request::ResetOutgoing(vec![1]))),
                40 => world.step(1, In::Reconfigure(ids[1], Request::ResetIncoming(vec![]))),
                _ => {}
            }
            world.run(5 * MS);
        }
        world.run(60_000 * MS);
        assert_eq!(world.messages(1, 1), messages, "loss {loss}");
        let (one, all) = (vec![1], Vec::new());
        let ours = [&one, &all].map(|it| Reconfiguration::OutgoingReset(it.clone()));
        let theirs = [&one, &all].map(|it| Reconfiguration::IncomingReset(it.clone()));
        assert_eq!(reconfigured(&world, 0), ours, "loss {loss}");
        assert_eq!(reconfigured(&world, 1), theirs, "loss {loss}");
    }
}

#[test]
fn streams_are_added_until_the_peer_has_enough() {
    let mut parameters = Parameters::rfc9260();
    parameters.inbound_streams = 14;
    let mut world = World::new(1, parameters, &[Link::perfect(10)]);
    let ids = world.up();
    for request in [Request::AddOutgoing(2), Request::AddIncoming(3), Request::AddOutgoing(9)] {
        world.step(0, In::Reconfigure(ids[0], request));
        world.run(1_000 * MS);
    }
    let refused = Reconfiguration::Refused(Request::AddOutgoing(9));
    let (twelve, thirteen) =
        (Reconfiguration::OutgoingStreams(12), Reconfiguration::IncomingStreams(13));
    assert_eq!(reconfigured(&world, 0), [twelve, thirteen, refused]);
    world.send(0, ids[0], 11, vec![1]);
    world.run(1_000 * MS);
    assert_eq!(world.messages(1, 11), [vec![1]]);
    assert_eq!(world.ends[1].status(ids[1]).unwrap().streams, (13, 12));
}

#[test]
fn the_association_is_reset_between_messages_and_nothing_is_lost() {
    for (seed, loss) in [(1, 0.0), (2, 0.1), (3, 0.2), (4, 0.2), (5, 0.2)] {
        let mut link = Link::perfect(10);
        link.loss = loss;
        link.duplicate = loss;
        let mut parameters = Parameters::telecom(2);
        parameters.association_max_retrans = 100;
        parameters.extensions.interleaving = seed % 2 == 0;
        let mut world = World::new(seed, parameters, &[link; 2]);
        let ids = world.up();
        let messages = numbered(60, 2_000);
        for (n, message) in messages.iter().enumerate() {
            world.send(0, ids[0], 1, message.clone());
            if n < 30 {
                world.send(1, ids[1], 1, message.clone());
            }
            if n == 40 {
                world.step(0, In::Reconfigure(ids[0], Request::ResetAssociation));
            }
            world.run(10 * MS);
        }
        world.run(60_000 * MS);
        for side in 0..2 {
            let all = if side == 1 { &messages[..] } else { &messages[..30] };
            assert_eq!(world.messages(side, 1), all, "seed {seed}, side {side}");
            assert_eq!(reconfigured(&world, side), [Reconfiguration::AssociationReset]);
        }
    }
}
