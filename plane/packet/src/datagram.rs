//! Packets of UDP as they come up from the forwarder and go down to it: IPv4 (RFC 791) and IPv6
//! (RFC 8200) without options, UDP (RFC 768).

use crate::header;
use core::net::{IpAddr, SocketAddr};

/// Hops of what is sent.
const HOPS: u8 = 64;
const UDP: u8 = 17;
const UDP_OCTETS: usize = 8;
const IP4_OCTETS: usize = 20;
const IP6_OCTETS: usize = 40;

/// A datagram: where it came from, where to, and what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Its source.
    pub from: SocketAddr,
    /// Its destination.
    pub to: SocketAddr,
    /// Behind the header of UDP.
    pub payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Reads a packet; `None` if it is none of UDP, or a fragment.
    #[must_use]
    pub fn read(packet: &'a [u8]) -> Option<Self> {
        let (from, to, udp): (IpAddr, IpAddr, &[u8]) = match packet.first()? >> 4 {
            4 => {
                let head = packet.first_chunk::<IP4_OCTETS>()?;
                let options = usize::from(head[0] & 0x0f) * 4;
                let whole = usize::from(u16::from_be_bytes([head[2], head[3]]));
                let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff;
                if head[9] != UDP || fragment != 0 || options < IP4_OCTETS {
                    return None;
                }
                let address = |at: usize| -> Option<IpAddr> {
                    Some(<[u8; 4]>::try_from(head.get(at..at + 4)?).ok()?.into())
                };
                (address(12)?, address(16)?, packet.get(options..whole)?)
            }
            6 => {
                let head = packet.first_chunk::<IP6_OCTETS>()?;
                let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
                if head[6] != UDP {
                    return None;
                }
                let address = |at: usize| -> Option<IpAddr> {
                    Some(<[u8; 16]>::try_from(head.get(at..at + 16)?).ok()?.into())
                };
                let udp = packet.get(IP6_OCTETS..IP6_OCTETS + length)?;
                (address(8)?, address(24)?, udp)
            }
            _ => return None,
        };
        let head = udp.first_chunk::<UDP_OCTETS>()?;
        let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let payload = udp.get(UDP_OCTETS..usize::from(number(4)))?;
        let (from, to) = (SocketAddr::new(from, number(0)), SocketAddr::new(to, number(2)));
        Some(Self { from, to, payload })
    }

    /// Appends it as a packet; nothing, if it is too long or its addresses are of two families.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Some(length) = u16::try_from(self.payload.len() + UDP_OCTETS).ok() else { return };
        let at = out.len();
        match (self.from.ip(), self.to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let Some(whole) = length.checked_add(20) else { return };
                // Not to be fragmented, so that it needs no number of its own.
                out.extend_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, HOPS, UDP, 0, 0]);
                out[at + 2..at + 4].copy_from_slice(&whole.to_be_bytes());
                out.extend_from_slice(&from.octets());
                out.extend_from_slice(&to.octets());
                let sum = checksum(&[&out[at..]]);
                out[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                out.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, UDP, HOPS]);
                out[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
                out.extend_from_slice(&from.octets());
                out.extend_from_slice(&to.octets());
            }
            _ => return,
        }
        let udp = out.len();
        for number in [self.from.port(), self.to.port(), length, 0] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(self.payload);
        // Of the pseudo-header the addresses stand right before.
        let addresses = if self.from.is_ipv4() { udp - 8..udp } else { udp - 32..udp };
        let [high, low] = length.to_be_bytes();
        let sum = checksum(&[&out[addresses], &[0, UDP, high, low], &out[udp..]]);
        // Zero would say that there is none.
        let sum = if sum == 0 { u16::MAX } else { sum };
        out[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The Internet checksum (RFC 1071) of parts with an even number of octets each, but for the last.
fn checksum(parts: &[&[u8]]) -> u16 {
    header::checksum(parts.iter().fold(0, |so_far, part| header::sum(part, so_far)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_read_as_they_were_written_and_hold_their_checksums() {
        for (from, to) in [
            ("192.0.2.1:20000", "198.51.100.1:4000"),
            ("[2001:db8::1]:20000", "[2001:db8:1::9]:4000"),
        ] {
            for payload in [&b""[..], b"odd", b"even"] {
                let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
                let datagram = Datagram { from, to, payload };
                let mut packet = vec![];
                datagram.write(&mut packet);
                assert_eq!(Datagram::read(&packet), Some(datagram));
                for cut in 0..packet.len() {
                    assert_eq!(Datagram::read(&packet[..cut]), None);
                }
                let (addresses, udp) = if packet[0] >> 4 == 4 {
                    assert_eq!(checksum(&[&packet[..20]]), 0);
                    (12..20, 20)
                } else {
                    (8..40, 40)
                };
                let length = u16::try_from(packet.len() - udp).unwrap().to_be_bytes();
                let pseudo = [0, UDP, length[0], length[1]];
                let sum = checksum(&[&packet[addresses], &pseudo, &packet[udp..]]);
                assert_eq!(sum, 0, "{from} {payload:?}");
            }
        }
    }

    #[test]
    fn what_is_no_datagram_is_none() {
        let datagram = Datagram {
            from: "192.0.2.1:1".parse().unwrap(),
            to: "192.0.2.2:2".parse().unwrap(),
            payload: b"text",
        };
        let mut packet = vec![];
        datagram.write(&mut packet);
        for (at, octet) in [(9, 6), (6, 0x20), (7, 1), (0, 0x43), (0, 0x55), (25, 4), (25, 200)] {
            let mut other = packet.clone();
            other[at] = octet;
            assert_eq!(Datagram::read(&other), None, "{at} {octet}");
        }
        let mixed = Datagram { to: "[::1]:2".parse().unwrap(), ..datagram };
        let mut packet = vec![];
        mixed.write(&mut packet);
        assert!(packet.is_empty());
    }
}
