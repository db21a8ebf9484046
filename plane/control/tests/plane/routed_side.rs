//! The routed side of a bridge domain: packets of its hosts, in and out.

use super::witness;
use super::world::{
    HOST, World, echo4, interface, neighbour_mac, packet6, port, programs, udp4, via,
};
use nodes::Program;
use nodes::header::word;
use nodes::program::{Address, Bridge, Interface, Mode, NO_PORT, Port, Removed};

const SIDE: [u8; 6] = [2, 0, 0, 0, 9, 0x60];
const OTHER: [u8; 6] = [2, 0, 0, 0, 9, 0x61];

/// Bridge 9 of interfaces 50 (port 2, VLAN 10) and 51 (port 3), its routed side 60 with
/// 10.0.9.1/24 and 2001:db8:9::1/64; hop 1 leads to 192.0.2.0/24 by interface 2.
fn world() -> World {
    let mut said = programs();
    for at in [2, 3] {
        said.push(Program::Port(Port { port: at, ..port(1) }));
    }
    said.push(Program::Bridge(Bridge {
        bridge: 9,
        ageing_s: 300,
        macs_max: 100,
        flood_unknown: true,
        learn: true,
        storm_pps: 0,
        moves_max: 5,
    }));
    let mode = Mode::Bridged { bridge: 9, split_horizon: 0, macs_max: 0 };
    let member = Interface { outer: Some(10), mode: mode.clone(), ..interface(50, 2) };
    said.push(Program::Interface(member));
    said.push(Program::Interface(Interface { mode, ..interface(51, 3) }));
    said.push(Program::Interface(side(SIDE)));
    for (text, length) in [("10.0.9.1", 24), ("2001:db8:9::1", 64)] {
        let address = text.parse().unwrap();
        said.push(Program::Address(Address { interface: 60, address, length }));
    }
    said.push(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    said.push(Program::Routes4 { vrf: 0, routes: vec![("192.0.2.0".parse().unwrap(), 24, 1)] });
    World::of(&said)
}

fn side(mac: [u8; 6]) -> Interface {
    let mode = Mode::BridgeRouted { bridge: 9, vrf: 0 };
    Interface { mode, mac: Some(mac), ..interface(60, NO_PORT) }
}

fn tagged(to: [u8; 6], kind: u16, packet: &[u8]) -> Vec<u8> {
    let kind = kind.to_be_bytes();
    [&to[..], &HOST, &[0x81, 0, 0, 10], &kind, packet].concat()
}

/// An ARP packet of a host of the bridge.
fn arp(operation: u8, target: [u8; 6], own: [u8; 4], asked: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, operation];
    packet.extend(HOST);
    packet.extend(own);
    packet.extend(target);
    packet.extend(asked);
    packet
}

#[test]
fn a_host_of_the_bridge_finds_the_router_and_is_found_by_it() {
    let mut world = world();
    let question = arp(1, [0; 6], [10, 0, 9, 7], [10, 0, 9, 1]);
    // The first question teaches where the host is.
    world.send(2, &tagged([0xff; 6], 0x0806, &question));
    world.tick();
    let left = world.send(2, &tagged([0xff; 6], 0x0806, &question));
    let ports: Vec<u16> = left.sent.iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [2, 3], "the router answers, the other member hears the question");
    let answer = &left.sent[0].1;
    assert_eq!((&answer[..6], &answer[6..12], word(answer, 14)), (&HOST[..], &SIDE[..], 10));
    assert_eq!((answer[25], &answer[26..32]), (2, &SIDE[..]), "an ARP reply");
    let echo = tagged(SIDE, 0x0800, &echo4("10.0.9.7", "10.0.9.1", 100));
    let left = world.send(2, &echo);
    let [(2, reply)] = &left.sent[..] else { panic!("{:?} {:?}", left.sent, world.dropped()) };
    assert_eq!((reply.len(), reply[18 + 20]), (echo.len(), 0));
    // From the bridge to a routed network, and back to a host that the router knows.
    let there = tagged(SIDE, 0x0800, &udp4("10.0.9.7", "192.0.2.1", 64, 100));
    let left = world.send(2, &there);
    let [(1, out)] = &left.sent[..] else { panic!("{:?} {:?}", left.sent, world.dropped()) };
    assert_eq!((&out[..6], out[14 + 8]), (&neighbour_mac(1)[..], 63));
    world.tick();
    let back = super::world::ethernet(1, 0x0800, &udp4("192.0.2.1", "10.0.9.7", 64, 100));
    let left = world.send(1, &back);
    let [(2, out)] = &left.sent[..] else { panic!("{:?} {:?}", left.sent, world.dropped()) };
    assert_eq!((&out[..12], word(out, 14)), (&[HOST, SIDE].concat()[..], 10));
    witness::sound(std::slice::from_ref(out), &["vlan.id == 10 && ip.ttl == 63"]);
    assert!(world.plane.counters().any(|it| it.of(60).received >= 3 && it.of(60).sent >= 3));
}

#[test]
fn neighbours_are_solicited_behind_the_bridge_and_unknown_frames_are_not_the_routers() {
    let mut world = world();
    let mut body = vec![135, 0, 0, 0, 0, 0, 0, 0];
    body.extend("2001:db8:9::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    body.extend([1, 1]);
    body.extend(HOST);
    let question = packet6("2001:db8:9::7", "ff02::1:ff00:1", 255, 58, &body);
    let left = world.send(2, &tagged([0x33, 0x33, 0xff, 0, 0, 1], 0x86dd, &question));
    let answer = left.sent.iter().find(|(port, _)| *port == 2).expect("an advertisement");
    assert_eq!((answer.1[18 + 40], &answer.1[6..12]), (136, &SIDE[..]));
    let stray = tagged([2, 9, 9, 9, 9, 9], 0x0800, &echo4("10.0.9.7", "10.0.9.1", 100));
    let left = world.send(2, &stray);
    assert_eq!(left.sent.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [3], "flooded only");
}

#[test]
fn the_routed_side_may_change_its_address_and_go_and_is_the_only_one() {
    let mut world = world();
    let twin = Interface { index: 61, ..side(OTHER) };
    assert!(world.plane.apply(&Program::Interface(twin)).is_err());
    assert!(world.plane.apply(&Program::Interface(Interface { mac: None, ..side(SIDE) })).is_err());
    world.apply(Program::Interface(side(OTHER)));
    let ask = |world: &mut World, to| {
        let left = world.send(2, &tagged(to, 0x0800, &echo4("10.0.9.7", "10.0.9.1", 100)));
        left.sent.iter().any(|(port, _)| *port == 2)
    };
    world.send(2, &tagged([0xff; 6], 0x0806, &arp(1, [0; 6], [10, 0, 9, 7], [10, 0, 9, 1])));
    world.tick();
    assert!(ask(&mut world, OTHER) && !ask(&mut world, SIDE));
    world.apply(Program::Remove(Removed::Interface(60)));
    assert!(!ask(&mut world, OTHER));
    world.apply(Program::Interface(side(SIDE)));
}
