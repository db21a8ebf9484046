//! Changes that a rule makes.

use super::community::{Kind, Values, number};
use super::condition::slot_of;
use super::route::{NewNextHop, Route, Slot};
use bgp::codec::{SegmentKind, Tlvs};

/// What LOCAL_PREF is changed from where it lacks.
const LOCAL_PREF_DEFAULT: u32 = 100;
/// The type of the TLV that holds the metric of AIGP, and its octets with type and length
/// (RFC 7311 §3).
const AIGP_METRIC: u8 = 1;
const AIGP_METRIC_LENGTH: u8 = 11;
const AIGP_METRIC_BYTES: usize = AIGP_METRIC_LENGTH as usize;
/// ASes in one segment at most.
const SEGMENT_MAX: u8 = 255;

/// One change.
#[derive(Debug, Clone)]
pub enum Change {
    /// LOCAL_PREF.
    LocalPref(Amount),
    /// MULTI_EXIT_DISC.
    Med(Amount),
    /// Communities of one kind.
    Communities(Communities),
    /// The next hop.
    NextHop(NewNextHop),
    /// An AS in front of the path, so many times.
    Prepend(u32, u8),
    /// ORIGIN.
    Origin(u8),
    /// The metric of AIGP.
    Aigp(Amount),
}

/// How a number changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// To that.
    Exactly(u64),
    /// So much more, up to the largest there is.
    More(u64),
    /// So much less, down to 0.
    Less(u64),
    /// It is taken out.
    Out,
}

impl Amount {
    /// The new number. `None` if it is taken out.
    const fn of(self, number: u64, most: u64) -> Option<u64> {
        let changed = match self {
            Self::Exactly(number) => number,
            Self::More(by) => number.saturating_add(by),
            Self::Less(by) => number.saturating_sub(by),
            Self::Out => return None,
        };
        Some(if changed > most { most } else { changed })
    }
}

/// What becomes of the communities of one kind.
#[derive(Debug, Clone)]
pub struct Communities {
    /// Which kind.
    pub kind: Kind,
    /// Those that go.
    pub removed: Removed,
    /// The octets of those that come.
    pub added: Vec<u8>,
}

/// Communities that go.
#[derive(Debug, Clone)]
pub enum Removed {
    /// All of the kind.
    All,
    /// These.
    These(Values),
}

impl Change {
    /// Whether it looks at attributes, if only to change them.
    pub const fn reads_attributes(&self) -> bool {
        !matches!(self, Self::NextHop(_))
    }

    /// Changes the route.
    pub fn apply(&self, route: &mut Route<'_, '_>) {
        match self {
            Self::LocalPref(amount) => set_number(route, Slot::LocalPref, *amount),
            Self::Med(amount) => set_number(route, Slot::Med, *amount),
            Self::Communities(communities) => communities.apply(route),
            Self::NextHop(next_hop) => route.next_hop = Some(*next_hop),
            Self::Prepend(asn, times) => route.edit(Slot::AsPath, |path| {
                for _ in 0..*times {
                    put_in_front(path, *asn);
                }
            }),
            Self::Origin(origin) => route.put(Slot::Origin, &[*origin]),
            Self::Aigp(amount) => set_aigp(route, *amount),
        }
    }
}

fn set_number(route: &mut Route<'_, '_>, slot: Slot, amount: Amount) {
    let lacks = if slot == Slot::LocalPref { LOCAL_PREF_DEFAULT } else { 0 };
    let number = route.number(slot).unwrap_or(lacks);
    match amount.of(number.into(), u32::MAX.into()) {
        Some(number) => {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            route.put(slot, &number.to_be_bytes());
        }
        None => route.take_out(slot),
    }
}

/// Where the metric of AIGP stands in its value: the first TLV of type 1, of eight octets.
fn aigp_metric_at(value: &[u8]) -> Option<usize> {
    let mut at = 0;
    for tlv in Tlvs::aigp(value).map_while(|tlv| tlv) {
        if tlv.kind == u16::from(AIGP_METRIC) {
            return (tlv.value.len() + 3 == AIGP_METRIC_BYTES).then_some(at + 3);
        }
        at += 3 + tlv.value.len();
    }
    None
}

/// Changes the metric in its place: other TLVs stay. Where it lacks it comes only as a number.
fn set_aigp(route: &mut Route<'_, '_>, amount: Amount) {
    let value = route.value(Slot::Aigp).unwrap_or_default();
    let at = aigp_metric_at(value);
    let octets = at.and_then(|at| value[at..].first_chunk::<8>().copied());
    let number = octets.map(u64::from_be_bytes);
    match (amount, at, number.and_then(|number| amount.of(number, u64::MAX))) {
        (Amount::Out, ..) => route.take_out(Slot::Aigp),
        (_, Some(at), Some(number)) => route.edit(Slot::Aigp, |value| {
            value[at..at + 8].copy_from_slice(&number.to_be_bytes());
        }),
        (Amount::Exactly(number), ..) => {
            let mut value = [0; AIGP_METRIC_BYTES];
            value[..3].copy_from_slice(&[AIGP_METRIC, 0, AIGP_METRIC_LENGTH]);
            value[3..].copy_from_slice(&number.to_be_bytes());
            route.put(Slot::Aigp, &value);
        }
        _ => {}
    }
}

/// Puts an AS in front of a path (RFC 4271 §5.1.2 b): into its first segment if that is a sequence
/// with room, else as a segment of its own.
fn put_in_front(path: &mut Vec<u8>, asn: u32) {
    let [a, b, c, d] = asn.to_be_bytes();
    match path.first_chunk_mut::<2>() {
        Some([kind, count]) if *kind == SegmentKind::Sequence.number() && *count < SEGMENT_MAX => {
            *count += 1;
            insert(path, 2, &[a, b, c, d]);
        }
        _ => insert(path, 0, &[SegmentKind::Sequence.number(), 1, a, b, c, d]),
    }
}

fn insert(value: &mut Vec<u8>, at: usize, octets: &[u8]) {
    let end = value.len();
    value.extend_from_slice(octets);
    value.copy_within(at..end, at + octets.len());
    value[at..at + octets.len()].copy_from_slice(octets);
}

impl Communities {
    fn apply(&self, route: &mut Route<'_, '_>) {
        let bytes = self.kind.bytes();
        route.edit(slot_of(self.kind), |value| {
            match &self.removed {
                Removed::All => value.clear(),
                Removed::These(values) if values.is_empty() => {}
                Removed::These(values) => remove(value, bytes, values),
            }
            for octets in self.added.chunks_exact(bytes) {
                if !value.chunks_exact(bytes).any(|known| known == octets) {
                    value.extend_from_slice(octets);
                }
            }
        });
    }
}

/// Takes those of a set out of the value; the others stay in their order.
fn remove(value: &mut Vec<u8>, bytes: usize, values: &Values) {
    let mut kept = 0;
    for at in (0..value.len() / bytes).map(|index| index * bytes) {
        if !values.has(number(&value[at..at + bytes])) {
            value.copy_within(at..at + bytes, kept);
            kept += bytes;
        }
    }
    value.truncate(kept);
}
