//! Capture: every message and event goes to the collector as HEP3, in batches, never waited for.
//!
//! Under overload not everything is captured whole: of the rest there are the messages that tell
//! the trail what it is found by, its outcome and its length. Which those are the function says.
//!
//! While the collector's connection is down or the buffer is full, packets are counted as shed
//! and the first one raises an alarm row; the work goes on.

use crate::event::Event;
use crate::json::{self, Field};
use authentication::Password;
use machine::identity::hex;
use machine::narrow::at_most;
use machine::{Duration, Time};
use overload::ALL;
use runtime::{Effects, Flow, In, PortId, Transport};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// A batch is sent when it is this long: a write costs about as much as the copy of so many octets,
/// and together with one message more it fits what is taken for the next one.
const BATCH_BYTES: usize = 48 * 1024;
/// After the connection broke, the next attempt waits this long.
const RETRY: Duration = Duration::from_secs(1);
/// Why packets are shed while the collector is there.
const MORE_THAN_LEAVES: &str = "packets were shed";
/// Octets for what is said of a message when more is known; what is not used is space.
const TAGS_OCTETS: usize = 112;
/// The alarm stays up this long after the last packet was shed.
const SHED_SHOWN: Duration = Duration::from_secs(30);

/// One message as the collector sees it.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Who sent it.
    pub source: SocketAddr,
    /// Who got it.
    pub destination: SocketAddr,
    /// What carried it: an IP protocol number, or [`hep::TLS`]; see [`protocol_of`].
    pub protocol: u8,
    /// Its trail, if it is known.
    pub trail: Option<u64>,
    /// The message.
    pub bytes: &'a [u8],
}

/// The number by which HEP knows what carries a port's messages.
#[must_use]
pub const fn protocol_of(transport: Transport) -> u8 {
    match transport {
        Transport::Udp => hep::UDP,
        Transport::Tcp => hep::TCP,
        Transport::Tls => hep::TLS,
    }
}

/// What a function's section says of its capture.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// To the collector, see [`crate::flow_to`]; `None`: nothing is captured.
    pub flow: Option<Flow>,
    /// Number of this agent in the packets (HEP3 chunk 12).
    pub capture_id: u32,
    /// What the collector knows the agent by (chunk 14); empty: nothing.
    pub key: Password,
    /// How long a packet waits for others at most.
    pub wait: Duration,
    /// Octets that wait for the collector at most.
    pub octets_max: usize,
}

/// The way to the collector.
#[derive(Debug)]
pub struct Capture {
    /// What the function speaks, by HEP's number.
    kind: u8,
    /// The port that packets leave by.
    port: PortId,
    settings: Settings,
    /// Room for the text of an event.
    text: Vec<u8>,
    buffer: Vec<u8>,
    /// Ends of the packets in the buffer; kept only where each goes alone.
    ends: Vec<usize>,
    /// Packets in the buffer that get their tags later: where those stand, and the packet's number.
    untagged: VecDeque<(usize, usize)>,
    flush_at: Time,
    /// The connection is down until then.
    down_until: Time,
    /// Packets given to the flow.
    pub captured: u64,
    /// Packets that were not captured.
    pub shed: u64,
    /// How much of [`ALL`] is captured whole, by trail.
    pub whole: u16,
    /// Messages that were left out of those that are not.
    pub thinned: u64,
    /// When a packet was last shed; `Time::ZERO` is never.
    pub shed_at: Time,
    why: &'static str,
}

impl Capture {
    /// Of a function that speaks the protocol with this HEP number (chunk 11) and has this port
    /// for its collector.
    #[must_use]
    pub const fn new(kind: u8, port: PortId, settings: Settings) -> Self {
        Self {
            kind,
            port,
            settings,
            text: Vec::new(),
            buffer: Vec::new(),
            ends: Vec::new(),
            untagged: VecDeque::new(),
            flush_at: Time::MAX,
            down_until: Time::ZERO,
            captured: 0,
            shed: 0,
            whole: ALL,
            thinned: 0,
            shed_at: Time::ZERO,
            why: "",
        }
    }

    /// Takes another collector; what waits for the old one is sent to the new one.
    pub fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Whether there is a collector.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.settings.flow.is_some()
    }

    /// Whether `flow` leads to the collector.
    #[must_use]
    pub fn owns(&self, flow: &Flow) -> bool {
        flow.port == self.port
    }

    /// Takes what happens to the collector's connection; whether it was that.
    pub fn takes(&mut self, now: Time, input: &In<'_>) -> bool {
        match input {
            In::Up { flow } if self.owns(flow) => self.up(),
            &In::Down { ref flow, why } if self.owns(flow) => self.down(now, why),
            // A collector has nothing to say.
            In::Message { flow, .. } | In::Written { flow, .. } => return self.owns(flow),
            _ => return false,
        }
        true
    }

    /// Captures a message, unless its trail is captured in brief and it `tells` nothing of that.
    #[inline]
    pub fn message(&mut self, now: Time, seen: &Seen<'_>, tells: fn(&[u8]) -> bool) {
        self.message_of(now, self.kind, seen, tells);
    }

    /// The same of a message of which more is said (chunk 0x0025).
    pub fn message_tagged(
        &mut self,
        now: Time,
        seen: &Seen<'_>,
        tags: &[u8],
        tells: fn(&[u8]) -> bool,
    ) {
        self.take(now, self.kind, (seen, tags), tells);
    }

    /// The same of a message of which more is known in this step: by that number
    /// [`Capture::tag`] is told.
    pub fn message_untagged(
        &mut self,
        now: Time,
        seen: &Seen<'_>,
        number: usize,
        tells: fn(&[u8]) -> bool,
    ) {
        let start = self.buffer.len();
        if self.take(now, self.kind, (seen, &[b' '; TAGS_OCTETS]), tells)
            && let Some(at) = hep::tags_of(&self.buffer[start..])
        {
            self.untagged.push_back((start + at.start, number));
        }
    }

    /// What is said of the message of that number, which `write` writes, if it waits for that; what
    /// is longer than [`TAGS_OCTETS`] is cut. Numbers rise: those before it are left as they are.
    pub fn tag(&mut self, number: usize, write: impl FnOnce(&mut Vec<u8>)) {
        while let Some((at, next)) = self.untagged.front().copied().filter(|it| it.1 <= number) {
            self.untagged.pop_front();
            if next == number {
                let mut text = core::mem::take(&mut self.text);
                text.clear();
                write(&mut text);
                text.truncate(TAGS_OCTETS);
                self.buffer[at..at + text.len()].copy_from_slice(&text);
                self.text = text;
                return;
            }
        }
    }

    /// The same of a message of another protocol that the function speaks, by HEP's number.
    pub fn message_of(&mut self, now: Time, kind: u8, seen: &Seen<'_>, tells: fn(&[u8]) -> bool) {
        self.take(now, kind, (seen, b""), tells);
    }

    /// Captures a message and what is said of it; whether it was captured.
    #[inline]
    fn take(
        &mut self,
        now: Time,
        kind: u8,
        said: (&Seen<'_>, &[u8]),
        tells: fn(&[u8]) -> bool,
    ) -> bool {
        let (seen, tags) = said;
        if self.settings.flow.is_none() {
            return false;
        }
        let is_whole = self.whole == ALL
            || seen.trail.is_some_and(|t| t % u64::from(ALL) < u64::from(self.whole));
        if !is_whole && !tells(seen.bytes) {
            self.thinned += 1;
            return false;
        }
        let trail = seen.trail.map(hex);
        let correlation = trail.as_ref().map_or(&[][..], |trail| trail.as_slice());
        self.packet(now, (seen, tags), kind, correlation)
    }

    /// Tells what happened on a flow: a JSON object with `event` and the given fields.
    pub fn event(
        &mut self,
        now: Time,
        flow: &Flow,
        trail: u64,
        event: Event,
        fields: &[(&str, Field<'_>)],
    ) {
        self.event_of(now, flow, &hex(trail), event, fields);
    }

    /// The same of a call that has no trail of its own here: `correlation` is its Call-ID, or what
    /// another function says that belongs together.
    pub fn event_of(
        &mut self,
        now: Time,
        flow: &Flow,
        correlation: &[u8],
        event: Event,
        fields: &[(&str, Field<'_>)],
    ) {
        if self.settings.flow.is_none() {
            return;
        }
        let mut text = core::mem::take(&mut self.text);
        text.clear();
        json::write(&mut text, event, fields);
        let seen = Seen {
            source: flow.remote,
            destination: flow.local,
            protocol: protocol_of(flow.transport),
            trail: None,
            bytes: &text,
        };
        self.packet(now, (&seen, b""), hep::KIND_LOG, correlation);
        self.text = text;
    }

    fn packet(
        &mut self,
        now: Time,
        said: (&Seen<'_>, &[u8]),
        kind: u8,
        correlation: &[u8],
    ) -> bool {
        let (seen, tags) = said;
        let is_down = now < self.down_until;
        if is_down || self.buffer.len() + seen.bytes.len() > self.settings.octets_max {
            self.why = if is_down { self.why } else { MORE_THAN_LEAVES };
            self.shed += 1;
            self.shed_at = now;
            return false;
        }
        if self.buffer.is_empty() {
            self.flush_at = now + self.settings.wait;
        }
        let micros = now.as_micros();
        hep::Packet {
            protocol: seen.protocol,
            source: seen.source,
            destination: seen.destination,
            seconds: at_most(micros / 1_000_000, u32::MAX),
            micros: (micros % 1_000_000) as u32,
            kind,
            capture_id: self.settings.capture_id,
            correlation,
            auth_key: self.settings.key.as_bytes(),
            tags,
            payload: seen.bytes,
        }
        .write(&mut self.buffer);
        self.captured += 1;
        if !self.is_stream() {
            self.ends.push(self.buffer.len());
        }
        true
    }

    fn is_stream(&self) -> bool {
        self.settings.flow.is_some_and(|flow| flow.transport.is_stream())
    }

    /// Sends what waits, when there is enough of it or it waited long enough.
    #[inline]
    pub fn flush(&mut self, now: Time, out: &mut Effects) {
        let enough = BATCH_BYTES.min(self.settings.octets_max / 2);
        if self.buffer.len() >= enough || now >= self.flush_at {
            self.flush_all(out);
        }
    }

    /// Sends what waits.
    pub fn flush_all(&mut self, out: &mut Effects) {
        self.flush_at = Time::MAX;
        self.untagged.clear();
        let Some(flow) = self.settings.flow else { return self.buffer.clear() };
        if flow.transport.is_stream() {
            // Handed over without a copy; the next batch has about the same size.
            let next = Vec::with_capacity(self.buffer.len().next_power_of_two());
            out.send_shared(flow, core::mem::replace(&mut self.buffer, next).into());
        } else {
            let mut start = 0;
            for &end in &self.ends {
                let packet = &self.buffer[start..end];
                out.send(flow, |bytes| bytes.extend_from_slice(packet));
                start = end;
            }
        }
        self.ends.clear();
        self.buffer.clear();
    }

    /// When [`Capture::flush`] wants to be called next.
    #[must_use]
    pub const fn deadline(&self) -> Option<Time> {
        if self.buffer.is_empty() { None } else { Some(self.flush_at) }
    }

    /// The connection to the collector broke.
    pub fn down(&mut self, now: Time, why: &'static str) {
        self.down_until = now + RETRY;
        self.shed_at = now;
        self.why = why;
    }

    /// The connection to the collector stands.
    pub const fn up(&mut self) {
        self.down_until = Time::ZERO;
    }

    /// Why packets are being shed; `None` when all is well.
    #[must_use]
    pub fn trouble(&self, now: Time) -> Option<&'static str> {
        if now < self.down_until {
            return Some(self.why);
        }
        let recent = self.shed_at != Time::ZERO && now < self.shed_at + SHED_SHOWN;
        recent.then_some(self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortId = PortId(9);
    const NOW: Time = Time::from_millis(1_000);

    fn settings(collector: &str, key: &str) -> Settings {
        let flow = crate::flow_to(PORT, collector.parse().unwrap());
        let wait = Duration::from_millis(5);
        let key = Password::new(key);
        Settings { flow: Some(flow), capture_id: 7, key, wait, octets_max: 1_000 }
    }

    fn seen(bytes: &[u8]) -> Seen<'_> {
        Seen {
            source: SocketAddr::from(([192, 0, 2, 1], 5060)),
            destination: SocketAddr::from(([192, 0, 2, 2], 5060)),
            protocol: hep::SCTP,
            trail: Some(7),
            bytes,
        }
    }

    fn sent(capture: &mut Capture) -> Vec<Vec<u8>> {
        let mut out = Effects::default();
        capture.flush_all(&mut out);
        out.sends().map(|(_, bytes)| bytes.to_vec()).collect()
    }

    #[test]
    fn every_packet_carries_the_key_of_the_collector_and_the_number_of_its_protocol() {
        let collector = "udp:127.0.0.1:9060";
        let mut capture = Capture::new(hep::KIND_M3UA, PORT, Settings::default());
        for key in ["", "the key of this pair"] {
            capture.configure(settings(collector, key));
            capture.message(NOW, &seen(b"message"), |_| false);
            capture.event(NOW, &Flow::NOWHERE, 7, Event::TargetUp, &[]);
            let packets = sent(&mut capture);
            let kinds = packets.iter().map(|bytes| {
                let packet = hep::Packet::parse(bytes).expect("a packet");
                assert_eq!(packet.auth_key, key.as_bytes());
                packet.kind
            });
            assert_eq!(kinds.collect::<Vec<_>>(), [hep::KIND_M3UA, hep::KIND_LOG]);
        }
    }

    #[test]
    fn an_event_of_a_call_without_a_trail_carries_its_call_id() {
        let mut capture = Capture::new(hep::KIND_SIP, PORT, settings("udp:127.0.0.1:9060", ""));
        let fields = [("leg", Field::Text(b"a")), ("line", Field::Number(0))];
        capture.event_of(NOW, &Flow::NOWHERE, b"a84b4c76@h", Event::OneWayDetected, &fields);
        capture.event(NOW, &Flow::NOWHERE, 7, Event::StreamEnded, &fields);
        let packets = sent(&mut capture);
        let both = packets.iter().map(|bytes| hep::Packet::parse(bytes).expect("a packet"));
        let both: Vec<_> = both.map(|packet| (packet.correlation, packet.payload)).collect();
        assert_eq!(both[0].0, b"a84b4c76@h");
        assert_eq!(both[0].1, br#"{"event":"OneWayDetected","leg":"a","line":0}"#);
        assert_eq!(both[1].0, b"0000000000000007");
    }

    #[test]
    fn without_a_collector_nothing_is_kept_and_a_full_buffer_sheds() {
        let mut capture = Capture::new(hep::KIND_M3UA, PORT, Settings::default());
        capture.message(NOW, &seen(b"message"), |_| true);
        capture.event(NOW, &Flow::NOWHERE, 7, Event::TargetUp, &[]);
        assert_eq!((capture.captured, capture.deadline()), (0, None));
        capture.configure(settings("tcp:127.0.0.1:9060", ""));
        for _ in 0..20 {
            capture.message(NOW, &seen(&[0; 100]), |_| true);
        }
        assert!(capture.captured < 10 && capture.captured + capture.shed == 20);
        assert_eq!(capture.trouble(NOW), Some("packets were shed"));
        assert_eq!(sent(&mut capture).len(), 1, "a stream gets one piece");
    }

    #[test]
    fn a_collector_that_is_away_costs_packets_and_nothing_else() {
        let mut capture = Capture::new(hep::KIND_SIP, PORT, settings("tcp:127.0.0.1:9060", ""));
        let flow = crate::flow_to(PORT, "tcp:127.0.0.1:9060".parse().unwrap());
        assert!(capture.takes(NOW, &In::Down { flow, why: "refused" }));
        capture.message(NOW, &seen(b"message"), |_| true);
        assert_eq!((capture.captured, capture.shed), (0, 1));
        assert_eq!(capture.trouble(NOW), Some("refused"));
        assert_eq!(capture.trouble(NOW + RETRY), Some("refused"), "the reason stays");
        assert!(capture.takes(NOW, &In::Up { flow }));
        capture.message(NOW, &seen(b"message"), |_| true);
        assert_eq!((capture.captured, capture.shed), (1, 1));
        assert!(capture.takes(NOW, &In::Message { flow, bytes: b"?" }));
        assert!(!capture.takes(NOW, &In::Up { flow: Flow::NOWHERE }));
        assert!(!capture.takes(NOW, &In::Drain));
    }

    #[test]
    fn what_is_said_of_a_message_at_once_or_later_in_its_step_stands_in_its_packet_alone() {
        for collector in ["udp:127.0.0.1:9060", "tcp:127.0.0.1:9060"] {
            let mut capture = Capture::new(hep::KIND_SIP, PORT, settings(collector, "key"));
            capture.settings.octets_max = 10_000;
            capture.message(NOW, &seen(b"one"), |_| true);
            capture.message_tagged(NOW, &seen(b"two"), b"at once", |_| true);
            capture.message_untagged(NOW, &seen(b"three"), 3, |_| true);
            capture.message(NOW, &seen(b"four"), |_| true);
            capture.message_untagged(NOW, &seen(b"five"), 5, |_| true);
            capture.message_untagged(NOW, &seen(b"six"), 6, |_| true);
            capture.tag(3, |text| text.extend_from_slice(b"third"));
            capture.tag(6, |text| text.extend_from_slice(&[b'6'; 300]));
            capture.tag(7, |_| panic!("no such number waits"));
            let sent = sent(&mut capture);
            assert_eq!(sent.len(), if collector.starts_with('u') { 6 } else { 1 });
            let mut rest = &sent.concat()[..];
            let mut found = Vec::new();
            while let hep::Framing::Packet(octets) = hep::frame(rest) {
                let packet = hep::Packet::parse(&rest[..octets]).expect("a packet");
                let text = |bytes: &[u8]| String::from_utf8(bytes.trim_ascii().to_vec()).unwrap();
                found.push(format!("{},{}", text(packet.payload), text(packet.tags)));
                rest = &rest[octets..];
            }
            let sixth = format!("six,{}", "6".repeat(TAGS_OCTETS));
            assert_eq!(found, ["one,", "two,at once", "three,third", "four,", "five,", &sixth]);
        }
        let mut off = Capture::new(hep::KIND_SIP, PORT, Settings::default());
        off.message_untagged(NOW, &seen(b"one"), 1, |_| true);
        off.tag(1, |_| panic!("nothing is captured"));
    }

    #[test]
    fn what_is_captured_in_brief_has_only_the_messages_that_tell() {
        let mut capture = Capture::new(hep::KIND_SIP, PORT, settings("udp:127.0.0.1:9060", ""));
        capture.whole = 0;
        for bytes in [&b"tells"[..], b"more", b"tells"] {
            capture.message(NOW, &seen(bytes), |bytes| bytes == b"tells");
        }
        assert_eq!((capture.captured, capture.thinned), (2, 1));
    }
}
