//! How the management side and the shards talk.

use crate::bind::{Held, Socket};
use crate::function::{Ask, AskError};
use crate::port::PortId;
use crossbeam_channel::Sender;
use machine::{Duration, Time};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tls::Context;

/// One port of a shard's new list.
#[derive(Debug)]
pub(crate) struct ShardPort {
    pub(crate) held: Held,
    pub(crate) tls: Option<Arc<Context>>,
    /// The port that becomes this one, sockets and all.
    pub(crate) kept: Option<PortId>,
    /// Or a new socket.
    pub(crate) socket: Option<Socket>,
}

/// What a shard gives to a question.
pub(crate) type Reply = Result<serde_json::Value, AskError>;

/// What a shard is told to do.
pub(crate) enum Control<C> {
    Ask(Ask, Sender<(u16, Reply)>),
    Configure(Arc<C>, Vec<ShardPort>, Sender<()>),
    Drain,
    Stop,
}

/// How a shard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardState {
    /// Not yet in its loop.
    Starting,
    /// Running.
    Running,
    /// Finishing what runs.
    Draining,
    /// Ended as it was told.
    Stopped,
    /// Its function panicked; other shards go on.
    Failed,
}

/// The panics of a shard or of a thread that helps it, which it has outlived.
#[derive(Debug, Clone, Default)]
pub struct Crashes {
    /// How many there were.
    pub count: u64,
    /// When the last one was, and its words.
    pub last: Option<(Instant, String)>,
}

impl Crashes {
    fn add(&mut self, why: &str) {
        *self = Self { count: self.count + 1, last: Some((Instant::now(), why.into())) };
    }
}

/// What a shard shows of itself.
#[derive(Debug)]
pub(crate) struct Status {
    state: AtomicU8,
    pub(crate) idle: AtomicBool,
    /// What a shard that drains waits for.
    waits_for: Mutex<&'static str>,
    failure: Mutex<Option<String>>,
    /// When the turn that runs now began, nanoseconds; zero while the shard waits.
    turn_ns: AtomicU64,
    crashes: Mutex<Crashes>,
    /// Those of helper threads that this shard was told of, by their names.
    helpers: Mutex<BTreeMap<&'static str, Crashes>>,
    cells: Mutex<(Vec<event::MetricCells>, Vec<event::MetricCells>)>,
}

impl Status {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU8::new(ShardState::Starting as u8),
            idle: AtomicBool::new(false),
            waits_for: Mutex::new(""),
            failure: Mutex::new(None),
            turn_ns: AtomicU64::new(0),
            crashes: Mutex::default(),
            helpers: Mutex::default(),
            cells: Mutex::new((Vec::new(), Vec::new())),
        }
    }

    pub(crate) fn state(&self) -> ShardState {
        let state = self.state.load(SeqCst);
        [ShardState::Starting, ShardState::Running, ShardState::Draining, ShardState::Stopped]
            .into_iter()
            .find(|&known| known as u8 == state)
            .unwrap_or(ShardState::Failed)
    }

    pub(crate) fn enter(&self, state: ShardState) {
        self.state.store(state as u8, SeqCst);
    }

    pub(crate) fn fail(&self, why: String) {
        *lock(&self.failure) = Some(why);
        self.enter(ShardState::Failed);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    pub(crate) fn wait_for(&self, what: &'static str) {
        *lock(&self.waits_for) = what;
    }

    pub(crate) fn waits_for(&self) -> &'static str {
        *lock(&self.waits_for)
    }

    /// A turn begins.
    pub(crate) fn turns(&self, now: Time) {
        self.turn_ns.store(now.as_nanos(), Relaxed);
    }

    /// The shard has nothing to do, or rests.
    pub(crate) fn waits(&self) {
        self.turn_ns.store(0, Relaxed);
    }

    /// For how long the turn that runs now has run.
    pub(crate) fn turn(&self, now: Time) -> Duration {
        match self.turn_ns.load(Relaxed) {
            0 => Duration::ZERO,
            began => now.since(Time::from_nanos(began)),
        }
    }

    /// The function panicked and begins anew.
    pub(crate) fn crashed(&self, why: &str) {
        lock(&self.crashes).add(why);
    }

    /// A helper thread panicked and went on.
    pub(crate) fn helper_crashed(&self, helper: &'static str, why: &str) {
        lock(&self.helpers).entry(helper).or_default().add(why);
    }

    pub(crate) fn helper_crashes(&self) -> BTreeMap<&'static str, Crashes> {
        lock(&self.helpers).clone()
    }

    pub(crate) fn crashes(&self) -> Crashes {
        lock(&self.crashes).clone()
    }

    pub(crate) fn set_cells(&self, own: Vec<event::MetricCells>, runtime: Vec<event::MetricCells>) {
        *lock(&self.cells) = (own, runtime);
    }

    pub(crate) fn cells(&self) -> (Vec<event::MetricCells>, Vec<event::MetricCells>) {
        lock(&self.cells).clone()
    }
}

/// Locks; a panic of another holder does not spoil plain data.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
