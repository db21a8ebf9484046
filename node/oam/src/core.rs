//! What every part of the management side shares.

use crate::alarm::{Alarms, Change, Condition, Identity};
use crate::exposition::Labelled;
use crate::history::History;
use crate::http::guess::Strangers;
use crate::http::limits::{Limits, STREAMS_MAX, Source};
use crate::log::Levels;
use crate::managed::Registry;
use crate::metrics::{Metrics, OamMetric};
use crate::session::Sessions;
use crate::token::Authenticator;
use config::{Diagnostic, Refused, Store};
use machine::Time;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Name under which the management side's own alarms and metrics stand.
pub const OAM: &str = "oam";

/// Characters of what a stranger wrote that a line of the log repeats.
const OF_CHARACTERS_MAX: usize = 128;

/// Silence of the ticker after which the process counts as stuck, microseconds.
const STUCK_US: u64 = 10_000_000;

/// Says what the text of a site file leaves open to others.
pub type ExposuresFn = dyn Fn(&str) -> Vec<Diagnostic> + Send + Sync;

/// What the process around the API does for it.
pub(crate) struct Hooks {
    /// What a site file leaves open to others.
    pub(crate) exposures: Box<ExposuresFn>,
    /// Takes nothing new, and ends when what runs has ended.
    pub(crate) drain: Box<dyn Fn() + Send + Sync>,
}

/// The shared state. Locks are held briefly and never two at a time, but for the store: a commit
/// holds it while the functions take the new configuration.
pub struct Core {
    /// The site's name.
    pub name: String,
    /// Version of the program.
    pub version: &'static str,
    /// When the process started.
    pub started: Time,
    /// The functions.
    pub registry: Arc<Registry>,
    /// What the management side reports of itself.
    pub metrics: Metrics,
    /// The log levels.
    pub levels: Levels,
    /// Serve `/metrics` without a token.
    pub metrics_open: AtomicBool,
    /// What one peer may take of the API.
    pub limits: Limits,
    /// Where the site is in its life.
    pub phase: Phase,
    /// Last turn of the ticker, microseconds of [`Core::steady`].
    pub ticked_us: AtomicU64,
    pub(crate) authenticator: Authenticator,
    pub(crate) live: watch::Sender<Arc<str>>,
    pub(crate) streams: Arc<tokio::sync::Semaphore>,
    pub(crate) hooks: Hooks,
    store: Arc<Mutex<Store>>,
    alarms: Mutex<Alarms>,
    history: Mutex<History>,
    sessions: Mutex<Sessions>,
    strangers: Mutex<Strangers>,
    hosts: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panicking thread left behind is whole: every change is a single call.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a site is in its life: it starts, serves, and drains.
#[derive(Debug, Default)]
pub struct Phase(AtomicU8);

impl Phase {
    const SERVING: u8 = 1;
    const DRAINING: u8 = 2;

    /// It has started.
    pub fn serve(&self) {
        self.0.store(Self::SERVING, Relaxed);
    }

    /// It finishes what runs and takes nothing new.
    pub fn drain(&self) {
        self.0.store(Self::DRAINING, Relaxed);
    }

    /// Whether it has started and does not drain.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.0.load(Relaxed) == Self::SERVING
    }

    /// Whether it drains.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.load(Relaxed) == Self::DRAINING
    }
}

/// What [`Core::new`] needs.
pub(crate) struct Parts {
    pub name: String,
    pub version: &'static str,
    pub registry: Arc<Registry>,
    pub store: Arc<Mutex<Store>>,
    pub levels: Levels,
    pub authenticator: Authenticator,
    pub metrics_open: bool,
    pub hosts: Vec<String>,
    pub limits: Limits,
    pub exposures: Box<ExposuresFn>,
    pub drain: Box<dyn Fn() + Send + Sync>,
}

impl Core {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            name: parts.name,
            version: parts.version,
            started: crate::clock::now(),
            registry: parts.registry,
            metrics: Metrics::default(),
            levels: parts.levels,
            metrics_open: AtomicBool::new(parts.metrics_open),
            limits: parts.limits,
            phase: Phase::default(),
            ticked_us: AtomicU64::new(crate::clock::steady().as_micros()),
            authenticator: parts.authenticator,
            live: watch::Sender::new(Arc::from("{}")),
            streams: Arc::new(tokio::sync::Semaphore::new(STREAMS_MAX)),
            hooks: Hooks { exposures: parts.exposures, drain: parts.drain },
            store: parts.store,
            alarms: Mutex::default(),
            history: Mutex::default(),
            sessions: Mutex::default(),
            strangers: Mutex::default(),
            hosts: Mutex::new(parts.hosts),
        }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        crate::clock::now()
    }

    /// Both times, as a change of the configuration needs them.
    #[must_use]
    pub fn moment(&self) -> config::Moment {
        config::Moment { wall: self.now(), steady: self.steady() }
    }

    /// The time for deadlines: it only moves forward, whatever happens to the clock on the wall.
    #[must_use]
    pub fn steady(&self) -> Time {
        crate::clock::steady()
    }

    /// The configuration.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    /// Makes the site file run as it is now, however it came to be so; says in the log what
    /// hinders, and then everything stays as it is. `by` is who wants it.
    pub fn reload(&self, by: &str) {
        let reloaded = self.store().reload(self.moment(), Some(by));
        match reloaded {
            Ok(revision) => {
                self.metrics.add(OamMetric::Committed, 1);
                tracing::info!(target: "config", revision, by, "the site file was read again");
            }
            Err(Refused::Unchanged) => {
                tracing::info!(target: "config", by, "the site file is what runs");
            }
            Err(refused) => {
                self.metrics.add(OamMetric::CommitRefused, 1);
                if let Refused::Invalid(found) = &refused {
                    for Diagnostic { line, column, path, what, hint, .. } in found {
                        tracing::error!(target: "config", line, column, path, hint, "{what}");
                    }
                }
                let what = "the site file is not taken, what ran runs on";
                tracing::error!(target: "config", by, %refused, "{what}");
            }
        }
    }

    /// The last hour.
    pub fn history(&self) -> MutexGuard<'_, History> {
        lock(&self.history)
    }

    /// The sessions of the console.
    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        lock(&self.sessions)
    }

    /// Whether a source that sent a wrong token may be answered as usual; counts it.
    pub(crate) fn may_guess(&self, source: Source) -> bool {
        lock(&self.strangers).guesses.take(self.steady(), source)
    }

    /// Says in the log that a request was refused of which no token says whose it was. What comes
    /// too often is counted in the next line.
    pub(crate) fn log_refused(&self, source: Option<Source>, status: u16, of: &str) {
        let unsaid = lock(&self.strangers).lines.take(self.steady(), source);
        let Some(unsaid) = unsaid else { return };
        let source = source.map(|source| source.to_string()).unwrap_or_default();
        let of: String = of.chars().take(OF_CHARACTERS_MAX).collect();
        tracing::warn!(target: "audit", source, status, of, unsaid, "refused");
    }

    /// Whether a name of the `Host` header is one of ours.
    #[must_use]
    pub fn is_own_name(&self, name: &str) -> bool {
        lock(&self.hosts).iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    pub(crate) fn set_hosts(&self, hosts: Vec<String>) {
        *lock(&self.hosts) = hosts;
    }

    /// The alarms, to read.
    pub fn alarms(&self) -> MutexGuard<'_, Alarms> {
        lock(&self.alarms)
    }

    /// Raises an alarm of the site itself or of a function.
    pub fn raise(&self, function: &str, condition: Condition) {
        let change = self.alarms().raise(self.now(), function, condition);
        self.note(change);
    }

    /// Clears an alarm.
    pub fn clear(&self, function: &str, name: &str, subject: &str) {
        let identity = Identity {
            function: function.to_owned(),
            name: name.to_owned(),
            subject: subject.to_owned(),
        };
        let change = self.alarms().clear(self.now(), &identity);
        self.note(change);
    }

    /// Takes the whole list of a reporter's conditions.
    pub(crate) fn report(&self, function: &str, found: Vec<Condition>) {
        let changes = self.alarms().report(self.now(), function, found);
        self.note(changes);
    }

    fn note(&self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            match change {
                Change::Raised(alarm) => {
                    self.metrics.add(OamMetric::AlarmRaised, 1);
                    tracing::warn!(
                        target: "alarm", id = alarm.id, severity = ?alarm.severity,
                        function = alarm.function, name = alarm.name, subject = alarm.subject,
                        "raised: {}", alarm.text
                    );
                }
                Change::Cleared(alarm) => {
                    self.metrics.add(OamMetric::AlarmCleared, 1);
                    tracing::info!(
                        target: "alarm", id = alarm.id, function = alarm.function,
                        name = alarm.name, subject = alarm.subject, "cleared: {}", alarm.text
                    );
                }
                Change::Shed(identity) => {
                    self.metrics.add(OamMetric::AlarmShed, 1);
                    tracing::error!(target: "alarm", ?identity, "the list of alarms is full");
                }
            }
        }
        let (standing, kinds) = {
            let alarms = self.alarms();
            (alarms.standing(), alarms.kinds())
        };
        self.metrics.show_alarms(&kinds);
        let active = standing.critical + standing.major + standing.minor + standing.warning;
        self.metrics.set(OamMetric::AlarmsActive, active);
    }

    /// The cells of everything.
    #[must_use]
    pub fn metrics(&self) -> Vec<Labelled> {
        let own = |cells| Labelled { function: OAM.into(), shard: 0, cells };
        let mut metrics: Vec<Labelled> = self.metrics.cells().map(own).into();
        for function in self.registry.functions() {
            let name = function.name();
            for (shard, cells) in function.cells() {
                let labelled = |cells| Labelled { function: name.clone(), shard, cells };
                metrics.extend(cells.into_iter().map(labelled));
            }
        }
        metrics
    }

    /// Whether the ticker still turns, and no function hangs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let now_us = self.steady().as_micros();
        let turns = now_us.saturating_sub(self.ticked_us.load(Relaxed)) < STUCK_US;
        turns && !self.registry.functions().iter().any(|function| function.hung())
    }

    /// Whether the site serves: started, not draining, every function running.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let running = |f: &Arc<dyn crate::Managed>| f.state() == crate::State::Running;
        self.phase.is_serving() && self.registry.functions().iter().all(running)
    }
}
