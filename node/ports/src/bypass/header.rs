//! The headers before a packet that goes past the kernel: Ethernet, and IPv4 (RFC 791 §3.1) or
//! IPv6 (RFC 8200 §3) without options.

use driver::link::checksum;
use machine::narrow::index;
use std::net::IpAddr;

/// Octets of an Ethernet header.
pub(super) const LINK_BYTES: usize = 14;
/// Octets of all headers at most.
pub(super) const HEAD_BYTES_MAX: usize = LINK_BYTES + V6_BYTES;
const V4_BYTES: usize = 20;
const V6_BYTES: usize = 40;
const V4_TYPE: [u8; 2] = [0x08, 0x00];
const V6_TYPE: [u8; 2] = [0x86, 0xdd];
/// Don't Fragment.
const DF: u8 = 0x40;
/// Octets of a packet that every path of IPv6 takes (RFC 8200 §5); routers fragment none.
const V6_MTU_LEAST: usize = 1_280;
/// TTL, hop limit.
const HOPS: u8 = 64;

/// This end of all packets.
#[derive(Debug)]
pub(super) struct Ends {
    pub mac: [u8; 6],
    pub address: IpAddr,
    pub protocol: u8,
}

/// A packet that is about to leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving {
    /// Where its frame goes, and it itself.
    pub mac: [u8; 6],
    pub remote: IpAddr,
    /// Octets behind its headers.
    pub octets: usize,
    /// Its number (RFC 6864), if routers may fragment it.
    pub in_parts: Option<u16>,
}

/// Whether every path takes a packet that may travel in parts as it is, or routers fragment it: of
/// other paths the kernel alone knows how long packets may be there.
pub(super) const fn may_pass(remote: IpAddr, octets: usize) -> bool {
    remote.is_ipv4() || V6_BYTES + octets <= V6_MTU_LEAST
}

impl Ends {
    /// Writes the headers of a packet; says how long they are.
    pub fn write(&self, head: &mut [u8; HEAD_BYTES_MAX], leaving: &Leaving) -> usize {
        let Leaving { mac, remote, octets, in_parts } = *leaving;
        head[..6].copy_from_slice(&mac);
        head[6..12].copy_from_slice(&self.mac);
        let ip = &mut head[LINK_BYTES..];
        match (self.address, remote) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                ip[..4].copy_from_slice(&[0x45, 0, 0, 0]);
                ip[2..4].copy_from_slice(&index(V4_BYTES + octets).to_be_bytes());
                let number = in_parts.unwrap_or(0).to_be_bytes();
                let flags = if in_parts.is_some() { 0 } else { DF };
                ip[4..6].copy_from_slice(&number);
                ip[6..12].copy_from_slice(&[flags, 0, HOPS, self.protocol, 0, 0]);
                ip[12..16].copy_from_slice(&from.octets());
                ip[16..20].copy_from_slice(&to.octets());
                let sum = checksum(&ip[..V4_BYTES]);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
                head[12..14].copy_from_slice(&V4_TYPE);
                LINK_BYTES + V4_BYTES
            }
            (from, to) => {
                ip[..4].copy_from_slice(&[0x60, 0, 0, 0]);
                ip[4..6].copy_from_slice(&index(octets).to_be_bytes());
                ip[6..8].copy_from_slice(&[self.protocol, HOPS]);
                ip[8..24].copy_from_slice(&sixteen(from));
                ip[24..40].copy_from_slice(&sixteen(to));
                head[12..14].copy_from_slice(&V6_TYPE);
                LINK_BYTES + V6_BYTES
            }
        }
    }

    /// The sender of a frame, and what stands behind the IP header; `None` when it is not for this
    /// end or not as it should be.
    pub fn read<'a>(&self, frame: &'a [u8]) -> Option<(IpAddr, &'a [u8])> {
        let (link, packet) = frame.split_at_checked(LINK_BYTES)?;
        if link[..6] != self.mac {
            return None;
        }
        let (source, bytes) = match self.address {
            IpAddr::V4(own) => {
                let head: &[u8; V4_BYTES] = packet.first_chunk()?;
                let total = usize::from(u16::from_be_bytes([head[2], head[3]]));
                let is_ours = link[12..] == V4_TYPE
                    && head[0] == 0x45
                    && head[9] == self.protocol
                    && head[16..] == own.octets()
                    && checksum(head) == 0;
                let source: [u8; 4] = *head[12..16].first_chunk()?;
                let bytes = packet.get(V4_BYTES..total)?;
                is_ours.then_some((IpAddr::from(source), bytes))?
            }
            IpAddr::V6(own) => {
                let head: &[u8; V6_BYTES] = packet.first_chunk()?;
                let octets = usize::from(u16::from_be_bytes([head[4], head[5]]));
                let is_ours = link[12..] == V6_TYPE
                    && head[0] >> 4 == 6
                    && head[6] == self.protocol
                    && head[24..] == own.octets();
                let source: [u8; 16] = *head[8..24].first_chunk()?;
                let bytes = packet.get(V6_BYTES..V6_BYTES + octets)?;
                is_ours.then_some((IpAddr::from(source), bytes))?
            }
        };
        (is_unicast(source) && !bytes.is_empty()).then_some((source, bytes))
    }
}

/// Whether a host can have that address: nobody else's packets are taken (RFC 1122 §3.2.1.3,
/// RFC 4291 §2.5).
fn is_unicast(source: IpAddr) -> bool {
    let is_broadcast = matches!(source, IpAddr::V4(ip) if ip.is_broadcast() || ip.octets()[0] == 0);
    !(source.is_unspecified() || source.is_loopback() || source.is_multicast() || is_broadcast)
}

fn sixteen(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: [u8; 6] = [2, 0, 0, 0, 0, 9];

    fn ends(mac: [u8; 6], address: &str) -> Ends {
        Ends { mac, address: address.parse().unwrap(), protocol: 132 }
    }

    /// A frame from the first to the second, with three octets and padding behind.
    fn frame(from: &Ends, to: &Ends) -> Vec<u8> {
        frame_of(from, to, None)
    }

    fn frame_of(from: &Ends, to: &Ends, in_parts: Option<u16>) -> Vec<u8> {
        let mut head = [0xff; HEAD_BYTES_MAX];
        let leaving = Leaving { mac: to.mac, remote: to.address, octets: 3, in_parts };
        let octets = from.write(&mut head, &leaving);
        [&head[..octets], b"abc", &[0; 20]].concat()
    }

    #[test]
    fn what_one_end_writes_the_other_reads_without_the_padding_of_ethernet() {
        for [near, far] in [["192.0.2.1", "192.0.2.2"], ["fd00::1", "fd00::2"]] {
            let (near, far) = (ends([2; 6], near), ends(FAR, far));
            let frame = frame(&near, &far);
            assert_eq!(far.read(&frame), Some((near.address, &b"abc"[..])));
            assert_eq!(near.read(&frame), None, "it is for the other end");
        }
    }

    #[test]
    fn the_header_of_ipv4_is_the_one_of_the_standard() {
        let frame = frame(&ends([2; 6], "10.9.0.1"), &ends(FAR, "10.9.0.2"));
        let header = [0x45, 0, 0, 23, 0, 0, 0x40, 0, 64, 132, 0x26, 0x4f, 10, 9, 0, 1, 10, 9, 0, 2];
        assert_eq!(frame[..14], [2, 0, 0, 0, 0, 9, 2, 2, 2, 2, 2, 2, 8, 0]);
        assert_eq!(frame[14..34], header);
    }

    #[test]
    fn what_routers_may_fragment_has_a_number_and_no_flag_that_forbids_it() {
        let (near, far) = (ends([2; 6], "10.9.0.1"), ends(FAR, "10.9.0.2"));
        let frame = frame_of(&near, &far, Some(0x1234));
        assert_eq!(frame[18..22], [0x12, 0x34, 0, 0]);
        assert_eq!(far.read(&frame), Some((near.address, &b"abc"[..])));
        let (v4, v6) = (far.address, "fd00::2".parse().unwrap());
        assert!(may_pass(v4, 1_480) && may_pass(v6, 1_240) && !may_pass(v6, 1_241));
    }

    #[test]
    fn no_octet_of_a_header_can_be_another_one_and_no_frame_can_be_shorter() {
        for [near, far] in [["192.0.2.1", "192.0.2.2"], ["fd00::1", "fd00::2"]] {
            let (near, far) = (ends([2; 6], near), ends(FAR, far));
            let whole = frame(&near, &far);
            let head = if near.address.is_ipv4() { 34 } else { 54 };
            for length in 0..head + 3 {
                assert_eq!(far.read(&whole[..length]), None, "{length} octets");
            }
            for at in (0..head).filter(|at| !(6..12).contains(at)) {
                let mut other = whole.clone();
                other[at] ^= 0xff;
                let is_free = far.address.is_ipv6() && matches!(at, 15..18 | 21 | 22..38);
                if !is_free {
                    assert_eq!(far.read(&other), None, "octet {at}");
                }
            }
        }
    }

    #[test]
    fn sources_that_no_host_has_are_not_taken() {
        let far = ends(FAR, "192.0.2.2");
        for source in ["0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "255.255.255.255"] {
            assert_eq!(far.read(&frame(&ends([2; 6], source), &far)), None, "{source}");
        }
        let far = ends(FAR, "fd00::2");
        for source in ["::", "::1", "ff02::1"] {
            assert_eq!(far.read(&frame(&ends([2; 6], source), &far)), None, "{source}");
        }
    }
}
