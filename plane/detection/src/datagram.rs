//! Datagrams of UDP around packets of BFD, over IPv4 and IPv6 (RFC 5881 §4).

use bfd::{OCTETS_MAX, PORT_SINGLE_HOP, TTL};
use machine::narrow::index;
use nodes::header::{IP4, IP6, UDP, checksum, pseudo6, seal_ip4, sum, word};
use std::net::IpAddr;

/// Octets of a header of UDP.
const UDP_OCTETS: usize = 8;
/// Internetwork control (RFC 2474 §4.2.2.2).
const CLASS: u8 = 0xc0;
/// Octets of the longest packet that leaves.
const PACKET_OCTETS_MAX: usize = IP6 + UDP_OCTETS + OCTETS_MAX;

/// A packet with its headers, in memory of its own.
pub(crate) struct Made {
    octets: [u8; PACKET_OCTETS_MAX],
    length: usize,
}

impl Made {
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

/// What came in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Came<'a> {
    pub ends: [IpAddr; 2],
    pub ttl: u8,
    pub payload: &'a [u8],
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(octets).ok()?)),
        _ => Some(IpAddr::from(<[u8; 16]>::try_from(octets).ok()?)),
    }
}

/// The sum of a datagram with its pseudo-header.
fn sum_of(addresses: &[u8], datagram: &[u8]) -> u32 {
    sum(datagram, pseudo6(addresses, datagram.len(), UDP))
}

/// Reads a packet whose datagram begins at `at`, and keeps its payload; `None`: its length or
/// checksum does not hold. What is longer than a packet of BFD can be is cut: its length says so.
pub(crate) fn read<'a>(
    packet: &[u8],
    at: usize,
    kept: &'a mut [u8; OCTETS_MAX],
) -> Option<Came<'a>> {
    let is_four = packet.first()? >> 4 == 4;
    let (addresses, ttl) = match is_four {
        true => (packet.get(12..20)?, *packet.get(8)?),
        false => (packet.get(8..IP6)?, *packet.get(7)?),
    };
    let length = usize::from(word(packet, at + 4));
    let datagram = packet.get(at..at + length)?;
    let payload = datagram.get(UDP_OCTETS..)?;
    let has_sum = word(datagram, 6) != 0;
    let holds = if has_sum { checksum(sum_of(addresses, datagram)) == 0 } else { is_four };
    let (source, destination) = addresses.split_at(addresses.len() / 2);
    let ends = [address(source)?, address(destination)?];
    let length = payload.len().min(OCTETS_MAX);
    kept[..length].copy_from_slice(&payload[..length]);
    holds.then_some(Came { ends, ttl, payload: &kept[..length] })
}

/// Writes a packet from one end to the other.
pub(crate) fn write(ends: [IpAddr; 2], port: u16, payload: &[u8]) -> Option<Made> {
    let mut octets = [0; PACKET_OCTETS_MAX];
    let datagram = UDP_OCTETS + payload.len();
    let (header, addresses) = match ends {
        [IpAddr::V4(from), IpAddr::V4(to)] => {
            octets[..2].copy_from_slice(&[0x45, CLASS]);
            octets[2..4].copy_from_slice(&index(IP4 + datagram).to_be_bytes());
            octets[8..10].copy_from_slice(&[TTL, UDP]);
            octets[12..16].copy_from_slice(&from.octets());
            octets[16..IP4].copy_from_slice(&to.octets());
            seal_ip4(&mut octets[..IP4]);
            (IP4, 12..IP4)
        }
        [IpAddr::V6(from), IpAddr::V6(to)] => {
            octets[..2].copy_from_slice(&[0x60 | CLASS >> 4, CLASS << 4]);
            octets[4..6].copy_from_slice(&index(datagram).to_be_bytes());
            octets[6..8].copy_from_slice(&[UDP, TTL]);
            octets[8..24].copy_from_slice(&from.octets());
            octets[24..IP6].copy_from_slice(&to.octets());
            (IP6, 8..IP6)
        }
        _ => return None,
    };
    let length = header + datagram;
    let body = octets.get_mut(header..length)?;
    let words = [port, PORT_SINGLE_HOP, index(datagram), 0];
    for (place, word) in body.chunks_exact_mut(2).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    body[UDP_OCTETS..].copy_from_slice(payload);
    let (heads, body) = octets.split_at_mut(header);
    let body = &mut body[..datagram];
    // Zero would say that there is none.
    let check = match checksum(sum_of(&heads[addresses], body)) {
        0 => u16::MAX,
        check => check,
    };
    body[6..UDP_OCTETS].copy_from_slice(&check.to_be_bytes());
    Some(Made { octets, length })
}
