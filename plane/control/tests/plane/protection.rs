//! What floods cost.

use super::world::{World, echo4, ethernet, packet6, udp4};
use std::time::Duration;

#[test]
fn a_flood_of_echoes_costs_neither_the_session_nor_what_passes_through() {
    let mut world = World::new();
    let flood = ethernet(0, 0x0800, &echo4("10.0.1.2", "10.0.1.1", 84));
    let mut bgp = udp4("10.0.2.2", "10.0.1.1", 64, 60);
    bgp[9] = 6;
    bgp[22..24].copy_from_slice(&179_u16.to_be_bytes());
    nodes::header::seal_ip4(&mut bgp[..20]);
    let bgp = ethernet(1, 0x0800, &bgp);
    let through = ethernet(1, 0x0800, &udp4("10.0.2.2", "10.0.1.2", 64, 60));
    let (mut answered, mut punted, mut passed) = (0, 0, 0);
    for round in 0..20_000 {
        world.now += Duration::from_micros(10);
        answered += world.send(0, &flood).sent.len();
        if round % 100 == 0 {
            punted += world.send(1, &bgp).punted.len();
            passed += world.send(1, &through).sent.len();
        }
    }
    assert_eq!((punted, passed), (200, 200));
    assert!((150..=200).contains(&answered), "{answered}: 150 at once, 200 a second");
    assert_eq!(world.dropped()["policed: icmp"] as usize, 20_000 - answered);
}

#[test]
fn what_is_allowed_is_allowed_once_whichever_worker_the_packets_come_to() {
    let mut world = World::new();
    let mut other = world.plane.graph().unwrap();
    let flood = ethernet(0, 0x0800, &echo4("10.0.1.2", "10.0.1.1", 84));
    let mut answered = 0;
    for _ in 0..20_000 {
        world.now += Duration::from_micros(10);
        answered += world.send(0, &flood).sent.len();
        std::mem::swap(&mut world.graph, &mut other);
    }
    assert!((150..=200).contains(&answered), "{answered}: 150 at once, 200 a second");
}

fn segment(ends: ([u8; 4], u16), to: ([u8; 4], u16), data: usize) -> Vec<u8> {
    let text = |octets: [u8; 4]| std::net::Ipv4Addr::from(octets).to_string();
    let mut packet = udp4(&text(ends.0), &text(to.0), 64, 40 + data);
    packet[9] = 6;
    packet[20..22].copy_from_slice(&ends.1.to_be_bytes());
    packet[22..24].copy_from_slice(&to.1.to_be_bytes());
    packet[24..40].fill(0);
    (packet[32], packet[33]) = (0x50, 0x18);
    nodes::header::seal_ip4(&mut packet[..20]);
    packet
}

#[test]
fn forged_sources_of_every_kind_leave_a_bgp_session_its_packets() {
    let mut world = World::new();
    let (own, peer) = (([10, 0, 1, 1], 179), ([10, 0, 2, 2], 40_000));
    world.inject_hosted(&segment(own, peer, 19));
    let keepalive = ethernet(1, 0x0800, &segment(peer, own, 19));
    let (mut punted, mut forged) = (0, 0);
    for number in 0..100_000_u32 {
        world.now += Duration::from_micros(10);
        let [_, b, c, d] = number.wrapping_mul(0x9e37_79b1).to_be_bytes();
        // Four sources, the peer's address among them, and all others.
        let source = match number % 8 {
            0 => peer.0,
            few @ 1..4 => [10, 0, 2, few as u8 + 10],
            _ => [10, b, c, d],
        };
        let flood = segment((source, 1_024 + (number % 60_000) as u16), own, 0);
        forged += world.send(1, &ethernet(1, 0x0800, &flood)).punted.len();
        if number % 100 == 0 {
            punted += world.send(1, &keepalive).punted.len();
        }
    }
    assert_eq!(punted, 1_000, "all of them");
    assert!((10_000..=12_100).contains(&forged), "{forged}: strangers from afar have half");
}

fn solicitation(hops: u8) -> Vec<u8> {
    let mut body = vec![135, 0, 0, 0, 0, 0, 0, 0];
    body.extend("2001:db8:1::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    packet6("2001:db8:1::77", "2001:db8:1::1", hops, 58, &body)
}

#[test]
fn who_is_not_on_the_link_takes_nothing_of_what_its_neighbours_may_say() {
    let mut world = World::new();
    let afar = ethernet(0, 0x86dd, &solicitation(64));
    let mut behind = vec![58, 0, 1, 4, 0, 0, 0, 0];
    behind.extend(&solicitation(255)[40..]);
    let behind = packet6("2001:db8:1::77", "2001:db8:1::1", 255, 60, &behind);
    let behind = ethernet(0, 0x86dd, &behind);
    let question = ethernet(0, 0x86dd, &solicitation(255));
    let mut answered = 0;
    for round in 0..20_000 {
        world.now += Duration::from_micros(20);
        assert!(world.send(0, if round % 2 == 0 { &afar } else { &behind }).sent.is_empty());
        if round % 100 == 0 {
            answered += world.send(0, &question).sent.len();
        }
    }
    assert_eq!(answered, 200, "all of them");
    let dropped = world.dropped();
    assert_eq!(dropped["hop limit says that it is not from this link"], 10_000);
    assert_eq!(dropped["nd behind extension headers"], 10_000);
}

#[test]
fn a_packet_of_bfd_over_one_hop_comes_from_the_link() {
    let mut world = World::new();
    let bfd = |port: u16, ttl: u8| {
        let mut packet = udp4("10.0.1.2", "10.0.1.1", ttl, 60);
        packet[22..24].copy_from_slice(&port.to_be_bytes());
        ethernet(0, 0x0800, &packet)
    };
    let mut punted = |port: u16, ttl: u8| world.send(0, &bfd(port, ttl)).punted.len();
    assert_eq!([punted(3_784, 255), punted(3_784, 254), punted(4_784, 64)], [0, 0, 1]);
    let dropped = world.dropped();
    assert_eq!(dropped["hop limit says that it is not from this link"], 1);
    assert_eq!(dropped["bfd: version"], 1, "the other one came to whoever has the sessions");
}

#[test]
fn a_packet_of_ospf_to_an_address_has_the_ttl_of_a_neighbour() {
    let mut world = World::new();
    let mut punted = |destination: &str, ttl: u8| {
        let mut packet = udp4("10.0.1.2", destination, ttl, 60);
        packet[9] = 89;
        nodes::header::seal_ip4(&mut packet[..20]);
        world.send(0, &ethernet(0, 0x0800, &packet)).punted.len()
    };
    let near = [punted("10.0.1.1", 1), punted("10.0.1.1", 255), punted("224.0.0.5", 9)];
    assert_eq!(near, [1, 1, 1]);
    assert_eq!([punted("10.0.1.1", 2), punted("10.0.1.1", 64)], [0, 0]);
    assert_eq!(world.dropped()["hop limit says that it is not from this link"], 2);
}

#[test]
fn a_neighbour_that_has_answered_is_heard_beside_a_flood_of_its_own_link() {
    let mut world = World::new();
    let (known, target) = ([2, 0, 0, 0, 7, 7], "2001:db8:1::66");
    let wanted = packet6("2001:db8:2::2", target, 9, 59, &[]);
    world.send(1, &ethernet(1, 0x86dd, &wanted));
    world.tick();
    let advertisement = |mac: [u8; 6], address: &str| {
        let mut body = vec![136, 0, 0, 0, 0x60, 0, 0, 0];
        body.extend(address.parse::<std::net::Ipv6Addr>().unwrap().octets());
        body.extend([2, 1]);
        body.extend(mac);
        let packet = packet6(address, "2001:db8:1::1", 255, 58, &body);
        let mut frame = ethernet(0, 0x86dd, &packet);
        frame[6..12].copy_from_slice(&mac);
        frame
    };
    world.send(0, &advertisement(known, target));
    world.tick();
    let before = world.dropped().get("nd heard").copied().unwrap_or(0);
    let mut heard = 0;
    for number in 0..50_000_u32 {
        world.now += Duration::from_micros(20);
        let [.., c, d] = number.to_be_bytes();
        world.send(0, &advertisement([2, 0, 0, 9, c, d], &format!("2001:db8:1::{number:x}")));
        if number % 1_000 == 0 {
            let was = world.dropped()["nd heard"];
            world.send(0, &advertisement(known, target));
            heard += world.dropped()["nd heard"] - was;
            world.tick();
        }
    }
    assert_eq!(heard, 50, "all that it says");
    assert!(world.dropped()["nd heard"] - before < 1_100, "and of the flood what a link may");
}

fn by(protocol: u8, ports: [u16; 2], ends: (&str, &str), ttl: u8) -> Vec<u8> {
    let mut packet = udp4(ends.0, ends.1, ttl, 60);
    packet[9] = protocol;
    for (at, port) in ports.into_iter().enumerate() {
        packet[20 + 2 * at..22 + 2 * at].copy_from_slice(&port.to_be_bytes());
    }
    nodes::header::seal_ip4(&mut packet[..20]);
    packet
}

#[test]
fn what_an_interface_does_not_speak_goes_up_from_nowhere_else_and_takes_nothing() {
    let mut world = World::new();
    let customers =
        nodes::program::Interface { speaks: Vec::new(), ..super::world::interface(2, 1) };
    world.apply(nodes::Program::Interface(customers));
    let packets = [
        by(89, [0, 0], ("10.0.2.2", "224.0.0.5"), 1),
        by(17, [646, 646], ("10.0.2.2", "224.0.0.2"), 255),
        by(17, [50_000, 4_784], ("10.0.2.2", "10.0.2.1"), 255),
    ];
    for packet in &packets {
        let left = world.send(1, &ethernet(1, 0x0800, packet));
        assert!(left.punted.is_empty(), "{packet:?}");
        let left = world.send(0, &ethernet(0, 0x0800, packet));
        assert_eq!(left.punted.len(), 1, "{packet:?}");
    }
    assert_eq!(world.dropped()["protocol is not spoken there"], 3);
    // Connections of LDP may come by another way than hellos, in the global table.
    let segment = ethernet(1, 0x0800, &by(6, [40_000, 646], ("10.0.2.2", "10.0.2.1"), 64));
    assert_eq!(world.send(1, &segment).punted.len(), 1);
}

#[test]
fn a_stranger_far_away_silences_no_hello_of_the_link_that_his_packets_come_by() {
    let mut world = World::new();
    let hellos = [
        ethernet(0, 0x0800, &by(17, [646, 646], ("10.0.1.2", "224.0.0.2"), 1)),
        ethernet(0, 0x0800, &by(89, [0, 0], ("10.0.1.2", "224.0.0.5"), 1)),
    ];
    let mut heard = [0; 2];
    for number in 0..40_000_u32 {
        world.now += Duration::from_micros(10);
        let source = format!("10.9.{}.2", number / 2 % 64);
        let source = if number % 100 < 2 { "10.0.1.2" } else { &source };
        let flood = match number % 3 {
            0 => by(6, [40_000, 646], (source, "10.0.1.1"), 64),
            1 => by(17, [646, 646], (source, "10.0.1.1"), 255),
            _ => by(89, [0, 0], (source, "10.0.1.1"), 1),
        };
        world.send(0, &ethernet(0, 0x0800, &flood));
        if number % 400 == 0 {
            for (heard, hello) in heard.iter_mut().zip(&hellos) {
                *heard += world.send(0, hello).punted.len();
            }
        }
    }
    assert_eq!(heard, [100, 100], "all of them");
    assert!(world.dropped()["hello of ldp to an address"] > 10_000);
}
