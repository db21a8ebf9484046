//! `ip6-error`: tells the sender of a packet what became of it (RFC 4443).

use crate::arcs::OUT;
use crate::frame;
use crate::header::{ICMP6, IP6, TYPE_IP6, address6, checksum, pseudo6, short, sum};
use crate::icmp::{Limiter, Message, OPTION, TOO_BIG};
use crate::ip4::TTL;
use crate::local::transport;
use crate::nd::came_from;
use crate::view::Shared;
use graph::meta::{GROUP_ADDRESSED, HOSTED, LINK_LOCAL, OWN};
use graph::{Context, Edge, Node, Pool, Reason, Row, Slot, Verdict};
use machine::narrow::{half, index};
use std::net::Ipv6Addr;

/// Octets of an error at most: the least MTU of IPv6 (RFC 4443 §2.4).
const ERROR_BYTES_MAX: usize = 1_280;
/// Octets of an ICMPv6 header.
const ICMP_BYTES: usize = 8;

const TO_LOOKUP: Verdict = Verdict::to(Edge(0));
const NOT_SAID: Verdict = Verdict::drop(Reason(0));
const LIMITED: Verdict = Verdict::drop(Reason(1));
const NO_ADDRESS: Verdict = Verdict::drop(Reason(2));
const NO_WAY_BACK: Verdict = Verdict::drop(Reason(3));
const REASONS: &[&str] = &[
    "ip6 error not due",
    "ip6 errors too many",
    "ip6 error without an address to speak from",
    "ip6 error for a link-local sender whose frame is not known",
];

/// The node.
pub struct Ip6Error {
    shared: Shared,
    limiter: Limiter,
}

impl Ip6Error {
    /// The node of one worker.
    #[must_use]
    pub fn new(shared: Shared) -> Self {
        Self { shared, limiter: Limiter::default() }
    }
}

impl Node for Ip6Error {
    fn row(&self) -> Row {
        Row::of("ip6-error", &["ip6-lookup"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let addresses = self.shared.addresses.read(cx.reader);
        let interfaces = self.shared.interfaces.read(cx.reader);
        for slot in batch {
            let meta = cx.packets.meta(*slot);
            let is_near = meta.flags & LINK_LOCAL != 0;
            let (interface, link) = (meta.interface, interfaces.row(meta.interface));
            let own = match meta.flags & HOSTED {
                0 if is_near => addresses.link_local(interface),
                0 => addresses.ipv6(interface),
                // The host takes no error from its own address: the receiver's stands for it.
                _ => Some(Ipv6Addr::from_bits(address6(cx.packets.bytes(*slot), 24))),
            };
            let sender = (address6(cx.packets.bytes(*slot), 8) >> 64) as u64;
            let verdict = match own {
                _ if !is_due(cx.packets, *slot) => NOT_SAID,
                _ if !self.limiter.admits(half(sender >> 32 ^ sender), cx.now) => LIMITED,
                None => NO_ADDRESS,
                Some(own) if is_near => {
                    let mac = came_from(cx.packets, *slot, link);
                    let verdict = written(*slot, own, cx.packets);
                    let frame = mac.map(|mac| frame::header(link, mac, TYPE_IP6));
                    match frame.filter(|_| verdict == TO_LOOKUP) {
                        Some(header) if back(*slot, interface, &header, cx.packets) => {
                            cx.next.start(OUT, &[*slot], cx.packets);
                            continue;
                        }
                        _ => NO_WAY_BACK,
                    }
                }
                Some(own) => written(*slot, own, cx.packets),
            };
            cx.next.dispatch(&[verdict], &[*slot]);
        }
    }
}

/// No error about an error, from nobody or a group, or about what came to many (but that a
/// packet is too big, and an option that asks for it).
fn is_due(packets: &Pool, slot: Slot) -> bool {
    let (packet, meta) = (packets.bytes(slot), packets.meta(slot));
    let message = Message::noted(meta).0;
    let Some(header) = packet.first_chunk::<IP6>() else { return false };
    let source = address6(header, 8);
    let is_error = transport(packet).is_some_and(|found| {
        found.protocol == ICMP6
            && !found.fragment
            && packet.get(found.at).is_none_or(|kind| *kind < 128 || *kind == 137)
    });
    let to_many = meta.flags & GROUP_ADDRESSED != 0 || header[24] == 0xff;
    (meta.flags & OWN == 0 || meta.flags & HOSTED != 0)
        && source != 0
        && header[8] != 0xff
        && !is_error
        && (!to_many || message == TOO_BIG || message == OPTION)
}

fn written(slot: Slot, own: Ipv6Addr, packets: &mut Pool) -> Verdict {
    let (message, argument) = Message::noted(packets.meta(slot));
    let (kind, code) = message.icmp6();
    let sender = address6(packets.bytes(slot), 8);
    let meta = packets.meta_mut(slot);
    meta.length = meta.length.min(short(ERROR_BYTES_MAX - IP6 - ICMP_BYTES));
    meta.flags = meta.flags & !HOSTED | OWN;
    meta.passes = 0;
    let Some(_) = packets.prepend(slot, IP6 + ICMP_BYTES) else { return NOT_SAID };
    let packet = packets.bytes_mut(slot);
    let payload = packet.len() - IP6;
    packet[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, ICMP6, TTL]);
    packet[4..6].copy_from_slice(&index(payload).to_be_bytes());
    packet[8..24].copy_from_slice(&own.octets());
    packet[24..40].copy_from_slice(&sender.to_be_bytes());
    packet[40..44].copy_from_slice(&[kind, code, 0, 0]);
    packet[44..48].copy_from_slice(&argument.to_be_bytes());
    let check = checksum(sum(&packet[IP6..], pseudo6(&packet[8..40], payload, ICMP6)));
    packet[42..44].copy_from_slice(&check.to_be_bytes());
    TO_LOOKUP
}

/// Puts the header of its frame before an error for a link-local sender: the routes do not know
/// it, and its way is back by the interface that the packet came in by (RFC 4007 §9).
fn back(slot: Slot, interface: u32, header: &[u8], packets: &mut Pool) -> bool {
    let l3 = packets.meta(slot).offset;
    let Some(room) = packets.prepend(slot, header.len()) else { return false };
    room.copy_from_slice(header);
    let meta = packets.meta_mut(slot);
    (meta.transmit, meta.l3) = (interface, l3);
    true
}
