//! Who a phone is, as the core is told (RFC 3325 §5, TS 24.229 §5.2.6.3, §5.2.6.4).
//!
//! ```text
//! P-Preferred-Identity, registered with the phone ─→ P-Asserted-Identity: that one
//! another one, or none                            ─→ P-Asserted-Identity: the default one
//! P-Called-Party-ID of the core ─→ the phone's answer: P-Asserted-Identity, that one
//! ```
//! What a phone says of both itself goes nowhere, whatever its realm lets pass: it is a wish to
//! this network's edge, and of a phone without an agreement not even that.

use crate::access::Access;
use crate::metrics::Metric;
use machine::slots::Key;
use registrar::{Binding, Registrar};
use runtime::{Flow, PortId};
use sip::write::line;
use sip::{Header, HeaderSet, Message, Method, NameAddr};

/// What a phone does not say itself.
const SAID: HeaderSet = HeaderSet::of(&[Header::PAssertedIdentity, Header::PPreferredIdentity]);

/// What a message loses that came by that port.
#[must_use]
pub fn lost(access: &Access, from: PortId) -> HeaderSet {
    let is_of_phones = access.has_proven(from) || access.must_agree(from);
    if is_of_phones { SAID } else { HeaderSet::default() }
}

/// The binding of the phone that a request has come from by associations, whichever transport
/// carries it inside of them; `None`: it came otherwise. That of an emergency registration is for
/// requests that are of one, and REGISTERs.
#[must_use]
pub fn sender(
    access: &Access,
    registrar: &Registrar,
    flow: &Flow,
    message: &Message<'_>,
) -> Option<Option<Key>> {
    let flows = access.flows_of(flow)?;
    let preferred = message.values(Header::PPreferredIdentity);
    Some(registrar.preferring(&flows, preferred, is_of_emergencies(message)))
}

/// Whether a request may come by an emergency registration (TS 24.229 §5.2.10).
#[must_use]
pub fn is_of_emergencies(message: &Message<'_>) -> bool {
    message.method() == Method::Register || sip::is_emergency(message, false)
}

/// Appends who has sent a request outside of any dialog that came by `from` and goes to the core,
/// which believes what it is told.
pub fn assert(
    access: &Access,
    from: PortId,
    message: &Message<'_>,
    sender: Option<&Binding>,
    out: &mut Vec<u8>,
) {
    let Some(sender) = sender.filter(|_| access.has_proven(from)) else { return };
    if message.method() == Method::Register {
        return; // its To and its credentials say whose it is
    }
    let preferred = || message.values(Header::PPreferredIdentity);
    let mut identity = Vec::new();
    let is_asked = sender.write_identity(preferred(), &mut identity);
    if !is_asked && preferred().next().is_some() {
        access.metrics.add(Metric::NotRegistered, 1);
    }
    line(out, Header::PAssertedIdentity.name(), &identity);
}

/// Appends what the core is told of whom it has asked by a request that goes to a phone by the port
/// `to`, with the phone's answers.
pub fn called(access: &Access, message: &Message<'_>, to: PortId, out: &mut Vec<u8>) {
    let value = message.header(Header::PCalledPartyId).filter(|_| access.has_proven(to));
    if let Some(Ok(party)) = value.map(NameAddr::parse) {
        let named = [b"<", party.uri, b">"].concat();
        line(out, Header::PAssertedIdentity.name(), &named);
    }
}
