//! `ip4-lookup`: the longest prefix, the hop (of a group: by flow), and, for most packets, all
//! that is to be done with them: time to live, checksum, rewrite.

use crate::arcs::OUT;
use crate::header::{ETHERNET, IP4, TYPE_IP4, age_ip4, long, word};
use crate::hop;
use crate::icmp::{Message, PROHIBITED, TIME_EXCEEDED, TOO_BIG, UNREACHABLE_HOST, UNREACHABLE_NET};
use crate::mpls::push;
use graph::meta::{GROUP_ADDRESSED, LINK_SCOPED, OWN};
use graph::{Context, Edge, Meta, Node, Reason, Row, Slot, VECTOR_MAX, Verdict};
use packet::flow;
use std::sync::Arc;
use table::hop::{HopLookups, Kind, Line, REWRITE_MAX};
use table::lpm::Lookups;

const TO_LOCAL: Verdict = Verdict::to(Edge(0));
const TO_GLEAN: Verdict = Verdict::to(Edge(1));
const TO_ERROR: Verdict = Verdict::to(Edge(2));
const TO_FRAGMENT: Verdict = Verdict::to(Edge(3));
const AGAIN: Verdict = Verdict::to(Edge(4));
/// It leaves: not an edge but the arc.
const OUTWARD: Verdict = Verdict::to(Edge(5));

const BLACKHOLE: Verdict = Verdict::drop(Reason(0));
const GROUP: Verdict = Verdict::drop(Reason(1));
const BROADCAST: Verdict = Verdict::drop(Reason(2));
const DOWN: Verdict = Verdict::drop(Reason(3));
const KIND: Verdict = Verdict::drop(Reason(4));
const REASONS: &[&str] = &[
    "ip4 blackhole",
    "ip4 unicast in a link-layer broadcast",
    "ip4 directed broadcast",
    "ip4 way out is down",
    "ip4 hop of another kind",
];

/// Fragments of this packet are not allowed.
const DONT_FRAGMENT: u16 = 0x4000;

/// The node.
pub struct Ip4Lookup {
    routes: Arc<Lookups<u32>>,
    hops: Arc<HopLookups>,
    seed: u32,
}

impl Ip4Lookup {
    /// The node of one worker; `seed` is that of flow hashes.
    #[must_use]
    pub const fn new(routes: Arc<Lookups<u32>>, hops: Arc<HopLookups>, seed: u32) -> Self {
        Self { routes, hops, seed }
    }
}

impl Node for Ip4Lookup {
    fn row(&self) -> Row {
        let next = &["local", "glean", "ip4-error", "ip4-fragment", "ip4-lookup"];
        Row::of("ip4-lookup", next, REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let count = batch.len();
        let mut addresses = [0_u32; VECTOR_MAX];
        let mut tables = [0_u32; VECTOR_MAX];
        for ((slot, address), table) in batch.iter().zip(&mut addresses).zip(&mut tables) {
            let (meta, cell) = cx.packets.parts(*slot);
            *address = long(cell, usize::from(meta.offset) + 16);
            *table = meta.vrf;
        }
        let mut found = [0_u32; VECTOR_MAX];
        let (tables, addresses) = (&tables[..count], &addresses[..count]);
        self.routes.lookup_each(cx.reader, tables, addresses, &mut found);
        let mut lines = [self.hops.resolve(cx.reader, 0, 0); VECTOR_MAX];
        let (packets, seed) = (&*cx.packets, self.seed);
        let hash = |at: usize| flow::ip4(packets.bytes(batch[at]), seed);
        self.hops.resolve_each(cx.reader, &found[..count], hash, &mut lines);
        finish(batch, &lines, cx);
    }

    fn trace(&self, packets: &graph::Pool, slot: Slot, note: &mut String) {
        let meta = packets.meta(slot);
        note.push_str(&format!("vrf {} hop {} out {}", meta.vrf, meta.hop, meta.transmit));
    }
}

/// The node `ip4-redirect`: packets that a filter sends by a hop of its own (`Meta::hop`).
pub struct Ip4Redirect {
    hops: Arc<HopLookups>,
    seed: u32,
}

impl Ip4Redirect {
    /// The node of one worker.
    #[must_use]
    pub const fn new(hops: Arc<HopLookups>, seed: u32) -> Self {
        Self { hops, seed }
    }
}

impl Node for Ip4Redirect {
    fn row(&self) -> Row {
        let next = &["local", "glean", "ip4-error", "ip4-fragment", "ip4-lookup"];
        Row::of("ip4-redirect", next, REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let mut found = [0_u32; VECTOR_MAX];
        for (slot, hop) in batch.iter().zip(&mut found) {
            *hop = cx.packets.meta(*slot).hop;
        }
        let mut lines = [self.hops.resolve(cx.reader, 0, 0); VECTOR_MAX];
        let (packets, seed) = (&*cx.packets, self.seed);
        let hash = |at: usize| flow::ip4(packets.bytes(batch[at]), seed);
        self.hops.resolve_each(cx.reader, &found[..batch.len()], hash, &mut lines);
        finish(batch, &lines, cx);
    }
}

fn finish(batch: &[Slot], lines: &[&Line; VECTOR_MAX], cx: &mut Context<'_>) {
    let mut leaving = [Slot(0); VECTOR_MAX];
    let mut count = 0;
    for (slot, line) in batch.iter().zip(lines) {
        let (meta, cell) = cx.packets.parts(*slot);
        let verdict = forwarded(meta, cell, line);
        if verdict == OUTWARD {
            leaving[count % VECTOR_MAX] = *slot;
            count += 1;
        } else {
            cx.next.dispatch(&[verdict], &[*slot]);
        }
    }
    cx.next.start(OUT, &leaving[..count], cx.packets);
}

/// What most packets need, and for the others what they need instead.
#[inline]
fn forwarded(meta: &mut Meta, cell: &mut [u8], line: &Line) -> Verdict {
    let l3 = usize::from(meta.offset);
    meta.hop = line.hop;
    meta.l3 = meta.offset;
    let Some(header) = cell[l3..].first_chunk_mut::<IP4>() else { return KIND };
    let is_plain = (line.kind == Kind::Rewrite)
        & (header[8] > 1)
        & (meta.flags & (GROUP_ADDRESSED | LINK_SCOPED | OWN) == 0)
        & (line.next == hop::NEXT_IP4)
        & (meta.length <= line.mtu_bytes);
    if !is_plain {
        return exceptional(meta, cell, line);
    }
    age_ip4(header);
    rewrite(meta, cell, line);
    OUTWARD
}

/// Puts the line's octets before the packet.
#[inline]
pub(crate) fn rewrite(meta: &mut Meta, cell: &mut [u8], line: &Line) {
    let l3 = usize::from(meta.offset);
    let octets = line.rewrite_len();
    if octets == ETHERNET {
        // All in the cache line of the packet.
        let from = line.rewrite().first_chunk::<ETHERNET>();
        let to = cell[..l3].last_chunk_mut::<ETHERNET>();
        if let (Some(from), Some(to)) = (from, to) {
            *to = *from;
        }
    } else if let Some(to) = cell[..l3].last_chunk_mut::<REWRITE_MAX>() {
        *to = *line.rewrite_block();
    }
    #[allow(clippy::cast_possible_truncation, reason = "at most `REWRITE_MAX`")]
    let octets = octets as u16;
    meta.offset -= octets;
    meta.length += octets;
    meta.transmit = line.interface;
}

/// As [`rewrite`], also where the neighbour is known by an IPv6 address (RFC 8950).
fn rewrite_ip4(meta: &mut Meta, cell: &mut [u8], line: &Line) {
    let l3 = usize::from(meta.offset);
    rewrite(meta, cell, line);
    if line.next == hop::NEXT_IP6 {
        cell[l3 - 2..l3].copy_from_slice(&TYPE_IP4.to_be_bytes());
    }
}

#[inline(never)]
fn exceptional(meta: &mut Meta, cell: &mut [u8], line: &Line) -> Verdict {
    let l3 = usize::from(meta.offset);
    let is_group = meta.flags & GROUP_ADDRESSED != 0;
    match line.kind {
        // Whatever a table, or a filter that redirects, says.
        _ if meta.flags & (LINK_SCOPED | OWN) == LINK_SCOPED => return TO_LOCAL,
        Kind::Local if line.argument == hop::TO_ALL => return to_all(meta, cell, line),
        Kind::Local => return TO_LOCAL,
        Kind::LookupVrf => {
            meta.vrf = line.argument;
            return AGAIN;
        }
        _ if is_group => return GROUP,
        Kind::Drop => return refused(meta, line.reason),
        Kind::Glean | Kind::Rewrite => {}
        Kind::Bridge | Kind::CrossConnect => return KIND,
    }
    let is_own = meta.flags & OWN != 0;
    if !is_own && cell[l3 + 8] <= 1 {
        return Message::ask(meta, TIME_EXCEEDED, 0, TO_ERROR);
    }
    if line.kind == Kind::Glean {
        return TO_GLEAN;
    }
    let too_big = line.mtu_bytes != 0 && meta.length > line.mtu_bytes;
    if too_big && word(cell, l3 + 6) & DONT_FRAGMENT != 0 {
        return Message::ask(meta, TOO_BIG, u32::from(line.mtu_bytes), TO_ERROR);
    }
    if let Some(header) = cell[l3..].first_chunk_mut::<IP4>().filter(|_| !is_own) {
        age_ip4(header);
    }
    if too_big {
        return TO_FRAGMENT;
    }
    if line.next & hop::NEXT_LABELS != 0 {
        return labelled(meta, cell, line);
    }
    rewrite_ip4(meta, cell, line);
    OUTWARD
}

/// Puts a line's octets before a packet of a node that is not in a hurry; false if it cannot be.
pub(crate) fn leave(meta: &mut Meta, cell: &mut [u8], line: &Line) -> bool {
    if line.next & hop::NEXT_LABELS != 0 {
        return labelled(meta, cell, line) == OUTWARD;
    }
    rewrite_ip4(meta, cell, line);
    true
}

/// Behind labels, which carry the packet's class and, in the uniform model, its time to live.
fn labelled(meta: &mut Meta, cell: &mut [u8], line: &Line) -> Verdict {
    let start = usize::from(meta.offset);
    let packet = &cell[start..start + usize::from(meta.length)];
    let marks = push::Seal {
        ttl: packet[8],
        swapped: false,
        class: meta.class,
        bottom: true,
        hash: if line.next & push::ENTROPY != 0 { flow::ip4(packet, 0) } else { 0 },
    };
    meta.transmit = line.interface;
    if push::seal(meta, cell, line, marks) { OUTWARD } else { KIND }
}

/// To all hosts of a subnet: it is for this system too where it came by that link, and sent on
/// where that is allowed (RFC 2644).
fn to_all(meta: &mut Meta, cell: &mut [u8], line: &Line) -> Verdict {
    let l3 = usize::from(meta.offset);
    let is_own = meta.flags & OWN != 0;
    if meta.interface == line.interface && !is_own {
        meta.flags |= GROUP_ADDRESSED;
        return TO_LOCAL;
    }
    if line.rewrite_len() == 0 || meta.length > line.mtu_bytes || cell[l3 + 8] <= 1 {
        return BROADCAST;
    }
    if let Some(header) = cell[l3..].first_chunk_mut::<IP4>().filter(|_| !is_own) {
        age_ip4(header);
    }
    rewrite(meta, cell, line);
    OUTWARD
}

/// What the sender hears of a hop that drops.
fn refused(meta: &mut Meta, reason: u16) -> Verdict {
    match reason {
        hop::NO_ROUTE => Message::ask(meta, UNREACHABLE_NET, 0, TO_ERROR),
        hop::UNREACHABLE => Message::ask(meta, UNREACHABLE_HOST, 0, TO_ERROR),
        hop::PROHIBITED => Message::ask(meta, PROHIBITED, 0, TO_ERROR),
        hop::BROADCAST => BROADCAST,
        hop::DOWN => DOWN,
        _ => BLACKHOLE,
    }
}
