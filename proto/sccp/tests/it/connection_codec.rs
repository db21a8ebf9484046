//! Messages of connections, octets by hand from Q.713 §4.

use crate::every;
use sccp::codec::{
    Address, ConnectionClass, ConnectionMessage as M, ConnectionRequest, ErrorCause,
    LocalReference, Message, RefusalCause, ReleaseCause, ResetCause, Sequencing,
};

fn reference(number: u32) -> LocalReference {
    LocalReference::truncated(number)
}

fn read(octets: &[u8]) -> Result<M<'_>, wire::Malformed> {
    Ok(M::of(&Message::read(octets)?)?.unwrap())
}

/// Each message with its octets: references low octet first, 0x030201 and 0x060504.
pub fn vectors() -> Vec<(Vec<u8>, M<'static>)> {
    let (destination, source) = (reference(0x03_02_01), reference(0x06_05_04));
    let subsystem = |it| Address::subsystem(None, it);
    let (basic, flow) = (ConnectionClass::Basic, ConnectionClass::FlowControl);
    let sequencing = Sequencing { send: 5, receive: 127, more: true };
    let (none, data) = (None, Some(&b"ab"[..]));
    vec![
        // Type, source, class, pointers to called and the optional part.
        (
            vec![1, 4, 5, 6, 2, 2, 0, 2, 0x42, 254],
            M::Request(ConnectionRequest {
                source,
                class: basic,
                called: subsystem(254),
                credit: None,
                calling: None,
                hops: None,
                importance: None,
                data: none,
            }),
        ),
        (
            [
                &[1, 4, 5, 6, 3, 2, 4, 2, 0x42, 8][..],
                &[9, 1, 7, 4, 2, 0x42, 9, 15, 2, b'a', b'b', 17, 1, 12, 18, 1, 3, 0],
            ]
            .concat(),
            M::Request(ConnectionRequest {
                source,
                class: flow,
                called: subsystem(8),
                credit: Some(7),
                calling: Some(subsystem(9)),
                hops: Some(12),
                importance: Some(3),
                data,
            }),
        ),
        (
            vec![2, 1, 2, 3, 4, 5, 6, 3, 1, 9, 1, 4, 3, 2, 0x42, 8, 15, 2, b'a', b'b', 0],
            M::Confirm {
                destination,
                source,
                class: flow,
                credit: Some(4),
                called: Some(subsystem(8)),
                importance: None,
                data,
            },
        ),
        (
            vec![2, 1, 2, 3, 4, 5, 6, 2, 0],
            M::Confirm {
                destination,
                source,
                class: basic,
                credit: None,
                called: None,
                importance: None,
                data: None,
            },
        ),
        (
            vec![3, 1, 2, 3, 19, 1, 18, 1, 6, 0],
            M::Refused {
                destination,
                cause: RefusalCause::UnequippedUser.number(),
                called: None,
                importance: Some(6),
                data: None,
            },
        ),
        (
            vec![4, 1, 2, 3, 4, 5, 6, 13, 1, 15, 2, b'a', b'b', 0],
            M::Released {
                destination,
                source,
                cause: ReleaseCause::InactivityExpired.number(),
                importance: None,
                data,
            },
        ),
        (vec![5, 1, 2, 3, 4, 5, 6], M::ReleaseComplete { destination, source }),
        (vec![6, 1, 2, 3, 1, 1, 2, b'a', b'b'], M::Data1 { destination, more: true, data: b"ab" }),
        (
            vec![7, 1, 2, 3, 10, 255, 1, 2, b'a', b'b'],
            M::Data2 { destination, sequencing, data: b"ab" },
        ),
        (vec![8, 1, 2, 3, 254, 9], M::Acknowledgement { destination, receive: 127, credit: 9 }),
        (vec![11, 1, 2, 3, 1, 2, b'a', b'b'], M::Expedited { destination, data: b"ab" }),
        (vec![12, 1, 2, 3], M::ExpeditedAcknowledgement { destination }),
        (
            vec![13, 1, 2, 3, 4, 5, 6, 2],
            M::ResetRequest { destination, source, cause: ResetCause::IncorrectSend.number() },
        ),
        (vec![14, 1, 2, 3, 4, 5, 6], M::ResetConfirm { destination, source }),
        (vec![15, 1, 2, 3, 3], M::Error { destination, cause: ErrorCause::ClassMismatch.number() }),
        (
            vec![16, 1, 2, 3, 4, 5, 6, 3, 10, 255, 8],
            M::InactivityTest { destination, source, class: flow, sequencing, credit: 8 },
        ),
    ]
}

#[test]
fn every_message_of_connections_is_read_and_written_as_q713_has_it() {
    for (octets, message) in vectors() {
        assert_eq!(read(&octets), Ok(message), "{octets:02x?}");
        let mut written = Vec::new();
        message.write(&mut written).unwrap();
        assert_eq!(written, octets, "{message:?}");
    }
    for (kind, octets) in every::connection_messages() {
        let mut written = Vec::new();
        read(&octets).unwrap().write(&mut written).unwrap();
        assert_eq!(written, octets, "{}", kind.name());
    }
}

#[test]
fn a_message_of_connections_that_is_cut_is_refused() {
    for (octets, message) in vectors() {
        for length in 0..octets.len() {
            assert!(read(&octets[..length]).is_err(), "{length} octets of {message:?}");
        }
    }
}

#[test]
fn optional_parameters_that_nobody_knows_or_that_have_no_place_there_are_passed_over() {
    let octets = [4, 1, 2, 3, 4, 5, 6, 0, 1, 200, 2, 7, 7, 17, 1, 9, 15, 1, b'x', 0];
    let Ok(M::Released { data, importance, .. }) = read(&octets) else { panic!("it is a RLSD") };
    assert_eq!((data, importance), (Some(&b"x"[..]), None));
}

#[test]
fn lengths_and_classes_that_q713_does_not_have_are_refused() {
    let data = |kind: &[u8], length: u8| {
        let mut octets = [kind, &[length]].concat();
        octets.resize(octets.len() + usize::from(length), 7);
        octets
    };
    let cr = |length| [data(&[1, 4, 5, 6, 2, 2, 4, 2, 0x42, 8, 15], length), vec![0]].concat();
    let ed = |length| data(&[11, 1, 2, 3, 1], length);
    let dt1 = |length| data(&[6, 1, 2, 3, 0, 1], length);
    assert!(read(&cr(130)).is_ok() && read(&cr(131)).is_err() && read(&cr(0)).is_err());
    assert!(read(&ed(32)).is_ok() && read(&ed(33)).is_err() && read(&ed(0)).is_err());
    assert!(read(&dt1(255)).is_ok() && read(&dt1(0)).is_err());
    for class in [0, 1, 4, 15] {
        assert!(read(&[1, 4, 5, 6, class, 2, 0, 2, 0x42, 254]).is_err(), "class {class}");
    }
    let long_credit = [2, 1, 2, 3, 4, 5, 6, 3, 1, 9, 2, 4, 4, 0];
    assert!(read(&long_credit).is_err());
    assert!(read(&[1, 4, 5, 6, 2, 2, 0, 1, 0x42]).is_err(), "the called address is cut");
}
