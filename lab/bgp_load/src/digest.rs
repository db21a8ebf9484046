//! What is held, as a number that does not depend on the order in which it came.

use bgp::codec::{self, AttributeType};
use bgp::family::{Family, Ipv4Prefix};
use xxhash_rust::xxh3::xxh3_64;

/// Two numbers become one.
#[inline]
pub(crate) const fn mix(one: u64, other: u64) -> u64 {
    let one = one ^ 0xA076_1D64_78BD_642F;
    let other = other ^ 0xE703_7ED1_A0B4_28DB;
    let product = (one as u128).wrapping_mul(other as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The number of an IPv4 prefix with its path identifier.
#[inline]
pub(crate) fn ipv4_key(path_id: u32, prefix: Ipv4Prefix) -> u64 {
    mix(prefix.packed(), u64::from(path_id))
}

/// The number of any other route's key with its path identifier.
#[inline]
pub(crate) fn key(family: Family, path_id: u32, octets: &[u8]) -> u64 {
    mix(xxh3_64(octets), (family as u64 + 1) << 32 | u64::from(path_id))
}

/// An attribute set as a number: type and value of each attribute count, neither the order nor how
/// its length is written. The next hop counts as NEXT_HOP, wherever it stood. A MULTI_EXIT_DISC of
/// zero is none (RFC 4271 §9.1.2.2): FRR adds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes(u64);

impl Attributes {
    /// Of octets as [`codec::Update::canonical`] gives them.
    #[must_use]
    pub fn of(octets: &[u8]) -> Self {
        let mut all = Self::default();
        for attribute in codec::Attributes::new(octets).map_while(Result::ok) {
            all.add(attribute.number, attribute.value);
        }
        all
    }

    /// The same with one more.
    #[must_use]
    pub fn with(mut self, kind: AttributeType, value: &[u8]) -> Self {
        self.add(kind.number(), value);
        self
    }

    fn add(&mut self, number: u8, value: &[u8]) {
        if number == AttributeType::MultiExitDisc.number() && value == [0; 4] {
            return;
        }
        self.0 = self.0.wrapping_add(mix(xxh3_64(value), u64::from(number)));
    }

    /// What a table keeps of it and of the route's payload; never zero.
    #[inline]
    pub(crate) fn tag(self, payload: &[u8]) -> u32 {
        let whole = if payload.is_empty() { self.0 } else { mix(self.0, xxh3_64(payload)) };
        (((whole >> 32) ^ whole) as u32).max(1)
    }
}

/// Routes that are held: how many, and a checksum over all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// The checksum, which does not depend on the order.
    pub checksum: u64,
    /// How many.
    pub held: u64,
}

impl Sum {
    /// One more route.
    #[inline]
    pub(crate) const fn add(&mut self, key: u64, tag: u32) {
        self.checksum = self.checksum.wrapping_add(mix(key, tag as u64));
        self.held += 1;
    }

    /// One less.
    #[inline]
    pub(crate) const fn remove(&mut self, key: u64, tag: u32) {
        self.checksum = self.checksum.wrapping_sub(mix(key, tag as u64));
        self.held = self.held.wrapping_sub(1);
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let checksum = self.checksum.wrapping_add(other.checksum);
        Self { checksum, held: self.held.wrapping_add(other.held) }
    }

    /// This one without the other, which is part of it.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        let checksum = self.checksum.wrapping_sub(other.checksum);
        Self { checksum, held: self.held.wrapping_sub(other.held) }
    }
}
