//! Provider edge: static configuration of a router, told to the process that forwards.
//!
//! ```text
//!   [[pe]] ── compile ──→ Desired ── difference to what was said ──→ Program … ──→ forwarder
//!                numbers ↑   ↓                                    Link, Refused ←──┘
//!                        what the forwarder keeps: the next control goes on with the same numbers
//! ```
//! The forwarder is another process: when this one dies, packets go on as before. The next one
//! says everything anew under the same numbers, and what it does not say again is removed.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod adoption;
mod ask;
mod compile;
pub mod config;
mod desired;
mod facts;
mod numbers;
mod stations;
#[cfg(test)]
mod tests;

pub use compile::FileRoute;
pub use config::{OnExit, Pe};
pub use facts::Fact;

use desired::Desired;
use event::Sheet;
use forwarder::wire::WorkerState;
use forwarder::{Control, Launch};
use machine::{Duration, Time};
use numbers::Numbers;
use runtime::{Ask, AskError, Effects, Flow, Frame, Function, In, PortId, Seed};
use stations::Stations;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Time between two attempts to find the forwarder.
const RETRY: Duration = Duration::from_millis(250);
/// Time after which what waits for the forwarder is offered again.
const FLUSH: Duration = Duration::from_millis(5);
/// Time for a forwarder to welcome its control.
const WELCOME: Duration = Duration::from_secs(10);
/// Refusals that are remembered; the oldest goes.
const REFUSALS_MAX: usize = 64;

/// What the function is started with: its section, the routes of its files, and how a forwarder
/// is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The section.
    pub pe: Pe,
    /// Routes of its files.
    pub routes: Vec<FileRoute>,
    /// How a forwarder is started where none stands.
    pub launch: Launch,
}

/// The router's control, as its shard runs it.
pub struct ProviderEdge {
    settings: Arc<Settings>,
    control: Option<Control>,
    /// What the shard watches for the control.
    watched: Option<Arc<OwnedFd>>,
    numbers: Numbers,
    /// What the forwarder was told; `None` before it has welcomed this control.
    said: Option<Desired>,
    links: BTreeMap<u16, bool>,
    refusals: VecDeque<(String, String)>,
    /// Workers that crashed or hung: when last, how they stand, the panic's words.
    workers: BTreeMap<u16, (Time, WorkerState, String)>,
    stations: Stations,
    next_try: Time,
    /// When a forwarder that said nothing is given up.
    welcome_until: Time,
    facts: Sheet<Fact>,
    is_draining: bool,
}

impl ProviderEdge {
    /// A control that looks for its forwarder with the first tick.
    #[must_use]
    pub fn new(seed: Seed, settings: Arc<Settings>) -> Self {
        Self {
            settings,
            control: None,
            watched: None,
            numbers: Numbers::default(),
            said: None,
            links: BTreeMap::new(),
            refusals: VecDeque::new(),
            workers: BTreeMap::new(),
            stations: Stations::default(),
            next_try: seed.now,
            welcome_until: seed.now,
            facts: Sheet::new(),
            is_draining: false,
        }
    }
}

impl Function for ProviderEdge {
    type Config = Settings;

    fn step(&mut self, now: Time, input: In<'_>, _out: &mut Effects) {
        match input {
            In::Ready { .. } => self.hear(now),
            In::Drain => {
                self.is_draining = true;
                if self.settings.pe.on_exit == OnExit::Stop {
                    self.with_control(now, Control::stop);
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        if self.control.is_some() {
            self.with_control(now, Control::flush);
            self.hurry(now);
        } else if now >= self.next_try && !self.is_draining {
            self.look(now, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        match &self.control {
            // The shard says when it was last here; what waits is offered again soon.
            Some(control) if control.waiting() > 0 => Some(self.next_try),
            Some(_) if self.said.is_none() => Some(self.welcome_until),
            Some(_) => None,
            None if self.is_draining => None,
            None => Some(self.next_try),
        }
    }

    fn configure(&mut self, now: Time, settings: Arc<Settings>, _out: &mut Effects) {
        self.settings = settings;
        self.change(now);
    }

    fn frame(_port: PortId, _buffer: &[u8]) -> Frame {
        Frame::Broken("the router's control has no streams")
    }

    fn steer(_config: &Settings, _flow: &Flow, _bytes: &[u8], _shards: u16) -> Option<u16> {
        Some(0)
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        _: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        self.answer(now, ask)
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::Cells> {
        vec![self.facts.cells()]
    }
}
