//! How far next hops are, from here and from other locations (RFC 4271 §9.1.2.1, RFC 9107).

use crate::next_hops;
use core::net::IpAddr;
use hashbrown::HashMap;

/// Bits of an address, as a number in front of which IPv4 is padded with zeros.
fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

/// The metrics of next hops as one location sees them, by prefix; the longest one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// By width of the address, length and prefix.
    prefixes: HashMap<(u8, u8, u128), u32>,
    /// Lengths that there are, the longest first.
    lengths: Vec<u8>,
}

impl Location {
    /// Prefixes with their metrics. Without any, every next hop is reachable with metric zero.
    #[must_use]
    pub fn new(metrics: &[(IpAddr, u8, u32)]) -> Self {
        let mut location = Self::default();
        for &(address, length, metric) in metrics {
            let (all, width) = bits(address);
            let length = length.min(width);
            location.prefixes.insert((width, length, masked(all, width, length)), metric);
            location.lengths.push(length);
        }
        location.lengths.sort_unstable_by(|a, b| b.cmp(a));
        location.lengths.dedup();
        location
    }

    /// The metric of a next hop; `None` if it cannot be reached.
    #[must_use]
    pub fn metric(&self, next_hop: IpAddr) -> Option<u32> {
        if self.prefixes.is_empty() {
            return Some(0);
        }
        let (all, width) = bits(next_hop);
        let lengths = self.lengths.iter().filter(|length| **length <= width);
        let mut keys = lengths.map(|&length| (width, length, masked(all, width, length)));
        keys.find_map(|key| self.prefixes.get(&key).copied())
    }
}

fn masked(all: u128, width: u8, length: u8) -> u128 {
    let rest = u32::from(width - length);
    all.checked_shr(rest).unwrap_or(0).checked_shl(rest).unwrap_or(0)
}

/// The locations by number: number 0 is the reflector's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics(pub Vec<Location>);

impl Metrics {
    /// The metric of a route's next hop, of MP_REACH_NLRI or of NEXT_HOP, from a location; `None`
    /// if it cannot be reached. Locations that are not known see what the reflector sees.
    pub(crate) fn of_route(
        &self,
        location: u32,
        attributes: &[u8],
        next_hop: &[u8],
    ) -> Option<u32> {
        let Some(location) = self.0.get(location as usize).or_else(|| self.0.first()) else {
            return Some(0);
        };
        // A route without next hop leads nowhere that could be far.
        next_hops::address(attributes, next_hop).map_or(Some(0), |hop| location.metric(hop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts_and_what_has_none_is_unreachable() {
        let prefix = |text: &str, length, metric| (text.parse().unwrap(), length, metric);
        let location = Location::new(&[
            prefix("10.0.0.0", 8, 30),
            prefix("10.1.0.0", 16, 20),
            prefix("10.1.2.3", 32, 0),
            prefix("2001:db8::", 32, 5),
        ]);
        let metric = |text: &str| location.metric(text.parse().unwrap());
        assert_eq!(metric("10.9.9.9"), Some(30));
        assert_eq!(metric("10.1.9.9"), Some(20));
        assert_eq!(metric("10.1.2.3"), Some(0));
        assert_eq!(metric("2001:db8::1"), Some(5));
        assert_eq!((metric("11.0.0.0"), metric("2001:db9::1")), (None, None));
        assert_eq!(Location::default().metric("11.0.0.0".parse().unwrap()), Some(0));
    }
}
