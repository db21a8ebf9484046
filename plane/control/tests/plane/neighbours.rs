//! Who is where: ARP and neighbour discovery.

use super::world::{
    HOST, Left, World, ethernet, interface, mac, packet6, port, programs, udp4, via,
};
use nodes::program::{Hop, Interface, Removed};
use nodes::{Out, Program, Refused};
use plane_control::GATEWAYS_OF_INTERFACE_MAX;
use std::net::Ipv6Addr;
use std::time::Duration;

fn arp(operation: u8, source: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, operation];
    packet.extend(HOST);
    packet.extend(source);
    packet.extend([0; 6]);
    packet.extend(target);
    packet
}

fn frames(out: &[Out]) -> Vec<(u32, &[u8])> {
    out.iter()
        .filter_map(|out| match out {
            Out::Send { interface, frame } => Some((*interface, frame.as_slice())),
            _ => None,
        })
        .collect()
}

/// Routes what the plane held.
fn released(world: &mut World, out: &[Out]) -> Vec<Left> {
    let mut left = Vec::new();
    for out in out {
        if let Out::Route { vrf, packet } = out {
            left.push(world.inject(0, *vrf, packet));
        }
    }
    left
}

#[test]
fn requests_for_own_addresses_are_answered_and_no_others() {
    let mut world = World::new();
    let left = world.send(0, &ethernet(0, 0x0806, &arp(1, [10, 0, 1, 9], [10, 0, 1, 1])));
    let (port, frame) = &left.sent[0];
    assert_eq!((*port, &frame[..6], &frame[6..12]), (0, &HOST[..], &mac(0)[..]));
    assert_eq!((frame[21], &frame[22..28], &frame[28..32]), (2, &mac(0)[..], &[10, 0, 1, 1][..]));
    let other = arp(1, [10, 0, 1, 9], [10, 0, 1, 8]);
    assert!(world.send(0, &ethernet(0, 0x0806, &other)).sent.is_empty());
    let remote = arp(1, [10, 0, 1, 9], [10, 0, 2, 8]);
    assert!(world.send(0, &ethernet(0, 0x0806, &remote)).sent.is_empty());
    world.apply(Program::Interface(Interface { proxy_arp: true, ..interface(1, 0) }));
    assert_eq!(world.send(0, &ethernet(0, 0x0806, &remote)).sent.len(), 1, "a proxy");
    assert!(world.send(0, &ethernet(0, 0x0806, &other)).sent.is_empty(), "not on its own link");
}

#[test]
fn a_packet_is_held_until_its_neighbour_has_answered() {
    let mut world = World::new();
    let packet = udp4("10.0.1.2", "10.0.2.50", 9, 60);
    assert!(world.send(0, &ethernet(0, 0x0800, &packet)).sent.is_empty());
    let out = world.tick();
    let asked = frames(&out);
    assert_eq!((asked[0].0, &asked[0].1[..6], asked[0].1[21]), (2, &[0xff; 6][..], 1));
    assert_eq!(
        (&asked[0].1[28..32], &asked[0].1[38..42]),
        (&[10, 0, 2, 1][..], &[10, 0, 2, 50][..])
    );
    let answer = arp(2, [10, 0, 2, 50], [10, 0, 2, 1]);
    world.send(1, &ethernet(1, 0x0806, &answer));
    let out = world.tick();
    let left = released(&mut world, &out);
    let (port, frame) = &left[0].sent[0];
    assert_eq!((*port, &frame[..6], frame[22]), (1, &HOST[..], 8));
    let left = world.send(0, &ethernet(0, 0x0800, &packet));
    assert_eq!(left.sent[0].1[..6], HOST, "and now at once");
}

#[test]
fn the_first_packets_to_a_neighbour_are_held_and_those_too_many_are_counted() {
    let mut world = World::new();
    let counted = |world: &World, reason: &str| {
        let all = world.plane.resolution();
        let of = all.get(&2).map(|it| it.counts.clone()).unwrap_or_default();
        of.iter().filter(|(it, _)| it.name() == reason).map(|(_, count)| *count).sum::<u64>()
    };
    // A burst within one question: as many as are held, in their order.
    for id in 0..10 {
        let packet = udp4("10.0.1.2", "10.0.2.50", 9, 60 + id);
        assert!(world.send(0, &ethernet(0, 0x0800, &packet)).sent.is_empty());
    }
    assert_eq!(frames(&world.tick()).len(), 1, "it is asked for once");
    assert_eq!(world.dropped()["neighbour asked for already"], 2);
    world.send(1, &ethernet(1, 0x0806, &arp(2, [10, 0, 2, 50], [10, 0, 2, 1])));
    let out = world.tick();
    let lengths = |left: &[Left]| left.iter().map(|it| it.sent[0].1.len()).collect::<Vec<_>>();
    let first = lengths(&released(&mut world, &out));
    assert_eq!(first.len(), 8);
    assert!(first.is_sorted_by(|a, b| a < b), "{first:?}");
    assert_eq!(counted(&world, "held_displaced"), 0);
    // One that answers late has the last ones, and the rest is counted.
    for id in 0..12 {
        world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", "10.0.2.51", 9, 60 + id)));
        world.pass(Duration::from_millis(30));
    }
    world.send(1, &ethernet(1, 0x0806, &arp(2, [10, 0, 2, 51], [10, 0, 2, 1])));
    let out = world.tick();
    let late = lengths(&released(&mut world, &out));
    assert_eq!((late.len(), late[7] - first[0]), (8, 11));
    assert_eq!(counted(&world, "held_displaced"), 4);
    // One that never answers.
    for id in 0..5 {
        world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", "10.0.2.52", 9, 60 + id)));
    }
    (0..50).for_each(|_| drop(world.pass(Duration::from_millis(100))));
    assert_eq!(counted(&world, "held_unanswered"), 5);
}

#[test]
fn a_gateway_that_came_late_is_asked_for_with_the_next_packet() {
    let mut world = World::new();
    world.apply(Program::Hop { id: 1, hop: via(2, "10.0.2.60") });
    world.apply(Program::Routes4 { vrf: 0, routes: vec![("192.0.2.0".parse().unwrap(), 24, 1)] });
    let mut asked = 0;
    (0..35).for_each(|_| asked += frames(&world.pass(Duration::from_millis(100))).len());
    assert_eq!(asked, 3, "nobody answers, and nothing goes there");
    let packet = ethernet(0, 0x0800, &udp4("10.0.1.2", "192.0.2.1", 9, 60));
    assert!(world.send(0, &packet).sent.is_empty());
    let out = world.pass(Duration::from_millis(20));
    assert_eq!(frames(&out).len(), 1, "at once");
    world.send(1, &ethernet(1, 0x0806, &arp(2, [10, 0, 2, 60], [10, 0, 2, 1])));
    let out = world.tick();
    assert_eq!(released(&mut world, &out).len(), 1);
    assert_eq!(world.send(0, &packet).sent.len(), 1);
}

#[test]
fn a_neighbour_that_does_not_answer_is_asked_three_times_and_forgotten() {
    let mut world = World::new();
    world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", "10.0.2.50", 9, 60)));
    let mut asked = frames(&world.tick()).len();
    for _ in 0..100 {
        asked += frames(&world.pass(Duration::from_millis(100))).len();
    }
    assert_eq!(asked, 3);
}

#[test]
fn a_known_neighbour_is_asked_again_alone_and_lost_when_it_is_silent() {
    let mut world = World::new();
    world.apply(Program::Hop { id: 1, hop: via(2, "10.0.2.60") });
    world.apply(Program::Routes4 { vrf: 0, routes: vec![("192.0.2.0".parse().unwrap(), 24, 1)] });
    assert_eq!(frames(&world.tick()).len(), 1, "a gateway is asked for at once");
    world.send(1, &ethernet(1, 0x0806, &arp(2, [10, 0, 2, 60], [10, 0, 2, 1])));
    world.tick();
    let packet = ethernet(0, 0x0800, &udp4("10.0.1.2", "192.0.2.1", 9, 60));
    assert_eq!(world.send(0, &packet).sent.len(), 1);
    let out = world.pass(Duration::from_secs(61));
    assert_eq!(frames(&out)[0].1[..6], HOST, "it alone");
    let mut lost = false;
    for _ in 0..50 {
        let out = world.pass(Duration::from_millis(100));
        lost |= out.iter().any(|out| matches!(out, Out::Neighbour { mac: None, .. }));
    }
    assert!(lost && world.send(0, &packet).sent.is_empty());
    let out = world.pass(Duration::from_secs(5));
    assert_eq!(frames(&out)[0].1[..6], [0xff; 6], "a gateway is asked for again");
}

#[test]
fn neighbour_discovery_answers_and_asks() {
    let mut world = World::new();
    let mut body = vec![135, 0, 0, 0, 0, 0, 0, 0];
    body.extend("2001:db8:1::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    body.extend([1, 1]);
    body.extend(HOST);
    let question = packet6("2001:db8:1::77", "ff02::1:ff00:1", 255, 58, &body);
    let mut frame = ethernet(0, 0x86dd, &question);
    frame[..6].copy_from_slice(&[0x33, 0x33, 0xff, 0, 0, 1]);
    let left = world.send(0, &frame);
    let answer = &left.sent[0].1;
    assert_eq!((&answer[..6], answer[54], answer[58]), (&HOST[..], 136, 0xe0));
    assert_eq!(answer[80..86], mac(0));
    world.tick();
    let back = packet6("2001:db8:2::2", "2001:db8:1::77", 9, 59, &[]);
    let left = world.send(1, &ethernet(1, 0x86dd, &back));
    assert_eq!(left.sent[0].1[..6], HOST, "who asks is known");
    let packet = packet6("2001:db8:1::2", "2001:db8:2::50", 9, 59, &[]);
    world.send(0, &ethernet(0, 0x86dd, &packet));
    let out = world.tick();
    let asked = frames(&out)[0].1;
    assert_eq!((&asked[..6], asked[54]), (&[0x33, 0x33, 0xff, 0, 0, 0x50][..], 135));
}

#[test]
fn a_scan_of_a_subnet_fills_no_table_and_own_neighbours_stay_known() {
    let mut world = World::new();
    for host in 0..60_000_u32 {
        let to = format!("10.0.{}.{}", 2, host % 253 + 3);
        if host % 1_000 == 0 {
            world.pass(Duration::from_millis(1));
        }
        world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", &to, 9, 60)));
    }
    assert!(world.dropped()["neighbour asked for already"] > 45_000);
    let left = world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", "10.0.2.2", 9, 60)));
    assert_eq!(left.sent.len(), 1);
}

#[test]
fn an_address_is_announced_and_a_hop_in_use_cannot_be_removed() {
    let mut world = World::of(&programs()[..2]);
    let address = "10.0.1.1".parse().unwrap();
    world.apply(Program::Address(nodes::program::Address { interface: 1, address, length: 24 }));
    let out = world.tick();
    let announced = frames(&out)[0].1;
    assert_eq!((&announced[28..32], &announced[38..42]), (&[10, 0, 1, 1][..], &[10, 0, 1, 1][..]));
    world.apply(Program::Hop { id: 1, hop: via(1, "10.0.1.2") });
    world
        .apply(Program::Hop { id: 2, hop: Hop::Group { members: vec![(1, 1)], resilient: false } });
    assert!(world.plane.apply(&Program::Remove(Removed::Hop(1))).is_err());
    world.apply(Program::Remove(Removed::Hop(2)));
    world.apply(Program::Remove(Removed::Hop(1)));
}

#[test]
fn an_address_whose_port_is_down_is_announced_when_that_is_up_unless_it_is_gone_by_then() {
    let mut world = World::of(&programs()[..2]);
    let down = nodes::program::Port { up: false, ..port(0) };
    world.apply(Program::Port(down.clone()));
    let addresses = ["10.0.1.1", "10.0.1.3"].map(|it| it.parse().unwrap());
    for address in addresses {
        let own = nodes::program::Address { interface: 1, address, length: 24 };
        world.apply(Program::Address(own));
    }
    assert_eq!(frames(&world.pass(Duration::from_secs(9))), []);
    world.apply(Program::Remove(Removed::Address(1, addresses[1], 24)));
    world.apply(Program::Port(port(0)));
    let out = world.tick();
    let announced = frames(&out);
    assert_eq!(announced.len(), 1);
    assert_eq!(announced[0].1[28..32], [10, 0, 1, 1]);
    // Once: neighbours that know where it is need not hear it whenever a link has been down.
    world.apply(Program::Port(down));
    world.apply(Program::Port(port(0)));
    assert_eq!(frames(&world.pass(Duration::from_secs(9))), []);
}

#[test]
fn an_echo_from_a_link_local_address_goes_back_where_it_came_from() {
    let mut world = World::new();
    let body = [128, 0, 0, 0, 0, 7, 0, 1, 1, 2, 3, 4];
    let own = nodes::addresses::link_local(mac(0)).to_string();
    let question = packet6("fe80::9", &own, 64, 58, &body);
    let left = world.send(0, &ethernet(0, 0x86dd, &question));
    let (port, frame) = &left.sent[0];
    assert_eq!((*port, &frame[..6], &frame[6..12], frame[54]), (0, &HOST[..], &mac(0)[..], 129));
    let elsewhere = packet6("fe80::9", "2001:db8:2::2", 64, 59, &[]);
    let left = world.send(0, &ethernet(0, 0x86dd, &elsewhere));
    assert!(left.sent.iter().all(|(port, frame)| *port == 0 && frame[54] == 1), "not off its link");
}

#[test]
fn gateways_of_one_interface_leave_room_for_those_of_others() {
    let mut world = World::new();
    let most = u32::try_from(GATEWAYS_OF_INTERFACE_MAX).unwrap();
    let hop = |id: u32, interface: u32| {
        let gateway = Ipv6Addr::from(0x2001_0db8_0001_0000_u128 << 64 | u128::from(id));
        let (gateway, labels) = (Some(gateway.into()), Vec::new());
        Program::Hop { id, hop: Hop::Via { interface, gateway, labels } }
    };
    (0..most).for_each(|n| world.apply(hop(10_000 + n, 1)));
    let refused = world.plane.apply(&hop(9_999, 1));
    assert!(matches!(refused, Err(Refused::Full(_))), "{refused:?}");
    // The same gateway serves another hop, and another interface has room.
    world.apply(hop(10_000, 1));
    world.apply(hop(9_999, 2));
    // One that goes makes room.
    world.apply(Program::Remove(Removed::Hop(10_007)));
    world.apply(hop(9_998, 1));
}
