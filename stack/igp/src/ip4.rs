//! IPv4 packets (RFC 791) around what OSPF and BFD say: their headers are read and written here,
//! for the forwarder hands up and takes whole packets.
//!
//! ```text
//!   channel ─→ Packet::read ─→ source, destination, TTL, payload ─→ datagram (UDP) ─→ payload
//!   Head + payload ─→ write ─→ one packet, or fragments where the link is too narrow ─→ channel
//! ```

use std::net::Ipv4Addr;

/// Octets of a header without options.
pub const HEADER_OCTETS: usize = 20;
/// Octets of a header of UDP.
const UDP_OCTETS: usize = 8;
/// The protocol of UDP.
pub const UDP: u8 = 17;
/// The protocol of TCP.
pub const TCP: u8 = 6;
/// Internetwork control (RFC 2474 §4.2.2.2).
const CLASS: u8 = 0xC0;
/// Octets of a whole packet at most.
pub(crate) const OCTETS_MAX: usize = 65_535;
/// Fragments lie on multiples of these octets.
const UNIT: usize = 8;
const MORE_FRAGMENTS: u16 = 0x2000;

/// A packet that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Where from.
    pub source: Ipv4Addr,
    /// Where to.
    pub destination: Ipv4Addr,
    /// Hops that it could have gone on.
    pub ttl: u8,
    /// Whose it is.
    pub protocol: u8,
    /// What follows the header.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a packet; `None` for one that is cut, of another version, or a fragment. The forwarder
    /// has looked at the checksum.
    #[must_use]
    pub fn read(octets: &'a [u8]) -> Option<Self> {
        let head = octets.first_chunk::<HEADER_OCTETS>()?;
        let header = usize::from(head[0] & 15) * 4;
        let whole = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff;
        if head[0] >> 4 != 4 || header < HEADER_OCTETS || fragment != 0 {
            return None;
        }
        Some(Self {
            source: address(head, 12),
            destination: address(head, 16),
            ttl: head[8],
            protocol: head[9],
            payload: octets.get(header..whole)?,
        })
    }

    /// Port and payload of a datagram of UDP that came whole: its length and checksum hold (RFC
    /// 768).
    #[must_use]
    pub fn datagram(&self) -> Option<(u16, &'a [u8])> {
        let head = self.payload.first_chunk::<UDP_OCTETS>()?;
        let length = u16::from_be_bytes([head[4], head[5]]);
        let datagram = self.payload.get(..usize::from(length))?;
        let has_sum = head[6..] != [0, 0];
        let sum = sum_of(UDP, [self.source, self.destination], length, datagram);
        let is_sound = self.protocol == UDP && (!has_sum || sum == 0);
        let port = u16::from_be_bytes([head[2], head[3]]);
        datagram.get(UDP_OCTETS..).filter(|_| is_sound).map(|payload| (port, payload))
    }
}

fn address(head: &[u8; HEADER_OCTETS], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3])
}

/// The Internet checksum (RFC 1071).
fn checksum(octets: &[u8], so_far: u32) -> u16 {
    let words = octets
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let sum = words.fold(u64::from(so_far), |sum, word| sum + u64::from(word));
    let folded = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let folded = (folded & 0xffff) + (folded >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !machine::narrow::at_most::<u16>(folded, u16::MAX)
}

/// The checksum of a datagram or a segment with its pseudo-header; zero where it holds.
fn sum_of(protocol: u8, ends: [Ipv4Addr; 2], length: u16, octets: &[u8]) -> u16 {
    let halves = ends.map(u32::from).map(|it| (it >> 16) + (it & 0xffff));
    checksum(octets, halves[0] + halves[1] + u32::from(protocol) + u32::from(length))
}

/// The header of a packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Where from.
    pub source: Ipv4Addr,
    /// Where to.
    pub destination: Ipv4Addr,
    /// Hops that it may go on.
    pub ttl: u8,
    /// Whose it is.
    pub protocol: u8,
    /// Tells its fragments from others'.
    pub id: u16,
}

/// Says what each packet is that carries a payload over a link of `mtu` octets: one, or fragments
/// (RFC 791 §3.2). None where the payload is longer than a packet can be.
pub fn write(head: &Head, payload: &[u8], mtu: u16, mut each: impl FnMut(&[u8], &[u8])) {
    if payload.len() + HEADER_OCTETS > OCTETS_MAX {
        return;
    }
    let room = usize::from(mtu).saturating_sub(HEADER_OCTETS);
    if payload.len() <= room {
        return each(&header(head, payload.len(), 0), payload);
    }
    let room = (room / UNIT).max(1) * UNIT;
    for (nth, part) in payload.chunks(room).enumerate() {
        let at = nth * room;
        let more = if at + part.len() < payload.len() { MORE_FRAGMENTS } else { 0 };
        let place = machine::narrow::index(at / UNIT);
        each(&header(head, part.len(), place | more), part);
    }
}

fn header(head: &Head, payload: usize, fragment: u16) -> [u8; HEADER_OCTETS] {
    let mut octets = [0; HEADER_OCTETS];
    let whole = machine::narrow::index(HEADER_OCTETS + payload);
    octets[..2].copy_from_slice(&[0x45, CLASS]);
    octets[2..4].copy_from_slice(&whole.to_be_bytes());
    octets[4..6].copy_from_slice(&head.id.to_be_bytes());
    octets[6..8].copy_from_slice(&fragment.to_be_bytes());
    octets[8..10].copy_from_slice(&[head.ttl, head.protocol]);
    octets[12..16].copy_from_slice(&head.source.octets());
    octets[16..].copy_from_slice(&head.destination.octets());
    let sum = checksum(&octets, 0);
    octets[10..12].copy_from_slice(&sum.to_be_bytes());
    octets
}

/// A datagram of UDP with its checksum, to be the payload of a packet between those ends.
#[must_use]
pub fn udp(ends: [Ipv4Addr; 2], ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let length = machine::narrow::index(UDP_OCTETS + payload.len());
    let mut octets = Vec::with_capacity(UDP_OCTETS + payload.len());
    for word in [ports[0], ports[1], length, 0] {
        octets.extend_from_slice(&word.to_be_bytes());
    }
    octets.extend_from_slice(payload);
    // Zero would say that there is none.
    let sum = match sum_of(UDP, ends, length, &octets) {
        0 => u16::MAX,
        sum => sum,
    };
    octets[6..8].copy_from_slice(&sum.to_be_bytes());
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    const HEAD: Head = Head {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(224, 0, 0, 5),
        ttl: 1,
        protocol: 89,
        id: 7,
    };

    fn packets(payload: &[u8], mtu: u16) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        write(&HEAD, payload, mtu, |head, part| all.push([head, part].concat()));
        all
    }

    #[test]
    fn a_packet_is_read_as_it_was_written_and_its_checksum_holds() {
        let [packet] = &packets(b"payload", 1_500)[..] else { panic!("one packet") };
        assert_eq!(checksum(&packet[..HEADER_OCTETS], 0), 0);
        let read = Packet::read(packet).expect("a packet");
        assert_eq!((read.source, read.destination), (HEAD.source, HEAD.destination));
        assert_eq!((read.ttl, read.protocol, read.payload), (1, 89, &b"payload"[..]));
        let padded = [packet, &[0; 18][..]].concat();
        assert_eq!(Packet::read(&padded), Some(read), "padding of the link is none of it");
        for cut in 0..packet.len() {
            assert_eq!(Packet::read(&packet[..cut]), None);
        }
        for (at, octet) in [(0, 0x65), (0, 0x44), (3, 19), (6, 0x20), (7, 1)] {
            let mut other = packet.clone();
            other[at] = octet;
            assert_eq!(Packet::read(&other), None, "octet {at} is {octet:#x}");
        }
    }

    #[test]
    fn what_is_longer_than_the_link_leaves_in_fragments_that_cover_it() {
        let payload: Vec<u8> = (0..3_000_u32).map(|n| n as u8).collect();
        let all = packets(&payload, 1_500);
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [1_500, 1_500, 60]);
        let mut joined = Vec::new();
        for (nth, packet) in all.iter().enumerate() {
            let field = u16::from_be_bytes([packet[6], packet[7]]);
            assert_eq!(usize::from(field & 0x1fff) * 8, joined.len());
            assert_eq!(field & MORE_FRAGMENTS != 0, nth + 1 < all.len());
            assert_eq!(checksum(&packet[..HEADER_OCTETS], 0), 0);
            assert_eq!(packet[4..6], [0, 7]);
            joined.extend_from_slice(&packet[HEADER_OCTETS..]);
        }
        assert_eq!(joined, payload);
        assert!(packets(&vec![0; 65_516], 1_500).is_empty(), "longer than a packet can be");
    }

    fn of(payload: &[u8]) -> Packet<'_> {
        let [source, destination] = ENDS;
        Packet { source, destination, ttl: 255, protocol: UDP, payload }
    }

    #[test]
    fn a_datagram_is_read_where_its_length_and_checksum_hold() {
        for payload in [&b""[..], b"odd", b"even"] {
            let datagram = udp(ENDS, [49_152, 3_784], payload);
            assert_eq!(of(&datagram).datagram(), Some((3_784, payload)));
            let mut forged = datagram.clone();
            forged[0] ^= 1;
            assert_eq!(of(&forged).datagram(), None);
            forged[6..8].copy_from_slice(&[0, 0]);
            assert_eq!(of(&forged).datagram(), Some((3_784, payload)), "it has no checksum");
            for cut in 0..datagram.len() {
                assert_eq!(of(&datagram[..cut]).datagram(), None);
            }
        }
    }
}
