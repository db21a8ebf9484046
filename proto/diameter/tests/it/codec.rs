//! Octets of messages: vectors, and whatever comes.

use diameter::Dictionary;
use diameter::codec::{AvpWriter, Avps, Framing, Message, ResultCode, Writer, frame};
use diameter::codec::{Flags, Header, MESSAGE_OCTETS_MAX, TooLong};
use diameter::rows::base;
use proptest::prelude::*;
use std::net::IpAddr;

/// A DWR as it stands on the wire.
const DWR: &[u8] = &[
    1, 0, 0, 60, 0x80, 0, 1, 24, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, // header
    0, 0, 1, 8, 0x40, 0, 0, 17, b'a', b'.', b'e', b'x', b'a', b'm', b'p', b'l', b'e', 0, 0, 0, 0,
    0, 1, 40, 0x40, 0, 0, 15, b'e', b'x', b'a', b'm', b'p', b'l', b'e', 0,
];

#[test]
fn a_watchdog_is_written_octet_by_octet_and_read_back() {
    let mut octets = Vec::new();
    let flags = Flags(Flags::REQUEST);
    let header = Header { flags, command: 280, application: 0, hop_by_hop: 1, end_to_end: 2 };
    let writer = Writer::begin(&mut octets, &header);
    writer.put(&base::ORIGIN_HOST, "a.example").put(&base::ORIGIN_REALM, "example").end().unwrap();
    let mut expected = DWR.to_vec();
    expected[3] = 56;
    assert_eq!(octets, expected);
    assert_eq!(frame(&octets), Framing::Message(56));
    let message = Message::read(&octets).unwrap();
    assert_eq!(message.header, header);
    let host = message.avps().find(&base::ORIGIN_HOST).unwrap();
    assert_eq!((host.text(), host.at, host.whole.len()), (Ok("a.example"), 20, 17));
    assert_eq!(Dictionary::default().check(&message).unwrap().name, "Device-Watchdog");
}

#[test]
fn values_are_read_as_they_were_written() {
    let mut octets = Vec::new();
    let mut out = AvpWriter::new(&mut octets);
    let addresses: [IpAddr; 2] = ["10.1.2.3".parse().unwrap(), "2001:db8::7".parse().unwrap()];
    for address in addresses {
        out.address(&base::HOST_IP_ADDRESS, address);
    }
    // The last second of the era of 1900, and the first of the next one (RFC 6733 §4.3.1).
    for time in [2_085_978_495, 2_085_978_496, 1_700_000_000] {
        out.time(&base::EVENT_TIMESTAMP, time);
    }
    out.integer(&base::AUTHORIZATION_LIFETIME, -7);
    out.number64(&base::LOAD_VALUE, u64::MAX);
    let avps = Avps::new(&octets, 0);
    let read: Vec<_> = avps.all(&base::HOST_IP_ADDRESS).map(|it| it.address()).collect();
    assert_eq!(read, addresses.map(|it| Ok(Some(it))));
    let read: Vec<_> = avps.all(&base::EVENT_TIMESTAMP).map(|it| it.time()).collect();
    assert_eq!(read, [Ok(2_085_978_495), Ok(2_085_978_496), Ok(1_700_000_000)]);
    assert_eq!(avps.find(&base::AUTHORIZATION_LIFETIME).unwrap().integer32(), Ok(-7));
    assert_eq!(avps.find(&base::LOAD_VALUE).unwrap().unsigned64(), Ok(u64::MAX));
}

#[test]
fn a_message_that_becomes_too_long_is_not_written() {
    let header = Message::read(&[&DWR[..3], &[20], &DWR[4..20]].concat()).unwrap().header;
    let mut octets = vec![7];
    let long = vec![b'x'; MESSAGE_OCTETS_MAX];
    let written = Writer::begin(&mut octets, &header).put(&base::CLASS, &long).end();
    assert_eq!((written, octets), (Err(TooLong), vec![7]));
}

#[test]
fn the_header_is_held_against_its_section() {
    let whole = [&DWR[..3], &[56], &DWR[4..]].concat();
    let table: [(usize, u8, ResultCode); 6] = [
        (0, 2, ResultCode::UnsupportedVersion),
        (3, 52, ResultCode::InvalidMessageLength),
        (3, 57, ResultCode::InvalidMessageLength),
        (4, 0x88, ResultCode::InvalidBitInHeader),
        (4, 0xa0, ResultCode::InvalidHdrBits),
        (4, 0x10, ResultCode::InvalidHdrBits),
    ];
    for (at, octet, code) in table {
        let mut changed = whole.clone();
        changed[at] = octet;
        assert_eq!(Message::read(&changed).unwrap_err().code, code, "octet {at}");
    }
    assert_eq!(Message::read(&whole[..19]).unwrap_err().code, ResultCode::InvalidMessageLength);
}

#[test]
fn a_header_that_is_cut_off_is_shown_with_zeros_behind_it() {
    // RFC 6733 §7.1.5, DIAMETER_INVALID_AVP_LENGTH.
    let violation = Avps::new(&[0, 0, 1, 8], 20).next().unwrap().unwrap_err();
    assert_eq!(violation.code, ResultCode::InvalidAvpLength);
    assert_eq!(violation.failed, [0, 0, 1, 8, 0, 0, 0, 8]);
    let violation = Avps::new(&[0, 0, 1, 8, 0xc0, 0, 0, 16], 20).next().unwrap().unwrap_err();
    assert_eq!(violation.failed, [0, 0, 1, 8, 0xc0, 0, 0, 12, 0, 0, 0, 0]);
}

proptest! {
    #[test]
    fn whatever_comes_is_read_checked_and_shown_without_a_panic(
        mut octets in proptest::collection::vec(any::<u8>(), 0..300),
        flags: u8,
    ) {
        let dictionary = Dictionary::default();
        if octets.len() >= 20 {
            let length = octets.len().next_multiple_of(4);
            octets.resize(length, 0);
            octets[..4].copy_from_slice(&(length as u32).to_be_bytes());
            octets[0] = 1;
            octets[4] = flags & 0xe0;
            let command = [257u32, 280, 306, 272][usize::from(flags & 3)];
            octets[5..8].copy_from_slice(&command.to_be_bytes()[1..]);
        }
        if let Ok(message) = Message::read(&octets) {
            let _ = dictionary.check(&message);
            let mut json = String::new();
            if dictionary.to_json(&message, &mut json).is_ok() {
                prop_assert!(dictionary.from_json(&json).is_ok(), "{}", json);
            }
        }
    }
}
