//! A world: nodes with a function each, links between them that delay, lose and are cut, clients
//! whose dialogues begin, go on and end, and an oracle that knows all that was ever spoken.

use bytes::Bytes;
use cluster::{Cluster, Hold, In, NodeId, Out, Partition, Settings};
use machine::identity::mix;
use machine::{Duration, Machine, Time};
use std::collections::{BTreeMap, BTreeSet};

pub const HEARTBEAT: Duration = Duration::from_millis(10);
pub const DETECT: Duration = Duration::from_millis(50);
/// What one step of the world lasts.
const STEP: Duration = Duration::from_micros(500);

/// Numbers by a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x5eed))
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0) % most
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What a node's function has of a partition.
#[derive(Default)]
struct Share {
    epoch: u32,
    next: u32,
    records: BTreeMap<u32, u64>,
}

/// What waits until the standby has it.
struct Waiting {
    holds: Vec<Hold>,
    partition: Partition,
    slot: u32,
    /// What is spoken: another word of the dialogue, or its end.
    word: Option<u64>,
}

struct Node {
    cluster: Cluster,
    shares: BTreeMap<Partition, Share>,
    waiting: Vec<Waiting>,
    life: u64,
}

struct Flight {
    at: Time,
    from: NodeId,
    to: NodeId,
    life: u64,
    octets: Vec<u8>,
}

pub struct World {
    pub now: Time,
    pub random: Random,
    all: Vec<NodeId>,
    weights: BTreeMap<NodeId, u8>,
    nodes: BTreeMap<NodeId, Node>,
    lives: u64,
    flights: Vec<Flight>,
    pub cut: BTreeSet<(NodeId, NodeId)>,
    pub delay: Duration,
    pub loss: u64,
    /// What was said of each dialogue last, to the other side.
    spoken: BTreeMap<(Partition, u32), u64>,
    words: u64,
    /// Two nodes may rule, each alone: they cannot tell.
    pub may_split: bool,
    /// A second death may have come before the refill.
    pub may_lose: bool,
    pub said: u64,
    pub begun: u64,
    pub log: bool,
}

pub fn node(number: u8) -> NodeId {
    NodeId::new(number).unwrap()
}

impl World {
    pub fn new(seed: u64, count: u8) -> Self {
        let all: Vec<NodeId> = (1..=count).map(node).collect();
        let mut it = Self {
            now: Time::from_millis(1_000),
            random: Random::new(seed),
            weights: all.iter().map(|it| (*it, 1)).collect(),
            all: all.clone(),
            nodes: BTreeMap::new(),
            lives: 0,
            flights: Vec::new(),
            cut: BTreeSet::new(),
            delay: Duration::from_micros(200),
            loss: 0,
            spoken: BTreeMap::new(),
            words: 0,
            may_split: false,
            may_lose: false,
            said: 0,
            begun: 0,
            log: false,
        };
        all.into_iter().for_each(|it_node| it.start(it_node));
        it
    }

    fn settings(&self, own: NodeId, life: u64) -> Settings {
        let (nodes, weight) = (self.all.clone(), self.weights[&own]);
        Settings { own, nodes, weight, heartbeat: HEARTBEAT, detect: DETECT, digest: 1, life }
    }

    pub fn start(&mut self, own: NodeId) {
        self.lives += 1;
        let life = self.lives;
        let cluster = Cluster::new(self.now, self.settings(own, life));
        let (shares, waiting) = (BTreeMap::new(), Vec::new());
        self.nodes.insert(own, Node { cluster, shares, waiting, life });
    }

    pub fn kill(&mut self, own: NodeId) {
        self.nodes.remove(&own);
    }

    pub fn weigh(&mut self, own: NodeId, weight: u8) {
        self.weights.insert(own, weight);
        self.configure();
    }

    /// Another node is configured, at all.
    pub fn add(&mut self, own: NodeId) {
        self.all.push(own);
        self.weights.insert(own, 1);
        self.configure();
    }

    pub fn remove(&mut self, own: NodeId) {
        self.all.retain(|it| *it != own);
        self.kill(own);
        self.configure();
    }

    fn configure(&mut self) {
        for own in self.living() {
            let settings = self.settings(own, self.nodes[&own].life);
            self.nodes.get_mut(&own).unwrap().cluster.set_settings(settings);
        }
    }

    pub fn drain(&mut self, own: NodeId, drains: bool) {
        self.nodes.get_mut(&own).unwrap().cluster.drain(drains);
    }

    pub fn living(&self) -> Vec<NodeId> {
        self.nodes.keys().copied().collect()
    }

    pub fn cluster(&self, own: NodeId) -> &Cluster {
        &self.nodes[&own].cluster
    }

    pub fn cut(&mut self, one: NodeId, other: NodeId) {
        self.cut.extend([(one, other), (other, one)]);
    }

    pub fn isolate(&mut self, own: NodeId) {
        let others: Vec<NodeId> = self.all.iter().copied().filter(|it| *it != own).collect();
        others.into_iter().for_each(|it| self.cut(own, it));
    }

    pub fn heal(&mut self) {
        self.cut.clear();
    }

    /// Lets time pass, with so many things that clients do in each step.
    pub fn run(&mut self, time: Duration, busy: u64) {
        let until = self.now + time;
        while self.now < until {
            self.now += STEP;
            self.deliver();
            for own in self.living() {
                self.turn(own);
            }
            for _ in 0..busy {
                self.client();
            }
            self.speak();
            self.look();
        }
    }

    fn deliver(&mut self) {
        let now = self.now;
        let (due, rest): (Vec<Flight>, Vec<Flight>) =
            core::mem::take(&mut self.flights).into_iter().partition(|it| it.at <= now);
        self.flights = rest;
        for it in due {
            let is_cut = self.cut.contains(&(it.from, it.to));
            let Some(node) = self.nodes.get_mut(&it.to).filter(|_| !is_cut) else { continue };
            let _ = it.life;
            let mut out = Vec::new();
            node.cluster.step(now, In::Datagram(it.from, Bytes::from(it.octets)), &mut out);
            node.cluster.flush(now, &mut out);
            self.carry_out(it.to, out);
        }
    }

    fn turn(&mut self, own: NodeId) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&own) else { return };
        let mut out = Vec::new();
        if node.cluster.deadline().is_some_and(|at| at <= now) {
            node.cluster.tick(now, &mut out);
        }
        while let Some((partition, from)) = node.cluster.wants_fill() {
            let Some(share) = node.shares.get(&partition) else { break };
            let mut told = share.records.range(from..).take(16);
            let mut last = None;
            for (slot, word) in told.by_ref() {
                node.cluster.fill(now, partition, *slot, &word.to_be_bytes());
                last = Some(*slot);
            }
            node.cluster.filled_to(now, partition, last.map(|it| it + 1));
        }
        node.cluster.flush(now, &mut out);
        self.carry_out(own, out);
    }

    fn carry_out(&mut self, own: NodeId, outs: Vec<Out>) {
        for out in outs {
            match out {
                Out::Datagram(to, octets) => self.send(own, to, octets),
                Out::Work(_, work) => self.worked(own, &work, 1),
                Out::Returned(_, _) => {}
                Out::Activate { partition, epoch, records, is_whole } => {
                    self.activated(own, partition, epoch, &records, is_whole);
                }
                Out::Deactivate { partition, keeps } => {
                    let now = self.now;
                    let node = self.nodes.get_mut(&own).unwrap();
                    let (of, rest) = core::mem::take(&mut node.waiting)
                        .into_iter()
                        .partition(|it| it.partition == partition);
                    node.waiting = rest;
                    let of: Vec<Waiting> = of;
                    // Who hands over says what it has told; who has lost it says nothing more.
                    for it in of.into_iter().filter(|_| keeps) {
                        let node = &self.nodes[&own];
                        assert!(it.holds.iter().all(|it| node.cluster.is_open(it)));
                        self.said(own, &it);
                        let node = self.nodes.get_mut(&own).unwrap();
                        if it.word.is_none() {
                            node.cluster.record(now, partition, it.slot, None, &mut Vec::new());
                        }
                    }
                    let node = self.nodes.get_mut(&own).unwrap();
                    let share = node.shares.remove(&partition).unwrap();
                    if keeps {
                        for (slot, word) in share.records {
                            node.cluster.keep(partition, slot, &word.to_be_bytes());
                        }
                        node.cluster.left(now, partition);
                    }
                }
            }
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, octets: Vec<u8>) {
        if self.cut.contains(&(from, to)) || self.random.chance(self.loss) {
            return;
        }
        let jitter = Duration::from_micros(self.random.below(50));
        let (at, life) = (self.now + self.delay + jitter, self.nodes[&from].life);
        self.flights.push(Flight { at, from, to, life, octets });
    }

    /// A node serves a partition: it has all that was ever said of what stands there.
    fn activated(
        &mut self,
        own: NodeId,
        partition: Partition,
        epoch: u32,
        records: &[(u32, Bytes)],
        is_whole: bool,
    ) {
        let number = |it: &Bytes| u64::from_be_bytes(it[..].try_into().unwrap());
        let records: BTreeMap<u32, u64> =
            records.iter().map(|(slot, it)| (*slot, number(it))).collect();
        if self.log {
            println!("{:?} {own:?} takes {partition:?} {epoch} whole {is_whole}", self.now);
        }
        let of = (partition, 0)..=(partition, u32::MAX);
        let lost: Vec<(u32, u64)> = self
            .spoken
            .range(of)
            .filter(|((_, slot), word)| records.get(slot).is_none_or(|has| has < word))
            .map(|((_, slot), word)| (*slot, *word))
            .collect();
        assert!(
            self.may_lose || self.may_split || lost.is_empty(),
            "{:?}: {own:?} lacks of {partition:?}, epoch {epoch}, whole {is_whole}: {lost:?}",
            self.now
        );
        for (slot, _) in lost {
            self.spoken.remove(&(partition, slot));
        }
        let share = Share { epoch, next: 0, records };
        self.nodes.get_mut(&own).unwrap().shares.insert(partition, share);
    }

    /// Something happens in a dialogue, and arrives at any node.
    fn client(&mut self) {
        let living = self.living();
        if living.is_empty() {
            return;
        }
        let at = living[self.random.below(living.len() as u64) as usize];
        let standing = self.spoken.len() as u64;
        let (kind, partition, slot) = match self.random.below(10) {
            0..=3 if standing < 400 => {
                let number = self.random.below(u64::from(cluster::PARTITIONS)) as u8;
                (0, number, 0)
            }
            it if standing > 0 => {
                let nth = self.random.below(standing) as usize;
                let (partition, slot) = *self.spoken.keys().nth(nth).unwrap();
                (if it < 8 { 1 } else { 2 }, partition.number(), slot)
            }
            _ => return,
        };
        let mut work = vec![kind, partition];
        work.extend(slot.to_be_bytes());
        self.worked(at, &work, 0);
    }

    fn worked(&mut self, own: NodeId, work: &[u8], hops: u8) {
        let now = self.now;
        let partition = Partition::new(work[1]).unwrap();
        let node = self.nodes.get_mut(&own).unwrap();
        let is_here = node.cluster.serves(now, partition) && node.shares.contains_key(&partition);
        if !is_here {
            let to = node.cluster.owner(partition).filter(|it| *it != own && hops == 0);
            if let Some(to) = to {
                node.cluster.forward(now, to, work);
            }
            return;
        }
        self.words += 1;
        let word = self.words;
        let share = node.shares.get_mut(&partition).unwrap();
        let slot = u32::from_be_bytes(work[2..6].try_into().unwrap());
        let (slot, said) = match work[0] {
            0 => {
                let slot = (share.epoch % 4) << 16 | share.next;
                share.next += 1;
                if share.records.contains_key(&slot) {
                    return;
                }
                (slot, Some(word))
            }
            _ if !share.records.contains_key(&slot) => return,
            1 => (slot, Some(word)),
            _ => (slot, None),
        };
        match said {
            Some(word) => drop(share.records.insert(slot, word)),
            None => drop(share.records.remove(&slot)),
        }
        let mut holds = Vec::new();
        // That it is over is told when that was said.
        if let Some(word) = said {
            let octets = word.to_be_bytes();
            node.cluster.record(now, partition, slot, Some(&octets), &mut holds);
        }
        if work[0] == 0 {
            let is_new = !self.spoken.contains_key(&(partition, slot));
            assert!(self.may_split || is_new, "{own:?} gives {partition:?} {slot} a second time");
            self.begun += 1;
        }
        node.waiting.push(Waiting { holds, partition, slot, word: said });
    }

    /// What may leave does, in its order.
    fn speak(&mut self) {
        let now = self.now;
        for own in self.living() {
            loop {
                let node = self.nodes.get_mut(&own).unwrap();
                let cluster = &node.cluster;
                let is_open = |it: &Waiting| {
                    cluster.serves(now, it.partition)
                        && it.holds.iter().all(|it| cluster.is_open(it))
                };
                if !node.waiting.first().is_some_and(is_open) {
                    break;
                }
                let it = node.waiting.remove(0);
                self.said(own, &it);
                if it.word.is_none() {
                    let node = self.nodes.get_mut(&own).unwrap();
                    node.cluster.record(now, it.partition, it.slot, None, &mut Vec::new());
                }
            }
        }
    }

    /// The other side hears a word.
    fn said(&mut self, own: NodeId, it: &Waiting) {
        self.said += 1;
        match it.word {
            Some(word) => {
                let before = self.spoken.insert((it.partition, it.slot), word);
                let is_later = before.is_none_or(|it| it < word);
                assert!(is_later || self.may_split, "{own:?} speaks out of turn");
            }
            None => drop(self.spoken.remove(&(it.partition, it.slot))),
        }
    }

    /// No partition has two owners.
    fn look(&self) {
        if self.may_split {
            return;
        }
        for partition in Partition::all() {
            let serves = |(_, it): &(&NodeId, &Node)| it.cluster.serves(self.now, partition);
            let owners: Vec<NodeId> = self.nodes.iter().filter(serves).map(|it| *it.0).collect();
            assert!(owners.len() <= 1, "{:?}: {partition:?} is served by {owners:?}", self.now);
        }
    }

    /// Why it is not at rest.
    pub fn unrest(&self) -> Option<String> {
        let able: Vec<NodeId> = self.living();
        let versions: BTreeSet<_> =
            able.iter().map(|it| self.cluster(*it).table().version).collect();
        if versions.len() != 1 {
            return Some(format!("tables {versions:?}"));
        }
        let first = self.cluster(*able.first()?);
        let drains = |it: NodeId| self.cluster(it).drains() || self.weights[&it] == 0;
        let serving: Vec<NodeId> = able.iter().copied().filter(|it| !drains(*it)).collect();
        for (partition, row) in first.table().rows() {
            let is_there = |it: Option<NodeId>| it.is_some_and(|it| serving.contains(&it));
            let is_served =
                row.active.is_some_and(|it| self.cluster(it).serves(self.now, partition));
            let stands = is_there(row.standby) || serving.len() < 2;
            let is_still = row.joining.is_none() && row.from.is_none();
            if !is_there(row.active) || !is_served || !stands || !is_still {
                return Some(format!("{partition:?} {row:?}"));
            }
        }
        let count = |it: &NodeId| self.cluster(*it).serving().len();
        let counts: Vec<u32> = serving.iter().map(count).collect();
        let is_even = counts.iter().max()? - counts.iter().min()? <= 1;
        (!is_even).then(|| format!("{counts:?}"))
    }

    /// Lets it come to rest.
    pub fn settle(&mut self, busy: u64) {
        for _ in 0..400 {
            if self.unrest().is_none() {
                return;
            }
            self.run(Duration::from_millis(20), busy);
        }
        panic!("{:?}: no rest: {:?}", self.now, self.unrest());
    }

    /// Everything that was spoken is where it is served.
    pub fn check(&self) {
        if self.may_split {
            return;
        }
        for ((partition, slot), word) in &self.spoken {
            let served = self.nodes.values().find(|it| it.cluster.serves(self.now, *partition));
            let has = served.and_then(|it| it.shares.get(partition)?.records.get(slot));
            let waits = |it: &Waiting| it.partition == *partition && it.slot == *slot;
            let ends = self.nodes.values().flat_map(|it| &it.waiting).any(waits);
            assert!(ends || has >= Some(word), "{partition:?} {slot} is lost");
        }
    }

    pub fn standing(&self) -> usize {
        self.spoken.len()
    }
}
