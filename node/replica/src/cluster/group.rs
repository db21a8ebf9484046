//! One group at one node: its copies elsewhere while it is served here, or the copy here.
//!
//! ```text
//!  follower   Filling ── all told ──→ Catching ── acknowledged ──→ Whole ── not heard ──→ Away
//!                                        ↑ heard again ───────────────────────────────────┘
//! ```
//! What one misses that is not heard is kept for a while, and a snapshot goes on where it was.
//! A follower is filled by slices: the function is asked for the next one when the last has been
//! taken, so that a snapshot needs no more room however long it is. Changes of the meantime go
//! between them.

use super::ballot::{Ballot, Copy, View, bit, count};
use super::datagram::{Ack, Piece, Record, Role};
use super::link::Traffics;
use super::out::Out;
use super::roster::{Params, Placement};
use crate::sink::{Change, Sink};
use crate::source::{DELTA_BYTES_MAX, Source};
use machine::{Duration, Time};
use runtime::{GroupId, GroupOrder, NodeId, Pace};
use std::collections::BTreeMap;

/// Octets of one slice, about.
const SLICE_BYTES: usize = 64 << 10;
/// What a follower that is not heard misses is kept for so long.
const AWAY_MAX: Duration = Duration::from_secs(10);
/// Between the loss of a follower that did not keep up and the next attempt.
const REFILL_PAUSE: Duration = Duration::from_secs(1);
/// A planned change of the node that serves that takes longer is given up.
const HANDOVER_MAX: Duration = Duration::from_secs(2);
/// Whoever did not take a group in that time is not given it for so long: meanwhile it is served.
const HANDOVER_PAUSE: Duration = Duration::from_secs(30);

/// How far a follower is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It is told what stands.
    Filling,
    /// It has been told all up to this entry, and has to apply it.
    Catching(u64),
    /// It has everything.
    Whole,
    /// It had, and has not been heard since.
    Away,
}

/// A node that follows.
#[derive(Debug)]
struct Follower {
    source: Source,
    phase: Phase,
    life: u64,
    is_observer: bool,
    /// Since when it has not been heard.
    silent_since: Option<Time>,
    /// The last mark before which it has applied everything.
    reached: u64,
}

impl Follower {
    /// Does something to what it is told of a group, and keeps account of what that leaves on its
    /// way to the node: all groups share that way.
    fn stream(
        &mut self,
        ways: &mut Traffics,
        node: NodeId,
        group: GroupId,
        act: impl FnOnce(&mut Source),
    ) {
        let before = self.source.flying();
        act(&mut self.source);
        if let Some(way) = ways.get_mut(&node) {
            way.flying = (way.flying + self.source.flying()).saturating_sub(before);
            way.ready.insert(group);
        }
    }
}

/// The slice that is wanted.
#[derive(Debug)]
struct Filling {
    node: NodeId,
    number: u64,
    cursor: u64,
    is_asked: bool,
}

/// A planned change of the node that serves.
#[derive(Debug)]
struct Handing {
    to: NodeId,
    until: Time,
    is_quiet: bool,
}

/// What has been there of a group, in this life of the node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// A node that serves it.
    pub was_served: bool,
    /// Another than this one that serves it, or is its standby.
    pub had_another: bool,
}

/// The group.
#[derive(Debug)]
pub(super) struct Group {
    pub placement: Placement,
    pub ballot: Ballot,
    pub sink: Sink,
    followers: BTreeMap<NodeId, Follower>,
    filling: Option<Filling>,
    /// Streams and slices begun so far.
    streams: u64,
    refill_at: Time,
    had_standby: bool,
    pub seen: Seen,
    /// The last mark of the function, and the last of which it has heard.
    marks: [u64; 2],
    pace: Pace,
    pub move_to: Option<NodeId>,
    handing: Option<Handing>,
    /// Who did not take it, and until when it is not given to him.
    refused: Option<(NodeId, Time)>,
    /// What was said of it last, and in which version of what this node says.
    pub told: Record,
    pub changed: u64,
    pub serves: Option<(Option<NodeId>, u64)>,
    /// Times that a follower did not keep up.
    pub overflows: u64,
    /// Changes that no datagram carries: they were not told.
    pub too_long: u64,
    changes: Vec<Change>,
}

impl Group {
    pub fn new(placement: Placement, own: NodeId) -> Self {
        let group = placement.group;
        Self {
            placement,
            ballot: Ballot::new(group, own),
            sink: Sink::default(),
            followers: BTreeMap::new(),
            filling: None,
            streams: 0,
            refill_at: Time::ZERO,
            had_standby: false,
            seen: Seen::default(),
            marks: [0; 2],
            pace: Pace::Current,
            move_to: None,
            handing: None,
            refused: None,
            told: Record { group, ..Record::default() },
            changed: 0,
            serves: None,
            overflows: 0,
            too_long: 0,
            changes: Vec::new(),
        }
    }

    const fn id(&self) -> GroupId {
        self.placement.group
    }

    /// Until when the node may speak for it.
    pub fn lease(&self) -> Time {
        if self.handing.is_some() { Time::ZERO } else { self.ballot.lease() }
    }

    /// What this node says of it.
    pub fn record(&self, params: &Params) -> Record {
        let ballot = &self.ballot;
        let whole = self.followers.iter().filter(|(_, it)| it.phase == Phase::Whole);
        let followers = whole.fold(0, |bits, (node, _)| bits | bit(*node));
        Record {
            group: self.id(),
            epoch: ballot.epoch,
            role: ballot.role,
            term: ballot.term,
            heir: ballot.heir,
            copy: ballot.copy.epoch,
            is_whole: ballot.copy.is_whole,
            serves: self.placement.rank(params.node).is_some(),
            grant: ballot.grant,
            followers: if ballot.role == Role::Active { followers } else { 0 },
        }
    }

    /// The standbys that have everything.
    pub fn standbys(&self) -> impl Iterator<Item = NodeId> + '_ {
        let whole = |it: &Follower| !it.is_observer && it.phase == Phase::Whole;
        self.followers.iter().filter(move |(_, it)| whole(it)).map(|(node, _)| *node)
    }

    /// All that follow, and how many changes wait for each.
    pub fn lags(&self) -> impl Iterator<Item = (NodeId, u64, usize)> + '_ {
        self.followers.iter().map(|(node, it)| (*node, it.source.lag(), it.source.waiting()))
    }

    pub const fn pace(&self) -> Pace {
        self.pace
    }

    pub const fn is_handing(&self) -> bool {
        self.handing.is_some()
    }

    /// What became of the role has been told; what belongs to the old one is forgotten.
    pub fn begin_term(&mut self, ways: &mut Traffics) {
        self.end_all(ways);
        (self.had_standby, self.marks, self.pace) = (false, [0; 2], Pace::Current);
        (self.handing, self.move_to) = (None, None);
    }

    /// What waits for something that never left the node that has died is applied without it.
    pub fn take_rest(&mut self, out: &mut Vec<Out>) {
        self.sink.rest(&mut self.changes);
        self.apply(0, out);
    }

    fn end_all(&mut self, ways: &mut Traffics) {
        let nodes: Vec<NodeId> = self.followers.keys().copied().collect();
        nodes.into_iter().for_each(|node| self.end(node, ways));
    }

    /// Tells a node nothing more. Copies that lack something from now on are of an older epoch.
    fn end(&mut self, node: NodeId, ways: &mut Traffics) {
        let Some(follower) = self.followers.remove(&node) else { return };
        if let Some(way) = ways.get_mut(&node) {
            way.flying = way.flying.saturating_sub(follower.source.flying());
            way.ready.remove(&self.placement.group);
        }
        self.filling.take_if(|filling| filling.node == node);
        if matches!(follower.phase, Phase::Whole) && self.ballot.role == Role::Active {
            self.ballot.raise();
        }
    }

    /// A change of its state.
    pub fn push(&mut self, delta: &[u8], ways: &mut Traffics) {
        let group = self.placement.group;
        self.too_long += u64::from(delta.len() > DELTA_BYTES_MAX);
        for (node, follower) in &mut self.followers {
            follower.stream(ways, *node, group, |source| source.push(0, delta));
        }
    }

    /// The function wants to hear when a standby has applied all that it has told so far.
    pub fn mark(&mut self, mark: u64, out: &mut Vec<Out>) {
        self.marks[0] = mark;
        if !self.had_standby {
            return out.push(Out::Order(GroupOrder::Followed { group: self.id(), mark: None }));
        }
        let standbys = self.followers.values_mut().filter(|it| !it.is_observer);
        standbys.for_each(|it| it.source.mark(0, mark));
    }

    /// A slice was told.
    pub fn sliced(&mut self, number: u64, next: Option<u64>, ways: &mut Traffics) {
        let Some(filling) = self.filling.as_mut().filter(|it| it.number == number) else { return };
        if let Some(cursor) = next {
            (filling.cursor, filling.is_asked) = (cursor, false);
            return;
        }
        let node = filling.node;
        self.filling = None;
        let group = self.placement.group;
        let Some(follower) = self.followers.get_mut(&node) else { return };
        follower.stream(ways, node, group, |source| source.lane_ended(source.stream.1));
        let end = follower.source.position().map_or(0, |(_, last)| last);
        follower.phase = Phase::Catching(end);
    }

    /// A follower has applied so much.
    pub fn acknowledged(&mut self, now: Time, node: NodeId, ack: Ack, ways: &mut Traffics) {
        let Some(follower) = self.followers.get_mut(&node) else { return };
        if ack.stream != follower.source.stream {
            // One that has applied nothing of it may not have heard of it yet.
            let has_lost = ack.stream < follower.source.stream && follower.source.acked() > 0;
            if has_lost {
                self.refill_at = now + REFILL_PAUSE;
                self.end(node, ways);
            }
            return;
        }
        follower.stream(ways, node, ack.group, |source| {
            source.acknowledged(now, ack.stream, ack.applied);
        });
        if matches!(follower.phase, Phase::Catching(end) if follower.source.acked() >= end) {
            follower.phase = Phase::Whole;
        }
    }

    /// Who follows, what they are told, and what the function hears of it; while it is served here.
    pub fn lead(&mut self, view: &View<'_>, ways: &mut Traffics, out: &mut Vec<Out>) {
        self.watch_followers(view, ways, out);
        self.choose(view, ways);
        self.fill(out);
        self.hear_marks(view, out);
        self.hand_over(view, ways, out);
    }

    /// Notices who is not heard any more, is again, or did not keep up.
    fn watch_followers(&mut self, view: &View<'_>, ways: &mut Traffics, out: &mut Vec<Out>) {
        let (now, mut over, group) = (view.now, Vec::new(), self.placement.group);
        let (mut pace, mut is_raised) = (Pace::Current, false);
        for (node, follower) in &mut self.followers {
            if follower.source.is_late(now) {
                follower.stream(ways, *node, group, |source| source.tick(now));
            }
            let life = view.links.get(node).map_or(0, |link| link.life);
            let is_alive = view.is_alive(*node) && life == follower.life;
            // One that is not heard is no standby now, and nothing waits for it.
            if is_alive && !follower.is_observer {
                pace = pace.max(follower.source.pace());
            }
            let is_lost = !follower.source.is_running();
            if is_lost {
                self.overflows += 1;
                self.refill_at = now + REFILL_PAUSE;
            }
            let silent = follower.silent_since.filter(|_| !is_alive).unwrap_or(now);
            follower.silent_since = (!is_alive).then_some(silent);
            match follower.phase {
                _ if is_lost || life != follower.life => over.push(*node),
                _ if !is_alive && now >= silent + AWAY_MAX => over.push(*node),
                Phase::Whole if !is_alive => {
                    follower.phase = Phase::Away;
                    is_raised = true;
                }
                Phase::Away if is_alive => {
                    let end = follower.source.position().map_or(0, |(_, last)| last);
                    follower.phase = Phase::Catching(end);
                    follower.stream(ways, *node, group, |_| ());
                }
                _ => {}
            }
        }
        if is_raised {
            self.ballot.raise();
        }
        over.into_iter().for_each(|node| self.end(node, ways));
        let pace = match self.standbys().next() {
            None if self.pace == Pace::Lost => Pace::Lost, // until another one has everything
            Some(_) if pace == Pace::Lost => Pace::Current,
            _ if pace == Pace::Busy => Pace::Current,
            _ => pace,
        };
        if core::mem::replace(&mut self.pace, pace) != pace {
            out.push(Out::Order(GroupOrder::Paced { group: self.id(), pace }));
        }
    }

    /// The standbys that shall be, and the observers.
    fn wanted(&self, view: &View<'_>) -> Vec<(NodeId, bool)> {
        let own = view.params.node;
        let votes = |node: &NodeId| view.rosters[0].voters.contains(node);
        let there = |node: &&NodeId| **node != own && view.is_alive(**node) && votes(node);
        let mut serve: Vec<NodeId> = self.placement.serve.iter().filter(there).copied().collect();
        // Those that leave, or came just now, go last.
        serve.sort_by_key(|node| {
            let link = view.links.get(node);
            let is_good = link.is_some_and(|it| {
                !it.is_leaving
                    && (it.is_steady(view.now, view.params) || self.followers.contains_key(node))
            });
            !is_good
        });
        serve.truncate(self.placement.copies.into());
        let target = self.move_to.filter(|node| view.is_alive(*node) && !serve.contains(node));
        let standbys = serve.into_iter().chain(target).map(|node| (node, false));
        let observers = self.placement.observe.iter().filter(|node| {
            **node != own && view.is_alive(**node) && view.rosters[0].observers.contains(node)
        });
        standbys.chain(observers.map(|node| (*node, true))).collect()
    }

    fn choose(&mut self, view: &View<'_>, ways: &mut Traffics) {
        let wanted = self.wanted(view);
        let is_whole = |(node, _): &(NodeId, bool)| {
            self.followers.get(node).is_some_and(|it| it.phase == Phase::Whole)
        };
        // Who follows and shall not any more does so until those that shall have everything.
        if wanted.iter().filter(|(_, is_observer)| !is_observer).all(is_whole) {
            let is_extra = |node: &NodeId, it: &Follower| {
                it.phase != Phase::Away && wanted.iter().all(|(other, _)| other != node)
            };
            let extra = self.followers.iter().filter(|(node, it)| is_extra(node, it));
            let extra: Vec<NodeId> = extra.map(|(node, _)| *node).collect();
            extra.into_iter().for_each(|node| self.end(node, ways));
        }
        let is_new = |(node, _): &&(NodeId, bool)| !self.followers.contains_key(node);
        let next = wanted.iter().find(is_new).copied();
        // One that is not heard is filled only as long as there is no other.
        let silent = self.filling.as_ref().map(|it| it.node).filter(|it| !view.is_alive(*it));
        if let (Some(node), Some(_)) = (silent, next) {
            self.end(node, ways);
        }
        let is_busy = self.filling.is_some() || view.now < self.refill_at;
        if let Some((node, is_observer)) = next.filter(|_| !is_busy && self.handing.is_none()) {
            self.begin(view, node, is_observer);
        }
    }

    /// Begins to tell a node everything.
    fn begin(&mut self, view: &View<'_>, node: NodeId, is_observer: bool) {
        self.streams += 1;
        let params = view.params;
        let source = Source::new(1, params.heartbeat * 2).with_log(params.log_bytes_max);
        let mut source = source.after((0, self.streams - 1));
        source.begin(view.now, self.ballot.term);
        let life = view.links.get(&node).map_or(0, |link| link.life);
        let (phase, silent_since, reached) = (Phase::Filling, None, self.marks[0]);
        let follower = Follower { source, phase, life, is_observer, silent_since, reached };
        self.followers.insert(node, follower);
        let number = self.streams;
        self.filling = Some(Filling { node, number, cursor: 0, is_asked: false });
    }

    /// Asks the function for the next slice, when there is room for it.
    fn fill(&mut self, out: &mut Vec<Out>) {
        let group = self.id();
        let Some(filling) = self.filling.as_mut().filter(|it| !it.is_asked) else { return };
        let has_room = self.followers.get(&filling.node).is_some_and(|it| it.source.has_room());
        if has_room {
            filling.is_asked = true;
            let (number, cursor) = (filling.number, filling.cursor);
            out.push(Out::Order(GroupOrder::Slice { group, number, cursor, room: SLICE_BYTES }));
        }
    }

    /// Tells the function how far all standbys have followed, and whether there is one. What they
    /// have applied counts when they know, too, in which epoch: their copies are better by that
    /// than those that lack it.
    fn hear_marks(&mut self, view: &View<'_>, out: &mut Vec<Out>) {
        let group = self.id();
        for follower in self.followers.values_mut() {
            while let Some((_, mark)) = follower.source.marked() {
                follower.reached = mark;
            }
        }
        let has_standby = self.standbys().next().is_some();
        self.seen.had_another |= has_standby;
        if core::mem::replace(&mut self.had_standby, has_standby) != has_standby {
            self.marks[1] = self.marks[0];
            out.push(Out::Order(GroupOrder::Followed { group, mark: has_standby.then_some(0) }));
        }
        let is_told = self.told == self.record(view.params);
        let knows =
            |node: NodeId| view.links.get(&node).is_some_and(|link| link.acked >= self.changed);
        if !is_told || !self.standbys().all(knows) {
            return;
        }
        let reached = self.standbys().filter_map(|node| Some(self.followers.get(&node)?.reached));
        if let Some(mark) = reached.min().filter(|mark| *mark > self.marks[1]) {
            self.marks[1] = mark;
            out.push(Out::Order(GroupOrder::Followed { group, mark: Some(mark) }));
        }
    }

    /// Gives the group to another node, when that is wanted and it has everything.
    fn hand_over(&mut self, view: &View<'_>, ways: &mut Traffics, out: &mut Vec<Out>) {
        let group = self.id();
        if let Some(handing) = &self.handing {
            let follower = self.followers.get(&handing.to);
            let is_ready = follower.is_some_and(|it| it.source.is_drained() && handing.is_quiet);
            if is_ready && view.is_alive(handing.to) {
                let (to, epoch) = (handing.to, self.ballot.term);
                self.handing = None;
                self.ballot.resign(view.now, Some(to), Copy { is_whole: true, epoch });
                return self.begin_term(ways);
            }
            if view.now >= handing.until || follower.is_none() {
                self.refused = Some((handing.to, view.now + HANDOVER_PAUSE));
                (self.handing, self.move_to) = (None, None);
                let epoch = count(self.ballot.term);
                out.push(Out::Order(GroupOrder::Activate { group, epoch, is_current: true }));
            }
            return;
        }
        self.refused.take_if(|(_, until)| *until <= view.now);
        let refused = self.refused.map(|it| it.0);
        if self.move_to.is_none() && view.is_leaving {
            let stays = |node: &NodeId| view.links.get(node).is_some_and(|link| !link.is_leaving);
            let heir = self.standbys().find(|node| stays(node) && Some(*node) != refused);
            self.move_to = heir;
        }
        if let Some(to) = self.move_to.filter(|to| Some(*to) != refused)
            && self.standbys().any(|node| node == to)
        {
            self.handing = Some(Handing { to, until: view.now + HANDOVER_MAX, is_quiet: false });
            out.push(Out::Order(GroupOrder::Deactivate { group }));
        }
    }

    /// The function keeps still for the group.
    pub const fn quiet(&mut self) {
        if let Some(handing) = &mut self.handing {
            handing.is_quiet = true;
        }
    }

    /// What the function knew of the group is lost here.
    pub fn lose(&mut self, view: &View<'_>, ways: &mut Traffics, out: &mut Vec<Out>) {
        let group = self.id();
        self.sink = Sink::default();
        if self.ballot.role != Role::Active {
            self.ballot.copy = Copy::default();
            return;
        }
        let heir = self.standbys().find(|node| view.is_alive(*node));
        if heir.is_some() {
            out.push(Out::Order(GroupOrder::Deactivate { group }));
            self.ballot.resign(view.now, heir, Copy::default());
            return self.begin_term(ways);
        }
        self.begin_term(ways);
        self.ballot.raise();
        let epoch = count(self.ballot.term);
        out.push(Out::Order(GroupOrder::Activate { group, epoch, is_current: false }));
    }

    /// Whether pieces of that node's stream are taken, and the epoch in which it serves.
    fn leader(&self, view: &View<'_>, from: NodeId) -> Option<u64> {
        let (node, record) = view.serving(self.id())?;
        (self.ballot.role == Role::Idle && node == from).then_some(record.term)
    }

    /// Takes a piece of the stream of the node that serves. Whether that node shall hear how far.
    pub fn take(
        &mut self,
        view: &View<'_>,
        from: NodeId,
        piece: Piece<'_>,
        out: &mut Vec<Out>,
    ) -> bool {
        let Some(term) = self.leader(view, from) else { return false };
        if piece.stream.0 > term {
            return false; // it says so with its next heartbeat
        }
        self.sink.take(piece.stream, piece.first, piece.fields, &mut self.changes);
        self.apply(piece.stream.0, out);
        true
    }

    fn apply(&mut self, epoch: u64, out: &mut Vec<Out>) {
        let group = self.id();
        for change in self.changes.drain(..) {
            match change {
                Change::Forget => {
                    self.ballot.copy = Copy::default();
                    out.push(Out::Order(GroupOrder::Forget { group }));
                }
                Change::Apply(_, delta) => out.push(Out::Order(GroupOrder::Delta { group, delta })),
                Change::Whole => self.ballot.copy = Copy { is_whole: true, epoch },
                Change::Unknown => {}
            }
        }
    }

    /// How far its stream is applied here.
    pub const fn ack(&self) -> Ack {
        Ack { group: self.placement.group, stream: self.sink.stream, applied: self.sink.applied }
    }

    /// Whether the function waits until a node has applied what it is told.
    pub fn awaits(&self, node: NodeId) -> bool {
        let follower = self.followers.get(&node);
        follower.is_some_and(|it| !it.is_observer && it.source.has_marks())
    }

    /// Appends what the window allows for a node, and how many octets that is of its changes.
    pub fn piece(
        &mut self,
        now: Time,
        node: NodeId,
        datagram: &mut Vec<u8>,
        octets: usize,
    ) -> Option<usize> {
        let group = self.id();
        let source = &mut self.followers.get_mut(&node)?.source;
        source.awake(now);
        let (stream, first, before) = (source.stream, source.next(), source.flying());
        let mut at = 0;
        let begin = |out: &mut Vec<u8>| at = super::datagram::piece(out, group, stream, first);
        if !source.piece(datagram, octets, begin, crate::source::logged) {
            return None;
        }
        super::datagram::piece_end(datagram, at);
        Some(source.flying() - before)
    }
}
