//! This node as one of a cluster: which dialogues it serves, what crosses to the others, and what
//! waits until a standby has it.
//!
//! ```text
//!   SCCP ─→ TCAP message ─┬─ a partition served here → Transactions ─→ deltas ─→ standby
//!                         └─ of another node ─ post ─→ there                 │
//!   SCCP, instances ←── a batch ←─────── all marks reached ←── Followed ←────┘
//! ```
//! A partition is a group of [`replica::Groups`], told by the leading bits of the transaction
//! identifier; who serves it, who follows and who may speak is known there alone.
//!
//! - A dialogue that begins is served where it comes, if an instance of its application is
//!   connected here and a partition is; else it crosses to a node of which both is so.
//! - Of a dialogue that goes on the transaction identifier says the partition.
//! - What a message leads to is a *batch*. One that tells the standby nothing leaves at once; any
//!   other waits, with what came before it of its partitions, until the standby has it.

mod arrivals;
mod batch;
mod copies;
mod grouped;
mod moves;
mod nodes;
mod partition;
mod peers;
mod show;

pub(crate) use batch::Batches;
pub(crate) use nodes::Joined;
pub use nodes::Nodes;
pub(crate) use partition::{PartitionSet, placements};
pub(crate) use peers::Stands;
pub use show::{ClusterFact, PartitionFact, PartitionTable};
pub(crate) use show::{ClusterRow, DrainRow, LinkRow, PartitionRow, partition_table};

use crate::config::Sgc;
use crate::config::cluster::Replicate;
use crate::shards::Work;
use copies::Copies;
use m3ua::codec::PointCode;
use machine::{Duration, Time};
use partition::{ALL, group};
use replica::groups::Members;
use runtime::{Effects, GroupId, NodeId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Messages that wait for partitions that are about to be served here, at most.
const EARLY_MAX: usize = 8_192;
/// How long they wait: whoever serves it is known by then, or nobody does.
const EARLY_FOR: Duration = Duration::from_secs(2);
/// How often work crosses, at most: once, and once more where its partition has just moved.
const HOPS_MAX: u8 = 2;
/// How often the others are told of ways and ranks, at most.
const TOLD_EACH: Duration = Duration::from_millis(20);
/// How often they are told how this node stands, and partitions are looked at that were better
/// elsewhere.
const LOOK_EACH: Duration = Duration::from_secs(1);
/// When it is looked again whether this node may speak.
const GATE_LOOK: Duration = Duration::from_millis(2);
/// What transaction identifiers are made for, with the key of the cluster.
const IDENTIFIERS: &[u8] = b"sgc cluster identifiers";
/// What is hashed into a number of this cluster.
const CLUSTER: u64 = 0x5347_4343;

/// A node of a cluster.
pub(crate) struct Clustered {
    own: NodeId,
    /// The cluster; none yet: nothing is served.
    nodes: Option<Arc<dyn Nodes>>,
    /// Who serves each partition, and since which change.
    serving: Vec<(Option<NodeId>, u64)>,
    /// Nodes that are heard, and since when.
    heard: BTreeMap<NodeId, Time>,
    /// Partitions whose dialogues stand here; those that a standby follows that has everything;
    /// those whose standby is behind.
    pub(super) open: PartitionSet,
    followed: PartitionSet,
    behind: PartitionSet,
    pub(crate) copies: Copies,
    pub(crate) batches: Batches,
    /// What may leave of partitions that were handed over.
    pub(super) leaving: Vec<batch::Batch>,
    /// Work for partitions that are about to be served, and until when it waits.
    early: VecDeque<(Time, u8, Work)>,
    /// What is told in this step.
    telling: Telling,
    pub(crate) peers: peers::Peers,
    pub(crate) counts: Counts,
    pub(crate) told: show::Announced,
    settings: Settings,
    timers: Timers,
    is_leaving: bool,
}

/// The time, and when something is due.
struct Timers {
    now: Time,
    /// When the others are told of ways and ranks again, and whether that is waited for.
    announce: Time,
    announces_later: bool,
    /// When all is looked at.
    look: Time,
}

/// What the section says.
struct Settings {
    /// Dialogues are told from their beginning.
    tells_all: bool,
    rebalance: Duration,
    nodes: Vec<(NodeId, String, u8)>,
    digest: u64,
    members: Members,
}

impl Settings {
    fn of(config: &Sgc) -> Option<Self> {
        let section = config.cluster.as_ref()?;
        let node =
            |it: &crate::config::cluster::Node| (NodeId(it.number), it.address.clone(), it.weight);
        Some(Self {
            tells_all: section.replicate == Replicate::All,
            rebalance: Duration::from_secs(section.rebalance_s.into()),
            nodes: section.nodes.iter().map(node).collect(),
            digest: config.cluster_digest(),
            members: section.members(),
        })
    }
}

/// What is told in one step.
#[derive(Default)]
struct Telling {
    deltas: Vec<(u8, Vec<u8>)>,
    marks: BTreeMap<u8, u64>,
    slices: Vec<(u8, u64, Option<u64>)>,
    posts: Vec<(NodeId, Vec<u8>)>,
    /// The last mark of all.
    mark: u64,
}

/// What was counted here.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Messages that crossed to the node that serves them, and those that came so.
    pub(crate) crossed: u64,
    pub(crate) came: u64,
    /// Messages for which no node was there, or no way to it.
    pub(crate) unserved: u64,
    /// Deltas that were told, and that came.
    pub(crate) told: u64,
    pub(crate) applied: u64,
    /// Partitions that began to be served here, and those of them of which the copy may lack some.
    pub(crate) activated: u64,
    pub(crate) not_current: u64,
    /// Dialogues that another node has served before, and those that could not be taken.
    pub(crate) taken: u64,
    pub(crate) not_taken: u64,
    /// Batches that were dropped with a partition that another node serves now.
    pub(crate) dropped: u64,
    /// What other nodes said that was not understood.
    pub(crate) malformed: u64,
}

impl Clustered {
    /// The node that the configuration says; none: it is alone.
    pub(crate) fn new(now: Time, config: &Sgc) -> Option<Self> {
        let section = config.cluster.as_ref()?;
        Some(Self {
            own: NodeId(section.node),
            nodes: None,
            serving: vec![(None, 0); usize::from(tcap::PARTITIONS)],
            heard: BTreeMap::new(),
            open: PartitionSet::default(),
            followed: PartitionSet::default(),
            behind: PartitionSet::default(),
            copies: Copies::default(),
            batches: Batches::default(),
            leaving: Vec::new(),
            early: VecDeque::new(),
            telling: Telling::default(),
            peers: peers::Peers::default(),
            counts: Counts::default(),
            told: show::Announced::default(),
            settings: Settings::of(config)?,
            timers: Timers { now, announce: now, announces_later: false, look: now + LOOK_EACH },
            is_leaving: false,
        })
    }

    /// The cluster that it is of.
    pub(crate) fn join(&mut self, nodes: Arc<dyn Nodes>, config: &Sgc) {
        nodes.place(placements(config));
        self.nodes = Some(nodes);
    }

    /// Other nodes and shares.
    pub(crate) fn configure(&mut self, config: &Sgc) {
        let Some(settings) = Settings::of(config) else { return };
        let before = core::mem::replace(&mut self.settings, settings);
        let Settings { nodes, members, .. } = &self.settings;
        let Some(cluster) = &self.nodes else { return };
        if before.members != *members {
            cluster.configure(members);
        }
        if before.nodes != *nodes {
            cluster.place(placements(config));
        }
    }

    /// What transaction identifiers are made with: the same at all nodes, and nobody else's.
    pub(crate) fn secret(config: &Sgc) -> Option<u64> {
        let section = config.cluster.as_ref()?;
        let name = config.name.as_bytes();
        let proofs = section.keys.as_ref().map(|it| it.prove(IDENTIFIERS, name));
        let proof = proofs.and_then(|it| it.into_iter().next());
        let octets = proof.unwrap_or_else(|| name.to_vec());
        Some(machine::identity::mix(machine::identity::hash_combine(CLUSTER, &octets)))
    }

    /// Whether dialogues are told from their beginning.
    pub(crate) const fn tells_all(&self) -> bool {
        self.settings.tells_all
    }

    pub(crate) const fn own(&self) -> NodeId {
        self.own
    }

    /// Its own clock.
    pub(crate) const fn tick(&mut self, now: Time) {
        self.timers.now = now;
    }

    /// When it wants to be ticked next.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let gate = (!self.batches.is_empty()).then(|| self.timers.now + GATE_LOOK);
        let told = self.timers.announces_later.then_some(self.timers.announce);
        gate.into_iter().chain(told).chain([self.timers.look]).min()
    }

    /// What this step tells the other nodes.
    pub(crate) fn flush(&mut self, out: &mut Effects) {
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

    /// Whether this node may speak for a partition now.
    fn may_speak(&self, partition: u8) -> bool {
        self.nodes.as_ref().is_some_and(|it| it.may_speak(group(partition)))
    }

    /// Whether a partition is served here.
    pub(super) fn serves(&self, partition: u8) -> bool {
        self.open.has(partition) && self.may_speak(partition)
    }

    /// Another node that serves a partition, and is heard.
    fn elsewhere(&self, partition: u8) -> Option<NodeId> {
        let owner = self.serving.get(usize::from(partition)).and_then(|it| it.0);
        owner.filter(|it| self.heard.contains_key(it))
    }

    /// Whether a message of that partition is this node's; else it has been sent on, or waits, or
    /// is lost.
    pub(crate) fn is_here(&mut self, partition: u8, hops: u8, work: impl FnOnce() -> Work) -> bool {
        if partition >= tcap::PARTITIONS || self.serves(partition) {
            return true;
        }
        match self.elsewhere(partition) {
            Some(owner) => drop(self.cross(owner, hops, &work())),
            None if self.early.len() < EARLY_MAX => {
                self.early.push_back((self.timers.now + EARLY_FOR, partition, work()));
            }
            None => self.counts.unserved += 1,
        }
        false
    }

    /// Work crosses to another node; whether there was a way.
    pub(crate) fn cross(&mut self, to: NodeId, hops: u8, work: &Work) -> bool {
        let is_sent = hops < HOPS_MAX && self.heard.contains_key(&to);
        if is_sent {
            self.post(to, hops + 1, work);
            self.counts.crossed += 1;
        } else {
            self.counts.unserved += 1;
        }
        is_sent
    }

    fn post(&mut self, to: NodeId, hops: u8, work: &Work) {
        let mut octets = Vec::with_capacity(256);
        octets.push(hops);
        work.write(&mut octets);
        self.telling.posts.push((to, octets));
    }

    /// Work goes to every other node that is heard.
    pub(crate) fn tell_all(&mut self, work: &Work) {
        for node in self.others() {
            self.post(node, 0, work);
        }
    }

    /// Whether the others are to be told of ways and ranks, if there is news.
    pub(super) fn is_time_to_tell(&mut self, now: Time) -> bool {
        self.timers.announces_later = now < self.timers.announce;
        if !self.timers.announces_later {
            self.timers.announce = now + TOLD_EACH;
        }
        !self.timers.announces_later
    }

    /// Other nodes that are heard.
    pub(crate) fn others(&self) -> Vec<NodeId> {
        self.heard.keys().copied().collect()
    }

    /// Work that waited for a partition that is served here now, or elsewhere.
    pub(crate) fn take_early(&mut self) -> Vec<Work> {
        let mut ready = Vec::new();
        for (until, partition, work) in core::mem::take(&mut self.early) {
            match self.elsewhere(partition) {
                _ if self.serves(partition) => ready.push(work),
                Some(owner) => drop(self.cross(owner, 0, &work)),
                None if self.timers.now < until => self.early.push_back((until, partition, work)),
                None => self.counts.unserved += 1,
            }
        }
        ready
    }

    /// Gives the partitions of this node to the others, or takes part again.
    pub(crate) fn leave(&mut self, is_leaving: bool) {
        self.is_leaving = is_leaving;
        if let Some(nodes) = &self.nodes {
            nodes.leave(is_leaving);
        }
    }

    /// Whether it serves nothing any more, or nobody is there who could.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() || self.heard.is_empty()
    }

    /// Whether a dialogue may begin here.
    pub(crate) fn may_begin(&self) -> bool {
        let is_slow = self.behind.and(self.open).len() * 2 > self.open.len();
        let serves = || self.open.iter().any(|it| self.may_speak(it));
        !self.is_leaving && !is_slow && !self.batches.is_full() && serves()
    }

    /// Another node that takes the dialogues of a subsystem and serves partitions.
    pub(crate) fn taker(&self, subsystem: u8) -> Option<NodeId> {
        let serves = |node: &NodeId| self.serving.iter().any(|it| it.0 == Some(*node));
        let others = self.heard.keys().filter(|it| serves(it) && !self.peers.leaves(**it));
        let ranked = others.filter_map(|node| {
            let rank = self.peers.rank(*node, subsystem)?;
            Some(((rank, self.peers.load(*node), *node), *node))
        });
        ranked.min_by_key(|it| it.0).map(|it| it.1)
    }

    /// A node that has a way to a point code.
    pub(crate) fn way(&self, dpc: PointCode) -> Option<NodeId> {
        self.heard.keys().copied().find(|it| self.peers.reaches(*it, dpc))
    }

    /// What this node has a way to, where that is news for the others.
    pub(crate) fn ways(&mut self, ways: &BTreeSet<PointCode>) {
        let others = self.others();
        for node in self.peers.lack_ways(&others, ways) {
            self.post(node, 0, &Work::Ways(ways.iter().copied().collect()));
        }
    }

    /// The groups that take dialogues here, where that is news for the others.
    pub(crate) fn ranks(&mut self, ranks: &BTreeMap<u8, u8>) {
        let others = self.others();
        for (node, subsystem, rank) in self.peers.lack_ranks(&others, ranks) {
            self.post(node, 0, &Work::Rank(subsystem, rank));
        }
    }

    /// Once a second: how this node stands, and partitions that were better elsewhere go there.
    pub(super) fn look(&mut self, now: Time, dialogues: usize) {
        self.timers.now = now;
        if now < self.timers.look {
            return;
        }
        self.timers.look = now + LOOK_EACH;
        let hears = self.heard.keys().fold(0_u16, |bits, node| bits | bit(*node));
        let dialogues = machine::narrow::told(dialogues as u64, u32::MAX);
        let digest = self.settings.digest;
        let is_leaving = self.is_leaving;
        self.tell_all(&Work::Stands(peers::Stands { digest, dialogues, hears, is_leaving }));
        self.balance(now);
    }

    /// A partition whose first node is back, and has been for a while, goes there.
    fn balance(&mut self, now: Time) {
        let Some(nodes) = self.nodes.clone().filter(|_| !self.is_leaving) else { return };
        let weights: Vec<(NodeId, u8)> =
            self.settings.nodes.iter().map(|(node, _, weight)| (*node, *weight)).collect();
        let wishes = partition::wishes(&weights);
        let is_steady = |node: &NodeId| {
            let since = self.heard.get(node);
            since.is_some_and(|it| now.since(*it) >= self.settings.rebalance)
                && !self.peers.leaves(*node)
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

/// Partitions that are asked to move in one look.
const MOVES_AT_ONCE: usize = 8;

/// A node as one of sixteen bits.
pub(super) const fn bit(node: NodeId) -> u16 {
    1_u16.wrapping_shl(node.0.saturating_sub(1) as u32)
}
