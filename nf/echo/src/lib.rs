//! A function that sends back what it is sent (RFC 862). No installed site has it: tests hold with
//! it what a function gets by its row, and whoever writes one may begin with a copy.
//!
//! ```text
//!   [[echo]] ── configure ─→ Responder ←─ ask ── tandem ctl echoes, the API
//!   datagram ── step ──────→     └─ the same octets ─→ where they came from
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

pub mod config;
mod metrics;

pub use metrics::Metric;

use config::Echo;
use event::Metrics;
use machine::Time;
use question::{Question, questions, rows};
use runtime::{
    Answered, Ask, AskError, Effects, Frame, Function, In, Make, PortId, Running, RuntimeError,
    Seed, ShardSpec,
};
use std::sync::Arc;

/// Ports below this are those of services: two that answer each other would never come to an end.
const SOURCE_PORT_MIN: u16 = 1_024;

/// The function, as its shard runs it.
pub struct Responder {
    section: Arc<Echo>,
    metrics: Metrics<Metric>,
}

rows! {
    /// What was done.
    pub(crate) struct EchoRow {
        listen: String,
        answered: u64,
        refused: u64,
    }
}

type Serve = fn(&Responder, &Ask) -> Answered;

questions! {
    /// What it may be asked.
    const QUESTIONS: Serve;
    /// Datagrams by what became of them.
    Ask "echoes" [] -> Vec<EchoRow>, |it, _| Ok(vec![it.row()]);
}

/// What a responder may be asked.
#[must_use]
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

impl Responder {
    /// One that answers from now on.
    #[must_use]
    pub fn new(_: Seed, section: Arc<Echo>) -> Self {
        Self { section, metrics: Metrics::new() }
    }

    fn row(&self) -> EchoRow {
        EchoRow {
            listen: self.section.listen.to_string(),
            answered: self.metrics.read(Metric::Answered),
            refused: self.metrics.read(Metric::Refused),
        }
    }
}

impl Function for Responder {
    type Config = Echo;

    fn step(&mut self, _: Time, input: In<'_>, out: &mut Effects) {
        let In::Message { flow, bytes } = input else { return };
        let is_short = bytes.len() <= self.section.octets_max as usize;
        if !is_short || flow.remote.port() < SOURCE_PORT_MIN {
            return self.metrics.add(Metric::Refused, 1);
        }
        self.metrics.add(Metric::Answered, 1);
        out.send(flow, |octets| octets.extend_from_slice(bytes));
    }

    fn tick(&mut self, _: Time, _: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _: Time, section: Arc<Echo>, _: &mut Effects) {
        self.section = section;
    }

    fn frame(_: PortId, _: &[u8]) -> Frame {
        Frame::Broken("it has no streams")
    }

    fn ask(&mut self, _: Time, ask: &Ask, _: &mut Effects) -> Answered {
        let serve = question::find(QUESTIONS, &ask.path);
        serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?(self, ask)
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        vec![self.metrics.cells()]
    }
}

/// Starts it. The loop of a shard is compiled here, with this crate's optimisation, not where a
/// site is put together.
///
/// # Errors
/// As [`runtime::start`].
pub fn start(
    spec: ShardSpec,
    section: Arc<Echo>,
    make: Make<Responder>,
) -> Result<Running<Responder>, RuntimeError> {
    runtime::start(spec, section, move |seed, section| make(seed, section))
}
