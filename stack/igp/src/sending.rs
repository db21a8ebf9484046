//! What leaves by the door: packets of OSPF, with TTL 1, and of BFD, with TTL 255.

use crate::ip4::{self, Head};
use crate::router::Router;
use crate::watch::Leaving;
use runtime::{Effects, PacketTo};
use std::net::Ipv4Addr;

/// The TTL of packets that go to a neighbour (RFC 2328 §A.1).
const TTL: u8 = 1;
/// The global table.
const GLOBAL: u32 = 0;

impl Router {
    /// Sends a packet of OSPF: to a group by its interface, to a neighbour by the routes, which
    /// lead to the subnet of the interface and find out its MAC address.
    pub(crate) fn send(
        &mut self,
        interface: u32,
        destination: Ipv4Addr,
        octets: &[u8],
        out: &mut Effects,
    ) {
        let Some(link) = self.links.get(&interface) else { return };
        let Some((source, _)) = link.address else { return };
        let to = match destination.is_multicast() {
            true => PacketTo::Link(interface),
            false => PacketTo::Vrf(GLOBAL),
        };
        self.packet = self.packet.wrapping_add(1);
        let (ttl, protocol, id) = (TTL, ospf::PROTOCOL, self.packet);
        let head = Head { source, destination, ttl, protocol, id };
        let door = &mut self.door;
        self.tally.sent += 1;
        ip4::write(&head, octets, link.mtu, |header, part| {
            door.send(out, to, |packet| {
                packet.extend_from_slice(header);
                packet.extend_from_slice(part);
            });
        });
    }

    /// Sends what BFD wants sent.
    pub(crate) fn send_bfd(&mut self, out: &mut Effects) {
        for Leaving { ends, port, octets } in self.watch.take_leaving() {
            let datagram = ip4::udp(ends, [port, bfd::PORT_SINGLE_HOP], &octets);
            let [source, destination] = ends;
            let (ttl, protocol) = (bfd::TTL, ip4::UDP);
            self.packet = self.packet.wrapping_add(1);
            let head = Head { source, destination, ttl, protocol, id: self.packet };
            let door = &mut self.door;
            ip4::write(&head, &datagram, u16::MAX, |header, part| {
                door.send(out, PacketTo::Vrf(GLOBAL), |packet| {
                    packet.extend_from_slice(header);
                    packet.extend_from_slice(part);
                });
            });
        }
    }
}
