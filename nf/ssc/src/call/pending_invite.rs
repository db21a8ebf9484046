//! An INVITE under way in a call that stands: what the standby keeps of it, and how it goes on
//! there. The asking side has had a 100 and sends nothing again (RFC 3261 §17.1.1.2), so that
//! whoever takes over must bring the answer.
//!
//! ```text
//! asked     ──→ sent again under its branch: the far end knows it, and answers it once more
//! answered  ──→ the 2xx is sent again until its ACK comes, which passes to the other leg
//! refused   ──→ for 64 T1 the refusal is sent again, until its ACK comes
//! ```
//! Whoever asked over a connection knows that it ended (RFC 3261 §8.1.3.1) and asks again over
//! another one: his INVITE is let go, a 2xx to it acknowledged.

use super::State;
use super::answer::sent;
use super::relay::{Phase, Relay};
use super::source::Found;
use crate::{Arrived, Controller, User};
use machine::identity::Side;
use machine::narrow::at_most;
use machine::slots::Key;
use machine::{Duration, Time};
use replica::field::{self, Fields};
use replica::flow;
use runtime::{Effects, Flow};
use sip::{Message, Method};
use transaction::{Arrival, Branch, Transactions};

/// The addresses are taken within this, usually much sooner.
const ADDRESSES_MAX: Duration = Duration::from_millis(100);

mod tag {
    pub const UPSTREAM: u8 = 1;
    pub const FROM: u8 = 2;
    pub const REQUEST: u8 = 3;
    pub const BRANCH: u8 = 4;
    pub const REPLY: u8 = 5;
    pub const CSEQ: u8 = 6;
    pub const UNTIL: u8 = 7;
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage<'a> {
    /// A re-INVITE without a final answer: as it came, and the branch that it left with.
    Asked { request: &'a [u8], branch: Branch },
    /// That 2xx went back and waits for its ACK; CSeq as the asking side knows it.
    Answered { reply: &'a [u8], cseq: u32 },
    /// A re-INVITE that got that refusal; until then its asking side may wait for it.
    Refused { request: &'a [u8], reply: &'a [u8], until: Time },
}

/// An INVITE under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingInvite<'a> {
    /// Where its responses go.
    upstream: Flow,
    /// The side it came from.
    from: Side,
    stage: Stage<'a>,
}

impl<'a> PendingInvite<'a> {
    /// The INVITE of a relay in a call that stands.
    pub fn of(relay: &'a Relay, transactions: &Transactions<Flow, User>) -> Option<Self> {
        let &Relay { upstream, from, .. } = relay;
        let stage = if relay.phase == Phase::Answered {
            Stage::Answered { reply: &relay.texts.reply, cseq: relay.cseq_up }
        } else {
            let sent = transactions.stored(relay.client?)?;
            let branch = Message::parse(&sent).ok()?.via().branch?.try_into().ok()?;
            Stage::Asked { request: &relay.texts.request, branch }
        };
        Some(Self { upstream, from, stage })
    }

    /// Tells the stages apart, below four; zero is none.
    pub const fn stage_of(pending_invite: Option<&Self>) -> u64 {
        match pending_invite {
            None => 0,
            Some(Self { stage: Stage::Asked { .. }, .. }) => 1,
            Some(Self { stage: Stage::Answered { .. }, .. }) => 2,
            Some(Self { stage: Stage::Refused { .. }, .. }) => 3,
        }
    }

    /// Appends it as fields.
    pub fn record(&self, out: &mut Vec<u8>) {
        field::nested(out, tag::UPSTREAM, |out| flow::write(out, &self.upstream));
        field::number(out, tag::FROM, u64::from(self.from == Side::B));
        match self.stage {
            Stage::Asked { request, branch } => {
                field::bytes(out, tag::REQUEST, request);
                field::bytes(out, tag::BRANCH, &branch);
            }
            Stage::Answered { reply, cseq } => {
                field::bytes(out, tag::REPLY, reply);
                field::number(out, tag::CSEQ, cseq.into());
            }
            Stage::Refused { request, reply, until } => {
                field::bytes(out, tag::REQUEST, request);
                field::bytes(out, tag::REPLY, reply);
                field::number(out, tag::UNTIL, until.as_nanos());
            }
        }
    }

    /// Reads what `record` wrote.
    pub fn restore(fields: &'a [u8]) -> Option<Self> {
        let find = |wanted| {
            let found = Fields::new(fields).find(|&(tag, _)| tag == wanted);
            found.map(|(_, value)| value)
        };
        let stage = match (find(tag::REQUEST), find(tag::REPLY)) {
            (Some(request), Some(reply)) => {
                let until = Time::from_nanos(field::read(find(tag::UNTIL)?));
                Stage::Refused { request, reply, until }
            }
            (Some(request), None) => {
                Stage::Asked { request, branch: find(tag::BRANCH)?.try_into().ok()? }
            }
            (None, reply) => {
                let cseq = at_most(field::read(find(tag::CSEQ)?), u32::MAX);
                Stage::Answered { reply: reply?, cseq }
            }
        };
        let from = if field::read(find(tag::FROM)?) == 0 { Side::A } else { Side::B };
        Some(Self { upstream: flow::read(find(tag::UPSTREAM)?), from, stage })
    }
}

impl Controller {
    /// This node serves from now on: the INVITEs that the other one had under way go on. Nothing
    /// leaves yet, for the addresses are only being taken: the kernel would refuse it.
    pub(crate) fn take_over_invites(&mut self, now: Time) {
        let out = &mut Effects::default();
        let waiting = self.calls.table.iter().filter(|(_, call)| call.pending_invite.is_some());
        let keys: Vec<Key> = waiting.map(|(key, _)| key).collect();
        for key in keys {
            let fields = self.calls.table.at_mut(key).and_then(|call| call.pending_invite.take());
            let Some(pending_invite) = fields.as_deref().and_then(PendingInvite::restore) else {
                continue;
            };
            if pending_invite.upstream.transport.is_stream() {
                continue;
            }
            match pending_invite.stage {
                Stage::Asked { .. } => self.ask_again(now, key, &pending_invite, out),
                Stage::Answered { reply, cseq } => {
                    self.await_ack_again(now, key, &pending_invite, reply, cseq);
                }
                Stage::Refused { request, reply, until } if now < until => {
                    self.refuse_again(now, pending_invite.upstream, request, reply);
                }
                Stage::Refused { .. } => {}
            }
        }
        self.transacted(now, out);
        self.calls.asked_again_at = now + ADDRESSES_MAX;
    }

    /// What was asked again is sent, now that the addresses are there; later the transaction sends
    /// it, where the transport is not reliable.
    pub(crate) fn send_asked_again(&mut self, now: Time, out: &mut Effects) {
        if now < self.calls.asked_again_at {
            return;
        }
        self.calls.asked_again_at = Time::MAX;
        for key in core::mem::take(&mut self.calls.asked_again) {
            let Some(call) = self.calls.table.at(key) else { continue };
            let Some(relay) = call.invite.and_then(|invite| self.calls.relays.at(invite)) else {
                continue;
            };
            let stored = relay.client.and_then(|client| self.transactions.stored(client));
            let flow = call.leg(relay.from.other()).flow;
            if let Some(request) = stored {
                self.egress.send_again(now, flow, out, |buffer| buffer.extend_from_slice(&request));
            }
        }
    }

    fn ask_again(
        &mut self,
        now: Time,
        key: Key,
        pending_invite: &PendingInvite<'_>,
        out: &mut Effects,
    ) {
        let Stage::Asked { request, branch } = pending_invite.stage else { return };
        let Ok(message) = &Message::parse(request) else { return };
        let Some(call) = self.calls.table.at_mut(key) else { return };
        call.state = State::Confirmed; // a re-INVITE comes after the ACK
        call.invite_from = pending_invite.from;
        let flow = pending_invite.upstream;
        let realm = call.leg(pending_invite.from).realm;
        let at = Arrived { now, flow, realm, message, raw: request };
        let Ok(found) = self.dialog(&at) else { return };
        let arrival = self.transactions.receive(now, flow, false, message, &mut self.outs);
        if let Arrival::Request(server) = arrival {
            self.forward(&at, Found { again: Some(branch), ..found }, server, out);
            self.calls.asked_again.push(key);
        }
    }

    /// The transaction sends it, as it would have been sent again there.
    fn refuse_again(&mut self, now: Time, flow: Flow, request: &[u8], reply: &[u8]) {
        let (Ok(message), Ok(answer)) = (&Message::parse(request), &Message::parse(reply)) else {
            return;
        };
        let arrival = self.transactions.receive(now, flow, false, message, &mut self.outs);
        if let (Arrival::Request(server), Some(status)) = (arrival, answer.status()) {
            self.transactions.respond(now, server, status, reply);
        }
    }

    /// A re-INVITE has just been refused: the standby is told, for the answer may not get there.
    pub(super) fn note_refusal(&mut self, now: Time, key: Key, call: Key, out: &Effects) {
        let reply = sent(out);
        let Some(relay) = self.calls.relays.at(key).filter(|_| self.pair.state.is_on()) else {
            return;
        };
        if !reply.starts_with(b"SIP/2.0 ") {
            return;
        }
        let until = now + Duration::from_millis(self.config.timers.t1_ms.into()) * 64;
        let stage = Stage::Refused { request: &relay.texts.request, reply, until };
        let mut fields = Vec::new();
        PendingInvite { upstream: relay.upstream, from: relay.from, stage }.record(&mut fields);
        self.calls.refused.push((call, fields));
    }

    fn await_ack_again(
        &mut self,
        now: Time,
        key: Key,
        pending_invite: &PendingInvite<'_>,
        reply: &[u8],
        cseq: u32,
    ) {
        let Some(call) = self.calls.table.at_mut(key) else { return };
        let taken = self.calls.relays.take(&pending_invite.upstream, reply.len());
        let Some((invite, relay)) = taken else { return };
        call.invite = Some(invite);
        call.invite_from = pending_invite.from;
        relay.call = Some(key);
        relay.from = pending_invite.from;
        relay.method = Method::Invite;
        relay.secret = call.secret;
        relay.upstream = pending_invite.upstream;
        relay.cseq_up = cseq;
        self.await_ack(now, invite, reply);
    }
}
