//! Who is no neighbour, and what a neighbour said before: packets from afar, and recordings that
//! are sent again.

use crate::net::{Net, SECOND};
use ospf::packet::{
    Algorithm, AuthenticationKey, DD_INIT, DD_MASTER, DD_MORE, Description, Hello, PacketType,
    Writer,
};
use ospf::{ALL_SPF_ROUTERS, Authentication, Discard, Doubt, In, LinkType, NeighbourState};
use std::net::Ipv4Addr;

/// Routers on one link that are adjacent; with a key if it is said.
fn link(kind: LinkType, routers: usize, has_key: bool) -> Net {
    link_that(kind, routers, has_key, false)
}

fn link_that(kind: LinkType, routers: usize, has_key: bool, keeps_numbers: bool) -> Net {
    let mut net = Net::new(11, routers);
    net.keeps_numbers = keeps_numbers;
    let ends: Vec<(usize, u16)> = (0..routers).map(|router| (router, 1)).collect();
    net.link(kind, 0, &ends);
    if has_key {
        let key = AuthenticationKey::new(1, Algorithm::HmacSha256, b"secret").unwrap();
        net.authentication = Authentication::cryptographic(vec![key]).unwrap();
    }
    net.keeps_packets = true;
    net.start_all();
    net.run(SECOND * 20);
    net
}

fn full(net: &Net, router: usize) -> usize {
    let all = net.at(router).neighbours(0);
    all.iter().filter(|it| it.2 == NeighbourState::Full).count()
}

fn come(net: &mut Net, ends: [Ipv4Addr; 2], octets: &[u8]) {
    let [source, destination] = ends;
    let octets = octets.to_vec();
    net.step(0, In::Packet { interface: 0, source, destination, octets });
}

/// Makes the checksum of a packet right again.
fn seal(octets: &mut [u8]) {
    octets[12..14].fill(0);
    let words = octets[..16].chunks(2).chain(octets[24..].chunks(2));
    let sum: u32 = words.map(|it| u32::from(it[0]) << 8 | u32::from(it[1])).sum();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    octets[12..14].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

fn hello(router: u32) -> Vec<u8> {
    let none = Ipv4Addr::UNSPECIFIED;
    let hello = Hello {
        mask: 0xFFFF_FF00,
        interval_s: 1,
        options: 2,
        priority: 1,
        dead_s: 4,
        designated: none,
        backup: none,
        neighbours: vec![Net::id(0).into()],
    };
    let writer = Writer::new(PacketType::Hello, router, 0).hello(&hello);
    writer.finish(&Authentication::Null, 0).unwrap()
}

#[test]
fn a_hello_to_one_address_neither_makes_a_neighbour_nor_ends_one() {
    for kind in [LinkType::PointToPoint, LinkType::Broadcast] {
        let mut net = link(kind, 2, false);
        let own = Net::address(0, 0);
        for source in [Ipv4Addr::new(198, 51, 100, 9), Ipv4Addr::new(10, 0, 0, 99)] {
            let router = u32::MAX;
            come(&mut net, [source, own], &hello(router));
            let (mtu, options, sequence) = (1_500, 2, 77);
            let flags = DD_INIT | DD_MORE | DD_MASTER;
            let headers = Vec::new();
            let description = Description { mtu, options, flags, sequence, headers };
            let writer = Writer::new(PacketType::Description, router, 0).description(&description);
            let octets = writer.finish(&Authentication::Null, 0).unwrap();
            come(&mut net, [source, own], &octets);
        }
        assert!(net.at(0).discarded(Discard::Destination) > 0, "{kind:?}");
        assert_eq!((net.at(0).neighbours(0).len(), full(&net, 0)), (1, 1), "{kind:?}");
        net.run(SECOND * 20);
        net.check("nothing happened");
    }
}

/// What a router sent so far.
fn recorded(net: &Net, router: usize) -> Vec<(Ipv4Addr, Vec<u8>)> {
    let own = net.sent.iter().filter(|it| it.0 == Net::address(0, router));
    own.map(|it| (it.1, it.2.clone())).collect()
}

#[test]
fn a_digest_is_believed_of_nobody_elsewhere_while_its_router_lives() {
    let mut net = link(LinkType::PointToPoint, 2, true);
    let (destination, last) = recorded(&net, 1).pop().unwrap();
    for source in [Ipv4Addr::new(10, 0, 0, 99), Ipv4Addr::new(198, 51, 100, 9)] {
        come(&mut net, [source, destination], &last);
    }
    assert_eq!((net.at(0).discarded(Discard::Elsewhere), full(&net, 0)), (2, 1));

    let mut net = link(LinkType::Broadcast, 3, true);
    let hellos = |net: &Net, router: usize| {
        let mut all = recorded(net, router).into_iter().rev();
        all.find(|it| it.1[1] == PacketType::Hello.number()).unwrap()
    };
    let (_, old) = hellos(&net, 1);
    for host in 3..=255 {
        come(&mut net, [Ipv4Addr::new(10, 0, 0, host), ALL_SPF_ROUTERS], &old);
    }
    assert_eq!(net.at(0).neighbours(0).len(), 2, "no phantoms");
    // Of one router with the address of the other: that one stays, and is heard.
    net.run(SECOND * 2);
    let (_, of_one) = hellos(&net, 1);
    come(&mut net, [Net::address(0, 2), ALL_SPF_ROUTERS], &of_one);
    assert_eq!((net.at(0).neighbours(0).len(), full(&net, 0)), (2, 2));
    let before = net.at(0).discarded(Discard::Replay);
    net.run(SECOND * 20);
    assert_eq!((net.at(0).discarded(Discard::Replay), full(&net, 0)), (before, 2));
    net.check("all the same");
}

#[test]
fn a_router_that_was_gone_may_begin_anew_with_lower_numbers() {
    for keeps_numbers in [false, true] {
        let mut net = link_that(LinkType::PointToPoint, 2, true, keeps_numbers);
        let (destination, first) = recorded(&net, 1).remove(0);
        come(&mut net, [Net::address(0, 1), destination], &first);
        assert_eq!(net.at(0).discarded(Discard::Replay), 1, "while it lives none is lower");
        net.routers[1] = None;
        net.run(SECOND * 10);
        assert!(net.at(0).neighbours(0).is_empty());
        come(&mut net, [Net::address(0, 1), destination], &first);
        assert_eq!(net.at(0).neighbours(0).is_empty(), keeps_numbers);
    }
}

#[test]
fn the_recording_of_a_dead_neighbour_wakes_nobody_where_numbers_are_kept() {
    let mut net = link_that(LinkType::PointToPoint, 2, true, true);
    let all = recorded(&net, 1);
    net.routers[1] = None;
    net.run(SECOND * 10);
    assert!(net.at(0).neighbours(0).is_empty());
    let last = all.last().unwrap().1[20..24].to_vec();
    let old = all.iter().filter(|it| it.1[20..24] < last[..]);
    let mut played = 0;
    for (destination, octets) in old {
        come(&mut net, [Net::address(0, 1), *destination], octets);
        played += 1;
    }
    assert!(played > 20, "{played}");
    assert_eq!(net.at(0).discarded(Discard::Replay), played);
    assert!(net.at(0).neighbours(0).is_empty());
    // A link that was lost and came back has not forgotten it either.
    net.step(0, In::InterfaceDown(0));
    net.step(0, In::InterfaceUp(0));
    come(&mut net, [Net::address(0, 1), all[0].0], &all[0].1);
    assert_eq!(net.at(0).discarded(Discard::Replay), played + 1);
    // The router itself comes back, for its numbers are higher.
    net.start(1);
    net.run(SECOND * 20);
    assert_eq!(net.full(0), 2);
}

#[test]
fn of_what_is_not_believed_one_entry_an_interface_stays_until_it_is_believed() {
    let mut net = link(LinkType::PointToPoint, 2, false);
    let to = |source: u8| [Ipv4Addr::new(10, 0, 0, source), ALL_SPF_ROUTERS];
    let good = hello(Net::id(1).into());
    assert_eq!(net.at(0).doubted(0), None);
    // Whoever speaks last is kept, and a neighbour that is believed ends what was said of it alone.
    for (source, at, octet, why) in [
        (7, 8, 1, "its area is 1.0.0.0, here 0.0.0.0"),
        (8, 28, 0x20, "its hello interval is 8193 s, here 1 s"),
        (9, 35, 5, "its dead interval is 5 s, here 4 s"),
        (9, 30, 0, "the kind of its area is stub, here normal"),
    ] {
        let mut octets = good.clone();
        octets[at] = octet;
        seal(&mut octets);
        come(&mut net, to(source), &octets);
        let kept = net.at(0).doubted(0).unwrap();
        assert_eq!((kept.source, kept.why.to_string()), (to(source)[0], why.to_owned()));
    }
    net.run(SECOND * 5);
    assert_eq!(net.at(0).doubted(0).unwrap().source, to(9)[0], "the neighbour says nothing of it");
    let mut octets = good.clone();
    octets[39] = 2;
    seal(&mut octets);
    come(&mut net, to(2), &octets);
    assert_eq!(net.at(0).doubted(0).unwrap().why, Doubt::Broadcast);
    assert_eq!(full(&net, 0), 1, "it is a neighbour all the same");
    net.run(SECOND * 3);
    assert_eq!(net.at(0).doubted(0), None);
}

#[test]
fn an_old_hello_from_another_address_does_not_keep_its_router_out() {
    let mut net = link(LinkType::PointToPoint, 2, true);
    let (destination, old) = recorded(&net, 1).pop().unwrap();
    net.routers[1] = None;
    net.run(SECOND * 10);
    let phantom = Ipv4Addr::new(198, 51, 100, 9);
    come(&mut net, [phantom, destination], &old);
    assert_eq!(net.at(0).neighbours(0).len(), 1, "of whom nobody knows that it is gone");
    net.start(1);
    for _ in 0..20 {
        come(&mut net, [phantom, destination], &old);
        net.run(SECOND);
    }
    assert_eq!(net.full(0), 2);
    assert!(net.at(0).discarded(Discard::Replay) > 0);
}
