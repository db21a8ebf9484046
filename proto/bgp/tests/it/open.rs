//! OPEN, NOTIFICATION, ROUTE-REFRESH and the header.

use crate::every::{self, hex};
use bgp::codec::{
    Cease, EXTENDED_MESSAGE_BYTES_MAX, Framing, MESSAGE_BYTES_MAX, MessageType, Notice,
    Notification, Offer, Open, Refresh, RefreshKind, Role, frame, keepalive, write_communication,
    write_notification, write_open, write_refresh,
};
use bgp::family::{Family, FamilySet};

const MARKER: &str = "ffffffffffffffffffffffffffffffff";

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = hex(MARKER);
    out.extend_from_slice(&((19 + body.len()) as u16).to_be_bytes());
    out.push(kind);
    out.extend_from_slice(body);
    out
}

fn open(text: &str) -> Vec<u8> {
    message(1, &hex(text))
}

fn notice_of(bytes: &[u8]) -> (u8, u8, Vec<u8>) {
    let violation = Open::read(bytes).unwrap_err();
    let mut data = Vec::new();
    violation.write_data(bytes, &mut data);
    assert!(violation.malformed.at < bytes.len());
    (violation.notice.code, violation.notice.subcode, data)
}

#[test]
fn an_open_without_capabilities_speaks_ipv4_unicast_in_two_octets() {
    let read = Open::read(&open("04 fde8 005a c0000201 00")).unwrap();
    assert_eq!(read.offer, Offer::plain(65_000, 0xC000_0201, 90));
    assert_eq!(read.my_as, 65_000);
}

#[test]
fn an_open_as_routers_send_it_is_understood() {
    // Multiprotocol IPv4 and IPv6, route refresh (also the one before the RFC), AS of four octets,
    // graceful restart, a name: each in a parameter of its own, as many do.
    let bytes = open(
        "04 5ba0 00b4 0a000001 33 0206 0104 00010001 0206 0104 00020001 0202 8000 0202 0200 \
         0206 4104 00030d40 0208 4006 8078 00010180 0207 4905 0472 312d61",
    );
    let offer = Open::read(&bytes).unwrap().offer;
    assert_eq!((offer.asn, offer.hold_time_s, offer.identifier), (200_000, 180, 0x0A00_0001));
    assert!(offer.route_refresh && offer.four_octet_as && !offer.extended_message);
    let both = [Family::Ipv4Unicast, Family::Ipv6Unicast].into_iter().collect::<FamilySet>();
    assert_eq!(offer.families, both);
    let restart = offer.graceful_restart.unwrap();
    assert!(restart.restarting && !restart.notification);
    assert_eq!((restart.time_s, restart.forwarding), (120, FamilySet::only(Family::Ipv4Unicast)));
}

#[test]
fn what_is_offered_is_read_back() {
    for offer in [every::offer(), Offer::plain(65_000, 1, 0)] {
        let mut bytes = Vec::new();
        write_open(&offer, &mut bytes);
        assert!(matches!(frame(&bytes, 4_096), Framing::Message(MessageType::Open, _)));
        assert_eq!(Open::read(&bytes).unwrap().offer, offer);
    }
    let mut offer = every::offer();
    let families = offer.families;
    let restart = offer.graceful_restart.as_mut().unwrap();
    (restart.families, offer.add_path_send) = (families, families);
    let mut bytes = Vec::new();
    write_open(&offer, &mut bytes);
    assert_eq!(bytes[28..30], [255, 255], "so many capabilities need the extended form");
    assert_eq!(Open::read(&bytes).unwrap().offer, offer);
}

#[test]
fn extended_parameters_are_read_whatever_length_is_told() {
    for told in ["ff", "01", "10"] {
        let text = format!("04 fde8 005a c0000201 {told} ff 0009 02 0006 0104 00010001");
        assert_eq!(Open::read(&open(&text)).unwrap().offer, Offer::plain(65_000, 0xC000_0201, 90));
    }
    let (code, subcode, _) =
        notice_of(&open("04 fde8 005a c0000201 ff ff 000a 02 0006 0104 00010001"));
    assert_eq!((code, subcode), (2, 0));
}

#[test]
fn every_violation_of_an_open_has_its_subcode() {
    let cases = [
        ("03 fde8 005a c0000201 00", 1, "0004"),
        ("04 0000 005a c0000201 00", 2, ""),
        ("04 5ba0 005a c0000201 08 0206 4104 00000000", 2, ""),
        ("04 fde8 0002 c0000201 00", 6, ""),
        ("04 fde8 0001 c0000201 00", 6, ""),
        ("04 fde8 005a 00000000 00", 3, ""),
        ("04 fde8 005a c0000201 03 010100", 4, ""),
        ("04 fde8 005a c0000201 01", 0, ""),
        ("04 fde8 005a c0000201 03 020200", 0, ""),
        ("04 fde8 005a c0000201 04 02020102", 0, ""),
        ("04 fde8 005a c0000201 07 02050103000100", 0, ""),
        ("04 fde8 005a c0000201 05 0203410100", 0, ""),
        ("04 fde8 005a c0000201 01 0206", 0, ""),
    ];
    for (text, subcode, data) in cases {
        assert_eq!(notice_of(&open(text)), (2, subcode, hex(data)), "{text}");
    }
}

#[test]
fn capabilities_and_families_that_nobody_knows_are_passed_over() {
    let bytes = open("04 fde8 005a c0000201 12 0210 0104 00010001 0104 00fe00ff b802 0102");
    assert_eq!(Open::read(&bytes).unwrap().offer.families, FamilySet::only(Family::Ipv4Unicast));
    // Only families that are not known here: that is no IPv4 unicast.
    let bytes = open("04 fde8 005a c0000201 08 0206 0104 00fe00ff");
    assert!(Open::read(&bytes).unwrap().offer.families.is_empty());
    // Roles and modes out of range.
    let bytes = open("04 fde8 005a c0000201 0b 0209 0901 09 4504 00010107");
    let offer = Open::read(&bytes).unwrap().offer;
    assert_eq!((offer.role, offer.add_path_receive), (None, FamilySet::EMPTY));
    // Of two lists of path identifiers the last one counts.
    let bytes = open("04 fde8 005a c0000201 0e 020c 4504 00010103 4504 00020101");
    let offer = Open::read(&bytes).unwrap().offer;
    let ipv6 = FamilySet::only(Family::Ipv6Unicast);
    assert_eq!((offer.add_path_receive, offer.add_path_send), (ipv6, FamilySet::EMPTY));
    // Two roles that differ.
    let bytes = open("04 fde8 005a c0000201 08 0206 0901 00 0901 03");
    let offer = Open::read(&bytes).unwrap().offer;
    assert!(offer.roles_differ);
    assert_eq!(offer.role, Some(Role::Provider));
}

#[test]
fn a_header_is_held_to_its_lengths() {
    let broken = |bytes: &[u8], max| match frame(bytes, max) {
        Framing::Broken(violation) => (violation.notice.code, violation.notice.subcode),
        other => panic!("{other:?}"),
    };
    let with = |length: u16, kind: u8| {
        let mut out = hex(MARKER);
        out.extend_from_slice(&length.to_be_bytes());
        out.push(kind);
        out
    };
    assert_eq!(broken(&with(18, 4), 4_096), (1, 2));
    assert_eq!(broken(&with(20, 4), 4_096), (1, 2));
    assert_eq!(broken(&with(28, 1), 4_096), (1, 2));
    assert_eq!(broken(&with(22, 2), 4_096), (1, 2));
    assert_eq!(broken(&with(20, 3), 4_096), (1, 2));
    assert_eq!(broken(&with(4_097, 2), MESSAGE_BYTES_MAX), (1, 2));
    assert_eq!(broken(&with(4_097, 1), EXTENDED_MESSAGE_BYTES_MAX), (1, 2), "OPEN never is");
    assert_eq!(frame(&with(4_097, 2), EXTENDED_MESSAGE_BYTES_MAX), Framing::Partial);
    assert_eq!(broken(&with(19, 6), 4_096), (1, 3));
    assert_eq!(broken(&with(0, 6), 4_096), (1, 2));
    assert_eq!(broken(&hex("ffff00"), 4_096), (1, 1));
    let mut bytes = with(19, 4);
    bytes[15] = 0xFE;
    assert_eq!(broken(&bytes, 4_096), (1, 1));
    assert_eq!(broken(&message(5, &[0, 1]), 4_096), (7, 1));
    let Framing::Broken(violation) = frame(&with(22, 2), 4_096) else { panic!() };
    let mut data = Vec::new();
    violation.write_data(&with(22, 2), &mut data);
    assert_eq!(data, [0, 22]);
}

#[test]
fn every_prefix_of_a_message_is_partial() {
    for (name, bytes) in every::messages() {
        for length in 0..bytes.len() {
            assert_eq!(frame(&bytes[..length], 65_535), Framing::Partial, "{name}");
        }
        let mut more = bytes.clone();
        keepalive(&mut more);
        let Framing::Message(_, found) = frame(&more, 65_535) else { panic!("{name}") };
        assert_eq!(found, bytes, "{name}");
    }
}

#[test]
fn a_shutdown_communication_is_carried() {
    let write = |cease, data: &[u8]| {
        let mut out = Vec::new();
        write_notification(Notice::cease(cease), data, 4_096, &mut out);
        out
    };
    let mut data = Vec::new();
    write_communication("Wartung bis 22:00 ✓", &mut data);
    let bytes = write(Cease::AdministrativeShutdown, &data);
    let read = Notification::read(&bytes).unwrap();
    assert_eq!(read.communication().as_deref(), Some("Wartung bis 22:00 ✓"));
    assert_eq!(read.notice.to_string(), "Cease: Administrative Shutdown");
    let hard: Vec<u8> = [&[6, 2][..], &data].concat();
    let bytes = write(Cease::HardReset, &hard);
    let read = Notification::read(&bytes).unwrap();
    assert_eq!(read.communication().as_deref(), Some("Wartung bis 22:00 ✓"));
    assert!(read.inside().unwrap().notice.is(Cease::AdministrativeShutdown));
    // Of another reason, none, cut off, not UTF-8.
    for (cease, data) in [
        (Cease::OutOfResources, &data[..]),
        (Cease::AdministrativeShutdown, &[]),
        (Cease::AdministrativeShutdown, &[0]),
        (Cease::AdministrativeReset, &[5, b'a']),
        (Cease::AdministrativeReset, &[2, 0xFF, 0xFE]),
    ] {
        let bytes = write(cease, data);
        assert_eq!(Notification::read(&bytes).unwrap().communication(), None);
    }
    // What would steer a terminal (RFC 9003 §4).
    let mut data = Vec::new();
    write_communication("\u{1b}[2Jgone\r\n\u{9b}1A\u{202e}", &mut data);
    let bytes = write(Cease::AdministrativeReset, &data);
    let read = Notification::read(&bytes).unwrap().communication().unwrap();
    assert_eq!(read, "\u{fffd}[2Jgone\u{fffd}\u{fffd}\u{fffd}1A\u{fffd}");
    let mut long = Vec::new();
    write_communication(&"ü".repeat(200), &mut long);
    assert_eq!((long.len(), long[0]), (255, 254), "cut between characters");
}

#[test]
fn a_prefix_limit_is_told() {
    let mut bytes = Vec::new();
    let data = hex("0001 01 000003e8");
    write_notification(Notice::cease(Cease::MaximumPrefixes), &data, 4_096, &mut bytes);
    let read = Notification::read(&bytes).unwrap();
    assert_eq!(read.prefix_limit(), Some((Some(Family::Ipv4Unicast), 1_000)));
    assert_eq!(Notice { code: 9, subcode: 3 }.to_string(), "Unknown Error 9/3");
    assert_eq!(Notice::HOLD_TIMER_EXPIRED.to_string(), "Hold Timer Expired");
}

#[test]
fn a_refresh_is_a_request_a_beginning_or_an_end() {
    for kind in RefreshKind::ALL {
        let mut bytes = Vec::new();
        write_refresh(Family::Evpn, *kind, &mut bytes);
        let read = Refresh::read(&bytes).unwrap();
        assert_eq!((read.family, read.kind), (Some(Family::Evpn), Some(*kind)));
    }
    // With route filters, which are not understood; of a kind and of a family that nobody knows.
    let filters = message(5, &hex("0001 00 01 0140 0002 80ff"));
    assert_eq!(Refresh::read(&filters).unwrap().filters.len(), 6);
    let other = message(5, &hex("0001 09 01"));
    assert_eq!(Refresh::read(&other).unwrap().kind, None);
    let other = message(5, &hex("0009 00 01"));
    assert_eq!(Refresh::read(&other).unwrap().family, None);
    let long = message(5, &hex("0001 01 01 00"));
    assert_eq!(
        Refresh::read(&long).unwrap_err().notice.to_string(),
        "ROUTE-REFRESH Message Error: Invalid Message Length"
    );
}
