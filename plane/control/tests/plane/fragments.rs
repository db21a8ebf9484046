//! Fragments for own addresses: put together, answered, and bounded by source.

use super::world::{World, echo4, ethernet, interface, packet6, programs, udp4};
use nodes::Program;
use nodes::header::{checksum, seal_ip4, sum, word};
use nodes::program::{Class, Interface};
use std::time::Duration;

/// A packet in fragments with so many octets of payload each.
fn pieces4(packet: &[u8], each: usize, id: u16) -> Vec<Vec<u8>> {
    let payload = &packet[20..];
    let parts = payload.chunks(each).enumerate();
    parts
        .map(|(nth, part)| {
            let mut piece = packet[..20].to_vec();
            piece.extend(part);
            let length = piece.len() as u16;
            let more = nth * each + part.len() < payload.len();
            let field = (nth * each / 8) as u16 | if more { 0x2000 } else { 0 };
            piece[2..4].copy_from_slice(&length.to_be_bytes());
            piece[4..6].copy_from_slice(&id.to_be_bytes());
            piece[6..8].copy_from_slice(&field.to_be_bytes());
            seal_ip4(&mut piece[..20]);
            piece
        })
        .collect()
}

fn pieces6(source: &str, to: &str, message: &[u8], each: usize) -> Vec<Vec<u8>> {
    let parts = message.chunks(each).enumerate();
    parts
        .map(|(nth, part)| {
            let more = nth * each + part.len() < message.len();
            let field = (nth * each) as u16 | u16::from(more);
            let mut body = vec![58, 0];
            body.extend(field.to_be_bytes());
            body.extend([0, 0, 0, 9]);
            body.extend(part);
            packet6(source, to, 64, 44, &body)
        })
        .collect()
}

#[test]
fn fragments_of_a_thousand_forged_sources_cost_nobody_else_his() {
    let mut world = World::new();
    let (mut asked, mut answered) = (0, 0);
    for number in 0..40_000_u32 {
        world.now += Duration::from_micros(100);
        let [_, a, b, c] = number.wrapping_mul(0x9e37_79b1).to_be_bytes();
        let forged = echo4(&format!("198.{}.{b}.{c}", 18 + a % 2), "10.0.1.1", 92);
        world.send(0, &ethernet(0, 0x0800, &pieces4(&forged, 64, number as u16)[0]));
        if number % 500 == 0 {
            asked += 1;
            let question = echo4("10.0.2.2", "10.0.2.1", 1_220);
            for piece in pieces4(&question, 800, number as u16) {
                answered += world.send(1, &ethernet(1, 0x0800, &piece)).sent.len();
            }
        }
    }
    assert_eq!((asked, answered), (80, 80));
    let dropped = world.dropped();
    assert!(dropped["fragment held in the place of an older packet's"] > 4_000, "{dropped:?}");
}

#[test]
fn one_source_that_leaves_packets_in_parts_displaces_its_own() {
    let mut world = World::new();
    let patient = pieces4(&echo4("10.0.1.2", "10.0.1.1", 1_220), 800, 1);
    world.send(0, &ethernet(0, 0x0800, &patient[0]));
    for number in 0..3_000_u16 {
        world.now += Duration::from_millis(4);
        let part = &pieces4(&echo4("10.0.1.66", "10.0.1.1", 92), 64, number)[0];
        world.send(0, &ethernet(0, 0x0800, part));
    }
    assert_eq!(world.send(0, &ethernet(0, 0x0800, &patient[1])).sent.len(), 1);
}

#[test]
fn an_echo_that_no_cell_holds_is_answered_in_fragments() {
    for octets in [2_900, 9_000, 60_001] {
        let mut world = World::new();
        let question = echo4("10.0.1.2", "10.0.1.1", octets);
        let mut pieces = pieces4(&question, 1_480, 7);
        pieces.reverse();
        let last = pieces.pop().unwrap();
        for piece in &pieces {
            assert!(world.send(0, &ethernet(0, 0x0800, piece)).sent.is_empty());
            world.now += Duration::from_micros(100);
        }
        let left = world.send(0, &ethernet(0, 0x0800, &last));
        let mut whole = Vec::new();
        for (port, frame) in &left.sent {
            let packet = &frame[14..];
            assert_eq!((*port, sum(&packet[..20], 0) % 0xffff), (0, 0), "its header is sealed");
            assert_eq!(&packet[12..20], &[10, 0, 1, 1, 10, 0, 1, 2][..]);
            let at = usize::from(u16::from_be_bytes([packet[6] & 0x1f, packet[7]])) * 8;
            assert_eq!(at, whole.len());
            whole.extend(&packet[20..]);
        }
        assert_eq!((whole[0], checksum(sum(&whole, 0)), whole.len()), (0, 0, octets - 20));
        assert_eq!(whole[4..], question[24..]);
        let mut wrong = pieces4(&question, 1_480, 8);
        wrong[0][40] ^= 1;
        for piece in wrong {
            assert!(world.send(0, &ethernet(0, 0x0800, &piece)).sent.is_empty(), "a false sum");
        }
    }
}

/// A packet of OSPF to a group of the link, or to an address.
fn ospf4(destination: &str, ttl: u8, octets: usize) -> Vec<u8> {
    let mut packet = udp4("10.0.1.2", destination, ttl, octets);
    packet[9] = 89;
    seal_ip4(&mut packet[..20]);
    packet
}

#[test]
fn a_packet_of_ospf_that_no_cell_holds_goes_up_in_order_with_its_class() {
    for (destination, ttl, goes) in [
        ("224.0.0.5", 1, true),
        ("10.0.1.1", 1, true),
        ("10.0.1.1", 255, true),
        ("10.0.1.1", 9, false),
    ] {
        let mut world = World::new();
        let pieces = pieces4(&ospf4(destination, ttl, 9_000), 1_480, 7);
        let mut frames: Vec<Vec<u8>> =
            pieces.iter().map(|piece| ethernet(0, 0x0800, piece)).collect();
        if destination == "224.0.0.5" {
            frames.iter_mut().for_each(|it| it[..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 5]));
        }
        let last = frames.remove(3);
        for frame in &frames {
            assert!(world.send(0, frame).punted.is_empty());
        }
        let left = world.send(0, &last);
        let classes = vec![Class::Ospf as u32; pieces.len()];
        let all = if goes { (pieces, classes) } else { (Vec::new(), Vec::new()) };
        assert_eq!((left.punted, left.classes), all, "{destination} with {ttl}");
    }
}

#[test]
fn long_packets_of_ospf_take_what_ospf_may_take_and_others_count_as_others() {
    let mut world = World::new();
    let long = |world: &mut World| {
        let pieces = pieces4(&ospf4("10.0.1.1", 1, 2_000), 1_480, 7);
        let up = pieces.iter().map(|it| world.send(0, &ethernet(0, 0x0800, it)).punted.len());
        up.sum::<usize>()
    };
    assert_eq!(long(&mut world), 2);
    let short = ethernet(0, 0x0800, &ospf4("10.0.1.1", 1, 64));
    for _ in 0..5_000 {
        world.send(0, &short);
    }
    assert_eq!(long(&mut world), 0);
    assert_eq!(world.dropped()["policed: long ospf"], 1);
    let udp = pieces4(&udp4("10.0.1.2", "10.0.1.1", 1, 2_000), 1_480, 7);
    world.now += Duration::from_secs(1);
    let up: Vec<u32> =
        udp.iter().flat_map(|it| world.send(0, &ethernet(0, 0x0800, it)).classes).collect();
    assert_eq!(up, [Class::Other as u32; 2]);
}

#[test]
fn an_echo_of_ipv6_that_no_cell_holds_is_answered_as_well() {
    let mut world = World::new();
    let (source, own) = ("2001:db8:1::2", "2001:db8:1::1");
    let mut message = vec![128, 0, 0, 0, 0, 7, 0, 1];
    message.extend((0..4_000_u16).map(|at| at as u8));
    let sealed = packet6(source, own, 64, 58, &message);
    let message = &sealed[40..];
    let mut sent = Vec::new();
    for piece in pieces6(source, own, message, 1_432) {
        sent.extend(world.send(0, &ethernet(0, 0x86dd, &piece)).sent);
    }
    let whole: Vec<u8> = sent.iter().flat_map(|(_, frame)| frame[14 + 48..].to_vec()).collect();
    let wanted = {
        let mut answer = message.to_vec();
        answer[0] = 129;
        packet6(own, source, 64, 58, &answer)
    };
    assert_eq!((sent.len(), &whole[..]), (3, &wanted[40..]));
    assert!(sent.iter().all(|(_, frame)| frame[14 + 8..14 + 40] == wanted[8..40]));
}

/// What would end beyond 65,535 octets is no packet: its later pieces would begin at the front
/// again, where filters that saw a later fragment never looked.
#[test]
fn a_fragment_that_ends_beyond_all_packets_is_not_cut_into_first_ones() {
    let narrow = Interface { mtu: 576, ..interface(2, 1) };
    let mut world = World::of(&[programs(), vec![Program::Interface(narrow)]].concat());
    let mut offsets = |at: u16| -> Vec<u16> {
        let mut packet = udp4("10.0.1.2", "10.0.2.2", 9, 1_400);
        packet[6..8].copy_from_slice(&(at | 0x2000).to_be_bytes());
        seal_ip4(&mut packet[..20]);
        let left = world.send(0, &ethernet(0, 0x0800, &packet));
        left.sent.iter().map(|(_, frame)| word(frame, 20)).collect()
    };
    assert_eq!(offsets(8_019), [8_019, 8_088, 8_157].map(|at| at | 0x2000), "65,532 octets");
    for at in [8_020, 8_123, 8_191] {
        assert!(offsets(at).is_empty(), "{at}");
    }
    assert_eq!(world.dropped()["ip4 fragment ends beyond 65,535 octets"], 3);
}
