//! What a policer has the kernel know, so that it can drop and spare sources itself.

use super::prefix::{place, spread};
use machine::narrow::slot;
use machine::{Duration, Time};
use std::net::IpAddr;

/// Changes that wait for the end of a step; more are left out, and the source is only policed.
pub const CHANGES_MAX: usize = 1 << 16;
/// Sources of which is remembered that they were told; a power of two.
const TOLD_MAX: usize = 4_096;
/// A source that keeps coming is told again after this long.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// A change for the kernel's part of the policing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A source passes for so long; without a time until it is forgotten.
    Know(IpAddr, Option<Duration>),
    /// A source is no longer known.
    Forget(IpAddr),
    /// Nothing of a source passes for so long.
    Block(IpAddr, Duration),
    /// A source, or every one, is no longer blacklisted.
    Pardon(Option<IpAddr>),
}

/// Changes that nobody was told of yet.
#[derive(Debug)]
pub(super) struct Changes {
    pending: Vec<Change>,
    told: Box<[(u64, Time)]>,
    secret: [u64; 2],
}

impl Changes {
    pub(super) fn new(secret: [u64; 2]) -> Self {
        Self { pending: Vec::new(), told: vec![(0, Time::ZERO); TOLD_MAX].into(), secret }
    }

    pub(super) fn push(&mut self, change: Change) {
        if self.pending.len() < CHANGES_MAX {
            self.pending.push(change);
        }
    }

    /// A source passes for so long, unless that was told not long ago.
    pub(super) fn know(&mut self, now: Time, address: IpAddr, time: Duration) {
        let place = place(address);
        let entry = &mut self.told[slot(spread(place, self.secret), TOLD_MAX)];
        if entry.0 != place || now.since(entry.1) >= TELL_AGAIN {
            *entry = (place, now);
            self.push(Change::Know(address, Some(time)));
        }
    }

    pub(super) fn take(&mut self) -> impl Iterator<Item = Change> + '_ {
        self.pending.drain(..)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}
