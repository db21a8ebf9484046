//! Provider edge: static configuration of a router, told to the process that forwards.
//!
//! ```text
//!   [[pe]] ── compile ──→ Desired ──→ stack/dataplane ── what differs ──→ forwarder
//! ```
//! The forwarder is another process: when this one dies, packets go on as before. The next one
//! says everything anew under the same numbers, and what it does not say again is removed.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod ask;
mod compile;
pub mod config;
mod metrics;
mod stations;
#[cfg(test)]
mod tests;

pub use ask::questions;
pub use compile::FileRoute;
pub use config::{ForwarderStart, OnExit, Pe};
pub use metrics::Metric;

use dataplane::{Channels, Dataplane, Notification};
use event::Metrics;
use forwarder::Launch;
use machine::Time;
use nodes::program::{MacChange, MacNotice};
use runtime::{
    Answered, Ask, Effects, Flow, Frame, Function, In, Make, PortId, Running, RuntimeError, Seed,
    ShardSpec, Ticket,
};
use stations::Stations;
use std::sync::Arc;

/// The numbers of the channels to the forwarder.
const CHANNELS: Channels = Channels { control: PortId(0), questions: PortId(1) };

/// What the function is started with: its section, the routes of its files, and how a forwarder
/// is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The section.
    pub pe: Pe,
    /// Routes of its files.
    pub routes: Vec<FileRoute>,
    /// How a forwarder is started where none stands, or where it is waited for.
    pub launch: Launch,
}

/// The router's control, as its shard runs it.
pub struct ProviderEdge {
    settings: Arc<Settings>,
    route_counts: ask::RouteCounts,
    dataplane: Dataplane,
    stations: Stations,
    metrics: Metrics<Metric>,
}

impl ProviderEdge {
    /// A control that looks for its forwarder with the first tick.
    #[must_use]
    pub fn new(seed: Seed, settings: Arc<Settings>) -> Self {
        Self {
            dataplane: Dataplane::new(seed.now, settings.launch.clone(), CHANNELS),
            route_counts: ask::route_counts(&settings),
            settings,
            stations: Stations::default(),
            metrics: Metrics::new(),
        }
    }

    /// Tells the forwarder what the settings make of it.
    fn say(&mut self, now: Time, out: &mut Effects) {
        let Settings { pe, routes, .. } = &*self.settings;
        self.dataplane.say(now, out, |numbers| compile::compile(pe, routes, numbers));
    }

    fn note(&mut self, now: Time, notice: MacNotice) {
        let metric = match notice.what {
            MacChange::Moved { .. } => Metric::MacsMoved,
            MacChange::Frozen { .. } => Metric::MacsFrozen,
            MacChange::Thawed => Metric::MacsThawed,
            MacChange::Refused { .. } => Metric::MacsRefused,
        };
        self.metrics.add(metric, 1);
        self.stations.note(now, notice);
    }

    /// Shows what the control of the forwarder has counted.
    fn show(&self) {
        let tally = self.dataplane.tally();
        let (up, down) = self.dataplane.ports();
        let values = [
            (Metric::Adopted, tally.adopted),
            (Metric::Lost, tally.lost),
            (Metric::Programs, tally.programs),
            (Metric::Refused, tally.refused),
            (Metric::Connected, self.dataplane.is_controlled().into()),
            (Metric::PortsUp, up as u64),
            (Metric::PortsDown, down as u64),
            (Metric::WorkersCrashed, tally.workers_crashed),
            (Metric::WorkersHung, tally.workers_hung),
            (Metric::Routes, tally.routes),
        ];
        values.into_iter().for_each(|(metric, value)| self.metrics.set(metric, value));
    }
}

impl Function for ProviderEdge {
    type Config = Settings;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Channel { port, event } => {
                let was_controlled = self.dataplane.is_controlled();
                match self.dataplane.step(now, port, event, out) {
                    Some(Notification::Welcomed) => self.say(now, out),
                    Some(Notification::Mac(notice)) => self.note(now, notice),
                    // No feature that this function uses says anything.
                    Some(Notification::Item(_) | Notification::Refused(_)) | None => {}
                }
                if was_controlled && !self.dataplane.is_controlled() {
                    self.stations = Stations::default();
                }
            }
            In::Drain => self.dataplane.drain(self.settings.pe.on_exit == OnExit::Stop, out),
            _ => {}
        }
        self.show();
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.dataplane.tick(now, out);
        self.show();
    }

    fn deadline(&self) -> Option<Time> {
        self.dataplane.deadline()
    }

    fn configure(&mut self, now: Time, settings: Arc<Settings>, out: &mut Effects) {
        self.route_counts = ask::route_counts(&settings);
        self.settings = settings;
        self.dataplane.launch(self.settings.launch.clone());
        self.say(now, out);
        self.show();
    }

    fn frame(_port: PortId, _buffer: &[u8]) -> Frame {
        Frame::Broken("the router's control has no streams")
    }

    fn steer(_config: &Settings, _flow: &Flow, _bytes: &[u8], _shards: u16) -> Option<u16> {
        Some(0)
    }

    fn ask(&mut self, now: Time, ask: &Ask, _: &mut Effects) -> Answered {
        self.own(now, ask)
    }

    fn question(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        self.answer(now, ask, ticket, out)
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        core::iter::once(self.metrics.cells()).chain(self.dataplane.cells()).collect()
    }
}

/// Starts it. The loop of a shard is compiled here, with this crate's optimisation, not where a
/// site is put together.
///
/// # Errors
/// As [`runtime::start`].
pub fn start(
    spec: ShardSpec,
    config: Arc<Settings>,
    make: Make<ProviderEdge>,
) -> Result<Running<ProviderEdge>, RuntimeError> {
    runtime::start(spec, config, move |seed, config| make(seed, config))
}
