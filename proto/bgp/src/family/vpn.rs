//! Routes of VPNs: a label, a route distinguisher, a prefix (RFC 4364 §4.3.4, RFC 4659 §3.2).

use super::label::LABEL_BYTES;
use super::labelled::{join, length, split};
use super::{LabelledPrefix, Layout, Row, WITHDRAWN_LABEL, all_recognized, show_prefix};
use crate::codec::{be16, be32};
use core::fmt;
use core::net::Ipv4Addr;

const RD_BITS: u8 = 64;

pub(super) const IPV4: Row = Row {
    afi: 1,
    safi: 128,
    name: "vpnv4",
    spec: "RFC 4364 §4.3.4",
    next_hops: &[12],
    next_hops_extended: &[16, 24, 32, 48],
    length: length::<RD_BITS, { RD_BITS + 32 }>,
    is_recognized: all_recognized,
    split,
    join,
    withdrawn_payload: |_| &WITHDRAWN_LABEL,
    show: show::<false>,
};

pub(super) const IPV6: Row = Row {
    afi: 2,
    name: "vpnv6",
    spec: "RFC 4659 §3.2",
    next_hops: &[24, 48],
    next_hops_extended: &[],
    length: length::<RD_BITS, { RD_BITS + 128 }>,
    show: show::<true>,
    ..IPV4
};

fn show<const IS_IPV6: bool>(key: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (Some(bits), Some(octets)) = (key.first(), key.get(1..9)) else { return Err(fmt::Error) };
    write!(f, "{}:", RouteDistinguisher::of(octets))?;
    show_prefix(&key[9..], bits.saturating_sub(RD_BITS), IS_IPV6, f)
}

/// A route distinguisher (RFC 4364 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteDistinguisher(pub [u8; 8]);

impl RouteDistinguisher {
    /// Its octets.
    pub const BYTES: usize = 8;

    /// Reads one; octets that lack are zero.
    #[must_use]
    pub fn of(octets: &[u8]) -> Self {
        Self(super::address(octets))
    }
}

impl fmt::Display for RouteDistinguisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = &self.0;
        match be16(octets, 0) {
            0 => write!(f, "{}:{}", be16(octets, 2), be32(octets, 4)),
            1 => write!(f, "{}:{}", Ipv4Addr::from(be32(octets, 2)), be16(octets, 6)),
            2 => write!(f, "{}:{}", be32(octets, 2), be16(octets, 6)),
            _ => super::show_hex(octets, f),
        }
    }
}

/// A route of a VPN, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VpnPrefix<'a> {
    /// The labels, and the distinguisher with the prefix.
    pub labelled: LabelledPrefix<'a>,
    /// The route distinguisher.
    pub distinguisher: RouteDistinguisher,
    /// Bits of the prefix.
    pub bits: u8,
    /// Its octets.
    pub octets: &'a [u8],
}

impl<'a> VpnPrefix<'a> {
    /// Octets that stand before the prefix: length, one label, distinguisher.
    pub const HEAD_BYTES: usize = 1 + LABEL_BYTES + RouteDistinguisher::BYTES;

    /// Reads a route of a VPN. `None` if it is malformed.
    #[must_use]
    pub fn read(wire: &'a [u8], layout: Layout) -> Option<Self> {
        let labelled = LabelledPrefix::read(wire, layout)?;
        let bits = labelled.bits.checked_sub(RD_BITS)?;
        let (head, octets) = labelled.octets.split_at_checked(RouteDistinguisher::BYTES)?;
        Some(Self { labelled, distinguisher: RouteDistinguisher::of(head), bits, octets })
    }
}
