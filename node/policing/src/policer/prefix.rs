//! Addresses as the policer sees them: an IPv4 address, or the /64 of an IPv6 address, within
//! which a sender may choose freely (RFC 6177).

use machine::narrow::halves;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The place of an address in every table: IPv4 in the low half; the /64s that would meet there
/// (`::/32`) are no senders.
pub(super) fn place(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(ip) => u64::from(u32::from(ip)),
        IpAddr::V6(ip) => halves(ip.to_bits())[1],
    }
}

/// Spreads a place over a table by a secret: two folded multiplications, so that nobody can
/// choose addresses that meet.
pub(super) const fn spread(place: u64, secret: [u64; 2]) -> u64 {
    const fn fold(a: u64, b: u64) -> u64 {
        let [low, high] = halves((a as u128) * (b as u128));
        low ^ high
    }
    fold(fold(place ^ secret[0], secret[1] | 1) ^ secret[1], secret[0] | 1)
}

/// A range of addresses: `192.0.2.0/24`, `2001:db8::/32`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// Its first address and how many bits of it count.
    #[must_use]
    pub const fn parts(&self) -> (IpAddr, u8) {
        (self.address, self.bits)
    }

    /// Whether an address is in the range.
    #[must_use]
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                let shift = 32 - u32::from(self.bits);
                u32::from(own).checked_shr(shift) == u32::from(ip).checked_shr(shift)
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => {
                let shift = 128 - u32::from(self.bits);
                u128::from(own).checked_shr(shift) == u128::from(ip).checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl FromStr for Prefix {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| "a prefix begins with an IP address")?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| "after the slash stand bits")?;
        if bits > most { Err("more bits than the address has") } else { Ok(Self { address, bits }) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_holds_its_own() {
        let holds = |prefix: &str, address: &str| {
            prefix.parse::<Prefix>().unwrap().holds(address.parse().unwrap())
        };
        assert!(holds("192.0.2.0/24", "192.0.2.77") && !holds("192.0.2.0/24", "192.0.3.1"));
        assert!(holds("192.0.2.1", "192.0.2.1") && !holds("192.0.2.1", "192.0.2.2"));
        assert!(holds("0.0.0.0/0", "203.0.113.9") && !holds("0.0.0.0/0", "2001:db8::1"));
        assert!(holds("2001:db8::/32", "2001:db8:1::1") && !holds("::1/128", "::2"));
        assert!(holds("192.0.2.0/24", "::ffff:192.0.2.1"), "the same host by another name");
        for wrong in ["192.0.2.0/33", "x/8", "192.0.2.0/", "::/129", "192.0.2.0/-1"] {
            assert!(wrong.parse::<Prefix>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn whoever_may_choose_within_a_64_has_one_place() {
        let place = |text: &str| place(text.parse().unwrap());
        assert_eq!(place("2001:db8::1"), place("2001:db8::ffff:2"));
        assert_ne!(place("2001:db8::1"), place("2001:db8:0:1::1"));
        assert_eq!(place("::ffff:192.0.2.1"), place("192.0.2.1"));
    }
}
