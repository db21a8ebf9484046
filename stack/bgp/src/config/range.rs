//! Prefixes: from a range come peers that have no section of their own.

use std::net::IpAddr;

/// A range of a group: prefix, length, and the group's place in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Its first address.
    pub prefix: IpAddr,
    /// Bits that all of its addresses share.
    pub length: u8,
    /// The place of the group in the configuration.
    pub group: usize,
}

impl Range {
    /// Reads `10.1.0.0/16`; an address alone is a range of one. `None` when it is neither, or has
    /// bits behind its length.
    #[must_use]
    pub fn read(text: &str, group: usize) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().ok()?)),
            None => (text, None),
        };
        let prefix: IpAddr = address.parse().ok()?;
        let bits = if prefix.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(bits);
        let range = Self { prefix, length, group };
        (length <= bits && range.masked(prefix) == number(prefix).0).then_some(range)
    }

    fn masked(&self, address: IpAddr) -> u128 {
        let (octets, bits) = number(address);
        let keep = u32::from(self.length);
        if keep == 0 { 0 } else { octets >> (bits - keep) << (bits - keep) }
    }

    /// Whether `address` is of the range.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.prefix.is_ipv4()
            && self.masked(address) == self.masked(self.prefix)
    }

    /// Whether all of `inner` is of the range, and not the other way round.
    #[must_use]
    pub fn is_around(&self, inner: &Self) -> bool {
        self.length < inner.length && self.has(inner.prefix)
    }
}

/// An address as a number, and its bits.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    #[test]
    fn a_range_is_read_and_asked() {
        let range = Range::read("10.1.0.0/16", 0).expect("a range");
        assert!(range.has("10.1.255.1".parse().expect("an address")));
        assert!(!range.has("10.2.0.1".parse().expect("an address")));
        assert!(!range.has("::1".parse().expect("an address")));
        let all = Range::read("::/0", 0).expect("a range");
        assert!(all.has("2001:db8::1".parse().expect("an address")));
        for wrong in ["10.1.0.1/16", "10.0.0.0/33", "10.0.0/8", "", "::/129", "a/8"] {
            assert_eq!(Range::read(wrong, 0), None, "{wrong}");
        }
    }
}
