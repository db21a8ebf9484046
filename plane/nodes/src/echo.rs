//! `echo`: answers to echo requests for own addresses (RFC 792, RFC 4443 §4.2), made of the
//! requests themselves.

use crate::arcs::OUT;
use crate::frame;
use crate::header::{ICMP6, IP4, IP6, adjusted, checksum, pseudo6, seal_ip4, sum, word};
use crate::ip4::TTL;
use crate::view::Shared;
use graph::meta::{LINK_LOCAL, OWN};
use graph::{Context, Edge, Node, Pool, Reason, Row, Slot, Verdict};

const TO_LOOKUP4: Verdict = Verdict::to(Edge(0));
const TO_LOOKUP6: Verdict = Verdict::to(Edge(1));
const CHECKSUM: Verdict = Verdict::drop(Reason(0));
const SHORT: Verdict = Verdict::drop(Reason(1));
const REASONS: &[&str] = &["echo checksum", "echo too short"];
/// Octets of an echo's header.
const ECHO_BYTES: usize = 8;
/// Type of an ICMPv6 echo reply.
const REPLY6: u8 = 129;

/// The node. Packets come with `Meta::l4` set.
pub struct Echo {
    shared: Shared,
}

impl Echo {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }
}

impl Node for Echo {
    fn row(&self) -> Row {
        Row::of("echo", &["ip4-lookup", "ip6-lookup"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        for slot in batch {
            let verdict = answered(*slot, cx.packets);
            let meta = cx.packets.meta(*slot);
            let near = verdict == TO_LOOKUP6 && meta.flags & LINK_LOCAL != 0;
            let (interface, link) = (meta.interface, interfaces.row(meta.interface));
            if near && frame::turn_round(cx.packets, *slot, interface, link) {
                cx.next.start(OUT, &[*slot], cx.packets);
            } else {
                cx.next.dispatch(&[verdict], &[*slot]);
            }
        }
    }
}

fn answered(slot: Slot, packets: &mut Pool) -> Verdict {
    let (meta, packet) = packets.packet_mut(slot);
    let at = usize::from(meta.l4.saturating_sub(meta.offset));
    if packet.len() < at + ECHO_BYTES {
        return SHORT;
    }
    meta.flags |= OWN;
    if packet[0] >> 4 == 4 { answered4(packet, at) } else { answered6(packet, at) }
}

fn answered4(packet: &mut [u8], at: usize) -> Verdict {
    if checksum(sum(&packet[at..], 0)) != 0 {
        return CHECKSUM;
    }
    packet[12..20].rotate_left(4);
    packet[8] = TTL;
    // The answer may need fragments where the question did not.
    packet[6..8].fill(0);
    seal_ip4(&mut packet[..at.max(IP4)]);
    let check = adjusted(word(packet, at + 2), 0x0800, 0);
    packet[at] = 0;
    packet[at + 2..at + 4].copy_from_slice(&check.to_be_bytes());
    TO_LOOKUP4
}

fn answered6(packet: &mut [u8], at: usize) -> Verdict {
    let so_far = pseudo6(&packet[8..IP6], packet.len() - at, ICMP6);
    // Extension headers of the question are no part of the answer.
    if at != IP6 || checksum(sum(&packet[at..], so_far)) != 0 {
        return CHECKSUM;
    }
    packet[8..IP6].rotate_left(16);
    packet[7] = TTL;
    let check = adjusted(word(packet, at + 2), 0x8000, u16::from(REPLY6) << 8);
    packet[at] = REPLY6;
    packet[at + 2..at + 4].copy_from_slice(&check.to_be_bytes());
    TO_LOOKUP6
}
