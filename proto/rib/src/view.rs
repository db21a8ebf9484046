//! The base for people: routes, paths and groups as they stand.

use crate::key::Key;
use crate::rib::{Any, with};
use crate::table::Table;
use crate::{PeerId, Rib, Terms, decide, number};
use bgp::family::Family;

/// A route: what is routed, and its paths, the best one first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteView {
    /// Its key, as `Route::split` gives it.
    pub key: Vec<u8>,
    /// Its paths.
    pub paths: Vec<PathView>,
}

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathView {
    /// Who announced it: [`PeerId::OWN`] for this speaker, [`PeerId::IMPORTED`] for another base.
    pub peer: PeerId,
    /// The peer's number for it; zero without.
    pub path_id: u32,
    /// Its attributes.
    pub attributes: Vec<u8>,
    /// Its next hop of MP_REACH_NLRI; empty where NEXT_HOP says it.
    pub next_hop: Vec<u8>,
    /// What it carries beside its key.
    pub payload: Vec<u8>,
    /// The import policy refuses it.
    pub is_refused: bool,
    /// Its attributes and next hop as they came, where the import policy has changed them.
    pub came_with: Option<(Vec<u8>, Vec<u8>)>,
    /// Its peer is away, and has not announced it again.
    pub is_stale: bool,
    /// Why it is not the best one; `None` for the best.
    pub loses_by: Option<&'static str>,
}

/// An update group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupView {
    /// The family.
    pub family: Family,
    /// What its peers have in common.
    pub terms: Terms,
    /// Each cohort: its peers, changes that it is behind, whether it walks over everything, routes
    /// that it was told.
    pub cohorts: Vec<(Vec<PeerId>, u64, bool, usize)>,
}

/// Which routes are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// That one only.
    pub key: Option<&'a [u8]>,
    /// Those of a peer only.
    pub from: Option<PeerId>,
    /// Those that a peer was told only.
    pub told: Option<PeerId>,
    /// That many are passed over first.
    pub skip: usize,
    /// That many at most.
    pub limit: usize,
}

/// A piece of a table: its routes in the order of their places.
#[derive(Debug, Clone, Copy, Default)]
pub struct Page {
    /// Only paths of that peer.
    pub from: Option<PeerId>,
    /// The place at which it begins, and afterwards the one at which the next begins.
    pub place: usize,
    /// Places that are looked at, at most.
    pub places: usize,
    /// Routes at most.
    pub limit: usize,
    /// Set afterwards: there are no more places.
    pub is_last: bool,
}

impl<K: Key> Table<K> {
    fn view(&self, entry: u32, from: Option<PeerId>) -> RouteView {
        let mut key = Vec::new();
        self.entries[entry as usize].key.octets(&mut key);
        let numbers = self.paths_of(entry).enumerate();
        let is_wanted = |path: u32| from.is_none_or(|it| self.paths[path as usize].peer == it);
        let paths = numbers.filter(|(_, path)| is_wanted(*path));
        RouteView { paths: paths.map(|(at, path)| self.path_view(at, path)).collect(), key }
    }

    /// A path of an entry, at its place among the others.
    fn path_view(&self, at: usize, number: u32) -> PathView {
        let path = &self.paths[number as usize];
        let set = self.sets.get(path.set);
        let best = self.paths_of(path.entry).next().filter(|_| at > 0);
        let best = best.map(|best| &self.sets.get(self.paths[best as usize].set).rank);
        let came = (set.came_as != crate::NONE).then(|| self.sets.get(set.came_as));
        PathView {
            peer: path.peer,
            path_id: path.path_id,
            attributes: set.attributes().to_vec(),
            next_hop: set.next_hop().to_vec(),
            payload: self.payloads.octets(path.payload).to_vec(),
            is_refused: set.rank.is_refused(),
            came_with: came.map(|it| (it.attributes().to_vec(), it.next_hop().to_vec())),
            is_stale: !path.peer.is_none()
                && self.source(path.peer).is_some_and(|it| it.epoch != set.epoch),
            loses_by: best.map(|best| decide::reason(best, &set.rank)),
        }
    }

    fn is_from(&self, entry: u32, peer: PeerId) -> bool {
        self.paths_of(entry).any(|path| self.paths[path as usize].peer == peer)
    }

    fn is_announced(&self, entry: u32, peer: PeerId, interest: impl Fn(u32) -> bool) -> bool {
        let cohorts = self.groups.iter().flat_map(|group| &group.cohorts);
        let mut told = Vec::new();
        for cohort in cohorts.filter(|cohort| cohort.members.contains(&peer)) {
            cohort.announced.of(entry, &mut told);
        }
        told.into_iter().any(|(_, class)| interest(class))
    }

    fn routes(
        &self,
        wanted: &Wanted<'_>,
        interest: impl Fn(u32, PeerId) -> bool,
    ) -> Vec<RouteView> {
        let one =
            wanted.key.map(|octets| K::read(self.family, octets).and_then(|key| self.find(&key)));
        let all = match one {
            Some(entry) => entry.map_or(0..0, |entry| entry..entry + 1),
            None => 0..number(self.entries.len()),
        };
        let is_wanted = |entry: &u32| {
            self.entries[*entry as usize].paths != crate::NONE
                && wanted.from.is_none_or(|peer| self.is_from(*entry, peer))
                && wanted.told.is_none_or(|peer| {
                    self.is_announced(*entry, peer, |class| interest(class, peer))
                })
        };
        let found = all.filter(is_wanted).skip(wanted.skip).take(wanted.limit);
        found.map(|entry| self.view(entry, None)).collect()
    }

    fn page(&self, page: &mut Page) -> Vec<RouteView> {
        let mut routes = Vec::new();
        let end = page.place.saturating_add(page.places).min(self.entries.len());
        while page.place < end && routes.len() < page.limit {
            let entry = number(page.place);
            page.place += 1;
            let has = |peer| self.is_from(entry, peer);
            if self.entries[entry as usize].paths != crate::NONE && page.from.is_none_or(has) {
                routes.push(self.view(entry, page.from));
            }
        }
        page.is_last = page.place >= self.entries.len();
        routes
    }
}

impl Rib {
    /// Routes of a family, in no order that means anything.
    #[must_use]
    pub fn routes(&self, family: Family, wanted: &Wanted<'_>) -> Vec<RouteView> {
        let Some(any) = &self.tables[family as usize] else { return Vec::new() };
        let interest = |class, peer| self.is_interested(class, peer);
        with!(&**any, table => table.routes(wanted, interest))
    }

    /// The routes of a piece of a table. What changes between two pieces shows in one or both.
    #[must_use]
    pub fn page(&self, family: Family, page: &mut Page) -> Vec<RouteView> {
        let Some(any) = &self.tables[family as usize] else {
            page.is_last = true;
            return Vec::new();
        };
        with!(&**any, table => table.page(page))
    }

    /// The path of a peer to a key.
    #[must_use]
    pub fn path(&self, family: Family, key: &[u8], of: (PeerId, u32)) -> Option<PathView> {
        let wanted = Wanted { key: Some(key), from: Some(of.0), limit: 1, ..Wanted::default() };
        let route = self.routes(family, &wanted).pop()?;
        route.paths.into_iter().find(|path| (path.peer, path.path_id) == of)
    }

    /// Routes of a family: entries and paths.
    #[must_use]
    pub fn sizes(&self, family: Family) -> (usize, usize) {
        let Some(any) = &self.tables[family as usize] else { return (0, 0) };
        with!(&**any, table => table.counts())
    }

    /// The update groups.
    #[must_use]
    pub fn groups(&self) -> Vec<GroupView> {
        let mut groups = Vec::new();
        for (any, family) in self.tables.iter().zip(Family::ALL) {
            let Some(any) = any else { continue };
            with!(&**any, table => groups.extend(table.groups.iter().map(|group| {
                let cohorts = group.cohorts.iter().map(|it| {
                    let behind = table.changes.end() - it.position;
                    (it.members.clone(), behind, it.walk.is_some(), it.announced.count())
                });
                GroupView {
                    family: *family,
                    terms: group.terms.clone(),
                    cohorts: cohorts.collect(),
                }
            })));
        }
        groups
    }
}
