//! A trail as a pcapng file (draft-ietf-opsawg-pcapng) that Wireshark opens.
//!
//! Interface 0 has raw IP packets with real headers, made again from what the capture agent told:
//! IPv4 or IPv6, UDP or TCP with running sequence numbers. Interface 1 has upper PDUs
//! (`LINKTYPE_WIRESHARK_UPPER_PDU`): what went over TLS, with its addresses and ports as tags, so
//! that it is shown as the SIP it was and not as broken TLS; M3UA and Diameter, whatever carried
//! them; and the messages of BGP that an event tells whole. Of a message inside of ESP there is the
//! clear text, and its packet's comment names the associations.

use crate::detail::Read;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use trail::Event;

const LINK_RAW: u16 = 101;
const LINK_UPPER_PDU: u16 = 252;
/// Largest IP packet.
const PACKET_BYTES_MAX: usize = 65_535;
/// Octets of one TCP segment.
const SEGMENT_BYTES: usize = 60_000;

/// Writes the file.
#[must_use]
pub fn write(entries: &[Read]) -> Vec<u8> {
    let mut out = Vec::new();
    pcap::pcapng::begin(&mut out, &[LINK_RAW, LINK_UPPER_PDU]);
    let mut streams = HashMap::new();
    for entry in entries {
        match entry.protocol {
            _ if entry.kind == hep::KIND_LOG => {
                if let Some(message) = session_message(entry) {
                    packet(&mut out, 1, entry, &upper_pdu(&message, "bgp"));
                }
            }
            // What an agent read of RTCP is no packet any more.
            _ if entry.kind == hep::KIND_RTCP => {}
            _ if entry.kind == hep::KIND_M3UA => {
                packet(&mut out, 1, entry, &upper_pdu(entry, "m3ua"));
            }
            // On any port, and whatever carried it.
            _ if entry.kind == hep::KIND_DIAMETER => {
                packet(&mut out, 1, entry, &upper_pdu(entry, "diameter"));
            }
            hep::TLS => packet(&mut out, 1, entry, &upper_pdu(entry, "sip")),
            hep::TCP => segments(&mut out, entry, &mut streams),
            _ => packet(&mut out, 0, entry, &udp(entry)),
        }
    }
    out
}

/// A length in 16 bits; a packet has [`PACKET_BYTES_MAX`] octets at most.
fn two(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// A length in 32 bits.
fn four(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// A packet; what the agent said of its message is its comment.
fn packet(out: &mut Vec<u8>, interface: u32, entry: &Read, bytes: &[u8]) {
    pcap::pcapng::packet(out, interface, entry.at_us, bytes, &entry.said());
}

/// Both addresses in one family.
fn families(source: SocketAddr, destination: SocketAddr) -> (IpAddr, IpAddr) {
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.into(), b.into()),
        (a, b) => {
            let v6 = |ip| match ip {
                IpAddr::V4(ip) => std::net::Ipv4Addr::to_ipv6_mapped(&ip),
                IpAddr::V6(ip) => ip,
            };
            (v6(a).into(), v6(b).into())
        }
    }
}

/// An IP packet around `segment`, whose checksum field at `checksum_at` is filled in.
fn ip(entry: &Read, protocol: u8, mut segment: Vec<u8>, checksum_at: usize) -> Vec<u8> {
    let (source, destination) = families(entry.source, entry.destination);
    let length = two(segment.len());
    let mut pseudo = Vec::with_capacity(segment.len() + 40);
    let mut out = Vec::with_capacity(segment.len() + 40);
    match (source, destination) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            pseudo.extend_from_slice(&a.octets());
            pseudo.extend_from_slice(&b.octets());
            let total = (length.saturating_add(20)).to_be_bytes();
            out.extend_from_slice(&[
                0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0,
            ]);
            out.extend_from_slice(&pseudo);
            let sum = checksum(&out);
            out[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (a, b) => {
            for ip in [a, b] {
                if let IpAddr::V6(ip) = ip {
                    pseudo.extend_from_slice(&ip.octets());
                }
            }
            let total = length.to_be_bytes();
            out.extend_from_slice(&[0x60, 0, 0, 0, total[0], total[1], protocol, 64]);
            out.extend_from_slice(&pseudo);
        }
    }
    pseudo.extend_from_slice(&u32::from(length).to_be_bytes());
    pseudo.extend_from_slice(&[0, 0, 0, protocol]);
    pseudo.extend_from_slice(&segment);
    let sum = checksum(&pseudo);
    // For UDP 0 would mean "no checksum" (RFC 768).
    let sum = if sum == 0 { 0xffff } else { sum };
    segment[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    out.extend_from_slice(&segment);
    out
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2);
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = pairs.map(word).sum();
    loop {
        match u16::try_from(sum) {
            Ok(folded) => return !folded,
            Err(_) => sum = (sum >> 16) + (sum & 0xffff),
        }
    }
}

fn udp(entry: &Read) -> Vec<u8> {
    let room = PACKET_BYTES_MAX - 48;
    let payload = &entry.payload[..entry.payload.len().min(room)];
    let mut segment = Vec::with_capacity(payload.len() + 8);
    segment.extend_from_slice(&entry.source.port().to_be_bytes());
    segment.extend_from_slice(&entry.destination.port().to_be_bytes());
    segment.extend_from_slice(&two(payload.len() + 8).to_be_bytes());
    segment.extend_from_slice(&[0, 0]);
    segment.extend_from_slice(payload);
    ip(entry, hep::UDP, segment, 6)
}

/// TCP segments that continue the stream between the two; each direction acknowledges all of the
/// other.
fn segments(out: &mut Vec<u8>, entry: &Read, streams: &mut HashMap<(SocketAddr, SocketAddr), u32>) {
    let there = (entry.source, entry.destination);
    let back = (entry.destination, entry.source);
    for payload in entry.payload.chunks(SEGMENT_BYTES) {
        let sequence = *streams.entry(there).or_insert(1);
        let acknowledged = *streams.entry(back).or_insert(1);
        let mut segment = Vec::with_capacity(payload.len() + 20);
        segment.extend_from_slice(&entry.source.port().to_be_bytes());
        segment.extend_from_slice(&entry.destination.port().to_be_bytes());
        segment.extend_from_slice(&sequence.to_be_bytes());
        segment.extend_from_slice(&acknowledged.to_be_bytes());
        // Five words, PSH and ACK, full window.
        segment.extend_from_slice(&[0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        segment.extend_from_slice(payload);
        streams.insert(there, sequence.wrapping_add(four(payload.len())));
        packet(out, 0, entry, &ip(entry, hep::TCP, segment, 16));
    }
}

/// The message of a session that an event tells; `None`: it is another event, or tells only the
/// beginning of its message.
fn session_message(entry: &Read) -> Option<Read> {
    let event = Event::of(&entry.payload)?;
    let is_sent = match event {
        Event::SessionMessageSent => true,
        Event::SessionMessageReceived => false,
        _ => return None,
    };
    let fields: serde_json::Value = serde_json::from_slice(&entry.payload).ok()?;
    let digits = fields["text"].as_str()?.as_bytes();
    let octet = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    let payload: Vec<u8> = digits.chunks(2).map(octet).collect::<Option<_>>()?;
    if payload.is_empty() || fields["octets"] != payload.len() {
        return None;
    }
    // An event has the far end as its source.
    let (mut source, mut destination) = (entry.source, entry.destination);
    if is_sent {
        std::mem::swap(&mut source, &mut destination);
    }
    Some(Read { payload, source, destination, ..entry.clone() })
}

/// Tags of Wireshark's "exported PDU" (`epan/exported_pdu.h`), then the message, which the
/// dissector of that name reads.
fn upper_pdu(entry: &Read, dissector: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(entry.payload.len() + 80);
    let mut tag = |number: u16, body: &[u8]| {
        let padding = body.len().wrapping_neg() & 3;
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&two(body.len() + padding).to_be_bytes());
        out.extend_from_slice(body);
        out.extend_from_slice(&[0; 3][..padding]);
    };
    tag(12, dissector.as_bytes());
    match families(entry.source, entry.destination) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            tag(20, &a.octets());
            tag(21, &b.octets());
        }
        (a, b) => {
            for (number, ip) in [(22, a), (23, b)] {
                if let IpAddr::V6(ip) = ip {
                    tag(number, &ip.octets());
                }
            }
        }
    }
    // 2 is TCP in Wireshark's list of port types.
    tag(24, &2u32.to_be_bytes());
    tag(25, &u32::from(entry.source.port()).to_be_bytes());
    tag(26, &u32::from(entry.destination.port()).to_be_bytes());
    tag(0, &[]);
    out.extend_from_slice(&entry.payload);
    out
}
