//! The attributes of a path in one form, whoever wrote them (RFC 6396 §4.3.4).
//!
//! Writers differ in three ways: TABLE_DUMP has ASes of two octets, some write MP_REACH_NLRI whole
//! into a RIB entry, and some leave AS4_PATH where it no longer counts.

use bgp::codec::{AS_TRANS, Aggregator, AsPath, AttributeType, Attributes, write_attribute};
use bgp::family::Family;
use std::borrow::Cow;
use wire::Malformed;

const SPEC: &str = "RFC 6396 §4.3.4";
/// Octets of AFI, SAFI and the length of the next hop in a whole MP_REACH_NLRI.
const WHOLE_HEAD_BYTES: usize = 4;

/// The next hop of an MP_REACH_NLRI in a RIB entry: its octets. `None` if the value is neither the
/// short form nor the whole one of `family`.
#[must_use]
pub fn short_next_hop(value: &[u8], family: Family) -> Option<&[u8]> {
    let (&length, rest) = value.split_first()?;
    if usize::from(length) == rest.len() {
        return Some(rest);
    }
    let [high, low] = family.afi().to_be_bytes();
    let (head, rest) = value.split_first_chunk::<WHOLE_HEAD_BYTES>()?;
    let [.., length] = *head;
    if head[..3] != [high, low, family.safi()] {
        return None;
    }
    rest.get(..usize::from(length))
}

/// Whether an attribute has to be changed, or the violation of its form.
fn is_changed(
    kind: Option<AttributeType>,
    value: &[u8],
    family: Family,
    two_octets: bool,
) -> Result<bool, &'static str> {
    match kind {
        Some(AttributeType::AsPath) => {
            let path = AsPath::new(value, !two_octets);
            let octets: usize =
                path.segments().map(|it| 2 + it.len() * path_width(two_octets)).sum();
            if octets != value.len() {
                return Err("the AS_PATH is malformed");
            }
            Ok(two_octets && !value.is_empty())
        }
        Some(AttributeType::Aggregator) => Ok(two_octets),
        Some(AttributeType::As4Path | AttributeType::As4Aggregator) => Ok(true),
        Some(AttributeType::MpUnreachNlri) => Ok(true),
        Some(AttributeType::MpReachNlri) => {
            let next_hop = short_next_hop(value, family);
            let next_hop = next_hop.ok_or("the MP_REACH_NLRI has no form of a RIB entry")?;
            Ok(next_hop.len() + 1 != value.len())
        }
        _ => Ok(false),
    }
}

const fn path_width(two_octets: bool) -> usize {
    if two_octets { 2 } else { 4 }
}

/// The attributes of a path of `family`, which begin `at` octets into the file, in the form of
/// RFC 6396 §4.3.4: AS_PATH and AGGREGATOR of four octets, AS4_PATH and AS4_AGGREGATOR merged into
/// them where `two_octets` says that they count and left out anyway, MP_REACH_NLRI no more than its
/// next hop. Borrowed where they stand like that.
///
/// # Errors
/// An attribute is cut off, or an AS_PATH or MP_REACH_NLRI malformed. Values of other attributes
/// are not looked into.
pub fn canonical(
    attributes: &[u8],
    at: usize,
    family: Family,
    two_octets: bool,
) -> Result<Cow<'_, [u8]>, Malformed> {
    let mut is_plain = true;
    for attribute in Attributes::new(attributes) {
        let attribute = attribute.map_err(|it| it.shifted(at))?;
        let changed = is_changed(attribute.kind(), attribute.value, family, two_octets);
        let violation = |what| Malformed::new(at + attribute.at, what, SPEC);
        is_plain &= !changed.map_err(violation)?;
    }
    if is_plain {
        return Ok(Cow::Borrowed(attributes));
    }
    let mut out = Vec::with_capacity(2 * attributes.len());
    if !rewrite(attributes, family, two_octets, &mut out) {
        return Err(Malformed::new(at, "an attribute is too long with ASes of four octets", SPEC));
    }
    Ok(Cow::Owned(out))
}

/// `false` when a value is too long for an attribute.
fn rewrite(attributes: &[u8], family: Family, two_octets: bool, out: &mut Vec<u8>) -> bool {
    use AttributeType as T;
    let all = Attributes::new(attributes);
    let own = all.value(T::Aggregator).and_then(Aggregator::read);
    let as4 = all.value(T::As4Aggregator);
    // RFC 6793 §4.2.3: somebody of two octets aggregated behind them.
    let trusts_as4 = !(own.is_some_and(|it| it.asn != AS_TRANS) && as4.is_some());
    let as4_path = all.value(T::As4Path).filter(|_| trusts_as4).map(|it| AsPath::new(it, true));
    let mut value = Vec::new();
    for attribute in all.map_while(Result::ok) {
        value.clear();
        match attribute.kind() {
            Some(T::As4Path | T::As4Aggregator | T::MpUnreachNlri) => continue,
            Some(T::AsPath) if two_octets => {
                AsPath::new(attribute.value, false).widen(as4_path, &mut value);
            }
            Some(T::Aggregator) if two_octets && own.is_some() => {
                let wide = as4.and_then(Aggregator::read);
                let wide = wide.filter(|_| own.is_some_and(|it| it.asn == AS_TRANS)).or(own);
                value.extend(wide.into_iter().flat_map(Aggregator::octets));
            }
            Some(T::MpReachNlri) => {
                let next_hop = short_next_hop(attribute.value, family).unwrap_or_default();
                value.push(u8::try_from(next_hop.len()).expect("an octet told its length"));
                value.extend_from_slice(next_hop);
            }
            _ => {
                out.extend_from_slice(attribute.octets);
                continue;
            }
        }
        if !write_attribute(attribute.flags.0, attribute.number, &value, out) {
            return false;
        }
    }
    true
}
