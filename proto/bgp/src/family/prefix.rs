//! IPv4 and IPv6 prefixes: five and seventeen octets in a table, a length and as many octets as it
//! needs on the wire (RFC 4271 §4.3, RFC 4760 §5).

use super::{
    Layout, Row, all_recognized, no_payload, octets_of, put_masked, show_prefix, split_whole,
};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use wire::Malformed;

const SPEC: &str = "RFC 7606 §5.3";

pub(super) const IPV4_UNICAST: Row = row(1, 1, "ipv4-unicast", "RFC 4271 §4.3");
pub(super) const IPV6_UNICAST: Row = row(2, 1, "ipv6-unicast", "RFC 2545 §3");
pub(super) const IPV4_MULTICAST: Row = row(1, 2, "ipv4-multicast", "RFC 4760 §6");
pub(super) const IPV6_MULTICAST: Row = row(2, 2, "ipv6-multicast", "RFC 4760 §6");

const fn row(afi: u16, safi: u8, name: &'static str, spec: &'static str) -> Row {
    let is_ipv4 = afi == 1;
    Row {
        afi,
        safi,
        name,
        spec,
        next_hops: if is_ipv4 { &[4] } else { &[16, 32] },
        next_hops_extended: if is_ipv4 { &[16, 32] } else { &[] },
        length: if is_ipv4 { length::<32> } else { length::<128> },
        is_recognized: all_recognized,
        split,
        join: super::join_whole,
        withdrawn_payload: no_payload,
        show: if is_ipv4 { show::<false> } else { show::<true> },
    }
}

/// Octets of the prefix of at most `MAX` bits that begins here.
#[inline]
pub(super) fn length<const MAX: u8>(bytes: &[u8], _: Layout) -> Result<usize, Malformed> {
    let Some(&bits) = bytes.first() else {
        return Err(Malformed::new(0, "the length of a prefix lacks", SPEC));
    };
    if bits > MAX {
        return Err(Malformed::new(0, "the prefix is longer than an address", SPEC));
    }
    let octets = 1 + octets_of(bits);
    if octets > bytes.len() {
        return Err(Malformed::new(0, "the prefix is cut off", SPEC));
    }
    Ok(octets)
}

fn split(wire: &[u8], layout: Layout, key: &mut Vec<u8>, payload: &mut Vec<u8>) {
    if wire[0].is_multiple_of(8) {
        return split_whole(wire, layout, key, payload);
    }
    put_masked(wire, wire[0], key);
}

fn show<const IS_IPV6: bool>(key: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some((bits, octets)) = key.split_first() else { return Err(fmt::Error) };
    show_prefix(octets, *bits, IS_IPV6, f)
}

macro_rules! prefix {
    (
        $(#[$doc:meta])*
        $name:ident, $address:ident, $number:ident, $octets:literal, $bits:literal
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            octets: [u8; $octets],
            bits: u8,
        }

        impl $name {
            /// Bits of an address.
            pub const BITS_MAX: u8 = $bits;

            /// The prefix of `address`; what lies behind `bits` is cleared. `None` if no address
            /// has so many bits.
            #[inline]
            #[must_use]
            pub const fn new(address: $address, bits: u8) -> Option<Self> {
                if bits > $bits {
                    return None;
                }
                Some(Self::masked(address.to_bits(), bits))
            }

            /// The prefix of a number, whose `bits` are at most those of an address.
            #[inline]
            const fn masked(number: $number, bits: u8) -> Self {
                let mask = if bits == 0 { 0 } else { $number::MAX << ($bits - bits) };
                Self { octets: (number & mask).to_be_bytes(), bits }
            }

            /// Reads the prefix that begins here, and how many octets it takes. `None` if it is
            /// malformed.
            #[inline]
            #[must_use]
            pub fn read(wire: &[u8]) -> Option<(Self, usize)> {
                let (&bits, rest) = wire.split_first()?;
                if bits > $bits {
                    return None;
                }
                let taken = octets_of(bits);
                let octets = match rest.first_chunk::<$octets>() {
                    Some(octets) => *octets,
                    None => super::address(rest.get(..taken)?),
                };
                Some((Self::masked($number::from_be_bytes(octets), bits), 1 + taken))
            }

            /// Appends it as it stands on the wire.
            #[inline]
            pub fn write(self, out: &mut Vec<u8>) {
                let mut wire = [0; 1 + $octets];
                wire[0] = self.bits;
                wire[1..].copy_from_slice(&self.octets);
                let length = out.len() + 1 + octets_of(self.bits);
                out.extend_from_slice(&wire);
                out.truncate(length);
            }

            /// The address it begins with.
            #[must_use]
            pub const fn address(self) -> $address {
                $address::from_bits($number::from_be_bytes(self.octets))
            }

            /// Its length.
            #[inline]
            #[must_use]
            pub const fn bits(self) -> u8 {
                self.bits
            }

            /// Octets it takes on the wire.
            #[inline]
            #[must_use]
            pub const fn wire_bytes(self) -> usize {
                1 + octets_of(self.bits)
            }

            /// Whether every address of `other` lies in it.
            #[must_use]
            pub const fn covers(self, other: Self) -> bool {
                let cut = Self::masked($number::from_be_bytes(other.octets), self.bits);
                self.bits <= other.bits
                    && $number::from_be_bytes(cut.octets) == $number::from_be_bytes(self.octets)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}/{}", self.address(), self.bits)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

prefix! {
    /// An IPv4 prefix in five octets. Ordered by address, the shorter before the longer.
    Ipv4Prefix, Ipv4Addr, u32, 4, 32
}

prefix! {
    /// An IPv6 prefix in seventeen octets. Ordered by address, the shorter before the longer.
    Ipv6Prefix, Ipv6Addr, u128, 16, 128
}

impl Ipv4Prefix {
    /// Address and length as one number, in the order of the prefixes: 40 bits, for hashing.
    #[inline]
    #[must_use]
    pub const fn packed(self) -> u64 {
        (u32::from_be_bytes(self.octets) as u64) << 8 | self.bits as u64
    }
}

const _: () = assert!(size_of::<Ipv4Prefix>() == 5 && size_of::<Ipv6Prefix>() == 17);
