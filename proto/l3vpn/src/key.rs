//! Keys of VPN routes and of those of a VRF: the one is the other behind a distinguisher.

use bgp::family::{Family, RouteDistinguisher};

/// Bits of a distinguisher, which the length of a VPN route counts.
const BITS: u8 = 64;

/// The families of VPNs, each with that of its VRFs.
pub(crate) const FAMILIES: [(Family, Family); 2] =
    [(Family::Vpnv4, Family::Ipv4Unicast), (Family::Vpnv6, Family::Ipv6Unicast)];

/// The family of VRFs for one of VPNs.
pub(crate) fn inner(family: Family) -> Option<Family> {
    FAMILIES.iter().find(|(vpn, _)| *vpn == family).map(|(_, inner)| *inner)
}

/// The family of VPNs for one of VRFs.
pub(crate) fn outer(family: Family) -> Option<Family> {
    FAMILIES.iter().find(|(_, inner)| *inner == family).map(|(vpn, _)| *vpn)
}

/// The distinguisher of a VPN route; its key in a VRF is written to `out`.
pub(crate) fn split(key: &[u8], out: &mut Vec<u8>) -> Option<RouteDistinguisher> {
    let (bits, rest) = key.split_first()?;
    let (distinguisher, prefix) = rest.split_at_checked(RouteDistinguisher::BYTES)?;
    out.clear();
    out.push(bits.checked_sub(BITS)?);
    out.extend_from_slice(prefix);
    Some(RouteDistinguisher::of(distinguisher))
}

/// Writes the key of a VPN route to `out`; `None` for a key that no VRF has.
pub(crate) fn join(distinguisher: RouteDistinguisher, key: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (bits, prefix) = key.split_first()?;
    out.clear();
    out.push(bits.checked_add(BITS)?);
    out.extend_from_slice(&distinguisher.0);
    out.extend_from_slice(prefix);
    Some(())
}
