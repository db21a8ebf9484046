//! Neighbours beside those who scan for them, flood with them, or claim to be them (RFC 6583, RFC
//! 4861 §7.2.5).

use super::world::{HOST, World, ethernet, interface, mac, packet6, port, programs, udp4};
use nodes::program::Address;
use nodes::{Out, Program};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(5);
const OTHER: [u8; 6] = [2, 0, 0, 0, 6, 6];

/// [`World::new`] with two wide networks: 10.3.0.1/16 at port 2, 10.4.0.1/16 at port 3.
fn wide() -> World {
    let mut said = programs();
    for at in 2..4_u16 {
        let (index, address) = (u32::from(at) + 1, IpAddr::from([10, at as u8 + 1, 0, 1]));
        said.push(Program::Port(port(at)));
        said.push(Program::Interface(interface(index, at)));
        said.push(Program::Address(Address { interface: index, address, length: 16 }));
    }
    World::of(&said)
}

fn arp(operation: u8, (mac, source): ([u8; 6], [u8; 4]), target: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, operation];
    packet.extend(mac);
    packet.extend(source);
    packet.extend([0; 6]);
    packet.extend(target);
    packet
}

/// Whom the plane asks for, and by which link-layer address.
fn asked(out: &[Out]) -> Vec<([u8; 6], [u8; 4])> {
    let frames = out.iter().filter_map(|out| match out {
        Out::Send { frame, .. } if frame[12..14] == [8, 6] => Some(frame),
        _ => None,
    });
    frames.map(|frame| (*frame.first_chunk().unwrap(), frame[38..42].try_into().unwrap())).collect()
}

fn released(out: &[Out]) -> usize {
    out.iter().filter(|out| matches!(out, Out::Route { .. })).count()
}

fn count(world: &World, interface: u32, reason: &str) -> u64 {
    let all = world.plane.resolution();
    let counts = all.get(&interface).map(|it| it.counts.clone()).unwrap_or_default();
    counts.iter().filter(|(it, _)| it.name() == reason).map(|(_, count)| count).sum()
}

/// A second of a scan of 10.4.0.0/16 from port 0, 20,000 packets, and beside it 50 packets from
/// port 1 to new neighbours of `net`, who answer when they are asked; how many got theirs.
fn scanned(world: &mut World, net: u8) -> usize {
    let (mut found, mut number, mut good) = (0, 0_u32, 0_u8);
    for tick in 0..200 {
        for _ in 0..100 {
            let [_, _, high, low] = (number * 7).to_be_bytes();
            number += 1;
            let to = format!("10.4.{high}.{low}");
            world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.9", &to, 9, 60)));
        }
        if tick % 4 == 0 {
            good += 1;
            let to = format!("10.{net}.250.{good}");
            world.send(1, &ethernet(1, 0x0800, &udp4("10.0.2.9", &to, 9, 60)));
        }
        let out = world.pass(TICK);
        found += released(&out);
        for (_, [a, b, c, d]) in asked(&out) {
            if (b, c) == (net, 250) {
                let answer = arp(2, (HOST, [a, b, c, d]), [10, net, 0, 1]);
                world.send(u16::from(net) - 1, &ethernet(u16::from(net) - 1, 0x0806, &answer));
            }
        }
    }
    found + released(&world.pass(TICK))
}

#[test]
fn beside_a_scan_neighbours_of_other_interfaces_and_for_other_interfaces_are_found() {
    let mut world = wide();
    assert_eq!(scanned(&mut world, 3), 50, "on another interface");
    assert_eq!(scanned(&mut world, 4), 50, "on the interface that is scanned from another one");
    let of = world.plane.resolution();
    assert!(of[&4].asked <= 512 && of[&3].asked == 0, "{of:?}");
    assert!(count(&world, 4, "asked_displaced") > 300, "{of:?}");
    assert!(world.dropped()["neighbours asked for too often from one interface"] > 30_000);
}

#[test]
fn who_claims_a_thousand_addresses_a_second_fills_its_interfaces_share_alone() {
    let mut world = wide();
    let own = arp(1, (HOST, [10, 3, 9, 9]), [10, 3, 0, 1]);
    world.send(2, &ethernet(2, 0x0806, &own));
    let out = world.tick();
    assert!(out.iter().any(|out| matches!(out, Out::Neighbour { mac: Some(_), .. })));
    for number in 0..30_000_u32 {
        let [_, _, c, d] = number.to_be_bytes();
        let forged = arp(1, (OTHER, [10, 4, c, d]), [10, 4, 0, 1]);
        world.send(3, &ethernet(3, 0x0806, &forged));
        if number % 4 == 0 {
            world.pass(Duration::from_millis(1));
        }
    }
    let of = world.plane.resolution();
    assert!((1_000..=1_024).contains(&of[&4].neighbours), "{of:?}");
    assert!(count(&world, 4, "heard_displaced") > 5_000, "{of:?}");
    assert_eq!(of[&3].neighbours, 1, "another interface keeps its own: {of:?}");
    world.pass(Duration::from_secs(6));
    (0..90).for_each(|_| drop(world.pass(Duration::from_millis(100))));
    let left: Vec<_> = world.plane.neighbours().filter(|it| it.0 == 4).collect();
    assert_eq!(left, [], "none of them answers");
}

#[test]
fn answers_that_nobody_asked_for_and_announcements_make_no_neighbour() {
    let mut world = wide();
    let said = [
        arp(2, (HOST, [10, 3, 0, 7]), [10, 3, 0, 1]),
        arp(1, (HOST, [10, 3, 0, 7]), [10, 3, 0, 7]),
        arp(2, (HOST, [10, 3, 0, 7]), [10, 3, 0, 7]),
    ];
    for packet in said {
        world.send(2, &ethernet(2, 0x0806, &packet));
        world.tick();
    }
    let unsolicited = advertisement("2001:db8:1::77", "ff02::1", 0x20, HOST);
    world.send(0, &ethernet(0, 0x86dd, &unsolicited));
    world.tick();
    assert!(world.plane.neighbours().all(|(_, _, _, state)| state == "static"));
    assert_eq!((count(&world, 3, "unasked"), count(&world, 1, "unasked")), (3, 1));
}

fn advertisement(of: &str, to: &str, flags: u8, mac: [u8; 6]) -> Vec<u8> {
    let mut body = vec![136, 0, 0, 0, flags, 0, 0, 0];
    body.extend(of.parse::<Ipv6Addr>().unwrap().octets());
    body.extend([2, 1]);
    body.extend(mac);
    packet6(of, to, 255, 58, &body)
}

/// 10.3.0.7 is known at `HOST`, because it was asked and answered.
fn known() -> World {
    let mut world = wide();
    world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.9", "10.3.0.7", 9, 60)));
    assert_eq!(asked(&world.tick()).len(), 1);
    world.send(2, &ethernet(2, 0x0806, &arp(2, (HOST, [10, 3, 0, 7]), [10, 3, 0, 1])));
    assert_eq!(released(&world.tick()), 1);
    world
}

/// Where packets for 10.3.0.7 go.
fn goes(world: &mut World) -> [u8; 6] {
    let packet = ethernet(0, 0x0800, &udp4("10.0.1.9", "10.3.0.7", 9, 60));
    *world.send(0, &packet).sent[0].1.first_chunk().unwrap()
}

#[test]
fn a_claim_is_not_taken_while_the_neighbour_answers_where_it_was() {
    let claims = [
        arp(1, (OTHER, [10, 3, 0, 7]), [10, 3, 0, 7]),
        arp(2, (OTHER, [10, 3, 0, 7]), [10, 3, 0, 1]),
        arp(1, (OTHER, [10, 3, 0, 7]), [10, 3, 0, 1]),
    ];
    for claim in claims {
        let mut world = known();
        for _ in 0..100 {
            world.send(2, &ethernet(2, 0x0806, &claim));
            for (to, _) in asked(&world.pass(Duration::from_millis(50))) {
                assert_eq!(to, HOST, "it alone, where it was");
                let answer = arp(2, (HOST, [10, 3, 0, 7]), [10, 3, 0, 1]);
                world.send(2, &ethernet(2, 0x0806, &answer));
            }
            assert_eq!(goes(&mut world), HOST);
        }
        assert!((4..=6).contains(&count(&world, 3, "claim_refuted")), "one a second");
        assert_eq!(count(&world, 3, "claim_taken"), 0);
    }
}

#[test]
fn a_flood_does_not_make_a_neighbour_look_silent_whose_address_is_claimed() {
    let mut world = known();
    let claim = ethernet(2, 0x0806, &arp(1, (OTHER, [10, 3, 0, 7]), [10, 3, 0, 7]));
    let flood = ethernet(2, 0x0806, &arp(1, (OTHER, [10, 3, 0, 9]), [10, 3, 0, 1]));
    for round in 0..200 {
        if round % 10 == 0 {
            world.send(2, &claim);
        }
        (0..200).for_each(|_| _ = world.send(2, &flood));
        for (to, _) in asked(&world.pass(TICK * 5)) {
            if to == HOST {
                let answer = arp(2, (HOST, [10, 3, 0, 7]), [10, 3, 0, 1]);
                world.send(2, &ethernet(2, 0x0806, &answer));
            }
        }
        assert_eq!(goes(&mut world), HOST);
    }
    assert_eq!(count(&world, 3, "claim_taken"), 0);
    assert!(world.dropped()["arp too often"] > 10_000);
}

#[test]
fn a_claim_is_taken_within_half_a_second_when_the_neighbour_is_gone() {
    let mut world = known();
    let claim = arp(1, (OTHER, [10, 3, 0, 7]), [10, 3, 0, 7]);
    world.pass(Duration::from_secs(2));
    world.send(2, &ethernet(2, 0x0806, &claim));
    let mut questions = 0;
    for _ in 0..5 {
        questions += asked(&world.pass(Duration::from_millis(100))).len();
    }
    assert_eq!((goes(&mut world), questions), (OTHER, 2));
    assert_eq!(count(&world, 3, "claim_taken"), 1);
    let mut lost = false;
    for _ in 0..90 {
        let out = world.pass(Duration::from_millis(100));
        lost |= out.iter().any(|out| matches!(out, Out::Neighbour { mac: None, .. }));
    }
    assert!(lost, "what was claimed is asked as well, and does not answer");
}

#[test]
fn an_advertisement_without_override_leaves_what_is_known() {
    let mut world = World::new();
    let question = packet6("2001:db8:2::9", "2001:db8:1::77", 9, 59, &[]);
    world.send(1, &ethernet(1, 0x86dd, &question));
    world.tick();
    let answer = advertisement("2001:db8:1::77", "2001:db8:1::1", 0x60, HOST);
    let mut frame = ethernet(0, 0x86dd, &answer);
    frame[..6].copy_from_slice(&mac(0));
    world.send(0, &frame);
    assert_eq!(released(&world.tick()), 1);
    world.pass(Duration::from_secs(2));
    for flags in [0, 0x40] {
        let other = advertisement("2001:db8:1::77", "2001:db8:1::1", flags, OTHER);
        world.send(0, &ethernet(0, 0x86dd, &other));
        (0..8).for_each(|_| drop(world.pass(Duration::from_millis(100))));
        let sent = world.send(1, &ethernet(1, 0x86dd, &question)).sent;
        assert_eq!(sent[0].1[..6], HOST, "flags {flags:x}");
    }
    let everybody = advertisement("2001:db8:1::77", "ff02::1", 0x60, OTHER);
    world.send(0, &ethernet(0, 0x86dd, &everybody));
    assert_eq!(world.dropped()["nd form"], 1, "an answer to everybody");
}

#[test]
fn who_did_not_answer_is_not_asked_for_again_at_once_unless_he_speaks() {
    let mut world = wide();
    let packet = ethernet(0, 0x0800, &udp4("10.0.1.9", "10.3.0.7", 9, 60));
    let mut questions = 0;
    for _ in 0..60 {
        world.send(0, &packet);
        questions += asked(&world.pass(Duration::from_millis(100))).len();
    }
    assert_eq!(questions, 3, "in six seconds");
    assert!(count(&world, 3, "silent") > 20);
    let announced = arp(1, (HOST, [10, 3, 0, 7]), [10, 3, 0, 7]);
    world.send(2, &ethernet(2, 0x0806, &announced));
    world.tick();
    world.send(0, &packet);
    assert_eq!(asked(&world.pass(Duration::from_millis(100))).len(), 1);
}

#[test]
fn a_gateway_is_asked_for_and_asked_again_whatever_else_is_asked() {
    let mut world = wide();
    for number in 0..4_000_u32 {
        let [_, _, c, d] = (number * 7).to_be_bytes();
        let to = format!("10.4.{c}.{d}");
        world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.9", &to, 9, 60)));
        if number % 100 == 0 {
            world.pass(TICK);
        }
    }
    world.apply(Program::Hop { id: 1, hop: super::world::via(4, "10.4.200.1") });
    let gateway = [10, 4, 200, 1];
    let of = |out: &[Out]| asked(out).iter().filter(|(_, it)| *it == gateway).count();
    assert_eq!(of(&world.tick()), 1);
    world.send(3, &ethernet(3, 0x0806, &arp(2, (HOST, gateway), [10, 4, 0, 1])));
    world.tick();
    let mut refreshed = 0;
    for number in 0..12_400_u32 {
        let [_, _, c, d] = (number * 7).to_be_bytes();
        let to = format!("10.4.{c}.{d}");
        world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.9", &to, 9, 60)));
        let out = world.pass(TICK);
        refreshed += of(&out);
        if of(&out) > 0 {
            world.send(3, &ethernet(3, 0x0806, &arp(2, (HOST, gateway), [10, 4, 0, 1])));
        }
    }
    assert_eq!(refreshed, 1, "after a minute");
    let known = world.plane.neighbours().find(|it| it.1 == IpAddr::from(gateway)).unwrap();
    assert_eq!((known.2, known.3.as_str()), (Some(HOST), "known"));
}
