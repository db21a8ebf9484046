//! A function that is one of a pair: its questions about the pair, its planned switchover. The
//! function itself answers `hand-over`: what it leaves unanswered from now on, and how many
//! requests are under way.

use crate::functions::first_changed;
use config::keys;
use event::MetricCells;
use oam::{Managed, PortRow, State};
use question::Question;
use replica::{Node, NodeRow, Replica, Role, TrackRow};
use runtime::{Ask, AskError, Function, Term};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use supervise::{StartError, Supervised, Unit};

/// The question of the node itself; nobody else asks it.
const HAND_OVER: &str = "hand-over";
/// The question that lets the nodes change places.
const SWITCHOVER: &str = "switchover";

/// What the node of a pair answers beside its function.
pub const QUESTIONS: [Question; 3] = [
    question::question! {
        /// How this node of the pair stands.
        Ask "replica" [] -> Vec<NodeRow>
    },
    question::question! {
        /// What this node of the pair tracks: interfaces and gateways.
        Ask "track" [] -> Vec<TrackRow>
    },
    question::question! {
        /// Lets the nodes of the pair change places, without the loss of a call.
        Act "switchover" [] -> Vec<SwitchedRow>
    },
];

/// A planned switchover.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SwitchedRow {
    switched: bool,
    took_ms: u64,
    /// Requests that were under way still.
    requests_lost: u64,
}

/// Pause between two looks at a switchover.
const LOOK: Duration = Duration::from_millis(5);
/// Longest time for the nodes to change places once nothing is under way.
const CHANGE_MAX: Duration = Duration::from_secs(3);
/// Longest time in which requests inside calls are left unanswered too: their far ends wait so
/// long before they send again (RFC 3261 T1).
const FREEZE_MAX: Duration = Duration::from_millis(400);
/// Longest time for which packets are forwarded that come here though the other node serves.
const LATE_MAX: Duration = Duration::from_millis(1_500);
/// Pause between two looks at those.
const FREEZE_LOOK: Duration = Duration::from_millis(1);

/// A function and its node.
pub struct Paired<F: Function> {
    unit: Arc<Supervised<F>>,
    /// Its place in the pair.
    node: Arc<Node>,
    /// The thread that hands everything over before the process ends.
    leaving: Mutex<Option<JoinHandle<()>>>,
}

/// The node of a function that is one of a pair, for its shards to be started with.
///
/// # Errors
/// A key that cannot be used; an address that cannot be bound.
pub fn node(
    replica: Option<&Replica>,
    shards: u16,
    directory: &Path,
) -> Result<Option<Arc<Node>>, StartError> {
    recalling(replica, shards, directory, None)
}

/// The same of a function whose state outlives its process: how recent that is, if there is one.
///
/// # Errors
/// Those.
pub fn recalling(
    replica: Option<&Replica>,
    shards: u16,
    directory: &Path,
    recalled: Option<Term>,
) -> Result<Option<Arc<Node>>, StartError> {
    let Some(replica) = replica else { return Ok(None) };
    let keys = replica.key_file.as_ref().map(|name| keys::read(directory, name)).transpose();
    let refuse = |error| StartError::Prepare(format!("replica.key_file: {error}"));
    let keys = keys.map_err(refuse)?;
    let node = Node::start_with(replica, keys.as_ref(), shards, recalled);
    let refuse = |error| StartError::Prepare(format!("replica.listen: {error}"));
    Ok(Some(Arc::new(node.map_err(refuse)?)))
}

/// The first key of a pair's section that is another and changes only with a restart.
pub fn fixed(old: Option<&Replica>, new: Option<&Replica>) -> Option<&'static str> {
    let (Some(old), Some(new)) = (old, new) else {
        return (old.is_some() != new.is_some()).then_some("replica");
    };
    first_changed([
        ("replica.pair", old.pair == new.pair),
        ("replica.node", old.node == new.node),
        ("replica.listen", old.listen == new.listen),
        ("replica.key_file", old.key_file == new.key_file),
        ("replica.priority", old.priority == new.priority),
        ("replica.heartbeat_ms", old.heartbeat_ms == new.heartbeat_ms),
        ("replica.detect_ms", old.detect_ms == new.detect_ms),
        ("replica.drain_ms", old.drain_ms == new.drain_ms),
    ])
}

/// The two of them, for who hands over.
struct HandOver<F: Function> {
    unit: Arc<Supervised<F>>,
    node: Arc<Node>,
}

impl<F: Function> HandOver<F> {
    /// Leaves requests unanswered: `nothing`, `beginnings` of calls, all `requests`; how many of
    /// those are under way.
    fn leave(&self, left: &str) -> Result<u64, AskError> {
        let params = [("left".to_owned(), left.to_owned())].into();
        let rows = self.unit.ask(Ask { path: HAND_OVER.into(), params })?;
        let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(rows.iter().filter_map(|row| row["requests"].as_u64()).sum())
    }

    /// Leaves them for so long at most; how many are under way then.
    fn settle(&self, left: &str, most: Duration, look: Duration) -> Result<u64, AskError> {
        let began = Instant::now();
        let mut under_way = self.leave(left)?;
        while under_way > 0 && began.elapsed() < most {
            thread::sleep(look);
            under_way = self.leave(left)?;
        }
        Ok(under_way)
    }

    /// Waits until nothing is under way, then lets the nodes change places.
    fn switch_over(&self) -> Result<Value, AskError> {
        let refuse = |why: &str| Err(AskError::BadParameter(why.into()));
        let standing = self.node.standing();
        if standing.role != Role::Active {
            return refuse("this node is the standby: ask the active one");
        }
        if !standing.is_peer_alive || !standing.is_synced {
            return refuse("the other node is away or does not have everything");
        }
        let began = Instant::now();
        self.settle("beginnings", self.node.drain(), LOOK)?;
        let left = self.settle("requests", FREEZE_MAX, FREEZE_LOOK)?;
        self.node.switch_over();
        let until = Instant::now() + CHANGE_MAX;
        let changed = || {
            let standing = self.node.standing();
            standing.role == Role::Standby && standing.is_peer_active
        };
        while !changed() && Instant::now() < until {
            thread::sleep(FREEZE_LOOK);
        }
        if self.node.standing().role == Role::Active {
            self.leave("nothing")?;
            return refuse("the other node did not take over; this one serves on");
        }
        let took_ms = began.elapsed().as_millis() as u64;
        let row = SwitchedRow { switched: true, took_ms, requests_lost: left };
        Ok(question::value([row]))
    }

    /// Gives everything to the other node, then takes nothing new. A standby that still catches up
    /// is waited for.
    fn go(&self) {
        let waits = || {
            let standing = self.node.standing();
            standing.role == Role::Active && standing.is_peer_alive && !standing.is_synced
        };
        let until = Instant::now() + self.node.drain();
        while waits() && Instant::now() < until {
            thread::sleep(LOOK);
        }
        if self.node.standing().role == Role::Active {
            match self.switch_over() {
                Ok(_) => {
                    tracing::info!(target: "replica", "the other node serves");
                    // A function without packets on their way has none that come late.
                    let _ = self.settle("late", LATE_MAX, LOOK);
                }
                Err(error) => {
                    tracing::warn!(target: "replica", %error, "nobody takes over: draining");
                }
            }
        }
        self.unit.drain();
    }
}

impl<F: Function> Paired<F> {
    /// A function and its node in the pair.
    pub fn new(unit: Arc<Supervised<F>>, node: Arc<Node>) -> Self {
        Self { unit, node, leaving: Mutex::default() }
    }

    fn hand_over(&self) -> HandOver<F> {
        HandOver { unit: Arc::clone(&self.unit), node: Arc::clone(&self.node) }
    }

    fn leaving(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Function> Unit for Paired<F> {
    fn watch(&self, now: Instant) {
        self.unit.watch(now);
    }

    fn account(&self) -> String {
        format!("pair-{}", self.node.pair())
    }

    /// Begins to leave; [`Unit::is_idle`] says when that is done.
    fn drain(&self) {
        let mut leaving = self.leaving();
        if leaving.is_some() {
            return;
        }
        let hand_over = self.hand_over();
        match thread::Builder::new().name("leave".into()).spawn(move || hand_over.go()) {
            Ok(thread) => *leaving = Some(thread),
            Err(error) => {
                tracing::warn!(target: "replica", %error, "no thread to hand over: draining");
                self.unit.drain();
            }
        }
    }

    fn is_idle(&self) -> bool {
        if self.leaving().as_ref().is_some_and(|thread| !thread.is_finished()) {
            return false;
        }
        let standing = self.node.standing();
        let is_standby = standing.role == Role::Standby && !standing.is_handing_over;
        is_standby || self.unit.is_idle()
    }

    fn waits_for(&self) -> &'static str {
        if self.leaving().as_ref().is_some_and(|thread| !thread.is_finished()) {
            return "the other node to take over";
        }
        self.unit.waits_for()
    }

    fn end(&self) {
        self.node.end();
        self.unit.end();
    }
}

impl<F: Function> Managed for Paired<F> {
    fn name(&self) -> String {
        self.unit.name()
    }

    fn kind(&self) -> &'static str {
        self.unit.kind()
    }

    fn state(&self) -> State {
        self.unit.state()
    }

    fn failure(&self) -> Option<String> {
        self.unit.failure()
    }

    fn shards(&self) -> u16 {
        self.unit.shards()
    }

    fn started_at_us(&self) -> u64 {
        self.unit.started_at_us()
    }

    fn ports(&self) -> Vec<PortRow> {
        self.unit.ports()
    }

    fn cells(&self) -> Vec<(u16, Vec<MetricCells>)> {
        let mut cells = self.unit.cells();
        cells.push((0, vec![self.node.cells()]));
        cells
    }

    fn ask(&self, ask: Ask) -> Result<Value, AskError> {
        match ask.path.as_str() {
            "replica" => Ok(question::value([self.node.row()])),
            "track" => Ok(question::value(self.node.tracked())),
            SWITCHOVER => self.hand_over().switch_over(),
            "alarms" => {
                let mut rows: Vec<Value> = self.node.alarms().iter().map(question::value).collect();
                if let Ok(Value::Array(own)) = self.unit.ask(ask) {
                    rows.extend(own);
                }
                Ok(Value::Array(rows))
            }
            _ => self.unit.ask(ask),
        }
    }

    fn questions(&self) -> Vec<Question> {
        self.unit.questions().into_iter().chain(QUESTIONS).collect()
    }
}
