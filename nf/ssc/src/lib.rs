//! Signalling session controller: a back-to-back user agent between access and core.
//!
//! ```text
//!            ┌───────────────────────── Controller ─────────────────────────┐
//!  access ── │ transactions ─ call/{open,answer,in_dialog,ack} ─ transactions │ ── core
//!            │      │            route · next_hop · trust           │        │
//!            └──────┴──── wire: counted, captured, sent ────────────┴────────┘
//! ```
//! This page routes: what comes in goes to the transactions, what they pass on goes to the block
//! of the standard that deals with it; everything leaves through [`wire`].
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod ask;
mod call;
pub mod config;
mod facts;
mod hide;
mod limit;
mod lookup;
mod media;
mod merged;
mod next_hop;
mod probe;
mod proof;
pub mod realm;
mod refusal;
mod register;
mod replica;
mod reseat;
mod route;
mod session_pool;
mod shed;
mod shield;
mod size;
mod steer;
mod tally;
mod trust;
mod wire;
mod write;

pub use facts::Fact;

use call::Call;
use call::relays::Relays;
use limit::Limits;
use lookup::Lookups;
use machine::identity as token;
use machine::slots::{Key, Slots};
use machine::{Duration, Time};
use manipulation::Applied;
use merged::Merged;
use next_hop::{NextHops, Probed};
use overload::{Admission, Queue};
use proof::Proofs;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use realm::{CAPTURE_PORT, RealmId, Realms};
use refusal::Refusal;
use registrar::Registrar;
use reseat::Moves;
use route::Routes;
use runtime::shield::Shield;
use runtime::{Ask, AskError, Effects, Flow, Frame, Function, In, Mirrored, PortId, Seed};
use session_pool::Purse;
use shed::Shed;
use shield::challenge::Challenges;
use sip::transaction::{Arrival, Out, ServerId, Timers, Transactions};
use sip::{Message, Method};
use std::sync::Arc;
use tally::Tally;
use token::Side;
use trail::Capture;
use wire::Wire;

/// Octets of a ping: two line ends.
const PING_OCTETS: usize = 4;

/// Whose client transaction it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// A request between two legs.
    Relay(Key),
    /// A BYE of our own on one leg of a call.
    Bye(Key, Side),
    /// A probe of a next hop's target, as the next hops stood at that time.
    Probe(Probed),
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
    realms: Realms,
    routes: Routes,
    hops: NextHops,
    lookups: Lookups,
    transactions: Transactions<Flow, User>,
    calls: Slots<Call>,
    relays: Relays,
    merged: Merged,
    admission: Admission,
    waiting: Queue<Flow>,
    shed: Shed,
    feedback: sip::overload::Control,
    tally: Tally,
    limits: Limits,
    purse: Purse,
    wire: Wire,
    registrar: Registrar,
    shield: Shield,
    challenges: Challenges,
    proofs: Proofs,
    inbox: Vec<u8>,
    shard: u16,
    random: ChaCha12Rng,
    is_draining: bool,
    outs: Vec<Out<Flow, User>>,
    due: Vec<Key>,
    /// Connections that ended since the calls on them were last looked for.
    lost: Vec<Flow>,
    /// The other node of the pair.
    mirror: replica::Mirror,
    told: Vec<u8>,
    /// Calls whose re-INVITE was refused in this step, and what the standby is told of that.
    refused: Vec<(Key, Vec<u8>)>,
    /// Calls whose INVITE is to be sent again after a takeover, and when.
    asked_again: Vec<Key>,
    asked_again_at: Time,
}

impl Controller {
    /// A controller without calls.
    #[must_use]
    pub fn new(seed: Seed, config: Arc<config::Ssc>) -> Self {
        let now = seed.now;
        let realms = Realms::new(&config);
        let routes = Routes::new(&config, &realms);
        let hops = NextHops::new(&config, &realms, now);
        let half = config.limits.transactions_max;
        let limits = sip::transaction::Limits { clients_max: half, servers_max: half };
        let (key, rest) = seed.random.split_at(16);
        let mut table_seed = [0; 32];
        table_seed[..16].copy_from_slice(key);
        table_seed[16..].copy_from_slice(rest);
        let registrar_seed: [u8; 16] =
            core::array::from_fn(|n| rest[n].rotate_left(3) ^ key[n].wrapping_mul(31));
        let capture = Capture::new(hep::KIND_SIP, CAPTURE_PORT, config.capture_settings());
        let mut wire = Wire::new(capture);
        wire.rule(&config, &realms);
        let mut proofs = Proofs::default();
        proofs.configure(&config, &realms);
        let mut random = ChaCha12Rng::from_seed(seed.random);
        let shed_proof = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        let shield_secret = [random.next_u64(), random.next_u64()];
        let mut wide = || u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        let challenges = Challenges::new([wide(), wide()]);
        Self {
            transactions: Transactions::new(timers(&config), limits, table_seed, seed.shard, now),
            calls: Slots::new(config.limits.calls_max, now),
            relays: relays(&config, random.next_u64(), now),
            merged: Merged::new(random.next_u64()),
            admission: Admission::new(shed::CLASSES, target(&config)),
            waiting: Queue::default(),
            shed: Shed::new(random.next_u64(), shed_proof),
            feedback: sip::overload::Control::default(),
            tally: Tally::default(),
            limits: Limits::new(&config, seed.shard, seed.shards),
            purse: Purse::new(now),
            registrar: register::registrar(&config, seed.shard, &registrar_seed, now),
            shield: shield::shield(&config, &hops, shield_secret, now),
            challenges,
            wire,
            proofs,
            inbox: Vec::new(),
            shard: seed.shard,
            random,
            is_draining: false,
            outs: Vec::new(),
            due: Vec::new(),
            lookups: Lookups::new(&hops, now),
            lost: Vec::new(),
            mirror: replica::Mirror::default(),
            told: Vec::new(),
            refused: Vec::new(),
            asked_again: Vec::new(),
            asked_again_at: Time::MAX,
            config,
            realms,
            routes,
            hops,
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
        if self.wire.capture.owns(&flow) {
            return;
        }
        let Some(realm) = self.realms.door(flow.port).map(|door| door.realm) else { return };
        if !self.is_admitted(now, &flow, realm, bytes, out) {
            return;
        }
        self.wire.facts.add(Fact::MessagesReceived, 1);
        self.waiting.look(flow.port.0);
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
            Ok(message) if !self.realms.row(realm).trusted && sip::trust::may_claim(message) => {
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
        let passes = self.realms.row(at.realm).passes;
        if self.believes(at.realm, &at.flow)
            || !sip::trust::write_unclaimed(at.message, passes, &mut honest)
        {
            return self.ruled(at, out);
        }
        self.wire.facts.add(Fact::ClaimsRemoved, 1);
        match Message::parse_in(&mut room, &honest) {
            Ok(message) => self.ruled(&Arrived { message, ..*at }, out),
            Err(offence) => self.malformed(at.now, at.flow, at.raw, &offence, out),
        }
    }

    /// Deals with a message as the rules for what comes in change it.
    fn ruled(&mut self, at: &Arrived<'_>, out: &mut Effects) {
        let mut inbox = core::mem::take(&mut self.inbox);
        inbox.clear();
        let mut room = None;
        let ruled = match self.wire.ruled_in(at.realm, at.message, &mut inbox) {
            Applied::Unchanged => Ok(at.message),
            Applied::Changed => Message::parse_in(&mut room, &inbox),
            Applied::Failed => Err(wire::UNRULED),
        };
        match ruled.and_then(size::checked) {
            Ok(message) => {
                out.about(machine::narrow::half(merged::absorb(0, message.call_id())));
                self.arrived(&Arrived { message, ..*at }, out);
            }
            Err(offence) => {
                self.wire.facts.add(Fact::Unpassable, 1);
                self.malformed(at.now, at.flow, at.raw, &offence, out);
            }
        }
        self.inbox = inbox;
    }

    /// The router: who deals with a message.
    fn arrived(&mut self, at: &Arrived<'_>, out: &mut Effects) {
        if self.mirror.leaves(at.message) {
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
                self.wire.facts.add(Fact::Retransmissions, 1);
                self.seen(at, None);
            }
            Arrival::Repeated(server) => self.repeat(at, server, out),
            Arrival::StrayResponse => self.stray(at, false, out),
            Arrival::Overload => self.refuse(at, None, Refusal::OVERLOAD, out),
        }
        self.transacted(at.now, out);
    }

    fn request(&mut self, at: &Arrived<'_>, server: ServerId, out: &mut Effects) {
        if at.message.to_tag().is_some() {
            self.in_dialog(at, server, out);
        } else {
            self.open(at, server, out);
        }
    }

    /// Captures a message that came in.
    fn seen(&mut self, at: &Arrived<'_>, trail: Option<u64>) {
        self.wire.received(at.now, &at.flow, trail, at.raw);
    }

    /// Carries out what the transactions ask for.
    fn transacted(&mut self, now: Time, out: &mut Effects) {
        while !self.outs.is_empty() {
            let mut outs = core::mem::take(&mut self.outs);
            for ask in outs.drain(..) {
                match ask {
                    Out::Send { to, bytes } => self.transact(now, to, &bytes, out),
                    Out::Timeout { user, .. } => self.unanswered(now, user, 408, out),
                    Out::TransportError { user, .. } => self.unanswered(now, user, 503, out),
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
            self.wire.facts.add(Fact::Resent, 1);
            self.wire.send(now, to, None, out, write);
        } else {
            self.wire.send_again(now, to, out, write);
        }
    }

    /// Nobody answered a request of ours.
    fn unanswered(&mut self, now: Time, user: User, status: u16, out: &mut Effects) {
        match user {
            User::Relay(key) => self.relay_failed(now, key, status, out),
            User::Bye(call, _) => self.bye_done(now, call, out),
            User::Probe(probed) => self.probed(now, probed, false),
            User::Nobody => {}
        }
    }
}

fn relays(config: &config::Ssc, secret: u64, now: Time) -> Relays {
    let limits = &config.limits;
    Relays::new(limits.relays_max, limits.requests_octets_max as usize, secret, now)
}

fn target(config: &config::Ssc) -> Duration {
    Duration::from_millis(config.overload.delay_target_ms.into())
}

fn timers(config: &config::Ssc) -> Timers {
    let ms = |ms: u32| Duration::from_millis(ms.into());
    let timers = &config.timers;
    Timers { t1: ms(timers.t1_ms), t2: ms(timers.t2_ms), t4: ms(timers.t4_ms) }
}

impl Function for Controller {
    type Config = config::Ssc;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        if self.mirror.is_standby() {
            self.is_draining |= matches!(input, In::Drain);
            return; // the other node answers
        }
        self.introduce(out);
        match input {
            In::Message { flow, bytes } => self.message(now, flow, bytes, out),
            In::Up { flow } => {
                if self.wire.capture.owns(&flow) {
                    self.wire.capture.up();
                }
            }
            In::Proved { flow, names } => self.proved(&flow, names),
            In::Down { flow, why } => {
                if flow.transport.is_stream() {
                    self.waiting.forget(&flow);
                }
                self.down(now, flow, why, out);
            }
            In::Resolved { query, answer } => {
                self.resolved(now, query, answer, out);
                shield::know(&mut self.shield, &self.hops);
            }
            In::Drain => self.is_draining = true,
            // Of ports that a controller has none of.
            In::Returned { .. } | In::Ready { .. } | In::Channel { .. } | In::Written { .. } => {}
        }
        self.wire.capture.flush(now, out);
        self.tell(out);
    }

    fn waited(&mut self, now: Time, delay: Duration) {
        self.queued(now, delay);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        if self.mirror.is_standby() {
            return;
        }
        self.snapshot(out);
        self.send_asked_again(now, out);
        self.introduce(out);
        self.begin_waiting(now, out);
        self.transactions.tick(now, &mut self.outs);
        self.transacted(now, out);
        self.relays_due(now, out);
        self.calls_due(now, out);
        self.registrar_tick(now);
        self.look_up(now, out);
        self.probe(now, out);
        self.lost(now, out);
        self.tell_tally(now);
        self.transacted(now, out);
        self.wire.capture.flush(now, out);
        self.tell(out);
    }

    fn deadline(&self) -> Option<Time> {
        if self.mirror.is_standby() {
            return None;
        }
        let deadlines = [
            self.mirror.deadline(),
            self.waiting.deadline(),
            Some(self.asked_again_at).filter(|&at| at < Time::MAX),
            self.transactions.deadline(),
            self.relays.deadline(),
            self.calls.deadline(),
            self.hops.deadline(),
            self.lookups.deadline(),
            self.registrar.deadline(),
            self.lost_at(),
            self.tally.deadline(),
            self.wire.capture.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    fn configure(&mut self, now: Time, config: Arc<config::Ssc>, out: &mut Effects) {
        while !self.waiting.is_empty() {
            self.begin_waiting(now, out); // they came before the change
        }
        self.wire.capture.flush_all(out);
        let realms = Realms::new(&config);
        let moves = Moves::between(&self.realms, &realms);
        self.leave(now, &moves, out);
        self.realms = realms;
        self.reseat(now, &moves);
        self.proofs.reseat(|realm| moves.of(realm));
        self.proofs.configure(&config, &self.realms);
        self.forget_plans(&Arc::clone(&self.config), &config);
        self.routes = Routes::new(&config, &self.realms);
        let mut hops = NextHops::new(&config, &self.realms, now);
        hops.inherit(&self.hops);
        self.lookups = Lookups::new(&hops, now);
        self.hops = hops;
        self.transactions.set_timers(timers(&config));
        self.calls.set_max(config.limits.calls_max);
        self.relays.set_max(config.limits.relays_max);
        self.relays.set_octets_max(config.limits.requests_octets_max as usize);
        self.limits.configure(&config);
        self.admission.set_target(target(&config));
        self.wire.capture.configure(config.capture_settings());
        self.wire.rule(&config, &self.realms);
        self.registrar.configure(config.registrar.clone(), config.limits.bindings_max);
        self.config = config;
        self.reshield(now);
    }

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        match sip::frame(buffer) {
            sip::Framing::Partial => Frame::Partial,
            // A ping (RFC 5626 §4.4.1) wants its pong; less is a pong or the half of a ping.
            sip::Framing::Skip(octets @ PING_OCTETS..) => Frame::Answer(octets, b"\r\n"),
            sip::Framing::Skip(octets) => Frame::Skip(octets),
            sip::Framing::Message(octets) => Frame::Message(octets),
            sip::Framing::Broken(offence) => Frame::Broken(offence.what),
        }
    }

    fn ends_frame(_port: PortId, buffer: &[u8], seen: usize) -> bool {
        sip::ends_head(buffer, seen)
    }

    fn steer(_config: &Self::Config, _flow: &Flow, bytes: &[u8], shards: u16) -> Option<u16> {
        if shards > 1 { steer::steer(bytes, shards) } else { None }
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        let answer = self.answer(now, ask, out);
        self.tell(out);
        answer
    }

    fn mirror(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        self.mirrored(now, input, out);
    }

    fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.relays.is_empty() && self.waiting.is_empty()
    }

    fn cells(&self) -> Vec<event::Cells> {
        vec![self.wire.facts.cells()]
    }
}

/// Whether a request may begin a dialog whose record must be kept.
const fn begins_dialog(method: Method) -> bool {
    matches!(method, Method::Invite | Method::Subscribe | Method::Refer)
}
