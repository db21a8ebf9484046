//! Sessions as trails of the service assurance: what manages a session, and what became of it.
//!
//! UPDATEs are left out, of which there are millions, and KEEPALIVEs, which say nothing: a trail
//! has a handful of events however long its session stands. HEP has no number for BGP, so that
//! messages are told as events. A connection has its own trail, from its OPEN to its end.

use crate::Reflector;
use crate::config::{CAPTURE_PORT, Rr};
use bgp::codec::{EXTENDED_MESSAGE_BYTES_MAX, Framing, HEADER_BYTES, PORT};
use machine::Time;
use machine::identity::mix;
use rib::PeerId;
use runtime::{ConnId, Flow, Transport};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use trail::{Capture, Event, Field};

/// Octets of a message that are told, as hexadecimal digits.
const TOLD_OCTETS_MAX: usize = 128;
/// Where the type of a message stands (RFC 4271 §4.1).
const TYPE_AT: usize = HEADER_BYTES - 1;

/// What leaves for the service assurance.
pub(crate) struct SessionTrail {
    pub(crate) capture: Capture,
    secret: u64,
}

impl SessionTrail {
    pub(crate) fn new(secret: u64, config: &Rr) -> Self {
        let capture = Capture::new(hep::KIND_LOG, CAPTURE_PORT, config.capture_settings());
        Self { capture, secret }
    }

    /// The number of a connection's trail.
    const fn of(&self, connection: ConnId) -> u64 {
        mix(self.secret ^ connection.0 as u64)
    }
}

/// The messages that manage a session, by their type (RFC 4271 §4.1, RFC 2918 §3).
const fn word(kind: u8) -> Option<&'static str> {
    match kind {
        1 => Some("OPEN"),
        3 => Some("NOTIFICATION"),
        5 => Some("ROUTE-REFRESH"),
        _ => None,
    }
}

/// Octets as hexadecimal digits.
fn digits(message: &[u8]) -> String {
    let told = &message[..message.len().min(TOLD_OCTETS_MAX)];
    told.iter().map(|octet| format!("{octet:02x}")).collect()
}

impl Reflector {
    /// Tells of the messages in a run of octets that manage the session.
    pub(crate) fn trail_messages(&mut self, now: Time, flow: &Flow, mut run: &[u8], is_ours: bool) {
        if !self.trail.capture.is_on() {
            return;
        }
        let Some(id) = self.peers.of_connection(flow.conn) else { return };
        let peer = self.peers.get(id).map(|peer| peer.speaker.name.clone()).unwrap_or_default();
        let trail = self.trail.of(flow.conn);
        let received = Event::SessionMessageReceived;
        let event = if is_ours { Event::SessionMessageSent } else { received };
        while let Framing::Message(_, message) = bgp::codec::frame(run, EXTENDED_MESSAGE_BYTES_MAX)
        {
            run = run.get(message.len()..).unwrap_or_default();
            let Some(word) = message.get(TYPE_AT).and_then(|&kind| word(kind)) else { continue };
            let text = digits(message);
            let fields = [
                ("peer", Field::Text(peer.as_bytes())),
                ("message", Field::Text(word.as_bytes())),
                ("octets", Field::Number(message.len() as u64)),
                ("text", Field::Text(text.as_bytes())),
            ];
            self.trail.capture.event(now, flow, trail, event, &fields);
        }
    }

    /// Tells that the session of a peer stands, or ended and why.
    pub(crate) fn trail_session(&mut self, now: Time, id: PeerId, event: Event, text: &str) {
        if !self.trail.capture.is_on() {
            return;
        }
        let Some(peer) = self.peers.get(id) else { return };
        let Some(up) = peer.up else { return };
        let trail = self.trail.of(ConnId(up.0));
        let flow = peer.links.get(&up).map_or_else(
            || {
                // Its connection has gone already.
                let here = peer.here.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
                let remote = SocketAddr::new(peer.speaker.address, PORT);
                Flow::to(CAPTURE_PORT, Transport::Tcp, SocketAddr::new(here, PORT), remote)
            },
            |link| link.flow,
        );
        let name = peer.speaker.name.as_bytes();
        let fields = [("peer", Field::Text(name)), ("text", Field::Text(text.as_bytes()))];
        self.trail.capture.event(now, &flow, trail, event, &fields);
    }
}
