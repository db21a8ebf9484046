//! When which peer must be looked at: a wheel, so that a thousand of them cost nothing while
//! nothing is due.

use machine::{Time, Wheel};
use rib::PeerId;

/// The times of all peers. A peer may stand in it several times; it is looked at in vain then.
#[derive(Debug)]
pub(crate) struct Clock {
    wheel: Wheel<PeerId>,
}

impl Clock {
    pub(crate) fn new(now: Time) -> Self {
        Self { wheel: Wheel::new(now) }
    }

    pub(crate) fn arm(&mut self, at: Time, id: PeerId) {
        self.wheel.arm(at, id);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// The peers whose time may have come.
    pub(crate) fn expire(&mut self, now: Time) -> Vec<PeerId> {
        let mut due = Vec::new();
        self.wheel.expire(now, &mut due);
        due
    }
}
