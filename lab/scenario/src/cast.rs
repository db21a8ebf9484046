//! What templates became, with holes where their values stand: the octets of a component and the
//! digits of an address are made once, and values that are as long as those of before are put in
//! their places.
//!
//! ```text
//!   template, values ─ read as JSON ─→ 30 0a 80 07 [91 44 77 00 09 10 32] …    learned
//!                    └ of the same length ─────────↑ put in                    filled
//! ```
//! A place is known by what other values change in the octets: those, and nothing else. It lies in
//! an OCTET STRING, whose octets may be any. Whatever is not so is read as JSON each time.

use crate::message;
use crate::template::Template;
use bytes::Bytes;
use sccp::codec::{Address, Digits, Title};
use std::collections::HashMap;
use tcu::{Component, Speech};

/// Casts of one template, at most: one for each length of its values.
const CASTS_MAX: usize = 8;

/// Casts by the numbers of their templates.
#[derive(Debug, Default)]
pub(crate) struct Casts {
    components: HashMap<usize, Vec<ComponentCast>>,
    addresses: HashMap<usize, Option<Address>>,
}

/// A component with holes.
#[derive(Debug)]
struct ComponentCast {
    speech: Option<Speech>,
    /// Characters of each value: two an octet.
    lengths: Vec<usize>,
    /// None: of values so long no cast can be made.
    is: Option<(Component, Vec<usize>)>,
}

impl ComponentCast {
    fn is_for(&self, speech: Option<Speech>, values: &[String]) -> bool {
        self.speech == speech && self.lengths.iter().copied().eq(values.iter().map(String::len))
    }
}

impl Casts {
    /// The component that these values make; none: it has to be read.
    pub(crate) fn component(
        &self,
        number: usize,
        speech: Option<Speech>,
        values: &[String],
    ) -> Option<Component> {
        let mut all = self.components.get(&number)?.iter();
        let (component, places) = all.find(|it| it.is_for(speech, values))?.is.as_ref()?;
        let mut component = component.clone();
        let parameter = parameter_mut(&mut component)?;
        let mut octets = parameter.to_vec();
        for (at, value) in places.iter().zip(values) {
            put(octets.get_mut(*at..*at + value.len() / 2)?, value)?;
        }
        *parameter = Bytes::from(octets);
        Some(component)
    }

    /// Learns from a component that was read with these values.
    pub(crate) fn learn_component(
        &mut self,
        number: usize,
        speech: Option<Speech>,
        template: &Template,
        values: &[String],
        component: &Component,
    ) {
        let all = self.components.entry(number).or_default();
        if all.len() == CASTS_MAX || all.iter().any(|it| it.is_for(speech, values)) {
            return;
        }
        let spoken = speech.unwrap_or_else(|| Speech::of(None, core::slice::from_ref(component)));
        let places = (0..values.len()).map(|hole| {
            let mut others = values.to_vec();
            *others.get_mut(hole)? = other(values.get(hole)?)?;
            let changed = message::component(&template.filled(&others), speech).ok()?;
            place(component, &changed, [values.get(hole)?, others.get(hole)?], spoken)
        });
        let is = places.collect::<Option<Vec<_>>>().map(|places| (component.clone(), places));
        all.push(ComponentCast { speech, lengths: values.iter().map(String::len).collect(), is });
    }

    /// The address that a value makes; none: it has to be read.
    pub(crate) fn address(&self, number: usize, values: &[String]) -> Option<Address> {
        let address = self.addresses.get(&number)?.as_ref()?;
        of_digits(address, values)
    }

    /// Learns from an address that was read with these values.
    pub(crate) fn learn_address(
        &mut self,
        number: usize,
        template: &Template,
        values: &[String],
        address: &Address,
    ) {
        if self.addresses.contains_key(&number) {
            return;
        }
        let longer = || -> Option<Vec<String>> { Some(vec![format!("{}7", values.first()?)]) };
        let same = || -> Option<Vec<String>> { Some(vec![other(values.first()?)?]) };
        let holds = |values: Option<Vec<String>>| {
            let values = values?;
            let is = message::address(&template.filled(&values)).ok()?;
            (of_digits(address, &values)? == is).then_some(())
        };
        let is = holds(Some(values.to_vec())).and(holds(same())).and(holds(longer()));
        self.addresses.insert(number, is.map(|()| *address));
    }
}

/// The same address with the digits of an E.164 title that are the only value.
fn of_digits(address: &Address, values: &[String]) -> Option<Address> {
    let [value] = values else { return None };
    let digits = Digits::parse(value).filter(|it| !it.is_empty())?;
    address.title.filter(|it| *it == Title::e164(it.digits))?;
    Some(Address { title: Some(Title::e164(digits)), ..*address })
}

fn parameter_mut(component: &mut Component) -> Option<&mut Bytes> {
    match component {
        Component::Invoke { parameter, .. }
        | Component::Error { parameter, .. }
        | Component::Result { result: Some((_, parameter)), .. } => parameter.as_mut(),
        Component::Result { result: None, .. } | Component::Reject { .. } => None,
    }
}

/// A digit in the lower case, in which values of filters are.
const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Puts hexadecimal digits where they belong, as octets.
fn put(place: &mut [u8], digits: &str) -> Option<()> {
    if place.len() * 2 != digits.len() {
        return None;
    }
    for (octet, pair) in place.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *octet = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(())
}

/// As many hexadecimal digits, each another one, and decimal where it was.
fn other(value: &str) -> Option<String> {
    let turned = |digit: u8| char::from_digit(u32::from(nibble(digit)? ^ 1), 16);
    value.bytes().map(turned).collect::<Option<String>>().filter(|it| !it.is_empty())
}

/// Where the octets of a value stand in a parameter: the only ones that another value changes, in
/// a string that takes any.
fn place(
    component: &Component,
    changed: &Component,
    [value, other]: [&String; 2],
    speech: Speech,
) -> Option<usize> {
    let (mut same, mut changed) = (component.clone(), changed.clone());
    let (octets, others) = (parameter_mut(&mut same)?.clone(), parameter_mut(&mut changed)?);
    let at = octets.iter().zip(others.iter()).position(|(one, two)| one != two)?;
    let mut filled = octets.to_vec();
    put(filled.get_mut(at..at + other.len() / 2)?, other)?;
    if filled != others[..] {
        return None;
    }
    put(filled.get_mut(at..at + value.len() / 2)?, value)?;
    if filled != octets[..] {
        return None;
    }
    // What stands beside the parameter is the same.
    *others = octets;
    if same != changed {
        return None;
    }
    let place = at..at + value.len() / 2;
    let (_, (kind, element)) = tcu::parameter_of(component, speech)?;
    let holds = |kind: &ber::Type, it: &ber::Element<'_>| {
        let contents = it.contents_at()..it.contents_at() + it.contents().len();
        matches!(kind.shape, ber::Shape::Octets(_))
            && !it.is_constructed()
            && contents.start <= place.start
            && place.end <= contents.end
    };
    let mut is_within = holds(kind, &element);
    kind.visit(&element, &mut |field, it| is_within |= holds(field.kind, it)).ok()?;
    is_within.then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Name, Scope};
    use serde_json::{Value, json};

    /// One value by one name.
    struct Play(Value);

    impl Scope for Play {
        fn value(&self, _: &Name) -> Option<Value> {
            Some(self.0.clone())
        }
    }

    fn template(json: &Value) -> Template {
        Template::new(json, &|name| (name == "it").then_some(Name::Captured(0))).unwrap()
    }

    /// What a template becomes by its cast and by being read, with these values one after the
    /// other; how many of them were cast.
    fn cast(json: &Value, values: &[&str]) -> usize {
        let context = message::context("shortMsgGatewayContext-v3").unwrap();
        let speech = Some(Speech::of_context(&context));
        let (template, mut casts, mut count) = (template(json), Casts::default(), 0);
        for value in values {
            let values = template.values(&Play(json!(value))).unwrap().unwrap();
            let read = message::component(&template.filled(&values), speech);
            let cast = casts.component(1, speech, &values);
            count += usize::from(cast.is_some());
            assert!(cast.is_none() || cast.as_ref() == read.as_ref().ok(), "{value}: {cast:?}");
            if let Ok(component) = read {
                casts.learn_component(1, speech, &template, &values, &component);
            }
        }
        count
    }

    fn asking(msisdn: &str, centre: &str) -> Value {
        json!({ "invoke": 1, "operation": "sendRoutingInfoForSM", "argument": {
            "msisdn": msisdn, "sm-RP-PRI": true, "serviceCentreAddress": centre,
        } })
    }

    #[test]
    fn octets_are_put_in_where_values_stand_and_as_when_they_are_read() {
        let numbers = ["447700900123", "447700900124", "44770090012", "44770090013", "1", "2"];
        assert_eq!(cast(&asking("{it|isdn}", "9144"), &numbers), 4, "one of each length is read");
        assert_eq!(cast(&asking("{it|isdn}", "{it|isdn}"), &numbers), 4, "two places");
        assert_eq!(cast(&asking("9144{it|tbcd}", "9144"), &numbers), 4, "behind others");
    }

    #[test]
    fn what_is_no_string_of_octets_is_read_each_time() {
        assert_eq!(cast(&asking("{it}", "914"), &["91440", "91441"]), 0, "half an octet");
        assert_eq!(cast(&asking("{it}", "9144"), &["9144", "914z", "91"]), 0);
        let raw = json!({ "invoke": 1, "operation": "sendRoutingInfoForSM", "raw": "040291{it}" });
        assert_eq!(cast(&raw, &["44", "45"]), 0, "whatever element it is");
        let named = json!({ "invoke": 1, "operation": "{it}" });
        assert_eq!(cast(&named, &["sendRoutingInfoForSM", "sendRoutingInfoForSM"]), 0);
    }

    #[test]
    fn an_address_takes_the_digits_of_its_title() {
        let cases = [
            (json!({ "ssn": 6, "gt": "{it}" }), 3),
            (json!({ "ssn": 6, "gt": "44{it}" }), 0),
            (json!({ "ssn": 6, "gt": { "digits": "{it}", "np": 7 } }), 0),
        ];
        for (json, expected) in cases {
            let (template, mut casts, mut count) = (template(&json), Casts::default(), 0);
            for value in ["447700", "4477001", "x", "", "447702"] {
                let values = template.values(&Play(json!(value))).unwrap().unwrap();
                let read = message::address(&template.filled(&values));
                let cast = casts.address(1, &values);
                count += usize::from(cast.is_some());
                assert!(cast.is_none() || cast == read.as_ref().ok().copied(), "{json} {value}");
                if let Ok(address) = read {
                    casts.learn_address(1, &template, &values, &address);
                }
            }
            assert_eq!(count, expected - usize::from(expected > 0), "{json}");
        }
    }
}
