//! OPTIONS to the targets of next hops (RFC 3261 §11): whoever answers is alive.

use crate::User;
use crate::egress::{Egress, Event};
use crate::metrics::Metric;
use machine::Time;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore;
use runtime::{Effects, Flow};
use sip_stack::border::Border;
use sip_stack::next_hop::{Health, Probed};
use sip_stack::probe;
use transaction::Transactions;

/// Probes sent in one go at most; the others follow with the next tick.
const PROBES_PER_TICK: usize = 64;

/// What a probe takes.
pub(crate) struct Probing<'a> {
    pub(crate) border: &'a mut Border,
    pub(crate) transactions: &'a mut Transactions<Flow, User>,
    pub(crate) egress: &'a mut Egress,
    pub(crate) random: &'a mut ChaCha12Rng,
}

impl Probing<'_> {
    /// Sends the probes that are due; those before them that have no answer have failed.
    pub(crate) fn send_due(&mut self, now: Time, out: &mut Effects) {
        while let Some(late) = self.border.hops.overdue(now) {
            self.probed(now, late, false);
        }
        for _ in 0..PROBES_PER_TICK {
            let Some((probed, flow)) = self.border.hops.due(now) else { return };
            self.probe_one(now, probed, flow, out);
        }
    }

    fn probe_one(&mut self, now: Time, probed: Probed, flow: Flow, out: &mut Effects) {
        let call = self.random.next_u64();
        let Some(listener) = self.border.realms.listener(flow.port) else { return };
        let Some((client, branch)) = self.transactions.reserve() else {
            // That there is no room here says nothing of the target.
            return self.border.hops.unsent(probed);
        };
        self.egress.send(now, flow, Some(call), out, |buffer| {
            probe::write(buffer, listener, &flow, &branch, call);
        });
        let Some((_, bytes)) = out.last() else {
            self.transactions.release(client);
            return self.border.hops.unsent(probed);
        };
        self.egress.metrics.add(Metric::Probes, 1);
        let (user, reliable) = (User::Probe(probed), flow.transport.is_stream());
        self.transactions.start_client(now, client, flow, reliable, bytes, user);
    }

    /// A probe has its answer, or none. One that was sent before the next hops changed says
    /// nothing about those of now.
    pub(crate) fn probed(&mut self, now: Time, probed: Probed, alive: bool) {
        let Probed { hop, target, .. } = probed;
        let changed = self.border.hops.probed(now, probed, alive);
        if changed.is_none() {
            return;
        }
        self.egress.metrics.set(Metric::TargetsDown, self.border.hops.down() as u64);
        let row = self.border.hops.rows().get(usize::from(hop));
        let Some(endpoint) = row.and_then(|row| row.endpoints.get(usize::from(target))) else {
            return;
        };
        let up = changed == Some(Health::Up);
        let event = if up { Event::TargetUp } else { Event::TargetDown };
        let flow = endpoint.flow;
        let trail = self.random.next_u64();
        self.egress.event(now, &flow, trail, event, &[]);
    }
}
