//! LSAs age, are refreshed, and die (RFC 2328 §12.4, §14).

use super::{DbId, Instance};
use crate::lsa::{Header, Key, MAX_AGE};
use crate::neighbour::NeighbourState;
use machine::Time;

/// The age at which own LSAs are said again, seconds (LSRefreshTime).
const REFRESH: u16 = 1_800;

impl Instance {
    /// Sees to it that an LSA is looked at when it is old.
    pub(super) fn arm(&mut self, now: Time, db: DbId, key: Key) {
        let is_own = self.is_own(key);
        let Some(entry) = self.db_mut(db).and_then(|it| it.of_mut(key)) else { return };
        let age = if is_own { REFRESH } else { MAX_AGE };
        let at = entry.reaches(age).max(now);
        if at < entry.armed {
            entry.armed = at;
            self.wheel.arm(at, (db, key));
        }
    }

    /// What has become old.
    pub(super) fn age(&mut self, now: Time) {
        let mut due = Vec::new();
        self.wheel.expire(now, &mut due);
        for (db, key) in due {
            let is_own = self.is_own(key);
            let Some(entry) = self.db_mut(db).and_then(|it| it.of_mut(key)) else { continue };
            if entry.armed > now {
                continue;
            }
            entry.armed = Time::MAX;
            let age = entry.age(now);
            if age >= MAX_AGE {
                self.flush(now, db, key);
            } else if is_own && age >= REFRESH {
                self.own.is_stale = true;
                self.refresh(now, db, key);
            } else {
                self.arm(now, db, key);
            }
        }
    }

    /// An LSA gets the greatest age, and everybody is told (§14.1).
    pub(super) fn flush(&mut self, now: Time, db: DbId, key: Key) {
        let Some(entry) = self.entry(db, key) else { return };
        let header = Header { age: MAX_AGE, ..entry.header };
        let mut octets = entry.octets.to_vec();
        octets[..2].copy_from_slice(&MAX_AGE.to_be_bytes());
        self.install(now, db, header, &octets);
        self.flood(now, db, &header, None);
    }

    /// Those that everybody knows to be dead go (§14).
    pub(super) fn remove_dead(&mut self, now: Time) {
        if self.dying.is_empty() || self.is_anyone_loading() {
            return;
        }
        let dead: Vec<(DbId, Key)> =
            self.dying.iter().copied().filter(|(db, key)| !self.is_awaited(*db, *key)).collect();
        for (db, key) in dead {
            self.dying.remove(&(db, key));
            let is_dead = self.entry(db, key).is_none_or(|entry| entry.is_max_age(now));
            if is_dead && let Some(lsdb) = self.db_mut(db) {
                lsdb.remove(key);
                // Where we still want to say it, it begins anew.
                self.own.is_stale |= self.is_own(key);
            }
        }
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
}
