//! Prefixes with labels (RFC 8277). The labels are payload.

use super::label::{LABEL_BYTES, labels};
use super::{
    Label, Layout, Row, WITHDRAWN_LABEL, all_recognized, octets_of, put_masked, show_prefix,
};
use crate::codec::octet;
use core::fmt;
use wire::Malformed;

const SPEC: &str = "RFC 8277 §2.2";

pub(super) const IPV4: Row = Row {
    afi: 1,
    safi: 4,
    name: "ipv4-labelled",
    spec: SPEC,
    next_hops: &[4],
    next_hops_extended: &[16, 32],
    length: length::<0, 32>,
    is_recognized: all_recognized,
    split,
    join,
    withdrawn_payload: |_| &WITHDRAWN_LABEL,
    show: |key, f| show_prefix(&key[1..], key[0], false, f),
};

pub(super) const IPV6: Row = Row {
    afi: 2,
    name: "ipv6-labelled",
    next_hops: &[16, 32],
    next_hops_extended: &[],
    length: length::<0, 128>,
    show: |key, f| show_prefix(&key[1..], key[0], true, f),
    ..IPV4
};

/// Octets of the route that begins here: labels, `MIN` bits that must be there, and a prefix up to
/// `MAX` bits, both counted together.
pub(super) fn length<const MIN: u8, const MAX: u8>(
    bytes: &[u8],
    layout: Layout,
) -> Result<usize, Malformed> {
    let violation = |what| Err(Malformed::new(0, what, SPEC));
    let Some((&bits, rest)) = bytes.split_first() else {
        return violation("the length of a prefix lacks");
    };
    let octets = octets_of(bits);
    if octets > rest.len() {
        return violation("the prefix is cut off");
    }
    let labels = labels(&rest[..octets], layout.multiple_labels && !layout.withdrawn)?;
    let Some(prefix) = usize::from(bits).checked_sub(8 * labels) else {
        return violation("the length leaves no room for the label");
    };
    if !(usize::from(MIN)..=usize::from(MAX)).contains(&prefix) {
        return violation("the prefix is longer than an address");
    }
    Ok(1 + octets)
}

/// Splits a route that `length` has found; also those of VPNs.
pub(super) fn split(wire: &[u8], layout: Layout, key: &mut Vec<u8>, payload: &mut Vec<u8>) {
    let (bits, rest) = (wire[0], &wire[1..]);
    let multiple = layout.multiple_labels && !layout.withdrawn;
    let labels = labels(rest, multiple).unwrap_or(LABEL_BYTES).min(rest.len());
    let (labels, prefix) = rest.split_at(labels);
    let bits = bits.saturating_sub(octet(8 * labels.len()));
    payload.extend_from_slice(labels);
    key.push(bits);
    put_masked(prefix, bits, key);
}

/// The inverse of [`split`].
pub(super) fn join(key: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    out.push(octet(usize::from(key[0]) + 8 * payload.len()));
    out.extend_from_slice(payload);
    out.extend_from_slice(&key[1..]);
}

/// A prefix with its labels, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelledPrefix<'a> {
    labels: &'a [u8],
    /// Bits of the prefix.
    pub bits: u8,
    /// Its octets.
    pub octets: &'a [u8],
}

impl<'a> LabelledPrefix<'a> {
    /// Reads a route of a labelled family. `None` if it is malformed.
    #[must_use]
    pub fn read(wire: &'a [u8], layout: Layout) -> Option<Self> {
        let (bits, rest) = wire.split_first()?;
        let count = labels(rest, layout.multiple_labels && !layout.withdrawn).ok()?;
        let (labels, octets) = rest.split_at_checked(count)?;
        let bits = bits.checked_sub(octet(8 * count))?;
        Some(Self { labels, bits, octets: octets.get(..octets_of(bits))? })
    }

    /// The labels, the top of the stack first.
    pub fn labels(&self) -> impl Iterator<Item = Label> + use<'a> {
        self.labels.chunks_exact(LABEL_BYTES).map(|it| Label::of([it[0], it[1], it[2]]))
    }
}

impl fmt::Display for LabelledPrefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for label in self.labels() {
            write!(f, "{} ", label.number())?;
        }
        show_prefix(self.octets, self.bits, self.octets.len() > 4, f)
    }
}
