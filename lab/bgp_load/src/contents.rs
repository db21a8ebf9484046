//! What one stream of UPDATEs leaves behind: the routes that are held, as tags by number, and the
//! sums of them.

use crate::digest::{self, Attributes, Sum};
use crate::keys::{Keys, NOBODY};
use bgp::codec::{AttributeType, Context, Update};
use bgp::family::{Family, FamilySet, Ipv4Routes, Routes};

/// The routes that a client holds.
#[derive(Debug, Default, Clone)]
pub struct Contents {
    /// By the route's number; zero: not held.
    tags: Vec<u32>,
    all: Sum,
    /// Of the routes of each feeder.
    own: Vec<Sum>,
    /// The route before.
    before: u32,
    /// Routes that were announced.
    pub announced: u64,
    /// Routes that were withdrawn.
    pub withdrawn: u64,
    /// UPDATEs that are not as they should be.
    pub violations: u64,
    /// The route that was waited for came.
    pub(crate) has_seen: bool,
    scratch: Vec<u8>,
    key: Vec<u8>,
    payload: Vec<u8>,
}

/// Who feeds the routes that an UPDATE announces and withdraws, one after another, until `goes_on`
/// says no; whether it never did.
pub(crate) fn feeders(
    keys: &mut Keys,
    message: &[u8],
    context: &Context,
    mut goes_on: impl FnMut(usize) -> bool,
) -> bool {
    let Ok(update) = Update::read(message, context) else { return true };
    let (unreach, reach) = (update.unreach(), update.reach());
    let parts = [
        Some(update.withdrawn()),
        unreach.map(|it| it.routes),
        Some(update.announced()),
        reach.map(|it| it.routes),
    ];
    let is_counted = |routes: &Routes<'_>| !STEERING.has(routes.family());
    let (mut before, mut octets, mut payload) = (0, Vec::new(), Vec::new());
    let mut number = |key| {
        before = keys.find(key, before)?;
        Some(keys.feeder(before))
    };
    for routes in parts.into_iter().flatten().filter(is_counted) {
        if routes.family() == Family::Ipv4Unicast {
            let mut all = Ipv4Routes::new(routes.octets(), routes.layout().add_path);
            let feeder =
                all.all(|(id, it)| number(digest::ipv4_key(id, it)).is_none_or(&mut goes_on));
            if !feeder {
                return false;
            }
            continue;
        }
        for route in routes {
            octets.clear();
            payload.clear();
            route.split(&mut octets, &mut payload);
            let key = digest::key(route.family, route.path_id, &octets);
            if !number(key).is_none_or(&mut goes_on) {
                return false;
            }
        }
    }
    true
}

/// Families whose routes steer what is sent and are not part of what is held.
const STEERING: FamilySet = FamilySet::only(Family::RouteTarget);

impl Contents {
    /// Nothing is held.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Routes that were announced or withdrawn.
    #[must_use]
    pub const fn updates(&self) -> u64 {
        self.announced + self.withdrawn
    }

    /// What is held without the routes that client `feeder` itself announced.
    #[must_use]
    pub fn held_without(&self, feeder: usize) -> Sum {
        self.all.without(self.own.get(feeder).copied().unwrap_or_default())
    }

    /// Takes a whole UPDATE.
    pub fn update(&mut self, keys: &mut Keys, message: &[u8], context: &Context) {
        let Ok(update) = Update::read(message, context) else {
            self.violations += 1;
            return;
        };
        self.violations += u64::from(update.violation().is_some());
        self.withdraw(keys, update.withdrawn());
        update.unreach().iter().for_each(|unreach| self.withdraw(keys, unreach.routes));
        let reach = update.reach().filter(|reach| !STEERING.has(reach.family));
        if reach.is_none() && update.announced().is_empty() {
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let attributes = Attributes::of(update.canonical(&mut scratch));
        self.scratch = scratch;
        self.announce(keys, update.announced(), attributes);
        if let Some(reach) = reach {
            let attributes = attributes.with(AttributeType::NextHop, reach.next_hop);
            self.announce(keys, reach.routes, attributes);
        }
    }

    fn announce(&mut self, keys: &mut Keys, routes: Routes<'_>, attributes: Attributes) {
        if routes.family() == Family::Ipv4Unicast {
            let tag = attributes.tag(&[]);
            for (path_id, prefix) in Ipv4Routes::new(routes.octets(), routes.layout().add_path) {
                self.announced += 1;
                self.set(keys, digest::ipv4_key(path_id, prefix), tag);
            }
            return;
        }
        let (mut key, mut payload) =
            (std::mem::take(&mut self.key), std::mem::take(&mut self.payload));
        for route in routes {
            key.clear();
            payload.clear();
            route.split(&mut key, &mut payload);
            self.announced += 1;
            let key = digest::key(route.family, route.path_id, &key);
            self.set(keys, key, attributes.tag(&payload));
        }
        (self.key, self.payload) = (key, payload);
    }

    fn withdraw(&mut self, keys: &mut Keys, routes: Routes<'_>) {
        if STEERING.has(routes.family()) {
            return;
        }
        if routes.family() == Family::Ipv4Unicast {
            for (path_id, prefix) in Ipv4Routes::new(routes.octets(), routes.layout().add_path) {
                self.withdrawn += 1;
                self.set(keys, digest::ipv4_key(path_id, prefix), 0);
            }
            return;
        }
        let (mut key, mut payload) =
            (std::mem::take(&mut self.key), std::mem::take(&mut self.payload));
        for route in routes {
            key.clear();
            route.split(&mut key, &mut payload);
            self.withdrawn += 1;
            self.set(keys, digest::key(route.family, route.path_id, &key), 0);
        }
        payload.clear();
        (self.key, self.payload) = (key, payload);
    }

    /// A route has this tag from now on; zero: it is not held.
    #[inline]
    fn set(&mut self, keys: &mut Keys, key: u64, tag: u32) {
        let Some(number) = keys.find(key, self.before) else {
            self.violations += 1;
            return;
        };
        self.before = number;
        let at = number as usize;
        if at >= self.tags.len() {
            self.grow(keys.len());
        }
        let old = std::mem::replace(&mut self.tags[at], tag);
        let feeder = keys.feeder(number);
        if feeder >= self.own.len() && feeder != usize::from(NOBODY) {
            self.own.resize(feeder + 1, Sum::default());
        }
        if old != 0 {
            self.all.remove(key, old);
            self.own.get_mut(feeder).into_iter().for_each(|own| own.remove(key, old));
        }
        if tag != 0 {
            self.all.add(key, tag);
            if let Some(own) = self.own.get_mut(feeder) {
                own.add(key, tag);
            }
        }
        self.has_seen |= keys.watched == Some((number, tag));
    }

    /// Room for all routes that are known; what is never touched takes no memory.
    #[cold]
    fn grow(&mut self, length: usize) {
        let mut tags = vec![0; length + length / 8];
        tags[..self.tags.len()].copy_from_slice(&self.tags);
        self.tags = tags;
    }
}
