//! The table of relays, and what their requests take of the memory, by source.

use super::relay::Relay;
use core::ops::{Deref, DerefMut};
use machine::Time;
use machine::narrow::{halves, slot};
use machine::slots::{Key, Slots};
use runtime::Flow;
use std::net::IpAddr;

/// What a relay takes beside its request, which stands in up to three places: the relay, the
/// transaction that it goes out with, the registrar.
const RELAY_BYTES: usize = 1 << 10;
const COPIES: usize = 3;
/// Sources are told apart by the top bits of a secret product of their addresses: two that meet
/// share what one has.
const SOURCES: usize = 1 << 10;

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
    octets_max: usize,
    secret: u64,
}

impl Relays {
    pub(crate) fn new(max: u32, octets_max: usize, secret: u64, now: Time) -> Self {
        Self {
            slots: Slots::new(max, now),
            by_source: vec![0; SOURCES].into(),
            octets: 0,
            octets_max,
            secret: secret | 1,
        }
    }

    pub(crate) const fn set_octets_max(&mut self, max: usize) {
        self.octets_max = max;
    }

    /// A fresh record for a request of so many octets; `None` when the table is full, or the source
    /// has as much of the memory as it leaves to others.
    pub(crate) fn take(&mut self, from: &Flow, octets: usize) -> Option<(Key, &mut Relay)> {
        let source = self.source(from.remote.ip());
        let octets = RELAY_BYTES + COPIES * octets;
        let (sum, held) = (self.octets + octets, self.by_source[source] + octets);
        // No more than is left for all others.
        if held > self.octets_max.saturating_sub(self.octets) {
            return None;
        }
        let (key, relay) = self.slots.take()?;
        (self.octets, self.by_source[source]) = (sum, held);
        relay.held = Held { source, octets, kept: 0 };
        Some((key, relay))
    }

    /// A response is kept, to be sent again; `false` when that would take more of the memory than
    /// is left. A usual one has its room with the record.
    #[inline]
    pub(crate) fn keep(&mut self, key: Key, octets: usize) -> bool {
        octets <= RELAY_BYTES || self.keep_long(key, octets)
    }

    #[cold]
    fn keep_long(&mut self, key: Key, octets: usize) -> bool {
        let left = self.octets_max.saturating_sub(self.octets);
        let Some(Held { source, octets: held, kept }) =
            self.slots.at_mut(key).map(|relay| &mut relay.held)
        else {
            return false;
        };
        let more = octets.saturating_sub(*kept);
        if self.by_source[*source] + more > left {
            return false;
        }
        (*held, *kept) = (*held + more, *kept + more);
        self.octets += more;
        self.by_source[*source] += more;
        true
    }

    pub(crate) fn give_back(&mut self, key: Key) {
        if let Some(relay) = self.slots.at(key) {
            let Held { source, octets, .. } = relay.held;
            self.octets -= octets;
            self.by_source[source] -= octets;
        }
        self.slots.give_back(key);
    }

    pub(crate) fn clear(&mut self) {
        self.octets = 0;
        self.by_source.fill(0);
        self.slots.clear();
    }

    /// Octets of all requests under way.
    pub(crate) const fn octets(&self) -> usize {
        self.octets
    }

    /// An IPv4 address or an IPv6 /56.
    fn source(&self, address: IpAddr) -> usize {
        let number = match address.to_canonical() {
            IpAddr::V4(address) => address.to_bits().into(),
            IpAddr::V6(address) => halves(address.to_bits())[1] >> 8,
        };
        slot(number.wrapping_mul(self.secret) >> (u64::BITS - SOURCES.ilog2()), SOURCES)
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
