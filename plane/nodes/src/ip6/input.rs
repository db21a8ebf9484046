//! `ip6-input`: the checks of an IPv6 header (RFC 8200 §3, RFC 4291 §2.5 to 2.7), then the
//! interface's features.

use crate::addresses::Addresses;
use crate::arcs::IP6_IN;
use crate::header::{IP6, address6, short};
use crate::view::Shared;
use graph::meta::{GROUP_ADDRESSED, LINK_LOCAL, LINK_SCOPED};
use graph::{Context, Edge, Meta, Node, Reason, Row, Slot, VECTOR_MAX, Verdict};
use packet::notes;
use std::net::Ipv6Addr;

const TO_OPTIONS: Verdict = Verdict::to(Edge(0));
/// Not an edge but the arc.
const ONWARD: Verdict = Verdict::to(Edge(1));

const SHORT: Reason = Reason(0);
const VERSION: Reason = Reason(1);
const LENGTH: Reason = Reason(2);
const SOURCE: Reason = Reason(3);
const DESTINATION: Reason = Reason(4);
const GROUP: Reason = Reason(5);
const LIMIT: Reason = Reason(6);
const NEIGHBOUR: Reason = Reason(7);
const REASONS: &[&str] = &[
    "ip6 packet too short",
    "ip6 version",
    "ip6 length",
    "ip6 martian source",
    "ip6 martian destination",
    "ip6 multicast not listened to",
    "ip6 hop limit zero",
    "ip6 link-local for somebody else",
];

/// The node.
pub struct Ip6Input {
    shared: Shared,
}

impl Ip6Input {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }
}

impl Node for Ip6Input {
    fn row(&self) -> Row {
        Row::of("ip6-input", &["ip6-options"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let addresses = self.shared.addresses.read(cx.reader);
        let mut kept = [Slot(0); VECTOR_MAX];
        let mut count = 0;
        for slot in batch {
            let (meta, cell) = cx.packets.parts(*slot);
            let packet = &cell[usize::from(meta.offset)..];
            let header = packet.first_chunk::<IP6>().filter(|_| usize::from(meta.length) >= IP6);
            let verdict = match header {
                None => Verdict::drop(SHORT),
                Some(header) if is_sound(meta, header) => ONWARD,
                Some(header) => explained(meta, header, addresses),
            };
            if verdict == ONWARD {
                kept[count % VECTOR_MAX] = *slot;
                count += 1;
            } else {
                cx.next.dispatch(&[verdict], &[*slot]);
            }
        }
        cx.next.start(IP6_IN, &kept[..count], cx.packets);
    }

    fn trace(&self, packets: &graph::Pool, slot: Slot, note: &mut String) {
        notes::ip6(packets.bytes(slot), note);
    }
}

/// Most packets pass all checks at once: from a global address (2000::/3 or fc00::/7) to one.
#[inline]
fn is_sound(meta: &mut Meta, header: &[u8; IP6]) -> bool {
    let payload = u16::from_be_bytes([header[4], header[5]]);
    let is_sound = (header[0] >> 4 == 6)
        & (usize::from(payload) + IP6 <= usize::from(meta.length))
        & is_global(header[8])
        & is_global(header[24])
        & (header[6] != 0)
        & (header[7] != 0);
    if is_sound {
        meta.length = payload + short(IP6);
    }
    is_sound
}

#[inline]
const fn is_global(first: u8) -> bool {
    (first & 0xe0 == 0x20) | (first & 0xfe == 0xfc)
}

/// In fe80::/10.
const fn is_link_local(address: u128) -> bool {
    address >> 118 == 0xfe80 >> 6
}

/// What is wrong or rare with a packet, and what then becomes of it.
#[inline(never)]
fn explained(meta: &mut Meta, header: &[u8; IP6], addresses: &Addresses) -> Verdict {
    let payload = u16::from_be_bytes([header[4], header[5]]);
    let (source, destination) = (address6(header, 8), address6(header, 24));
    match () {
        () if header[0] >> 4 != 6 => Verdict::drop(VERSION),
        () if usize::from(payload) + IP6 > usize::from(meta.length) => Verdict::drop(LENGTH),
        () if header[8] == 0xff || source == 1 || source == 0 && header[24] != 0xff => {
            Verdict::drop(SOURCE)
        }
        () if destination <= 1 => Verdict::drop(DESTINATION),
        () if header[7] == 0 => Verdict::drop(LIMIT),
        () => {
            meta.length = payload + short(IP6);
            let is_bound = is_link_local(source) || source == 0;
            meta.flags |= if is_bound { LINK_LOCAL } else { 0 };
            scoped(meta, header, destination, addresses)
        }
    }
}

/// A sound packet by the scope of its destination.
fn scoped(meta: &mut Meta, header: &[u8; IP6], to: u128, addresses: &Addresses) -> Verdict {
    let interface = meta.interface;
    match () {
        () if header[24] == 0xff && addresses.listens(interface, to.into()) => {
            meta.flags |= GROUP_ADDRESSED | LINK_SCOPED;
            ONWARD
        }
        () if header[24] == 0xff => Verdict::drop(GROUP),
        () if is_link_local(to) && addresses.has(interface, Ipv6Addr::from(to).into()) => {
            meta.flags |= LINK_SCOPED;
            ONWARD
        }
        () if is_link_local(to) => Verdict::drop(NEIGHBOUR),
        () if header[6] == 0 => TO_OPTIONS,
        () => ONWARD,
    }
}
