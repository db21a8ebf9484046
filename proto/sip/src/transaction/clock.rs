//! The two timers that a transaction ever needs at once, and what the wheel knows of them.

use super::timers::{Arm, Arming, Timer, Timers};
use machine::Time;

/// Retransmission and end of the present state; [`Time::MAX`] is "not running".
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    pub(super) resend: Time,
    pub(super) end: Time,
    /// When the wheel fires for this transaction; a key that comes at another time is void.
    pub(super) armed: Time,
    /// How often the resend timer was set.
    pub(super) tries: u8,
    resend_timer: Timer,
}

/// Where timer E stands once a provisional response came: at T2 (RFC 3261 §17.1.2.2).
const TRIES_AT_T2: u8 = 6;

impl Clock {
    pub(super) const STOPPED: Self = Self {
        resend: Time::MAX,
        end: Time::MAX,
        armed: Time::MAX,
        tries: 0,
        resend_timer: Timer::A,
    };

    /// Sets both timers as the state entered asks. Returns whether the state is to be left at
    /// once, because its end timer has no duration.
    pub(super) fn enter(
        &mut self,
        now: Time,
        arming: Arming,
        timers: &Timers,
        reliable: bool,
    ) -> bool {
        match arming.resend {
            Arm::Keep => self.tries = TRIES_AT_T2,
            Arm::Start(timer) if !reliable => {
                self.resend_timer = timer;
                self.tries = 0;
                self.again(now, timers);
            }
            Arm::Stop | Arm::Start(_) => self.resend = Time::MAX,
        }
        match arming.end {
            Arm::Keep => {}
            Arm::Stop => self.end = Time::MAX,
            Arm::Start(timer) => self.end = now + timer.duration(timers, reliable, 0),
        }
        self.end <= now
    }

    /// Sets the resend timer for the next time.
    pub(super) fn again(&mut self, now: Time, timers: &Timers) {
        self.resend = now + self.resend_timer.duration(timers, false, self.tries);
        self.tries = self.tries.saturating_add(1);
    }

    /// The earlier of the two.
    pub(super) fn next(&self) -> Time {
        self.resend.min(self.end)
    }
}
