//! `ip6-lookup`: the longest prefix, the hop, and, for most packets, all that is to be done with
//! them: hop limit and rewrite.

use crate::arcs::OUT;
use crate::header::{IP6, TYPE_IP6, address6};
use crate::hop;
use crate::icmp::{
    BEYOND_SCOPE, Message, PROHIBITED, TIME_EXCEEDED, TOO_BIG, UNREACHABLE_HOST, UNREACHABLE_NET,
};
use crate::ip4::rewrite;
use crate::mpls::push;
use graph::meta::{GROUP_ADDRESSED, LINK_LOCAL, LINK_SCOPED, OWN};
use graph::{Context, Edge, Meta, Node, Reason, Row, Slot, VECTOR_MAX, Verdict};
use packet::flow;
use std::sync::Arc;
use table::hop::{HopLookups, Kind, Line};
use table::lpm::Lookups;

const TO_LOCAL: Verdict = Verdict::to(Edge(0));
const TO_GLEAN: Verdict = Verdict::to(Edge(1));
const TO_ERROR: Verdict = Verdict::to(Edge(2));
const AGAIN: Verdict = Verdict::to(Edge(3));
/// It leaves: not an edge but the arc.
const OUTWARD: Verdict = Verdict::to(Edge(4));

const BLACKHOLE: Verdict = Verdict::drop(Reason(0));
const GROUP: Verdict = Verdict::drop(Reason(1));
const DOWN: Verdict = Verdict::drop(Reason(2));
const KIND: Verdict = Verdict::drop(Reason(3));
const REASONS: &[&str] = &[
    "ip6 blackhole",
    "ip6 unicast in a link-layer multicast",
    "ip6 way out is down",
    "ip6 hop of another kind",
];

/// The node.
pub struct Ip6Lookup {
    routes: Arc<Lookups<u128>>,
    hops: Arc<HopLookups>,
    seed: u32,
}

impl Ip6Lookup {
    /// The node of one worker; `seed` is that of flow hashes.
    #[must_use]
    pub const fn new(routes: Arc<Lookups<u128>>, hops: Arc<HopLookups>, seed: u32) -> Self {
        Self { routes, hops, seed }
    }
}

impl Node for Ip6Lookup {
    fn row(&self) -> Row {
        Row::of("ip6-lookup", &["local", "glean", "ip6-error", "ip6-lookup"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let count = batch.len();
        let mut addresses = [0_u128; VECTOR_MAX];
        let mut tables = [0_u32; VECTOR_MAX];
        for ((slot, address), table) in batch.iter().zip(&mut addresses).zip(&mut tables) {
            let (meta, cell) = cx.packets.parts(*slot);
            *address = address6(cell, usize::from(meta.offset) + 24);
            *table = meta.vrf;
        }
        let mut found = [0_u32; VECTOR_MAX];
        let (tables, addresses) = (&tables[..count], &addresses[..count]);
        self.routes.lookup_each(cx.reader, tables, addresses, &mut found);
        let mut lines = [self.hops.resolve(cx.reader, 0, 0); VECTOR_MAX];
        let (packets, seed) = (&*cx.packets, self.seed);
        let hash = |at: usize| flow::ip6(packets.bytes(batch[at]), seed);
        self.hops.resolve_each(cx.reader, &found[..count], hash, &mut lines);
        finish(batch, &lines, cx);
    }

    fn trace(&self, packets: &graph::Pool, slot: Slot, note: &mut String) {
        let meta = packets.meta(slot);
        note.push_str(&format!("vrf {} hop {} out {}", meta.vrf, meta.hop, meta.transmit));
    }
}

/// The node `ip6-redirect`: packets that a filter sends by a hop of its own (`Meta::hop`).
pub struct Ip6Redirect {
    hops: Arc<HopLookups>,
    seed: u32,
}

impl Ip6Redirect {
    /// The node of one worker.
    #[must_use]
    pub const fn new(hops: Arc<HopLookups>, seed: u32) -> Self {
        Self { hops, seed }
    }
}

impl Node for Ip6Redirect {
    fn row(&self) -> Row {
        Row::of("ip6-redirect", &["local", "glean", "ip6-error", "ip6-lookup"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let mut found = [0_u32; VECTOR_MAX];
        for (slot, hop) in batch.iter().zip(&mut found) {
            *hop = cx.packets.meta(*slot).hop;
        }
        let mut lines = [self.hops.resolve(cx.reader, 0, 0); VECTOR_MAX];
        let (packets, seed) = (&*cx.packets, self.seed);
        let hash = |at: usize| flow::ip6(packets.bytes(batch[at]), seed);
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
    let Some(header) = cell[l3..].first_chunk_mut::<IP6>() else { return KIND };
    let is_plain = (line.kind == Kind::Rewrite)
        & (header[7] > 1)
        & (meta.flags & (GROUP_ADDRESSED | OWN | LINK_LOCAL | LINK_SCOPED) == 0)
        & (line.next == hop::NEXT_IP6)
        & (meta.length <= line.mtu_bytes);
    if !is_plain {
        return exceptional(meta, cell, line);
    }
    header[7] -= 1;
    rewrite(meta, cell, line);
    OUTWARD
}

#[inline(never)]
fn exceptional(meta: &mut Meta, cell: &mut [u8], line: &Line) -> Verdict {
    let l3 = usize::from(meta.offset);
    let is_group = meta.flags & GROUP_ADDRESSED != 0;
    let is_own = meta.flags & OWN != 0;
    match line.kind {
        // Whatever a table, or a filter that redirects, says.
        _ if meta.flags & (LINK_SCOPED | OWN) == LINK_SCOPED => return TO_LOCAL,
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
    if meta.flags & LINK_LOCAL != 0 && !is_own {
        return Message::ask(meta, BEYOND_SCOPE, 0, TO_ERROR);
    }
    if !is_own && cell[l3 + 7] <= 1 {
        return Message::ask(meta, TIME_EXCEEDED, 0, TO_ERROR);
    }
    if line.kind == Kind::Glean {
        return TO_GLEAN;
    }
    if line.mtu_bytes != 0 && meta.length > line.mtu_bytes {
        return Message::ask(meta, TOO_BIG, u32::from(line.mtu_bytes), TO_ERROR);
    }
    if !is_own {
        cell[l3 + 7] -= 1;
    }
    if line.next & hop::NEXT_LABELS != 0 {
        return labelled(meta, cell, line);
    }
    rewrite(meta, cell, line);
    if line.next == hop::NEXT_IP4 {
        cell[l3 - 2..l3].copy_from_slice(&TYPE_IP6.to_be_bytes());
    }
    OUTWARD
}

/// Behind labels, which carry the packet's class and, in the uniform model, its hop limit.
fn labelled(meta: &mut Meta, cell: &mut [u8], line: &Line) -> Verdict {
    let start = usize::from(meta.offset);
    let packet = &cell[start..start + usize::from(meta.length)];
    let marks = push::Seal {
        ttl: packet[7],
        swapped: false,
        class: meta.class,
        bottom: true,
        hash: if line.next & push::ENTROPY != 0 { flow::ip6(packet, 0) } else { 0 },
    };
    meta.transmit = line.interface;
    if push::seal(meta, cell, line, marks) { OUTWARD } else { KIND }
}

/// What the sender hears of a hop that drops.
fn refused(meta: &mut Meta, reason: u16) -> Verdict {
    match reason {
        hop::NO_ROUTE => Message::ask(meta, UNREACHABLE_NET, 0, TO_ERROR),
        hop::UNREACHABLE => Message::ask(meta, UNREACHABLE_HOST, 0, TO_ERROR),
        hop::PROHIBITED => Message::ask(meta, PROHIBITED, 0, TO_ERROR),
        hop::DOWN => DOWN,
        _ => BLACKHOLE,
    }
}
