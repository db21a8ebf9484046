//! Far ends that went away: connections that ended, addresses that cannot be reached.

use super::Call;
use machine::identity::Side;
use registrar::{Aor, Registrar};
use runtime::{ConnId, Flow};
use sip::NameAddr;
use sip_stack::leg::Leg;
use sip_stack::realm::{Realms, Side as RealmSide};

/// The side of a call whose leg is at a far end that `is_lost` means.
pub(super) fn side_at(call: &Call, is_lost: impl Fn(&Flow) -> bool) -> Option<Side> {
    let sides = [(&call.a, Side::A), (&call.b, Side::B)];
    sides.into_iter().find_map(|(leg, side)| is_lost(&leg.flow).then_some(side))
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
