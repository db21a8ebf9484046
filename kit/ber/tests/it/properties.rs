//! What holds of every type and of any octets.

use crate::other_forms::rewritten;
use crate::shop::*;
use ber::{Described, Element, Reader, Type, Writer};
use proptest::prelude::*;

const TYPES: [&Type; 5] = [
    RoutingInfoForSmArg::TYPE,
    RoutingInfoForSmRes::TYPE,
    UpdateLocationArg::TYPE,
    Basket::TYPE,
    ExtensionContainer::TYPE,
];

fn random(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

fn sample(of: &Type, seed: u64) -> Vec<u8> {
    let mut octets = Vec::new();
    of.sample(None, &mut random(seed), &mut Writer::new(&mut octets));
    octets
}

/// Reads everything in an element that can be read, all the way down.
fn touch(element: &Element<'_>) {
    let _ = (element.integer(), element.boolean(), element.null());
    if let Ok(octets) = element.octets() {
        assert_eq!(octets.iter().count(), octets.len());
        assert!(octets.len() <= element.contents().len());
    }
    if let Ok(bits) = element.bits() {
        assert!(format!("{bits:?}").len() == bits.len());
    }
    let _ = element.oid().map(|oid| oid.to_string());
    for child in element.children().into_iter().flatten().flatten() {
        touch(&child);
    }
}

proptest! {
    #[test]
    fn a_value_of_a_type_passes_its_check_and_is_written_again_as_it_was(seed: u64) {
        for of in TYPES {
            let octets = sample(of, seed);
            let element = Element::only(&octets).unwrap();
            let checked = of.check_tagged(&element);
            prop_assert!(checked.is_ok(), "{}: {checked:?} {octets:02x?}", of.name);
            let mut again = Vec::new();
            copy(&element, &mut Writer::new(&mut again));
            prop_assert_eq!(&again, &octets);
        }
    }

    #[test]
    fn a_value_in_another_form_is_the_same_value(seed: u64) {
        let octets = sample(RoutingInfoForSmRes::TYPE, seed);
        let is_octets = |it: &Element<'_>| it.tag() == ber::Tag::OCTET_STRING;
        let again = rewritten(&Element::only(&octets).unwrap(), &is_octets);
        let one = RoutingInfoForSmRes::read(Element::only(&octets).unwrap()).unwrap();
        let other = RoutingInfoForSmRes::read(Element::only(&again).unwrap()).unwrap();
        let imsi = |it: &ber::Record<'_, _, { RoutingInfoForSmRes::COUNT }>| {
            format!("{:?}", it.octets(RoutingInfoForSmRes::Imsi))
        };
        prop_assert_eq!(imsi(&one), imsi(&other));
    }

    #[test]
    fn a_value_that_is_cut_or_changed_breaks_nothing(
        seed: u64, cut: prop::sample::Index, at: prop::sample::Index, to: u8,
    ) {
        for of in TYPES {
            let mut octets = sample(of, seed);
            let cut = cut.index(octets.len());
            prop_assert!(Element::only(&octets[..cut]).is_err());
            let at = at.index(octets.len());
            octets[at] = to;
            if let Ok(element) = Element::only(&octets) {
                touch(&element);
                if let Err(violation) = of.check_tagged(&element) {
                    prop_assert!(violation.at <= octets.len());
                }
            }
        }
    }

    #[test]
    fn any_octets_break_nothing(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        for element in Reader::new(&octets) {
            match element {
                Ok(element) => touch(&element),
                Err(violation) => prop_assert!(violation.at <= octets.len()),
            }
        }
    }
}

/// Copies an element by its parts.
fn copy(element: &Element<'_>, out: &mut Writer<'_>) {
    if !element.is_constructed() {
        return out.primitive(element.tag(), element.contents());
    }
    out.constructed(element.tag(), |out| {
        element.children().unwrap().for_each(|child| copy(&child.unwrap(), out));
    });
}
