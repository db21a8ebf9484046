//! A token bucket kept as one time: when the bucket would be empty if it drained at its rate
//! (virtual scheduling, ITU-T I.371 annex A; the same arrivals conform as with tokens, RFC 2697).

use machine::Time;
use std::time::Duration;

/// The highest rate that a shaper holds, bit/s.
pub const RATE_MAX: u64 = 1_600_000_000_000;
/// The lowest rate that a shaper holds, bit/s.
pub const RATE_MIN: u64 = 8_000;
/// Times inside are in so many parts of a nanosecond: an octet at 1.6 Tbit/s still counts.
const PARTS: u64 = 64;
/// Bits after the point of the price of an octet, beyond [`PARTS`].
const FRACTION: u32 = 16;

/// A moment of a scheduler: 1/64 ns since it was made (nine years fit).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Moment(pub(super) u64);

impl Moment {
    pub(crate) fn of(now: Time, origin: Time) -> Self {
        Self((now.as_nanos().saturating_sub(origin.as_nanos())).saturating_mul(PARTS))
    }

    /// The first nanosecond that is not before it.
    pub(crate) fn time(self, origin: Time) -> Time {
        origin + Duration::from_nanos(self.0.div_ceil(PARTS))
    }
}

/// Lets octets pass at a rate, after a burst.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shaper {
    /// When the bucket is full again, if nothing more comes.
    full_at: u64,
    /// The price of an octet; 0 shapes nothing.
    octet: u64,
    /// How long filling a whole burst takes.
    burst: u64,
}

impl Shaper {
    /// `rate` in bit/s (0: unlimited), `burst` in octets.
    pub(crate) fn new(rate: u64, burst: u32) -> Self {
        if rate == 0 {
            return Self::default();
        }
        let rate = u128::from(rate.clamp(RATE_MIN, RATE_MAX));
        let octet = ((8_000_000_000_u128 * u128::from(PARTS)) << FRACTION) / rate;
        let octet = u64::try_from(octet.max(1)).unwrap_or(u64::MAX);
        Self { full_at: 0, octet, burst: price(octet, burst) }
    }

    /// Whether it shapes at all.
    #[inline]
    pub(crate) fn shapes(&self) -> bool {
        self.octet != 0
    }

    /// Whether a packet may pass now: there is something in the bucket. (A packet that is longer
    /// than what is left makes a debt, so that no packet is too long to pass.)
    #[inline]
    pub(crate) fn passes(&self, now: Moment) -> bool {
        self.octet == 0 || self.full_at < now.0 + self.burst
    }

    /// When the next packet may pass.
    #[inline]
    pub(crate) fn passes_at(&self) -> Moment {
        Moment((self.full_at + 1).saturating_sub(self.burst))
    }

    /// A packet passed.
    #[inline]
    pub(crate) fn charge(&mut self, now: Moment, octets: u32) {
        self.full_at = self.full_at.max(now.0) + price(self.octet, octets);
    }

    /// Takes the state of one that it replaces.
    pub(crate) fn follow(&mut self, before: &Self) {
        if self.shapes() && before.shapes() {
            self.full_at = before.full_at;
        }
    }
}

#[inline]
fn price(octet: u64, octets: u32) -> u64 {
    octet.saturating_mul(u64::from(octets)) >> FRACTION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_its_burst_octets_pass_at_the_rate() {
        for rate in [64_000, 10_000_000, 400_000_000_000_u64] {
            let mut shaper = Shaper::new(rate, 15_000);
            let (mut now, mut sent) = (Moment(0), 0_u64);
            for _ in 0..10_000 {
                if !shaper.passes(now) {
                    now = shaper.passes_at();
                }
                assert!(shaper.passes(now));
                shaper.charge(now, 1_500);
                sent += 12_000;
            }
            let seconds = now.0 as f64 / (PARTS as f64 * 1e9);
            let expected = rate as f64 * seconds + 15_000.0 * 8.0;
            assert!((sent as f64 / expected - 1.0).abs() < 1e-3, "{rate}: {sent} of {expected}");
        }
        assert!(Shaper::new(0, 0).passes(Moment(0)));
    }
}
