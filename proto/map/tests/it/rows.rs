//! What rows must not get wrong: numbers, classes, and that values are read as they are written.

use crate::values::{back, json, types, value};
use ber::Element;
use map::{Context, Error, Operation};
use proptest::prelude::*;
use tcap::OperationClass;

#[test]
fn every_value_is_of_its_type_and_comes_back_from_json() {
    let types = types();
    assert!(types.len() > 800, "{}", types.len());
    for of in types {
        for seed in 1..12 {
            let octets = value(of, seed);
            let element = Element::only(&octets).unwrap();
            assert!(of.begins_with(element.tag()), "{}", of.name);
            of.check(&element).unwrap_or_else(|it| panic!("{}: {it}", of.name));
            assert_eq!(back(of, &json(of, &octets)), octets, "{}", of.name);
        }
    }
}

#[test]
fn the_class_follows_from_result_and_errors() {
    for operation in Operation::ALL {
        for it in operation.signatures() {
            let may_fail = !it.errors.is_empty();
            let expected = match it.class {
                OperationClass::One => may_fail,
                OperationClass::Two => may_fail && it.result.is_none(),
                OperationClass::Three => !may_fail,
                OperationClass::Four => !may_fail && it.result.is_none(),
            };
            assert!(expected, "{} {:?}", operation.name(), it.versions);
        }
    }
}

#[test]
fn numbers_and_names_are_each_given_once() {
    for operation in Operation::ALL {
        assert_eq!(Operation::of(operation.code()), Some(*operation));
        assert_eq!(Operation::named(operation.name()), Some(*operation));
        let covered: Vec<_> = operation.signatures().iter().map(|it| it.versions).collect();
        let mut apart = covered.windows(2);
        assert!(apart.all(|it| it[1].1 < it[0].0), "{}", operation.name());
    }
    for error in Error::ALL {
        assert_eq!(Error::of(error.code()), Some(*error));
        assert_eq!(Error::named(error.name()), Some(*error));
    }
}

#[test]
fn a_context_has_the_operations_of_its_version_and_each_operation_a_context() {
    let mut used = Vec::new();
    for context in Context::ALL {
        assert_eq!(Context::of(context.number()), Some(*context));
        for version in context.versions() {
            let oid = context.oid(version.version);
            assert_eq!(Context::of_oid(&oid), Some((*context, version.version)));
            for operation in version.initiator.iter().chain(version.responder) {
                let signature = operation.signature(version.version);
                assert!(signature.is_some(), "{} in {:?}", operation.name(), context);
                used.push((*operation, version.version));
            }
        }
    }
    for operation in Operation::ALL {
        for it in operation.signatures() {
            let mut versions = it.versions.0..=it.versions.1;
            let has = versions.any(|version| used.contains(&(*operation, version)));
            assert!(has, "{} {:?} has no context", operation.name(), it.versions);
        }
    }
    assert_eq!(Context::of_oid(&[4, 0, 0, 1, 0, 20]), None);
    assert_eq!(Context::of_oid(&[4, 0, 0, 1, 0, 12, 3]), None);
}

#[test]
fn errors_of_an_operation_say_something_in_its_versions() {
    for operation in Operation::ALL {
        for it in operation.signatures() {
            for error in it.errors {
                let has = |version| {
                    error.parameters().iter().any(|row| row.0.0 <= version && version <= row.0.1)
                };
                let versions = it.versions.0..=it.versions.1;
                assert!(versions.clone().all(has), "{} of {}", error.name(), operation.name());
            }
        }
    }
}

#[test]
fn an_extension_is_passed_over_and_kept_and_what_is_wrong_refused_with_its_section() {
    use map::types::RoutingInfoForSmArg as Arg;
    let known = [0x80, 2, 0x91, 0x44, 0x81, 1, 0, 0x82, 2, 0x91, 0x45];
    let octets = [&[0x30, 15][..], &known, &[0x9f, 0x70, 1, 9]].concat();
    let arg = Arg::read(Element::only(&octets).unwrap()).unwrap();
    assert_eq!(arg.unknown().map(|it| it.whole()).collect::<Vec<_>>(), [&[0x9f, 0x70, 1, 9][..]]);
    let of = <Arg as ber::Described>::TYPE;
    assert_eq!(back(of, &json(of, &octets)), octets);
    let bad = [&[0x30, 13][..], &known, &[0x87, 0, 0x87, 0][..2]].concat();
    assert!(Arg::read(Element::only(&bad).unwrap()).is_ok());
    let bad = [&[0x30, 14][..], &known, &[0x87, 1, 0]].concat();
    let violation = Arg::read(Element::only(&bad).unwrap()).unwrap_err();
    assert_eq!((violation.at, violation.what), (13, "a NULL has no contents"));
}

proptest! {
    #[test]
    fn a_value_that_is_cut_or_changed_breaks_nothing(seed: u64, at: usize, octet: u8, cut: bool) {
        let types = types();
        let of = types[usize::try_from(seed % types.len() as u64).unwrap()];
        let mut octets = value(of, seed);
        let at = at % octets.len();
        if cut { octets.truncate(at) } else { octets[at] = octet }
        if let Ok(element) = Element::only(&octets)
            && of.check_tagged(&element).is_ok()
        {
            let mut text = String::new();
            of.to_json(&element, &mut text).unwrap();
            let again = back(of, &text);
            of.check(&Element::only(&again).unwrap()).unwrap();
        }
    }
}
