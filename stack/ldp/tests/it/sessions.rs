//! Sessions by the machine of TCP, labels along a row of routers, and what strangers cannot do.

use crate::world::{SECOND, World};
use igp::ip4::{Head, TCP, UDP, udp, write};
use ldp::LdpId;
use ldp::codec::{Body, CommonHello, HelloBody, write_pdus};
use ldp_stack::{IMPLICIT_NULL, Prefix};
use runtime::PacketRecord;
use std::net::Ipv4Addr;

/// The labels of a path from the first router of a row to the last: each swaps the one that the
/// next has told, and the last but one takes it off.
fn path(world: &World) -> Vec<u32> {
    let last = world.routers.len() - 1;
    let to = World::prefix(last);
    let mut labels = Vec::new();
    for router in 0..last {
        let forward = world.at(router).forward(to).unwrap();
        let [hop] = &forward.hops[..] else { panic!("{forward:?}") };
        assert_eq!(hop.gateway, World::address(router, 1));
        labels.push(hop.label.unwrap());
        if router + 1 < last {
            let next = world.at(router + 1).forward(to).unwrap();
            assert_eq!(hop.label, Some(next.label), "router {router} pushes what the next gave");
        }
    }
    labels
}

#[test]
fn labels_lead_along_a_row_of_routers_whatever_is_lost() {
    for (seed, loss) in [(1, 0), (2, 50), (3, 150)] {
        let mut world = World::new(seed, 4);
        world.loss = loss;
        world.start_all();
        world.run(SECOND * 60);
        let path = path(&world);
        assert_eq!(path.last(), Some(&IMPLICIT_NULL), "the last but one takes it off");
        assert!(path[..2].iter().all(|it| (100_000..=149_999).contains(it)), "{path:?}");
    }
}

#[test]
fn a_router_that_comes_back_gives_labels_of_the_other_half_and_sessions_stand_again() {
    let mut world = World::new(4, 3);
    world.start_all();
    world.run(SECOND * 30);
    assert_eq!([world.standing(0), world.standing(1)], [vec![2], vec![1, 3]]);
    world.routers[1] = None;
    world.run(SECOND);
    world.start(1, true);
    world.run(SECOND * 40);
    assert_eq!(world.standing(1), [1, 3]);
    let label = world.at(0).forward(World::prefix(2)).unwrap().hops[0].label.unwrap();
    assert!((150_000..=199_999).contains(&label), "{label}");
    assert!(world.at(0).alarms().is_empty(), "it is back");
}

#[test]
fn a_session_that_falls_silent_is_an_alarm_and_its_labels_go() {
    let mut world = World::new(5, 2);
    world.start_all();
    world.run(SECOND * 30);
    let label = |world: &World| world.at(0).forward(World::prefix(1)).unwrap().hops[0].label;
    assert_eq!(label(&world), Some(IMPLICIT_NULL));
    world.passes = false;
    world.run(SECOND * 20);
    assert_eq!(label(&world), None);
    let alarms = world.at(0).alarms();
    assert_eq!((&*alarms[0].name, &*alarms[0].subject), ("ldp-session-lost", "10.255.0.2"));
    world.passes = true;
    world.run(SECOND * 60);
    assert_eq!(label(&world), Some(IMPLICIT_NULL));
    assert!(world.at(0).alarms().is_empty());
}

#[test]
fn links_are_dear_until_their_sessions_have_told_their_labels() {
    let mut world = World::new(6, 2);
    world.lines += "\nigp_sync = true";
    world.start(0, false);
    world.run(SECOND * 20);
    assert!(world.at(0).is_dear(1) && !world.at(0).is_dear(7));
    world.start(1, false);
    world.run(SECOND * 20);
    assert!(!world.at(0).is_dear(1));
    let mut has_changed = false;
    world.with(0, |it, _, _| has_changed = it.take_synchronized());
    assert!(has_changed);
    world.passes = false;
    world.run(SECOND * 20);
    assert!(world.at(0).is_dear(1));
}

#[test]
fn only_prefixes_that_the_section_names_have_labels_and_another_order_begins_anew() {
    let mut world = World::new(7, 2);
    world.start_all();
    world.run(SECOND * 30);
    let before = world.section(0);
    let other: Prefix = Prefix::new(Ipv4Addr::new(10, 9, 0, 0).into(), 16);
    assert!(before.takes(other));
    world.lines += "\nwithin = [\"10.255.0.0/16\"]";
    let after = world.section(0);
    assert!(!after.takes(other) && after.takes(World::prefix(1)));
    assert_eq!(before.interruptions(Some(&after)), Vec::<String>::new());
    world.configure(0);
    assert_eq!(world.standing(0), [2]);
    world.lines += "\ncontrol = \"ordered\"";
    let last = world.section(0);
    assert_eq!(
        after.interruptions(Some(&last)),
        ["all sessions of LDP begin anew, and their labels"]
    );
    assert_eq!(last.interruptions(None), ["this interface speaks LDP no more: w0"]);
    world.configure(0);
    assert_eq!(world.standing(0), Vec::<u8>::new());
    world.run(SECOND * 40);
    assert_eq!(world.standing(0), [2]);
}

fn packet(from: Ipv4Addr, to: Ipv4Addr, ttl: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let head = Head { source: from, destination: to, ttl, protocol, id: 1 };
    let mut made = Vec::new();
    write(&head, payload, u16::MAX, |header, part| made = [header, part].concat());
    made
}

/// A segment that asks for a connection to port 646.
fn syn(from: Ipv4Addr, to: Ipv4Addr, port: u16) -> Vec<u8> {
    let mut octets = Vec::new();
    let syn = tcp::Segment {
        source: port,
        destination: 646,
        seq: 7,
        ack: 0,
        flags: tcp::Flags::SYN,
        window: 1_000,
        mss: None,
        payload: &[],
    };
    assert!(syn.write((from.into(), to.into()), &mut octets));
    octets
}

#[test]
fn strangers_get_no_connection_and_who_is_heard_not_many_nor_from_afar() {
    let mut world = World::new(8, 2);
    world.start_all();
    world.run(SECOND * 30);
    let (own, peer) = (World::own(0), World::own(1));
    let connections =
        |world: &World| question::value(world.at(0).summary())[0]["connections"].clone();
    let stranger = Ipv4Addr::new(198, 51, 100, 9);
    for ttl in [64, 255] {
        let octets = packet(stranger, own, ttl, TCP, &syn(stranger, own, 5_000));
        world.give(0, 1, &octets);
    }
    assert_eq!(connections(&world), 1, "that of the session");
    let octets = packet(peer, own, 254, TCP, &syn(peer, own, 5_000));
    world.give(0, 1, &octets);
    assert_eq!(connections(&world), 1, "it came over a hop");
    for port in 5_000..5_010 {
        let octets = packet(peer, own, 255, TCP, &syn(peer, own, port));
        world.give(0, 1, &octets);
    }
    assert_eq!(connections(&world), 4, "those of one neighbour at most");
    let mut forged = syn(peer, own, 6_000);
    forged[4] ^= 1;
    let octets = packet(peer, own, 255, TCP, &forged);
    world.give(0, 1, &octets);
    let datagram = udp([peer, own], [646, 646], b"\x00\x01");
    let octets = packet(peer, own, 255, UDP, &datagram);
    world.give(0, 1, &octets);
    world.run(SECOND * 120);
    assert_eq!(connections(&world), 1, "what never stood is given up");
    assert_eq!(world.standing(0), [2], "and the session stands");
}

/// A hello of a router, with its own address for sessions.
fn hello(of: Ipv4Addr, from: Ipv4Addr, ttl: u8) -> Vec<u8> {
    let common = CommonHello { hold_s: 15, has_gtsm: true, ..CommonHello::default() };
    let body = HelloBody { common, ipv4: Some(of), ..HelloBody::default() };
    let octets = write_pdus(LdpId::of(of), &[Body::Hello(body).write(1)], 4_096);
    let group = Ipv4Addr::new(224, 0, 0, 2);
    packet(from, group, ttl, UDP, &udp([from, group], [646, 646], &octets))
}

#[test]
fn a_neighbour_has_an_address_of_the_link() {
    let mut world = World::new(9, 2);
    world.start_all();
    let heard = |world: &World| question::value(world.at(0).neighbours(world.now));
    let count = |world: &World| heard(world).as_array().unwrap().len();
    let other = Ipv4Addr::new(10, 255, 0, 77);
    world.give(0, 1, &hello(other, Ipv4Addr::new(198, 51, 100, 9), 255));
    assert_eq!(count(&world), 0);
    world.give(0, 1, &hello(other, Ipv4Addr::new(10, 0, 0, 77), 255));
    assert_eq!(count(&world), 1);
}

#[test]
fn connections_come_in_the_global_table_to_the_address_of_sessions_by_a_link_with_ldp() {
    let mut world = World::new(10, 2);
    world.start_all();
    world.run(SECOND * 30);
    let (own, peer) = (World::own(0), World::own(1));
    let connections =
        |world: &World| question::value(world.at(0).summary())[0]["connections"].clone();
    let segment = |to: Ipv4Addr, port: u16| packet(peer, to, 255, TCP, &syn(peer, to, port));
    let by = |vrf: u32, interface: u32| PacketRecord { interface, vrf, ..PacketRecord::default() };
    let link = World::address(0, 0);
    world.give_by(0, by(3, 9), &segment(own, 5_000));
    world.give_by(0, by(0, 9), &segment(own, 5_001));
    world.give_by(0, by(0, 1), &segment(link, 5_002));
    assert_eq!(connections(&world), 1, "that of the session");
    world.give_by(0, by(0, 1), &segment(own, 5_003));
    assert_eq!(connections(&world), 2);
}

#[test]
fn without_igp_sync_no_link_is_said_to_cost_another_thing() {
    let mut world = World::new(11, 2);
    world.start_all();
    world.run(SECOND * 30);
    assert_eq!(world.standing(0), [2]);
    let mut has_changed = true;
    world.with(0, |it, _, _| has_changed = it.take_synchronized());
    assert!(!has_changed);
}
