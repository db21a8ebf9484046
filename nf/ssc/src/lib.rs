//! Signalling session controller: a back-to-back user agent between access and core.
//!
//! ```text
//!            ┌───────────────────────── Controller ─────────────────────────┐
//!  access ── │ transactions ─ call/{open,answer,in_dialog,ack} ─ transactions │ ── core
//!            │      │            route · next_hop · trust           │        │
//!            └──────┴─── egress: counted, captured, sent ───────────┴────────┘
//! ```
//! This page routes: what comes in goes to the transactions, what they pass on goes to the block
//! of the standard that deals with it; everything leaves through [`egress`]. State has owners, each
//! with verbs of its own: [`Border`] (realms, routes, next hops, who proved what), [`call::calls`]
//! (calls and requests under way), [`OverloadControl`] (admission, the queue of new calls,
//! limits), [`replica`] (the pair), and the registrar.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod access;
mod ask;
mod call;
pub mod config;
mod egress;
mod facts;
mod limit;
mod media;
mod probe;
mod refusal;
mod reg_event;
mod register;
mod replica;
mod shed;
mod source_policing;

pub use ask::questions;
pub use facts::{Fact, NextHopFact, next_hop_table};

use admission::{Emergencies, OverloadControl, Refused};
use call::calls::Calls;
use config::{CAPTURE_PORT, MEDIA_PORT};
use egress::Egress;
use machine::Duration;
use machine::Time;
use machine::identity::{Side, hash_combine};
use machine::narrow::halves;
use machine::slots::Key;
use manipulation::Applied;
use policing::Policer;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use refusal::Refusal;
use registrar::Registrar;
use replica::Pair;
use runtime::{
    Ask, AskError, Effects, Flow, Frame, Function, In, Make, Mirrored, PortId, Running,
    RuntimeError, Seed, ShardSpec,
};
use sip::{Message, Method};
use sip_stack::border::Border;
use sip_stack::next_hop::Probed;
use sip_stack::realm::{RealmId, Realms};
use sip_stack::realm_map::RealmMap;
use sip_stack::{size, steer};
use source_policing::challenge::Challenges;
use std::sync::Arc;
use trail::Capture;
use transaction::{Arrival, ClientId, Out, ServerId, Timers, Transactions};

/// Octets of a ping: two line ends.
const PING_OCTETS: usize = 4;

/// Whose client transaction it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// A request between two legs.
    Relay(Key),
    /// An INVITE between two legs, and the sum of its names ([`call::released`]).
    Invite(Key, u32),
    /// A BYE of our own on one leg of a call.
    Bye(Key, Side),
    /// An INVITE of our own on one leg of a call, whose media go elsewhere.
    Move(Key, Side),
    /// A probe of a next hop's target, as the next hops stood at that time.
    Probe(Probed),
    /// A SUBSCRIBE of our own to what becomes of registrations.
    Watch(Key),
    /// Nobody's: its answer changes nothing.
    Nobody,
}

/// A message and where it came in.
struct Arrived<'a> {
    now: Time,
    flow: Flow,
    realm: RealmId,
    message: &'a Message<'a>,
    /// The message as it came, before any rule.
    raw: &'a [u8],
}

/// The controller, as one shard runs it.
pub struct Controller {
    config: Arc<config::Ssc>,
    /// What messages cross.
    border: Border,
    transactions: Transactions<Flow, User>,
    /// What the transactions ask for; empty between steps.
    outs: Vec<Out<Flow, User>>,
    calls: Calls,
    registrar: Registrar,
    /// What keeps the shard from doing more than it can.
    overload: OverloadControl,
    /// Who may speak at all, and what is asked of those in a flood.
    policer: Policer,
    challenges: Challenges,
    /// The media controllers, and the media of calls that are anchored there.
    media: media_stack::Client,
    /// Security agreements with phones of IMS, and their associations.
    ims: ims::Access,
    /// What every message passes on its way in and out.
    egress: Egress,
    /// The other node of the pair.
    pair: Pair,
    shard: u16,
    random: ChaCha12Rng,
    is_draining: bool,
}

impl Controller {
    /// A controller without calls.
    #[must_use]
    pub fn new(seed: Seed, config: Arc<config::Ssc>) -> Self {
        let now = seed.now;
        let border = Border::new(&config.border(), now);
        let half = config.limits.transactions_max;
        let limits = transaction::Limits { clients_max: half, servers_max: half };
        let (key, rest) = seed.random.split_at(16);
        let registrar_seed: [u8; 16] =
            core::array::from_fn(|n| rest[n].rotate_left(3) ^ key[n].wrapping_mul(31));
        let mut egress = Egress::new(capture(&config));
        egress.rule(&config, &border.realms);
        let mut random = ChaCha12Rng::from_seed(seed.random);
        let mut media = [0; 32];
        random.fill_bytes(&mut media);
        let shard = (seed.shard, seed.shards);
        let media = media_stack::Client::new(media::settings(&config), media, shard, now);
        let mut access = [0; 32];
        random.fill_bytes(&mut access);
        let ims = ims::Access::new(&config.ims(), seed.shard, access, now);
        let mut wide = || u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        let [shed_proof, shield_secret, nonces, codes] = [wide(), wide(), wide(), wide()];
        let [relays, merged, shed] = [random.next_u64(), random.next_u64(), random.next_u64()];
        let emergencies = Emergencies::new(random.next_u64());
        let refused = Refused::new(shed, shed_proof);
        let [low, high] = halves(shield_secret);
        Self {
            transactions: Transactions::new(timers(&config), limits, seed.random, seed.shard, now),
            outs: Vec::new(),
            calls: Calls::new(&config, &seed, [relays, merged]),
            registrar: register::registrar(&config, seed.shard, &registrar_seed, now),
            overload: OverloadControl::new(&config.admission(), &seed, refused, emergencies),
            policer: source_policing::policer(&config, &border.hops, [high, low], now),
            challenges: Challenges::new([nonces, codes]),
            media,
            ims,
            egress,
            pair: Pair::default(),
            shard: seed.shard,
            random,
            is_draining: false,
            border,
            config,
        }
    }

    /// The next secret number: nothing that leaves tells what was or will be drawn.
    fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// The secret of a call.
    fn secret(&mut self) -> u128 {
        u128::from(self.random()) << 64 | u128::from(self.random())
    }

    fn message(&mut self, now: Time, flow: Flow, bytes: &[u8], out: &mut Effects) {
        if self.egress.capture.owns(&flow) {
            return;
        }
        let Some(realm) = self.border.realms.door(flow.port).map(|door| door.realm) else { return };
        if !self.is_admitted(now, &flow, realm, bytes, out) {
            return;
        }
        self.egress.facts.add(Fact::MessagesReceived, 1);
        self.overload.waiting.look(flow.port.0);
        let mut text = core::mem::take(&mut self.challenges.text);
        let bytes = self.without_proof(now, &flow, bytes, &mut text);
        if !self.shed(now, flow, realm, bytes, out) {
            self.read(now, flow, realm, bytes, out);
        }
        self.challenges.text = text;
    }

    /// Reads a message that was let in and deals with it.
    fn read(&mut self, now: Time, flow: Flow, realm: RealmId, bytes: &[u8], out: &mut Effects) {
        let mut room = None;
        match Message::parse_in(&mut room, bytes) {
            Ok(message)
                if !self.border.realms.row(realm).trusted && sip::trust::may_claim(message) =>
            {
                self.unclaimed(&Arrived { now, flow, realm, message, raw: bytes }, out);
            }
            Ok(message) => self.ruled(&Arrived { now, flow, realm, message, raw: bytes }, out),
            Err(offence) => self.malformed(now, flow, bytes, &offence, out),
        }
    }

    /// Takes out of a message what only the network may say, unless its sender is believed.
    #[cold]
    fn unclaimed(&mut self, at: &Arrived<'_>, out: &mut Effects) {
        let (mut honest, mut room) = (Vec::new(), None);
        let passes = self.border.realms.row(at.realm).passes;
        if self.border.is_authenticated(at.realm, &at.flow)
            || !sip::trust::write_unclaimed(at.message, passes, &mut honest)
        {
            return self.ruled(at, out);
        }
        self.egress.facts.add(Fact::ClaimsRemoved, 1);
        match Message::parse_in(&mut room, &honest) {
            Ok(message) => self.ruled(&Arrived { message, ..*at }, out),
            Err(offence) => self.malformed(at.now, at.flow, at.raw, &offence, out),
        }
    }

    /// Deals with a message whose claims were looked at.
    fn ruled(&mut self, at: &Arrived<'_>, out: &mut Effects) {
        if self.ims.owns(at.flow.port) {
            return access::agreed(self, at, out);
        }
        self.changed_by_rules(at, out);
    }

    /// Deals with a message as the rules for what comes in change it.
    fn changed_by_rules(&mut self, at: &Arrived<'_>, out: &mut Effects) {
        let mut inbox = core::mem::take(&mut self.egress.inbox);
        inbox.clear();
        let mut room = None;
        let ruled = match self.egress.ruled_in(at.realm, at.message, &mut inbox) {
            Applied::Unchanged => Ok(at.message),
            Applied::Changed => Message::parse_in(&mut room, &inbox),
            Applied::Failed => Err(egress::UNRULED),
        };
        match ruled.and_then(size::checked) {
            Ok(message) => {
                out.about(machine::narrow::half(hash_combine(0, message.call_id())));
                if core::ptr::eq(message, at.message) {
                    self.arrived(at, out);
                } else {
                    self.arrived(&Arrived { message, ..*at }, out);
                }
            }
            Err(offence) => {
                self.egress.facts.add(Fact::Unpassable, 1);
                self.malformed(at.now, at.flow, at.raw, &offence, out);
            }
        }
        self.egress.inbox = inbox;
    }

    /// The router: who deals with a message.
    fn arrived(&mut self, at: &Arrived<'_>, out: &mut Effects) {
        if self.pair.state.leaves(at.message) {
            return;
        }
        if self.refresh_register(at, out) {
            return;
        }
        let reliable = at.flow.transport.is_stream();
        let outs = &mut self.outs;
        let arrival = self.transactions.receive(at.now, at.flow, reliable, at.message, outs);
        match arrival {
            Arrival::Request(server) => self.request(at, server, out),
            Arrival::Response { id, user } => self.response(at, id, user, out),
            Arrival::Ack2xx => self.ack(at, out),
            Arrival::Cancel { id, invite } => self.cancelled(at, id, invite, out),
            Arrival::AckNon2xx(_) => self.seen(at, None),
            Arrival::Absorbed => {
                self.egress.facts.add(Fact::Retransmissions, 1);
                self.seen(at, None);
            }
            Arrival::Repeated(server) => self.repeat(at, server, out),
            Arrival::StrayResponse => self.stray(at, None, out),
            Arrival::Overload => self.refuse(at, None, Refusal::OVERLOAD, out),
        }
        self.transacted(at.now, out);
    }

    fn request(&mut self, at: &Arrived<'_>, server: ServerId, out: &mut Effects) {
        self.border.hops.heard(at.now, &at.flow);
        if self.ims.is_watching(at.message) {
            reg_event::notified(self, at, server, out);
        } else if at.message.to_tag().is_some() {
            self.in_dialog(at, server, out);
        } else {
            self.open(at, server, out);
        }
    }

    /// What every step ends with.
    fn finish_step(&mut self, now: Time, out: &mut Effects) {
        self.egress.capture.flush(now, out);
        self.media.flush(out);
        access::protect(self, now, out);
        self.tell(out);
    }

    /// Captures a message that came in.
    fn seen(&mut self, at: &Arrived<'_>, trail: Option<u64>) {
        self.egress.received(at.now, &at.flow, trail, at.raw);
    }

    /// Carries out what the transactions ask for.
    fn transacted(&mut self, now: Time, out: &mut Effects) {
        while !self.outs.is_empty() {
            let mut outs = core::mem::take(&mut self.outs);
            for ask in outs.drain(..) {
                match ask {
                    Out::Send { to, bytes } => self.transact(now, to, &bytes, out),
                    Out::Timeout { id, user } => self.unanswered(now, id, user, 408, out),
                    Out::TransportError { id, user } => self.unanswered(now, id, user, 503, out),
                    Out::AckMissing { .. } => {}
                }
            }
            if self.outs.is_empty() {
                self.outs = outs; // keeps the allocation
            }
        }
    }

    /// Sends what the transactions keep. What they made themselves has not passed the rules.
    fn transact(&mut self, now: Time, to: Flow, bytes: &[u8], out: &mut Effects) {
        let is_theirs = bytes.starts_with(b"ACK ") || bytes.starts_with(b"CANCEL ");
        let write = |buffer: &mut Vec<u8>| buffer.extend_from_slice(bytes);
        if is_theirs {
            self.egress.facts.add(Fact::Resent, 1);
            self.egress.send(now, to, None, out, write);
        } else {
            self.egress.send_again(now, to, out, write);
        }
    }

    /// Other realms: calls on those that are gone end while the old ones are still in place, the
    /// others and all bindings get the new indices.
    fn change_realms(&mut self, now: Time, realms: Realms, moved: &RealmMap, out: &mut Effects) {
        if moved.are_none() {
            self.border.realms = realms;
            return;
        }
        for key in self.calls.of_removed(moved) {
            self.tear_down(now, key, 480, "the realm of one leg was removed", out);
        }
        self.transacted(now, out);
        self.border.realms = realms;
        self.calls.remap(moved);
        let mut gone = Vec::new();
        self.registrar.remap(|realm| moved.of(realm), &mut gone);
        self.gone(now, &gone);
    }

    /// Nobody answered a request of ours. The silence of a target that was given up for another
    /// one says nothing of that one.
    fn unanswered(&mut self, now: Time, id: ClientId, user: User, status: u16, out: &mut Effects) {
        match user {
            User::Relay(key) | User::Invite(key, _) => {
                if self.calls.relays.at(key).is_some_and(|relay| relay.client == Some(id)) {
                    self.relay_failed(now, key, status, out);
                }
            }
            User::Bye(call, _) => self.bye_done(now, call, out),
            User::Move(call, _) => self.move_failed(now, call, status, out),
            User::Probe(probed) => self.probed(now, probed, false),
            User::Watch(watch) => self.ims.unsubscribed(now, watch, status),
            User::Nobody => {}
        }
    }
}

fn capture(config: &config::Ssc) -> Capture {
    Capture::new(hep::KIND_SIP, CAPTURE_PORT, config.capture_settings())
}

fn timers(config: &config::Ssc) -> Timers {
    let ms = |ms: u32| Duration::from_millis(ms.into());
    let timers = &config.timers;
    Timers { t1: ms(timers.t1_ms), t2: ms(timers.t2_ms), t4: ms(timers.t4_ms) }
}

impl Function for Controller {
    type Config = config::Ssc;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        if self.pair.state.is_standby() {
            self.is_draining |= matches!(input, In::Drain);
            return; // the other node answers
        }
        self.border.announce_names(out);
        if self.media.takes(now, &input, out) {
            self.media_said(now, out);
            return self.finish_step(now, out);
        }
        match input {
            In::Message { flow, bytes } if access::unwrapped(self, now, &flow, bytes, out) => {}
            In::Message { flow, bytes } => self.message(now, flow, bytes, out),
            In::Up { flow } => {
                if self.egress.capture.owns(&flow) {
                    self.egress.capture.up();
                }
            }
            In::Proved { flow, names } => self.border.proved(&flow, names),
            In::Down { flow, why } => {
                self.overload.forget(&flow);
                self.down(now, flow, why, out);
            }
            In::Resolved { query, answer } => {
                self.border.resolved(now, query, answer, out);
                source_policing::know(&mut self.policer, &self.border.hops);
            }
            In::Drain => self.is_draining = true,
            // Of ports that a controller has none of.
            In::Returned { .. } | In::Ready { .. } | In::Written { .. } => {}
            In::Channel { port, event } => self.ims.channel(port, &event),
            In::Work { work, .. } => access::handed(work, out),
            In::HandedBack { .. } => {} // a packet of ESP is lost, as on any wire
        }
        self.finish_step(now, out);
    }

    fn waited(&mut self, now: Time, delay: Duration) {
        self.queued(now, delay);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        if self.pair.state.is_standby() {
            return;
        }
        self.snapshot(out);
        self.send_asked_again(now, out);
        self.border.announce_names(out);
        self.begin_waiting(now, out);
        self.transactions.tick(now, &mut self.outs);
        self.transacted(now, out);
        self.relays_due(now, out);
        self.calls_due(now, out);
        self.registrar_tick(now);
        self.ims.tick(now);
        reg_event::subscribe(self, now, out);
        self.border.look_up(now, &mut self.random, out);
        self.probe(now, out);
        self.lost(now, out);
        self.media.tick(now, out);
        self.media_said(now, out);
        self.tell_tally(now);
        self.transacted(now, out);
        self.finish_step(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        if self.pair.state.is_standby() {
            return None;
        }
        let deadlines = [
            self.pair.state.deadline(),
            self.transactions.deadline(),
            self.calls.deadline(),
            self.border.hops.deadline(),
            self.border.lookups.deadline(),
            self.registrar.deadline(),
            self.overload.deadline(),
            self.egress.capture.deadline(),
            self.media.deadline(),
            self.ims.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    fn configure(&mut self, now: Time, config: Arc<config::Ssc>, out: &mut Effects) {
        while !self.overload.waiting.is_empty() {
            self.begin_waiting(now, out); // they came before the change
        }
        self.egress.capture.flush_all(out);
        let realms = Realms::new(&config.border().realms);
        let moved = RealmMap::between(&self.border.realms, &realms);
        self.change_realms(now, realms, &moved, out);
        self.calls.forget_plans(&self.config, &config);
        self.border.configure(&config.border(), &moved, now);
        self.transactions.set_timers(timers(&config));
        self.calls.configure(&config);
        self.overload.configure(&config.admission());
        self.egress.capture.configure(config.capture_settings());
        self.egress.rule(&config, &self.border.realms);
        self.registrar.configure(config.registrar(), config.limits.bindings_max);
        self.media.configure(now, media::settings(&config), out);
        self.media.flush(out);
        access::protect(self, now, out); // as it was agreed before the change
        self.tell(out); // before it leaves
        self.ims.configure(&config.ims());
        if self.ims.lacks_some() {
            out.ask_for_all();
        }
        self.config = config;
        self.reshield(now);
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        if port >= MEDIA_PORT {
            return media_stack::frame(buffer);
        }
        match sip::frame(buffer) {
            sip::Framing::Partial => Frame::Partial,
            // A ping (RFC 5626 §4.4.1) wants its pong; less is a pong or the half of a ping.
            sip::Framing::Skip(octets @ PING_OCTETS..) => Frame::Answer(octets, b"\r\n"),
            sip::Framing::Skip(octets) => Frame::Skip(octets),
            sip::Framing::Message(octets) => Frame::Message(octets),
            sip::Framing::Broken(offence) => Frame::Broken(offence.what),
        }
    }

    fn ends_frame(port: PortId, buffer: &[u8], seen: usize) -> bool {
        port >= MEDIA_PORT || sip::ends_head(buffer, seen)
    }

    fn steer(_config: &Self::Config, flow: &Flow, bytes: &[u8], shards: u16) -> Option<u16> {
        match flow.port {
            _ if shards <= 1 => None,
            port if port < MEDIA_PORT => steer::steer(bytes, shards),
            port if config::Ssc::steers_esp(port) => ipsec::steer(bytes, shards),
            _ => None,
        }
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        let answer = self.answer(now, ask, out);
        self.media.flush(out);
        access::protect(self, now, out);
        self.tell(out);
        answer
    }

    fn replicate(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        self.mirrored(now, input, out);
        access::protect(self, now, out);
    }

    fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.overload.waiting.is_empty()
    }

    fn cells(&self) -> Vec<event::Cells> {
        let media = self.media.facts.cells();
        let [agreements, esp, reg_events] = self.ims.cells();
        let own = [self.egress.facts.cells(), self.egress.next_hops.cells(), media];
        own.into_iter().chain([agreements, esp, reg_events]).collect()
    }
}

/// Starts it. The loop of a shard is compiled here, with this crate's optimisation, not where a
/// site is put together.
///
/// # Errors
/// As [`runtime::start`].
pub fn start(
    spec: ShardSpec,
    config: Arc<config::Ssc>,
    make: Make<Controller>,
) -> Result<Running<Controller>, RuntimeError> {
    runtime::start(spec, config, move |seed, config| make(seed, config))
}

/// Whether a request may begin a dialog whose record must be kept.
const fn begins_dialog(method: Method) -> bool {
    matches!(method, Method::Invite | Method::Subscribe | Method::Refer)
}
