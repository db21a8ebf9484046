//! Where requests go: by the routes that are written, and by what peers are for.

use super::{Peer, Route, Section, To};
use diameter::rows::{APPLICATIONS, base::BASE};
use std::collections::BTreeMap;

/// The number of an application, by its name in any case of letters.
#[must_use]
pub fn application(name: &str) -> Option<u32> {
    let named = APPLICATIONS.iter().find(|it| it.name.eq_ignore_ascii_case(name));
    named.map(|it| it.id).filter(|id| *id != BASE.id)
}

impl Peer {
    /// Whether it asks and is asked in an application.
    #[must_use]
    pub fn is_for(&self, id: u32) -> bool {
        let mut own = self.applications.iter().filter_map(|it| application(it));
        self.applications.is_empty() || own.any(|it| it == id)
    }
}

impl Section<'_> {
    /// The routes that are written, and those that follow from the applications of peers.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        let mut made: BTreeMap<(Option<String>, u32), Vec<To>> = BTreeMap::new();
        for peer in self.peer {
            for id in peer.applications.iter().filter_map(|it| application(it)) {
                let realm = peer.realm.as_ref().map(|it| it.to_ascii_lowercase());
                let (name, priority, weight) = (peer.name.clone(), peer.priority, 1);
                let to = To { peer: name, priority, weight };
                made.entry((realm, id)).or_default().push(to);
            }
        }
        let written = |realm: &Option<String>, id: u32| {
            self.route.iter().any(|it| {
                let own = it.realm.as_ref().map(|it| it.to_ascii_lowercase());
                own == *realm && it.application == Some(id)
            })
        };
        let made = made.into_iter().filter(|((realm, id), _)| !written(realm, *id));
        let made = made.map(|((realm, id), to)| Route {
            realm,
            application: Some(id),
            to,
            redirect: Vec::new(),
            redirect_cache_s: 0,
        });
        self.route.iter().cloned().chain(made).collect()
    }
}
