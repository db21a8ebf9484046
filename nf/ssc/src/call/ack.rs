//! The ACK of a 2xx, end to end, and what comes after the call was answered: the 2xx again,
//! further 2xx of other forks.

use super::State;
use super::calls::Calls;
use super::relay::Phase;
use super::released;
use super::source::objection;
use crate::media::{self, Place};
use crate::metrics::Metric;
use crate::{Arrived, Controller, User};
use machine::identity::{Side, TAG_BYTES, Token, hex, mix};
use machine::slots::Key;
use machine::{Duration, Time};
use media_stack::Verdict;
use runtime::{Effects, Flow};
use sip::{Header, Message, Method};
use sip_stack::leg::{Leg, Part};
use sip_stack::realm::Listener;
use sip_stack::topology_hiding;
use sip_stack::write;
use transaction::ClientId;

/// A longer ACK is not kept to be sent again; a bare one goes in its place.
const ACK_BYTES_MAX: usize = 8 << 10;
impl Controller {
    /// An ACK that no transaction knows: that of a 2xx.
    pub(crate) fn ack(&mut self, at: &Arrived<'_>, out: &mut Effects) {
        let token = at.message.to_tag().and_then(Token::read);
        let Some((key, side)) = token.and_then(|token| self.calls.call_of(&token)) else {
            return self.seen(at, None);
        };
        let Some(call) = self.calls.table.at(key) else { return };
        if let Some(refusal) = objection(&self.border, at, call.leg(side), &self.registrar) {
            self.egress.metrics.add(refusal.metric(), 1);
            return self.seen(at, None);
        }
        let Some(call) = self.calls.table.at_mut(key) else { return };
        let trail = call.trail();
        self.egress.received(at.now, &at.flow, Some(trail), at.raw);
        let Some(relay) = call.invite.filter(|_| call.invite_from == side) else { return };
        let Some(waiting) = self.calls.relays.at(relay) else { return };
        let is_mine = call.leg(side).owns(at.message, at.message.from_tag());
        let cseq = at.message.cseq().number;
        if waiting.phase != Phase::Answered || !is_mine || waiting.cseq_up != cseq {
            return;
        }
        call.invite = None;
        if call.state == State::Answered {
            call.state = State::Confirmed;
            call.forks = Vec::new(); // a 2xx of theirs is released without them
        }
        self.calls.relays.give_back(relay);
        let due = call.due();
        if due < Time::MAX {
            self.calls.table.arm(key, due);
        }
        let fork = call_fork(&self.calls, key);
        let place = Place { call: key, from: side, fork, to: None };
        match self.media_of(at, place) {
            Ok(body) => self.acknowledge(at, (key, body), side.other(), out),
            Err(_) => {
                self.acknowledge(at, (key, Verdict::Without), side.other(), out);
                self.tear_down(at.now, key, 488, "the description in the ACK was not taken", out);
            }
        }
    }

    /// Sends the ACK on to the other leg.
    fn acknowledge(
        &mut self,
        at: &Arrived<'_>,
        said: (Key, Verdict),
        side: Side,
        out: &mut Effects,
    ) {
        let (key, body) = said;
        let believed = self.border.is_authenticated(at.realm, &at.flow);
        let Some(call) = self.calls.table.at_mut(key) else { return };
        let leg = call.leg(side);
        let drop = self.border.realms.distrusted(at.message, at.realm, believed, leg.realm);
        let drop = drop.and(ims::identity::lost(&self.ims, at.flow.port));
        let (flow, trail) = (leg.flow, call.trail());
        let Some(listener) = self.border.realms.listener(flow.port) else { return };
        let branch = ack_branch(call.check(side), leg.invite_cseq);
        let message = at.message;
        let host = self.border.realms.host_for(at.realm, listener, message);
        self.egress.send(at.now, flow, Some(trail), out, |buffer| {
            begin(buffer, b"ACK", leg, listener, &branch, hops_left(message));
            write::cseq(buffer, leg.invite_cseq, b"ACK");
            write::contact(buffer, message, listener);
            let hidden = topology_hiding::parties(buffer, message, host, drop);
            let drop = drop.and(media::lost(body));
            write::lines(buffer, message, write::REQUEST.and(drop).and(hidden));
            media::write_body(buffer, message, body, &self.media);
        });
        let plain = message.body().is_empty() && !message.has(Header::ProxyAuthorization);
        call.ack.text = match out.last() {
            Some((_, bytes)) if !plain && bytes.len() <= ACK_BYTES_MAX => Some(bytes.into()),
            _ => None,
        };
        if call.ack.text.is_some() {
            // By then the far end has stopped to send its 2xx again (RFC 3261 §13.3.1.4).
            let t1 = Duration::from_millis(self.config.timers.t1_ms.into());
            call.ack.until = at.now + t1 * 64;
            let due = call.due();
            self.calls.table.arm(key, due);
        }
    }

    /// A response that no relay waits for: a 2xx to an INVITE may be one that we acknowledged
    /// already, or that of another fork. `client` is the transaction of ours that its branch
    /// names; without one no stranger is answered.
    pub(crate) fn stray(&mut self, at: &Arrived<'_>, client: Option<ClientId>, out: &mut Effects) {
        let message = at.message;
        let is_2xx = message.status().is_some_and(|status| (200..300).contains(&status));
        if !is_2xx || message.method() != Method::Invite {
            self.egress.metrics.add(Metric::StrayResponses, 1);
            return self.seen(at, None);
        }
        let token = message.from_tag().and_then(Token::read);
        let found = token.and_then(|token| self.calls.call_of(&token));
        let Some((key, side)) = found else {
            self.seen(at, None);
            if let Some(client) = client {
                self.release_fork(at, client, out);
            }
            return;
        };
        let Some(call) = self.calls.table.at(key) else { return };
        let trail = call.trail();
        self.egress.received(at.now, &at.flow, Some(trail), at.raw);
        let leg = call.leg(side);
        if !leg.owns(message, message.to_tag()) {
            if let Some(client) = client {
                self.release_fork(at, client, out);
            }
            return;
        }
        let pending = call.invite.is_some();
        if !pending && leg.invite_cseq == message.cseq().number {
            self.egress.metrics.add(Metric::Retransmissions, 1);
            self.acknowledge_again(at.now, key, side, out);
        }
    }

    /// Sends the ACK of the last INVITE on a leg once more, or for the first time without one
    /// from the other side.
    pub(crate) fn acknowledge_again(&mut self, now: Time, key: Key, side: Side, out: &mut Effects) {
        let Some(call) = self.calls.table.at(key) else { return };
        let leg = call.leg(side);
        let Some(listener) = self.border.realms.listener(leg.flow.port) else { return };
        let branch = ack_branch(call.check(side), leg.invite_cseq);
        self.egress.send(now, leg.flow, Some(call.trail()), out, |buffer| match &call.ack.text {
            Some(ack) if side == Side::B => buffer.extend_from_slice(ack),
            _ => {
                begin(buffer, b"ACK", leg, listener, &branch, 70);
                write::cseq(buffer, leg.invite_cseq, b"ACK");
                write::no_body(buffer);
            }
        });
    }

    /// A further 2xx of a forked INVITE: acknowledged and released (RFC 3261 §13.2.2.4), where it
    /// came from: its Contact may name somebody who has nothing to do with it. It must bear the
    /// names that the INVITE was sent with, and of one INVITE so many are released. A source may be
    /// forged: where the INVITE did not go, it draws an ACK and no BYE, which is sent many times.
    pub(super) fn release_fork(&mut self, at: &Arrived<'_>, client: ClientId, out: &mut Effects) {
        let message = at.message;
        if !self.may_release(message, client) {
            return self.egress.metrics.add(Metric::StrayResponses, 1);
        }
        let Some(from_tag) = message.from_tag() else { return };
        let Ok(ours) = <[u8; TAG_BYTES]>::try_from(from_tag) else { return };
        let Some(token) = Token::read(&ours).filter(|token| token.shard == self.shard) else {
            return;
        };
        let Some(asked) = self.transactions.client_flow(client) else { return };
        let Some(listener) = self.border.realms.listener(asked.port) else { return };
        let mut leg = Leg::new(listener.realm, message.cseq().number);
        leg.flow = asked;
        let is_theirs = objection(&self.border, at, &leg, &self.registrar).is_none();
        leg.establish(message, Part::Client, &ours);
        leg.flow = at.flow;
        leg.local_cseq += 1;
        self.egress.metrics.add(Metric::ForksReleased, 1);
        let Some(listener) = self.border.realms.listener(leg.flow.port) else { return };
        let branch =
            ack_branch(token.check ^ mix(u64::from(leg.flow.remote.port())), leg.invite_cseq);
        self.egress.send(at.now, leg.flow, None, out, |buffer| {
            begin(buffer, b"ACK", &leg, listener, &branch, 70);
            write::cseq(buffer, leg.invite_cseq, b"ACK");
            write::no_body(buffer);
        });
        if is_theirs {
            let farewell = Farewell { trail: None, user: User::Nobody, reason: b"" };
            self.bye(at.now, &leg, &farewell, out);
        }
    }

    /// Sends a BYE of our own on a leg.
    pub(crate) fn bye(
        &mut self,
        now: Time,
        leg: &Leg,
        farewell: &Farewell<'_>,
        out: &mut Effects,
    ) -> bool {
        let &Farewell { trail, user, reason } = farewell;
        let Some(listener) = self.border.realms.listener(leg.flow.port) else { return false };
        let Some((client, branch)) = self.transactions.reserve() else { return false };
        self.egress.send(now, leg.flow, trail, out, |buffer| {
            begin(buffer, b"BYE", leg, listener, &branch, 70);
            write::cseq(buffer, leg.local_cseq, b"BYE");
            if !reason.is_empty() {
                write::line(buffer, "Reason", reason);
            }
            write::no_body(buffer);
        });
        let flow: Flow = leg.flow;
        let Some((_, bytes)) = out.last() else {
            self.transactions.release(client);
            return false;
        };
        let reliable = flow.transport.is_stream();
        self.transactions.start_client(now, client, flow, reliable, bytes, user);
        true
    }

    /// Whether one more 2xx to the INVITE of this transaction is released.
    fn may_release(&mut self, message: &Message<'_>, client: ClientId) -> bool {
        let Some(User::Invite(_, sent)) = self.transactions.client_user(client) else {
            return false;
        };
        let tag = message.from_tag().and_then(Token::read);
        tag.is_some_and(|tag| released::sum(&tag, message.call_id()) == sent)
            && self
                .transactions
                .count_released(client)
                .is_some_and(|count| count <= released::RELEASES_MAX)
    }
}

/// The fork that a call's asked leg is.
fn call_fork(calls: &Calls, key: Key) -> u8 {
    calls.table.at(key).map_or(0, |call| call.b.fork)
}

/// What a BYE of our own is about.
pub(crate) struct Farewell<'a> {
    /// The trail it belongs to.
    pub trail: Option<u64>,
    /// Who wants to know its end.
    pub user: User,
    /// Value of its Reason header (RFC 3326); empty for none.
    pub reason: &'a [u8],
}

/// Start line, Via, Max-Forwards, Route, From, To and Call-ID of a request on a leg.
pub(crate) fn begin(
    out: &mut Vec<u8>,
    method: &[u8],
    leg: &Leg,
    listener: &Listener,
    branch: &[u8],
    hops: u8,
) {
    out.extend_from_slice(method);
    out.push(b' ');
    out.extend_from_slice(leg.target());
    out.extend_from_slice(b" SIP/2.0\r\n");
    out.extend_from_slice(&listener.via);
    out.extend_from_slice(branch);
    out.extend_from_slice(b"\r\n");
    write::max_forwards(out, hops);
    out.extend_from_slice(leg.block());
}

/// Hops that a request has left when it leaves.
pub(crate) fn hops_left(message: &Message<'_>) -> u8 {
    message.max_forwards().unwrap_or(70).saturating_sub(1)
}

/// The branch of the ACK to a 2xx: the same each time it is sent again, no transaction's.
pub(super) fn ack_branch(check: u64, cseq: u32) -> [u8; 7 + 16] {
    let mut branch = *b"z9hG4bK0000000000000000";
    branch[7..].copy_from_slice(&hex(mix(check ^ u64::from(cseq) << 32)));
    branch
}
