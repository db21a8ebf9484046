//! What Tandem's plane is told to be the same router as Linux beside it.

use crate::testbed::{IN_MAC, LEFT_MAC, NEXT_MAC, NEXT_V4, NEXT_V6, OUT_MAC, SUT_V4};
use nodes::Program;
use nodes::program::{Address, Hop, Interface, Mode, Neighbour, Port};
use packet_load::Route;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Routes of one program: a message to the forwarder has a length that is limited.
const ROUTES_MAX: usize = 20_000;
/// Where the tester's sources are: they are behind the left wire.
pub(crate) const LEFT_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 1, 2);
pub(crate) const SOURCES: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 15);
/// The router's own addresses.
const SUT_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
const OUT_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 2, 1);
const OUT_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1);
/// Interfaces.
const INNER: u32 = 1;
const OUTER: u32 = 2;
/// Hops: by the right wire, and back by the left one.
const RIGHT_V4_HOP: u32 = 1;
const RIGHT_V6_HOP: u32 = 2;
const LEFT_HOP: u32 = 3;
/// Octets of the longest packet; the ports take labels besides.
const MTU: u16 = 1_500;
const PORT_MTU: u16 = 1_800;

/// The two ports, for a plane that nobody else tells of them.
pub(super) fn ports() -> Vec<Program> {
    let port = |(port, name, mac): (u16, &str, [u8; 6])| {
        Program::Port(Port { port, name: name.to_owned(), mac, mtu: PORT_MTU, up: true })
    };
    [(0, crate::testbed::IN, IN_MAC), (1, crate::testbed::OUT, OUT_MAC)].map(port).into()
}

/// A router between port 0 and port 1 with these routes.
pub fn router(v4: &[Route], v6: &[Route]) -> Vec<Program> {
    let mut all = Vec::new();
    for (index, port) in [(INNER, 0), (OUTER, 1)] {
        all.push(Program::Interface(Interface {
            index,
            port,
            outer: None,
            inner: None,
            mode: Mode::Routed { vrf: 0 },
            mtu: MTU,
            mac: None,
            mpls: false,
            transit_only: false,
            urpf: nodes::program::Urpf::Off,
            proxy_arp: false,
            directed_broadcast: false,
            speaks: Vec::new(),
        }));
    }
    let addresses: [(u32, IpAddr, u8); 4] = [
        (INNER, SUT_V4.into(), 24),
        (INNER, SUT_V6.into(), 64),
        (OUTER, OUT_V4.into(), 24),
        (OUTER, OUT_V6.into(), 64),
    ];
    let address =
        |(interface, address, length)| Program::Address(Address { interface, address, length });
    all.extend(addresses.map(address));
    let neighbours: [(u32, IpAddr, [u8; 6]); 3] = [
        (OUTER, NEXT_V4.into(), NEXT_MAC),
        (OUTER, NEXT_V6.into(), NEXT_MAC),
        (INNER, LEFT_V4.into(), LEFT_MAC),
    ];
    let neighbour =
        |(interface, address, mac)| Program::Neighbour(Neighbour { interface, address, mac });
    all.extend(neighbours.map(neighbour));
    let hops: [(u32, u32, IpAddr); 3] = [
        (RIGHT_V4_HOP, OUTER, NEXT_V4.into()),
        (RIGHT_V6_HOP, OUTER, NEXT_V6.into()),
        (LEFT_HOP, INNER, LEFT_V4.into()),
    ];
    all.extend(hops.map(|(id, interface, gateway)| {
        let hop = Hop::Via { interface, gateway: Some(gateway), labels: Vec::new() };
        Program::Hop { id, hop }
    }));
    all.push(Program::Routes4 { vrf: 0, routes: vec![(SOURCES.0, SOURCES.1, LEFT_HOP)] });
    for part in v4.chunks(ROUTES_MAX) {
        let address = |route: &Route| Ipv4Addr::from_bits(route.network as u32);
        let routes = part.iter().map(|route| (address(route), route.length, RIGHT_V4_HOP));
        all.push(Program::Routes4 { vrf: 0, routes: routes.collect() });
    }
    for part in v6.chunks(ROUTES_MAX) {
        let address = |route: &Route| Ipv6Addr::from_bits(route.network);
        let routes = part.iter().map(|route| (address(route), route.length, RIGHT_V6_HOP));
        all.push(Program::Routes6 { vrf: 0, routes: routes.collect() });
    }
    all
}
