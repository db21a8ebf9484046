//! When SPF runs: the delay algorithm of RFC 8405.
//!
//! ```text
//! QUIET ── change ──→ SHORT_WAIT ── TIME_TO_LEARN is over ──→ LONG_WAIT
//!   └──────────────────── HOLDDOWN without a change ───────────┘
//! ```

use machine::{Duration, Time};

/// Delays of runs of SPF (RFC 8405 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpfDelays {
    /// INITIAL_SPF_DELAY: after a first change.
    pub initial: Duration,
    /// SHORT_SPF_DELAY: while changes belong together.
    pub short: Duration,
    /// LONG_SPF_DELAY: while they do not end.
    pub long: Duration,
    /// TIME_TO_LEARN_INTERVAL: how long changes belong together.
    pub learn: Duration,
    /// HOLDDOWN_INTERVAL: rest after which the network counts as stable.
    pub holddown: Duration,
}

impl Default for SpfDelays {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(10),
            short: Duration::from_millis(50),
            long: Duration::from_millis(1_000),
            learn: Duration::from_millis(500),
            holddown: Duration::from_millis(5_000),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Quiet,
    ShortWait { learnt: Time },
    LongWait,
}

/// The state machine.
#[derive(Debug, Clone)]
pub struct Backoff {
    delays: SpfDelays,
    state: State,
    rest: Time,
    due: Option<Time>,
}

impl Backoff {
    /// With these delays; nothing happened yet.
    #[must_use]
    pub const fn new(delays: SpfDelays) -> Self {
        Self { delays, state: State::Quiet, rest: Time::ZERO, due: None }
    }

    /// Other delays from the next change on.
    pub const fn set_delays(&mut self, delays: SpfDelays) {
        self.delays = delays;
    }

    /// Something changed that routes depend on.
    pub fn change(&mut self, now: Time) {
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
    #[must_use]
    pub const fn due(&self) -> Option<Time> {
        self.due
    }

    /// Whether it runs now.
    pub fn take(&mut self, now: Time) -> bool {
        let is_due = self.due.is_some_and(|at| at <= now);
        if is_due {
            self.due = None;
        }
        is_due
    }
}
