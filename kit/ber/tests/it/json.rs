//! Values as JSON, and back.

use crate::shop::*;
use ber::{Described, Element, ObjectIdentifier, SequenceOf, Type, Writer};

fn back(of: &Type, json: &str) -> Result<Vec<u8>, wire::Malformed> {
    let mut octets = Vec::new();
    of.from_json(json, None, &mut Writer::new(&mut octets))?;
    Ok(octets)
}

fn json(of: &Type, octets: &[u8]) -> String {
    let mut json = String::new();
    of.to_json(&Element::only(octets).unwrap(), &mut json).unwrap();
    json
}

#[test]
fn a_value_is_an_object_by_the_names_of_its_type() {
    let octets = [
        &[0x30, 27, 4, 3, 0x62, 2, 0x10, 0x81, 2, 0x91, 0x44, 4, 2, 0x91, 0x45][..],
        &[0xa6, 8, 0x80, 2, 4, 0xf0, 0xa3, 2, 0x80, 0, 0x8f, 2, 1, 2],
    ]
    .concat();
    let text = concat!(
        r#"{"imsi":"620210","msc-Number":"9144","vlr-Number":"9145","#,
        r#""vlr-Capability":{"supportedCamelPhases":{"value":"f0","length":4},"#,
        r#""superChargerSupportedInServingNetworkEntity":{"sendSubscriberData":null}},"#,
        r#""...":["8f020102"]}"#,
    );
    assert_eq!(json(UpdateLocationArg::TYPE, &octets), text);
    assert_eq!(back(UpdateLocationArg::TYPE, text).unwrap(), octets);
    let turned = r#" { "vlr-Number" : "9145", "imsi":"620210" ,"msc-Number":"9144"} "#;
    let turned = back(UpdateLocationArg::TYPE, turned).unwrap();
    assert_eq!(turned[2..7], [4, 3, 0x62, 2, 0x10]);
}

#[test]
fn every_component_is_visited_by_its_name_and_place_at_any_depth() {
    let octets = [
        &[0x30, 27, 4, 3, 0x62, 2, 0x10, 0x81, 2, 0x91, 0x44, 4, 2, 0x91, 0x45][..],
        &[0xa6, 8, 0x80, 2, 4, 0xf0, 0xa3, 2, 0x80, 0, 0x8f, 2, 1, 2],
    ]
    .concat();
    let mut names = Vec::new();
    let visited =
        UpdateLocationArg::TYPE.visit(&Element::only(&octets).unwrap(), &mut |field, it| {
            names.push((field.name, it.contents_at()));
            assert_eq!(octets[it.contents_at()..][..it.contents().len()], *it.contents());
        });
    visited.unwrap();
    let wanted = [
        ("imsi", 4),
        ("msc-Number", 9),
        ("vlr-Number", 13),
        ("vlr-Capability", 17),
        ("supportedCamelPhases", 19),
        ("superChargerSupportedInServingNetworkEntity", 25),
        ("sendSubscriberData", 25),
    ];
    assert_eq!(names, wanted);
    let cut = [0x30, 5, 4, 3, 0x62, 2, 0x10];
    let cut = Element::only(&cut).unwrap();
    assert!(UpdateLocationArg::TYPE.visit(&cut, &mut |_, _| ()).is_err());
}

#[test]
fn sets_numbers_without_a_name_and_strings_are_written_too() {
    let octets =
        [0x31, 16, 0xa0, 6, 0x81, 1, 5, 0x81, 1, 77, 0xa1, 6, 0x1a, 4, b'a', b'"', b'\\', b' '];
    let text = r#"{"things":[{"fruit":"pear"},{"fruit":77}],"label":"a\"\\ "}"#;
    assert_eq!(json(Basket::TYPE, &octets), text);
    assert_eq!(back(Basket::TYPE, text).unwrap(), octets);
    let escaped = r#"{"label":"a\u0022\u005c\u0020","things":[{"fruit":5},{"fruit":77}]}"#;
    assert_eq!(back(Basket::TYPE, escaped).unwrap(), octets);
    assert_eq!(json(Thing::TYPE, &[0x97, 1, 9]), r#"{"...":"970109"}"#);
    assert_eq!(back(Thing::TYPE, r#"{"...":"970109"}"#).unwrap(), [0x97, 1, 9]);
}

#[test]
fn what_is_no_value_of_the_type_is_refused_at_its_place() {
    let whole = r#"{"imsi":"620210","msc-Number":"9144","vlr-Number":"9145"} x"#;
    let table = [
        ("", 0, "an object lacks"),
        ("{", 1, "a string lacks"),
        (r#"{"imsi":"620210"}"#, 17, "a component lacks"),
        (r#"{"imsi":"620210","imsi":"620210"}"#, 17, "twice"),
        (r#"{"imsi":"6202"}"#, 8, "too short"),
        (r#"{"imsi":"62021"}"#, 8, "no pairs of hexadecimal digits"),
        (r#"{"imsi":62021}"#, 8, "a string lacks"),
        (r#"{"shoe":1}"#, 1, "no name of the type"),
        (r#"{"imsi":[[[}"#, 12, "a value is cut off"),
        (whole, 58, "something follows the value"),
        (r#"{"imsi":"62\q"}"#, 13, "an escape that there is not"),
    ];
    for (text, at, what) in table {
        let full = match what {
            "a component lacks" | "twice" | "something follows the value" => text.to_owned(),
            _ => text.replace('}', r#","msc-Number":"9144","vlr-Number":"9145"}"#),
        };
        let violation = back(UpdateLocationArg::TYPE, &full).unwrap_err();
        let is_cut = what == "a value is cut off";
        assert!(is_cut || (violation.at, violation.what) == (at, what), "{full}: {violation}");
    }
    let deep = format!(r#"{{"imsi":{}"#, "[".repeat(100_000));
    assert_eq!(back(UpdateLocationArg::TYPE, &deep).unwrap_err().what, "too deep");
}

#[test]
fn every_value_comes_back_the_same() {
    for of in [RoutingInfoForSmArg::TYPE, UpdateLocationArg::TYPE, Basket::TYPE, Thing::TYPE] {
        for seed in 1..500u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut random = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let mut octets = Vec::new();
            of.sample(None, &mut random, &mut Writer::new(&mut octets));
            let text = json(of, &octets);
            assert_eq!(back(of, &text).unwrap(), octets, "{text}");
        }
    }
}

#[test]
fn an_object_identifier_comes_back_whatever_its_arcs() {
    let uuid = {
        let mut octets = vec![6, 20, 0x69, 0x83];
        octets.extend([0xff; 17]);
        octets.push(0x7f);
        octets
    };
    let table: [(&[u8], &str); 5] = [
        (&[6, 1, 0], r#""0.0""#),
        (&[6, 2, 0x81, 0x34], r#""2.100""#),
        (&[6, 7, 4, 0, 0, 1, 0, 20, 3], r#""0.4.0.0.1.0.20.3""#),
        (&[6, 8, 0xfc, 0xe7, 0xff, 0xfe, 0xff, 0x14, 0x93, 0x2b], r#""2.4288524828484.2475""#),
        (&uuid, r#""2.25.340282366920938463463374607431768211455""#),
    ];
    for (octets, text) in table {
        assert_eq!(json(ObjectIdentifier::TYPE, octets), text);
        assert_eq!(back(ObjectIdentifier::TYPE, text).unwrap(), octets);
    }
    let beyond = "2.340282366920938463463374607431768211455";
    for bad in ["", "1", "1.40", "3.1", "1.2.", ".1.2", "1.+2", "1.02", "1.-2", "1.a", beyond] {
        assert!(back(ObjectIdentifier::TYPE, &format!("\"{bad}\"")).is_err(), "{bad}");
    }
    let many = format!("\"1.2{}\"", ".3".repeat(100_000));
    let octets = back(ObjectIdentifier::TYPE, &many).unwrap();
    assert_eq!(json(ObjectIdentifier::TYPE, &octets), many);
}

#[test]
fn a_list_is_read_no_further_than_its_type_goes() {
    let many = format!("[{}", r#"{"fruit":5},"#.repeat(100_000));
    let of = <SequenceOf<Thing, 1, 4>>::TYPE;
    let violation = back(of, &many).unwrap_err();
    assert_eq!((violation.at, violation.what), (1 + 4 * 12, "too many elements"));
}

#[test]
fn a_type_is_written_by_its_rows() {
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<UpdateLocationArg>(|out| {
        out.octets(UpdateLocationArg::Imsi, &[0x62, 2, 0x10]);
        out.octets(UpdateLocationArg::MscNumber, &[0x91, 0x44]);
        out.octets(UpdateLocationArg::VlrNumber, &[0x91, 0x45]);
        out.within::<VlrCapability>(UpdateLocationArg::VlrCapability, |out| {
            out.bits(VlrCapability::CamelPhases, &[0xf0], 4);
            out.null(VlrCapability::SolsaSupport);
            out.within::<SuperChargerInfo>(VlrCapability::SuperCharger, |out| {
                out.null(SuperChargerInfo::SendSubscriberData);
            });
        });
    });
    let expected = concat!(
        r#"{"imsi":"620210","msc-Number":"9144","vlr-Number":"9145","#,
        r#""vlr-Capability":{"supportedCamelPhases":{"value":"f0","length":4},"#,
        r#""solsaSupportIndicator":null,"#,
        r#""superChargerSupportedInServingNetworkEntity":{"sendSubscriberData":null}}}"#,
    );
    assert_eq!(json(UpdateLocationArg::TYPE, &octets), expected);

    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<Basket>(|out| {
        out.list(Basket::Things, |out| {
            out.record::<Thing>(|out| out.integer(Thing::Fruit, 5));
            out.record::<Thing>(|out| out.octets(Thing::Name, b"x"));
        });
        out.octets(Basket::Label, b"hi");
    });
    let expected = r#"{"things":[{"fruit":"pear"},{"name":"x"}],"label":"hi"}"#;
    assert_eq!(json(Basket::TYPE, &octets), expected);
    assert_eq!(octets[2], 0xa0);
}
