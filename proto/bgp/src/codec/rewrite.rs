//! Attribute sets changed in a few places: what a reflector, and a speaker of two octets, needs.

use super::attribute::{AttributeType, Attributes, Flags, write_attribute};
use super::{AsPath, Identifier};

/// Edits of one [`rewrite`] at most: what a pass keeps account of.
const EDITS_MAX: usize = 64;
/// Octets of a value at most: its length has sixteen bits (RFC 4271 §4.3).
const VALUE_BYTES_MAX: usize = u16::MAX as usize;

/// What becomes of the attributes of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit<'a> {
    /// The type.
    pub kind: AttributeType,
    /// Its new value; `None` takes it out.
    pub value: Option<&'a [u8]>,
}

/// Appends `attributes` with the edits made. Edits must be in the order of their numbers, at most
/// 64 of them; what is added stands in that order as well. `false`, and nothing is appended, when
/// a new value is longer than an attribute can be: such a route cannot be told.
#[must_use]
pub fn rewrite(attributes: &[u8], edits: &[Edit<'_>], out: &mut Vec<u8>) -> bool {
    let is_writable = |edit: &Edit<'_>| edit.value.is_none_or(|it| it.len() <= VALUE_BYTES_MAX);
    if !edits.iter().all(is_writable) {
        return false;
    }
    let edits = &edits[..edits.len().min(EDITS_MAX)];
    let mut next = 0;
    let put = |edit: &Edit<'_>, partial: u8, out: &mut Vec<u8>| {
        if let Some(value) = edit.value {
            write_attribute(edit.kind.flags() | partial, edit.kind.number(), value, out);
        }
    };
    for attribute in Attributes::new(attributes).map_while(Result::ok) {
        while let Some(edit) = edits.get(next).filter(|it| it.kind.number() <= attribute.number) {
            // RFC 4271 §4.3: once set, it stays.
            let is_its = edit.kind.number() == attribute.number;
            put(edit, if is_its { attribute.flags.0 & Flags::PARTIAL } else { 0 }, out);
            next += 1;
        }
        // Edits stand in order and those behind `next` are of higher numbers: the nearest decides.
        let nearest = edits[..next].iter().rfind(|it| it.kind.number() <= attribute.number);
        if nearest.is_none_or(|it| it.kind.number() != attribute.number) {
            out.extend_from_slice(attribute.octets);
        }
    }
    edits[next..].iter().for_each(|edit| put(edit, 0, out));
    true
}

/// Appends `attributes` as a reflector of `cluster` passes them on: ORIGINATOR_ID if there is none
/// yet, and the cluster in front of CLUSTER_LIST (RFC 4456 §8). `false` as in [`rewrite`].
#[must_use]
pub fn reflect(
    attributes: &[u8],
    originator: Identifier,
    cluster: Identifier,
    out: &mut Vec<u8>,
) -> bool {
    let all = Attributes::new(attributes);
    let originator = originator.to_be_bytes();
    let originator = all.value(AttributeType::OriginatorId).unwrap_or(&originator);
    let clusters = all.value(AttributeType::ClusterList).unwrap_or_default();
    let mut list = [0; 4 * 64];
    let length = 4 + clusters.len();
    let mut long = Vec::new();
    let list = if let Some(list) = list.get_mut(..length) {
        list
    } else {
        long.resize(length, 0);
        &mut long[..]
    };
    list[..4].copy_from_slice(&cluster.to_be_bytes());
    list[4..].copy_from_slice(clusters);
    let edits = [
        Edit { kind: AttributeType::OriginatorId, value: Some(originator) },
        Edit { kind: AttributeType::ClusterList, value: Some(list) },
    ];
    rewrite(attributes, &edits, out)
}

/// Appends `attributes` for a peer that speaks two octets only: AS_PATH and AGGREGATOR narrowed,
/// AS4_PATH and AS4_AGGREGATOR beside them where something was lost (RFC 6793 §4.2.2). `false` as
/// in [`rewrite`].
#[must_use]
pub fn to_two_octets(attributes: &[u8], out: &mut Vec<u8>) -> bool {
    let all = Attributes::new(attributes);
    let path = AsPath::new(all.value(AttributeType::AsPath).unwrap_or_default(), true);
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    if path.narrow(&mut narrow) {
        for segment in path.segments().filter(|it| !it.kind.is_confederation()) {
            wide.extend_from_slice(&[segment.kind.number(), super::octet(segment.len())]);
            segment.iter().for_each(|asn| wide.extend_from_slice(&asn.to_be_bytes()));
        }
    }
    let aggregator = all.value(AttributeType::Aggregator).filter(|value| value.len() == 8);
    let mut short = [0; 6];
    if let Some(value) = aggregator {
        let asn = u16::try_from(super::be32(value, 0)).unwrap_or(super::AS_TRANS_SHORT);
        short[..2].copy_from_slice(&asn.to_be_bytes());
        short[2..].copy_from_slice(&value[4..]);
    }
    let is_lossy = aggregator.is_some_and(|value| value[..2] != [0, 0]);
    let mut edits = Vec::with_capacity(4);
    if all.value(AttributeType::AsPath).is_some() {
        edits.push(Edit { kind: AttributeType::AsPath, value: Some(&narrow) });
    }
    if aggregator.is_some() {
        edits.push(Edit { kind: AttributeType::Aggregator, value: Some(&short) });
    }
    let as4_path = Some(&wide[..]).filter(|value| !value.is_empty());
    edits.push(Edit { kind: AttributeType::As4Path, value: as4_path });
    let as4_aggregator = aggregator.filter(|_| is_lossy);
    edits.push(Edit { kind: AttributeType::As4Aggregator, value: as4_aggregator });
    rewrite(attributes, &edits, out)
}
