//! Far ends that went away: connections that ended, addresses that cannot be reached.

use super::Call;
use super::leg::Leg;
use crate::Controller;
use crate::realm::{Realms, Side as RealmSide};
use crate::token::Side;
use machine::Time;
use machine::slots::Key;
use registrar::{Aor, Registrar};
use runtime::{ConnId, Effects, Flow};
use sip::NameAddr;

/// The side of a call whose leg is at a far end that `is_lost` means.
fn side_at(call: &Call, is_lost: impl Fn(&Flow) -> bool) -> Option<Side> {
    let sides = [(&call.a, Side::A), (&call.b, Side::B)];
    sides.into_iter().find_map(|(leg, side)| is_lost(&leg.flow).then_some(side))
}

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
                keys.into_iter()
                    .filter_map(|key| Some((key, side_at(table.at(key)?, |at| *at == flow)?))),
            );
        }
        hit.extend(places.filter_map(|place| {
            let key = table.user_of(place)?;
            let call = table.at(key)?;
            // One that began since then has a try of its own under way.
            let is_lost = |at: &Flow| unopened.get(at).is_some_and(|&at| call.started <= at);
            Some((key, side_at(call, |at| at.transport.is_stream() && is_lost(at))?))
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
}

/// A subscriber whose connection ended with the node that this one took over from is where he has
/// registered since: with the contact of his dialog, else with his only one. Returns whether the
/// leg was moved there.
pub(super) fn follow(leg: &mut Leg, realms: &Realms, registrar: &Registrar) -> bool {
    let has_connection = !leg.flow.transport.is_stream() || leg.flow.conn != ConnId(0);
    if has_connection || realms.row(leg.realm).side == RealmSide::Core {
        return false;
    }
    let party = NameAddr::parse(leg.parties().1).ok();
    let Some(aor) = party.and_then(|party| Aor::parse(party.uri)) else { return false };
    let bindings = || {
        let all = registrar.reached_by(&aor).map(|(_, binding)| binding);
        all.filter(|binding| binding.realm == leg.realm && binding.flow.conn != ConnId(0))
    };
    let known = bindings().find(|binding| binding.contact_uri() == leg.target());
    let only = bindings().next().filter(|_| bindings().nth(1).is_none());
    let Some(binding) = known.or(only) else { return false };
    leg.flow = binding.flow;
    true
}
