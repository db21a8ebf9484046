//! The edge of a pair: a socket, a thread, virtual addresses, and the gate before the shards.
//!
//! ```text
//! shard ── publish ──→ Pair (under a lock, some microseconds) ──→ sendto: the kernel has it
//! thread ── recv ──→ Pair ──→ orders to shards · lease ──→ may_speak
//!                      └────→ another thread: addresses, for which the kernel takes its time
//! ```
//! A shard sends its deltas itself, before its messages: a process that is killed between the
//! two has told its standby more than the network, never less.

use crate::address::Addresses;
use crate::backlog::{Backlog, Stuck};
use crate::config::{Replica, VirtualAddress};
use crate::election::Name;
use crate::guard::{End, Refusals, Seal, Verifier, guard};
use crate::locking::{lock, patient};
use crate::message;
use crate::metrics::ReplicaMetric;
use crate::pair::{In, Out, PROTOCOL, Pace, Pair, Params, Standing};
use crate::source::WINDOW_BYTES;
use crate::track::Track;
use crate::tracker::{self, recover};
use authentication::{Keys, Refused};
use driver::{Clock, Interest, Poll, Waker};
use event::Metrics;
use machine::{Duration, Time};
use runtime::{Effects, Order, Orders, Replication, Term};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

/// Octets of the longest datagram.
const DATAGRAM_MAX: usize = 65_536;
/// Room of the socket: a full window of small datagrams, each with what the kernel adds to it.
const RECEIVE_BYTES: i32 = 4 << 20;
const _: () = assert!(RECEIVE_BYTES as usize == 4 * WINDOW_BYTES);
/// Datagrams that one turn takes before it looks at the clock: what waits after a pause is heard
/// whole, since a heartbeat may stand behind many deltas and says that the other node lives.
const DATAGRAMS_PER_TURN: usize = 4_096;
/// Datagrams of the arbiter, or in its name, that one turn takes; it has a few to say a second.
pub(crate) const ANSWERS_PER_TURN: usize = 64;
/// Changes of the addresses that wait; a node changes its role less often than that.
const CHANGES_MAX: usize = 64;
/// Between two looks at what is due for the addresses.
const ADDRESS_LOOK: std::time::Duration = std::time::Duration::from_millis(5);
/// Longest wait of the thread.
const WAIT_MAX: Duration = Duration::from_millis(5);
/// Whether something came is known when the link is read: what is nothing holds nobody up.
const READ_MAX: std::time::Duration = std::time::Duration::from_millis(1);
/// The places of what the thread waits for.
const LINK: u64 = 0;
const VOTES: u64 = 1;
const WAKER: u64 = 2;
/// How often a node makes itself known to its arbiter.
const MADE_KNOWN: Duration = Duration::from_secs(1);
/// How often it is looked whether there are shards yet.
const ATTACH_LOOK: std::time::Duration = std::time::Duration::from_millis(1);

pub(crate) struct Inner {
    pub(crate) pair: Pair,
    orders: Option<Orders>,
    /// What happened on shards, for the thread.
    pub(crate) late: Vec<Out>,
    pub(crate) backlog: Backlog,
}

/// What the thread waits for.
struct Waiting {
    poll: Poll,
    /// The way to the arbiter that is among it.
    votes: Option<Arc<Votes>>,
}

pub(crate) struct Shared {
    /// As it was started: `peer`, `arbiter` and `addresses` may be others by now.
    pub(crate) config: Replica,
    clock: Clock,
    socket: UdpSocket,
    /// Of the thread.
    waker: Waker,
    peer: RwLock<SocketAddr>,
    seal: Seal,
    arbiter: RwLock<Option<Arc<Votes>>>,
    /// What is sealed for the arbiter, whichever it is.
    vote_seal: Seal,
    addresses: Mutex<Vec<VirtualAddress>>,
    pub(crate) inner: Mutex<Inner>,
    /// The last heartbeat that the thread sent.
    pulse: Mutex<Vec<u8>>,
    /// Until when shards may send, nanoseconds.
    lease: AtomicU64,
    pub(crate) is_ending: AtomicBool,
    pub(crate) trouble: Mutex<Option<String>>,
    /// Deltas told and not in the metrics yet: no shard may hold a lock that heartbeats wait for.
    pub(crate) told: AtomicU64,
    pub(crate) metrics: Mutex<Metrics<ReplicaMetric>>,
    /// What was refused on the link and from the arbiter's address.
    pub(crate) refusals: Mutex<Refusals>,
    /// What this node needs beside the link.
    pub(crate) track: Mutex<Track>,
}

/// What comes from the other node, and from the arbiter.
struct Verifiers {
    link: Verifier,
    votes: Verifier,
}

/// A node of a pair that runs. Dropping it ends its thread and gives the addresses away.
pub struct Node {
    pub(crate) shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The way to the arbiter: not from the address of the private link, which it need not reach.
pub(crate) struct Votes {
    socket: UdpSocket,
    pub(crate) arbiter: SocketAddr,
    pub(crate) seal: Seal,
    pair: u64,
    node: Name,
}

impl Votes {
    pub(crate) fn new(arbiter: SocketAddr, seal: Seal, pair: u64, node: Name) -> io::Result<Self> {
        let any = if arbiter.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, arbiter, seal, pair, node })
    }

    /// Sends what was sealed already, or a request as it is where nothing is sealed.
    pub(crate) fn send(&self, bytes: &[u8]) {
        // An arbiter that is away does not answer, and an alarm says so.
        let _ = match self.seal.is_sealed() || bytes.is_empty() {
            true => {
                let enveloped = message::envelope(self.pair, self.node, bytes);
                self.socket.send_to(&enveloped, self.arbiter)
            }
            false => self.socket.send_to(bytes, self.arbiter),
        };
    }

    /// The next datagram of the arbiter; what others have sent is passed over, for it must not
    /// wait behind that.
    pub(crate) fn heard(&self, buffer: &mut [u8]) -> Option<usize> {
        for _ in 0..DATAGRAMS_PER_TURN {
            let (length, from) = self.socket.recv_from(buffer).ok()?;
            if from == self.arbiter {
                return Some(length);
            }
        }
        None
    }
}

/// What becomes of the addresses.
enum Addressing {
    Take,
    Release,
}

pub(crate) fn address(text: &str) -> io::Result<SocketAddr> {
    text.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned()))
}

/// Numbers of a life from random octets.
pub(crate) fn lives(random: &[u8; 32]) -> [u64; 4] {
    let (chunks, _) = random.as_chunks::<8>();
    [0, 1, 2, 3].map(|at| u64::from_be_bytes(chunks[at]))
}

/// What the pair's machine is started with, in this life of the node.
fn params(config: &Replica, incarnation: u64, lanes: u16) -> Params {
    let detect = config.detect();
    Params {
        pair: config.pair.into(),
        node: config.name(),
        priority: config.priority,
        incarnation,
        heartbeat: config.heartbeat(),
        detect,
        lease: detect * 4 / 5,
        has_arbiter: config.arbiter.is_some(),
        lanes,
        version: PROTOCOL,
    }
}

impl Waiting {
    fn of(shared: &Shared) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.add(&shared.socket, LINK, Interest::Read)?;
        poll.add(&shared.waker, WAKER, Interest::Read)?;
        Ok(Self { poll, votes: None })
    }
}

impl Node {
    /// Starts a standby for a function with as many shards as `lanes`. It is silent until the
    /// function is there ([`Replication::attach`]). `keys` are those of the pair's `key_file`.
    ///
    /// # Errors
    /// The socket cannot be bound; no randomness; no thread.
    pub fn start(config: &Replica, keys: Option<&Keys>, lanes: u16) -> io::Result<Self> {
        Self::start_with(config, keys, lanes, None)
    }

    /// The same for a function whose state outlives its process: how recent that is, if there is
    /// one.
    ///
    /// # Errors
    /// The same.
    pub fn start_with(
        config: &Replica,
        keys: Option<&Keys>,
        lanes: u16,
        recalled: Option<Term>,
    ) -> io::Result<Self> {
        let clock = Clock::start();
        let now = Time::from_nanos(clock.now_ns());
        let random = driver::random()?;
        let [incarnation, life, voter, mark] = lives(&random);
        let params = params(config, incarnation, lanes);
        let socket = UdpSocket::bind(address(&config.listen)?)?;
        if let Err(error) = driver::make_room(&socket, RECEIVE_BYTES) {
            tracing::warn!(%error, "the link to the other node has little room");
        }
        socket.set_read_timeout(Some(READ_MAX))?;
        let (pair, own) = (params.pair, End::Node(params.node));
        let (seal, link) = guard(keys, pair, own, End::Node(params.node.other()), life);
        let (vote_seal, vote_verifier) = guard(keys, pair, own, End::Arbiter, voter);
        let verifiers = Verifiers { link, votes: vote_verifier };
        let arbiter = config.arbiter.as_deref().map(address).transpose()?;
        let votes = |at| Votes::new(at, vote_seal.clone(), pair, params.node).map(Arc::new);
        let arbiter = arbiter.map(votes).transpose()?;
        let (mut pair, orders, late) = (Pair::new(params, now), None, Vec::new());
        recalled.into_iter().for_each(|it| pair.recall(now, it));
        let inner = Inner { pair, orders, late, backlog: Backlog::default() };
        let shared = Arc::new(Shared {
            config: config.clone(),
            clock,
            socket,
            waker: Waker::new()?,
            peer: RwLock::new(address(&config.peer)?),
            seal,
            arbiter: RwLock::new(arbiter),
            vote_seal,
            addresses: Mutex::new(config.addresses()),
            inner: Mutex::new(inner),
            pulse: Mutex::default(),
            lease: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            trouble: Mutex::new(None),
            told: AtomicU64::new(0),
            metrics: Mutex::new(Metrics::new()),
            refusals: Mutex::default(),
            track: Mutex::new(Track::new(now, &config.track, recover(config.track_recover_s))),
        });
        let waiting = Waiting::of(&shared)?;
        let (changes, changed) = sync_channel(CHANGES_MAX);
        let own = Arc::clone(&shared);
        let holder = std::thread::Builder::new().name("addresses".into());
        let holder = holder.spawn(move || own.hold(&changed))?;
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("replica".into()).spawn(move || {
            if let Err(error) = driver::link::urgent() {
                tracing::warn!(%error, "the heartbeats run at common priority");
            }
            own.run(verifiers, waiting, &changes);
        })?;
        let own = Arc::clone(&shared);
        let tracker = std::thread::Builder::new().name("track".into());
        let tracker = tracker.spawn(move || {
            let now = || own.now();
            tracker::run(&own.track, &own.is_ending, mark, now, |is_fit| own.fit(is_fit));
        })?;
        Ok(Self { shared, threads: Mutex::new(vec![thread, holder, tracker]) })
    }

    /// Takes another `peer`, `arbiter`, other `addresses` and other things to track; what else
    /// stands in the section is as at the start. The seals stay: whoever is at a new address is
    /// heard once it has proved that it has the pair's key.
    ///
    /// # Errors
    /// What is no address; no socket for the way to the arbiter. Nothing changes then.
    pub fn configure(&self, new: &Replica) -> io::Result<()> {
        let shared = &self.shared;
        let peer = address(&new.peer)?;
        let arbiter = match new.arbiter.as_deref().map(address).transpose()? {
            None => None,
            Some(at) => match shared.arbiter().filter(|votes| votes.arbiter == at) {
                Some(same) => Some(same),
                None => {
                    let (seal, pair) = (shared.vote_seal.clone(), shared.config.pair.into());
                    Some(Arc::new(Votes::new(at, seal, pair, shared.config.name())?))
                }
            },
        };
        *shared.peer.write().unwrap_or_else(PoisonError::into_inner) = peer;
        *lock(&shared.addresses) = new.addresses();
        lock(&shared.track).change(shared.now(), &new.track, recover(new.track_recover_s));
        let has_arbiter = arbiter.is_some();
        *shared.arbiter.write().unwrap_or_else(PoisonError::into_inner) = arbiter;
        lock(&shared.inner).pair.set_arbiter(has_arbiter);
        Ok(())
    }

    /// The number of the pair.
    #[must_use]
    pub fn pair(&self) -> u32 {
        self.shared.config.pair
    }

    /// Asks for a planned switchover; the result shows in [`Node::standing`].
    pub fn switch_over(&self) {
        let now = self.shared.now();
        let mut inner = lock(&self.shared.inner);
        let mut outs = Vec::new();
        inner.pair.step(now, In::Switchover, &mut outs);
        self.shared.lend(&inner);
        self.shared.leave(inner, outs);
    }

    /// Longest time to wait for requests under way before a planned switchover.
    #[must_use]
    pub fn drain(&self) -> Duration {
        Duration::from_millis(self.shared.config.drain_ms.into())
    }

    /// What the node is now.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let now = self.shared.now();
        lock(&self.shared.inner).pair.standing(now)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
    }
}

impl Node {
    /// Ends: the node is silent from now on and its addresses are given away.
    pub fn end(&self) {
        self.shared.is_ending.store(true, Relaxed);
        for thread in lock(&self.threads).drain(..) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
        self.shared.lease.store(0, Relaxed);
    }
}

impl Replication for Node {
    fn attach(&self, orders: Orders) {
        let now = self.shared.now();
        let mut inner = lock(&self.shared.inner);
        let is_first = inner.orders.replace(orders).is_none();
        inner.backlog = Backlog::default();
        if !is_first {
            let mut outs = Vec::new();
            inner.pair.step(now, In::StateLost, &mut outs);
            self.shared.lend(&inner);
            self.shared.leave(inner, outs);
        }
    }

    fn publish(&self, shard: u16, effects: &Effects) {
        let now = self.shared.now();
        let mut outs = Vec::new();
        self.shared.told.fetch_add(effects.deltas().len() as u64, Relaxed);
        let mut inner = lock(&self.shared.inner);
        inner.pair.publish(now, shard, effects.marked(), effects.deltas(), &mut outs);
        if let Some(number) = effects.snapshot_ended {
            inner.pair.step(now, In::SnapshotEnded(number), &mut outs);
        }
        self.shared.leave(inner, outs);
    }

    fn may_speak(&self) -> bool {
        self.shared.clock.now_ns() < self.shared.lease.load(Relaxed)
    }

    fn hand_over(&self) {
        self.switch_over();
    }

    fn crashed(&self, shard: u16) {
        let now = self.shared.now();
        let mut outs = Vec::new();
        let mut inner = lock(&self.shared.inner);
        inner.pair.step(now, In::LaneLost(shard), &mut outs);
        self.shared.lend(&inner);
        self.shared.leave(inner, outs);
    }

    fn unreadable(&self, _shard: u16) {
        let now = self.shared.now();
        let mut outs = Vec::new();
        let mut inner = lock(&self.shared.inner);
        inner.pair.step(now, In::Unreadable, &mut outs);
        self.shared.lend(&inner);
        self.shared.leave(inner, outs);
    }

    fn quiet(&self, _shard: u16) {
        let now = self.shared.now();
        let mut outs = Vec::new();
        let mut inner = lock(&self.shared.inner);
        inner.pair.step(now, In::Quiet, &mut outs);
        self.shared.lend(&inner);
        self.shared.leave(inner, outs);
    }
}

impl Shared {
    pub(crate) fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        *self.peer.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn arbiter(&self) -> Option<Arc<Votes>> {
        self.arbiter.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The lock, for the heartbeats' thread.
    pub(crate) fn patient(&self) -> MutexGuard<'_, Inner> {
        let pulse = || self.send(&lock(&self.pulse));
        patient(&self.inner, self.config.heartbeat(), || self.now(), pulse)
    }

    fn fit(&self, is_fit: bool) {
        let mut inner = self.patient();
        let mut outs = Vec::new();
        inner.pair.step(self.now(), In::Fit(is_fit), &mut outs);
        self.lend(&inner);
        self.leave(inner, outs);
    }

    /// Lets shards know until when they may speak.
    pub(crate) fn lend(&self, inner: &Inner) {
        self.lease.store(inner.pair.lease().as_nanos(), Relaxed);
    }

    /// Does what follows from what another thread told the pair: what leaves, leaves at once; the
    /// rest is the heartbeats' thread's, which is woken for it. It sends not under the lock: the
    /// kernel may let that thread run in between, which must not wait for a shard that waits for a
    /// core.
    fn leave(&self, mut inner: MutexGuard<'_, Inner>, outs: Vec<Out>) {
        let mut datagrams = Vec::with_capacity(outs.len());
        for out in outs {
            match out {
                Out::ToPeer(bytes) => datagrams.push(bytes),
                other => inner.late.push(other),
            }
        }
        let is_more = !inner.late.is_empty();
        drop(inner);
        datagrams.iter().for_each(|bytes| self.send(bytes));
        if is_more {
            self.waker.wake();
        }
    }

    /// Seals and sends to the other node.
    fn send(&self, bytes: &[u8]) {
        // What cannot be sent is sent again, or its absence noticed.
        let _ = self.socket.send_to(&self.seal.seal(bytes), self.peer());
    }

    /// Counts what is not heard.
    fn refuse(&self, why: Refused) {
        let metric = match why {
            Refused::Unsealed => ReplicaMetric::Unsealed,
            Refused::Forged => ReplicaMetric::Forged,
            Refused::Replayed => ReplicaMetric::Replayed,
            Refused::Unproved => ReplicaMetric::Unproved,
        };
        lock(&self.metrics).add(metric, 1);
        lock(&self.refusals).add(self.now(), why);
    }

    /// Keeps the addresses until nobody changes them any more, then gives them away.
    fn hold(&self, changes: &Receiver<Addressing>) {
        if let Err(error) = driver::link::urgent() {
            tracing::warn!(%error, "addresses are taken at common priority");
        }
        let mut addresses = Addresses::new(lock(&self.addresses).clone());
        loop {
            match changes.recv_timeout(ADDRESS_LOOK) {
                Ok(Addressing::Take) => addresses.take(self.now()),
                Ok(Addressing::Release) => addresses.release(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let wanted = lock(&self.addresses).clone();
            addresses.change(self.now(), wanted);
            addresses.tick(self.now());
            self.trouble(&addresses);
        }
        addresses.release();
    }

    fn trouble(&self, addresses: &Addresses) {
        let mut trouble = lock(&self.trouble);
        if *trouble != addresses.trouble {
            trouble.clone_from(&addresses.trouble);
        }
    }

    fn run(
        &self,
        mut verifiers: Verifiers,
        mut waiting: Waiting,
        changes: &SyncSender<Addressing>,
    ) {
        let mut buffer = vec![0; DATAGRAM_MAX];
        let mut outs = Vec::new();
        let mut known_at = Time::ZERO;
        let mut has_said = false;
        // Who is heard is told everything: there must be shards to take it. What the other node
        // says meanwhile waits in the socket.
        while self.patient().orders.is_none() && !self.is_ending.load(Relaxed) {
            std::thread::sleep(ATTACH_LOOK);
        }
        self.patient().pair.begin(self.now());
        while !self.is_ending.load(Relaxed) {
            if self.wait(&mut waiting) {
                self.hear(&mut verifiers.link, &mut buffer, &mut outs);
            }
            self.hear_arbiter(&mut verifiers.votes, &mut buffer, &mut outs);
            let now = self.now();
            let orders_left = {
                let mut inner = self.patient();
                if inner.pair.deadline(now) <= now {
                    inner.pair.tick(now, &mut outs);
                }
                self.lend(&inner);
                let mut late = std::mem::take(&mut inner.late);
                late.append(&mut outs);
                late
            };
            for out in orders_left {
                self.carry_out(out, changes);
            }
            self.catch_up();
            if now >= known_at + MADE_KNOWN {
                known_at = now;
                self.make_known();
                let standing = self.patient().pair.standing(now);
                if standing.is_alone(now) && !std::mem::replace(&mut has_said, true) {
                    tracing::warn!(target: "replica", "{}", self.unheard(&standing));
                }
            }
        }
    }

    /// Takes what the other node has sent.
    fn hear(&self, verifier: &mut Verifier, buffer: &mut [u8], outs: &mut Vec<Out>) {
        let mut answer = Vec::new();
        for turn in 0..DATAGRAMS_PER_TURN {
            // After the first one nothing is waited for.
            if turn == 1 {
                let _ = self.socket.set_nonblocking(true);
            }
            let Ok((length, from)) = self.socket.recv_from(buffer) else { break };
            if from.ip().to_canonical() != self.peer().ip().to_canonical() {
                lock(&self.metrics).add(ReplicaMetric::Strangers, 1);
                lock(&self.refusals).note_stranger(self.now(), from.ip().to_canonical());
                continue;
            }
            match verifier.open(self.now(), &buffer[..length], &mut answer) {
                Ok(message) => {
                    let mut inner = self.patient();
                    inner.pair.step(self.now(), In::Heard(message), outs);
                    self.lend(&inner);
                }
                Err(why) => self.refuse(why),
            }
            if !answer.is_empty() {
                // It is sealed; who does not get it speaks again.
                let _ = self.socket.send_to(&answer, self.peer());
            }
        }
        let _ = self.socket.set_nonblocking(false);
    }

    /// Takes what the arbiter has answered.
    fn hear_arbiter(&self, verifier: &mut Verifier, buffer: &mut [u8], outs: &mut Vec<Out>) {
        let Some(votes) = self.arbiter() else { return };
        let mut answer = Vec::new();
        for _ in 0..ANSWERS_PER_TURN {
            let Some(length) = votes.heard(buffer) else { break };
            match verifier.open(self.now(), &buffer[..length], &mut answer) {
                Ok(message) => {
                    let mut inner = self.patient();
                    inner.pair.step(self.now(), In::Answered(message), outs);
                    self.lend(&inner);
                }
                Err(why) => self.refuse(why),
            }
            if !answer.is_empty() {
                votes.send(&answer);
            }
        }
    }

    /// Lets the arbiter know this life of the node before its vote is needed: an arbiter that was
    /// started meanwhile would have to be convinced first. What it answers shows that it is there.
    fn make_known(&self) {
        if let Some(votes) = self.arbiter() {
            votes.send(&votes.seal.seal(&[]));
        }
    }

    /// Waits until something comes, a shard has something to be done, or the next deadline;
    /// whether the other node has sent something.
    fn wait(&self, waiting: &mut Waiting) -> bool {
        let votes = self.arbiter();
        if votes.as_ref().map(Arc::as_ptr) != waiting.votes.as_ref().map(Arc::as_ptr) {
            // One that is not watched is looked at each time all the same.
            if let Some(before) = &waiting.votes {
                let _ = waiting.poll.remove(&before.socket);
            }
            if let Some(votes) = &votes {
                let _ = waiting.poll.add(&votes.socket, VOTES, Interest::Read);
            }
            waiting.votes = votes;
        }
        self.waker.doze();
        let now = self.now();
        let left = {
            let inner = self.patient();
            let is_late = !inner.late.is_empty();
            if is_late { Duration::ZERO } else { inner.pair.deadline(now).since(now) }
        };
        let left = left.min(WAIT_MAX);
        let ready = waiting.poll.wait(Some(left));
        self.waker.rise();
        let ready = match ready {
            Ok(ready) => ready,
            Err(error) => {
                tracing::error!(%error, "nothing can be waited for");
                std::thread::sleep(left);
                return true;
            }
        };
        if ready.iter().any(|it| it.token == WAKER) {
            self.waker.clear();
        }
        ready.iter().any(|it| it.token == LINK)
    }

    fn carry_out(&self, out: Out, changes: &SyncSender<Addressing>) {
        match out {
            Out::ToPeer(bytes) => {
                self.send(&bytes);
                if message::is_beat(&bytes) {
                    *lock(&self.pulse) = bytes;
                }
            }
            Out::ToArbiter(bytes) => {
                if let Some(votes) = self.arbiter() {
                    votes.send(&votes.seal.seal(&bytes));
                }
            }
            Out::Activate { epoch, is_current } => {
                self.all(&Order::Activate { is_current });
                self.all(&Order::Term(Term { epoch, served: true }));
                // Who holds the addresses lives as long as this thread.
                let _ = changes.send(Addressing::Take);
                lock(&self.metrics).add(ReplicaMetric::Activations, 1);
                let peer = self.peer();
                tracing::warn!(target: "replica", epoch, is_current, %peer, "this node is active");
            }
            Out::Outdated => {
                self.all(&Order::Deactivate);
                self.all(&Order::Activate { is_current: false });
                self.all(&Order::Term(self.own_term()));
                tracing::warn!(target: "replica", "the other node has served at the same time");
            }
            Out::ActivateLane(lane) => {
                self.order(lane, Order::Activate { is_current: true });
                self.order(lane, Order::Term(self.own_term()));
            }
            Out::Deactivate => {
                self.all(&Order::Deactivate);
                let _ = changes.send(Addressing::Release);
                tracing::warn!(target: "replica", "this node is the standby");
            }
            Out::Forget => self.all(&Order::Forget),
            Out::Whole(epoch) => self.all(&Order::Term(Term { epoch, served: false })),
            Out::Apply(lane, delta) => {
                lock(&self.metrics).add(ReplicaMetric::Applied, 1);
                self.order(lane, Order::Delta(delta));
            }
            Out::Snapshot(number) => {
                lock(&self.metrics).add(ReplicaMetric::Snapshots, 1);
                self.all(&Order::Snapshot(number));
            }
            Out::Followed(lane, mark) => self.order(lane, Order::Followed(Some(mark))),
            Out::Unfollowed => self.all(&Order::Followed(None)),
            Out::Paced(pace) => self.all(&Order::Paced(pace)),
        }
    }

    /// How recent the state is of this node, which serves.
    fn own_term(&self) -> Term {
        let epoch = self.patient().pair.standing(self.now()).epoch;
        Term { epoch, served: true }
    }

    fn all(&self, order: &Order) {
        let shards = self.patient().orders.as_ref().map_or(0, Orders::shards);
        for shard in 0..shards {
            self.order(shard, order.clone());
        }
    }

    /// Orders a shard, behind what waits for it.
    fn order(&self, shard: u16, order: Order) {
        let mut inner = self.patient();
        let Inner { orders: Some(orders), backlog, .. } = &mut *inner else { return };
        if shard >= orders.shards() {
            return;
        }
        backlog.add(self.now(), shard, order, |shard, order| orders.give(shard, order.clone()));
    }

    /// Gives shards what waits for them, and holds the stream up while they are behind.
    fn catch_up(&self) {
        let mut inner = self.patient();
        let Inner { orders: Some(orders), backlog, pair, .. } = &mut *inner else { return };
        if !backlog.is_empty() {
            backlog.give(self.now(), |shard, order| orders.give(shard, order.clone()));
            for Stuck { shard, orders, .. } in backlog.newly_stuck(self.now()) {
                lock(&self.metrics).add(ReplicaMetric::Stuck, 1);
                tracing::error!(target: "replica", shard, orders, "a shard takes nothing any more");
            }
            if !orders.are_alive() {
                *backlog = Backlog::default(); // those that begin anew are told everything
            }
        }
        pair.hold(match (backlog.is_empty(), backlog.stuck(self.now()).next()) {
            (true, _) => Pace::Current,
            (false, None) => Pace::Behind,
            (false, Some(_)) => Pace::Stuck,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_arbiter_answers_does_not_wait_behind_what_strangers_send() {
        let arbiter = UdpSocket::bind("127.0.0.1:0").unwrap();
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (seal, _) = guard(None, 1, End::Node(Name::A), End::Arbiter, 1);
        let votes = Votes::new(arbiter.local_addr().unwrap(), seal, 1, Name::A).unwrap();
        let port = votes.socket.local_addr().unwrap().port();
        for _ in 0..100 {
            stranger.send_to(b"stranger", ("127.0.0.1", port)).unwrap();
        }
        arbiter.send_to(b"vote", ("127.0.0.1", port)).unwrap();
        let mut buffer = [0; 100];
        assert_eq!(votes.heard(&mut buffer), Some(4));
        assert_eq!((&buffer[..4], votes.heard(&mut buffer.clone())), (&b"vote"[..], None));
    }
}
