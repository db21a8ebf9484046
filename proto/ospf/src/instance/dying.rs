//! LSAs of the greatest age, until everybody knows (RFC 2328 §14). Each is looked at when it may have
//! become free, not with every packet: a neighbour that acknowledges nothing costs no time.

use super::{DbId, Instance, NeighbourId};
use crate::lsa::Key;
use crate::neighbour::NeighbourState;
use machine::{Duration, Time};
use std::collections::BTreeSet;

/// LSAs that one step looks at.
const LOOKED_AT_MAX: usize = 4_096;
/// When the next of them are.
const SOON: Duration = Duration::from_millis(1);

/// They, and those that are to be looked at.
#[derive(Debug, Default)]
pub(super) struct Dying {
    all: BTreeSet<(DbId, Key)>,
    ripe: BTreeSet<(DbId, Key)>,
    /// When the rest of those is looked at.
    pub(super) due: Option<Time>,
}

impl Dying {
    pub(super) fn insert(&mut self, db: DbId, key: Key) {
        self.all.insert((db, key));
        self.ripe.insert((db, key));
    }

    pub(super) fn remove(&mut self, db: DbId, key: Key) {
        self.all.remove(&(db, key));
        self.ripe.remove(&(db, key));
    }

    /// A database is gone.
    pub(super) fn forget(&mut self, db: DbId) {
        self.all.retain(|it| it.0 != db);
        self.ripe.retain(|it| it.0 != db);
    }

    /// Somebody awaits an LSA no more.
    pub(super) fn touch(&mut self, db: DbId, key: Key) {
        if self.all.contains(&(db, key)) {
            self.ripe.insert((db, key));
        }
    }

    /// What is ripe, as much as one step may look at.
    fn take(&mut self) -> BTreeSet<(DbId, Key)> {
        let rest = self.ripe.iter().nth(LOOKED_AT_MAX).copied();
        let rest = rest.map(|rest| self.ripe.split_off(&rest)).unwrap_or_default();
        core::mem::replace(&mut self.ripe, rest)
    }
}

impl Instance {
    /// Those that everybody knows to be dead go.
    pub(super) fn remove_dead(&mut self, now: Time) {
        self.dying.due = None;
        if self.dying.ripe.is_empty() || self.is_anyone_loading(now) {
            return;
        }
        for (db, key) in self.dying.take() {
            if self.is_awaited(db, key) {
                continue;
            }
            self.dying.remove(db, key);
            let is_dead = self.entry(db, key).is_none_or(|entry| entry.is_max_age(now));
            if is_dead && let Some(lsdb) = self.db_mut(db) {
                lsdb.remove(key);
                // Where we still want to say it, it begins anew.
                if self.is_own(key) {
                    self.say_anew(now);
                }
            }
        }
        self.dying.due = (!self.dying.ripe.is_empty()).then(|| now + SOON);
    }

    /// Whether a neighbour has not acknowledged an LSA.
    fn is_awaited(&self, db: DbId, key: Key) -> bool {
        self.interfaces.values().any(|interface| {
            let is_its = self.db_of(key.kind, interface) == Some(db);
            let mut neighbours = interface.neighbours.values();
            is_its
                && neighbours.any(|it| {
                    it.state >= NeighbourState::Exchange && it.unacknowledged.contains_key(&key)
                })
        })
    }

    /// A neighbour is not waited for any more.
    pub(super) fn forget_awaited(&mut self, id: NeighbourId) {
        let Some(interface) = self.interfaces.get_mut(&id.0) else { return };
        let Some(it) = interface.neighbours.get_mut(&id.1) else { return };
        let keys = core::mem::take(&mut it.unacknowledged);
        let Some(interface) = self.interfaces.get(&id.0) else { return };
        for (key, _) in keys {
            if let Some(db) = self.db_of(key.kind, interface) {
                self.dying.touch(db, key);
            }
        }
    }

    /// What others say in our name is answered at once, and then once an interval: whoever says it
    /// without end does not have all that we say made anew each time (§13.4 with MinLSInterval).
    pub(super) fn say_anew(&mut self, now: Time) {
        let own = &mut self.own;
        let at = match own.fought {
            Some(planned) if planned > now => planned,
            Some(last) => now.max(last + self.settings.ls_interval),
            None => now,
        };
        own.fought = Some(at);
        if at == now {
            own.is_stale = true;
        } else {
            own.due = Some(own.due.map_or(at, |due| due.min(at)));
        }
    }
}
