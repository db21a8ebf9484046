//! What happens every second: the history grows, streams get their pulse, functions are asked for
//! alarms, an unconfirmed commit is taken back.

use crate::alarm::{Condition, Severity, Standing};
use crate::core::{Core, OAM};
use crate::metrics::OamMetric;
use crate::{Managed, State};
use config::Passed;
use event::Kind;
use runtime::Ask;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use utoipa::ToSchema;

/// Pause between two looks at the clock.
const LOOK: Duration = Duration::from_millis(200);
/// Alarms that one function may report at a time.
const CONDITIONS_MAX: usize = 500;

/// The two threads of the ticker; they end when `stop` is set.
pub(crate) fn start(
    core: &Arc<Core>,
    stop: &Arc<AtomicBool>,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let thread = |name: &str, work: fn(&Core)| {
        let (core, stop) = (Arc::clone(core), Arc::clone(stop));
        thread::Builder::new().name(name.into()).spawn(move || every_second(&core, &stop, work))
    };
    let (one, two) = (thread("oam-second", second)?, thread("oam-alarms", poll_alarms)?);
    let (core, stop) = (Arc::clone(core), Arc::clone(stop));
    let store = thread::Builder::new().name("oam-config".into()).spawn(move || {
        while !stop.load(Relaxed) {
            thread::sleep(LOOK);
            watch_store(&core);
        }
    })?;
    Ok(vec![one, two, store])
}

fn every_second(core: &Core, stop: &AtomicBool, work: fn(&Core)) {
    let mut done = 0;
    while !stop.load(Relaxed) {
        let second = core.now().as_millis() / 1_000;
        if second != done {
            done = second;
            work(core);
        }
        thread::sleep(LOOK);
    }
}

fn second(core: &Core) {
    let metrics = core.metrics();
    core.history().record(core.now().as_millis() / 1_000, &metrics);
    core.live.send_replace(Arc::from(serde_json::to_string(&pulse(core)).unwrap_or_default()));
    core.ticked_us.store(core.steady().as_micros(), Relaxed);
}

/// One message of the live stream.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Pulse {
    /// When, microseconds since the UNIX epoch.
    at_us: u64,
    /// What was counted in the last second, by metric.
    rates: BTreeMap<String, f64>,
    /// Gauges, by metric.
    gauges: BTreeMap<String, f64>,
    /// How many alarms stand, by severity.
    alarms: Standing,
    /// The functions.
    functions: Vec<PulseFunction>,
}

/// A function, as the live stream has it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PulseFunction {
    /// Its name.
    name: String,
    /// What it is.
    kind: &'static str,
    /// Where it is in its life.
    state: State,
}

fn pulse(core: &Core) -> Pulse {
    let (rates, gauges) = {
        let history = core.history();
        let mut rates = history.newest(Kind::Counter);
        rates.extend(history.newest(Kind::Histogram));
        (rates, history.newest(Kind::Gauge))
    };
    let function =
        |f: &Arc<dyn Managed>| PulseFunction { name: f.name(), kind: f.kind(), state: f.state() };
    let functions = core.registry.functions().iter().map(function).collect();
    let (at_us, alarms) = (core.now().as_micros(), core.alarms().standing());
    Pulse { at_us, rates, gauges, alarms, functions }
}

fn poll_alarms(core: &Core) {
    let functions = core.registry.functions();
    for function in &functions {
        let name = function.name();
        match function.state() {
            State::Failed => core.report(&name, vec![failed(&name, function.failure())]),
            State::Running | State::Draining => {
                let ask = Ask { path: "alarms".into(), ..Ask::default() };
                // Who does not answer keeps the alarms that stand; its state says the rest.
                if let Ok(answer) = function.ask(ask) {
                    core.report(&name, conditions(&name, answer));
                }
            }
            State::Starting => {}
        }
    }
    clear_gone(core, &functions);
}

/// A function that a commit removed has no alarms any more.
fn clear_gone(core: &Core, functions: &[Arc<dyn Managed>]) {
    let known: Vec<String> = functions.iter().map(|function| function.name()).collect();
    let mut gone: Vec<String> = core.alarms().list(false).into_iter().map(|a| a.function).collect();
    gone.retain(|name| name != OAM && !known.contains(name));
    gone.dedup();
    for name in gone {
        core.report(&name, Vec::new());
    }
}

fn conditions(function: &str, answer: serde_json::Value) -> Vec<Condition> {
    let serde_json::Value::Array(rows) = answer else { return Vec::new() };
    let read = |row| match serde_json::from_value::<Condition>(row) {
        Ok(condition) => Some(condition),
        Err(error) => {
            tracing::debug!(function, %error, "a reported alarm cannot be read");
            None
        }
    };
    rows.into_iter().take(CONDITIONS_MAX).filter_map(read).collect()
}

fn failed(name: &str, why: Option<String>) -> Condition {
    let why = why.unwrap_or_else(|| "it does not run".into());
    Condition {
        name: "function-failed".into(),
        subject: name.into(),
        severity: Severity::Critical,
        text: format!("{name} has failed: {why}"),
        probable_cause: "softwareProgramAbnormallyTerminated".into(),
        starting: false,
    }
}

fn watch_store(core: &Core) {
    let mut store = core.store();
    let passed = store.tick(core.moment());
    let (revision, pending) = (store.running().revision, store.pending());
    drop(store);
    core.metrics.set(OamMetric::Revision, revision);
    match passed {
        Passed::Nothing => {}
        Passed::RolledBack(revision) => {
            core.metrics.add(OamMetric::RolledBack, 1);
            core.clear(OAM, "config-rollback-failed", "");
            tracing::warn!(target: "config", revision, "nobody confirmed: the backup runs again");
        }
        Passed::RollbackFailed(refused) => {
            let text = format!("nobody confirmed, and the backup does not run: {refused}");
            core.raise(OAM, condition("config-rollback-failed", Severity::Major, text));
        }
    }
    match pending {
        Some(pending) => {
            let text = format!(
                "revision {revision} waits for its confirmation; else revision {} runs again",
                pending.back_to
            );
            let identity = core.alarms().stands(OAM, "config-confirm-pending", "");
            if !identity {
                let warning = condition("config-confirm-pending", Severity::Warning, text);
                core.raise(OAM, warning);
            }
        }
        None => {
            core.clear(OAM, "config-confirm-pending", "");
            core.clear(OAM, "config-rollback-failed", "");
        }
    }
}

fn condition(name: &str, severity: Severity, text: String) -> Condition {
    Condition {
        name: name.into(),
        subject: String::new(),
        severity,
        text,
        probable_cause: "configurationOrCustomizationError".into(),
        starting: false,
    }
}
