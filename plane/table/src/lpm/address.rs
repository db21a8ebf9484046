//! Addresses and prefixes of both families, most significant bit first.

use std::fmt::Debug;
use std::hash::Hash;

/// An address as a number in the host's order: `u32` is IPv4, `u128` IPv6.
pub trait Address: Copy + Ord + Hash + Debug + Default + Send + Sync + 'static {
    /// Bits of an address.
    const BITS: u8;

    /// The address without what follows its first `length` bits.
    #[must_use]
    fn masked(self, length: u8) -> Self;

    /// Sixteen bits from `offset` on, a multiple of 16 below [`Address::BITS`].
    #[must_use]
    fn chunk(self, offset: u32) -> u16;

    /// The address at the high end of 128 bits.
    #[must_use]
    fn widened(self) -> u128;

    /// The address that is at the high end of 128 bits.
    #[must_use]
    fn narrowed(wide: u128) -> Self;

    /// The first 24 bits.
    #[must_use]
    fn first_24(self) -> u32;
}

impl Address for u32 {
    const BITS: u8 = 32;

    #[inline]
    fn masked(self, length: u8) -> Self {
        self & u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
    }

    #[inline]
    fn chunk(self, offset: u32) -> u16 {
        (self >> (16 - (offset & 16)) & 0xFFFF) as u16
    }

    #[inline]
    fn widened(self) -> u128 {
        u128::from(self) << 96
    }

    #[inline]
    fn narrowed(wide: u128) -> Self {
        (wide >> 96) as u32
    }

    #[inline]
    fn first_24(self) -> u32 {
        self >> 8
    }
}

impl Address for u128 {
    const BITS: u8 = 128;

    #[inline]
    fn masked(self, length: u8) -> Self {
        self & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
    }

    #[inline]
    fn chunk(self, offset: u32) -> u16 {
        (self >> (112 - (offset & 112)) & 0xFFFF) as u16
    }

    #[inline]
    fn widened(self) -> u128 {
        self
    }

    #[inline]
    fn narrowed(wide: u128) -> Self {
        wide
    }

    #[inline]
    fn first_24(self) -> u32 {
        (self >> 104) as u32
    }
}

/// The addresses that share their first `length` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix<A> {
    address: A,
    length: u8,
}

impl<A: Address> Prefix<A> {
    /// The prefix of `address`, whose bits past `length` do not count; `None` if the family has
    /// no such length.
    #[must_use]
    pub fn new(address: A, length: u8) -> Option<Self> {
        (length <= A::BITS).then(|| Self { address: address.masked(length), length })
    }

    /// The first address.
    #[must_use]
    pub const fn address(&self) -> A {
        self.address
    }

    /// Bits that count.
    #[must_use]
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// Whether the address is one of the prefix's.
    #[must_use]
    pub fn has(&self, address: A) -> bool {
        address.masked(self.length) == self.address
    }

    /// The shorter prefix with the same first `length` bits.
    #[must_use]
    pub fn shortened(&self, length: u8) -> Self {
        let length = length.min(self.length);
        Self { address: self.address.masked(length), length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_the_addresses_that_share_its_bits() {
        let ten = Prefix::new(0x0a01_0203_u32, 8).unwrap();
        assert_eq!((ten.address(), ten.length()), (0x0a00_0000, 8));
        assert!(ten.has(0x0aff_ffff) && !ten.has(0x0b00_0000));
        assert!(Prefix::new(7_u32, 0).unwrap().has(u32::MAX));
        assert_eq!(Prefix::new(7_u32, 33), None);
        let documentation = Prefix::new(0x2001_0db8_u128 << 96, 32).unwrap();
        assert_eq!(documentation.shortened(16).address(), 0x2001 << 112);
        assert!(Prefix::new(0_u128, 0).unwrap().has(u128::MAX));
    }

    #[test]
    fn chunks_are_the_bits_in_the_order_of_the_wire() {
        assert_eq!((0x0a01_0203_u32.chunk(0), 0x0a01_0203_u32.chunk(16)), (0x0a01, 0x0203));
        let address = 0x2001_0db8_0003_0004_0005_0006_0007_0008_u128;
        let chunks: Vec<u16> = (0..8).map(|at| address.chunk(at * 16)).collect();
        assert_eq!(chunks, [0x2001, 0x0db8, 3, 4, 5, 6, 7, 8]);
    }
}
