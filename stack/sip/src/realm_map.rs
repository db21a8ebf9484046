//! Realms are known by index; a new configuration may give them others.

use crate::realm::{RealmId, Realms};
use machine::narrow::index;

/// Where each realm of the old configuration is in the new one.
pub struct RealmMap(Vec<Option<RealmId>>);

impl RealmMap {
    /// By name.
    pub fn between(old: &Realms, new: &Realms) -> Self {
        Self(old.rows().iter().map(|realm| new.named(&realm.name)).collect())
    }

    /// Whether every realm kept its index.
    pub fn are_none(&self) -> bool {
        let stays = |(n, to): (usize, &Option<RealmId>)| *to == Some(RealmId(index(n)));
        self.0.iter().enumerate().all(stays)
    }

    /// The new index; `None` when the realm is gone.
    pub fn of(&self, realm: RealmId) -> Option<RealmId> {
        self.0.get(usize::from(realm.0)).copied().flatten()
    }
}
