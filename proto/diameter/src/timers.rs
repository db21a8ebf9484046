//! Timers as data: the earliest of all is a part of the machine's deadline.

use crate::settings::{Connection, PeerId};
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};

/// What runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Tc: a peer is connected to.
    Connect(PeerId),
    /// What a state of a peer waits for.
    State(PeerId),
    /// Tw.
    Watchdog(PeerId),
    /// The CER of a connection that was accepted.
    Greeting(Connection),
}

/// Bounded by peers and connections, whose numbers are.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    order: BTreeSet<(Time, Timer)>,
    times: BTreeMap<Timer, Time>,
}

impl Timers {
    pub(crate) fn arm(&mut self, timer: Timer, at: Time) {
        self.cancel(timer);
        self.order.insert((at, timer));
        self.times.insert(timer, at);
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        if let Some(at) = self.times.remove(&timer) {
            self.order.remove(&(at, timer));
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes the earliest that is due at `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Timer> {
        let (_, timer) = *self.order.first().filter(|(at, _)| *at <= now)?;
        self.cancel(timer);
        Some(timer)
    }
}
