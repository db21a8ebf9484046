//! What rows must not get wrong: every message is read, written and told in JSON as it was made.

use crate::messages::{json, rp, rp_json, tpdu};
use proptest::prelude::*;
use sms::header::Element;
use sms::rp::{self, Message};
use sms::{Cause, FailureCause, Kind, Parameter, Place, Status};
use std::collections::HashSet;

fn back(text: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    Kind::from_json(text, &mut octets).unwrap_or_else(|it| panic!("{it} of {text}"));
    octets
}

#[test]
fn every_tpdu_comes_back_from_octets_and_from_json() {
    for kind in Kind::ALL {
        for seed in 1..400 {
            let octets = tpdu(*kind, seed);
            let read = kind.read(&octets).unwrap_or_else(|it| panic!("{}: {it}", kind.name()));
            let mut again = Vec::new();
            read.write(&mut again).unwrap();
            assert_eq!(again, octets, "{}", kind.name());
            assert_eq!(back(&json(*kind, &octets)), octets, "{}", json(*kind, &octets));
        }
    }
}

#[test]
fn every_rp_message_comes_back_from_octets_and_from_json() {
    for kind in rp::Kind::ALL {
        for seed in 1..400 {
            let octets = rp(*kind, seed);
            let read = Message::read(&octets).unwrap();
            let (mut again, mut from_json) = (Vec::new(), Vec::new());
            read.write(&mut again).unwrap();
            assert_eq!((read.kind, &again), (*kind, &octets));
            rp::from_json(&rp_json(&octets), &mut from_json).unwrap();
            assert_eq!(from_json, octets, "{}", rp_json(&octets));
        }
    }
}

#[test]
fn names_are_each_given_once_and_every_parameter_stands_somewhere() {
    let once = |names: Vec<&str>| {
        let all: HashSet<_> = names.iter().collect();
        assert_eq!(all.len(), names.len(), "{names:?}");
    };
    once(Kind::ALL.iter().map(|it| it.name()).collect());
    once(Parameter::ALL.iter().map(|it| it.name()).collect());
    once(Element::ALL.iter().map(|it| it.name()).collect());
    once(Cause::ALL.iter().map(|it| it.name()).collect());
    once(FailureCause::ALL.iter().map(|it| it.name()).collect());
    once(Status::ALL.iter().map(|it| it.name()).collect());
    for (index, parameter) in Parameter::ALL.iter().enumerate() {
        assert_eq!(usize::from(parameter.number()), index);
        let stands = |it: &Kind| it.fields().iter().any(|field| field.parameter == *parameter);
        assert!(Kind::ALL.iter().any(stands), "{}", parameter.name());
    }
    for kind in Kind::ALL {
        let bits: Vec<_> = kind
            .fields()
            .iter()
            .filter_map(|it| match it.place {
                Place::Bit(bit) => Some(bit),
                _ => None,
            })
            .collect();
        assert!(bits.windows(2).all(|it| it[0] < it[1]) && bits.iter().all(|it| *it > 1));
    }
    for element in Element::ALL {
        assert!(!element.fields().is_empty(), "{}", element.name());
    }
}

#[test]
fn what_is_wrong_is_refused_with_its_section() {
    let cases: [(Kind, &[u8], &str, &str); 9] = [
        (Kind::Deliver, &[], "a TPDU without octets", "TS 23.040 §9.2.2.1"),
        (Kind::Deliver, &[1], "another message type", "TS 23.040 §9.2.2.1"),
        (
            Kind::Submit,
            &[1, 5, 21, 0x91],
            "an address of more than 20 digits",
            "TS 23.040 §9.1.2.5",
        ),
        (Kind::Submit, &[1, 5, 4, 0x91, 0x12], "an address is cut off", "TS 23.040 §9.2.3.8"),
        (
            Kind::Submit,
            &[9, 5, 0, 0x91, 0, 0, 1],
            "a validity period is cut off",
            "TS 23.040 §9.2.3.12",
        ),
        (Kind::Submit, &[1, 5, 0, 0x91, 0, 4, 2, 1], "data are cut off", "TS 23.040 §9.2.3.24"),
        (
            Kind::Submit,
            &[1, 5, 0, 0x91, 0, 4, 141],
            "more data than the TPDU may have",
            "TS 23.040 §9.2.3.24",
        ),
        (Kind::Submit, &[1, 5, 0, 0x91, 0, 4, 0, 9], "octets behind a TPDU", "TS 23.040 §9.2.2.2"),
        (
            Kind::DeliverReport,
            &[0, 0x80],
            "a parameter indicator is cut off",
            "TS 23.040 §9.2.3.27",
        ),
    ];
    for (kind, octets, what, spec) in cases {
        let violation = kind.read(octets).unwrap_err();
        assert_eq!((violation.what, violation.spec), (what, spec), "{octets:?}");
        assert!(violation.at <= octets.len());
    }
    let cases: [(&[u8], &str, Cause); 6] = [
        (&[7, 1], "a reserved message type", Cause::TypeNonExistent),
        (&[0], "the message reference lacks", Cause::InvalidMandatory),
        (&[0, 1, 0, 3, 0x91, 1], "an element is cut off", Cause::InvalidMandatory),
        (
            &[0, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            "an address of more than 20 digits",
            Cause::InvalidMandatory,
        ),
        (&[4, 1, 0], "a cause without octets", Cause::InvalidMandatory),
        (&[0, 1, 0, 0], "an element lacks", Cause::InvalidMandatory),
    ];
    for (octets, what, cause) in cases {
        let violation = Message::read(octets).unwrap_err();
        assert_eq!((violation.what, Cause::of_violation(&violation)), (what, cause), "{octets:?}");
    }
}

#[test]
fn what_a_tpdu_lacks_is_not_written() {
    use sms::{Coding, Made, Tpdu, Value};
    let mut out = Vec::new();
    let violation = Tpdu::new(Kind::Command).write(&mut out).unwrap_err();
    assert_eq!((violation.what, violation.spec), ("a parameter lacks", "TS 23.040 §9.2.3.6"));
    let made = Made::text(Coding::UCS2, &[], "я").unwrap();
    let data = made.as_read(Coding::UCS2, false);
    let report = Tpdu::new(Kind::DeliverReport).with(Parameter::UserData, Value::UserData(data));
    out.clear();
    report.write(&mut out).unwrap();
    assert_eq!(out, [0, 6, 8, 2, 4, 0x4f], "TP-PI says what follows, TP-DCS comes with the data");
    let wrong = report.octet(Parameter::DataCodingScheme, 4);
    assert_eq!(wrong.write(&mut out).unwrap_err().what, "TP-DCS and TP-UDHI say otherwise");
    let wrong = report.octet(Parameter::UserData, 4);
    assert_eq!(wrong.write(&mut out).unwrap_err().what, "a value of another shape");
}

proptest! {
    #[test]
    fn a_message_that_is_cut_or_changed_breaks_nothing(
        seed: u64, kind in 0..8usize, at: usize, octet: u8, cut: bool,
    ) {
        let kind = Kind::ALL[kind];
        let mut octets = tpdu(kind, seed);
        let at = at % octets.len();
        if cut { octets.truncate(at) } else { octets[at] = octet }
        if let Ok(read) = kind.read(&octets) {
            let mut again = Vec::new();
            read.write(&mut again).unwrap();
            let again_read = kind.read(&again).unwrap();
            prop_assert_eq!(&again_read, &read);
            prop_assert_eq!(back(&json(kind, &octets)), again);
            let text = read.user_data().map(|it| it.text());
            let part = read.user_data().map(|it| it.header().map(|it| it.concatenation()));
            let _ = (text, part);
        }
    }
}
