//! LSAs of the greatest age, until everybody knows (RFC 2328 §14). Each is looked at when it may
//! have become free, not with every packet: a neighbour that acknowledges nothing costs no time.

use super::DbId;
use crate::lsa::Key;
use machine::Time;
use std::collections::BTreeSet;

/// LSAs that one step looks at.
const LOOKED_AT_MAX: usize = 4_096;

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

    /// Whether there is nothing to look at.
    pub(super) fn is_quiet(&self) -> bool {
        self.ripe.is_empty()
    }

    pub(super) fn has(&self, db: DbId, key: Key) -> bool {
        self.all.contains(&(db, key))
    }

    /// What is ripe, as much as one step may look at.
    pub(super) fn take(&mut self) -> BTreeSet<(DbId, Key)> {
        let rest = self.ripe.iter().nth(LOOKED_AT_MAX).copied();
        let rest = rest.map(|rest| self.ripe.split_off(&rest)).unwrap_or_default();
        core::mem::replace(&mut self.ripe, rest)
    }
}
