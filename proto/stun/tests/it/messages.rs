//! What is written is read as it was; what cannot be read is told; no octets make it panic.

use crate::random::Random;
use crate::vectors::{PASSWORD, REQUEST, hex};
use proptest::prelude::*;
use std::net::SocketAddr;
use stun::{
    ATTRIBUTES_MAX, Algorithm, AttributeType, BINDING, Class, ErrorCode, Integrity,
    MESSAGE_BYTES_MAX, Message, TransactionId, Writer,
};

const TRANSACTION: TransactionId = TransactionId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);

#[test]
fn every_class_and_method_is_read_as_it_was_written() {
    for class in Class::ALL {
        for method in 0..0x1000 {
            let mut octets = Vec::new();
            Writer::new(*class, method, TRANSACTION, &mut octets).fingerprint();
            let message = Message::read(&octets).unwrap();
            assert_eq!((message.class, message.method), (*class, method));
            assert_eq!((message.transaction, message.fingerprint()), (TRANSACTION, Some(true)));
        }
    }
    let mut octets = Vec::new();
    Writer::new(Class::Error, BINDING, TRANSACTION, &mut octets);
    assert_eq!(octets[..2], [0x01, 0x11]);
}

#[test]
fn addresses_refusals_and_unknown_attributes_are_read_as_they_were_written() {
    for address in ["192.0.2.1:0", "255.255.255.255:65535", "[::]:1", "[2001:db8::1]:3478"] {
        let address: SocketAddr = address.parse().unwrap();
        let mut octets = Vec::new();
        Writer::new(Class::Success, BINDING, TRANSACTION, &mut octets).mapped_address(address);
        assert_eq!(Message::read(&octets).unwrap().mapped_address(), Ok(Some(address)));
    }
    for code in ErrorCode::ALL {
        let mut octets = Vec::new();
        Writer::new(Class::Error, BINDING, TRANSACTION, &mut octets)
            .refusal(*code)
            .unknown_attributes(&[0x7777, 0x0003, 5]);
        let message = Message::read(&octets).unwrap();
        assert_eq!(message.refusal().unwrap().unwrap().code, code.number());
        let unknown = message.value(AttributeType::UnknownAttributes);
        assert_eq!(unknown, Some(&[0x77, 0x77, 0, 3, 0, 5][..]));
    }
}

#[test]
fn what_must_be_understood_and_is_not_is_found() {
    let mut octets = Vec::new();
    Writer::new(Class::Request, BINDING, TRANSACTION, &mut octets)
        .raw_attribute(0x7FFF, &[1])
        .raw_attribute(0x8000, &[])
        .attribute(AttributeType::Username, b"x")
        .raw_attribute(0x0003, &[0; 4]);
    let message = Message::read(&octets).unwrap();
    let mut found = [0; 4];
    assert_eq!((message.unknown_required(&mut found), &found[..2]), (2, &[0x7FFF, 3][..]));
    assert_eq!(message.unknown_required(&mut [0]), 1);
}

#[test]
fn what_stands_behind_an_hmac_is_ignored_but_for_another_and_the_checksum() {
    let mut octets = Vec::new();
    Writer::new(Class::Request, BINDING, TRANSACTION, &mut octets)
        .attribute(AttributeType::Priority, &[0, 0, 0, 1])
        .integrity(Algorithm::Sha1, PASSWORD)
        .attribute(AttributeType::UseCandidate, &[])
        .integrity(Algorithm::Sha256, PASSWORD)
        .integrity(Algorithm::Sha1, b"another")
        .raw_attribute(5, &[])
        .fingerprint();
    let message = Message::read(&octets).unwrap();
    let kinds: Vec<_> = message.attributes().filter_map(|it| it.kind()).collect();
    assert_eq!(
        kinds,
        [
            AttributeType::Priority,
            AttributeType::MessageIntegrity,
            AttributeType::MessageIntegritySha256,
            AttributeType::Fingerprint
        ]
    );
    assert_eq!(message.integrity(PASSWORD), Integrity::Holds(Algorithm::Sha256));
    assert_eq!(message.unknown_required(&mut [0; 4]), 0);
    // A checksum that is not the last one is none.
    octets.extend_from_slice(&[0x80, 0x22, 0, 0]);
    octets[3] += 4;
    assert_eq!(Message::read(&octets).unwrap().fingerprint(), Some(false));
}

#[test]
fn a_cut_hmac_of_sha_256_holds_from_sixteen_octets_on() {
    for length in [0, 4, 12, 15, 16, 18, 20, 28, 32, 36] {
        let mut whole = Vec::new();
        Writer::new(Class::Request, BINDING, TRANSACTION, &mut whole)
            .attribute(AttributeType::Username, b"name");
        let before = whole.len();
        // The HMAC covers the length that the message has with it.
        whole[3] = (before - 20 + 4 + length) as u8;
        let tag = hmac_sha256(&whole, length);
        whole.extend_from_slice(&[0, 0x1C, 0, length as u8]);
        whole.extend_from_slice(&tag);
        whole.resize(whole.len().next_multiple_of(4), 0);
        whole[3] = (whole.len() - 20) as u8;
        let found = Message::read(&whole).unwrap().integrity(b"key");
        let holds = (16..=32).contains(&length) && length % 4 == 0;
        assert_eq!(found == Integrity::Holds(Algorithm::Sha256), holds, "{length}");
    }
}

/// The first octets of the HMAC-SHA256 under "key".
fn hmac_sha256(octets: &[u8], length: usize) -> Vec<u8> {
    use hmac::Mac;
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(b"key").unwrap();
    mac.update(octets);
    let mut tag = mac.finalize().into_bytes().to_vec();
    tag.resize(length, 0);
    tag
}

#[test]
fn what_is_no_message_is_told_with_its_place() {
    let whole = hex(REQUEST);
    let violation = |octets: &[u8]| Message::read(octets).unwrap_err().what;
    for cut in 0..20 {
        assert_eq!(violation(&whole[..cut]), "the header is cut off");
    }
    for cut in 20..whole.len() {
        assert_eq!(violation(&whole[..cut]), "the length is not that of the datagram");
    }
    let with = |at: usize, octet: u8| {
        let mut octets = whole.clone();
        octets[at] = octet;
        octets
    };
    assert_eq!(violation(&with(0, 0x80)), "the first two bits are not zero");
    assert_eq!(violation(&with(4, 0)), "the magic cookie lacks");
    assert_eq!(violation(&with(3, 0x57)), "the length is not that of the datagram");
    assert_eq!(violation(&with(23, 0xFF)), "an attribute is cut off");
    let mut many = Vec::new();
    let mut writer = Writer::new(Class::Request, BINDING, TRANSACTION, &mut many);
    (0..=ATTRIBUTES_MAX).for_each(|_| _ = writer.raw_attribute(0x8000, &[]));
    assert_eq!(violation(&many), "there are too many attributes");
    let mut long = Vec::new();
    Writer::new(Class::Request, BINDING, TRANSACTION, &mut long)
        .raw_attribute(0x8000, &vec![0; MESSAGE_BYTES_MAX]);
    assert_eq!(violation(&long), "the message is too long");
}

#[test]
fn messages_by_seed_are_read_as_they_were_written() {
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let key = random.octets(80);
        let mut octets = Vec::new();
        let mut writer = Writer::new(Class::Request, BINDING, TRANSACTION, &mut octets);
        let mut wrote = Vec::new();
        for _ in 0..random.below(10) {
            // No guard: those are written for what they say.
            let number = 0x4000 + random.below(0x4000) as u16;
            let value = random.octets(40);
            writer.raw_attribute(number, &value);
            wrote.push((number, value));
        }
        let algorithm = [Algorithm::Sha1, Algorithm::Sha256][random.below(2) as usize];
        writer.integrity(algorithm, &key).fingerprint();
        let message = Message::read(&octets).unwrap();
        assert_eq!(message.integrity(&key), Integrity::Holds(algorithm), "seed {seed}");
        assert_eq!(message.fingerprint(), Some(true));
        let read: Vec<_> = message.attributes().map(|it| (it.number, it.value.to_vec())).collect();
        assert_eq!(read[..wrote.len()], wrote, "seed {seed}");
        assert_eq!(read.len(), wrote.len() + 2);
    }
}

/// Reads all that a message can say.
fn walk(octets: &[u8]) {
    match Message::read(octets) {
        Ok(message) => {
            let _ = (message.fingerprint(), message.integrity(PASSWORD), message.refusal());
            let _ = (message.mapped_address(), message.unknown_required(&mut [0; 3]));
            assert!(message.attributes().count() <= ATTRIBUTES_MAX);
        }
        Err(violation) => assert!(violation.at <= octets.len(), "{violation}"),
    }
}

proptest! {
    #[test]
    fn any_attributes_are_read_without_panic(
        kind in any::<u16>(), mut body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        body.truncate(body.len() / 4 * 4);
        let mut octets = (kind & 0x3FFF).to_be_bytes().to_vec();
        octets.extend_from_slice(&(body.len() as u16).to_be_bytes());
        octets.extend_from_slice(&hex("2112a442 b7e7a701bc34d686fa87dfae"));
        octets.extend_from_slice(&body);
        walk(&octets);
        walk(&body);
    }

    #[test]
    fn damage_is_told_and_never_panics(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut octets = hex(REQUEST);
        for (index, octet) in changes {
            let at = index.index(octets.len());
            octets[at] = octet;
        }
        walk(&octets);
    }
}
