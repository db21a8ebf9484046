//! What filters look at in a packet, and the code point that filters, policers and marking write.

use crate::header::{
    ETHERNET, ICMP, ICMP6, IP4, IP6, TAG, TCP, TYPE_SERVICE, TYPE_VLAN, address6, adjusted, long,
    short, word,
};
use machine::narrow::index;
use table::classifier::{Fragment, Header};

/// Extension headers that are passed over at most (RFC 8200 §4.1 has seven).
const EXTENSIONS_MAX: usize = 8;
/// What Ethernet headers give as their protocol: one whose ports classifiers look at.
const PORTED: u8 = 17;

/// TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [TCP, 17, 33, 132, 136];

/// What of the first four octets above the network header, and of TCP's flags, a protocol has:
/// without a branch, because protocols are as mixed as traffic is.
struct Above {
    /// Of the first sixteen octets of a `Header<u32>`, those that count.
    octets: [u8; 16],
    ports: u32,
    flags: u8,
}

impl Above {
    const fn new(ports: u32, flags: u8) -> Self {
        let [a, b, c, d] = ports.to_be_bytes();
        // Addresses, ports in the order of the host, length, protocol, flags.
        let mut octets = [u8::MAX; 16];
        (octets[8], octets[9], octets[10], octets[11], octets[15]) = (b, a, d, c, flags);
        Self { octets, ports, flags }
    }
}

static ABOVE: [Above; 256] = {
    let mut all = [const { Above::new(0, 0) }; 256];
    let mut at = 0;
    while at < WITH_PORTS.len() {
        all[WITH_PORTS[at] as usize] = Above::new(u32::MAX, 0);
        at += 1;
    }
    all[ICMP as usize] = Above::new(0xffff_0000, 0);
    all[ICMP6 as usize] = Above::new(0xffff_0000, 0);
    all[TCP as usize] = Above::new(u32::MAX, u8::MAX);
    all
};

/// Ports, or type and code of ICMP, and TCP's flags, of what follows the network header.
fn above(octets: &[u8], at: usize, protocol: u8, fragment: Fragment) -> (u16, u16, u8) {
    let Some(above) = octets.get(at..).filter(|_| fragment != Fragment::Later) else {
        return (0, 0, 0);
    };
    let has = &ABOVE[usize::from(protocol)];
    let ports = long(above, 0) & has.ports;
    let flags = above.get(13).copied().unwrap_or(0) & has.flags;
    ((ports >> 16) as u16, (ports & 0xffff) as u16, flags)
}

/// Octets of an IPv4 header without options, and of a TCP header as far as its flags.
const USUAL: usize = IP4 + 14;

/// Of an IPv4 packet.
pub fn ip4(octets: &[u8]) -> Header<u32> {
    let mut header = Header::default();
    read_ip4(octets, &mut header);
    header
}

/// As [`ip4`], into its place; whether there is nothing unusual about it. A header that is put
/// together elsewhere and moved costs as much again, because its octets cannot be loaded as words
/// while they are still being stored.
#[inline(always)]
pub(crate) fn read_ip4(octets: &[u8], header: &mut Header<u32>) -> bool {
    match octets.first_chunk::<USUAL>() {
        Some(usual) if is_usual(usual) => {
            let has = &ABOVE[usize::from(usual[9])];
            let ports = long(usual, IP4) & has.ports;
            header.source = long(usual, 12);
            header.destination = long(usual, 16);
            header.source_port = (ports >> 16) as u16;
            header.destination_port = (ports & 0xffff) as u16;
            header.length = word(usual, 2);
            header.protocol = usual[9];
            header.tcp_flags = usual[USUAL - 1] & has.flags;
            header.dscp = usual[1] >> 2;
            header.fragment = Fragment::Whole;
            true
        }
        _ => {
            *header = unusual4(octets);
            false
        }
    }
}

/// Neither options nor a fragment.
#[inline(always)]
fn is_usual(header: &[u8; USUAL]) -> bool {
    header[0] == 0x45 && (header[6] & 0x3f) | header[7] == 0
}

/// As [`read_ip4`], sixteen octets at once.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
#[target_feature(enable = "ssse3")]
pub(crate) fn read_ip4_ssse3(octets: &[u8], header: &mut Header<u32>) -> bool {
    use std::arch::x86_64::{
        _mm_and_si128, _mm_loadu_si128, _mm_or_si128, _mm_setr_epi8, _mm_shuffle_epi8,
        _mm_storeu_si128,
    };
    let Some(usual) = octets.first_chunk::<USUAL>().filter(|usual| is_usual(usual)) else {
        *header = unusual4(octets);
        return false;
    };
    // Where each octet stands among octets 2 to 17 and 18 to 33; -1 is none of them.
    let low = _mm_setr_epi8(13, 12, 11, 10, -1, -1, 15, 14, -1, -1, -1, -1, 1, 0, 7, -1);
    let high = _mm_setr_epi8(-1, -1, -1, -1, 1, 0, -1, -1, 3, 2, 5, 4, -1, -1, -1, 15);
    // SAFETY: sixteen octets from the third and from the nineteenth of 34; a header begins with
    // sixteen octets of integers, which are asserted to stand in this order.
    unsafe {
        let at = usual.as_ptr();
        let first = _mm_shuffle_epi8(_mm_loadu_si128(at.add(2).cast()), low);
        let second = _mm_shuffle_epi8(_mm_loadu_si128(at.add(18).cast()), high);
        let has = _mm_loadu_si128(ABOVE[usize::from(usual[9])].octets.as_ptr().cast());
        let fields = _mm_and_si128(_mm_or_si128(first, second), has);
        _mm_storeu_si128(std::ptr::from_mut(header).cast(), fields);
    }
    (header.dscp, header.fragment) = (usual[1] >> 2, Fragment::Whole);
    true
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Header<u32>, source) == 0 && offset_of!(Header<u32>, destination) == 4);
    assert!(offset_of!(Header<u32>, source_port) == 8 && offset_of!(Header<u32>, length) == 12);
    assert!(offset_of!(Header<u32>, destination_port) == 10);
    assert!(offset_of!(Header<u32>, protocol) == 14 && offset_of!(Header<u32>, tcp_flags) == 15);
};

/// Of one that is short, a fragment, or has options.
#[inline(never)]
fn unusual4(octets: &[u8]) -> Header<u32> {
    if octets.len() < IP4 {
        return Header::default();
    }
    let fragment = match word(octets, 6) & 0x3fff {
        0 => Fragment::Whole,
        0x2000 => Fragment::First,
        _ => Fragment::Later,
    };
    let start = usize::from(octets[0] & 15) * 4;
    let (source_port, destination_port, tcp_flags) = above(octets, start, octets[9], fragment);
    Header {
        source: long(octets, 12),
        destination: long(octets, 16),
        source_port,
        destination_port,
        length: word(octets, 2),
        protocol: octets[9],
        tcp_flags,
        dscp: octets[1] >> 2,
        fragment,
    }
}

/// Octets of the shortest header of a protocol that filters look into.
const fn header_octets(protocol: u8) -> usize {
    match protocol {
        TCP => 20,
        33 | 132 => 12,
        17 | 136 | ICMP => 8,
        ICMP6 => 4,
        _ => 0,
    }
}

/// Whether a packet hides what a rule may look at above its network header, and its receiver will
/// see all the same: in a first fragment that ends before it (RFC 1858 §3, RFC 7112 §5), in a later
/// one that comes to lie upon it (RFC 3128), or behind more extension headers than are walked.
#[cold]
pub(crate) fn hides_transport(octets: &[u8]) -> bool {
    match octets.first().map(|first| first >> 4) {
        Some(4) if octets.len() >= IP4 => {
            let (start, fragment) = (usize::from(octets[0] & 15) * 4, word(octets, 6) & 0x3fff);
            is_hidden(octets, start, octets[9], fragment & 0x1fff, fragment & 0x2000 != 0)
        }
        Some(6) if octets.len() >= IP6 => hides6(octets),
        _ => false,
    }
}

/// A fragment at so many times eight octets, whether more follow.
fn is_hidden(octets: &[u8], at: usize, protocol: u8, offset: u16, more: bool) -> bool {
    match offset {
        0 => more && octets.len() < at + header_octets(protocol),
        1 => protocol == TCP,
        _ => false,
    }
}

fn hides6(octets: &[u8]) -> bool {
    let (mut protocol, mut at) = (octets[6], IP6);
    let (mut offset, mut more) = (0, false);
    for _ in 0..=EXTENSIONS_MAX {
        if !is_extension(protocol) {
            return is_hidden(octets, at, protocol, offset, more);
        }
        let Some([next, length]) = octets.get(at..).and_then(<[u8]>::first_chunk::<2>) else {
            // Cut off: its receiver sees no more of it, unless the rest comes in other fragments.
            return more;
        };
        if protocol == FRAGMENT {
            let word = word(octets, at + 2);
            (offset, more) = (word >> 3, word & 1 != 0);
        }
        let units = usize::from(*length);
        at += match protocol {
            FRAGMENT => 8,
            51 => 8 + units * 4,
            _ => 8 + units * 8,
        };
        protocol = *next;
        if offset > 0 {
            return is_hidden(octets, at, protocol, offset, more);
        }
    }
    true
}

/// Next header of a fragment.
const FRAGMENT: u8 = 44;

/// Whether another header follows: hop-by-hop options, routing, fragment, authentication,
/// destination options, mobility, HIP, Shim6.
#[inline]
pub(crate) const fn is_extension(protocol: u8) -> bool {
    matches!(protocol, 0 | 43 | FRAGMENT | 51 | 60 | 135 | 139 | 140)
}

/// Of an IPv6 packet: the protocol is that behind the extension headers.
pub fn ip6(octets: &[u8]) -> Header<u128> {
    if octets.len() < IP6 {
        return Header::default();
    }
    let (mut protocol, mut at, mut fragment) = (octets[6], IP6, Fragment::Whole);
    for _ in 0..EXTENSIONS_MAX {
        let Some(length) = octets.get(at + 1) else { break };
        match protocol {
            // Hop-by-hop options, routing, destination options, mobility, HIP, Shim6.
            0 | 43 | 60 | 135 | 139 | 140 => {
                (protocol, at) = (octets[at], at + 8 + usize::from(*length) * 8);
            }
            51 => (protocol, at) = (octets[at], at + 8 + usize::from(*length) * 4),
            44 => {
                let offset = word(octets, at + 2);
                let whole = offset & 0xfff9 == 0;
                let later = offset & 0xfff8 != 0;
                fragment = match (later, whole) {
                    (true, _) => Fragment::Later,
                    (false, true) => fragment,
                    (false, false) => Fragment::First,
                };
                (protocol, at) = (octets[at], at + 8);
            }
            _ => break,
        }
        if fragment == Fragment::Later {
            break;
        }
    }
    let (source_port, destination_port, tcp_flags) = above(octets, at, protocol, fragment);
    Header {
        source: address6(octets, 8),
        destination: address6(octets, 24),
        source_port,
        destination_port,
        length: word(octets, 4).saturating_add(short(IP6)),
        protocol,
        tcp_flags,
        dscp: (word(octets, 0) >> 6 & 63) as u8,
        fragment,
    }
}

/// Of a frame: MAC addresses in the high bits, the EtherType behind its tags as source port, the
/// outer VLAN as destination port, its priority as code point.
pub(crate) fn frame(octets: &[u8]) -> Header<u128> {
    let mac = |at: usize| {
        let high = u64::from(word(octets, at)) << 32 | u64::from(long(octets, at + 2));
        u128::from(high) << 80
    };
    let (mut kind, mut at, mut tag) = (word(octets, ETHERNET - 2), ETHERNET, 0);
    while matches!(kind, TYPE_VLAN | TYPE_SERVICE) && at < ETHERNET + 2 * TAG {
        if at == ETHERNET {
            tag = word(octets, at);
        }
        kind = word(octets, at + 2);
        at += TAG;
    }
    Header {
        source: mac(6),
        destination: mac(0),
        source_port: kind,
        destination_port: tag & 0xfff,
        length: index(octets.len()),
        protocol: PORTED,
        tcp_flags: 0,
        dscp: (tag >> 13) as u8,
        fragment: Fragment::Whole,
    }
}

/// The code point of a packet that begins with its IP header; `None` if it is not IP.
#[inline]
pub(crate) fn dscp(packet: &[u8]) -> Option<u8> {
    match packet.first()? >> 4 {
        4 => Some(packet.get(1)? >> 2),
        6 => Some((word(packet, 0) >> 6 & 63) as u8),
        _ => None,
    }
}

/// Writes the code point of a packet that begins with its IP header (RFC 2474 §3; the two bits of
/// ECN stay). What is not IP stays as it is.
#[inline]
pub(crate) fn set_dscp(packet: &mut [u8], dscp: u8) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= IP4 => {
            let before = word(packet, 0);
            packet[1] = packet[1] & 3 | dscp << 2;
            let check = adjusted(word(packet, 10), before, word(packet, 0));
            packet[10..12].copy_from_slice(&check.to_be_bytes());
        }
        Some(6) if packet.len() >= IP6 => {
            let first = word(packet, 0) & !(63 << 6) | u16::from(dscp & 63) << 6;
            packet[..2].copy_from_slice(&first.to_be_bytes());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn headers_read_at_once_are_those_read_one_by_one() {
        if !std::is_x86_feature_detected!("ssse3") {
            return;
        }
        let mut state = 7_u64;
        let mut octet = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        for turn in 0..100_000 {
            let length = if turn % 8 == 0 { usize::from(octet()) % 60 } else { 60 };
            let mut packet: Vec<u8> = (0..length).map(|_| octet()).collect();
            if length == 60 {
                packet[0] = if turn % 16 == 1 { 0x46 } else { 0x45 };
                packet[6] &= if turn % 4 == 0 { 0xff } else { 0xc0 };
                packet[7] &= if turn % 4 == 0 { 0xff } else { 0 };
                packet[9] = [TCP, 17, ICMP, 132, packet[9]][turn % 5];
            }
            let (mut one, mut other) = (Header::default(), Header::default());
            let is_usual = read_ip4(&packet, &mut one);
            // SAFETY: the processor has SSSE3.
            assert_eq!(unsafe { read_ip4_ssse3(&packet, &mut other) }, is_usual);
            assert_eq!(one, other, "{packet:?}");
        }
    }
}
