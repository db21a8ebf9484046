//! `ethernet-input`: from port, VLAN tags and EtherType to the interface and the protocol's node.
//!
//! Routed packets leave it starting at their network header; frames of bridges and cross-connects
//! keep their Ethernet header and their tags, of which `Row::tags` are the interface's own. So do
//! frames of IEEE 802.2 of a routed interface, the number of whose tags is in `Meta::words[0]`.

use crate::arcs::{BRIDGE_IN, CONNECT_IN};
use crate::header::{
    ETHERNET, LENGTH_MAX, TAG, TYPE_ARP, TYPE_IP4, TYPE_IP6, TYPE_MPLS, TYPE_SERVICE, TYPE_VLAN,
    short, word,
};
use crate::interfaces::{Input, InterfaceCounters, Interfaces, Row as Link};
use crate::view::Shared;
use graph::meta::GROUP_ADDRESSED;
use graph::{Context, Edge, Meta, Node, Reason, Row, Slot, VECTOR_MAX, Verdict};

const TO_IP4: Verdict = Verdict::to(Edge(0));
const TO_IP6: Verdict = Verdict::to(Edge(1));
const TO_ARP: Verdict = Verdict::to(Edge(2));
const TO_MPLS: Verdict = Verdict::to(Edge(3));
const TO_LLC: Verdict = Verdict::to(Edge(4));
/// Not an edge but the arc.
const TO_BRIDGE: Verdict = Verdict::to(Edge(5));
/// Not an edge but the arc.
const TO_CONNECT: Verdict = Verdict::to(Edge(6));

const SHORT: Verdict = Verdict::drop(Reason(0));
const NO_INTERFACE: Verdict = Verdict::drop(Reason(1));
const NOT_FOR_US: Verdict = Verdict::drop(Reason(2));
const PROTOCOL: Verdict = Verdict::drop(Reason(3));
const REASONS: &[&str] =
    &["frame too short", "no interface", "not our mac address", "protocol not taken"];

/// How far ahead packets are asked for.
const AHEAD: usize = 8;

/// The node.
pub struct EthernetInput {
    shared: Shared,
}

impl EthernetInput {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }
}

/// Counts of a run of packets of one interface.
struct Run<'a> {
    counters: &'a InterfaceCounters,
    interface: u32,
    packets: u64,
    octets: u64,
}

impl Run<'_> {
    #[inline]
    fn add(&mut self, interface: u32, octets: u16) {
        if interface != self.interface {
            self.end();
            self.interface = interface;
        }
        self.packets += 1;
        self.octets += u64::from(octets);
    }

    #[inline]
    fn end(&mut self) {
        self.counters.received(self.interface, self.packets, self.octets);
        (self.packets, self.octets) = (0, 0);
    }
}

impl Node for EthernetInput {
    fn row(&self) -> Row {
        let next = &["ip4-input", "ip6-input", "arp-input", "mpls-input", "llc-input"];
        Row::of("ethernet-input", next, REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        let mut verdicts = [NO_INTERFACE; VECTOR_MAX];
        let counters = &*self.shared.counters;
        let mut run = Run { counters, interface: 0, packets: 0, octets: 0 };
        let mut known = (u16::MAX, 0, interfaces.row(0));
        let mut vlans: &[u32] = &[];
        for (at, slot) in batch.iter().enumerate() {
            if let Some(later) = batch.get(at + AHEAD) {
                cx.packets.prefetch(*later);
            }
            let (meta, cell) = cx.packets.parts(*slot);
            if meta.port != known.0 {
                let interface = interfaces.untagged(meta.port);
                known = (meta.port, interface, interfaces.row(interface));
                vlans = interfaces.vlans(meta.port);
            }
            let offset = usize::from(meta.offset);
            let header = cell.get(offset..).and_then(|packet| packet.first_chunk::<ETHERNET>());
            let Some(header) = header.filter(|_| usize::from(meta.length) >= ETHERNET) else {
                verdicts[at] = SHORT;
                continue;
            };
            let ethertype = u16::from_be_bytes([header[12], header[13]]);
            let plain = !matches!(ethertype, TYPE_VLAN | TYPE_SERVICE);
            if plain && known.2.input == Input::Routed {
                let octets = meta.length;
                meta.interface = known.1;
                verdicts[at] = routed(meta, known.2, header, ethertype, 0);
                run.add(known.1, octets);
            } else if let Some((interface, verdict)) = tagged(meta, &cell[offset..], vlans) {
                verdicts[at] = verdict;
                run.add(interface, meta.length);
            } else {
                let octets = meta.length;
                verdicts[at] = other(meta, interfaces, &cell[offset..]);
                run.add(meta.interface, octets);
            }
        }
        run.end();
        let verdicts = &verdicts[..batch.len()];
        let same = |one: Verdict| verdicts.iter().all(|verdict| *verdict == one);
        if same(TO_CONNECT) {
            cx.next.start(CONNECT_IN, batch, cx.packets);
        } else if same(TO_BRIDGE) {
            cx.next.start(BRIDGE_IN, batch, cx.packets);
        } else if verdicts.iter().all(|verdict| *verdict != TO_BRIDGE && *verdict != TO_CONNECT) {
            cx.next.dispatch(verdicts, batch);
        } else {
            spread(verdicts, batch, cx);
        }
    }
}

/// Frames that are not routed go along arcs of their own. Without a branch: what comes next is
/// anybody's guess.
fn spread(verdicts: &[Verdict], batch: &[Slot], cx: &mut Context<'_>) {
    let mut bridged = [Slot(0); VECTOR_MAX];
    let mut connected = [Slot(0); VECTOR_MAX];
    let mut others = [(TO_IP4, Slot(0)); VECTOR_MAX];
    let (mut bridges, mut connects, mut rest) = (0, 0, 0);
    for (verdict, slot) in verdicts.iter().zip(batch) {
        let (is_bridged, is_connected) = (*verdict == TO_BRIDGE, *verdict == TO_CONNECT);
        bridged[bridges % VECTOR_MAX] = *slot;
        connected[connects % VECTOR_MAX] = *slot;
        others[rest % VECTOR_MAX] = (*verdict, *slot);
        bridges += usize::from(is_bridged);
        connects += usize::from(is_connected);
        rest += usize::from(!is_bridged & !is_connected);
    }
    cx.next.start(BRIDGE_IN, &bridged[..bridges], cx.packets);
    cx.next.start(CONNECT_IN, &connected[..connects], cx.packets);
    for (verdict, slot) in &others[..rest] {
        cx.next.dispatch(&[*verdict], &[*slot]);
    }
}

/// A packet of a routed interface: for us, or for all; its network header is next.
#[inline]
fn routed(
    meta: &mut Meta,
    link: &Link,
    header: &[u8; ETHERNET],
    ethertype: u16,
    tags: u8,
) -> Verdict {
    if !is_ours(header, link) {
        if header[0] & 1 == 0 {
            return NOT_FOR_US;
        }
        meta.flags |= GROUP_ADDRESSED;
    }
    let octets = short(ETHERNET) + u16::from(tags) * short(TAG);
    meta.vrf = link.vrf;
    meta.offset += octets;
    meta.length -= octets;
    meta.l3 = meta.offset;
    match ethertype {
        TYPE_IP4 => TO_IP4,
        TYPE_IP6 => TO_IP6,
        TYPE_ARP => TO_ARP,
        TYPE_MPLS => TO_MPLS,
        0..=LENGTH_MAX => {
            meta.offset -= octets;
            meta.length += octets;
            meta.words[0] = tags.into();
            TO_LLC
        }
        _ => PROTOCOL,
    }
}

/// The destination is the interface's address.
#[inline]
fn is_ours(header: &[u8; ETHERNET], link: &Link) -> bool {
    const MAC: u64 = 0xffff_ffff_ffff;
    let first = u64::from_le_bytes(*header.first_chunk().expect("within the header"));
    first & MAC == link.address
}

/// A frame of a cross-connect or bridge with the one tag that its interface has: most of those.
#[inline]
fn tagged(meta: &mut Meta, frame: &[u8], vlans: &[u32]) -> Option<(u32, Verdict)> {
    let header = frame.first_chunk::<{ ETHERNET + TAG }>()?;
    let kind = u32::from_be_bytes([header[12], header[13], header[16], header[17]]);
    let is_single = kind >> 16 == u32::from(TYPE_VLAN)
        && kind & 0xffff != u32::from(TYPE_VLAN)
        && kind & 0xffff != u32::from(TYPE_SERVICE)
        && usize::from(meta.length) >= ETHERNET + TAG;
    let control = u16::from_be_bytes([header[14], header[15]]);
    let entry = *vlans.get(usize::from(control & 0xfff)).filter(|_| is_single)?;
    let (interface, input) = Interfaces::plain(entry);
    let verdict = match input {
        Input::CrossConnect => TO_CONNECT,
        Input::Bridged => TO_BRIDGE,
        Input::Routed | Input::Nothing => return None,
    };
    meta.interface = interface;
    (meta.class, meta.colour) = ((control >> 13) as u8, (control >> 12) as u8 & 1);
    Some((interface, verdict))
}

/// Frames with tags, and those of interfaces that do not route.
#[inline(never)]
fn other(meta: &mut Meta, interfaces: &Interfaces, frame: &[u8]) -> Verdict {
    let length = usize::from(meta.length);
    let is_tag =
        |at: usize| length >= at + 2 + TAG && matches!(word(frame, at), TYPE_VLAN | TYPE_SERVICE);
    let vlan = |at: usize| word(frame, at + 2) & 0xfff;
    let (interface, tags) = match (is_tag(12), is_tag(12) && is_tag(12 + TAG)) {
        (false, _) => (interfaces.untagged(meta.port), 0),
        // Priority tags: VLAN 0 is no VLAN.
        (true, false) if vlan(12) == 0 => (interfaces.untagged(meta.port), 1),
        (true, false) => interfaces.tagged(meta.port, vlan(12), None),
        (true, true) => interfaces.tagged(meta.port, vlan(12), Some(vlan(12 + TAG))),
    };
    let link = interfaces.row(interface);
    meta.interface = interface;
    if tags > 0 {
        // The priority of the outer tag is the class until somebody knows better.
        let control = word(frame, 14);
        (meta.class, meta.colour) = ((control >> 13) as u8, (control >> 12) as u8 & 1);
    }
    let header = frame.first_chunk::<ETHERNET>();
    match (link.input, header) {
        (Input::CrossConnect, _) => TO_CONNECT,
        (Input::Bridged, _) => TO_BRIDGE,
        (Input::Routed, Some(header)) => {
            let ethertype = word(frame, 12 + usize::from(tags) * TAG);
            routed(meta, link, header, ethertype, tags)
        }
        _ => NO_INTERFACE,
    }
}
