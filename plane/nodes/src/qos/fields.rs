//! What filters look at in a packet, and the code point that filters, policers and marking write.

use crate::header::{
    ETHERNET, IP4, IP6, TAG, TYPE_SERVICE, TYPE_VLAN, address6, adjusted, long, word,
};
use table::classifier::{Fragment, Header};

/// Extension headers that are passed over at most (RFC 8200 §4.1 has seven).
const EXTENSIONS_MAX: usize = 8;
/// What Ethernet headers give as their protocol: one whose ports classifiers look at.
const PORTED: u8 = 17;

const TCP: u8 = 6;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;

/// Ports, or type and code of ICMP, and TCP's flags, of what follows the network header.
#[inline]
fn above(octets: &[u8], at: usize, protocol: u8) -> (u16, u16, u8) {
    match protocol {
        TCP | 17 | 33 | 132 | 136 => {
            let ports = long(octets, at);
            let flags = if protocol == TCP { octets.get(at + 13).copied() } else { None };
            ((ports >> 16) as u16, ports as u16, flags.unwrap_or(0))
        }
        ICMP | ICMP6 => (word(octets, at), 0, 0),
        _ => (0, 0, 0),
    }
}

/// Of an IPv4 packet.
#[inline]
pub(crate) fn ip4(octets: &[u8]) -> Header<u32> {
    let Some(header) = octets.first_chunk::<IP4>() else { return Header::default() };
    let offset = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    let fragment = match (offset & 0x1fff, offset & 0x2000) {
        (0, 0) => Fragment::Whole,
        (0, _) => Fragment::First,
        _ => Fragment::Later,
    };
    let protocol = header[9];
    let (source_port, destination_port, tcp_flags) = match fragment {
        Fragment::Later => (0, 0, 0),
        _ => above(octets, usize::from(header[0] & 15) * 4, protocol),
    };
    Header {
        source: u32::from_be_bytes([header[12], header[13], header[14], header[15]]),
        destination: u32::from_be_bytes([header[16], header[17], header[18], header[19]]),
        source_port,
        destination_port,
        length: u16::from_be_bytes([header[2], header[3]]),
        protocol,
        tcp_flags,
        dscp: header[1] >> 2,
        fragment,
    }
}

/// Of an IPv6 packet: the protocol is that behind the extension headers.
pub(crate) fn ip6(octets: &[u8]) -> Header<u128> {
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
    let (source_port, destination_port, tcp_flags) = match fragment {
        Fragment::Later => (0, 0, 0),
        _ => above(octets, at, protocol),
    };
    Header {
        source: address6(octets, 8),
        destination: address6(octets, 24),
        source_port,
        destination_port,
        length: word(octets, 4).saturating_add(IP6 as u16),
        protocol,
        tcp_flags,
        dscp: (word(octets, 0) >> 6) as u8 & 63,
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
        length: octets.len() as u16,
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
        6 => Some((word(packet, 0) >> 6) as u8 & 63),
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
