//! What is debited and refunded by Ro, and what becomes of it.

use super::ByDiameter;
use super::charging::{Charge, Envelope, OnFailure, code_of, verdict};
use super::metrics::HomeMetric;
use super::sh::Pending;
use crate::config::Ipsmgw;
use crate::effects::In as Input;
use diameter::{Outcome, Outgoing};
use machine::{Duration, Time};
use runtime::Effects;

/// What a flow wants.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Comes back with the answer.
    pub ticket: u64,
    /// The flow's trail.
    pub trail: Option<u64>,
    pub charge: Charge,
    pub is_refund: bool,
}

impl Ipsmgw {
    /// How long the charging system has: an answer that no flow waits for any more would have
    /// debited for nothing.
    fn charging_time(&self) -> Duration {
        let half = Duration::from_millis(u64::from(self.timers.flow_s) * 500);
        let own = self.diameter.as_ref().map(|it| it.timers.request_ms);
        own.map_or(half, |it| half.min(Duration::from_millis(it.into())))
    }
}

impl ByDiameter {
    /// Asks the charging system; the answer is told under the ticket.
    pub(crate) fn charge(
        &mut self,
        now: Time,
        config: &Ipsmgw,
        wanted: &Wanted,
        out: &mut Effects,
    ) {
        let Wanted { ticket, is_refund, .. } = *wanted;
        let on_failure = config.charging.as_ref().map(|it| it.on_failure).unwrap_or_default();
        let pending = Pending::Charge { ticket, is_refund, on_failure };
        let Some((message, peers)) =
            self.written_charge(now, config, wanted).zip(self.peers.as_mut())
        else {
            return self.ended(pending, &Outcome::Expired);
        };
        self.tokens += 1;
        self.pending.insert(self.tokens, pending);
        wanted.trail.into_iter().for_each(|it| self.legs.is_of(&message, true, it));
        let timeout = Some(config.charging_time());
        peers.request(now, Outgoing { token: self.tokens, message, timeout }, out);
    }

    fn written_charge(&mut self, now: Time, config: &Ipsmgw, it: &Wanted) -> Option<Vec<u8>> {
        let session = self.sessions.as_mut()?.next_id();
        let own = self.peers.as_ref()?.node().settings();
        let of = Envelope { host: &own.host, realm: &own.realm, session: &session, now };
        config.charging.as_ref()?.request(&of, &it.charge, it.is_refund)
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
            self.told.push_back(Input::Charged { ticket, charged });
        }
    }
}
