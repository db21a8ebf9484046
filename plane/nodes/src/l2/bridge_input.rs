//! `bridge-input`: frames of a bridge domain (IEEE 802.1Q §8.6, VPLS: RFC 4762).
//!
//! ```text
//!   frame ─ tags off ─ source known here? else told to the writer ─ destination
//!     known member ──────────────────────────→ its tags or labels ─→ arc out
//!     group, broadcast, unknown ─ storm control ─ a copy to each member it may go to
//! ```
//! Frames come from an interface, with its tags, or from a pseudowire, without labels
//! (`FROM_PSEUDOWIRE`, the pseudowire in `Meta::words[0]`).

use super::bridge::{Bridges, Domain, Member, PSEUDOWIRE, seconds};
use super::frame::{self, FROM_PSEUDOWIRE, HEADER};
use super::storm::Storms;
use super::tags;
use crate::arcs::OUT;
use crate::header::{ETHERNET, TYPE_ARP, TYPE_IP4, TYPE_IP6, short, word};
use crate::interfaces::{Input, Interfaces};
use crate::view::Shared;
use graph::meta::GROUP_ADDRESSED;
use graph::{Context, Edge, Meta, Node, Pool, Reason, Row, Slot, VECTOR_MAX};
use std::sync::Arc;
use table::epoch::Published;
use table::epoch::Reader;
use table::hop::HopLookups;
use table::mac::{Entry, Learner, MacKey, Macs, Seen, Source};

const TO_IP4: Edge = Edge(0);
const TO_IP6: Edge = Edge(1);
const TO_ARP: Edge = Edge(2);

const SHORT: Reason = Reason(0);
const NO_MEMBER: Reason = Reason(1);
const NOWHERE: Reason = Reason(2);
const SOURCE: Reason = Reason(3);
const BLOCKED: Reason = Reason(4);
const RESERVED: Reason = Reason(5);
const UNKNOWN: Reason = Reason(6);
const STORM: Reason = Reason(7);
const SPLIT: Reason = Reason(8);
const NO_WAY: Reason = Reason(9);
const NO_ROOM: Reason = Reason(10);
const PROTOCOL: Reason = Reason(11);

/// The node.
pub struct BridgeInput {
    shared: Shared,
    bridges: Arc<Published<Bridges>>,
    macs: Arc<Macs>,
    learner: Learner,
    storms: Storms,
    out: Vec<Slot>,
    batch: Box<Batch>,
}

/// What a vector's frames say, side by side.
struct Batch {
    count: usize,
    slots: [Slot; VECTOR_MAX],
    members: [Member; VECTOR_MAX],
    ports: [u32; VECTOR_MAX],
    sources: [MacKey; VECTOR_MAX],
    destinations: [MacKey; VECTOR_MAX],
    learnt: [Source; VECTOR_MAX],
    entries: [Entry; VECTOR_MAX],
}

impl BridgeInput {
    /// The node of one worker; what it hears of MAC addresses goes to `learner`.
    pub fn new(
        shared: Shared,
        bridges: Arc<Published<Bridges>>,
        macs: Arc<Macs>,
        learner: Learner,
    ) -> Self {
        let key = MacKey::new(0, [0; 6]);
        let batch = Batch {
            count: 0,
            slots: [Slot(0); VECTOR_MAX],
            members: [Member::default(); VECTOR_MAX],
            ports: [0; VECTOR_MAX],
            sources: [key; VECTOR_MAX],
            destinations: [key; VECTOR_MAX],
            learnt: [Source::Known; VECTOR_MAX],
            entries: [Entry::UNKNOWN; VECTOR_MAX],
        };
        let (storms, out) = (Storms::default(), Vec::new());
        let batch = Box::new(batch);
        Self { shared, bridges, macs, learner, storms, out, batch }
    }
}

impl Batch {
    #[inline]
    fn add(&mut self, slot: Slot, member: Member, frame: &[u8; 12]) {
        let at = self.count;
        let bridge = (member.bridge & 0xffff) as u16;
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *frame;
        self.slots[at] = slot;
        self.members[at] = member;
        self.ports[at] = member.port;
        self.destinations[at] = MacKey::new(bridge, [a, b, c, d, e, f]);
        self.sources[at] = MacKey::new(bridge, [g, h, i, j, k, l]);
        self.count += 1;
    }
}

/// The member that a frame comes from.
#[inline]
fn member<'a>(meta: &Meta, bridges: &'a Bridges) -> Option<&'a Member> {
    match meta.flags & FROM_PSEUDOWIRE {
        0 => bridges.member(meta.interface),
        _ => bridges.member(PSEUDOWIRE + meta.words[0]),
    }
}

type Both<'a> = (&'a Interfaces, &'a Bridges);

impl Node for BridgeInput {
    fn row(&self) -> Row {
        Row::of(
            "bridge-input",
            &["ip4-input", "ip6-input", "arp-input"],
            &[
                "cut short",
                "not a member of a bridge",
                "destination is where it came from",
                "source is fixed elsewhere or a group",
                "address moved too often",
                "reserved group address",
                "unknown destination",
                "too many flooded frames",
                "split horizon",
                "no way to the member",
                "nobody to flood to",
                "protocol that the routed side does not take",
            ],
        )
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = Arc::clone(&self.shared.interfaces);
        let bridges = Arc::clone(&self.bridges);
        let views = (interfaces.read(cx.reader), bridges.read(cx.reader));
        self.batch.count = 0;
        for slot in batch {
            let (meta, cell) = cx.packets.parts(*slot);
            let frame = cell.get(usize::from(meta.offset)..).and_then(<[u8]>::first_chunk::<12>);
            match (member(meta, views.1), frame.filter(|_| usize::from(meta.length) >= HEADER)) {
                (Some(member), Some(frame)) => self.batch.add(*slot, *member, frame),
                (Some(_), None) => cx.next.drop(*slot, SHORT),
                (None, _) => cx.next.drop(*slot, NO_MEMBER),
            }
        }
        let Batch { count, ports, sources, destinations, learnt, entries, .. } = &mut *self.batch;
        let count = *count;
        let now_s = seconds(cx.now);
        let seen = Seen { keys: &sources[..count], ports: &ports[..count], now_s };
        self.macs.check(cx.reader, &mut self.learner, seen, &mut learnt[..count]);
        self.macs.lookup(cx.reader, &destinations[..count], &mut entries[..count]);
        self.forward(views, cx);
        cx.next.start(OUT, &self.out, cx.packets);
        self.out.clear();
    }

    fn trace(&self, packets: &Pool, slot: Slot, note: &mut String) {
        use std::fmt::Write;
        let meta = packets.meta(slot);
        // Writing to a string does not fail.
        let _ = write!(note, "from interface {} to interface {}", meta.interface, meta.transmit);
    }
}

impl BridgeInput {
    fn forward(&mut self, views: Both<'_>, cx: &mut Context<'_>) {
        for at in 0..self.batch.count {
            let slot = self.batch.slots[at];
            let (learnt, entry) = (self.batch.learnt[at], self.batch.entries[at]);
            let decided = match (learnt.forwards(), entry.is_known()) {
                (false, _) if learnt == Source::Blocked => Err(BLOCKED),
                (false, _) => Err(SOURCE),
                (true, true) => self.send(at, entry, views, cx),
                (true, false) => self.flood(at, views, cx),
            };
            if let Err(reason) = decided {
                cx.next.drop(slot, reason);
            }
        }
    }

    /// To the one member that has the address.
    #[inline]
    fn send(
        &mut self,
        at: usize,
        entry: Entry,
        views: Both<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), Reason> {
        let (interfaces, bridges) = views;
        let (slot, from) = (self.batch.slots[at], &self.batch.members[at]);
        if entry.is_blocked() {
            return Err(BLOCKED);
        }
        if entry.port() == from.port {
            return Err(NOWHERE);
        }
        let to = bridges.member(entry.port()).ok_or(NO_MEMBER)?;
        if !from.talks_to(to) {
            return Err(SPLIT);
        }
        if to.routed {
            return self.up(slot, from.tags, to, interfaces, cx);
        }
        let ways = Ways { interfaces, hops: &self.shared.hops, reader: cx.reader };
        out(cx.packets, slot, from.tags, to, ways).map_err(|()| NO_WAY)?;
        self.out.push(slot);
        Ok(())
    }

    /// To the routed side of the domain: from here on it is a packet that came in there.
    #[inline(never)]
    fn up(
        &self,
        slot: Slot,
        tags: u8,
        to: &Member,
        interfaces: &Interfaces,
        cx: &mut Context<'_>,
    ) -> Result<(), Reason> {
        let link = interfaces.row(to.port);
        let (meta, cell) = cx.packets.parts(slot);
        if link.input != Input::Routed || !tags::take_off(meta, cell, tags) {
            return Err(NO_WAY);
        }
        let start = usize::from(meta.offset);
        let edge = match word(cell, start + ETHERNET - 2) {
            TYPE_IP4 => TO_IP4,
            TYPE_IP6 => TO_IP6,
            TYPE_ARP => TO_ARP,
            _ => return Err(PROTOCOL),
        };
        self.shared.counters.received(to.port, 1, u64::from(meta.length));
        let is_group = cell.get(start).is_some_and(|first| first & 1 == 1);
        let flag = if is_group { GROUP_ADDRESSED } else { 0 };
        meta.flags = meta.flags & !(FROM_PSEUDOWIRE | GROUP_ADDRESSED) | flag;
        (meta.interface, meta.vrf) = (to.port, link.vrf);
        meta.offset += short(ETHERNET);
        meta.length -= short(ETHERNET);
        meta.l3 = meta.offset;
        cx.next.to(edge, slot);
        Ok(())
    }

    /// To every member that the frame may go to; the last one gets the frame itself.
    #[inline(never)]
    fn flood(&mut self, at: usize, views: Both<'_>, cx: &mut Context<'_>) -> Result<(), Reason> {
        let (interfaces, bridges) = views;
        let (slot, from) = (self.batch.slots[at], self.batch.members[at]);
        let key = self.batch.destinations[at];
        let domain: &Domain = bridges.domain(from.bridge).ok_or(NO_MEMBER)?;
        if is_reserved(key.mac()) {
            return Err(RESERVED);
        }
        if !key.is_group() && !domain.flood_unknown {
            return Err(UNKNOWN);
        }
        if !self.storms.passes(from.port, domain.storm_pps, cx.now) {
            return Err(STORM);
        }
        let ways = Ways { interfaces, hops: &self.shared.hops, reader: cx.reader };
        // The routed side wants what is for all, and for itself; never what nobody knows.
        let wants = |to: &&Member| from.talks_to(to) && (!to.routed || key.is_group());
        let members = bridges.members(domain).iter().filter(wants);
        let mut last: Option<&Member> = None;
        for to in members {
            if let Some(before) = last.replace(to) {
                let Some(copy) = cx.packets.copy(slot) else { return Err(NO_ROOM) };
                if before.routed {
                    if let Err(reason) = self.up(copy, from.tags, before, interfaces, cx) {
                        cx.next.drop(copy, reason);
                    }
                    continue;
                }
                match out(cx.packets, copy, from.tags, before, ways) {
                    Ok(()) => self.out.push(copy),
                    Err(()) => cx.next.drop(copy, NO_WAY),
                }
            }
        }
        let last = last.ok_or(NO_ROOM)?;
        if last.routed {
            return self.up(slot, from.tags, last, interfaces, cx);
        }
        out(cx.packets, slot, from.tags, last, ways).map_err(|()| NO_WAY)?;
        self.out.push(slot);
        Ok(())
    }
}

/// What says how frames leave.
#[derive(Clone, Copy)]
struct Ways<'a> {
    interfaces: &'a Interfaces,
    hops: &'a HopLookups,
    reader: &'a Reader,
}

/// Gives a frame the tags or labels of a member instead of its own.
#[inline]
fn out(packets: &mut Pool, slot: Slot, tags: u8, to: &Member, ways: Ways<'_>) -> Result<(), ()> {
    let Ways { interfaces, hops, reader } = ways;
    if to.is_pseudowire() {
        let by = frame::to_pseudowire(packets, slot, tags, to.hop, hops, reader).map_err(drop)?;
        let length = usize::from(packets.meta(slot).length);
        return if length > frame::limit(interfaces.row(by)) { Err(()) } else { Ok(()) };
    }
    let (meta, cell) = packets.parts(slot);
    tags::replace(meta, cell, tags, to.port, interfaces.row(to.port)).map_err(drop)
}

/// Addresses that no bridge sends on (IEEE 802.1Q table 8-1): 01-80-c2-00-00-0x.
#[inline]
fn is_reserved(mac: [u8; 6]) -> bool {
    mac[..5] == [0x01, 0x80, 0xc2, 0x00, 0x00] && mac[5] < 16
}
