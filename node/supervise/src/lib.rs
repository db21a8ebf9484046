//! A function under supervision: started again when a shard crashes, a little later each time.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

use oam::{Managed, PortRow, State};
use policing::kernel::FilterRef;
use question::{Condition, Question};
use runtime::{
    Ask, AskError, Crashes, Function, Make, PortSpec, Running, RuntimeError, Seed, ShardSpec,
    ShardState, Transport,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Pause before the second new start, the first comes at once; doubles with each failure …
const BACKOFF: Duration = Duration::from_millis(500);
/// … up to this.
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// New starts without a stable time between them; then an operator must look.
const RESTARTS_MAX: u32 = 10;
/// A shard that does not come back from a turn for this long hangs.
const HUNG: machine::Duration = machine::Duration::from_secs(5);
/// The alarm of a shard that crashed stands this long.
const CRASH_SHOWN: Duration = Duration::from_secs(600);
/// A function that ran this long is stable: its failures are forgotten.
const STABLE: Duration = Duration::from_secs(600);

/// A function of a site, whatever it is.
pub trait Unit: Managed {
    /// Looks after it: a crashed function is started again when its pause is over.
    fn watch(&self, now: Instant);

    /// The name under which it draws sessions from the pool; the nodes of a pair have one.
    fn account(&self) -> String {
        self.name()
    }

    /// Tells it to finish what runs and take nothing new.
    fn drain(&self);

    /// Whether nothing runs any more.
    fn is_idle(&self) -> bool;

    /// What it waits for after [`Unit::drain`], in words.
    fn waits_for(&self) -> &'static str;

    /// Ends it at once.
    fn end(&self);
}

/// The question that makes any function read its certificates again.
pub const RELOADS: Question = question::question! {
    /// Reads keys, passwords and certificates again.
    ///
    /// Connections stay with what they have. A file that cannot be used changes nothing.
    Act "certificates/reload" [] -> Vec<Reloaded>
};
/// The question for what is wrong.
const ALARMS: &str = "alarms";
/// The question that the kernel's part of a shield has a row for.
const SHIELD: &str = "shield";

/// A function that has read its files again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reloaded {
    /// Its name.
    pub function: String,
    /// Its ports with TLS.
    pub ports: usize,
    /// Whether its keys and passwords are other ones now.
    pub other_keys: bool,
}

/// What must stand before each start of a function; says why if it does not.
pub type Prepare = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What the files of a function hold now: its configuration and its ports, and whether that is
/// another configuration than the one given.
pub type Reread<F> = dyn Fn(&<F as Function>::Config) -> Result<Read<F>, String> + Send + Sync;

/// What was read again.
pub struct Read<F: Function> {
    /// The configuration.
    pub config: F::Config,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    /// Whether the configuration is another one.
    pub is_new: bool,
}

/// Starts the shards of a function: its crate's own `start`.
pub type Start<F> =
    fn(ShardSpec, Arc<<F as Function>::Config>, Make<F>) -> Result<Running<F>, RuntimeError>;

/// One function and its shards.
pub struct Supervised<F: Function> {
    kind: &'static str,
    questions: Vec<Question>,
    prepare: Prepare,
    starter: Starter<F>,
    reread: OnceLock<Box<Reread<F>>>,
    life: Mutex<Life<F>>,
}

/// What each start of a function calls.
struct Starter<F: Function> {
    make: Make<F>,
    start: Start<F>,
}

/// What a function is, beside its configuration.
pub struct FunctionKind {
    /// Its kind: `ssc`.
    pub kind: &'static str,
    /// What may be asked of it; [`RELOADS`] comes with its supervision.
    pub questions: Vec<Question>,
    /// What must stand before each start.
    pub prepare: Prepare,
}

impl FunctionKind {
    /// A function that stands on nothing but its ports.
    pub fn new(kind: &'static str, questions: Vec<Question>) -> Self {
        Self { kind, questions, prepare: Box::new(|| Ok(())) }
    }
}

/// Why a function does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The runtime refuses.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// What it stands on does not.
    #[error("{0}")]
    Prepare(String),
}

struct Life<F: Function> {
    spec: ShardSpec,
    config: Arc<F::Config>,
    running: Option<Arc<Running<F>>>,
    started_at_us: u64,
    started: Instant,
    draining: bool,
    failure: Option<Failure>,
}

#[derive(Debug, Clone)]
struct Failure {
    why: String,
    restarts: u32,
    /// `None`: no more attempts.
    next: Option<Instant>,
}

impl<F: Function> Supervised<F> {
    /// Starts a function. `make` makes that of a shard, `start` is its crate's own.
    ///
    /// # Errors
    /// As [`runtime::start`], and what hinders its preparation.
    pub fn start(
        kind: FunctionKind,
        spec: ShardSpec,
        config: Arc<F::Config>,
        make: impl Fn(Seed, Arc<F::Config>) -> F + Send + Sync + 'static,
        start: Start<F>,
    ) -> Result<Self, StartError> {
        let starter = Starter { make: Arc::new(make), start };
        let FunctionKind { kind, mut questions, prepare } = kind;
        questions.push(RELOADS);
        let running = Some(Arc::new(launch(&prepare, &spec, &config, &starter)?));
        let life = Mutex::new(Life {
            spec,
            config,
            running,
            started_at_us: oam::clock::now().as_micros(),
            started: Instant::now(),
            draining: false,
            failure: None,
        });
        Ok(Self { kind, questions, prepare, starter, reread: OnceLock::new(), life })
    }

    fn life(&self) -> MutexGuard<'_, Life<F>> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> Option<Arc<Running<F>>> {
        self.life().running.clone()
    }

    fn kernel_filter(&self) -> Option<FilterRef> {
        self.life().spec.kernel_filter.clone()
    }

    /// What it runs with now.
    pub fn present(&self) -> (Arc<F::Config>, ShardSpec) {
        let life = self.life();
        (Arc::clone(&life.config), life.spec.clone())
    }

    /// Says once how the files that the configuration names are read again.
    pub fn reread_by(&self, reread: Box<Reread<F>>) {
        let _ = self.reread.set(reread);
    }

    /// Reads keys, passwords and certificates again: connections stay with what they have, the next
    /// handshake uses the new ones. A file that cannot be used changes nothing.
    fn reload(&self) -> Result<serde_json::Value, AskError> {
        let (before, spec) = self.present();
        let (mut config, mut ports, mut is_new) = (Arc::clone(&before), spec.ports, false);
        if let Some(reread) = self.reread.get() {
            let read = reread(&config).map_err(AskError::BadParameter)?;
            (config, ports, is_new) = (Arc::new(read.config), read.ports, read.is_new);
        }
        let with_tls = ports.iter().filter(|port| port.transport() == Transport::Tls).count();
        let mut life = self.life();
        // A commit came while the files were read: what they were read for is no longer what runs.
        if !Arc::ptr_eq(&life.config, &before) {
            let what = "the configuration changed meanwhile: do it again";
            return Err(AskError::BadParameter(what.to_owned()));
        }
        let done = life.configure(config, ports);
        done.map_err(|error| AskError::BadParameter(error.to_string()))?;
        let row = Reloaded { function: spec.name, ports: with_tls, other_keys: is_new };
        Ok(question::value([row]))
    }

    /// Takes a new configuration without a restart.
    ///
    /// # Errors
    /// As [`Running::configure`]; what ran runs on then.
    pub fn configure(
        &self,
        config: Arc<F::Config>,
        ports: Vec<PortSpec>,
    ) -> Result<(), RuntimeError> {
        self.life().configure(config, ports)
    }
}

impl<F: Function> Life<F> {
    fn configure(
        &mut self,
        config: Arc<F::Config>,
        ports: Vec<PortSpec>,
    ) -> Result<(), RuntimeError> {
        let running = self.running.clone().ok_or(RuntimeError::Failed)?;
        running.configure(Arc::clone(&config), ports.clone())?;
        self.config = config;
        self.spec.ports = ports;
        Ok(())
    }
}

fn launch<F: Function>(
    prepare: &Prepare,
    spec: &ShardSpec,
    config: &Arc<F::Config>,
    starter: &Starter<F>,
) -> Result<Running<F>, StartError> {
    prepare().map_err(StartError::Prepare)?;
    Ok((starter.start)(spec.clone(), Arc::clone(config), Arc::clone(&starter.make))?)
}

impl<F: Function> Life<F> {
    /// Notes a failure and when to try again.
    fn fail(&mut self, now: Instant, why: String) {
        let stable = now.duration_since(self.started) >= STABLE;
        let restarts = match &self.failure {
            Some(failure) if !stable => failure.restarts + 1,
            _ => 0,
        };
        let pause = match restarts {
            0 => Duration::ZERO,
            again => BACKOFF.saturating_mul(1 << (again - 1).min(16)).min(BACKOFF_MAX),
        };
        let next = (restarts < RESTARTS_MAX).then(|| now + pause);
        let name = &self.spec.name;
        tracing::error!(target: "site", function = name, why, restarts, ?pause, "function failed");
        self.failure = Some(Failure { why, restarts, next });
        self.running = None;
    }

    fn is_due(&self, now: Instant) -> bool {
        let next = self.failure.as_ref().and_then(|failure| failure.next);
        self.running.is_none() && next.is_some_and(|next| next <= now)
    }
}

impl<F: Function> Unit for Supervised<F> {
    fn watch(&self, now: Instant) {
        let mut life = self.life();
        if let Some(running) = life.running.clone() {
            let failures = running.failures();
            if let Some((shard, why)) = failures.into_iter().next() {
                life.fail(now, format!("shard {shard}: {why}"));
            }
        }
        if life.draining || !life.is_due(now) {
            return;
        }
        match launch(&self.prepare, &life.spec, &life.config, &self.starter) {
            Ok(running) => {
                tracing::info!(target: "site", function = life.spec.name, "started again");
                life.running = Some(Arc::new(running));
                life.started = now;
                life.started_at_us = oam::clock::now().as_micros();
            }
            Err(error) => life.fail(now, error.to_string()),
        }
    }

    fn drain(&self) {
        let mut life = self.life();
        life.draining = true;
        if let Some(running) = &life.running {
            running.drain();
        }
    }

    fn is_idle(&self) -> bool {
        self.running().is_none_or(|running| running.is_idle())
    }

    fn waits_for(&self) -> &'static str {
        self.running().map_or("", |running| running.waits_for())
    }

    fn end(&self) {
        let (running, filter) = {
            let mut life = self.life();
            life.draining = true;
            (life.running.take(), life.spec.kernel_filter.take())
        };
        drop(running);
        if let Some(FilterRef(filter)) = filter {
            filter.close();
        }
    }
}

impl<F: Function> Managed for Supervised<F> {
    fn name(&self) -> String {
        self.life().spec.name.clone()
    }

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn state(&self) -> State {
        let life = self.life();
        let Some(running) = &life.running else {
            return if life.draining { State::Draining } else { State::Failed };
        };
        let states = running.states();
        if states.contains(&ShardState::Failed) {
            State::Failed
        } else if states.contains(&ShardState::Starting) {
            State::Starting
        } else if life.draining {
            State::Draining
        } else {
            State::Running
        }
    }

    fn failure(&self) -> Option<String> {
        let life = self.life();
        let failure = life.failure.as_ref()?;
        Some(match failure.next {
            Some(_) => format!("{}; it is started again", failure.why),
            None => format!("{}; given up after {RESTARTS_MAX} restarts", failure.why),
        })
    }

    fn hung(&self) -> bool {
        self.running().is_some_and(|running| !running.hung(HUNG).is_empty())
    }

    fn shards(&self) -> u16 {
        self.life().spec.shards
    }

    fn started_at_us(&self) -> u64 {
        self.life().started_at_us
    }

    fn ports(&self) -> Vec<PortRow> {
        let Some(running) = self.running() else { return Vec::new() };
        let accepting = running.ports().into_iter().filter(|(spec, _)| spec.listens());
        accepting
            .map(|(spec, local)| PortRow {
                name: spec.name.clone(),
                transport: format!("{:?}", spec.transport()).to_lowercase(),
                address: local.to_string(),
            })
            .collect()
    }

    fn cells(&self) -> Vec<(u16, Vec<event::MetricCells>)> {
        let Some(running) = self.running() else { return Vec::new() };
        let mut cells = running.cells();
        cells.extend(running.port_cells());
        cells.extend(self.kernel_filter().map(|FilterRef(filter)| (0, vec![filter.cells()])));
        cells
    }

    fn ask(&self, ask: Ask) -> Result<serde_json::Value, AskError> {
        if ask.path == RELOADS.path {
            return self.reload();
        }
        let filter = self.kernel_filter().filter(|_| ask.path == SHIELD);
        let running = self.running().ok_or(AskError::Unreachable)?;
        if ask.path == ALARMS {
            return alarms(&self.name(), &running, ask);
        }
        let mut answer = running.ask(ask)?;
        if let (Some(FilterRef(filter)), Some(rows)) = (filter, answer.as_array_mut()) {
            rows.extend(filter.row().map(question::value));
        }
        Ok(answer)
    }

    fn questions(&self) -> Vec<Question> {
        self.questions.clone()
    }
}

/// What is wrong with a function by its own account, and with its shards. Those that hang are not
/// asked: they would not answer.
fn alarms<F: Function>(
    name: &str,
    running: &Running<F>,
    ask: Ask,
) -> Result<serde_json::Value, AskError> {
    let row = |alarm: &str, subject: &dyn Display, severity: &str, text: String| {
        let row = Condition::new(alarm, format!("{name}/{subject}"), severity, text);
        question::value(row.caused_by("softwareProgramAbnormallyTerminated"))
    };
    let hung = running.hung(HUNG);
    let answer = match running.ask_without(&hung, ask) {
        Err(_) if !hung.is_empty() => serde_json::Value::Null,
        answer => answer?,
    };
    let mut rows = answer.as_array().cloned().unwrap_or_default();
    for shard in hung {
        let text = format!("shard {shard} of {name} has not come back from its work for 5 s");
        rows.push(row("shard-hung", &shard, "critical", text));
    }
    for (shard, crashes) in running.crashes() {
        if let Some(text) = crash(&format!("shard {shard} of {name}"), crashes) {
            rows.push(row("shard-crashed", &shard, "major", text));
        }
    }
    for (helper, crashes) in running.helper_crashes() {
        if let Some(text) = crash(&format!("the thread {name}/{helper}"), crashes) {
            rows.push(row("helper-crashed", &helper, "major", text));
        }
    }
    Ok(rows.into())
}

/// What the alarm of a crash says, as long as it shows.
fn crash(what: &str, crashes: Crashes) -> Option<String> {
    let (_, why) = crashes.last.filter(|(at, _)| at.elapsed() < CRASH_SHOWN)?;
    let times = match crashes.count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    Some(format!("{what} crashed and began anew, {times} since its start: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Time;
    use runtime::{Effects, Flow, Frame, In, PortId};
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Crashes when it is asked to.
    struct Glass;

    impl Function for Glass {
        type Config = u32;
        fn step(&mut self, _: Time, _: In<'_>, _: &mut Effects) {}
        fn tick(&mut self, _: Time, _: &mut Effects) {}
        fn deadline(&self) -> Option<Time> {
            None
        }
        fn configure(&mut self, _: Time, _: Arc<u32>, _: &mut Effects) {}
        fn frame(_: PortId, buffer: &[u8]) -> Frame {
            Frame::Message(buffer.len())
        }
        fn steer(_: &u32, _: &Flow, _: &[u8], _: u16) -> Option<u16> {
            None
        }
        fn ask(&mut self, _: Time, ask: &Ask, _: &mut Effects) -> Result<Value, AskError> {
            assert_ne!(ask.path, "break", "it was told to");
            Ok(json!([]))
        }
        fn is_idle(&self) -> bool {
            true
        }
        fn cells(&self) -> Vec<event::MetricCells> {
            Vec::new()
        }
    }

    fn glass(starts: &Arc<AtomicU32>, refuse_from: u32) -> Supervised<Glass> {
        let (starts, started) = (Arc::clone(starts), Arc::clone(starts));
        let prepare = Box::new(move || {
            let start = starts.fetch_add(1, Relaxed);
            if start >= refuse_from { Err("no more glasses".to_owned()) } else { Ok(()) }
        });
        let kind = FunctionKind { prepare, ..FunctionKind::new("glass", Vec::new()) };
        let spec = ShardSpec { name: "glass1".into(), ..ShardSpec::default() };
        // Each start makes one: a shard that crashes cannot begin anew by itself.
        let made = AtomicU32::new(0);
        let make = move |_, _| {
            assert!(made.load(Relaxed) < started.load(Relaxed), "no other glass");
            made.fetch_add(1, Relaxed);
            Glass
        };
        let start: Start<Glass> = |spec, config, make| {
            runtime::start(spec, config, move |seed, config| make(seed, config))
        };
        Supervised::start(kind, spec, Arc::new(0), make, start).unwrap()
    }

    fn shatter(unit: &Supervised<Glass>) {
        let _ = unit.ask(Ask { path: "break".into(), ..Ask::default() });
        let until = Instant::now() + Duration::from_secs(60);
        while unit.state() != State::Failed {
            assert!(Instant::now() < until, "the crash is not seen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_crashed_function_is_started_again_at_once_and_then_after_its_pause() {
        let starts = Arc::new(AtomicU32::new(0));
        let unit = glass(&starts, u32::MAX);
        assert_eq!((unit.state(), starts.load(Relaxed)), (State::Running, 1));
        shatter(&unit);
        unit.watch(Instant::now());
        assert_eq!((unit.state(), starts.load(Relaxed)), (State::Running, 2), "at once");
        shatter(&unit);
        let now = Instant::now();
        unit.watch(now);
        assert!(unit.failure().unwrap().contains("it was told to"), "{:?}", unit.failure());
        unit.watch(now + BACKOFF / 2);
        assert_eq!((unit.state(), starts.load(Relaxed)), (State::Failed, 2), "not yet");
        unit.watch(now + BACKOFF);
        assert_eq!((unit.state(), starts.load(Relaxed)), (State::Running, 3));
        assert_eq!(unit.ask(Ask::default()), Ok(json!([])));
    }

    #[test]
    fn the_pause_doubles_and_restarts_are_limited() {
        let starts = Arc::new(AtomicU32::new(0));
        let unit = glass(&starts, 1);
        shatter(&unit);
        let mut now = Instant::now();
        unit.watch(now);
        let mut pauses = Vec::new();
        for _ in 1..RESTARTS_MAX {
            let before = starts.load(Relaxed);
            let mut pause = Duration::ZERO;
            while starts.load(Relaxed) == before {
                pause += BACKOFF;
                assert!(pause <= BACKOFF_MAX, "it is tried again within the longest pause");
                unit.watch(now + pause);
            }
            now += pause;
            pauses.push(pause.as_millis());
        }
        assert_eq!(pauses[..4], [500, 1_000, 2_000, 4_000]);
        assert_eq!(pauses[8], BACKOFF_MAX.as_millis());
        unit.watch(now + STABLE);
        assert_eq!(starts.load(Relaxed), 1 + RESTARTS_MAX, "then an operator must look");
        assert!(unit.failure().unwrap().contains("given up"), "{:?}", unit.failure());
    }

    #[test]
    fn a_function_that_ended_is_not_started_again() {
        let starts = Arc::new(AtomicU32::new(0));
        let unit = glass(&starts, u32::MAX);
        unit.drain();
        assert_eq!(unit.state(), State::Draining);
        unit.end();
        unit.watch(Instant::now() + STABLE);
        assert_eq!((starts.load(Relaxed), unit.is_idle()), (1, true));
    }
}
