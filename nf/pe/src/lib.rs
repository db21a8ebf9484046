//! Provider edge: what a section says of a router, and what OSPF, IS-IS, LDP and BGP learn, told to
//! the process that forwards.
//!
//! ```text
//!   [[pe]] ── compile ──→ Desired ──→ stack/dataplane ── what differs ──→ forwarder
//!   [pe.ospf], [pe.isis] ── stack/igp ─┬→ learnt ─↑ routes, labels      packet channels ↕
//!   [pe.ldp] ── stack/ldp ── labelled ─┤
//!   [pe.bgp] ── stack/bgp ── peering ──┘
//! ```
//! The forwarder is another process: when this one dies, packets go on as before. The next one
//! says everything anew under the same numbers, and what it does not say again is removed.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod ask;
mod compile;
pub mod config;
mod hops;
mod labelled;
mod leading;
mod learnt;
mod links;
mod metrics;
mod peering;
mod stations;
#[cfg(test)]
mod tests;

pub use ask::questions;
pub use compile::FileRoute;
pub use config::{ForwarderStart, OnExit, Pe};
pub use metrics::Metric;
pub use peering::Metric as BgpMetric;

use compile::Beside;
use dataplane::{Channels, Dataplane, Notification};
use event::Metrics;
use forwarder::Launch;
use labelled::LABELS_CHANNEL;
use learnt::{IGP_CHANNEL, Learnt, Programmed};
use machine::Time;
use nodes::program::{MacChange, MacNotice};
use peering::BGP_CHANNEL;
use runtime::{
    Answered, Ask, ChannelEvent, Effects, Flow, Frame, Function, In, Make, PortId, Running,
    RuntimeError, Seed, ShardSpec, Ticket,
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
    /// The keys of OSPF, by their files.
    pub ospf_keys: igp::config::KeyChains,
    /// The keys of IS-IS, by their files.
    pub isis_keys: igp::config::KeyChains,
    /// The keys of BFD, by their files.
    pub bfd_keys: igp::config::BfdKeys,
    /// How a forwarder is started where none stands, or where it is waited for.
    pub launch: Launch,
}

/// The router's control, as its shard runs it.
pub struct ProviderEdge {
    settings: Arc<Settings>,
    route_counts: ask::RouteCounts,
    dataplane: Dataplane,
    learnt: Learnt,
    stations: Stations,
    metrics: Metrics<Metric>,
}

impl ProviderEdge {
    /// A control that looks for its forwarder with the first tick.
    #[must_use]
    pub fn new(seed: Seed, settings: Arc<Settings>) -> Self {
        Self {
            dataplane: Dataplane::new(seed.now, settings.launch.clone(), CHANNELS),
            learnt: Learnt::new(&seed),
            route_counts: ask::route_counts(&settings),
            settings,
            stations: Stations::default(),
            metrics: Metrics::new(),
        }
    }

    /// Tells the forwarder what the settings and the protocols make of it.
    fn say(&mut self, now: Time, out: &mut Effects) {
        let settings = &*self.settings;
        if !learnt::is_wanted(&settings.pe) {
            // Its routes go with what is said.
            self.learnt.configure(now, settings, &mut self.dataplane, out);
        }
        let learnt = Some(&self.learnt);
        let beside =
            Beside { routes: &settings.routes, learnt, keeps_numbers: self.learnt.holds() };
        let mut told = Programmed::default();
        self.dataplane.say(now, out, |numbers| {
            let (desired, learnt) = compile::compile(&settings.pe, &beside, numbers);
            told = learnt;
            desired
        });
        self.learnt.said(now, told);
    }

    /// Tells the forwarder what was learnt.
    fn follow(&mut self, now: Time, out: &mut Effects) {
        if self.learnt.follow(now, &mut self.dataplane, out) {
            self.say(now, out);
        }
        if self.learnt.labelled.take_synchronized() {
            // Links cost more, or less (RFC 5443).
            self.configure_learnt(now, out);
        }
    }

    /// When a label has rested that a routing table waits for.
    fn label_due(&self) -> Option<Time> {
        self.dataplane.numbers().due().filter(|_| self.dataplane.is_controlled())
    }

    /// What the protocols are told of the section and of the links.
    fn configure_learnt(&mut self, now: Time, out: &mut Effects) {
        self.learnt.configure(now, &self.settings, &mut self.dataplane, out);
    }

    /// Something happened at the forwarder.
    fn heard(&mut self, now: Time, port: PortId, event: ChannelEvent<'_>, out: &mut Effects) {
        let was_controlled = self.dataplane.is_controlled();
        let links = self.dataplane.link_changes();
        match self.dataplane.step(now, port, event, out) {
            Some(Notification::Welcomed) => {
                self.learnt.welcomed(&self.settings, &mut self.dataplane);
                self.say(now, out);
                self.configure_learnt(now, out);
            }
            Some(Notification::Mac(notice)) => self.note(now, notice),
            Some(Notification::Item(item)) => self.learnt.hear(now, &item, out),
            Some(Notification::Refused(_)) | None => {}
        }
        if was_controlled && !self.dataplane.is_controlled() {
            self.stations = Stations::default();
        }
        if self.dataplane.link_changes() != links {
            self.learnt.links(now, &self.settings, &self.dataplane, out);
        }
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
    fn show(&mut self, now: Time) {
        self.learnt.show(now);
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
            In::Channel { port: port @ (IGP_CHANNEL | LABELS_CHANNEL | BGP_CHANNEL), event } => {
                self.learnt.step(now, port, event, out);
            }
            In::Channel { port, event } => self.heard(now, port, event, out),
            In::Drain => {
                self.learnt.drain(now, &self.settings.pe, out);
                self.dataplane.drain(self.settings.pe.on_exit == OnExit::Stop, out);
            }
            _ => {}
        }
        self.follow(now, out);
        self.show(now);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.dataplane.tick(now, out);
        if self.label_due().is_some_and(|at| at <= now) {
            self.say(now, out);
            self.configure_learnt(now, out);
        }
        self.learnt.tick(now, out);
        self.follow(now, out);
        self.show(now);
    }

    fn deadline(&self) -> Option<Time> {
        let all = [self.dataplane.deadline(), self.label_due(), self.learnt.deadline()];
        all.into_iter().flatten().min()
    }

    fn configure(&mut self, now: Time, settings: Arc<Settings>, out: &mut Effects) {
        self.route_counts = ask::route_counts(&settings);
        self.settings = settings;
        self.dataplane.launch(self.settings.launch.clone());
        self.say(now, out);
        self.configure_learnt(now, out);
        self.follow(now, out);
        self.show(now);
    }

    fn frame(_port: PortId, _buffer: &[u8]) -> Frame {
        Frame::Broken("the router's control has no streams")
    }

    fn steer(_config: &Settings, _flow: &Flow, _bytes: &[u8], _shards: u16) -> Option<u16> {
        Some(0)
    }

    fn ask(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answered {
        self.own(now, ask, out)
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
        let own = core::iter::once(self.metrics.cells()).chain(self.dataplane.cells());
        own.chain(self.learnt.cells()).collect()
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
