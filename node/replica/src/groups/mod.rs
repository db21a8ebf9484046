//! The edge of a cluster: one socket, a thread, and the gate before what shards say.
//!
//! ```text
//! shard ── publish ──→ Cluster (under a lock, some microseconds) ──→ sendto: the kernel has it
//! thread ── recv ──→ Cluster ──→ orders to shards · leases ──→ Authority
//! ```
//! As with a pair ([`crate::Node`]) a shard sends its changes itself, before its messages.

pub mod config;
mod metrics;
mod reports;

pub use config::{Member, Members};
pub use metrics::ClusterMetric;
pub use reports::{GroupRow, MemberRow};

use crate::backlog::{Backlog, Stuck};
use crate::cluster::{Cluster, In, Out, PROTOCOL, Params, Placement, Whose};
use crate::election::Name;
use crate::guard::{End, Refusals, Seal, Verifier, guard};
use crate::locking::{lock, patient};
use crate::node::{ANSWERS_PER_TURN, Votes, address, lives};
use crate::track::{Track, TrackedRow};
use crate::tracker::{self, recover};
use authentication::{Keys, Refused};
use driver::Clock;
use event::Metrics;
use machine::{Duration, Time};
use runtime::{
    Authority, Effects, GROUPS_MAX, GroupId, GroupOrder, NodeId, Order, Orders, Replication,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

/// Octets of the longest datagram.
const DATAGRAM_MAX: usize = 65_536;
/// Room of the socket, for several nodes' windows.
const RECEIVE_BYTES: i32 = 8 << 20;
/// Datagrams that one turn takes before it looks at the clock.
const DATAGRAMS_PER_TURN: usize = 4_096;
/// Longest wait of the thread.
const WAIT_MAX: Duration = Duration::from_millis(2);
/// How often a node makes itself known to its arbiter.
const MADE_KNOWN: Duration = Duration::from_secs(1);
/// How often it is looked whether there are shards yet.
const ATTACH_LOOK: std::time::Duration = std::time::Duration::from_millis(1);

struct Inner {
    cluster: Cluster,
    orders: Option<Orders>,
    /// What is to be done, in the order in which it came about, on whatever thread.
    late: Vec<Out>,
    backlog: Backlog,
}

impl Inner {
    /// Takes an input; what follows from it waits for the thread.
    fn step(&mut self, now: Time, input: In<'_>) {
        self.cluster.step(now, input, &mut self.late);
    }

    /// Tells who serves the groups and which nodes are heard, for shards that know nothing.
    fn acquaint(&mut self, now: Time, tell: impl Fn(GroupOrder) -> Out) {
        let groups = self.cluster.groups().map(|it| {
            let (group, node, epoch) = (it.group, it.serves, it.epoch);
            GroupOrder::Serves { group, node, epoch }
        });
        let nodes = self.cluster.nodes(now);
        let nodes = nodes.map(|it| GroupOrder::Node { node: it.node, is_alive: it.is_alive });
        self.late.extend(groups.chain(nodes).map(tell));
    }
}

/// The way to the arbiter, and what comes from there.
struct Voting {
    /// As which of two nodes it knows this one.
    name: Name,
    votes: Votes,
    verifier: Mutex<Verifier>,
}

impl Voting {
    fn new(cluster: u64, keys: Option<&Keys>, name: Name, at: SocketAddr) -> io::Result<Self> {
        let [voter, ..] = lives(&driver::random()?);
        let (seal, verifier) = guard(keys, cluster, End::Node(name), End::Arbiter, voter);
        Ok(Self {
            name,
            votes: Votes::new(at, seal, cluster, name)?,
            verifier: Mutex::new(verifier),
        })
    }
}

/// Where the other nodes are, and how what is said to each is sealed.
type Ways = BTreeMap<NodeId, (SocketAddr, Seal)>;

struct Shared {
    /// As it was started.
    config: Members,
    keys: Option<Keys>,
    clock: Clock,
    socket: UdpSocket,
    ways: RwLock<Ways>,
    verifiers: Mutex<BTreeMap<NodeId, Verifier>>,
    arbiter: RwLock<Option<Arc<Voting>>>,
    inner: Mutex<Inner>,
    /// The heartbeats that the thread sent last.
    pulse: Mutex<Vec<(NodeId, Vec<u8>)>>,
    /// Until when shards may speak for each group, nanoseconds.
    leases: Vec<AtomicU64>,
    is_ending: AtomicBool,
    /// Why groups are given away: it was told so, something that is tracked fails.
    leaves: [AtomicBool; 2],
    metrics: Mutex<Metrics<ClusterMetric>>,
    refusals: Mutex<Refusals>,
    track: Mutex<Track>,
}

/// A node of a cluster that runs. Dropping it ends its threads.
pub struct Groups {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Groups {
    /// Starts a node that serves nothing yet. It is silent until the function is there
    /// ([`Replication::attach`]). `keys` are those of the `key_file`.
    ///
    /// # Errors
    /// The socket cannot be bound; what is no address; no randomness; no thread.
    pub fn start(config: &Members, keys: Option<&Keys>) -> io::Result<Self> {
        let clock = Clock::start();
        let now = Time::from_nanos(clock.now_ns());
        let [life, mark, ..] = lives(&driver::random()?);
        let detect = config.detect();
        let params = Params {
            cluster: config.cluster.into(),
            node: NodeId(config.node),
            life: life.max(1),
            heartbeat: config.heartbeat(),
            detect,
            lease: detect * 4 / 5,
            version: PROTOCOL,
            log_bytes_max: (config.log_mib_max as usize) << 20,
        };
        let socket = UdpSocket::bind(address(&config.listen)?)?;
        if let Err(error) = driver::make_room(&socket, RECEIVE_BYTES) {
            tracing::warn!(%error, "the link to the other nodes has little room");
        }
        let cluster = Cluster::new(params, config.roster(), now);
        let name = cluster.arbiter_name();
        let (orders, late, backlog) = (None, Vec::new(), Backlog::default());
        let shared = Arc::new(Shared {
            config: config.clone(),
            keys: keys.cloned(),
            clock,
            socket,
            ways: RwLock::default(),
            verifiers: Mutex::default(),
            arbiter: RwLock::default(),
            inner: Mutex::new(Inner { cluster, orders, late, backlog }),
            pulse: Mutex::default(),
            leases: (0..GROUPS_MAX).map(|_| AtomicU64::new(0)).collect(),
            is_ending: AtomicBool::new(false),
            leaves: [AtomicBool::new(false), AtomicBool::new(false)],
            metrics: Mutex::new(Metrics::new()),
            refusals: Mutex::default(),
            track: Mutex::new(Track::new(now, &config.track, recover(config.track_recover_s))),
        });
        let places = shared.places(config)?;
        shared.reach(places);
        shared.ask_there(config, name)?;
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("groups".into()).spawn(move || {
            if let Err(error) = driver::link::urgent() {
                tracing::warn!(%error, "the heartbeats run at common priority");
            }
            own.run();
        })?;
        let own = Arc::clone(&shared);
        let tracker = std::thread::Builder::new().name("track".into()).spawn(move || {
            let now = || own.now();
            let fit = |is_fit: bool| own.leave(1, !is_fit);
            tracker::run(&own.track, &own.is_ending, mark, now, fit);
        })?;
        Ok(Self { shared, threads: Mutex::new(vec![thread, tracker]) })
    }

    /// Takes other nodes, another arbiter and other things to track; what else stands in the
    /// section is as at the start.
    ///
    /// # Errors
    /// More than one change of votes ([`crate::cluster::Roster::steps`]); what is no address; no
    /// socket; no randomness. Nothing changes then.
    pub fn configure(&self, new: &Members) -> io::Result<()> {
        let shared = &self.shared;
        let steps = lock(&shared.inner).cluster.roster().map_or(0, |it| it.steps(&new.roster()));
        if steps > 1 {
            let why = "nodes that vote come and go one after the other";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let places = shared.places(new)?;
        let own = NodeId(shared.config.node);
        let is_second = new.roster().voters.iter().any(|node| *node < own);
        shared.ask_there(new, if is_second { Name::B } else { Name::A })?;
        shared.reach(places);
        let (now, recovers) = (shared.now(), recover(new.track_recover_s));
        lock(&shared.track).change(now, &new.track, recovers);
        shared.input(In::Roster(new.roster()));
        Ok(())
    }

    /// Which nodes shall have which group; groups that are not named stay as they are.
    pub fn place(&self, placements: impl IntoIterator<Item = Placement>) {
        placements.into_iter().for_each(|placement| self.shared.input(In::Place(placement)));
    }

    /// Asks for a planned change of the node that serves a group. Nothing happens where this node
    /// does not serve it.
    pub fn move_to(&self, group: GroupId, node: NodeId) {
        self.shared.input(In::Move(group, node));
    }

    /// Gives all groups away, and takes none while another node can; or takes its part again.
    pub fn leave(&self, is_leaving: bool) {
        self.shared.leave(0, is_leaving);
    }

    /// Whether this node serves nothing.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        lock(&self.shared.inner).cluster.is_idle()
    }

    /// Who says whether this node may speak for a group.
    #[must_use]
    pub fn authority(&self) -> Arc<dyn Authority> {
        Arc::new(MemberAuthority(Arc::clone(&self.shared)))
    }

    /// Ends: the node is silent from now on.
    pub fn end(&self) {
        self.shared.is_ending.store(true, Relaxed);
        for thread in lock(&self.threads).drain(..) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
        self.shared.leases.iter().for_each(|lease| lease.store(0, Relaxed));
    }

    /// What it tracks: name, whether it is good, since when.
    #[must_use]
    pub fn tracked(&self) -> Vec<(String, bool, Time)> {
        let row = |row: TrackedRow<'_>| (row.name.to_owned(), row.is_good, row.since);
        lock(&self.shared.track).rows().map(row).collect()
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.end();
    }
}

struct MemberAuthority(Arc<Shared>);

impl Authority for MemberAuthority {
    fn may_speak(&self, group: GroupId) -> bool {
        let lease = self.0.leases.get(usize::from(group.0));
        lease.is_some_and(|lease| self.0.clock.now_ns() < lease.load(Relaxed))
    }
}

impl Replication for Groups {
    fn attach(&self, orders: Orders) {
        let now = self.shared.now();
        let mut inner = lock(&self.shared.inner);
        let is_first = inner.orders.replace(orders).is_none();
        inner.backlog = Backlog::default();
        if !is_first {
            // The shards know nothing: neither their groups nor who serves the others.
            let groups: Vec<_> = inner.cluster.groups().map(|it| it.group).collect();
            groups.into_iter().for_each(|group| inner.step(now, In::Lost(group)));
            inner.acquaint(now, Out::Order);
        }
        self.shared.lend(&inner);
    }

    fn publish(&self, shard: u16, effects: &Effects) {
        let now = self.shared.now();
        let mut outs = Vec::new();
        let mut inner = lock(&self.shared.inner);
        for (group, delta) in effects.group_deltas() {
            inner.cluster.delta(group, delta);
        }
        for (group, mark) in effects.group_marks() {
            inner.cluster.step(now, In::Marked(group, mark), &mut outs);
        }
        for it in effects.slices() {
            let (group, number, next) = (it.group, it.number, it.next);
            inner.cluster.step(now, In::Sliced { group, number, next }, &mut outs);
        }
        for group in effects.losses() {
            inner.cluster.step(now, In::Lost(*group), &mut outs);
            self.shared.lend(&inner);
        }
        for post in effects.posts() {
            inner.cluster.post(now, post.to, (shard, post.shard), post.bytes, &mut outs);
        }
        inner.cluster.flush(now, &mut outs);
        let datagrams = sorted(outs, &mut inner.late);
        drop(inner);
        self.shared.speak(&datagrams);
    }

    /// What belongs to no group is always said: each group has its own gate.
    fn may_speak(&self) -> bool {
        !self.shared.is_ending.load(Relaxed)
    }

    fn quiet(&self, _shard: u16) {}

    fn quiet_for(&self, group: GroupId) {
        self.shared.input(In::Quiet(group));
    }

    fn crashed(&self, shard: u16) {
        let (groups, shards) = {
            let inner = lock(&self.shared.inner);
            let groups: Vec<GroupId> = inner.cluster.groups().map(|it| it.group).collect();
            (groups, inner.orders.as_ref().map_or(1, Orders::shards))
        };
        for group in groups.into_iter().filter(|group| group.shard(shards) == shard) {
            self.shared.input(In::Lost(group));
        }
        // What began anew knows nobody: others are told only of what changes.
        let now = self.shared.now();
        lock(&self.shared.inner).acquaint(now, |order| Out::ToShard(shard, order));
    }
}

/// What leaves at once; the rest is the thread's.
fn sorted(outs: Vec<Out>, late: &mut Vec<Out>) -> Vec<(NodeId, Vec<u8>)> {
    let mut datagrams = Vec::with_capacity(outs.len());
    for out in outs {
        match out {
            Out::Send(node, bytes) => datagrams.push((node, bytes)),
            other => late.push(other),
        }
    }
    datagrams
}

/// Another node: its number, where it listens, and a number for this life of the way there.
type Place = (NodeId, SocketAddr, u64);

impl Shared {
    fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    /// Where the nodes of a section are.
    fn places(&self, config: &Members) -> io::Result<Vec<Place>> {
        let place = |member: &Member| -> io::Result<Place> {
            let [life, ..] = lives(&driver::random()?);
            Ok((NodeId(member.node), address(&member.address)?, life))
        };
        config.member.iter().map(place).collect()
    }

    /// Takes the addresses of nodes; those that were known keep their seals.
    fn reach(&self, places: Vec<Place>) {
        // In the order in which who hears a datagram takes the two.
        let mut verifiers = lock(&self.verifiers);
        let mut ways = self.ways.write().unwrap_or_else(PoisonError::into_inner);
        let nodes: BTreeSet<NodeId> = places.iter().map(|(node, ..)| *node).collect();
        for (node, at, life) in places {
            if let Some((known, _)) = ways.get_mut(&node) {
                *known = at;
                continue;
            }
            let (own, pair) = (End::Member(NodeId(self.config.node)), self.config.cluster.into());
            let (seal, verifier) = guard(self.keys.as_ref(), pair, own, End::Member(node), life);
            ways.insert(node, (at, seal));
            verifiers.insert(node, verifier);
        }
        ways.retain(|node, _| nodes.contains(node));
        verifiers.retain(|node, _| nodes.contains(node));
    }

    /// Takes the address of the arbiter, which knows this node by that name.
    fn ask_there(&self, config: &Members, name: Name) -> io::Result<()> {
        let at = config.arbiter.as_deref().map(address).transpose()?;
        let known = self.arbiter().filter(|it| Some(it.votes.arbiter) == at && it.name == name);
        let made = |at| Voting::new(self.config.cluster.into(), self.keys.as_ref(), name, at);
        let arbiter = match (known, at) {
            (None, Some(at)) => Some(Arc::new(made(at)?)),
            (known, _) => known,
        };
        *self.arbiter.write().unwrap_or_else(PoisonError::into_inner) = arbiter;
        Ok(())
    }

    fn arbiter(&self) -> Option<Arc<Voting>> {
        self.arbiter.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes one input on whatever thread; its effects are carried out soon.
    fn input(&self, input: In<'_>) {
        let now = self.now();
        let mut outs = Vec::new();
        let mut inner = lock(&self.inner);
        inner.cluster.step(now, input, &mut outs);
        self.lend(&inner);
        let datagrams = sorted(outs, &mut inner.late);
        drop(inner);
        self.speak(&datagrams);
    }

    fn leave(&self, why: usize, is_leaving: bool) {
        let now = self.now();
        let mut inner = lock(&self.inner);
        self.leaves[why].store(is_leaving, Relaxed);
        let is_leaving = self.leaves.iter().any(|it| it.load(Relaxed));
        inner.step(now, In::Leave(is_leaving));
        self.lend(&inner);
    }

    /// Lets shards know until when they may speak.
    fn lend(&self, inner: &Inner) {
        for (group, until) in inner.cluster.leases() {
            if let Some(lease) = self.leases.get(usize::from(group.0)) {
                lease.store(until.as_nanos(), Relaxed);
            }
        }
    }

    /// The lock, for the heartbeats' thread.
    fn patient(&self) -> MutexGuard<'_, Inner> {
        let pulse = || {
            let beats = lock(&self.pulse).clone();
            self.speak(&beats);
        };
        patient(&self.inner, self.config.heartbeat(), || self.now(), pulse)
    }

    /// Seals and sends; not under the lock.
    fn speak(&self, datagrams: &[(NodeId, Vec<u8>)]) {
        let ways = self.ways.read().unwrap_or_else(PoisonError::into_inner);
        for (node, bytes) in datagrams {
            if let Some((at, seal)) = ways.get(node) {
                // What cannot be sent is sent again, or its absence noticed.
                let _ = self.socket.send_to(&seal.seal(bytes), at);
            }
        }
    }

    fn refuse(&self, why: Refused) {
        let metric = match why {
            Refused::Unsealed => ClusterMetric::Unsealed,
            Refused::Forged => ClusterMetric::Forged,
            Refused::Replayed => ClusterMetric::Replayed,
            Refused::Unproved => ClusterMetric::Unproved,
        };
        lock(&self.metrics).add(metric, 1);
        lock(&self.refusals).add(self.now(), why);
    }

    fn run(&self) {
        let mut buffer = vec![0; DATAGRAM_MAX];
        let mut known_at = Time::ZERO;
        while self.patient().orders.is_none() && !self.is_ending.load(Relaxed) {
            std::thread::sleep(ATTACH_LOOK);
        }
        while !self.is_ending.load(Relaxed) {
            self.wait();
            self.hear(&mut buffer);
            self.hear_arbiter(&mut buffer);
            let now = self.now();
            let late = {
                let mut inner = self.patient();
                let Inner { cluster, late, .. } = &mut *inner;
                cluster.tick(now, late);
                self.lend(&inner);
                std::mem::take(&mut inner.late)
            };
            self.carry_out(late);
            self.catch_up();
            if now >= known_at + MADE_KNOWN {
                known_at = now;
                if let Some(Voting { votes, .. }) = self.arbiter().as_deref() {
                    votes.send(&votes.seal.seal(&[]));
                }
            }
        }
    }

    /// Lets the socket wait until the next heartbeat at most.
    fn wait(&self) {
        let now = self.now();
        let left = self.patient().cluster.deadline().since(now).min(WAIT_MAX);
        let left = left.max(Duration::from_micros(50));
        if let Err(error) = self.socket.set_read_timeout(Some(left)) {
            tracing::error!(%error, "the socket takes no timeout");
            std::thread::sleep(left);
        }
    }

    /// The node that listens there.
    fn node_at(&self, from: SocketAddr) -> Option<NodeId> {
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        let ways = self.ways.read().unwrap_or_else(PoisonError::into_inner);
        ways.iter().find(|(_, (at, _))| *at == from).map(|(node, _)| *node)
    }

    /// Takes what other nodes have sent.
    fn hear(&self, buffer: &mut [u8]) {
        let mut answer = Vec::new();
        for turn in 0..DATAGRAMS_PER_TURN {
            // After the first one nothing is waited for.
            if turn == 1 {
                let _ = self.socket.set_nonblocking(true);
            }
            let Ok((length, from)) = self.socket.recv_from(buffer) else { break };
            let mut verifiers = lock(&self.verifiers);
            let node = self.node_at(from);
            let Some((node, verifier)) = node.and_then(|it| Some((it, verifiers.get_mut(&it)?)))
            else {
                lock(&self.metrics).add(ClusterMetric::Strangers, 1);
                continue;
            };
            match verifier.open(self.now(), &buffer[..length], &mut answer) {
                Ok(message) => {
                    let mut inner = self.patient();
                    inner.step(self.now(), In::Heard(node, message));
                }
                Err(why) => self.refuse(why),
            }
            if !answer.is_empty() {
                // It is sealed; who does not get it speaks again.
                let _ = self.socket.send_to(&answer, from);
            }
        }
        let _ = self.socket.set_nonblocking(false);
    }

    /// Takes what the arbiter has answered.
    fn hear_arbiter(&self, buffer: &mut [u8]) {
        let arbiter = self.arbiter();
        let Some(Voting { votes, verifier, .. }) = arbiter.as_deref() else { return };
        let (mut verifier, mut answer) = (lock(verifier), Vec::new());
        for _ in 0..ANSWERS_PER_TURN {
            let Some(length) = votes.heard(buffer) else { break };
            match verifier.open(self.now(), &buffer[..length], &mut answer) {
                Ok(message) => {
                    let mut inner = self.patient();
                    inner.step(self.now(), In::Answered(message));
                }
                Err(why) => self.refuse(why),
            }
            if !answer.is_empty() {
                votes.send(&answer);
            }
        }
    }

    fn carry_out(&self, outs: Vec<Out>) {
        let mut datagrams = Vec::new();
        let mut serves = Vec::new();
        for out in outs {
            match out {
                Out::Send(node, bytes) => datagrams.push((node, bytes)),
                Out::ToArbiter(bytes) => {
                    if let Some(Voting { votes, .. }) = self.arbiter().as_deref() {
                        votes.send(&votes.seal.seal(&bytes));
                    }
                }
                other => {
                    // Before orders: what was heard leads to answers that need not wait for them.
                    self.count(&other, &mut serves);
                    self.order(other);
                }
            }
        }
        if !serves.is_empty() {
            // Many begin at once: one line for all of them.
            let count = serves.len();
            tracing::info!(target: "replica", count, groups = ?serves, "this node serves groups");
        }
        self.speak(&datagrams);
        let beats = datagrams.into_iter().filter(|(_, bytes)| crate::cluster::is_beat(bytes));
        let beats: Vec<_> = beats.collect();
        if !beats.is_empty() {
            *lock(&self.pulse) = beats;
        }
    }

    fn count(&self, out: &Out, serves: &mut Vec<u16>) {
        let metrics = lock(&self.metrics);
        match out {
            Out::Order(GroupOrder::Activate { group, epoch, is_current }) => {
                metrics.add(ClusterMetric::Activations, 1);
                tracing::debug!(target: "replica", %group, epoch, is_current, "serves");
                serves.push(group.0);
            }
            Out::Order(GroupOrder::Delta { .. }) => metrics.add(ClusterMetric::Applied, 1),
            Out::Order(GroupOrder::Slice { cursor: 0, .. }) => metrics.add(ClusterMetric::Fills, 1),
            Out::Order(GroupOrder::Node { node, is_alive: true }) => {
                tracing::info!(target: "replica", %node, "a node of the cluster is heard");
            }
            Out::Order(GroupOrder::Node { node, is_alive: false }) => {
                tracing::warn!(target: "replica", %node, "a node of the cluster is not heard");
            }
            _ => {}
        }
    }

    /// Orders the shard of a group, or one, or all, behind what waits for each.
    fn order(&self, out: Out) {
        let Some((whose, order)) = out.order() else { return };
        let mut inner = self.patient();
        let Inner { orders: Some(orders), backlog, .. } = &mut *inner else { return };
        let shards = orders.shards();
        let one = match whose {
            Whose::Group(group) => Some(group.shard(shards)),
            Whose::Shard(shard) => Some(shard % shards.max(1)),
            Whose::All => None,
        };
        for shard in (0..shards).filter(|shard| one.is_none_or(|one| one == *shard)) {
            let order = Order::Group(GroupOrder::clone(&order));
            backlog.add(self.now(), shard, order, |shard, order| orders.give(shard, order.clone()));
        }
    }

    /// Gives shards what waits for them; nothing is acknowledged while they are behind.
    fn catch_up(&self) {
        let now = self.now();
        let mut inner = self.patient();
        let Inner { orders: Some(orders), backlog, cluster, .. } = &mut *inner else { return };
        if !backlog.is_empty() {
            backlog.give(now, |shard, order| orders.give(shard, order.clone()));
            for Stuck { shard, orders, .. } in backlog.newly_stuck(now) {
                tracing::error!(target: "replica", shard, orders, "a shard takes nothing any more");
            }
            if !orders.are_alive() {
                *backlog = Backlog::default(); // those that begin anew are told everything
            }
        }
        let is_held = !backlog.is_empty();
        let mut outs = Vec::new();
        cluster.step(now, In::Hold(is_held), &mut outs);
        let datagrams = sorted(outs, &mut inner.late);
        drop(inner);
        self.speak(&datagrams);
    }
}
