//! The gateway as one of two nodes: what it does while the other one serves, and when it takes
//! over.
//!
//! ```text
//!   standby ── Activate ─→ serves: messages that stand wait again, those under way are awaited
//!           ←─ Deactivate ── keeps still: no flow, no transaction, no link; the store follows
//!   active ── hand-over ─→ leaves what begins unanswered, then everything, until the other serves
//! ```
//! Rows are the store's to tell ([`keyed::Store::mirrored`]), of several shards the first one's. A
//! dialogue of SS7 ends with its node, as does a transaction of SIP: whoever asked asks again.

use crate::config::Ipsmgw;
use crate::function::{ShortMessageGateway, transactions};
use crate::gateway::Seeds;
use crate::place::{Duty, Left, Place};
use crate::shards::Part;
use machine::Time;
use rand_chacha::rand_core::RngCore;
use runtime::{Effects, Mirrored};
use std::sync::Arc;

impl ShortMessageGateway {
    /// Takes what the pair wants.
    pub(crate) fn mirrored(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        if self.own.part.has_flows() {
            self.store.mirrored(now, input);
        } else if let Mirrored::Snapshot(number) = input {
            // The first shard tells all that there is.
            out.snapshot_ended = Some(number);
        }
        match input {
            Mirrored::Deactivate => self.stand_by(now, out),
            Mirrored::Activate { .. } => self.serve(now, out),
            _ => {}
        }
    }

    /// The other node serves: whatever was under way here ends in silence.
    fn stand_by(&mut self, now: Time, out: &mut Effects) {
        self.own.place = Place { duty: Duty::StandsBy, ..Place::default() };
        self.begin_anew(now);
        self.settle_links(now, out);
    }

    fn serve(&mut self, now: Time, out: &mut Effects) {
        if self.own.place.is_standby() {
            self.own.place = Place::default();
            self.begin_anew(now);
            self.settle_links(now, out);
        }
    }

    /// No flow and no transaction is known any more.
    fn begin_anew(&mut self, now: Time) {
        let mut secret = [[0; 16]; 4];
        secret.iter_mut().for_each(|it| self.random.fill_bytes(it));
        let [proofs, correlations, ..] = secret;
        self.gateway.begin_anew(Seeds { proofs, correlations, share: (0, 1) }, now);
        let mut random = [0; 32];
        self.random.fill_bytes(&mut random);
        self.transactions = transactions(&self.config, random, self.own.shard, now);
        self.outs.clear();
        self.forget_requests();
        (self.is_restored, self.is_linked) = (false, false);
        self.own.part.begin_anew(now);
    }

    /// Links to other networks stand while the node serves.
    pub(crate) fn settle_links(&mut self, now: Time, out: &mut Effects) {
        let config = self.speaking();
        self.by_diameter.configure(now, &config.by_diameter(), out);
        self.links.configure(now, &config.links(), out);
    }

    /// The configuration as a node has it that may speak, or may not.
    fn speaking(&self) -> Arc<Ipsmgw> {
        if !self.own.place.is_standby() {
            return Arc::clone(&self.config);
        }
        let mut silent = Ipsmgw::clone(&self.config);
        silent.link.clear();
        silent.diameter_peer.clear();
        silent.diameter_route.clear();
        Arc::new(silent)
    }

    /// Leaves requests to the other node from now on, or no more; how many are under way, with
    /// which that one could not go on.
    pub(crate) fn hand_over(&mut self, now: Time, left: Left) -> usize {
        self.own.place.left = left;
        if left != Left::Nothing {
            self.gateway.pause(now);
        }
        match &self.own.part {
            Part::Edge(_) => self.asked.len(),
            Part::Whole | Part::First(_) => self.gateway.unsettled(),
        }
    }
}
