//! Sessions as trails of the service assurance: what manages a session, and what became of it.
//!
//! UPDATEs are left out, of which there are millions, and KEEPALIVEs, which say nothing: a trail
//! has a handful of events however long its session stands. HEP has no number for BGP, so that
//! messages are told as events. A connection has its own trail, from its OPEN to its end.

use crate::Reflector;
use crate::config::{CAPTURE_PORT, Rr};
use bgp::Cause;
use bgp::codec::{EXTENDED_MESSAGE_BYTES_MAX, Framing, HEADER_BYTES};
use bgp_stack::{Ended, Established, Sent};
use machine::Time;
use machine::identity::mix;
use rib::PeerId;
use runtime::{ConnId, Flow};
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

/// Why a session ended, in brief.
fn words(cause: &Cause) -> String {
    match cause {
        Cause::Sent(notice) => format!("sent {notice}"),
        Cause::Received(notice, _) => format!("received {notice}"),
        Cause::Lost => "the connection was lost".to_owned(),
        Cause::Replaced => "the peer opened another connection".to_owned(),
    }
}

impl SessionTrail {
    /// Tells of the messages in a run of octets that manage the session of a peer.
    fn messages(&mut self, now: Time, peer: &str, flow: &Flow, mut run: &[u8], event: Event) {
        let trail = self.of(flow.conn);
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
            self.capture.event(now, flow, trail, event, &fields);
        }
    }

    /// Tells that the session of a peer stands, or ended and why.
    fn session(&mut self, now: Time, peer: &str, flow: &Flow, event: Event, text: &str) {
        let trail = self.of(flow.conn);
        let (peer, text) = (Field::Text(peer.as_bytes()), Field::Text(text.as_bytes()));
        self.capture.event(now, flow, trail, event, &[("peer", peer), ("text", text)]);
    }
}

impl Reflector {
    /// Tells of the messages in octets that came.
    pub(crate) fn trail_received(&mut self, now: Time, flow: &Flow, run: &[u8]) {
        if !self.trail.capture.is_on() {
            return;
        }
        let Some(id) = self.speaker.peers().of_connection(flow.conn) else { return };
        let peer = self.speaker.name_of(id);
        self.trail.messages(now, peer, flow, run, Event::SessionMessageReceived);
    }

    /// Tells of a message that was sent.
    pub(crate) fn trail_sent(&mut self, now: Time, sent: &Sent) {
        if self.trail.capture.is_on() {
            let Sent { name, flow, message } = sent;
            self.trail.messages(now, name, flow, message, Event::SessionMessageSent);
        }
    }

    /// Tells that the session of a peer stands.
    pub(crate) fn trail_up(&mut self, now: Time, id: PeerId, session: &Established) {
        let Some(flow) = session.flow.filter(|_| self.trail.capture.is_on()) else { return };
        let peer = self.speaker.name_of(id);
        self.trail.session(now, peer, &flow, Event::SessionEstablished, "");
    }

    /// Tells that the session of a peer ended, and why.
    pub(crate) fn trail_down(&mut self, now: Time, session: &Ended) {
        let Some(flow) = session.flow.filter(|_| self.trail.capture.is_on()) else { return };
        let text = words(&session.cause);
        self.trail.session(now, &session.name, &flow, Event::SessionEnded, &text);
    }
}
