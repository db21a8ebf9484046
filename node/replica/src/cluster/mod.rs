//! A cluster of nodes, and the groups that they serve for each other.
//!
//! ```text
//!  function ── changes ──→ Group (active) ══numbered, acknowledged══→ Group (standby) ──→ function
//!                             │ one link between two nodes, for all groups │
//!            heartbeats: what each node says of each group, and its votes ─┘
//! ```
//! [`Cluster`] is a machine: time is an argument, datagrams go in and out. Each pair of nodes has
//! one link. On it each node says what it is for each group, whom it has voted for, and until which
//! time it has heard the other one; only what has changed is said again, until it is acknowledged.
//!
//! - **One serves.** A node serves a group in an epoch for which a majority of the nodes has voted;
//!   its lease is renewed by their heartbeats, and ends before any of them votes for another one.
//!   Of two nodes an arbiter is the third vote. Two without one cannot tell a dead node from a cut
//!   link: then both serve until it heals, and the one with the lower epoch ceases.
//! - **Nothing is lost.** The node that serves tells its standbys each change before anybody else
//!   hears of it. Whoever lacks a change has a copy of an older epoch than those that have it: the
//!   best copy is elected.
//! - **Nothing overflows.** Snapshots go by slices that are asked for; what a standby does not keep
//!   up with is said to the function ([`Pace`]) before that standby is given up.
//! - **All of it changes live**: nodes join and leave one after the other, placements at any time.
//!   While nodes may still have the roster before, a majority of both is needed.

mod ballot;
mod datagram;
mod group;
mod link;
mod out;
mod posting;
mod posts;
mod roster;
mod rows;

pub use out::{Out, Whose};
pub use roster::{Params, Placement, Roster, preference};
pub use rows::{GroupStanding, NodeStanding};

use crate::election::Name;
use crate::message::{self, Datagram};
use ballot::{Event, View};
use datagram::{ACKS_MAX, Ack, Beat, HEAD_BYTES, Head, Kind, POSTS, Role};
use group::Group;
use link::{Heard, Link, Links, Traffic, Traffics};
use machine::Time;
use roster::ArbiterVote;
use runtime::{GroupId, GroupOrder, NodeId};
use std::collections::BTreeMap;

/// Version of what nodes tell each other.
pub const PROTOCOL: u32 = 1;
/// Octets of one datagram, after which the next one is begun.
const DATAGRAM_BYTES: usize = 1_300;
/// Rosters that count at once: nodes may lag behind with so many changes.
const ROSTERS_MAX: usize = 8;
/// Pieces after which a follower acknowledges at once.
const ACKNOWLEDGE_EVERY: u32 = 16;

/// What happened.
#[derive(Debug)]
pub enum In<'a> {
    /// A node said this.
    Heard(NodeId, &'a [u8]),
    /// The arbiter answered this.
    Answered(&'a [u8]),
    /// The function told a slice.
    Sliced {
        /// Of which group.
        group: GroupId,
        /// The number that it was asked for.
        number: u64,
        /// Where the next one begins; `None`: everything is told.
        next: Option<u64>,
    },
    /// The function wants to hear when a standby has applied all that it has told of a group.
    Marked(GroupId, u64),
    /// The function keeps still for a group after [`GroupOrder::Deactivate`].
    Quiet(GroupId),
    /// What the function knew of a group is lost here.
    Lost(GroupId),
    /// Nodes joined or left.
    Roster(Roster),
    /// Which nodes shall have a group.
    Place(Placement),
    /// A node that follows, or may, shall serve the group. Asked of the node that serves it.
    Move(GroupId, NodeId),
    /// Whether this node gives its groups away, and takes none while another one can: it ends, or
    /// something that it needs has failed.
    Leave(bool),
    /// Shards are behind with what is to be applied: nothing is acknowledged until they are not.
    Hold(bool),
}

/// A node of a cluster.
#[derive(Debug)]
pub struct Cluster {
    params: Params,
    /// The roster, then those before while others may have one of them.
    rosters: Vec<Roster>,
    links: Links,
    ways: Traffics,
    groups: BTreeMap<GroupId, Group>,
    arbiter: ArbiterVote,
    booted: Time,
    next_beat: Time,
    /// Version of what this node says of groups.
    doc: u64,
    /// Ways and streams of posts that were made so far.
    made: u64,
    /// What it says has changed since its last heartbeats.
    is_urgent: bool,
    is_leaving: bool,
    is_held: bool,
}

impl Cluster {
    /// A node that knows nothing, of these nodes.
    #[must_use]
    pub fn new(params: Params, roster: Roster, now: Time) -> Self {
        let mut cluster = Self {
            params,
            rosters: Vec::new(),
            links: Links::new(),
            ways: Traffics::new(),
            groups: BTreeMap::new(),
            arbiter: ArbiterVote::default(),
            booted: now,
            next_beat: now,
            doc: 0,
            made: 0,
            is_urgent: false,
            is_leaving: false,
            is_held: false,
        };
        cluster.enroll(roster, &mut Vec::new());
        cluster
    }

    /// Until when the node may speak for a group; look at it before each send.
    #[must_use]
    pub fn lease(&self, group: GroupId) -> Time {
        self.groups.get(&group).map_or(Time::ZERO, Group::lease)
    }

    /// The same of all groups.
    pub fn leases(&self) -> impl Iterator<Item = (GroupId, Time)> + '_ {
        self.groups.iter().map(|(group, it)| (*group, it.lease()))
    }

    fn enroll(&mut self, roster: Roster, out: &mut Vec<Out>) {
        if self.rosters.first() == Some(&roster) {
            return; // those before it count as long as they did
        }
        let own = self.params.node;
        let is_gone = |node: &NodeId| !roster.nodes().any(|it| it == *node);
        for (node, link) in self.links.extract_if(.., |node, _| is_gone(node)) {
            if link.was_alive {
                out.push(Out::Order(GroupOrder::Node { node, is_alive: false }));
            }
        }
        for (node, mut way) in self.ways.extract_if(.., |node, _| is_gone(node)) {
            Self::return_posts(node, &mut way, 0, out);
        }
        let resend = self.params.heartbeat * 2;
        for node in roster.nodes().filter(|node| *node != own) {
            self.links.entry(node).or_default();
            self.ways.entry(node).or_insert_with(|| {
                self.made += 1;
                Traffic::new(self.made, resend)
            });
        }
        self.rosters.insert(0, roster);
        // Beyond so many the one before the last is passed over: nodes that did not hear of any of
        // them have an older one.
        if self.rosters.len() > ROSTERS_MAX {
            self.rosters.remove(1);
        }
        self.is_urgent = true;
    }

    /// The roster that this node has.
    pub(crate) fn roster(&self) -> Option<&Roster> {
        self.rosters.first()
    }

    /// Those before count no more once all that are heard have this one, and so many of each that
    /// no others can be a majority of it.
    fn forget_rosters(&mut self, now: Time) {
        let [newest, _, ..] = &self.rosters[..] else { return };
        let (digest, params) = (newest.digest(), &self.params);
        let mut heard = self.links.values().filter(|link| link.is_alive(now, params));
        let all_agree = heard.all(|link| link.roster == digest);
        let agrees = |node: &&NodeId| {
            let has_it = |link: &Link| link.is_alive(now, params) && link.roster == digest;
            **node == params.node || self.links.get(node).is_some_and(has_it)
        };
        let is_told = |roster: &Roster| {
            let needed = if roster.presumes() { 1 } else { roster.majority() };
            roster.voters.iter().filter(agrees).count() >= needed
        };
        if all_agree && self.rosters.iter().all(is_told) {
            self.rosters.truncate(1);
        }
    }

    /// Takes one input.
    pub fn step(&mut self, now: Time, input: In<'_>, out: &mut Vec<Out>) {
        match input {
            In::Heard(from, bytes) => self.heard(now, from, bytes, out),
            In::Answered(bytes) => self.answered(now, bytes),
            In::Sliced { group, number, next } => self.sliced(now, group, (number, next), out),
            In::Marked(group, mark) => {
                if let Some(it) = self.groups.get_mut(&group) {
                    it.mark(mark, out);
                }
            }
            In::Quiet(group) => {
                self.groups.get_mut(&group).into_iter().for_each(Group::quiet);
                self.settle(now, group, out);
            }
            In::Lost(group) => self.lost(now, group, out),
            In::Roster(roster) => {
                self.enroll(roster, out);
                self.settle_all(now, out);
            }
            In::Place(placement) => self.place(now, placement, out),
            In::Move(group, node) => {
                let votes = self.rosters.first().is_some_and(|it| it.voters.contains(&node));
                if let Some(it) = self.groups.get_mut(&group) {
                    let serves = votes && it.placement.rank(node).is_some();
                    it.move_to = (node != self.params.node && serves).then_some(node);
                }
                self.settle(now, group, out);
            }
            In::Leave(is_leaving) => {
                self.is_urgent |= self.is_leaving != is_leaving;
                self.is_leaving = is_leaving;
                self.settle_all(now, out);
            }
            In::Hold(is_held) => self.is_held = is_held,
        }
        self.finish(now, out);
    }

    /// Takes a change of a group's state; [`Cluster::flush`] sends it.
    pub fn delta(&mut self, group: GroupId, delta: &[u8]) {
        if let Some(it) = self.groups.get_mut(&group).filter(|it| it.ballot.role == Role::Active) {
            it.push(delta, &mut self.ways);
        }
    }

    /// Sends the changes that may leave; what it leads to is [`Out::Send`] only.
    pub fn flush(&mut self, now: Time, out: &mut Vec<Out>) {
        let nodes: Vec<NodeId> = self.ways.keys().copied().collect();
        nodes.into_iter().for_each(|node| self.flush_to(now, node, out));
    }

    /// Lets time pass; everything that came in before `now` must have been told.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        if now < self.next_beat {
            return;
        }
        self.next_beat = now + self.params.heartbeat;
        self.notice_deaths(now, out);
        self.forget_rosters(now);
        self.settle_all(now, out);
        self.ways.values_mut().for_each(|way| way.posts.tick(now));
        self.ask_arbiter(now, out);
        self.is_urgent = true;
        self.finish(now, out);
        self.acknowledge_all(out);
    }

    /// When [`Cluster::tick`] wants to be called next.
    #[must_use]
    pub const fn deadline(&self) -> Time {
        self.next_beat
    }

    fn finish(&mut self, now: Time, out: &mut Vec<Out>) {
        if core::mem::take(&mut self.is_urgent) {
            self.beat_all(now, out);
        }
        self.flush(now, out);
    }

    fn heard(&mut self, now: Time, from: NodeId, bytes: &[u8], out: &mut Vec<Out>) {
        let Some((head, body)) = datagram::read(bytes) else { return };
        let is_ours = head.cluster == self.params.cluster && head.to == self.params.node;
        if !is_ours || head.from != from || head.from_life == 0 || !self.links.contains_key(&from) {
            return;
        }
        if head.kind == Kind::Beat {
            if let Some(beat) = datagram::read_beat(body) {
                self.beat_heard(now, &head, &beat, out);
            }
            return;
        }
        let Some(link) = self.links.get_mut(&from) else { return };
        // What another life said, or said to another one, is of no group that is known here.
        if head.from_life != link.life || head.to_life != self.params.life {
            return;
        }
        link.noticed(now, &self.params);
        match head.kind {
            Kind::Pieces => self.pieces_heard(now, from, body, out),
            Kind::Awaited => {
                self.pieces_heard(now, from, body, out);
                self.acknowledge(from, out);
            }
            Kind::Acks | Kind::Beat => self.acks_heard(now, from, body, out),
        }
    }

    fn beat_heard(&mut self, now: Time, head: &Head, beat: &Beat, out: &mut Vec<Out>) {
        let Some(link) = self.links.get_mut(&head.from) else { return };
        let known = link.known;
        let heard = link.hear(now, &self.params, head, beat);
        let changed = match heard {
            Heard::Late => return,
            Heard::Reborn(changed) => {
                self.begin_posts(head.from, true, out);
                self.settle_all(now, out); // what its last life had is free
                changed
            }
            Heard::Again(changed) => {
                self.begin_posts(head.from, false, out);
                changed
            }
            Heard::Same(changed) => changed,
        };
        if !core::mem::replace(&mut link_of(&mut self.links, head.from).was_alive, true) {
            out.push(Out::Order(GroupOrder::Node { node: head.from, is_alive: true }));
        }
        for group in changed {
            let link = link_of(&mut self.links, head.from);
            if let (Some(it), Some(record)) =
                (self.groups.get_mut(&group), link.records.get(&group))
            {
                it.ballot.learn(record);
            }
            self.settle(now, group, out);
        }
        // Who said something new hears soon that it is known, and what it leads to. What is said
        // again is answered by the next heartbeat: else nodes would answer each other's answers.
        self.is_urgent |= link_of(&mut self.links, head.from).known > known;
    }

    fn notice_deaths(&mut self, now: Time, out: &mut Vec<Out>) {
        for (node, link) in &mut self.links {
            if link.was_alive && !link.is_alive(now, &self.params) {
                link.was_alive = false;
                out.push(Out::Order(GroupOrder::Node { node: *node, is_alive: false }));
                if let Some(way) = self.ways.get_mut(node) {
                    Self::give_back(*node, way.posts.source.take_back(), out);
                }
            }
        }
    }

    fn pieces_heard(&mut self, now: Time, from: NodeId, body: &[u8], out: &mut Vec<Out>) {
        for piece in datagram::read_pieces(body) {
            let group = piece.group;
            if group == POSTS {
                self.posts_heard(from, piece, out);
                continue;
            }
            let Self { params, rosters, links, groups, ways, .. } = self;
            let view = View {
                now,
                params,
                links,
                rosters,
                arbiter: self.arbiter,
                booted: self.booted,
                is_leaving: self.is_leaving,
            };
            let Some(it) = groups.get_mut(&group) else { continue };
            let was = it.ballot.copy;
            if it.take(&view, from, piece, out)
                && let Some(way) = ways.get_mut(&from)
            {
                way.dirty.insert(group);
                way.taken += 1;
            }
            if it.ballot.copy != was {
                self.settle(now, group, out);
            }
        }
        if self.ways.get(&from).is_some_and(|way| way.taken >= ACKNOWLEDGE_EVERY) {
            self.acknowledge(from, out);
        }
    }

    fn acks_heard(&mut self, now: Time, from: NodeId, body: &[u8], out: &mut Vec<Out>) {
        for ack in datagram::read_acks(body) {
            if ack.group == POSTS {
                self.posts_acknowledged(now, from, ack);
                continue;
            }
            if let Some(it) = self.groups.get_mut(&ack.group) {
                it.acknowledged(now, from, ack, &mut self.ways);
            }
            self.settle(now, ack.group, out);
        }
    }

    /// The arbiter may give its vote, and nothing else.
    fn answered(&mut self, now: Time, bytes: &[u8]) {
        match message::read(bytes) {
            Some((number, _)) if number != self.params.cluster => {}
            Some((_, Datagram::Present)) => self.arbiter.heard = now,
            Some((_, Datagram::Grant { stamp, .. })) if stamp <= now => {
                self.arbiter.heard = now;
                self.arbiter.lease = self.arbiter.lease.max(stamp + self.params.lease);
            }
            _ => {}
        }
    }

    /// Asks for its vote while the other node is not heard, and a group needs it.
    fn ask_arbiter(&mut self, now: Time, out: &mut Vec<Out>) {
        let has_arbiter = self.rosters.iter().any(|roster| roster.has_arbiter);
        let is_alone = !self.links.values().any(|link| link.is_alive(now, &self.params));
        let wants = |it: &Group| it.ballot.role != Role::Idle;
        if has_arbiter && is_alone && self.groups.values().any(wants) {
            let Params { cluster, detect, .. } = self.params;
            out.push(Out::ToArbiter(message::request(cluster, self.arbiter_name(), now, detect)));
        }
    }

    /// As which of two the arbiter knows this node: the lower number is the first.
    #[must_use]
    pub fn arbiter_name(&self) -> Name {
        let own = self.params.node;
        let voters = self.rosters.first().map(|roster| &roster.voters);
        let is_second = voters.is_some_and(|voters| voters.iter().any(|node| *node < own));
        if is_second { Name::B } else { Name::A }
    }

    fn sliced(&mut self, now: Time, group: GroupId, told: (u64, Option<u64>), out: &mut Vec<Out>) {
        if let Some(it) = self.groups.get_mut(&group) {
            it.sliced(told.0, told.1, &mut self.ways);
        }
        self.settle(now, group, out);
    }

    fn place(&mut self, now: Time, placement: Placement, out: &mut Vec<Out>) {
        if !placement.is_valid() {
            return;
        }
        let group = placement.group;
        match self.groups.get_mut(&group) {
            Some(it) => it.placement = placement,
            None => {
                let mut fresh = Group::new(placement, self.params.node);
                for link in self.links.values() {
                    link.records.get(&group).into_iter().for_each(|it| fresh.ballot.learn(it));
                }
                self.groups.insert(group, fresh);
            }
        }
        self.settle(now, group, out);
    }

    fn lost(&mut self, now: Time, group: GroupId, out: &mut Vec<Out>) {
        let Self { params, rosters, links, groups, ways, .. } = self;
        let (arbiter, booted, is_leaving) = (self.arbiter, self.booted, self.is_leaving);
        let view = View { now, params, links, rosters, arbiter, booted, is_leaving };
        if let Some(it) = groups.get_mut(&group) {
            it.lose(&view, ways, out);
        }
        for way in self.ways.values_mut() {
            way.dirty.insert(group);
        }
        self.settle(now, group, out);
    }

    fn settle_all(&mut self, now: Time, out: &mut Vec<Out>) {
        let groups: Vec<GroupId> = self.groups.keys().copied().collect();
        groups.into_iter().for_each(|group| self.settle(now, group, out));
    }

    /// What follows for one group from all that is known.
    fn settle(&mut self, now: Time, group: GroupId, out: &mut Vec<Out>) {
        let Self { params, rosters, links, groups, ways, .. } = self;
        let (arbiter, booted, is_leaving) = (self.arbiter, self.booted, self.is_leaving);
        let view = View { now, params, links, rosters, arbiter, booted, is_leaving };
        let Some(it) = groups.get_mut(&group) else { return };
        let was_handing = it.is_handing();
        match it.ballot.settle(&view, &it.placement) {
            Some(Event::Elected { is_current }) => {
                it.take_rest(out);
                it.begin_term(ways);
                it.sink = crate::sink::Sink::default();
                let epoch = ballot::count(it.ballot.term);
                out.push(Out::Order(GroupOrder::Activate { group, epoch, is_current }));
            }
            Some(Event::Deposed) => {
                it.begin_term(ways);
                if !was_handing {
                    out.push(Out::Order(GroupOrder::Deactivate { group }));
                }
            }
            None => {}
        }
        if it.ballot.role == Role::Active {
            it.lead(&view, ways, out);
        } else if !it.ballot.copy.is_whole
            && let Some((node, record)) = view.serving(group)
            && record.followers & ballot::bit(view.params.node) != 0
            && let Some(way) = ways.get_mut(&node)
        {
            way.dirty.insert(group); // it takes this node's copy for whole
        }
        let own = (it.ballot.role == Role::Active).then_some((view.params.node, it.ballot.term));
        let serving = own.or(view.serving(group).map(|(node, record)| (node, record.term)));
        let serves =
            (serving.map(|(node, _)| node), serving.map_or(it.ballot.epoch, |(_, term)| term));
        it.seen.was_served |= serves.0.is_some();
        it.seen.had_another |= serves.0.is_some_and(|node| node != params.node);
        let is_news = it.serves.is_none_or(|(node, _)| node != serves.0);
        if is_news {
            it.serves = Some(serves);
            let (node, epoch) = (serves.0, ballot::count(serves.1));
            out.push(Out::Order(GroupOrder::Serves { group, node, epoch }));
        }
        let record = it.record(params);
        if record != it.told {
            self.doc += 1;
            (it.told, it.changed) = (record, self.doc);
            self.is_urgent = true;
        }
    }

    fn head(&self, kind: Kind, to: NodeId) -> Vec<u8> {
        let to_life = self.links.get(&to).map_or(0, |link| link.life);
        let Params { cluster, node: from, life: from_life, .. } = self.params;
        datagram::head(&Head { kind, cluster, from, to, from_life, to_life })
    }

    fn beat_all(&self, now: Time, out: &mut Vec<Out>) {
        for (node, link) in &self.links {
            let news = self.groups.values().filter(|it| it.changed > link.acked);
            let beat = Beat {
                stamp: now,
                echo: link.stamp,
                version: self.params.version,
                roster: self.rosters.first().map_or(0, Roster::digest),
                is_leaving: self.is_leaving,
                base: link.acked,
                doc: self.doc,
                seen: link.known,
                way: self.ways.get(node).map_or(0, |way| way.number),
                records: news.map(|it| it.told).collect(),
            };
            let mut datagram = self.head(Kind::Beat, *node);
            datagram::beat(&mut datagram, &beat);
            out.push(Out::Send(*node, datagram));
        }
    }

    fn flush_to(&mut self, now: Time, node: NodeId, out: &mut Vec<Out>) {
        let is_alive = self.links.get(&node).is_some_and(|link| link.is_alive(now, &self.params));
        let has_news = |way: &Traffic| !way.ready.is_empty() || way.posts.is_ready;
        if !is_alive || !self.ways.get(&node).is_some_and(has_news) {
            return;
        }
        let mut datagram = self.head(Kind::Pieces, node);
        while let Some(group) = self.ways.get_mut(&node).and_then(Traffic::next_group) {
            let Some(it) = self.groups.get_mut(&group) else { continue };
            let Some(octets) = it.piece(now, node, &mut datagram, DATAGRAM_BYTES) else { continue };
            if let Some(way) = self.ways.get_mut(&node) {
                way.flying += octets;
                way.ready.insert(group);
            }
            if it.awaits(node) {
                datagram::await_it(&mut datagram);
            }
            if datagram.len() >= DATAGRAM_BYTES * 3 / 4 {
                let next = self.head(Kind::Pieces, node);
                out.push(Out::Send(node, core::mem::replace(&mut datagram, next)));
            }
        }
        while let Some(way) = self.ways.get_mut(&node).filter(|way| way.posts.is_ready) {
            way.posts.is_ready = way.posts.piece(now, &mut datagram, DATAGRAM_BYTES);
            if way.posts.is_ready && datagram.len() >= DATAGRAM_BYTES * 3 / 4 {
                let next = self.head(Kind::Pieces, node);
                out.push(Out::Send(node, core::mem::replace(&mut datagram, next)));
            }
        }
        if datagram.len() > HEAD_BYTES {
            out.push(Out::Send(node, datagram));
        }
    }

    fn acknowledge_all(&mut self, out: &mut Vec<Out>) {
        let nodes: Vec<NodeId> = self.ways.keys().copied().collect();
        nodes.into_iter().for_each(|node| self.acknowledge(node, out));
    }

    /// Tells a node how far its streams are applied here.
    fn acknowledge(&mut self, node: NodeId, out: &mut Vec<Out>) {
        let has_news = |way: &&mut Traffic| !way.dirty.is_empty() || way.posts.is_dirty;
        let Some(way) = self.ways.get_mut(&node).filter(has_news).filter(|_| !self.is_held) else {
            return;
        };
        way.taken = 0;
        if core::mem::take(&mut way.posts.is_dirty) {
            let (stream, applied) = way.posts.applied();
            let mut datagram = self.head(Kind::Acks, node);
            datagram::ack(&mut datagram, Ack { group: POSTS, stream, applied });
            out.push(Out::Send(node, datagram));
        }
        let Some(way) = self.ways.get_mut(&node) else { return };
        let dirty: Vec<GroupId> = core::mem::take(&mut way.dirty).into_iter().collect();
        for some in dirty.chunks(ACKS_MAX) {
            let mut datagram = self.head(Kind::Acks, node);
            let groups = some.iter().filter_map(|group| self.groups.get(group));
            groups.for_each(|it| datagram::ack(&mut datagram, it.ack()));
            out.push(Out::Send(node, datagram));
        }
    }
}

/// Whether a datagram of ours is a heartbeat.
pub(crate) fn is_beat(datagram: &[u8]) -> bool {
    datagram::read(datagram).is_some_and(|(head, _)| head.kind == Kind::Beat)
}

fn link_of(links: &mut Links, node: NodeId) -> &mut Link {
    links.entry(node).or_default()
}
