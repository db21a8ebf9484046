//! What other nodes have told of themselves, and what they were told.

use cluster::NodeId;
use m3ua::codec::PointCode;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of another node.
#[derive(Debug, Default)]
struct Peer {
    /// Its life, to which everything was told that stands here.
    life: u64,
    told_ranks: BTreeMap<u8, u8>,
    told_ways: Option<BTreeSet<PointCode>>,
    /// What it said.
    ranks: BTreeMap<u8, u8>,
    ways: BTreeSet<PointCode>,
}

/// The other nodes.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    all: BTreeMap<NodeId, Peer>,
}

impl Peers {
    /// A node says which group takes the dialogues of a subsystem there.
    pub(crate) fn ranked(&mut self, node: NodeId, subsystem: u8, rank: Option<u8>) {
        let ranks = &mut self.all.entry(node).or_default().ranks;
        match rank {
            Some(rank) => drop(ranks.insert(subsystem, rank)),
            None => drop(ranks.remove(&subsystem)),
        }
    }

    /// A node says where it has a way to.
    pub(crate) fn leads(&mut self, node: NodeId, ways: &[PointCode]) {
        self.all.entry(node).or_default().ways = ways.iter().copied().collect();
    }

    pub(crate) fn rank(&self, node: NodeId, subsystem: u8) -> Option<u8> {
        self.all.get(&node)?.ranks.get(&subsystem).copied()
    }

    pub(crate) fn reaches(&self, node: NodeId, dpc: PointCode) -> bool {
        self.all.get(&node).is_some_and(|it| it.ways.contains(&dpc))
    }

    /// Every subsystem that one of those nodes takes dialogues of.
    pub(crate) fn served(&self, nodes: &[NodeId]) -> BTreeSet<u8> {
        let known = nodes.iter().filter_map(|it| self.all.get(it));
        known.flat_map(|it| it.ranks.keys().copied()).collect()
    }

    /// A life that is new was told nothing.
    fn of(&mut self, node: NodeId, life: u64) -> &mut Peer {
        let peer = self.all.entry(node).or_default();
        if peer.life != life {
            *peer = Peer { life, ..Peer::default() };
        }
        peer
    }

    /// Who has to be told these, which are noted as told.
    pub(crate) fn lack_ways(
        &mut self,
        nodes: &[(NodeId, u64)],
        ways: &BTreeSet<PointCode>,
    ) -> Vec<NodeId> {
        let mut lack = Vec::new();
        for (node, life) in nodes {
            let peer = self.of(*node, *life);
            if peer.told_ways.as_ref() != Some(ways) {
                peer.told_ways = Some(ways.clone());
                lack.push(*node);
            }
        }
        lack
    }

    /// The same of ranks.
    pub(crate) fn lack_ranks(
        &mut self,
        nodes: &[(NodeId, u64)],
        ranks: &BTreeMap<u8, u8>,
    ) -> Vec<(NodeId, u8, Option<u8>)> {
        let mut lack = Vec::new();
        for (node, life) in nodes {
            let peer = self.of(*node, *life);
            let before = core::mem::replace(&mut peer.told_ranks, ranks.clone());
            let gone = before.keys().filter(|it| !ranks.contains_key(*it));
            lack.extend(gone.map(|it| (*node, *it, None)));
            let news = ranks.iter().filter(|(it, rank)| before.get(*it) != Some(*rank));
            lack.extend(news.map(|(it, rank)| (*node, *it, Some(*rank))));
        }
        lack
    }
}
