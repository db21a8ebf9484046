//! What a packet of IP says of its place: to which flow it comes, from where, and where its
//! payload of UDP stands.

use crate::cell::NONE;
use crate::departure::UDP_OCTETS;
use crate::peer::Peer;
use crate::reason;
use crate::table::Ranges;
use graph::{Meta, Slot, Verdict};
use nodes::header::{IP4, IP6, UDP, address6, long, word};

/// More of the packet, or another part before it (RFC 791 §3.1).
const MORE_OR_LATER: u16 = 0x3fff;
/// Another part before it.
const LATER: u16 = 0x1fff;

/// A packet of UDP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// The packet.
    pub slot: Slot,
    /// The number of its flow.
    pub flow: u32,
    /// From where it comes.
    pub source: Peer,
    /// The port that it came to.
    pub port: u16,
    /// Where in its cell the header of UDP stands.
    pub udp: usize,
    /// Octets of the payload of UDP.
    pub octets: usize,
}

impl Arrival {
    /// Of nothing, to fill a vector with.
    pub const NONE: Self =
        Self { slot: Slot(0), flow: NONE, source: Peer::NONE, port: 0, udp: 0, octets: 0 };

    /// Where in its cell the payload stands.
    pub const fn payload(&self) -> usize {
        self.udp + UDP_OCTETS
    }
}

/// What a packet is to media.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// It comes to a port of media's.
    Media(Arrival),
    /// It is not for media.
    Other,
    /// It is dropped.
    Drop(Verdict),
}

/// Which address of a packet names the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Where it goes: it comes.
    Destination,
    /// Where it is from: it is to leave from there.
    Source,
}

/// Looks at an IPv4 packet whose header is sound.
#[inline]
pub(crate) fn four(meta: &Meta, cell: &[u8], ranges: &Ranges, by: By) -> Kind {
    let start = usize::from(meta.offset);
    let packet = &cell[start..start + usize::from(meta.length)];
    // Without options all that is asked for is at a fixed place.
    let Some(head) = packet.first_chunk::<{ IP4 + UDP_OCTETS }>() else { return Kind::Other };
    let header = usize::from(head[0] & 15) * 4;
    let fragment = word(head, 6);
    if head[9] != UDP || fragment & LATER != 0 || header < IP4 {
        return Kind::Other;
    }
    let (source, destination) = (long(head, 12), long(head, 16));
    let (from, to) = match header {
        IP4 => (word(head, IP4), word(head, IP4 + 2)),
        _ => (word(packet, header), word(packet, header + 2)),
    };
    let (named, port) = match by {
        By::Destination => (destination, to),
        By::Source => (source, from),
    };
    let Some(flow) = ranges.four(meta.vrf, named, port) else { return Kind::Other };
    if fragment & MORE_OR_LATER != 0 {
        return Kind::Drop(reason::FRAGMENT);
    }
    let source = Peer::four(source, from);
    let arrival = Arrival { flow, source, port, udp: start + header, ..Arrival::NONE };
    udp(packet, header, arrival)
}

/// Looks at an IPv6 packet whose header is sound. What has extension headers is not media's.
#[inline]
pub(crate) fn six(meta: &Meta, cell: &[u8], ranges: &Ranges, by: By) -> Kind {
    let start = usize::from(meta.offset);
    let packet = &cell[start..start + usize::from(meta.length)];
    let Some(head) = packet.first_chunk::<{ IP6 + UDP_OCTETS }>() else { return Kind::Other };
    if head[6] != UDP {
        return Kind::Other;
    }
    let (source, destination) = (address6(head, 8), address6(head, 24));
    let (from, to) = (word(head, IP6), word(head, IP6 + 2));
    let (named, port) = match by {
        By::Destination => (destination, to),
        By::Source => (source, from),
    };
    let Some(flow) = ranges.six(meta.vrf, named, port) else { return Kind::Other };
    if word(head, IP6 + 6) == 0 && by == By::Destination {
        return Kind::Drop(reason::NO_CHECKSUM);
    }
    let source = Peer::six(source, from);
    udp(packet, IP6, Arrival { flow, source, port, udp: start + IP6, ..Arrival::NONE })
}

/// The length that UDP says counts: what follows is nobody's.
#[inline]
fn udp(packet: &[u8], header: usize, arrival: Arrival) -> Kind {
    let said = usize::from(word(packet, header + 4));
    if said < UDP_OCTETS || header + said > packet.len() {
        return Kind::Drop(reason::LENGTH);
    }
    Kind::Media(Arrival { octets: said - UDP_OCTETS, ..arrival })
}
