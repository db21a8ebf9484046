//! Neighbours and designated routers.

use crate::net::{Net, SECOND};
use machine::Duration;
use ospf::packet::{Algorithm, AuthenticationKey};
use ospf::{Authentication, Discard, In, InterfaceState, LinkType, NeighbourState};
use std::net::Ipv4Addr;

#[test]
fn two_routers_become_full_on_either_kind_of_link() {
    for kind in [LinkType::PointToPoint, LinkType::Broadcast] {
        let mut net = Net::new(1, 2);
        net.link(kind, 0, &[(0, 10), (1, 20)]);
        net.start_all();
        net.run(SECOND * 20);
        assert_eq!(net.full(0), 2, "{kind:?}");
        net.check("two");
    }
}

#[test]
fn of_five_routers_on_a_network_two_are_chosen_and_the_others_are_adjacent_to_these_alone() {
    let mut net = Net::new(2, 5);
    let ends: Vec<(usize, u16)> = (0..5).map(|router| (router, 10)).collect();
    net.link(LinkType::Broadcast, 0, &ends);
    net.start_all();
    net.run(SECOND * 20);
    let states: Vec<InterfaceState> = (0..5).map(|it| net.at(it).interface(0).unwrap().0).collect();
    assert_eq!(states.iter().filter(|it| **it == InterfaceState::Designated).count(), 1);
    assert_eq!(states.iter().filter(|it| **it == InterfaceState::Backup).count(), 1);
    let chosen: Vec<_> = (0..5).map(|it| net.at(it).interface(0).unwrap()).collect();
    assert!(chosen.iter().all(|it| (it.1, it.2) == (chosen[0].1, chosen[0].2)), "{chosen:?}");
    assert_eq!(net.full(0), 14, "each of the two with four, and the others with two");
    net.check("five");
    // The designated router dies: its backup follows it, and another one becomes backup.
    let chief = states.iter().position(|it| *it == InterfaceState::Designated).unwrap();
    let backup = states.iter().position(|it| *it == InterfaceState::Backup).unwrap();
    net.routers[chief] = None;
    net.run(SECOND * 20);
    assert_eq!(net.at(backup).interface(0).unwrap().0, InterfaceState::Designated);
    assert_eq!(net.full(0), 10);
    net.check("without the first");
    net.start(chief);
    net.run(SECOND * 20);
    assert_eq!(
        net.at(backup).interface(0).unwrap().0,
        InterfaceState::Designated,
        "nobody is put down"
    );
    net.check("with it again");
}

#[test]
fn authentication_keeps_strangers_out_and_friends_in() {
    let key = |id, algorithm, secret: &[u8]| AuthenticationKey::new(id, algorithm, secret).unwrap();
    let all = [
        Authentication::simple(b"secret").unwrap(),
        Authentication::cryptographic(vec![key(1, Algorithm::Md5, b"secret")]).unwrap(),
        Authentication::cryptographic(vec![key(2, Algorithm::HmacSha1, &[7; 100])]).unwrap(),
        Authentication::cryptographic(vec![key(3, Algorithm::HmacSha256, b"s")]).unwrap(),
        Authentication::cryptographic(vec![key(4, Algorithm::HmacSha384, &[7; 48])]).unwrap(),
        Authentication::cryptographic(vec![key(5, Algorithm::HmacSha512, b"long")]).unwrap(),
    ];
    for (at, authentication) in all.iter().enumerate() {
        let mut net = Net::new(3, 3);
        net.link(LinkType::Broadcast, 0, &[(0, 1), (1, 1), (2, 1)]);
        net.authentication = authentication.clone();
        net.start(0);
        net.start(1);
        net.authentication = all[(at + 1) % all.len()].clone();
        net.start(2);
        net.run(SECOND * 20);
        assert_eq!(net.full(0), 2, "{authentication:?}");
        assert!(net.at(2).neighbours(0).is_empty());
        assert!(net.at(0).discarded(Discard::Authentication) > 5);
    }
}

#[test]
fn a_packet_that_was_recorded_is_not_believed_later() {
    let key = AuthenticationKey::new(1, Algorithm::HmacSha256, b"secret").unwrap();
    let mut net = Net::new(3, 2);
    net.link(LinkType::PointToPoint, 0, &[(0, 1), (1, 1)]);
    net.authentication = Authentication::cryptographic(vec![key]).unwrap();
    net.start_all();
    net.keeps_packets = true;
    net.run(SECOND * 10);
    let (source, destination, octets) =
        net.sent.iter().find(|it| it.0 == Net::address(0, 1)).unwrap().clone();
    net.run(SECOND * 10);
    net.step(0, In::Packet { interface: 0, source, destination, octets });
    assert_eq!(net.at(0).discarded(Discard::Replay), 1);
}

#[test]
fn a_neighbour_that_bfd_lost_is_gone_at_once_and_one_that_is_silent_after_its_time() {
    let mut net = Net::new(3, 2);
    net.link(LinkType::PointToPoint, 0, &[(0, 1), (1, 1)]);
    net.start_all();
    net.run(SECOND * 10);
    net.step(0, In::NeighbourDown(0, Net::address(0, 1)));
    assert!(net.at(0).neighbours(0).is_empty());
    net.run(SECOND * 10);
    assert_eq!(net.full(0), 2);
    net.links[0].is_up = false;
    net.run(Duration::from_millis(2_900));
    assert_eq!(net.full(0), 2);
    net.run(Duration::from_millis(1_200));
    assert_eq!(net.full(0), 0);
    assert_eq!(net.at(0).neighbours(0), [], "{:?}", NeighbourState::Down);
}

#[test]
fn what_does_not_fit_is_counted_by_its_reason() {
    use ospf::packet::{Hello, PacketType, Writer};
    let mut net = Net::new(3, 2);
    net.link(LinkType::Broadcast, 0, &[(0, 1), (1, 1)]);
    net.start(0);
    let good = || Hello {
        mask: 0xFFFF_FF00,
        interval_s: 1,
        options: 2,
        priority: 1,
        dead_s: 4,
        designated: Ipv4Addr::UNSPECIFIED,
        backup: Ipv4Addr::UNSPECIFIED,
        neighbours: Vec::new(),
    };
    let mut offer = |why: Discard, hello: Hello, ids: [u32; 2], source: Ipv4Addr| {
        let writer = Writer::new(PacketType::Hello, ids[0], ids[1]).hello(&hello);
        let octets = writer.finish(&Authentication::Null, 0).unwrap();
        let destination = ospf::ALL_SPF_ROUTERS;
        net.step(0, In::Packet { interface: 0, source, destination, octets });
        assert_eq!(net.at(0).discarded(why), 1, "{why:?}");
    };
    let near = Net::address(0, 1);
    let own = u32::from(Net::id(0));
    offer(Discard::Area, good(), [9, 1], near);
    offer(Discard::OwnRouterId, good(), [own, 0], near);
    offer(Discard::Source, good(), [9, 0], Ipv4Addr::new(10, 9, 0, 1));
    offer(Discard::Mask, Hello { mask: 0xFFFF_0000, ..good() }, [9, 0], near);
    offer(Discard::Intervals, Hello { dead_s: 5, ..good() }, [9, 0], near);
    offer(Discard::Options, Hello { options: 0, ..good() }, [9, 0], near);
    for host in 2..=255 {
        let source = Ipv4Addr::new(10, 0, 0, host);
        let writer = Writer::new(PacketType::Hello, u32::from(source), 0).hello(&good());
        let octets = writer.finish(&Authentication::Null, 0).unwrap();
        let destination = ospf::ALL_SPF_ROUTERS;
        net.step(0, In::Packet { interface: 0, source, destination, octets });
    }
    assert_eq!(net.at(0).neighbours(0).len(), 254);
    let destination = ospf::ALL_SPF_ROUTERS;
    net.step(0, In::Packet { interface: 0, source: near, destination, octets: vec![2, 1, 0] });
    assert_eq!(net.at(0).discarded(Discard::Malformed), 1);
    net.step(0, In::Packet { interface: 7, source: near, destination, octets: vec![2; 24] });
    assert_eq!(net.at(0).discarded(Discard::Malformed), 2);
}
