//! Keys of sessions, packed into words, and the seeded hash that spreads them.

use machine::narrow::{half, halves};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A key of `W` words of 64 bits. What the words mean is the affair of who fills them: the
/// constructors here serve the usual sessions, and one table holds keys of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Key<const W: usize>(pub [u64; W]);

impl Key<1> {
    /// A GTP tunnel by its TEID and the local address it ends at (TS 29.281 §4.2.1).
    #[must_use]
    pub const fn tunnel(address: Ipv4Addr, teid: u32) -> Self {
        Self([(address.to_bits() as u64) << 32 | teid as u64])
    }

    /// An IPsec security association by destination and SPI (RFC 4301 §4.1).
    #[must_use]
    pub const fn association(destination: Ipv4Addr, spi: u32) -> Self {
        Self([(destination.to_bits() as u64) << 32 | spi as u64])
    }

    /// A media stream by the local port it comes to and its SSRC (RFC 3550 §5.1).
    #[must_use]
    pub const fn stream(port: u16, ssrc: u32) -> Self {
        Self([(port as u64) << 32 | ssrc as u64])
    }
}

impl Key<2> {
    /// An IPv4 flow: addresses, ports (source, destination), protocol.
    #[must_use]
    pub const fn flow(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        ports: (u16, u16),
        protocol: u8,
    ) -> Self {
        let addresses = (source.to_bits() as u64) << 32 | destination.to_bits() as u64;
        Self([addresses, (ports.0 as u64) << 24 | (ports.1 as u64) << 8 | protocol as u64])
    }
}

impl Key<3> {
    /// An IPsec security association by IPv6 destination and SPI.
    #[must_use]
    pub const fn association_v6(destination: Ipv6Addr, spi: u32) -> Self {
        let [low, high] = halves(destination.to_bits());
        Self([high, low, spi as u64])
    }
}

impl Key<5> {
    /// An IPv6 flow: addresses, ports (source, destination), protocol.
    #[must_use]
    pub const fn flow_v6(
        source: Ipv6Addr,
        destination: Ipv6Addr,
        ports: (u16, u16),
        protocol: u8,
    ) -> Self {
        let [s_low, s_high] = halves(source.to_bits());
        let [d_low, d_high] = halves(destination.to_bits());
        let rest = (ports.0 as u64) << 24 | (ports.1 as u64) << 8 | protocol as u64;
        Self([s_high, s_low, d_high, d_low, rest])
    }
}

/// The hash of one table: two secrets from its seed, so that nobody outside can aim at a bucket.
#[derive(Clone, Copy)]
pub(crate) struct Hash([u64; 2]);

impl Hash {
    pub(crate) fn new(seed: u64) -> Self {
        // SplitMix64, as its author gives it.
        let mix = |seed: u64| {
            let a = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            b ^ (b >> 31)
        };
        let first = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        Self([mix(first), mix(first.wrapping_add(0x9E37_79B9_7F4A_7C15)) | 1])
    }

    /// 64 well-mixed bits of a key.
    #[inline(always)]
    pub(crate) fn of<const W: usize>(self, key: &Key<W>) -> u64 {
        let mut hash = self.0[0];
        for word in key.0 {
            hash = fold(hash ^ word, self.0[1]);
        }
        fold(hash, 0xA076_1D64_78BD_642F)
    }

    /// The part of a hash that stands in a head; never 0, which means an empty slot.
    #[inline(always)]
    pub(crate) fn tag(hash: u64) -> u32 {
        half(hash).max(1)
    }
}

/// The two halves of a product, folded together (Wang Yi's wyhash).
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let [low, high] = halves(u128::from(a) * u128::from(b));
    low ^ high
}
