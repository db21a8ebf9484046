//! When SPF runs: the delay algorithm of RFC 8405.
//!
//! ```text
//! QUIET ── change ──→ SHORT_WAIT ── TIME_TO_LEARN is over ──→ LONG_WAIT
//!   └──────────────────── HOLDDOWN without a change ───────────┘
//! ```

use crate::settings::SpfDelays;
use machine::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Quiet,
    ShortWait { learnt: Time },
    LongWait,
}

/// The state machine.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    delays: SpfDelays,
    state: State,
    rest: Time,
    due: Option<Time>,
}

impl Backoff {
    pub(crate) const fn new(delays: SpfDelays) -> Self {
        Self { delays, state: State::Quiet, rest: Time::ZERO, due: None }
    }

    /// Other delays from the next change on.
    pub(crate) const fn delays(&mut self, delays: SpfDelays) {
        self.delays = delays;
    }

    /// Something changed that routes depend on.
    pub(crate) fn change(&mut self, now: Time) {
        self.pass(now);
        let delay = match self.state {
            State::Quiet => {
                self.state = State::ShortWait { learnt: now + self.delays.learn };
                self.delays.initial
            }
            State::ShortWait { .. } => self.delays.short,
            State::LongWait => self.delays.long,
        };
        self.rest = now + self.delays.holddown;
        if self.due.is_none() {
            self.due = Some(now + delay);
        }
    }

    /// The timers HOLDDOWN and LEARN.
    fn pass(&mut self, now: Time) {
        match self.state {
            State::Quiet => {}
            _ if now >= self.rest => self.state = State::Quiet,
            State::ShortWait { learnt } if now >= learnt => self.state = State::LongWait,
            _ => {}
        }
    }

    /// When SPF runs next.
    pub(crate) const fn due(&self) -> Option<Time> {
        self.due
    }

    /// Whether it runs now.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        let is_due = self.due.is_some_and(|at| at <= now);
        if is_due {
            self.due = None;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;

    #[test]
    fn delays_grow_while_changes_go_on_and_begin_anew_after_a_rest() {
        let delays = SpfDelays::default();
        let mut backoff = Backoff::new(delays);
        let mut waits = Vec::new();
        let mut now = Time::from_millis(1_000);
        for _ in 0..8 {
            backoff.change(now);
            let due = backoff.due().unwrap();
            waits.push(due.since(now));
            backoff.change(now + Duration::from_millis(1));
            assert_eq!(backoff.due(), Some(due), "a run that waits is not put off");
            assert!(!backoff.take(now) && backoff.take(due) && !backoff.take(due));
            now = due + Duration::from_millis(60);
        }
        assert_eq!((waits[0], waits[1]), (delays.initial, delays.short));
        assert_eq!(*waits.last().unwrap(), delays.long);
        now += delays.holddown;
        backoff.change(now);
        assert_eq!(backoff.due(), Some(now + delays.initial));
    }
}
