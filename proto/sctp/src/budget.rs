//! How often an endpoint answers those it has no association with: INIT ACK, ABORT, ERROR. The
//! answers go to where a packet says that it comes from, and are longer than what asked for them;
//! without a bound an endpoint would send them to whomever an attacker likes (RFC 9260 §5.1.6,
//! §12.2.4).
//!
//! Each source has a rate of its own, all strangers together another; those that the user knows
//! by name do not share the strangers', so that a flood of forged sources costs them nothing.

use core::hash::Hasher;
use core::net::IpAddr;
use machine::Time;
use machine::bucket::{Bucket, Rate};
use std::collections::BTreeSet;
use std::hash::DefaultHasher;

/// Sources share so many buckets by a keyed hash; two that meet share a rate.
const BUCKETS: usize = 4_096;
/// A known source may be answered so many times as often as another.
const KNOWN_FACTOR: u32 = 10;

/// Answers a second without an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    /// To one source: an IPv4 address, or an IPv6 prefix of 64 bits. Twice as many at once.
    pub of_source: u32,
    /// To all that are not known.
    pub of_strangers: u32,
}

impl Default for Answers {
    fn default() -> Self {
        Self { of_source: 100, of_strangers: 20_000 }
    }
}

/// What is left of the rates.
#[derive(Debug)]
pub(crate) struct Budget {
    rates: Answers,
    known: BTreeSet<IpAddr>,
    strangers: Bucket,
    sources: Box<[Bucket]>,
    key: [u8; 32],
}

impl Budget {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self {
            rates: Answers::default(),
            known: BTreeSet::new(),
            strangers: Bucket::default(),
            sources: vec![Bucket::default(); BUCKETS].into_boxed_slice(),
            key,
        }
    }

    pub(crate) const fn set_rates(&mut self, rates: Answers) {
        self.rates = rates;
    }

    pub(crate) fn set_known(&mut self, known: impl IntoIterator<Item = IpAddr>) {
        self.known = known.into_iter().collect();
    }

    pub(crate) fn is_known(&self, source: IpAddr) -> bool {
        self.known.contains(&source)
    }

    fn place(&self, source: IpAddr) -> usize {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.key);
        match source {
            IpAddr::V4(source) => hasher.write(&source.octets()),
            IpAddr::V6(source) => hasher.write(&source.octets()[..8]),
        }
        usize::from(hasher.finish().to_le_bytes()[0]) << 4
            | usize::from(hasher.finish().to_le_bytes()[1] & 15)
    }

    fn rates(&self, is_known: bool) -> (Rate, Rate) {
        let factor = if is_known { KNOWN_FACTOR } else { 1 };
        let of_source = self.rates.of_source.saturating_mul(factor);
        let rate = |per_s: u32, at_once| Rate::new(f64::from(per_s), Some(at_once));
        let strangers = self.rates.of_strangers;
        (rate(of_source, of_source.saturating_mul(2)), rate(strangers, strangers))
    }

    /// Whether that source may be answered now.
    pub(crate) fn has_room(&self, now: Time, source: IpAddr, is_known: bool) -> bool {
        let (of_source, of_strangers) = self.rates(is_known);
        self.sources[self.place(source)].has_room(now, of_source)
            && (is_known || self.strangers.has_room(now, of_strangers))
    }

    /// It is answered.
    pub(crate) fn take(&mut self, now: Time, source: IpAddr, is_known: bool) {
        let (of_source, of_strangers) = self.rates(is_known);
        let place = self.place(source);
        self.sources[place].take(now, of_source);
        if !is_known {
            self.strangers.take(now, of_strangers);
        }
    }
}
