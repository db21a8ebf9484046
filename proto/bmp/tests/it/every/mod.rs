//! Every message that the crate writes, with a name.

use bgp::codec::{Cease, Notice, Offer, write_attribute, write_notification, write_open};
use bgp::family::{Family, FamilySet};
use bmp::{
    DownReason, Information, InformationType, MirroringType, PeerHeader, PeerType, Statistic,
    StatisticType, TerminationReason, write_initiation, write_peer_down, write_peer_up,
    write_route_mirroring, write_route_monitoring, write_statistics, write_termination,
};

/// Octets written as hexadecimal, with blanks.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|it| it.to_digit(16)).collect();
    digits.chunks(2).map(|two| (two[0] << 4 | two[1]) as u8).collect()
}

/// Peers of every kind and table.
pub fn peers() -> Vec<(&'static str, PeerHeader)> {
    let stamp =
        |peer: PeerHeader| PeerHeader { seconds: 1_700_000_000, microseconds: 123_456, ..peer };
    let v4 = stamp(PeerHeader::of([192, 0, 2, 1].into(), 65_001, 0x0A00_0001));
    let v6 = PeerHeader { address: "2001:db8::1".parse().unwrap(), asn: 4_200_000_000, ..v4 };
    vec![
        ("in, before", v4),
        ("in, behind", PeerHeader { post_policy: true, ..v6 }),
        ("out, before", PeerHeader { adj_rib_out: true, ..v6 }),
        ("out, behind", PeerHeader { adj_rib_out: true, post_policy: true, ..v4 }),
        (
            "of a VPN",
            PeerHeader { kind: PeerType::Distinguished, distinguisher: 0xFDE8_0000_002A, ..v4 },
        ),
        ("of an instance", PeerHeader { kind: PeerType::Local, distinguisher: 7, ..v4 }),
        ("of the Loc-RIB", stamp(PeerHeader::loc_rib(65_000, 0x0A00_0002))),
        (
            "of a part of the Loc-RIB",
            PeerHeader { filtered: true, ..stamp(PeerHeader::loc_rib(65_000, 0x0A00_0002)) },
        ),
    ]
}

/// An UPDATE that announces 192.0.2.0/24.
pub fn update() -> Vec<u8> {
    let mut attributes = Vec::new();
    write_attribute(0x40, 1, &[0], &mut attributes);
    write_attribute(0x40, 2, &hex("0202 0000fde9 fa56ea00"), &mut attributes);
    write_attribute(0x40, 3, &[192, 0, 2, 9], &mut attributes);
    let mut message = vec![0xFF; 16];
    message.extend_from_slice(&((19 + 4 + attributes.len() + 4) as u16).to_be_bytes());
    message.extend_from_slice(&[2, 0, 0]);
    message.extend_from_slice(&(attributes.len() as u16).to_be_bytes());
    message.extend_from_slice(&attributes);
    message.extend_from_slice(&hex("18 c00002"));
    message
}

pub fn open(asn: u32) -> Vec<u8> {
    let families = FamilySet::only(Family::Ipv4Unicast);
    let mut out = Vec::new();
    write_open(&Offer::modern(asn, 0x0A00_0001, 90, families), &mut out);
    out
}

pub fn notification() -> Vec<u8> {
    let mut out = Vec::new();
    write_notification(Notice::cease(Cease::AdministrativeReset), &[], 4_096, &mut out);
    out
}

pub fn statistics() -> Vec<Statistic> {
    let family = |kind: StatisticType| kind.is_of_family().then_some(Family::Ipv6Unicast);
    let statistic = |kind: &StatisticType| Statistic {
        kind: *kind,
        family: family(*kind),
        value: 1_000 + u64::from(kind.number()),
    };
    StatisticType::ALL.iter().map(statistic).collect()
}

pub fn downs() -> Vec<(DownReason, Vec<u8>)> {
    let data = |reason: &DownReason| match reason {
        DownReason::LocalNotification | DownReason::RemoteNotification => notification(),
        DownReason::LocalEvent => vec![0, 24],
        DownReason::RemoteClosed | DownReason::DeConfigured => Vec::new(),
        DownReason::LocalClosed => hex("0003 0006 676c6f62616c"),
    };
    DownReason::ALL.iter().map(|reason| (*reason, data(reason))).collect()
}

/// Names, types, and messages.
pub fn messages() -> Vec<(String, u8, Vec<u8>)> {
    let mut all: Vec<(String, u8, Vec<u8>)> = Vec::new();
    let mut put = |name: String, kind: u8, write: &dyn Fn(&mut Vec<u8>)| {
        let mut octets = Vec::new();
        write(&mut octets);
        all.push((name, kind, octets));
    };
    put("initiation".into(), 4, &|out| write_initiation("Tandem 0.1", "rr1", "", out));
    put("initiation with text".into(), 4, &|out| write_initiation("Tandem", "rr1", "lab", out));
    for (name, peer) in peers() {
        let name = |what: &str| format!("{what} {name}");
        let is_loc_rib = peer.kind == PeerType::LocRib;
        let label = Information { kind: InformationType::AdminLabel.number(), value: b"label" };
        let table = Information { kind: InformationType::TableName.number(), value: b"global" };
        let information = [if is_loc_rib { table } else { label }];
        let local = if peer.address.is_ipv6() {
            "2001:db8::2".parse().unwrap()
        } else if is_loc_rib {
            peer.address
        } else {
            "192.0.2.2".parse().unwrap()
        };
        let ports = if is_loc_rib { (0, 0) } else { (179, 50_000) };
        let (sent, received) = (open(65_000), open(peer.asn));
        let opens = (&sent[..], &received[..]);
        put(name("peer up"), 3, &|out| write_peer_up(&peer, local, ports, opens, &[], out));
        put(name("peer up, with information,"), 3, &|out| {
            write_peer_up(&peer, local, ports, opens, &information, out);
        });
        put(name("route"), 0, &|out| write_route_monitoring(&peer, &update(), out));
        put(name("statistics"), 1, &|out| write_statistics(&peer, &statistics(), out));
        for (reason, data) in downs() {
            if (reason == DownReason::LocalClosed) == is_loc_rib {
                put(name(reason.name()), 2, &|out| write_peer_down(&peer, reason, &data, out));
            }
        }
        let message = Information { kind: MirroringType::Message.number(), value: &update() };
        let offended = Information { kind: MirroringType::Information.number(), value: &[0, 0] };
        let lost = Information { kind: MirroringType::Information.number(), value: &[0, 1] };
        put(name("mirror"), 6, &|out| write_route_mirroring(&peer, &[message], out));
        put(name("offence"), 6, &|out| write_route_mirroring(&peer, &[offended, message], out));
        put(name("loss"), 6, &|out| write_route_mirroring(&peer, &[lost], out));
    }
    for reason in TerminationReason::ALL {
        put(reason.name().into(), 5, &|out| write_termination(*reason, "bye", out));
    }
    all
}
