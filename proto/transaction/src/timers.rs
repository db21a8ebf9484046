//! The timers of RFC 3261 Table 4, with those that RFC 6026 adds (L, M).

use machine::Duration;

/// The three base values from which every timer follows (RFC 3261 §17.1.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timers {
    /// Round-trip time estimate; 500 ms by default.
    pub t1: Duration,
    /// Longest interval between retransmissions of non-INVITE requests and INVITE responses;
    /// 4 s by default.
    pub t2: Duration,
    /// How long a message may live in the network; 5 s by default.
    pub t4: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            t1: Duration::from_millis(500),
            t2: Duration::from_secs(4),
            t4: Duration::from_secs(5),
        }
    }
}

impl Timers {
    /// `64 * T1`: how long a transaction tries, and how long it remembers.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.t1 * 64
    }
}

/// A timer's letter (RFC 3261 Table 4, RFC 6026 §8.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// INVITE request retransmit interval.
    A,
    /// INVITE transaction timeout.
    B,
    /// Wait time for response retransmits.
    D,
    /// Non-INVITE request retransmit interval.
    E,
    /// Non-INVITE transaction timeout.
    F,
    /// INVITE response retransmit interval.
    G,
    /// Wait time for ACK receipt.
    H,
    /// Wait time for ACK retransmits.
    I,
    /// Wait time for non-INVITE request retransmits.
    J,
    /// Wait time for response retransmits.
    K,
    /// Wait time for accepted INVITE request retransmits.
    L,
    /// Wait time for retransmission of 2xx to INVITE, or of a forked branch's 2xx.
    M,
}

/// Timer D on an unreliable transport lasts at least this long (RFC 3261 §17.1.1.2).
const D_MIN: Duration = Duration::from_secs(32);
/// Doubling stops here: `T1 * 2^6` is where timers B, F and H end everything.
const DOUBLINGS_MAX: u8 = 6;

impl Timer {
    /// How long the timer runs when it is set for the `tries`-th time (0 first; only A, E and G
    /// look at it). Zero on a reliable transport means: the state is left at once.
    #[must_use]
    pub fn duration(self, timers: &Timers, reliable: bool, tries: u8) -> Duration {
        let doubled = timers.t1 * (1 << tries.min(DOUBLINGS_MAX));
        match self {
            Self::A => doubled,
            Self::E | Self::G => doubled.min(timers.t2),
            Self::B | Self::F | Self::H | Self::L | Self::M => timers.patience(),
            Self::D | Self::I | Self::J | Self::K if reliable => Duration::ZERO,
            Self::D => timers.patience().max(D_MIN),
            Self::J => timers.patience(),
            Self::I | Self::K => timers.t4,
        }
    }
}

/// What happens to one of a transaction's two timers on entering a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// It runs on.
    Keep,
    /// It is stopped.
    Stop,
    /// It is set anew.
    Start(Timer),
}

/// The timers of a state: the one that retransmits and the one that leaves the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arming {
    /// A, E or G; never started on a reliable transport.
    pub resend: Arm,
    /// Any other letter.
    pub end: Arm,
}

impl Arming {
    /// Neither timer runs.
    pub const NONE: Self = Self { resend: Arm::Stop, end: Arm::Stop };

    /// Only the timer that leaves the state runs.
    #[must_use]
    pub const fn end(timer: Timer) -> Self {
        Self { resend: Arm::Stop, end: Arm::Start(timer) }
    }

    /// Both timers run.
    #[must_use]
    pub const fn both(resend: Timer, end: Timer) -> Self {
        Self { resend: Arm::Start(resend), end: Arm::Start(end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_timer_has_the_value_of_table_4() {
        let timers = Timers::default();
        let ms = |timer: Timer, reliable| timer.duration(&timers, reliable, 0).as_millis();
        let table = [
            (Timer::A, 500, 500),
            (Timer::B, 32_000, 32_000),
            (Timer::D, 32_000, 0),
            (Timer::E, 500, 500),
            (Timer::F, 32_000, 32_000),
            (Timer::G, 500, 500),
            (Timer::H, 32_000, 32_000),
            (Timer::I, 5_000, 0),
            (Timer::J, 32_000, 0),
            (Timer::K, 5_000, 0),
            (Timer::L, 32_000, 32_000),
            (Timer::M, 32_000, 32_000),
        ];
        for (timer, datagram, stream) in table {
            assert_eq!((ms(timer, false), ms(timer, true)), (datagram, stream), "{timer:?}");
        }
    }

    #[test]
    fn timer_a_doubles_while_e_and_g_stop_at_t2() {
        let timers = Timers::default();
        let run = |timer: Timer| -> Vec<u128> {
            (0..7).map(|n| timer.duration(&timers, false, n).as_millis()).collect()
        };
        assert_eq!(run(Timer::A), [500, 1000, 2000, 4000, 8000, 16_000, 32_000]);
        assert_eq!(run(Timer::E), [500, 1000, 2000, 4000, 4000, 4000, 4000]);
        assert_eq!(run(Timer::G), run(Timer::E));
    }
}
