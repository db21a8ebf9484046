//! The IMSI of an argument: where it stands follows from the types of the operations.

use crate::names::OperationId;
use ber::{Class, Element, Field, Shape, Tag, Type};
use map::types::{MapDialoguePdu, MapOpenInfo};
use sccp::codec::Digits;
use tcap::codec::UserInformation;

/// Elements around an IMSI that are looked into, at most.
const DEPTH_MAX: usize = 3;
/// Ways of one argument that are kept.
const WAYS_MAX: usize = 4;
/// Digits of an IMSI (TS 23.003 §2.2).
const DIGITS: core::ops::RangeInclusive<usize> = 6..=15;
/// The half of an octet that is no digit (TS 29.002 §17.7.8).
const FILLER: u8 = 0x0f;

/// The tags from the argument down to the IMSI.
type Steps = Vec<Tag>;

/// One of the ways to it.
#[derive(Debug, Clone)]
struct OneWay {
    /// The tag of the argument itself, where that is a choice.
    chosen: Option<Tag>,
    steps: Steps,
}

/// Where the IMSI may stand in the arguments of an operation, by versions.
#[derive(Debug, Default, Clone)]
struct Ways(Vec<((u8, u8), Vec<OneWay>)>);

/// Where it stands in all arguments.
#[derive(Debug)]
pub(crate) struct Places(Vec<Ways>);

/// What an argument tells of its subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tells {
    /// No IMSI.
    Nothing,
    /// This one.
    Imsi(Digits),
    /// More than one: who gets it may read another one than this node.
    Ambiguous,
}

/// A component that stands twice where it may stand once.
struct Twice;

impl Places {
    pub(crate) fn new() -> Self {
        let mut places = vec![Ways::default(); OperationId::COUNT];
        let mut put = |id: OperationId, versions, kind: Option<&'static Type>| {
            let (Some(kind), Some(ways)) = (kind, places.get_mut(usize::from(id.0))) else {
                return;
            };
            let mut found = ways_of(kind);
            found.truncate(WAYS_MAX);
            ways.0.push((versions, found));
        };
        for operation in map::Operation::ALL {
            for it in operation.signatures() {
                let id = OperationId::map(operation.code());
                put(id, it.versions, it.argument.map(|it| it.kind));
            }
        }
        for operation in cap::Operation::ALL {
            for it in operation.signatures() {
                let id = OperationId::cap(operation.code());
                put(id, it.versions, it.argument.map(|it| it.kind));
            }
        }
        Self(places)
    }

    /// The IMSI in the argument of an operation in that version of its context; 0: of any version.
    pub(crate) fn find(&self, of: OperationId, version: u8, argument: &Element<'_>) -> Tells {
        let ways = self.0.get(usize::from(of.0)).map(|it| it.0.as_slice()).unwrap_or_default();
        let is_known = ways.iter().any(|(versions, _)| holds(*versions, version));
        for (versions, steps) in ways {
            if is_known && !holds(*versions, version) {
                continue;
            }
            let fits = |it: &&OneWay| it.chosen.is_none_or(|tag| argument.tag() == tag);
            for way in steps.iter().filter(fits) {
                match walk(argument, &way.steps) {
                    Ok(Some(digits)) => return Tells::Imsi(digits),
                    Ok(None) => {}
                    Err(Twice) => return Tells::Ambiguous,
                }
            }
        }
        Tells::Nothing
    }
}

const fn holds(versions: (u8, u8), version: u8) -> bool {
    versions.0 <= version && version <= versions.1
}

fn ways_of(kind: &'static Type) -> Vec<OneWay> {
    let mut found = Vec::new();
    search(kind, &mut Vec::new(), &mut found);
    let is_choice = kind.tag.is_none() && matches!(kind.shape, Shape::Choice { .. });
    let way = |steps: Steps| match steps.split_first() {
        // What is chosen is the argument itself.
        Some((first, rest)) if is_choice => OneWay { chosen: Some(*first), steps: rest.to_vec() },
        _ => OneWay { chosen: None, steps },
    };
    found.into_iter().map(way).collect()
}

/// The ways from a value of a type to an IMSI within it.
fn search(kind: &'static Type, steps: &mut Steps, found: &mut Vec<Steps>) {
    if kind.name == "IMSI" {
        return found.push(steps.clone());
    }
    let fields = match kind.shape {
        Shape::Sequence { fields, .. }
        | Shape::Set { fields, .. }
        | Shape::Choice { fields, .. } => fields,
        _ => return,
    };
    // The value of an untagged choice is what is chosen: its tag stands for it.
    for field in fields {
        let depth = steps.len();
        if depth < DEPTH_MAX {
            step(field, steps);
            search(field.kind, steps, found);
        }
        steps.truncate(depth);
    }
}

/// The tags that stand in front of the value of a field.
fn step(field: &Field, steps: &mut Steps) {
    steps.extend(field.tag);
    if field.tag.is_none() || field.is_explicit {
        steps.extend(field.kind.tag());
    }
}

/// The digits at the end of these tags.
fn walk(element: &Element<'_>, steps: &[Tag]) -> Result<Option<Digits>, Twice> {
    let Some((first, rest)) = steps.split_first() else { return Ok(digits(element)) };
    let Ok(children) = element.children() else { return Ok(None) };
    let mut value = None;
    for child in children {
        let Ok(child) = child else { return Ok(None) };
        // A type may have several untagged strings in a row: the first one is meant.
        if child.tag() != *first || (value.is_some() && first.class() != Class::Context) {
            continue;
        }
        if value.replace(child).is_some() {
            return Err(Twice);
        }
    }
    value.map_or(Ok(None), |value| walk(&value, rest))
}

/// The subscriber that a dialogue of MAP is opened for: its destination reference, where that is an
/// IMSI (TS 29.002 §7.3.1, §17.4).
pub(crate) fn opened(user: &UserInformation<'_>) -> Tells {
    let pdus = user.iter().filter_map(|it| map::dialogue::read(it).ok().flatten());
    let opens = pdus.filter(|(kind, _)| *kind == MapDialoguePdu::MapOpen);
    let mut imsi = None;
    for (_, open) in opens {
        let reference = MapOpenInfo::read(open).ok();
        let reference = reference.and_then(|it| it.get(MapOpenInfo::DestinationReference));
        let mut octets = [0; OCTETS_MAX + 1];
        let value = reference.and_then(|it| it.octets().ok());
        let found = value.as_ref().and_then(|it| match it.copy(&mut octets)? {
            [of, digits @ ..] if of & PLAN == E212 => tbcd(digits.iter().copied()),
            _ => None,
        });
        if found.is_some() && imsi.is_some() {
            return Tells::Ambiguous;
        }
        imsi = imsi.or(found);
    }
    imsi.map_or(Tells::Nothing, Tells::Imsi)
}

/// Octets of an IMSI.
const OCTETS_MAX: usize = 8;
/// The numbering plan in the first octet of an address, and the land mobile plan (TS 29.002
/// §17.7.8).
const PLAN: u8 = 0x0f;
const E212: u8 = 6;

/// Digits of an IMSI.
fn digits(element: &Element<'_>) -> Option<Digits> {
    let octets = element.octets().ok()?;
    (octets.len() <= OCTETS_MAX).then(|| tbcd(octets.iter()))?
}

/// Digits of a TBCD-STRING.
fn tbcd(octets: impl Iterator<Item = u8>) -> Option<Digits> {
    let mut digits = Digits::NONE;
    let mut is_over = false;
    for half in octets.flat_map(|it| [it & 0x0f, it >> 4]) {
        if half == FILLER {
            is_over = true;
            continue;
        }
        if is_over || half > 9 {
            return None;
        }
        digits = digits.with(half)?;
    }
    DIGITS.contains(&digits.len()).then_some(digits)
}
