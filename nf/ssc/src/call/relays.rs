//! The table of relays, and what their requests take of the memory, by source.

use super::relay::Relay;
use core::ops::{Deref, DerefMut};
use machine::Time;
use machine::narrow::slot;
use machine::slots::{Key, Slots};
use runtime::Flow;
use sip_stack::source::source_number;
use std::net::IpAddr;

/// What a relay takes beside its request, which stands in up to three places: the relay, the
/// transaction that it goes out with, the registrar.
const RELAY_BYTES: usize = 1 << 10;
const COPIES: usize = 3;
/// Sources are told apart by the top bits of a secret product of their addresses: two that meet
/// share what one has.
const SOURCES: usize = 1 << 10;
/// This part of the memory is every source's in equal parts, whatever a few others have of the
/// rest: thirteen that halve what is left would leave nothing.
const KEPT_SHARE: usize = 8;

/// Who has it, and how much.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    source: usize,
    octets: usize,
    /// Octets of its responses, of those that count.
    kept: usize,
}

/// All relays.
#[derive(Debug)]
pub(crate) struct Relays {
    slots: Slots<Relay>,
    /// As [`machine::shares::Shares`], in place: each request comes by here twice.
    by_source: Box<[usize]>,
    octets: usize,
    /// What sources have beyond the part that is kept for each.
    beyond: usize,
    octets_max: usize,
    secret: u64,
}

impl Relays {
    pub(crate) fn new(max: u32, octets_max: usize, secret: u64, now: Time) -> Self {
        Self {
            slots: Slots::new(max, now),
            by_source: vec![0; SOURCES].into(),
            octets: 0,
            beyond: 0,
            octets_max,
            secret: secret | 1,
        }
    }

    pub(crate) fn set_octets_max(&mut self, max: usize) {
        self.octets_max = max;
        self.beyond = self.by_source.iter().map(|&held| self.beyond_kept(held)).sum();
    }

    /// Octets that are kept for each source.
    const fn kept(&self) -> usize {
        self.octets_max / KEPT_SHARE / SOURCES
    }

    const fn beyond_kept(&self, held: usize) -> usize {
        held.saturating_sub(self.kept())
    }

    /// A fresh record for a request of so many octets; `None` when the table is full, or the source
    /// has as much of the memory as it leaves to others.
    pub(crate) fn take(&mut self, from: &Flow, octets: usize) -> Option<(Key, &mut Relay)> {
        let source = self.source(from.remote.ip());
        let octets = RELAY_BYTES + COPIES * octets;
        let beyond = self.beyond_with(source, octets)?;
        let (key, relay) = self.slots.take()?;
        relay.held = Held { source, octets, kept: 0 };
        self.by_source[source] += octets;
        (self.octets, self.beyond) = (self.octets + octets, beyond);
        Some((key, relay))
    }

    /// What all have beyond their kept parts when a source has so many octets more; `None` where
    /// that would leave less to all others than the source has.
    fn beyond_with(&self, source: usize, more: usize) -> Option<usize> {
        let before = self.by_source[source];
        let (was, is) = (self.beyond_kept(before), self.beyond_kept(before + more));
        let shared = self.octets_max - self.kept() * SOURCES;
        let fits = is == 0 || is <= shared.saturating_sub(self.beyond);
        fits.then(|| self.beyond + (is - was))
    }

    /// A response is kept, to be sent again; `false` when that would take more of the memory than
    /// is left. A usual one has its room with the record.
    #[inline]
    pub(crate) fn keep(&mut self, key: Key, octets: usize) -> bool {
        octets <= RELAY_BYTES || self.keep_long(key, octets)
    }

    #[cold]
    fn keep_long(&mut self, key: Key, octets: usize) -> bool {
        let Some(Held { source, kept, .. }) = self.slots.at(key).map(|relay| relay.held) else {
            return false;
        };
        let more = octets.saturating_sub(kept);
        let Some(beyond) = self.beyond_with(source, more) else { return false };
        if let Some(relay) = self.slots.at_mut(key) {
            relay.held.octets += more;
            relay.held.kept += more;
        }
        self.by_source[source] += more;
        (self.octets, self.beyond) = (self.octets + more, beyond);
        true
    }

    pub(crate) fn give_back(&mut self, key: Key) {
        if let Some(relay) = self.slots.at(key) {
            let Held { source, octets, .. } = relay.held;
            let before = self.by_source[source];
            self.octets -= octets;
            self.by_source[source] = before - octets;
            self.beyond -= self.beyond_kept(before) - self.beyond_kept(before - octets);
        }
        self.slots.give_back(key);
    }

    pub(crate) fn clear(&mut self) {
        (self.octets, self.beyond) = (0, 0);
        self.by_source.fill(0);
        self.slots.clear();
    }

    /// Octets of all requests under way.
    pub(crate) const fn octets(&self) -> usize {
        self.octets
    }

    fn source(&self, address: IpAddr) -> usize {
        let place = source_number(address).wrapping_mul(self.secret);
        slot(place >> (u64::BITS - SOURCES.ilog2()), SOURCES)
    }
}

impl Deref for Relays {
    type Target = Slots<Relay>;

    fn deref(&self) -> &Self::Target {
        &self.slots
    }
}

impl DerefMut for Relays {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::{PortId, Transport};

    #[test]
    fn a_newcomer_finds_room_in_a_memory_that_fourteen_sources_have_filled() {
        const MAX: usize = 64 << 20;
        let mut relays = Relays::new(1 << 20, MAX, 0x9e37_79b9_7f4a_7c15, Time::ZERO);
        let flow = |last: u8| {
            let (local, remote) = ("127.0.0.1:5060", format!("10.0.{last}.1:5060"));
            let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
            Flow::to(PortId(0), Transport::Udp, local, remote)
        };
        let mut keys = Vec::new();
        for source in 0..14 {
            while let Some((key, _)) = relays.take(&flow(source), 500) {
                keys.push(key);
            }
        }
        let mut take = |source| relays.take(&flow(source), 500).map(|(key, _)| key);
        let more: Vec<_> = (14..100).filter_map(&mut take).collect();
        assert!(more.len() > 80, "{} found room", more.len());
        assert!(relays.octets() <= MAX);
        keys.into_iter().chain(more).for_each(|key| relays.give_back(key));
        assert_eq!((relays.octets(), relays.beyond), (0, 0));
    }
}
