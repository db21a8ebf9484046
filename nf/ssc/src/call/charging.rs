//! The charging vector of what phones of IMS answer, and of what they send within dialogs
//! (TS 24.229 §5.2.6.3, §5.2.6.4; RFC 7315 §4.6).

use super::relay::Relay;
use super::source::{Found, opposite};
use super::transfer::Transfer;
use crate::{Arrived, Controller};
use ims::{Access, CHARGING, Charged};
use machine::identity::Side;
use machine::slots::Key;
use runtime::PortId;
use sip::{Header, Message};
use sip_stack::realm::{RealmId, Realms};
use sip_stack::write::Set;

/// What the vector of a request leads to that goes to a phone by the port `to`; of a realm that is
/// not believed it leads nowhere.
pub(super) fn charged(
    ims: &Access,
    realms: &Realms,
    message: &Message<'_>,
    from: RealmId,
    to: PortId,
) -> Option<Charged> {
    if !realms.row(from).trusted {
        return None;
    }
    ims.charged(to, message.header(Header::PChargingVector)?)
}

/// A request within a dialog goes on over its other leg: what it says of charging there, and what
/// its answers will say.
pub(super) fn in_dialog(
    controller: &mut Controller,
    at: &Arrived<'_>,
    found: Found,
    key: Key,
    transfer: &mut Transfer,
) {
    let Controller { ims, border, calls, .. } = controller;
    let leg = calls.table.at_mut(found.key).and_then(|call| opposite(call, found));
    let (Some(leg), Some(relay)) = (leg, calls.relays.at_mut(key)) else { return };
    let charged = charged(ims, &border.realms, at.message, at.realm, leg.flow.port);
    relay.texts.told = charged.map(|it| it.answer).unwrap_or_default();
    let before = transfer.lines.len();
    if border.realms.row(leg.realm).trusted {
        let lines = &mut transfer.lines;
        match (relay.from, &leg.charging) {
            (Side::A, _) => {
                ims.tell_core_within(at.flow.port, leg.flow.local.ip(), relay.secret, lines);
            }
            (Side::B, Some(line)) => lines.extend_from_slice(line),
            (Side::B, None) => {}
        }
    }
    if transfer.lines.len() > before {
        transfer.drop = transfer.drop.and(CHARGING); // the request itself does not say it then
    }
}

/// Appends what a response says of a relay and of who answers it; what the response itself must not
/// say then.
pub(super) fn answer(relay: &Relay, out: &mut Vec<u8>) -> Set {
    out.extend_from_slice(&relay.texts.told);
    if relay.texts.told.is_empty() { Set::default() } else { CHARGING }
}
