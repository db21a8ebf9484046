//! The clocks of a stream: that of its payload, and the wall clock of its reports (RFC 3550 §4).

use machine::{Duration, Time, narrow};

/// Seconds from the epoch of NTP (1900) to that of UNIX.
const NTP_TO_UNIX_S: u64 = 2_208_988_800;
const NANOS: u64 = 1_000_000_000;

/// Ticks a second of a payload's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockRate(u32);

impl ClockRate {
    /// That of telephony.
    pub const TELEPHONY: Self = Self(8_000);

    /// So many ticks a second; `None` for none.
    #[must_use]
    pub const fn new(hertz: u32) -> Option<Self> {
        if hertz == 0 { None } else { Some(Self(hertz)) }
    }

    /// Ticks a second.
    #[must_use]
    pub const fn hertz(self) -> u32 {
        self.0
    }

    /// The time as such a clock shows it, modulo 2^32.
    #[inline]
    #[must_use]
    pub const fn ticks(self, at: Time) -> u32 {
        let (seconds, rest) = (at.as_nanos() / NANOS, at.as_nanos() % NANOS);
        let rate = self.0 as u64;
        narrow::half(seconds.wrapping_mul(rate).wrapping_add(rest * rate / NANOS))
    }

    /// How long so many ticks are.
    #[must_use]
    pub const fn duration(self, ticks: u32) -> Duration {
        Duration::from_nanos(ticks as u64 * NANOS / self.0 as u64)
    }
}

/// A wall clock time as NTP writes it: seconds since 1900 in the upper 32 bits, and their fraction
/// (RFC 3550 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ntp(pub u64);

impl Ntp {
    /// Of a time since the UNIX epoch, in the era of NTP that it falls into.
    #[must_use]
    pub const fn of(at: Time) -> Self {
        let (seconds, rest) = (at.as_nanos() / NANOS, at.as_nanos() % NANOS);
        Self(((seconds + NTP_TO_UNIX_S) << 32) | ((rest << 32) / NANOS))
    }

    /// The middle 32 bits, in which reports say when something was.
    #[must_use]
    pub const fn middle(self) -> NtpMiddle {
        NtpMiddle(narrow::half(self.0 >> 16))
    }
}

/// The middle 32 bits of [`Ntp`]: units of 1/65,536 s, modulo eighteen hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NtpMiddle(pub u32);

impl NtpMiddle {
    /// Of a time since the UNIX epoch.
    #[must_use]
    pub const fn of(at: Time) -> Self {
        Ntp::of(at).middle()
    }

    /// Units of 1/65,536 s since an earlier time.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

/// How long so many units of 1/65,536 s are.
#[must_use]
pub const fn duration(units: u32) -> Duration {
    Duration::from_nanos((units as u64 * NANOS) >> 16)
}

/// The round trip in units of 1/65,536 s to whoever reported: the report came at `now`, it names
/// the sender report `last_sr` and says that it left `delay` after it (RFC 3550 §6.4.1). `None` if
/// it names none, or says what cannot be.
#[must_use]
pub const fn round_trip(now: NtpMiddle, last_sr: u32, delay: u32) -> Option<u32> {
    let units = now.0.wrapping_sub(last_sr).wrapping_sub(delay);
    if last_sr == 0 || units > i32::MAX as u32 { None } else { Some(units) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_3550_figure_2_has_a_round_trip_of_6125_ms() {
        let units = round_trip(NtpMiddle(0xB710_8000), 0xB705_2000, 0x0005_4000);
        assert_eq!(units, Some(0x0006_2000));
        assert_eq!(duration(0x0006_2000), Duration::from_millis(6_125));
    }

    #[test]
    fn a_report_of_the_future_or_of_none_has_no_round_trip() {
        assert_eq!(round_trip(NtpMiddle(100), 0, 5), None);
        assert_eq!(round_trip(NtpMiddle(100), 99, 5), None);
        assert_eq!(round_trip(NtpMiddle(3), u32::MAX, 2), Some(2), "across the end of the clock");
    }

    #[test]
    fn ntp_counts_from_1900_and_a_payload_clock_from_anywhere() {
        // The example of RFC 3550 §6.4.1: 10 Nov 1995, 11:33:25.125 UTC.
        let at = Time::from_millis(816_003_205_125);
        assert_eq!(Ntp::of(at), Ntp(0xB44D_B705_2000_0000));
        assert_eq!(NtpMiddle::of(at), NtpMiddle(0xB705_2000));
        let rate = ClockRate::new(48_000).unwrap();
        assert_eq!(rate.ticks(Time::from_millis(1_020)), 48_960);
        assert_eq!(rate.duration(960), Duration::from_millis(20));
        let before = rate.ticks(Time::from_millis(816_003_205_125));
        let after = rate.ticks(Time::from_millis(816_003_205_145));
        assert_eq!(after.wrapping_sub(before), 960);
        assert_eq!(ClockRate::new(0), None);
    }
}
