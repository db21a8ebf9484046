//! What comes by associations of IPsec waits in a socket of its own: who asks in the clear begins
//! work that goes on behind all that waits there.

use machine::{Duration, Time};

/// Nothing came by associations for so long: nothing waits there.
const RECENT: Duration = Duration::from_millis(100);

/// How long that waits.
#[derive(Debug, Default)]
pub struct Protected {
    at: Time,
    delay: Duration,
    is_now: bool,
}

impl Protected {
    /// What is looked at next came by associations, and waited so long.
    pub const fn comes(&mut self, now: Time, delay: Duration) {
        (self.at, self.delay, self.is_now) = (now, delay, true);
    }

    /// What is looked at next came in the clear.
    pub const fn is_over(&mut self) {
        self.is_now = false;
    }

    /// Whether what is looked at came by associations.
    #[must_use]
    pub const fn is_now(&self) -> bool {
        self.is_now
    }

    /// How long what comes by associations has waited of late.
    #[must_use]
    pub fn delay(&self, now: Time) -> Duration {
        if now < self.at + RECENT { self.delay } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_counts_for_what_comes_in_the_clear_until_nothing_comes_any_more() {
        let (mut protected, wait) = (Protected::default(), Duration::from_millis(30));
        let now = Time::from_millis(1_000);
        assert_eq!(protected.delay(now), Duration::ZERO);
        protected.comes(now, wait);
        assert!(protected.is_now());
        protected.is_over();
        assert_eq!((protected.is_now(), protected.delay(now)), (false, wait));
        assert_eq!(protected.delay(now + RECENT), Duration::ZERO);
    }
}
