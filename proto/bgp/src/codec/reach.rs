//! MP_REACH_NLRI and MP_UNREACH_NLRI: routes of any family with their next hop (RFC 4760).

use super::be16;
use super::update::Context;
use crate::family::{Family, Layout, Routes};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Malformed;

/// Octets of AFI and SAFI.
const FAMILY_BYTES: usize = 3;

/// Routes and where they lead.
#[derive(Debug, Clone, Copy)]
pub struct Reach<'a> {
    /// The family.
    pub family: Family,
    /// The next hop, as it came.
    pub next_hop: &'a [u8],
    /// The routes.
    pub routes: Routes<'a>,
}

/// Routes that are no more.
#[derive(Debug, Clone, Copy)]
pub struct Unreach<'a> {
    /// The family.
    pub family: Family,
    /// The routes; none marks the end of the RIB (RFC 4724 §2).
    pub routes: Routes<'a>,
}

/// Why a multiprotocol attribute is not taken.
pub(super) enum Refused {
    /// Not even the family can be read.
    Broken(Malformed),
    /// The family's routes cannot be read.
    Family(Family, Malformed),
    /// The family was not negotiated: its routes are ignored.
    Ignored(Malformed),
}

fn family(value: &[u8], bytes_min: usize, context: &Context) -> Result<Family, Refused> {
    let spec = "RFC 7606 §5.3";
    if value.len() < bytes_min {
        return Err(Refused::Broken(Malformed::new(0, "the attribute is too short", spec)));
    }
    let ignored = |what| Refused::Ignored(Malformed::new(0, what, "RFC 4760 §8"));
    let family = Family::of(be16(value, 0), value[2]);
    let family = family.ok_or_else(|| ignored("the family is not known"))?;
    if !context.families.has(family) {
        return Err(ignored("the family was not negotiated"));
    }
    Ok(family)
}

impl<'a> Reach<'a> {
    pub(super) fn read(value: &'a [u8], context: &Context) -> Result<Self, Refused> {
        let family = family(value, FAMILY_BYTES + 2, context)?;
        let violation = |at, what, spec| Refused::Family(family, Malformed::new(at, what, spec));
        let length = usize::from(value[FAMILY_BYTES]);
        let (at, spec) = (FAMILY_BYTES, "RFC 7606 §7.11");
        if !family.takes_next_hop(length, context.extended_next_hop.has(family)) {
            return Err(violation(at, "the next hop does not have a length of the family", spec));
        }
        let Some((next_hop, rest)) = value[at + 1..].split_at_checked(length) else {
            return Err(violation(at, "the next hop is cut off", spec));
        };
        // One octet is reserved (RFC 4760 §3).
        let Some(field) = rest.get(1..) else {
            return Err(violation(at, "the next hop is cut off", spec));
        };
        let routes = Routes::new(family, context.layout(family, false), field);
        let before = value.len() - field.len();
        routes.check().map_err(|it| Refused::Family(family, it.shifted(before)))?;
        Ok(Self { family, next_hop, routes })
    }
}

impl<'a> Unreach<'a> {
    pub(super) fn read(value: &'a [u8], context: &Context) -> Result<Self, Refused> {
        let family = family(value, FAMILY_BYTES, context)?;
        let layout = Layout { withdrawn: true, ..context.layout(family, true) };
        let routes = Routes::new(family, layout, &value[FAMILY_BYTES..]);
        routes.check().map_err(|it| Refused::Family(family, it.shifted(FAMILY_BYTES)))?;
        Ok(Self { family, routes })
    }
}

/// A next hop, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    /// The address.
    pub address: IpAddr,
    /// The link-local address beside a global one (RFC 2545 §3).
    pub link_local: Option<Ipv6Addr>,
}

impl NextHop {
    /// Reads the octets of NEXT_HOP or of MP_REACH_NLRI: addresses, each behind a route
    /// distinguisher of zeros where the family has them (RFC 4364 §4.3.2, RFC 4659 §3.2.1).
    #[must_use]
    pub fn read(octets: &[u8]) -> Option<Self> {
        let v4 = |at: usize| octets[at..].first_chunk::<4>().copied().map(Ipv4Addr::from);
        let v6 = |at: usize| octets[at..].first_chunk::<16>().copied().map(Ipv6Addr::from);
        let (address, link_local) = match octets.len() {
            4 => (IpAddr::V4(v4(0)?), None),
            12 => (IpAddr::V4(v4(8)?), None),
            16 => (IpAddr::V6(v6(0)?), None),
            24 => (IpAddr::V6(v6(8)?), None),
            32 => (IpAddr::V6(v6(0)?), v6(16)),
            48 => (IpAddr::V6(v6(8)?), v6(32)),
            _ => return None,
        };
        Some(Self { address, link_local })
    }
}

impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        self.link_local.map_or(Ok(()), |it| write!(f, " ({it})"))
    }
}
