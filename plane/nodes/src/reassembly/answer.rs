//! Answers to echo requests that no cell holds: their fragments, turned round. What the way here
//! carried the way back carries as well.

use super::held::Part;
use crate::header::{
    ICMP, ICMP6, IP4, IP6, address6, adjusted, checksum, long, pseudo6, seal_ip4, sum, word,
};
use crate::ip4::TTL;

/// Echo requests, and answers to them.
const REQUEST4: u8 = 8;
const REQUEST6: u8 = 128;
const REPLY6: u8 = 129;
/// Octets of an echo's header.
const ECHO_BYTES: usize = 8;
/// Octets of a fragment header (RFC 8200 §4.5).
const FRAGMENT6: usize = 8;

/// The answer, in packets that are ready to be routed.
pub(super) struct Answer {
    pub(super) packets: Vec<Vec<u8>>,
    pub(super) is_six: bool,
    /// Who asked, as control-plane policing counts him.
    pub(super) source: u64,
}

/// The answer to an echo request whose fragments are in order and whole; `None`: it is none, or
/// its checksum is wrong.
pub(super) fn echo(parts: &[Part]) -> Option<Answer> {
    let first = parts.first()?;
    let (header, message) = first.packet.split_at_checked(first.at)?;
    let is_six = header.first()? >> 4 == 6;
    let kind = *message.first().filter(|_| message.len() >= ECHO_BYTES)?;
    let is_request = match is_six {
        true => (header.get(IP6), kind) == (Some(&ICMP6), REQUEST6),
        false => (header.get(9), kind) == (Some(&ICMP), REQUEST4),
    };
    // Options and extension headers of the question are no part of the answer.
    let plain = if is_six { IP6 + FRAGMENT6 } else { IP4 };
    if !is_request || parts.iter().any(|part| part.at != plain) {
        return None;
    }
    let octets = parts.last()?.to;
    let so_far = if is_six { pseudo6(&header[8..IP6], octets, ICMP6) } else { 0 };
    // All but the last have an even length.
    let total = parts.iter().fold(so_far, |total, part| sum(&part.packet[part.at..], total));
    if checksum(total) != 0 {
        return None;
    }
    let source = match is_six {
        true => (address6(header, 8) >> 64) as u64,
        false => u64::from(long(header, 12)),
    };
    let turn = if is_six { turned6 } else { turned4 };
    let mut packets: Vec<_> = parts.iter().map(|part| turn(&part.packet, part.at)).collect();
    let message = packets.first_mut()?.get_mut(first.at..)?;
    let (was, is) = match is_six {
        true => (u16::from(REQUEST6) << 8, u16::from(REPLY6) << 8),
        false => (u16::from(REQUEST4) << 8, 0),
    };
    let check = adjusted(word(message, 2), was, is);
    [message[0], _] = is.to_be_bytes();
    message[2..4].copy_from_slice(&check.to_be_bytes());
    Some(Answer { packets, is_six, source })
}

fn turned4(packet: &[u8], at: usize) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[12..20].rotate_left(4);
    packet[8] = TTL;
    // The answer may need smaller fragments.
    packet[6] &= !0x40;
    seal_ip4(&mut packet[..at]);
    packet
}

fn turned6(packet: &[u8], _: usize) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8..IP6].rotate_left(16);
    packet[7] = TTL;
    packet
}
