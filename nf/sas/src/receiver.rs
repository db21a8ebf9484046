//! HEP in, on every shard: a packet is read and proved, and what is secret in it replaced.
//!
//! ```text
//!  packet ─ HEP ─ key ─ inflate ─ a protocol's row: read, redact ─▶ Arrival
//! ```

use crate::config;
use crate::entry::{Entry, MALFORMED};
use crate::losses::Losses;
use crate::metrics::Metric;
use crate::protocol::{self, Row, Signal};
use crate::redact;
use event::Metrics;
use machine::Time;
use std::net::SocketAddr;
use std::sync::Arc;

/// A capture time further in the future than this is replaced by ours.
const FUTURE_MAX_US: u64 = 60_000_000;
/// Octets that a deflated payload may have when it is opened.
const INFLATED_BYTES_MAX: usize = 65_535;

/// One packet, understood as far as it can be, with nothing in it that shall not be kept.
pub(crate) struct Arrival<'a> {
    pub(crate) entry: Entry<'a>,
    pub(crate) message: Option<&'a dyn Signal>,
}

/// Where what is to be kept goes.
pub(crate) type Keep<'k> = dyn FnMut(&Arrival<'_>) + 'k;

/// Reads packets.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) config: Arc<config::Sas>,
    pub(crate) metrics: Arc<Metrics<Metric>>,
    pub(crate) losses: Arc<Losses>,
}

impl Receiver {
    /// Reads one packet.
    pub(crate) fn packet(&self, now: Time, from: SocketAddr, bytes: &[u8], keep: &mut Keep<'_>) {
        self.metrics.add(Metric::Packets, 1);
        let packet = match hep::Packet::parse(bytes) {
            Ok(packet) => packet,
            Err(_) => return self.metrics.add(Metric::MalformedPackets, 1),
        };
        if !self.config.admits(packet.auth_key) {
            self.losses.stranger(now.as_micros(), from.ip());
            return self.metrics.add(Metric::Unauthenticated, 1);
        }
        if !packet.payload.is_empty() {
            return self.captured(now, &packet, keep);
        }
        let inflate = |deflated| {
            let limit = INFLATED_BYTES_MAX;
            miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(deflated, limit).ok()
        };
        match hep::compressed_payload(bytes).and_then(inflate) {
            Some(payload) => {
                self.captured(now, &hep::Packet { payload: &payload, ..packet }, keep);
            }
            None => self.metrics.add(Metric::Refused, 1),
        }
    }

    fn captured(&self, now: Time, packet: &hep::Packet<'_>, keep: &mut Keep<'_>) {
        let now_us = now.as_micros();
        let at_us = u64::from(packet.seconds) * 1_000_000 + u64::from(packet.micros);
        let entry = Entry {
            at_us: if at_us == 0 || at_us > now_us + FUTURE_MAX_US { now_us } else { at_us },
            protocol: packet.protocol,
            kind: packet.kind,
            flags: 0,
            capture_id: packet.capture_id,
            source: packet.source,
            destination: packet.destination,
            correlation: packet.correlation,
            tags: packet.tags.trim_ascii(),
            payload: packet.payload,
        };
        let is_keep_alive = packet.payload.iter().all(|b| matches!(b, b'\r' | b'\n' | 0));
        match packet.kind {
            hep::KIND_LOG => match redact::event(entry.payload, &self.config.keep) {
                None => keep(&Arrival { entry, message: None }),
                Some(payload) => {
                    self.metrics.add(Metric::Redacted, 1);
                    let entry = Entry { payload: &payload, ..entry };
                    keep(&Arrival { entry, message: None });
                }
            },
            hep::KIND_RTCP => keep(&Arrival { entry, message: None }),
            hep::KIND_SIP if is_keep_alive => self.metrics.add(Metric::Refused, 1),
            kind => match protocol::row(kind) {
                Some(row) => self.understood(row, entry, keep),
                None if hep::signalling(kind).is_some() => keep(&Arrival { entry, message: None }),
                None => self.metrics.add(Metric::Refused, 1),
            },
        }
    }

    /// Lets a message through as its protocol reads it, without what is secret in it.
    fn understood(&self, row: &Row, entry: Entry<'_>, keep: &mut Keep<'_>) {
        (row.take)(entry.payload, &self.config.keep, &mut |taken| {
            let mut entry = Entry { payload: taken.payload, ..entry };
            if taken.is_redacted {
                self.metrics.add(Metric::Redacted, 1);
            }
            if taken.is_malformed {
                self.metrics.add(Metric::MalformedMessages, 1);
                if taken.signal.is_none() {
                    entry.flags |= MALFORMED;
                }
            }
            if taken.is_carried {
                entry.correlation = b"";
            }
            keep(&Arrival { entry, message: taken.signal });
        });
    }
}

/// Appends what a sibling shard is handed. The store cuts a long correlation; what joins messages
/// is handed over whole.
pub(crate) fn encode(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let length = u16::try_from(entry.correlation.len()).unwrap_or(u16::MAX);
    let correlation = &entry.correlation[..usize::from(length)];
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(correlation);
    Entry { correlation: b"", ..*entry }.encode(out);
}

/// Reads what [`encode`] wrote.
pub(crate) fn decode(bytes: &[u8]) -> Option<Entry<'_>> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (correlation, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    Some(Entry { correlation, ..Entry::decode(rest)? })
}
