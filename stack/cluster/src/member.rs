//! What a node knows of its cluster, and when it looks at what.

use crate::batch::{Batch, Batches};
use crate::config::{Cluster, Replicate};
use crate::copies::Copies;
use crate::early::Early;
use crate::nodes::Nodes;
use crate::partition::{ALL, PartitionSet, group, placements, wishes};
use crate::peers::{Peers, Stands};
use crate::post::Post;
use crate::segments::Segments;
use machine::{Duration, Time};
use replica::groups::Members;
use runtime::{Effects, GroupId, NodeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often the others are told of ways and ranks, at most.
const TOLD_EACH: Duration = Duration::from_millis(20);
/// How often they are told how this node stands, and partitions are looked at that were better
/// elsewhere.
const LOOK_EACH: Duration = Duration::from_secs(1);
/// When it is looked again whether this node may speak.
pub(crate) const GATE_LOOK: Duration = Duration::from_millis(2);
/// Partitions that are asked to move in one look.
const MOVES_AT_ONCE: usize = 8;

/// A node of a cluster.
pub struct Clustered {
    pub(crate) own: NodeId,
    /// The cluster; none yet: nothing is served.
    pub(crate) nodes: Option<Arc<dyn Nodes>>,
    /// Who serves each partition, and since which change.
    pub(crate) serving: Vec<(Option<NodeId>, u64)>,
    /// Nodes that are heard, and since when.
    pub(crate) heard: BTreeMap<NodeId, Time>,
    /// Partitions whose dialogues stand here; those that a standby follows that has everything;
    /// those whose standby is behind.
    pub(crate) open: PartitionSet,
    pub(crate) followed: PartitionSet,
    pub(crate) behind: PartitionSet,
    /// Dialogues that are kept for other nodes.
    pub copies: Copies,
    /// Segments that wait at them.
    pub(crate) segments: Segments,
    /// What this node has led to and not said yet.
    pub batches: Batches,
    /// What may leave of partitions that were handed over.
    pub leaving: Vec<Batch>,
    pub(crate) early: Early<Post>,
    /// What is told in this step.
    pub(crate) telling: Telling,
    /// What the others have said of themselves.
    pub peers: Peers,
    /// What was counted.
    pub counts: Counts,
    /// What was said last.
    pub told: Announced,
    pub(crate) settings: Settings,
    pub(crate) timers: Timers,
    pub(crate) is_leaving: bool,
}

/// The time, and when something is due.
pub(crate) struct Timers {
    pub(crate) now: Time,
    /// When the others are told of ways and ranks again, and whether that is waited for.
    announce: Time,
    announces_later: bool,
    /// Before that no change is told at once.
    quiet: Time,
    /// When all is looked at.
    look: Time,
}

/// What was said last.
#[derive(Debug, Default)]
pub struct Announced {
    /// Which subsystems are in service.
    pub states: BTreeMap<u8, bool>,
    /// A way of this node may have come or gone.
    pub own_ways_changed: bool,
    /// Another node has said where it has a way to.
    pub has_other_ways: bool,
    /// The nodes that were heard.
    pub others: Vec<NodeId>,
}

/// What the section says.
pub struct Settings {
    /// Dialogues are told from their beginning.
    tells_all: bool,
    rebalance: Duration,
    pub(crate) nodes: Vec<(NodeId, String, u8)>,
    pub(crate) digest: u64,
    members: Members,
}

impl Settings {
    /// What a section says; `digest` is a number for what has to be alike at all nodes.
    #[must_use]
    pub fn of(section: &Cluster, digest: u64) -> Self {
        let node = |it: &crate::config::Node| (NodeId(it.number), it.address.clone(), it.weight);
        Self {
            tells_all: section.replicate == Replicate::All,
            rebalance: Duration::from_secs(section.rebalance_s.into()),
            nodes: section.nodes.iter().map(node).collect(),
            digest,
            members: section.members(),
        }
    }

    pub(crate) fn shares(&self) -> Vec<(NodeId, u8)> {
        self.nodes.iter().map(|(node, _, weight)| (*node, *weight)).collect()
    }
}

/// What is told in one step.
#[derive(Default)]
pub(crate) struct Telling {
    pub(crate) deltas: Vec<(u8, Vec<u8>)>,
    pub(crate) marks: BTreeMap<u8, u64>,
    pub(crate) slices: Vec<(u8, u64, Option<u64>)>,
    pub(crate) posts: Vec<(NodeId, Vec<u8>)>,
    /// The last mark of all.
    pub(crate) mark: u64,
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Messages that crossed to the node that serves them.
    pub crossed: u64,
    /// Those that came so.
    pub came: u64,
    /// Messages for which no node was there, or no way to it.
    pub unserved: u64,
    /// Messages that were on their way to a node that is heard no more.
    pub lost: u64,
    /// Deltas that were told.
    pub told: u64,
    /// Those that came.
    pub applied: u64,
    /// Partitions that began to be served here.
    pub activated: u64,
    /// Those of them of which the copy may lack some.
    pub not_current: u64,
    /// Dialogues that another node has served before.
    pub taken: u64,
    /// Those that could not be taken.
    pub not_taken: u64,
    /// Batches that were dropped with a partition that another node serves now.
    pub dropped: u64,
    /// What other nodes said that was not understood.
    pub malformed: u64,
}

impl Clustered {
    /// The node with that number.
    #[must_use]
    pub fn new(now: Time, own: NodeId, settings: Settings) -> Self {
        Self {
            own,
            nodes: None,
            serving: vec![(None, 0); usize::from(tcap::PARTITIONS)],
            heard: BTreeMap::new(),
            open: PartitionSet::default(),
            followed: PartitionSet::default(),
            behind: PartitionSet::default(),
            copies: Copies::default(),
            segments: Segments::default(),
            batches: Batches::default(),
            leaving: Vec::new(),
            early: Early::new(),
            telling: Telling::default(),
            peers: Peers::default(),
            counts: Counts::default(),
            told: Announced::default(),
            settings,
            timers: Timers {
                now,
                announce: now,
                announces_later: false,
                quiet: now,
                look: now + LOOK_EACH,
            },
            is_leaving: false,
        }
    }

    /// The cluster that it is of.
    pub fn join(&mut self, nodes: Arc<dyn Nodes>) {
        nodes.place(placements(&self.settings.shares()));
        self.nodes = Some(nodes);
    }

    /// Other nodes and shares.
    pub fn configure(&mut self, settings: Settings) {
        let before = core::mem::replace(&mut self.settings, settings);
        let Settings { nodes, members, .. } = &self.settings;
        let Some(cluster) = &self.nodes else { return };
        if before.members != *members {
            cluster.configure(members);
        }
        if before.nodes != *nodes {
            cluster.place(placements(&self.settings.shares()));
        }
    }

    /// Whether dialogues are told from their beginning.
    #[must_use]
    pub const fn tells_all(&self) -> bool {
        self.settings.tells_all
    }

    /// The number of this node.
    #[must_use]
    pub const fn own(&self) -> NodeId {
        self.own
    }

    /// Partitions whose dialogues stand here.
    #[must_use]
    pub const fn open(&self) -> PartitionSet {
        self.open
    }

    /// Those of them that no standby follows that has everything.
    #[must_use]
    pub fn unfollowed(&self) -> usize {
        self.open.iter().filter(|it| !self.followed.has(*it)).count()
    }

    /// Nodes that are configured.
    #[must_use]
    pub fn configured(&self) -> usize {
        self.settings.nodes.len()
    }

    /// What the link to the other nodes counts.
    #[must_use]
    pub fn link_cells(&self) -> Option<event::MetricCells> {
        self.nodes.as_ref()?.cells()
    }

    /// Its own clock.
    pub const fn tick(&mut self, now: Time) {
        self.timers.now = now;
    }

    /// When it wants to be ticked next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let gate = (!self.batches.is_empty()).then(|| self.timers.now + GATE_LOOK);
        let told = self.timers.announces_later.then_some(self.timers.announce);
        let waits = gate.into_iter().chain(told).chain(self.early.deadline());
        waits.chain([self.timers.look]).min()
    }

    /// What this step tells the other nodes.
    pub fn flush(&mut self, out: &mut Effects) {
        let telling = &mut self.telling;
        for (partition, delta) in telling.deltas.drain(..) {
            out.of(group(partition));
            out.delta(|to| to.extend_from_slice(&delta));
        }
        for (partition, mark) in core::mem::take(&mut telling.marks) {
            out.of(group(partition));
            out.mark(mark);
        }
        for (partition, number, next) in telling.slices.drain(..) {
            out.sliced(group(partition), number, next);
        }
        for (to, octets) in telling.posts.drain(..) {
            out.post(to, 0, |out| out.extend_from_slice(&octets));
        }
        out.of(GroupId::default());
    }

    /// Whether the others are to be told of ways and ranks, if there is news. A way that has come
    /// is told before what comes by it crosses: else the answer would find none.
    pub fn is_time_to_tell(&mut self, now: Time) -> bool {
        let timers = &mut self.timers;
        let is_due = now >= timers.announce;
        let is_at_once = self.told.own_ways_changed && now >= timers.quiet;
        timers.announces_later = !is_due && !is_at_once;
        if is_due {
            timers.announce = now + TOLD_EACH;
        }
        if is_at_once {
            timers.quiet = now + TOLD_EACH;
        }
        self.told.own_ways_changed &= timers.announces_later;
        !timers.announces_later
    }

    /// Other nodes that are heard.
    #[must_use]
    pub fn others(&self) -> Vec<NodeId> {
        self.heard.keys().copied().collect()
    }

    /// Gives the partitions of this node to the others, or takes part again.
    pub fn leave(&mut self, is_leaving: bool) {
        self.is_leaving = is_leaving;
        if let Some(nodes) = &self.nodes {
            nodes.leave(is_leaving);
        }
    }

    /// Whether it serves nothing any more, or nobody is there who could and does not leave as well.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() || self.heard.keys().all(|node| self.peers.leaves(*node))
    }

    /// Once a second: how this node stands, and partitions that were better elsewhere go there.
    pub fn look(&mut self, now: Time, dialogues: usize) {
        self.timers.now = now;
        if now < self.timers.look {
            return;
        }
        self.timers.look = now + LOOK_EACH;
        let hears = self.heard.keys().fold(0_u16, |bits, node| bits | bit(*node));
        let dialogues = machine::narrow::at_most(dialogues as u64, u32::MAX);
        let digest = self.settings.digest;
        let is_leaving = self.is_leaving;
        self.tell_all(&Post::Stands(Stands { digest, dialogues, hears, is_leaving }));
        self.balance(now);
    }

    /// A partition whose first node is back, and has been for a while, goes there: if that is
    /// configured as this one is. Else it might give it back, and each of them again.
    fn balance(&mut self, now: Time) {
        let Some(nodes) = self.nodes.clone().filter(|_| !self.is_leaving) else { return };
        let wishes = wishes(&self.settings.shares());
        let agrees = |it: &Stands| it.digest == self.settings.digest && !it.is_leaving;
        let is_steady = |node: &NodeId| {
            let since = self.heard.get(node);
            since.is_some_and(|it| now.since(*it) >= self.settings.rebalance)
                && self.peers.standing(*node).as_ref().is_some_and(agrees)
        };
        let better = ALL.filter(|it| self.open.has(*it)).filter_map(|it| {
            let first = wishes.get(usize::from(it))?.first()?;
            (*first != self.own && is_steady(first)).then_some((it, *first))
        });
        for (partition, node) in better.take(MOVES_AT_ONCE) {
            nodes.move_to(group(partition), node);
        }
    }
}

/// A node as one of sixteen bits.
pub(crate) const fn bit(node: NodeId) -> u16 {
    1_u16.wrapping_shl(node.0.saturating_sub(1) as u32)
}
