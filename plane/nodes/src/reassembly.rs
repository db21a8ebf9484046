//! `reassembly`: fragments of packets for own addresses (RFC 791 §3.2, RFC 8200 §4.5). Fragments
//! that overlap end their packet (RFC 5722). A packet that is longer than a cell goes up in its
//! fragments, which the host puts together.

use crate::header::{IP4, IP6, long, seal_ip4, word};
use crate::local::{EXTENSIONS_MAX, transport};
use graph::meta::PUNTED;
use graph::{Context, Edge, Node, Pool, Reason, Row, Slot, room};
use machine::Time;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::time::Duration;

/// Packets that are put together at once, by one worker, at most.
pub const PACKETS_MAX: usize = 128;
/// Fragments of a packet at most.
pub const FRAGMENTS_MAX: usize = 64;
/// How long the fragments of a packet may take (RFC 1122 §3.3.2: 60 s at least were long ago;
/// what is not there within seconds does not come).
pub const PATIENCE: Duration = Duration::from_secs(15);

const TO_LOCAL: Edge = Edge(0);
const FORM: Reason = Reason(0);
const HELD: Reason = Reason(1);
const OVERLAP: Reason = Reason(2);
const FULL: Reason = Reason(3);
const UP: Reason = Reason(4);
const REASONS: &[&str] = &[
    "fragment form",
    "fragment held",
    "fragment overlaps",
    "fragments too many",
    "fragment went up by itself",
];

/// Source, destination, identification, protocol and table.
type Key = (u128, u128, u32, u8, u32);

/// One fragment.
struct Part {
    from: usize,
    to: usize,
    packet: Vec<u8>,
    /// Where in it the payload starts.
    at: usize,
}

/// The fragments of a packet so far.
struct Parts {
    since: Time,
    end: Option<usize>,
    parts: Vec<Part>,
}

/// The node.
#[derive(Default)]
pub struct Reassembly {
    packets: HashMap<Key, Parts, BuildHasherDefault<DefaultHasher>>,
}

impl Node for Reassembly {
    fn row(&self) -> Row {
        Row::of("reassembly", &["local"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            match self.take(*slot, cx.packets, cx.now) {
                Ok(parts) if finish(&parts, *slot, cx.packets) => cx.next.to(TO_LOCAL, *slot),
                Ok(parts) => {
                    let meta = *cx.packets.meta(*slot);
                    for part in &parts.parts {
                        if let Some(up) = cx.packets.put(&part.packet) {
                            let (offset, length) = {
                                let new = cx.packets.meta(up);
                                (new.offset, new.length)
                            };
                            let flags = meta.flags | PUNTED;
                            *cx.packets.meta_mut(up) =
                                graph::Meta { offset, length, flags, l3: offset, ..meta };
                            cx.out.punt(up);
                        }
                    }
                    cx.next.drop(*slot, UP);
                }
                Err(reason) => cx.next.drop(*slot, reason),
            }
        }
    }
}

impl Reassembly {
    /// Keeps a fragment; hands out all of its packet when it was the last.
    fn take(&mut self, slot: Slot, packets: &Pool, now: Time) -> Result<Parts, Reason> {
        let packet = packets.bytes(slot);
        let (mut key, part, more) = read(packet).ok_or(FORM)?;
        key.4 = packets.meta(slot).vrf;
        if !self.packets.contains_key(&key) && self.packets.len() >= PACKETS_MAX {
            self.packets.retain(|_, parts| now.since(parts.since) < PATIENCE);
            if self.packets.len() >= PACKETS_MAX {
                return Err(FULL);
            }
        }
        let fresh = || Parts { since: now, end: None, parts: Vec::new() };
        let parts = self.packets.entry(key).or_insert_with(fresh);
        if now.since(parts.since) >= PATIENCE {
            *parts = fresh();
        }
        if parts.parts.iter().any(|one| one.from == part.from && one.to == part.to) {
            return Err(HELD);
        }
        let end = if more { parts.end } else { Some(part.to) };
        let overlaps = parts.parts.iter().any(|one| part.from < one.to && one.from < part.to);
        let contradicts = parts.end.is_some() && parts.end != end
            || end.is_some_and(|end| part.to > end || parts.parts.iter().any(|one| one.to > end));
        let full = parts.parts.len() >= FRAGMENTS_MAX;
        if overlaps || contradicts || full {
            self.packets.remove(&key);
            return Err(if full { FULL } else { OVERLAP });
        }
        parts.end = end;
        parts.parts.push(part);
        let held: usize = parts.parts.iter().map(|one| one.to - one.from).sum();
        if Some(held) != parts.end {
            return Err(HELD);
        }
        let mut whole = self.packets.remove(&key).ok_or(FORM)?;
        whole.parts.sort_by_key(|part| part.from);
        Ok(whole)
    }
}

/// Which packet a fragment is of, the fragment, and whether more follow.
fn read(packet: &[u8]) -> Option<(Key, Part, bool)> {
    let found = transport(packet)?;
    let six = packet[0] >> 4 == 6;
    let (field, id, source, destination, protocol) = if six {
        let at = found.at.checked_sub(8)?;
        let addresses = (crate::header::address6(packet, 8), crate::header::address6(packet, 24));
        (word(packet, at + 2), long(packet, at + 4), addresses.0, addresses.1, found.protocol)
    } else {
        let addresses = (u128::from(long(packet, 12)), u128::from(long(packet, 16)));
        let id = u32::from(word(packet, 4));
        (word(packet, 6), id, addresses.0, addresses.1, packet[9])
    };
    let (from, more) = match six {
        true => (usize::from(field & 0xfff8), field & 1 != 0),
        false => (usize::from(field & 0x1fff) * 8, field & 0x2000 != 0),
    };
    let octets = packet.len().checked_sub(found.at)?;
    let to = from + octets;
    let sound = octets > 0 && to <= 65_535 && !(more && octets % 8 != 0);
    let part = Part { from, to, packet: packet.to_vec(), at: found.at };
    sound.then_some(((source, destination, id, protocol, 0), part, more))
}

/// Puts the packet together in the cell of its last fragment; false if it is too long for it.
fn finish(parts: &Parts, slot: Slot, packets: &mut Pool) -> bool {
    let Some(first) = parts.parts.first() else { return false };
    let mut whole = first.packet[..first.at].to_vec();
    if whole[0] >> 4 == 6 {
        let end = whole.len() - 8;
        let next = whole[end];
        whole.truncate(end);
        name_next(&mut whole, next);
    }
    for part in &parts.parts {
        whole.extend_from_slice(&part.packet[part.at..]);
    }
    if whole.len() > room(packets.stride()) {
        return false;
    }
    if whole[0] >> 4 == 4 {
        let length = whole.len() as u16;
        whole[2..4].copy_from_slice(&length.to_be_bytes());
        whole[6..8].fill(0);
        let octets = usize::from(whole[0] & 15) * 4;
        seal_ip4(&mut whole[..octets.max(IP4)]);
    } else {
        let length = (whole.len() - IP6) as u16;
        whole[4..6].copy_from_slice(&length.to_be_bytes());
    }
    crate::frame::replace(packets, slot, &whole)
}

/// The header before the fragment header names what came after it.
fn name_next(headers: &mut [u8], next: u8) {
    let (mut name, mut at) = (6, IP6);
    for _ in 0..EXTENSIONS_MAX {
        if headers[name] == 44 || at >= headers.len() {
            break;
        }
        (name, at) = (at, at + 8 + usize::from(headers.get(at + 1).copied().unwrap_or(0)) * 8);
    }
    headers[name] = next;
}
