//! Packets of IPv4 and IPv6 around segments.

use igp::ip4::{self, Head, Packet};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use tcp::is_sound;

/// Octets of a header of IPv6.
const HEADER6: usize = 40;
/// Internetwork control (RFC 2474 §4.2.2.2), as the first octets of IPv6 have it.
const CLASS6: [u8; 4] = [0x6C, 0, 0, 0];

/// Both ends of a connection, and the routing table that leads from one to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// The table.
    pub table: u32,
    /// Ours.
    pub own: SocketAddr,
    /// Theirs.
    pub far: SocketAddr,
}

/// A segment that came.
#[derive(Debug, Clone, Copy)]
pub struct Arrived<'a> {
    /// Whose it is.
    pub ends: Ends,
    /// Hops that its packet could have gone on.
    pub hop_limit: u8,
    /// The segment, whose checksum holds.
    pub octets: &'a [u8],
}

impl<'a> Arrived<'a> {
    /// Reads a packet that came up in a table; `None`: it is cut, a fragment, no segment of TCP, or
    /// its checksum does not hold.
    #[must_use]
    pub fn read(table: u32, packet: &'a [u8]) -> Option<Self> {
        let (from, to, hop_limit, octets) = match packet.first()? >> 4 {
            4 => {
                let it = Packet::read(packet).filter(|it| it.protocol == ip4::TCP)?;
                (IpAddr::from(it.source), IpAddr::from(it.destination), it.ttl, it.payload)
            }
            6 => {
                let head = packet.first_chunk::<HEADER6>()?;
                let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
                let address = |at: usize| -> Option<IpAddr> {
                    Some(Ipv6Addr::from(*head.get(at..)?.first_chunk::<16>()?).into())
                };
                let octets = packet.get(HEADER6..HEADER6 + length);
                (address(8)?, address(24)?, head[7], octets.filter(|_| head[6] == tcp::PROTOCOL)?)
            }
            _ => return None,
        };
        let ports = octets.first_chunk::<4>().filter(|_| is_sound((from, to), octets))?;
        let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
        let (far, own) = (SocketAddr::new(from, port(0)), SocketAddr::new(to, port(2)));
        Some(Self { ends: Ends { table, own, far }, hop_limit, octets })
    }
}

/// Where a segment goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaving {
    /// Whose it is.
    pub ends: Ends,
    /// Hops that it may go.
    pub hop_limit: u8,
    /// Tells its packet from others.
    pub id: u16,
}

/// Says what the packet around a segment is: its header, and what follows.
pub fn write(to: &Leaving, segment: &[u8], mut each: impl FnMut(&[u8], &[u8])) {
    match (to.ends.own.ip(), to.ends.far.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let (ttl, protocol) = (to.hop_limit, ip4::TCP);
            let head = Head { source, destination, ttl, protocol, id: to.id };
            ip4::write(&head, segment, u16::MAX, each);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let Ok(length) = u16::try_from(segment.len()) else { return };
            let mut head = [0; HEADER6];
            head[..4].copy_from_slice(&CLASS6);
            head[4..6].copy_from_slice(&length.to_be_bytes());
            head[6..8].copy_from_slice(&[tcp::PROTOCOL, to.hop_limit]);
            head[8..24].copy_from_slice(&source.octets());
            head[24..].copy_from_slice(&destination.octets());
            each(&head, segment);
        }
        _ => {} // no connection has ends of two families
    }
}
