//! CANCEL (RFC 3261 §9): answered at once, passed on hop by hop; the INVITE ends with what the
//! far end says, a 487 as a rule.

use super::relay::{Phase, Relay};
use super::source::{Found, leg_of, objection};
use crate::egress::Event;
use crate::facts::Fact;
use crate::refusal::{Answered, Refusal};
use crate::{Arrived, Controller, User};
use machine::Time;
use machine::slots::Key;
use runtime::Effects;
use sip::Header;
use transaction::ServerId;

impl Controller {
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
        self.egress.facts.add(Fact::CallsCancelled, 1);
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
