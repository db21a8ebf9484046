//! How a cluster stands, as one of its nodes sees it.

use super::datagram::Role;
use super::{Cluster, ballot};
use machine::{Duration, Time};
use runtime::{GroupId, NodeId, Pace};

/// Silence after which an arbiter is lost.
const ARBITER_SILENCE: Duration = Duration::from_secs(4);

/// How a group stands at this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStanding {
    /// Which.
    pub group: GroupId,
    /// Who serves it, as far as this node knows.
    pub serves: Option<NodeId>,
    /// Whether that is this node.
    pub is_active: bool,
    /// Whether it wants to be.
    pub is_candidate: bool,
    /// How many epochs there were, as far as it knows.
    pub epoch: u64,
    /// Whether the copy here is whole.
    pub is_whole: bool,
    /// The standbys that have everything, while it serves.
    pub standbys: Vec<NodeId>,
    /// Standbys that there should be.
    pub copies: u8,
    /// Changes that wait for the slowest follower, and their octets.
    pub lag: (u64, usize),
    /// How the standby keeps up.
    pub pace: Pace,
    /// Whether it is given to another node just now.
    pub is_handing_over: bool,
    /// Times that a follower did not keep up.
    pub overflows: u64,
    /// Changes that were too long to be told.
    pub too_long: u64,
    /// Whether any node was seen to serve it, in this life of this one.
    pub was_served: bool,
    /// Whether another one was, or was its standby.
    pub had_another: bool,
}

impl GroupStanding {
    /// Whether nothing has failed yet, as far as this node has seen: nobody has served it, or this
    /// node alone and its first standby is still to come.
    #[must_use]
    pub const fn is_starting(&self) -> bool {
        !self.was_served || self.is_active && !self.had_another
    }
}

/// How another node stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStanding {
    /// Which.
    pub node: NodeId,
    /// Whether it is heard.
    pub is_alive: bool,
    /// Whether it was ever heard in this life of this one.
    pub was_heard: bool,
    /// Version of what it says.
    pub version: u32,
    /// Whether it has the same roster.
    pub agrees: bool,
    /// Whether it gives its groups away.
    pub is_leaving: bool,
    /// Groups that it serves.
    pub groups: usize,
}

impl Cluster {
    /// How all groups stand.
    pub fn groups(&self) -> impl Iterator<Item = GroupStanding> + '_ {
        self.groups.iter().map(|(group, it)| GroupStanding {
            group: *group,
            serves: it.serves.and_then(|(node, _)| node),
            is_active: it.ballot.role == Role::Active,
            is_candidate: it.ballot.role == Role::Candidate,
            epoch: ballot::count(it.ballot.epoch),
            is_whole: it.ballot.copy.is_whole,
            standbys: it.standbys().collect(),
            copies: it.placement.copies,
            lag: it.lags().map(|(_, lag, octets)| (lag, octets)).max().unwrap_or_default(),
            pace: it.pace(),
            is_handing_over: it.is_handing(),
            overflows: it.overflows,
            too_long: it.too_long,
            was_served: it.seen.was_served,
            had_another: it.seen.had_another,
        })
    }

    /// How one group stands.
    #[must_use]
    pub fn group(&self, group: GroupId) -> Option<GroupStanding> {
        self.groups().find(|it| it.group == group)
    }

    /// How all other nodes stand.
    pub fn nodes(&self, now: Time) -> impl Iterator<Item = NodeStanding> + '_ {
        let digest = self.rosters.first().map_or(0, super::Roster::digest);
        self.links.iter().map(move |(node, link)| NodeStanding {
            node: *node,
            is_alive: link.is_alive(now, &self.params),
            was_heard: link.heard_at().is_some(),
            version: link.version,
            agrees: link.roster == digest,
            is_leaving: link.is_leaving,
            groups: self
                .groups
                .values()
                .filter(|it| it.serves.is_some_and(|(serves, _)| serves == Some(*node)))
                .count(),
        })
    }

    /// Whether the arbiter answers; `None`: there is none.
    #[must_use]
    pub fn is_arbiter_alive(&self, now: Time) -> Option<bool> {
        let has_arbiter = self.rosters.first().is_some_and(|roster| roster.has_arbiter);
        has_arbiter.then(|| now < self.arbiter.heard + ARBITER_SILENCE)
    }

    /// Whether this node serves nothing any more.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.groups.values().all(|it| it.ballot.role == Role::Idle)
    }
}
