//! What is read and written, and what is refused where.

use crate::every;
use proptest::prelude::*;
use sccp::codec::{
    Address, Class, Digits, Form, Management, Message, MessageType, Parameter, Routing,
    Segmentation, Title, Unit, Word,
};

fn unit(octets: &[u8]) -> Unit<'_> {
    Unit::of(&Message::read(octets).unwrap()).unwrap().unwrap()
}

/// A UDT as it is published in the tests of an SCCP in Erlang (`otc_sccp_codec_tests`): E.164
/// titles, BCD with an even number of digits.
#[test]
fn a_published_message_is_read_and_written_as_it_was() {
    let called = [0x12, 6, 0, 0x12, 4, 0x64, 0x27, 0x11, 0x22, 0x11, 0x22];
    let calling = [0x12, 8, 0, 0x12, 4, 0x64, 0x27, 0x11, 0x22, 0x11, 0x23];
    let mut octets = vec![0x09, 0x80, 3, 14, 25, 11];
    octets.extend(called);
    octets.push(11);
    octets.extend(calling);
    octets.extend([2, 0x65, 0]);
    let read = unit(&octets);
    let title = read.called.title.unwrap();
    assert_eq!(title.digits.to_string(), "467211221122");
    assert_eq!(title, Title::e164(Digits::parse("467211221122").unwrap()));
    assert_eq!((read.called.subsystem, read.calling.subsystem), (Some(6), Some(8)));
    assert_eq!(read.called.routing, Routing::Title);
    assert_eq!(read.word, Word::Data(Class { is_sequenced: false, returns: true }));
    let mut again = Vec::new();
    read.write(&mut again).unwrap();
    assert_eq!(again, octets);
}

#[test]
fn every_connectionless_message_is_written_as_it_is_read() {
    for (kind, octets) in every::units() {
        let message = Message::read(&octets).unwrap();
        assert_eq!(message.kind, kind);
        let mut again = Vec::new();
        Unit::of(&message).unwrap().unwrap().write(&mut again).unwrap();
        assert_eq!(again, octets, "{}", kind.name());
    }
}

#[test]
fn every_message_of_connections_has_its_parameters() {
    for (kind, octets) in every::connection_messages() {
        let message = Message::read(&octets).unwrap();
        assert_eq!((message.kind, Unit::of(&message)), (kind, Ok(None)));
        let reference = match kind {
            MessageType::ConnectionRequest => Parameter::SourceReference,
            _ => Parameter::DestinationReference,
        };
        assert_eq!(message.reference(reference), Some(0x03_02_01), "{}", kind.name());
    }
}

#[test]
fn every_message_of_management_is_written_as_it_is_read() {
    for (management, octets) in every::management() {
        let read = Management::read(unit(&octets).data).unwrap();
        assert_eq!(read, management);
    }
    for bad in [&[][..], &[1, 2, 3, 4], &[7, 2, 3, 4, 0], &[6, 2, 3, 4, 0]] {
        assert!(Management::read(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn what_is_not_well_formed_is_refused_with_its_place() {
    let table: &[(&[u8], usize, &str)] = &[
        (&[], 0, "a message type lacks"),
        (&[0x15], 0, "no message type of SCCP"),
        (&[9], 1, "the fixed part is cut off"),
        (&[9, 0, 3, 4, 5], 5, "a length lacks"),
        (&[9, 0, 0, 4, 5], 2, "a pointer is zero"),
        (&[9, 0, 200, 4, 5], 5, "a pointer leads beyond the message"),
        (&[9, 0, 3, 5, 7, 2, 0x42], 6, "a parameter is cut off"),
        (
            &[17, 0, 15, 4, 6, 8, 9, 2, 0x42, 6, 2, 0x42, 8, 1, 1, 16, 3, 0, 0, 0, 0],
            15,
            "a parameter of another length",
        ),
        (
            &[17, 0, 15, 4, 6, 8, 9, 2, 0x42, 6, 2, 0x42, 8, 1, 1, 18, 1, 3],
            18,
            "the end of optional parameters lacks",
        ),
    ];
    for (octets, at, what) in table {
        let violation = Message::read(octets).unwrap_err();
        assert_eq!((violation.at, violation.what), (*at, *what), "{octets:02x?}");
    }
}

#[test]
fn an_unknown_optional_parameter_is_passed_over() {
    let octets = [17, 1, 15, 4, 6, 8, 9, 2, 0x42, 6, 2, 0x42, 8, 1, 1, 200, 2, 7, 7, 18, 1, 3, 0];
    let read = unit(&octets);
    assert_eq!((read.importance, read.hops, read.data), (Some(3), 15, &[1][..]));
}

#[test]
fn an_address_that_is_cut_or_of_no_format_is_refused() {
    for bad in [&[][..], &[0x43, 1], &[0x42], &[0x10, 0, 0x12], &[0x14, 0], &[0x04]] {
        assert!(Address::read(bad, 0).is_err(), "{bad:02x?}");
    }
    let odd_of_nothing = Address::read(&[0x10, 0, 0x11, 4], 0).unwrap_err();
    assert_eq!(odd_of_nothing.at, 4);
    let long = [&[0x10, 0, 0x12, 4][..], &[0x11; 17]].concat();
    assert!(Address::read(&long, 0).is_err());
}

fn blank(form: Form, called: Address, data: &[u8]) -> Unit<'_> {
    Unit {
        form,
        word: Word::Data(Class { is_sequenced: false, returns: false }),
        hops: if form == Form::Basic { 0 } else { 15 },
        called,
        calling: called,
        segmentation: None,
        importance: None,
        data,
    }
}

#[test]
fn as_much_fits_into_a_message_as_its_room_says_and_no_octet_more() {
    let segmentation =
        Segmentation { is_first: true, is_sequenced: false, remaining: 3, reference: 0xff_00_01 };
    let data = vec![7; 5_000];
    for called in every::addresses() {
        for form in [Form::Basic, Form::Extended, Form::Long] {
            let whole = blank(form, called, &data);
            let segment = Unit { segmentation: Some(segmentation), importance: Some(1), ..whole };
            for unit_of_form in [whole, segment] {
                let room = unit_of_form.room(100_000);
                let fits = Unit { data: &data[..room], ..unit_of_form };
                let mut octets = Vec::new();
                fits.write(&mut octets).unwrap();
                assert_eq!(unit(&octets).data.len(), room, "{form:?} {called:?}");
                let more = Unit { data: &data[..room + 1], ..unit_of_form };
                assert_eq!(more.write(&mut Vec::new()), None, "{form:?} {called:?}");
                let bounded = Unit { data: &data[..unit_of_form.room(200)], ..unit_of_form };
                octets.clear();
                bounded.write(&mut octets).unwrap();
                assert!(octets.len() <= 200);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_octets_break_nothing(octets in prop::collection::vec(any::<u8>(), 0..120)) {
        if let Ok(message) = Message::read(&octets) && let Ok(Some(unit)) = Unit::of(&message) {
            let _ = Management::read(unit.data);
            let mut again = Vec::new();
            if unit.write(&mut again).is_some() {
                let back = Message::read(&again).unwrap();
                prop_assert_eq!(Unit::of(&back).unwrap().unwrap().data, unit.data);
            }
        }
    }

    #[test]
    fn a_message_cut_or_changed_breaks_nothing(
        which: prop::sample::Index, cut: prop::sample::Index, at: prop::sample::Index, to: u8,
    ) {
        let mut all = every::units();
        all.extend(every::connection_messages());
        let mut octets = all[which.index(all.len())].1.clone();
        let _ = Message::read(&octets[..cut.index(octets.len())]);
        let at = at.index(octets.len());
        octets[at] = to;
        match Message::read(&octets) {
            Ok(message) => drop(Unit::of(&message)),
            Err(violation) => prop_assert!(violation.at <= octets.len()),
        }
    }
}

/// The data of LUDT end at 3,952 octets, whatever its length could say (Q.713 §4.20).
#[test]
fn longer_data_than_a_message_may_have_are_refused() {
    let ludt = |octets: u16| {
        let address = [2, 0x42, 6];
        let mut message = vec![0x13, 0x81, 15];
        // Pointers count from their own second octet.
        for pointer in [7u16, 8, 9, 0] {
            message.extend(pointer.to_le_bytes());
        }
        message.extend(address);
        message.extend(address);
        message.extend(octets.to_le_bytes());
        message.resize(message.len() + usize::from(octets), 7);
        message
    };
    let message = ludt(3_952);
    assert_eq!(unit(&message).data.len(), 3_952);
    assert!(Message::read(&ludt(3_953)).is_err());
    assert!(Message::read(&ludt(60_000)).is_err());
}
