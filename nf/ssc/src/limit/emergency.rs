//! Emergency calls by source: each may make so many that none who needs help is refused, and not so
//! many that nothing else is served.
//!
//! Whoever forges an address uses up what those have who are known by that address alone. A contact
//! that registered, and whoever has a connection, has a bucket where forged datagrams do not count.

use crate::address::source_number;
use machine::bucket::{Bucket, Rate};
use machine::narrow::slot;
use runtime::Flow;

/// Calls of one source a second, and at once after a pause.
const PER_S: f64 = 10.0;
const BURST: u32 = 100;
/// Sources of one kind are told apart by the top bits of a secret product; two that meet share a
/// bucket.
const SOURCES: usize = 1 << 12;

/// What is known of a source; each kind has buckets of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known {
    /// Its address, as datagrams say.
    Nothing,
    /// A connection stands: the address is its own.
    Connection,
    /// A contact registered from this address and port.
    Registered,
}

/// How many emergency calls sources have made lately.
#[derive(Debug)]
pub(crate) struct Emergencies {
    buckets: Box<[Bucket]>,
    pub(crate) rate: Rate,
    secret: u64,
}

impl Emergencies {
    /// With a secret that no outsider foresees.
    pub(crate) fn new(secret: u64) -> Self {
        let buckets = vec![Bucket::default(); SOURCES * (Known::Registered as usize + 1)].into();
        Self { buckets, rate: Rate::new(PER_S, Some(BURST)), secret: secret | 1 }
    }

    /// The bucket of a source.
    pub(crate) fn bucket(&mut self, flow: &Flow, known: Known) -> &mut Bucket {
        let source = source_number(flow.remote.ip());
        let source = match known {
            Known::Registered => source.rotate_left(16) ^ u64::from(flow.remote.port()),
            Known::Connection | Known::Nothing => source,
        };
        let place = source.wrapping_mul(self.secret) >> (u64::BITS - SOURCES.ilog2());
        &mut self.buckets[known as usize * SOURCES + slot(place, SOURCES)]
    }
}
