//! When which peer must be looked at: a wheel, so that a thousand of them cost nothing while
//! nothing is due.

use machine::{Time, Wheel};
use rib::PeerId;

/// A peer by its place and by the number that no other peer of that place has.
pub(crate) type Armed = (PeerId, u64);

/// The times of all peers. A peer may stand in it several times, and one that is gone stays until
/// its time: who takes such an entry out looks whether it still counts.
#[derive(Debug)]
pub(crate) struct Clock {
    wheel: Wheel<Armed>,
}

impl Clock {
    pub(crate) fn new(now: Time) -> Self {
        Self { wheel: Wheel::new(now) }
    }

    pub(crate) fn arm(&mut self, at: Time, peer: Armed) {
        self.wheel.arm(at, peer);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// The peers whose time may have come.
    pub(crate) fn expire(&mut self, now: Time) -> Vec<Armed> {
        let mut due = Vec::new();
        self.wheel.expire(now, &mut due);
        due
    }
}

#[cfg(test)]
impl Clock {
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.wheel.len()
    }
}
