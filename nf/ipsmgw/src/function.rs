//! The gateway as a shard runs it: SIP on ports, transactions, next hops, the store, links to
//! signalling gateways.
//!
//! ```text
//!   In::Message ─→ trusted? ─→ Transactions ─→ smsip ─→ Gateway ─→ Respond, Send ─→ out
//!                                                      │  ↑    │  ↑
//!                                      Request ↓  │ Indication │  │ Answer
//!          an [[sgc.application]] ⇄ Links ───────┴──┘          ↓  │
//!                                            keyed::Store ⇄ journal (a channel)
//! ```
//! A request is dealt with if it comes from an address of a next hop; all others get 403 and leave
//! nothing behind.

use crate::by_diameter::{self, keys};
use crate::config::{CAPTURE_PORT, Ipsmgw, LINK_PORT, STORE_PORT};
use crate::effects::{In as Input, Out as Output, Sent};
use crate::gateway::{Gateway, Seeds};
use crate::records::Recorder;
use crate::sending::Leaving;
use crate::shards::{self, Own, Part, Work, hand};
use crate::store::Answer;
use crate::wire::{COUNTED, SipMetric, Wire};
use keyed::Store;
use machine::identity::hex;
use machine::{Duration, Machine, Time};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use runtime::{
    Answered, Ask, AskError, Effects, Flow, Frame, Function, In, Make, Mirrored, PortId, Running,
    RuntimeError, Seed, ShardSpec, Ticket, Transport,
};
use sip::{Header, Malformed, Message, Method};
use sip_stack::border::Border;
use sip_stack::next_hop::Probed;
use sip_stack::realm::Realms;
use sip_stack::realm_map::RealmMap;
use sip_stack::upstream::upstream;
use sip_stack::write;
use smsdiameter::{Applications, Caller, Wanted};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tcu::{Indication, Request};
use tcu_stack::{Ladder, Links};
use trail::{Capture, Event, Field};
use transaction::{Arrival, Limits, Out, ServerId, Timers, Transactions};

/// Octets of a ping: two line ends.
const PING_OCTETS: usize = 4;
/// The methods that are known here.
const ALLOW: &[u8] = b"MESSAGE, REGISTER, OPTIONS";
/// Extensions of a REGISTER or MESSAGE that a server of this kind has to know: none.
const REQUIRED: Header = Header::Require;

/// Whose client transaction it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Message(Sent),
    /// A probe, and its trail in the service assurance.
    Probe(Probed, u64),
}

/// A request that waits for its answer.
pub(crate) struct Asked {
    server: ServerId,
    flow: Flow,
    pub trail: u64,
    bytes: Vec<u8>,
    /// When it came, where it is not captured yet: what answers a message of ours waits until its
    /// trail is known.
    uncaptured: Option<Time>,
}

/// A MESSAGE, REGISTER or another request, and where it came in.
struct Arrived<'a> {
    now: Time,
    flow: Flow,
    message: &'a Message<'a>,
    bytes: &'a [u8],
}

/// The gateway, as its shard runs it.
pub struct ShortMessageGateway {
    pub(crate) config: Arc<Ipsmgw>,
    pub(crate) border: Border,
    pub(crate) transactions: Transactions<Flow, User>,
    pub(crate) outs: Vec<Out<Flow, User>>,
    pub(crate) gateway: Gateway,
    pub(crate) store: Store,
    pub(crate) by_diameter: Applications,
    pub(crate) records: Recorder,
    /// Whether messages that stood in the store were told to the gateway.
    pub(crate) is_restored: bool,
    pub(crate) wire: Wire,
    pub(crate) asked: BTreeMap<u64, Asked>,
    pub(crate) leaving: BTreeMap<Sent, Leaving>,
    operators: BTreeMap<u64, Ticket>,
    /// What the gateway is to be told, each in a step of its own.
    pub(crate) told: VecDeque<Input>,
    pub(crate) links: Links,
    /// Whether the gateway was told that a link stands.
    pub(crate) is_linked: bool,
    pub(crate) ladder: Ladder,
    pub(crate) random: ChaCha12Rng,
    is_draining: bool,
    pub(crate) own: Own,
}

impl ShortMessageGateway {
    /// A gateway whose store is not open yet.
    ///
    /// # Panics
    /// Where the section was not checked: its number is none.
    #[must_use]
    pub fn new(seed: Seed, config: Arc<Ipsmgw>) -> Self {
        let (now, own) = (seed.now, Own::of(&seed));
        let config = shards::concerning(seed.shard, config);
        let mut random = ChaCha12Rng::from_seed(seed.random);
        let mut octets = [0; 16];
        let mut drawn = || {
            random.fill_bytes(&mut octets);
            octets
        };
        let seeds = Seeds { proofs: drawn(), correlations: drawn(), share: (0, 1) };
        let mut of_transactions = [0; 32];
        random.fill_bytes(&mut of_transactions);
        let mut diameter = Seed { random: [0; 32], ..seed };
        random.fill_bytes(&mut diameter.random);
        let settings = config.settings().expect("the section was checked");
        let backend = config.backend.clone();
        let capture = Capture::new(hep::KIND_SIP, CAPTURE_PORT, config.capture_settings());
        Self {
            border: Border::new(&config.border(), now),
            transactions: transactions(&config, of_transactions, seed.shard, now),
            outs: Vec::new(),
            gateway: Gateway::new(settings, seeds, now),
            store: Store::new(config.store.limits(), backend, STORE_PORT, now),
            by_diameter: Applications::new(&config.by_diameter(), diameter),
            records: Recorder::new(&config, now),
            is_restored: false,
            wire: Wire::telling_all(capture, COUNTED),
            asked: BTreeMap::new(),
            leaving: BTreeMap::new(),
            operators: BTreeMap::new(),
            told: VecDeque::new(),
            links: Links::new(&config.links(), now),
            is_linked: false,
            ladder: Ladder::default(),
            random,
            is_draining: false,
            own,
            config,
        }
    }

    /// Nobody waits for an answer any more.
    pub(crate) fn forget_requests(&mut self) {
        self.asked.clear();
        self.leaving.clear();
        self.operators.clear();
        self.told.clear();
    }

    fn number(&mut self) -> u64 {
        self.own.numbers += 1;
        self.own.numbers
    }

    fn received(&mut self, now: Time, flow: Flow, bytes: &[u8], out: &mut Effects) {
        if self.wire.capture.owns(&flow) {
            return;
        }
        self.wire.metrics.add(SipMetric::MessagesReceived, 1);
        let mut room = None;
        match Message::parse_in(&mut room, bytes) {
            Ok(message) => self.arrived(&Arrived { now, flow, message, bytes }, out),
            Err(violation) => self.malformed(now, flow, bytes, &violation, out),
        }
    }

    /// Answers what is no SIP message where RFC 3261 says so, to those that are heard.
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
        self.wire.metrics.add(SipMetric::Malformed, 1);
        if !self.is_heard(&flow) {
            return self.wire.metrics.add(SipMetric::Untrusted, 1);
        }
        let trail = self.random.next_u64();
        self.wire.received(now, &flow, Some(trail), bytes);
        let fields = [
            ("text", Field::Text(violation.what.as_bytes())),
            ("offset", Field::Number(violation.at as u64)),
            ("spec", Field::Text(violation.spec.as_bytes())),
        ];
        self.wire.event(now, &flow, trail, Event::MessageMalformed, &fields);
        let tag = hex(self.random.next_u64());
        self.wire.send(now, flow, Some(trail), out, |buffer| {
            sip::refuse(bytes, violation, &tag, buffer);
        });
    }

    /// Whether what comes by a flow is believed: its far end is an address of a next hop.
    fn is_heard(&self, flow: &Flow) -> bool {
        let from = flow.remote.ip().to_canonical();
        let mut all = self.border.hops.rows().iter().flat_map(|hop| &hop.endpoints);
        // Who is reached by TLS speaks TLS: an address alone proves less than that.
        let fits = |own: &Flow| own.transport != Transport::Tls || flow.transport == Transport::Tls;
        all.any(|it| it.flow.remote.ip().to_canonical() == from && fits(&it.flow))
    }

    fn arrived(&mut self, at: &Arrived<'_>, out: &mut Effects) {
        if at.message.is_request() && !self.is_heard(&at.flow) {
            self.wire.metrics.add(SipMetric::Untrusted, 1);
            if at.message.method() != Method::Ack {
                self.refuse(at, None, 403, out);
            }
            return;
        }
        if at.message.is_request() {
            self.border.hops.heard(at.now, &at.flow);
            if self.own.place.leaves(at.message) {
                return; // it comes again, at the other node
            }
        }
        let reliable = at.flow.transport.is_stream();
        let outs = &mut self.outs;
        match self.transactions.receive(at.now, at.flow, reliable, at.message, outs) {
            Arrival::Request(server) => self.request(at, server, out),
            Arrival::Cancel { id, .. } => self.refuse(at, Some(id), 481, out),
            Arrival::Response { user, .. } => self.response(at, user, out),
            Arrival::Absorbed | Arrival::Repeated(_) => {
                self.wire.metrics.add(SipMetric::Retransmissions, 1);
            }
            Arrival::Overload => {
                self.wire.metrics.add(SipMetric::Overload, 1);
                self.refuse(at, None, 503, out);
            }
            Arrival::Ack2xx | Arrival::AckNon2xx(_) | Arrival::StrayResponse => {}
        }
        self.transacted(at.now, out);
    }

    fn request(&mut self, at: &Arrived<'_>, server: ServerId, out: &mut Effects) {
        self.border.hops.heard(at.now, &at.flow);
        let message = at.message;
        let answers = message.first(Header::InReplyTo).and_then(|it| str::from_utf8(it).ok());
        let trail = answers.and_then(|it| self.gateway.trail_of(it));
        let trail = trail.unwrap_or_else(|| self.random.next_u64());
        let method = message.method();
        if method == Method::Options {
            return self.answer(at, server, 200, trail, out);
        }
        if message.header(REQUIRED).is_some() {
            return self.answer(at, server, 420, trail, out);
        }
        let number = self.number();
        let input = match method {
            Method::Register => smsip::register(message)
                .map(|register| Input::Register { transaction: number, register }),
            Method::Message => smsip::received(message, trail)
                .map(|message| Input::Message { transaction: number, message }),
            _ => return self.answer(at, server, 405, trail, out),
        };
        let Some(input) = input else { return self.answer(at, server, 400, trail, out) };
        if self.is_draining && method == Method::Message && answers.is_none() {
            return self.answer(at, server, 503, trail, out);
        }
        let is_captured = self.own.part.has_flows() || answers.is_none();
        if is_captured {
            self.wire.received(at.now, &at.flow, Some(trail), at.bytes);
        }
        let bytes = at.bytes.to_vec();
        let uncaptured = (!is_captured).then_some(at.now);
        let asked = Asked { server, flow: at.flow, trail, bytes, uncaptured };
        self.asked.insert(number, asked);
        self.tell(at.now, input, out);
    }

    /// Answers at once what the gateway is not asked.
    fn answer(
        &mut self,
        at: &Arrived<'_>,
        server: ServerId,
        status: u16,
        trail: u64,
        out: &mut Effects,
    ) {
        if at.message.method() != Method::Options {
            self.wire.received(at.now, &at.flow, Some(trail), at.bytes);
            self.wire.metrics.add(SipMetric::Refused, 1);
        }
        self.respond(at, Some(server), status, trail, out);
    }

    fn refuse(
        &mut self,
        at: &Arrived<'_>,
        server: Option<ServerId>,
        status: u16,
        out: &mut Effects,
    ) {
        let trail = self.random.next_u64();
        self.wire.received(at.now, &at.flow, Some(trail), at.bytes);
        let fields = [
            ("status", Field::Number(status.into())),
            ("method", Field::Text(at.message.cseq().name)),
            ("from", Field::Text(at.message.from().uri)),
            ("to", Field::Text(at.message.to().uri)),
        ];
        self.wire.event(at.now, &at.flow, trail, Event::RequestRejected, &fields);
        self.respond(at, server, status, trail, out);
    }

    /// Writes a response of our own: head, what its status needs, no body.
    fn respond(
        &mut self,
        at: &Arrived<'_>,
        server: Option<ServerId>,
        status: u16,
        trail: u64,
        out: &mut Effects,
    ) {
        let tag = hex(self.random.next_u64());
        let to = upstream(&at.flow, at.message);
        let retry_after_s = self.config.limits.retry_after_s;
        let trail = (at.message.method() != Method::Options).then_some(trail);
        self.wire.send(at.now, to, trail, out, |buffer| {
            write::status_line(buffer, status);
            write::response_head(buffer, at.message, &at.flow, Some(&tag), &[]);
            match status {
                503 => write::line(buffer, "Retry-After", retry_after_s.to_string().as_bytes()),
                405 | 200 => write::line(buffer, "Allow", ALLOW),
                415 => write::line(buffer, "Accept", ACCEPTED),
                420 => {
                    let value = at.message.header(REQUIRED).unwrap_or_default();
                    write::line(buffer, "Unsupported", value);
                }
                _ => {}
            }
            write::no_body(buffer);
        });
        let Some(server) = server else { return };
        match out.last() {
            Some((_, bytes)) => self.transactions.respond(at.now, server, status, bytes),
            None => self.transactions.abandon(server),
        }
    }

    fn response(&mut self, at: &Arrived<'_>, user: User, out: &mut Effects) {
        let status = at.message.status().unwrap_or_default();
        match user {
            User::Message(sent) => {
                let trail = self.leaving.get(&sent).map(|it| it.sending.trail);
                self.wire.received(at.now, &at.flow, trail, at.bytes);
                if status >= 200 {
                    self.answered(at.now, sent, status, out);
                }
            }
            User::Probe(probed, trail) => {
                self.wire.received(at.now, &at.flow, Some(trail), at.bytes);
                if status >= 200 {
                    self.probed(at.now, probed, status != 503 && status != 408);
                }
            }
        }
    }

    /// Tells the gateway something, and does all that it wants.
    pub(crate) fn tell(&mut self, now: Time, input: Input, out: &mut Effects) {
        if !self.own.part.has_flows() {
            return hand(input, out);
        }
        let mut wanted = Vec::new();
        self.gateway.step(now, input, &mut wanted);
        self.carry_out(now, wanted, out);
    }

    pub(crate) fn carry_out(&mut self, now: Time, mut wanted: Vec<Output>, out: &mut Effects) {
        loop {
            for it in wanted.drain(..) {
                self.want(now, it, out);
            }
            match self.next_input(now, out) {
                Some(input) if !self.own.part.has_flows() => hand(input, out),
                Some(Input::Network(it)) => self.indicated(now, it, &mut wanted),
                Some(input @ Input::PeerAsks { dialogue, .. }) => {
                    self.gateway.step(now, input, &mut wanted);
                    let trail = self.gateway.trail_of_dialogue(dialogue);
                    trail.into_iter().for_each(|it| self.by_diameter.is_leg(dialogue, it));
                }
                Some(input) => self.gateway.step(now, input, &mut wanted),
                None => return,
            }
        }
    }

    fn ask_network(&mut self, now: Time, request: Request, out: &mut Effects) {
        if self.by_diameter.give(now, &request, self.gateway.names(), out) {
            return;
        }
        self.links.request(request.clone(), out);
        let begins = match &request {
            Request::Begin { reference, .. } => {
                let flow = self.links.flow_of_begin(*reference);
                self.gateway.trail_of_begin(*reference).map(|trail| (flow, trail))
            }
            _ => None,
        };
        self.ladder.sent(&mut self.wire.capture, now, &request, begins);
    }

    /// Tells the gateway a primitive. The trail of a dialogue is that of its flow, which a peer's
    /// has once the gateway knows of it.
    fn indicated(&mut self, now: Time, it: Indication, wanted: &mut Vec<Output>) {
        if let Indication::Begun { reference, dialogue } = &it
            && let Some(trail) = self.gateway.trail_of_begin(*reference)
        {
            self.ladder.opened(*dialogue, (self.links.flow_of(*dialogue), trail));
        }
        let Indication::Begin { dialogue, .. } = it else {
            self.ladder.received(&mut self.wire.capture, now, &it);
            return self.gateway.step(now, Input::Network(it), wanted);
        };
        self.gateway.step(now, Input::Network(it.clone()), wanted);
        let trail = self.gateway.trail_of_dialogue(dialogue);
        let trail = trail.unwrap_or_else(|| self.random.next_u64());
        self.ladder.opened(dialogue, (self.links.flow_of(dialogue), trail));
        self.ladder.received(&mut self.wire.capture, now, &it);
    }

    /// What peers of Diameter, links and the store have for the gateway next.
    fn next_input(&mut self, now: Time, out: &mut Effects) -> Option<Input> {
        if let Some(told) = self.told.pop_front() {
            return Some(told);
        }
        if let Some(event) = self.by_diameter.event(now, out) {
            return Some(event.into());
        }
        let is_linked = self.links.is_connected();
        if is_linked && !self.is_linked {
            self.is_linked = true;
            return Some(Input::Connected(true));
        }
        if let Some(it) = self.links.indication() {
            return Some(Input::Network(it));
        }
        if self.is_linked && !is_linked {
            self.is_linked = false;
            return Some(Input::Connected(false));
        }
        let (ticket, answer) = self.store.answer()?;
        let answer = match answer {
            keyed::Answer::Failed => Answer::Failed,
            keyed::Answer::Row(None) => Answer::Row(None),
            keyed::Answer::Row(Some(octets)) => Answer::Row(self.row(&octets)),
        };
        Some(Input::Stored { ticket, answer })
    }

    fn want(&mut self, now: Time, wanted: Output, out: &mut Effects) {
        match wanted {
            Output::Respond { transaction, status } => match shards::shard_of(transaction) {
                shard if shard == self.own.shard => {
                    self.answer_asked(now, transaction, status, out)
                }
                shard => out.hand(shard, |to| Work::Respond(transaction, status).write(to)),
            },
            Output::Send(sending) => match &mut self.own.part {
                Part::First(first) => match first.leaves_by(sending.number) {
                    Some(shard) => out.hand(shard, |to| Work::Send(sending).write(to)),
                    None => self.unsent(sending.number),
                },
                Part::Whole | Part::Edge(_) => self.send(now, *sending, out),
            },
            Output::Ask { ticket, question } => {
                self.ask_store(now, ticket, question);
            }
            Output::Taken { ticket, trail, outcome } => {
                if let Ok(parts) = outcome {
                    self.text_taken(now, trail, parts);
                }
                let Some(ticket) = self.operators.remove(&ticket) else { return };
                out.answer(ticket, crate::ask::taken(outcome));
            }
            Output::AskHome { ticket, question } => {
                let caller = Caller { ticket, trail: self.gateway.trail_of_flow(ticket) };
                self.by_diameter.ask(now, caller, question, out);
            }
            Output::Charge { ticket, charge, is_refund } => {
                let trail = self.gateway.trail_of_flow(ticket);
                let wanted = Wanted { ticket, trail, charge, is_refund };
                self.by_diameter.charge(now, &wanted, out);
            }
            Output::AskPeer(question) => {
                let trail = self.gateway.trail_of_begin(question.reference);
                self.by_diameter.ask_peer(now, *question, trail, out);
            }
            Output::Request(request) => self.ask_network(now, *request, out),
            Output::Record(record) => self.records.add(now, &record),
        }
    }

    /// Answers a request that has waited.
    pub(crate) fn answer_asked(
        &mut self,
        now: Time,
        transaction: u64,
        status: u16,
        out: &mut Effects,
    ) {
        let Some(asked) = self.asked.remove(&transaction) else { return };
        let Asked { server, flow, trail, bytes, uncaptured } = asked;
        if let Some(came) = uncaptured {
            self.wire.received(came, &flow, Some(trail), &bytes);
        }
        let mut room = None;
        if let Ok(message) = Message::parse_in(&mut room, &bytes) {
            let at = Arrived { now, flow, message, bytes: &bytes };
            self.respond(&at, Some(server), status, trail, out);
        }
    }

    /// A message has found no next hop. That is told as if one had said it, in a step of its own:
    /// no flow answers itself, and those that find none one after the other do not nest.
    pub(crate) fn unsent(&mut self, number: Sent) {
        self.told.push_back(Input::Response { number, status: 503 });
    }

    /// Carries out what the transactions ask for.
    pub(crate) fn transacted(&mut self, now: Time, out: &mut Effects) {
        while !self.outs.is_empty() {
            for ask in core::mem::take(&mut self.outs) {
                match ask {
                    Out::Send { to, bytes } => {
                        self.wire.send_again(now, to, out, |it| it.extend_from_slice(&bytes));
                    }
                    Out::Timeout { id, user } => self.unanswered(now, id, user, 408, out),
                    Out::TransportError { id, user } => self.unanswered(now, id, user, 503, out),
                    Out::AckMissing { .. } => {}
                }
            }
        }
    }

    /// What every step ends with.
    fn finish(&mut self, now: Time, out: &mut Effects) {
        self.restore(now, out);
        self.carry_out(now, Vec::new(), out);
        self.transacted(now, out);
        if self.is_draining && self.gateway.under_way().0 == 0 && !self.by_diameter.is_closed() {
            self.by_diameter.close(now, out);
        }
        self.by_diameter.flush(out);
        self.by_diameter.capture(now, &mut self.wire.capture);
        self.store.flush(now, out);
        self.records.flush(now, out);
        self.wire.capture.flush(now, out);
    }

    /// An operator's text is on its way; the answer comes under that ticket.
    pub(crate) fn operate(
        &mut self,
        now: Time,
        make: impl FnOnce(u64) -> Input,
        ticket: Ticket,
        out: &mut Effects,
    ) {
        let number = self.number();
        self.operators.insert(number, ticket);
        self.tell(now, make(number), out);
    }
}

/// Whether a port is that of a link to a signalling gateway.
const fn is_link(port: PortId) -> bool {
    port.0 >= LINK_PORT.0 && port.0 < LINK_PORT.0 + tcu_stack::config::LINKS_MAX
}

/// What a body may be.
const ACCEPTED: &[u8] = b"application/vnd.3gpp.sms, text/plain";

/// Transactions of SIP, none yet.
pub(crate) fn transactions(
    config: &Ipsmgw,
    random: [u8; 32],
    shard: u16,
    now: Time,
) -> Transactions<Flow, User> {
    let half = config.limits.transactions_max / 2;
    let limits = Limits { clients_max: half, servers_max: half };
    Transactions::new(timers(config), limits, random, shard, now)
}

fn timers(config: &Ipsmgw) -> Timers {
    let ms = |ms: u32| Duration::from_millis(ms.into());
    let timers = &config.timers;
    Timers { t1: ms(timers.t1_ms), t2: ms(timers.t2_ms), t4: ms(timers.t4_ms) }
}

impl Function for ShortMessageGateway {
    type Config = Ipsmgw;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        self.border.announce_names(out);
        if self.links.step(now, &input, out) {
            return self.finish(now, out);
        }
        if by_diameter::is_of(&input) {
            self.by_diameter.step(now, &input, out);
            return self.finish(now, out);
        }
        match input {
            In::Message { .. } if self.own.place.is_standby() => {}
            In::Message { flow, bytes } => self.received(now, flow, bytes, out),
            In::Up { flow } => {
                if self.wire.capture.owns(&flow) {
                    self.wire.capture.up();
                }
            }
            In::Proved { flow, names } => self.border.proved(&flow, names),
            In::Down { flow, why } => self.down(now, flow, why, out),
            In::Resolved { query, answer } => {
                let before = self.border.hops.targets();
                self.border.resolved(now, query, answer, out);
                if self.border.hops.targets() > before {
                    self.told.push_back(Input::NextHop);
                }
            }
            In::Drain => self.is_draining = true,
            In::Channel { .. } => {
                let _ = self.records.takes(now, &input) || self.store.takes(now, &input);
            }
            In::Work { from, work } => self.worked(now, from, work, out),
            In::HandedBack { to, work } => self.handed_back(now, to, work, out),
            // Of ports that a gateway has none of.
            In::Returned { .. } | In::Ready { .. } | In::Written { .. } => {}
        }
        self.finish(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.border.announce_names(out);
        self.transactions.tick(now, &mut self.outs);
        self.transacted(now, out);
        self.store.tick(now);
        self.by_diameter.tick(now, out);
        self.links.tick(now, out);
        let mut wanted = Vec::new();
        self.gateway.tick(now, &mut wanted);
        self.carry_out(now, wanted, out);
        if self.own.part.has_sip() {
            self.border.look_up(now, &mut self.random, out);
            if !self.own.place.is_standby() {
                self.probe(now, out);
            }
        }
        match &mut self.own.part {
            Part::Whole => {}
            Part::First(first) => first.tick(now, out),
            Part::Edge(edge) => edge.tick(now, out),
        }
        self.finish(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        let deadlines = [
            self.transactions.deadline(),
            self.gateway.deadline(),
            self.store.deadline(),
            self.by_diameter.deadline(),
            self.records.deadline(),
            self.links.deadline(),
            self.wire.capture.deadline(),
            match &self.own.part {
                Part::Whole => None,
                Part::First(first) => first.deadline(),
                Part::Edge(edge) => edge.deadline(),
            },
        ];
        let probes = self.border.hops.deadline().filter(|_| !self.own.place.is_standby());
        let sip = [probes, self.border.lookups.deadline()];
        let sip = sip.into_iter().filter(|_| self.own.part.has_sip());
        deadlines.into_iter().chain(sip).flatten().min()
    }

    fn configure(&mut self, now: Time, config: Arc<Ipsmgw>, out: &mut Effects) {
        let config = shards::concerning(self.own.shard, config);
        self.wire.capture.flush_all(out);
        let realms = Realms::new(&config.border().realms);
        let moved = RealmMap::between(&self.border.realms, &realms);
        self.border.realms = realms;
        self.border.configure(&config.border(), &moved, now);
        self.transactions.set_timers(timers(&config));
        self.wire.capture.configure(config.capture_settings());
        self.store.configure(config.store.limits());
        self.records.configure(&config, now, out);
        if let Some(settings) = config.settings() {
            self.gateway.configure(settings);
        }
        self.config = config;
        self.settle_links(now, out);
        self.told.push_back(Input::NextHop);
        self.finish(now, out);
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        if keys::owns(port) {
            return diameter_stack::frame(buffer);
        }
        if is_link(port) {
            return tcu_stack::frame(buffer);
        }
        match sip::frame(buffer) {
            sip::Framing::Partial => Frame::Partial,
            // A ping (RFC 5626 §4.4.1) wants its pong; less is a pong or the half of a ping.
            sip::Framing::Skip(octets @ PING_OCTETS..) => Frame::Answer(octets, b"\r\n"),
            sip::Framing::Skip(octets) => Frame::Skip(octets),
            sip::Framing::Message(octets) => Frame::Message(octets),
            sip::Framing::Broken(violation) => Frame::Broken(violation.what),
        }
    }

    fn ends_frame(port: PortId, buffer: &[u8], seen: usize) -> bool {
        if is_link(port) {
            return tcu_stack::ends_frame(buffer, seen);
        }
        keys::owns(port) || sip::ends_head(buffer, seen)
    }

    fn steer(_config: &Ipsmgw, flow: &Flow, bytes: &[u8], shards: u16) -> Option<u16> {
        match flow.port {
            // Each shard has its own way to the collector.
            _ if shards <= 1 => None,
            CAPTURE_PORT => None,
            port if is_link(port) || keys::owns(port) => Some(0),
            _ => Some(shards::steer(bytes, shards)),
        }
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        let answer = self.shown(now, ask, out);
        self.finish(now, out);
        answer
    }

    fn question(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        let answer = self.asked_later(now, ask, ticket, out);
        self.finish(now, out);
        answer
    }

    fn replicate(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        self.mirrored(now, input, out);
        self.finish(now, out);
    }

    fn is_idle(&self) -> bool {
        match self.own.part {
            Part::Edge(_) => self.asked.is_empty() && self.leaving.is_empty(),
            _ => self.gateway.under_way().0 == 0 && self.by_diameter.is_closed(),
        }
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        let own = [self.wire.metrics.cells(), self.gateway.metrics().cells()];
        let further = self.records.cells().into_iter().chain(self.by_diameter.cells());
        own.into_iter().chain(further).collect()
    }
}

/// Starts it.
///
/// # Errors
/// As [`runtime::start`].
pub fn start(
    spec: ShardSpec,
    config: Arc<Ipsmgw>,
    make: Make<ShortMessageGateway>,
) -> Result<Running<ShortMessageGateway>, RuntimeError> {
    runtime::start(spec, config, move |seed, config| make(seed, config))
}
