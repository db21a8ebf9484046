//! What is secret in a message of MAP: keys of authentication and ciphering, what people write to
//! each other. Its octets become zeros, so that what is kept is still a message.

use super::unit::Unit;
use super::words::speech_of;
use crate::config::Keep;
use core::ops::Range;
use tcap::codec::{Code, Component, Payload};
use tcap::operation::{Parameter, check};
use tcu::Speech;

/// Parameters by their names in ASN.1, at any depth.
const SECRETS: &[(&str, Keep)] = &[
    ("kc", Keep::Keys),
    ("sres", Keep::Keys),
    ("xres", Keep::Keys),
    ("ck", Keep::Keys),
    ("ik", Keep::Keys),
    ("sm-RP-UI", Keep::Bodies),
    ("ussd-String", Keep::Bodies),
];

/// Parameters with what radio networks say to each other, the keys of a handover too: all of
/// `signalInfo` within them.
const BETWEEN_RADIO_NETWORKS: &[&str] = &["an-APDU", "bss-APDU", "accessNetworkSignalInfo"];

/// Operations that have such parameters in their argument or result.
const OPERATIONS: &[&str] = &[
    "forwardAccessSignalling",
    "forwardGroupCallSignalling",
    "mo-ForwardSM",
    "mt-ForwardSM",
    "mt-ForwardSM-VGCS",
    "performHandover",
    "prepareHandover",
    "prepareSubsequentHandover",
    "processAccessSignalling",
    "processGroupCallSignalling",
    "processUnstructuredSS-Request",
    "sendAuthenticationInfo",
    "sendEndSignal",
    "sendGroupCallInfo",
    "sendIdentification",
    "sendParameters",
    "unstructuredSS-Notify",
    "unstructuredSS-Request",
];

/// Whose parameter is a letter as a whole.
const LETTERS: &[&str] = &["processUnstructuredSS-Data"];

/// Versions of MAP by which a parameter is tried where nothing says which it is.
const VERSIONS: [u8; 3] = [3, 2, 1];

/// The payload without what is secret; `None`: it stays as it is.
pub(super) fn redacted(payload: &[u8], unit: &Unit<'_>, keep: &[Keep]) -> Option<Vec<u8>> {
    if keep.contains(&Keep::Keys) && keep.contains(&Keep::Bodies) {
        return None;
    }
    let mut spots = Vec::new();
    match (unit.segmentation(), unit.message()) {
        // A secret may lie across two segments.
        (Some(_), _) => {
            let shown = unit.head.map_or(0, |head| head.length);
            spots.push(shown..unit.sccp.data.len());
        }
        (None, Some(message)) => {
            let speech = speech_of(unit, &message, Speech::Unknown);
            for component in message.components().flatten() {
                of_component(&component, speech, keep, &mut spots);
            }
        }
        (None, None) => {}
    }
    if spots.iter().all(Range::is_empty) {
        return None;
    }
    let mut out = payload.to_vec();
    for spot in spots {
        let (from, to) = (unit.data_at + spot.start, unit.data_at + spot.end);
        out.get_mut(from..to)?.fill(0);
    }
    Some(out)
}

fn of_component(
    component: &Component<'_>,
    speech: Speech,
    keep: &[Keep],
    spots: &mut Vec<Range<usize>>,
) {
    let (code, parameter, is_argument) = match &component.payload {
        Payload::Invoke { code: Code::Local(code), parameter: Some(it), .. } => (*code, it, true),
        Payload::ReturnResult { result: Some((Code::Local(code), Some(it))), .. } => {
            (*code, it, false)
        }
        _ => return,
    };
    let name = map::Operation::of(code).map(map::Operation::name);
    let is_among = |all: &[&str]| name.is_some_and(|it| all.contains(&it));
    let at = parameter.contents_at();
    let whole = at..at + parameter.contents().len();
    if matches!(speech, Speech::Cap(..)) {
        return;
    }
    if is_among(LETTERS) && !keep.contains(&Keep::Bodies) {
        return spots.push(whole);
    }
    if !is_among(OPERATIONS) {
        return;
    }
    let own = match speech {
        Speech::Map(_, version) => version,
        _ => VERSIONS[0],
    };
    let kind = |version: u8| -> Option<Parameter> {
        let signature = map::Operation::of(code)?.signature(version)?;
        if is_argument { signature.argument } else { signature.result }
    };
    let mut kinds = core::iter::once(own).chain(VERSIONS).filter_map(kind);
    let fits = |it: &Parameter| check(Some(*it), Some(parameter), "").is_ok();
    let Some(kind) = kinds.find(fits) else {
        // Of what is none of its types nobody knows where the secret is.
        return spots.push(whole);
    };
    let mut radio: Vec<Range<usize>> = Vec::new();
    let visited = kind.kind.visit(parameter, &mut |name, value| {
        let at = value.contents_at()..value.contents_at() + value.contents().len();
        if BETWEEN_RADIO_NETWORKS.contains(&name) {
            radio.push(at.clone());
        }
        let what = match SECRETS.iter().find(|(secret, _)| *secret == name) {
            Some((_, what)) => *what,
            None if name == "signalInfo" && radio.iter().any(|it| it.contains(&at.start)) => {
                Keep::Keys
            }
            None => return,
        };
        if !keep.contains(&what) {
            spots.push(at);
        }
    });
    debug_assert!(visited.is_ok(), "it fits");
}

#[cfg(test)]
mod tests {
    use super::*;
    use ber::{Shape, Type};

    fn has_secret(of: &Type, depth: usize) -> bool {
        let fields = match of.shape {
            Shape::Sequence { fields, .. }
            | Shape::Set { fields, .. }
            | Shape::Choice { fields, .. } => fields,
            Shape::List(_, of, _) => return has_secret(of, depth),
            _ => return false,
        };
        fields.iter().any(|field| {
            let secrets = SECRETS.iter().map(|(name, _)| name);
            secrets.chain(BETWEEN_RADIO_NETWORKS).any(|name| *name == field.name)
                || depth > 0 && has_secret(field.kind, depth - 1)
        })
    }

    #[test]
    fn the_operations_with_a_secret_are_those_of_the_table() {
        let mut having = Vec::new();
        for operation in map::Operation::ALL {
            let signatures = (1..=4).filter_map(|version| operation.signature(version));
            let mut parameters = signatures.flat_map(|it| [it.argument, it.result]).flatten();
            if parameters.any(|it| has_secret(it.kind, 5)) {
                having.push(operation.name());
            }
        }
        let mut table = OPERATIONS.to_vec();
        table.sort_unstable();
        having.sort_unstable();
        assert_eq!(having, table);
    }
}
