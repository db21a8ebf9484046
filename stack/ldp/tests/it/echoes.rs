//! Requests of LSP ping of others: which ones are answered, and how many.

use crate::world::{SECOND, World};
use igp::ip4::{Head, Packet, UDP, udp, write};
use lspping::{Fec, Message, PORT};
use machine::Duration;
use runtime::PacketRecord;
use std::net::Ipv4Addr;

const ASKER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const NOWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);

fn request(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let octets = Message::request(Fec::Ldp4(World::own(0), 32), 7, 1, 0).write();
    let head = Head { source, destination, ttl: 1, protocol: UDP, id: 1 };
    let mut packet = Vec::new();
    write(&head, &udp([source, destination], [50_000, PORT], &octets), 1_500, |header, part| {
        packet.extend_from_slice(header);
        packet.extend_from_slice(part);
    });
    packet
}

/// As it comes where its time ended at a label.
fn labelled(packet: &[u8]) -> Vec<u8> {
    [&(16_u32 << 12 | 1 << 8 | 1).to_be_bytes(), packet].concat()
}

/// How many answers the first router gives to a packet by an interface.
fn answers(world: &mut World, interface: u32, packet: &[u8]) -> usize {
    world.sent.clear();
    let record = PacketRecord { interface, ..PacketRecord::default() };
    world.give_by(0, record, packet);
    let answers = world.sent.iter().filter_map(|it| Packet::read(it));
    answers.filter(|it| it.payload.starts_with(&PORT.to_be_bytes())).count()
}

fn started() -> World {
    let mut world = World::new(1, 2);
    world.start_all();
    world.run(SECOND * 10);
    world
}

#[test]
fn requests_lead_nowhere_else_and_come_from_a_host_that_is_not_this_one() {
    let mut world = started();
    let good = request(ASKER, NOWHERE);
    assert_eq!(answers(&mut world, 1, &good), 1);
    assert_eq!(answers(&mut world, 1, &labelled(&good)), 1);
    for destination in [World::own(0), World::address(0, 0), Ipv4Addr::new(10, 9, 9, 9)] {
        let plain = request(ASKER, destination);
        assert_eq!(answers(&mut world, 1, &plain), 0, "{destination}");
        assert_eq!(answers(&mut world, 1, &labelled(&plain)), 0, "{destination}");
    }
    let strange = [[127, 0, 0, 1], [224, 0, 0, 2], [255; 4], [0; 4], [240, 0, 0, 1]];
    for source in
        strange.map(Ipv4Addr::from).into_iter().chain([World::own(0), World::address(0, 0)])
    {
        let packet = request(source, NOWHERE);
        assert_eq!(answers(&mut world, 1, &packet), 0, "{source}");
        assert_eq!(answers(&mut world, 1, &labelled(&packet)), 0, "{source}");
    }
}

#[test]
fn who_asks_without_end_leaves_answers_to_others() {
    let mut world = started();
    // All of them of one network, then of many: by one interface.
    let mut asks = |networks: u32| {
        let mut counts = [0; 2];
        for n in 0..3_000_u32 {
            let source = Ipv4Addr::from(0x6400_0000 + n % networks * 256 + n % 200);
            counts[0] += answers(&mut world, 1, &request(source, NOWHERE));
            if n % 300 == 0 {
                counts[1] += answers(&mut world, 2, &request(ASKER, NOWHERE));
            }
            world.run(Duration::from_millis(1));
        }
        world.run(SECOND * 5);
        counts
    };
    assert_eq!(asks(1), [20 + 20 * 3 - 1, 10], "20 at once, 20 a second, and all of the others");
    assert_eq!(asks(1_000), [50 + 50 * 3 - 1, 10], "50 at once, 50 a second");
}
