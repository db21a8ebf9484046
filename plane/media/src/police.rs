//! How much may come: what the session description says, exactly (I.371 annex A, in octets).

use machine::{Duration, Time};

/// What may come at once: a fifth of a second of the rate, for packets that a network held up.
pub const BURST: Duration = Duration::from_millis(200);
const PICOS_PER_S: u64 = 1_000_000_000_000;

/// So many octets a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Picoseconds from one octet to the next.
    octet_ps: u64,
}

impl Rate {
    /// None at all.
    const NONE: Self = Self { octet_ps: u64::MAX };

    /// So many bits a second, of IP packets (RFC 8866 §5.8, `b=AS`); zero is none at all.
    #[must_use]
    pub const fn bits(per_s: u64) -> Self {
        let Some(octet_ps) = (8 * PICOS_PER_S).checked_div(per_s) else { return Self::NONE };
        Self { octet_ps }
    }

    /// As much as both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::NONE, it) | (it, Self::NONE) => it,
            (one, other) => {
                let (one, other) = (u128::from(one.octet_ps), u128::from(other.octet_ps));
                // Without an end with whatever has none; else the sum of both inverses' inverse.
                let both = (one * other).checked_div(one + other).unwrap_or(0);
                Self { octet_ps: u64::try_from(both).unwrap_or(u64::MAX) }
            }
        }
    }

    /// Picoseconds from one octet to the next; `u64::MAX` is none at all.
    #[must_use]
    pub const fn of_octet_ps(octet_ps: u64) -> Self {
        Self { octet_ps }
    }

    /// Picoseconds from one octet to the next.
    #[must_use]
    pub const fn octet_ps(self) -> u64 {
        self.octet_ps
    }
}

/// Packets for the control at once, at most.
pub const UP_BURST: u32 = 20;
/// Time between two of them, in the long run: 50 a second.
pub const UP_EVERY: Duration = Duration::from_millis(20);

/// How many packets go up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Upward {
    /// Time between two of them, in the long run.
    every: Duration,
    /// How far ahead of that they may be.
    ahead: Duration,
}

impl Upward {
    /// STUN and DTLS, for the control.
    pub const CONTROL: Self = Self::new(UP_EVERY, UP_BURST);

    const fn new(every: Duration, burst: u32) -> Self {
        Self { every, ahead: every.saturating_mul(burst.saturating_sub(1)) }
    }

    /// So many a second, and half of them at once.
    pub const fn per_s(packets: u16) -> Self {
        let packets = if packets == 0 { 1 } else { packets as u32 };
        Self::new(Duration::from_nanos(1_000_000_000 / packets as u64), packets.div_ceil(2))
    }
}

/// How much of [`Upward`] is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Used {
    /// When the next one would come if all came evenly.
    due: Time,
}

impl Used {
    /// Whether one more is within the rate; if it is, it is counted.
    pub fn passes(&mut self, now: Time, rate: Upward) -> bool {
        let is_within = self.due <= now + rate.ahead;
        if is_within {
            self.due = self.due.max(now) + rate.every;
        }
        is_within
    }
}

/// How much of a rate is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Police {
    /// When the next octet would come if all came evenly.
    due: Time,
}

impl Police {
    /// Whether a packet of so many octets is within the rate; if it is, it is counted.
    #[inline]
    pub fn passes(&mut self, now: Time, octets: u16, rate: Rate) -> bool {
        if self.due > now + BURST || rate == Rate::NONE {
            return false;
        }
        // A packet has 2^16 octets at most, and the slowest rate a bit a second: 2^59.
        let cost = Duration::from_nanos(u64::from(octets).saturating_mul(rate.octet_ps) / 1_000);
        self.due = self.due.max(now) + cost;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_any_second_no_more_passes_than_the_rate_and_one_burst() {
        // G.711 in packets of 20 ms: 80 kbit/s.
        let (rate, mut police) = (Rate::bits(80_000), Police::default());
        let passed = |police: &mut Police, every_ms: u64| {
            let packets = (0..10_000 / every_ms)
                .filter(|n| police.passes(Time::from_millis(100_000 + n * every_ms), 200, rate));
            packets.count()
        };
        assert_eq!(passed(&mut Police::default(), 20), 500, "all of what was agreed");
        let ten_times = passed(&mut police, 2);
        assert!((500..=512).contains(&ten_times), "{ten_times}");
    }

    #[test]
    fn two_rates_are_as_much_as_both_and_no_end_stays_none() {
        let (one, other, none) = (Rate::bits(64_000), Rate::bits(500_000), Rate::bits(0));
        assert_eq!(one.and(other).octet_ps().abs_diff(Rate::bits(564_000).octet_ps()), 0);
        assert_eq!((one.and(none), none.and(one), none.and(none)), (one, one, none));
        let endless = Rate::of_octet_ps(0);
        assert_eq!((one.and(endless), endless.and(endless)), (endless, endless));
    }

    #[test]
    fn a_rate_of_nothing_lets_nothing_pass_and_none_overflows() {
        assert!(!Police::default().passes(Time::MAX, 1, Rate::bits(0)));
        let mut police = Police::default();
        assert!(police.passes(Time::from_millis(1), u16::MAX, Rate::bits(1)));
        assert!(!police.passes(Time::from_millis(2), 1, Rate::bits(1)));
        assert!(Police::default().passes(Time::ZERO, u16::MAX, Rate::bits(u64::MAX)));
    }
}
