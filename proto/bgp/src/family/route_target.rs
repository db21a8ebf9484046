//! Route targets that a speaker wants routes of (RFC 4684 §4).

use super::{Layout, Row, all_recognized, no_payload, octets_of, put_masked};
use crate::codec::{Asn, ExtendedCommunity, be32};
use core::fmt;
use wire::Malformed;

const SPEC: &str = "RFC 4684 §4";
const ORIGIN_BITS: u8 = 32;
const BITS_MAX: u8 = 96;

pub(super) const ROW: Row = Row {
    afi: 1,
    safi: 132,
    name: "route-target",
    spec: SPEC,
    next_hops: &[4, 16],
    next_hops_extended: &[],
    length,
    is_recognized: all_recognized,
    split: |wire, _, key, _| put_masked(wire, wire[0], key),
    join: super::join_whole,
    withdrawn_payload: no_payload,
    show,
};

fn length(bytes: &[u8], _: Layout) -> Result<usize, Malformed> {
    let violation = |what| Err(Malformed::new(0, what, SPEC));
    let Some(&bits) = bytes.first() else { return violation("the length of a route target lacks") };
    if bits != 0 && !(ORIGIN_BITS..=BITS_MAX).contains(&bits) {
        return violation("no route target has that length");
    }
    let length = 1 + octets_of(bits);
    if length > bytes.len() {
        return violation("the route target is cut off");
    }
    Ok(length)
}

fn show(key: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match RouteTarget::read(key) {
        Some(RouteTarget { bits: 0, .. }) => f.write_str("default"),
        Some(it) if it.bits == BITS_MAX => write!(f, "{} {}", it.origin, it.target),
        Some(it) => write!(f, "{} {}/{}", it.origin, it.target, it.bits - ORIGIN_BITS),
        None => Err(fmt::Error),
    }
}

/// A prefix of route targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteTarget {
    /// Bits that count, 0 (everything is wanted) or 32 to 96, those of the origin included.
    pub bits: u8,
    /// The AS that wants it.
    pub origin: Asn,
    /// The target; bits behind the length are zero.
    pub target: ExtendedCommunity,
}

impl RouteTarget {
    /// Reads one. `None` if it is malformed.
    #[must_use]
    pub fn read(wire: &[u8]) -> Option<Self> {
        let whole = length(wire, Layout::default()).ok()?;
        let mut octets = Vec::with_capacity(whole);
        put_masked(&wire[..whole], wire[0], &mut octets);
        let octets: [u8; 12] = super::address(&octets[1..]);
        let target = ExtendedCommunity(super::address(&octets[4..]));
        Some(Self { bits: wire[0], origin: be32(&octets, 0), target })
    }

    /// The first and the last target of those that are wanted, as numbers in network byte order.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        let bits = u32::from(self.bits.saturating_sub(ORIGIN_BITS));
        let mask = u64::MAX.checked_shl(64 - bits).unwrap_or(0);
        let first = u64::from_be_bytes(self.target.0) & mask;
        (first, first | !mask)
    }

    /// Whether routes with `target` are wanted.
    #[must_use]
    pub fn wants(&self, target: ExtendedCommunity) -> bool {
        let (first, last) = self.range();
        (first..=last).contains(&u64::from_be_bytes(target.0))
    }
}
