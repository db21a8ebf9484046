//! Packets on their way from the shard that protected them to the first one, which alone has the
//! raw sockets ([`runtime::Carrier::Raw`]).

use runtime::{Flow, PortId, Transport};
use std::net::{IpAddr, SocketAddr};

/// Octets of an end: an address of sixteen, a port.
const END: usize = 18;
/// Octets before the packet: the port's number, whether the ends are of IPv4, both ends.
const HEAD: usize = 3 + 2 * END;

/// Appends a packet and its flow, for [`runtime::Effects::hand`].
pub fn write_handed(flow: &Flow, packet: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&flow.port.0.to_be_bytes());
    out.push(u8::from(flow.remote.is_ipv4()));
    for end in [flow.local, flow.remote] {
        let octets = match end.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        out.extend_from_slice(&octets);
        out.extend_from_slice(&end.port().to_be_bytes());
    }
    out.extend_from_slice(packet);
}

/// What [`write_handed`] wrote; `None`: it is something else.
#[must_use]
pub fn read_handed(work: &[u8]) -> Option<(Flow, &[u8])> {
    let (head, packet) = work.split_at_checked(HEAD)?;
    let is_v4 = head[2] == 1;
    let end = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&head[at..at + 16]);
        let address = IpAddr::from(octets);
        let address = if is_v4 { address.to_canonical() } else { address };
        SocketAddr::new(address, u16::from_be_bytes([head[at + 16], head[at + 17]]))
    };
    let port = PortId(u16::from_be_bytes([head[0], head[1]]));
    Some((Flow::to(port, Transport::Udp, end(3), end(3 + END)), packet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_was_handed_over_leaves_as_it_would_have() {
        for (local, remote) in [("10.0.0.1:0", "10.0.0.2:0"), ("[2001:db8::1]:0", "[::1]:9")] {
            let ends: [SocketAddr; 2] = [local.parse().unwrap(), remote.parse().unwrap()];
            let flow = Flow::to(PortId(515), Transport::Udp, ends[0], ends[1]);
            let mut work = Vec::new();
            write_handed(&flow, b"packet", &mut work);
            assert_eq!(read_handed(&work), Some((flow, &b"packet"[..])));
            assert_eq!(read_handed(&work[..20]), None);
        }
    }
}
