//! Route reflector: BGP sessions (RFC 4271, 4456) with many peers, and the routes between them.
//!
//! ```text
//!          ┌──────────────────────────── Reflector ─────────────────────────────┐
//!   TCP    │ links ──→ bgp::Session, one a peer ──→ routes ──→ rib              │   TCP
//!  ─────── │   ↑            ↑       │                 UPDATEs    │ tables,      │ ───────
//!   a peer │   │          clock     │ OPEN, KEEPALIVE …          │ update       │  a peer
//!          │   └────────────────────┴────────────────────────────┘ groups       │
//!          └────────────────────────────────────────────────────────────────────┘
//! ```
//! This page routes: what comes in goes to the session of its peer; what that wants is sent, or
//! told the rib; what the rib has to say leaves by the connections of the peers.
//!
//! One instance does all this, on the first shard. Further shards read, cut and write streams only.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod alarms;
mod apply;
mod ask;
mod clock;
pub mod config;
mod deferral;
mod facts;
mod judges;
mod limits;
mod links;
mod origins;
mod peers;
mod recording;
mod routes;
mod sessions;
mod stations;
mod telling;
mod trails;

pub use facts::Fact;
pub use recording::Recorder;

use bgp::Out;
use bgp::codec::{Cease, EXTENDED_MESSAGE_BYTES_MAX, Framing, HEADER_BYTES, MESSAGE_BYTES_MAX};
use clock::Clock;
use config::{CAPTURE_PORT, Door, Range, Rr};
use event::Sheet;
use judges::Judges;
use machine::Time;
use origins::Origins;
use peers::Peers;
use recording::Recording;
use rib::Rib;
use runtime::{Ask, AskError, Effects, Flow, Frame, Function, In, PortId, Seed};
use stations::Stations;
use std::sync::Arc;
use trails::SessionTrail;

/// Octets of whole messages that are cut from a stream at once: many UPDATEs are one step.
const RUN_BYTES_MAX: usize = EXTENDED_MESSAGE_BYTES_MAX;

/// The reflector, as its shard runs it.
pub struct Reflector {
    config: Arc<Rr>,
    peers: Peers,
    /// Ranges of all groups, the longest first.
    ranges: Vec<Range>,
    rib: Rib,
    judges: Arc<Judges>,
    origins: Origins,
    stations: Stations,
    recording: Recording,
    rib_seed: u64,
    /// The rib has something to do.
    has_work: bool,
    clock: Clock,
    facts: Sheet<Fact>,
    /// Seed of the next session.
    seed: u64,
    /// Further shards do nothing here.
    is_first: bool,
    /// Until then nobody is told anything.
    deferral: Option<Time>,
    is_draining: bool,
    /// What the sessions do not need was begun as well, with the first tick.
    is_started: bool,
    /// What a session wants; empty between steps.
    outs: Vec<Out>,
    /// What leaves for the service assurance.
    trail: SessionTrail,
}

impl Reflector {
    /// A reflector whose sessions begin with the first tick.
    #[must_use]
    pub fn new(seed: Seed, config: Arc<Rr>) -> Self {
        let number = |at: usize| {
            let octets = core::array::from_fn(|n| seed.random[at + n]);
            u64::from_le_bytes(octets)
        };
        let rib_seed = number(8);
        let is_first = seed.shard == 0;
        let origins = Origins::new(&config);
        let judges = Arc::new(Judges::new(config.policies(), origins.records.clone()));
        let mut it = Self {
            peers: Peers::default(),
            ranges: config.ranges(),
            rib: Rib::new(config.rib(rib_seed, &judges)),
            judges,
            origins,
            stations: Stations::new(&config),
            recording: Recording::default(),
            rib_seed,
            has_work: false,
            clock: Clock::new(seed.now),
            facts: Sheet::new(),
            seed: number(0),
            is_first,
            deferral: Self::defer(seed.now, config.deferral_s.unwrap_or(0)),
            is_draining: false,
            is_started: false,
            outs: Vec::new(),
            trail: SessionTrail::new(number(16), &config),
            config: Arc::clone(&config),
        };
        it.rib.set_metrics(config.distances());
        // Other shards have no peers: their connections are told the first one.
        if is_first {
            it.join(seed.now, &config);
        }
        it
    }

    /// A seed that no other session has.
    const fn next_seed(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.seed
    }

    /// With the first tick: whom this node reads and tells beside BGP is connected to.
    fn begin(&mut self, now: Time, out: &mut Effects) {
        if self.is_first && !core::mem::replace(&mut self.is_started, true) {
            self.start_caches(now, out);
            self.start_stations(now);
        }
    }

    /// Lets the sessions act whose time has come.
    fn expire(&mut self, now: Time, out: &mut Effects) {
        for id in self.clock.expire(now) {
            self.fire(now, id, out);
        }
    }

    /// Ends every session in order (RFC 4486, 9003).
    fn leave(&mut self, now: Time, out: &mut Effects) {
        let text = self.config.shutdown_text.clone();
        for id in self.peers.ids() {
            let stop = bgp::In::Stop(Cease::AdministrativeShutdown, text.clone());
            self.tell(now, id, stop, out);
        }
    }
}

impl Function for Reflector {
    type Config = Rr;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        if self.trail.capture.takes(now, &input) {
            return;
        }
        match input {
            In::Message { flow, bytes } => match Door::of(flow.port) {
                Door::Bgp => self.octets(now, &flow, bytes, out),
                Door::Rpki => self.cache_octets(now, &flow, bytes, out),
                // A station has nothing to say.
                Door::Bmp => {}
            },
            In::Up { flow } => match Door::of(flow.port) {
                Door::Bgp => self.stands(now, flow, out),
                Door::Rpki => self.cache_stands(now, flow, out),
                Door::Bmp => self.station_stands(now, flow, out),
            },
            In::Down { flow, why } => match Door::of(flow.port) {
                Door::Bgp => self.lost(now, &flow, why, out),
                Door::Rpki => self.cache_lost(now, &flow, why, out),
                Door::Bmp => self.station_lost(now, &flow, why),
            },
            In::Written { flow, octets, left } => match Door::of(flow.port) {
                Door::Bmp => self.station_written(now, &flow, left),
                Door::Bgp | Door::Rpki => self.written(now, &flow, (octets, left), out),
            },
            In::Drain => {
                self.is_draining = true;
                self.leave(now, out);
                self.stop_stations(now, out);
            }
            In::Proved { .. }
            | In::Returned { .. }
            | In::Ready { .. }
            | In::Channel { .. }
            | In::Resolved { .. } => {}
        }
        self.trail.capture.flush(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.begin(now, out);
        self.expire(now, out);
        self.expire_caches(now, out);
        if self.rib.deadline().is_some_and(|at| at <= now) {
            self.rib.tick(now);
            self.has_work = true;
        }
        self.has_work |= self.deferral.is_some_and(|at| at <= now);
        self.has_work |= self.stations.deadline().is_some_and(|at| at <= now);
        self.work(now, out);
        self.trail.capture.flush(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        if self.has_work || (self.is_first && !self.is_started) {
            return Some(Time::ZERO);
        }
        let feeds = self.origins.deadline().into_iter().chain(self.stations.deadline());
        let feeds = feeds.chain(self.deferral).chain(self.trail.capture.deadline());
        self.clock.deadline().into_iter().chain(self.rib.deadline()).chain(feeds).min()
    }

    fn configure(&mut self, now: Time, config: Arc<Rr>, out: &mut Effects) {
        if self.is_first {
            self.trail.capture.configure(config.capture_settings());
            self.apply(now, config, out);
        }
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        if port == CAPTURE_PORT {
            return Frame::Skip(buffer.len()); // a collector has nothing to say
        }
        match Door::of(port) {
            Door::Bgp => frame_bgp(buffer),
            Door::Rpki => frame_rpki(buffer),
            // A station has nothing to say.
            Door::Bmp => Frame::Skip(buffer.len()),
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
        self.peers.iter().all(|(_, peer)| peer.links.is_empty())
    }

    fn cells(&self) -> Vec<event::Cells> {
        vec![self.facts.cells()]
    }
}

/// As many whole messages as are there, up to [`RUN_BYTES_MAX`].
fn frame_bgp(buffer: &[u8]) -> Frame {
    let mut at = 0;
    loop {
        match bgp::codec::frame(&buffer[at..], EXTENDED_MESSAGE_BYTES_MAX) {
            Framing::Message(_, message) if at + message.len() <= RUN_BYTES_MAX => {
                at += message.len();
            }
            Framing::Message(..) => return Frame::Message(at),
            Framing::Partial if at > 0 => return Frame::Message(at),
            Framing::Partial => return awaited(buffer),
            Framing::Broken(_) if at > 0 => return Frame::Message(at),
            // The session answers it with a NOTIFICATION.
            Framing::Broken(_) => return Frame::Message(buffer.len().min(MESSAGE_BYTES_MAX)),
        }
    }
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

/// How long the message will be whose beginning is there.
fn awaited(buffer: &[u8]) -> Frame {
    match buffer.get(16..HEADER_BYTES) {
        Some(header) => {
            let length = usize::from(u16::from_be_bytes([header[0], header[1]]));
            Frame::Message(length.max(buffer.len() + 1))
        }
        None => Frame::Partial,
    }
}

impl Rr {
    /// What the rib is told of this node.
    fn rib(&self, seed: u64, judges: &Arc<Judges>) -> rib::Settings {
        let identifier = self.identifier.to_bits();
        let cluster = self.cluster_identifier();
        let (policy, bounds) = (judges::shared(judges), rib::Bounds::default());
        rib::Settings { asn: self.asn, identifier, cluster, policy, seed, bounds }
    }

    /// Its policies; those that cannot be meant were refused by the check.
    fn policies(&self) -> policy::Policies {
        policy::Policies::compile(&self.policy).unwrap_or_default()
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
