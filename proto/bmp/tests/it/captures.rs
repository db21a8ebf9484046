//! What GoBGP 3.10 told a station: all of its tables, while BIRD announced, and went. And what FRR
//! 8.4.4 told another one, with the messages mirrored.

use bgp::codec::{Context, MessageType, Notification, Open, Peering, Update};
use bgp::family::{Family, FamilySet};
use bmp::{
    Framing, InformationType, Message, MirroringType, PeerDown, PeerType, StatisticType, frame,
};

fn messages(mut octets: &[u8]) -> Vec<Message<'_>> {
    let mut all = Vec::new();
    while let Framing::Message(message, length) = frame(octets) {
        all.push(message);
        octets = &octets[length..];
    }
    assert!(octets.is_empty(), "{:?}", frame(octets));
    all
}

fn context(add_path: bool) -> Context {
    let families: FamilySet = Family::ALL.iter().copied().collect();
    let ipv4 = FamilySet::only(Family::Ipv4Unicast);
    Context {
        peering: Peering::Internal,
        four_octet_as: true,
        families,
        add_path: if add_path { ipv4 } else { FamilySet::EMPTY },
        extended_next_hop: families,
        multiple_labels: FamilySet::EMPTY,
        aigp: true,
        first_as: None,
    }
}

#[test]
fn gobgp_is_understood() {
    let all = messages(include_bytes!("../vectors/gobgp.bmp"));
    let Message::Initiation(tlvs) = all[0] else { panic!("{:?}", all[0]) };
    assert_eq!(tlvs.value(InformationType::SysName.number()), Some(&b"GoBGP"[..]));
    let Message::PeerUp(peer, up) = all[1] else { panic!("{:?}", all[1]) };
    assert_eq!((peer.address.to_string(), peer.asn), ("127.0.0.2".into(), 4_200_000_000));
    assert_eq!(Open::read(up.sent).unwrap().offer.asn, 65_003);
    assert_eq!(Open::read(up.received).unwrap().offer.asn, 4_200_000_000);
    let mut routes = [Vec::new(), Vec::new(), Vec::new()];
    let mut reports = 0;
    for message in &all[2..all.len() - 1] {
        match message {
            Message::RouteMonitoring(peer, update) => {
                // As it came, with path identifiers, is only what is told before the policy.
                let table = match (peer.kind, peer.post_policy) {
                    (PeerType::LocRib, _) => 2,
                    (_, post) => usize::from(post),
                };
                let update = Update::read(update, &context(table == 0)).unwrap();
                // Its own routes have no AS_PATH in the Loc-RIB.
                assert!(update.violation().is_none() || table == 2);
                let mp = update.reach().map(|it| it.routes);
                let announced = update.announced().chain(mp.into_iter().flatten());
                routes[table].extend(announced.map(|route| route.to_string()));
            }
            Message::StatisticsReport(_, statistics) => {
                let known: Vec<StatisticType> = statistics.map(|it| it.kind).collect();
                use StatisticType as S;
                let expected =
                    [S::AdjRibIn, S::LocRib, S::TreatAsWithdraw, S::PrefixTreatAsWithdraw];
                assert_eq!(known, expected);
                reports += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    routes.iter_mut().for_each(|routes| routes.sort());
    let of_bird = [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "192.0.2.0/24",
        "198.51.100.128/25",
        "2001:db8:1::/48",
        "2001:db8::/32",
    ];
    assert_eq!(routes[0], of_bird);
    assert_eq!(routes[1], of_bird);
    assert_eq!(routes[2].len(), 9, "{:?}", routes[2]);
    assert!(routes[2].iter().any(|route| route == "100:100:10.1.0.0/16"));
    assert_eq!(reports, 4);
    let Message::PeerDown(_, PeerDown::RemoteNotification(notification)) = all[all.len() - 1]
    else {
        panic!("{:?}", all[all.len() - 1]);
    };
    assert_eq!(notification[18], MessageType::Notification.number());
    assert!(Notification::read(notification).is_some());
}

#[test]
fn frr_is_understood() {
    let all = messages(include_bytes!("../vectors/frr.bmp"));
    let mut names = Vec::new();
    let (mut mirrored, mut announced, mut withdrawn) = (Vec::new(), Vec::new(), Vec::new());
    for message in &all {
        names.push(match message {
            Message::Initiation(tlvs) => {
                let description = tlvs.value(InformationType::SysDescr.number());
                assert_eq!(description, Some(&b"FRRouting 8.4.4"[..]));
                'i'
            }
            Message::PeerUp(_, up) => {
                assert_eq!(Open::read(up.sent).unwrap().offer.asn, 65_004);
                assert_eq!(Open::read(up.received).unwrap().offer.asn, 65_003);
                assert_eq!(up.local.to_string(), "127.0.0.4");
                'u'
            }
            Message::PeerDown(_, PeerDown::LocalEvent(0)) => 'e',
            Message::PeerDown(_, PeerDown::RemoteNotification(_)) => 'n',
            Message::RouteMonitoring(_, update) => {
                let update = Update::read(update, &context(false)).unwrap();
                announced.extend(update.announced().map(|route| route.to_string()));
                withdrawn.extend(update.withdrawn().map(|route| route.to_string()));
                'r'
            }
            // A type of its own, 65531, is passed over.
            Message::StatisticsReport(_, statistics) => {
                assert_eq!(statistics.count(), 6);
                's'
            }
            Message::RouteMirroring(_, tlvs) => {
                let message = tlvs.value(MirroringType::Message.number()).unwrap();
                mirrored.push(message[18]);
                'm'
            }
            other => panic!("{other:?}"),
        });
    }
    names.dedup();
    let names: String = names.into_iter().collect();
    assert!(names.starts_with("ieumr") && names.ends_with("mn"), "{names}");
    assert_eq!(mirrored, [1, 4, 2, 2, 2, 3], "OPEN, KEEPALIVE, UPDATEs, NOTIFICATION");
    assert_eq!(announced, ["203.0.113.0/24", "198.51.100.0/24"], "behind the policy");
    assert!(withdrawn.iter().filter(|it| *it == "198.51.100.0/24").count() == 3);
}
