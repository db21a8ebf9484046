//! What a node knows of another one: whether it lives, what it says of the groups, and until when
//! what it voted counts.

use super::datagram::{Beat, Head, Record};
use super::posts::Posts;
use super::roster::Params;
use machine::{Duration, Time};
use runtime::{GroupId, NodeId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

/// Octets that are on their way to one node unacknowledged, of all groups.
pub(super) const LINK_BYTES: usize = 1 << 20;

/// Lives of a node that are remembered.
const PAST_LIVES: usize = 8;

/// The way to another node.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// The life of it that was heard last, and those before: what comes of them is late.
    pub life: u64,
    past: VecDeque<u64>,
    /// When it was heard; `None`: never in this life of the node.
    heard: Option<Time>,
    /// Since when it has been heard without a pause.
    since: Time,
    /// Its time when it said what was heard last.
    pub stamp: Time,
    /// Our time that it has heard, of what it said together with votes that are known here.
    pub vote_base: Time,
    /// The version of its records that is known here.
    pub known: u64,
    /// The version of ours that is known there.
    pub acked: u64,
    pub records: BTreeMap<GroupId, Record>,
    pub version: u32,
    pub roster: u64,
    pub is_leaving: bool,
    /// What was told of it: whether it is heard.
    pub was_alive: bool,
    /// The number of its way to this node.
    way: u64,
}

/// What a heartbeat brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing: it is late.
    Late,
    /// The same node, and the groups of which it says something new.
    Same(Vec<GroupId>),
    /// The same, which has left this node out meanwhile and taken it in again.
    Again(Vec<GroupId>),
    /// Another life of it.
    Reborn(Vec<GroupId>),
}

impl Link {
    /// Whether it was heard within `detect`.
    pub fn is_alive(&self, now: Time, params: &Params) -> bool {
        self.heard.is_some_and(|heard| now < heard + params.detect)
    }

    /// When it was heard last.
    pub const fn heard_at(&self) -> Option<Time> {
        self.heard
    }

    /// Whether it has been heard for a while.
    pub fn is_steady(&self, now: Time, params: &Params) -> bool {
        self.is_alive(now, params) && now >= self.since + params.detect * 4
    }

    /// It said something that is no heartbeat.
    pub fn noticed(&mut self, now: Time, params: &Params) {
        if !self.is_alive(now, params) {
            self.since = now;
        }
        self.heard = Some(now);
    }

    /// Takes a heartbeat.
    pub fn hear(&mut self, now: Time, params: &Params, head: &Head, beat: &Beat) -> Heard {
        let is_new = head.from_life != self.life;
        if is_new && self.past.contains(&head.from_life) || !is_new && beat.stamp < self.stamp {
            return Heard::Late;
        }
        let mut changed: Vec<GroupId> = Vec::new();
        if is_new {
            changed.extend(self.records.keys());
            let (mut past, was_alive) = (core::mem::take(&mut self.past), self.was_alive);
            past.truncate(PAST_LIVES - 1);
            past.push_front(self.life);
            *self = Self { life: head.from_life, past, was_alive, since: now, ..Self::default() };
        }
        self.noticed(now, params);
        self.stamp = beat.stamp;
        (self.version, self.roster, self.is_leaving) = (beat.version, beat.roster, beat.is_leaving);
        if beat.base <= self.known && beat.doc > self.known {
            self.known = beat.doc;
            for record in &beat.records {
                let was = self.records.insert(record.group, *record);
                if was != Some(*record) && !changed.contains(&record.group) {
                    changed.push(record.group);
                }
            }
        }
        // What it says with records that are not known here may have taken a vote back.
        let hears_us = head.to_life == params.life;
        if hears_us {
            self.acked = beat.seen;
            if beat.doc == self.known {
                self.vote_base = self.vote_base.max(beat.echo.min(now));
            }
        }
        let was = core::mem::replace(&mut self.way, beat.way);
        if is_new {
            Heard::Reborn(changed)
        } else if was != 0 && was != beat.way {
            Heard::Again(changed)
        } else {
            Heard::Same(changed)
        }
    }
}

/// What is on its way to another node.
#[derive(Debug)]
pub(super) struct Traffic {
    /// Another one for each way that this life of the node has made: the other node hears by it
    /// that this one knows nothing any more of what was posted.
    pub number: u64,
    /// Octets that are not acknowledged.
    pub flying: usize,
    /// Groups that have something to be sent.
    pub ready: BTreeSet<GroupId>,
    /// The group that sent last: the next one goes first now.
    last: GroupId,
    /// Groups of which it shall hear how far they are applied.
    pub dirty: BTreeSet<GroupId>,
    /// Pieces taken since it heard that last.
    pub taken: u32,
    /// What is posted in both directions.
    pub posts: Posts,
}

impl Traffic {
    /// The way of that number, on which nothing is; `resend` as [`Posts::new`] has it.
    pub fn new(number: u64, resend: Duration) -> Self {
        Self {
            number,
            flying: 0,
            ready: BTreeSet::new(),
            last: GroupId::default(),
            dirty: BTreeSet::new(),
            taken: 0,
            posts: Posts::new(number, resend),
        }
    }

    /// The group that sends next, one after the other: what one has to tell, however much that
    /// is, does not keep the others waiting. None while the way is full.
    pub fn next_group(&mut self) -> Option<GroupId> {
        if self.flying >= LINK_BYTES {
            return None;
        }
        let behind = (Bound::Excluded(self.last), Bound::Unbounded);
        let next = self.ready.range(behind).next().or_else(|| self.ready.first()).copied()?;
        self.ready.remove(&next);
        self.last = next;
        Some(next)
    }
}

/// That of all other nodes.
pub(super) type Traffics = BTreeMap<NodeId, Traffic>;

/// The ways to all other nodes.
pub(super) type Links = BTreeMap<NodeId, Link>;
