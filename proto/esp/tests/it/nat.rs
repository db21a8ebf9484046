//! ESP in UDP (RFC 3948, TS 33.203 Annex M).

use crate::{Ends, Random, algorithms, ip, parameters, upper_checksum};
use esp::{Algorithm, Dropped, Mode, Notice, Parameters, Repair, Tunnel, Udp, arrival};
use std::net::IpAddr;

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

const PHONE: &str = "10.0.0.7";
const NAT: &str = "203.0.113.9";
const SERVER: &str = "198.51.100.1";

/// A phone behind a NAT sends to a server, which sees the NAT.
fn tunnel(algorithm: Algorithm) -> [Parameters; 2] {
    let sender = Parameters {
        mode: Mode::Tunnel(Tunnel::between(address(PHONE), address(SERVER))),
        udp: Some(Udp { local: 4500, remote: 4500 }),
        ..parameters(algorithm)
    };
    let receiver = Parameters {
        mode: Mode::Tunnel(Tunnel::between(address(SERVER), address(NAT))),
        udp: Some(Udp { local: 4500, remote: 61_000 }),
        ..sender.clone()
    };
    [sender, receiver]
}

/// What a NAT does to a packet of IPv4.
fn translated(packet: &[u8], source: &str, port: Option<u16>) -> Vec<u8> {
    let mut packet = packet.to_vec();
    let IpAddr::V4(source) = address(source) else { panic!("of IPv4") };
    packet[12..16].copy_from_slice(&source.octets());
    if let Some(port) = port {
        packet[20..22].copy_from_slice(&port.to_be_bytes());
    }
    packet[10..12].fill(0);
    let checksum = crate::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

#[test]
fn a_phone_behind_a_nat_is_heard_and_is_followed_when_its_nat_moves() {
    for algorithm in algorithms() {
        let mut random = Random(1);
        let mut ends = Ends::of(tunnel(algorithm), 1);
        let mut old = None;
        for (port, moves) in [(61_000, false), (61_000, false), (61_005, true), (61_005, false)] {
            let packet = random.packet(false);
            let sent = ends.send(&packet).expect("it passes");
            assert_eq!(
                (sent[9], &sent[20..24], &sent[26..28]),
                (17, &[0x11, 0x94, 0x11, 0x94][..], &[0, 0][..])
            );
            let sent = translated(&sent, NAT, Some(port));
            let seen = arrival(&sent).expect("there is ESP in it");
            assert_eq!((seen.spi.0, seen.ports), (0x0102_0304, Some((port, 4500))));
            assert_eq!((seen.source, seen.destination), (address(NAT), address(SERVER)));
            assert_eq!(ends.open(&sent), Ok(Some(packet)));
            let moved = Notice::Moved { association: 0, address: address(NAT), port };
            assert_eq!(ends.notices(), if moves { vec![moved] } else { vec![] });
            old.get_or_insert(sent);
        }
        // What is repeated from elsewhere moves nothing, and neither does what is forged.
        let old = translated(&old.expect("there was one"), "203.0.113.66", Some(1));
        assert_eq!(ends.open(&old), Err(Dropped::Replayed));
        let mut forged =
            translated(&ends.send(&random.packet(false)).expect("it passes"), NAT, Some(1));
        let last = forged.len() - 1;
        forged[last] ^= 1;
        assert_eq!(ends.open(&forged), Err(Dropped::Forged));
        // Neither does a late one from the old place.
        let late = ends.send(&random.packet(false)).expect("it passes");
        let newer = ends.send(&random.packet(false)).expect("it passes");
        assert!(ends.open(&translated(&newer, NAT, Some(61_005))).is_ok());
        assert!(ends.open(&translated(&late, NAT, Some(61_000))).is_ok());
        assert_eq!(ends.notices(), []);
    }
}

#[test]
fn without_a_window_nothing_tells_where_a_sender_is_for_it_may_have_come_before() {
    let algorithm = algorithms().nth(8).expect("it is there");
    let [sender, receiver] = tunnel(algorithm).map(|it| Parameters { window: 0, ..it });
    let mut ends = Ends::of([sender, receiver], 1);
    let packet = Random(1).packet(false);
    let sent = ends.send(&packet).expect("it passes");
    assert_eq!(ends.open(&translated(&sent, NAT, Some(61_000))), Ok(Some(packet.clone())));
    // The same octets from who recorded them.
    assert_eq!(ends.open(&translated(&sent, "203.0.113.66", Some(1))), Ok(Some(packet)));
    assert_eq!(ends.notices(), []);
}

#[test]
fn the_way_back_goes_where_the_nat_is() {
    let algorithm = algorithms().nth(2).expect("it is there");
    let [phone, server] = tunnel(algorithm);
    let mut ends = Ends::of([server, phone], 1);
    let packet = Random(1).packet(true);
    let sent = ends.send(&packet).expect("it passes");
    assert_eq!(sent[22..24], 61_000u16.to_be_bytes());
    ends.out[0].set_peer(address("203.0.113.10"), 7_000);
    let sent = ends.send(&packet).expect("it passes");
    assert_eq!(
        (&sent[16..20], &sent[22..24]),
        (&[203, 0, 113, 10][..], &7_000u16.to_be_bytes()[..])
    );
    assert_eq!(ends.open(&sent), Ok(Some(packet)));
    ends.out[0].set_peer(address("2001:db8::1"), 7_000);
    let sent = ends.send(&Random(2).packet(true)).expect("it passes");
    assert_eq!(sent[16..20], [203, 0, 113, 10], "the version stays");
}

#[test]
fn checksums_that_a_nat_made_wrong_are_repaired_in_transport_mode() {
    let algorithm = algorithms().nth(8).expect("it is there");
    let udp = Some(Udp { local: 4500, remote: 4500 });
    let parameters = Parameters { udp, ..parameters(algorithm) };
    let (phone, nat, server) = (address(PHONE), address(NAT), address(SERVER));
    let original = Repair::Original { source: phone, destination: server };
    for (protocol, at) in [(17, 6), (6, 16)] {
        let mut random = Random(u64::from(protocol));
        for repair in [original, Repair::Anew] {
            for _ in 0..200 {
                let mut upper = random.octets(20);
                let length = upper.len() + random.below(40) as usize;
                upper.resize(length, 0x5a);
                if protocol == 17 {
                    let length = u16::try_from(length).expect("short").to_be_bytes();
                    upper[4..6].copy_from_slice(&length);
                }
                let mut with = |from: IpAddr| {
                    upper[at..at + 2].fill(0);
                    let checksum = upper_checksum(from, server, protocol, &upper);
                    upper[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
                    ip(from, server, protocol, &upper)
                };
                let (sent, expected) = (with(phone), with(nat));
                let mut ends = Ends::new(&parameters, 1);
                let [into] = ends.into;
                ends.into = [into.with_repair(repair)];
                let sent = ends.send(&sent).expect("it passes");
                let opened = ends.open(&translated(&sent, NAT, Some(61_000)));
                assert_eq!(opened, Ok(Some(expected)), "{protocol} {repair:?}");
            }
        }
    }
    // Without a checksum there is none afterwards.
    let mut packet = ip(phone, server, 17, &[0, 1, 0, 2, 0, 9, 0, 0, 7]);
    let mut ends = Ends::new(&parameters, 1);
    let [into] = ends.into;
    ends.into = [into.with_repair(Repair::Anew)];
    let sent = ends.send(&packet).expect("it passes");
    packet = translated(&packet, NAT, None);
    assert_eq!(ends.open(&translated(&sent, NAT, None)), Ok(Some(packet)));
}

#[test]
fn esp_is_in_udp_where_the_association_is_and_nowhere_else() {
    let algorithm = algorithms().nth(2).expect("it is there");
    let plain = parameters(algorithm);
    let udp = Parameters { udp: Some(Udp { local: 4500, remote: 4500 }), ..plain.clone() };
    for both in [[plain.clone(), udp.clone()], [udp.clone(), plain]] {
        let mut ends = Ends::of(both, 1);
        let sent = ends.send(&Random(1).packet(false)).expect("it passes");
        assert_eq!(ends.open(&sent), Err(Dropped::Encapsulation));
    }
    let mut ends = Ends::new(&udp, 1);
    let mut sent = ends.send(&Random(1).packet(false)).expect("it passes");
    sent[25] ^= 4;
    assert_eq!(ends.open(&sent), Err(Dropped::Malformed), "the length of UDP");
}
