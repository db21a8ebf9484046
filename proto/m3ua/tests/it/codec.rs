//! Tables and laws of the codec, and damaged messages by seed. `TANDEM_FUZZ_MESSAGES` sets how
//! many of those (default 200,000).

use crate::every::{self, every_message};
use m3ua::codec::{
    Affected, Data, DeregistrationResult, DeregistrationStatus, ErrorCode, Framing, HEADER_BYTES,
    MESSAGE_BYTES_MAX, Message, MessageClass, MessageType, NetworkAppearance, Notification,
    PARAMETERS_MAX, PAYLOAD_BYTES_MAX, PointCode, ProtocolData, RegistrationResult,
    RegistrationStatus, RoutingContext, RoutingKey, Shape, Tag, TrafficMode, Violation, Writer,
    frame,
};
use proptest::prelude::*;

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1, 0, (kind >> 8) as u8, kind as u8];
    bytes.extend_from_slice(&((HEADER_BYTES + body.len()) as u32).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn violation(bytes: &[u8]) -> Violation {
    Message::read(bytes).expect_err("it is malformed")
}

fn all(mut rows: impl Iterator<Item = bool>) {
    assert!(rows.all(|leads_back| leads_back));
}

#[test]
fn every_number_of_a_table_leads_back_to_its_row() {
    for row in MessageType::ALL {
        assert_eq!(MessageType::of(row.number()), Some(*row));
        assert!(row.spec().starts_with("RFC 4666 §3."));
        assert_eq!(row.class().number(), (row.number() >> 8) as u8);
    }
    assert_eq!(MessageType::ALL.len(), 23);
    for row in Tag::ALL {
        assert_eq!(Tag::of(row.number()), Some(*row));
        let is_group = row.shape() == Shape::Group;
        assert_eq!(is_group, !row.rules().is_empty(), "{}", row.name());
    }
    all(ErrorCode::ALL.iter().map(|row| ErrorCode::of(row.number()) == Some(*row)));
    all(MessageClass::ALL.iter().map(|row| MessageClass::of(row.number()) == Some(*row)));
    all(Notification::ALL.iter().map(|row| Notification::of(row.number()) == Some(*row)));
    all(TrafficMode::ALL.iter().map(|row| TrafficMode::of(row.number()) == Some(*row)));
    let statuses = RegistrationStatus::ALL.iter();
    all(statuses.map(|row| RegistrationStatus::of(row.number()) == Some(*row)));
    let statuses = DeregistrationStatus::ALL.iter();
    all(statuses.map(|row| DeregistrationStatus::of(row.number()) == Some(*row)));
}

#[test]
fn every_parameter_belongs_to_a_message_or_to_a_group() {
    let mut used: Vec<Tag> = Vec::new();
    MessageType::ALL.iter().for_each(|it| used.extend(it.rules().iter().map(|rule| rule.tag)));
    Tag::ALL.iter().for_each(|it| used.extend(it.rules().iter().map(|rule| rule.tag)));
    for tag in Tag::ALL {
        assert!(used.contains(tag), "{} stands nowhere", tag.name());
    }
}

#[test]
fn every_message_with_all_its_parameters_is_read_and_each_is_found() {
    let messages = every_message();
    assert_eq!(messages.len(), MessageType::ALL.len());
    for (kind, bytes) in messages {
        let read = Message::read(&bytes).unwrap_or_else(|it| panic!("{}: {it}", kind.name()));
        assert_eq!(read.kind, kind);
        for rule in kind.rules() {
            assert!(read.value(rule.tag).is_some(), "{} in {}", rule.tag.name(), kind.name());
        }
        assert_eq!(frame(&bytes), Framing::Message(bytes.len()));
    }
}

#[test]
fn a_mandatory_parameter_that_lacks_is_missed() {
    for kind in MessageType::ALL {
        let bare = message(kind.number(), &[]);
        let needs = kind.rules().iter().any(|rule| rule.is_mandatory);
        match Message::read(&bare) {
            Err(violation) => {
                assert_eq!(violation.code, ErrorCode::MissingParameter, "{}", kind.name());
                assert!(needs);
            }
            Ok(_) => assert!(!needs, "{}", kind.name()),
        }
    }
}

#[test]
fn every_violation_has_its_code_its_place_and_its_section() {
    let info = [0, 4, 0, 5, b'x', 0, 0, 0];
    let info_twice = [info, info].concat();
    let long = [&[0, 4, 1, 4][..], &[b'x'; 256]].concat();
    let label = [&[2, 16, 0, 15][..], &[0; 12]].concat();
    for (bytes, code, at) in [
        (vec![1, 0, 3], ErrorCode::ProtocolError, 3),
        (vec![2, 0, 3, 1, 0, 0, 0, 8], ErrorCode::InvalidVersion, 0),
        (vec![1, 0, 3, 1, 0, 0, 0, 7], ErrorCode::ProtocolError, 4),
        (vec![1, 0, 3, 1, 0, 0, 0, 12], ErrorCode::ProtocolError, 4),
        (vec![1, 0, 3, 1, 0, 0, 0, 8, 0, 0, 0, 0], ErrorCode::ProtocolError, 4),
        (vec![1, 0, 3, 1, 0, 2, 0, 0], ErrorCode::ProtocolError, 4),
        (message(0x0501, &[]), ErrorCode::UnsupportedMessageClass, 2),
        (message(0x0309, &[]), ErrorCode::UnsupportedMessageType, 3),
        (message(0x0300, &[]), ErrorCode::UnsupportedMessageType, 3),
        (message(0x0301, &[0, 4, 0]), ErrorCode::ParameterFieldError, 8),
        (message(0x0301, &[0, 4, 0, 3]), ErrorCode::ParameterFieldError, 10),
        (message(0x0301, &[0, 4, 0, 9, 0, 0, 0, 0]), ErrorCode::ParameterFieldError, 10),
        (message(0x0301, &[0, 17, 0, 6, 0, 0, 0, 0]), ErrorCode::ParameterFieldError, 10),
        (message(0x0402, &[0, 6, 0, 4]), ErrorCode::ParameterFieldError, 10),
        (
            message(0x0402, &[0, 6, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0]),
            ErrorCode::ParameterFieldError,
            10,
        ),
        (message(0x0302, &long), ErrorCode::ParameterFieldError, 10),
        (message(0x0101, &label), ErrorCode::ParameterFieldError, 10),
        (message(0x0302, &info_twice), ErrorCode::UnexpectedParameter, 16),
        (message(0x0302, &[0, 13, 0, 8, 0, 1, 0, 2]), ErrorCode::UnexpectedParameter, 8),
        (message(0x0201, &info), ErrorCode::MissingParameter, 16),
    ] {
        let violation = violation(&bytes);
        assert_eq!((violation.code, violation.malformed.at), (code, at), "{bytes:?}: {violation}");
        assert!(violation.malformed.spec.starts_with("RFC 4666 §3."), "{violation}");
    }
    let many = message(0x0302, &[0xFF, 0, 0, 4].repeat(PARAMETERS_MAX + 1));
    assert_eq!(violation(&many).malformed.what, "there are too many parameters");
}

#[test]
fn unknown_parameters_are_passed_over_and_their_order_is_free() {
    let body = [
        &[0, 4, 0, 6, b'h', b'i', 0, 0][..],
        &[0xFF, 0xFE, 0, 5, 9, 0, 0, 0],
        &[0, 17, 0, 8, 0, 0, 0, 7],
    ];
    let bytes = message(0x0301, &body.concat());
    let read = Message::read(&bytes).unwrap();
    assert_eq!(read.word(Tag::AspIdentifier), Some(7));
    assert_eq!(read.value(Tag::InfoString), Some(&b"hi"[..]));
}

#[test]
fn the_last_padding_may_lack_or_stand_outside_of_the_length() {
    let mut bytes = message(0x0302, &[0, 4, 0, 6, b'h', b'i']);
    assert_eq!(Message::read(&bytes).unwrap().value(Tag::InfoString), Some(&b"hi"[..]));
    assert_eq!(frame(&bytes), Framing::Message(14));
    bytes.extend_from_slice(&[0, 0]);
    assert_eq!(Message::read(&bytes).unwrap().value(Tag::InfoString), Some(&b"hi"[..]));
    // In a stream the padding is passed over before the next message.
    bytes.extend_from_slice(&message(0x0303, &[]));
    assert_eq!(frame(&bytes[14..]), Framing::Padding(2));
    assert_eq!(frame(&bytes[16..]), Framing::Message(8));
}

#[test]
fn a_stream_is_cut_into_messages_or_broken() {
    let whole = message(0x0303, &[0, 9, 0, 8, 1, 2, 3, 4]);
    for end in 0..whole.len() {
        assert_eq!(frame(&whole[..end]), Framing::Partial, "{end}");
    }
    assert_eq!(frame(&[whole.clone(), whole.clone()].concat()), Framing::Message(whole.len()));
    for broken in [b"GET / HTTP", &[0; 8][..], &[1, 0, 3, 1, 0, 0, 0, 7], &[1, 0, 3, 1, 9, 0, 0, 0]]
    {
        assert!(matches!(frame(broken), Framing::Broken(_)), "{broken:?}");
    }
}

#[test]
fn a_point_code_of_more_than_24_bits_is_no_valid_value() {
    for (at, byte) in [(12, 0), (16, 4)] {
        let mut value = [0; 12];
        value[byte] = 1;
        let bytes = message(0x0101, &[&[2, 16, 0, 16][..], &value].concat());
        let read = Message::read(&bytes).unwrap();
        let violation = Data::of(&read).unwrap_err();
        assert_eq!(
            (violation.code, violation.malformed.at),
            (ErrorCode::InvalidParameterValue, at)
        );
    }
}

#[test]
fn a_mask_says_which_destinations_are_meant() {
    let at = |number| PointCode::new(number).unwrap();
    let range = Affected::of(0x0300_1235);
    assert_eq!((range.mask, range.bounds()), (3, (at(0x1230), at(0x1237))));
    assert!(range.contains(at(0x1230)) && !range.contains(at(0x1238)));
    assert_eq!(range.canonical().word(), 0x0300_1230);
    let all = Affected { point_code: at(9), mask: 255 };
    assert_eq!(all.bounds(), (at(0), PointCode::MAX));
    assert_eq!(all.canonical(), Affected::ALL);
}

#[test]
fn a_routing_key_keeps_what_belongs_to_each_destination() {
    let mut bytes = Vec::new();
    Writer::begin(&mut bytes, MessageType::RegReq)
        .group(Tag::RoutingKey, |inner| {
            inner
                .word(Tag::LocalRoutingKeyIdentifier, 7)
                .word(Tag::TrafficModeType, 2)
                .word(Tag::DestinationPointCode, 100)
                .octets(Tag::ServiceIndicators, &[3, 5])
                .words(Tag::OriginatingPointCodeList, [1, 2].into_iter())
                .word(Tag::NetworkAppearance, 4)
                .word(Tag::DestinationPointCode, 101)
        })
        .end();
    let read = Message::read(&bytes).unwrap();
    let (at, value) = read.all(Tag::RoutingKey).next().unwrap();
    let key = RoutingKey::read(at, value).unwrap();
    assert_eq!((key.identifier, key.mode, key.routing_context), (7, Some(2), None));
    assert_eq!(key.network, Some(NetworkAppearance(4)));
    let groups = key.groups();
    assert_eq!(groups.len(), 2);
    assert_eq!((groups[0].destination, groups[0].service_indicators), (100, &[3, 5][..]));
    let from: Vec<u32> = groups[0].originating().map(PointCode::number).collect();
    assert_eq!((from, groups[1].originating().count()), (vec![1, 2], 0));
}

#[test]
fn a_malformed_routing_key_still_tells_its_identifier() {
    let inner = |parts: &[&[u8]]| parts.concat();
    let identifier: &[u8] = &[2, 10, 0, 8, 0, 0, 0, 9];
    let destination: &[u8] = &[2, 11, 0, 8, 0, 0, 0, 1];
    for (value, code) in [
        (inner(&[identifier]), ErrorCode::MissingParameter),
        (
            inner(&[identifier, destination, &[2, 15, 0, 8, 0, 0, 0, 0]]),
            ErrorCode::UnexpectedParameter,
        ),
        (inner(&[identifier, &[2, 12, 0, 5, 3, 0, 0, 0], destination]), ErrorCode::ProtocolError),
        (inner(&[identifier, destination, &[2, 12, 0, 4]]), ErrorCode::ParameterFieldError),
    ] {
        let violation = RoutingKey::read(8, &value).unwrap_err();
        assert_eq!(violation.code, code, "{violation}");
        assert_eq!(RoutingKey::identifier_in(&value), Some(9));
    }
}

fn protocol_data() -> impl Strategy<Value = (u32, u32, [u8; 4], Vec<u8>)> {
    let code = 0..1u32 << 24;
    (code.clone(), code, any::<[u8; 4]>(), prop::collection::vec(any::<u8>(), 0..300))
}

proptest! {
    /// What is written is read back, and its length was foretold.
    #[test]
    fn data_survives_the_round_trip(
        (opc, dpc, [si, ni, mp, sls], payload) in protocol_data(),
        network in any::<Option<u32>>(),
        context in any::<Option<u32>>(),
        correlation in any::<Option<u32>>(),
        before in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let (opc, dpc) = (PointCode::new(opc).unwrap(), PointCode::new(dpc).unwrap());
        let data = Data {
            network: network.map(NetworkAppearance),
            routing_context: context.map(RoutingContext),
            protocol_data: ProtocolData { opc, dpc, si, ni, mp, sls, payload: &payload },
            correlation,
        };
        let mut out = before.clone();
        data.write(&mut out);
        let written = &out[before.len()..];
        prop_assert_eq!(written.len(), data.written_bytes());
        prop_assert_eq!(frame(written), Framing::Message(written.len()));
        let read = Message::read(written).unwrap();
        prop_assert_eq!(Data::of(&read), Ok(data));
    }

    /// Any parameters that the rows allow are read back as they were written.
    #[test]
    fn words_and_octets_survive_the_round_trip(
        affected in prop::collection::vec(any::<u32>(), 1..40),
        contexts in prop::collection::vec(any::<u32>(), 1..40),
        info in prop::collection::vec(any::<u8>(), 0..256),
    ) {
        let mut out = Vec::new();
        let ranges: Vec<Affected> = affected.iter().map(|word| Affected::of(*word)).collect();
        Writer::begin(&mut out, MessageType::Duna)
            .routing_contexts(contexts.iter().map(|context| RoutingContext(*context)))
            .affected(&ranges)
            .octets(Tag::InfoString, &info)
            .end();
        let read = Message::read(&out).unwrap();
        let back: Vec<u32> = read.affected().map(Affected::word).collect();
        prop_assert_eq!(back, affected);
        let back: Vec<u32> = read.routing_contexts().map(|context| context.0).collect();
        prop_assert_eq!(back, contexts);
        prop_assert_eq!(read.value(Tag::InfoString), Some(&info[..]));
    }

    #[test]
    fn arbitrary_octets_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }
}

#[test]
fn a_payload_beyond_the_length_field_is_cut_not_wrapped() {
    let payload = vec![7; PAYLOAD_BYTES_MAX + 9];
    let (opc, dpc) = (PointCode::default(), PointCode::MAX);
    let protocol_data = ProtocolData { opc, dpc, si: 3, ni: 2, mp: 0, sls: 1, payload: &payload };
    let data = Data { network: None, routing_context: None, protocol_data, correlation: Some(1) };
    let mut out = Vec::new();
    data.write(&mut out);
    assert!(out.len() <= MESSAGE_BYTES_MAX && out.len() == data.written_bytes());
    let read = Message::read(&out).unwrap();
    assert_eq!(Data::of(&read).unwrap().protocol_data.payload.len(), PAYLOAD_BYTES_MAX);
}

/// Reads all there is to read.
fn read_all(bytes: &[u8]) -> bool {
    if let Framing::Message(length) = frame(bytes) {
        assert!(length <= bytes.len() && length <= MESSAGE_BYTES_MAX);
    }
    let message = match Message::read(bytes) {
        Ok(message) => message,
        Err(violation) => {
            assert!(violation.malformed.at <= bytes.len(), "{violation}");
            return false;
        }
    };
    for (at, value) in message.all(Tag::RoutingKey) {
        if let Ok(key) = RoutingKey::read(at, value) {
            assert!(!key.groups().is_empty());
        }
    }
    for (at, value) in message.all(Tag::RegistrationResult) {
        let _ = RegistrationResult::read(at, value);
    }
    for (at, value) in message.all(Tag::DeregistrationResult) {
        let _ = DeregistrationResult::read(at, value);
    }
    let _ = message.affected().filter(|it| it.contains(PointCode::MAX)).count();
    if message.kind == MessageType::Data
        && let Ok(data) = Data::of(&message)
    {
        let mut again = Vec::new();
        data.write(&mut again);
        let read = Message::read(&again).expect("what is written can be read");
        assert_eq!(Data::of(&read), Ok(data));
    }
    true
}

#[test]
fn damaged_messages_are_read_or_refused() {
    let wanted = std::env::var("TANDEM_FUZZ_MESSAGES").ok().and_then(|it| it.parse().ok());
    let corpus = every_message();
    let mut chance = every::Rng(0x4D33_5541);
    let mut accepted = 0u64;
    let total = wanted.unwrap_or(200_000u64);
    for _ in 0..total {
        let (_, mut bytes) = corpus[chance.below(corpus.len())].clone();
        for _ in 0..=chance.below(5) {
            every::mutate(&mut bytes, &corpus[chance.below(corpus.len())].1, &mut chance);
        }
        accepted += u64::from(read_all(&bytes));
    }
    assert!(accepted > 0 && accepted < total, "{accepted} of {total} were accepted");
}
