//! What is shown of the other nodes.

use crate::cluster::Cluster;
use crate::node::NodeId;
use machine::{Duration, Time};

/// Another node, or this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStatus {
    /// Which.
    pub node: NodeId,
    /// It is this one.
    pub is_own: bool,
    /// Whether it is heard.
    pub is_heard: bool,
    /// How long ago it was heard last; none: never.
    pub silent: Option<Duration>,
    /// There and back, as last measured.
    pub round: Duration,
    /// It is the coordinator that is followed here.
    pub leads: bool,
    /// It is to serve nothing.
    pub drains: bool,
    /// Its share of the load.
    pub weight: u8,
    /// It is configured otherwise in what has to be alike.
    pub differs: bool,
    /// It speaks no version that is understood here.
    pub is_foreign: bool,
    /// The version that it speaks.
    pub version: u32,
    /// Partitions that it serves.
    pub serving: u32,
    /// Dialogues that stand there.
    pub load: u64,
    /// Entries and octets for it that are not acknowledged.
    pub waiting: (usize, usize),
    /// Which nodes it hears.
    pub hears: Vec<NodeId>,
}

impl Cluster {
    /// All nodes.
    #[must_use]
    pub fn nodes(&self, now: Time) -> Vec<NodeStatus> {
        let own = self.settings().own;
        let nodes = self.settings().nodes.iter().copied();
        nodes.filter_map(|it| if it == own { Some(self.own(now)) } else { self.other(now, it) }).collect()
    }

    fn heard(&self, now: Time) -> impl Iterator<Item = NodeId> {
        let nodes = self.settings().nodes.iter().copied();
        nodes.filter(move |it| self.election.hears(now, *it))
    }

    fn own(&self, now: Time) -> NodeStatus {
        let own = self.settings().own;
        NodeStatus {
            node: own,
            is_own: true,
            is_heard: true,
            silent: Some(Duration::ZERO),
            round: Duration::ZERO,
            leads: self.election.leads(),
            drains: self.drains(),
            weight: self.settings().weight,
            differs: false,
            is_foreign: false,
            version: crate::message::VERSION,
            serving: self.serving().len(),
            load: self.load(),
            waiting: (0, 0),
            hears: self.heard(now).collect(),
        }
    }

    fn other(&self, now: Time, node: NodeId) -> Option<NodeStatus> {
        let peer = self.peers.get(&node)?;
        let last = &peer.last;
        let is_heard = self.election.hears(now, node);
        let all = self.settings().nodes.iter().copied();
        Some(NodeStatus {
            node,
            is_own: false,
            is_heard,
            silent: self.election.heard_at(node).map(|at| now.since(at)),
            round: peer.round,
            leads: self.election.leader() == Some(node) && is_heard,
            drains: last.drains,
            weight: last.weight,
            differs: is_heard && last.digest != self.settings().digest,
            is_foreign: peer.is_foreign,
            version: last.version,
            serving: last.serving.len(),
            load: last.load,
            waiting: (peer.outward.waiting(), peer.outward.octets()),
            hears: all.filter(|it| last.hears.has(*it)).collect(),
        })
    }
}
