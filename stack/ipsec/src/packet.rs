//! Headers of IP and UDP around what the sockets carry: a raw socket gives and takes packets
//! without their IP header, and ESP protects packets with one.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

/// The protocol number of UDP.
pub const UDP: u8 = 17;
/// The protocol number of TCP.
pub const TCP: u8 = 6;
/// The protocol number of ESP.
pub(crate) const ESP: u8 = 50;

pub(crate) const V4_HEADER: usize = 20;
pub(crate) const V6_HEADER: usize = 40;
pub(crate) const UDP_HEADER: usize = 8;
const HOP_LIMIT: u8 = 64;

/// Octets of the IP header between two addresses.
pub(crate) const fn ip_header(address: IpAddr) -> usize {
    if address.is_ipv4() { V4_HEADER } else { V6_HEADER }
}

/// Appends the IP header of a packet with so many octets behind it; `false`, and nothing is
/// appended: there are too many, or the addresses are of two families.
pub(crate) fn write_ip(
    out: &mut Vec<u8>,
    addresses: (IpAddr, IpAddr),
    protocol: u8,
    octets: usize,
) -> bool {
    match addresses {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let Ok(length) = u16::try_from(V4_HEADER + octets) else { return false };
            let mut header = [0; V4_HEADER];
            header[0] = 0x45;
            header[2..4].copy_from_slice(&length.to_be_bytes());
            header[8..10].copy_from_slice(&[HOP_LIMIT, protocol]);
            header[12..16].copy_from_slice(&source.octets());
            header[16..].copy_from_slice(&destination.octets());
            let checksum = !folded(sum(&header));
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            out.extend_from_slice(&header);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let Ok(length) = u16::try_from(octets) else { return false };
            let mut header = [0; V6_HEADER];
            header[0] = 0x60;
            header[4..6].copy_from_slice(&length.to_be_bytes());
            header[6..8].copy_from_slice(&[protocol, HOP_LIMIT]);
            header[8..24].copy_from_slice(&source.octets());
            header[24..].copy_from_slice(&destination.octets());
            out.extend_from_slice(&header);
        }
        _ => return false,
    }
    true
}

/// Appends a header of UDP and what it carries, with a checksum (RFC 768, RFC 8200 §8.1); `false`,
/// and nothing is appended: it is too long.
pub(crate) fn write_udp(out: &mut Vec<u8>, ends: (SocketAddr, SocketAddr), payload: &[u8]) -> bool {
    let Ok(length) = u16::try_from(UDP_HEADER + payload.len()) else { return false };
    let begin = out.len();
    out.extend_from_slice(&ends.0.port().to_be_bytes());
    out.extend_from_slice(&ends.1.port().to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(payload);
    let pseudo = sum_of(ends.0.ip()) + sum_of(ends.1.ip()) + u64::from(UDP) + u64::from(length);
    let checksum = match !folded(pseudo + sum(&out[begin..])) {
        0 => u16::MAX,
        checksum => checksum,
    };
    out[begin + 6..begin + 8].copy_from_slice(&checksum.to_be_bytes());
    true
}

fn sum_of(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    }
}

fn sum(octets: &[u8]) -> u64 {
    let pairs = octets.chunks_exact(2);
    let last = pairs.remainder().first().map_or(0, |octet| u64::from(*octet) << 8);
    pairs.map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u64>() + last
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(u16::MAX)
}

/// What is in a packet of IP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inner {
    pub protocol: u8,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// What UDP carries, counted from the packet's beginning; of TCP the segment.
    pub payload: Range<usize>,
}

/// Reads a packet with UDP or TCP in it. Its ICV was right: whoever sent it has the key, and its
/// checksum says nothing more.
pub(crate) fn read(packet: &[u8]) -> Option<Inner> {
    let (protocol, header, length, source, destination) = match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 15) * 4;
            let fixed: &[u8; V4_HEADER] = packet.first_chunk()?;
            let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff;
            if header < V4_HEADER || fragment != 0 {
                return None;
            }
            let length = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
            let [source, destination] = [12, 16].map(|at: usize| {
                IpAddr::from([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]])
            });
            (fixed[9], header, length, source, destination)
        }
        6 => {
            let fixed: &[u8; V6_HEADER] = packet.first_chunk()?;
            let length = usize::from(u16::from_be_bytes([fixed[4], fixed[5]])) + V6_HEADER;
            let [source, destination] = [8, 24].map(|at: usize| {
                let mut octets = [0; 16];
                octets.copy_from_slice(&fixed[at..at + 16]);
                IpAddr::from(octets)
            });
            (fixed[6], V6_HEADER, length, source, destination)
        }
        _ => return None,
    };
    let rest = packet.get(header..length)?;
    let [from, to] = [[0, 1], [2, 3]]
        .map(|at: [usize; 2]| Some(u16::from_be_bytes([*rest.get(at[0])?, *rest.get(at[1])?])));
    let payload = match protocol {
        UDP => {
            let octets = usize::from(u16::from_be_bytes([*rest.get(4)?, *rest.get(5)?]));
            if octets < UDP_HEADER || octets > rest.len() {
                return None;
            }
            header + UDP_HEADER..header + octets
        }
        TCP => header..length,
        _ => return None,
    };
    let (source, destination) = (SocketAddr::new(source, from?), SocketAddr::new(destination, to?));
    Some(Inner { protocol, source, destination, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(source: &str, destination: &str, payload: &[u8]) -> Vec<u8> {
        let ends = (source.parse().unwrap(), destination.parse().unwrap());
        let (mut udp, mut out) = (Vec::new(), Vec::new());
        assert!(write_udp(&mut udp, ends, payload));
        assert!(write_ip(&mut out, (ends.0.ip(), ends.1.ip()), UDP, udp.len()));
        out.extend_from_slice(&udp);
        out
    }

    #[test]
    fn a_datagram_is_read_as_it_was_written_and_its_checksums_add_up() {
        for (source, destination) in
            [("10.0.0.1:5062", "192.0.2.7:6100"), ("[2001:db8::1]:5062", "[2001:db8::9]:6100")]
        {
            let packet = written(source, destination, b"odd");
            let inner = read(&packet).unwrap();
            assert_eq!(inner.source, source.parse().unwrap());
            assert_eq!(inner.destination, destination.parse().unwrap());
            assert_eq!((inner.protocol, &packet[inner.payload.clone()]), (UDP, &b"odd"[..]));
            let header = inner.payload.start - UDP_HEADER;
            let pseudo = sum_of(inner.source.ip()) + sum_of(inner.destination.ip()) + 17 + 11;
            assert_eq!(folded(pseudo + sum(&packet[header..])), u16::MAX);
            if inner.source.is_ipv4() {
                assert_eq!(folded(sum(&packet[..V4_HEADER])), u16::MAX);
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_of_another_kind_is_none() {
        let whole = written("10.0.0.1:5062", "192.0.2.7:6100", b"SIP");
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), None, "{length}");
        }
        let mut fragment = whole.clone();
        fragment[7] = 1;
        assert_eq!(read(&fragment), None);
        let mut other = whole;
        other[9] = 1;
        assert_eq!(read(&other), None);
        let end = SocketAddr::from(([10, 0, 0, 1], 1));
        assert!(!write_udp(&mut Vec::new(), (end, end), &vec![0; 65_530]));
    }
}
