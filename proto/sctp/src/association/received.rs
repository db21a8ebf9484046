//! Which TSNs have come: the Cumulative TSN and a map of those beyond it (RFC 9260 §6.2, §6.7).

use crate::id::{low16, low32, place};

/// A TSN further ahead of the Cumulative TSN is dropped: a Gap Ack Block could not tell of it.
pub(crate) const WINDOW: u64 = 65_535;
/// Duplicates reported in one SACK.
const DUPLICATES_MAX: usize = 32;
/// Bits of the map at first.
const BITS_MIN: usize = 1024;

/// What became of a TSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is new and the next one.
    Next,
    /// It is new and something before it lacks, or it fills a gap.
    Beyond,
    /// It came before.
    Duplicate,
    /// It is too far ahead.
    Outside,
}

/// The TSNs that have come, unwrapped to 64 bits.
#[derive(Debug)]
pub(crate) struct Received {
    cumulative: u64,
    highest: u64,
    /// One bit a TSN, at TSN modulo the number of bits; the number is a power of two.
    bits: Vec<u64>,
    pub(crate) duplicates: Vec<u32>,
}

impl Received {
    /// Nothing has come; the first TSN will be `cumulative + 1`.
    pub(crate) const fn new(cumulative: u64) -> Self {
        Self { cumulative, highest: cumulative, bits: Vec::new(), duplicates: Vec::new() }
    }

    pub(crate) const fn cumulative(&self) -> u64 {
        self.cumulative
    }

    pub(crate) const fn has_gaps(&self) -> bool {
        self.highest > self.cumulative
    }

    const fn place(&self, tsn: u64) -> (usize, u64) {
        let bit = place(tsn) & (self.bits.len() * 64 - 1);
        (bit / 64, 1 << (bit % 64))
    }

    fn contains(&self, tsn: u64) -> bool {
        let (word, bit) = self.place(tsn);
        tsn > self.cumulative && tsn <= self.highest && self.bits[word] & bit != 0
    }

    /// What `tsn` would be; nothing changes.
    pub(crate) fn arrival(&self, tsn: u64) -> Arrival {
        match tsn {
            _ if tsn <= self.cumulative => Arrival::Duplicate,
            _ if tsn > self.cumulative + WINDOW => Arrival::Outside,
            _ if self.has_gaps() && self.contains(tsn) => Arrival::Duplicate,
            _ if tsn == self.cumulative + 1 && !self.has_gaps() => Arrival::Next,
            _ => Arrival::Beyond,
        }
    }

    /// Notes a duplicate for the next SACK.
    pub(crate) fn duplicate(&mut self, tsn: u64) {
        if self.duplicates.len() < DUPLICATES_MAX {
            self.duplicates.push(low32(tsn));
        }
    }

    /// Takes a TSN that is [`Arrival::Next`] or [`Arrival::Beyond`].
    pub(crate) fn insert(&mut self, tsn: u64) {
        if tsn == self.cumulative + 1 && !self.has_gaps() {
            self.cumulative = tsn;
            self.highest = tsn;
            return;
        }
        self.reach(tsn);
        self.highest = self.highest.max(tsn);
        let (word, bit) = self.place(tsn);
        self.bits[word] |= bit;
        self.advance();
    }

    /// Everything up to `tsn` counts as received (RFC 3758 §3.6).
    pub(crate) fn skip_to(&mut self, tsn: u64) {
        let end = tsn.min(self.highest);
        while self.cumulative < end {
            // As many at once as stand in one word.
            let (word, bit) = self.place(self.cumulative + 1);
            let span = u64::from(64 - bit.trailing_zeros()).min(end - self.cumulative);
            let mask = u64::MAX >> (64 - span) << bit.trailing_zeros();
            self.bits[word] &= !mask;
            self.cumulative += span;
        }
        self.cumulative = self.cumulative.max(tsn);
        self.highest = self.highest.max(tsn);
        self.advance();
    }

    fn advance(&mut self) {
        while self.has_gaps() && self.contains(self.cumulative + 1) {
            self.cumulative += 1;
            let (word, bit) = self.place(self.cumulative);
            self.bits[word] &= !bit;
        }
    }

    /// Makes room for a bit at `tsn`.
    fn reach(&mut self, tsn: u64) {
        let span = place(tsn - self.cumulative) + 1;
        if span <= self.bits.len() * 64 {
            return;
        }
        let bits = span.next_power_of_two().max(BITS_MIN);
        let held: Vec<u64> = match self.has_gaps() {
            true => (self.cumulative + 1..=self.highest).filter(|&t| self.contains(t)).collect(),
            false => Vec::new(),
        };
        self.bits = vec![0; bits / 64];
        for tsn in held {
            let (word, bit) = self.place(tsn);
            self.bits[word] |= bit;
        }
    }

    /// Appends Gap Ack Blocks, at most `max`, and says how many.
    pub(crate) fn gaps(&self, max: usize, out: &mut Vec<u8>) -> usize {
        let (mut count, mut at) = (0, self.cumulative + 1);
        while at <= self.highest && count < max {
            at = self.seek(at, true);
            if at > self.highest {
                break;
            }
            let end = self.seek(at, false);
            let (first, last) = (at - self.cumulative, end - 1 - self.cumulative);
            out.extend_from_slice(&low16(first).to_be_bytes());
            out.extend_from_slice(&low16(last).to_be_bytes());
            count += 1;
            at = end;
        }
        count
    }

    /// The first TSN at or after `from` whose bit is `wanted`, or the one after the highest.
    fn seek(&self, from: u64, wanted: bool) -> u64 {
        let mut at = from;
        while at <= self.highest {
            let (word, bit) = self.place(at);
            let word = if wanted { self.bits[word] } else { !self.bits[word] };
            let rest = word & !(bit - 1);
            if rest != 0 {
                let found = at + u64::from(rest.trailing_zeros() - bit.trailing_zeros());
                return found.min(self.highest + 1);
            }
            at += u64::from(64 - bit.trailing_zeros());
        }
        self.highest + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn blocks(received: &Received) -> Vec<(u64, u64)> {
        let mut bytes = Vec::new();
        received.gaps(usize::MAX, &mut bytes);
        let number = |pair: &[u8]| u64::from(u16::from_be_bytes([pair[0], pair[1]]));
        bytes.chunks(4).map(|block| (number(&block[..2]), number(&block[2..]))).collect()
    }

    proptest! {
        /// Whatever comes in whatever order, the map says the same as a set of numbers.
        #[test]
        fn the_map_is_the_set(steps in prop::collection::vec((1u64..3000, any::<bool>()), 1..300)) {
            let start = crate::id::origin(u32::MAX - 700);
            let mut received = Received::new(start);
            let (mut set, mut cumulative) = (BTreeSet::new(), start);
            for (ahead, is_near) in steps {
                let tsn = cumulative + if is_near { ahead % 5 } else { ahead };
                let is_new = tsn > cumulative && !set.contains(&tsn);
                let arrival = received.arrival(tsn);
                prop_assert_eq!(is_new, arrival != Arrival::Duplicate);
                if is_new {
                    received.insert(tsn);
                    set.insert(tsn);
                }
                while set.remove(&(cumulative + 1)) {
                    cumulative += 1;
                }
                prop_assert_eq!(received.cumulative(), cumulative);
                let mut expected: Vec<(u64, u64)> = Vec::new();
                for &tsn in &set {
                    match expected.last_mut() {
                        Some((_, last)) if *last + 1 == tsn - cumulative => *last += 1,
                        _ => expected.push((tsn - cumulative, tsn - cumulative)),
                    }
                }
                prop_assert_eq!(blocks(&received), expected);
            }
        }
    }

    #[test]
    fn a_skip_leaves_no_trace_in_the_map_at_whatever_place_it_begins() {
        for (start, span) in [(0, 64), (1, 63), (63, 1), (63, 130), (70, 5), (1000, 1024)] {
            let mut received = Received::new(start);
            (2..=span + 3).for_each(|ahead| received.insert(start + ahead));
            received.skip_to(start + span);
            assert_eq!((received.cumulative(), received.has_gaps()), (start + span + 3, false));
            assert!(received.bits.iter().all(|word| *word == 0), "from {start} over {span}");
        }
    }

    #[test]
    fn what_is_skipped_counts_as_received() {
        let mut received = Received::new(100);
        received.insert(103);
        received.insert(104);
        received.insert(107);
        received.skip_to(102);
        assert_eq!((received.cumulative(), blocks(&received)), (104, vec![(3, 3)]));
        received.skip_to(200);
        assert_eq!((received.cumulative(), received.has_gaps()), (200, false));
        assert_eq!(received.arrival(201 + WINDOW), Arrival::Outside);
    }
}
