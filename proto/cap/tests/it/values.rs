//! Every type, and values of them by seed.

use ber::{Described, Element, Shape, Type, Writer};
use cap::types::{
    CamelAChBillingChargingCharacteristics, CamelCallResult,
    CamelFciBillingChargingCharacteristics, CamelFciGprsBillingChargingCharacteristics,
    CamelFciSmsBillingChargingCharacteristics, CamelSciBillingChargingCharacteristics,
    CamelSciGprsBillingChargingCharacteristics, CapGprsReferenceNumber, CapUAbortReason,
};
use cap::{Error, Operation};
use std::collections::BTreeMap;

/// Numbers from a seed.
pub fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// A value of a type.
pub fn value(of: &Type, seed: u64) -> Vec<u8> {
    let mut octets = Vec::new();
    of.sample(None, &mut numbers(seed), &mut Writer::new(&mut octets));
    octets
}

pub fn json(of: &Type, octets: &[u8]) -> String {
    let mut text = String::new();
    let element = Element::only(octets).unwrap_or_else(|it| panic!("{}: {it}", of.name));
    of.to_json(&element, &mut text).unwrap_or_else(|it| panic!("{}: {it}", of.name));
    text
}

pub fn back(of: &Type, text: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    let read = of.from_json(text, None, &mut Writer::new(&mut octets));
    read.unwrap_or_else(|it| panic!("{}: {it} of {text}", of.name));
    octets
}

fn add(of: &'static Type, types: &mut BTreeMap<(&'static str, &'static str), &'static Type>) {
    if of.spec != "X.680" && types.insert((of.spec, of.name), of).is_some() {
        return;
    }
    match of.shape {
        Shape::Sequence { fields, .. }
        | Shape::Set { fields, .. }
        | Shape::Choice { fields, .. } => {
            fields.iter().for_each(|it| add(it.kind, types));
        }
        Shape::List(_, inner, _) => add(inner, types),
        _ => {}
    }
}

/// Every type that an operation, an error, a charging octet string or a dialogue reaches.
pub fn types() -> Vec<&'static Type> {
    let mut types = BTreeMap::new();
    for operation in Operation::ALL {
        for it in operation.signatures() {
            let both = it.argument.iter().chain(&it.result);
            both.for_each(|parameter| add(parameter.kind, &mut types));
        }
    }
    let errors = Error::ALL.iter().flat_map(|it| it.parameters());
    errors.filter_map(|it| it.1).for_each(|it| add(it.kind, &mut types));
    let others = [
        CamelAChBillingChargingCharacteristics::TYPE,
        CamelCallResult::TYPE,
        CamelFciBillingChargingCharacteristics::TYPE,
        CamelFciGprsBillingChargingCharacteristics::TYPE,
        CamelFciSmsBillingChargingCharacteristics::TYPE,
        CamelSciBillingChargingCharacteristics::TYPE,
        CamelSciGprsBillingChargingCharacteristics::TYPE,
        CapGprsReferenceNumber::TYPE,
        CapUAbortReason::TYPE,
    ];
    others.into_iter().for_each(|it| add(it, &mut types));
    types.into_values().collect()
}
