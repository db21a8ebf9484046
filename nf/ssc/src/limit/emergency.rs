//! Emergency calls by source: each may make so many that none who needs help is refused, and not so
//! many that nothing else is served.
//!
//! Whoever forges an address uses up what those have who are known by that address alone. A contact
//! that registered, and whoever has a connection, has a bucket where forged datagrams do not count.

use crate::Controller;
use crate::address::source_number;
use machine::Time;
use machine::bucket::{Bucket, Rate};
use machine::narrow::slot;
use runtime::Flow;
use sip::RequestHead;

/// Calls of one source a second, and at once after a pause.
const PER_S: f64 = 10.0;
const BURST: u32 = 100;
/// Sources of one kind are told apart by the top bits of a secret product; two that meet share a
/// bucket.
const SOURCES: usize = 1 << 12;

/// What is known of a source; each kind has buckets of its own.
#[derive(Debug, Clone, Copy)]
enum Known {
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
    rate: Rate,
    secret: u64,
}

impl Emergencies {
    /// With a secret that no outsider foresees.
    pub(crate) fn new(secret: u64) -> Self {
        let buckets = vec![Bucket::default(); SOURCES * (Known::Registered as usize + 1)].into();
        Self { buckets, rate: Rate::new(PER_S, Some(BURST)), secret: secret | 1 }
    }

    fn bucket(&mut self, flow: &Flow, known: Known) -> &mut Bucket {
        let source = source_number(flow.remote.ip());
        let source = match known {
            Known::Registered => source.rotate_left(16) ^ u64::from(flow.remote.port()),
            Known::Connection | Known::Nothing => source,
        };
        let place = source.wrapping_mul(self.secret) >> (u64::BITS - SOURCES.ilog2());
        &mut self.buckets[known as usize * SOURCES + slot(place, SOURCES)]
    }
}

impl Controller {
    /// Whether a call for help from this source would be taken as such; costs the source nothing.
    pub(crate) fn has_room_for_help(&mut self, now: Time, flow: &Flow) -> bool {
        let (known, rate) = (self.known(flow), self.overload.emergencies.rate);
        self.overload.emergencies.bucket(flow, known).has_room(now, rate)
    }

    /// Whether one more call for help is taken as such, and is counted; what is beyond is a call as
    /// others are.
    pub(crate) fn takes_call_for_help(&mut self, now: Time, flow: &Flow) -> bool {
        let (known, rate) = (self.known(flow), self.overload.emergencies.rate);
        let bucket = self.overload.emergencies.bucket(flow, known);
        let has_room = bucket.has_room(now, rate);
        if has_room {
            bucket.take(now, rate);
        }
        has_room
    }

    /// Counts what looked like a call for help and could not be read.
    pub(crate) fn misread_call_for_help(&mut self, now: Time, flow: &Flow, bytes: &[u8]) {
        if RequestHead::read(bytes).is_some_and(|head| head.is_emergency(false)) {
            self.takes_call_for_help(now, flow);
        }
    }

    fn known(&self, flow: &Flow) -> Known {
        if self.subscriber(flow).is_some() {
            Known::Registered
        } else if flow.transport.is_stream() {
            Known::Connection
        } else {
            Known::Nothing
        }
    }
}
