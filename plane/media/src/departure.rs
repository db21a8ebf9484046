//! The headers of a packet as it leaves: addresses, ports, marks and checksums, of IPv4 or IPv6
//! whatever it came by.
//!
//! The checksum of UDP is mended where only headers changed (RFC 1624, equation 3), so that an
//! octet that was broken on the way is still seen at the end; it is made anew where the payload was
//! opened or protected: there a tag has answered for it, or will.

use crate::arrival::UDP_OCTETS;
use crate::cell::Way;
use crate::reason;
use core::net::IpAddr;
use graph::{Edge, Meta, Verdict};
use nodes::header::{IP4, IP6, UDP, word};

/// To `ip4-lookup`.
pub(crate) const TO_LOOKUP4: Verdict = Verdict::to(Edge(0));
/// To `ip6-lookup`.
pub(crate) const TO_LOOKUP6: Verdict = Verdict::to(Edge(1));
/// Hops that a packet may take: it begins anew here.
const HOPS: u8 = 64;

/// The sum of octets as the processor has their pairs: one's complement sums do not mind
/// (RFC 1071 §2).
#[inline]
pub(crate) fn native_sum(octets: &[u8]) -> u64 {
    let (fours, rest) = octets.as_chunks::<4>();
    let sum = fours.iter().map(|four| u64::from(u32::from_ne_bytes(*four))).sum::<u64>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_ne_bytes(last))
}

/// A sum in 16 bits.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "what is folded has 16 bits")]
const fn folded(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}

/// What is known of a packet's checksum before it is changed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    /// It has none, and its payload is as it came but for its header.
    Absent,
    /// It has this one, for headers of this sum; the payload is as it came but for its header.
    Of(u16, u64),
    /// The payload changed.
    Anew,
}

/// Octets of RTP that may change in place.
const RTP_OCTETS: usize = 12;

/// The sum of what changes when a packet is sent on: addresses, ports, and the header of RTP.
#[inline]
fn changing(addresses: &[u8], segment: &[u8]) -> u64 {
    let rtp = &segment[UDP_OCTETS..segment.len().min(UDP_OCTETS + RTP_OCTETS)];
    native_sum(addresses) + native_sum(&segment[..4]) + native_sum(rtp)
}

/// What is known of the checksum of a packet that came: its IP header at `start`, that of UDP at
/// `udp`, with so many octets of payload.
#[inline]
pub(crate) fn check(cell: &[u8], start: usize, udp: usize, octets: usize) -> Check {
    let segment = &cell[udp..udp + UDP_OCTETS + octets];
    let check = u16::from_ne_bytes([segment[6], segment[7]]);
    if check == 0 {
        return Check::Absent;
    }
    Check::Of(check, changing(addresses(&cell[start..]), segment))
}

/// The addresses of an IP header.
#[inline]
fn addresses(packet: &[u8]) -> &[u8] {
    if packet[0] >> 4 == 4 { &packet[12..IP4] } else { &packet[8..IP6] }
}

/// A packet that leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    /// Where in its cell the header of UDP stands.
    pub udp: usize,
    /// Octets of its payload now.
    pub octets: usize,
    /// Its checksum.
    pub check: Check,
    /// The identification of IPv4: fragments are told apart by it.
    pub identification: u16,
}

/// Writes the headers, and says who looks up where it goes.
#[inline]
pub(crate) fn leave(meta: &mut Meta, cell: &mut [u8], packet: Departure, way: &Way) -> Verdict {
    let segment = UDP_OCTETS + packet.octets;
    let Ok(length) = u16::try_from(segment) else { return reason::NO_ROOM };
    let (start, verdict) = match (way.from.address, way.destination.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let start = packet.udp - IP4;
            let header = cell[start..].first_chunk_mut::<IP4>();
            let (Some(header), Some(total)) = (header, length.checked_add(20)) else {
                return reason::NO_ROOM;
            };
            *header = [0; IP4];
            (header[0], header[1], header[8], header[9]) = (0x45, way.dscp << 2, HOPS, UDP);
            header[2..4].copy_from_slice(&total.to_be_bytes());
            header[4..6].copy_from_slice(&packet.identification.to_be_bytes());
            header[12..16].copy_from_slice(&from.octets());
            header[16..20].copy_from_slice(&to.octets());
            let check = !folded(native_sum(header));
            header[10..12].copy_from_slice(&check.to_ne_bytes());
            (start, TO_LOOKUP4)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let start = packet.udp - IP6;
            let Some(header) = cell[start..].first_chunk_mut::<IP6>() else {
                return reason::NO_ROOM;
            };
            // The label is the flow's as long as it is there (RFC 6437 §3).
            let first = 6 << 28 | u32::from(way.dscp) << 22 | way.to & 0xf_ffff;
            header[..4].copy_from_slice(&first.to_be_bytes());
            header[4..6].copy_from_slice(&length.to_be_bytes());
            (header[6], header[7]) = (UDP, HOPS);
            header[8..24].copy_from_slice(&from.octets());
            header[24..40].copy_from_slice(&to.octets());
            (start, TO_LOOKUP6)
        }
        _ => return reason::NO_OTHER,
    };
    seal(cell, start, packet, way, length);
    let total = packet.udp + segment - start;
    let (Ok(offset), Ok(total)) = (u16::try_from(start), u16::try_from(total)) else {
        return reason::NO_ROOM;
    };
    (meta.offset, meta.l3, meta.length) = (offset, offset, total);
    meta.l4 = machine::narrow::index(packet.udp);
    (meta.vrf, meta.protocol, meta.passes) = (way.from.vrf, UDP, 0);
    meta.flags &= !graph::meta::HASHED;
    verdict
}

/// Ports, length and checksum of UDP.
#[inline]
fn seal(cell: &mut [u8], start: usize, packet: Departure, way: &Way, length: u16) {
    let (header, segment) = cell[start..].split_at_mut(packet.udp - start);
    let segment = &mut segment[..UDP_OCTETS + packet.octets];
    segment[..2].copy_from_slice(&way.from.port.to_be_bytes());
    segment[2..4].copy_from_slice(&way.destination.port().to_be_bytes());
    segment[4..6].copy_from_slice(&length.to_be_bytes());
    let addresses = addresses(header);
    let check = match packet.check {
        Check::Absent if header[0] >> 4 == 4 => 0,
        Check::Of(check, before) => {
            let after = changing(addresses, segment);
            let sum = u64::from(!check) + u64::from(!folded(before)) + u64::from(folded(after));
            or_ones(!folded(sum))
        }
        Check::Absent | Check::Anew => {
            segment[6..8].fill(0);
            let pseudo = u64::from(length.to_be()) + u64::from(u16::from(UDP).to_be());
            or_ones(!folded(native_sum(addresses) + native_sum(segment) + pseudo))
        }
    };
    segment[6..8].copy_from_slice(&check.to_ne_bytes());
}

/// A checksum that is nothing is written as all ones: nothing says that there is none (RFC 768).
#[inline]
const fn or_ones(check: u16) -> u16 {
    if check == 0 { u16::MAX } else { check }
}

/// A packet that goes up after its payload became shorter: its lengths are as it is, and it has no
/// checksum of UDP, which whoever takes it up does not ask for.
pub(crate) fn shorten(meta: &mut Meta, cell: &mut [u8], udp: usize, octets: usize) {
    let start = usize::from(meta.offset);
    let segment = UDP_OCTETS + octets;
    let total = machine::narrow::index(udp + segment - start);
    meta.length = total;
    let length = machine::narrow::index(segment);
    cell[udp + 4..udp + 6].copy_from_slice(&length.to_be_bytes());
    cell[udp + 6..udp + UDP_OCTETS].fill(0);
    if cell[start] >> 4 == 4 {
        cell[start + 2..start + 4].copy_from_slice(&total.to_be_bytes());
        let header = usize::from(cell[start] & 15) * 4;
        nodes::header::seal_ip4(&mut cell[start..start + header]);
    } else {
        let payload = word(&total.to_be_bytes(), 0).saturating_sub(40);
        cell[start + 4..start + 6].copy_from_slice(&payload.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Place;
    use nodes::header::{checksum, sum};

    /// The checksum of a whole packet of UDP: zero if it is right.
    fn verified(packet: &[u8]) -> u16 {
        let header = if packet[0] >> 4 == 4 { IP4 } else { IP6 };
        let length = (packet.len() - header) as u32;
        checksum(sum(&packet[header..], sum(addresses(packet), length + u32::from(UDP))))
    }

    fn way(from: &str, to: &str) -> Way {
        let destination: core::net::SocketAddr = to.parse().unwrap();
        let from: core::net::SocketAddr = from.parse().unwrap();
        let from = Place { vrf: 5, address: from.ip(), port: from.port() };
        Way { to: 7, sender: 0, from, destination, dscp: 46 }
    }

    #[test]
    fn checksums_are_right_after_every_change_of_family_and_payload() {
        let four = way("192.0.2.1:20000", "198.51.100.9:4000");
        let six = way("[2001:db8::1]:20000", "[2001:db8::9]:4000");
        let mut state = 1_u64;
        let mut octet = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 61 == 0 { 0xff } else { (state >> 33) as u8 }
        };
        for round in 0..4_000_usize {
            let octets = 12 + round % 200;
            let udp = 256 + 64;
            let mut cell = [0_u8; 1_024];
            cell[udp..udp + 8 + octets].fill_with(&mut octet);
            let (first, second) = if round % 2 == 0 { (&four, &six) } else { (&six, &four) };
            let mut meta = Meta::default();
            let anew = Departure { udp, octets, check: Check::Anew, identification: 1 };
            let start = |meta: &Meta| usize::from(meta.offset);
            let whole = |meta: &Meta, cell: &[u8]| {
                cell[start(meta)..start(meta) + usize::from(meta.length)].to_vec()
            };
            leave(&mut meta, &mut cell, anew, first);
            assert_eq!(verified(&whole(&meta, &cell)), 0, "round {round}");
            for way in [second, first, first, second, second] {
                let check = check(&cell, start(&meta), udp, octets);
                cell[udp + 8..udp + 20].fill_with(&mut octet);
                let verdict = leave(&mut meta, &mut cell, Departure { check, ..anew }, way);
                let packet = whole(&meta, &cell);
                assert_eq!(verified(&packet), 0, "round {round}");
                assert_ne!(word(&cell, udp + 6), 0);
                assert_eq!(verdict == TO_LOOKUP4, packet[0] >> 4 == 4);
                if packet[0] >> 4 == 4 {
                    assert_eq!(checksum(sum(&packet[..IP4], 0)), 0);
                }
            }
            // One broken octet stays broken.
            let check = check(&cell, start(&meta), udp, octets);
            cell[udp + 8 + octets - 1] ^= u8::from(octets > 12);
            leave(&mut meta, &mut cell, Departure { check, ..anew }, first);
            assert_eq!(verified(&whole(&meta, &cell)) == 0, octets == 12);
        }
    }

    #[test]
    fn what_came_without_a_checksum_leaves_without_over_ip4_and_with_one_over_ip6() {
        let (mut meta, mut cell) = (Meta::default(), [7_u8; 512]);
        let absent = Departure { udp: 320, octets: 20, check: Check::Absent, identification: 0 };
        leave(&mut meta, &mut cell, absent, &way("192.0.2.1:1", "192.0.2.2:2"));
        assert_eq!(word(&cell, 326), 0);
        leave(&mut meta, &mut cell, absent, &way("[2001:db8::1]:1", "[2001:db8::2]:2"));
        let start = usize::from(meta.offset);
        assert_eq!(verified(&cell[start..start + usize::from(meta.length)]), 0);
    }
}
