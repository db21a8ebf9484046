//! `ip4-fragment`: packets that are longer than their way out takes (RFC 791 §3.2, fragmentation).

use crate::arcs::OUT;
use crate::header::{IP4, seal_ip4, word};
use crate::ip4::leave;
use graph::{Context, Node, Pool, Reason, Row, Slot};
use machine::narrow::{at_most, index};
use std::sync::Arc;
use table::hop::{HopLookups, Kind, Line};

/// Fragments of one packet at most: 65,535 octets over the least MTU of 68.
pub const FRAGMENTS_MAX: usize = 1_366;

const NO_ROOM: Reason = Reason(0);
const GONE: Reason = Reason(1);
const DONE: Reason = Reason(2);
const BEYOND: Reason = Reason(3);
const REASONS: &[&str] = &[
    "ip4 fragments: no cell free",
    "ip4 fragments: way out is gone",
    "ip4 sent in fragments",
    "ip4 fragment ends beyond 65,535 octets",
];

/// More fragments follow.
const MORE: u16 = 0x2000;
/// Options that all fragments have.
const COPIED: u8 = 0x80;

/// The node.
pub struct Ip4Fragment {
    hops: Arc<HopLookups>,
}

impl Ip4Fragment {
    /// The node of one worker.
    #[must_use]
    pub const fn new(hops: Arc<HopLookups>) -> Self {
        Self { hops }
    }
}

impl Node for Ip4Fragment {
    fn row(&self) -> Row {
        Row::of("ip4-fragment", &[], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let mut made = Vec::new();
        for slot in batch {
            let line = *self.hops.resolve(cx.reader, cx.packets.meta(*slot).hop, 0);
            let done = match line.kind {
                Kind::Rewrite if line.mtu_bytes >= 68 => cut(*slot, &line, cx.packets, &mut made),
                _ => Err(GONE),
            };
            match done {
                Ok(()) => cx.next.start(OUT, &made, cx.packets),
                Err(_) => cx.packets.free_all(&made),
            }
            made.clear();
            cx.next.drop(*slot, done.err().unwrap_or(DONE));
        }
    }
}

/// Makes the fragments of a packet, each with its rewrite. What was made before there were no
/// cells for all of them is in `made` all the same.
fn cut(slot: Slot, line: &Line, packets: &mut Pool, made: &mut Vec<Slot>) -> Result<(), Reason> {
    let whole = packets.bytes(slot).to_vec();
    let octets = (usize::from(whole[0] & 15) * 4).clamp(IP4, whole.len());
    let mut header = whole[..octets].to_vec();
    let payload = &whole[octets..];
    let field = word(&whole, 6);
    // Offsets beyond 13 bits would begin at 0 again: a first fragment that no filter looked at.
    if usize::from(field & 0x1fff) * 8 + payload.len() > usize::from(u16::MAX) {
        return Err(BEYOND);
    }
    let mut at = 0;
    while at < payload.len() && made.len() < FRAGMENTS_MAX {
        let room = (usize::from(line.mtu_bytes) - header.len()) & !7;
        let part = &payload[at..(at + room).min(payload.len())];
        let is_last = at + part.len() == payload.len();
        let more = if is_last { field & MORE } else { MORE };
        let offset = (field & 0x1fff) + index(at / 8);
        header[6..8].copy_from_slice(&(more | offset).to_be_bytes());
        let length = index(header.len() + part.len());
        header[2..4].copy_from_slice(&length.to_be_bytes());
        seal_ip4(&mut header);
        made.push(placed(slot, &header, part, line, packets).ok_or(NO_ROOM)?);
        if at == 0 {
            header = later(&header);
        }
        at += room;
    }
    Ok(())
}

fn placed(of: Slot, header: &[u8], part: &[u8], line: &Line, packets: &mut Pool) -> Option<Slot> {
    let slot = packets.take()?;
    let meta = *packets.meta(of);
    let length = index(header.len() + part.len());
    *packets.meta_mut(slot) = graph::Meta { length, ..meta };
    let (meta, cell) = packets.parts(slot);
    let start = usize::from(meta.offset);
    cell[start..start + header.len()].copy_from_slice(header);
    cell[start + header.len()..][..part.len()].copy_from_slice(part);
    if leave(meta, cell, line) {
        return Some(slot);
    }
    packets.free(slot);
    None
}

/// The header of the later fragments: options without the bit for copying are in the first only.
fn later(header: &[u8]) -> Vec<u8> {
    let mut made = header[..IP4].to_vec();
    let mut at = IP4;
    while at < header.len() {
        // Options that are not well formed did not come this far.
        let octets = match header[at] {
            0 => break,
            1 => 1,
            _ => usize::from(header.get(at + 1).copied().unwrap_or(0)).max(2),
        };
        let end = (at + octets).min(header.len());
        if header[at] & COPIED != 0 {
            made.extend_from_slice(&header[at..end]);
        }
        at = end;
    }
    made.resize(made.len().next_multiple_of(4), 0);
    made[0] = 0x40 | at_most((made.len() / 4) as u64, 15);
    made
}
