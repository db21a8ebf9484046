//! Token bucket markers: one rate and three colours (RFC 2697), two rates and three colours
//! (RFC 2698), the same with separate excess (RFC 4115). Colour blind or aware.
//!
//! ```text
//!   one worker:       Profile (shared) + Tokens (24 bytes)          exact, no rounding
//!   a group of them:  Pool (one for all) → Share (one a worker)     never more than the rate
//! ```
//! Tokens are kept in units of one byte divided by the clock's ticks a second, so that nothing is
//! ever rounded: what a marker says is what the RFC's buckets would say with real numbers.

mod branchless;
mod pool;

pub use pool::{Pool, SHARES_MAX, Share};

use branchless::{least, mask};

/// Bytes of a bucket at most.
pub const BURST_MAX: u64 = 1 << 30;
/// Bytes a second at most: 8 Tbit/s.
pub const RATE_MAX: u64 = 1 << 40;
/// Ticks a second of the clock at most.
pub const TICKS_PER_S_MAX: u64 = 1 << 32;

/// The colour of a packet: what it comes with and what it leaves with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Colour {
    /// Within the committed rate.
    Green = 0,
    /// Within what may exceed it.
    Yellow = 1,
    /// Beyond.
    Red = 2,
}

const COLOURS: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

/// Rates in bytes a second, bursts in bytes; of IP packets or frames, as the caller counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// RFC 2697: what overflows the committed bucket fills the excess bucket.
    SingleRate {
        /// Committed information rate.
        cir: u64,
        /// Committed burst size.
        cbs: u64,
        /// Excess burst size.
        ebs: u64,
    },
    /// RFC 2698: the peak rate holds for all, the committed rate for the green.
    TwoRate {
        /// Committed information rate.
        cir: u64,
        /// Committed burst size.
        cbs: u64,
        /// Peak information rate.
        pir: u64,
        /// Peak burst size.
        pbs: u64,
    },
    /// RFC 4115: the excess rate is beside the committed rate.
    Differentiated {
        /// Committed information rate.
        cir: u64,
        /// Committed burst size.
        cbs: u64,
        /// Excess information rate.
        eir: u64,
        /// Excess burst size.
        ebs: u64,
    },
}

/// Why there is no such profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// A rate is past [`RATE_MAX`].
    Rate,
    /// A burst is past [`BURST_MAX`].
    Burst,
    /// The ticks a second are 0 or past [`TICKS_PER_S_MAX`].
    Ticks,
    /// RFC 2698 §2: the peak rate is below the committed rate.
    Peak,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    SingleRate,
    TwoRate,
    Differentiated,
}

/// One bucket: what it gets a tick, what it holds, and after how many ticks an empty one is full.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: u64,
    burst: u64,
    full: u64,
}

impl Bucket {
    fn new(rate: u64, burst: u64, ticks_per_s: u64) -> Self {
        let burst = burst * ticks_per_s;
        Self { rate, burst, full: burst.checked_div(rate).map_or(u64::MAX, |ticks| ticks + 1) }
    }

    /// What comes in `ticks`, cut where an empty bucket would be full.
    #[inline(always)]
    fn income(&self, ticks: u64) -> u64 {
        // At most the burst and one tick more: far below 2^64. Without a rate it is 0.
        least(ticks, self.full).wrapping_mul(self.rate)
    }

    #[inline(always)]
    fn filled(&self, tokens: u64, ticks: u64) -> u64 {
        let sum = tokens + self.income(ticks);
        least(sum, self.burst)
    }
}

/// A marker made ready for a clock; many policers may share one.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    kind: Kind,
    aware: bool,
    ticks_per_s: u64,
    committed: Bucket,
    /// Excess or peak.
    excess: Bucket,
    /// RFC 2697: ticks after which both buckets are full.
    both_full: u64,
}

impl Profile {
    /// Makes a marker ready for a clock of `ticks_per_s` (1,000,000,000 for nanoseconds).
    /// Colour aware markers never give a packet a better colour than it came with.
    ///
    /// # Errors
    /// [`OutOfRange`] when a number is.
    pub fn new(marker: Marker, aware: bool, ticks_per_s: u64) -> Result<Self, OutOfRange> {
        let (kind, [cir, cbs, second, burst]) = match marker {
            Marker::SingleRate { cir, cbs, ebs } => (Kind::SingleRate, [cir, cbs, cir, ebs]),
            Marker::TwoRate { cir, cbs, pir, pbs } => (Kind::TwoRate, [cir, cbs, pir, pbs]),
            Marker::Differentiated { cir, cbs, eir, ebs } => {
                (Kind::Differentiated, [cir, cbs, eir, ebs])
            }
        };
        match () {
            () if cir > RATE_MAX || second > RATE_MAX => Err(OutOfRange::Rate),
            () if cbs > BURST_MAX || burst > BURST_MAX => Err(OutOfRange::Burst),
            () if ticks_per_s == 0 || ticks_per_s > TICKS_PER_S_MAX => Err(OutOfRange::Ticks),
            () if kind == Kind::TwoRate && second < cir => Err(OutOfRange::Peak),
            () => {
                let committed = Bucket::new(cir, cbs, ticks_per_s);
                let excess = Bucket::new(second, burst, ticks_per_s);
                let both_full = committed.full.saturating_add(excess.full);
                Ok(Self { kind, aware, ticks_per_s, committed, excess, both_full })
            }
        }
    }

    /// Full buckets (RFC 2697 §3, RFC 2698 §3, RFC 4115 §3) at `now`.
    #[must_use]
    pub fn full(&self, now: u64) -> Tokens {
        Tokens { last: now, committed: self.committed.burst, excess: self.excess.burst }
    }

    /// RFC 2697: what comes in `ticks`, cut where both buckets would be full.
    #[inline(always)]
    fn income(&self, ticks: u64) -> u64 {
        // At most both bursts and two ticks more: below 2^64.
        least(ticks, self.both_full).wrapping_mul(self.committed.rate)
    }

    /// What the two buckets hold after `ticks` more.
    #[inline(always)]
    fn filled(&self, committed: u64, excess: u64, ticks: u64) -> (u64, u64) {
        if self.kind == Kind::SingleRate {
            let sum = committed + self.income(ticks);
            let held = least(sum, self.committed.burst);
            return (held, least(excess + (sum - held), self.excess.burst));
        }
        (self.committed.filled(committed, ticks), self.excess.filled(excess, ticks))
    }

    /// The colour of a packet that costs `cost`, and what it leaves in the buckets.
    #[inline(always)]
    fn colour(&self, committed: u64, excess: u64, cost: u64, came: Colour) -> (Colour, u64, u64) {
        let came = if self.aware { came } else { Colour::Green };
        // Without a branch: colours are as mixed as traffic is. RFC 2698: green pays peak, too.
        let peak = self.kind == Kind::TwoRate;
        let within = (came != Colour::Red) & (excess >= cost);
        let green = (came == Colour::Green) & (committed >= cost) & (within | !peak);
        let (pays, pays_excess) = (mask(green), mask(within & (peak | !green)));
        let colour = COLOURS[2 - usize::from(within | green) - usize::from(green)];
        (colour, committed - (cost & pays), excess - (cost & pays_excess))
    }
}

/// The buckets of one policer that one worker owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    last: u64,
    committed: u64,
    excess: u64,
}

impl Tokens {
    /// Colours a packet of `bytes` at `now` (ticks; one that goes back counts as standing still).
    #[inline(always)]
    #[must_use]
    pub fn mark(&mut self, profile: &Profile, now: u64, bytes: u32, came: Colour) -> Colour {
        let (mut committed, mut excess) = (self.committed, self.excess);
        // Packets of one vector come at one time: most find the buckets as the first left them.
        if now > self.last {
            (committed, excess) = profile.filled(committed, excess, now - self.last);
            self.last = now;
        }
        let cost = u64::from(bytes) * profile.ticks_per_s;
        let (colour, committed, excess) = profile.colour(committed, excess, cost, came);
        (self.committed, self.excess) = (committed, excess);
        colour
    }
}
