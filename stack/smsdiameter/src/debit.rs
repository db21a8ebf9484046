//! What is debited and refunded by Ro, and what becomes of it.

use crate::applications::{Applications, Event};
use crate::charging::{Charge, Envelope, OnFailure, code_of, verdict};
use crate::metrics::HomeMetric;
use crate::sh::Pending;
use diameter::{Outcome, Outgoing};
use machine::Time;
use runtime::Effects;

/// What a flow wants.
#[derive(Debug)]
pub struct Wanted {
    /// Comes back with the answer.
    pub ticket: u64,
    /// The flow's trail.
    pub trail: Option<u64>,
    /// What is charged.
    pub charge: Charge,
    /// It was debited, and is to be refunded.
    pub is_refund: bool,
}

impl Applications {
    /// Asks the charging system; the answer is told under the ticket.
    pub fn charge(&mut self, now: Time, wanted: &Wanted, out: &mut Effects) {
        let Wanted { ticket, is_refund, .. } = *wanted;
        let (on_failure, timeout) = match &self.charging {
            Some((keys, time)) => (keys.on_failure, Some(*time)),
            None => (OnFailure::default(), None),
        };
        let pending = Pending::Charge { ticket, is_refund, on_failure };
        let Some((message, peers)) = self.written_charge(now, wanted).zip(self.peers.as_mut())
        else {
            return self.ended(pending, &Outcome::Expired);
        };
        self.tokens += 1;
        self.pending.insert(self.tokens, pending);
        wanted.trail.into_iter().for_each(|it| self.legs.is_of(&message, true, it));
        peers.request(now, Outgoing { token: self.tokens, message, timeout }, out);
    }

    fn written_charge(&mut self, now: Time, it: &Wanted) -> Option<Vec<u8>> {
        let session = self.sessions.as_mut()?.next_id();
        let own = self.peers.as_ref()?.node().settings();
        let of = Envelope { host: &own.host, realm: &own.realm, session: &session, now };
        self.charging.as_ref()?.0.request(&of, &it.charge, it.is_refund)
    }

    /// A request of Ro has come to its end.
    pub(crate) fn charged(
        &mut self,
        ticket: u64,
        is_refund: bool,
        on_failure: OnFailure,
        outcome: &Outcome,
    ) {
        let charged = verdict(outcome, on_failure);
        let code = code_of(outcome);
        let is_done = code.is_some_and(|it| it / 1_000 == 2);
        let metric = match (is_refund, is_done) {
            (false, true) => HomeMetric::Debited,
            (true, true) => HomeMetric::Refunded,
            (false, false) if code.is_some() => HomeMetric::ChargesRefused,
            (_, false) => HomeMetric::ChargesFailed,
        };
        self.metrics.add(metric, 1);
        if !is_refund {
            self.events.push_back(Event::Charged { ticket, charged });
        }
    }
}
