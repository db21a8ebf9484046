//! What is for the link, or says that routers should look at it, passes filters, checks of sources
//! and tables as everything does.

use super::world::{World, ethernet, interface, mac, packet6, port, programs, udp4};
use nodes::Program;
use nodes::header::seal_ip4;
use nodes::program::{
    Direction, Family, Filter, FilterUse, Interface, Match, Mode, Rule, Urpf, Verdict,
};

/// Behind a port of its own: a customer's table, in which there is nothing.
fn with_customer() -> World {
    let mut said = programs();
    said.push(Program::Vrf { vrf: 5 });
    said.push(Program::Port(port(2)));
    let mode = Mode::Routed { vrf: 5 };
    said.push(Program::Interface(Interface { mode, ..interface(5, 2) }));
    World::of(&said)
}

fn filter(world: &mut World, family: Family, rules: Vec<Rule>) {
    let filter = if family == Family::Ip4 { 5 } else { 6 };
    world.apply(Program::Filter(Filter { filter, family, rules }));
    let direction = Direction::In;
    world.apply(Program::FilterUse(FilterUse { interface: 1, direction, filter }));
}

fn rule(protocols: Vec<u8>, verdict: Verdict) -> Rule {
    Rule { matches: Match { protocols, ..Match::default() }, verdict }
}

/// An IPv4 packet with router alert (RFC 2113).
fn alert4(source: &str, to: &str) -> Vec<u8> {
    let mut packet = udp4(source, to, 9, 60);
    packet.splice(20..20, [148, 4, 0, 0]);
    (packet[0], packet[3]) = (0x46, 64);
    seal_ip4(&mut packet[..24]);
    packet
}

/// An IPv6 packet with router alert (RFC 2711).
fn alert6(source: &str, to: &str) -> Vec<u8> {
    packet6(source, to, 9, 0, &[59, 0, 5, 2, 0, 0, 1, 0])
}

fn hello(source: &str) -> Vec<u8> {
    let mut packet = udp4(source, "224.0.0.5", 1, 60);
    packet[9] = 89;
    seal_ip4(&mut packet[..20]);
    packet
}

fn solicitation(source: &str, to: &str, target: &str) -> Vec<u8> {
    let mut body = vec![135, 0, 0, 0, 0, 0, 0, 0];
    body.extend(target.parse::<std::net::Ipv6Addr>().unwrap().octets());
    packet6(source, to, 255, 58, &body)
}

#[test]
fn a_router_alert_goes_up_where_the_packet_is_for_this_system_and_nowhere_else() {
    let mut world = with_customer();
    let left = world.send(0, &ethernet(0, 0x0800, &alert4("10.0.1.2", "10.0.2.2")));
    assert_eq!((left.sent[0].0, left.punted.len()), (1, 0), "passed on");
    let left = world.send(0, &ethernet(0, 0x86dd, &alert6("2001:db8:1::2", "2001:db8:2::2")));
    assert_eq!((left.sent[0].0, left.punted.len()), (1, 0), "passed on");
    let left = world.send(0, &ethernet(0, 0x0800, &alert4("10.0.1.2", "10.0.2.1")));
    assert_eq!(left.punted.len(), 1);
    let left = world.send(0, &ethernet(0, 0x86dd, &alert6("2001:db8:1::2", "2001:db8:2::1")));
    assert_eq!(left.punted.len(), 1);
    let left = world.send(2, &ethernet(2, 0x0800, &alert4("10.9.9.9", "10.0.1.1")));
    assert!(left.punted.is_empty(), "not in the customer's table");
    let left = world.send(2, &ethernet(2, 0x86dd, &alert6("2001:db8:9::9", "2001:db8:1::1")));
    assert!(left.punted.is_empty(), "not in the customer's table");
}

#[test]
fn a_filter_sees_router_alerts_groups_of_the_link_and_link_local_addresses() {
    let mut world = World::new();
    let own = nodes::addresses::link_local(super::world::mac(0)).to_string();
    let udp6 = packet6("fe80::9", &own, 9, 17, &[0, 9, 0, 9, 0, 8, 0, 0]);
    let kinds = [
        ethernet(0, 0x0800, &alert4("10.0.1.2", "10.0.1.1")),
        ethernet(0, 0x0800, &hello("10.0.1.2")),
        ethernet(0, 0x0800, &udp4("0.0.0.0", "255.255.255.255", 9, 60)),
        ethernet(0, 0x86dd, &alert6("2001:db8:1::2", "2001:db8:1::1")),
        ethernet(0, 0x86dd, &packet6("fe80::9", "ff02::1", 1, 17, &[0, 9, 0, 9, 0, 8, 0, 0])),
        ethernet(0, 0x86dd, &udp6),
    ];
    for frame in &kinds {
        assert_eq!(world.send(0, frame).punted.len(), 1, "{frame:?}");
    }
    for family in [Family::Ip4, Family::Ip6] {
        filter(&mut world, family, vec![rule(vec![6], Verdict::Permit)]);
    }
    for frame in &kinds {
        assert!(world.send(0, frame).punted.is_empty(), "{frame:?}");
    }
    assert_eq!(world.dropped()["no rule permits it"], 3, "of each family");
    let own = solicitation("fe80::9", &own, &own);
    let probe = solicitation("::", "ff02::1:ff00:1", "2001:db8:1::1");
    for packet in [&own, &probe] {
        let left = world.send(0, &ethernet(0, 0x86dd, packet));
        assert_eq!(left.sent.len(), 1, "neighbours are needed, and no rule says otherwise");
    }
    filter(&mut world, Family::Ip6, vec![rule(vec![58], Verdict::Deny)]);
    assert!(world.send(0, &ethernet(0, 0x86dd, &own)).sent.is_empty(), "one does");
}

#[test]
fn sources_of_packets_to_groups_are_checked_but_for_those_of_the_link() {
    let mut said = programs();
    said.push(Program::Interface(Interface { urpf: Urpf::Strict, ..interface(1, 0) }));
    let mut world = World::of(&said);
    let punted = |world: &mut World, kind: u16, packet: &[u8]| {
        world.send(0, &ethernet(0, kind, packet)).punted.len()
    };
    assert_eq!(punted(&mut world, 0x0800, &hello("10.0.1.2")), 1);
    assert_eq!(punted(&mut world, 0x0800, &hello("10.0.2.2")), 0, "behind the other port");
    assert_eq!(punted(&mut world, 0x0800, &udp4("0.0.0.0", "255.255.255.255", 9, 60)), 1);
    let udp = [0, 9, 0, 9, 0, 8, 0, 0];
    assert_eq!(punted(&mut world, 0x86dd, &packet6("fe80::9", "ff02::1", 1, 17, &udp)), 1);
    let forged = packet6("2001:db8:2::9", "ff02::1", 1, 17, &udp);
    assert_eq!(punted(&mut world, 0x86dd, &forged), 0);
}

#[test]
fn a_packet_to_a_group_leaves_by_the_link_that_is_named_in_a_frame_of_that_link() {
    let mut world = World::new();
    let tagged = Interface { outer: Some(7), ..interface(3, 1) };
    world.apply(Program::Interface(tagged));
    let packet = udp4("10.0.1.1", "224.0.0.5", 1, 60);
    let left = world.inject_group(1, &packet);
    let group = [1, 0, 0x5e, 0, 0, 5];
    assert_eq!(left.sent, [(0, [&group[..], &mac(0), &[8, 0], &packet].concat())]);
    let left = world.inject_group(3, &packet);
    let frame = [&group[..], &mac(1), &[0x81, 0, 0, 7, 8, 0], &packet].concat();
    assert_eq!(left.sent, [(1, frame)]);
    for (interface, packet) in [
        (1, udp4("10.0.1.1", "10.0.1.2", 1, 60)),
        (1, udp4("10.0.1.1", "224.0.0.5", 1, 1_501)),
        (9, packet.clone()),
        (1, packet[..19].to_vec()),
    ] {
        assert_eq!(world.inject_group(interface, &packet).sent, []);
    }
    let dropped = world.dropped();
    assert_eq!(dropped["injected packet is for no group"], 2);
    assert_eq!(dropped["injected packet is too long for the link"], 1);
    assert_eq!(dropped["injected packet is for the link of no routed interface"], 1);
}

#[test]
fn a_packet_to_a_group_of_the_link_comes_in_a_frame_to_a_group() {
    let mut world = World::new();
    let mut frame = ethernet(0, 0x0800, &hello("10.0.1.2"));
    assert_eq!(world.send(0, &frame).punted.len(), 1);
    // As it lies there when the router before this one has taken a label off.
    frame[..6].copy_from_slice(&super::world::mac(0));
    assert!(world.send(0, &frame).punted.is_empty());
    assert_eq!(world.dropped()["ip4 group of the link in a frame to one"], 1);
}
