//! What is inside of a packet whose ICV is right (RFC 4303 §3.4.4, RFC 4301 §5.2).

use crate::batch::{Packet, Passed};
use crate::checksum::{folded, sum, updated};
use crate::inbound::{Repair, Waiting};
use crate::ip::{self, Head, Part, UDP_HEADER, Walk, set_next};
use crate::selector::Way;
use crate::tunnel::{decapsulate, outer_class};
use crate::{Dropped, Inbound};
use core::net::IpAddr;

impl Inbound {
    /// Takes off all that ESP put on; where the packet stands is told in it.
    pub(crate) fn open(
        &self,
        buffer: &mut [u8],
        packet: &mut Packet,
        waiting: &Waiting,
    ) -> Result<Passed, Dropped> {
        let (payload, next) = unpadded(&buffer[waiting.text..waiting.end])?;
        if next == ip::NONE {
            packet.length = 0;
            return Ok(Passed::Dummy);
        }
        let end = waiting.text + payload;
        let (at, end) = match self.is_tunnel {
            true => (waiting.text, tunnelled(buffer, packet.at, waiting, Payload { end, next })?),
            false => self.transport(buffer, packet.at, waiting, Payload { end, next })?,
        };
        self.carried.check(Way::In, &buffer[at..end])?;
        packet.at = at;
        packet.length = end - at;
        Ok(Passed::Data)
    }

    /// Moves the headers to the payload. Says where the packet begins and ends.
    fn transport(
        &self,
        buffer: &mut [u8],
        base: usize,
        waiting: &Waiting,
        Payload { end, next }: Payload,
    ) -> Result<(usize, usize), Dropped> {
        let head = waiting.head;
        let at = waiting.text - head.header;
        buffer.copy_within(base..base + head.header, at);
        let mut end = end;
        // Padding for traffic flow confidentiality stands behind what says its own length (§2.7).
        if next == ip::UDP
            && let Some([.., high, low]) = buffer[waiting.text..end].first_chunk::<6>()
        {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            if length >= UDP_HEADER {
                end = end.min(waiting.text + length);
            }
        }
        let packet = &mut buffer[at..end];
        set_next(packet, &head, next)?;
        if let Some(it) = &self.repair {
            repair(**it, packet);
        }
        Ok((at, end))
    }
}

/// A payload: where it ends, and what it is.
#[derive(Clone, Copy)]
struct Payload {
    end: usize,
    next: u8,
}

/// Octets of the payload, and what it is.
fn unpadded(text: &[u8]) -> Result<(usize, u8), Dropped> {
    let [rest @ .., pad, next] = text else { return Err(Dropped::Short) };
    let payload = rest.len().checked_sub(usize::from(*pad)).ok_or(Dropped::Padding)?;
    // §2.4: one, two, three … It costs nothing and tells of what went wrong inside.
    let is_padding = rest[payload..].iter().zip(1u8..).all(|(octet, value)| *octet == value);
    if is_padding { Ok((payload, *next)) } else { Err(Dropped::Padding) }
}

/// Where the inner packet ends; what the outer header met is taken over into it.
fn tunnelled(
    buffer: &mut [u8],
    base: usize,
    waiting: &Waiting,
    Payload { end, next }: Payload,
) -> Result<usize, Dropped> {
    let class = outer_class(&buffer[base..], waiting.head.is_v6);
    let inner = &mut buffer[waiting.text..end];
    if !matches!(next, ip::IPV4 | ip::IPV6) {
        return Err(Dropped::NextHeader);
    }
    let head = Head::read(inner, Walk::Insertion).map_err(|_| Dropped::NextHeader)?;
    if head.is_v6 != (next == ip::IPV6) {
        return Err(Dropped::NextHeader);
    }
    decapsulate(class, inner, head.is_v6)?;
    Ok(waiting.text + head.length)
}

/// Makes the checksum right that a NAT has made wrong by changing addresses.
fn repair(repair: Repair, packet: &mut [u8]) {
    let Ok(head) = Head::read(packet, Walk::Upper) else { return };
    let at = match head.next {
        ip::TCP => head.header + 16,
        ip::UDP => head.header + 6,
        _ => return,
    };
    if head.part != Part::Whole || at + 2 > head.length {
        return;
    }
    let present = u16::from_be_bytes([packet[at], packet[at + 1]]);
    // Nobody made one: it stays so (RFC 768).
    if head.next == ip::UDP && present == 0 {
        return;
    }
    let addresses = [head.source(packet), head.destination(packet)].map(address_sum);
    let now = addresses[0] + addresses[1];
    let checksum = match repair {
        Repair::None => return,
        Repair::Original { source, destination } => {
            updated(present, address_sum(source) + address_sum(destination), now)
        }
        Repair::Anew => {
            packet[at..at + 2].fill(0);
            let upper = &packet[head.header..head.length];
            let pseudo = now + u64::from(head.next) + upper.len() as u64;
            !folded(pseudo + sum(upper))
        }
    };
    let checksum = if head.next == ip::UDP && checksum == 0 { u16::MAX } else { checksum };
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

fn address_sum(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    }
}
