//! Ends: what runs out of time, what fails, what we end ourselves, both legs, always; and CANCEL
//! (RFC 3261 §9), answered at once, passed on hop by hop: the INVITE ends with what the far end
//! says, a 487 as a rule.

use super::ack::Farewell;
use super::relay::{Phase, Relay};
use super::source::{Found, leg_of, objection};
use super::{KeptAck, Kind, State, lost};
use crate::egress::{Event, Field};
use crate::metrics::Metric;
use crate::refusal::{Answered, Refusal};
use crate::{Arrived, Controller, User};
use machine::identity::Side;
use machine::narrow::millis;
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow};
use sip::{Header, Method};
use sip_stack::realm::Side as RealmSide;
use transaction::ServerId;

impl Controller {
    /// A call is over: its record and what it holds are given back.
    pub(super) fn give_back(&mut self, now: Time, key: Key) {
        self.calls.end(now, key, &mut self.overload.limits, &mut self.media);
    }

    /// A request got no answer, or could not be sent: `status` stands for that.
    pub(crate) fn relay_failed(&mut self, now: Time, key: Key, status: u16, out: &mut Effects) {
        if self.try_next(now, key, status, out) {
            return;
        }
        let Some(relay) = self.calls.relays.at(key) else { return };
        if relay.phase == Phase::Answered {
            return; // the INVITE was answered; its ACK is what is waited for
        }
        let is_cancelled = relay.phase == Phase::Cancelled;
        if !is_cancelled {
            self.failed_there(key);
        }
        let Some(relay) = self.calls.relays.at(key) else { return };
        let status = if is_cancelled { 487 } else { status };
        let (call, initial, method) = (relay.call, relay.initial, relay.method);
        let (upstream, trail) = (relay.upstream, relay.trail());
        self.answer_locally(now, key, status, out);
        self.forget_register(key);
        let Some(call_key) = call.filter(|&call| self.calls.table.at(call).is_some()) else {
            return self.calls.relays.give_back(key);
        };
        if !initial {
            return self.relay_done(now, key, call_key, status, out);
        }
        if method == Method::Invite {
            self.egress.metrics.add(Metric::CallsFailed, 1);
            let fields = [("status", Field::Number(status.into()))];
            self.egress.event(now, &upstream, trail, Event::CallFailed, &fields);
        }
        self.calls.relays.give_back(key);
        self.give_back(now, call_key);
    }

    /// Relays whose clock ran out.
    pub(crate) fn relays_due(&mut self, now: Time, out: &mut Effects) {
        let mut due = core::mem::take(&mut self.calls.due);
        self.calls.relays.expire(now, &mut due);
        for key in due.drain(..) {
            self.relay_due(now, key, out);
        }
        self.calls.due = due;
    }

    fn relay_due(&mut self, now: Time, key: Key, out: &mut Effects) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        match relay.phase {
            Phase::Answered if relay.timing.end_at <= now => self.ack_missing(now, key, out),
            Phase::Answered => self.answer_again(now, key, out),
            Phase::Cancelled => {}
            _ if relay.timing.end_at <= now => self.no_answer(now, key, out),
            _ => self.silent(now, key, out),
        }
    }

    /// The 2xx once more (RFC 3261 §13.3.1.4).
    fn answer_again(&mut self, now: Time, key: Key, out: &mut Effects) {
        let t2 = Duration::from_millis(self.config.timers.t2_ms.into());
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        if relay.timing.again_at <= now {
            self.egress.metrics.add(Metric::Resent, 1);
            self.egress.send(now, relay.upstream, Some(relay.trail()), out, |buffer| {
                buffer.extend_from_slice(&relay.texts.reply);
            });
            relay.timing.interval = (relay.timing.interval * 2).min(t2);
            relay.timing.again_at = now + relay.timing.interval;
        }
        let due = relay.due();
        self.calls.relays.arm(key, due);
    }

    /// Nobody acknowledged the 2xx: both legs end.
    fn ack_missing(&mut self, now: Time, key: Key, out: &mut Effects) {
        self.egress.metrics.add(Metric::AckMissing, 1);
        let Some(relay) = self.calls.relays.at(key) else { return };
        if let Some(call_key) = relay.call {
            self.tear_down(now, call_key, 408, "the ACK did not come", out);
            if let Some(call) = self.calls.table.at_mut(call_key)
                && call.invite == Some(key)
            {
                call.invite = None; // it ends already, by a BYE that is under way
            }
        }
        self.calls.relays.give_back(key);
    }

    /// The caller waited long enough: the INVITE is cancelled, and ends with 408 at once; one in a
    /// call that stands with 487, for after a 408 the call would have to end (RFC 5057 §5.1).
    fn no_answer(&mut self, now: Time, key: Key, out: &mut Effects) {
        let reason = Some(&b"SIP;cause=408;text=\"No answer\""[..]);
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        if !relay.initial {
            return self.cancel(now, key, reason, out);
        }
        relay.plan = None;
        let client = relay.client.take();
        if let Some(client) = client {
            self.transactions.cancel(now, client, reason, &mut self.outs);
        }
        self.relay_failed(now, key, 408, out);
    }

    /// A target said nothing: the next one is tried, this one is cancelled.
    fn silent(&mut self, now: Time, key: Key, out: &mut Effects) {
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        if relay.timing.again_at > now {
            let due = relay.due();
            return self.calls.relays.arm(key, due);
        }
        relay.timing.again_at = Time::MAX;
        let (client, method, call) = (relay.client, relay.method, relay.call);
        let due = relay.due();
        self.calls.relays.arm(key, due);
        if !self.try_next(now, key, 408, out) {
            return;
        }
        if let (Some(client), Method::Invite) = (client, method) {
            self.transactions.cancel(now, client, None, &mut self.outs);
        }
        if let Some(call) = call.and_then(|call| self.calls.table.at_mut(call)) {
            call.forks.clear();
        }
    }

    /// Ends a call from our side: what is under way is answered with `status`, legs that stand
    /// get a BYE.
    pub(crate) fn tear_down(
        &mut self,
        now: Time,
        key: Key,
        status: u16,
        why: &'static str,
        out: &mut Effects,
    ) {
        let Some(call) = self.calls.table.at_mut(key) else { return };
        let (state, trail) = (call.state, call.trail());
        if state == State::Ending {
            return; // its end takes what is under way with it
        }
        let invite = call.invite.take();
        self.egress.metrics.add(Metric::CallsTornDown, 1);
        let (flow, is_session) = (call.a.flow, call.kind == Kind::Session);
        let fields =
            [("text", Field::Text(why.as_bytes())), ("status", Field::Number(status.into()))];
        self.egress.event(now, &flow, trail, Event::CallTornDown, &fields);
        if let Some(relay) = invite {
            self.drop_invite(now, relay, status, out);
        }
        if state == State::Early || !is_session {
            return self.finish(now, key, out);
        }
        if state == State::Answered {
            self.acknowledge_again(now, key, Side::B, out);
        }
        self.bye_legs(now, key, &[Side::A, Side::B], why, out);
    }

    /// Ends the INVITE of a call that is being torn down.
    fn drop_invite(&mut self, now: Time, key: Key, status: u16, out: &mut Effects) {
        let Some(relay) = self.calls.relays.at(key) else { return };
        if relay.phase != Phase::Answered {
            if let Some(client) = relay.client {
                self.transactions.cancel(now, client, None, &mut self.outs);
            }
            self.answer_locally(now, key, status, out);
            if relay_is_first(self, key) {
                self.egress.metrics.add(Metric::CallsFailed, 1);
            }
        }
        self.calls.relays.give_back(key);
    }

    /// Ends the call by BYEs of our own on these legs.
    pub(crate) fn bye_legs(
        &mut self,
        now: Time,
        key: Key,
        sides: &[Side],
        why: &'static str,
        out: &mut Effects,
    ) {
        let reason = format!("SIP;cause=200;text=\"{why}\"");
        for &side in sides {
            let Some(call) = self.calls.table.at_mut(key) else { return };
            call.state = State::Ending;
            let trail = call.trail();
            let leg = call.leg_mut(side);
            if !leg.stands() {
                continue;
            }
            leg.local_cseq += 1;
            let _ = lost::follow(leg, &self.border.realms, &self.registrar); // its end is near
            let leg = core::mem::take(leg);
            let user = User::Bye(key, side);
            let farewell = Farewell { trail: Some(trail), user, reason: reason.as_bytes() };
            let is_sent = self.bye(now, &leg, &farewell, out);
            if let Some(call) = self.calls.table.at_mut(key) {
                *call.leg_mut(side) = leg;
                call.byes += u8::from(is_sent);
            }
        }
        if self.calls.table.at(key).is_some_and(|call| call.byes == 0) {
            self.finish(now, key, out);
        }
    }

    /// A BYE of ours was answered, or never will be.
    pub(crate) fn bye_done(&mut self, now: Time, key: Key, out: &mut Effects) {
        let Some(call) = self.calls.table.at_mut(key) else { return };
        call.byes = call.byes.saturating_sub(1);
        if call.byes == 0 {
            self.finish(now, key, out);
        }
    }

    /// The BYE of one side was answered by the other.
    pub(crate) fn ended(&mut self, now: Time, key: Key, out: &mut Effects) {
        let Some(call) = self.calls.table.at(key) else { return };
        if call.refer_until > now {
            return; // a REFER inside the call still gets its NOTIFYs
        }
        self.finish(now, key, out);
    }

    /// Forgets a call. An INVITE under way in it ends with 487 (RFC 3261 §15.1.2), for no clock
    /// would end it; any other request ends by itself.
    pub(crate) fn finish(&mut self, now: Time, key: Key, out: &mut Effects) {
        let Some(call) = self.calls.table.at(key) else { return };
        if call.answered != Time::ZERO {
            self.egress.metrics.add(Metric::CallsEnded, 1);
            let seconds = now.since(call.answered).as_secs();
            self.egress.metrics.observe(Metric::CallSeconds, seconds);
            let flow = call.a.flow;
            let fields = [("duration_ms", Field::Number(millis(now.since(call.answered))))];
            self.egress.event(now, &flow, call.trail(), Event::CallEnded, &fields);
        }
        match call.invite {
            Some(relay) if !self.is_waiting(relay) => self.calls.relays.give_back(relay),
            Some(relay) if self.is_invite(relay) => self.drop_invite(now, relay, 487, out),
            _ => {}
        }
        self.give_back(now, key);
    }

    /// Calls whose clock ran out.
    pub(crate) fn calls_due(&mut self, now: Time, out: &mut Effects) {
        let mut due = core::mem::take(&mut self.calls.due);
        self.calls.table.expire(now, &mut due);
        for key in due.drain(..) {
            self.call_due(now, key, out);
        }
        self.calls.due = due;
    }

    fn call_due(&mut self, now: Time, key: Key, out: &mut Effects) {
        let Some(call) = self.calls.table.at_mut(key) else { return };
        if call.refer_until <= now {
            call.refer_until = Time::ZERO;
        }
        if call.ack.until != Time::ZERO && call.ack.until <= now {
            call.ack = KeptAck::default();
        }
        if call.state == State::Ending && call.session_end.min(call.call_end) <= now {
            return self.finish(now, key, out); // whatever its BYEs wait for
        }
        if call.session_end <= now {
            self.egress.metrics.add(Metric::SessionsExpired, 1);
            return self.tear_down(now, key, 408, "the session was not refreshed", out);
        }
        if call.call_end <= now {
            return self.tear_down(now, key, 408, "the call lasted too long", out);
        }
        if call.state == State::Ending && call.refer_until == Time::ZERO && call.byes == 0 {
            return self.finish(now, key, out);
        }
        let due = call.due();
        self.calls.table.arm(key, due);
    }

    /// A connection ended, or a far end cannot be reached.
    pub(crate) fn down(&mut self, now: Time, flow: Flow, why: &'static str, out: &mut Effects) {
        if self.egress.capture.owns(&flow) {
            return self.egress.capture.down(now, why);
        }
        self.transactions.transport_failed(now, flow, &mut self.outs);
        // What was sent before the connection stood was sent to the address alone.
        let asked =
            self.border.realms.listener(flow.port).map(|listener| listener.flow(flow.remote));
        if let Some(asked) = asked.filter(|&asked| flow.transport.is_stream() && asked != flow) {
            self.transactions.transport_failed(now, asked, &mut self.outs);
        }
        self.transacted(now, out);
        self.border.proofs.forget(&flow);
        self.registrar.connection_ended(&flow);
        if !flow.transport.is_stream() {
            return;
        }
        if flow.conn == ConnId(0) {
            self.calls.lost.unopened.insert(flow, now);
        } else if let Some(calls) = self.calls.connections.take(&flow) {
            self.calls.lost.connections.push((flow, calls));
        }
    }

    /// Calls on connections that ended: a subscriber behind a NAT cannot be reached any more and
    /// both legs end; towards the core the next request opens a new connection.
    pub(crate) fn lost(&mut self, now: Time, out: &mut Effects) {
        if self.calls.lost.deadline().is_none_or(|at| at > now) {
            return;
        }
        let connections = core::mem::take(&mut self.calls.lost.connections);
        let table = &self.calls.table;
        let (places, unopened) = self.calls.lost.look(now, table.places());
        let mut hit: Vec<(Key, Side)> = Vec::new();
        for (flow, keys) in connections {
            hit.extend(
                keys.into_iter().filter_map(|key| {
                    Some((key, lost::side_at(table.at(key)?, |at| *at == flow)?))
                }),
            );
        }
        hit.extend(places.filter_map(|place| {
            let key = table.user_of(place)?;
            let call = table.at(key)?;
            // One that began since then has a try of its own under way.
            let is_lost = |at: &Flow| unopened.get(at).is_some_and(|&at| call.started <= at);
            Some((key, lost::side_at(call, |at| at.transport.is_stream() && is_lost(at))?))
        }));
        for (key, side) in hit {
            let Some(call) = self.calls.table.at_mut(key) else { continue };
            let realm = call.leg(side).realm;
            if self.border.realms.row(realm).side == RealmSide::Core {
                call.leg_mut(side).reconnect(&self.border.realms);
            } else {
                self.tear_down(now, key, 480, "the connection of one leg ended", out);
            }
        }
    }

    /// A CANCEL came; `invite` is the INVITE it means.
    pub(crate) fn cancelled(
        &mut self,
        at: &Arrived<'_>,
        id: ServerId,
        invite: Option<(ServerId, User)>,
        out: &mut Effects,
    ) {
        let relay = match invite {
            Some((_, User::Relay(key))) => self.calls.relays.at(key).map(|relay| (key, relay)),
            _ => None,
        };
        let refusal = relay.and_then(|(_, relay)| self.objects_to_cancel(at, relay));
        let relay = relay.map(|(key, relay)| (key, relay.trail()));
        if let Some(refusal) = refusal {
            return self.refuse(at, Some(id), refusal, out);
        }
        let trail = relay.map(|(_, trail)| trail).unwrap_or_else(|| self.random());
        self.seen(at, Some(trail));
        let status = if invite.is_some() { 200 } else { 481 };
        self.reply(at, Answered { server: Some(id), trail }, status, out, |_| {});
        let Some((key, _)) = relay else { return };
        if !self.is_waiting(key) {
            return;
        }
        self.egress.metrics.add(Metric::CallsCancelled, 1);
        self.egress.event(at.now, &at.flow, trail, Event::CallCancelled, &[]);
        let reason = at.message.header(Header::Reason);
        self.cancel(at.now, key, reason, out);
    }

    /// Gives up the INVITE of a relay. Its end comes as the answer to it, or as a timeout.
    pub(crate) fn cancel(&mut self, now: Time, key: Key, reason: Option<&[u8]>, out: &mut Effects) {
        let Some(relay) = self.calls.relays.at_mut(key) else { return };
        relay.phase = Phase::Cancelled;
        relay.timing.again_at = Time::MAX;
        relay.timing.end_at = Time::MAX;
        let client = relay.client;
        self.calls.relays.arm(key, Time::MAX);
        let is_sent = client
            .is_some_and(|client| self.transactions.cancel(now, client, reason, &mut self.outs));
        if !is_sent {
            self.relay_failed(now, key, 487, out);
        }
    }

    /// Why a CANCEL is not from whoever sent the INVITE of the relay.
    fn objects_to_cancel(&self, at: &Arrived<'_>, relay: &Relay) -> Option<Refusal> {
        let key = relay.call?;
        let found = Found { key, side: relay.from, fork: relay.fork, again: None };
        let leg = self.calls.table.at(key).and_then(|call| leg_of(call, found));
        // Whose leg is not there cannot be held against it.
        leg.map_or(Some(Refusal::NO_DIALOG), |leg| {
            objection(&self.border, at, leg, &self.registrar)
        })
    }
}

fn relay_is_first(controller: &Controller, key: Key) -> bool {
    controller.calls.relays.at(key).is_some_and(|relay| relay.initial)
}
