//! Where the responses to a request go (RFC 3261 §18.2.2, RFC 3581 §4).

use runtime::{Flow, Transport};
use sip::{Message, Via};
use std::net::SocketAddr;

/// Of a request that came on `flow`: its connection, the port it was sent from if it asks for
/// that, else the port in its Via.
#[must_use]
pub fn upstream(flow: &Flow, message: &Message<'_>) -> Flow {
    answered_at(flow, &message.via())
}

/// The same, of the request with this Via on top.
#[must_use]
pub fn answered_at(flow: &Flow, via: &Via<'_>) -> Flow {
    if flow.transport != Transport::Udp || via.rport.is_some() {
        return *flow;
    }
    let port = via.port.unwrap_or(5060);
    Flow { remote: SocketAddr::new(flow.remote.ip(), port), ..*flow }
}
