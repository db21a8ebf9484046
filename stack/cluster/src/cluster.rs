//! The machine of a node: heartbeats, the table, the streams to the others, and what it serves.

use crate::copies::Copies;
use crate::effects::{In, Out};
use crate::election::{Election, Terms, silence};
use crate::filling::Fills;
use crate::message::{self, Beat, Datagram, Entries, Entry, OLDEST, VERSION};
use crate::node::{NodeId, Partition, PartitionSet};
use crate::placement::{Member, Members, place};
use crate::stream::{Inward, Outward, Piece};
use crate::table::{Row, Table, Version};
use bytes::Bytes;
use machine::{Duration, Machine, Time};
use std::collections::BTreeMap;

/// What a node of a cluster is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// This node.
    pub own: NodeId,
    /// All nodes, this one too.
    pub nodes: Vec<NodeId>,
    /// Its share of the load; zero: it votes, and serves nothing.
    pub weight: u8,
    /// Time between two heartbeats.
    pub heartbeat: Duration,
    /// Silence after which another coordinator is elected; a node is dead after twice as long.
    pub detect: Duration,
    /// A number for what has to be configured alike at all nodes.
    pub digest: u64,
    /// Another number after each start.
    pub life: u64,
}

/// A place in the stream to another node: what was told up to it is known there, once it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    partition: Partition,
    node: NodeId,
    session: u64,
    number: u64,
}

/// Another node, as this one knows it.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) outward: Outward,
    inward: Inward,
    /// What it said last.
    pub(crate) last: Beat,
    /// The newest stamp of its own that was heard.
    stamp: Time,
    /// The stamp of its claim that the vote counts from.
    claim: Time,
    /// Half of the way there and back, as last measured.
    pub(crate) round: Duration,
    /// Entries of its stream were taken since it was told so.
    owes_taken: bool,
    /// From which table on it may be let serve: it is to know what it has lost.
    since: Version,
    /// The table that was sent there last, and when.
    sent: (Version, Time),
    /// It speaks no version that is understood here.
    pub(crate) is_foreign: bool,
}

/// Counts of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Work that was sent to other nodes.
    pub work_out: u64,
    /// Work that came from other nodes.
    pub work_in: u64,
    /// Work that was on its way to a node that died.
    pub work_lost: u64,
    /// Work for which there was no room.
    pub work_shed: u64,
    /// Records that were told to standbys.
    pub records_out: u64,
    /// Records that were told here.
    pub records_in: u64,
    /// Datagrams that were not understood.
    pub malformed: u64,
    /// Partitions that began to be served here.
    pub taken: u64,
    /// Those of them whose records were not all here.
    pub taken_with_holes: u64,
}

/// A node of a cluster.
#[derive(Debug)]
pub struct Cluster {
    settings: Settings,
    pub(crate) election: Election,
    pub(crate) peers: BTreeMap<NodeId, Peer>,
    /// The newest table, and the newest one that holds.
    pub(crate) stored: Table,
    pub(crate) acting: Table,
    copies: Copies,
    fills: Fills,
    /// What is served here, by epoch, and what is being given away, by the epoch before and that of
    /// who takes it.
    serving: BTreeMap<Partition, u32>,
    leaving: BTreeMap<Partition, (u32, u32)>,
    /// The standbys of what is served here, and the session that each has followed from: of another
    /// one it has not all.
    bonds: BTreeMap<Partition, (NodeId, u64)>,
    /// What the first table that held gives to this node from an earlier life, by epoch; none: no
    /// table has held yet.
    void: Option<BTreeMap<Partition, Row>>,
    /// What another node has handed over.
    handed: BTreeMap<Partition, u32>,
    drains: bool,
    load: u64,
    next_beat: Time,
    /// Something changed that others are to hear at once.
    is_news: bool,
    /// Something changed that the table is made of, or that is served by it.
    is_unsettled: bool,
    counts: Counts,
}

impl Cluster {
    /// A node that knows of nobody yet.
    #[must_use]
    pub fn new(now: Time, settings: Settings) -> Self {
        let terms = terms(&settings);
        let mut it = Self {
            election: Election::new(now, terms),
            peers: BTreeMap::new(),
            stored: Table::default(),
            acting: Table::default(),
            copies: Copies::default(),
            fills: Fills::default(),
            serving: BTreeMap::new(),
            leaving: BTreeMap::new(),
            bonds: BTreeMap::new(),
            void: None,
            handed: BTreeMap::new(),
            drains: false,
            load: 0,
            next_beat: now,
            is_news: false,
            is_unsettled: true,
            counts: Counts::default(),
            settings,
        };
        it.meet();
        it
    }

    /// Other nodes, shares and timers; what is served goes on.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = Settings { own: self.settings.own, life: self.settings.life, ..settings };
        self.election.terms = terms(&self.settings);
        self.meet();
        (self.is_news, self.is_unsettled) = (true, true);
    }

    /// Makes a peer of each other node, and forgets those that are none any more.
    fn meet(&mut self) {
        let (own, life) = (self.settings.own, self.settings.life);
        let nodes = &self.settings.nodes;
        self.peers.retain(|node, _| nodes.contains(node));
        for node in nodes.iter().filter(|it| **it != own) {
            self.peers.entry(*node).or_insert_with(|| Peer {
                outward: Outward::new(life),
                inward: Inward::default(),
                last: Beat::default(),
                stamp: Time::ZERO,
                claim: Time::ZERO,
                round: Duration::ZERO,
                owes_taken: false,
                since: Version::default(),
                sent: (Version::default(), Time::ZERO),
                is_foreign: false,
            });
        }
    }

    /// What it is.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The table that holds, as far as this node knows.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.acting
    }

    /// Whether this node serves a partition, and may now.
    #[must_use]
    pub fn serves(&self, now: Time, partition: Partition) -> bool {
        self.serving.contains_key(&partition) && self.election.may_serve(now)
    }

    /// Whether it may serve what it has now: else it keeps still.
    #[must_use]
    pub fn may_serve(&self, now: Time) -> bool {
        self.election.may_serve(now)
    }

    /// Partitions that it serves.
    #[must_use]
    pub fn serving(&self) -> PartitionSet {
        self.serving.keys().copied().collect()
    }

    /// Who serves a partition, as far as this node knows.
    #[must_use]
    pub const fn owner(&self, partition: Partition) -> Option<NodeId> {
        self.acting.row(partition).active
    }

    /// Whether it is to serve nothing.
    #[must_use]
    pub const fn drains(&self) -> bool {
        self.drains
    }

    /// Records and octets that it keeps of a partition as its standby.
    #[must_use]
    pub fn kept(&self, partition: Partition) -> (usize, usize) {
        self.copies.size(partition)
    }

    /// How many dialogues stand here.
    #[must_use]
    pub const fn load(&self) -> u64 {
        self.load
    }

    /// How many dialogues stand here, for others to see.
    pub const fn set_load(&mut self, load: u64) {
        self.load = load;
    }

    /// The life of another node, as it was heard last.
    #[must_use]
    pub fn life_of(&self, node: NodeId) -> Option<u64> {
        self.peers.get(&node).map(|it| it.last.life)
    }

    /// Work for another node; whether there was room for it.
    pub fn forward(&mut self, now: Time, to: NodeId, work: &[u8]) -> bool {
        let hears = self.election.hears(now, to);
        let peer = self.peers.get_mut(&to).filter(|_| hears);
        let number = peer.and_then(|it| it.outward.push(now, &Entry::Work(work)));
        match number {
            Some(_) => self.counts.work_out += 1,
            None => self.counts.work_shed += 1,
        }
        number.is_some()
    }

    /// A record of a partition that is served here stands so, or is no more: the standby is told.
    /// What leaves by it waits for these.
    pub fn record(
        &mut self,
        now: Time,
        partition: Partition,
        slot: u32,
        octets: Option<&[u8]>,
        holds: &mut Vec<Hold>,
    ) {
        let row = *self.acting.row(partition);
        if let Some((epoch, _)) = self.leaving.get(&partition) {
            // Who takes it has what was told in that epoch.
            let peer = row.active.and_then(|it| self.peers.get_mut(&it)).filter(|_| octets.is_none());
            peer.map(|it| it.outward.push(now, &Entry::Gone(partition, *epoch, slot)));
            return;
        }
        let Some(epoch) = self.serving.get(&partition).copied() else { return };
        let entry = match octets {
            Some(octets) => Entry::Record(partition, epoch, slot, octets),
            None => Entry::Gone(partition, epoch, slot),
        };
        for node in [row.standby, row.joining].into_iter().flatten() {
            if row.joining == Some(node) && !self.fills.has_begun(partition, node) {
                continue;
            }
            let Some(peer) = self.peers.get_mut(&node) else { continue };
            self.counts.records_out += 1;
            let session = peer.outward.session;
            match peer.outward.push(now, &entry) {
                Some(number) => holds.push(Hold { partition, node, session, number }),
                // The standby lacks it: it has to be another one, before anything leaves.
                None => {
                    self.fills.torn(partition);
                    self.bonds.entry(partition).and_modify(|it| it.1 = 0);
                    holds.push(Hold { partition, node, session, number: u64::MAX });
                }
            }
        }
    }

    /// Whether what waits may leave: the standby has it, or is none any more.
    #[must_use]
    pub fn is_open(&self, hold: &Hold) -> bool {
        let row = self.acting.row(hold.partition);
        let Some(peer) = self.peers.get(&hold.node) else { return true };
        let is_known = peer.outward.session == hold.session
            && peer.outward.acknowledged() >= hold.number;
        is_known || row.standby != Some(hold.node)
    }

    /// A partition whose joining node wants records, and from where on.
    #[must_use]
    pub fn wants_fill(&self) -> Option<(Partition, u32)> {
        self.fills.next(|node| self.peers.get(&node).map(|it| it.outward.octets()))
    }

    /// A record for a node that is being filled.
    pub fn fill(&mut self, now: Time, partition: Partition, slot: u32, octets: &[u8]) {
        let Some((node, epoch)) = self.fills.to(partition) else { return };
        let entry = Entry::Record(partition, epoch, slot, octets);
        let pushed = self.peers.get_mut(&node).and_then(|it| it.outward.push(now, &entry));
        match pushed {
            Some(_) => self.counts.records_out += 1,
            None => self.fills.torn(partition),
        }
    }

    /// The records of a partition were told up to there; none: all of them.
    pub fn filled_to(&mut self, now: Time, partition: Partition, next: Option<u32>) {
        let Some((node, epoch)) = self.fills.to(partition) else { return };
        let Some(peer) = self.peers.get_mut(&node) else { return };
        let end = match next {
            Some(_) => None,
            None => peer.outward.push(now, &Entry::End(partition, epoch)),
        };
        if next.is_none() && end.is_none() {
            return self.fills.torn(partition);
        }
        self.fills.moved(partition, next.unwrap_or_default(), end);
    }

    /// A record of a partition that was served here and is kept from now on.
    pub fn keep(&mut self, partition: Partition, slot: u32, octets: &[u8]) {
        self.copies.kept(partition, slot, octets);
    }

    /// The function serves the partition no more: whoever does next hears so.
    pub fn left(&mut self, now: Time, partition: Partition) {
        let Some((_, epoch)) = self.leaving.remove(&partition) else { return };
        let to = self.acting.row(partition).active;
        if let Some(peer) = to.and_then(|it| self.peers.get_mut(&it)) {
            // Without room it stays silent: the coordinator sees that nobody serves.
            let _ = peer.outward.push(now, &Entry::Handed(partition, epoch));
        }
    }

    /// To serve nothing any more, or to take part again.
    pub const fn drain(&mut self, drains: bool) {
        self.drains = drains;
        self.is_news = true;
    }

    fn datagram(&mut self, now: Time, from: NodeId, octets: &[u8], out: &mut Vec<Out>) {
        if !self.peers.contains_key(&from) {
            self.counts.malformed += 1;
            return;
        }
        match message::read(octets) {
            Ok(Datagram::Beat(beat)) => self.beat(now, from, &beat, out),
            Ok(Datagram::Table(table)) => self.table_came(from, table),
            Ok(Datagram::Taken(life, session, applied)) => {
                let peer = self.peers.get_mut(&from).filter(|it| it.last.life == life);
                if let Some(peer) = peer {
                    peer.outward.taken(now, session, applied);
                }
            }
            Ok(Datagram::Entries(session, first, entries)) => {
                self.entries(from, session, first, entries, out);
            }
            Err(_) => self.counts.malformed += 1,
        }
    }

    fn beat(&mut self, now: Time, from: NodeId, beat: &Beat, out: &mut Vec<Out>) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        peer.is_foreign = beat.version < OLDEST || beat.oldest > VERSION;
        if peer.is_foreign {
            peer.last = *beat;
            return;
        }
        if beat.life == peer.last.life && beat.stamp < peer.stamp {
            return; // another one has overtaken it
        }
        let is_reborn = beat.life != peer.last.life;
        if is_reborn {
            // What it knew is gone, and what it may do with it.
            self.torn(from, out);
        }
        let Some(peer) = self.peers.get_mut(&from) else { return };
        if is_reborn {
            (peer.inward, peer.claim) = (Inward::default(), Time::ZERO);
            self.copies.torn(from);
        }
        peer.stamp = beat.stamp;
        if beat.echo > Time::ZERO && beat.echo <= now {
            peer.round = now.since(beat.echo);
        }
        peer.outward.taken(now, beat.session, beat.applied);
        let was = core::mem::replace(&mut peer.last, *beat);
        self.is_unsettled |= !says_the_same(&was, beat);
        let stored = self.stored.version;
        let follows = self.election.beat(now, from, beat, stored);
        if beat.claims && self.election.votes_for(now, from) {
            peer.claim = beat.stamp;
            self.is_news |= !was.claims || was.term != beat.term;
        }
        self.election.heard(now, from);
        if follows && beat.acting == stored && beat.acting > self.acting.version {
            self.acting = self.stored.clone();
            (self.is_news, self.is_unsettled) = (true, true);
        }
    }

    /// A node's life is over, or it is not heard any more: what is on its way there is lost.
    fn torn(&mut self, node: NodeId, out: &mut Vec<Out>) {
        let Some(peer) = self.peers.get_mut(&node) else { return };
        let (unsent, lost) = peer.outward.begin();
        self.counts.work_lost += lost as u64;
        self.fills.lost(node);
        out.extend(unsent.into_iter().map(|work| Out::Returned(node, work)));
    }

    fn table_came(&mut self, from: NodeId, table: Table) {
        let is_of_leader = self.election.leader() == Some(from) && !self.election.claims();
        if is_of_leader && table.version.term == self.election.leader_term() {
            if table.version > self.stored.version {
                self.stored = table;
                self.is_news = true;
            }
        }
    }

    fn entries(
        &mut self,
        from: NodeId,
        session: (u64, u64),
        first: u64,
        entries: Entries<'_>,
        out: &mut Vec<Out>,
    ) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        // Of another life than the heartbeats are nothing is taken.
        if session.0 != peer.last.life {
            return;
        }
        peer.owes_taken = true;
        let known = match peer.inward.piece(session, first) {
            Piece::Not => return,
            Piece::Next(known) => known,
            Piece::Anew => {
                self.copies.torn(from);
                0
            }
        };
        for entry in entries.skip(known) {
            if let Some(peer) = self.peers.get_mut(&from) {
                peer.inward.applied += 1;
            }
            match entry {
                Ok(entry) => self.entry(from, entry, out),
                Err(_) => self.counts.malformed += 1,
            }
        }
    }

    fn entry(&mut self, from: NodeId, entry: Entry<'_>, out: &mut Vec<Out>) {
        match entry {
            Entry::Work(work) => {
                self.counts.work_in += 1;
                out.push(Out::Work(from, Bytes::copy_from_slice(work)));
            }
            Entry::Begin(partition, epoch, fill) => {
                self.copies.begin(from, (partition, epoch), fill);
            }
            Entry::Record(partition, epoch, slot, octets) => {
                self.counts.records_in += 1;
                self.copies.record(from, (partition, epoch), slot, octets);
            }
            Entry::Gone(partition, epoch, slot) => {
                self.copies.gone(from, (partition, epoch), slot);
            }
            Entry::End(partition, epoch) => self.copies.end(from, partition, epoch),
            Entry::Handed(partition, epoch) => {
                self.handed.insert(partition, epoch);
                self.is_unsettled = true;
            }
        }
    }

    /// The table as the coordinator would have it.
    fn coordinate(&mut self, now: Time) {
        if self.stored.version.term != self.election.term {
            // The tables of another coordinator hold when a majority has them from this one.
            self.stored.version = Version { term: self.election.term, number: 0 };
            for peer in self.peers.values_mut() {
                peer.since = self.stored.version;
            }
            self.is_news = true;
        }
        self.commit(now);
        let is_settled = self.acting.version == self.stored.version;
        let members = self.members(now);
        let mut table = self.stored.clone();
        if self.election.is_patient(now) && place(&mut table, &members, is_settled) {
            table.version.number += 1;
            let dead = |node: &NodeId| !members.contains_key(node);
            let lost = self.peers.iter_mut().filter(|(node, _)| dead(node));
            lost.for_each(|(_, peer)| peer.since = table.version);
            self.stored = table;
            self.is_news = true;
            self.commit(now);
        }
    }

    /// A table holds when a majority has it.
    fn commit(&mut self, now: Time) {
        let version = self.stored.version;
        let has = |(node, peer): &(&NodeId, &Peer)| {
            self.election.hears(now, **node) && peer.last.stored == version
        };
        let count = 1 + self.peers.iter().filter(has).count();
        if count >= self.election.quorum(now) && self.acting.version < version {
            self.acting = self.stored.clone();
            self.is_news = true;
        }
    }

    /// Who is there.
    fn members(&self, now: Time) -> Members {
        let known = |(node, peer): &(&NodeId, &Peer)| {
            self.election.hears(now, **node) && !peer.is_foreign
        };
        let member = |it: &Beat| Member {
            weight: it.weight,
            drains: it.drains,
            is_current: it.acting == self.stored.version,
            serving: it.serving,
            filled: it.filled,
            behind: it.behind,
            void: it.void,
            hears: it.hears,
        };
        let others = self.peers.iter().filter(known);
        let others = others.map(|(node, peer)| (*node, member(&peer.last)));
        others.chain([(self.settings.own, member(&self.own_beat(now)))]).collect()
    }

    /// Serves and gives away what the table says.
    fn act(&mut self, now: Time, out: &mut Vec<Out>) {
        self.forget_void();
        for partition in Partition::all() {
            let row = *self.acting.row(partition);
            self.act_on(now, partition, row, out);
        }
        let (own, acting) = (self.settings.own, &self.acting);
        let handed = &mut self.handed;
        handed.retain(|partition, epoch| acting.row(*partition).epoch <= *epoch);
        self.copies.retain(|partition, fill| {
            let row = acting.row(partition);
            let (standby, joining) = (row.standby_fill, row.joining_fill);
            let is = |role: Option<NodeId>, of: u32| role == Some(own) && of == fill;
            let is_mine = row.active == Some(own) && [standby, joining].contains(&fill);
            // A table that this node does not know yet may want it.
            let is_early = fill > standby.max(joining);
            is_mine || is_early || is(row.standby, standby) || is(row.joining, joining)
        });
    }

    /// What the first table gives to this node, it had in an earlier life: it has nothing of that.
    fn forget_void(&mut self) {
        let (own, acting) = (self.settings.own, &self.acting);
        if acting.version == Version::default() {
            return;
        }
        let names = |row: &Row| [row.active, row.standby, row.joining].contains(&Some(own));
        let void = self.void.get_or_insert_with(|| {
            let rows = acting.rows().filter(|(_, row)| names(row));
            rows.map(|(partition, row)| (partition, *row)).collect()
        });
        void.retain(|partition, row| {
            let now = acting.row(*partition);
            // Whoever is named anew has another epoch, or is filled once more.
            let of = |it: &Row| (it.epoch, it.standby_fill, it.joining_fill);
            of(now) == of(row) && names(now)
        });
    }

    fn act_on(&mut self, now: Time, partition: Partition, row: Row, out: &mut Vec<Out>) {
        let own = self.settings.own;
        let is_mine = row.active == Some(own);
        let serves = self.serving.get(&partition).copied();
        if serves.is_some() && (!is_mine || serves != Some(row.epoch)) {
            self.serving.remove(&partition);
            self.fills.forget(partition);
            let keeps = row.standby == Some(own) && row.from == Some(own);
            if keeps {
                self.copies.keep(partition, row.epoch, row.standby_fill);
                self.leaving.insert(partition, (serves.unwrap_or_default(), row.epoch));
            }
            out.push(Out::Deactivate { partition, keeps });
        }
        let serves = self.serving.contains_key(&partition);
        let may_begin = row.from.is_none() || self.handed.get(&partition) == Some(&row.epoch);
        let is_void = self.void.as_ref().is_none_or(|it| it.contains_key(&partition));
        if is_mine && !serves && may_begin && !is_void && self.election.may_serve(now) {
            let copy = self.copies.take(partition);
            let is_whole = copy.as_ref().is_some_and(|it| it.is_whole);
            let records = copy.map(crate::copies::Copy::into_records).unwrap_or_default();
            self.counts.taken += 1;
            self.counts.taken_with_holes += u64::from(!is_whole);
            self.serving.insert(partition, row.epoch);
            self.is_news = true;
            out.push(Out::Activate { partition, epoch: row.epoch, records, is_whole });
        }
        if is_mine && self.serving.contains_key(&partition) {
            self.begin_fill(now, partition, row);
            self.bind(partition, row);
        } else {
            self.bonds.remove(&partition);
        }
    }

    /// Notes from which session on the standby follows.
    fn bind(&mut self, partition: Partition, row: Row) {
        let bond = row.standby.and_then(|it| Some((it, self.peers.get(&it)?.outward.session)));
        match (bond, self.bonds.get(&partition)) {
            (None, _) => drop(self.bonds.remove(&partition)),
            (Some((node, _)), Some((before, _))) if node == *before => {}
            (Some(bond), _) => drop(self.bonds.insert(partition, bond)),
        }
    }

    fn begin_fill(&mut self, now: Time, partition: Partition, row: Row) {
        let Some(node) = row.joining else { return self.fills.forget(partition) };
        let Some(peer) = self.peers.get_mut(&node) else { return };
        let session = peer.outward.session;
        let (to, of) = ((node, session), (row.epoch, row.joining_fill));
        if self.fills.is_of(partition, to, of) {
            return;
        }
        let begin = Entry::Begin(partition, row.epoch, row.joining_fill);
        if peer.outward.push(now, &begin).is_some() {
            self.fills.begin(partition, to, of);
        }
    }

    fn own_beat(&self, now: Time) -> Beat {
        let detect = self.settings.detect;
        let filled = self.serving.keys().copied().filter(|it| {
            let acknowledged = |node, session| {
                let peer = self.peers.get(&node).filter(|it| it.outward.session == session);
                peer.map(|it| it.outward.acknowledged())
            };
            self.fills.is_done(*it, acknowledged)
        });
        let stands = |node: NodeId| {
            let since = self.peers.get(&node).and_then(|it| it.outward.stands_since());
            since.is_some_and(|since| now >= since + silence(detect))
        };
        let behind = self.serving.keys().copied().filter(|it| {
            let row = self.acting.row(*it);
            let is_torn = self.bonds.get(it).is_some_and(|(node, session)| {
                self.peers.get(node).is_none_or(|it| it.outward.session != *session)
            });
            let falls_back = [row.standby, row.joining].into_iter().flatten().any(stands);
            is_torn || falls_back || self.fills.is_torn(*it)
        });
        let hears = self.settings.nodes.iter().copied();
        Beat {
            life: self.settings.life,
            stamp: now,
            term: self.election.term,
            claims: self.election.claims(),
            leads: self.election.leads(),
            drains: self.drains,
            stored: self.stored.version,
            acting: self.acting.version,
            serving: self.serving(),
            filled: filled.collect(),
            behind: behind.collect(),
            void: self.void.iter().flat_map(BTreeMap::keys).copied().collect(),
            hears: hears.filter(|it| self.election.hears(now, *it)).collect(),
            weight: self.settings.weight,
            digest: self.settings.digest,
            version: VERSION,
            oldest: OLDEST,
            load: self.load,
            ..Beat::default()
        }
    }

    /// Heartbeats to all, tables to those that lack the newest one.
    fn speak(&mut self, now: Time, out: &mut Vec<Out>) {
        let is_due = now >= self.next_beat;
        if is_due {
            self.next_beat = now + self.settings.heartbeat;
        }
        let all = core::mem::take(&mut self.is_news) || is_due;
        let base = all.then(|| self.own_beat(now));
        let (stored, heartbeat) = (self.stored.version, self.settings.heartbeat);
        for (node, peer) in &mut self.peers {
            if let Some(base) = base {
                let beat = peer.beat(base, now, &self.election, *node);
                out.push(Out::Datagram(*node, message::beat(&beat)));
            } else if peer.owes_taken {
                let (session, applied) = (peer.inward.session, peer.inward.applied);
                let taken = message::taken(self.settings.life, session, applied);
                out.push(Out::Datagram(*node, taken));
            }
            let leads = base.is_some_and(|it| it.leads);
            let lacks = leads && peer.last.stored != stored && stored != Version::default();
            let is_told = peer.sent.0 == stored && now < peer.sent.1 + heartbeat;
            // The heartbeat that says who leads comes first.
            if lacks && !is_told {
                peer.sent = (stored, now);
                out.push(Out::Datagram(*node, message::table(&self.stored)));
            }
            peer.owes_taken = false;
            peer.outward.again(now, heartbeat.max(peer.round * 2));
            peer.outward.flush(&mut |datagram| out.push(Out::Datagram(*node, datagram)));
        }
    }

    /// What waits for a node that is silent comes back, or is lost.
    fn give_up(&mut self, now: Time, out: &mut Vec<Out>) {
        let most = silence(self.settings.detect) * 2;
        let is_silent = |(node, peer): (&NodeId, &Peer)| {
            let heard = self.election.heard_at(*node).unwrap_or(Time::ZERO);
            (peer.outward.waiting() > 0 && now >= heard + most).then_some(*node)
        };
        let silent: Vec<NodeId> = self.peers.iter().filter_map(is_silent).collect();
        silent.into_iter().for_each(|node| self.torn(node, out));
    }

    fn run(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.election.tick(now, self.stored.version) {
            (self.is_news, self.is_unsettled) = (true, true);
        }
        if core::mem::take(&mut self.is_unsettled) {
            if self.election.leads() {
                self.coordinate(now);
            }
            self.act(now, out);
        }
    }

    /// Sends what is to be sent now: heartbeats, and what the streams have.
    pub fn flush(&mut self, now: Time, out: &mut Vec<Out>) {
        self.speak(now, out);
    }
}

impl Peer {
    /// A heartbeat for it.
    fn beat(&self, base: Beat, now: Time, election: &Election, node: NodeId) -> Beat {
        let grants = base.leads && !self.is_foreign && self.last.acting >= self.since;
        let votes = election.votes_for(now, node);
        Beat {
            echo: self.stamp,
            grants,
            votes,
            vote_echo: if votes { self.claim } else { Time::ZERO },
            session: self.inward.session,
            applied: self.inward.applied,
            ..base
        }
    }
}

/// Whether two heartbeats say the same to who makes the table, and to who acts by it.
fn says_the_same(one: &Beat, other: &Beat) -> bool {
    let what = |it: &Beat| {
        let lead = (it.life, it.term, it.leads, it.grants, it.drains, it.weight);
        (lead, it.stored, it.acting, it.serving, it.filled, it.behind, it.void, it.hears)
    };
    what(one) == what(other)
}

fn terms(settings: &Settings) -> Terms {
    Terms {
        own: settings.own,
        nodes: settings.nodes.clone(),
        heartbeat: settings.heartbeat,
        detect: settings.detect,
    }
}

impl Machine for Cluster {
    type In = In;
    type Out = Out;

    /// Takes one input; what is to be sent by it leaves with [`Cluster::flush`].
    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Datagram(from, octets) => self.datagram(now, from, &octets, out),
            In::Drain(drains) => self.drain(drains),
            In::Forward(to, work) => {
                self.forward(now, to, &work);
            }
        }
        self.run(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.give_up(now, out);
        self.is_unsettled = true;
        self.run(now, out);
        self.flush(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.next_beat.min(self.election.deadline(self.stored.version)))
    }
}
