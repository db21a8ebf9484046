//! What an attacker sends who knows ports and even tags: nothing panics, state stays bounded, and
//! the machine's deadline stays ahead.
#![allow(clippy::needless_range_loop)]

use crate::world::{self, CLIENT_PORT, Link, Rng, SERVER_PORT, World, address};
use machine::Duration;
use sctp::codec::{
    Cause, Causes, Chunk, Data, DataFlags, ForwardTsn, Gaps, Header, IData, IForwardTsn, Init,
    List, Packet as Octets, Parameter, Parameters as List8, Sack, Skips, Words, seal,
};
use sctp::{In, Packet, Parameters};

/// Octets held at most with a receive buffer of 10,000.
const BOUND: usize = 2 * 10_000 + (1 << 16) + 1_500;
const MS: Duration = Duration::from_millis(1);

/// A TSN near what the association is at, so that the damage goes deep.
fn near(chance: &mut Rng, base: u32) -> u32 {
    base.wrapping_add(chance.below(40) as u32).wrapping_sub(8)
}

fn chunk(chance: &mut Rng, tsns: (u32, u32), out: &mut Vec<u8>) {
    let noise: Vec<u8> = (0..chance.below(64)).map(|_| chance.number() as u8).collect();
    let flags = DataFlags(chance.below(16) as u8);
    let (theirs, ours) = (near(chance, tsns.0), near(chance, tsns.1));
    let stream = chance.below(12) as u16;
    let number = chance.below(6) as u32;
    let blocks: Vec<u8> = (0..4 * chance.below(4)).map(|_| chance.below(9) as u8 & 3).collect();
    let fours = &noise[..noise.len() & !3];
    let mut causes = Vec::new();
    Cause::StaleCookie(number).write(&mut causes);
    let mut parameters = Vec::new();
    Parameter::Address(address(0, 0)).write(&mut parameters);
    Parameter::HmacAlgorithms(List::new(&[0, 1])).write(&mut parameters);
    Parameter::AddOutgoingStreams(theirs, number as u16).write(&mut parameters);
    let parameters = List8::new(&parameters);
    let init = Init {
        initiate_tag: chance.below(3) as u32,
        a_rwnd: 1500,
        outbound_streams: stream,
        inbound_streams: stream,
        initial_tsn: theirs,
        parameters,
    };
    match chance.below(20) {
        0..6 => {
            let ssn = number as u16;
            Chunk::Data(Data { flags, tsn: theirs, stream, ssn, ppid: 1, payload: &noise })
        }
        6..9 => Chunk::IData(IData {
            flags,
            tsn: theirs,
            stream,
            mid: number,
            ppid_or_fsn: chance.below(5) as u32,
            payload: &noise,
        }),
        9..12 => Chunk::Sack(Sack {
            cumulative_tsn_ack: ours,
            a_rwnd: chance.below(5000) as u32,
            gaps: Gaps::new(&blocks),
            duplicates: Words::new(fours),
        }),
        12 => Chunk::ForwardTsn(ForwardTsn { new_cumulative_tsn: theirs, skips: Gaps::new(fours) }),
        13 => Chunk::IForwardTsn(IForwardTsn {
            new_cumulative_tsn: theirs,
            skips: Skips::new(&noise[..noise.len() & !7]),
        }),
        14 => Chunk::Shutdown { cumulative_tsn_ack: ours },
        15 => Chunk::Error(Causes::new(&causes)),
        16 => Chunk::HeartbeatAck(&noise),
        17 => Chunk::ReConfig(parameters),
        18 => Chunk::Asconf(number, parameters),
        _ => Chunk::InitAck(init),
    }
    .write(out);
}

#[test]
fn an_attacker_who_knows_the_tag_breaks_at_most_the_association() {
    for seed in 0..1_500 {
        let mut chance = Rng(seed);
        let mut parameters = Parameters::telecom(2);
        parameters.extensions.interleaving = seed % 2 == 1;
        parameters.extensions.address_reconfiguration = seed % 3 == 1;
        parameters.receive_buffer = 10_000;
        parameters.partial_delivery_point = (seed % 5 < 2).then_some(1_000);
        let mut world = World::new(seed, parameters, &[Link::perfect(3); 2]);
        world.keeps_packets = true;
        let ids = world.up();
        let tag_of = |kind: u8| {
            let found = world.sent.iter().find(|it| it.3[12] == kind).expect("it was sent");
            Octets::read(&found.3).unwrap().header.verification_tag
        };
        let tsn_of = |kind: u8| {
            let found = world.sent.iter().find(|it| it.3[12] == kind).expect("it was sent");
            u32::from_be_bytes(found.3[28..32].try_into().unwrap())
        };
        let (tag, tsns) = (tag_of(10), (tsn_of(1), tsn_of(2)));
        for _ in 0..60 {
            if chance.happens(0.3) {
                world.send(1, ids[1], 0, vec![1; 1 + chance.below(3000) as usize]);
            }
            let mut bytes = Vec::new();
            let (source_port, destination_port) = (CLIENT_PORT, SERVER_PORT);
            Header { source_port, destination_port, verification_tag: tag }.write(&mut bytes);
            for _ in 0..1 + chance.below(4) {
                chunk(&mut chance, tsns, &mut bytes);
            }
            if chance.happens(0.2) {
                let at = 12 + chance.below(bytes.len() as u64 - 12) as usize;
                bytes[at] ^= 1 << chance.below(8);
            }
            seal(&mut bytes);
            let source = (address(chance.below(2) as usize, 0), 0).into();
            let destination = address(0, 1);
            world.step(1, In::Packet(Packet { source, destination, bytes: bytes.into() }));
            world.run(MS * chance.below(30) as u32);
            if let Some(status) = world.ends[1].status(ids[1]) {
                assert!(status.held <= BOUND, "seed {seed}: {status:?}");
                let flight: usize = status.paths.iter().map(|path| path.flight).sum();
                assert!(flight <= 24 * status.unacknowledged, "seed {seed}: {status:?}");
            }
        }
        // Whatever has become of it, it ends by itself or can be ended.
        world.step(1, In::Abort(ids[1], bytes::Bytes::new()));
        assert_eq!(world.ends[1].status(ids[1]), None);
    }
}

#[test]
fn messages_that_never_have_their_turn_end_the_association_before_they_fill_the_memory() {
    let mut parameters = Parameters::telecom(2);
    parameters.receive_buffer = 10_000;
    let mut world = World::new(1, parameters, &[Link::perfect(3)]);
    world.keeps_packets = true;
    let ids = world.up();
    let echo = world.sent.iter().find(|it| it.3[12] == 10).unwrap();
    let verification_tag = Octets::read(&echo.3).unwrap().header.verification_tag;
    let init = world.sent.iter().find(|it| it.3[12] == 1).unwrap();
    let tsn = u32::from_be_bytes(init.3[28..32].try_into().unwrap());
    let (mut most, mut count) = (0, 0);
    for n in 0..100_000u32 {
        let mut bytes = Vec::new();
        let (source_port, destination_port) = (CLIENT_PORT, SERVER_PORT);
        Header { source_port, destination_port, verification_tag }.write(&mut bytes);
        let flags = DataFlags(DataFlags::BEGIN | DataFlags::END);
        let (tsn, ssn) = (tsn.wrapping_add(n), 1 + n as u16 % 30_000);
        let data = Data { flags, tsn, stream: 0, ssn, ppid: 0, payload: &[7; 1000] };
        Chunk::Data(data).write(&mut bytes);
        seal(&mut bytes);
        let source = (address(0, 0), 0).into();
        let packet = Packet { source, destination: address(0, 1), bytes: bytes.into() };
        world.step(1, In::Packet(packet));
        let Some(status) = world.ends[1].status(ids[1]) else { break };
        (most, count) = (most.max(status.held), count + 1);
    }
    assert!(most <= BOUND && count < 200, "{most} octets held after {count} packets");
}

/// An association of side 1 whose peer is us: its tag, and the TSN that it expects.
fn hijacked(parameters: Parameters) -> (World, [sctp::AssociationId; 2], u32, u32) {
    let mut world = World::new(1, parameters, &[Link::perfect(3)]);
    world.keeps_packets = true;
    let ids = world.up();
    let first = |kind: u8| world.sent.iter().find(|it| it.3[12] == kind).unwrap().3.clone();
    let tag = Octets::read(&first(10)).unwrap().header.verification_tag;
    let tsn = u32::from_be_bytes(first(1)[28..32].try_into().unwrap());
    world.keeps_packets = false;
    (world, ids, tag, tsn)
}

/// Each fragment that came before its neighbours was once moved for each one that came after it.
#[test]
fn fragments_that_come_backwards_become_a_message_all_the_same() {
    const COUNT: u32 = 60_000;
    let (mut world, ids, tag, tsn) = hijacked(Parameters::rfc9260());
    for n in (0..COUNT).rev() {
        let begin = if n == 0 { DataFlags::BEGIN } else { 0 };
        let end = if n == COUNT - 1 { DataFlags::END } else { 0 };
        let flags = DataFlags(begin | end);
        let tsn = tsn.wrapping_add(n);
        let data = Data { flags, tsn, stream: 0, ssn: 0, ppid: 0, payload: &[n as u8] };
        let mut out = Vec::new();
        let packet = world::packet_to(1, tag, &[Chunk::Data(data)]);
        world.ends[1].step(world.now, packet, &mut out);
        if n == 0 {
            world.take(1, out);
        }
    }
    let message = world.messages(1, 0).remove(0);
    assert!(message.iter().enumerate().all(|(n, octet)| n as u8 == *octet));
    assert_eq!((message.len(), world.ends[1].status(ids[1]).unwrap().held), (COUNT as usize, 0));
}

/// One octet is held in far more than one octet of memory.
#[test]
fn tiny_messages_that_never_have_their_turn_are_counted_not_only_weighed() {
    let mut parameters = Parameters::telecom(2);
    parameters.receive_buffer = 100_000;
    let (mut world, ids, tag, tsn) = hijacked(parameters);
    let mut count = 0;
    for n in 0..100_000u32 {
        let flags = DataFlags(DataFlags::BEGIN | DataFlags::END);
        let (tsn, ssn, stream) = (tsn.wrapping_add(n), 1 + (n / 10) as u16, (n % 10) as u16);
        let data = Data { flags, tsn, stream, ssn, ppid: 0, payload: b"x" };
        world.step(1, world::packet_to(1, tag, &[Chunk::Data(data)]));
        if world.ends[1].status(ids[1]).is_none() {
            break;
        }
        count += 1;
    }
    assert!(count <= 100_000 / 16, "{count} messages are held");
}

/// A packet full of SACKs costs as much as one.
#[test]
fn only_the_first_sack_of_a_packet_is_looked_at() {
    let (mut world, ids, tag, _) = hijacked(Parameters::telecom(2));
    let sack = |ack: u32| {
        let (gaps, duplicates) = (Gaps::new(&[]), Words::new(&[]));
        Chunk::Sack(Sack { cumulative_tsn_ack: ack, a_rwnd: 9_000, gaps, duplicates })
    };
    world.keeps_packets = true;
    world.send(1, ids[1], 0, vec![1]);
    let mut out = Vec::new();
    world.ends[1].tick(world.now, &mut out);
    let sctp::Out::Transmit(sent) = &out[0] else { return };
    let raw = Octets::read(&sent.bytes).unwrap().chunks().next().unwrap().unwrap();
    let Ok(Chunk::Data(data)) = Chunk::read(&raw) else { panic!("it is not DATA") };
    // The second one acknowledges what was never sent.
    let chunks = [sack(data.tsn), sack(data.tsn.wrapping_add(100))];
    world.step(1, world::packet_to(1, tag, &chunks));
    assert_eq!(world.ends[1].status(ids[1]).map(|it| it.unacknowledged), Some(0));
}

/// Someone lists the addresses of others as its own: they are asked, once an RTO at first and then
/// as rarely as any other, and nothing else is sent there.
#[test]
fn addresses_of_others_hear_little_of_an_association_that_lists_them() {
    let parameters = Parameters::telecom(2);
    let mut world = World::new(1, parameters, &[Link::perfect(3)]);
    let mut listed = Vec::new();
    for n in 0..15 {
        Parameter::Address([10, 99, 0, n].into()).write(&mut listed);
    }
    let init = Init {
        initiate_tag: 5,
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: 1,
        parameters: List8::new(&listed),
    };
    let mut out = Vec::new();
    world.ends[1].step(world.now, world::packet_to(1, 0, &[Chunk::Init(init)]), &mut out);
    let sctp::Out::Transmit(ack) = out.remove(0) else { return };
    let raw = Octets::read(&ack.bytes).unwrap().chunks().next().unwrap().unwrap();
    let Ok(Chunk::InitAck(answer)) = Chunk::read(&raw) else { panic!("no INIT ACK") };
    let cookie = answer.parameters.tlvs().find(|tlv| tlv.kind == 7).unwrap();
    let echo = Chunk::CookieEcho(&cookie.whole[4..]);
    world.ends[1].step(world.now, world::packet_to(1, answer.initiate_tag, &[echo]), &mut out);
    let id = world.ends[1].associations().next().unwrap();
    let message = sctp::Outgoing::new(0, 0, vec![1; 50_000].into());
    world.ends[1].step(world.now, In::Send(id, message), &mut out);
    let (end, mut now) = (world.now + Duration::from_secs(60), world.now);
    while let Some(at) = world.ends[1].deadline().filter(|at| *at <= end) {
        now = now.max(at);
        world.ends[1].tick(now, &mut out);
    }
    let to_others = out.iter().filter_map(|it| match it {
        sctp::Out::Transmit(sent) if sent.destination.ip() != address(0, 0) => Some(sent),
        _ => None,
    });
    let octets: usize = to_others.map(|sent| sent.bytes.len()).sum();
    assert!(octets <= 15 * 6 * 40, "{octets} octets to others");
}
