//! The validated prefixes, and what they say about a route (RFC 6811).

use crate::index::Address;
use crate::pdu::{Vrp4, Vrp6};
use crate::tree::{Record, Tree};
use bgp::codec::Asn;
use bgp::family::{Ipv4Prefix, Ipv6Prefix};

/// Records of one cache at most. Today's Internet has 600,000.
pub const VRPS_MAX: usize = 4_000_000;

wire::rows! {
    /// What the records say about a route.
    pub enum Validity {
        /// A record covers it and allows its origin and length.
        Valid = "valid", "RFC 6811 §2";
        /// No record covers it.
        NotFound = "not-found", "RFC 6811 §2";
        /// Records cover it, and none allows it.
        Invalid = "invalid", "RFC 6811 §2";
    }
}

/// A change: a record comes, or it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change<V> {
    /// The record.
    pub vrp: V,
    /// It comes.
    pub comes: bool,
}

/// Prefixes that changed: the state of routes that lie in one of them may be another now, of all
/// others it is the same. Sorted; none lies in another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delta {
    /// Of IPv4.
    pub ipv4: Vec<Ipv4Prefix>,
    /// Of IPv6.
    pub ipv6: Vec<Ipv6Prefix>,
}

impl Delta {
    /// Whether nothing changed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ipv4.is_empty() && self.ipv6.is_empty()
    }

    /// Whether the state of a route to `prefix` may have changed.
    #[must_use]
    pub fn concerns_ipv4(&self, prefix: Ipv4Prefix) -> bool {
        let before = self.ipv4.partition_point(|it| *it <= prefix);
        before > 0 && self.ipv4[before - 1].covers(prefix)
    }

    /// Whether the state of a route to `prefix` may have changed.
    #[must_use]
    pub fn concerns_ipv6(&self, prefix: Ipv6Prefix) -> bool {
        let before = self.ipv6.partition_point(|it| *it <= prefix);
        before > 0 && self.ipv6[before - 1].covers(prefix)
    }
}

/// The validated prefixes. Memory: 16 octets for a record of IPv4, 32 for one of IPv6, and two to
/// four for the index.
#[derive(Debug, Clone, Default)]
pub struct Table {
    ipv4: Tree<u32>,
    ipv6: Tree<u128>,
}

fn record4(vrp: &Vrp4) -> Record<u32> {
    let (address, bits) = (vrp.prefix.address().to_bits(), vrp.prefix.bits());
    Record { address, bits, max: vrp.max, asn: vrp.asn }
}

fn record6(vrp: &Vrp6) -> Record<u128> {
    let (address, bits) = (vrp.prefix.address().to_bits(), vrp.prefix.bits());
    Record { address, bits, max: vrp.max, asn: vrp.asn }
}

fn prefix4(address: u32, bits: u8) -> Option<Ipv4Prefix> {
    Ipv4Prefix::new(address.into(), bits)
}

fn prefix6(address: u128, bits: u8) -> Option<Ipv6Prefix> {
    Ipv6Prefix::new(address.into(), bits)
}

#[inline]
fn judge<A: Address>(tree: &Tree<A>, address: A, bits: u8, origin: Option<Asn>) -> Validity {
    let mut state = Validity::NotFound;
    for record in tree.covering(address, bits) {
        // RFC 6811 §2, RFC 6483 §4: AS 0 matches nobody, and so does a path without an origin.
        if record.asn != 0 && Some(record.asn) == origin && bits <= record.max {
            return Validity::Valid;
        }
        state = Validity::Invalid;
    }
    state
}

/// The changes in the order of the records, of each record the last one.
fn sorted<A: Address>(changes: impl Iterator<Item = (Record<A>, bool)>) -> Vec<(Record<A>, bool)> {
    let mut sorted: Vec<(Record<A>, bool)> = changes.collect();
    sorted.sort_by_key(|change| change.0);
    let mut last = 0;
    for at in 1..sorted.len() {
        if sorted[at].0 != sorted[last].0 {
            last += 1;
        }
        sorted[last] = sorted[at];
    }
    sorted.truncate(last + 1);
    sorted
}

impl Table {
    /// What the records say about a route: its prefix, and the AS where its path begins
    /// ([`bgp::codec::AsPath::origin`]; `None` for a path that ends with a set).
    #[inline]
    #[must_use]
    pub fn validate_ipv4(&self, prefix: Ipv4Prefix, origin: Option<Asn>) -> Validity {
        judge(&self.ipv4, prefix.address().to_bits(), prefix.bits(), origin)
    }

    /// The same for IPv6.
    #[inline]
    #[must_use]
    pub fn validate_ipv6(&self, prefix: Ipv6Prefix, origin: Option<Asn>) -> Validity {
        judge(&self.ipv6, prefix.address().to_bits(), prefix.bits(), origin)
    }

    /// The records that cover a route, the longest first.
    pub fn covering_ipv4(&self, prefix: Ipv4Prefix) -> impl Iterator<Item = Vrp4> + '_ {
        let covering = self.ipv4.covering(prefix.address().to_bits(), prefix.bits());
        covering.filter_map(vrp4)
    }

    /// The records that cover a route, the longest first.
    pub fn covering_ipv6(&self, prefix: Ipv6Prefix) -> impl Iterator<Item = Vrp6> + '_ {
        let covering = self.ipv6.covering(prefix.address().to_bits(), prefix.bits());
        covering.filter_map(vrp6)
    }

    /// Takes up changes, in their order; those that change nothing do not count.
    pub fn apply(&mut self, ipv4: &[Change<Vrp4>], ipv6: &[Change<Vrp6>]) -> Delta {
        let ipv4 = sorted(ipv4.iter().map(|it| (record4(&it.vrp), it.comes)));
        let ipv6 = sorted(ipv6.iter().map(|it| (record6(&it.vrp), it.comes)));
        delta(self.ipv4.merge(&ipv4), self.ipv6.merge(&ipv6))
    }

    /// Takes up these records instead of all that are there.
    pub fn replace(&mut self, ipv4: &[Vrp4], ipv6: &[Vrp6]) -> Delta {
        let mut ipv4: Vec<Record<u32>> = ipv4.iter().map(record4).collect();
        let mut ipv6: Vec<Record<u128>> = ipv6.iter().map(record6).collect();
        ipv4.sort_unstable();
        ipv4.dedup();
        ipv6.sort_unstable();
        ipv6.dedup();
        delta(self.ipv4.replace(&ipv4), self.ipv6.replace(&ipv6))
    }

    /// The records of IPv4, in order.
    pub fn iter_ipv4(&self) -> impl Iterator<Item = Vrp4> + '_ {
        self.ipv4.iter().filter_map(vrp4)
    }

    /// The records of IPv6, in order.
    pub fn iter_ipv6(&self) -> impl Iterator<Item = Vrp6> + '_ {
        self.ipv6.iter().filter_map(vrp6)
    }

    /// Whether a record is there.
    #[must_use]
    pub fn has_ipv4(&self, vrp: &Vrp4) -> bool {
        self.ipv4.contains(&record4(vrp))
    }

    /// Whether a record is there.
    #[must_use]
    pub fn has_ipv6(&self, vrp: &Vrp6) -> bool {
        self.ipv6.contains(&record6(vrp))
    }

    /// How many records there are, of IPv4 and of IPv6.
    #[must_use]
    pub const fn len(&self) -> (usize, usize) {
        (self.ipv4.len(), self.ipv6.len())
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ipv4.len() == 0 && self.ipv6.len() == 0
    }

    /// Octets of memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.ipv4.bytes() + self.ipv6.bytes()
    }
}

fn vrp4(record: Record<u32>) -> Option<Vrp4> {
    let prefix = prefix4(record.address, record.bits)?;
    Some(Vrp4 { prefix, max: record.max, asn: record.asn })
}

fn vrp6(record: Record<u128>) -> Option<Vrp6> {
    let prefix = prefix6(record.address, record.bits)?;
    Some(Vrp6 { prefix, max: record.max, asn: record.asn })
}

fn delta(ipv4: Vec<(u32, u8)>, ipv6: Vec<(u128, u8)>) -> Delta {
    Delta {
        ipv4: ipv4.into_iter().filter_map(|(address, bits)| prefix4(address, bits)).collect(),
        ipv6: ipv6.into_iter().filter_map(|(address, bits)| prefix6(address, bits)).collect(),
    }
}
