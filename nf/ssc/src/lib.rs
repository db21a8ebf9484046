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
mod function;
mod limit;
mod media;
mod metrics;
mod probe;
mod refusal;
mod reg_event;
mod register;
mod replica;
mod shed;
mod source_policing;

pub use ask::questions;
pub use metrics::{Metric, NextHopMetric, next_hop_table};

use admission::{Emergencies, OverloadControl, Refused};
use call::calls::Calls;
use config::CAPTURE_PORT;
use egress::Egress;
use machine::Duration;
use machine::Time;
use machine::identity::{Side, hash_combine};
use machine::narrow::{halves, micros};
use machine::slots::Key;
use manipulation::Applied;
use overload::Queue;
use probe::Probing;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use refusal::{Answered, Refusal, Replies};
use registrar::Registrar;
use replica::{Copied, Pair};
use runtime::{Effects, Flow, Make, Mirrored, Running, RuntimeError, Seed, ShardSpec};
use shed::Shedding;
use sip::{Malformed, Message, Method, RequestHead};
use sip_stack::border::Border;
use sip_stack::next_hop::Probed;
use sip_stack::realm::{RealmId, Realms};
use sip_stack::realm_map::RealmMap;
use sip_stack::size;
use source_policing::{Arriving, SourcePolicer};
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
    policing: SourcePolicer,
    /// The media controllers, and the media of calls that are anchored there.
    media: media_stack::Client,
    /// Security agreements with phones of IMS, and their associations.
    ims: ims::Access,
    /// What every message passes on its way in and out.
    egress: Egress,
    /// What is counted of each target of a next hop.
    next_hop_table: metrics::NextHopTable,
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
        let mut egress = Egress::new(capture(&config), egress::COUNTED);
        egress.rule(&config.rule, &border.realms);
        let mut random = ChaCha12Rng::from_seed(seed.random);
        let mut media = [0; 32];
        random.fill_bytes(&mut media);
        let shard = (seed.shard, seed.shards);
        let media = media_stack::Client::new(media::settings(&config), media, shard, now);
        let mut access = [0; 32];
        random.fill_bytes(&mut access);
        let ims = ims::Access::new(&config.ims(), seed.shard, access, now);
        egress.tagged_later = ims.named_ports().collect();
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
            policing: SourcePolicer::new(&config, &border.hops, [high, low], [nonces, codes], now),
            media,
            ims,
            egress,
            next_hop_table: next_hop_table(),
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
        let Some(realm) = self.border.realms.listener(flow.port).map(|listener| listener.realm)
        else {
            return;
        };
        let arriving = Arriving { now, flow: &flow, realm, bytes };
        let by = source_policing::Context {
            border: &self.border,
            registrar: &self.registrar,
            refused: &self.overload.refused,
            metrics: &self.egress.metrics,
            challenge_realm: self.config.shield.challenge_realm.as_deref(),
        };
        if !self.policing.is_admitted(&arriving, &by, out) {
            return;
        }
        self.egress.metrics.add(Metric::MessagesReceived, 1);
        self.overload.waiting.look(flow.port.0);
        let mut text = self.policing.text();
        let bytes = self.policing.without_proof(now, &flow, bytes, &mut text);
        let mut shedding = Shedding {
            overload: &mut self.overload,
            callers: self.calls.callers(&self.border, &self.registrar),
            transactions: &mut self.transactions,
            egress: &mut self.egress,
            config: &self.config,
        };
        if !shedding.sheds(now, flow, realm, bytes, out) {
            self.read(now, flow, realm, bytes, out);
        }
        self.policing.reuse(text);
    }

    /// Begins some of the calls that wait.
    fn begin_waiting(&mut self, now: Time, out: &mut Effects) {
        for _ in 0..self.overload.waiting.room() {
            let Some(call) = self.overload.waiting.begin() else { return };
            // Its client asked again, was refused, and has given up.
            let is_over = call.name.is_some_and(|name| self.overload.refused.remembers(name));
            let listener = self.border.realms.listener(call.source.port).filter(|_| !is_over);
            if let Some(realm) = listener.map(|listener| listener.realm) {
                let waited_us = micros(now.since(call.at));
                self.egress.metrics.observe(Metric::QueueDelay, waited_us);
                self.read(now, call.source, realm, &call.bytes, out);
            }
        }
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
            Err(violation) => self.malformed(now, flow, bytes, &violation, out),
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
        self.egress.metrics.add(Metric::ClaimsRemoved, 1);
        match Message::parse_in(&mut room, &honest) {
            Ok(message) => self.ruled(&Arrived { message, ..*at }, out),
            Err(violation) => self.malformed(at.now, at.flow, at.raw, &violation, out),
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
            Err(violation) => {
                self.egress.metrics.add(Metric::Unpassable, 1);
                self.malformed(at.now, at.flow, at.raw, &violation, out);
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
                self.egress.metrics.add(Metric::Retransmissions, 1);
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

    /// Takes what the pair wants.
    pub(crate) fn mirrored(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        match input {
            Mirrored::Deactivate => {
                self.pair.stand_by();
                self.overload.waiting = Queue::default();
                self.tell(out);
                self.copied().1.watch(false);
                self.ims.stand_by();
                self.media.activate(now, false, &|_| true, out);
            }
            Mirrored::Activate { is_current } => {
                self.pair.take_over();
                self.calls.table.settle();
                self.registrar.settle();
                self.ims.take_over(is_current);
                self.policing.take_over(&self.registrar, now);
                self.copied().1.recount();
                self.overload.share.take_over(now);
                self.copied().1.watch(true);
                let (ims, mut gone) = (&self.ims, Vec::new());
                let why = "its security agreement was lost with the node before";
                self.registrar.end_where(why, &mut gone, |it| ims.is_nobodys(&it.flow));
                self.gone(now, &gone);
                let table = &self.calls.table;
                self.media.activate(now, true, &|call| table.at(call).is_some(), out);
                self.take_over_invites(now);
            }
            Mirrored::Forget => {
                self.calls.clear();
                self.registrar.clear();
                self.ims.forget();
                self.media.clear();
                self.transactions.clear(now);
            }
            Mirrored::Delta(delta) => self.copied().1.apply(now, delta),
            Mirrored::Followed(mark) => self.ims.followed(mark),
            Mirrored::Paced(pace) => self.pair.paced(pace),
            Mirrored::Term(_) => {}
            Mirrored::Snapshot(number) => {
                let (pair, copied) = self.copied();
                pair.begin_snapshot(number, copied, out);
            }
        }
    }

    /// The pair, and what the standby has a copy of.
    fn copied(&mut self) -> (&mut Pair, Copied<'_>) {
        let copied = Copied {
            calls: &mut self.calls,
            registrar: &mut self.registrar,
            media: &mut self.media,
            ims: &mut self.ims,
            overload: &mut self.overload,
            transactions: &self.transactions,
            border: &self.border,
        };
        (&mut self.pair, copied)
    }

    /// Tells the kernel and the standby what this step changed.
    fn tell(&mut self, out: &mut Effects) {
        self.policing.report(out);
        let (pair, copied) = self.copied();
        pair.tell(copied, out);
    }

    /// What an answer of our own takes.
    fn replies(&mut self) -> Replies<'_> {
        Replies {
            transactions: &mut self.transactions,
            egress: &mut self.egress,
            overload: &mut self.overload,
            random: &mut self.random,
            retry_after_s: self.config.limits.retry_after_s,
        }
    }

    /// What a probe of a next hop takes.
    fn probing(&mut self) -> Probing<'_> {
        Probing {
            border: &mut self.border,
            transactions: &mut self.transactions,
            egress: &mut self.egress,
            random: &mut self.random,
        }
    }

    /// Answers a request itself. Without a transaction the answer is stateless.
    fn refuse(
        &mut self,
        at: &Arrived<'_>,
        server: Option<ServerId>,
        refusal: Refusal,
        out: &mut Effects,
    ) {
        self.replies().refuse(at, server, refusal, out);
    }

    /// Answers a request with a response of our own: head, what `more` adds, no body.
    fn reply(
        &mut self,
        at: &Arrived<'_>,
        answered: Answered,
        status: u16,
        out: &mut Effects,
        more: impl FnOnce(&mut Vec<u8>),
    ) {
        self.replies().reply(at, answered, status, out, more);
    }

    /// Counts bytes that are no SIP message, against their source too, and answers them.
    fn malformed(
        &mut self,
        now: Time,
        flow: Flow,
        bytes: &[u8],
        violation: &Malformed,
        out: &mut Effects,
    ) {
        if bytes.iter().all(|&b| b == b'\r' || b == b'\n' || b == 0) {
            return; // a keep-alive (RFC 5626 §3.5.1) or an empty datagram
        }
        self.egress.metrics.add(Metric::Malformed, 1);
        self.policing.malformed(now, &flow, &self.border, &self.registrar);
        if RequestHead::read(bytes).is_some_and(|head| head.is_emergency(false)) {
            self.takes_call_for_help(now, &flow);
        }
        self.replies().malformed(now, flow, bytes, violation, out);
    }

    /// Whether one more call for help from that source is taken as such, and is counted; what is
    /// beyond is a call as others are.
    fn takes_call_for_help(&mut self, now: Time, flow: &Flow) -> bool {
        let known = self.calls.callers(&self.border, &self.registrar).known(flow);
        self.overload.emergencies.admits(now, flow, known)
    }

    /// What every step ends with.
    fn finish_step(&mut self, now: Time, out: &mut Effects) {
        self.media.flush(out);
        access::protect(self, now, out);
        self.egress.capture.flush(now, out); // with the names of associations
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
            self.egress.metrics.add(Metric::Resent, 1);
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
            User::Probe(probed) => self.probing().probed(now, probed, false),
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
