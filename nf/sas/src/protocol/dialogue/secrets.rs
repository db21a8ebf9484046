//! What is secret in a message of MAP or CAP: keys of authentication and ciphering, passwords, what
//! people write to each other. Its octets become zeros, so that what is kept is still a message.
//! Of what cannot be read nobody knows where the secret is: all of it becomes zeros.

use super::unit::{Unit, unread};
use super::words::context_of;
use crate::config::Keep;
use ber::{Described as _, Element, Field, Shape, Tag, Type};
use core::ops::Range;
use map::types::MapDialoguePdu;
use std::collections::HashMap;
use std::sync::LazyLock;
use tcap::codec::{Code, Component, Message, Payload};
use tcap::operation::{Parameter, check};
use tcu::Speech;

/// Types by their names in ASN.1: every value of them is secret.
const TYPES: &[(&str, Keep)] = &[
    ("Kc", Keep::Keys),
    ("SRES", Keep::Keys),
    ("XRES", Keep::Keys),
    ("CK", Keep::Keys),
    ("IK", Keep::Keys),
    ("KASME", Keep::Keys),
    ("VSTK", Keep::Keys),
    ("Password", Keep::Keys),
    ("LCSCodewordString", Keep::Keys),
    // CK and IK stand in them (TS 25.413 §9.2.1.11, §9.2.1.12).
    ("IntegrityProtectionInformation", Keep::Keys),
    ("EncryptionInformation", Keep::Keys),
    // What radio networks say to each other, the keys of a handover too.
    ("LongSignalInfo", Keep::Keys),
    ("USSD-String", Keep::Bodies),
    ("SS-UserData", Keep::Bodies),
];

/// Components that are secret although others of their type are not: what a called one was asked
/// to dial may be a PIN.
const COMPONENTS: &[(&str, Keep)] = &[("digitsResponse", Keep::Keys)];

/// The type of what a network access says: of a short message, of a call, or of radio networks.
const SIGNAL: &str = "SignalInfo";
/// The component of that type in its envelope, which says which protocol it is of.
const ENVELOPED: &str = "signalInfo";
const ENVELOPE: &str = "ExternalSignalInfo";
/// Envelopes with what is said of a call. All others are of radio networks.
const OF_CALLS: &[&str] =
    &["networkSignalInfo", "networkSignalInfo2", "gsm-BearerCapability", "callInfo"];

/// The dialogue and the component portion of TCAP (Q.773 §3.1).
const DIALOGUE_PORTION: Tag = Tag::application(11);
const COMPONENT_PORTION: Tag = Tag::application(12);
/// Within the former: single-ASN1-type of the EXTERNAL, the dialogue PDUs, and their parts before
/// the last, which is for users (Q.773 §4.2).
const SINGLE: Tag = Tag::context(0);
const DIALOGUE_PDUS: [Tag; 3] = [Tag::application(0), Tag::application(1), Tag::application(4)];
const DIALOGUE_PARTS: [Tag; 4] =
    [Tag::context(0), Tag::context(1), Tag::context(2), Tag::context(3)];
const USER_INFORMATION: Tag = Tag::context(30);
/// Versions of MAP, and phases of CAP.
const VERSIONS: core::ops::RangeInclusive<u8> = 1..=4;
/// Types within each other, at most, until one is found.
const DEPTH_MAX: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Protocol {
    Map,
    Cap,
}

/// What a parameter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Argument,
    Result,
    Error,
}

/// One of the types that a parameter may have.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    protocol: Protocol,
    parameter: Parameter,
    has_secret: bool,
}

/// Whatever may be said at each place, by the number of its operation or error.
static CANDIDATES: LazyLock<HashMap<(Place, i64), Vec<Candidate>>> = LazyLock::new(candidates);

fn candidates() -> HashMap<(Place, i64), Vec<Candidate>> {
    let mut all: HashMap<_, Vec<Candidate>> = HashMap::new();
    let mut add = |protocol, place, code: i64, parameter: Option<Parameter>| {
        // What has no parameter is known as well.
        let known = all.entry((place, code)).or_default();
        let Some(parameter) = parameter else { return };
        let has_secret = has_secret(parameter.kind);
        known.push(Candidate { protocol, parameter, has_secret });
    };
    for version in VERSIONS {
        for it in map::Operation::ALL {
            let Some(signature) = it.signature(version) else { continue };
            add(Protocol::Map, Place::Argument, it.code(), signature.argument);
            add(Protocol::Map, Place::Result, it.code(), signature.result);
        }
        for it in cap::Operation::ALL {
            let Some(signature) = it.signature(version) else { continue };
            add(Protocol::Cap, Place::Argument, it.code(), signature.argument);
            add(Protocol::Cap, Place::Result, it.code(), signature.result);
        }
        for it in map::Error::ALL {
            add(Protocol::Map, Place::Error, it.code(), it.parameter(version));
        }
        for it in cap::Error::ALL {
            add(Protocol::Cap, Place::Error, it.code(), it.parameter(version));
        }
    }
    all
}

/// Whether a value of that type is secret, or holds one that is.
fn has_secret(kind: &Type) -> bool {
    fn within(kind: &Type, depth: usize) -> bool {
        if of_type(kind).is_some() || kind.name == ENVELOPE || depth == 0 {
            return true;
        }
        match kind.shape {
            Shape::Sequence { fields, .. }
            | Shape::Set { fields, .. }
            | Shape::Choice { fields, .. } => fields.iter().any(|field| {
                !OF_CALLS.contains(&field.name)
                    && (of_field(field, false).is_some() || within(field.kind, depth - 1))
            }),
            Shape::List(_, of, _) => within(of, depth - 1),
            _ => false,
        }
    }
    within(kind, DEPTH_MAX)
}

/// Whether a type says what all octets of its values are: they have no components that it does not
/// know.
fn is_plain(kind: &Type) -> bool {
    match kind.shape {
        Shape::Sequence { .. } | Shape::Set { .. } | Shape::Choice { .. } | Shape::Any => false,
        Shape::List(_, of, _) => is_plain(of),
        _ => true,
    }
}

/// What every value of that type is; of a list what its elements are.
fn of_type(kind: &Type) -> Option<Keep> {
    let row = TYPES.iter().find(|(name, _)| *name == kind.name);
    match kind.shape {
        _ if row.is_some() => row.map(|(_, what)| *what),
        Shape::List(_, of, _) => of_type(of),
        _ => None,
    }
}

fn of_field(field: &Field, is_of_radio: bool) -> Option<Keep> {
    if field.kind.name == SIGNAL {
        return match field.name {
            ENVELOPED => is_of_radio.then_some(Keep::Keys),
            _ => Some(Keep::Bodies),
        };
    }
    let row = COMPONENTS.iter().find(|(name, _)| *name == field.name);
    row.map(|(_, what)| *what).or_else(|| of_type(field.kind))
}

/// The payload without what is secret; `None`: it stays as it is.
pub(super) fn redacted(payload: &[u8], unit: Option<&Unit<'_>>, keep: &[Keep]) -> Option<Vec<u8>> {
    if keep.contains(&Keep::Keys) && keep.contains(&Keep::Bodies) {
        return None;
    }
    let spots = match unit {
        Some(unit) => {
            let within = of_unit(unit, keep);
            let at = unit.data_at;
            within.into_iter().map(|it| at + it.start..at + it.end).collect()
        }
        None => unread(payload),
    };
    if spots.iter().all(Range::is_empty) {
        return None;
    }
    let mut out = payload.to_vec();
    for spot in spots {
        let end = spot.end.min(out.len());
        let start = spot.start.min(end);
        out[start..end].fill(0);
    }
    Some(out)
}

/// Where it is in the data of SCCP.
fn of_unit(unit: &Unit<'_>, keep: &[Keep]) -> Vec<Range<usize>> {
    let shown = unit.head.map_or(0, |head| head.length);
    let behind_the_head = shown..unit.sccp.data.len();
    // A secret may lie across two segments; of what is not well-formed anywhere.
    let Some(message) = unit.message() else { return vec![behind_the_head] };
    let mut spots = Spots { keep, protocol: protocol_of(&message), found: Vec::new() };
    let Ok(outer) = Element::only(unit.sccp.data) else { return vec![behind_the_head] };
    let Ok(parts) = outer.children() else { return vec![behind_the_head] };
    for part in parts {
        let Ok(part) = part else { return vec![behind_the_head] };
        let understood = match part.tag() {
            COMPONENT_PORTION => spots.of_components(&part),
            DIALOGUE_PORTION => spots.of_dialogue(&part),
            _ => Some(()),
        };
        if understood.is_none() {
            spots.found.push(contents(&part));
        }
    }
    spots.found
}

/// What is spoken for certain: subsystems are what a sender likes.
fn protocol_of(message: &Message<'_>) -> Option<Protocol> {
    match context_of(message) {
        Speech::Map(..) => Some(Protocol::Map),
        Speech::Cap(..) => Some(Protocol::Cap),
        Speech::Unknown => None,
    }
}

fn contents(element: &Element<'_>) -> Range<usize> {
    let at = element.contents_at();
    at..at + element.contents().len()
}

/// Places in a message that become zeros.
struct Spots<'k> {
    keep: &'k [Keep],
    /// `None`: it may be either.
    protocol: Option<Protocol>,
    found: Vec<Range<usize>>,
}

impl Spots<'_> {
    /// `None` where the elements of a portion cannot be told apart.
    fn of_components(&mut self, portion: &Element<'_>) -> Option<()> {
        for element in portion.children().ok()? {
            let element = element.ok()?;
            match Component::read(&element) {
                Ok(component) => self.of_component(&component),
                Err(_) => self.found.push(contents(&element)),
            }
        }
        Some(())
    }

    /// The same of the dialogue portion.
    fn of_dialogue(&mut self, portion: &Element<'_>) -> Option<()> {
        for it in portion.inner().ok()?.children().ok()? {
            let it = it.ok()?;
            match it.tag() {
                SINGLE => self.of_dialogue_pdu(&it.inner().ok()?)?,
                Tag::OBJECT_IDENTIFIER => {}
                _ => self.whole(&it),
            }
        }
        Some(())
    }

    fn of_dialogue_pdu(&mut self, pdu: &Element<'_>) -> Option<()> {
        if !DIALOGUE_PDUS.contains(&pdu.tag()) {
            return None;
        }
        for part in pdu.children().ok()? {
            let part = part.ok()?;
            match part.tag() {
                USER_INFORMATION => {
                    let all = part.children().and_then(Iterator::collect::<Result<Vec<_>, _>>);
                    all.ok()?.iter().for_each(|it| self.of_user_information(it));
                }
                tag if DIALOGUE_PARTS.contains(&tag) => {}
                _ => self.whole(&part),
            }
        }
        Some(())
    }

    /// What users say to each other beside components: who asks whom, in MAP (TS 29.002 §17.4).
    /// Anything else is not understood.
    fn of_user_information(&mut self, external: &Element<'_>) {
        let Ok(Some((_, pdu))) = map::dialogue::read(*external) else {
            return self.whole(external);
        };
        let mut told = HashMap::new();
        self.of_value(MapDialoguePdu::TYPE, &pdu, &mut told);
        self.untold(&pdu, &told);
    }

    fn of_component(&mut self, component: &Component<'_>) {
        let (place, code, parameter) = match &component.payload {
            Payload::Invoke { code, parameter: Some(it), .. } => (Place::Argument, code, it),
            Payload::ReturnResult { result: Some((code, Some(it))), .. } => {
                (Place::Result, code, it)
            }
            Payload::ReturnError { code, parameter: Some(it) } => (Place::Error, code, it),
            _ => return,
        };
        let known = match code {
            Code::Local(code) => CANDIDATES.get(&(place, *code)),
            Code::Global(_) => None,
        };
        let Some(known) = known else { return self.whole(parameter) };
        let is_spoken = |it: &&Candidate| self.protocol.is_none_or(|own| own == it.protocol);
        let spoken: Vec<&Candidate> = known.iter().filter(is_spoken).collect();
        // One that the protocol lacks, or that has no parameter, is not understood.
        if !spoken.is_empty() && !spoken.iter().any(|it| it.has_secret) {
            return;
        }
        let fits = |it: &&Candidate| check(Some(it.parameter), Some(parameter), "").is_ok();
        let mut told = HashMap::new();
        for it in spoken.into_iter().filter(fits) {
            self.of_value(it.parameter.kind, parameter, &mut told);
        }
        self.untold(parameter, &told);
    }

    /// What a type that fits has declared secret. `told` takes where each component begins, and
    /// whether the type says what all octets of it are.
    fn of_value(
        &mut self,
        kind: &'static Type,
        value: &Element<'_>,
        told: &mut HashMap<usize, bool>,
    ) {
        *told.entry(value.contents_at()).or_default() |= is_plain(kind);
        if let Some(what) = of_type(kind) {
            return self.add(what, value);
        }
        let mut of_radio: Vec<Range<usize>> = Vec::new();
        if kind.name == ENVELOPE {
            of_radio.push(contents(value));
        }
        let visited = kind.visit(value, &mut |field, value| {
            *told.entry(value.contents_at()).or_default() |= is_plain(field.kind);
            if field.kind.name == ENVELOPE && !OF_CALLS.contains(&field.name) {
                of_radio.push(contents(value));
            }
            let is_of_radio = of_radio.iter().any(|it| it.contains(&value.contents_at()));
            if let Some(what) = of_field(field, is_of_radio) {
                self.add(what, value);
            }
        });
        if visited.is_err() {
            self.whole(value);
        }
    }

    /// What no type that fits has told: it does not fit, or somebody has extended it.
    fn untold(&mut self, value: &Element<'_>, told: &HashMap<usize, bool>) {
        if told.get(&value.contents_at()) == Some(&true) {
            return;
        }
        if !value.is_constructed() {
            return self.found.push(contents(value));
        }
        let children = value.children().and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match children {
            Ok(children) => children.iter().for_each(|child| self.untold(child, told)),
            Err(_) => self.found.push(contents(value)),
        }
    }

    fn add(&mut self, what: Keep, value: &Element<'_>) {
        if !self.keep.contains(&what) {
            self.whole(value);
        }
    }

    /// All octets of a value but its headers: it stays an element.
    fn whole(&mut self, value: &Element<'_>) {
        if !value.is_constructed() {
            return self.found.push(contents(value));
        }
        let children = value.children().and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match children {
            Ok(children) => children.iter().for_each(|child| self.whole(child)),
            Err(_) => self.found.push(contents(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Words in the name of a type, or of a component, that sound like a secret.
    const WORDS: &[&str] = &[
        "kc",
        "ck",
        "ik",
        "key",
        "kasme",
        "sres",
        "xres",
        "vstk",
        "password",
        "codeword",
        "pin",
        "signalinfo",
        "integrity",
        "encryption",
        "cipher",
        "secret",
        "ussd",
        "apdu",
        "ui",
        "userdata",
        "digitsresponse",
    ];

    /// Those that only sound so: numbers and algorithms, counts, indications.
    const HARMLESS: &[&str] = &[
        "cipheringAlgorithm",
        "dataCodingScheme",
        "encryptionAlgorithm",
        "encryptionAlgorithms",
        "integrityProtectionAlgorithm",
        "integrityProtectionAlgorithms",
        "ussd-DataCodingScheme",
        "vstk-rand",
    ];

    /// Every component of a type and of those within it, with its type.
    fn walk(kind: &'static Type, known: &mut BTreeMap<(&str, &str), &'static Field>) {
        let fields = match kind.shape {
            Shape::Sequence { fields, .. }
            | Shape::Set { fields, .. }
            | Shape::Choice { fields, .. } => fields,
            Shape::List(_, of, _) => return walk(of, known),
            _ => return,
        };
        for field in fields {
            if known.insert((field.name, field.kind.name), field).is_none() {
                walk(field.kind, known);
            }
        }
    }

    /// A name by its words: at capitals and hyphens.
    fn words(name: &str) -> String {
        let mut out = String::from("-");
        let mut was_small = false;
        for letter in name.chars() {
            if letter.is_ascii_uppercase() && was_small {
                out.push('-');
            }
            was_small = letter.is_ascii_lowercase();
            out.push(letter.to_ascii_lowercase());
        }
        out.push('-');
        out
    }

    #[test]
    fn every_component_that_sounds_like_a_secret_is_one_or_is_known_to_be_none() {
        let mut known = BTreeMap::new();
        CANDIDATES.values().flatten().for_each(|it| walk(it.parameter.kind, &mut known));
        let sounds = |name: &str| {
            let (words, plain) = (words(name), name.to_ascii_lowercase().replace('-', ""));
            WORDS.iter().any(|word| match word.len() {
                0..=4 => words.contains(&format!("-{word}-")),
                _ => plain.contains(word),
            })
        };
        let mut open = BTreeSet::new();
        for ((name, kind), field) in known {
            let is_container = matches!(
                field.kind.shape,
                Shape::Sequence { .. } | Shape::Set { .. } | Shape::Choice { .. }
            );
            let is_data = matches!(field.kind.shape, Shape::Octets(_) | Shape::Text(..));
            if is_container || !is_data || of_field(field, true).is_some() {
                continue;
            }
            if (sounds(name) || sounds(kind)) && !HARMLESS.contains(&name) {
                open.insert((name, kind));
            }
        }
        assert_eq!(open, BTreeSet::new());
    }

    #[test]
    fn operations_with_a_secret_are_found_by_the_types_of_their_parameters() {
        let has = |place, name: &str| {
            let of_map = map::Operation::named(name).map(map::Operation::code);
            let code = of_map.or_else(|| cap::Operation::named(name).map(|it| it.code()));
            CANDIDATES[&(place, code.unwrap())].iter().any(|it| it.has_secret)
        };
        for (place, name) in [
            (Place::Result, "sendAuthenticationInfo"),
            (Place::Result, "sendIdentification"),
            (Place::Argument, "prepareHandover"),
            (Place::Argument, "forwardAccessSignalling"),
            (Place::Argument, "sendEndSignal"),
            (Place::Argument, "prepareGroupCall"),
            (Place::Result, "getPassword"),
            (Place::Result, "registerPassword"),
            (Place::Result, "anyTimeSubscriptionInterrogation"),
            (Place::Argument, "mo-ForwardSM"),
            (Place::Argument, "processUnstructuredSS-Data"),
            (Place::Argument, "processUnstructuredSS-Request"),
            (Place::Result, "promptAndCollectUserInformation"),
        ] {
            assert!(has(place, name), "{name}");
        }
        for name in ["updateLocation", "sendRoutingInfoForSM", "eventReportBCSM"] {
            assert!(!has(Place::Argument, name), "{name}");
        }
    }
}
