//! Readers of what changes, beside the cohorts of peers: what fills a FIB, what imports into VRFs.
//!
//! ```text
//!   Begin ─→ every route as it stands ─→ … what changed meanwhile … ─→ End ─→ every change
//!     ↑                                                                           │
//!     └───────── too many routes went that it was not told of ←───────────────────┘
//! ```
//! A reader stands at a place of the log as a cohort does: what changed many times since is told
//! once, as it stands now. It holds the log no longer than a cohort: when entries without paths
//! are too many it is told everything anew.

use crate::decide::{self, Rank};
use crate::key::Key;
use crate::payload::Payloads;
use crate::reader::{Reader, ReaderId, Reading, Stage};
use crate::rib::{Any, with};
use crate::sets::Sets;
use crate::table::{Path, Table};
use crate::{Kind, NONE, PeerId, Rib, next_hops, number};
use bgp::family::{Family, FamilySet};
use core::net::IpAddr;

/// Paths that may be equal for a reader.
pub const EQUAL_MAX: usize = 64;

/// What a reader is told.
#[derive(Debug)]
pub enum Change<'a> {
    /// Everything of a family is told from here on: what was told before may not hold any more.
    Begin(Family),
    /// A route as it stands now.
    Route(Choice<'a>),
    /// Everything of the family was told: what was told before it began, and not since, is gone.
    End(Family),
}

/// What was chosen for a route.
#[derive(Debug)]
pub struct Choice<'a> {
    /// The family.
    pub family: Family,
    /// What is routed, as `Route::split` gives it.
    pub key: &'a [u8],
    chosen: &'a [u32],
    backup: u32,
    own: u32,
    table: Columns<'a>,
}

/// A path of a route.
#[derive(Debug, Clone, Copy)]
pub struct PathRef<'a> {
    /// Who announced it: [`PeerId::OWN`] for this speaker, [`PeerId::IMPORTED`] for another base.
    pub peer: PeerId,
    /// What that is.
    pub kind: Kind,
    /// The peer's number for it; zero without.
    pub path_id: u32,
    /// Where it leads; nowhere (a flow specification) without.
    pub next_hop: Option<IpAddr>,
    /// Its next hop of MP_REACH_NLRI; empty where NEXT_HOP says it.
    pub next_hop_octets: &'a [u8],
    /// Its attributes.
    pub attributes: &'a [u8],
    /// What it carries beside its key: labels.
    pub payload: &'a [u8],
    /// How far the next hop is.
    pub metric: u32,
    /// What it is compared by, for [`Rib::import`].
    pub rank: Rank,
}

/// What paths are read from.
#[derive(Clone, Copy)]
struct Columns<'a> {
    paths: &'a [Path],
    sets: &'a Sets,
    payloads: &'a Payloads,
}

impl core::fmt::Debug for Columns<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Columns")
    }
}

impl<'a> Columns<'a> {
    fn path(&self, number: u32) -> PathRef<'a> {
        let path = &self.paths[number as usize];
        let set = self.sets.get(path.set);
        PathRef {
            peer: path.peer,
            kind: set.kind,
            path_id: path.path_id,
            next_hop: next_hops::address(set.attributes(), set.next_hop()),
            next_hop_octets: set.next_hop(),
            attributes: set.attributes(),
            payload: self.payloads.octets(path.payload),
            metric: set.rank.metric,
            rank: set.rank,
        }
    }

    fn next_hop(&self, number: u32) -> Option<IpAddr> {
        let set = self.sets.get(self.paths[number as usize].set);
        next_hops::address(set.attributes(), set.next_hop())
    }
}

impl<'a> Choice<'a> {
    /// The best path; none if the route is gone.
    #[must_use]
    pub fn best(&self) -> Option<PathRef<'a>> {
        self.paths().next()
    }

    /// The paths among which traffic may be shared, the best one first: equal to it up to the
    /// metric of the next hop, and not the same way twice (two reflectors tell of it).
    pub fn paths(&self) -> impl Iterator<Item = PathRef<'a>> + use<'a> {
        let table = self.table;
        self.chosen.iter().map(move |path| table.path(*path))
    }

    /// The best one of those that lead over other next hops: where traffic goes when these fail.
    #[must_use]
    pub fn backup(&self) -> Option<PathRef<'a>> {
        (self.backup != NONE).then(|| self.table.path(self.backup))
    }

    /// For a [`Rib::importer`]: the path of this speaker, which is not among the others.
    #[must_use]
    pub fn own(&self) -> Option<PathRef<'a>> {
        (self.own != NONE).then(|| self.table.path(self.own))
    }
}

/// Room for what is chosen of an entry.
#[derive(Default)]
struct Room {
    usable: Vec<(Rank, u32)>,
    candidates: Vec<(Rank, u32)>,
    chosen: Vec<u32>,
    own: u32,
    key: Vec<u8>,
}

impl<K: Key> Table<K> {
    fn read_changes(
        &mut self,
        id: ReaderId,
        budget: &mut usize,
        tell: &mut impl FnMut(Change<'_>),
    ) -> bool {
        let Some(at) = self.readers.iter().position(|reader| reader.id == id) else { return false };
        let mut reader = self.readers.swap_remove(at);
        let mut room = Room::default();
        while *budget > 0 && reader.has_news(self.changes.end()) {
            *budget -= 1;
            self.step(&mut reader, &mut room, tell);
        }
        let more = reader.has_news(self.changes.end());
        self.readers.push(reader);
        self.trim();
        more
    }

    /// Tells a reader what comes next.
    fn step(&self, reader: &mut Reader, room: &mut Room, tell: &mut impl FnMut(Change<'_>)) {
        match reader.stage {
            Stage::Fresh => {
                tell(Change::Begin(self.family));
                // What changed until now is told as it stands, like everything.
                reader.position = self.changes.end();
                reader.stage = Stage::Walks(0);
            }
            Stage::Walks(entry) if (entry as usize) < self.entries.len() => {
                reader.stage = Stage::Walks(entry + 1);
                if self.entries[entry as usize].paths != NONE {
                    self.tell(entry, reader, room, tell);
                }
            }
            Stage::Walks(_) => reader.stage = Stage::Follows(self.changes.end()),
            Stage::Follows(until) if reader.position >= until => {
                tell(Change::End(self.family));
                reader.stage = Stage::Knows;
            }
            Stage::Follows(_) | Stage::Knows => {
                let (entry, _) = self.changes.change_at(reader.position);
                reader.position += 1;
                if self.is_last(entry, reader.position - 1) {
                    self.tell(entry, reader, room, tell);
                }
            }
        }
    }

    fn tell(
        &self,
        entry: u32,
        reader: &Reader,
        room: &mut Room,
        tell: &mut impl FnMut(Change<'_>),
    ) {
        let table = Columns { paths: &self.paths, sets: &self.sets, payloads: &self.payloads };
        let backup = self.choose(entry, reader, room);
        room.key.clear();
        self.entries[entry as usize].key.octets(&mut room.key);
        let (key, chosen, own) = (&room.key[..], &room.chosen[..], room.own);
        tell(Change::Route(Choice { family: self.family, key, chosen, backup, own, table }));
    }

    /// Chooses the best path of an entry and those that are equal to it; the backup.
    fn choose(&self, entry: u32, reader: &Reader, room: &mut Room) -> u32 {
        let table = Columns { paths: &self.paths, sets: &self.sets, payloads: &self.payloads };
        let Room { usable, candidates, chosen, own, .. } = room;
        let rank = |path: u32| self.sets.get(self.paths[path as usize].set).rank;
        usable.clear();
        chosen.clear();
        usable.extend(self.paths_of(entry).map(|path| (rank(path), path)));
        usable.retain(|(rank, _)| rank.is_usable());
        *own = NONE;
        if reader.is_importer {
            usable.retain(|&(rank, path)| {
                if rank.is_own() {
                    *own = path;
                }
                !rank.is_own()
            });
        }
        let tie = |path: u32| self.paths[path as usize].path_id;
        if let [(_, only)] = usable[..] {
            chosen.push(only);
            return NONE;
        }
        candidates.clone_from(usable);
        decide::equal(candidates, tie);
        let way = |path: u32| (table.next_hop(path), self.paths[path as usize].payload);
        for &(_, path) in candidates.iter() {
            if chosen.len() < reader.equal_max && !chosen.iter().any(|it| way(*it) == way(path)) {
                chosen.push(path);
            }
        }
        let is_elsewhere = |path: u32| {
            let next_hop = table.next_hop(path);
            !chosen.iter().any(|it| table.next_hop(*it) == next_hop)
        };
        usable.retain(|(_, path)| is_elsewhere(*path));
        decide::best(usable, tie).unwrap_or(NONE)
    }
}

impl Rib {
    /// One who reads what changes in some families, beginning with all that stands: paths that are
    /// equal up to `equal_max`, [`EQUAL_MAX`] at most.
    pub fn reader(&mut self, families: FamilySet, equal_max: usize) -> ReaderId {
        self.open_reader(families, equal_max, false)
    }

    /// The same for one who imports into other bases: what is chosen does not hang on the routes of
    /// this speaker, which may come from there. They are told beside it ([`Choice::own`]).
    pub fn importer(&mut self, families: FamilySet, equal_max: usize) -> ReaderId {
        self.open_reader(families, equal_max, true)
    }

    fn open_reader(
        &mut self,
        families: FamilySet,
        equal_max: usize,
        is_importer: bool,
    ) -> ReaderId {
        let free = self.readers.iter().position(Option::is_none);
        let at = free.unwrap_or(self.readers.len());
        let id = ReaderId(number(at));
        self.readers.resize_with(self.readers.len().max(at + 1), || None);
        self.readers[at] = Some(Reading { families, turn: 0 });
        let equal_max = equal_max.clamp(1, EQUAL_MAX);
        for family in families.iter() {
            with!(self.table(family), table => {
                let (position, stage) = (table.changes.end(), Stage::Fresh);
                table.readers.push(Reader { id, equal_max, is_importer, position, stage });
                table.logs_all = true;
            });
        }
        id
    }

    /// Somebody reads no more.
    pub fn close_reader(&mut self, reader: ReaderId) {
        let Some(slot) = self.readers.get_mut(reader.0 as usize) else { return };
        let families = slot.take().map_or(FamilySet::EMPTY, |it| it.families);
        for family in families.iter() {
            with!(self.table(family), table => {
                table.readers.retain(|it| it.id != reader);
                table.settle_log();
            });
        }
    }

    /// Tells a reader what changed, `budget` steps of it: about as many routes. Whether there is
    /// more.
    pub fn read_changes(
        &mut self,
        reader: ReaderId,
        budget: usize,
        tell: &mut impl FnMut(Change<'_>),
    ) -> bool {
        let slot = self.readers.get_mut(reader.0 as usize);
        let Some(Some(Reading { families, turn })) = slot else { return false };
        let (families, first) = (*families, *turn);
        *turn = turn.wrapping_add(1);
        let (mut left, mut more) = (budget, false);
        let count = families.len().max(1);
        // Each time another family comes first: none waits for ever behind one that never rests.
        let (before, after): (Vec<_>, Vec<_>) =
            families.iter().enumerate().partition(|(at, _)| *at < first % count);
        for (_, family) in after.into_iter().chain(before) {
            let Some(any) = &mut self.tables[family as usize] else { continue };
            more |= with!(&mut **any, table => table.read_changes(reader, &mut left, tell));
        }
        more
    }

    /// Whether a reader has something to read.
    #[must_use]
    pub fn has_changes(&self, reader: ReaderId) -> bool {
        let families = self.readers.get(reader.0 as usize).and_then(Option::as_ref);
        let mut families = families.into_iter().flat_map(|it| it.families.iter());
        families.any(|family| {
            self.tables[family as usize].as_deref().is_some_and(|any| {
                with!(any, table => {
                    let end = table.changes.end();
                    table.readers.iter().any(|it| it.id == reader && it.has_news(end))
                })
            })
        })
    }
}
