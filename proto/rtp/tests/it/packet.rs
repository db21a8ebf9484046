//! Packets of RTP: what is written is read as it was; what cannot be read is told.

use crate::random::Random;
use proptest::prelude::*;
use rtp::extension::{Element, Form, ONE_BYTE, TWO_BYTE};
use rtp::{Extension, Header, Packet, Rewrite, Words};

const HEADER: Header =
    Header { marker: true, payload_type: 96, sequence: 0xABCD, timestamp: 0x0102_0304, ssrc: 7 };

#[test]
fn a_packet_with_everything_is_read_as_it_was_written() {
    let mut data = Vec::new();
    assert!(Element { id: 1, data: &[0xFF] }.write(Form::OneByte, &mut data));
    assert!(Element { id: 14, data: &[7; 16] }.write(Form::OneByte, &mut data));
    let csrcs = [0, 0, 0, 1, 0, 0, 0, 2];
    let packet = Packet {
        header: HEADER,
        csrcs: Words::of(&csrcs),
        extension: Some(Extension::new(ONE_BYTE, &data)),
        payload: b"speech",
        padding: 4,
    };
    let mut octets = Vec::new();
    packet.write(&mut octets);
    assert_eq!(octets[..2], [0xB2, 0xE0]);
    let read = Packet::read(&octets).unwrap();
    assert_eq!((read.header, read.payload, read.padding), (HEADER, &b"speech"[..], 4));
    assert!(read.csrcs.eq([1, 2]));
    let elements: Vec<_> = read.extension.unwrap().elements().map(Result::unwrap).collect();
    assert_eq!(elements, [Element { id: 1, data: &[0xFF] }, Element { id: 14, data: &[7; 16] }]);
    assert_eq!(Header::peek(&octets), Some(HEADER));
}

#[test]
fn elements_of_both_forms_follow_rfc_8285() {
    // §4.2 and §4.3: padding between elements, lengths of zero, identifier 15.
    let one = [0x10, 0xAA, 0x21, 0xBB, 0xBB, 0, 0, 0x30, 0xCC, 0xF0, 1, 2];
    let ids = |it: Extension<'_>| -> Vec<(u8, usize)> {
        it.elements().map(Result::unwrap).map(|it| (it.id, it.data.len())).collect()
    };
    assert_eq!(ids(Extension::new(ONE_BYTE, &one)), [(1, 1), (2, 2), (3, 1)]);
    let two = [1, 0, 2, 1, 0xBB, 0, 0, 200, 4, 1, 2, 3, 4];
    assert_eq!(ids(Extension::new(TWO_BYTE | 5, &two)), [(1, 0), (2, 1), (200, 4)]);
    assert_eq!(ids(Extension::new(0x1234, &two)), []);
    let cut: Vec<_> = Extension::new(ONE_BYTE, &[0x10, 1, 0x25, 2]).elements().collect();
    assert!(cut.len() == 2 && cut[1].is_err(), "{cut:?}");
    let mut out = Vec::new();
    for id in [0, 15] {
        assert!(!Element { id, data: &[1] }.write(Form::OneByte, &mut out));
    }
    assert!(!Element { id: 1, data: &[] }.write(Form::OneByte, &mut out));
    assert!(!Element { id: 1, data: &[0; 17] }.write(Form::OneByte, &mut out));
    assert!(!Element { id: 0, data: &[] }.write(Form::TwoByte, &mut out));
    assert!(!Element { id: 1, data: &[0; 256] }.write(Form::TwoByte, &mut out));
    assert!(out.is_empty());
    assert!(Element { id: 255, data: &[0; 255] }.write(Form::TwoByte, &mut out));
}

#[test]
fn what_is_no_packet_is_told_with_its_place() {
    let violation = |octets: &[u8]| Packet::read(octets).unwrap_err().to_string();
    let mut octets = HEADER.octets().to_vec();
    assert_eq!(violation(&octets[..11]), "the header is cut off at byte 0 (RFC 3550 §5.1)");
    octets[0] = 0x40;
    assert_eq!(violation(&octets), "the version is not 2 at byte 0 (RFC 3550 §5.1)");
    octets[0] = 0x81;
    assert!(violation(&octets).starts_with("the contributing sources are cut off at byte 12"));
    octets[0] = 0x90;
    assert!(violation(&octets).starts_with("the header extension is cut off at byte 12"));
    octets.extend_from_slice(&[0xBE, 0xDE, 0, 1]);
    assert!(violation(&octets).starts_with("the header extension is cut off at byte 16"));
    for padding in [0, 2] {
        let mut octets = HEADER.octets().to_vec();
        octets[0] = 0xA0;
        octets.push(padding);
        assert!(violation(&octets).starts_with("the padding has no such length at byte 12"));
    }
    let mut octets = HEADER.octets().to_vec();
    octets[0] = 0xA0;
    assert!(violation(&octets).starts_with("the padding has no such length"));
}

#[test]
fn a_rewritten_header_keeps_everything_else() {
    let csrcs = [0, 0, 0, 1];
    let packet = Packet {
        header: HEADER,
        csrcs: Words::of(&csrcs),
        extension: Some(Extension::new(TWO_BYTE, &[0; 4])),
        payload: &[9; 20],
        padding: 8,
    };
    let mut octets = Vec::new();
    packet.write(&mut octets);
    let before = octets.clone();
    assert!(Rewrite::default().apply(&mut octets));
    assert_eq!(octets, before);
    let rewrite =
        Rewrite { ssrc: Some(99), payload_type: Some(8), sequence: 0x5433, timestamp: u32::MAX };
    assert!(rewrite.apply(&mut octets));
    let read = Packet::read(&octets).unwrap();
    let header =
        Header { marker: true, payload_type: 8, sequence: 0, timestamp: 0x0102_0303, ssrc: 99 };
    assert_eq!(read, Packet { header, ..Packet::read(&before).unwrap() });
    assert!(!rewrite.apply(&mut octets[..11]));
    octets[0] = 0;
    let before = octets.clone();
    assert!(!rewrite.apply(&mut octets));
    assert_eq!(octets, before);
}

#[test]
fn packets_by_seed_are_read_as_they_were_written() {
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let (csrcs, data, payload) = (random.octets(80), random.octets(64), random.octets(200));
        let header = Header {
            marker: random.below(2) == 1,
            payload_type: random.below(128) as u8,
            sequence: random.next() as u16,
            timestamp: random.next() as u32,
            ssrc: random.next() as u32,
        };
        let profile = [ONE_BYTE, TWO_BYTE, 0x1005, 7][random.below(4) as usize];
        let extension = (random.below(2) == 1).then(|| Extension::new(profile, &data));
        let padding = random.below(20) as u8;
        let csrcs = Words::of(&csrcs);
        let mut octets = Vec::new();
        Packet { header, csrcs, extension, payload: &payload, padding }.write(&mut octets);
        let read = Packet::read(&octets).unwrap();
        assert_eq!((read.header, read.payload, read.padding), (header, &payload[..], padding));
        assert!(read.csrcs.eq(csrcs.take(15)), "seed {seed}");
        if let (Some(wrote), Some(read)) = (extension, read.extension) {
            assert_eq!(wrote.profile, read.profile);
            assert!(read.data.starts_with(wrote.data) && read.data.len() % 4 == 0);
        }
        assert_eq!(read.extension.is_some(), extension.is_some());
        let mut again = Vec::new();
        read.write(&mut again);
        assert_eq!(again, octets, "seed {seed}");
    }
}

proptest! {
    #[test]
    fn any_octets_are_read_without_panic(
        mut octets in proptest::collection::vec(any::<u8>(), 0..100), first in any::<u8>(),
    ) {
        if let Some(octet) = octets.first_mut() {
            *octet = 0x80 | first & 0x3F;
        }
        match Packet::read(&octets) {
            Ok(packet) => {
                packet.extension.iter().flat_map(Extension::elements).for_each(drop);
                let padding = usize::from(packet.padding);
                prop_assert!(octets[..octets.len() - padding].ends_with(packet.payload));
            }
            Err(violation) => prop_assert!(violation.at <= octets.len()),
        }
    }
}
