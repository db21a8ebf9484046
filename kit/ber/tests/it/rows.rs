//! Types as rows, on values that another implementation wrote.

use crate::shop::*;
use ber::{Described, Element, Writer};

fn octets(hex: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// Values by pycrate 0.8.1 (`pycrate_asn1dir.TCAP_MAPv2v3`, `to_ber`).
const SRI_FOR_SM: &str = "301d8007914467102030408101ff8205914467aabb870088010089030c9144";
const SRI_FOR_SM_RESULT: &str = "301a040862021032547698f0a00e8104914467ab0404616263648500";
const UPDATE_LOCATION: &str =
    "3020040862021032547698f0810491446701040491446702a608800204f0a3028000";

#[test]
fn the_components_of_a_sequence_are_found_by_their_rows() {
    let octets = octets(SRI_FOR_SM);
    let arg = RoutingInfoForSmArg::read(Element::only(&octets).unwrap()).unwrap();
    let msisdn = arg.octets(RoutingInfoForSmArg::Msisdn).unwrap();
    assert_eq!(msisdn, [0x91, 0x44, 0x67, 0x10, 0x20, 0x30, 0x40][..]);
    assert_eq!(arg.boolean(RoutingInfoForSmArg::Priority), Some(true));
    assert!(arg.has(RoutingInfoForSmArg::GprsSupportIndicator));
    assert!(!arg.has(RoutingInfoForSmArg::ExtensionContainer));
    assert_eq!(arg.integer(RoutingInfoForSmArg::MessageType), Some(0));
    assert_eq!(arg.unknown().count(), 0);
}

#[test]
fn sequences_and_choices_stand_within_each_other() {
    let result = octets(SRI_FOR_SM_RESULT);
    let result = RoutingInfoForSmRes::read(Element::only(&result).unwrap()).unwrap();
    let location = result.get(RoutingInfoForSmRes::Location).unwrap();
    let location = LocationInfoWithLmsi::read(location).unwrap();
    assert_eq!(location.octets(LocationInfoWithLmsi::Lmsi).unwrap(), b"abcd"[..]);
    assert!(location.has(LocationInfoWithLmsi::GprsNodeIndicator));

    let octets = octets(UPDATE_LOCATION);
    let arg = UpdateLocationArg::read(Element::only(&octets).unwrap()).unwrap();
    let capability = arg.get(UpdateLocationArg::VlrCapability).unwrap();
    let capability = VlrCapability::read(capability).unwrap();
    assert_eq!(capability.bits(VlrCapability::CamelPhases).unwrap().len(), 4);
    let info = capability.get(VlrCapability::SuperCharger).unwrap();
    let (which, _) = SuperChargerInfo::read(info).unwrap().unwrap();
    assert_eq!(which, SuperChargerInfo::SendSubscriberData);
}

#[test]
fn each_violation_against_a_type_is_told_with_its_place_and_section() {
    let table: &[(&[u8], usize, &str)] = &[
        (&[0x30, 0], 0, "a component lacks"),
        (&[0x30, 3, 0x81, 1, 0], 2, "a component lacks before this one"),
        (&[0x30, 6, 0x80, 1, 7, 0x80, 1, 7], 5, "twice or out of order"),
        (&[0x30, 3, 0x80, 1, 7], 0, "a component lacks"),
        (&[0x30, 2, 0x80, 0], 2, "too short"),
        (&[0x30, 12, 0x80, 10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 2, "too long"),
        (&[0x30, 5, 0x80, 1, 7, 0x81, 0], 5, "a BOOLEAN has one octet"),
        // sm-RP-MTI, optional, beyond its range: present and not well-formed is no absence.
        (&[0x30, 12, 0x80, 1, 7, 0x81, 1, 0, 0x82, 1, 7, 0x88, 1, 11], 11, "out of range"),
        (&[0x04, 1, 0], 0, "a primitive element where elements belong"),
    ];
    for (octets, at, what) in table {
        let octets = [&[octets[0], octets.len() as u8 - 2], &octets[2..]].concat();
        let violation = RoutingInfoForSmArg::read(Element::only(&octets).unwrap()).unwrap_err();
        assert_eq!((violation.at, violation.what), (*at, *what), "{octets:02x?}");
    }
    let violation = RoutingInfoForSmArg::read(Element::only(&[0x30, 0]).unwrap()).unwrap_err();
    assert_eq!(violation.spec, "TS 29.002 §17.7.6");
}

#[test]
fn what_an_extensible_type_does_not_know_is_passed_over_and_kept() {
    let octets = [0x30, 17, 0x80, 1, 7, 0xbf, 0x50, 2, 5, 0, 0x81, 1, 0, 0x82, 1, 7, 0x8c, 1, 9];
    let arg = RoutingInfoForSmArg::read(Element::only(&octets).unwrap()).unwrap();
    let unknown: Vec<_> = arg.unknown().map(|it| it.tag().number()).collect();
    assert_eq!(unknown, [80, 12]);
    assert!(arg.has(RoutingInfoForSmArg::ServiceCentreAddress));
    // A private extension is no extensible type.
    let closed = [0x30, 7, 6, 1, 4, 5, 0, 5, 0];
    assert!(PrivateExtension::read(Element::only(&closed).unwrap()).is_err());
}

#[test]
fn a_set_has_its_components_in_any_order_and_each_once() {
    let things = [0xa0, 6, 0x81, 1, 5, 0x0c, 1, b'x'];
    let label = [0xa1, 4, 0x1a, 2, b'h', b'i'];
    for parts in [[&things[..], &label[..]], [&label[..], &things[..]]] {
        let octets = [&[0x31, 14][..], parts[0], parts[1]].concat();
        let basket = Basket::read(Element::only(&octets).unwrap()).unwrap();
        assert_eq!(basket.octets(Basket::Label).unwrap(), b"hi"[..]);
        let list = basket.list(Basket::Things).map(|thing| Thing::read(thing).unwrap().unwrap().0);
        assert_eq!(list.collect::<Vec<_>>(), [Thing::Fruit, Thing::Name]);
    }
    let twice = [&[0x31, 12][..], &label, &label].concat();
    assert_eq!(Basket::read(Element::only(&twice).unwrap()).unwrap_err().what, "twice");
    let without = [&[0x31, 6][..], &label].concat();
    assert_eq!(
        Basket::read(Element::only(&without).unwrap()).unwrap_err().what,
        "a component lacks"
    );
}

#[test]
fn numbers_and_alternatives_to_come_are_let_in_where_a_type_is_extensible() {
    let of = |octets| Element::only(octets).unwrap();
    assert!(Fruit::TYPE.check_tagged(&of(&[10, 1, 77])).is_ok());
    assert_eq!((Fruit::of(5), Fruit::of(77)), (Some(Fruit::Pear), None));
    assert_eq!((Fruit::Pear.name(), Fruit::Pear.number()), ("pear", 5));
    assert_eq!(Thing::read(of(&[0x97, 0])).unwrap().map(|it| it.0), None);
    assert!(SuperChargerInfo::read(of(&[0x97, 0])).is_err());
    let name = Thing::read(of(&[0x2c, 6, 4, 1, 0xc3, 4, 1, 0xa4])).unwrap().unwrap();
    assert_eq!(name.1.octets().unwrap(), "ä".as_bytes()[..]);
    assert!(Thing::read(of(&[0x0c, 1, 0xc3])).is_err(), "half a character");
    assert!(Thing::read(of(&[0x2c, 3, 4, 1, 0xc3])).is_err());
}

#[test]
fn an_outline_has_a_line_a_component_and_the_smallest_value_lacks_what_may_lack() {
    let text = RoutingInfoForSmArg::TYPE.outline(0);
    let has = |line: &str| text.lines().any(|it| it == line);
    assert!(has("  sm-RP-MTI             optional  INTEGER: a number, 0 to 10"), "{text}");
    let smallest = RoutingInfoForSmArg::TYPE.smallest();
    let mut octets = Vec::new();
    let read = RoutingInfoForSmArg::TYPE.from_json(&smallest, None, &mut Writer::new(&mut octets));
    assert!(read.is_ok() && !smallest.contains("sm-RP-MTI"), "{smallest}");
    assert_eq!(Imsi::TYPE.outline(0), "  hexadecimal digits of 3 to 8 octets\n");
}
