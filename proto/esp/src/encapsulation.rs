//! Of which association a packet is, and what comes to the port of ESP in UDP (RFC 3948).

use crate::ip::{self, Head, Part, UDP_HEADER, Walk};
use crate::{Dropped, Spi};
use core::net::IpAddr;

/// The octet of a keepalive, alone in its datagram (§2.3).
pub const KEEPALIVE: u8 = 0xff;
/// What stands before IKE where ESP would have its SPI (§2.2).
pub const NON_ESP_MARKER: [u8; 4] = [0; 4];

/// What a datagram is that came to a port of ESP in UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datagram<'a> {
    /// It keeps a NAT open, and nobody hears of it.
    Keepalive,
    /// IKE, without the marker.
    Ike(&'a [u8]),
    /// ESP of this association.
    Esp(Spi),
    /// Less than an SPI.
    Short,
}

/// What a datagram's payload is.
#[must_use]
pub const fn datagram(payload: &[u8]) -> Datagram<'_> {
    match payload {
        [KEEPALIVE] => Datagram::Keepalive,
        [0, 0, 0, 0, ike @ ..] => Datagram::Ike(ike),
        [a, b, c, d, ..] => Datagram::Esp(Spi(u32::from_be_bytes([*a, *b, *c, *d]))),
        _ => Datagram::Short,
    }
}

/// An IP packet that has ESP in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The association, with the destination.
    pub spi: Spi,
    /// Who sent it.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
    /// Source and destination port, if it is in UDP.
    pub ports: Option<(u16, u16)>,
}

/// Of which association a packet is: one of IP, of ESP or of UDP to a port of ESP in UDP, as the
/// caller knows.
///
/// # Errors
/// There is no ESP in it.
pub fn arrival(packet: &[u8]) -> Result<Arrival, Dropped> {
    let head = Head::read(packet, Walk::Upper)?;
    if head.part != Part::Whole {
        return Err(Dropped::Fragment);
    }
    let ports = if head.next == ip::UDP { head.ports(packet) } else { None };
    let skipped = match head.next {
        ip::ESP => 0,
        ip::UDP => UDP_HEADER,
        _ => return Err(Dropped::Encapsulation),
    };
    let rest = packet.get(head.header + skipped..head.length).ok_or(Dropped::Short)?;
    match datagram(rest) {
        Datagram::Esp(spi) => {
            let (source, destination) = (head.source(packet), head.destination(packet));
            Ok(Arrival { spi, source, destination, ports })
        }
        Datagram::Short => Err(Dropped::Short),
        Datagram::Keepalive | Datagram::Ike(_) => Err(Dropped::Encapsulation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_to_the_port_is_told_apart() {
        for (payload, expected) in [
            (&[0xff][..], Datagram::Keepalive),
            (&[0xff, 0xff, 0xff, 0xff, 0], Datagram::Esp(Spi(u32::MAX))),
            (&[0, 0, 0, 0, 7, 8], Datagram::Ike(&[7, 8])),
            (&[0, 0, 1, 0, 9], Datagram::Esp(Spi(256))),
            (&[0, 0, 0], Datagram::Short),
            (&[], Datagram::Short),
        ] {
            assert_eq!(datagram(payload), expected);
        }
    }
}
