//! Routes that the owner imports from another base, with how they stood there: several paths of a
//! key, as those of peers.

use crate::decide::Rank;
use crate::key::Key;
use crate::rib::{Any, plain_next_hop, with};
use crate::sets::Content;
use crate::table::{Announced, Taken};
use crate::{Kind, NONE, PeerId, Rib};
use bgp::family::Family;

/// A path of another base.
#[derive(Debug, Clone, Copy)]
pub struct Imported<'a> {
    /// What is routed, as `Route::split` gives it.
    pub key: &'a [u8],
    /// The owner's number for it among the imported ones of the key, not zero.
    pub path_id: u32,
    /// What it carries: the label to its edge, also where the family of the table has none.
    pub payload: &'a [u8],
    /// Attributes, as [`crate::PathRef`] gives them.
    pub attributes: &'a [u8],
    /// As above; without a route distinguisher.
    pub next_hop: &'a [u8],
    /// Whose it is there.
    pub from: PeerId,
    /// What it was compared by there.
    pub rank: Rank,
}

impl Rib {
    /// A path of another base stands from now on, in place of another one of that key and number.
    /// It is compared as it was there, but for an own one there: here it is one of an internal
    /// peer. No import policy judges it, and its next hop is as far as it was there. `None`, and
    /// nothing changes, for a key that the family does not have.
    pub fn import(&mut self, family: Family, route: &Imported<'_>) -> Option<Taken> {
        let Imported { key, path_id, payload, from, .. } = *route;
        let rank = route.rank.elsewhere();
        let mut moved = Vec::new();
        let (attributes, next_hop) =
            plain_next_hop(family, route.attributes, route.next_hop, &mut moved);
        let peer = PeerId::IMPORTED;
        with!(self.table(family), table => {
            let key = Key::read(family, key)?;
            // Paths of different peers are compared differently: an epoch for each keeps them
            // apart.
            let (epoch, came_as, is_refused) = (from.0, NONE, false);
            let content = Content { peer, epoch, attributes, next_hop, came_as, is_refused };
            let set = table.set_of_nobody(&content, Kind::NonClient, rank);
            let taken = table.announce(key, Announced { peer, path_id, payload, set });
            if taken == Taken::Refused {
                table.drop_set(set);
            }
            Some(taken)
        })
    }

    /// A path of another base is no more; whether there was one.
    pub fn remove_import(&mut self, family: Family, key: &[u8], path_id: u32) -> bool {
        let Some(any) = &mut self.tables[family as usize] else { return false };
        with!(&mut **any, table => {
            Key::read(family, key)
                .is_some_and(|key| table.withdraw(&key, PeerId::IMPORTED, path_id))
        })
    }

    /// Whether anybody has a path of a key.
    #[must_use]
    pub fn has_route(&self, family: Family, key: &[u8]) -> bool {
        let Some(any) = &self.tables[family as usize] else { return false };
        with!(&**any, table => {
            let entry = Key::read(family, key).and_then(|key| table.find(&key));
            entry.is_some_and(|entry| table.entries[entry as usize].paths != NONE)
        })
    }

    /// Whether this speaker has a route of a key itself.
    #[must_use]
    pub fn has_own(&self, family: Family, key: &[u8]) -> bool {
        let Some(any) = &self.tables[family as usize] else { return false };
        with!(&**any, table => {
            let entry = Key::read(family, key).and_then(|key| table.find(&key));
            entry.is_some_and(|entry| table.path_of(entry, PeerId::OWN, 0).is_some())
        })
    }

    /// Keys and numbers of all paths of somebody, in no order that means anything.
    #[must_use]
    pub fn keys_from(&self, peer: PeerId, family: Family) -> Vec<(Vec<u8>, u32)> {
        let Some(any) = &self.tables[family as usize] else { return Vec::new() };
        with!(&**any, table => {
            let paths = table.paths_from(peer).into_iter();
            let key = |path: u32| {
                let path = &table.paths[path as usize];
                let mut key = Vec::new();
                Key::octets(&table.entries[path.entry as usize].key, &mut key);
                (key, path.path_id)
            };
            paths.map(key).collect()
        })
    }

    /// Readers are told again of all routes with a path whose attributes are concerned: each
    /// attribute set is asked for once.
    pub fn retell(&mut self, family: Family, concerns: &mut dyn FnMut(&[u8]) -> bool) {
        let Some(any) = &mut self.tables[family as usize] else { return };
        with!(&mut **any, table => {
            for set in 0..table.sets.len() {
                let it = table.sets.get(set);
                if it.references > 0 && concerns(it.attributes()) {
                    table.log_paths(set);
                }
            }
        });
    }
}
