//! Flows that have lost their last set while the function still has a registration of their phone
//! there: nobody else gets them until that is over.

use crate::set::{Identity, Impi};
use core::ops::Bound::{Excluded, Unbounded};
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Flows that are kept for phones that have left them, at most: all agreements may end at once.
const FLOWS_MAX: usize = ipsec::SETS_MAX as usize;

/// The flows, and whose they are until when.
#[derive(Debug, Default)]
pub(crate) struct Vacated {
    flows: BTreeMap<Identity, (Impi, Time)>,
    /// The first to end first.
    until: BTreeSet<(Time, Identity)>,
    /// Those that changed since they were told, while anybody is told.
    changed: Vec<Identity>,
    is_watched: bool,
}

impl Vacated {
    /// Whether a flow is not kept for another phone.
    pub fn is_free(&self, now: Time, identity: Identity, impi: &[u8]) -> bool {
        self.flows.get(&identity).is_none_or(|(of, until)| **of == *impi || *until <= now)
    }

    /// Whose a flow is, and until when.
    pub fn at(&self, identity: Identity) -> Option<(&[u8], Time)> {
        self.flows.get(&identity).map(|(impi, until)| (&**impi, *until))
    }

    /// The last set of a flow has ended before its registration.
    pub fn put(&mut self, identity: Identity, impi: Impi, until: Time) {
        self.remove(identity);
        self.flows.insert(identity, (impi, until));
        self.until.insert((until, identity));
        self.note(identity);
        if self.flows.len() > FLOWS_MAX
            && let Some((_, first)) = self.until.pop_first()
        {
            self.flows.remove(&first);
            self.note(first);
        }
    }

    /// A flow has a phone again.
    pub fn remove(&mut self, identity: Identity) {
        if let Some((_, until)) = self.flows.remove(&identity) {
            self.until.remove(&(until, identity));
            self.note(identity);
        }
    }

    /// Forgets those whose registration is over.
    pub fn expire(&mut self, now: Time) {
        while let Some((_, first)) = self.until.first().copied().filter(|(at, _)| *at <= now) {
            self.remove(first);
        }
    }

    fn note(&mut self, identity: Identity) {
        if self.is_watched {
            self.changed.push(identity);
        }
    }

    /// Notes which flows change from now on, or no more.
    pub fn watch(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
        self.changed.clear();
    }

    /// Those that changed since this was asked last.
    pub fn take_changed(&mut self) -> Vec<Identity> {
        core::mem::take(&mut self.changed)
    }

    /// As many after that one count as changed; the last of them.
    pub fn touch(&mut self, after: Option<Identity>, most: usize) -> Option<Identity> {
        let from = after.map_or(Unbounded, Excluded);
        let before = self.changed.len();
        self.changed.extend(self.flows.range((from, Unbounded)).take(most).map(|(it, _)| *it));
        self.changed.get(before..).and_then(|added| added.last().copied())
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.flows.clear();
        self.until.clear();
        self.changed.clear();
    }
}
