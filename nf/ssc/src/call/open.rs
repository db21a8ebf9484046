//! A request outside of any dialog: looked at, routed, sent on with names of our own.

use super::relay::{Phase, Relay};
use super::transfer::Transfer;
use super::{Call, Kind, charging, check, released, trail};
use crate::egress::{Event, Field};
use crate::limit::Limiting;
use crate::media::{self, Place};
use crate::metrics::Metric;
use crate::refusal::{Answered, Refusal, status_line};
use crate::register::{Registered, way_to_binding};
use crate::{Arrived, Controller, User, begins_dialog};
use admission::Grant;
use ims::Charged;
use machine::identity::{Side, TAG_BYTES, TOKEN_BYTES, Token, fork_digit};
use machine::slots::Key;
use machine::{Duration, Time};
use media_stack::Verdict;
use runtime::{Effects, Transport};
use sip::{Header, Message, Method, NameAddr, Scheme, Start, is_emergency, is_service, overload};
use sip_stack::leg::{self, Part};
use sip_stack::next_hop::Draw;
use sip_stack::realm::Listener;
use sip_stack::route::{NoWay, Way};
use sip_stack::session::Asked;
use sip_stack::topology_hiding;
use sip_stack::trust;
use sip_stack::upstream::upstream;
use sip_stack::write::{self, Set};
use transaction::ServerId;

/// Hops given to a request that does not say (RFC 3261 §16.6).
const MAX_FORWARDS: u8 = 70;

/// What the checks find out about a request.
struct Opening {
    server: ServerId,
    session: Asked,
    /// The registrar's record, when it is a REGISTER for the core.
    register: Option<Key>,
    /// The binding that it was sent by.
    subscriber: Option<Key>,
    /// Whether it is taken as a call for help.
    is_emergency: bool,
    grant: Grant,
}

impl Opening {
    fn of(server: ServerId) -> Self {
        Self {
            server,
            session: Asked::default(),
            register: None,
            subscriber: None,
            is_emergency: false,
            grant: Grant::default(),
        }
    }
}

/// Why nothing further is looked at.
enum Stop {
    Refused(Refusal),
    /// It has its answer.
    Answered,
}

type Checked = Result<(), Stop>;

/// One check: it may leave in the opening what those after it and the relay need.
type Check = fn(&mut Controller, &Arrived<'_>, &mut Opening, &mut Effects) -> Checked;

/// What a request outside of any dialog is held against, in this order; each row says why it stands
/// where it stands.
const CHECKS: &[Check] = &[
    // What nobody could serve is refused before anything is looked up (RFC 3261 §8.2).
    |it, at, _, _| it.check_objection(at),
    // Who asked for TLS gets no other answer from a hop without it (RFC 5630 §5).
    |it, at, _, _| it.check_security(at),
    // A copy by another way must find neither registrar nor limits (§8.2.2.2).
    |it, at, _, _| it.check_merged(at),
    // A neighbour that probes is told 503 by a node that drains, without a refusal.
    |it, at, opening, out| it.check_options(at, opening.server, out),
    // A node that leaves makes no record for what begins.
    |it, _, _, _| it.check_draining(),
    // What a standby could not keep leaves no trace in registrar and limits.
    |it, at, opening, _| it.check_standby(at, opening),
    // Who names another's dialog is refused before registrar and limits know the request.
    |it, at, _, _| it.check_named(at),
    // The registrar answers most REGISTERs by itself; only what it forwards goes on.
    |it, at, opening, out| it.check_register(at, opening, out),
    // A session interval that is too brief costs the caller nothing of his limits.
    |it, at, opening, out| it.check_session(at, opening, out),
    // Who is not registered learns nothing of routes; his limits go by his binding.
    |it, at, opening, _| it.check_sender(at, opening),
];

impl Controller {
    /// A request without a To tag: held against every check in turn, then routed.
    pub(crate) fn open(&mut self, at: &Arrived<'_>, server: ServerId, out: &mut Effects) {
        self.border.reuse(&at.flow, at.message, out);
        let mut opening = Opening::of(server);
        opening.is_emergency = self.is_taken_as_emergency(at);
        for check in CHECKS {
            match check(self, at, &mut opening, out) {
                Ok(()) => {}
                Err(Stop::Refused(refusal)) => return self.turn_away(at, &opening, refusal, out),
                Err(Stop::Answered) => return,
            }
        }
        let way = match self.way(at, opening.is_emergency) {
            Ok(way) => way,
            Err(refusal) => return self.turn_away(at, &opening, refusal, out),
        };
        let mut limiting = Limiting {
            overload: &mut self.overload,
            callers: self.calls.callers(&self.border, &self.registrar),
            media: &self.media,
            metrics: &self.egress.metrics,
        };
        match limiting.granted(at, &way, opening.subscriber, opening.is_emergency) {
            Ok(grant) => {
                opening.grant = grant;
                self.start(at, &way, opening, out);
            }
            Err(refusal) => self.turn_away(at, &opening, refusal, out),
        }
    }

    /// Refuses a request; a REGISTER in it is forgotten.
    fn turn_away(
        &mut self,
        at: &Arrived<'_>,
        opening: &Opening,
        refusal: Refusal,
        out: &mut Effects,
    ) {
        if let Some(pending) = opening.register {
            self.registrar.abandon(pending);
        }
        self.refuse(at, Some(opening.server), refusal, out);
    }

    /// Where a request goes: to the call or the binding that it names, else by the routes.
    fn way(&mut self, at: &Arrived<'_>, is_emergency: bool) -> Result<Way, Refusal> {
        let known = self.calls.way_to_replaced(at.message);
        let known =
            known.or_else(|| way_to_binding(&self.border, &self.registrar, at.realm, at.message));
        let way = match known {
            Some(way) if self.is_exposed(at.message, &way) => Err(NoWay::Insecure),
            Some(way) => Ok(way),
            None => {
                let border = &self.border;
                let draw = self.draw(at, is_emergency);
                border.routes.find(at.realm, at.message, &border.hops, draw)
            }
        };
        way.map_err(|why| match why {
            NoWay::Refused(status) => Refusal::new(status, "no route matches"),
            NoWay::Down => Refusal::NO_TARGET,
            NoWay::Withheld => {
                self.egress.metrics.add(Metric::RequestsWithheld, 1);
                Refusal::WITHHELD
            }
            NoWay::Insecure => Refusal::NO_SIPS,
        })
    }

    fn check_objection(&mut self, at: &Arrived<'_>) -> Checked {
        self.objection(at.message).map_or(Ok(()), |refusal| Err(Stop::Refused(refusal)))
    }

    fn check_security(&mut self, at: &Arrived<'_>) -> Checked {
        let is_plain = at.flow.transport != Transport::Tls;
        if is_plain && is_sips(at.message) {
            return Err(Stop::Refused(Refusal::INSECURE));
        }
        if is_plain && registers_sips(at.message) {
            return Err(Stop::Refused(Refusal::INSECURE_CONTACT));
        }
        Ok(())
    }

    fn check_merged(&mut self, at: &Arrived<'_>) -> Checked {
        if self.calls.is_merged(at.message) {
            return Err(Stop::Refused(Refusal::MERGED));
        }
        Ok(())
    }

    fn check_options(&mut self, at: &Arrived<'_>, server: ServerId, out: &mut Effects) -> Checked {
        if at.message.method() != Method::Options || !self.is_for_us(at.message) {
            return Ok(());
        }
        self.capabilities(at, server, out);
        Err(Stop::Answered)
    }

    fn check_draining(&mut self) -> Checked {
        if self.is_draining { Err(Stop::Refused(Refusal::DRAINING)) } else { Ok(()) }
    }

    fn check_standby(&self, at: &Arrived<'_>, opening: &Opening) -> Checked {
        let is_call = at.message.method() == Method::Invite && !opening.is_emergency;
        let is_refused = self.config.limits.refuse_while_behind && self.pair.state.is_behind();
        if is_call && is_refused { Err(Stop::Refused(Refusal::BEHIND)) } else { Ok(()) }
    }

    fn check_named(&mut self, at: &Arrived<'_>) -> Checked {
        self.objects_to_named(at).map_or(Ok(()), |refusal| Err(Stop::Refused(refusal)))
    }

    fn check_register(
        &mut self,
        at: &Arrived<'_>,
        opening: &mut Opening,
        out: &mut Effects,
    ) -> Checked {
        if at.message.method() != Method::Register {
            return Ok(());
        }
        match self.register(at, opening.server, out) {
            Registered::Done => return Err(Stop::Answered),
            Registered::Forward(pending) => opening.register = Some(pending),
            Registered::Nothing => {}
        }
        Ok(())
    }

    fn check_session(
        &mut self,
        at: &Arrived<'_>,
        opening: &mut Opening,
        out: &mut Effects,
    ) -> Checked {
        match Asked::by(at.message, self.config.timers.interval()) {
            Ok(session) => opening.session = session,
            Err(min_se_s) => {
                self.too_brief(at, opening.server, min_se_s, out);
                return Err(Stop::Answered);
            }
        }
        Ok(())
    }

    fn check_sender(&mut self, at: &Arrived<'_>, opening: &mut Opening) -> Checked {
        let of_phone = ims::identity::sender(&self.ims, &self.registrar, &at.flow, at.message);
        opening.subscriber =
            of_phone.unwrap_or_else(|| self.registrar.sender(&at.flow, at.message.from().uri));
        let of_phone = of_phone.flatten().and_then(|key| self.registrar.binding(key));
        let is_for_help = of_phone.is_some_and(registrar::Binding::is_emergency);
        if is_for_help && !ims::identity::is_of_emergencies(at.message) {
            return Err(Stop::Refused(Refusal::new(403, "it registered for emergencies alone")));
        }
        let calls_for_help = opening.is_emergency && self.ims.takes_emergencies(at.flow.port);
        let is_register = at.message.method() == Method::Register;
        let is_known = opening.subscriber.is_some() || is_register || calls_for_help;
        if !is_known && self.border.realms.row(at.realm).register_required {
            return Err(Stop::Refused(Refusal::new(403, "the sender is not registered")));
        }
        Ok(())
    }

    /// Whether a request calls for help, and its source has not called for it very often.
    fn is_taken_as_emergency(&mut self, at: &Arrived<'_>) -> bool {
        let is_trusted = self.border.realms.row(at.realm).trusted;
        is_emergency(at.message, is_trusted)
            && (is_trusted || self.takes_call_for_help(at.now, &at.flow))
    }

    /// What decides whether an overloaded next hop wants the request (RFC 7339 §5.10.1: emergency
    /// calls and those with priority always go).
    fn draw(&self, at: &Arrived<'_>, is_emergency: bool) -> Draw {
        let is_trusted = self.border.realms.row(at.realm).trusted;
        let has_priority = is_trusted && at.message.has(Header::ResourcePriority);
        let dice = if !self.border.hops.obey_any() || has_priority || is_emergency {
            Draw::EXEMPT
        } else {
            self.calls.dice(at.message.call_id())
        };
        Draw { now: at.now, dice }
    }

    /// 422: the session interval is shorter than we accept (RFC 4028 §6).
    pub(crate) fn too_brief(
        &mut self,
        at: &Arrived<'_>,
        server: ServerId,
        min_se_s: u32,
        out: &mut Effects,
    ) {
        let trail = self.random();
        self.seen(at, Some(trail));
        self.egress.metrics.add(Metric::Refused, 1);
        self.reply(at, Answered { server: Some(server), trail }, 422, out, |head| {
            write::line(head, "Min-SE", min_se_s.to_string().as_bytes());
        });
    }

    /// Whether a `sips:` request would leave TLS on its way to a subscriber, or reach a contact
    /// that is not `sips:` (RFC 5630 §5.3).
    fn is_exposed(&self, message: &Message<'_>, way: &Way) -> bool {
        let binding = way.binding.and_then(|binding| self.registrar.binding(binding));
        let plain = binding.is_some_and(|binding| {
            !binding.contact_uri().get(..5).is_some_and(|uri| uri.eq_ignore_ascii_case(b"sips:"))
        });
        is_sips(message) && (plain || way.flow.transport != Transport::Tls)
    }

    /// What is wrong with a request before anybody looks at where it goes (RFC 3261 §8.2, §16.3).
    pub(crate) fn objection(&self, message: &Message<'_>) -> Option<Refusal> {
        let refuse = |status, why| Some(Refusal::new(status, why));
        if message.uri().is_some_and(|uri| uri.scheme == Scheme::Other && !is_service(uri.raw)) {
            return refuse(416, "the scheme of the Request-URI is not known");
        }
        if message.max_forwards() == Some(0) && message.method() != Method::Options {
            return refuse(483, "no hops are left");
        }
        if message.has(Header::ProxyRequire) {
            return refuse(420, "an extension is required of proxies");
        }
        if begins_dialog(message.method()) && leg::contact(message).is_none() {
            return refuse(400, "a request that begins a dialog has no Contact that can be asked");
        }
        self.is_loop(message).then_some(Refusal::LOOP)
    }

    /// Whether the request is our own, back with the Request-URI that it left with. With another
    /// Request-URI it went a spiral, which is normal (RFC 3261 §16.3).
    fn is_loop(&self, message: &Message<'_>) -> bool {
        let Some(token) = Token::read(message.call_id()) else { return false };
        let Some((key, Side::B)) = self.calls.call_of(&token) else { return false };
        let sent = self.calls.table.at(key).and_then(|call| call.invite);
        let relay = sent.and_then(|relay| self.calls.relays.at(relay));
        relay.is_some_and(|relay| relay.initial && message.request_uri() == Some(&relay.texts.uri))
    }

    fn is_for_us(&self, message: &Message<'_>) -> bool {
        message
            .uri()
            .is_some_and(|uri| uri.user.is_none() && self.border.realms.is_ours(uri.host, uri.port))
            || message.max_forwards() == Some(0)
    }

    /// OPTIONS to the controller itself (RFC 3261 §11.2).
    fn capabilities(&mut self, at: &Arrived<'_>, server: ServerId, out: &mut Effects) {
        let trail = self.random();
        self.seen(at, Some(trail));
        let status = if self.is_draining { 503 } else { 200 };
        self.reply(at, Answered { server: Some(server), trail }, status, out, |head| {
            write::line(head, "Allow", ALLOW.as_bytes());
            write::line(head, "Accept", b"application/sdp");
            write::line(head, "Supported", b"100rel, timer, replaces, path, outbound");
        });
    }

    /// Makes the records of a request that has a way, and sends it there.
    fn start(&mut self, at: &Arrived<'_>, way: &Way, extra: Opening, out: &mut Effects) {
        let server = extra.server;
        let secret = self.secret();
        let method = at.message.method();
        let Some((key, relay)) = self.calls.relays.take(&at.flow, at.message.raw().len()) else {
            self.overload.limits.release(extra.grant);
            if let Some(pending) = extra.register {
                return self.no_room_for_register(at, server, pending, out);
            }
            return self.refuse(at, Some(server), Refusal::OVERLOAD, out);
        };
        fill(relay, at, server, secret);
        relay.session = extra.session;
        relay.registration.pending = extra.register;
        relay.registration.sender = extra.subscriber;
        if extra.register.is_some() {
            self.egress.metrics.add(Metric::RegistersForwarded, 1);
        }
        let (mut named, mut body) = (None, Verdict::Same);
        if begins_dialog(method) {
            let Some((call_key, call)) = self.calls.table.take() else {
                self.calls.relays.give_back(key);
                self.overload.limits.release(extra.grant);
                return self.refuse(at, Some(server), Refusal::OVERLOAD, out);
            };
            relay.call = Some(call_key);
            let tag = tag(secret, self.shard, call_key, Side::A, 0);
            named = Some(tag);
            begin(call, at, secret, &tag);
            call.grant = extra.grant;
            let place = Place { call: call_key, from: Side::A, fork: 0, to: Some(way.realm) };
            match self.media_of(at, place) {
                Ok(verdict) => body = verdict,
                Err(refused) => {
                    self.calls.relays.give_back(key);
                    self.give_back(at.now, call_key);
                    return self.refuse(at, Some(server), media::refusal(refused, false), out);
                }
            }
            let Some(call) = self.calls.table.at_mut(call_key) else { return };
            call.a.set_remote(&self.border.realms, at.flow);
            call.a.binding = extra.subscriber.unwrap_or(call.a.binding);
            call.invite = Some(key);
            self.calls.connections.note(call_key, &at.flow, &self.calls.table);
        }
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        let tag = named.unwrap_or_else(|| tag(secret, self.shard, key, Side::A, 0));
        let oc = self.overload.feedback.answer(at.now, &at.message.via());
        relay.texts.fork_at =
            write::response_head(&mut relay.texts.head, at.message, &at.flow, Some(&tag), oc);
        if way.plan.is_some() {
            relay.texts.request.extend_from_slice(at.message.raw());
        }
        self.transactions.set_user(server, User::Relay(key));
        self.calls.remember(at.message, key);
        self.seen(at, Some(trail(secret)));
        if method == Method::Invite {
            self.egress.metrics.add(Metric::CallsStarted, 1);
            self.trying(at, key, server, out);
        } else {
            self.egress.metrics.add(Metric::RequestsRelayed, 1);
        }
        self.charge(key, at.message, way);
        self.launch(at.now, key, (at.message, body), way, out);
    }

    /// 100 at once: it stops the retransmissions (RFC 3261 §17.2.1).
    pub(crate) fn trying(
        &mut self,
        at: &Arrived<'_>,
        key: Key,
        server: ServerId,
        out: &mut Effects,
    ) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        self.egress.send(at.now, relay.upstream, Some(relay.trail()), out, |buffer| {
            status_line(buffer, 100);
            buffer.extend_from_slice(&relay.texts.head);
            if let Some(stamp) = at.message.header(Header::Timestamp) {
                write::line(buffer, "Timestamp", stamp);
            }
            write::no_body(buffer);
        });
        if let Some((_, bytes)) = out.last() {
            self.transactions.respond(at.now, server, 100, bytes);
        }
    }

    /// Sends the request of a relay to where `way` leads.
    pub(crate) fn launch(
        &mut self,
        now: Time,
        key: Key,
        said: (&Message<'_>, Verdict),
        way: &Way,
        out: &mut Effects,
    ) {
        let (message, body) = said;
        let mut transfer = self.calls.transfer(message, way.flow.port, &self.border.realms);
        if !transfer.lines.is_empty() {
            self.calls.hand_names(now, message, way.realm);
        }
        let Some(relay) = self.calls.relays.at(key) else { return };
        let subscriber =
            relay.registration.sender.and_then(|binding| self.registrar.binding(binding));
        let from = relay.upstream.port;
        transfer.drop = transfer.drop.and(ims::identity::lost(&self.ims, from));
        if self.border.realms.row(way.realm).trusted {
            let (method, own) = (message.method(), way.flow.local.ip());
            let own = self.ims.tell_core(from, method, own, relay.secret, &mut transfer.lines);
            transfer.drop = transfer.drop.and(own);
            let lines = &mut transfer.lines;
            ims::identity::assert(&self.ims, from, message, subscriber, lines);
        }
        let believed = self.border.is_authenticated(relay.realms.up, &relay.upstream);
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        let Some((client, branch)) = self.transactions.reserve() else {
            return self.relay_failed(now, key, 503, out);
        };
        let Some(listener) = self.border.realms.listener(way.flow.port) else {
            self.transactions.release(client);
            return self.relay_failed(now, key, 503, out);
        };
        relay.client = Some(client);
        relay.realms.down = way.realm;
        relay.plan = way.plan;
        let names = relay.call.unwrap_or(key);
        let token = Token::new(check(relay.secret, Side::B), self.shard, names, Side::B);
        let (user, token) = (released::user(relay.method, key, &token), token.write());
        relay.texts.uri.clear();
        let binding = way.binding.and_then(|binding| self.registrar.binding(binding));
        match (&transfer.to, binding) {
            (Some(to), _) => relay.texts.uri.extend_from_slice(&to.target),
            (None, Some(binding)) => relay.texts.uri.extend_from_slice(binding.contact_uri()),
            (None, None) => self.border.realms.write_uri(&mut relay.texts.uri, message, way),
        }
        let route = match &transfer.to {
            Some(to) => &to.route,
            None => subscriber.map_or(&b""[..], |binding| binding.service_route()),
        };
        let drop = self.border.realms.distrusted(message, relay.realms.up, believed, way.realm);
        let host = self.border.realms.host_for(relay.realms.up, listener, message);
        self.egress.send(now, way.flow, Some(relay.trail()), out, |buffer| {
            let (uri, transfer) = (&relay.texts.uri, &transfer);
            let branch = &branch;
            let oc = if self.border.hops.offers_feedback(way.hop) { overload::OFFER } else { b"" };
            let drop = drop.and(media::lost(body));
            let request =
                Initial { message, listener, branch, oc, uri, route, drop, host, transfer };
            request.write(buffer, &token, relay.session, |buffer| {
                if let Some(pending) = relay.registration.pending {
                    self.registrar.write_core(buffer, pending, &listener.uri_host);
                }
            });
            media::write_body(buffer, message, body, &self.media);
        });
        let Some((_, bytes)) = out.last() else {
            relay.client = None;
            self.transactions.release(client);
            return self.relay_failed(now, key, 513, out);
        };
        let reliable = way.flow.transport.is_stream();
        self.transactions.start_client(now, client, way.flow, reliable, bytes, user);
        self.launched(key, way);
        self.arm_timers(now, key);
    }

    /// What the answers to a request of the core say of charging and of who was called, and what
    /// requests within its dialog say.
    fn charge(&mut self, key: Key, message: &Message<'_>, way: &Way) {
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        let (up, to) = (relay.realms.up, way.flow.port);
        let mut told = Vec::new();
        if self.border.realms.row(up).trusted {
            ims::identity::called(&self.ims, message, to, &mut told);
        }
        let charged = charging::charged(&self.ims, &self.border.realms, message, up, to);
        told.extend_from_slice(charged.as_ref().map_or(&[][..], |it| &it.answer));
        relay.texts.told = told.into_boxed_slice();
        let Some(Charged { within, .. }) = charged else { return };
        if let Some(call) = relay.call.and_then(|call| self.calls.table.at_mut(call)) {
            call.a.charging = Some(within);
        }
    }

    /// The request of a relay went this way: so does the call that it begins.
    fn launched(&mut self, key: Key, way: &Way) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        if let Some(call) = relay.call.and_then(|call| self.calls.table.at_mut(call)) {
            call.b.realm = way.realm;
            call.b.flow = way.flow;
            call.b.binding = way.binding.unwrap_or(call.b.binding);
            call.b.local_cseq = relay.cseq_up;
            call.b.invite_cseq = relay.cseq_up;
            self.border.hops.called(way.hop, &way.flow);
        }
        if let Some(call) = relay.call {
            self.calls.connections.note(call, &way.flow, &self.calls.table);
        }
    }

    /// Sets the relay's clock: how long this target has, how long the whole may take.
    pub(super) fn arm_timers(&mut self, now: Time, key: Key) {
        let timers = &self.config.timers;
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        relay.timing.again_at = match relay.plan {
            Some(_) => now + Duration::from_millis(timers.failover_ms.into()),
            None => Time::MAX,
        };
        if relay.method == Method::Invite && timers.no_answer_s > 0 {
            relay.timing.end_at =
                relay.timing.started + Duration::from_secs(timers.no_answer_s.into());
        }
        let due = relay.due();
        self.calls.relays.arm(key, due);
    }

    /// The call of a relay failed at the target that it was sent to last.
    pub(super) fn failed_there(&mut self, key: Key) {
        let relay = self.calls.relays.at(key).filter(|relay| relay.initial);
        let call = relay.and_then(|relay| self.calls.table.at(relay.call?));
        if let Some(call) = call {
            self.border.hops.failed(&call.b.flow);
        }
    }

    /// Tries the next target of a relay that failed at the last one with `status`.
    pub(crate) fn try_next(&mut self, now: Time, key: Key, status: u16, out: &mut Effects) -> bool {
        let Some(relay) = self.calls.relays.at_mut(key) else { return false };
        let open = relay.initial && matches!(relay.phase, Phase::Calling | Phase::Proceeding);
        let Some(plan) = relay.plan.filter(|_| open) else { return false };
        let local = status == 408 || status == 503;
        if !local && !self.border.routes.fails_over(plan, status, &self.border.hops) {
            return false;
        }
        let Some(way) = self.border.routes.next(plan, &self.border.hops, now) else { return false };
        self.failed_there(key);
        let Some(relay) = self.calls.relays.at_mut(key) else { return false };
        self.egress.metrics.add(Metric::Failovers, 1);
        let flow = relay.upstream;
        let trail = relay.trail();
        relay.phase = Phase::Calling;
        if let Some(call) = relay.call.and_then(|call| self.calls.table.at_mut(call)) {
            self.overload.limits.moved(&mut call.grant, way.hop);
        }
        let request = core::mem::take(&mut relay.texts.request);
        let target = way.flow.remote.to_string();
        let fields =
            [("status", Field::Number(status.into())), ("host", Field::Text(target.as_bytes()))];
        self.egress.event(now, &flow, trail, Event::NextTargetTried, &fields);
        let parsed = Message::parse(&request);
        let mut is_sent = false;
        if let Ok(message) = &parsed
            && let Ok(body) = self.media_again(now, key, message, &way)
        {
            self.charge(key, message, &way);
            self.launch(now, key, (message, body), &way, out);
            is_sent = true;
        }
        if let Some(relay) = self.calls.relays.at_mut(key) {
            relay.texts.request = request;
        }
        is_sent
    }
}

/// Whether a REGISTER has a contact that calls may reach over TLS only.
fn registers_sips(message: &Message<'_>) -> bool {
    let is_sips = |value: &[u8]| {
        let uri = NameAddr::parse(value).map_or(&b""[..], |contact| contact.uri);
        uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"sips:"))
    };
    message.method() == Method::Register && message.values(Header::Contact).any(is_sips)
}

fn is_sips(message: &Message<'_>) -> bool {
    message.uri().is_some_and(|uri| uri.scheme == Scheme::Sips)
}

/// What a REGISTER loses; the registrar writes its own.
const REGISTER: Set = write::REQUEST.and(registrar::DROPPED);

/// Methods that cross the controller.
const ALLOW: &str = "INVITE, ACK, CANCEL, BYE, OPTIONS, PRACK, UPDATE, INFO, REFER, SUBSCRIBE, \
    NOTIFY, MESSAGE, PUBLISH, REGISTER";

/// The record of a request that came in.
fn fill(relay: &mut Relay, at: &Arrived<'_>, server: ServerId, secret: u128) {
    relay.server = Some(server);
    relay.initial = true;
    relay.from = Side::A;
    relay.method = at.message.method();
    relay.secret = secret;
    relay.upstream = upstream(&at.flow, at.message);
    relay.realms.up = at.realm;
    relay.cseq_up = at.message.cseq().number;
    relay.timing.started = at.now;
}

/// The record of the call that a request begins.
fn begin(call: &mut Call, at: &Arrived<'_>, secret: u128, tag: &[u8; TAG_BYTES]) {
    call.secret = secret;
    call.kind = match at.message.method() {
        Method::Invite => Kind::Session,
        _ => Kind::Subscription,
    };
    call.started = at.now;
    call.session_end = Time::MAX;
    call.call_end = Time::MAX;
    call.invite_from = Side::A;
    call.a.realm = at.realm;
    call.a.remote_cseq = at.message.cseq().number;
    call.a.invite_cseq = at.message.cseq().number;
    call.a.establish(at.message, Part::Server, tag);
}

/// Our tag on one leg.
pub(crate) fn tag(secret: u128, shard: u16, key: Key, side: Side, fork: u8) -> [u8; TAG_BYTES] {
    let mut tag = [0; TAG_BYTES];
    tag[..TOKEN_BYTES].copy_from_slice(&Token::new(check(secret, side), shard, key, side).write());
    tag[TOKEN_BYTES] = fork_digit(fork);
    tag
}

/// The first request on leg B.
struct Initial<'a> {
    message: &'a Message<'a>,
    listener: &'a Listener,
    branch: &'a [u8],
    /// What of feedback is offered with it.
    oc: &'a [u8],
    uri: &'a [u8],
    route: &'a [u8],
    drop: Set,
    /// What takes the place of IP addresses.
    host: Option<&'a [u8]>,
    transfer: &'a Transfer,
}

impl Initial<'_> {
    /// Everything but the end of the head and the body.
    fn write(
        &self,
        out: &mut Vec<u8>,
        token: &[u8; TOKEN_BYTES],
        session: Asked,
        more: impl FnOnce(&mut Vec<u8>),
    ) {
        let message = self.message;
        if let Start::Request { name, .. } = message.start() {
            out.extend_from_slice(name);
        }
        out.push(b' ');
        out.extend_from_slice(self.uri);
        out.extend_from_slice(b" SIP/2.0\r\n");
        out.extend_from_slice(&self.listener.via);
        out.extend_from_slice(self.branch);
        out.extend_from_slice(self.oc);
        out.extend_from_slice(b"\r\n");
        write::max_forwards(out, message.max_forwards().unwrap_or(MAX_FORWARDS).saturating_sub(1));
        out.extend_from_slice(b"From: ");
        let mut tag = [b'0'; TAG_BYTES];
        tag[..TOKEN_BYTES].copy_from_slice(token);
        let from = message.header(Header::From).unwrap_or_default();
        let rest = topology_hiding::begin(out, from, message.from().uri, self.host);
        write::retagged(out, rest, message.from_tag(), &tag);
        out.extend_from_slice(b"\r\nTo: ");
        let to = message.header(Header::To).unwrap_or_default();
        let rest = topology_hiding::begin(out, to, message.to().uri, self.host);
        out.extend_from_slice(rest);
        out.extend_from_slice(b"\r\nCall-ID: ");
        out.extend_from_slice(token);
        out.extend_from_slice(b"\r\n");
        let cseq = message.cseq();
        write::cseq(out, cseq.number, cseq.name);
        if !self.route.is_empty() {
            trust::write_route(out, self.route, self.listener.transport);
        }
        let drop = if message.method() == Method::Register {
            more(out);
            REGISTER
        } else {
            write::contact(out, message, self.listener);
            session.write(out);
            write::REQUEST
        };
        out.extend_from_slice(&self.transfer.lines);
        let drop = drop.and(self.drop).and(self.transfer.drop);
        let hidden = topology_hiding::parties(out, message, self.host, drop);
        write::lines(out, message, drop.and(hidden));
    }
}
