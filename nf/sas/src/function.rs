//! The function itself, a shard of it: packets in, questions answered.
//!
//! ```text
//!  shard 0  receiver ──────────────▶ correlator ─▶ store
//!  shard 1  receiver ─ In::Work ───────▲
//! ```
//! What joins the messages of a call (numbers, addresses, what agents say) is known only once they
//! are read: no steering by it. So every shard reads, proves and redacts what it receives, and the
//! first one has all trails.

use crate::config;
use crate::correlator::Correlator;
use crate::losses::Losses;
use crate::metrics::Metric;
use crate::receiver::{self, Arrival, Receiver};
use crate::tail::Subscribe;
use machine::Time;
use runtime::{
    Answered, Ask, AskError, Effects, Frame, Function, In, Make, PortId, Running, RuntimeError,
    Seed, ShardSpec, Ticket,
};
use std::sync::Arc;

/// The shard that has the trails.
const FIRST: u16 = 0;

/// The service assurance server on one of its shards.
#[derive(Debug)]
pub struct Sas {
    receiver: Receiver,
    /// On the first shard.
    correlator: Option<Correlator>,
    /// MetricCells that others write and this function shows with its own.
    beside: Vec<event::MetricCells>,
}

impl Sas {
    /// The first shard, on an opened store.
    pub(crate) fn first(
        seed: &Seed,
        config: Arc<config::Sas>,
        opened: store::Opened,
        tail: Subscribe,
        losses: Arc<Losses>,
    ) -> Self {
        let correlator = Correlator::new(seed, Arc::clone(&config), opened, tail, losses);
        let (metrics, losses) = (Arc::clone(&correlator.metrics), Arc::clone(&correlator.losses));
        let receiver = Receiver { config, metrics, losses };
        Self { receiver, correlator: Some(correlator), beside: Vec::new() }
    }

    /// A further shard, which receives only.
    pub(crate) fn further(config: Arc<config::Sas>, losses: Arc<Losses>) -> Self {
        let receiver = Receiver { config, metrics: Arc::default(), losses };
        Self { receiver, correlator: None, beside: Vec::new() }
    }

    /// The same server, showing `cells` with its own.
    #[must_use]
    pub fn with_cells(mut self, cells: event::MetricCells) -> Self {
        self.beside.push(cells);
        self
    }

    /// Whether the disk lags so far behind that the next message would be shed.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.correlator.as_ref().is_some_and(|correlator| correlator.writer.is_full())
    }
}

impl Function for Sas {
    type Config = config::Sas;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        let Self { receiver, correlator, .. } = self;
        let now_us = now.as_micros();
        match (input, correlator) {
            (In::Message { flow, bytes }, Some(correlator)) => {
                let keep = &mut |arrival: &Arrival<'_>| correlator.arrive(now_us, arrival);
                receiver.packet(now, flow.remote, bytes, keep);
            }
            (In::Message { flow, bytes }, None) => {
                let keep = &mut |arrival: &Arrival<'_>| {
                    out.hand(FIRST, |work| receiver::encode(&arrival.entry, work));
                };
                receiver.packet(now, flow.remote, bytes, keep);
            }
            (In::Work { work, .. }, Some(correlator)) => correlator.handed(now_us, work),
            // The first shard is behind: as with a disk that is, what comes last is not kept.
            (In::HandedBack { .. }, _) => {
                receiver.metrics.add(Metric::Shed, 1);
                receiver.losses.shed(now_us);
            }
            // What is accepted is kept; there is nothing to finish that a restart would not take
            // up again.
            (In::Drain, Some(correlator)) => {
                correlator.writer.flush(now_us);
            }
            (
                In::Up { .. }
                | In::Proved { .. }
                | In::Written { .. }
                | In::Down { .. }
                | In::Returned { .. }
                | In::Ready { .. }
                | In::Channel { .. }
                | In::Resolved { .. }
                | In::Work { .. }
                | In::Drain,
                _,
            ) => {}
        }
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        if let Some(correlator) = &mut self.correlator {
            correlator.tick(now);
            correlator.search(now, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.correlator.as_ref()?.deadline()
    }

    fn configure(&mut self, _now: Time, config: Arc<config::Sas>, _out: &mut Effects) {
        if let Some(correlator) = &mut self.correlator {
            correlator.config = Arc::clone(&config);
        }
        self.receiver.config = config;
    }

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        match hep::frame(buffer) {
            hep::Framing::Partial => Frame::Partial,
            hep::Framing::Packet(length) => Frame::Message(length),
            hep::Framing::Broken(violation) => Frame::Broken(violation.what),
        }
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        _out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        match &mut self.correlator {
            Some(correlator) => correlator.answer(now.as_micros(), ask),
            None => Err(AskError::NotFound(ask.path.clone())),
        }
    }

    fn question(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        match &mut self.correlator {
            Some(correlator) => correlator.question(now, ask, ticket),
            None => Some(self.ask(now, ask, out)),
        }
    }

    fn is_idle(&self) -> bool {
        !self.is_behind()
    }

    fn waits_for(&self) -> &'static str {
        "captured messages to be written"
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        let store = self.correlator.as_ref().map(|correlator| correlator.store.cells());
        let own = std::iter::once(self.receiver.metrics.cells()).chain(store);
        own.chain(self.beside.iter().cloned()).collect()
    }
}

/// Starts it. The loop of a shard is compiled here, with this crate's optimisation, not where a
/// site is put together.
///
/// # Errors
/// As [`runtime::start`].
pub fn start(
    spec: ShardSpec,
    config: Arc<config::Sas>,
    make: Make<Sas>,
) -> Result<Running<Sas>, RuntimeError> {
    runtime::start(spec, config, move |seed, config| make(seed, config))
}
