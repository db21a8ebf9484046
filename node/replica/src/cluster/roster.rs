//! Who is in a cluster, who has a vote, and which node shall have what.

use machine::identity::mix;
use machine::{Duration, Time};
use runtime::{GROUPS_MAX, GroupId, NODES_MAX, NodeId};
use std::collections::BTreeSet;

/// What a node of a cluster is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Number of the cluster, the same at all of its nodes and no other cluster's.
    pub cluster: u64,
    /// This node.
    pub node: NodeId,
    /// Number of this life of the node, another one after each start; never zero.
    pub life: u64,
    /// Time between two heartbeats.
    pub heartbeat: Duration,
    /// Silence after which another node counts as dead.
    pub detect: Duration,
    /// How long a vote lasts; shorter than `detect` by more than the clocks may drift in it.
    pub lease: Duration,
    /// Version of what it says: [`super::PROTOCOL`].
    pub version: u32,
    /// Octets of changes of one group that wait for one standby. Beyond them it is told everything
    /// anew.
    pub log_bytes_max: usize,
}

/// The nodes of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roster {
    /// Those that vote, and may serve.
    pub voters: BTreeSet<NodeId>,
    /// Those that only follow.
    pub observers: BTreeSet<NodeId>,
    /// Whether an arbiter has a vote, too; of two nodes only.
    pub has_arbiter: bool,
}

impl Roster {
    /// All nodes with a number that there is.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let all = self.voters.iter().chain(&self.observers).copied();
        all.filter(|node| (1..=NODES_MAX).contains(&node.0))
    }

    /// Votes that are a majority.
    #[must_use]
    pub fn majority(&self) -> usize {
        (self.voters.len() + usize::from(self.has_arbiter)) / 2 + 1
    }

    /// Whether silence alone is death: there are two nodes and nobody else to ask.
    #[must_use]
    pub fn presumes(&self) -> bool {
        self.voters.len() == 2 && !self.has_arbiter
    }

    /// Changes of votes that lead to another roster: of two that are one change apart any two
    /// majorities have a node in common, of others not.
    #[must_use]
    pub fn steps(&self, other: &Self) -> usize {
        let nodes = self.voters.symmetric_difference(&other.voters).count();
        nodes + usize::from(self.has_arbiter != other.has_arbiter)
    }

    /// A number that differs where the roster does.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let voters = self.voters.iter().map(|node| u64::from(node.0));
        let observers = self.observers.iter().map(|node| u64::from(node.0) << 8);
        let all = voters.chain(observers).chain([u64::from(self.has_arbiter) << 16]);
        all.fold(1, |sum, part| mix(sum ^ part))
    }
}

/// Which nodes shall have a group. All nodes are told the same; where they are not for a while,
/// that of the node that serves counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The group.
    pub group: GroupId,
    /// Who may serve, the first first: the standbys are the next that are there.
    pub serve: Vec<NodeId>,
    /// Who follows and never serves.
    pub observe: Vec<NodeId>,
    /// Standbys that are kept.
    pub copies: u8,
}

impl Placement {
    /// Whether the group has a number that there is.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        self.group.0 < GROUPS_MAX
    }

    /// The place of a node among those that may serve.
    #[must_use]
    pub fn rank(&self, node: NodeId) -> Option<usize> {
        self.serve.iter().position(|it| *it == node)
    }
}

/// All nodes in an order that is another one for each group, and in which a node that joins or
/// leaves moves no other: each node is first for about as many groups (rendezvous hashing).
#[must_use]
pub fn preference(group: GroupId, nodes: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
    let weight = |node: &NodeId| mix(mix(u64::from(group.0) + 1) ^ mix(u64::from(node.0) << 32));
    nodes.sort_by_key(|node| (weight(node), *node));
    nodes
}

/// The vote of an arbiter, as this node has it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ArbiterVote {
    /// Until when.
    pub lease: Time,
    /// When it was heard last.
    pub heard: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_is_first_for_its_share_and_one_that_joins_moves_only_what_becomes_its_own() {
        let nodes = |n: u8| (1..=n).map(NodeId);
        let mut firsts = [0; 5];
        for group in (0..GROUPS_MAX).map(GroupId) {
            let (four, five) = (preference(group, nodes(4)), preference(group, nodes(5)));
            firsts[usize::from(four[0].0)] += 1;
            let kept: Vec<_> = five.into_iter().filter(|node| node.0 != 5).collect();
            assert_eq!(kept, four);
        }
        assert!(firsts[1..].iter().all(|count| (200..320).contains(count)), "{firsts:?}");
    }

    #[test]
    fn a_majority_is_more_than_half_and_two_nodes_alone_presume() {
        let roster = |nodes: u8, has_arbiter| Roster {
            voters: (1..=nodes).map(NodeId).collect(),
            has_arbiter,
            ..Roster::default()
        };
        let majorities = [1, 2, 3, 4, 5].map(|n| roster(n, false).majority());
        assert_eq!(majorities, [1, 2, 2, 3, 3]);
        assert_eq!(roster(2, true).majority(), 2);
        assert!(roster(2, false).presumes() && !roster(2, true).presumes());
        assert_ne!(roster(3, false).digest(), roster(2, true).digest());
        let steps = |other| roster(3, false).steps(&other);
        let all = [(3, false), (4, false), (2, false), (2, true), (5, false)];
        assert_eq!(all.map(|(nodes, it)| steps(roster(nodes, it))), [0, 1, 1, 2, 2]);
    }
}
