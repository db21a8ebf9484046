//! Timers as data: each has one time, and the earliest of all is the machine's deadline.

use crate::id::{PeerId, ServerId};
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};

/// What runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// T(ack) of an ASP Up or ASP Down.
    Ack(PeerId),
    /// T(ack) of what was asked for one Application Server.
    MemberAck(ServerId, PeerId),
    /// T(r).
    Recovery(ServerId),
    /// T(beat).
    Beat(PeerId),
    /// Gateways are asked for what is not available there.
    Audit,
}

/// Bounded by peers and members of Application Servers, whose numbers are bounded.
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

    pub(crate) fn is_armed(&self, timer: Timer) -> bool {
        self.times.contains_key(&timer)
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
