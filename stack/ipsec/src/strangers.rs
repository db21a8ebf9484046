//! How often the ICV of a packet is looked at that comes from elsewhere than its association's
//! peer: a NAT may have moved the peer, or somebody has guessed an index.

use machine::Time;
use machine::bucket::{Bucket, Rate};
use machine::identity::mix;
use machine::narrow::{halves, slot};
use std::net::IpAddr;

/// Looks a second for one source (an IPv4 address, an IPv6 /64).
pub const STRANGERS_PER_S: u32 = 20;
/// Looks at once after a pause.
const BURST: u32 = 10;
/// Rates that sources share by a hash: memory does not grow with them.
const RATES: usize = 4_096;

/// A number for a source: an IPv4 address, an IPv6 /64.
pub(crate) fn number(source: IpAddr) -> u64 {
    match source.to_canonical() {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => halves(address.to_bits())[1],
    }
}

/// The rates.
#[derive(Debug)]
pub(crate) struct Strangers {
    secret: u64,
    rate: Rate,
    rates: Box<[Bucket]>,
}

impl Strangers {
    pub fn new(secret: u64) -> Self {
        let rate = Rate::new(f64::from(STRANGERS_PER_S), Some(BURST));
        Self { secret, rate, rates: vec![Bucket::default(); RATES].into() }
    }

    /// Whether a packet of that source is looked at.
    pub fn admit(&mut self, now: Time, source: IpAddr) -> bool {
        let bucket = &mut self.rates[slot(mix(self.secret ^ number(source)), RATES)];
        let has_room = bucket.has_room(now, self.rate);
        if has_room {
            bucket.take(now, self.rate);
        }
        has_room
    }
}
