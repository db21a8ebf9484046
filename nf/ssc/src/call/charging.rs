//! The charging vector of what phones of IMS answer, and of what they send within dialogs
//! (TS 24.229 §5.2.6.3, §5.2.6.4; RFC 7315 §4.6).

use super::relay::Relay;
use ims::{Access, CHARGING, Charged};
use machine::identity::Side;
use runtime::PortId;
use sip::{Header, Message};
use sip_stack::leg::Leg;
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

/// Appends what a request within a dialog says that came by `from` and leaves on that leg; what the
/// request itself must not say then.
pub(super) fn within(
    ims: &Access,
    realms: &Realms,
    relay: &Relay,
    from: PortId,
    leg: &Leg,
    out: &mut Vec<u8>,
) -> Set {
    let before = out.len();
    if realms.row(leg.realm).trusted {
        match (relay.from, &leg.charging) {
            (Side::A, _) => ims.tell_core_within(from, leg.flow.local.ip(), relay.secret, out),
            (Side::B, Some(line)) => out.extend_from_slice(line),
            (Side::B, None) => {}
        }
    }
    if out.len() > before { CHARGING } else { Set::default() }
}

/// Appends what a response says of a relay; what the response itself must not say then.
pub(super) fn answer(relay: &Relay, out: &mut Vec<u8>) -> Set {
    out.extend_from_slice(&relay.texts.charging);
    if relay.texts.charging.is_empty() { Set::default() } else { CHARGING }
}
