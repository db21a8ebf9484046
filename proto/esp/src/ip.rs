//! What ESP must know of an IP packet: where headers end, what follows, who sends to whom
//! (RFC 791, RFC 8200).

use crate::Dropped;
use crate::checksum::{folded, sum};
use core::net::IpAddr;

pub(crate) const HOP_BY_HOP: u8 = 0;
pub(crate) const IPV4: u8 = 4;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const IPV6: u8 = 41;
pub(crate) const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
pub(crate) const ESP: u8 = 50;
/// No next header: a dummy packet.
pub(crate) const NONE: u8 = 59;
pub(crate) const DESTINATION: u8 = 60;
pub(crate) const SCTP: u8 = 132;
pub(crate) const UDP_LITE: u8 = 136;

pub(crate) const V4_HEADER: usize = 20;
pub(crate) const V6_HEADER: usize = 40;
pub(crate) const UDP_HEADER: usize = 8;

/// Most extension headers of a packet.
const EXTENSIONS_MAX: usize = 8;

/// Where a packet is a fragment, which one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Whole,
    First,
    Later,
}

/// How far the headers of IPv6 are walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walk {
    /// To where ESP is put (RFC 4303 §3.1.1): behind what nodes on the way look at. Options for the
    /// destination go with that only where no routing header came before.
    Insertion,
    /// To what is no extension header.
    Upper,
}

/// The headers of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub is_v6: bool,
    /// Octets of the packet.
    pub length: usize,
    /// Octets of its headers.
    pub header: usize,
    /// Where the octet stands that says what follows, and what it says.
    pub next_at: usize,
    pub next: u8,
    pub part: Part,
}

impl Head {
    /// Reads the headers of a packet; octets behind its end are not its.
    pub fn read(octets: &[u8], walk: Walk) -> Result<Self, Dropped> {
        match octets.first().map(|octet| octet >> 4) {
            Some(4) => Self::v4(octets),
            Some(6) => Self::v6(octets, walk),
            _ => Err(Dropped::Malformed),
        }
    }

    fn v4(octets: &[u8]) -> Result<Self, Dropped> {
        let fixed: &[u8; V4_HEADER] = octets.first_chunk().ok_or(Dropped::Malformed)?;
        let header = usize::from(fixed[0] & 15) * 4;
        let length = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if header < V4_HEADER || header > length || length > octets.len() {
            return Err(Dropped::Malformed);
        }
        let fragment = u16::from_be_bytes([fixed[6], fixed[7]]);
        let part = match (fragment & 0x1fff, fragment & 0x2000) {
            (0, 0) => Part::Whole,
            (0, _) => Part::First,
            _ => Part::Later,
        };
        Ok(Self { is_v6: false, length, header, next_at: 9, next: fixed[9], part })
    }

    fn v6(octets: &[u8], walk: Walk) -> Result<Self, Dropped> {
        let fixed: &[u8; V6_HEADER] = octets.first_chunk().ok_or(Dropped::Malformed)?;
        let length = V6_HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        let octets = octets.get(..length).ok_or(Dropped::Malformed)?;
        let mut head = Self {
            is_v6: true,
            length,
            header: V6_HEADER,
            next_at: 6,
            next: fixed[6],
            part: Part::Whole,
        };
        let mut routed = false;
        for _ in 0..EXTENSIONS_MAX {
            let goes_on = match head.next {
                HOP_BY_HOP | ROUTING => true,
                FRAGMENT => head.part != Part::Later,
                DESTINATION => walk == Walk::Upper || !routed,
                _ => false,
            };
            if !goes_on || head.part == Part::Later {
                return Ok(head);
            }
            routed |= head.next == ROUTING;
            head.pass(octets)?;
        }
        Err(Dropped::Malformed)
    }

    /// Goes on behind an extension header.
    fn pass(&mut self, octets: &[u8]) -> Result<(), Dropped> {
        let rest = octets.get(self.header..).unwrap_or_default();
        let extension: &[u8; 8] = rest.first_chunk().ok_or(Dropped::Malformed)?;
        let mut long = 8 * (usize::from(extension[1]) + 1);
        if self.next == FRAGMENT {
            long = 8;
            let fragment = u16::from_be_bytes([extension[2], extension[3]]);
            self.part = match (fragment >> 3, fragment & 1) {
                (0, 0) => self.part,
                (0, _) => Part::First,
                _ => Part::Later,
            };
        }
        if long > rest.len() {
            return Err(Dropped::Malformed);
        }
        self.next_at = self.header;
        self.next = extension[0];
        self.header += long;
        Ok(())
    }

    pub fn source(&self, octets: &[u8]) -> IpAddr {
        if self.is_v6 { v6_address(octets, 8) } else { v4_address(octets, 12) }
    }

    pub fn destination(&self, octets: &[u8]) -> IpAddr {
        if self.is_v6 { v6_address(octets, 24) } else { v4_address(octets, 16) }
    }

    /// The ports, of protocols that have them where both of ours do; `None` in what has none or
    /// does not show them.
    pub fn ports(&self, octets: &[u8]) -> Option<(u16, u16)> {
        let has_ports = matches!(self.next, TCP | UDP | SCTP | UDP_LITE);
        if !has_ports || self.part == Part::Later {
            return None;
        }
        let [a, b, c, d] = *octets.get(self.header..self.length)?.first_chunk::<4>()?;
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }
}

fn v4_address(octets: &[u8], at: usize) -> IpAddr {
    let address: [u8; 4] = octets[at..].first_chunk().copied().unwrap_or_default();
    address.into()
}

fn v6_address(octets: &[u8], at: usize) -> IpAddr {
    let address: [u8; 16] = octets[at..].first_chunk().copied().unwrap_or_default();
    address.into()
}

/// Sets the length and what follows the headers of a packet, and the checksum of IPv4. Says no to
/// what a length field does not hold.
pub(crate) fn set_next(packet: &mut [u8], head: &Head, next: u8) -> Result<(), Dropped> {
    let fixed = if head.is_v6 { V6_HEADER } else { 0 };
    let length = u16::try_from(packet.len() - fixed).map_err(|_| Dropped::NoRoom)?.to_be_bytes();
    packet[head.next_at] = next;
    if head.is_v6 {
        packet[4..6].copy_from_slice(&length);
    } else {
        packet[2..4].copy_from_slice(&length);
        set_v4_checksum(&mut packet[..head.header]);
    }
    Ok(())
}

/// Makes the checksum of a header of IPv4.
pub(crate) fn set_v4_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let checksum = !folded(sum(header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of IPv6 with extension headers, each of eight octets, and a payload of UDP.
    fn v6(extensions: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; V6_HEADER];
        packet[0] = 0x60;
        let follows = |at: usize| extensions.get(at).copied().unwrap_or(UDP);
        packet[6] = follows(0);
        for at in 0..extensions.len() {
            packet.extend([follows(at + 1), 0, 0, 0, 0, 0, 0, 0]);
        }
        packet.extend([1, 2, 3, 4, 0, 8, 0, 0]);
        let length = u16::try_from(packet.len() - V6_HEADER).unwrap();
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        packet
    }

    #[test]
    fn headers_for_those_on_the_way_stay_in_front_of_esp() {
        for (extensions, kept, next) in [
            (&[][..], 0, UDP),
            (&[HOP_BY_HOP], 1, UDP),
            (&[DESTINATION], 1, UDP),
            (&[HOP_BY_HOP, DESTINATION, ROUTING, DESTINATION], 3, DESTINATION),
            (&[ROUTING, DESTINATION], 1, DESTINATION),
        ] {
            let packet = v6(extensions);
            let head = Head::read(&packet, Walk::Insertion).unwrap();
            assert_eq!((head.header, head.next), (V6_HEADER + 8 * kept, next), "{extensions:?}");
            let head = Head::read(&packet, Walk::Upper).unwrap();
            assert_eq!((head.header, head.next), (V6_HEADER + 8 * extensions.len(), UDP));
            assert_eq!(head.ports(&packet), Some((0x102, 0x304)));
            for cut in 0..packet.len() {
                assert!(Head::read(&packet[..cut], Walk::Upper).is_err());
            }
        }
        let many = v6(&[DESTINATION; 9]);
        assert_eq!(Head::read(&many, Walk::Upper).err(), Some(Dropped::Malformed));
    }

    #[test]
    fn fragments_are_seen() {
        let mut packet = v6(&[FRAGMENT]);
        for (field, part) in
            [(0, Part::Whole), (1, Part::First), (8, Part::Later), (9, Part::Later)]
        {
            packet[43] = field;
            let head = Head::read(&packet, Walk::Upper).unwrap();
            assert_eq!(head.part, part);
            assert_eq!(head.ports(&packet).is_some(), part != Part::Later);
        }
        let mut packet = vec![0; 28];
        (packet[0], packet[3], packet[9]) = (0x45, 28, UDP);
        for (field, part) in [(0x40, Part::Whole), (0x20, Part::First), (0x01, Part::Later)] {
            packet[6] = field;
            assert_eq!(Head::read(&packet, Walk::Upper).unwrap().part, part);
        }
    }
}
