//! This node as one of a cluster: which dialogues it serves, what crosses to the others, and what
//! waits until a standby has it.
//!
//! ```text
//!   SCCP ─→ TCAP message ─┬─ a partition served here → Transactions ─→ changes ─→ standby
//!                         └─ of another node ─ Work ─→ there                  │
//!   SCCP, instances ←── a batch ←──────── is_open ←── acknowledged ←──────────┘
//! ```
//! - A dialogue that begins is served where it comes, if an instance of its application is
//!   connected here and a partition is; else it crosses to a node of which both is so.
//! - Of a dialogue that goes on the transaction identifier says the partition.
//! - What a message leads to is a *batch*. One that tells the standby nothing leaves at once; any
//!   other waits, with what came before it, until the standby has what it was told.

mod batch;
mod moves;
mod peers;
mod show;

pub(crate) use batch::Batches;
pub(crate) use show::{ClusterRow, DrainRow, LinkRow, PartitionRow, partition_table};
pub use show::{ClusterFact, PartitionFact, PartitionTable};

use crate::config::Sgc;
use crate::config::cluster::{CLUSTER_PORT, Replicate};
use crate::shards::Work;
use bytes::Bytes;
use cluster::{Cluster, Door, In, NodeId, Out, Partition, PartitionSet};
use m3ua::codec::PointCode;
use machine::{Duration, Machine, Time};
use runtime::{Effects, Flow, Seed, Transport};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

/// What waits for a partition that is about to be served here, at most.
const EARLY_MAX: usize = 8_192;

/// How often work crosses, at most: once, and once more where its partition has just moved.
const HOPS_MAX: u8 = 2;
/// How often the others are told of ways and ranks, at most.
const TOLD_EACH: Duration = Duration::from_millis(20);
/// What transaction identifiers are made for, with the key of the cluster.
const IDENTIFIERS: &[u8] = b"sgc cluster identifiers";
/// What a life is drawn for.
const LIFE: u64 = 0x4c49_4645;

/// A node of a cluster.
pub(crate) struct Clustered {
    pub(crate) cluster: Cluster,
    door: Door,
    addresses: BTreeMap<NodeId, SocketAddr>,
    /// What the machine wants that is not done yet, and what is to be sent.
    outs: VecDeque<Out>,
    datagrams: Vec<(NodeId, Vec<u8>)>,
    /// The time as it was last told.
    clock: Time,
    /// When the others are told of ways and ranks again, if there is news.
    next_told: Time,
    pub(crate) batches: Batches,
    /// What may leave of partitions that were handed over.
    pub(super) leaving: Vec<batch::Batch>,
    /// Work for partitions that are about to be served here.
    early: VecDeque<(Partition, Work)>,
    pub(crate) peers: peers::Peers,
    /// Partitions whose dialogues stand here.
    pub(super) open: PartitionSet,
    /// Dialogues are told from their beginning.
    tells_all: bool,
    pub(crate) counts: Counts,
    pub(crate) told: show::Told,
}

/// What was counted here.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Messages that crossed to the node that serves them.
    pub(crate) crossed: u64,
    /// Messages for which no node was there, or no way to it.
    pub(crate) unserved: u64,
    /// Dialogues that another node has served before, and those that could not be taken.
    pub(crate) taken: u64,
    pub(crate) not_taken: u64,
    /// Batches that were dropped with a partition that another node serves now.
    pub(crate) dropped: u64,
}

impl Clustered {
    /// The node that the configuration says; none: it is alone.
    pub(crate) fn new(seed: &Seed, config: &Sgc) -> Option<Self> {
        let section = config.cluster.as_ref()?;
        let [.., a, b, c, d, e, f, g, h] = seed.random;
        let life = machine::identity::mix(u64::from_be_bytes([a, b, c, d, e, f, g, h]) ^ LIFE) | 1;
        let settings = section.settings(config.cluster_digest(), life)?;
        let (own, keys) = (settings.own, section.keys.clone());
        Some(Self {
            cluster: Cluster::new(seed.now, settings),
            door: Door::new(keys, config.name.clone(), own, life),
            addresses: section.addresses(),
            outs: VecDeque::new(),
            datagrams: Vec::new(),
            clock: seed.now,
            next_told: seed.now,
            batches: Batches::default(),
            leaving: Vec::new(),
            early: VecDeque::new(),
            peers: peers::Peers::default(),
            open: PartitionSet::default(),
            tells_all: section.replicate == Replicate::All,
            counts: Counts::default(),
            told: show::Told::default(),
        })
    }

    /// Other nodes, shares and timers.
    pub(crate) fn configure(&mut self, config: &Sgc) {
        let Some(section) = &config.cluster else { return };
        let life = self.cluster.settings().life;
        let Some(settings) = section.settings(config.cluster_digest(), life) else { return };
        self.cluster.set_settings(settings);
        self.addresses = section.addresses();
        self.tells_all = section.replicate == Replicate::All;
    }

    /// What transaction identifiers are made with: the same at all nodes, and nobody else's.
    pub(crate) fn secret(config: &Sgc) -> Option<u64> {
        let section = config.cluster.as_ref()?;
        let name = config.name.as_bytes();
        let proof = section.keys.as_ref().and_then(|it| it.prove(IDENTIFIERS, name).into_iter().next());
        let octets = proof.unwrap_or_else(|| name.to_vec());
        Some(machine::identity::mix(machine::identity::hash_combine(LIFE, &octets)))
    }

    /// Whether dialogues are told from their beginning.
    pub(crate) const fn tells_all(&self) -> bool {
        self.tells_all
    }

    /// A datagram came; what goes back at once is sent.
    pub(crate) fn datagram(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        let from = self.addresses.iter().find(|(_, at)| **at == flow.remote).map(|it| *it.0);
        let own = self.own();
        let Some(from) = from.filter(|it| *it != own) else {
            return self.door.stranger();
        };
        let mut answer = Vec::new();
        let message = self.door.open(now, from, bytes, &mut answer);
        if !answer.is_empty() {
            out.send(*flow, |to| to.extend_from_slice(&answer));
        }
        if let Ok(message) = message
            && !message.is_empty()
        {
            let mut outs = Vec::new();
            self.cluster.step(now, In::Datagram(from, Bytes::from(message)), &mut outs);
            self.sort(now, outs);
        }
    }

    /// What the machine wants, datagrams apart.
    fn sort(&mut self, now: Time, outs: Vec<Out>) {
        self.clock = now;
        for it in outs {
            match it {
                Out::Datagram(to, octets) => self.datagrams.push((to, octets)),
                other => self.outs.push_back(other),
            }
        }
    }

    /// What it wants next.
    pub(super) fn next_out(&mut self) -> Option<Out> {
        self.outs.pop_front()
    }

    /// Datagrams that were refused.
    pub(crate) const fn refused(&self) -> u64 {
        self.door.refused()
    }

    pub(crate) const fn own(&self) -> NodeId {
        self.cluster.settings().own
    }

    /// Its own clock.
    pub(crate) fn tick(&mut self, now: Time) {
        let mut outs = Vec::new();
        if Machine::deadline(&self.cluster).is_some_and(|at| at <= now) {
            self.cluster.tick(now, &mut outs);
        }
        self.sort(now, outs);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        Machine::deadline(&self.cluster)
    }

    /// What the links have to send leaves.
    pub(crate) fn flush(&mut self, now: Time, out: &mut Effects) {
        let mut outs = Vec::new();
        self.cluster.flush(now, &mut outs);
        self.sort(now, outs);
        let own = self.own();
        let Some(local) = self.addresses.get(&own).copied() else { return };
        for (to, octets) in core::mem::take(&mut self.datagrams) {
            let Some(remote) = self.addresses.get(&to).copied() else { continue };
            let sealed = self.door.seal(to, octets);
            let flow = Flow::to(CLUSTER_PORT, Transport::Udp, local, remote);
            out.send(flow, |to| to.extend_from_slice(&sealed));
        }
    }

    /// Whether a message of that partition is this node's; else it has been sent on, or waits, or
    /// is lost.
    pub(crate) fn is_here(
        &mut self,
        now: Time,
        partition: u8,
        hops: u8,
        work: impl FnOnce() -> Work,
    ) -> bool {
        let Some(partition) = Partition::new(partition) else { return true };
        if self.open.has(partition) && self.cluster.serves(now, partition) {
            return true;
        }
        match self.cluster.owner(partition) {
            Some(owner) if owner != self.own() => drop(self.cross(now, owner, hops, &work())),
            Some(_) if self.early.len() < EARLY_MAX => self.early.push_back((partition, work())),
            _ => self.counts.unserved += 1,
        }
        false
    }

    /// Work crosses to another node; whether there was a way.
    pub(crate) fn cross(&mut self, now: Time, to: NodeId, hops: u8, work: &Work) -> bool {
        let mut octets = Vec::with_capacity(256);
        octets.push(hops + 1);
        work.write(&mut octets);
        let is_sent = hops < HOPS_MAX && self.cluster.forward(now, to, &octets);
        match is_sent {
            true => self.counts.crossed += 1,
            false => self.counts.unserved += 1,
        }
        is_sent
    }

    /// Work goes to every other node that is heard.
    pub(crate) fn tell_all(&mut self, now: Time, work: &Work) {
        for node in self.others() {
            self.cross(now, node, 0, work);
        }
    }

    /// Whether the others are to be told of ways and ranks, if there is news.
    pub(super) fn is_time_to_tell(&mut self, now: Time) -> bool {
        let is = now >= self.next_told;
        if is {
            self.next_told = now + TOLD_EACH;
        }
        is
    }

    /// Other nodes that are heard.
    pub(crate) fn others(&self) -> Vec<NodeId> {
        let nodes = self.cluster.nodes(self.clock).into_iter().filter(|it| it.is_heard && !it.is_own);
        nodes.map(|it| it.node).collect()
    }

    /// Work that waited for a partition that is served here now.
    pub(crate) fn take_early(&mut self, now: Time) -> Vec<Work> {
        if self.early.is_empty() {
            return Vec::new();
        }
        let mut ready = Vec::new();
        for (partition, work) in core::mem::take(&mut self.early) {
            match self.cluster.owner(partition) {
                _ if self.open.has(partition) && self.cluster.serves(now, partition) => {
                    ready.push(work);
                }
                Some(owner) if owner != self.own() => drop(self.cross(now, owner, 0, &work)),
                _ => self.early.push_back((partition, work)),
            }
        }
        ready
    }

    /// Whether it serves nothing any more, or nobody is there who could.
    pub(crate) fn is_empty(&self) -> bool {
        self.cluster.serving().is_empty() || self.others().is_empty()
    }

    /// Whether a dialogue may begin here.
    pub(crate) fn may_begin(&self, now: Time) -> bool {
        let serves = self.cluster.may_serve(now) && !self.open.is_empty();
        serves && !self.batches.is_full()
    }

    /// Another node that takes the dialogues of a subsystem and serves partitions.
    pub(crate) fn taker(&self, now: Time, subsystem: u8) -> Option<NodeId> {
        let nodes = self.cluster.nodes(now).into_iter();
        let takes = nodes.filter(|it| it.is_heard && !it.is_own && !it.drains && it.serving > 0);
        let ranked = takes.filter_map(|it| {
            let rank = self.peers.rank(it.node, subsystem)?;
            Some(((rank, it.load, it.node), it.node))
        });
        ranked.min_by_key(|it| it.0).map(|it| it.1)
    }

    /// Point codes that other nodes have a way to.
    pub(crate) fn way(&self, dpc: PointCode) -> Option<NodeId> {
        self.others().into_iter().find(|it| self.peers.reaches(*it, dpc))
    }

    /// What this node has a way to, where that is news for the others.
    pub(crate) fn ways(&mut self, now: Time, ways: BTreeSet<PointCode>) {
        let others = self.lives();
        for node in self.peers.lack_ways(&others, &ways) {
            let work = Work::Ways(ways.iter().copied().collect());
            self.cross(now, node, 0, &work);
        }
    }

    /// The groups that take dialogues here, where that is news for the others.
    pub(crate) fn ranks(&mut self, now: Time, ranks: &BTreeMap<u8, u8>) {
        let others = self.lives();
        for (node, subsystem, rank) in self.peers.lack_ranks(&others, ranks) {
            self.cross(now, node, 0, &Work::Rank(subsystem, rank));
        }
    }

    pub(super) fn lives(&self) -> Vec<(NodeId, u64)> {
        let others = self.others().into_iter();
        others.filter_map(|it| Some((it, self.cluster.life_of(it)?))).collect()
    }
}
