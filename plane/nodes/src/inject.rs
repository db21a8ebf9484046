//! `inject`: packets from the host's side. With `Meta::transmit` set they are frames, ready to
//! leave, or, if `GROUP_ADDRESSED`, IP packets to a group of that interface's link, whose frames
//! are made here; without, IP packets that are routed in the table `Meta::vrf`, or, where that is
//! [`BEHIND_LABELS`], packets that begin with a label of this system's own.

use crate::arcs::OUT;
use crate::frame::{header, header_octets};
use crate::header::{IP4, IP6, TYPE_IP4, TYPE_IP6};
use crate::interfaces::{Input, Row as Link};
use crate::program::Mac;
use crate::view::Shared;
use graph::meta::{GROUP_ADDRESSED, HOSTED, OWN};
use graph::{Context, Edge, Node, Pool, Reason, Row, Slot};

/// No table: a packet goes on by its first label, as if it had come with it.
pub const BEHIND_LABELS: u32 = u32::MAX;

const TO_LOOKUP4: Edge = Edge(0);
const TO_LOOKUP6: Edge = Edge(1);
const TO_MPLS: Edge = Edge(2);
const NEITHER: Reason = Reason(0);
const NO_GROUP: Reason = Reason(1);
const NOT_ROUTED: Reason = Reason(2);
const TOO_LONG: Reason = Reason(3);
const REASONS: &[&str] = &[
    "injected packet is neither ip4 nor ip6",
    "injected packet is for no group",
    "injected packet is for the link of no routed interface",
    "injected packet is too long for the link",
];

/// The node.
pub struct Inject {
    shared: Shared,
}

impl Inject {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }
}

impl Node for Inject {
    fn row(&self) -> Row {
        Row::of("inject", &["ip4-lookup", "ip6-lookup", "mpls-input"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        for slot in batch {
            let version = cx.packets.bytes(*slot).first().map(|first| first >> 4);
            let octets = cx.packets.bytes(*slot).len();
            if cx.packets.meta(*slot).flags & HOSTED != 0 {
                self.shared.admitted.connections.sent(cx.packets.bytes(*slot), cx.now);
            }
            let meta = cx.packets.meta_mut(*slot);
            meta.flags |= OWN;
            if meta.transmit != 0 && meta.flags & GROUP_ADDRESSED != 0 {
                let link = interfaces.row(meta.transmit);
                match framed(*slot, link, cx.packets) {
                    Ok(()) => cx.next.start(OUT, &[*slot], cx.packets),
                    Err(why) => cx.next.drop(*slot, why),
                }
                continue;
            }
            match version {
                _ if meta.transmit != 0 => {
                    meta.l3 = meta.offset + header_octets(interfaces.row(meta.transmit));
                    cx.next.start(OUT, &[*slot], cx.packets);
                }
                _ if meta.vrf == BEHIND_LABELS => {
                    meta.vrf = 0;
                    cx.next.to(TO_MPLS, *slot);
                }
                Some(4) if octets >= IP4 => cx.next.to(TO_LOOKUP4, *slot),
                Some(6) if octets >= IP6 => cx.next.to(TO_LOOKUP6, *slot),
                _ => cx.next.drop(*slot, NEITHER),
            }
        }
    }
}

/// Makes the frame of a packet to a group of a link.
fn framed(slot: Slot, link: &Link, packets: &mut Pool) -> Result<(), Reason> {
    let packet = packets.bytes(slot);
    let (to, ethertype) = group(packet).ok_or(NO_GROUP)?;
    if link.input != Input::Routed {
        return Err(NOT_ROUTED);
    }
    if packet.len() > usize::from(link.mtu) {
        return Err(TOO_LONG);
    }
    let made = header(link, to, ethertype);
    packets.prepend(slot, made.len()).ok_or(TOO_LONG)?.copy_from_slice(&made);
    let meta = packets.meta_mut(slot);
    meta.l3 = meta.offset + header_octets(link);
    Ok(())
}

/// The MAC address and the EtherType of a packet to a group (RFC 1112 §6.4, RFC 2464 §7).
fn group(packet: &[u8]) -> Option<(Mac, u16)> {
    match packet.first()? >> 4 {
        4 if packet.len() >= IP4 && packet[16] & 0xf0 == 0xe0 => {
            Some(([1, 0, 0x5e, packet[17] & 0x7f, packet[18], packet[19]], TYPE_IP4))
        }
        6 if packet.len() >= IP6 && packet[24] == 0xff => {
            Some(([0x33, 0x33, packet[36], packet[37], packet[38], packet[39]], TYPE_IP6))
        }
        _ => None,
    }
}
