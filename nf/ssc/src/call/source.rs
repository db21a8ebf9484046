//! Whose a message within a dialog is: the leg that it came on, and whether that leg's far end has
//! sent it ([`registrar::may_come_from`]).

use super::Call;
use crate::Arrived;
use crate::refusal::Refusal;
use machine::identity::Side;
use machine::slots::Key;
use registrar::{Registrar, may_come_from};
use sip_stack::border::Border;
use sip_stack::leg::Leg;
use transaction::Branch;

/// A dialog, as a message names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub key: Key,
    /// The leg the message came on.
    pub side: Side,
    /// The fork it belongs to.
    pub fork: u8,
    /// The branch with which it left before, from the other node of a pair.
    pub again: Option<Branch>,
}

/// The leg that a request which came on another goes out on.
pub(super) fn opposite(call: &mut super::Call, found: Found) -> Option<&mut Leg> {
    match found.side {
        Side::A if call.b.fork != found.fork => {
            call.forks.iter_mut().find(|leg| leg.fork == found.fork)
        }
        side => Some(call.leg_mut(side.other())),
    }
}

/// Why a message that names a leg's dialog is not from its far end.
pub(super) fn objection(
    border: &Border,
    at: &Arrived<'_>,
    leg: &Leg,
    registrar: &Registrar,
) -> Option<Refusal> {
    if at.realm != leg.realm {
        return Some(Refusal::OTHER_REALM);
    }
    (!may_come_from(border, &at.flow, leg, registrar)).then_some(Refusal::ELSEWHERE)
}

/// The leg that a request came on.
pub(super) fn leg_of(call: &Call, found: Found) -> Option<&Leg> {
    match found.side {
        Side::A => Some(&call.a),
        Side::B if call.b.fork == found.fork => Some(&call.b),
        Side::B => call.forks.iter().find(|leg| leg.fork == found.fork),
    }
}
