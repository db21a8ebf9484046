//! What rows must not get wrong: numbers, classes, contexts, and that values are read as they are
//! written.

use crate::values::{back, json, types, value};
use ber::Element;
use cap::{Context, Error, Operation};
use tcap::OperationClass;

#[test]
fn every_value_is_of_its_type_and_comes_back_from_json() {
    let types = types();
    assert!(types.len() > 230, "{}", types.len());
    for of in types {
        for seed in 1..20 {
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
            let expected = match it.class {
                OperationClass::One => !it.errors.is_empty(),
                OperationClass::Two => !it.errors.is_empty() && it.result.is_none(),
                OperationClass::Three => it.errors.is_empty(),
                OperationClass::Four => it.errors.is_empty() && it.result.is_none(),
            };
            assert!(expected, "{}", operation.name());
        }
    }
}

#[test]
fn numbers_and_names_are_each_given_once() {
    assert_eq!((Operation::ALL.len(), Error::ALL.len()), (54, 17));
    for operation in Operation::ALL {
        assert_eq!(Operation::of(operation.code()), Some(*operation));
        assert_eq!(Operation::named(operation.name()), Some(*operation));
    }
    for error in Error::ALL {
        assert_eq!(Error::of(error.code()), Some(*error));
        assert_eq!(Error::named(error.name()), Some(*error));
    }
}

#[test]
fn a_context_has_the_operations_of_its_phase_and_each_operation_a_context() {
    let mut used = Vec::new();
    for context in Context::ALL {
        for phase in context.phases() {
            assert_eq!(Context::of_oid(&phase.oid), Some((*context, phase.phase)));
            for operation in phase.initiator.iter().chain(phase.responder) {
                let signature = operation.signature(phase.phase);
                assert!(signature.is_some(), "{} in {context:?} {}", operation.name(), phase.phase);
                used.push((*operation, phase.phase));
            }
        }
    }
    for operation in Operation::ALL {
        for it in operation.signatures() {
            for phase in it.versions.0..=it.versions.1 {
                assert!(used.contains(&(*operation, phase)), "{} {phase}", operation.name());
            }
        }
    }
    assert_eq!(Context::of_oid(&[4, 0, 0, 1, 23, 3, 5]), None);
}

#[test]
fn charging_in_an_octet_string_is_read_by_its_own_type() {
    use cap::types::{
        ApplyChargingArg as Arg, CamelAChBillingChargingCharacteristics as Charging,
        TimeDurationCharging as Time,
    };
    let mut inner = Vec::new();
    ber::Writer::new(&mut inner).record::<Charging>(|out| {
        out.within::<Time>(Charging::TimeDurationCharging, |out| {
            out.integer(Time::MaxCallPeriodDuration, 600);
            out.boolean(Time::ReleaseIfdurationExceeded, true);
        });
    });
    assert_eq!(inner, [0xa0, 7, 0x80, 2, 2, 0x58, 0x81, 1, 0xff]);
    let mut octets = Vec::new();
    ber::Writer::new(&mut octets).record::<Arg>(|out| {
        out.octets(Arg::AChBillingChargingCharacteristics, &inner);
    });
    let arg = Arg::read(Element::only(&octets).unwrap()).unwrap();
    let inner = arg.octets(Arg::AChBillingChargingCharacteristics).unwrap().whole().unwrap();
    let (_, time) = Charging::read(Element::only(inner).unwrap()).unwrap().unwrap();
    assert_eq!(Time::read(time).unwrap().integer(Time::MaxCallPeriodDuration), Some(600));
}
