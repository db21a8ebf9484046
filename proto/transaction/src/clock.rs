//! The two timers that a transaction ever needs at once, and what the wheel knows of them.

use super::timers::{Arm, Arming, Timer, Timers};
use machine::Time;
use machine::narrow::half;

/// A point in time as a transaction keeps it: milliseconds, rounded up as the wheel does, their
/// low 32 bits. Timers reach minutes ahead, half the range is 24 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tick(u32);

impl Tick {
    const NEVER: Self = Self(u32::MAX);

    fn at(time: Time) -> Self {
        let tick = half(time.as_nanos().div_ceil(1_000_000));
        if tick == Self::NEVER.0 { Self(0) } else { Self(tick) }
    }

    /// Milliseconds from the one that `now` stands in, negative when it is over.
    fn ahead(self, now: Time) -> i64 {
        match self {
            Self::NEVER => i64::MAX,
            Self(tick) => i64::from(tick.wrapping_sub(half(now.as_millis())).cast_signed()),
        }
    }

    fn is_due(self, now: Time) -> bool {
        self.ahead(now) <= 0
    }
}

/// Retransmission and end of the present state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    resend: Tick,
    end: Tick,
    /// When the wheel fires for this transaction; a key that comes at another time is void.
    armed: Tick,
    /// How often the resend timer was set.
    tries: u8,
    resend_timer: Timer,
    /// Whether the transport delivers by itself.
    pub(super) is_reliable: bool,
}

/// Where timer E stands once a provisional response came: at T2 (RFC 3261 §17.1.2.2).
const TRIES_AT_T2: u8 = 6;

/// Which timer a key of the wheel stands for when it fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fired {
    Resend,
    End,
    /// None yet: the deadline moved.
    Neither,
}

impl Clock {
    /// Of a transaction over a transport that is reliable or not; neither timer runs.
    pub(super) const fn stopped(is_reliable: bool) -> Self {
        let (resend, end, armed) = (Tick::NEVER, Tick::NEVER, Tick::NEVER);
        Self { resend, end, armed, tries: 0, resend_timer: Timer::A, is_reliable }
    }

    /// Sets both timers as the state entered asks. Returns whether the state is to be left at
    /// once, because its end timer has no duration.
    pub(super) fn enter(&mut self, now: Time, arming: Arming, timers: &Timers) -> bool {
        match arming.resend {
            Arm::Keep => self.tries = TRIES_AT_T2,
            Arm::Start(timer) if !self.is_reliable => {
                self.resend_timer = timer;
                self.tries = 0;
                self.again(now, timers);
            }
            Arm::Stop | Arm::Start(_) => self.resend = Tick::NEVER,
        }
        match arming.end {
            Arm::Keep => {}
            Arm::Stop => self.end = Tick::NEVER,
            Arm::Start(timer) => {
                let duration = timer.duration(timers, self.is_reliable, 0);
                self.end_at(now + duration);
                return duration.is_zero();
            }
        }
        self.end.is_due(now)
    }

    /// Stops the timer that retransmits.
    pub(super) const fn send_no_more(&mut self) {
        self.resend = Tick::NEVER;
    }

    /// Sets the end of the present state.
    pub(super) fn end_at(&mut self, at: Time) {
        self.end = Tick::at(at);
    }

    /// Sets the resend timer for the next time.
    fn again(&mut self, now: Time, timers: &Timers) {
        self.resend = Tick::at(now + self.resend_timer.duration(timers, false, self.tries));
        self.tries = self.tries.saturating_add(1);
    }

    /// A key of the wheel fired: what that means. `None` for one that is void.
    pub(super) fn fire(&mut self, now: Time, timers: &Timers) -> Option<Fired> {
        if !self.armed.is_due(now) {
            return None;
        }
        self.armed = Tick::NEVER;
        if self.end.is_due(now) {
            return Some(Fired::End);
        }
        if self.resend.is_due(now) {
            self.again(now, timers);
            return Some(Fired::Resend);
        }
        Some(Fired::Neither)
    }

    /// When the wheel must be armed for this transaction, if it is not already.
    pub(super) fn arm(&mut self, now: Time) -> Option<Time> {
        let next =
            if self.end.ahead(now) < self.resend.ahead(now) { self.end } else { self.resend };
        let ahead = next.ahead(now);
        if ahead >= self.armed.ahead(now) {
            return None;
        }
        self.armed = next;
        Some(Time::from_millis(now.as_millis().saturating_add_signed(ahead)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_across_the_end_of_the_range_fires_once_and_not_before_its_time() {
        let timers = Timers::default();
        let arming = Arming::end(Timer::J);
        for short_ms in [0, 1, 31_999, 32_000, 32_001] {
            let now = Time::from_millis((7 << 32) - short_ms);
            let mut clock = Clock::stopped(false);
            assert!(!clock.enter(now, arming, &timers));
            let at = clock.arm(now).unwrap();
            let late_ms = at.as_millis() - now.as_millis() - 32_000;
            assert!(late_ms <= 1, "{late_ms}");
            assert_eq!(clock.arm(now), None, "it stands in the wheel already");
            let before = Time::from_millis(at.as_millis() - 1);
            assert_eq!(clock.fire(before, &timers), None);
            assert_eq!(clock.fire(at, &timers), Some(Fired::End));
            assert_eq!(clock.fire(at, &timers), None);
        }
    }

    #[test]
    fn a_state_without_duration_is_left_at_once() {
        let now = Time::from_nanos(1_000_000_001);
        let timers = Timers::default();
        assert!(Clock::stopped(true).enter(now, Arming::end(Timer::J), &timers));
    }
}
