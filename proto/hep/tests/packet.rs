//! Vectors and laws of the packet codec.

use hep::{Framing, Generic, KIND_SIP, Packet, chunks, compressed_payload, frame};
use proptest::prelude::*;
use std::net::SocketAddr;

/// The example of the specification's annex, as captagent writes it: chunks in another order than
/// ours, a vendor chunk, a keep-alive timer and an authentication key.
fn foreign() -> Vec<u8> {
    let mut bytes = b"HEP3\0\0".to_vec();
    let mut chunk = |vendor: u16, number: u16, body: &[u8]| {
        bytes.extend_from_slice(&vendor.to_be_bytes());
        bytes.extend_from_slice(&number.to_be_bytes());
        bytes.extend_from_slice(&(body.len() as u16 + 6).to_be_bytes());
        bytes.extend_from_slice(body);
    };
    chunk(0, 1, &[2]);
    chunk(0, 2, &[17]);
    chunk(0, 3, &[212, 202, 0, 1]);
    chunk(0, 4, &[82, 116, 0, 211]);
    chunk(0, 7, &[0x2e, 0xea]);
    chunk(0, 8, &[0x13, 0xc4]);
    chunk(0, 9, &[0x4e, 0x49, 0x82, 0xcb]);
    chunk(0, 10, &[0, 1, 0xd4, 0xc0]);
    chunk(0, 11, &[1]);
    chunk(0, 12, &[0, 0, 0, 0xe4]);
    chunk(0, 13, &[0, 60]);
    chunk(0x11, 1, b"whatever the vendor likes");
    chunk(0, 0x99, b"number without meaning");
    chunk(0, 14, b"mypasswd");
    chunk(0, 15, b"INVITE sip:bob SIP/2.0\r\n");
    let length = (bytes.len() as u16).to_be_bytes();
    bytes[4..6].copy_from_slice(&length);
    bytes
}

#[test]
fn a_packet_of_another_agent_is_read_and_its_odd_chunks_are_skipped() {
    let bytes = foreign();
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!(packet.source, "212.202.0.1:12010".parse::<SocketAddr>().unwrap());
    assert_eq!(packet.destination, "82.116.0.211:5060".parse::<SocketAddr>().unwrap());
    assert_eq!((packet.seconds, packet.micros), (1_313_440_459, 120_000));
    assert_eq!((packet.protocol, packet.kind, packet.capture_id), (17, KIND_SIP, 228));
    assert_eq!(packet.auth_key, b"mypasswd");
    assert_eq!(packet.payload, b"INVITE sip:bob SIP/2.0\r\n");
    assert!(packet.correlation.is_empty());
    let vendor = chunks(&bytes).unwrap().flatten().filter(|c| c.generic().is_none()).count();
    assert_eq!(vendor, 2);
}

#[test]
fn every_violation_names_the_offset_where_it_stands() {
    let whole = foreign();
    let at = |bytes: &[u8]| Packet::parse(bytes).unwrap_err().at;
    assert_eq!(at(b"HEP"), 3);
    assert_eq!(at(b"HEP2\0\x06"), 0);
    assert_eq!(at(&whole[..whole.len() - 1]), 4);
    // The first chunk's length: too short for its own header, then past the end.
    for length in [5, 0xffff_u16] {
        let mut bytes = whole.clone();
        bytes[10..12].copy_from_slice(&length.to_be_bytes());
        assert_eq!(at(&bytes), 10);
    }
    // An IPv4 address of five octets.
    let mut bytes = b"HEP3\0\x11\0\0\0\x03\0\x0b12345".to_vec();
    assert_eq!(at(&bytes), 10);
    // A chunk header that is cut short.
    bytes = b"HEP3\0\x09\0\0\0".to_vec();
    assert_eq!(at(&bytes), 6);
    // Nothing but a header: addresses are missing.
    assert_eq!(Packet::parse(b"HEP3\0\x06").unwrap_err().what, "source address is missing");
}

#[test]
fn a_stream_is_cut_into_packets() {
    let mut stream = foreign();
    let first = stream.len();
    stream.extend_from_slice(&foreign());
    assert_eq!(frame(&stream[..3]), Framing::Partial);
    assert_eq!(frame(&stream[..5]), Framing::Partial);
    assert_eq!(frame(&stream[..6]), Framing::Packet(first));
    assert_eq!(frame(&stream[first..]), Framing::Packet(first));
    assert!(matches!(frame(b"GET / HTTP/1.1"), Framing::Broken(_)));
    assert!(matches!(frame(b"HEP3\0\x05"), Framing::Broken(_)));
}

#[test]
fn a_compressed_payload_is_lent_as_it_came() {
    let mut bytes = b"HEP3\0\x0f\0\0\0\x10\0\x09\x78\x9c\x01".to_vec();
    assert_eq!(compressed_payload(&bytes), Some(&b"\x78\x9c\x01"[..]));
    bytes[9] = 0x0f;
    assert_eq!(compressed_payload(&bytes), None);
}

#[test]
fn a_payload_beyond_the_length_field_is_cut_not_wrapped() {
    let packet = Packet {
        protocol: hep::TCP,
        source: "[2001:db8::1]:5060".parse().unwrap(),
        destination: "192.0.2.1:5060".parse().unwrap(),
        seconds: 1,
        micros: 2,
        kind: KIND_SIP,
        capture_id: 3,
        correlation: b"c",
        auth_key: b"",
        tags: b"t",
        payload: &vec![b'x'; 70_000],
    };
    let mut out = Vec::new();
    packet.write(&mut out);
    assert_eq!(out.len(), hep::PACKET_BYTES_MAX);
    let back = Packet::parse(&out).unwrap();
    assert_eq!(back.destination, "[::ffff:192.0.2.1]:5060".parse::<SocketAddr>().unwrap());
    assert!(back.payload.len() > 65_000);
    assert_eq!(hep::tags_of(&out).map(|at| &out[at]), Some(&b"t"[..]));
}

fn address() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = (any::<[u8; 4]>(), any::<[u8; 4]>()).prop_map(|(a, b)| (a.into(), b.into()));
    let v6 = (any::<[u8; 16]>(), any::<[u8; 16]>()).prop_map(|(a, b)| (a.into(), b.into()));
    let ips = prop_oneof![v4, v6];
    (ips, any::<u16>(), any::<u16>())
        .prop_map(|((a, b), p, q)| (SocketAddr::new(a, p), SocketAddr::new(b, q)))
}

proptest! {
    /// What is written is read back, whatever stands in the buffer before it.
    #[test]
    fn a_packet_survives_the_round_trip(
        (source, destination) in address(),
        numbers in any::<(u8, u32, u32, u8, u32)>(),
        correlation in prop::collection::vec(any::<u8>(), 0..64),
        auth_key in prop::collection::vec(any::<u8>(), 0..32),
        tags in prop::collection::vec(any::<u8>(), 0..40),
        payload in prop::collection::vec(any::<u8>(), 0..1500),
        before in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let (protocol, seconds, micros, kind, capture_id) = numbers;
        let packet = Packet {
            protocol, source, destination, seconds, micros, kind, capture_id,
            correlation: &correlation, auth_key: &auth_key, tags: &tags, payload: &payload,
        };
        let mut out = before.clone();
        packet.write(&mut out);
        let written = &out[before.len()..];
        prop_assert_eq!(frame(written), Framing::Packet(written.len()));
        prop_assert_eq!(Packet::parse(written), Ok(packet));
        let said = (!tags.is_empty()).then_some(&tags[..]);
        prop_assert_eq!(hep::tags_of(written).map(|at| &written[at]), said);
        let family = chunks(written).unwrap().flatten()
            .find(|c| c.generic() == Some(Generic::IpFamily)).unwrap();
        prop_assert_eq!(family.body, &[if source.is_ipv4() { 2u8 } else { 10 }][..]);
    }

    /// No bytes make it panic, and the walk over the chunks ends.
    #[test]
    fn arbitrary_bytes_never_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300), headed in any::<bool>(),
    ) {
        if headed && bytes.len() >= 6 {
            let length = (bytes.len() as u16).to_be_bytes();
            bytes[..6].copy_from_slice(&[b'H', b'E', b'P', b'3', length[0], length[1]]);
        }
        let _ = (Packet::parse(&bytes), frame(&bytes), compressed_payload(&bytes));
        prop_assert!(hep::tags_of(&bytes).is_none_or(|at| bytes.get(at).is_some()));
        if let Ok(walk) = chunks(&bytes) {
            prop_assert!(walk.count() <= hep::CHUNKS_MAX + 1);
        }
    }

    /// A packet of another agent with any octet changed is read or refused, never more.
    #[test]
    fn a_mutated_packet_never_panics(at in 0usize..200, value in any::<u8>(), cut in 0usize..240) {
        let mut bytes = foreign();
        let len = bytes.len();
        bytes[at % len] = value;
        bytes.truncate(cut.min(len));
        if let Err(violation) = Packet::parse(&bytes) {
            prop_assert!(violation.at <= bytes.len());
        }
    }
}
