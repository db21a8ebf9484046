//! What attributes become on their way into a VRF and out of it.

use bgp::codec::{AttributeType, Attributes, Edit, ExtendedCommunity, rewrite};
use bgp::family::Family;
use core::net::Ipv4Addr;

/// Attributes that were rewritten, with what they were made of: routes that follow each other
/// mostly have the same. Those of another family may have the same too, and become others.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    from: (Option<Family>, Vec<u8>, Vec<u8>),
    /// They are fit to be used.
    is_good: bool,
    pub(crate) attributes: Vec<u8>,
    pub(crate) next_hop: Vec<u8>,
}

impl Rewritten {
    /// Makes them of these by `make`, unless they were; whether they can be used.
    pub(crate) fn of(
        &mut self,
        family: Family,
        attributes: &[u8],
        next_hop: &[u8],
        make: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>) -> bool,
    ) -> bool {
        let (of, from, hop) = &mut self.from;
        if *of != Some(family) || *from != attributes || *hop != next_hop || !self.is_good {
            *of = Some(family);
            from.clear();
            from.extend_from_slice(attributes);
            hop.clear();
            hop.extend_from_slice(next_hop);
            self.attributes.clear();
            self.next_hop.clear();
            self.is_good = make(&mut self.attributes, &mut self.next_hop);
        }
        self.is_good
    }

    /// They are to be made anew.
    pub(crate) fn forget(&mut self) {
        self.is_good = false;
    }
}

/// The extended communities without route targets.
fn without_targets(attributes: &[u8]) -> Vec<u8> {
    let value = Attributes::new(attributes).value(AttributeType::ExtendedCommunities);
    let all = ExtendedCommunity::all(value.unwrap_or_default());
    all.filter(|it| !it.is_route_target()).flat_map(|it| it.0).collect()
}

/// Octets of an extended community of attribute 25, and how a route target among them begins
/// (RFC 5701 §2, §3).
const IPV6_COMMUNITY_BYTES: usize = 20;
const IPV6_ROUTE_TARGET: [u8; 2] = [0, 2];

/// Those with an IPv6 address without route targets.
fn without_ipv6_targets(attributes: &[u8]) -> Vec<u8> {
    let value = Attributes::new(attributes).value(AttributeType::Ipv6ExtendedCommunities);
    let all = value.unwrap_or_default().as_chunks::<IPV6_COMMUNITY_BYTES>().0;
    all.iter().filter(|it| !it.starts_with(&IPV6_ROUTE_TARGET)).flatten().copied().collect()
}

/// Those of a VPN route in a VRF: without route targets, which concern edges alone; its next hop
/// without a distinguisher.
pub(crate) fn imported(
    attributes: &[u8],
    next_hop: &[u8],
    out: &mut Vec<u8>,
    hop: &mut Vec<u8>,
) -> bool {
    let (communities, of_ipv6) = (without_targets(attributes), without_ipv6_targets(attributes));
    match next_hop.len() {
        12 | 24 => hop.extend_from_slice(&next_hop[8..]),
        48 => {
            hop.extend_from_slice(&next_hop[8..24]);
            hop.extend_from_slice(&next_hop[32..]);
        }
        _ => hop.extend_from_slice(next_hop),
    }
    let edits = [
        edit(AttributeType::ExtendedCommunities, &communities),
        edit(AttributeType::Ipv6ExtendedCommunities, &of_ipv6),
    ];
    rewrite(attributes, &edits, out)
}

/// A value in place of another one; an empty one is none.
fn edit(kind: AttributeType, value: &[u8]) -> Edit<'_> {
    Edit { kind, value: (!value.is_empty()).then_some(value) }
}

/// Those of a route of a VRF towards other edges: with the export targets in place of those that a
/// customer may have told, our own address as the next hop (RFC 4364 §4.3.2, RFC 4659 §3.2.1.1).
pub(crate) fn exported(
    attributes: &[u8],
    targets: &[ExtendedCommunity],
    own: Ipv4Addr,
    is_ipv6: bool,
    out: &mut Vec<u8>,
    hop: &mut Vec<u8>,
) -> bool {
    let mut communities = without_targets(attributes);
    communities.extend(targets.iter().flat_map(|it| it.0));
    let of_ipv6 = without_ipv6_targets(attributes);
    hop.extend_from_slice(&[0; 8]);
    match is_ipv6 {
        true => hop.extend_from_slice(&own.to_ipv6_mapped().octets()),
        false => hop.extend_from_slice(&own.octets()),
    }
    let edits = [
        edit(AttributeType::NextHop, &[]),
        edit(AttributeType::ExtendedCommunities, &communities),
        edit(AttributeType::Ipv6ExtendedCommunities, &of_ipv6),
    ];
    rewrite(attributes, &edits, out)
}
