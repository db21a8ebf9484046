//! Capture: every message and event goes to the collector as HEP3, in batches, never waited for.
//!
//! Under overload not every call is captured whole: of the others there are the requests that came
//! in, but for ACK and PRACK, and the final answers that left. That is what they are found by,
//! their outcome and their length.
//!
//! While the collector's connection is down or the buffer is full, packets are counted as shed
//! and the first one raises an alarm row; the calls go on.

use crate::config;
use crate::realm::CAPTURE_PORT;
use crate::token::hex;
use authentication::Password;
use machine::narrow::told;
use machine::{Duration, Time};
use overload::ALL;
use runtime::{Effects, Flow, Transport};
use std::net::SocketAddr;

/// A batch is sent when it is this long.
const BATCH_BYTES: usize = 24 * 1024;
/// After the connection broke, the next attempt waits this long.
const RETRY: Duration = Duration::from_secs(1);
/// The alarm stays up this long after the last packet was shed.
const SHED_SHOWN: Duration = Duration::from_secs(30);

/// One message as the collector sees it.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Who sent it.
    pub source: SocketAddr,
    /// Who got it.
    pub destination: SocketAddr,
    /// What carried it.
    pub transport: Transport,
    /// Its trail, if it is known.
    pub trail: Option<u64>,
    /// The message.
    pub bytes: &'a [u8],
}

/// The way to the collector.
#[derive(Debug)]
pub struct Capture {
    flow: Option<Flow>,
    capture_id: u32,
    key: Password,
    wait: Duration,
    octets_max: usize,
    buffer: Vec<u8>,
    /// Ends of the packets in the buffer; kept only where each goes alone.
    ends: Vec<usize>,
    flush_at: Time,
    /// The connection is down until then.
    down_until: Time,
    /// Packets given to the flow.
    pub captured: u64,
    /// Packets that were not captured.
    pub shed: u64,
    /// Of [`ALL`] calls, how many are captured whole.
    pub whole: u16,
    /// Messages that were left out of those that are not.
    pub thinned: u64,
    /// When a packet was last shed; `Time::ZERO` is never.
    pub shed_at: Time,
    why: &'static str,
}

impl Capture {
    /// As the configuration says.
    pub fn new(config: &config::Ssc) -> Self {
        let mut capture = Self {
            flow: None,
            capture_id: 0,
            key: Password::default(),
            wait: Duration::ZERO,
            octets_max: 0,
            buffer: Vec::new(),
            ends: Vec::new(),
            flush_at: Time::MAX,
            down_until: Time::ZERO,
            captured: 0,
            shed: 0,
            whole: ALL,
            thinned: 0,
            shed_at: Time::ZERO,
            why: "",
        };
        capture.configure(config);
        capture
    }

    /// Takes another collector; what waits for the old one is sent to the new one.
    pub fn configure(&mut self, config: &config::Ssc) {
        self.flow = config.capture_flow();
        self.capture_id = config.capture_id;
        self.key = config.capture_key.clone();
        self.wait = Duration::from_millis(config.timers.capture_ms.into());
        self.octets_max = config.limits.capture_octets_max as usize;
    }

    /// Whether there is a collector.
    pub const fn is_on(&self) -> bool {
        self.flow.is_some()
    }

    /// Whether `flow` leads to the collector.
    pub fn owns(&self, flow: &Flow) -> bool {
        flow.port == CAPTURE_PORT
    }

    /// Captures a SIP message, unless its call is captured in brief and it `tells` nothing of it.
    #[inline]
    pub fn message(&mut self, now: Time, seen: &Seen<'_>, tells: fn(&[u8]) -> bool) {
        if self.flow.is_none() {
            return;
        }
        let is_whole = self.whole == ALL
            || seen.trail.is_some_and(|t| t % u64::from(ALL) < u64::from(self.whole));
        if !is_whole && !tells(seen.bytes) {
            self.thinned += 1;
        } else {
            self.packet(now, seen, hep::KIND_SIP);
        }
    }

    /// Captures an event: `bytes` is its JSON.
    pub fn event(&mut self, now: Time, seen: &Seen<'_>) {
        if self.flow.is_some() {
            self.packet(now, seen, hep::KIND_LOG);
        }
    }

    fn packet(&mut self, now: Time, seen: &Seen<'_>, kind: u8) {
        if now < self.down_until || self.buffer.len() + seen.bytes.len() > self.octets_max {
            self.shed += 1;
            self.shed_at = now;
            return;
        }
        if self.buffer.is_empty() {
            self.flush_at = now + self.wait;
        }
        let trail = seen.trail.map(hex);
        let micros = now.as_micros();
        hep::Packet {
            protocol: match seen.transport {
                Transport::Udp => hep::UDP,
                Transport::Tcp => hep::TCP,
                Transport::Tls => hep::TLS,
            },
            source: seen.source,
            destination: seen.destination,
            seconds: told(micros / 1_000_000, u32::MAX),
            micros: (micros % 1_000_000) as u32,
            kind,
            capture_id: self.capture_id,
            correlation: trail.as_ref().map_or(&[], |trail| trail.as_slice()),
            auth_key: self.key.as_bytes(),
            payload: seen.bytes,
        }
        .write(&mut self.buffer);
        self.captured += 1;
        if !self.is_stream() {
            self.ends.push(self.buffer.len());
        }
    }

    fn is_stream(&self) -> bool {
        self.flow.is_some_and(|flow| flow.transport.is_stream())
    }

    /// Sends what waits, when there is enough of it or it waited long enough.
    #[inline]
    pub fn flush(&mut self, now: Time, out: &mut Effects) {
        if self.buffer.len() >= BATCH_BYTES || now >= self.flush_at {
            self.flush_all(out);
        }
    }

    /// Sends what waits.
    pub fn flush_all(&mut self, out: &mut Effects) {
        self.flush_at = Time::MAX;
        let Some(flow) = self.flow else { return self.buffer.clear() };
        if flow.transport.is_stream() {
            out.send(flow, |bytes| bytes.extend_from_slice(&self.buffer));
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
    pub fn trouble(&self, now: Time) -> Option<&'static str> {
        if now < self.down_until {
            return Some(self.why);
        }
        let recent = self.shed_at != Time::ZERO && now < self.shed_at + SHED_SHOWN;
        recent.then_some("packets were shed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = r#"
name = "ssc1"
capture = "udp:127.0.0.1:9060"
[[realm]]
name = "access"
listen = ["udp:127.0.0.1:5060"]
"#;

    #[test]
    fn every_packet_carries_the_key_of_the_collector() {
        let mut config: config::Ssc = toml::from_str(SITE).expect("it is well-formed");
        let seen = Seen {
            source: SocketAddr::from(([192, 0, 2, 1], 5060)),
            destination: SocketAddr::from(([192, 0, 2, 2], 5060)),
            transport: Transport::Udp,
            trail: Some(7),
            bytes: b"{}",
        };
        let now = Time::from_millis(1_000);
        let mut capture = Capture::new(&config);
        for key in ["", "the key of this pair"] {
            config.capture_key = Password::new(key);
            capture.configure(&config);
            let mut out = Effects::default();
            capture.event(now, &seen);
            capture.flush_all(&mut out);
            let sent: Vec<_> = out.sends().collect();
            let packet = hep::Packet::parse(sent[0].1).expect("a packet");
            assert_eq!(packet.auth_key, key.as_bytes());
        }
    }
}
