//! Route reflector: BGP sessions (RFC 4271, 4456) with many peers, and the routes between them.
//!
//! ```text
//!          ┌──────────────────────────── Reflector ─────────────────────────────┐
//!   TCP    │ bgp_stack::Speaker ──→ Up, Update, Down … ──→ routes ──→ rib       │   TCP
//!  ─────── │        ↑                                          tables, │        │ ───────
//!   a peer │        └── UPDATEs ───────────────────── update groups ←──┘        │  a peer
//!          └────────────────────────────────────────────────────────────────────┘
//! ```
//! This page routes: what comes in goes to the speaker, the caches or the stations; what the
//! speaker has to say is told the rib; what the rib has to say leaves by the speaker.
//!
//! One instance does all this, on the first shard. Further shards read, cut and write streams only.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod alarms;
mod apply;
mod ask;
mod bmp_monitoring;
pub mod config;
mod metrics;
mod origins;
mod recording;
mod routes;
mod stations;
mod trails;

pub use ask::questions;
pub use metrics::Metric;
pub use recording::Recorder;

use bgp_stack::{In as SpeakerIn, PolicyTable, Speaker};
use config::{CAPTURE_PORT, PortProtocol, Rr};
use event::Metrics;
use machine::{Duration, Time};
use origins::Origins;
use recording::Recording;
use rib::Rib;
use runtime::{
    Ask, AskError, Effects, Flow, Frame, Function, In, Make, PortId, Running, RuntimeError, Seed,
    ShardSpec,
};
use stations::Stations;
use std::sync::Arc;
use trails::SessionTrail;

/// Octets of whole PDUs of a cache that are cut from a stream at once.
const RUN_BYTES_MAX: usize = 65_535;

/// The reflector, as its shard runs it.
pub struct Reflector {
    config: Arc<Rr>,
    speaker: Speaker,
    rib: Rib,
    origins: Origins,
    stations: Stations,
    recording: Recording,
    rib_seed: u64,
    /// The rib has something to do.
    has_work: bool,
    metrics: Metrics<Metric>,
    peer_table: bgp_stack::PeerTable,
    /// Further shards do nothing here.
    is_first: bool,
    /// What the sessions do not need was begun as well, with the first tick.
    is_started: bool,
    /// What leaves for the service assurance.
    trail: SessionTrail,
}

impl Reflector {
    /// A reflector whose sessions begin with the first tick.
    #[must_use]
    pub fn new(seed: Seed, config: Arc<Rr>) -> Self {
        let number = |at| u64::from_le_bytes(core::array::from_fn(|n: usize| seed.random[at + n]));
        let rib_seed = number(8);
        let origins = Origins::new(&config);
        let deferral = Duration::from_secs(config.deferral_s.unwrap_or(0).into());
        let validation = Arc::new(origins.records.clone());
        let speaker = Speaker::new(&seed, &config.speaker(), deferral, Some(validation));
        let mut rib = Rib::new(config.rib(rib_seed, speaker.policies()));
        rib.set_metrics(config.distances());
        Self {
            speaker,
            rib,
            origins,
            stations: Stations::new(&config),
            recording: Recording::default(),
            rib_seed,
            has_work: false,
            metrics: Metrics::new(),
            peer_table: bgp_stack::peer_table(),
            is_first: seed.shard == 0,
            is_started: false,
            trail: SessionTrail::new(number(16), &config),
            config,
        }
    }

    /// From now on what comes is recorded.
    pub fn record_by(&mut self, recorder: Arc<dyn Recorder>) {
        self.recording.by(recorder);
    }

    /// With the first tick: whom this node reads and tells beside BGP is connected to.
    fn begin(&mut self, now: Time, out: &mut Effects) {
        if self.is_first && !core::mem::replace(&mut self.is_started, true) {
            self.start_caches(now, out);
            self.start_stations(now);
        }
    }

    /// Something happened to a connection of a peer.
    fn speak(&mut self, now: Time, input: SpeakerIn<'_>, out: &mut Effects) {
        let mut bytes: &[u8] = &[];
        if let SpeakerIn::Octets(flow, octets) = input {
            self.trail.received(now, &self.speaker, flow, octets);
            bytes = octets;
        }
        self.speaker.step(now, input, out);
        self.follow(now, bytes, out);
    }
}

impl Function for Reflector {
    type Config = Rr;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        if self.trail.capture.takes(now, &input) {
            return;
        }
        match input {
            In::Message { flow, bytes } => match PortProtocol::of(flow.port) {
                PortProtocol::Bgp => self.speak(now, SpeakerIn::Octets(&flow, bytes), out),
                PortProtocol::Rpki => self.cache_octets(now, &flow, bytes, out),
                // A station has nothing to say.
                PortProtocol::Bmp => {}
            },
            In::Up { flow } => match PortProtocol::of(flow.port) {
                PortProtocol::Bgp => self.speak(now, SpeakerIn::Connected(flow), out),
                PortProtocol::Rpki => self.cache_stands(now, flow, out),
                PortProtocol::Bmp => self.station_stands(now, flow, out),
            },
            In::Down { flow, why } => match PortProtocol::of(flow.port) {
                PortProtocol::Bgp => self.speak(now, SpeakerIn::Lost(&flow, why), out),
                PortProtocol::Rpki => self.cache_lost(now, &flow, why, out),
                PortProtocol::Bmp => self.station_lost(now, &flow, why),
            },
            In::Written { flow, octets, left } => match PortProtocol::of(flow.port) {
                PortProtocol::Bmp => self.station_written(now, &flow, left),
                PortProtocol::Bgp => self.speak(now, SpeakerIn::Written(&flow, octets, left), out),
                PortProtocol::Rpki => {}
            },
            In::Drain => {
                self.speaker.drain(now, self.config.shutdown_text.as_deref(), out);
                self.follow(now, &[], out);
                self.stop_stations(now, out);
            }
            In::Proved { .. }
            | In::Returned { .. }
            | In::Ready { .. }
            | In::Channel { .. }
            | In::Resolved { .. } => {}
            In::Work { .. } | In::HandedBack { .. } => {} // nothing is handed over
        }
        self.trail.capture.flush(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.begin(now, out);
        self.speaker.tick(now, out);
        self.follow(now, &[], out);
        self.expire_caches(now, out);
        if self.rib.deadline().is_some_and(|at| at <= now) {
            self.rib.tick(now);
            self.has_work = true;
        }
        self.has_work |= self.speaker.deferral().is_some_and(|at| at <= now);
        self.has_work |= self.stations.deadline().is_some_and(|at| at <= now);
        self.work(now, out);
        self.trail.capture.flush(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        if self.has_work || (self.is_first && !self.is_started) {
            return Some(Time::ZERO);
        }
        let feeds = self.origins.deadline().into_iter().chain(self.stations.deadline());
        let feeds = feeds.chain(self.trail.capture.deadline());
        self.speaker.deadline().into_iter().chain(self.rib.deadline()).chain(feeds).min()
    }

    fn configure(&mut self, now: Time, config: Arc<Rr>, out: &mut Effects) {
        if self.is_first {
            self.trail.configure(&config);
            self.apply(now, config, out);
        }
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        if port == CAPTURE_PORT {
            return Frame::Skip(buffer.len()); // a collector has nothing to say
        }
        match PortProtocol::of(port) {
            PortProtocol::Bgp => bgp_stack::frame(buffer),
            PortProtocol::Rpki => frame_rpki(buffer),
            // A station has nothing to say.
            PortProtocol::Bmp => Frame::Skip(buffer.len()),
        }
    }
    fn steer(_config: &Rr, _flow: &Flow, _bytes: &[u8], _shards: u16) -> Option<u16> {
        Some(0)
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        if !self.is_first {
            return Err(AskError::NotFound(ask.path.clone()));
        }
        self.answer(now, ask, out)
    }

    fn is_idle(&self) -> bool {
        self.speaker.is_idle()
    }

    fn waits_for(&self) -> &'static str {
        "peers to close their connections"
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        vec![self.metrics.cells(), self.peer_table.cells()]
    }
}

/// Starts it. The loop of a shard is compiled here, with this crate's optimisation, not where a
/// site is put together.
///
/// # Errors
/// As [`runtime::start`].
pub fn start(
    spec: ShardSpec,
    config: Arc<Rr>,
    make: Make<Reflector>,
) -> Result<Running<Reflector>, RuntimeError> {
    runtime::start(spec, config, move |seed, config| make(seed, config))
}

/// As many whole PDUs as are there; what none begins with is the client's to answer.
fn frame_rpki(buffer: &[u8]) -> Frame {
    let mut at = 0;
    loop {
        match rpki::frame(&buffer[at..]) {
            rpki::Framing::Pdu(_, _, octets) if at + octets.len() <= RUN_BYTES_MAX => {
                at += octets.len();
            }
            rpki::Framing::Broken(..) if at == 0 => {
                return Frame::Message(buffer.len().min(rpki::PDU_BYTES_MAX));
            }
            rpki::Framing::Partial if at == 0 => return Frame::Partial,
            _ => return Frame::Message(at),
        }
    }
}

impl Rr {
    /// What the rib is told of this node.
    fn rib(&self, seed: u64, policies: &Arc<PolicyTable>) -> rib::Settings {
        let identifier = self.identifier.to_bits();
        let cluster = self.cluster_identifier();
        let policy = Some(Arc::clone(policies) as Arc<dyn rib::Policy>);
        let bounds = rib::Bounds::default();
        rib::Settings { asn: self.asn, identifier, cluster, policy, seed, bounds }
    }

    /// Whether `other` would be the same speaker.
    fn is_same(&self, other: &Self) -> bool {
        let own = |it: &Self| (it.asn, it.identifier, it.cluster_identifier());
        own(self) == own(other)
    }

    fn cluster_identifier(&self) -> bgp::codec::Identifier {
        self.cluster.unwrap_or(self.identifier).to_bits()
    }
}
