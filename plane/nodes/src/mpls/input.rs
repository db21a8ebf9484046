//! `mpls-input`: the outermost label says what becomes of a packet (RFC 3031 §3.10, RFC 3032).
//!
//! ```text
//!   label → forward   swap, push or pop by the hop's labels ──────→ arc out
//!         → vrf       what is below is looked up in a table ──────→ ip4-input, ip6-input
//!         → bridge    a frame of a pseudowire (RFC 4448) ─────────→ bridge-input
//!         → interface a frame of a cross-connect ─────────────────→ arc out
//!         → pop       explicit null and the like: the next label ─┘ (again)
//! ```
//! A packet comes with `Meta::offset` at its first label.

use super::entry::{ENTROPY_INDICATOR, ENTRY, Entry, IMPLICIT_NULL, ROUTER_ALERT};
use super::hash;
use super::push::{LABELLED, Seal, before, seal};
use super::table::{self, Action, CONTROL_WORD, FLOW_LABEL, Labels, SHORT_PIPE, UNIFORM};
use super::ttl;
use crate::arcs::OUT;
use crate::header::{TYPE_IP4, TYPE_IP6, TYPE_MPLS};
use crate::interfaces::{Input, Interfaces};
use crate::l2::{frame, tags};
use crate::program::Class;
use crate::protection::{Asker, Standing};
use crate::qos::marking::Markings;
use crate::view::Shared;
use ::table::epoch::Reader;
use ::table::hop::{HopLookups, Kind};
use graph::meta::{OWN, PUNTED};
use graph::{Context, Edge, Meta, Node, Pool, Reason, Row, Slot};
use std::sync::Arc;

/// Labels that come off a packet in one node at most.
const POPS_MAX: usize = 8;

const TO_IP4: Edge = Edge(0);
const TO_IP6: Edge = Edge(1);
const TO_BRIDGE: Edge = Edge(2);
const TO_EXPIRED: Edge = Edge(3);

const SHORT: Reason = Reason(0);
const UNKNOWN: Reason = Reason(1);
const NO_MPLS: Reason = Reason(2);
const NOT_BOTTOM: Reason = Reason(3);
const NO_HOP: Reason = Reason(4);
const TOO_LONG: Reason = Reason(5);
const TOO_DEEP: Reason = Reason(6);
const PAYLOAD: Reason = Reason(7);
const RESERVED: Reason = Reason(8);
const DOWN: Reason = Reason(9);
const POLICED: Reason = Reason(10);
const SERVICE: Reason = Reason(11);

/// What becomes of a packet.
enum Outcome {
    /// It leaves by `Meta::transmit`.
    Out,
    To(Edge),
    Punt,
    Drop(Reason),
}

/// The node.
pub struct MplsInput {
    shared: Shared,
    labels: Arc<Labels>,
    out: Vec<Slot>,
}

impl MplsInput {
    /// The node of one worker.
    pub fn new(shared: Shared, labels: Arc<Labels>) -> Self {
        Self { shared, labels, out: Vec::new() }
    }

    /// For the control process, as many as its protection lets pass.
    #[cold]
    fn punt(&self, slot: Slot, cx: &mut Context<'_>) {
        let rows = self.shared.protection.read(cx.reader);
        let label = Entry::at(cx.packets.bytes(slot)).unwrap_or_default().label();
        let (class, interface) = (Class::Exceptions, cx.packets.meta(slot).interface);
        let standing = Standing::Far;
        let asker = Asker { class, source: label.into(), interface, standing };
        if !self.shared.admitted.admits(rows, asker, cx.now) {
            return cx.next.drop(slot, POLICED);
        }
        let meta = cx.packets.meta_mut(slot);
        meta.words[0] = Class::Exceptions as u32;
        meta.flags |= PUNTED;
        cx.out.punt(slot);
    }
}

impl Node for MplsInput {
    fn row(&self) -> Row {
        Row::of(
            "mpls-input",
            &["ip4-input", "ip6-input", "bridge-input", "mpls-expired"],
            &[
                "cut short",
                "unknown label",
                "interface takes no labels",
                "more labels below a service's label",
                "no way on",
                "longer than the interface sends",
                "too many labels come off",
                "payload is not what its label says",
                "label is reserved",
                "interface is down",
                "policed: exceptions",
                "label of a service by an interface that is not the core's",
            ],
        )
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            if let Some(entry) = Entry::at(cx.packets.bytes(*slot)) {
                self.labels.prefetch(entry.label());
            }
        }
        let interfaces = Arc::clone(&self.shared.interfaces);
        let interfaces = interfaces.read(cx.reader);
        let markings = Arc::clone(&self.shared.markings);
        let markings = markings.read(cx.reader);
        self.out.clear();
        for slot in batch {
            let (hops, labels) = (&*self.shared.hops, &*self.labels);
            let step = Step { hops, labels, markings, interfaces, reader: cx.reader };
            match step.label(cx.packets, *slot) {
                Outcome::Out => self.out.push(*slot),
                Outcome::To(edge) => cx.next.to(edge, *slot),
                Outcome::Punt => self.punt(*slot, cx),
                Outcome::Drop(reason) => cx.next.drop(*slot, reason),
            }
        }
        cx.next.start(OUT, &self.out, cx.packets);
    }

    fn trace(&self, packets: &Pool, slot: Slot, note: &mut String) {
        use std::fmt::Write;
        let meta = packets.meta(slot);
        let said = |entry: Entry| format!("label {} ttl {}", entry.label(), entry.ttl());
        let off = usize::from(meta.offset).checked_sub(ENTRY);
        let off = off.and_then(|at| Entry::at(packets.cell(slot).get(at..)?));
        let first = Entry::at(packets.bytes(slot));
        // What was forwarded has a frame's header there, and a frame has no network header. Before
        // a first label stands its EtherType, 0x8847, which has no bottom of the stack.
        let _ = match (meta.l3, off.filter(|entry| entry.is_bottom()), first) {
            (0, ..) if meta.flags & frame::FROM_PSEUDOWIRE != 0 => write!(note, "frame"),
            (0, ..) => write!(note, "out {}", meta.transmit),
            (_, Some(off), _) => write!(note, "vrf {} last off: {}", meta.vrf, said(off)),
            (_, None, Some(first)) => write!(note, "now first: {}", said(first)),
            (_, None, None) => Ok(()),
        };
    }
}

struct Step<'a> {
    hops: &'a HopLookups,
    labels: &'a Labels,
    markings: &'a Markings,
    interfaces: &'a Interfaces,
    reader: &'a Reader,
}

impl Step<'_> {
    fn label(&self, packets: &mut Pool, slot: Slot) -> Outcome {
        let link = self.interfaces.row(packets.meta(slot).interface);
        if !link.mpls && packets.meta(slot).flags & OWN == 0 {
            return Outcome::Drop(NO_MPLS);
        }
        for _ in 0..POPS_MAX {
            let Some(entry) = Entry::at(packets.bytes(slot)) else { return Outcome::Drop(SHORT) };
            let row = self.labels.row(entry.label());
            if link.transit_only && is_of_service(row.action(), entry) {
                return Outcome::Drop(SERVICE);
            }
            if entry.ttl() <= 1 && row.action() != Action::Pop {
                return Outcome::To(TO_EXPIRED);
            }
            if !row.has(SHORT_PIPE) {
                packets.meta_mut(slot).class = entry.class();
            }
            match row.action() {
                Action::Forward => {
                    self.classify(packets.meta_mut(slot));
                    return self.forward(packets, slot, entry, row);
                }
                Action::Vrf => return vrf(packets, slot, entry, row),
                Action::Bridge | Action::Interface => {
                    self.classify(packets.meta_mut(slot));
                    return self.frame(packets, slot, entry, row);
                }
                Action::Pop => {
                    if let Some(outcome) = pop(packets, slot, entry, row) {
                        return outcome;
                    }
                }
                Action::Unknown => return unknown(packets, slot, entry),
            }
        }
        Outcome::Drop(TOO_DEEP)
    }

    /// What does not become IP here passes no `classify`: the traffic class of its label decides.
    fn classify(&self, meta: &mut Meta) {
        if let Some((class, colour)) = self.markings.by_priority(meta.interface, meta.class) {
            (meta.class, meta.colour) = (class, meta.colour.max(colour));
        }
    }

    /// The label comes off, and the hop's own go on: one is a swap, none is penultimate popping.
    fn forward(&self, packets: &mut Pool, slot: Slot, entry: Entry, row: table::Row) -> Outcome {
        let flow = hash::of_stack(packets.bytes(slot));
        let line = self.hops.resolve(self.reader, row.argument(), flow);
        if line.kind != Kind::Rewrite {
            return Outcome::Drop(NO_HOP);
        }
        packets.advance(slot, ENTRY);
        let out = self.interfaces.row(line.interface);
        if out.input == Input::Nothing {
            return Outcome::Drop(DOWN);
        }
        let (meta, cell) = packets.parts(slot);
        (meta.l3, meta.transmit) = (0, line.interface);
        let ttl = entry.ttl() - 1;
        let done = if line.next & LABELLED != 0 {
            let (class, bottom) = (entry.class(), entry.is_bottom());
            seal(meta, cell, line, Seal { ttl, swapped: true, class, bottom, hash: flow })
        } else {
            let range =
                usize::from(meta.offset)..usize::from(meta.offset) + usize::from(meta.length);
            let below = &mut cell[range];
            if row.has(UNIFORM) {
                ttl::lower(below, entry.is_bottom(), ttl);
            }
            let Some(kind) = kind_below(below, entry.is_bottom()) else {
                return Outcome::Drop(PAYLOAD);
            };
            let rewrite = before(meta, cell, line).and_then(<[u8]>::last_chunk_mut::<2>);
            rewrite.map(|octets| *octets = kind.to_be_bytes()).is_some()
        };
        if usize::from(meta.length) > frame::limit(out) {
            return Outcome::Drop(TOO_LONG);
        }
        if done { Outcome::Out } else { Outcome::Drop(SHORT) }
    }

    /// A frame of a pseudowire: below its label may be a flow label, then a control word.
    fn frame(&self, packets: &mut Pool, slot: Slot, entry: Entry, row: table::Row) -> Outcome {
        packets.advance(slot, ENTRY);
        let mut bottom = entry.is_bottom() || past_entropy(packets, slot);
        if !bottom && row.has(FLOW_LABEL) {
            let Some(flow) = Entry::at(packets.bytes(slot)) else { return Outcome::Drop(SHORT) };
            bottom = flow.is_bottom();
            packets.advance(slot, ENTRY);
        }
        if !bottom {
            return Outcome::Drop(NOT_BOTTOM);
        }
        if row.has(CONTROL_WORD) {
            match packets.bytes(slot).first().map(|first| first >> 4) {
                Some(0) if packets.advance(slot, ENTRY) => {}
                // An associated channel (RFC 4385 §5): for the control process.
                Some(1) => return Outcome::Punt,
                _ => return Outcome::Drop(PAYLOAD),
            }
        }
        if usize::from(packets.meta(slot).length) < frame::HEADER {
            return Outcome::Drop(SHORT);
        }
        let meta = packets.meta_mut(slot);
        meta.l3 = 0;
        if row.action() == Action::Bridge {
            meta.words[0] = row.argument();
            meta.flags |= frame::FROM_PSEUDOWIRE;
            return Outcome::To(TO_BRIDGE);
        }
        let (to, out) = (row.argument(), self.interfaces.row(row.argument()));
        let (meta, cell) = packets.parts(slot);
        match tags::replace(meta, cell, 0, to, out) {
            Ok(()) => Outcome::Out,
            Err(frame::Refused::Down) => Outcome::Drop(DOWN),
            Err(frame::Refused::Length) => Outcome::Drop(TOO_LONG),
        }
    }
}

/// Whether a label leads into what only routers of the core may send to: something of this router,
/// or of another one, where labels below are that one's.
const fn is_of_service(action: Action, entry: Entry) -> bool {
    match action {
        Action::Vrf | Action::Bridge | Action::Interface => true,
        Action::Forward => !entry.is_bottom(),
        Action::Pop | Action::Unknown => false,
    }
}

/// The EtherType of what a label leaves: labels still, or IP of either kind.
fn kind_below(octets: &[u8], bottom: bool) -> Option<u16> {
    match (bottom, octets.first()? >> 4) {
        (false, _) => Some(TYPE_MPLS),
        (true, 4) => Some(TYPE_IP4),
        (true, 6) => Some(TYPE_IP6),
        _ => None,
    }
}

/// The payload of a VPN's label is IP, looked up in the VPN's table.
fn vrf(packets: &mut Pool, slot: Slot, entry: Entry, row: table::Row) -> Outcome {
    packets.advance(slot, ENTRY);
    if !entry.is_bottom() && !past_entropy(packets, slot) {
        return Outcome::Drop(NOT_BOTTOM);
    }
    if row.has(UNIFORM) {
        // The router decrements what it finds.
        ttl::lower(packets.bytes_mut(slot), true, entry.ttl());
    }
    packets.meta_mut(slot).vrf = row.argument();
    to_ip(packets, slot)
}

/// An indicator and its entropy label below the last label that means something come off with it
/// (RFC 6790 §4.1); false: there are none.
fn past_entropy(packets: &mut Pool, slot: Slot) -> bool {
    let octets = packets.bytes(slot);
    let is_indicator = Entry::at(octets).is_some_and(|it| it.label() == ENTROPY_INDICATOR);
    let is_last = octets.get(ENTRY..).and_then(Entry::at).is_some_and(|it| it.is_bottom());
    is_indicator && is_last && packets.advance(slot, 2 * ENTRY)
}

fn to_ip(packets: &mut Pool, slot: Slot) -> Outcome {
    let first = packets.bytes(slot).first().map(|first| first >> 4);
    let meta = packets.meta_mut(slot);
    meta.l3 = meta.offset;
    match first {
        Some(4) => Outcome::To(TO_IP4),
        Some(6) => Outcome::To(TO_IP6),
        _ => Outcome::Drop(PAYLOAD),
    }
}

/// The label means nothing here; `None`: there is another below.
fn pop(packets: &mut Pool, slot: Slot, entry: Entry, row: table::Row) -> Option<Outcome> {
    packets.advance(slot, ENTRY);
    let bottom = entry.is_bottom();
    if row.has(UNIFORM) {
        ttl::lower(packets.bytes_mut(slot), bottom, entry.ttl());
    }
    if bottom { Some(to_ip(packets, slot)) } else { None }
}

fn unknown(packets: &mut Pool, slot: Slot, entry: Entry) -> Outcome {
    match entry.label() {
        ROUTER_ALERT => Outcome::Punt,
        IMPLICIT_NULL => Outcome::Drop(RESERVED),
        // The indicator and its entropy label were below a label that ended here.
        ENTROPY_INDICATOR if !entry.is_bottom() && packets.advance(slot, 2 * ENTRY) => {
            let octets = packets.meta(slot).offset as usize - ENTRY;
            let entropy = Entry::at(&packets.cell(slot)[octets..]).unwrap_or_default();
            match entropy.is_bottom() {
                true => to_ip(packets, slot),
                false => Outcome::Drop(NOT_BOTTOM),
            }
        }
        0..16 => Outcome::Drop(RESERVED),
        _ => Outcome::Drop(UNKNOWN),
    }
}
