//! Far ends that went away: connections that ended, addresses that cannot be reached.

use super::leg::Leg;
use crate::Controller;
use crate::realm::{Realms, Side as RealmSide};
use crate::token::Side;
use machine::Time;
use machine::slots::Key;
use registrar::{Aor, Registrar};
use runtime::{ConnId, Effects, Flow};
use sip::NameAddr;

/// Connections that ended are looked for in the calls together, at most this many at once; one
/// search goes through all calls.
const LOST_MAX: usize = 1024;

impl Controller {
    /// A connection ended, or a far end cannot be reached.
    pub(crate) fn down(&mut self, now: Time, flow: Flow, why: &'static str, out: &mut Effects) {
        if self.wire.capture.owns(&flow) {
            return self.wire.capture.down(now, why);
        }
        self.transactions.transport_failed(now, flow, &mut self.outs);
        // What was sent before the connection stood was sent to the address alone.
        let asked = self.border.realms.door(flow.port).map(|door| door.flow(flow.remote));
        if let Some(asked) = asked.filter(|&asked| flow.transport.is_stream() && asked != flow) {
            self.transactions.transport_failed(now, asked, &mut self.outs);
        }
        self.transacted(now, out);
        self.border.proofs.forget(&flow);
        self.registrar.connection_ended(&flow);
        if flow.transport.is_stream() && self.calls.lost.len() < LOST_MAX {
            self.calls.lost.push(flow);
        }
    }

    /// Calls on connections that ended: a subscriber behind a NAT cannot be reached any more and
    /// both legs end; towards the core the next request opens a new connection.
    pub(crate) fn lost(&mut self, now: Time, out: &mut Effects) {
        if self.calls.lost.is_empty() {
            return;
        }
        let lost = core::mem::take(&mut self.calls.lost);
        let is_lost = |leg: &Leg| leg.flow.transport.is_stream() && lost.contains(&leg.flow);
        let hit: Vec<(Key, Side)> = self
            .calls
            .table
            .iter()
            .filter_map(|(key, call)| {
                let side = match () {
                    () if is_lost(&call.a) => Side::A,
                    () if is_lost(&call.b) => Side::B,
                    () => return None,
                };
                Some((key, side))
            })
            .collect();
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
}

/// A subscriber whose connection ended with the node that this one took over from is where he has
/// registered since: with the contact of his dialog, else with his only one.
pub(super) fn follow(leg: &mut Leg, realms: &Realms, registrar: &Registrar) {
    let has_connection = !leg.flow.transport.is_stream() || leg.flow.conn != ConnId(0);
    if has_connection || realms.row(leg.realm).side == RealmSide::Core {
        return;
    }
    let party = NameAddr::parse(leg.parties().1).ok();
    let Some(aor) = party.and_then(|party| Aor::parse(party.uri)) else { return };
    let bindings = || {
        let all = registrar.reached_by(&aor).map(|(_, binding)| binding);
        all.filter(|binding| binding.realm == leg.realm && binding.flow.conn != ConnId(0))
    };
    let known = bindings().find(|binding| binding.contact_uri() == leg.target());
    let only = bindings().next().filter(|_| bindings().nth(1).is_none());
    if let Some(binding) = known.or(only) {
        leg.flow = binding.flow;
    }
}
