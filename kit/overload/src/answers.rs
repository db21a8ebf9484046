//! How often those are answered that nothing is known of: the first messages of a protocol over
//! datagrams. The answers go to where a message says that it comes from, and may be longer than
//! what asked for them; without a bound they would be sent to whomever an attacker likes
//! (RFC 9260 §5.1.6, §12.2.4).
//!
//! Each source has a rate of its own, all strangers together another; those that the user knows
//! by name do not share the strangers', so that a flood of forged sources costs them nothing.

use core::hash::Hasher;
use core::net::IpAddr;
use machine::Time;
use machine::bucket::{Bucket, Rate};
use std::collections::BTreeSet;
use std::hash::DefaultHasher;

/// Sources share so many buckets by a keyed hash; two that meet share a rate. Those that the user
/// knows have as many of their own, or a stranger that meets one would spend what that one has.
const BUCKETS: usize = 4_096;
/// A known source may be answered so many times as often as another.
const KNOWN_FACTOR: u32 = 10;

/// Answers a second to those that nothing is known of.
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
pub struct AnswerBudget {
    rates: Answers,
    known: BTreeSet<IpAddr>,
    strangers: Bucket,
    sources: Box<[Bucket]>,
    key: [u8; 32],
}

impl AnswerBudget {
    /// With the usual rates, and a key that nobody knows.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            rates: Answers::default(),
            known: BTreeSet::new(),
            strangers: Bucket::default(),
            sources: vec![Bucket::default(); 2 * BUCKETS].into_boxed_slice(),
            key,
        }
    }

    /// Other rates.
    pub const fn set_rates(&mut self, rates: Answers) {
        self.rates = rates;
    }

    /// Who is known from now on.
    pub fn set_known(&mut self, known: impl IntoIterator<Item = IpAddr>) {
        self.known = known.into_iter().collect();
    }

    /// Whether a source is known by name.
    #[must_use]
    pub fn is_known(&self, source: IpAddr) -> bool {
        self.known.contains(&source)
    }

    fn place(&self, source: IpAddr, is_known: bool) -> usize {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.key);
        match source {
            IpAddr::V4(source) => hasher.write(&source.octets()),
            IpAddr::V6(source) => hasher.write(&source.octets()[..8]),
        }
        let [low, high, ..] = hasher.finish().to_le_bytes();
        let place = usize::from(u16::from_le_bytes([low, high])) % BUCKETS;
        place + if is_known { BUCKETS } else { 0 }
    }

    fn rates(&self, is_known: bool) -> (Rate, Rate) {
        let factor = if is_known { KNOWN_FACTOR } else { 1 };
        let of_source = self.rates.of_source.saturating_mul(factor);
        let rate = |per_s: u32, at_once| Rate::new(f64::from(per_s), Some(at_once));
        let strangers = self.rates.of_strangers;
        (rate(of_source, of_source.saturating_mul(2)), rate(strangers, strangers))
    }

    /// Whether that source may be answered now.
    #[must_use]
    pub fn has_room(&self, now: Time, source: IpAddr, is_known: bool) -> bool {
        let (of_source, of_strangers) = self.rates(is_known);
        self.sources[self.place(source, is_known)].has_room(now, of_source)
            && (is_known || self.strangers.has_room(now, of_strangers))
    }

    /// It is answered.
    pub fn take(&mut self, now: Time, source: IpAddr, is_known: bool) {
        let (of_source, of_strangers) = self.rates(is_known);
        let place = self.place(source, is_known);
        self.sources[place].take(now, of_source);
        if !is_known {
            self.strangers.take(now, of_strangers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    #[test]
    fn a_stranger_whose_place_is_that_of_a_peer_costs_the_peer_nothing() {
        let mut budget = AnswerBudget::new([7; 32]);
        let address = |number: u32| IpAddr::V4(Ipv4Addr::from_bits(number));
        let peer = address(0x0A00_0001);
        let of_peer = budget.place(peer, false);
        let mut strangers = (0xC000_0000..).map(address);
        let meets = |it: &IpAddr| budget.place(*it, false) == of_peer;
        let stranger = strangers.find(meets).expect("there are many");
        budget.set_known([peer]);
        let now = Time::from_millis(1_000);
        for _ in 0..1_000 {
            if budget.has_room(now, stranger, false) {
                budget.take(now, stranger, false);
            }
        }
        assert!(!budget.has_room(now, stranger, false));
        assert!(budget.has_room(now, peer, true));
    }
}
