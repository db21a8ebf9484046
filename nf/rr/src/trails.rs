//! Sessions as trails of the service assurance: what manages a session, and what became of it.
//!
//! KEEPALIVEs, which say nothing, are left out, and UPDATEs, of which there are millions, but for
//! so many a second as the configuration allows: none, unless it says otherwise. HEP has no number
//! for BGP, so that messages are told as events. A connection has its own trail, from its OPEN to
//! its end.

use crate::config::{CAPTURE_PORT, Rr};
use bgp::Cause;
use bgp::codec::{EXTENDED_MESSAGE_BYTES_MAX, Framing, HEADER_BYTES};
use bgp_stack::{Ended, Established, Sent, Speaker};
use machine::Time;
use machine::bucket::{Bucket, Rate};
use machine::identity::mix;
use rib::PeerId;
use runtime::{ConnId, Flow};
use trail::{Capture, Event, Field};

/// Octets of a message that are told, as hexadecimal digits: a whole one, where it is not extended
/// (RFC 4271 §4.1, RFC 8654).
const TOLD_OCTETS_MAX: usize = 4_096;
/// The type of an UPDATE.
const UPDATE: u8 = 2;
/// Where the type of a message stands (RFC 4271 §4.1).
const TYPE_AT: usize = HEADER_BYTES - 1;

/// What leaves for the service assurance.
pub(crate) struct SessionTrail {
    pub(crate) capture: Capture,
    secret: u64,
    /// UPDATEs of all sessions and both directions that are told.
    updates_rate: Rate,
    told: Bucket,
}

impl SessionTrail {
    pub(crate) fn new(secret: u64, config: &Rr) -> Self {
        let capture = Capture::new(hep::KIND_LOG, CAPTURE_PORT, config.capture_settings());
        let (updates_rate, told) = (rate(config), Bucket::default());
        Self { capture, secret, updates_rate, told }
    }

    /// Takes the configuration as it is now.
    pub(crate) fn configure(&mut self, config: &Rr) {
        self.capture.configure(config.capture_settings());
        self.updates_rate = rate(config);
    }

    /// Whether UPDATEs are told at all.
    fn tells_updates(&self) -> bool {
        self.updates_rate.per_s() > 0.0
    }

    /// Whether messages of that type are told now.
    fn tells(&mut self, now: Time, kind: u8) -> bool {
        if kind != UPDATE {
            return true;
        }
        let has_room = self.told.has_room(now, self.updates_rate);
        if has_room {
            self.told.take(now, self.updates_rate);
        }
        has_room
    }

    /// The number of a connection's trail.
    const fn of(&self, connection: ConnId) -> u64 {
        mix(self.secret ^ connection.0 as u64)
    }
}

/// How many UPDATEs are told.
fn rate(config: &Rr) -> Rate {
    Rate::new(config.capture_updates_per_s.into(), Some(config.capture_updates_per_s))
}

/// The messages that are told, by their type (RFC 4271 §4.1, RFC 2918 §3).
const fn word(kind: u8) -> Option<&'static str> {
    match kind {
        1 => Some("OPEN"),
        UPDATE => Some("UPDATE"),
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
    /// Tells of the messages in a run of octets of a peer's session.
    fn messages(&mut self, now: Time, peer: &str, flow: &Flow, mut run: &[u8], event: Event) {
        let trail = self.of(flow.conn);
        while let Framing::Message(_, message) = bgp::codec::frame(run, EXTENDED_MESSAGE_BYTES_MAX)
        {
            run = run.get(message.len()..).unwrap_or_default();
            let Some(&kind) = message.get(TYPE_AT) else { continue };
            let Some(word) = word(kind).filter(|_| self.tells(now, kind)) else { continue };
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

impl SessionTrail {
    /// Tells of the messages in octets that came.
    pub(crate) fn received(&mut self, now: Time, speaker: &Speaker, flow: &Flow, run: &[u8]) {
        if !self.capture.is_on() {
            return;
        }
        let Some(id) = speaker.peers().of_connection(flow.conn) else { return };
        self.messages(now, speaker.name_of(id), flow, run, Event::SessionMessageReceived);
    }

    /// Tells of a message that was sent.
    pub(crate) fn sent(&mut self, now: Time, sent: &Sent) {
        if self.capture.is_on() {
            let Sent { name, flow, message } = sent;
            self.messages(now, name, flow, message, Event::SessionMessageSent);
        }
    }

    /// Tells of UPDATEs that a peer is about to be sent.
    pub(crate) fn updates(&mut self, now: Time, speaker: &Speaker, id: PeerId, run: &[u8]) {
        if !self.capture.is_on() || !self.tells_updates() {
            return;
        }
        let Some(peer) = speaker.peers().get(id) else { return };
        let Some((_, flow)) = peer.flow() else { return };
        self.messages(now, &peer.settings.name, &flow, run, Event::SessionMessageSent);
    }

    /// Tells that the session of a peer stands.
    pub(crate) fn up(&mut self, now: Time, speaker: &Speaker, id: PeerId, session: &Established) {
        let Some(flow) = session.flow.filter(|_| self.capture.is_on()) else { return };
        self.session(now, speaker.name_of(id), &flow, Event::SessionEstablished, "");
    }

    /// Tells that the session of a peer ended, and why.
    pub(crate) fn down(&mut self, now: Time, session: &Ended) {
        let Some(flow) = session.flow.filter(|_| self.capture.is_on()) else { return };
        let text = words(&session.cause);
        self.session(now, &session.name, &flow, Event::SessionEnded, &text);
    }
}
