//! What other nodes have told of themselves, and what they were told.

use m3ua::codec::PointCode;
use runtime::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Point codes that a node may say it has a way to.
const WAYS_MAX: usize = 1 << 18;

/// Point codes that a node has a way to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ways {
    /// All of them.
    pub all: BTreeSet<PointCode>,
    /// Those where MSUs wait for an ASP that has gone.
    pub waiting: BTreeSet<PointCode>,
}

/// By which node an MSU leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The node.
    pub node: NodeId,
    /// Whether it waits there.
    pub waits: bool,
}

/// How a node stands, as it says once a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stands {
    /// A number for what has to be alike at all nodes.
    pub digest: u64,
    /// Dialogues that it serves.
    pub dialogues: u32,
    /// The nodes that it hears, as bits.
    pub hears: u16,
    /// Whether it gives its partitions away.
    pub is_leaving: bool,
}

/// What is known of another node.
#[derive(Debug, Default)]
struct Peer {
    /// What it was told.
    told_ranks: BTreeMap<u8, u8>,
    told_ways: Option<Ways>,
    /// What it said.
    ranks: BTreeMap<u8, u8>,
    ways: Ways,
    stands: Option<Stands>,
    /// Dialogues that it was given since it has said how it stands.
    given: u32,
}

/// The other nodes.
#[derive(Debug, Default)]
pub struct Peers {
    all: BTreeMap<NodeId, Peer>,
    /// By which node messages of a point code came last.
    last: BTreeMap<PointCode, NodeId>,
}

impl Peers {
    /// A node is not heard any more, or has begun anew: what it said does not hold.
    pub fn forget(&mut self, node: NodeId) {
        self.all.remove(&node);
        self.last.retain(|_, it| *it != node);
    }

    /// Ways that a node was told came back: it is told them again.
    pub fn ways_returned(&mut self, node: NodeId) {
        if let Some(peer) = self.all.get_mut(&node) {
            peer.told_ways = None;
        }
    }

    /// The same of a rank: what stands there now is no rank, so that another one is news.
    pub fn rank_returned(&mut self, node: NodeId, subsystem: u8) {
        if let Some(peer) = self.all.get_mut(&node) {
            peer.told_ranks.insert(subsystem, u8::MAX);
        }
    }

    /// A node says which group takes the dialogues of a subsystem there.
    pub fn ranked(&mut self, node: NodeId, subsystem: u8, rank: Option<u8>) {
        let ranks = &mut self.all.entry(node).or_default().ranks;
        match rank {
            Some(rank) => drop(ranks.insert(subsystem, rank)),
            None => drop(ranks.remove(&subsystem)),
        }
    }

    /// A node says where it has a way to.
    pub fn leads(&mut self, node: NodeId, ways: &[PointCode]) {
        let all = ways.iter().copied().collect();
        self.all.entry(node).or_default().ways = Ways { all, ..Ways::default() };
    }

    /// It has a way to these, too.
    pub fn leads_also(&mut self, node: NodeId, ways: &[PointCode]) {
        let known = &mut self.all.entry(node).or_default().ways.all;
        let room = WAYS_MAX.saturating_sub(known.len());
        known.extend(ways.iter().take(room));
    }

    /// Of those ways these wait.
    pub fn waits(&mut self, node: NodeId, ways: &[PointCode]) {
        let known = &mut self.all.entry(node).or_default().ways;
        known.waiting.extend(ways.iter().filter(|it| known.all.contains(it)));
    }

    /// A message of that point code came by a node: answers had better leave there.
    pub fn came_by(&mut self, node: NodeId, from: PointCode) {
        let has_room = self.last.len() < WAYS_MAX || self.last.contains_key(&from);
        if has_room && self.reaches(node, from) {
            self.last.insert(from, node);
        }
    }

    /// By which of those nodes an MSU leaves: one where it does not wait, then the one by which
    /// messages of its destination came last.
    #[must_use]
    pub fn way(&self, nodes: impl Iterator<Item = NodeId>, dpc: PointCode) -> Option<Way> {
        let last = self.last.get(&dpc);
        let ways = nodes.filter_map(|node| {
            let ways = &self.all.get(&node)?.ways;
            ways.all.contains(&dpc).then(|| Way { node, waits: ways.waiting.contains(&dpc) })
        });
        ways.min_by_key(|it| (it.waits, last != Some(&it.node), it.node))
    }

    /// A node says how it stands.
    pub fn stand(&mut self, node: NodeId, stands: Stands) {
        let peer = self.all.entry(node).or_default();
        (peer.stands, peer.given) = (Some(stands), 0);
    }

    /// A node is given a dialogue: what it says of itself is known once a second only.
    pub fn give(&mut self, node: NodeId) {
        let given = &mut self.all.entry(node).or_default().given;
        *given = given.saturating_add(1);
    }

    /// How a node stands, if it has said so.
    #[must_use]
    pub fn standing(&self, node: NodeId) -> Option<Stands> {
        self.all.get(&node)?.stands
    }

    /// Whether it gives its partitions away.
    #[must_use]
    pub fn leaves(&self, node: NodeId) -> bool {
        self.standing(node).is_some_and(|it| it.is_leaving)
    }

    /// Dialogues that it serves, with those that it was given since.
    #[must_use]
    pub fn load(&self, node: NodeId) -> u32 {
        let Some(peer) = self.all.get(&node) else { return 0 };
        peer.stands.map_or(0, |it| it.dialogues).saturating_add(peer.given)
    }

    /// The group that takes the dialogues of a subsystem there.
    #[must_use]
    pub fn rank(&self, node: NodeId, subsystem: u8) -> Option<u8> {
        self.all.get(&node)?.ranks.get(&subsystem).copied()
    }

    /// Whether it has a way to a point code.
    #[must_use]
    pub fn reaches(&self, node: NodeId, dpc: PointCode) -> bool {
        self.all.get(&node).is_some_and(|it| it.ways.all.contains(&dpc))
    }

    /// Every subsystem that one of those nodes takes dialogues of.
    #[must_use]
    pub fn served(&self, nodes: &[NodeId]) -> BTreeSet<u8> {
        let known = nodes.iter().filter_map(|it| self.all.get(it));
        known.flat_map(|it| it.ranks.keys().copied()).collect()
    }

    /// Who has to be told these, which are noted as told.
    #[must_use]
    pub fn lack_ways(&mut self, nodes: &[NodeId], ways: &Ways) -> Vec<NodeId> {
        let mut lack = Vec::new();
        for node in nodes {
            let peer = self.all.entry(*node).or_default();
            if peer.told_ways.as_ref() != Some(ways) {
                peer.told_ways = Some(ways.clone());
                lack.push(*node);
            }
        }
        lack
    }

    /// The same of ranks.
    #[must_use]
    pub fn lack_ranks(
        &mut self,
        nodes: &[NodeId],
        ranks: &BTreeMap<u8, u8>,
    ) -> Vec<(NodeId, u8, Option<u8>)> {
        let mut lack = Vec::new();
        for node in nodes {
            let peer = self.all.entry(*node).or_default();
            let before = core::mem::replace(&mut peer.told_ranks, ranks.clone());
            let gone = before.keys().filter(|it| !ranks.contains_key(*it));
            lack.extend(gone.map(|it| (*node, *it, None)));
            let news = ranks.iter().filter(|(it, rank)| before.get(*it) != Some(*rank));
            lack.extend(news.map(|(it, rank)| (*node, *it, Some(*rank))));
        }
        lack
    }
}
