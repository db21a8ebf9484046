//! Media controller: leases of ports for session controllers, their streams, and Kamailio's by NG,
//! told to the process that forwards.
//!
//! ```text
//!   session controllers ── rows (proto/anchor) ──→ Links ─→ Streams ── flows, as they change ─┐
//!   Kamailio, OpenSIPS ─── NG (proto/ng) ────────→ Driven ──↑   ↓ whole, to one that comes    │
//!   [[msc]] ── compile ──→ Desired ─────────────────────→ stack/dataplane ←───────────────────┘
//!   session controllers ←─ Event, Load, Ack ─ Measures ←── notices ── forwarder
//! ```
//! Nothing here waits, and no call is set up by a question: a session controller chooses ports of
//! what it has leased and says what stands there. The forwarder is another process: when this one
//! dies, packets go on, and the next one takes over leases and numbers from the forwarder's memory
//! and streams from the session controllers, before anything is swept away.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod addresses;
mod alarms;
mod apply;
mod ask;
mod coding;
mod compile;
pub mod config;
mod controllers;
mod driven;
mod flows;
mod keying;
mod lease;
mod links;
mod measures;
mod memory;
mod metrics;
mod noticed;
mod over;
mod pair;
mod rate;
mod shard;
mod shards;
mod standby;
mod state;
mod streams;
mod trails;
mod transcoding;
mod unprotected;

pub use ask::questions;
pub use config::Msc;
pub use links::LINKS_MAX;
pub use media::program::CLASS_FRAMES;
pub use metrics::{ControllerMetric, GroupMetric, Metric};
pub use shard::{Shard, start};
pub use shards::Further;
pub use state::State;

use authentication::Keys;
use config::{CONTROL_PORT, NG_PORT, NG_STREAM_PORT, OnExit};
use controllers::Controllers;
use dataplane::{Channels, Dataplane, Notification, PacketChannel};
use driven::Driven;
use event::{Metrics, Table};
use forwarder::{Launch, ToPackets};
use keying::Keying;
use links::Links;
use machine::{Duration, Time};
use measures::Measures;
use over::Ended;
use pair::{Pair, Role};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use rate::PacketRate;
use runtime::{Answered, Ask, Effects, Flow, Frame, Function, In, Mirrored, PortId, Seed, Ticket};
use std::sync::Arc;
use streams::Streams;
use trail::Capture;
use transcoding::Transcoding;

/// The numbers of the channels to the forwarder.
pub const CHANNELS: Channels = Channels { control: PortId(10), questions: PortId(11) };
/// The packet channel of STUN and DTLS.
pub const PACKET_CHANNEL: PortId = PortId(12);
/// The channel to the transcoder.
pub const TRANSCODER: PortId = PortId(13);
/// Loads are told, and tables shown, this often.
const SECOND: Duration = Duration::from_secs(1);

/// What the function is started with: its section, what its files hold, and how a forwarder is
/// started.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The section.
    pub msc: Msc,
    /// The keys of session controllers, if they must have one.
    pub keys: Option<Keys>,
    /// How a forwarder is started where none stands, or where it is waited for.
    pub launch: Launch,
    /// How a transcoder is started where none stands; `None`: there is none.
    pub transcoder: Option<transcoder::Launch>,
    /// What DTLS shows; without one there is no DTLS. It stays as long as the function runs.
    pub certificate: Option<Certificate>,
}

/// A certificate with its key, both in DER.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate.
    pub der: Vec<u8>,
    /// Its key (PKCS #8).
    pub key: Vec<u8>,
}

impl core::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Certificate({} octets)", self.der.len())
    }
}

/// What is counted and shown.
struct Shown {
    metrics: Metrics<Metric>,
    groups: Table<GroupMetric, 2>,
    controllers: Table<ControllerMetric, 1>,
    /// Packets of late.
    packets: PacketRate,
    /// When failures of protection were told lately, and how many packets they were.
    unprotected: Option<(Time, u64)>,
    /// When the forwarder refused something of media last, and of what.
    refused: Option<(Time, String)>,
}

/// The tables of a controller without rows, for the description of metrics.
#[must_use]
pub fn empty_tables() -> [event::MetricCells; 2] {
    [
        Table::<GroupMetric, 2>::new(&["group", "family"]).cells(),
        Table::<ControllerMetric, 1>::new(&["session_controller"]).cells(),
    ]
}

/// The controller, as its shard runs it.
pub struct MediaController {
    settings: Arc<Settings>,
    dataplane: Dataplane,
    streams: Streams,
    links: Links,
    controllers: Controllers,
    driven: Driven,
    measures: Measures,
    ended: Ended,
    keying: Keying,
    transcoding: Transcoding,
    capture: Capture,
    random: ChaCha12Rng,
    shown: Shown,
    /// Of this life; `None` before a forwarder has said whether it knows an earlier one.
    epoch: Option<u64>,
    /// This node of a pair.
    pair: Pair,
    /// Session controllers that said who they are before that.
    early: Vec<apply::Early>,
    /// No forwarder has had a stream of this life yet.
    is_first: bool,
    /// Until when what the forwarder has from a control before stays although nobody said it yet.
    held_until: Option<Time>,
    second: Time,
    is_draining: bool,
}

impl MediaController {
    /// One that looks for its forwarder with the first tick.
    #[must_use]
    pub fn new(seed: Seed, settings: Arc<Settings>) -> Self {
        let mut random = ChaCha12Rng::from_seed(seed.random);
        let mut of_ends = [0; 32];
        random.fill_bytes(&mut of_ends);
        let drawn = ChaCha12Rng::from_seed(of_ends);
        let mut dataplane = Dataplane::new(seed.now, settings.launch.clone(), CHANNELS);
        dataplane.hold();
        let mut streams = Streams::new();
        streams.configure(seed.now, &settings.msc);
        let to = ToPackets::of(&settings.launch, keying::classes());
        let channel = PacketChannel::new(seed.now, PACKET_CHANNEL, to);
        let certificate = settings.certificate.clone();
        let certificate = certificate.map(|it| dtls::Certificate::of(it.der, it.key));
        Self {
            keying: Keying::new(seed.now, channel, certificate, drawn, seed.shards),
            transcoding: Transcoding::new(
                seed.now,
                TRANSCODER,
                settings.transcoder.clone(),
                random.next_u32(),
            ),
            dataplane,
            streams,
            links: Links::default(),
            controllers: Controllers::default(),
            driven: Driven::new(seed.now, random.next_u64()),
            measures: Measures::new(seed.now),
            ended: Ended::default(),
            capture: Capture::new(
                hep::KIND_LOG,
                config::CAPTURE_PORT,
                settings.msc.capture_settings(),
            ),
            random,
            shown: Shown {
                metrics: Metrics::new(),
                groups: Table::new(&["group", "family"]),
                controllers: Table::new(&["session_controller"]),
                packets: PacketRate::default(),
                unprotected: None,
                refused: None,
            },
            epoch: None,
            pair: Pair::default(),
            early: Vec::new(),
            is_first: true,
            held_until: None,
            second: seed.now,
            is_draining: false,
            settings,
        }
    }

    /// What it holds.
    #[must_use]
    pub const fn state(&self) -> State<'_> {
        State(self)
    }

    /// Tells the forwarder what the section makes of it, and one that has just come all streams.
    fn say(&mut self, now: Time, out: &mut Effects) {
        let Self { settings, streams, measures, dataplane, pair, .. } = self;
        let Some(duty) = pair.duty() else { return };
        let is_first = self.is_first && !pair.follows();
        dataplane.say_with(now, out, |numbers, is_whole| {
            let of_pair = pair.said();
            let addresses = &mut streams.addresses;
            let desired = compile::compile(&settings.msc, duty, of_pair, addresses, numbers);
            let mut rest = Vec::new();
            if is_whole {
                for mut flow in streams.all_flows().flat_map(|flows| flows.into_values()) {
                    // Of the streams of a life a later forwarder goes on ahead of what the one
                    // before may have sent, whether that could tell how far it was or not.
                    let (address, port) = (streams.addresses.number_of(&flow.at), flow.at.port);
                    let local = address.map(|address| anchor::Local { address, port });
                    let known = local.and_then(|local| measures.snapshot(local)).cloned();
                    flow.resume = if is_first { known } else { Some(known.unwrap_or_default()) };
                    rest.push(flows::said(&media::program::Said::Flow(Box::new(flow))));
                }
            }
            (desired, rest)
        });
    }

    fn channel(
        &mut self,
        now: Time,
        port: PortId,
        event: runtime::ChannelEvent<'_>,
        out: &mut Effects,
    ) {
        if port == PACKET_CHANNEL {
            return self.came_up(now, event, out);
        }
        if port == TRANSCODER {
            return self.transcoder(now, event, out);
        }
        let was_controlled = self.dataplane.is_controlled();
        let told = self.dataplane.step(now, port, event, out);
        // The other node's forwarder has all flows: that is less silence than a new one here.
        out.hands_over |= was_controlled && !self.dataplane.is_controlled() && self.pair.tells();
        match told {
            Some(Notification::Welcomed) => self.welcomed(now, out),
            Some(Notification::Item(item)) => self.noticed(now, &item, out),
            Some(Notification::Refused(of)) => self.refused(now, &of),
            // There are no bridges here.
            Some(Notification::Mac(_)) | None => {}
        }
    }

    fn message(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        if !self.pair.serves() {
            return;
        }
        match flow.port {
            CONTROL_PORT => self.row(now, flow, bytes, out),
            NG_PORT | NG_STREAM_PORT => self.command(now, flow, bytes, out),
            _ => {}
        }
    }

    /// What is due once a second.
    fn each_second(&mut self, now: Time, out: &mut Effects) {
        self.second = now + SECOND;
        let passed = std::mem::take(&mut self.measures.passed);
        self.shown.packets.add(passed);
        let dropped = std::mem::take(&mut self.measures.dropped);
        self.shown.metrics.add(Metric::Packets, passed);
        self.shown.metrics.add(Metric::PacketsDropped, dropped);
        self.shown.metrics.add(Metric::MessagesUnwritten, self.links.take_unwritten());
        self.dataplane.measure_load(now, out);
        self.streams.book.sweep(now);
        if self.pair.serves() {
            self.forget_those_away(now, out);
            self.tell_load(now, out);
        }
        let is_lost = !self.dataplane.is_controlled() && self.dataplane.tally().adopted > 0;
        out.hands_over |= is_lost && self.pair.tells();
        if self.held_until.is_some_and(|until| until <= now) {
            self.release(now, out);
        }
        self.show();
    }

    /// Takes the addresses, ports and limits of the section: what stands elsewhere goes.
    fn configure_streams(&mut self, now: Time, out: &mut Effects) {
        for (lessee, changed) in self.streams.configure(now, &self.settings.msc) {
            if self.pair.serves() {
                self.done(now, lessee, changed, out);
            } else {
                self.follow(now, lessee, &changed, out);
            }
        }
    }

    /// Shows what was counted.
    fn show(&self) {
        let tally = self.dataplane.tally();
        let coded = self.transcoding.figures();
        let (there, away) = self.controllers.count();
        // They are connected to the other node of the pair where that serves.
        let away = if self.pair.serves() { away } else { 0 };
        let values = [
            (Metric::ForwarderConnected, self.dataplane.is_controlled().into()),
            (Metric::ForwarderLost, tally.lost),
            (Metric::Programs, tally.programs),
            (Metric::ProgramsRefused, tally.refused),
            (Metric::SessionControllers, there as u64),
            (Metric::SessionControllersAway, away as u64),
            (Metric::Streams, self.streams.total() as u64),
            (Metric::NgCalls, self.driven.len() as u64),
            (Metric::NgCommandsUndone, self.driven.undone().1),
            (Metric::TranscoderConnected, self.transcoding.is_there().into()),
            (Metric::TranscoderLost, coded.lost),
            (Metric::StreamsTranscoded, self.transcoding.len() as u64),
            (Metric::PacketsTranscoded, coded.packets),
            (Metric::PacketsOver, coded.over),
            (Metric::TranscoderBusy, coded.permille.into()),
        ];
        values.into_iter().for_each(|(metric, value)| self.shown.metrics.set(metric, value));
        let groups = self.group_figures().map(|(group, family, it)| {
            let values = [
                (GroupMetric::Pairs, it.pairs.into()),
                (GroupMetric::Leased, it.leased.into()),
                (GroupMetric::InUse, it.in_use.into()),
            ];
            ([group, family], values)
        });
        self.shown.groups.show(groups);
        let controllers = self.controllers.iter().map(|(lessee, it)| {
            let values = [
                (ControllerMetric::Connected, it.away_since.is_none().into()),
                (ControllerMetric::Streams, self.streams.count(lessee) as u64),
                (ControllerMetric::Octets, self.streams.octets(lessee) as u64),
            ];
            ([&*it.name], values)
        });
        self.shown.controllers.show(controllers);
    }

    /// What the pairs of each group and family are doing.
    fn group_figures(&self) -> impl Iterator<Item = (&str, &'static str, lease::Figures)> {
        let Streams { addresses, book, .. } = &self.streams;
        let families = [(false, "IPv4"), (true, "IPv6")];
        let groups = self.settings.msc.group.iter();
        groups.flat_map(move |group| {
            families.into_iter().filter_map(move |(is_v6, family)| {
                let numbers: Vec<u16> =
                    addresses.of_group(&group.name, is_v6).map(|it| it.0).collect();
                let mut figures = book.figures(&numbers);
                figures.lacks = self.lacks(&group.name, &numbers, figures.pairs);
                (!numbers.is_empty()).then_some((&*group.name, family, figures))
            })
        })
    }

    /// Whether a session controller that is there has fewer of these pairs than it wants and may
    /// have.
    fn lacks(&self, group: &str, numbers: &[u16], pairs: u32) -> bool {
        let most = self.settings.msc.limits.pairs_max.unwrap_or(u32::MAX).min(pairs);
        let there = self.controllers.iter().filter(|(_, it)| it.away_since.is_none());
        let mut wanted = there.filter_map(|(lessee, it)| Some((lessee, *it.wants.get(group)?)));
        wanted.any(|(lessee, wants)| self.streams.book.leased(lessee, numbers) < wants.min(most))
    }
}

impl Function for MediaController {
    type Config = Settings;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        if self.capture.takes(now, &input) {
            return;
        }
        match input {
            In::Message { flow, bytes } => self.message(now, &flow, bytes, out),
            In::Up { flow } if flow.port == CONTROL_PORT => self.connected(now, flow, out),
            In::Down { flow, .. } if flow.port == CONTROL_PORT => self.disconnected(now, &flow),
            In::Channel { port, event } => self.channel(now, port, event, out),
            In::Work { from, work } => self.worked(now, from, work, out),
            In::HandedBack { to, work } => {
                let is_lost = self.keying.handed_back(now, to, work);
                self.shown.metrics.add(Metric::PacketsPostponed, is_lost.into());
            }
            In::Drain => {
                self.is_draining = true;
                self.tell_load(now, out);
                let stops = self.settings.msc.forwarder.on_exit == OnExit::Stop;
                if stops {
                    self.transcoding.stop(out);
                }
                self.dataplane.drain(stops, out);
            }
            _ => {}
        }
        self.capture.flush(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.dataplane.tick(now, out);
        self.transcoding.tick(now, out);
        let (came, owed) = self.keying.tick(now, out);
        self.agreed(now, came, out);
        owed.into_iter().for_each(|it| self.tell_end(now, it, out));
        if self.pair.serves() {
            self.end_calls(now, out);
            self.tell_ended(now, out);
        }
        self.snapshot(out);
        if self.pair.late_ended(now) {
            self.say(now, out);
        }
        let late = self.links.tick(now, out);
        self.shown.metrics.add(Metric::ConnectionsRefused, late);
        if self.second <= now {
            self.each_second(now, out);
        }
        self.capture.flush(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        let own = [
            Some(self.second),
            self.dataplane.deadline(),
            self.keying.deadline(),
            self.transcoding.deadline(),
            self.driven.deadline().filter(|_| self.pair.serves()),
            self.ended.deadline().filter(|_| self.pair.serves()),
            self.pair.deadline(),
            self.links.deadline(),
            self.capture.deadline(),
        ];
        own.into_iter().flatten().min()
    }

    fn configure(&mut self, now: Time, settings: Arc<Settings>, out: &mut Effects) {
        self.settings = settings;
        self.capture.configure(self.settings.msc.capture_settings());
        self.dataplane.launch(self.settings.launch.clone());
        self.transcoding.launch(now, self.settings.transcoder.clone(), Some(out));
        self.configure_streams(now, out);
        self.driven.configure(&self.streams);
        self.say(now, out);
        if self.pair.serves() {
            self.grant_again(now, out);
        }
        if self.pair.role != Role::Waiting {
            self.note_memory(now, out);
        }
        // What was refused as the section was before may be taken now.
        if self.pair.follows() && self.pair.is_incomplete {
            out.ask_for_all();
        }
        self.show();
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        if port == NG_STREAM_PORT {
            return match ng::frame(buffer) {
                Ok(Some(length)) => Frame::Message(length),
                Ok(None) => Frame::Partial,
                Err(violation) => Frame::Broken(violation.what),
            };
        }
        // The length says how many octets follow it; what it may be is looked at when it is read.
        let Some(length) = buffer.first_chunk::<4>() else { return Frame::Partial };
        match usize::try_from(u32::from_be_bytes(*length)) {
            Ok(length) if length <= anchor::row::MESSAGE_OCTETS_MAX => Frame::Message(length + 4),
            _ => Frame::Broken("a message is too long"),
        }
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

    fn replicate(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        self.mirrored(now, input, out);
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        let tables = [self.shown.groups.cells(), self.shown.controllers.cells()];
        core::iter::once(self.shown.metrics.cells())
            .chain(tables)
            .chain(self.dataplane.cells())
            .collect()
    }
}
