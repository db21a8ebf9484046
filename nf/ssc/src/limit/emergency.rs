//! Emergency calls by source: each may make so many that none who needs help is refused, and not so
//! many that nothing else is served.

use crate::address::source_number;
use machine::Time;
use machine::bucket::{Bucket, Rate};
use machine::narrow::slot;
use std::net::IpAddr;

/// Calls of one source a second, and at once after a pause.
const PER_S: f64 = 10.0;
const BURST: u32 = 100;
/// Sources are told apart by the top bits of a secret product; two that meet share a bucket.
const SOURCES: usize = 1 << 12;

/// How many emergency calls sources have made lately.
#[derive(Debug)]
pub(crate) struct Emergencies {
    buckets: Box<[Bucket]>,
    rate: Rate,
    secret: u64,
}

impl Emergencies {
    /// With a secret that no outsider foresees.
    pub(crate) fn new(secret: u64) -> Self {
        let buckets = vec![Bucket::default(); SOURCES].into();
        Self { buckets, rate: Rate::new(PER_S, Some(BURST)), secret: secret | 1 }
    }

    /// Whether one more call for help is taken as such; what is beyond is a call as others are.
    pub(crate) fn admits(&mut self, now: Time, source: IpAddr) -> bool {
        let place = source_number(source).wrapping_mul(self.secret);
        let bucket = &mut self.buckets[slot(place >> (u64::BITS - SOURCES.ilog2()), SOURCES)];
        let has_room = bucket.has_room(now, self.rate);
        if has_room {
            bucket.take(now, self.rate);
        }
        has_room
    }
}
