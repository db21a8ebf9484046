//! Emergency calls by source: each may make so many that none who needs help is refused, and not so
//! many that nothing else is served.
//!
//! Whoever forges an address uses up what those have who are known by that address alone. A contact
//! that registered, and whoever has a connection, has a bucket where forged datagrams do not count.

use machine::Time;
use machine::bucket::{Bucket, Rate};
use machine::narrow::slot;
use runtime::Flow;
use sip_stack::source::source_number;

/// Calls of one source a second, and at once after a pause.
const PER_S: f64 = 10.0;
const BURST: u32 = 100;
/// An address has room for so many times what one of those who registered there has.
const SHARERS: u32 = 10;
/// Sources of one kind are told apart by the top bits of a secret product; two that meet share a
/// bucket.
const SOURCES: usize = 1 << 12;

/// What is known of a source; each kind has buckets of its own.
#[derive(Debug, Clone, Copy)]
pub enum Known {
    /// Its address, as datagrams say.
    Nothing,
    /// A connection stands: the address is its own.
    Connection,
    /// A contact registered from this address and port, of the subscriber of this secret name.
    Registered(u64),
}

/// Kinds of sources: the three, and the addresses of those who registered.
const KINDS: usize = 4;

/// How many emergency calls sources have made lately.
#[derive(Debug)]
pub struct Emergencies {
    buckets: Box<[Bucket]>,
    rate: Rate,
    shared: Rate,
    secret: u64,
}

impl Emergencies {
    /// With a secret that no outsider foresees.
    pub fn new(secret: u64) -> Self {
        Self {
            buckets: vec![Bucket::default(); SOURCES * KINDS].into(),
            rate: Rate::new(PER_S, Some(BURST)),
            shared: Rate::new(PER_S * f64::from(SHARERS), Some(BURST * SHARERS)),
            secret: secret | 1,
        }
    }

    /// The buckets of a source, each with its rate.
    fn buckets(&self, flow: &Flow, known: Known) -> [(usize, Rate); 2] {
        let bucket = |kind: usize, source: u64| {
            let place = source.wrapping_mul(self.secret) >> (u64::BITS - SOURCES.ilog2());
            kind * SOURCES + slot(place, SOURCES)
        };
        let address = source_number(flow.remote.ip());
        match known {
            Known::Nothing => [(bucket(0, address), self.rate); 2],
            Known::Connection => [(bucket(1, address), self.rate); 2],
            // Whoever registers from other ports stays the same subscriber; he may have many names.
            Known::Registered(name) => {
                [(bucket(2, name), self.rate), (bucket(3, address), self.shared)]
            }
        }
    }

    /// Whether a source may make one more.
    pub fn has_room(&self, now: Time, flow: &Flow, known: Known) -> bool {
        let buckets = self.buckets(flow, known);
        buckets.iter().all(|&(at, rate)| self.buckets[at].has_room(now, rate))
    }

    /// Whether a source may make one more, which is counted then.
    pub fn admits(&mut self, now: Time, flow: &Flow, known: Known) -> bool {
        let has_room = self.has_room(now, flow, known);
        if has_room {
            self.take(now, flow, known);
        }
        has_room
    }

    /// A source makes one.
    pub fn take(&mut self, now: Time, flow: &Flow, known: Known) {
        let [one, other] = self.buckets(flow, known);
        self.buckets[one.0].take(now, one.1);
        if other.0 != one.0 {
            self.buckets[other.0].take(now, other.1);
        }
    }
}
