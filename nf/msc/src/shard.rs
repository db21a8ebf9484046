//! A media controller on its shards: the first has everything but checks and handshakes, which are
//! done by the further ones, if there are any (`shards`).

use crate::ask::HANDSHAKES;
use crate::shards::Further;
use crate::{MediaController, Settings};
use machine::Time;
use runtime::{
    Answered, Ask, AskError, Effects, Flow, Frame, Function, In, Make, Mirrored, PortId, Running,
    RuntimeError, Seed, ShardSpec, Ticket,
};
use std::sync::Arc;

/// What one shard of a media controller runs.
pub enum Shard {
    /// The first one, or the only one.
    First(Box<MediaController>),
    /// Another one.
    Further(Box<Further>),
}

impl Shard {
    /// What the shard of that number runs.
    #[must_use]
    pub fn new(seed: Seed, settings: Arc<Settings>) -> Self {
        match seed.shard {
            0 => Self::First(Box::new(MediaController::new(seed, settings))),
            _ => Self::Further(Box::new(Further::new(&seed, &settings))),
        }
    }
}

impl Function for Shard {
    type Config = Settings;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        match self {
            Self::First(it) => it.step(now, input, out),
            Self::Further(it) => it.step(now, &input, out),
        }
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        match self {
            Self::First(it) => it.tick(now, out),
            Self::Further(it) => it.tick(now, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Self::First(it) => it.deadline(),
            Self::Further(it) => it.deadline(),
        }
    }

    fn configure(&mut self, now: Time, settings: Arc<Settings>, out: &mut Effects) {
        // What a further one takes of the section changes with a restart.
        if let Self::First(it) = self {
            it.configure(now, settings, out);
        }
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        MediaController::frame(port, buffer)
    }

    /// All that comes by ports is the first one's.
    fn steer(config: &Settings, flow: &Flow, bytes: &[u8], shards: u16) -> Option<u16> {
        MediaController::steer(config, flow, bytes, shards)
    }

    fn ask(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answered {
        match self {
            Self::First(it) => it.ask(now, ask, out),
            Self::Further(it) if ask.path == HANDSHAKES => {
                Ok(question::value(vec![it.handshakes()]))
            }
            Self::Further(_) => Err(AskError::NotFound(ask.path.clone())),
        }
    }

    fn question(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        match self {
            Self::First(it) => it.question(now, ask, ticket, out),
            Self::Further(_) => Some(self.ask(now, ask, out)),
        }
    }

    fn replicate(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        match self {
            Self::First(it) => it.replicate(now, input, out),
            Self::Further(_) => Further::mirrored(input, out),
        }
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        match self {
            Self::First(it) => it.cells(),
            Self::Further(it) => vec![it.metrics().cells()],
        }
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
    make: Make<Shard>,
) -> Result<Running<Shard>, RuntimeError> {
    runtime::start(spec, config, move |seed, config| make(seed, config))
}
