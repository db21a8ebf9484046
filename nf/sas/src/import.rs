//! Capture files drawn without being kept: their messages joined into trails of their own.

use crate::archive::SasError;
use crate::detail::{self, Detail, Read};
use crate::entry::{Entry, MALFORMED, RETRANSMISSION};
use crate::live::{Live, Repeat};
use crate::protocol::{self, Signal};
use crate::table::{Believed, Table};
use crate::trail::{Kind, MESSAGES_MAX};
use pcap::Payload;
use std::collections::BTreeMap;
use store::Place;

/// Trails of one file that are shown.
const TRAILS_MAX: usize = 2_000;

/// Reads a file and puts the page of each trail together, oldest first.
///
/// # Errors
/// The file is neither pcap nor pcapng, or holds no SIP.
pub fn read(bytes: &[u8]) -> Result<Vec<Detail>, SasError> {
    let mut bench = Bench { table: Table::new(1), messages: BTreeMap::new() };
    for payload in pcap::read(bytes)? {
        bench.take(&payload);
    }
    let mut pages = Vec::new();
    for (index, entries) in bench.messages {
        let Some(mut live) = bench.table.remove(index) else { continue };
        if live.trail.kind != Kind::Call || live.trail.answered_us == 0 {
            live.give_up();
        }
        let left_out = live.trail.places.len() - entries.len();
        pages.push(detail::build(&live.trail, entries, left_out).0);
    }
    if pages.is_empty() {
        return Err(SasError::BadFile("the file holds no SIP message".to_owned()));
    }
    pages.sort_by_key(|page| page.trail.started_at_us);
    Ok(pages)
}

struct Bench {
    table: Table,
    messages: BTreeMap<u32, Vec<Read>>,
}

impl Bench {
    fn take(&mut self, payload: &Payload) {
        let mut entry = Entry {
            at_us: payload.at_us,
            protocol: payload.protocol,
            kind: hep::KIND_SIP,
            flags: 0,
            capture_id: 0,
            source: payload.source,
            destination: payload.destination,
            correlation: b"",
            tags: b"",
            payload: &payload.bytes,
        };
        match hep::Packet::parse(&payload.bytes) {
            Ok(inner) if matches!(inner.kind, hep::KIND_SIP | hep::KIND_LOG) => {
                entry.at_us = u64::from(inner.seconds) * 1_000_000 + u64::from(inner.micros);
                entry.protocol = inner.protocol;
                entry.kind = inner.kind;
                (entry.source, entry.destination) = (inner.source, inner.destination);
                (entry.correlation, entry.payload) = (inner.correlation, inner.payload);
                entry.tags = inner.tags.trim_ascii();
                self.keep(entry);
            }
            _ => self.keep(entry),
        }
    }

    fn keep(&mut self, mut entry: Entry<'_>) {
        let message = sip::Message::parse(entry.payload).ok();
        let message = message.as_ref().filter(|_| entry.kind == hep::KIND_SIP);
        let message = message.map(|message| -> &dyn Signal { message });
        if message.is_none() && entry.kind == hep::KIND_SIP {
            if !resembles_sip(entry.payload) {
                return;
            }
            entry.flags |= MALFORMED;
        }
        // A file is somebody's own: nobody else's calls are in it.
        let found = self.table.locate(message, entry.correlation).or_else(|| {
            let marked = self.table.marked(message?, Believed::Always);
            marked.ok().flatten()
        });
        let index = match found {
            Some(index) => index,
            None if self.messages.len() >= TRAILS_MAX => return,
            None => {
                let id = self.messages.len() as u64 + 1;
                self.table.insert(Live::new(id, entry.at_us, entry.at_us)).index
            }
        };
        self.table.adopt(index, message, entry.correlation, Believed::Always);
        let hash = message.and_then(|message| self.table.leg_of(message));
        let Some(live) = self.table.at(index) else { return };
        if message.is_some() {
            let (source, destination) = (entry.source, entry.destination);
            if live.recognise(entry.payload, source, destination, 0) != Repeat::New {
                entry.flags |= RETRANSMISSION;
                live.trail.retransmissions += 1;
            }
        }
        if live.trail.places.len() >= MESSAGES_MAX {
            return;
        }
        live.trail.places.push(Place { partition: 0, block: 0, entry: 0 });
        live.add_host(entry.source);
        live.add_host(entry.destination);
        match (message, hash) {
            (Some(message), Some(hash)) => {
                let leg = message.leg().map_or(0, |leg| live.leg(hash, leg));
                if !entry.is_retransmission() {
                    protocol::observe(live, entry.at_us, leg, message);
                }
            }
            _ if live.trail.places.len() == 1 => live.trail.kind = Kind::Rejected,
            _ => {}
        }
        self.messages.entry(index).or_default().push(Read::from(&entry));
    }
}

/// Whether octets that do not parse were meant as SIP: the version stands in their first line.
fn resembles_sip(payload: &[u8]) -> bool {
    let line = payload.split(|&b| b == b'\n').next().unwrap_or_default();
    line.windows(7).any(|window| window == b"SIP/2.0")
}
