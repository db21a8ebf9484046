//! What OSPF sends: packets with TTL 1.

use super::OspfRouter;
use crate::ip4::{self, Head};
use crate::wishes::GLOBAL;
use runtime::PacketTo;
use std::net::Ipv4Addr;

/// The TTL of packets that go to a neighbour (RFC 2328 §A.1).
const TTL: u8 = 1;

impl OspfRouter {
    /// Sends a packet: to a group by its interface, to a neighbour by the routes, which lead to the
    /// subnet of the interface and find out its MAC address.
    pub(crate) fn send(&mut self, interface: u32, destination: Ipv4Addr, octets: &[u8]) {
        let Some(link) = self.links.get(&interface) else { return };
        let Some((source, _)) = link.address else { return };
        let to = match destination.is_multicast() {
            true => PacketTo::Link(interface),
            false => PacketTo::Vrf(GLOBAL),
        };
        self.packet = self.packet.wrapping_add(1);
        let (ttl, protocol, id) = (TTL, ospf::PROTOCOL, self.packet);
        let head = Head { source, destination, ttl, protocol, id };
        self.history.tally.sent += 1;
        let wishes = &mut self.wishes;
        ip4::write(&head, octets, link.mtu, |header, part| {
            wishes.packet(to, [header, part].concat());
        });
    }
}
