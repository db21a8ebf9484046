//! The base for people: routes, paths and groups as they stand.

use crate::key::Key;
use crate::rib::{Any, with};
use crate::table::Table;
use crate::{PeerId, Rib, Terms, decide};
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
    /// Who announced it.
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
    /// Its attributes as they came, where the import policy has changed them.
    pub came_with: Option<Vec<u8>>,
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

impl<K: Key> Table<K> {
    fn view(&self, entry: u32) -> RouteView {
        let mut key = Vec::new();
        self.entries[entry as usize].key.octets(&mut key);
        let best = self.paths_of(entry).next().map(|path| self.paths[path as usize].set);
        let paths = self.paths_of(entry).enumerate().map(|(at, number)| {
            let path = &self.paths[number as usize];
            let set = self.sets.get(path.set);
            let best = best.filter(|_| at > 0).map(|best| &self.sets.get(best).rank);
            PathView {
                peer: path.peer,
                path_id: path.path_id,
                attributes: set.attributes().to_vec(),
                next_hop: set.next_hop().to_vec(),
                payload: self.payloads.octets(path.payload).to_vec(),
                is_refused: set.rank.is_refused,
                came_with: (set.came_as != crate::NONE)
                    .then(|| self.sets.get(set.came_as).attributes().to_vec()),
                is_stale: self.source(path.peer).is_some_and(|it| it.epoch != set.epoch),
                loses_by: best.map(|best| decide::reason(best, &set.rank)),
            }
        });
        RouteView { paths: paths.collect(), key }
    }

    fn is_from(&self, entry: u32, peer: PeerId) -> bool {
        self.paths_of(entry).any(|path| self.paths[path as usize].peer == peer)
    }

    fn is_told(&self, entry: u32, peer: PeerId, interest: impl Fn(u32) -> bool) -> bool {
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
            None => 0..self.entries.len() as u32,
        };
        let is_wanted = |entry: &u32| {
            self.entries[*entry as usize].paths != crate::NONE
                && wanted.from.is_none_or(|peer| self.is_from(*entry, peer))
                && wanted
                    .told
                    .is_none_or(|peer| self.is_told(*entry, peer, |class| interest(class, peer)))
        };
        let found = all.filter(is_wanted).skip(wanted.skip).take(wanted.limit);
        found.map(|entry| self.view(entry)).collect()
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
