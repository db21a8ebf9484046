//! Ends that are over. What the forwarder counted of one comes a moment after its flow went: until
//! then nothing is said of the whole.
//!
//! ```text
//!   stream removed ─→ Over ─ last notice of its flow ─→ counted ─ LAST ─→ QualityReported,
//!                                                                         StreamEnded
//! ```

use crate::streams::Owner;
use anchor::{Local, Stream};
use hashbrown::HashMap;
use machine::{Duration, Time};
use std::collections::VecDeque;

/// The last figures of a flow are waited for so long: a trail takes events for four seconds after
/// its call ended.
pub(crate) const LAST: Duration = Duration::from_secs(1);
/// Ends that wait at most; of more the oldest waits no longer.
const WAITING_MAX: usize = 65_536;

/// An end that is over.
#[derive(Debug, Clone)]
pub(crate) struct Over {
    pub owner: Owner,
    pub stream: Stream,
    /// Since when.
    pub at: Time,
}

/// All of them, by their ports.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    waiting: HashMap<Local, Over>,
    /// In the order in which they ended.
    queue: VecDeque<(Time, Local)>,
}

impl Ended {
    /// An end is over; that which waits no longer for it.
    pub fn add(&mut self, local: Local, over: Over) -> Option<(Local, Over)> {
        let oldest = (self.waiting.len() >= WAITING_MAX).then(|| self.pop(Time::MAX)).flatten();
        self.queue.push_back((over.at, local));
        self.waiting.insert(local, over);
        oldest
    }

    /// The end that is over at a port.
    pub fn at(&self, local: Local) -> Option<&Over> {
        self.waiting.get(&local)
    }

    /// Another stream begins at a port: what is over there waits no longer.
    pub fn take(&mut self, local: Local) -> Option<Over> {
        self.waiting.remove(&local)
    }

    /// The next one that has waited for long enough.
    pub fn due(&mut self, now: Time) -> Option<(Local, Over)> {
        self.pop(now)
    }

    fn pop(&mut self, now: Time) -> Option<(Local, Over)> {
        while let Some(&(at, local)) = self.queue.front() {
            if now < at + LAST {
                return None;
            }
            self.queue.pop_front();
            // One that was taken, and the port had another end since, is that one's.
            if self.waiting.get(&local).is_some_and(|over| over.at == at) {
                return self.waiting.remove(&local).map(|over| (local, over));
            }
        }
        None
    }

    /// When [`Ended::due`] has the next one.
    pub fn deadline(&self) -> Option<Time> {
        self.queue.front().map(|(at, _)| *at + LAST)
    }
}
