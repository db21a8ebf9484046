//! The IMSI of an argument: where it stands follows from the types of the operations.

use crate::names::OperationId;
use ber::{Element, Field, Shape, Tag, Type};
use map::types::{MapDialoguePdu, MapOpenInfo};
use sccp::codec::Digits;
use std::sync::Arc;
use tcap::codec::UserInformation;

/// Elements around an IMSI that are looked into, at most.
const DEPTH_MAX: usize = 3;
/// Digits of an IMSI (TS 23.003 §2.2).
const DIGITS: core::ops::RangeInclusive<usize> = 6..=15;
/// The lowest bit of each half of an octet; a half with all bits is no digit (TS 29.002 §17.7.8).
const ONES: u64 = 0x1111_1111_1111_1111;

/// One tag on the way from the argument down to the IMSI.
#[derive(Debug, Clone)]
struct Step {
    tag: Tag,
    /// Which component of a sequence it is; none: nothing else stands beside it.
    among: Option<Among>,
}

/// A component among the others of its sequence, some of which may have the same tag.
#[derive(Debug, Clone)]
struct Among {
    /// The tags that each component may have, in their order.
    order: Arc<[(Tag, usize)]>,
    field: usize,
}

/// One of the ways to it.
#[derive(Debug, Clone)]
struct OneWay {
    /// The tag of the argument itself, where that is a choice.
    chosen: Option<Tag>,
    /// The tag that the type of the argument has.
    outer: Option<Tag>,
    steps: Vec<Step>,
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
    /// It is not known which one who gets it reads, and why.
    Unreadable(&'static str),
}

const TWO: &str = "two subscribers in one argument";
const NONE_SUCH: &str = "an IMSI that is none";
const CUT: &str = "an argument is not well-formed";

impl Places {
    pub(crate) fn new() -> Self {
        let mut places = vec![Ways::default(); OperationId::COUNT];
        let mut put = |id: OperationId, versions, kind: Option<&'static Type>| {
            if let (Some(kind), Some(ways)) = (kind, places.get_mut(usize::from(id.0))) {
                ways.0.push((versions, ways_of(kind)));
            }
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

    /// The IMSI in the argument of an operation in that version of its context. Of a version that
    /// is not known, or that the operation has not, it is asked of all whose argument looks so.
    pub(crate) fn find(&self, of: OperationId, version: u8, argument: &Element<'_>) -> Tells {
        let ways = self.0.get(usize::from(of.0)).map(|it| it.0.as_slice()).unwrap_or_default();
        let is_known = ways.iter().any(|(versions, _)| holds(*versions, version));
        let tag = argument.tag();
        let (mut found, mut wrong) = (None, None);
        for (versions, ways) in ways {
            if is_known && !holds(*versions, version) {
                continue;
            }
            for way in ways {
                let fits = way.chosen.or(way.outer.filter(|_| !is_known));
                if fits.is_some_and(|it| it != tag) {
                    continue;
                }
                match walk(argument, &way.steps) {
                    Ok(None) => {}
                    Ok(imsi) if found.is_none() || found == imsi => found = imsi,
                    Ok(Some(_)) => return Tells::Unreadable(TWO),
                    Err(why) => wrong = Some(why),
                }
            }
        }
        match (found, wrong) {
            (Some(imsi), None) => Tells::Imsi(imsi),
            (Some(imsi), Some(_)) if !is_known => Tells::Imsi(imsi),
            (_, Some(why)) => Tells::Unreadable(why),
            (None, None) => Tells::Nothing,
        }
    }
}

const fn holds(versions: (u8, u8), version: u8) -> bool {
    versions.0 <= version && version <= versions.1
}

fn ways_of(kind: &'static Type) -> Vec<OneWay> {
    let mut found = Vec::new();
    search(kind, None, &mut Vec::new(), &mut found);
    let is_choice = kind.tag.is_none() && matches!(kind.shape, Shape::Choice { .. });
    let way = |mut steps: Vec<Step>| match is_choice && !steps.is_empty() {
        // What is chosen is the argument itself.
        true => OneWay { chosen: Some(steps.remove(0).tag), outer: None, steps },
        false => OneWay { chosen: None, outer: kind.tag(), steps },
    };
    found.into_iter().map(way).collect()
}

/// The ways from a value of a type to an IMSI within it. `among` is where the value stands, as long
/// as no tag has said so.
fn search(
    kind: &'static Type,
    among: Option<Among>,
    steps: &mut Vec<Step>,
    found: &mut Vec<Vec<Step>>,
) {
    if kind.name == "IMSI" {
        return found.push(steps.clone());
    }
    match kind.shape {
        Shape::Sequence { fields, .. } | Shape::Set { fields, .. } => {
            let order: Arc<[_]> = (0..)
                .zip(fields)
                .flat_map(|(field, it)| tags(it).into_iter().map(move |tag| (tag, field)))
                .collect();
            for (field, it) in fields.iter().enumerate() {
                let among = Among { order: Arc::clone(&order), field };
                step(it, Some(among), steps, found);
            }
        }
        // The value of an untagged choice is what is chosen: its tag stands for it.
        Shape::Choice { fields, .. } => {
            fields.iter().for_each(|it| step(it, among.clone(), steps, found));
        }
        _ => {}
    }
}

/// The ways through a field.
fn step(
    field: &'static Field,
    mut among: Option<Among>,
    steps: &mut Vec<Step>,
    found: &mut Vec<Vec<Step>>,
) {
    let depth = steps.len();
    if depth >= DEPTH_MAX {
        return;
    }
    let inner = field.kind.tag().filter(|_| field.tag.is_none() || field.is_explicit);
    for tag in field.tag.into_iter().chain(inner) {
        steps.push(Step { tag, among: among.take() });
    }
    search(field.kind, among, steps, found);
    steps.truncate(depth);
}

/// The tags that the value of a field may have.
fn tags(field: &'static Field) -> Vec<Tag> {
    match (field.tag.or_else(|| field.kind.tag()), field.kind.shape) {
        (Some(tag), _) => vec![tag],
        (None, Shape::Choice { fields, .. }) => fields.iter().flat_map(tags).collect(),
        (None, _) => Vec::new(),
    }
}

impl Among {
    /// The component that the next element is, by its tag; `at` is where in the order it may begin.
    fn next(&self, tag: Tag, at: &mut usize) -> Option<usize> {
        let rest = self.order.get(*at..)?;
        let field = rest.iter().find(|it| it.0 == tag)?.1;
        *at += rest.iter().take_while(|it| it.1 <= field).count();
        Some(field)
    }
}

/// The digits at the end of these tags; or why they are not known.
fn walk(element: &Element<'_>, steps: &[Step]) -> Result<Option<Digits>, &'static str> {
    let Some((step, rest)) = steps.split_first() else { return digits(element).map(Some) };
    let Ok(children) = element.children() else { return Ok(None) };
    let (mut value, mut at, mut is_there) = (None, 0, false);
    for child in children {
        let child = child.map_err(|_| CUT)?;
        let among = step.among.as_ref();
        let field = among.and_then(|it| it.next(child.tag(), &mut at));
        let is_it = field.is_some() && field == among.map(|it| it.field);
        // One that is none of the components where it stands may be taken for any of its tag, but
        // where another alternative stands for that component.
        let may_be = field.is_none() && (!is_there || value.is_some());
        is_there |= is_it;
        if child.tag() == step.tag && (is_it || may_be) && value.replace(child).is_some() {
            return Err(TWO);
        }
    }
    value.map_or(Ok(None), |value| walk(&value, rest))
}

/// The subscriber that a dialogue of MAP is opened for: its destination reference, where that is an
/// IMSI (TS 29.002 §7.3.1, §17.4).
pub(crate) fn opened(user: &UserInformation<'_>) -> Tells {
    let pdus = user.iter().filter_map(|it| map::dialogue::read(it).ok().flatten());
    let opens = pdus.filter(|(kind, _)| *kind == MapDialoguePdu::MapOpen);
    let mut tells = Tells::Nothing;
    for (_, open) in opens {
        let reference = MapOpenInfo::read(open).ok();
        let reference = reference.and_then(|it| it.get(MapOpenInfo::DestinationReference));
        let Some(value) = reference.and_then(|it| it.octets().ok()) else { continue };
        let mut octets = value.iter();
        if octets.next().is_none_or(|of| of & PLAN != E212) {
            continue;
        }
        tells = match (tbcd(octets), tells) {
            (Some(imsi), Tells::Nothing) => Tells::Imsi(imsi),
            (Some(_), _) => Tells::Unreadable(TWO),
            (None, _) => Tells::Unreadable(NONE_SUCH),
        };
    }
    tells
}

/// The numbering plan in the first octet of an address, and the land mobile plan (TS 29.002
/// §17.7.8).
const PLAN: u8 = 0x0f;
const E212: u8 = 6;

/// Digits of an IMSI.
fn digits(element: &Element<'_>) -> Result<Digits, &'static str> {
    let octets = element.octets().map_err(|_| NONE_SUCH)?;
    tbcd(octets.iter()).ok_or(NONE_SUCH)
}

/// Digits of a TBCD-STRING that is an IMSI, all halves of its octets at once.
fn tbcd(octets: impl Iterator<Item = u8>) -> Option<Digits> {
    let mut packed = [u8::MAX; 8];
    for (n, octet) in octets.enumerate() {
        match packed.get_mut(n) {
            Some(place) => *place = octet,
            // There is no digit behind so many.
            None if octet == u8::MAX => {}
            None => return None,
        }
    }
    let halves = u64::from_le_bytes(packed);
    let fillers = halves & halves >> 1 & halves >> 2 & halves >> 3 & ONES;
    let count = fillers.trailing_zeros() as usize / 4;
    if !DIGITS.contains(&count) {
        return None;
    }
    let behind = u64::MAX << (4 * count);
    let above_nine = halves >> 3 & (halves >> 2 | halves >> 1) & ONES;
    if halves & behind != behind || above_nine & !behind != 0 {
        return None;
    }
    Digits::read(packed.get(..count.div_ceil(2))?, count % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ber::{Reader, Writer};
    use machine::identity::mix;

    /// Every way to an IMSI is short enough to be found: a longer one would hide it.
    #[test]
    fn no_imsi_is_deeper_than_is_looked() {
        fn deepest(kind: &'static Type, depth: usize) -> usize {
            let fields = match kind.shape {
                Shape::Sequence { fields, .. }
                | Shape::Set { fields, .. }
                | Shape::Choice { fields, .. } => fields,
                _ => return if kind.name == "IMSI" { depth } else { 0 },
            };
            let of = |it: &'static Field| {
                let tags = usize::from(it.tag.is_some());
                let inner = it.tag.is_none() || it.is_explicit;
                let tags = tags + usize::from(inner && it.kind.tag().is_some());
                // What is deeper is of no operation that rules know.
                if depth > 8 { 0 } else { deepest(it.kind, depth + tags) }
            };
            fields.iter().map(of).max().unwrap_or_default()
        }
        for operation in map::Operation::ALL {
            for it in operation.signatures().iter().filter_map(|it| it.argument) {
                let depth = deepest(it.kind, 0);
                assert!(depth <= DEPTH_MAX, "{} {depth}", operation.name());
            }
        }
    }

    /// Where the message does not say its version, no good argument is unreadable.
    #[test]
    fn an_argument_of_any_version_tells_its_subscriber_without_that() {
        let places = Places::new();
        for seed in 0..400u64 {
            for operation in map::Operation::ALL {
                let id = OperationId::map(operation.code());
                for it in operation.signatures() {
                    let Some(argument) = it.argument else { continue };
                    let mut number = mix(seed);
                    // Octets that are digits, whatever stands in them.
                    let mut random = || {
                        number = mix(number);
                        number & !0xff | 0x10 | number & 1
                    };
                    let mut octets = Vec::new();
                    argument.kind.sample(None, &mut random, &mut Writer::new(&mut octets));
                    let element = Reader::new(&octets).only().expect("an element");
                    let told = places.find(id, it.versions.0, &element);
                    let untold = places.find(id, 0, &element);
                    let name = operation.name();
                    match told {
                        Tells::Imsi(_) => assert_eq!(untold, told, "{name} {octets:02x?}"),
                        Tells::Nothing => {
                            let is_readable = !matches!(untold, Tells::Unreadable(_));
                            assert!(is_readable, "{name} {untold:?} {octets:02x?}");
                        }
                        Tells::Unreadable(_) => {}
                    }
                }
            }
        }
    }
}
