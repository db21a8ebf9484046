//! Requests inside a dialog: found by our tag, checked against the leg, sent on over the other.

use super::ack::{begin, hops_left};
use super::open::tag;
use super::relay::Phase;
use super::source::{Found, leg_of, objection, opposite};
use super::{Kind, State, charging, lost, released};
use crate::egress::{Event, Field};
use crate::media::{self, Place};
use crate::metrics::Metric;
use crate::refusal::{Answered, Refusal};
use crate::{Arrived, Controller, User};
use machine::identity::{Side, Token, fork_of};
use machine::slots::Key;
use machine::{Duration, Time};
use media_stack::Verdict;
use runtime::Effects;
use sip::{Header, Message, Method, Start};
use sip_stack::leg::{Leg, Part};
use sip_stack::realm::Side as RealmSide;
use sip_stack::session::Asked;
use sip_stack::topology_hiding;
use sip_stack::upstream::upstream;
use sip_stack::write::{self, Set};
use transaction::ServerId;

const RACK: Set = Set::of(&[Header::RAck]);
/// A subscription whose last NOTIFY came, or that REFER made, is remembered this long.
const REFER_GRACE: Duration = Duration::from_secs(180);
/// Why one leg gets a BYE of ours when the other one sent the BYE.
const HUNG_UP: &str = "the other end hung up";

impl Controller {
    /// A request with a To tag.
    pub(crate) fn in_dialog(&mut self, at: &Arrived<'_>, server: ServerId, out: &mut Effects) {
        let found = match self.dialog(at) {
            Ok(found) => found,
            Err(refusal) => return self.refuse(at, Some(server), refusal, out),
        };
        let Some(call) = self.calls.table.at(found.key) else { return };
        let refusal = leg_of(call, found).map_or(Some(Refusal::NO_DIALOG), |leg| {
            objection(&self.border, at, leg, &self.registrar)
        });
        if let Some(refusal) = refusal.or_else(|| self.objects_to_named(at)) {
            return self.refuse(at, Some(server), refusal, out);
        }
        let trail = call.trail();
        self.seen(at, Some(trail));
        if self.is_old(at, found) {
            return self.reply(at, Answered { server: Some(server), trail }, 500, out, |_| {});
        }
        self.advance(at, found);
        match at.message.method() {
            Method::Bye => self.ending(at, found, server, out),
            Method::Invite => self.reinvite(at, found, server, out),
            Method::Info if self.digit_from(at, found, server, out) => {}
            _ => self.forward(at, found, server, out),
        }
    }

    /// Finds the dialog of a request, or says why there is none. Nothing changes.
    pub(super) fn dialog(&self, at: &Arrived<'_>) -> Result<Found, Refusal> {
        let message = at.message;
        let ours = message.to_tag().unwrap_or_default();
        let (key, side) = Token::read(ours)
            .and_then(|token| self.calls.call_of(&token))
            .ok_or(Refusal::NO_DIALOG)?;
        let fork = fork_of(ours).ok_or(Refusal::NO_DIALOG)?;
        if message.max_forwards() == Some(0) {
            return Err(Refusal::new(483, "no hops are left"));
        }
        let Some(call) = self.calls.table.at(key) else { return Err(Refusal::NO_DIALOG) };
        let theirs = message.from_tag();
        if side == Side::A {
            let is_known = call.a.owns(message, theirs) && call.fork(fork).is_some();
            return is_known
                .then_some(Found { key, side, fork, again: None })
                .ok_or(Refusal::NO_DIALOG);
        }
        let mut legs = core::iter::once(&call.b).chain(&call.forks);
        if let Some(leg) = legs.find(|leg| leg.stands() && leg.owns(message, theirs)) {
            return Ok(Found { key, side, fork: leg.fork, again: None });
        }
        // A NOTIFY may come before the 2xx to its SUBSCRIBE (RFC 6665 §4.1.2.4).
        let may_begin = call.kind == Kind::Subscription && !call.b.stands();
        let named = Token::read(message.call_id()).and_then(|token| self.calls.call_of(&token));
        if !may_begin || message.method() != Method::Notify || named != Some((key, side)) {
            return Err(Refusal::NO_DIALOG);
        }
        Ok(Found { key, side, fork: 0, again: None })
    }

    /// Whether the CSeq is an old one (RFC 3261 §12.2.2). Forks of one INVITE share our leg A,
    /// where their numbers need not follow each other.
    fn is_old(&self, at: &Arrived<'_>, found: Found) -> bool {
        let Some(call) = self.calls.table.at(found.key) else { return false };
        let is_shared = found.side == Side::A && call.forks_seen > 1;
        let last = leg_of(call, found).map_or(0, |leg| leg.remote_cseq);
        at.message.cseq().number < last && !is_shared
    }

    /// Takes over what a request that may be one of its dialog changes there: the last CSeq, the
    /// target, and the flow of a far end that sits behind a NAT or on a connection.
    fn advance(&mut self, at: &Arrived<'_>, found: Found) {
        let is_access = self.border.realms.row(at.realm).side == RealmSide::Access;
        let calls = &mut self.calls;
        let Some(call) = calls.table.at_mut(found.key) else { return };
        let begins = found.side == Side::B && !call.b.stands();
        if begins {
            let ours = tag(call.secret, self.shard, found.key, Side::B, 0);
            call.b.establish(at.message, Part::Server, &ours);
            call.b.set_remote(&self.border.realms, at.flow);
            call.forks_seen = 1;
        }
        let Some(leg) = leg_at(call, found) else { return };
        leg.remote_cseq = leg.remote_cseq.max(at.message.cseq().number);
        let is_moved = leg.flow != at.flow && at.flow.transport.is_stream();
        if is_access || at.flow.transport.is_stream() {
            leg.flow = at.flow;
        }
        let moves = matches!(
            at.message.method(),
            Method::Invite | Method::Update | Method::Subscribe | Method::Notify | Method::Refer
        );
        if moves {
            leg.refresh(at.message);
        }
        if is_moved || begins {
            calls.connections.note(found.key, &at.flow, &calls.table);
        }
    }

    /// BYE: both legs end with its answer.
    fn ending(&mut self, at: &Arrived<'_>, found: Found, server: ServerId, out: &mut Effects) {
        let Some(call) = self.calls.table.at_mut(found.key) else { return };
        let trail = call.trail();
        if call.state == State::Ending {
            // Both sides hung up at once, or we did: nobody is left to ask.
            return self.reply(at, Answered { server: Some(server), trail }, 200, out, |_| {});
        }
        let was = call.state;
        let relay = self.calls.relays.take(&at.flow, at.message.raw().len()).map(|(key, _)| key);
        if relay.is_none() && was == State::Early {
            return self.refuse(at, Some(server), Refusal::OVERLOAD, out);
        }
        // From here on something ends the call: the answer to this BYE, or that to our own.
        if was != State::Early {
            call.state = State::Ending;
        }
        if was == State::Answered && found.side == Side::A {
            // The caller never sent its ACK; the callee must have one before the BYE.
            self.acknowledge_again(at.now, found.key, Side::B, out);
        }
        let leg = if found.side == Side::A { "a" } else { "b" };
        let fields = [("leg", Field::Text(leg.as_bytes()))];
        self.egress.event(at.now, &at.flow, trail, Event::CallReleased, &fields);
        match relay {
            Some(relay) => self.relay_on(at, found, server, relay, out),
            None => {
                // Who hangs up does not try again, whatever the answer: the call ends without a
                // record of its BYE.
                self.reply(at, Answered { server: Some(server), trail }, 200, out, |_| {});
                self.bye_legs(at.now, found.key, &[found.side.other()], HUNG_UP, out);
            }
        }
    }

    /// A re-INVITE; two at the same time are both refused (RFC 3261 §14.1).
    fn reinvite(&mut self, at: &Arrived<'_>, found: Found, server: ServerId, out: &mut Effects) {
        let Some(call) = self.calls.table.at_mut(found.key) else { return };
        let trail = call.trail();
        if call.kind == Kind::Subscription || call.state == State::Ending {
            return self.reply(at, Answered { server: Some(server), trail }, 481, out, |_| {});
        }
        if call.invite.is_some() || call.is_moving() {
            let glare = call.is_moving() || call.invite_from != found.side;
            let status = if glare { 491 } else { 500 };
            return self.reply(at, Answered { server: Some(server), trail }, status, out, |head| {
                if status == 500 {
                    write::line(head, "Retry-After", b"2");
                }
            });
        }
        let (side, cseq) = (found.side, at.message.cseq().number);
        call.invite_from = side;
        call.leg_mut(side).invite_cseq = cseq;
        let y = call.leg_mut(side.other());
        y.invite_cseq = y.local_cseq + 1;
        self.forward(at, found, server, out);
    }

    /// Sends a request on over the other leg.
    pub(super) fn forward(
        &mut self,
        at: &Arrived<'_>,
        found: Found,
        server: ServerId,
        out: &mut Effects,
    ) {
        let message = at.message;
        let session = match Asked::by(message, self.config.timers.interval()) {
            Ok(session) => session,
            Err(min_se_s) => return self.too_brief(at, server, min_se_s, out),
        };
        let Some((key, relay)) = self.calls.relays.take(&at.flow, message.raw().len()) else {
            return self.refuse(at, Some(server), Refusal::OVERLOAD, out);
        };
        relay.session = session;
        self.relay_on(at, found, server, key, out);
    }

    /// Sends a request on that has its record.
    fn relay_on(
        &mut self,
        at: &Arrived<'_>,
        found: Found,
        server: ServerId,
        key: Key,
        out: &mut Effects,
    ) {
        let message = at.message;
        if let Some(relay) = self.calls.relays.at_mut(key) {
            relay.server = Some(server);
        }
        self.transactions.set_user(server, User::Relay(key));
        let place = Place { call: found.key, from: found.side, fork: found.fork, to: None };
        if found.again.is_some() {
            self.media_rejected(at.now, found.key); // the other node offered it already
        }
        let body = match self.media_of(at, place) {
            Ok(body) => body,
            Err(refused) => {
                self.calls.relays.give_back(key);
                return self.refuse(at, Some(server), media::refusal(refused, true), out);
            }
        };
        let Some(rack) = self.carry(at, found, key) else {
            self.calls.relays.give_back(key);
            return self.refuse(at, Some(server), Refusal::NO_DIALOG, out);
        };
        if message.method() == Method::Invite && found.again.is_none() {
            self.trying(at, key, server, out);
        }
        self.send_on(at, (found, body), (key, rack), out);
        self.egress.metrics.add(Metric::RequestsRelayed, 1);
    }

    /// Fills the record of a request inside a dialog and gives it a number on the other leg.
    /// Returns the CSeq that the other leg knows the INVITE by.
    fn carry(&mut self, at: &Arrived<'_>, found: Found, key: Key) -> Option<u32> {
        let message = at.message;
        let call = self.calls.table.at_mut(found.key)?;
        let relay = self.calls.relays.at_mut(key)?;
        relay.call = Some(found.key);
        relay.from = found.side;
        relay.fork = found.fork;
        relay.method = message.method();
        relay.secret = call.secret;
        relay.upstream = upstream(&at.flow, message);
        relay.realms.up = at.realm;
        relay.cseq_up = message.cseq().number;
        relay.timing.started = at.now;
        relay.ends_subscription = relay.method == Method::Notify && is_terminated(message);
        let oc = self.overload.feedback.answer(at.now, &message.via());
        write::response_head(&mut relay.texts.head, message, &at.flow, None, oc);
        if relay.method == Method::Invite {
            call.invite = Some(key);
            if self.pair.state.is_on() {
                relay.texts.request.extend_from_slice(message.raw());
            }
        }
        let a_invite = call.a.invite_cseq;
        let y = opposite(call, found)?;
        y.local_cseq += u32::from(found.again.is_none());
        relay.realms.down = y.realm;
        Some(if found.side == Side::A { y.invite_cseq } else { a_invite })
    }

    fn send_on(
        &mut self,
        at: &Arrived<'_>,
        said: (Found, Verdict),
        relay: (Key, u32),
        out: &mut Effects,
    ) {
        let ((found, body), (key, rack)) = (said, relay);
        let message = at.message;
        let Start::Request { name, .. } = message.start() else { return };
        let leg = self.calls.table.at_mut(found.key).and_then(|call| opposite(call, found));
        let Some(leg) = leg else { return };
        let is_moved = lost::follow(leg, &self.border.realms, &self.registrar);
        let (flow, port) = (leg.flow, leg.flow.port);
        if is_moved {
            self.calls.connections.note(found.key, &flow, &self.calls.table);
        }
        let mut transfer = self.calls.transfer(message, port, &self.border.realms);
        if let Some(listener) =
            self.border.realms.listener(port).filter(|_| !transfer.lines.is_empty())
        {
            self.calls.hand_names(at.now, message, listener.realm);
        }
        charging::in_dialog(self, at, found, key, &mut transfer);
        let believed = self.border.is_authenticated(at.realm, &at.flow);
        let Some(y) = self.calls.table.at_mut(found.key).and_then(|call| opposite(call, found))
        else {
            return;
        };
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        let number = if found.again.is_some() { y.invite_cseq } else { y.local_cseq };
        let listener = self.border.realms.listener(flow.port);
        let reserved = match found.again {
            Some(branch) => self.transactions.adopt(branch).map(|client| (client, branch)),
            None => self.transactions.reserve(),
        };
        let (Some(listener), Some((client, branch))) = (listener, reserved) else {
            return self.relay_failed(at.now, key, 503, out);
        };
        relay.client = Some(client);
        let drop = self.border.realms.distrusted(message, at.realm, believed, y.realm);
        let drop = drop.and(ims::identity::lost(&self.ims, at.flow.port));
        let host = self.border.realms.host_for(at.realm, listener, message);
        self.egress.send(at.now, flow, Some(relay.trail()), out, |buffer| {
            begin(buffer, name, y, listener, &branch, hops_left(message));
            write::cseq(buffer, number, name);
            write::contact(buffer, message, listener);
            relay.session.write(buffer);
            let drop = if relay.method == Method::Prack {
                reacknowledged(buffer, message, rack);
                drop.and(RACK)
            } else {
                drop
            };
            buffer.extend_from_slice(&transfer.lines);
            let drop = drop.and(transfer.drop);
            let hidden = topology_hiding::parties(buffer, message, host, drop);
            let drop = drop.and(media::lost(body));
            write::lines(buffer, message, write::REQUEST.and(drop).and(hidden));
            media::write_body(buffer, message, body, &self.media);
        });
        let Some((_, bytes)) = out.last() else {
            relay.client = None;
            self.transactions.release(client);
            return self.relay_failed(at.now, key, 513, out);
        };
        let user = released::user_in(relay.method, key, y);
        let reliable = flow.transport.is_stream();
        self.transactions.start_client(at.now, client, flow, reliable, bytes, user);
        if message.method() == Method::Invite {
            self.arm_timers(at.now, key);
        }
    }

    /// The final answer to a request inside a dialog is on its way back; `status` is what it was
    /// or what stands for its absence.
    pub(crate) fn relay_done(
        &mut self,
        now: Time,
        key: Key,
        call_key: Key,
        status: u16,
        out: &mut Effects,
    ) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        let (terminated, method) = (relay.ends_subscription, relay.method);
        let accepted = status < 300;
        if !accepted && matches!(method, Method::Invite | Method::Update | Method::Prack) {
            self.media_rejected(now, call_key);
        }
        if method == Method::Invite && !accepted {
            self.note_refusal(now, key, call_key, out);
        }
        self.calls.relays.give_back(key);
        let Some(call) = self.calls.table.at_mut(call_key) else { return };
        if call.invite == Some(key) {
            call.invite = None;
        }
        let gone = status == 481 || status == 408 && method != Method::Info;
        match method {
            Method::Bye if call.state == State::Ending => self.ended(now, call_key, out),
            Method::Refer if accepted && call.kind == Kind::Session => {
                call.refer_until = now + REFER_GRACE;
                self.calls.table.arm(call_key, now + REFER_GRACE);
            }
            Method::Notify if terminated || gone => self.unsubscribed(now, call_key, out),
            Method::Subscribe if gone => self.unsubscribed(now, call_key, out),
            Method::Invite | Method::Update if gone => {
                self.tear_down(now, call_key, status, "the far end lost the dialog", out);
            }
            _ => {}
        }
    }

    fn unsubscribed(&mut self, now: Time, key: Key, out: &mut Effects) {
        let Some(call) = self.calls.table.at_mut(key) else { return };
        call.refer_until = Time::ZERO;
        if call.kind == Kind::Subscription {
            self.finish(now, key, out);
        }
    }
}

impl Controller {
    /// Whether a relay is that of an INVITE.
    pub(crate) fn is_invite(&self, key: Key) -> bool {
        self.calls.relays.at(key).is_some_and(|relay| relay.method == Method::Invite)
    }

    /// Whether a call's asked leg is early only.
    pub(crate) fn is_waiting(&self, key: Key) -> bool {
        self.calls.relays.at(key).is_some_and(|relay| {
            matches!(relay.phase, Phase::Calling | Phase::Proceeding | Phase::Cancelled)
        })
    }
}

fn leg_at(call: &mut super::Call, found: Found) -> Option<&mut Leg> {
    match found.side {
        Side::A => Some(&mut call.a),
        Side::B if call.b.fork == found.fork => Some(&mut call.b),
        Side::B => call.forks.iter_mut().find(|leg| leg.fork == found.fork),
    }
}

/// Whether a NOTIFY is the last of its subscription (RFC 6665 §4.1.2.3).
fn is_terminated(message: &Message<'_>) -> bool {
    let state = message.header(Header::SubscriptionState).unwrap_or_default();
    let word = state.split(|&b| b == b';').next().unwrap_or_default();
    word.trim_ascii().eq_ignore_ascii_case(b"terminated")
}

/// RAck names the INVITE by its CSeq, which differs between the legs (RFC 3262 §7.2).
fn reacknowledged(out: &mut Vec<u8>, message: &Message<'_>, cseq: u32) {
    let Some(value) = message.header(Header::RAck) else { return };
    let mut words = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (rseq, method) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
    out.extend_from_slice(b"RAck: ");
    out.extend_from_slice(rseq);
    out.push(b' ');
    write::number(out, cseq.into());
    out.push(b' ');
    out.extend_from_slice(method);
    out.extend_from_slice(b"\r\n");
}
