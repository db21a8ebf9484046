//! `mpls-expired`: the sender of a packet whose label's time to live ended hears of it, although
//! the packet may belong to a VPN that this router does not know (RFC 3032 §2.3, RFC 4950).
//!
//! ```text
//!   labels · IP packet → its sender ← ICMP time exceeded · as much of the packet · the labels
//!   a label that ends here: the error is routed in the VPN's table
//!   a label that goes on:   the error goes on behind the same labels; the end of the path knows
//!                           how to send it back
//! ```
//! Who asks for the end of a path (RFC 8029) hears of it by the control of this router.

use super::echo;
use super::entry::{ENTRY, Entry};
use super::push::PIPE_TTL;
use super::table::{Action, Labels};
use crate::frame;
use crate::header::{ICMP, ICMP6, IP4, IP6, checksum, pseudo6, seal_ip4, sum};
use crate::icmp::Limiter;
use crate::program::Class;
use crate::protection::{Asker, Standing};
use crate::view::Shared;
use graph::meta::{OWN, PUNTED};
use graph::{Context, Edge, Node, Pool, Reason, Row, Slot};
use machine::narrow::index;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Labels that an error tells at most.
const LABELS_MAX: usize = 16;
/// Octets of the packet in an error (RFC 4884 §4: 128, padded, so that what follows is found).
const QUOTED: u8 = 128;
/// Octets of an ICMP header.
const ICMP_BYTES: usize = 8;
/// Class and type of the object that holds labels (RFC 4950 §3).
const OBJECT: [u8; 2] = [1, 1];
/// The version of ICMP extensions (RFC 4884 §7).
const EXTENSIONS: u8 = 2 << 4;
/// The hop limit that errors start with.
const TTL: u8 = 255;
/// Internetwork control (RFC 1812 §4.3.2.5).
const PRECEDENCE: u8 = 0xc0;

const TO_IP4: Edge = Edge(0);
const TO_IP6: Edge = Edge(1);
const TO_MPLS: Edge = Edge(2);

const NOT_SAID: Reason = Reason(0);
const LIMITED: Reason = Reason(1);
const NO_ADDRESS: Reason = Reason(2);
const POLICED: Reason = Reason(3);

/// The node.
pub struct MplsExpired {
    shared: Shared,
    labels: Arc<Labels>,
    limiter: Limiter,
}

impl MplsExpired {
    /// The node of one worker.
    pub fn new(shared: Shared, labels: Arc<Labels>) -> Self {
        Self { shared, labels, limiter: Limiter::default() }
    }

    /// Whether a packet is an echo request for whoever speaks LDP here.
    fn is_asked(&self, slot: Slot, cx: &Context<'_>) -> bool {
        let octets = cx.packets.bytes(slot);
        let is_request = stack(octets).is_some_and(|it| echo::is_request(&octets[it.len()..]));
        let interface = cx.packets.meta(slot).interface;
        is_request && self.shared.interfaces.read(cx.reader).row(interface).speaks(Class::Ldp)
    }

    /// For the control process, as many as its protection lets pass.
    fn punt(&self, slot: Slot, cx: &mut Context<'_>) {
        let rows = self.shared.protection.read(cx.reader);
        let octets = cx.packets.bytes(slot);
        let source = stack(octets).and_then(|it| octets.get(it.len() + 12..));
        let source = source.and_then(<[u8]>::first_chunk).map_or(0, |it| u32::from_be_bytes(*it));
        let (class, interface) = (Class::Ldp, cx.packets.meta(slot).interface);
        let asker = Asker { class, source: source.into(), interface, standing: Standing::Far };
        if !self.shared.admitted.admits(rows, asker, cx.now) {
            return cx.next.drop(slot, POLICED);
        }
        let meta = cx.packets.meta_mut(slot);
        meta.words[0] = class as u32;
        meta.flags |= PUNTED;
        cx.out.punt(slot);
    }

    fn tell(&mut self, slot: Slot, cx: &mut Context<'_>) -> Result<Edge, Reason> {
        let octets = cx.packets.bytes(slot);
        let stack = stack(octets).ok_or(NOT_SAID)?;
        let packet = &octets[stack.len()..];
        let is_ip4 = is_due(packet).ok_or(NOT_SAID)?;
        let receiver = if is_ip4 { &packet[12..16] } else { &packet[8..24] };
        let hash = receiver.chunks(4).fold(0, |hash, part| hash ^ crate::header::long(part, 0));
        let addresses = self.shared.addresses.read(cx.reader);
        let interface = cx.packets.meta(slot).interface;
        let error = match is_ip4 {
            true => {
                let own = addresses.ipv4(interface).ok_or(NO_ADDRESS)?;
                error4(own, packet, stack)
            }
            false => {
                let own = addresses.ipv6(interface).ok_or(NO_ADDRESS)?;
                error6(own, packet, stack)
            }
        };
        if !self.limiter.admits(hash, cx.now) {
            return Err(LIMITED);
        }
        let first = Entry::at(stack).ok_or(NOT_SAID)?;
        let row = self.labels.row(first.label());
        let (frame, edge, vrf) = match row.action() {
            Action::Vrf => (error, if is_ip4 { TO_IP4 } else { TO_IP6 }, row.argument()),
            _ => (behind(stack, &error), TO_MPLS, 0),
        };
        write(slot, &frame, vrf, cx.packets).map(|()| edge).ok_or(NOT_SAID)
    }
}

impl Node for MplsExpired {
    fn row(&self) -> Row {
        let reasons = &[
            "time to live ended, nobody to tell",
            "time to live ended, errors too many",
            "time to live ended, no address to speak from",
            "policed: ldp",
        ];
        Row::of("mpls-expired", &["ip4-lookup", "ip6-lookup", "mpls-input"], reasons)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            if self.is_asked(*slot, cx) {
                self.punt(*slot, cx);
                continue;
            }
            match self.tell(*slot, cx) {
                Ok(edge) => cx.next.to(edge, *slot),
                Err(reason) => cx.next.drop(*slot, reason),
            }
        }
    }
}

/// All labels of a packet; `None` if they do not end.
fn stack(octets: &[u8]) -> Option<&[u8]> {
    let (entries, _) = octets.as_chunks::<ENTRY>();
    let bottom = entries.iter().take(LABELS_MAX).position(|entry| entry[2] & 1 == 1)?;
    octets.get(..(bottom + 1) * ENTRY)
}

/// Whether the sender of a packet may be told, and whether it is IPv4: no error about an error,
/// about a later fragment, from or to many.
fn is_due(packet: &[u8]) -> Option<bool> {
    match packet.first()? >> 4 {
        4 if packet.len() >= IP4 => {
            let header = usize::from(packet[0] & 15) * 4;
            let is_later = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
            let is_error =
                packet[9] == ICMP && !matches!(packet.get(header), Some(0 | 8 | 9 | 10 | 13..=18));
            let is_one = (1..224).contains(&packet[12]) && packet[12] != 127 && packet[16] < 224;
            (!is_later && !is_error && is_one).then_some(true)
        }
        6 if packet.len() >= IP6 => {
            let is_error = packet[6] == ICMP6 && packet.get(IP6).is_none_or(|kind| *kind < 128);
            let is_one = packet[8] != 0xff && packet[8..24] != [0; 16] && packet[24] != 0xff;
            (!is_error && is_one).then_some(false)
        }
        _ => None,
    }
}

/// The quoted packet, padded, and the labels as an object of ICMP extensions.
fn quoted(packet: &[u8], stack: &[u8]) -> Vec<u8> {
    let mut made = packet[..packet.len().min(QUOTED.into())].to_vec();
    made.resize(QUOTED.into(), 0);
    let mut extension = vec![EXTENSIONS, 0, 0, 0];
    extension.extend(index(stack.len() + 4).to_be_bytes());
    extension.extend(OBJECT);
    extension.extend_from_slice(stack);
    let check = checksum(sum(&extension, 0));
    extension[2..4].copy_from_slice(&check.to_be_bytes());
    made.extend(extension);
    made
}

fn error4(own: Ipv4Addr, packet: &[u8], stack: &[u8]) -> Vec<u8> {
    // Type 11, code 0; the length of the quoted packet in words of 32 bits.
    let mut icmp = vec![11, 0, 0, 0, 0, QUOTED / 4, 0, 0];
    icmp.extend(quoted(packet, stack));
    let check = checksum(sum(&icmp, 0));
    icmp[2..4].copy_from_slice(&check.to_be_bytes());
    let length = index(IP4 + icmp.len());
    let mut made = vec![0x45, PRECEDENCE];
    made.extend(length.to_be_bytes());
    made.extend([0, 0, 0, 0, TTL, ICMP, 0, 0]);
    made.extend(own.octets());
    made.extend_from_slice(&packet[12..16]);
    seal_ip4(&mut made);
    made.extend(icmp);
    made
}

fn error6(own: Ipv6Addr, packet: &[u8], stack: &[u8]) -> Vec<u8> {
    // Type 3, code 0; the length of the quoted packet in words of 64 bits.
    let mut icmp = vec![3, 0, 0, 0, QUOTED / 8, 0, 0, 0];
    debug_assert_eq!(icmp.len(), ICMP_BYTES);
    icmp.extend(quoted(packet, stack));
    let mut made = vec![0x60, 0, 0, 0];
    made.extend(index(icmp.len()).to_be_bytes());
    made.extend([ICMP6, TTL]);
    made.extend(own.octets());
    made.extend_from_slice(&packet[8..24]);
    let check = checksum(sum(&icmp, pseudo6(&made[8..40], icmp.len(), ICMP6)));
    icmp[2..4].copy_from_slice(&check.to_be_bytes());
    made.extend(icmp);
    made
}

/// The error behind the labels that its packet had, with a whole time to live.
fn behind(stack: &[u8], error: &[u8]) -> Vec<u8> {
    let mut made = stack.to_vec();
    for entry in made.chunks_exact_mut(ENTRY) {
        entry[3] = PIPE_TTL;
    }
    made.extend_from_slice(error);
    made
}

/// Makes the packet in a cell the error.
fn write(slot: Slot, frame: &[u8], vrf: u32, packets: &mut Pool) -> Option<()> {
    if !frame::replace(packets, slot, frame) {
        return None;
    }
    let meta = packets.meta_mut(slot);
    meta.flags |= OWN;
    (meta.l3, meta.vrf, meta.passes) = (meta.offset, vrf, 0);
    Some(())
}
