//! What RFC 9260 says of single packets: answered, refused or left alone.
#![allow(clippy::needless_range_loop)]

use crate::world::{
    self, CLIENT_PORT, Link, SERVER_PORT, World, address, kinds, packet_from, packet_to,
};
use bytes::Bytes;
use machine::{Duration, Time};
use sctp::codec::{
    Causes, Chunk, ChunkType, Data, DataFlags, Init, Packet as Octets, Parameter,
    Parameters as List, TLV_BYTES,
};
use sctp::{Endpoint, Icmp, IcmpError, In, Indication, Lost, Out, Parameters, PathState, State};
use std::net::IpAddr;

const MS: Duration = Duration::from_millis(1);
const INIT: u8 = ChunkType::Init.number();
const INIT_ACK: u8 = ChunkType::InitAck.number();
const ABORT: u8 = ChunkType::Abort.number();

fn init(initiate_tag: u32, a_rwnd: u32, parameters: &[u8]) -> Init<'_> {
    Init {
        initiate_tag,
        a_rwnd,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: 1,
        parameters: List::new(parameters),
    }
}

fn answers(end: &mut Endpoint, now: Time, input: In) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    end.step(now, input, &mut out);
    let sent = out.into_iter().filter_map(|it| match it {
        Out::Transmit(sent) => Some(sent.bytes),
        Out::Indicate(..) => None,
    });
    sent.collect()
}

/// The tag of a packet, and the type, flags and first cause code of its first chunk.
fn told(bytes: &[u8]) -> (u32, u8, u8, Option<u16>) {
    let packet = Octets::read(bytes).unwrap();
    let raw = packet.chunks().next().unwrap().unwrap();
    let cause = match Chunk::read(&raw) {
        Ok(Chunk::Abort { causes, .. } | Chunk::Error(causes)) => {
            causes.iter().next().map(|cause| cause.unwrap().code())
        }
        _ => None,
    };
    (packet.header.verification_tag, raw.kind, raw.flags, cause)
}

/// The value of the parameter of that type in the first chunk.
fn parameter(bytes: &[u8], kind: u16) -> Vec<u8> {
    let packet = Octets::read(bytes).unwrap();
    let raw = packet.chunks().next().unwrap().unwrap();
    let Ok(Chunk::InitAck(init)) = Chunk::read(&raw) else { panic!("no INIT ACK") };
    let tlv = init.parameters.tlvs().find(|tlv| tlv.kind == kind).unwrap();
    tlv.whole[TLV_BYTES..].to_vec()
}

/// The Initiate Tag in the first chunk.
fn initiate_tag(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[16..20].try_into().unwrap())
}

fn world(paths: usize) -> World {
    let mut world = World::new(1, Parameters::rfc9260(), &vec![Link::perfect(10); paths]);
    world.keeps_packets = true;
    world
}

fn sent(world: &World, side: usize, kind: u8) -> Vec<u8> {
    let is_it = |it: &&(Time, usize, usize, Vec<u8>)| it.1 == side && kinds(&it.3)[0] == kind;
    world.sent.iter().find(is_it).expect("it was sent").3.clone()
}

/// The tag that packets to `side` bear.
fn tag_of(world: &World, side: usize) -> u32 {
    initiate_tag(&sent(world, side, if side == 0 { INIT } else { INIT_ACK }))
}

/// §3.3.2.
#[test]
fn an_init_without_a_tag_is_left_alone_and_one_with_a_tiny_window_is_refused() {
    let mut world = world(1);
    let chunk = Chunk::Init(init(0, 5_000, &[]));
    assert!(answers(&mut world.ends[1], Time::ZERO, packet_to(1, 0, &[chunk])).is_empty());
    let chunk = Chunk::Init(init(5, 1_499, &[]));
    let answer = answers(&mut world.ends[1], Time::ZERO, packet_to(1, 0, &[chunk]));
    assert_eq!(told(&answer[0]), (5, ABORT, 0, Some(7)));
}

/// §3.3.3, §5.1.2 B.
#[test]
fn an_init_ack_that_breaks_the_rules_is_answered_by_abort() {
    let mut host = Vec::new();
    Parameter::StateCookie(b"cookie").write(&mut host);
    Parameter::HostNameAddress(b"example.net\0").write(&mut host);
    let malformed = [0, 5, 0, 6, 10, 0, 0, 0];
    let cases = [
        (init(0, 5_000, &[]), true, 7),
        (init(9, 1_499, &[]), false, 7),
        (init(9, 5_000, &host), false, 5),
        (init(9, 5_000, &malformed), false, 7),
        (init(9, 5_000, &[]), false, 2),
    ];
    for (init, is_reflected, cause) in cases {
        let mut world = world(1);
        world.associate(0);
        let own = tag_of(&world, 0);
        let packet = packet_to(0, own, &[Chunk::InitAck(init)]);
        let answer = answers(&mut world.ends[0], world.now, packet);
        let tag = if is_reflected { own } else { 9 };
        let flags = u8::from(is_reflected);
        assert_eq!(told(&answer[0]), (tag, ABORT, flags, Some(cause)), "{init:?}");
        assert_eq!(world.ends[0].associations().count(), 0);
    }
}

/// §5.1.2 D, §5.2.2.
#[test]
fn an_init_from_a_new_address_belongs_to_the_association_whose_address_it_lists() {
    let mut world = world(1);
    let ids = world.up();
    let mut listed = Vec::new();
    Parameter::Address(address(0, 0)).write(&mut listed);
    let chunk = Chunk::Init(init(5, 5_000, &listed));
    let stranger: IpAddr = [10, 9, 9, 9].into();
    let packet = packet_from(stranger, 1, 0, &[chunk]);
    let answer = answers(&mut world.ends[1], world.now, packet);
    assert_eq!(told(&answer[0]), (5, ABORT, 0, Some(11)));
    assert_eq!(world.ends[1].status(ids[1]).unwrap().state, State::Established);
}

/// §5.4 rule 2: who sends the INIT from an address of its own and the COOKIE ECHO as from that of
/// another one does not have data sent there.
#[test]
fn only_the_address_that_the_init_ack_went_to_is_confirmed_by_the_cookie() {
    let mut world = world(1);
    let (own, victim): (IpAddr, IpAddr) = ([10, 0, 7, 1].into(), [10, 0, 8, 1].into());
    let mut listed = Vec::new();
    Parameter::Address(victim).write(&mut listed);
    let packet = packet_from(own, 1, 0, &[Chunk::Init(init(5, 5_000, &listed))]);
    let init_ack = answers(&mut world.ends[1], world.now, packet).remove(0);
    let cookie = parameter(&init_ack, 7);
    let echo = packet_from(victim, 1, initiate_tag(&init_ack), &[Chunk::CookieEcho(&cookie)]);
    let mut out = Vec::new();
    world.ends[1].step(world.now, echo, &mut out);
    let Out::Transmit(ack) = out.iter().find(|it| matches!(it, Out::Transmit(_))).unwrap() else {
        return;
    };
    assert_eq!(ack.destination.ip(), own, "COOKIE ACK without a nonce goes nowhere else");
    let id = world.ends[1].associations().next().unwrap();
    let paths = world.ends[1].status(id).unwrap().paths;
    let state = |address| paths.iter().find(|path| path.address == address).unwrap().state;
    assert_eq!((state(own), state(victim)), (PathState::Active, PathState::Unconfirmed));
    assert_eq!(paths.iter().find(|path| path.is_primary).unwrap().address, own);
}

/// §5.1.3: a cookie can be read by anyone.
#[test]
fn a_cookie_does_not_show_the_tags_of_the_association_that_it_might_restart() {
    let mut world = world(1);
    world.up();
    let tags = [tag_of(&world, 0), tag_of(&world, 1)];
    let packet = packet_to(1, 0, &[Chunk::Init(init(5, 5_000, &[]))]);
    let init_ack = answers(&mut world.ends[1], world.now, packet).remove(0);
    assert_eq!(kinds(&init_ack), [INIT_ACK]);
    for tag in tags {
        assert!(!init_ack.windows(4).any(|it| it == tag.to_be_bytes()), "{tag:08x}");
    }
}

/// §5.1.3: the key changes every hour, and is good for another hour.
#[test]
fn a_cookie_outlives_one_change_of_keys_and_no_more() {
    let hour = Duration::from_secs(3600);
    for (changes, is_known) in [(1, true), (2, false)] {
        let mut world = world(1);
        let mut now = Time::ZERO + hour + MS;
        let greet = |world: &mut World, now| {
            let packet = packet_to(1, 0, &[Chunk::Init(init(5, 5_000, &[]))]);
            answers(&mut world.ends[1], now, packet).remove(0)
        };
        let init_ack = greet(&mut world, now);
        for _ in 0..changes {
            now += hour + MS;
            greet(&mut world, now);
        }
        let cookie = parameter(&init_ack, 7);
        let echo = packet_to(1, initiate_tag(&init_ack), &[Chunk::CookieEcho(&cookie)]);
        let answer = answers(&mut world.ends[1], now, echo);
        // One that is known is stale by now.
        assert_eq!(answer.first().map(|it| told(it).3), is_known.then_some(Some(3)));
    }
}

/// §8.4, §8.5.1 A, §6.10.
#[test]
fn packets_that_nobody_may_answer_are_not_answered() {
    let beat = Chunk::Heartbeat(b"x");
    let greeting = || Chunk::Init(init(5, 5_000, &[]));
    let group: IpAddr = [224, 0, 0, 1].into();
    let all: IpAddr = [255, 255, 255, 255].into();
    let cases = [
        packet_to(1, 0, &[Chunk::Heartbeat(b"x")]),
        packet_to(1, 0, &[beat, greeting()]),
        packet_from(group, 1, 0, &[greeting()]),
        packet_from(all, 1, 0, &[greeting()]),
    ];
    for packet in cases {
        let mut world = world(1);
        assert!(answers(&mut world.ends[1], Time::ZERO, packet).is_empty());
    }
    // A SHUTDOWN ACK is answered wherever it stands.
    let mut world = world(1);
    let packet = packet_to(1, 77, &[Chunk::Heartbeat(b"x"), Chunk::ShutdownAck]);
    let answer = answers(&mut world.ends[1], Time::ZERO, packet);
    assert_eq!(told(&answer[0]), (77, ChunkType::ShutdownComplete.number(), 1, None));
}

/// §5.1: INIT ACK stands alone.
#[test]
fn an_init_ack_with_other_chunks_is_dropped() {
    let mut world = world(1);
    let id = world.associate(0);
    let mut parameters = Vec::new();
    Parameter::StateCookie(b"cookie").write(&mut parameters);
    let chunk = Chunk::InitAck(init(9, 5_000, &parameters));
    let packet = packet_to(0, tag_of(&world, 0), &[chunk, Chunk::Heartbeat(b"x")]);
    assert!(answers(&mut world.ends[0], world.now, packet).is_empty());
    assert_eq!(world.ends[0].status(id).unwrap().state, State::CookieWait);
}

/// §5.1.2 A, C.
#[test]
fn addresses_that_the_user_names_and_the_peer_does_not_list_are_dropped() {
    let parameters = Parameters::rfc9260();
    let mut end = Endpoint::new(world::settings(0, 2, parameters), [1; 32]);
    let mut other = Endpoint::new(world::settings(1, 1, parameters), [2; 32]);
    let named = [address(0, 1), [10, 0, 5, 5].into()].map(|it: IpAddr| (it, 0).into());
    let mut out = Vec::new();
    let id = end.associate(Time::ZERO, &named, SERVER_PORT, &mut out).unwrap();
    let states = |end: &Endpoint| {
        let paths = end.status(id).unwrap().paths;
        paths.iter().map(|path| (path.address, path.state)).collect::<Vec<_>>()
    };
    assert!(states(&end).iter().all(|it| it.1 == PathState::Active), "named: confirmed");
    let Out::Transmit(init) = out.remove(0) else { return };
    let source = (address(0, 0), 0).into();
    let packet = sctp::Packet { source, destination: address(0, 1), bytes: init.bytes.into() };
    let ack = answers(&mut other, Time::ZERO, In::Packet(packet)).remove(0);
    let source = (address(0, 1), 0).into();
    let packet = sctp::Packet { source, destination: address(0, 0), bytes: ack.into() };
    answers(&mut end, Time::ZERO, In::Packet(packet));
    assert_eq!(states(&end), [(address(0, 1), PathState::Active)]);
}

/// §5.1.
#[test]
fn the_first_data_is_acknowledged_at_once() {
    let mut world = world(1);
    let ids = world.up();
    let at = world.now;
    world.send(0, ids[0], 0, vec![1]);
    world.run(500 * MS);
    let sack = world.sent.iter().find(|it| it.1 == 1 && kinds(&it.3) == [3]).unwrap();
    assert_eq!(sack.0 - at, 10 * MS);
}

/// §9.2: SHUTDOWN before the association stands is left alone, whatever it says.
#[test]
fn a_shutdown_while_the_cookie_is_on_its_way_changes_nothing() {
    let mut world = world(1);
    let id = world.associate(0);
    world.run(25 * MS);
    assert_eq!(world.ends[0].status(id).unwrap().state, State::CookieEchoed);
    let first = sent(&world, 0, INIT);
    let tsn = u32::from_be_bytes(first[28..32].try_into().unwrap());
    let shutdown = Chunk::Shutdown { cumulative_tsn_ack: tsn.wrapping_add(1_000) };
    let packet = packet_to(0, tag_of(&world, 0), &[shutdown]);
    assert!(answers(&mut world.ends[0], world.now, packet).is_empty());
    world.run(100 * MS);
    assert_eq!(world.ends[0].status(id).unwrap().state, State::Established);
}

/// §10 ICMP8.
#[test]
fn an_icmp_message_about_the_init_counts_only_as_long_as_it_is_not_answered() {
    let mut world = world(1);
    let ids = world.up();
    let quoted = Bytes::from(sent(&world, 0, INIT));
    let error = IcmpError::ProtocolUnreachable;
    world.step(0, In::Icmp(Icmp { destination: address(0, 1), error, quoted }));
    assert_eq!(world.ends[0].status(ids[0]).unwrap().state, State::Established);
    let id = world.associate_on(0, CLIENT_PORT + 7);
    let quoted = Bytes::from(world.sent.last().unwrap().3.clone());
    world.step(0, In::Icmp(Icmp { destination: address(0, 1), error, quoted }));
    assert_eq!(world.ends[0].status(id), None);
    assert_eq!(world.told(0).last(), Some(&Indication::CommunicationLost(Lost::Unreachable)));
}

/// RFC 3758 §3.3.1 and §3.2: what was not agreed is as unknown as a type that does not exist.
#[test]
fn a_forward_tsn_that_was_not_agreed_is_reported() {
    let mut parameters = Parameters::rfc9260();
    parameters.extensions.partial_reliability = false;
    let mut world = World::new(1, parameters, &[Link::perfect(10)]);
    world.keeps_packets = true;
    world.up();
    let skips = sctp::codec::Gaps::new(&[]);
    let forward = sctp::codec::ForwardTsn { new_cumulative_tsn: 1, skips };
    let packet = packet_to(1, tag_of(&world, 1), &[Chunk::ForwardTsn(forward)]);
    let answer = answers(&mut world.ends[1], world.now, packet);
    assert_eq!(told(&answer[0]).3, Some(6));
}

/// §6.2: a gap is filled even when what waits behind it has filled the window.
#[test]
fn the_chunk_that_closes_the_gap_is_taken_into_a_full_window() {
    let mut parameters = Parameters::rfc9260();
    parameters.receive_buffer = 5_000;
    let mut world = World::new(1, parameters, &[Link::perfect(10)]);
    world.keeps_packets = true;
    world.up();
    let (tag, first) = (tag_of(&world, 1), sent(&world, 0, INIT));
    let tsn = u32::from_be_bytes(first[28..32].try_into().unwrap());
    let data = |n: u32, payload| {
        let flags = DataFlags(DataFlags::BEGIN | DataFlags::END);
        let tsn = tsn.wrapping_add(n);
        Chunk::Data(Data { flags, tsn, stream: 0, ssn: n as u16, ppid: 0, payload })
    };
    for n in 1..=5 {
        world.step(1, packet_to(1, tag, &[data(n, &[7; 999])]));
    }
    world.step(1, packet_to(1, tag, &[data(0, &[7; 999])]));
    assert_eq!(world.messages(1, 0).len(), 6);
}

/// §9.1, §3.3.7.
#[test]
fn an_abort_is_never_answered() {
    let mut world = world(1);
    world.up();
    let none = Causes::new(&[]);
    for tag in [1, tag_of(&world, 1)] {
        let abort = Chunk::Abort { is_reflected: false, causes: none };
        let packet = packet_to(1, tag, &[Chunk::Heartbeat(b"x"), abort]);
        assert!(answers(&mut world.ends[1], world.now, packet).is_empty());
    }
    assert_eq!(world.ends[1].associations().count(), 0);
}

/// RFC 5061 §5.3: what was under way from an address when the peer took it away.
#[test]
fn a_packet_from_an_address_that_is_no_more_does_not_end_the_association() {
    let mut world = world(1);
    let ids = world.up();
    let beat = [Chunk::Heartbeat(b"x")];
    let stranger: IpAddr = [10, 9, 9, 9].into();
    let packet = packet_from(stranger, 1, tag_of(&world, 1), &beat);
    assert!(answers(&mut world.ends[1], world.now, packet).is_empty());
    let packet = packet_from(stranger, 1, 1, &beat);
    assert_eq!(told(&answers(&mut world.ends[1], world.now, packet)[0]), (1, ABORT, 1, None));
    assert_eq!(world.ends[1].status(ids[1]).unwrap().state, State::Established);
}

fn host(network: u8, number: u16) -> IpAddr {
    let [high, low] = number.to_be_bytes();
    [10, network, high, low].into()
}

/// §5.4: who lists another's address in an INIT does not have it, and keeps nobody out.
#[test]
fn an_address_that_a_stranger_listed_is_still_its_owners() {
    let mut world = world(1);
    let (stranger, owner) = (host(7, 1), host(8, 1));
    let mut listed = Vec::new();
    Parameter::Address(owner).write(&mut listed);
    let greet = |world: &mut World, from: IpAddr, tag: u32, listed: &[u8]| {
        let packet = packet_from(from, 1, 0, &[Chunk::Init(init(tag, 5_000, listed))]);
        let init_ack = answers(&mut world.ends[1], world.now, packet).remove(0);
        assert_eq!(kinds(&init_ack), [INIT_ACK]);
        let own = initiate_tag(&init_ack);
        let cookie = parameter(&init_ack, 7);
        let echo = packet_from(from, 1, own, &[Chunk::CookieEcho(&cookie)]);
        world.ends[1].step(world.now, echo, &mut Vec::new());
        own
    };
    greet(&mut world, stranger, 5, &listed);
    let own = greet(&mut world, owner, 6, &[]);
    let server = &mut world.ends[1];
    assert_eq!(server.associations().count(), 2);
    // What comes from it is its own association's, and the stranger never confirms it.
    let data = Data { flags: DataFlags(3), tsn: 1, stream: 0, ssn: 0, ppid: 1, payload: b"mine" };
    let mut out = Vec::new();
    server.step(world.now, packet_from(owner, 1, own, &[Chunk::Data(data)]), &mut out);
    let came = out.iter().filter_map(|it| match it {
        Out::Indicate(id, Indication::Data(..)) => Some(*id),
        _ => None,
    });
    let came: Vec<_> = came.collect();
    assert_eq!(came.len(), 1);
    let paths = server.status(came[0]).unwrap().paths;
    assert_eq!((paths.len(), paths[0].address), (1, owner));
}

/// §5.4: nor does it keep this end from asking for an association with the owner.
#[test]
fn an_address_that_a_stranger_listed_can_be_connected_to() {
    let mut world = world(1);
    let (stranger, owner) = (host(7, 1), host(8, 1));
    let mut listed = Vec::new();
    Parameter::Address(owner).write(&mut listed);
    let packet = packet_from(stranger, 1, 0, &[Chunk::Init(init(5, 5_000, &listed))]);
    let init_ack = answers(&mut world.ends[1], world.now, packet).remove(0);
    let (own, cookie) = (initiate_tag(&init_ack), parameter(&init_ack, 7));
    let echo = packet_from(stranger, 1, own, &[Chunk::CookieEcho(&cookie)]);
    let server = &mut world.ends[1];
    server.step(world.now, echo, &mut Vec::new());
    assert_eq!(server.associations().count(), 1);
    let to = [(owner, CLIENT_PORT).into()];
    let mut out = Vec::new();
    assert!(server.associate(world.now, &to, CLIENT_PORT, &mut out).is_ok());
    assert!(out.iter().any(|it| matches!(it, Out::Transmit(_))), "its INIT leaves");
    let again = server.associate(world.now, &to, CLIENT_PORT, &mut out);
    assert_eq!(again, Err(sctp::Refused::Exists), "now it has an owner");
    let own = [(stranger, CLIENT_PORT).into()];
    assert_eq!(
        server.associate(world.now, &own, CLIENT_PORT, &mut out),
        Err(sctp::Refused::Exists)
    );
}

/// §12.2.4: a flood of INITs and of packets out of the blue is answered no oftener than it may be,
/// and a peer that is known by its address is answered all the while.
#[test]
fn floods_from_forged_sources_are_answered_so_often_and_known_peers_always() {
    let mut world = world(1);
    let server = &mut world.ends[1];
    server.set_answers(sctp::Answers { of_source: 10, of_strangers: 1_000 }, [host(1, 1)]);
    let (mut forged, mut known, mut one) = (0, 0, 0);
    let blue = Data { flags: DataFlags(3), tsn: 1, stream: 0, ssn: 0, ppid: 1, payload: b"x" };
    for tick in 0..10_000u16 {
        let now = Time::ZERO + MS * u32::from(tick) / 10;
        let is_init = tick % 2 == 0;
        let init = || Chunk::Init(init(5, 5_000, &[]));
        let chunk = if is_init { init() } else { Chunk::Data(blue) };
        let tag = u32::from(!is_init);
        forged += answers(server, now, packet_from(host(2, tick), 1, tag, &[chunk])).len();
        one += answers(server, now, packet_from(host(3, 1), 1, 0, &[init()])).len();
        if tick % 100 == 0 {
            known += answers(server, now, packet_from(host(1, 1), 1, 0, &[init()])).len();
        }
    }
    assert_eq!(known, 100);
    assert!((20..=31).contains(&one), "a second's rate and what may come at once: {one}");
    assert!((1_900..=2_000).contains(&(forged + one)), "{forged}");
    assert_eq!(server.counts().unanswered, 20_000 - (forged + one) as u64);
}

/// What associations there may be is not one host's: where room is short, who has most of them gets
/// no more.
#[test]
fn a_host_does_not_take_all_places() {
    let mut world = world(1);
    let parameters = Parameters::rfc9260();
    world.ends[1].set_limits(parameters, true, 100);
    world.ends[1].set_answers(sctp::Answers { of_source: 1_000, of_strangers: 10_000 }, []);
    let mut greet = |from: IpAddr, port: u16| {
        let packet = |tag, chunk| {
            let In::Packet(mut packet) = packet_from(from, 1, tag, &[chunk]) else { panic!() };
            let mut bytes = packet.bytes.to_vec();
            bytes[..2].copy_from_slice(&port.to_be_bytes());
            bytes[8..12].fill(0);
            sctp::codec::seal(&mut bytes);
            packet.bytes = bytes.into();
            In::Packet(packet)
        };
        let ask = packet(0, Chunk::Init(init(5, 5_000, &[])));
        let init_ack = answers(&mut world.ends[1], world.now, ask).remove(0);
        let (tag, cookie) = (initiate_tag(&init_ack), parameter(&init_ack, 7));
        let before = world.ends[1].associations().count();
        let echo = packet(tag, Chunk::CookieEcho(&cookie));
        world.ends[1].step(world.now, echo, &mut Vec::new());
        world.ends[1].associations().count() > before
    };
    let greedy = (1..=200).filter(|port| greet(host(7, 1), *port)).count();
    let others = (1..=30).filter(|number| greet(host(8, *number), 1)).count();
    assert!((45..=55).contains(&greedy), "{greedy}");
    assert_eq!(others, 30);
}
