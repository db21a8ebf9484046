//! Who serves one group: votes given and got, and the lease that follows from them.
//!
//! ```text
//!       nobody is heard that serves, and no better copy        a majority has voted
//! Idle ───────────────────────────────────────────→ Candidate ─────────────────────→ Active
//!   ↑←──────── somebody serves, or no majority ─────────┘                              │
//!   └──────────────── the lease ran out · a higher epoch is heard · resigned ──────────┘
//! ```
//! Whoever has voted for a node votes for nobody else before that one was silent for `detect`, or
//! says itself that it does not serve. A vote is a part of what a node says ([`Record::grant`]);
//! the lease counts from the time of the receiver that the voter had heard when it last said so.

use super::datagram::{Record, Role};
use super::link::Links;
use super::roster::{ArbiterVote, Params, Placement, Roster};
use core::cmp::Reverse;
use machine::Time;
use runtime::{GroupId, NODES_MAX, NodeId};

/// How many times as long nodes wait of which none has everything: one that has may come back.
const PATIENCE: u32 = 10;
/// The lowest bits of an epoch say whose it is. Two nodes that do not hear each other begin others:
/// one that goes on to serve when it lost a standby, and one that is elected after it.
const NODE_BITS: u32 = 5;
const _: () = assert!(NODES_MAX < 1 << NODE_BITS);

/// How many epochs there were, for those who do not ask whose.
pub(super) const fn count(epoch: u64) -> u64 {
    epoch >> NODE_BITS
}

/// What a node knows beside the group.
pub(super) struct View<'a> {
    pub now: Time,
    pub params: &'a Params,
    pub links: &'a Links,
    /// The roster, and the one before while nodes may still have that.
    pub rosters: &'a [Roster],
    pub arbiter: ArbiterVote,
    pub booted: Time,
    /// It gives its groups away.
    pub is_leaving: bool,
}

impl View<'_> {
    pub fn is_alive(&self, node: NodeId) -> bool {
        let is_heard = |link: &super::link::Link| link.is_alive(self.now, self.params);
        node == self.params.node || self.links.get(&node).is_some_and(is_heard)
    }

    pub fn record(&self, node: NodeId, group: GroupId) -> Option<&Record> {
        self.links.get(&node)?.records.get(&group)
    }

    /// What nodes say that are heard.
    fn living(&self, group: GroupId) -> impl Iterator<Item = (NodeId, &Record)> {
        let alive = self.links.iter().filter(|(_, link)| link.is_alive(self.now, self.params));
        alive.filter_map(move |(node, link)| Some((*node, link.records.get(&group)?)))
    }

    /// Who serves, of those that are heard.
    pub fn serving(&self, group: GroupId) -> Option<(NodeId, &Record)> {
        let active = self.living(group).filter(|(_, record)| record.role == Role::Active);
        active.max_by_key(|(node, record)| (record.term, Reverse(*node)))
    }

    fn votes(&self, node: NodeId) -> bool {
        self.rosters.first().is_some_and(|roster| roster.voters.contains(&node))
    }

    fn leaves(&self, node: NodeId) -> bool {
        match node == self.params.node {
            true => self.is_leaving,
            false => self.links.get(&node).is_some_and(|link| link.is_leaving),
        }
    }

    /// Whether so many are heard that a majority is possible.
    fn can_win(&self) -> bool {
        self.rosters.iter().all(|roster| {
            let heard = roster.voters.iter().filter(|node| self.is_alive(**node)).count();
            let heard = heard + usize::from(roster.has_arbiter);
            heard >= if roster.presumes() { 1 } else { roster.majority() }
        })
    }
}

/// A copy of a group's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Copy {
    pub is_whole: bool,
    /// Epoch up to which it is that of the node that served.
    pub epoch: u64,
}

/// What has become of the role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// This node serves.
    Elected {
        /// Whether its copy is whole and of the last term.
        is_current: bool,
    },
    /// It serves no more.
    Deposed,
}

/// The machine, of one group.
#[derive(Debug)]
pub(super) struct Ballot {
    group: GroupId,
    own: NodeId,
    pub role: Role,
    /// The highest epoch that is known.
    pub epoch: u64,
    /// That in which this node serves, wants to, or did last.
    pub term: u64,
    /// That in which it was elected; `term` grows while it serves.
    elected: u64,
    /// The highest one in which anybody is known to have served.
    reigned: u64,
    pub heir: Option<NodeId>,
    pub copy: Copy,
    pub grant: Option<(NodeId, u64)>,
    lease: Time,
    since: Time,
    retry_at: Time,
    vacant_since: Option<Time>,
    /// When the node that served last said that this copy lacks nothing.
    followed_at: Time,
    /// Nobody else is known to have served since this node did.
    has_served: bool,
    /// Who served last gave the group to this node, whose copy lacked nothing.
    is_heir: bool,
}

impl Ballot {
    pub fn new(group: GroupId, own: NodeId) -> Self {
        Self {
            group,
            own,
            role: Role::Idle,
            epoch: 0,
            term: 0,
            elected: 0,
            reigned: 0,
            heir: None,
            copy: Copy::default(),
            grant: None,
            lease: Time::ZERO,
            since: Time::ZERO,
            retry_at: Time::ZERO,
            vacant_since: None,
            followed_at: Time::ZERO,
            has_served: false,
            is_heir: false,
        }
    }

    /// Until when the node may speak for the group.
    pub fn lease(&self) -> Time {
        if self.role == Role::Active { self.lease } else { Time::ZERO }
    }

    /// A node said something new of the group.
    pub fn learn(&mut self, record: &Record) {
        let granted = record.grant.map_or(0, |(_, epoch)| epoch);
        self.epoch = self.epoch.max(record.epoch).max(record.term).max(granted);
        if record.role == Role::Active {
            self.reigned = self.reigned.max(record.term);
        }
        // Who has a copy of an epoch had it from a node that served in it.
        self.reigned = self.reigned.max(record.copy);
    }

    /// Until when the votes for the present term count.
    fn votes(&self, view: &View<'_>) -> Time {
        let own = view.params.node;
        let all = view.rosters.iter().map(|roster| {
            let of = |node: &NodeId| {
                if *node == own {
                    return Time::MAX;
                }
                let granted = view.record(*node, self.group).and_then(|record| record.grant);
                let is_ours = granted.is_some_and(|(to, at)| to == own && at >= self.elected);
                let base = view.links.get(node).map_or(Time::ZERO, |link| link.vote_base);
                if is_ours && base > Time::ZERO { base + view.params.lease } else { Time::ZERO }
            };
            let mut until: Vec<Time> = roster.voters.iter().map(of).collect();
            if roster.has_arbiter {
                until.push(view.arbiter.lease);
            }
            until.sort_unstable_by_key(|it| Reverse(*it));
            let is_alone = roster.voters.iter().all(|it| *it == own || !view.is_alive(*it));
            let presumes = roster.presumes() && (is_alone || self.role == Role::Active);
            let needed = if presumes { 1 } else { roster.majority() };
            until.get(needed - 1).copied().unwrap_or(Time::ZERO)
        });
        let most = view.now + view.params.lease;
        all.min().unwrap_or(Time::ZERO).min(most)
    }

    /// Does what time and the others' words lead to.
    pub fn settle(&mut self, view: &View<'_>, placement: &Placement) -> Option<Event> {
        match self.role {
            Role::Active => self.serve(view),
            Role::Candidate => self.stand(view, placement),
            Role::Idle => {
                self.follow(view);
                self.vote(view, placement);
                self.consider(view, placement);
                None
            }
        }
    }

    fn serve(&mut self, view: &View<'_>) -> Option<Event> {
        let own = view.params.node;
        let rival = view.serving(self.group);
        let is_higher = |(node, record): (NodeId, &Record)| {
            (record.term, Reverse(node)) > (self.term, Reverse(own))
        };
        if rival.is_some_and(is_higher) {
            return Some(self.depose(view));
        }
        // Who voted for another one meanwhile can vote for a higher epoch only.
        if self.epoch > self.term {
            self.raise();
        }
        self.lease = self.votes(view);
        (self.lease <= view.now).then(|| self.depose(view))
    }

    /// Goes on to serve in a new epoch: copies that lack something from now on are of an older one.
    pub fn raise(&mut self) {
        self.epoch = self.next_epoch();
        self.term = self.epoch;
        self.reigned = self.term;
        self.copy.epoch = self.term;
        self.grant = self.grant.map(|(node, _)| (node, self.term));
    }

    /// The next epoch of this node.
    fn next_epoch(&self) -> u64 {
        (count(self.epoch) + 1) << NODE_BITS | u64::from(self.own.0)
    }

    fn depose(&mut self, view: &View<'_>) -> Event {
        self.role = Role::Idle;
        (self.lease, self.heir) = (Time::ZERO, None);
        self.copy = Copy { is_whole: true, epoch: self.term };
        self.retry_at = view.now + view.params.detect;
        Event::Deposed
    }

    /// Gives the group to a node, or to whoever is the best. What this node has may be nothing.
    pub fn resign(&mut self, now: Time, heir: Option<NodeId>, copy: Copy) {
        self.role = Role::Idle;
        (self.lease, self.heir) = (Time::ZERO, heir);
        self.copy = copy;
        self.vacant_since = Some(now);
    }

    fn stand(&mut self, view: &View<'_>, placement: &Placement) -> Option<Event> {
        let rank = u32::try_from(placement.rank(view.params.node).unwrap_or(0)).unwrap_or(0);
        if view.serving(self.group).is_some() || view.now >= self.since + view.params.detect * 2 {
            self.role = Role::Idle;
            self.retry_at = view.now + view.params.heartbeat * (2 + rank * 2);
            return None;
        }
        self.lease = self.votes(view);
        if self.lease <= view.now {
            return None;
        }
        let is_recent = self.has_served || view.now < self.followed_at + view.params.detect * 4;
        let is_of_last = self.copy.epoch == self.reigned && is_recent;
        let is_current = self.copy.is_whole && (is_of_last || self.is_heir);
        let is_first = self.reigned == 0;
        self.role = Role::Active;
        self.reigned = self.term;
        self.copy = Copy { is_whole: true, epoch: self.term };
        (self.vacant_since, self.has_served) = (None, true);
        Some(Event::Elected { is_current: is_current || is_first })
    }

    /// Notes what the node that serves says of this one's copy.
    fn follow(&mut self, view: &View<'_>) {
        let Some((_, record)) = view.serving(self.group) else {
            self.vacant_since.get_or_insert(view.now);
            return;
        };
        (self.vacant_since, self.heir, self.has_served) = (None, None, false);
        let bit = bit(view.params.node);
        if self.copy.is_whole && record.followers & bit != 0 && record.term >= self.copy.epoch {
            self.copy.epoch = record.term;
            self.followed_at = view.now;
        }
    }

    /// Whether this node owes its vote to nobody.
    fn is_free(&self, view: &View<'_>) -> bool {
        let Some((node, _)) = self.grant else { return true };
        if node == view.params.node || !view.is_alive(node) {
            return true;
        }
        view.record(node, self.group).is_none_or(|record| record.role == Role::Idle)
    }

    fn vote(&mut self, view: &View<'_>, placement: &Placement) {
        // Votes of an earlier life of this node may still count.
        if view.now < view.booted + view.params.detect || !view.votes(view.params.node) {
            return;
        }
        let given = self.grant.map_or(0, |(_, epoch)| epoch);
        if let Some((node, record)) = view.serving(self.group) {
            let is_same = self.grant.is_some_and(|(to, _)| to == node);
            if record.term >= given && (is_same || self.is_free(view)) {
                self.grant = Some((node, record.term));
                self.epoch = self.epoch.max(record.term);
            }
            return;
        }
        let candidates = view.living(self.group).filter(|(_, it)| it.role == Role::Candidate);
        let best = candidates.max_by_key(|(node, it)| (merit(view, placement, *node, it), it.term));
        let Some((node, record)) = best else { return };
        // To whom it was given when it lacked nothing need not know yet of which epoch that is.
        let is_heir = record.is_whole && self.has_heir(view, node);
        let own = self.own_merit(view, placement).filter(|_| !is_heir);
        let is_better = own.is_some_and(|own| own > merit(view, placement, node, record));
        // Another one that is heard may have a copy that lacks less.
        let copy = (record.is_whole, record.copy);
        let mut others = view.living(self.group).filter(|(_, it)| it.serves);
        let is_worse = !is_heir && others.any(|(_, it)| (it.is_whole, it.copy) > copy);
        let may = self.grant.is_some_and(|(to, _)| to == node) || self.is_free(view);
        if record.term > given && !is_better && !is_worse && may {
            self.grant = Some((node, record.term));
            self.epoch = self.epoch.max(record.term);
        }
    }

    /// Whether who served last gave the group to that node.
    fn has_heir(&self, view: &View<'_>, node: NodeId) -> bool {
        let named = self.heir.filter(|_| self.term == self.reigned);
        let told =
            view.living(self.group).find(|(_, it)| it.heir.is_some() && it.term == self.reigned);
        named.or(told.and_then(|(_, it)| it.heir)) == Some(node)
    }

    fn own_merit(&self, view: &View<'_>, placement: &Placement) -> Option<Merit> {
        let own = view.params.node;
        let rank = placement.rank(own).filter(|_| view.votes(own))?;
        Some((self.copy.is_whole, self.copy.epoch, !view.is_leaving, Reverse(rank)))
    }

    fn consider(&mut self, view: &View<'_>, placement: &Placement) {
        let (now, own) = (view.now, view.params.node);
        let Some(merit_here) = self.own_merit(view, placement) else { return };
        let Some(vacant) = self.vacant_since else { return };
        let detect = view.params.detect;
        if now < view.booted + detect * 2 || now < self.retry_at || !self.is_free(view) {
            return;
        }
        let is_heir = self.copy.is_whole && self.has_heir(view, own);
        let mut others = view.living(self.group).filter(|(_, record)| record.serves);
        let is_better = |(node, it): (NodeId, &Record)| {
            merit(view, placement, node, it) > merit_here
                || (now < vacant + detect * 4 && self.has_heir(view, node))
        };
        if !is_heir && others.any(is_better) {
            return;
        }
        // Who was heard and has said nothing yet may have more.
        let is_unknown =
            |link: &super::link::Link| link.is_alive(now, view.params) && link.known == 0;
        if now < vacant + detect * 4 && view.links.values().any(is_unknown) {
            return;
        }
        let waits = !self.copy.is_whole && self.reigned > 0;
        if waits && now < vacant + detect * PATIENCE || !view.can_win() {
            return;
        }
        self.role = Role::Candidate;
        self.epoch = self.next_epoch();
        (self.term, self.elected, self.since) = (self.epoch, self.epoch, now);
        (self.heir, self.is_heir) = (None, is_heir);
        self.grant = Some((own, self.term));
    }
}

/// What a node has to offer; the greater is elected.
type Merit = (bool, u64, bool, Reverse<usize>);

fn merit(view: &View<'_>, placement: &Placement, node: NodeId, record: &Record) -> Merit {
    let rank = placement.rank(node).unwrap_or(usize::MAX);
    (record.is_whole, record.copy, !view.leaves(node), Reverse(rank))
}

/// The bit of a node in [`Record::followers`].
pub(super) fn bit(node: NodeId) -> u16 {
    1u16.checked_shl(u32::from(node.0).wrapping_sub(1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_nodes_that_know_the_same_epoch_begin_the_same_one() {
        let mut epochs: Vec<u64> = (1..=NODES_MAX)
            .map(|node| {
                let mut ballot = Ballot::new(GroupId(1), NodeId(node));
                ballot.learn(&Record { epoch: 7 << NODE_BITS | 3, ..Record::default() });
                ballot.raise();
                ballot.term
            })
            .collect();
        assert!(epochs.iter().all(|epoch| count(*epoch) == 8));
        epochs.dedup();
        assert_eq!(epochs.len(), usize::from(NODES_MAX));
    }
}
