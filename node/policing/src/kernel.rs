//! The kernel's part of the policing: a thread that keeps a filter (XDP) before the interfaces of
//! a function's listeners and tells it what the shards learn.
//!
//! ```text
//! shard: Effects::changes ─→ tell ───────┐                       ┌─ interfaces, once a second
//! configuration ──────────→ configure ───┼─→ its thread: Keeper ─┼─ driver::filter
//! console, ctl ───────────→ row ─────────┘                       └─ counters ─→ cells
//! ```
//! Where the kernel refuses, the shards police all by themselves, and the log says why, once.

mod keeper;

pub use driver::filter::{Protocol, Rate, Rates};

use crate::{Change, Prefix};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use keeper::Keeper;
use machine::Duration;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Changes that wait for the filter's thread; more are shed and counted.
const QUEUE_MAX: usize = 1 << 16;
/// How often interfaces and counters are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Time for an answer of the filter's thread.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Time for it to take a specification: some drivers restart their link.
const CONFIGURE_MAX: Duration = Duration::from_secs(20);

event::metrics! {
    /// What the kernel did with frames towards a function's listeners.
    pub enum KernelMetric {
        /// Frames of unknown sources that the kernel let pass.
        Passed = Counter, "runtime_fence_passed_unknown_total";
        /// Frames of known and trusted sources that the kernel let pass.
        Known = Counter, "runtime_fence_passed_known_total";
        /// Frames of blacklisted sources that the kernel dropped.
        Blacklisted = Counter, "runtime_fence_dropped_blacklisted_total";
        /// Frames that the kernel dropped because their source sent more than it may.
        Excess = Counter, "runtime_fence_dropped_excess_total";
        /// Datagrams that the kernel dropped because unknown sources together sent too many.
        Crowded = Counter, "runtime_fence_dropped_crowded_total";
        /// SYNs that the kernel dropped because unknown sources together sent too many.
        Syns = Counter, "runtime_fence_dropped_syns_total";
        /// Echo requests that the kernel dropped because there were too many.
        Echoes = Counter, "runtime_fence_dropped_echoes_total";
        /// Interfaces before which the kernel drops.
        Interfaces = Gauge, "runtime_fence_interfaces";
        /// Known or blacklisted sources of which the kernel was not told: no room.
        Shed = Counter, "runtime_fence_changes_shed_total";
    }
}

/// Whether the kernel shall drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// No.
    Off,
    /// Where it can.
    Auto,
    /// Yes: nothing starts without it.
    Require,
}

/// Something that a function listens at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterListener {
    /// Where; a wildcard stands for every address of this machine.
    pub listen: SocketAddr,
    /// What carries its bytes.
    pub protocol: Protocol,
    /// Whether everybody passes.
    pub trusts: bool,
}

/// What a filter goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterSpec {
    /// The function's instance; the thread is named after it.
    pub name: String,
    /// Whether it shall stand at all.
    pub wish: Wish,
    /// The interfaces; empty: those that carry the listeners' addresses.
    pub interfaces: Vec<String>,
    /// Interfaces that get an address of a listener later, as those of the active node of a pair,
    /// and that it stands before from the start where none is named.
    pub awaited: Vec<String>,
    /// The listeners.
    pub listeners: Vec<FilterListener>,
    /// Prefixes that pass.
    pub trusted: Vec<Prefix>,
    /// What unknown sources may send.
    pub rates: Rates,
}

/// What the kernel does for a shield.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "GateRow")]
pub struct KernelRow {
    /// `kernel`, beside the rows of the shards.
    pub shard: &'static str,
    /// Interfaces, and how it stands there.
    pub interfaces: Vec<String>,
    /// Why it stands nowhere.
    pub why: Option<String>,
    /// Packets of sources that nobody knows.
    pub passed_unknown: u64,
    /// Packets of sources that are known.
    pub passed_known: u64,
    /// Packets that it dropped, for these reasons.
    pub dropped: u64,
    /// Of sources on the blacklist.
    pub dropped_blacklisted: u64,
    /// More than one source may send.
    pub dropped_excess: u64,
    /// More than all unknown ones may send.
    pub dropped_crowded: u64,
    /// Connections beyond what is let in.
    pub dropped_syns: u64,
    /// Answers of services that somebody asks in another's name.
    pub dropped_echoes: u64,
    /// Changes that its queue had no room for.
    pub changes_shed: u64,
}

/// What its thread is told.
enum Command {
    Change(Change),
    Configure(Box<FilterSpec>, Sender<Result<(), String>>),
    Row(Sender<KernelRow>),
    Stop,
}

/// The filter of one function. Any thread may use it; dropping it takes the filter away.
pub struct KernelFilter {
    commands: Sender<Command>,
    shed: Arc<AtomicU64>,
    cells: event::MetricCells,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A filter that shards hand changes to; two are equal when they are the same one.
#[derive(Clone)]
pub struct FilterRef(pub Arc<KernelFilter>);

impl fmt::Debug for FilterRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FilterRef")
    }
}

impl PartialEq for FilterRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for FilterRef {}

impl KernelFilter {
    /// Starts the filter's thread in the calling thread's network namespace.
    ///
    /// # Errors
    /// In words, and only with [`Wish::Require`], why the kernel does not drop; or that there is
    /// no room for a thread.
    pub fn start(spec: FilterSpec) -> Result<Self, String> {
        let (commands, told) = bounded(QUEUE_MAX);
        let shed = Arc::new(AtomicU64::new(0));
        let keeper = Keeper::new(Arc::clone(&shed));
        let cells = keeper.cells();
        let thread = std::thread::Builder::new()
            .name(format!("{}/gate", spec.name))
            .spawn(move || live(keeper, &told))
            .map_err(|error| error.to_string())?;
        let filter = Self { commands, shed, cells, thread: Mutex::new(Some(thread)) };
        filter.configure(spec)?;
        Ok(filter)
    }

    /// Takes another specification.
    ///
    /// # Errors
    /// As those of [`KernelFilter::start`].
    pub fn configure(&self, spec: FilterSpec) -> Result<(), String> {
        let (reply, answer) = bounded(1);
        let command = Command::Configure(Box::new(spec), reply);
        self.commands.send(command).map_err(|_| "the gate has ended".to_owned())?;
        let answer = answer.recv_timeout(CONFIGURE_MAX);
        answer.map_err(|_| "the gate's thread does not answer".to_owned())?
    }

    /// Tells the kernel what a shard learned; never waits.
    pub fn tell(&self, change: Change) {
        if self.commands.try_send(Command::Change(change)).is_err() {
            self.shed.fetch_add(1, Relaxed);
        }
    }

    /// What it does now, if its thread answers.
    #[must_use]
    pub fn row(&self) -> Option<KernelRow> {
        let (reply, answer) = bounded(1);
        let asked = self.commands.try_send(Command::Row(reply)).is_ok();
        asked.then(|| answer.recv_timeout(ANSWER_MAX).ok()).flatten()
    }

    /// What it counts.
    #[must_use]
    pub fn cells(&self) -> event::MetricCells {
        self.cells.clone()
    }

    /// Takes the filter away and ends the thread.
    pub fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It ends by itself only when it panicked; then there is nothing to tell.
            let _ = self.commands.send(Command::Stop);
            let _ = thread.join();
        }
    }
}

impl Drop for KernelFilter {
    fn drop(&mut self) {
        self.close();
    }
}

/// The life of the filter's thread.
fn live(mut keeper: Keeper, told: &Receiver<Command>) {
    let mut next = Instant::now() + LOOK;
    loop {
        match told.recv_deadline(next) {
            Ok(Command::Change(change)) => keeper.change(change),
            Ok(Command::Configure(spec, reply)) => {
                // Who asked may have given up waiting.
                let _ = reply.send(keeper.configure(*spec));
            }
            Ok(Command::Row(reply)) => drop(reply.send(keeper.row())),
            Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if Instant::now() >= next {
            keeper.look();
            next = Instant::now() + LOOK;
        }
    }
}
