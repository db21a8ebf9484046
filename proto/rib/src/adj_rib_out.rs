//! What a cohort is told next, encoded.

use crate::announced::{Announced, EVERYBODY};
use crate::cohort::{Cohort, Walk};
use crate::export::{Export, Exported};
use crate::interest::Interest;
use crate::key::{Key, Parts};
use crate::metrics::Metrics;
use crate::output::{Output, Sending, messages};
use crate::peers::Peers;
use crate::policy::is_judged;
use crate::table::Table;
use crate::{Bounds, Kind, NONE, PATIENCE, PeerId, WALKS_MAX, decide};
use bgp::codec::{RefreshKind, write_refresh};
use bgp::family::Family;
use bgp::pack::{Announcement, Limits, Withdrawal, end_of_rib};
use machine::Time;

/// Entries that are looked at for one chunk at most.
const ENTRIES_MAX: usize = 4_096;
/// A peer may be behind by so much less when too much waits for all.
const FULL_DIVISOR: u64 = 16;

/// A path that may be announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    set: u32,
    entry: u32,
    path: u32,
}

/// A route that is withdrawn from those of one class who are not of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Withdrawn {
    class: u32,
    except: u32,
    entry: u32,
    path_id: u32,
}

/// A part of a chunk and whom it concerns.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    class: u32,
    except: u32,
}

/// Room that is used again and again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    items: Vec<Item>,
    withdrawn: Vec<Withdrawn>,
    parts: Vec<Part>,
    told: Vec<(u32, u32)>,
    buffer: Vec<u8>,
    route: Vec<u8>,
    key: Vec<u8>,
    exported: Exported,
    before: Exported,
}

/// What producing needs beside the table.
pub(crate) struct ExportContext<'a> {
    pub(crate) now: Time,
    pub(crate) bounds: Bounds,
    pub(crate) peers: &'a mut Peers,
    pub(crate) interest: &'a Interest,
    pub(crate) metrics: &'a Metrics,
    pub(crate) output: &'a mut Output,
    pub(crate) scratch: &'a mut Scratch,
    pub(crate) own: crate::export::Own,
    pub(crate) policy: Option<&'a dyn crate::Policy>,
}

/// One chunk being encoded.
struct Chunk<'a, K> {
    table: &'a Table<K>,
    export: Export<'a>,
    limits: Limits,
    announced: &'a mut Announced,
    interest: &'a Interest,
    metrics: &'a Metrics,
    members: &'a [PeerId],
    buffer: Vec<u8>,
    chunk_bytes: usize,
    scratch: &'a mut Scratch,
}

impl<K: Key> Table<K> {
    /// Encodes up to a chunk for every cohort that can take one; whether there is more to do.
    pub(crate) fn produce(&mut self, around: &mut ExportContext<'_>) -> bool {
        let mut more = false;
        self.begin_refreshes(around.now);
        for at in 0..self.groups.len() {
            let mut number = 0;
            while number < self.groups[at].cohorts.len() {
                more |= self.produce_cohort(at, number, around);
                number += 1;
            }
            if self.groups[at].cohorts.len() > 1 {
                let end = self.changes.end();
                self.groups[at].merge(end);
                let most = around.bounds.cohorts_max;
                more |= self.groups[at].gather(most, |cohort| around.stands_still(cohort));
            }
        }
        // Who was told everything, and asked again meanwhile, begins at once.
        more |= self.begin_refreshes(around.now);
        self.trim();
        self.relieve(around.bounds.gone_max, around.peers, around.output);
        more
    }

    /// Whether a cohort has something to be told.
    fn has_news(&self, cohort: &Cohort) -> bool {
        cohort.walk.is_some() || cohort.position < self.changes.end()
    }

    fn produce_cohort(&mut self, at: usize, number: usize, around: &mut ExportContext<'_>) -> bool {
        let group = &self.groups[at];
        let has_news = self.has_news(&group.cohorts[number]);
        let is_crowded = group.cohorts[number].is_fresh() && group.walks() >= WALKS_MAX;
        let cohort = &mut self.groups[at].cohorts[number];
        if !has_news || !around.has_room(&cohort.members) {
            cohort.waits_since = None;
            return false;
        }
        if is_crowded && around.now < *cohort.waits_since.get_or_insert(around.now) + PATIENCE {
            return false;
        }
        cohort.waits_since = None;
        self.split(at, number, around);
        let mut cohort = self.groups[at].cohorts.swap_remove(number);
        let walked = cohort.walk.is_some();
        self.chunk(at, &mut cohort, around);
        // Who waits for a walk to end may begin.
        let more = (walked && cohort.walk.is_none())
            || (self.has_news(&cohort) && around.has_room(&cohort.members));
        let cohorts = &mut self.groups[at].cohorts;
        let last = cohorts.len();
        cohorts.push(cohort);
        cohorts.swap(number, last);
        more
    }

    /// If somebody is too far behind, all leave the cohort who are half as far: who stays is so far
    /// from the bound that few cohorts come of it.
    fn split(&mut self, at: usize, number: usize, around: &ExportContext<'_>) {
        let bound = around.behind_bytes();
        let waits = |peer: &PeerId, octets| around.peers.waiting(*peer) > octets;
        let cohort = &mut self.groups[at].cohorts[number];
        if cohort.members.iter().any(|peer| waits(peer, bound)) {
            let behind = cohort.split(|peer| waits(peer, bound / 2));
            self.groups[at].cohorts.push(behind);
        }
    }

    /// Encodes a chunk and gives it to the members.
    fn chunk(&self, at: usize, cohort: &mut Cohort, around: &mut ExportContext<'_>) {
        let terms = &self.groups[at].terms;
        let (own, policy, family) = (around.own, around.policy, self.family);
        let Cohort { members, position, walk, announced, .. } = cohort;
        let policy = policy.filter(|_| terms.export != 0 && is_judged(family));
        around.scratch.parts.clear();
        let mut chunk = Chunk {
            table: self,
            export: Export { own, family, terms, policy },
            limits: Limits { message_max: terms.message_max, add_path: terms.add_path },
            announced,
            interest: around.interest,
            metrics: around.metrics,
            members,
            buffer: std::mem::take(&mut around.scratch.buffer),
            chunk_bytes: around.bounds.chunk_bytes,
            scratch: around.scratch,
        };
        let is_done = match walk {
            Some(walk) => chunk.walk(walk),
            None => {
                chunk.changes(position);
                false
            }
        };
        let mut buffer = chunk.buffer;
        deliver(&buffer, members, terms.constrained, around);
        buffer.clear();
        around.scratch.buffer = buffer;
        if is_done {
            *walk = None;
            cohort.since = cohort.place();
        }
    }
}

impl ExportContext<'_> {
    /// Octets that may wait for a peer before it leaves its cohort.
    fn behind_bytes(&self) -> u64 {
        let Bounds { chunk_bytes, behind_bytes, held_bytes, .. } = self.bounds;
        let is_full = self.output.held() > held_bytes;
        let bound = if is_full { behind_bytes / FULL_DIVISOR } else { behind_bytes };
        bound.max(2 * chunk_bytes as u64)
    }

    /// Whether nobody of a cohort will have room soon.
    fn stands_still(&self, cohort: &Cohort) -> bool {
        let much = self.behind_bytes() / 4;
        cohort.members.iter().all(|peer| self.peers.waiting(*peer) > much)
    }

    /// Whether any of these can take more at once.
    fn has_room(&self, members: &[PeerId]) -> bool {
        let chunk = self.bounds.chunk_bytes as u64;
        members.iter().any(|peer| self.peers.waiting(*peer) < chunk)
    }
}

/// Gives each member what concerns it.
fn deliver(buffer: &[u8], members: &[PeerId], constrained: bool, around: &mut ExportContext<'_>) {
    if buffer.is_empty() {
        return;
    }
    let bytes = around.output.share(buffer);
    if !constrained {
        let updates = messages(&bytes);
        for &peer in members {
            let bytes = bytes.clone();
            around.output.push(around.peers, Sending { peer, bytes, updates });
        }
        return;
    }
    let interest = around.interest;
    for &peer in members {
        let concerns =
            |part: &Part| interest.has(part.class, peer) && !interest.has(part.except, peer);
        let mut send = |range: core::ops::Range<usize>| {
            let bytes = bytes.slice(range);
            let updates = messages(&bytes);
            around.output.push(around.peers, Sending { peer, bytes, updates });
        };
        let mut open: Option<core::ops::Range<usize>> = None;
        for part in around.scratch.parts.iter().filter(|part| concerns(part)) {
            match &mut open {
                Some(range) if range.end == part.start => range.end = part.end,
                _ => {
                    if let Some(range) = open.replace(part.start..part.end) {
                        send(range);
                    }
                }
            }
        }
        open.into_iter().for_each(send);
    }
}

impl<K: Key> Chunk<'_, K> {
    /// Walks on; whether the walk is done.
    fn walk(&mut self, walk: &mut Walk) -> bool {
        if std::mem::take(&mut walk.is_fresh) && walk.is_refresh {
            self.marked(|out, family| write_refresh(family, RefreshKind::Begin, out));
        }
        while walk.set < walk.end && self.buffer.len() < self.chunk_bytes {
            self.walk_set(walk);
        }
        if walk.set < walk.end {
            return false;
        }
        if !walk.missed.is_empty() {
            let left = walk.missed.len().saturating_sub(ENTRIES_MAX);
            self.look_at_all(walk.missed.drain(left..));
            return false;
        }
        if walk.is_refresh {
            self.marked(|out, family| write_refresh(family, RefreshKind::End, out));
        }
        if walk.is_first {
            self.marked(|out, family| end_of_rib(family, out));
        }
        true
    }

    /// Writes something for everybody.
    fn marked(&mut self, write: impl FnOnce(&mut Vec<u8>, Family)) {
        let start = self.buffer.len();
        write(&mut self.buffer, self.table.family);
        self.part(start, EVERYBODY, 0);
    }

    /// The routes of one set, or as many of them as one chunk takes.
    fn walk_set(&mut self, walk: &mut Walk) {
        let table = self.table;
        let set = table.sets.get(walk.set);
        if !walk.is_inside {
            let is_wanted = walk.classes.as_ref().is_none_or(|classes| classes.has(set.class));
            let is_told = set.references > 0 && is_wanted && self.export.takes(set);
            walk.path = if is_told { set.first } else { NONE };
            walk.is_inside = true;
        }
        self.scratch.items.clear();
        self.scratch.withdrawn.clear();
        while walk.path != NONE && self.scratch.items.len() < ENTRIES_MAX {
            let path = &table.paths[walk.path as usize];
            if self.limits.add_path || self.best_of(path.entry) == Some(walk.path) {
                let (entry, path) = (path.entry, walk.path);
                self.scratch.items.push(Item { set: walk.set, entry, path });
            }
            walk.path = path.set_next;
        }
        self.announce();
        self.withdraw();
        if walk.path == NONE {
            walk.set += 1;
            walk.is_inside = false;
        }
    }

    /// What has changed since.
    fn changes(&mut self, position: &mut u64) {
        let (table, log) = (self.table, &self.table.changes);
        let looks_at_all = self.export.terms.looks_at_all();
        let changed = std::iter::from_fn(|| {
            while *position < log.end() {
                let (entry, is_minor) = log.change_at(*position);
                *position += 1;
                if table.is_last(entry, *position - 1) && (looks_at_all || !is_minor) {
                    return Some(entry);
                }
            }
            None
        });
        self.look_at_all(changed.take(ENTRIES_MAX));
    }

    /// Tells entries as they stand now.
    fn look_at_all(&mut self, entries: impl Iterator<Item = u32>) {
        self.scratch.items.clear();
        self.scratch.withdrawn.clear();
        entries.for_each(|entry| self.look_at(entry));
        self.scratch.items.sort_unstable();
        self.scratch.items.dedup();
        self.announce();
        self.withdraw();
    }

    /// Which paths of a changed entry are announced, and which are not any more.
    fn look_at(&mut self, entry: u32) {
        let (table, first) = (self.table, self.scratch.items.len());
        let best = self.best_of(entry);
        for path in table.paths_of(entry) {
            let set = table.paths[path as usize].set;
            let is_chosen = self.limits.add_path || best == Some(path);
            if is_chosen && self.export.takes(table.sets.get(set)) {
                self.scratch.items.push(Item { set, entry, path });
            }
        }
        let mut told = std::mem::take(&mut self.scratch.told);
        told.clear();
        self.announced.of(entry, &mut told);
        for &(path_id, class) in &told {
            let fresh = &self.scratch.items[first..];
            let stays = match self.limits.add_path {
                true => fresh.iter().any(|item| item.path == path_id),
                false => !fresh.is_empty(),
            };
            if !stays {
                self.take_back(Withdrawn { class, except: 0, entry, path_id });
            }
        }
        self.scratch.told = told;
    }

    /// The path of an entry that is the best where the group stands.
    #[inline]
    fn best_of(&self, entry: u32) -> Option<u32> {
        if self.export.terms.location != 0 {
            return self.best_from_there(entry);
        }
        let best = self.table.entries[entry as usize].paths;
        (best != NONE).then_some(best)
    }

    /// The same for a group with a location of its own: by its metrics to the next hops.
    fn best_from_there(&self, entry: u32) -> Option<u32> {
        let (table, location) = (self.table, self.export.terms.location);
        let mut candidates = Vec::new();
        for path in table.paths_of(entry) {
            let set = table.sets.get(table.paths[path as usize].set);
            let metric = match set.kind {
                Kind::Own => Some(0),
                _ => self.metrics.of_route(location, set.attributes(), set.next_hop()),
            };
            if metric.is_some() {
                candidates.push((set.rank.seen_with(metric), path));
            }
        }
        decide::best(&mut candidates, |path| table.paths[path as usize].path_id)
    }

    fn take_back(&mut self, withdrawn: Withdrawn) {
        self.announced.put(withdrawn.entry, withdrawn.path_id, 0);
        self.scratch.withdrawn.push(withdrawn);
    }

    /// What a path is called towards the peers.
    fn path_id(&self, path: u32) -> u32 {
        if self.limits.add_path { path } else { 0 }
    }

    /// Announces the items, which stand together by set.
    fn announce(&mut self) {
        let items = std::mem::take(&mut self.scratch.items);
        let mut rest = &items[..];
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|item| item.set == first.set).count();
            let (run, others) = rest.split_at(count);
            rest = others;
            if self.export.looks_at_keys() {
                self.announce_each(run);
            } else {
                self.announce_run(run);
            }
        }
        self.scratch.items = items;
    }

    /// Routes of one set, by a policy that looks at each: those that come out alike together.
    fn announce_each(&mut self, run: &[Item]) {
        let set = self.table.sets.get(run[0].set);
        let mut exported = std::mem::take(&mut self.scratch.exported);
        let mut before = std::mem::take(&mut self.scratch.before);
        let mut key = std::mem::take(&mut self.scratch.key);
        let mut start = 0;
        for (at, item) in run.iter().enumerate() {
            key.clear();
            self.table.entries[item.entry as usize].key.octets(&mut key);
            let is_told = self.export.write(set, &key, &mut exported);
            let is_alike =
                exported.attributes == before.attributes && exported.next_hop == before.next_hop;
            if at > start && !(is_told && is_alike) {
                self.write_run(&run[start..at], &before);
                start = at;
            }
            if is_told {
                std::mem::swap(&mut exported, &mut before);
            } else {
                self.refuse(item);
                start = at + 1;
            }
        }
        if start < run.len() {
            self.write_run(&run[start..], &before);
        }
        (self.scratch.exported, self.scratch.before, self.scratch.key) = (exported, before, key);
    }

    fn announce_run(&mut self, run: &[Item]) {
        let set = self.table.sets.get(run[0].set);
        let mut exported = std::mem::take(&mut self.scratch.exported);
        if self.export.write(set, &[], &mut exported) {
            self.write_run(run, &exported);
        } else {
            run.iter().for_each(|item| self.refuse(item));
        }
        self.scratch.exported = exported;
    }

    /// A route is not to be told: it is withdrawn if it was.
    fn refuse(&mut self, item: &Item) {
        let path_id = self.path_id(item.path);
        let class = self.announced.class(item.entry, path_id);
        if class != 0 {
            self.take_back(Withdrawn { class, except: 0, entry: item.entry, path_id });
        }
    }

    /// Encodes routes of one set with those attributes.
    fn write_run(&mut self, run: &[Item], exported: &Exported) {
        let (table, family) = (self.table, self.table.family);
        let class = match self.export.terms.constrained {
            true => table.sets.get(run[0].set).class.max(EVERYBODY),
            false => EVERYBODY,
        };
        let start = self.buffer.len();
        let is_wanted =
            class == EVERYBODY || self.members.iter().any(|peer| self.interest.has(class, *peer));
        let mut buffer = std::mem::take(&mut self.buffer);
        let (hop, attributes) = (&exported.next_hop[..], &exported.attributes[..]);
        let packing = match family {
            Family::Ipv4Unicast if hop.is_empty() => {
                Announcement::plain(self.limits, attributes, &mut buffer)
            }
            _ => Announcement::multiprotocol(self.limits, family, hop, attributes, &mut buffer),
        };
        let Ok(mut packing) = packing else {
            // RFC 8654 §4: what does not fit into a message is withdrawn.
            self.buffer = buffer;
            return run.iter().for_each(|item| self.refuse(item));
        };
        for item in run {
            let path = &table.paths[item.path as usize];
            let path_id = self.path_id(item.path);
            let payload = table.payloads.octets(path.payload);
            let parts = Parts { family, path_id, payload };
            let key = &table.entries[item.entry as usize].key;
            let route = &mut self.scratch.route;
            if is_wanted && key.announce(parts, &mut packing, route).is_err() {
                self.refuse(item);
                continue;
            }
            let was = self.announced.class(item.entry, path_id);
            if was != class {
                self.announced.put(item.entry, path_id, class);
            }
            if was != class && was != 0 {
                let (entry, except) = (item.entry, class);
                self.scratch.withdrawn.push(Withdrawn { class: was, except, entry, path_id });
            }
        }
        packing.finish();
        self.buffer = buffer;
        self.part(start, class, 0);
    }

    /// Encodes what is withdrawn.
    fn withdraw(&mut self) {
        let mut withdrawn = std::mem::take(&mut self.scratch.withdrawn);
        withdrawn.sort_unstable();
        let (table, family) = (self.table, self.table.family);
        let mut rest = &withdrawn[..];
        while let Some(first) = rest.first() {
            let is_alike = |it: &&Withdrawn| (it.class, it.except) == (first.class, first.except);
            let (run, others) = rest.split_at(rest.iter().take_while(is_alike).count());
            rest = others;
            let start = self.buffer.len();
            let mut packing = match family {
                Family::Ipv4Unicast => Withdrawal::plain(self.limits, &mut self.buffer),
                _ => Withdrawal::multiprotocol(self.limits, family, &mut self.buffer),
            };
            for it in run {
                let parts = Parts { family, path_id: it.path_id, payload: &[] };
                let key = &table.entries[it.entry as usize].key;
                key.withdraw(parts, &mut packing, &mut self.scratch.route);
            }
            packing.finish();
            self.part(start, first.class, first.except);
        }
        withdrawn.clear();
        self.scratch.withdrawn = withdrawn;
    }

    /// What was encoded from `start` on concerns a class.
    fn part(&mut self, start: usize, class: u32, except: u32) {
        if self.buffer.len() > start && self.export.terms.constrained {
            self.scratch.parts.push(Part { start, end: self.buffer.len(), class, except });
        }
    }
}
