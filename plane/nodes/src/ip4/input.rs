//! `ip4-input`: the checks of RFC 1812 §5.2.2 and §5.3.7, then the interface's features. What asks
//! for the end of a path of labels has come there, whatever host it is for (RFC 8029 §4.4), and
//! passes the same features.

use crate::arcs::IP4_IN;
use crate::header::{IP4, checksum, sum, sum_ip4, word};
use crate::mpls::echo;
use graph::meta::{GROUP_ADDRESSED, LINK_LOCAL, LINK_SCOPED};
use graph::{Context, Edge, Meta, Node, Reason, Row, Slot, VECTOR_MAX, Verdict};
use packet::notes;

const TO_OPTIONS: Edge = Edge(0);

const SHORT: Reason = Reason(0);
const VERSION: Reason = Reason(1);
const LENGTH: Reason = Reason(2);
const CHECKSUM: Reason = Reason(3);
const SOURCE: Reason = Reason(4);
const DESTINATION: Reason = Reason(5);
const GROUP: Reason = Reason(6);
const TTL: Reason = Reason(7);
const GROUP_TO_ONE: Reason = Reason(8);
const REASONS: &[&str] = &[
    "ip4 packet too short",
    "ip4 version",
    "ip4 length",
    "ip4 checksum",
    "ip4 martian source",
    "ip4 martian destination",
    "ip4 multicast not routed",
    "ip4 ttl zero",
    "ip4 group of the link in a frame to one",
];

/// The node.
#[derive(Default)]
pub struct Ip4Input;

/// What most packets are: they go along the arc.
const ONWARD: Verdict = Verdict::to(Edge(1));

impl Node for Ip4Input {
    fn row(&self) -> Row {
        Row::of("ip4-input", &["ip4-options"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let mut kept = [Slot(0); VECTOR_MAX];
        let mut count = 0;
        for slot in batch {
            let (meta, cell) = cx.packets.parts(*slot);
            let packet = &cell[usize::from(meta.offset)..];
            let verdict = match packet.first_chunk::<IP4>() {
                Some(header) if usize::from(meta.length) >= IP4 => checked(meta, header),
                _ => Verdict::drop(SHORT),
            };
            if verdict == ONWARD {
                kept[count % VECTOR_MAX] = *slot;
                count += 1;
            } else {
                let is_rare = verdict == Verdict::to(TO_OPTIONS);
                let verdict = if is_rare { explained(meta, packet) } else { verdict };
                match verdict == ONWARD {
                    true => cx.next.start(IP4_IN, &[*slot], cx.packets),
                    false => cx.next.dispatch(&[verdict], &[*slot]),
                }
            }
        }
        cx.next.start(IP4_IN, &kept[..count], cx.packets);
    }

    fn trace(&self, packets: &graph::Pool, slot: Slot, note: &mut String) {
        notes::ip4(packets.bytes(slot), note);
    }
}

/// Most packets pass all checks at once; the others are [`explained`].
#[inline]
fn checked(meta: &mut Meta, header: &[u8; IP4]) -> Verdict {
    let total = u16::from_be_bytes([header[2], header[3]]);
    let (source, destination) = (header[12], header[16]);
    let is_sound = (header[0] == 0x45)
        & (sum_ip4(header) == 0xffff)
        & (usize::from(total) >= IP4)
        & (total <= meta.length)
        & is_ordinary(source)
        & is_ordinary(destination)
        & (header[8] != 0);
    if !is_sound {
        return Verdict::to(TO_OPTIONS);
    }
    // What follows is padding of the link layer.
    meta.length = total;
    ONWARD
}

/// Neither this network (0), nor loopback (127), nor a group or reserved (224 and above).
#[inline]
const fn is_ordinary(first: u8) -> bool {
    (first.wrapping_sub(1) < 223) & (first != 127)
}

/// What is wrong or rare with a packet that did not pass.
#[inline(never)]
fn explained(meta: &mut Meta, header: &[u8]) -> Verdict {
    let total = word(header, 2);
    let octets = u16::from(header[0] & 15) * 4;
    let (source, destination) = (&header[12..16], &header[16..20]);
    let is_broadcast = destination == [255; 4];
    let is_of_link = word(header, 16) == 0xe000 && destination[2] == 0;
    let reason = match () {
        () if header[0] >> 4 != 4 => VERSION,
        () if usize::from(octets) < IP4 || total < octets || total > meta.length => LENGTH,
        () if checksum(sum(&header[..usize::from(octets)], 0)) != 0 => CHECKSUM,
        // A host that has no address yet may ask everyone (RFC 1122 §3.2.1.3).
        () if !is_ordinary(source[0]) && (source != [0; 4] || !is_broadcast) => SOURCE,
        () if header[8] == 0 => TTL,
        // What lay below a label, or was sent to this system alone, may come from anywhere.
        () if is_of_link && meta.flags & GROUP_ADDRESSED == 0 => GROUP_TO_ONE,
        () if is_broadcast || is_of_link => {
            meta.length = total;
            meta.flags |= GROUP_ADDRESSED | LINK_SCOPED;
            meta.flags |= if source == [0; 4] { LINK_LOCAL } else { 0 };
            return ONWARD;
        }
        () if destination[0] & 0xf0 == 0xe0 => GROUP,
        () if echo::is_request(&header[..usize::from(total)]) => {
            meta.length = total;
            meta.flags |= LINK_SCOPED;
            return ONWARD;
        }
        () if !is_ordinary(destination[0]) => DESTINATION,
        () => {
            meta.length = total;
            return Verdict::to(TO_OPTIONS);
        }
    };
    Verdict::drop(reason)
}
