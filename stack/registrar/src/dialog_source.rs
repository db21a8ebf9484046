//! Where the requests of a dialog may come from. Call-ID and tags prove that a sender has read
//! them, no more (RFC 3261 §26.1.4 tells how a session is torn down with them), so that a request
//! is held against the source of its leg before anything of the leg changes.
//!
//! ```text
//! source  the leg's flow, or where its far end sent from when the dialog began
//!         access: where its subscriber is registered now (RFC 5626 §4: who loses his flow
//!                 registers anew)
//!         core:   where its Contact and routes point; another target of its next hop
//! ```
//! A response is not: the branch in its top Via, which only those know who saw the request, proves
//! more than an address that anybody may write into a datagram (RFC 3261 §17.1.3).

use crate::aor::Aor;
use crate::registrar::Registrar;
use machine::slots::Key;
use runtime::{Flow, Transport};
use sip::NameAddr;
use sip_stack::border::Border;
use sip_stack::leg::Leg;
use sip_stack::realm::{InDialogSource, Side};
use std::net::{IpAddr, SocketAddr};

/// How closely a request is held against the places that its far end is known at.
#[derive(Debug, Clone, Copy)]
struct Measure {
    from: SocketAddr,
    /// A connection comes from any port, and so does what follows a NAT.
    is_port_free: bool,
}

impl Measure {
    fn fits(self, known: SocketAddr) -> bool {
        known == self.from || self.is_port_free && is_same_host(known.ip(), self.from.ip())
    }
}

/// Of IPv6 the /64: a host changes the rest as it likes (RFC 8981).
fn is_same_host(one: IpAddr, two: IpAddr) -> bool {
    match (one, two) {
        (IpAddr::V6(one), IpAddr::V6(two)) => one.segments()[..4] == two.segments()[..4],
        _ => one == two,
    }
}

/// Whether a request of a leg's dialog may come from there.
#[must_use]
pub fn may_come_from(border: &Border, flow: &Flow, leg: &Leg, registrar: &Registrar) -> bool {
    if leg.flow.remote == flow.remote && leg.flow.transport == flow.transport {
        return true;
    }
    let row = border.realms.row(leg.realm);
    if row.in_dialog_source == InDialogSource::Realm {
        return true;
    }
    // Who reads along in the clear must not take a dialog over TLS to where he is.
    if leg.flow.transport == Transport::Tls && flow.transport != Transport::Tls {
        return false;
    }
    let is_port_free =
        row.in_dialog_source == InDialogSource::Address || flow.transport.is_stream();
    let measure = Measure { from: flow.remote, is_port_free };
    measure.fits(leg.flow.remote)
        || measure.fits(leg.seen())
        || is_of_next_hop(border, measure, leg)
        || match row.side {
            Side::Access => is_registered_at(measure, leg, registrar),
            Side::Core => leg.addresses().any(|known| measure.fits(known)),
        }
}

/// Whether a next hop has both the leg's far end and the request's sender among its targets.
fn is_of_next_hop(border: &Border, measure: Measure, leg: &Leg) -> bool {
    let far = Measure { from: leg.flow.remote, is_port_free: true };
    let seen = Measure { from: leg.seen(), is_port_free: true };
    border.hops.rows().iter().filter(|hop| hop.realm == leg.realm).any(|hop| {
        let targets = || hop.endpoints.iter().map(|endpoint| endpoint.flow.remote);
        targets().any(|it| far.fits(it) || seen.fits(it)) && targets().any(|it| measure.fits(it))
    })
}

/// Whether the subscriber of a leg is registered where the request comes from, by whichever
/// contact.
fn is_registered_at(measure: Measure, leg: &Leg, registrar: &Registrar) -> bool {
    let is_there = |key: Key| {
        let binding = registrar.binding(key);
        binding.is_some_and(|own| own.realm == leg.realm && measure.fits(own.flow.remote))
    };
    let known = registrar.binding(leg.binding);
    let party = NameAddr::parse(leg.parties().1).ok().and_then(|it| Aor::parse(it.uri));
    is_there(leg.binding)
        || known.is_some_and(|own| registrar.bindings_of(own.aor()).any(|(key, _)| is_there(key)))
        || party.is_some_and(|aor| registrar.reached_by(&aor).any(|(key, _)| is_there(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_takes_other_ports_only_where_it_may() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        for (known, from, port_free, fits) in [
            ("192.0.2.1:5060", "192.0.2.1:5060", false, true),
            ("192.0.2.1:5060", "192.0.2.1:5061", false, false),
            ("192.0.2.1:5060", "192.0.2.1:5061", true, true),
            ("192.0.2.1:5060", "192.0.2.2:5060", true, false),
            ("[2001:db8::1]:5060", "[2001:db8::2]:9", true, true),
            ("[2001:db8::1]:5060", "[2001:db8:0:1::1]:5060", true, false),
            ("[2001:db8::1]:5060", "192.0.2.1:5060", true, false),
        ] {
            let measure = Measure { from: at(from), is_port_free: port_free };
            assert_eq!(measure.fits(at(known)), fits, "{known} {from} {port_free}");
        }
    }
}
