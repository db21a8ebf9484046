//! Communities of four, eight and twelve octets (RFC 1997, RFC 4360, RFC 8092).

use super::{be16, be32};
use core::fmt;
use core::net::Ipv4Addr;

wire::rows! {
    /// Communities that mean the same everywhere.
    pub enum WellKnownCommunity: u32 {
        /// The path is about to go: prefer another.
        GracefulShutdown = 0xFFFF_0000, "graceful-shutdown", "RFC 8326 §4";
        /// The path is stale for long.
        LlgrStale = 0xFFFF_0006, "llgr-stale", "RFC 9494 §4.6";
        /// The path shall not become stale for long.
        NoLlgr = 0xFFFF_0007, "no-llgr", "RFC 9494 §4.7";
        /// Drop what goes there.
        Blackhole = 0xFFFF_029A, "blackhole", "RFC 7999 §5";
        /// Not out of the AS, or the confederation.
        NoExport = 0xFFFF_FF01, "no-export", "RFC 1997";
        /// To nobody.
        NoAdvertise = 0xFFFF_FF02, "no-advertise", "RFC 1997";
        /// Not out of the AS.
        NoExportSubconfed = 0xFFFF_FF03, "no-export-subconfed", "RFC 1997";
        /// Not to bilateral peers.
        NoPeer = 0xFFFF_FF04, "no-peer", "RFC 3765 §2";
    }
}

/// A community.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Community(pub u32);

impl Community {
    /// Those of the value of COMMUNITIES.
    pub fn all(value: &[u8]) -> impl Iterator<Item = Self> {
        value.chunks_exact(4).map(|octets| Self(be32(octets, 0)))
    }
}

impl fmt::Display for Community {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match WellKnownCommunity::of(self.0) {
            Some(known) => f.write_str(known.name()),
            None => write!(f, "{}:{}", self.0 >> 16, self.0 & 0xFFFF),
        }
    }
}

/// An extended community.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtendedCommunity(pub [u8; 8]);

/// Reads who gives a number, and the number: `65000:1`, `192.0.2.1:1` or `4200000000:1`. The type
/// of a distinguisher or a community, and six octets (RFC 4360 §3, RFC 4364 §4.2).
#[must_use]
pub fn administered(text: &str) -> Option<(u8, [u8; 6])> {
    let (administrator, number) = text.split_once(':')?;
    let mut octets = [0; 6];
    let four = |octets: &mut [u8; 6], first: u32, number: &str| -> Option<()> {
        octets[..4].copy_from_slice(&first.to_be_bytes());
        octets[4..].copy_from_slice(&number.parse::<u16>().ok()?.to_be_bytes());
        Some(())
    };
    if let Ok(address) = administrator.parse::<Ipv4Addr>() {
        four(&mut octets, address.to_bits(), number)?;
        return Some((1, octets));
    }
    if let Ok(asn) = administrator.parse::<u16>() {
        octets[..2].copy_from_slice(&asn.to_be_bytes());
        octets[2..].copy_from_slice(&number.parse::<u32>().ok()?.to_be_bytes());
        return Some((0, octets));
    }
    four(&mut octets, administrator.parse().ok()?, number)?;
    Some((2, octets))
}

impl ExtendedCommunity {
    /// An opaque community: a colour, an encapsulation, a default gateway (RFC 4360 §3.3).
    const OPAQUE: u8 = 3;
    /// A community of EVPN (RFC 7432 §7).
    const EVPN: u8 = 6;
    /// Subtype of a route target.
    const ROUTE_TARGET: u8 = 2;
    /// Subtype of a route origin.
    const ROUTE_ORIGIN: u8 = 3;

    /// The route target `65000:1`, `192.0.2.1:1` or `4200000000:1` (RFC 4360 §4).
    #[must_use]
    pub fn route_target(text: &str) -> Option<Self> {
        administered(text)
            .map(|(kind, [a, b, c, d, e, f])| Self([kind, Self::ROUTE_TARGET, a, b, c, d, e, f]))
    }

    /// The route origin of a site, written as a target is (RFC 4360 §5).
    #[must_use]
    pub fn route_origin(text: &str) -> Option<Self> {
        administered(text)
            .map(|(kind, [a, b, c, d, e, f])| Self([kind, Self::ROUTE_ORIGIN, a, b, c, d, e, f]))
    }

    /// Those of the value of EXTENDED_COMMUNITIES.
    pub fn all(value: &[u8]) -> impl Iterator<Item = Self> {
        value.as_chunks::<8>().0.iter().map(|octets| Self(*octets))
    }

    /// Whether it is a route target: of a two-octet AS, an address or a four-octet AS
    /// (RFC 4360 §4).
    #[must_use]
    pub const fn is_route_target(self) -> bool {
        matches!(self.0[0], 0..=2) && self.0[1] == Self::ROUTE_TARGET
    }

    /// Whether it says how a provider's core carries packets, as attributes may
    /// ([`super::AttributeType::steers_core`]): it is opaque (a colour chooses a policy of segment
    /// routing, RFC 9256 §8.4), or of EVPN.
    #[must_use]
    pub const fn steers_core(self) -> bool {
        matches!(self.0[0] & !0x40, Self::OPAQUE | Self::EVPN)
    }

    /// Whether it leaves the AS (RFC 4360 §2).
    #[must_use]
    pub const fn is_transitive(self) -> bool {
        self.0[0] & 0x40 == 0
    }
}

impl fmt::Display for ExtendedCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = &self.0;
        match octets[1] {
            Self::ROUTE_TARGET if octets[0] < 3 => f.write_str("rt:")?,
            Self::ROUTE_ORIGIN if octets[0] < 3 => f.write_str("ro:")?,
            _ => return write!(f, "0x{:016x}", u64::from_be_bytes(*octets)),
        }
        match octets[0] {
            0 => write!(f, "{}:{}", be16(octets, 2), be32(octets, 4)),
            1 => write!(f, "{}:{}", Ipv4Addr::from(be32(octets, 2)), be16(octets, 6)),
            _ => write!(f, "{}:{}", be32(octets, 2), be16(octets, 6)),
        }
    }
}

/// A large community.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LargeCommunity {
    /// Whose it is.
    pub administrator: u32,
    /// The first number.
    pub data1: u32,
    /// The second number.
    pub data2: u32,
}

impl LargeCommunity {
    /// Those of the value of LARGE_COMMUNITY.
    pub fn all(value: &[u8]) -> impl Iterator<Item = Self> {
        value.chunks_exact(12).map(|octets| {
            let [administrator, data1, data2] = [0, 4, 8].map(|at| be32(octets, at));
            Self { administrator, data1, data2 }
        })
    }
}

impl fmt::Display for LargeCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.administrator, self.data1, self.data2)
    }
}
