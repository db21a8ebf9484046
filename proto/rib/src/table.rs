//! The table of one family: entries by key, paths by entry, attribute sets, the log of changes.
//!
//! ```text
//!   Entry ─ paths ─→ Path ─ next ─→ Path …        the best one first
//!                     │ set
//!                     ↓
//!   Source ─ sets ─→ Set ─ older ─→ Set …
//!                     │ first
//!                     ↓
//!                    Path ─ set_next ─→ Path …    all paths of a set, of all entries
//! ```

use crate::changes::{Changes, ENTRIES_MAX};
use crate::cohort::Group;
use crate::hash::Hash;
use crate::key::Key;
use crate::payload::Payloads;
use crate::reader::Reader;
use crate::sets::Sets;
use crate::source::Source;
use crate::{Metrics, NONE, PeerId};
use crate::{decide, number};
use bgp::family::Family;
use hashbrown::{HashTable, hash_table};
use std::collections::VecDeque;

/// What is routed, and the ways to it.
#[derive(Debug)]
pub(crate) struct Entry<K> {
    pub(crate) key: K,
    /// The best path; the others hang on it. None of a free entry, or of one whose withdrawal is
    /// yet to be told.
    pub(crate) paths: u32,
    /// Its place in the log, its lower 32 bits.
    pub(crate) changed: u32,
}

/// A way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) set: u32,
    pub(crate) entry: u32,
    /// The next one of the entry, or of the free ones.
    pub(crate) next: u32,
    pub(crate) set_next: u32,
    pub(crate) set_prev: u32,
    /// The peer's number for it (RFC 7911); zero without.
    pub(crate) path_id: u32,
    pub(crate) payload: u32,
    pub(crate) peer: PeerId,
}

const _: () = assert!(size_of::<Path>() == 32);

/// A path to be announced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced<'a> {
    pub(crate) peer: PeerId,
    pub(crate) path_id: u32,
    pub(crate) payload: &'a [u8],
    pub(crate) set: u32,
}

/// What became of a path that was announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is a new one.
    New,
    /// It takes the place of one.
    Known,
    /// The peer has as many paths of the entry as it may.
    Refused,
}

/// Octets that an entry with a long key takes beside that.
pub(crate) const LONG_ENTRY: u64 = 64;
/// Paths with identifiers that one peer may have of one entry: whatever changes there, all are
/// looked at.
const PATHS_OF_PEER_MAX: usize = 256;
/// Paths of one entry beyond which a peer has one of them.
const PATHS_OF_ENTRY_MAX: usize = 1_024;

/// The table of one family.
#[derive(Debug)]
pub(crate) struct Table<K> {
    pub(crate) family: Family,
    pub(crate) entries: Vec<Entry<K>>,
    pub(crate) paths: Vec<Path>,
    pub(crate) sets: Sets,
    pub(crate) payloads: Payloads,
    pub(crate) changes: Changes,
    pub(crate) sources: Vec<Source>,
    pub(crate) groups: Vec<Group>,
    pub(crate) readers: Vec<Reader>,
    /// Peers whose stale routes are being purged: with the epoch up to which.
    pub(crate) sweeps: VecDeque<(PeerId, u32)>,
    /// Peers that ask to be told everything anew: whether with marks.
    pub(crate) refreshes: Vec<(PeerId, bool)>,
    /// Any change of an entry is logged, not only that of its best path: somebody looks at all.
    pub(crate) logs_all: bool,
    index: HashTable<u32>,
    free_entries: Vec<u32>,
    free_paths: u32,
    used_paths: usize,
    /// Entries without paths, of which somebody is yet to be told: of long keys their octets.
    pub(crate) gone: u64,
    hash: Hash,
    candidates: Vec<(decide::Rank, u32)>,
    /// How often all paths of an entry were held against each other.
    #[cfg(test)]
    decisions: usize,
}

/// The place of a peer among the sources: those that are no peers stand first.
const fn place(peer: PeerId) -> usize {
    peer.0.wrapping_add(2) as usize
}

impl<K: Key> Table<K> {
    pub(crate) fn new(family: Family, hash: Hash) -> Self {
        Self {
            family,
            entries: Vec::new(),
            paths: Vec::new(),
            sets: Sets::new(hash),
            payloads: Payloads::new(hash),
            changes: Changes::default(),
            sources: Vec::new(),
            groups: Vec::new(),
            readers: Vec::new(),
            sweeps: VecDeque::new(),
            refreshes: Vec::new(),
            logs_all: false,
            index: HashTable::new(),
            free_entries: Vec::new(),
            free_paths: NONE,
            used_paths: 0,
            gone: 0,
            hash,
            candidates: Vec::new(),
            #[cfg(test)]
            decisions: 0,
        }
    }

    /// Entries and paths in use.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.index.len(), self.used_paths)
    }

    /// Paths that import policies refused.
    pub(crate) fn refused(&self) -> usize {
        self.sources.iter().map(|source| source.refused as usize).sum()
    }

    pub(crate) fn source(&self, peer: PeerId) -> Option<&Source> {
        self.sources.get(place(peer))
    }

    pub(crate) fn source_mut(&mut self, peer: PeerId) -> &mut Source {
        let at = place(peer);
        if self.sources.len() <= at {
            self.sources.resize_with(at + 1, Source::default);
        }
        &mut self.sources[at]
    }

    pub(crate) fn find(&self, key: &K) -> Option<u32> {
        let is_it = |&at: &u32| self.entries[at as usize].key == *key;
        self.index.find(key.hash(self.hash), is_it).copied()
    }

    fn entry(&mut self, key: K) -> u32 {
        let Self { index, entries, free_entries, hash, .. } = self;
        let hashed = key.hash(*hash);
        let is_it = |&at: &u32| entries[at as usize].key == key;
        let rehash = |&at: &u32| entries[at as usize].key.hash(*hash);
        let place = match index.entry(hashed, is_it, rehash) {
            hash_table::Entry::Occupied(known) => return *known.get(),
            hash_table::Entry::Vacant(place) => place,
        };
        let number = free_entries.pop().unwrap_or_else(|| number(entries.len()));
        place.insert(number);
        let changed = Changes::low(self.changes.base().wrapping_sub(1));
        let entry = Entry { key, paths: NONE, changed };
        match entries.get_mut(number as usize) {
            Some(free) => *free = entry,
            None => {
                assert!(entries.len() < ENTRIES_MAX, "the log has room for their numbers");
                entries.push(entry);
            }
        }
        self.note_gone(number);
        number
    }

    /// What an entry without paths takes.
    fn gone_weight(&self, entry: u32) -> u64 {
        if K::IS_LONG { LONG_ENTRY + self.entries[entry as usize].key.weight() } else { 1 }
    }

    fn note_gone(&mut self, entry: u32) {
        self.gone += self.gone_weight(entry);
    }

    fn forget_gone(&mut self, entry: u32) {
        self.gone -= self.gone_weight(entry);
    }

    /// The entry has no path, and everybody knows: no place of the log is its last any more.
    pub(crate) fn free_entry(&mut self, number: u32) {
        let hashed = self.entries[number as usize].key.hash(self.hash);
        if let Ok(found) = self.index.find_entry(hashed, |&at| at == number) {
            found.remove();
            self.free_entries.push(number);
            self.forget_gone(number);
            let before = self.changes.base().wrapping_sub(1);
            self.entries[number as usize].changed = Changes::low(before);
        }
    }

    /// The paths of an entry, the best one first.
    pub(crate) fn paths_of(&self, entry: u32) -> impl Iterator<Item = u32> + '_ {
        let some = |path| (path != NONE).then_some(path);
        let first = some(self.entries[entry as usize].paths);
        std::iter::successors(first, move |&path| some(self.paths[path as usize].next))
    }

    /// All paths of a peer.
    pub(crate) fn paths_from(&self, peer: PeerId) -> Vec<u32> {
        let some = |number| (number != NONE).then_some(number);
        let newest = self.source(peer).and_then(|source| some(source.sets));
        let sets = std::iter::successors(newest, |&set| some(self.sets.get(set).older));
        let of_set = |set: u32| {
            let first = some(self.sets.get(set).first);
            std::iter::successors(first, |&path| some(self.paths[path as usize].set_next))
        };
        sets.flat_map(of_set).collect()
    }

    pub(crate) fn path_of(&self, entry: u32, peer: PeerId, path_id: u32) -> Option<u32> {
        self.paths_of(entry).find(|&path| {
            let path = &self.paths[path as usize];
            path.peer == peer && path.path_id == path_id
        })
    }

    /// Whether a peer may have no further path of an entry: it has as many as it may, or any where
    /// all peers together have as many as they may.
    #[cold]
    fn is_full(&self, entry: u32, peer: PeerId) -> bool {
        let (mut all, mut own) = (0, 0);
        for path in self.paths_of(entry) {
            all += 1;
            own += usize::from(self.paths[path as usize].peer == peer);
        }
        own >= PATHS_OF_PEER_MAX || own > 0 && all >= PATHS_OF_ENTRY_MAX
    }

    /// A peer announces a path.
    pub(crate) fn announce(&mut self, key: K, path: Announced<'_>) -> Taken {
        let entry = self.entry(key);
        let payload = self.payloads.hold(path.payload);
        if let Some(known) = self.path_of(entry, path.peer, path.path_id) {
            self.replace(entry, known, path.set, payload);
            return Taken::Known;
        }
        if path.path_id != 0 && self.is_full(entry, path.peer) {
            self.payloads.release(payload);
            return Taken::Refused;
        }
        let fresh = Path {
            set: path.set,
            entry,
            next: self.entries[entry as usize].paths,
            set_next: NONE,
            set_prev: NONE,
            path_id: path.path_id,
            payload,
            peer: path.peer,
        };
        let number = self.take_path(fresh);
        let was = self.entries[entry as usize].paths;
        self.entries[entry as usize].paths = number;
        self.hang(number);
        self.source_mut(path.peer).paths += 1;
        if K::IS_LONG {
            self.source_mut(path.peer).octets += self.weight(entry, payload);
        }
        if was == NONE {
            self.forget_gone(entry);
            self.log(entry);
        } else if self.is_behind(number, was) {
            self.stand(entry, was);
        } else {
            self.decide(entry, was, false);
        }
        Taken::New
    }

    /// Octets that a path takes beside its attributes: of its key and its payload.
    fn weight(&self, entry: u32, payload: u32) -> u64 {
        self.entries[entry as usize].key.weight() + self.payloads.octets(payload).len() as u64
    }

    fn replace(&mut self, entry: u32, path: u32, set: u32, payload: u32) {
        let known = self.paths[path as usize];
        if K::IS_LONG {
            let weights = [known.payload, payload].map(|it| self.weight(entry, it));
            let source = self.source_mut(known.peer);
            source.octets = source.octets - weights[0] + weights[1];
        }
        self.payloads.release(known.payload);
        if known.set == set && known.payload == payload {
            return;
        }
        let best = self.entries[entry as usize].paths;
        let was_idle = self.is_idle(path, best);
        let is_same = known.payload == payload
            && self.sets.get(known.set).says_the_same_as(self.sets.get(set));
        self.unhang(path);
        self.paths[path as usize].set = set;
        self.paths[path as usize].payload = payload;
        self.hang(path);
        self.drop_set(known.set);
        if is_same {
            let sets = self.sets.len();
            self.groups.iter_mut().for_each(|group| group.note_moved(entry, sets));
        } else if was_idle && self.is_behind(path, best) {
            self.stand(entry, best);
        } else {
            self.decide(entry, best, best == path);
        }
    }

    /// A path has another set from now on.
    pub(crate) fn reset(&mut self, path: u32, set: u32) {
        let Path { entry, payload, .. } = self.paths[path as usize];
        self.payloads.keep(payload);
        self.replace(entry, path, set, payload);
    }

    /// A peer withdraws a path; whether there was one.
    pub(crate) fn withdraw(&mut self, key: &K, peer: PeerId, path_id: u32) -> bool {
        let Some(entry) = self.find(key) else { return false };
        let Some(path) = self.path_of(entry, peer, path_id) else { return false };
        self.remove(path);
        true
    }

    /// Takes a path out.
    pub(crate) fn remove(&mut self, path: u32) {
        let Path { entry, set, payload, peer, next, .. } = self.paths[path as usize];
        let best = self.entries[entry as usize].paths;
        let was_idle = self.is_idle(path, best);
        if best == path {
            self.entries[entry as usize].paths = next;
        } else {
            let before = self.paths_of(entry).find(|&it| self.paths[it as usize].next == path);
            if let Some(before) = before {
                self.paths[before as usize].next = next;
            }
        }
        self.unhang(path);
        self.drop_set(set);
        if K::IS_LONG {
            self.source_mut(peer).octets -= self.weight(entry, payload);
        }
        self.payloads.release(payload);
        self.source_mut(peer).paths -= 1;
        self.paths[path as usize].next = self.free_paths;
        self.free_paths = path;
        self.used_paths -= 1;
        if self.entries[entry as usize].paths == NONE {
            self.note_gone(entry);
            self.log(entry);
        } else if was_idle {
            self.stand(entry, best);
        } else {
            self.decide(entry, best, best == path);
        }
    }

    fn take_path(&mut self, path: Path) -> u32 {
        self.used_paths += 1;
        if self.free_paths == NONE {
            self.paths.push(path);
            return number(self.paths.len() - 1);
        }
        let number = self.free_paths;
        self.free_paths = self.paths[number as usize].next;
        self.paths[number as usize] = path;
        number
    }

    /// Puts a path in front of the others of its set.
    #[inline]
    fn hang(&mut self, path: u32) {
        let set = self.sets.get_mut(self.paths[path as usize].set);
        let first = std::mem::replace(&mut set.first, path);
        set.references += 1;
        if set.rank.is_refused() {
            let peer = set.peer;
            self.source_mut(peer).refused += 1;
        }
        self.paths[path as usize].set_next = first;
        self.paths[path as usize].set_prev = NONE;
        if first != NONE {
            self.paths[first as usize].set_prev = path;
        }
    }

    /// Takes a path out of those of its set; who walks over it goes on behind it.
    fn unhang(&mut self, path: u32) {
        let Path { set, set_next, set_prev, .. } = self.paths[path as usize];
        if set_prev == NONE {
            self.sets.get_mut(set).first = set_next;
        } else {
            self.paths[set_prev as usize].set_next = set_next;
        }
        if set_next != NONE {
            self.paths[set_next as usize].set_prev = set_prev;
        }
        let set = self.sets.get_mut(set);
        set.references -= 1;
        if set.rank.is_refused() {
            let peer = set.peer;
            self.source_mut(peer).refused -= 1;
        }
        for group in &mut self.groups {
            group.step_over(path, set_next);
        }
    }

    /// Takes a set out if nothing has it any more.
    pub(crate) fn drop_set(&mut self, set: u32) {
        let it = self.sets.get(set);
        if it.references > 0 {
            return;
        }
        let (peer, came_as, octets) = (it.peer, it.came_as, it.bytes());
        let newest = self.sets.remove(set);
        let source = self.source_mut(peer);
        source.octets -= octets;
        source.sets = newest.unwrap_or(source.sets);
        if came_as != NONE {
            self.sets.get_mut(came_as).references -= 1;
            self.drop_set(came_as);
        }
    }

    fn rank(&self, path: u32) -> &decide::Rank {
        &self.sets.get(self.paths[path as usize].set).rank
    }

    /// Whether a path that has come changes nothing among the others, of which this is the best.
    fn is_behind(&self, path: u32, best: u32) -> bool {
        let ties = [path, best].map(|it| self.paths[it as usize].path_id);
        path != best && decide::is_behind(self.rank(path), self.rank(best), ties)
    }

    /// Whether a path changes nothing among the others by going.
    fn is_idle(&self, path: u32, best: u32) -> bool {
        path != best && decide::is_idle(self.rank(path), self.rank(best))
    }

    /// The best path of an entry is the one that it was.
    fn stand(&mut self, entry: u32, best: u32) {
        self.put_first(entry, best);
        if self.logs_all {
            self.log_minor(entry);
        }
    }

    /// Puts the best path of an entry first, and logs the entry if somebody must be told. `was` is
    /// the best path before; `touched` says that it is another one now by what it carries.
    fn decide(&mut self, entry: u32, was: u32, touched: bool) {
        #[cfg(test)]
        {
            self.decisions += 1;
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let mut at = self.entries[entry as usize].paths;
        while at != NONE {
            let path = &self.paths[at as usize];
            candidates.push((self.sets.get(path.set).rank, at));
            at = path.next;
        }
        let best = if candidates.len() == 1 {
            Some(candidates[0].1)
        } else {
            decide::best(&mut candidates, |path| self.paths[path as usize].path_id)
        };
        self.candidates = candidates;
        let best = best.unwrap_or(NONE);
        self.put_first(entry, best);
        if best != was || touched {
            self.log(entry);
        } else if self.logs_all {
            self.log_minor(entry);
        }
    }

    fn put_first(&mut self, entry: u32, best: u32) {
        let first = self.entries[entry as usize].paths;
        if first == best || best == NONE {
            return;
        }
        let before = self.paths_of(entry).find(|&it| self.paths[it as usize].next == best);
        if let Some(before) = before {
            self.paths[before as usize].next = self.paths[best as usize].next;
            self.paths[best as usize].next = first;
            self.entries[entry as usize].paths = best;
        }
    }

    /// Decides anew for every path of a set, after what the set is compared by has changed;
    /// `touched` says that its routes are told otherwise, or told at all, where they are the best.
    pub(crate) fn rerank(&mut self, set: u32, touched: bool) {
        let mut path = self.sets.get(set).first;
        while path != NONE {
            let Path { entry, set_next, .. } = self.paths[path as usize];
            let was = self.entries[entry as usize].paths;
            self.decide(entry, was, touched && was == path);
            path = set_next;
        }
    }

    /// Reads the metric to the next hop of every set again, where next hops are not followed one by
    /// one.
    pub(crate) fn measure(&mut self, metrics: &Metrics) {
        let all = if self.sets.next_hops.is_some() { 0 } else { self.sets.len() };
        for number in 0..all {
            let set = self.sets.get_mut(number);
            if set.references == 0 || set.peer.is_none() {
                continue;
            }
            let metric = metrics.of_route(0, set.attributes(), set.next_hop());
            let rank = set.rank.seen_with(metric);
            if set.rank != rank {
                let is_turned = set.rank.is_unreachable() != rank.is_unreachable();
                set.rank = rank;
                self.rerank(number, is_turned);
            }
        }
        if self.groups.iter().any(|group| group.terms.location != 0) {
            let has_several = |entry: &u32| self.paths_of(*entry).nth(1).is_some();
            let entries: Vec<u32> = (0..number(self.entries.len())).filter(has_several).collect();
            entries.into_iter().for_each(|entry| self.log_minor(entry));
        }
    }

    pub(crate) fn log(&mut self, entry: u32) {
        let position = self.changes.push(entry);
        self.entries[entry as usize].changed = Changes::low(position);
    }

    /// The same for what only those look at who look at all paths.
    fn log_minor(&mut self, entry: u32) {
        let last = self.entries[entry as usize].changed;
        let position = self.changes.push_minor(entry, last);
        self.entries[entry as usize].changed = Changes::low(position);
    }

    /// Readers are told again of all routes with a path of a set.
    pub(crate) fn log_paths(&mut self, set: u32) {
        let mut path = self.sets.get(set).first;
        while path != NONE {
            let Path { entry, set_next, .. } = self.paths[path as usize];
            self.log_minor(entry);
            path = set_next;
        }
    }

    /// Whether the place of the log is the last one of its entry.
    pub(crate) fn is_last(&self, entry: u32, position: u64) -> bool {
        self.entries[entry as usize].changed == Changes::low(position)
    }

    /// Forgets the part of the log that every cohort and every reader has read.
    pub(crate) fn trim(&mut self) {
        let cohorts = self.groups.iter().flat_map(|group| &group.cohorts);
        let readers = self.readers.iter().map(|reader| reader.position);
        let standing = cohorts.map(|cohort| cohort.position).chain(readers);
        let read = standing.min().unwrap_or(self.changes.end());
        while self.changes.base() < read {
            let Some((position, entry)) = self.changes.pop() else { break };
            if self.is_last(entry, position) && self.entries[entry as usize].paths == NONE {
                self.free_entry(entry);
            }
        }
        if self.changes.is_long(self.index.len()) {
            let Self { changes, groups, readers, entries, .. } = self;
            let cohorts = groups.iter_mut().flat_map(|group| &mut group.cohorts);
            let readers = readers.iter_mut().flat_map(Reader::standing);
            let mut standing: Vec<&mut u64> =
                cohorts.map(|it| &mut it.position).chain(readers).collect();
            changes.compact(&mut standing, |entry, old, new| {
                let changed = &mut entries[entry as usize].changed;
                let is_live = *changed == Changes::low(old);
                if is_live {
                    *changed = Changes::low(new);
                }
                is_live
            });
        }
    }

    /// Octets that the table takes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<K>>()
            + self.paths.capacity() * size_of::<Path>()
            + self.index.capacity() * 5
            + self.sets.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::sets::Content;
    use bgp::family::Ipv4Prefix;

    const FAMILY: Family = Family::Ipv4Unicast;

    fn announce(table: &mut Table<Ipv4Prefix>, number: u32, identifier: u32) {
        let (peer, octets) = (PeerId(number), identifier.to_be_bytes());
        let (attributes, next_hop) = (&[][..], &octets[..]);
        let (came_as, is_refused) = (NONE, false);
        let content = Content { peer, epoch: 0, attributes, next_hop, came_as, is_refused };
        let address = core::net::IpAddr::from(peer.0.to_be_bytes());
        let rank = decide::Rank::read(attributes, Kind::Client, identifier, address);
        let hash = table.sets.hash(&content);
        let newest = table.source_mut(peer).sets;
        let set = table.sets.insert(hash, &content, Kind::Client, rank, newest);
        table.source_mut(peer).sets = set;
        table.source_mut(peer).octets += 4;
        let key = Key::read(FAMILY, &[24, 10, 0, 0]).unwrap();
        table.announce(key, Announced { peer, path_id: 1, payload: &[], set });
    }

    #[test]
    fn paths_that_change_nothing_are_not_held_against_all_others() {
        let mut table: Table<Ipv4Prefix> = Table::new(FAMILY, Hash::new(1));
        let key: Ipv4Prefix = Key::read(FAMILY, &[24, 10, 0, 0]).unwrap();
        let best = |table: &Table<Ipv4Prefix>| {
            let first = table.paths_of(table.find(&key).unwrap()).next().unwrap();
            table.paths[first as usize].peer.0
        };
        (0..500).for_each(|number| announce(&mut table, number, 10 + number));
        (1..500).for_each(|number| announce(&mut table, number, 1_000 + number));
        (1..250).for_each(|number| assert!(table.withdraw(&key, PeerId(number), 1)));
        assert_eq!((table.decisions, best(&table), table.counts()), (0, 0, (1, 251)));
        announce(&mut table, 300, 1);
        assert_eq!((table.decisions, best(&table)), (1, 300));
        assert!(table.withdraw(&key, PeerId(300), 1));
        assert_eq!((table.decisions, best(&table)), (2, 0));
    }
}
