//! The headers of a packet as it leaves: addresses, ports, marks and checksums, of IPv4 or IPv6
//! whatever it came by.
//!
//! The checksum of UDP is mended where only headers changed (RFC 1624, equation 3), so that an
//! octet that was broken on the way is still seen at the end; it is made anew where the payload was
//! opened or protected: there a tag has answered for it, or will.

use crate::cell::Own;
use crate::program::Place;
use crate::reason;
use core::net::{IpAddr, SocketAddr};
use graph::{Edge, Meta, Verdict};
use nodes::header::{IP4, IP6, UDP, word};

/// Octets of the header of UDP.
pub(crate) const UDP_OCTETS: usize = 8;
/// To `ip4-lookup`.
pub(crate) const TO_LOOKUP4: Verdict = Verdict::to(Edge(0));
/// To `ip6-lookup`.
pub(crate) const TO_LOOKUP6: Verdict = Verdict::to(Edge(1));
/// To `media4`: it is for another flow of this system.
pub(crate) const TO_MEDIA4: Verdict = Verdict::to(Edge(2));
/// To `media6`.
pub(crate) const TO_MEDIA6: Verdict = Verdict::to(Edge(3));
/// In place of its place in a chain of features: it came back here.
pub(crate) const CAME_BACK: u32 = u32::MAX;
/// Hops that a packet may take which begins here.
pub(crate) const HOPS: u8 = 64;
/// Where the header of IPv4 has them.
const HOPS4: usize = 8;
/// Where that of IPv6 has them.
const HOPS6: usize = 7;
/// Where the header of IPv4 has its traffic class: six bits of a mark, two of congestion.
const CLASS4: usize = 1;

/// The sum of octets as the processor has their pairs: one's complement sums do not mind
/// (RFC 1071 §2).
#[inline]
fn native_sum(octets: &[u8]) -> u64 {
    let (fours, rest) = octets.as_chunks::<4>();
    let four = |four: &[u8; 4]| u64::from(u32::from_ne_bytes(*four));
    // Of 64 KB it has 46 bits; wrapping, so that many are added at once.
    let sum = fours.iter().fold(0_u64, |sum, it| sum.wrapping_add(four(it)));
    match rest.len() {
        0 => sum,
        _ => sum + last_sum(rest),
    }
}

/// The sum of fewer octets than four.
fn last_sum(rest: &[u8]) -> u64 {
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    u32::from_ne_bytes(last).into()
}

/// The sum of `FOURS` times four octets at a place.
#[inline]
fn fours<const FOURS: usize>(octets: &[u8]) -> u64 {
    let (fours, _) = octets.as_chunks::<4>();
    let fours = fours.first_chunk::<FOURS>();
    fours.map_or(0, |all| all.iter().map(|four| u64::from(u32::from_ne_bytes(*four))).sum())
}

/// A sum in 16 bits.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "what is folded has 16 bits")]
const fn folded(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}

/// Octets of the longest headers before the payload.
const HEAD: usize = IP6 + UDP_OCTETS;
/// Where in them those of IPv4 begin.
const HEAD4: usize = IP6 - IP4;

/// How packets leave a place: all that is the same of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// The headers of IP and UDP, without lengths, hops and checksums; of IPv4 they are the end of
    /// it.
    head: [u8; HEAD],
    /// The number of the flow of that place.
    pub to: u32,
    /// Who protects them, or [`crate::cell::CLEAR`], or [`crate::cell::NONE`].
    pub sender: u32,
    /// The routing table that they are looked up in.
    vrf: u32,
    /// Addresses and ports, summed.
    sum: u32,
    /// The header of IPv4, summed.
    sum_ip4: u32,
    /// The traffic class; `None`: as the packet has it.
    class: Option<u8>,
    is_six: bool,
    /// Whether it leads to a port of media's.
    is_back: bool,
}

impl Way {
    /// How packets leave a flow's place, to there. `is_back`: that is a port of media's.
    pub fn of(own: &Own, destination: SocketAddr, is_back: bool) -> Self {
        let mut head = [0; HEAD];
        let is_six = own.at.address.is_ipv6();
        match own.at.address {
            IpAddr::V4(from) => {
                let head = &mut head[HEAD4..];
                (head[0], head[9]) = (0x45, UDP);
                head[12..16].copy_from_slice(&from.octets());
            }
            IpAddr::V6(from) => {
                // The label is the flow's as long as it is there (RFC 6437 §3).
                let first = 6 << 28 | own.number & 0xf_ffff;
                head[..4].copy_from_slice(&first.to_be_bytes());
                head[6] = UDP;
                head[8..24].copy_from_slice(&from.octets());
            }
        }
        match destination.ip() {
            IpAddr::V4(to) if !is_six => head[36..IP6].copy_from_slice(&to.octets()),
            IpAddr::V6(to) if is_six => head[24..IP6].copy_from_slice(&to.octets()),
            // A place and its other side are of one family: what is said is checked.
            _ => {}
        }
        head[IP6..IP6 + 2].copy_from_slice(&own.at.port.to_be_bytes());
        head[IP6 + 2..IP6 + 4].copy_from_slice(&destination.port().to_be_bytes());
        let addresses = if is_six { &head[8..IP6] } else { &head[HEAD4 + 12..IP6] };
        let sum = native_sum(addresses) + native_sum(&head[IP6..IP6 + 4]);
        Self {
            sum: folded(sum).into(),
            sum_ip4: folded(native_sum(&head[HEAD4..IP6])).into(),
            head,
            to: own.number,
            sender: own.sender,
            vrf: own.at.vrf,
            class: own.dscp.map(|dscp| dscp << 2),
            is_six,
            is_back,
        }
    }

    /// The same to another destination.
    pub fn towards(&self, destination: SocketAddr, is_back: bool) -> Self {
        Self::of(&self.own(), destination, is_back)
    }

    /// The place that packets leave from.
    fn own(&self) -> Own {
        let octets = |at: usize| self.head[at..].first_chunk::<4>().copied().unwrap_or_default();
        let address = match self.is_six {
            false => IpAddr::from(octets(HEAD4 + 12)),
            true => IpAddr::from(self.head[8..].first_chunk::<16>().copied().unwrap_or_default()),
        };
        let at = Place { vrf: self.vrf, address, port: word(&self.head, IP6) };
        let dscp = self.class.map(|class| class >> 2);
        Own { number: self.to, at, sender: self.sender, dscp }
    }

    /// The routing table that its packets are looked up in.
    pub const fn vrf(&self) -> u32 {
        self.vrf
    }
}

/// What is known of a packet's checksum before it is changed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    /// It has none, and its payload is as it came but for its header.
    Absent,
    /// It has this one, for what changes of this sum. `changes`: the header of RTP is a part of it.
    Of { check: u16, before: u64, changes: bool },
    /// The payload changed.
    Anew,
}

/// Words of the header of RTP, which may change in place.
const RTP_FOURS: usize = 3;

/// What is known of the checksum of a packet that came: its IP header at `start`, that of UDP at
/// `udp`. `changes`: its header of RTP may.
#[inline]
pub(crate) fn check(cell: &[u8], start: usize, udp: usize, changes: bool) -> Check {
    let check = u16::from_ne_bytes([cell[udp + 6], cell[udp + 7]]);
    if check == 0 {
        return Check::Absent;
    }
    let addresses = match cell[start] >> 4 {
        4 => fours::<2>(&cell[start + 12..]),
        _ => fours::<8>(&cell[start + 8..]),
    };
    let rtp = if changes { fours::<RTP_FOURS>(&cell[udp + UDP_OCTETS..]) } else { 0 };
    Check::Of { check, before: addresses + fours::<1>(&cell[udp..]) + rtp, changes }
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
    /// What of its header of IP counts.
    pub came: Came,
}

/// What of the header of a packet that came counts for how it leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    /// The hops that it may take yet.
    pub hops: u8,
    /// Its traffic class.
    pub class: u8,
}

impl Came {
    /// Of a packet that begins here.
    pub const HERE: Self = Self { hops: HOPS, class: 0 };

    /// Of one whose header of IP begins at `start`.
    #[inline]
    pub fn read(cell: &[u8], start: usize) -> Self {
        let Some(head) = cell[start..].first_chunk::<IP4>() else { return Self::HERE };
        match head[0] >> 4 {
            4 => Self { hops: head[HOPS4], class: head[CLASS4] },
            _ => Self { hops: head[HOPS6], class: head[0] << 4 | head[1] >> 4 },
        }
    }
}

/// Writes the headers, and says who looks up where it goes.
#[inline]
pub(crate) fn leave(meta: &mut Meta, cell: &mut [u8], packet: Departure, way: &Way) -> Verdict {
    if packet.came.hops <= 1 {
        return reason::NO_HOPS;
    }
    // Who looks up where it goes takes one off; what comes back here is looked up nowhere.
    let hops = packet.came.hops - u8::from(way.is_back);
    let class = way.class.unwrap_or(packet.came.class);
    let Ok(length) = u16::try_from(UDP_OCTETS + packet.octets) else { return reason::NO_ROOM };
    let payload = packet.udp + UDP_OCTETS;
    let Some(head) = cell[..payload].last_chunk_mut::<HEAD>() else { return reason::NO_ROOM };
    let (ip, verdict) = if way.is_six {
        *head = way.head;
        (head[0], head[1]) = (6 << 4 | class >> 4, class << 4 | head[1]);
        head[4..6].copy_from_slice(&length.to_be_bytes());
        head[HOPS6] = hops;
        (IP6, TO_LOOKUP6)
    } else {
        let Some(total) = length.checked_add(20) else { return reason::NO_ROOM };
        head[HEAD4..].copy_from_slice(&way.head[HEAD4..]);
        head[HEAD4 + CLASS4] = class;
        head[HEAD4 + 2..HEAD4 + 4].copy_from_slice(&total.to_be_bytes());
        head[HEAD4 + 4..HEAD4 + 6].copy_from_slice(&packet.identification.to_be_bytes());
        head[HEAD4 + HOPS4] = hops;
        let words = u32::from(total.to_be())
            + u32::from(packet.identification.to_be())
            + u32::from(u16::from_ne_bytes([hops, 0]))
            + u32::from(u16::from_ne_bytes([0, class]));
        let check = !folded(u64::from(way.sum_ip4 + words));
        head[HEAD4 + 10..HEAD4 + 12].copy_from_slice(&check.to_ne_bytes());
        (IP4, TO_LOOKUP4)
    };
    head[IP6 + 4..IP6 + 6].copy_from_slice(&length.to_be_bytes());
    let check = sealed(&cell[packet.udp..], packet, way, length);
    cell[packet.udp + 6..payload].copy_from_slice(&check.to_ne_bytes());
    let start = packet.udp - ip;
    let total = ip + UDP_OCTETS + packet.octets;
    let (Ok(offset), Ok(total)) = (u16::try_from(start), u16::try_from(total)) else {
        return reason::NO_ROOM;
    };
    (meta.offset, meta.l3, meta.length) = (offset, offset, total);
    meta.l4 = machine::narrow::index(packet.udp);
    (meta.vrf, meta.protocol) = (way.vrf, UDP);
    meta.flags &= !graph::meta::HASHED;
    if way.is_back {
        meta.cursor = CAME_BACK;
        return if way.is_six { TO_MEDIA6 } else { TO_MEDIA4 };
    }
    verdict
}

/// The checksum of UDP; in its place there is nothing.
#[inline]
fn sealed(segment: &[u8], packet: Departure, way: &Way, length: u16) -> u16 {
    match packet.check {
        Check::Absent if !way.is_six => 0,
        Check::Of { check, before, changes } => {
            let rtp = if changes { fours::<RTP_FOURS>(&segment[UDP_OCTETS..]) } else { 0 };
            let after = u64::from(way.sum) + rtp;
            or_ones(!folded(u64::from(!check) + u64::from(!folded(before)) + after))
        }
        Check::Absent | Check::Anew => {
            let pseudo = u64::from(length.to_be()) + u64::from(u16::from(UDP).to_be());
            let payload = native_sum(&segment[UDP_OCTETS..UDP_OCTETS + packet.octets]);
            let sum = u64::from(way.sum) + pseudo + u64::from(length.to_be()) + payload;
            or_ones(!folded(sum))
        }
    }
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
        let is_four = packet[0] >> 4 == 4;
        let header = if is_four { IP4 } else { IP6 };
        let addresses = if is_four { &packet[12..IP4] } else { &packet[8..IP6] };
        let length = (packet.len() - header) as u32;
        checksum(sum(&packet[header..], sum(addresses, length + u32::from(UDP))))
    }

    fn way(from: &str, to: &str) -> Way {
        let destination: core::net::SocketAddr = to.parse().unwrap();
        let from: core::net::SocketAddr = from.parse().unwrap();
        let at = Place { vrf: 5, address: from.ip(), port: from.port() };
        Way::of(&Own { number: 7, at, sender: 0, dscp: Some(46) }, destination, false)
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
            let came = Came { hops: 2 + (round % 250) as u8, class: 0 };
            let anew = Departure { udp, octets, check: Check::Anew, identification: 1, came };
            let start = |meta: &Meta| usize::from(meta.offset);
            let whole = |meta: &Meta, cell: &[u8]| {
                cell[start(meta)..start(meta) + usize::from(meta.length)].to_vec()
            };
            leave(&mut meta, &mut cell, anew, first);
            assert_eq!(verified(&whole(&meta, &cell)), 0, "round {round}");
            for way in [second, first, first, second, second] {
                let check = check(&cell, start(&meta), udp, true);
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
            let check = check(&cell, start(&meta), udp, true);
            cell[udp + 8 + octets - 1] ^= u8::from(octets > 12);
            leave(&mut meta, &mut cell, Departure { check, ..anew }, first);
            assert_eq!(verified(&whole(&meta, &cell)) == 0, octets == 12);
        }
    }

    #[test]
    fn what_came_without_a_checksum_leaves_without_over_ip4_and_with_one_over_ip6() {
        let (mut meta, mut cell) = (Meta::default(), [7_u8; 512]);
        let absent = Departure {
            udp: 320,
            octets: 20,
            check: Check::Absent,
            identification: 0,
            came: Came::HERE,
        };
        leave(&mut meta, &mut cell, absent, &way("192.0.2.1:1", "192.0.2.2:2"));
        assert_eq!(word(&cell, 326), 0);
        leave(&mut meta, &mut cell, absent, &way("[2001:db8::1]:1", "[2001:db8::2]:2"));
        let start = usize::from(meta.offset);
        assert_eq!(verified(&cell[start..start + usize::from(meta.length)]), 0);
    }
}
