//! `ip4-error`: tells the sender of a packet what became of it (RFC 792, RFC 1812 §4.3).

use crate::header::{ICMP, IP4, checksum, long, seal_ip4, short, sum, word};
use crate::icmp::{Limiter, Message, TOO_BIG};
use crate::view::Shared;
use graph::meta::{GROUP_ADDRESSED, HOSTED, OWN};
use graph::{Context, Edge, Node, Pool, Reason, Row, Slot, Verdict};
use machine::Time;
use machine::narrow::at_most;
use std::net::Ipv4Addr;

/// Octets of an error at most (RFC 1812 §4.3.2.3).
pub const ERROR_BYTES_MAX: usize = 576;
/// Octets of an ICMP header.
const ICMP_BYTES: usize = 8;
/// Internetwork control (RFC 1812 §4.3.2.5).
const PRECEDENCE: u8 = 0xc0;
/// The hop limit that own packets start with.
pub(crate) const TTL: u8 = 64;

const TO_LOOKUP: Verdict = Verdict::to(Edge(0));
const NOT_SAID: Verdict = Verdict::drop(Reason(0));
const LIMITED: Verdict = Verdict::drop(Reason(1));
const NO_ADDRESS: Verdict = Verdict::drop(Reason(2));

/// The reasons are those of the packets: each was dropped, and an error was not even due.
const REASONS: &[&str] =
    &["ip4 error not due", "ip4 errors too many", "ip4 error without an address to speak from"];

/// The node.
pub struct Ip4Error {
    shared: Shared,
    limiter: Limiter,
}

impl Ip4Error {
    /// The node of one worker.
    #[must_use]
    pub fn new(shared: Shared) -> Self {
        Self { shared, limiter: Limiter::default() }
    }

    fn say(&mut self, slot: Slot, own: Option<Ipv4Addr>, packets: &mut Pool, now: Time) -> Verdict {
        if !is_due(packets, slot) {
            return NOT_SAID;
        }
        if !self.limiter.admits(long(packets.bytes(slot), 12), now) {
            return LIMITED;
        }
        own.map_or(NO_ADDRESS, |own| written(slot, own, packets))
    }
}

impl Node for Ip4Error {
    fn row(&self) -> Row {
        Row::of("ip4-error", &["ip4-lookup"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let addresses = self.shared.addresses.clone();
        let addresses = addresses.read(cx.reader);
        for slot in batch {
            let meta = cx.packets.meta(*slot);
            let own = match meta.flags & HOSTED {
                0 => addresses.ipv4(meta.interface),
                // The host takes no error from its own address: the receiver's stands for it.
                _ => Some(Ipv4Addr::from_bits(long(cx.packets.bytes(*slot), 16))),
            };
            let verdict = self.say(*slot, own, cx.packets, cx.now);
            cx.next.dispatch(&[verdict], &[*slot]);
        }
    }
}

/// No error about an error, about a later fragment, or about what came to many.
fn is_due(packets: &Pool, slot: Slot) -> bool {
    let packet = packets.bytes(slot);
    let Some(header) = packet.first_chunk::<IP4>() else { return false };
    let octets = usize::from(header[0] & 15) * 4;
    let is_later = word(packet, 6) & 0x1fff != 0;
    // Echo, router discovery, time stamps, address mask and information are questions.
    let is_error =
        header[9] == ICMP && !matches!(packet.get(octets), Some(0 | 8 | 9 | 10 | 13..=18));
    let flags = packets.meta(slot).flags;
    let is_hosts = flags & OWN == 0 || flags & HOSTED != 0;
    flags & GROUP_ADDRESSED == 0 && is_hosts && !is_later && !is_error && header[16] < 224
}

fn written(slot: Slot, own: Ipv4Addr, packets: &mut Pool) -> Verdict {
    let (message, argument) = Message::noted(packets.meta(slot));
    let (kind, code) = message.icmp();
    let sender = long(packets.bytes(slot), 12);
    let meta = packets.meta_mut(slot);
    meta.length = meta.length.min(short(ERROR_BYTES_MAX - IP4 - ICMP_BYTES));
    meta.flags = meta.flags & !HOSTED | OWN;
    meta.passes = 0;
    let Some(_) = packets.prepend(slot, IP4 + ICMP_BYTES) else { return NOT_SAID };
    let (meta, packet) = packets.packet_mut(slot);
    packet[..IP4 + ICMP_BYTES].fill(0);
    packet[..2].copy_from_slice(&[0x45, PRECEDENCE]);
    packet[2..4].copy_from_slice(&meta.length.to_be_bytes());
    packet[6] = 0x40;
    packet[8..10].copy_from_slice(&[TTL, ICMP]);
    packet[12..16].copy_from_slice(&own.octets());
    packet[16..20].copy_from_slice(&sender.to_be_bytes());
    seal_ip4(&mut packet[..IP4]);
    packet[IP4..IP4 + 2].copy_from_slice(&[kind, code]);
    match message {
        TOO_BIG => {
            let mtu = at_most(argument.into(), u16::MAX);
            packet[IP4 + 6..IP4 + 8].copy_from_slice(&mtu.to_be_bytes());
        }
        _ => packet[IP4 + 4] = at_most(argument.into(), u8::MAX),
    }
    let check = checksum(sum(&packet[IP4..], 0));
    packet[IP4 + 2..IP4 + 4].copy_from_slice(&check.to_be_bytes());
    TO_LOOKUP
}
