//! A subscription usage (RFC 6665 §4.1.2 Figure 1, §4.2.1.4): does it live, and until when.

use machine::{Duration, Time};
use sip::view::{SubscriptionState, Substate};
use transaction::Timers;

/// Where a subscription stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionPhase {
    /// SUBSCRIBE was sent (or a 2xx to it received); the first NOTIFY is awaited.
    NotifyWait,
    /// Not decided yet.
    Pending,
    /// Accepted.
    Active,
    /// Over.
    Terminated,
}

/// One subscription, as subscriber, as notifier, or as someone between them.
#[derive(Debug, Clone, Copy)]
pub struct Subscription {
    phase: SubscriptionPhase,
    deadline: Time,
}

impl Subscription {
    /// A SUBSCRIBE was sent: within timer N (64 * T1) the first NOTIFY must come (§4.1.2.4).
    #[must_use]
    pub fn subscriber(now: Time, timers: &Timers) -> Self {
        Self { phase: SubscriptionPhase::NotifyWait, deadline: now + timers.patience() }
    }

    /// A SUBSCRIBE was accepted by us for `expires_s` seconds (§4.2.1).
    #[must_use]
    pub fn notifier(now: Time, expires_s: u32, is_active: bool) -> Self {
        let phase = if is_active { SubscriptionPhase::Active } else { SubscriptionPhase::Pending };
        Self { phase, deadline: now + seconds(expires_s) }
    }

    /// As another one was: where it stood, and [`Subscription::deadline`].
    #[must_use]
    pub const fn restored(phase: SubscriptionPhase, deadline: Time) -> Self {
        Self { phase, deadline }
    }

    /// The subscription was refreshed: a SUBSCRIBE in its dialog got a 2xx with `expires_s`. Zero
    /// ends it with the NOTIFY that follows (§4.1.2.3).
    pub fn refreshed(&mut self, now: Time, expires_s: u32, timers: &Timers) {
        match self.phase {
            SubscriptionPhase::Terminated | SubscriptionPhase::NotifyWait => {}
            _ if expires_s == 0 => self.deadline = now + timers.patience(),
            _ => self.deadline = now + seconds(expires_s),
        }
    }

    /// A SUBSCRIBE was refused with `status`. The first refusal ends it; a refresh only ends it
    /// when the status says that there is nothing to refresh (§4.1.2.2).
    pub const fn refused(&mut self, status: u16) {
        let gone = matches!(status, 404 | 405 | 410 | 416 | 480..=485 | 489 | 501 | 604);
        if gone || matches!(self.phase, SubscriptionPhase::NotifyWait) {
            self.phase = SubscriptionPhase::Terminated;
        }
    }

    /// A NOTIFY passed, in either direction (§4.1.3).
    pub fn notified(&mut self, now: Time, state: &SubscriptionState<'_>) {
        if self.phase == SubscriptionPhase::Terminated {
            return;
        }
        self.phase = match state.state {
            Substate::Terminated => SubscriptionPhase::Terminated,
            Substate::Active => SubscriptionPhase::Active,
            _ => SubscriptionPhase::Pending,
        };
        if let Some(expires_s) = state.expires_s() {
            self.deadline = now + seconds(expires_s);
        }
    }

    /// Where it stands.
    #[must_use]
    pub const fn phase(&self) -> SubscriptionPhase {
        self.phase
    }

    /// When it ends unless something comes before; `None` once it is over.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        (self.phase != SubscriptionPhase::Terminated).then_some(self.deadline)
    }

    /// Lets time pass; whether the subscription ended by it.
    pub fn tick(&mut self, now: Time) -> bool {
        if self.phase == SubscriptionPhase::Terminated || self.deadline > now {
            return false;
        }
        self.phase = SubscriptionPhase::Terminated;
        true
    }
}

const fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use SubscriptionPhase::{Active, NotifyWait, Pending, Terminated};

    const TIMERS: Timers = Timers {
        t1: Duration::from_millis(500),
        t2: Duration::from_secs(4),
        t4: Duration::from_secs(5),
    };

    fn at(seconds: u64) -> Time {
        Time::from_millis(seconds * 1000)
    }

    fn notify(subscription: &mut Subscription, now: Time, value: &[u8]) {
        subscription.notified(now, &SubscriptionState::parse(value).unwrap());
    }

    #[test]
    fn without_a_notify_it_ends_after_timer_n() {
        let mut subscription = Subscription::subscriber(at(0), &TIMERS);
        assert_eq!(subscription.deadline(), Some(at(32)));
        assert!(!subscription.tick(at(31)));
        assert!(subscription.tick(at(32)) && !subscription.tick(at(33)));
        assert_eq!((subscription.phase(), subscription.deadline()), (Terminated, None));
    }

    #[test]
    fn each_notify_says_where_it_stands_and_for_how_long() {
        let mut subscription = Subscription::subscriber(at(0), &TIMERS);
        assert_eq!(subscription.phase(), NotifyWait);
        notify(&mut subscription, at(1), b"pending;expires=600");
        assert_eq!((subscription.phase(), subscription.deadline()), (Pending, Some(at(601))));
        notify(&mut subscription, at(2), b"active;expires=100");
        assert_eq!((subscription.phase(), subscription.deadline()), (Active, Some(at(102))));
        subscription.refreshed(at(50), 600, &TIMERS);
        assert_eq!(subscription.deadline(), Some(at(650)));
        let restored = Subscription::restored(subscription.phase(), at(650));
        assert_eq!((restored.phase(), restored.deadline()), (Active, Some(at(650))));
        notify(&mut subscription, at(60), b"terminated;reason=noresource");
        assert_eq!(subscription.phase(), Terminated);
        notify(&mut subscription, at(61), b"active;expires=100");
        assert_eq!(subscription.phase(), Terminated);
    }

    #[test]
    fn an_unsubscribe_waits_for_its_last_notify_no_longer_than_timer_n() {
        let mut subscription = Subscription::notifier(at(0), 3600, true);
        subscription.refreshed(at(10), 0, &TIMERS);
        assert_eq!(subscription.deadline(), Some(at(42)));
    }

    #[test]
    fn a_refused_refresh_ends_it_only_when_nothing_is_left_to_refresh() {
        let mut subscription = Subscription::notifier(at(0), 3600, true);
        subscription.refused(503);
        assert_eq!(subscription.phase(), Active);
        subscription.refused(481);
        assert_eq!(subscription.phase(), Terminated);
    }
}
