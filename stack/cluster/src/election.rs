//! Who is the coordinator, and until when a node may serve.
//!
//! A node that votes promises to vote for nobody else for `detect`. The coordinator is who has the
//! votes of a majority, counted from its own stamps that came back with them. It lets the others
//! serve the same way: a lease of [`lease`] from their stamp that it has heard. A coordinator that
//! is elected waits [`patience`] before it takes partitions of who it does not hear: until then no
//! lease that another one gave can last.

use crate::message::Beat;
use crate::node::{NODES_MAX, NodeId};
use crate::table::Version;
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Who may vote, and how fast.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) own: NodeId,
    /// All nodes, this one too.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) heartbeat: Duration,
    pub(crate) detect: Duration,
}

/// How long a vote counts from the claim that it answers: less than the promise lasts.
fn vote_lasts(detect: Duration) -> Duration {
    detect * 3 / 4
}

/// How long a node may serve from the stamp that the coordinator has heard.
pub(crate) fn lease(detect: Duration) -> Duration {
    detect * 7 / 4
}

/// How long a coordinator that was elected waits before it takes what silent nodes have.
pub(crate) fn patience(detect: Duration) -> Duration {
    detect * 3 / 2
}

/// Silence after which a node is dead for the coordinator: no lease lasts so long.
pub(crate) fn silence(detect: Duration) -> Duration {
    detect * 2
}

/// How long a node that has just started, without a table, votes for nobody: it may have voted for
/// one before, and forgotten which table holds.
pub(crate) fn forgotten(detect: Duration) -> Duration {
    detect * 6
}

/// The next term of that node: no other one has the same.
fn next_term(term: u64, own: NodeId) -> u64 {
    let nodes = u64::from(NODES_MAX);
    (term / nodes + 1) * nodes + u64::from(own.number()) - 1
}

/// A node's part in elections.
#[derive(Debug)]
pub(crate) struct Election {
    pub(crate) terms: Terms,
    start: Time,
    /// The term of its claim, or of the one that it voted for last.
    pub(crate) term: u64,
    /// The highest term that it has heard of.
    seen: u64,
    /// For whom it voted last, and until when it votes for nobody else.
    voted: Option<NodeId>,
    promise: Time,
    /// Until when it does not claim, for nobody has elected it.
    rests: Time,
    /// It claims to be the coordinator, in its term.
    claims: bool,
    /// The stamps of its own claims that votes came back for.
    votes: BTreeMap<NodeId, Time>,
    /// Since when it leads.
    leads_since: Option<Time>,
    /// The coordinator that it follows, and its term.
    leader: Option<NodeId>,
    leader_term: u64,
    /// Until when it may serve.
    lease: Time,
    /// When each node was heard last.
    heard: BTreeMap<NodeId, Time>,
}

impl Election {
    pub(crate) fn new(now: Time, terms: Terms) -> Self {
        Self {
            // It may have promised something in an earlier life, which it has forgotten.
            promise: now + terms.detect,
            terms,
            rests: now,
            start: now,
            term: 0,
            seen: 0,
            voted: None,
            claims: false,
            votes: BTreeMap::new(),
            leads_since: None,
            leader: None,
            leader_term: 0,
            lease: Time::ZERO,
            heard: BTreeMap::new(),
        }
    }

    pub(crate) fn heard(&mut self, now: Time, node: NodeId) {
        self.heard.insert(node, now);
    }

    pub(crate) fn heard_at(&self, node: NodeId) -> Option<Time> {
        self.heard.get(&node).copied()
    }

    pub(crate) fn hears(&self, now: Time, node: NodeId) -> bool {
        let since = self.heard_at(node).unwrap_or(Time::ZERO);
        self.heard.contains_key(&node) && now < since + silence(self.terms.detect)
    }

    /// Votes that a coordinator needs, its own among them. Of two nodes one rules alone while it
    /// does not hear the other: it cannot tell a dead one from a cut link.
    pub(crate) fn quorum(&self, now: Time) -> usize {
        let (nodes, detect) = (&self.terms.nodes, self.terms.detect);
        let is_alone = || {
            let mut others = nodes.iter().filter(|it| **it != self.terms.own);
            now >= self.start + forgotten(detect) && others.all(|it| !self.hears(now, *it))
        };
        match nodes.len() {
            2 if is_alone() => 1,
            count => count / 2 + 1,
        }
    }

    /// Until when so many votes hold that it leads; none: there are too few at all.
    fn mandate(&self, now: Time) -> Option<Time> {
        let lasts = vote_lasts(self.terms.detect);
        let others = self.votes.iter().filter(|(node, _)| self.terms.nodes.contains(node));
        let mut until: Vec<Time> = others.map(|(_, stamp)| *stamp + lasts).collect();
        until.sort_unstable_by(|a, b| b.cmp(a));
        match self.quorum(now).checked_sub(2) {
            None => Some(Time::MAX), // nobody else is needed
            Some(at) => until.get(at).copied(),
        }
    }

    pub(crate) const fn leads(&self) -> bool {
        self.leads_since.is_some()
    }

    pub(crate) const fn claims(&self) -> bool {
        self.claims
    }

    /// Who is followed, itself included.
    pub(crate) fn leader(&self) -> Option<NodeId> {
        if self.leads() { Some(self.terms.own) } else { self.leader }
    }

    /// The term of the coordinator that is followed.
    pub(crate) const fn leader_term(&self) -> u64 {
        self.leader_term
    }

    /// Whether what silent nodes have may be taken.
    pub(crate) fn is_patient(&self, now: Time) -> bool {
        self.leads_since.is_some_and(|since| now >= since + patience(self.terms.detect))
    }

    /// Whether it may serve.
    pub(crate) fn may_serve(&self, now: Time) -> bool {
        now < self.lease
    }

    fn step_down(&mut self) {
        (self.claims, self.leads_since) = (false, None);
        self.votes.clear();
    }

    /// A heartbeat came. Whether it is that of a coordinator whose tables hold for this node.
    pub(crate) fn beat(&mut self, now: Time, from: NodeId, it: &Beat, stored: Version) -> bool {
        self.seen = self.seen.max(it.term);
        // Of two that both lead, which only two nodes without a third can, the later one does.
        if it.leads && it.term > self.term && self.claims {
            self.step_down();
            self.promise = now;
        }
        // One that leads is better than one that would like to.
        if it.leads && self.claims && !self.leads() {
            self.step_down();
            (self.term, self.promise) = (it.term, now);
        }
        if it.votes && self.claims && it.term == self.term {
            let vote = self.votes.entry(from).or_default();
            *vote = (*vote).max(it.vote_echo);
        }
        if it.claims && it.term >= self.term && self.may_vote(now, from, it, stored) {
            (self.voted, self.term) = (Some(from), it.term);
            self.promise = now + self.terms.detect;
            self.step_down();
        }
        let is_leader = it.leads && it.term >= self.leader_term && !self.claims;
        if is_leader {
            (self.leader, self.leader_term) = (Some(from), it.term);
        }
        if is_leader && it.grants {
            self.lease = self.lease.max(it.echo + lease(self.terms.detect));
        }
        is_leader
    }

    fn may_vote(&self, now: Time, from: NodeId, it: &Beat, stored: Version) -> bool {
        let is_again = self.voted == Some(from) && !self.claims;
        let is_free = self.promise <= now || is_again;
        let has_forgotten =
            stored == Version::default() && now < self.start + forgotten(self.terms.detect);
        is_free && it.stored >= stored && !has_forgotten
    }

    /// Whether it votes for that node now, which claims.
    pub(crate) fn votes_for(&self, now: Time, node: NodeId) -> bool {
        !self.claims && self.voted == Some(node) && now < self.promise
    }

    /// Nodes claim one after the other, so that they seldom do at once.
    fn turn(&self) -> Duration {
        let at = self.terms.nodes.iter().position(|it| *it == self.terms.own).unwrap_or_default();
        let at = u32::try_from(at).unwrap_or_default();
        self.terms.heartbeat / 2 * at
    }

    /// When it claims, if nobody else has by then.
    fn claims_at(&self, stored: Version) -> Time {
        let ready = match stored == Version::default() {
            true => self.start + forgotten(self.terms.detect),
            false => Time::ZERO,
        };
        ready.max(self.promise).max(self.rests) + self.turn()
    }

    /// Lets time pass. Whether it has begun to lead, or to claim.
    pub(crate) fn tick(&mut self, now: Time, stored: Version) -> bool {
        let before = (self.claims, self.leads());
        if !self.claims {
            if now < self.claims_at(stored) {
                return false;
            }
            self.term = next_term(self.term.max(self.seen), self.terms.own);
            self.claims = true;
            (self.voted, self.leader) = (Some(self.terms.own), None);
            self.promise = now + self.terms.detect;
            self.votes.clear();
        }
        let mandate = self.mandate(now).filter(|until| *until > now);
        match mandate {
            Some(until) => {
                self.leads_since.get_or_insert(now);
                (self.leader, self.leader_term) = (Some(self.terms.own), self.term);
                self.promise = self.promise.max(now + self.terms.detect);
                let until = until.min(now + vote_lasts(self.terms.detect));
                self.lease = self.lease.max(until + self.terms.detect);
            }
            None if self.leads() => self.step_down(),
            // Nobody elects it: others have their turn, and it a later one.
            None if self.promise <= now => {
                self.step_down();
                self.promise = now;
                self.rests = now + self.terms.heartbeat + self.turn() * 2;
                // It may vote for one that was elected before, too.
                self.term = self.leader_term;
            }
            None => {}
        }
        before != (self.claims, self.leads())
    }

    pub(crate) fn deadline(&self, stored: Version) -> Time {
        match self.claims {
            false => self.claims_at(stored),
            true if self.leads() => Time::MAX,
            true => self.promise,
        }
    }
}
