//! Responses: back over the relay they belong to, under the names of the asking leg.

use super::open::tag;
use super::relay::{Phase, Relay};
use super::{Kind, State, charging};
use crate::egress::{Event, Field};
use crate::media::{self, Place};
use crate::metrics::Metric;
use crate::refusal::status_line;
use crate::{Arrived, Controller, User};
use machine::identity::{FORKS_MAX, Side};
use machine::narrow::micros;
use machine::slots::Key;
use machine::{Duration, Time};
use media_stack::Verdict;
use runtime::Effects;
use sip::overload::Feedback;
use sip::{Header, Method};
use sip_stack::leg::{Leg, Part};
use sip_stack::session::Asked;
use sip_stack::topology_hiding;
use sip_stack::upstream::upstream;
use sip_stack::write::{self, Set};
use transaction::{ClientId, ServerId};

impl Controller {
    /// A response that a client transaction passed on.
    pub(crate) fn response(
        &mut self,
        at: &Arrived<'_>,
        id: ClientId,
        user: User,
        out: &mut Effects,
    ) {
        let status = at.message.status().unwrap_or(0);
        match user {
            User::Relay(key) | User::Invite(key, _) => match self.calls.relays.at(key) {
                Some(relay) if relay.client == Some(id) && relay.phase != Phase::Answered => {
                    let trail = relay.trail();
                    self.seen(at, Some(trail));
                    self.relayed(at, key, status, out);
                }
                _ => self.stray(at, Some(id), out),
            },
            User::Bye(call, _) => {
                let trail = self.calls.table.at(call).map(super::Call::trail);
                self.seen(at, trail);
                if status >= 200 {
                    self.bye_done(at.now, call, out);
                }
            }
            User::Move(call, side) => self.move_answered(at, call, side, out),
            User::Probe(probed) => {
                self.seen(at, None);
                if status >= 200 {
                    self.probing().probed(at.now, probed, status != 503 && status != 408);
                }
            }
            User::Watch(watch) => {
                self.seen(at, None);
                if status >= 200 {
                    self.ims.subscribed(at.now, watch, at.message);
                }
            }
            User::Nobody => self.seen(at, None),
        }
    }

    fn relayed(&mut self, at: &Arrived<'_>, key: Key, status: u16, out: &mut Effects) {
        if status < 200 {
            self.proceeding(key);
        }
        if self.border.hops.obey_any()
            && let Some(feedback) = Feedback::read(at.message.via().params)
        {
            self.border.hops.hear(at.now, &at.flow, feedback);
        }
        if status == 100 {
            return;
        }
        if status >= 300 && self.try_next(at.now, key, status, out) {
            return;
        }
        if status == 408 || (500..600).contains(&status) {
            self.failed_there(key);
        }
        let Some(relay) = self.calls.relays.at(key) else { return };
        let (call, initial) = (relay.call, relay.initial);
        match call.filter(|&call| self.calls.table.at(call).is_some()) {
            None => self.only_answer(at, key, status, out),
            Some(call) if initial => self.first_answer(at, key, call, status, out),
            Some(call) => self.further_answer(at, key, call, status, out),
        }
    }

    /// An answer to a request outside of any dialog.
    fn only_answer(&mut self, at: &Arrived<'_>, key: Key, status: u16, out: &mut Effects) {
        let register = self.calls.relays.at_mut(key).and_then(|relay| match status {
            0..200 => None,
            _ => relay.registration.pending.take(),
        });
        let is_answered = register.is_some_and(|pending| self.registered(at, key, pending, out));
        if !is_answered {
            self.pass_back(at, key, (status, Verdict::Same), out);
        }
        if status >= 200 {
            self.calls.relays.give_back(key);
        }
    }

    /// The far end is alive: no other target is tried, and the INVITE may take its time.
    fn proceeding(&mut self, key: Key) {
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        if relay.phase == Phase::Calling {
            relay.phase = Phase::Proceeding;
        }
        if relay.timing.again_at < Time::MAX {
            relay.timing.again_at = Time::MAX;
            let due = relay.due();
            self.calls.relays.arm(key, due);
        }
    }

    /// An answer to the request that begins a dialog.
    fn first_answer(
        &mut self,
        at: &Arrived<'_>,
        key: Key,
        call: Key,
        status: u16,
        out: &mut Effects,
    ) {
        let is_invite = self.is_invite(key);
        if (200..300).contains(&status) && is_invite && at.message.to_tag().is_none() {
            // No dialog can stand on it, nor could anybody end one (RFC 3261 §8.2.6.2).
            self.answer_locally(at.now, key, 502, out);
            return self.undone(at, key, call, 502, out);
        }
        if status < 300 && at.message.to_tag().is_some() {
            let Some(fork) = self.fork_for(at, key, call) else {
                return; // a fork too many: its early dialog is not shown
            };
            if let Some(relay) = self.calls.relays.at_mut(key) {
                relay.set_fork(fork);
                relay.fork = fork;
            }
            self.calls.connections.note(call, &at.flow, &self.calls.table);
        }
        let fork = self.calls.relays.at(key).map_or(0, |relay| relay.fork);
        let place = Place { call, from: Side::B, fork, to: None };
        let body = match self.media_of(at, place) {
            Ok(body) => body,
            Err(_) if status < 200 => Verdict::Without,
            Err(refused) => {
                let status = media::refusal(refused, false).status;
                self.answer_locally(at.now, key, status, out);
                return self.undone(at, key, call, status, out);
            }
        };
        if status < 200 {
            self.note_provisional(at, key);
        }
        let is_passed = self.pass_back(at, key, (status, body), out);
        match status {
            0..200 => {}
            200..300 if is_passed => self.answered(at, key, call, out),
            200..300 => self.undone(at, key, call, 500, out),
            _ => self.rejected(at, key, call, status),
        }
    }

    /// A 2xx that the asking side did not get: it got `status`, and the far end is released.
    fn undone(&mut self, at: &Arrived<'_>, key: Key, call: Key, status: u16, out: &mut Effects) {
        let invite = self.calls.relays.at(key).filter(|relay| relay.method == Method::Invite);
        if let Some(client) = invite.and_then(|relay| relay.client) {
            self.release_fork(at, client, out);
        }
        self.rejected(at, key, call, status);
    }

    fn note_provisional(&mut self, at: &Arrived<'_>, key: Key) {
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        if at.message.has(Header::RSeq) {
            self.egress.metrics.add(Metric::Reliable, 1);
        }
        if !relay.ringing && relay.method == Method::Invite {
            relay.ringing = true;
            let delay = micros(at.now.since(relay.timing.started));
            self.egress.metrics.observe(Metric::PostDialDelay, delay);
        }
    }

    /// The fork of the call that a response belongs to; a new tag makes a new fork, or where there
    /// are too many, a 2xx takes the place of an early one: it must end what it answers.
    fn fork_for(&mut self, at: &Arrived<'_>, key: Key, call_key: Key) -> Option<u8> {
        let call = self.calls.table.at_mut(call_key)?;
        let message = at.message;
        let theirs = message.to_tag();
        let is_final = message.status().is_some_and(|status| status >= 200);
        let known = core::iter::once(&mut call.b)
            .chain(&mut call.forks)
            .find(|leg| leg.stands() && leg.tag() == theirs.unwrap_or(b""));
        if let Some(leg) = known {
            if is_final {
                // The route set is that of the 2xx (RFC 3261 §13.2.2.4).
                let ours = tag(call.secret, self.shard, call_key, Side::B, 0);
                let fork = leg.fork;
                leg.establish(message, Part::Client, &ours);
                leg.fork = fork;
                leg.set_remote(&self.border.realms, at.flow);
            }
            return Some(leg.fork);
        }
        let is_full = call.forks_seen >= FORKS_MAX;
        if is_full && !is_final {
            return None;
        }
        let ours = tag(call.secret, self.shard, call_key, Side::B, 0);
        let cseq = self.calls.relays.at(key).map_or(call.b.invite_cseq, |relay| relay.cseq_up);
        let (realm, binding, next) = (call.b.realm, call.b.binding, call.forks_seen);
        let (fork, leg) = if is_full {
            let leg = call.forks.last_mut().unwrap_or(&mut call.b);
            let fork = leg.fork;
            *leg = Leg::new(realm, cseq);
            leg.binding = binding;
            (fork, leg)
        } else if call.b.stands() {
            call.forks.push(Leg::new(realm, cseq));
            let leg = call.forks.last_mut()?;
            leg.binding = binding;
            (next, leg)
        } else {
            (next, &mut call.b)
        };
        call.forks_seen += u8::from(!is_full);
        leg.establish(message, Part::Client, &ours);
        leg.fork = fork;
        leg.set_remote(&self.border.realms, at.flow);
        Some(fork)
    }

    /// Writes the response for the asking side: their status line, our head and Contact, and
    /// everything else as it came.
    ///
    /// `false` when it could not be sent; then a final one was answered by a 500 of ours.
    pub(crate) fn pass_back(
        &mut self,
        at: &Arrived<'_>,
        key: Key,
        said: (u16, Verdict),
        out: &mut Effects,
    ) -> bool {
        let (status, body) = said;
        let Some(relay) = self.calls.relays.at(key) else { return false };
        let Some(server) = relay.server else { return false };
        let message = at.message;
        let listener = self.border.realms.listener(relay.upstream.port);
        let believed = self.border.is_authenticated(relay.realms.down, &at.flow);
        let drop =
            self.border.realms.distrusted(message, relay.realms.down, believed, relay.realms.up);
        let drop = drop.and(ims::identity::lost(&self.ims, at.flow.port));
        let owed_s = relay.session.owed(message, relay.method, status);
        let host = listener
            .and_then(|listener| self.border.realms.host_for(relay.realms.down, listener, message));
        let is_redirect = (300..400).contains(&status);
        self.egress.send(at.now, relay.upstream, Some(relay.trail()), out, |buffer| {
            buffer.extend_from_slice(message.start_line());
            buffer.extend_from_slice(&relay.texts.head);
            match listener {
                Some(listener) if !is_redirect => write::contact(buffer, message, listener),
                _ => {
                    for line in message.lines_of(Header::Contact) {
                        buffer.extend_from_slice(line.raw);
                    }
                }
            }
            if let Some(interval_s) = owed_s {
                Asked::write_owed(buffer, interval_s);
            }
            let drop = drop.and(charging::answer(relay, buffer));
            let hidden = topology_hiding::parties(buffer, message, host, drop);
            let drop = drop.and(media::lost(body));
            write::lines(buffer, message, write::RESPONSE.and(drop).and(PER_HOP).and(hidden));
            media::write_body(buffer, message, body, &self.media);
        });
        let Some((_, bytes)) = out.last() else {
            if status >= 200 {
                self.answer_unruled(at.now, key, 500, out);
            }
            return false;
        };
        // Without room for a provisional one, the one before it is sent again.
        if self.calls.relays.keep(key, bytes.len()) || status >= 200 {
            let Some(relay) = self.calls.relays.at(key) else { return false };
            let kept = relay.kept(message.start_line().len(), bytes);
            self.transactions.respond_without(at.now, server, status, &kept);
        }
        true
    }

    /// Answers a request that came again as it was answered before.
    pub(crate) fn repeat(&mut self, at: &Arrived<'_>, server: ServerId, out: &mut Effects) {
        self.egress.metrics.add(Metric::Retransmissions, 1);
        self.seen(at, None);
        let Some([start, tag, end]) = self.transactions.repeated(server) else { return };
        let tag = Some(tag).filter(|tag| !tag.is_empty());
        let to = upstream(&at.flow, at.message);
        let oc = self.overload.feedback.answer(at.now, &at.message.via());
        self.egress.send_again(at.now, to, out, |buffer| {
            buffer.extend_from_slice(start);
            write::response_head(buffer, at.message, &at.flow, tag, oc);
            buffer.extend_from_slice(end);
        });
    }

    /// A 2xx went back to the request that began the dialog.
    fn answered(&mut self, at: &Arrived<'_>, key: Key, call_key: Key, out: &Effects) {
        let interval = self.config.timers.interval();
        let Some(call) = self.calls.table.at_mut(call_key) else { return };
        let Some(relay) = self.calls.relays.at(key) else { return };
        let (fork, upstream, trail) = (relay.fork, relay.upstream, relay.trail());
        call.choose(fork);
        call.a.set_fork(fork);
        if let Some(media) = call.media.key {
            self.media.settle(at.now, media, fork, [call.a.realm.0, call.b.realm.0]);
        }
        if call.kind == Kind::Subscription {
            call.state = State::Confirmed;
            call.invite = None;
            call.call_end = at.now + relay.session.subscribed(at.message, interval);
            let due = call.due();
            self.calls.table.arm(call_key, due);
            return self.calls.relays.give_back(key);
        }
        call.state = State::Answered;
        call.answered = at.now;
        let session = relay.session;
        self.egress.metrics.add(Metric::CallsAnswered, 1);
        let ringing_us = micros(at.now.since(call.started));
        let fields = [("leg", Field::Text(b"a")), ("after_us", Field::Number(ringing_us))];
        self.egress.event(at.now, &upstream, trail, Event::CallAnswered, &fields);
        self.calls.session_agreed(at, call_key, session, &self.config.timers);
        self.await_ack(at.now, key, sent(out));
    }

    /// Keeps a 2xx that was sent until its ACK: sent again after T1, 2 T1, … up to T2, given up
    /// after 64 T1 (RFC 3261 §13.3.1.4).
    pub(crate) fn await_ack(&mut self, now: Time, key: Key, reply: &[u8]) {
        let t1 = Duration::from_millis(self.config.timers.t1_ms.into());
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        relay.phase = Phase::Answered;
        relay.texts.reply.clear();
        relay.texts.reply.extend_from_slice(reply);
        relay.timing.interval = t1;
        relay.timing.again_at = now + t1;
        relay.timing.end_at = now + t1 * 64;
        let due = relay.due();
        self.calls.relays.arm(key, due);
    }

    /// A final answer other than 2xx went back to the request that would have begun the dialog.
    fn rejected(&mut self, at: &Arrived<'_>, key: Key, call_key: Key, status: u16) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        let (upstream, trail, method) = (relay.upstream, relay.trail(), relay.method);
        if method == Method::Invite {
            self.egress.metrics.add(Metric::CallsFailed, 1);
            let fields = [("status", Field::Number(status.into()))];
            self.egress.event(at.now, &upstream, trail, Event::CallRejected, &fields);
        }
        self.calls.relays.give_back(key);
        self.give_back(at.now, call_key);
    }

    /// An answer to a request inside a dialog.
    fn further_answer(
        &mut self,
        at: &Arrived<'_>,
        key: Key,
        call_key: Key,
        status: u16,
        out: &mut Effects,
    ) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        let (from, fork, method) = (relay.from, relay.fork, relay.method);
        let session = relay.session;
        let place = Place { call: call_key, from: from.other(), fork, to: None };
        let is_passed = match self.media_of(at, place) {
            Ok(body) => self.pass_back(at, key, (status, body), out),
            Err(_) if status < 200 => self.pass_back(at, key, (status, Verdict::Without), out),
            Err(refused) => {
                let status = media::refusal(refused, true).status;
                self.answer_locally(at.now, key, status, out);
                false
            }
        };
        if status < 200 {
            return;
        }
        if status < 300 && !is_passed {
            if method == Method::Invite {
                // The far end waits for its ACK; the one of the INVITE before is not it.
                if let Some(call) = self.calls.table.at_mut(call_key) {
                    call.ack.text = None;
                }
                self.acknowledge_again(at.now, call_key, from.other(), out);
            }
            return self.relay_done(at.now, key, call_key, 500, out);
        }
        if status < 300 {
            self.refreshed(at, call_key, from, fork, session);
            self.calls.session_agreed(at, call_key, session, &self.config.timers);
        }
        if method == Method::Invite && status < 300 {
            return self.await_ack(at.now, key, sent(out));
        }
        self.relay_done(at.now, key, call_key, status, out);
    }

    /// A 2xx inside the dialog: the answering side may have moved, a session timer starts anew.
    fn refreshed(&mut self, at: &Arrived<'_>, key: Key, from: Side, fork: u8, asked: Asked) {
        let (method, interval) = (at.message.method(), self.config.timers.interval());
        let Some(call) = self.calls.table.at_mut(key) else { return };
        if matches!(method, Method::Invite | Method::Update | Method::Subscribe) {
            let leg = match from {
                Side::A if call.b.fork != fork => call.forks.iter_mut().find(|l| l.fork == fork),
                _ => Some(call.leg_mut(from.other())),
            };
            if let Some(leg) = leg {
                leg.refresh(at.message);
            }
        }
        if method == Method::Subscribe && call.kind == Kind::Subscription {
            call.call_end = at.now + asked.subscribed(at.message, interval);
            let due = call.due();
            self.calls.table.arm(key, due);
        }
    }

    /// A final answer made here, in place of one that never came.
    pub(crate) fn answer_locally(&mut self, now: Time, key: Key, status: u16, out: &mut Effects) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        let Some(server) = relay.server else { return };
        self.egress.send(now, relay.upstream, Some(relay.trail()), out, |buffer| {
            plain(buffer, relay, status);
        });
        if out.last().is_none() {
            return self.answer_unruled(now, key, status, out);
        }
        if status == 503 && relay.method == Method::Register {
            self.transactions.abandon(server); // a storm must not fill the table with refusals
        } else {
            self.keep_answer(now, key, status, out);
        }
    }

    /// The same, past the rules for what leaves: they cannot be applied to the answer.
    #[cold]
    fn answer_unruled(&mut self, now: Time, key: Key, status: u16, out: &mut Effects) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        self.egress.send_unruled(now, relay.upstream, Some(relay.trail()), out, |buffer| {
            plain(buffer, relay, status);
        });
        self.keep_answer(now, key, status, out);
    }

    /// Keeps a final answer of ours that was just sent. A transaction without one is over: nothing
    /// else would end it.
    pub(crate) fn keep_answer(&mut self, now: Time, key: Key, status: u16, out: &Effects) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        let Some(server) = relay.server else { return };
        let Some((_, bytes)) = out.last() else { return self.transactions.abandon(server) };
        let line = memchr::memchr(b'\n', bytes).map_or(0, |at| at + 1);
        self.transactions.respond_without(now, server, status, &relay.kept(line, bytes));
    }
}

/// A response of our own to the request of a relay.
fn plain(out: &mut Vec<u8>, relay: &Relay, status: u16) {
    status_line(out, status);
    out.extend_from_slice(&relay.texts.head);
    write::no_body(out);
}

/// Lines of a response that are meant for the next hop only.
const PER_HOP: Set = Set::of(&[Header::Path, Header::ServiceRoute]);

/// What was sent last.
pub(super) fn sent(out: &Effects) -> &[u8] {
    out.last().map_or(&[], |(_, bytes)| bytes)
}
