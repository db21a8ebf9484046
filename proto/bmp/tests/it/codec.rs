//! What is written is read as it was; what cannot be read is told; no octets make it panic.

use crate::every;
use bmp::{
    DownReason, Framing, InformationType, MESSAGE_BYTES_MAX, Message, MessageType, MirroringType,
    PeerDown, PeerType, Statistic, StatisticType, frame, write_peer_down, write_peer_up,
    write_route_monitoring, write_statistics,
};
use proptest::prelude::*;

#[test]
fn every_message_is_read_as_it_was_written() {
    let headers: Vec<_> = every::peers().into_iter().map(|it| it.1).collect();
    let mut seen = Vec::new();
    for (name, kind, octets) in every::messages() {
        let Framing::Message(message, length) = frame(&octets) else {
            panic!("{name}: {:?}", frame(&octets));
        };
        assert_eq!(length, octets.len(), "{name}");
        seen.push(kind);
        let peer = match message {
            Message::Initiation(tlvs) => {
                let name = tlvs.value(InformationType::SysName.number());
                assert_eq!(name, Some(&b"rr1"[..]));
                continue;
            }
            Message::Termination(tlvs) => {
                assert_eq!(tlvs.value(0), Some(&b"bye"[..]));
                assert_eq!(tlvs.value(1).unwrap().len(), 2);
                continue;
            }
            Message::RouteMonitoring(peer, update) => {
                assert_eq!(update, every::update(), "{name}");
                peer
            }
            Message::StatisticsReport(peer, statistics) => {
                assert!(statistics.eq(every::statistics()), "{name}");
                peer
            }
            Message::PeerDown(peer, down) => {
                check_down(&name, down);
                peer
            }
            Message::PeerUp(peer, up) => {
                assert_eq!(
                    (up.sent, up.received),
                    (&every::open(65_000)[..], &every::open(peer.asn)[..])
                );
                assert_eq!(up.local.is_ipv6(), peer.address.is_ipv6());
                let is_loc_rib = peer.kind == PeerType::LocRib;
                let has_more = name.contains("with information");
                let table = up.information.value(InformationType::TableName.number());
                assert_eq!(table, (is_loc_rib && has_more).then_some(&b"global"[..]), "{name}");
                assert_eq!(up.information.count(), usize::from(has_more), "{name}");
                assert_eq!(
                    (up.local_port, up.remote_port),
                    if is_loc_rib { (0, 0) } else { (179, 50_000) }
                );
                peer
            }
            Message::RouteMirroring(peer, tlvs) => {
                let has = |kind: MirroringType| tlvs.value(kind.number()).is_some();
                assert!(has(MirroringType::Message) || has(MirroringType::Information));
                peer
            }
            Message::Unknown(number) => panic!("{name}: {number}"),
        };
        assert!(headers.contains(&peer), "{name}: {peer:?}");
    }
    for kind in MessageType::ALL {
        assert!(seen.contains(&kind.number()), "{}", kind.name());
    }
}

fn check_down(name: &str, down: PeerDown<'_>) {
    let (reason, data) = match down {
        PeerDown::LocalNotification(data) => (DownReason::LocalNotification, data.to_vec()),
        PeerDown::LocalEvent(event) => (DownReason::LocalEvent, event.to_be_bytes().to_vec()),
        PeerDown::RemoteNotification(data) => (DownReason::RemoteNotification, data.to_vec()),
        PeerDown::RemoteClosed => (DownReason::RemoteClosed, Vec::new()),
        PeerDown::DeConfigured => (DownReason::DeConfigured, Vec::new()),
        PeerDown::LocalClosed(tlvs) => {
            assert_eq!(tlvs.value(3), Some(&b"global"[..]));
            (DownReason::LocalClosed, every::hex("0003 0006 676c6f62616c"))
        }
        PeerDown::Unknown(..) => panic!("{name}"),
    };
    assert!(every::downs().contains(&(reason, data)), "{name}");
}

#[test]
fn messages_peers_and_reasons_that_are_not_known_are_passed_over() {
    let unknown = every::hex("03 00000008 09 abcd");
    assert_eq!(frame(&unknown), Framing::Message(Message::Unknown(9), 8));
    let mut octets = every::messages().into_iter().find(|it| it.1 == 0).unwrap().2;
    octets[6] = 200;
    assert_eq!(frame(&octets), Framing::Message(Message::Unknown(0), octets.len()));
    let peer = every::peers()[0].1;
    let mut octets = Vec::new();
    write_peer_down(&peer, DownReason::DeConfigured, &[1, 2], &mut octets);
    octets[48] = 99;
    let Framing::Message(message, _) = frame(&octets) else { panic!() };
    assert_eq!(message, Message::PeerDown(peer, PeerDown::Unknown(99, &[1, 2])));
}

#[test]
fn what_is_no_message_ends_the_stream_and_what_is_malformed_inside_does_not() {
    for text in ["02 00000006 04", "03 00000005 04", "03 00040001 04"] {
        assert!(matches!(frame(&every::hex(text)), Framing::Broken(_)), "{text}");
    }
    const { assert!(MESSAGE_BYTES_MAX == 0x40000) };
    let cut = every::hex("03 0000000a 04 0001 0005");
    let Framing::Malformed(malformed, 10) = frame(&cut) else { panic!() };
    assert_eq!(malformed.to_string(), "a TLV is cut off at byte 10 (RFC 7854 §4.3)");
    // A statistic of a length that it does not have.
    let mut octets = Vec::new();
    let statistic = Statistic { kind: StatisticType::AdjRibIn, family: None, value: 1 };
    write_statistics(&every::peers()[0].1, &[statistic], &mut octets);
    octets[55] = 9;
    octets[4] += 1;
    octets.push(0);
    assert!(matches!(frame(&octets), Framing::Malformed(..)), "{:?}", frame(&octets));
}

#[test]
fn a_bgp_message_of_another_type_is_malformed() {
    let (peer, mut keepalive) = (every::peers()[0].1, Vec::new());
    bgp::codec::keepalive(&mut keepalive);
    let mut octets = Vec::new();
    write_route_monitoring(&peer, &keepalive, &mut octets);
    write_peer_down(&peer, DownReason::LocalNotification, &keepalive, &mut octets);
    let opens = (&keepalive[..], &keepalive[..]);
    write_peer_up(&peer, [192, 0, 2, 2].into(), (179, 179), opens, &[], &mut octets);
    let mut rest = &octets[..];
    for at in [48, 49, 68] {
        let Framing::Malformed(malformed, length) = frame(rest) else { panic!() };
        assert_eq!((malformed.at, malformed.what), (at, "the BGP message is of another type"));
        rest = &rest[length..];
    }
    assert!(rest.is_empty());
}

#[test]
fn statistics_by_family_without_a_family_are_left_out() {
    let statistic = Statistic { kind: StatisticType::AdjRibInOfFamily, family: None, value: 1 };
    let mut octets = Vec::new();
    write_statistics(&every::peers()[0].1, &[statistic], &mut octets);
    let Framing::Message(Message::StatisticsReport(_, statistics), _) = frame(&octets) else {
        panic!()
    };
    assert_eq!(statistics.count(), 0);
}

/// Reads on as a station would.
fn walk(mut rest: &[u8]) -> usize {
    let mut count = 0;
    loop {
        let length = match frame(rest) {
            Framing::Message(message, length) => {
                match message {
                    Message::StatisticsReport(_, it) => _ = it.count(),
                    Message::RouteMirroring(_, it) | Message::Initiation(it) => _ = it.count(),
                    _ => {}
                }
                length
            }
            Framing::Malformed(malformed, length) => {
                assert!(malformed.at <= length, "{malformed}");
                length
            }
            Framing::Partial | Framing::Broken(_) => return count,
        };
        rest = &rest[length..];
        count += 1;
    }
}

#[test]
fn a_message_that_is_cut_off_is_partial() {
    for (name, _, octets) in every::messages() {
        for cut in 0..octets.len() {
            assert_eq!(frame(&octets[..cut]), Framing::Partial, "{name}");
        }
    }
}

proptest! {
    #[test]
    fn any_octets_are_read_without_panic(
        kind in 0u8..8, body in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut octets = vec![3];
        octets.extend_from_slice(&(body.len() as u32 + 6).to_be_bytes());
        octets.push(kind);
        octets.extend_from_slice(&body);
        prop_assert_eq!(walk(&octets), 1);
        walk(&body);
    }

    #[test]
    fn damage_is_told_and_never_panics(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let all = every::messages();
        let mut octets: Vec<u8> = all.iter().flat_map(|it| it.2.clone()).collect();
        prop_assert_eq!(walk(&octets), all.len());
        for (index, octet) in changes {
            let at = index.index(octets.len());
            octets[at] = octet;
        }
        walk(&octets);
    }
}
