//! Streams of every kind.

use packet_load::{
    Layer, Order, Part, Plan, Route, Sizes, Stream, Values, Vary, hosts, table_v4, table_v6,
};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

pub const ETHERNET: Layer =
    Layer::Ethernet { destination: [2, 0, 0, 0, 0, 1], source: [2, 0, 0, 0, 0, 2] };
pub const UDP: Layer = Layer::Udp { source: 40_000, destination: 50_000 };
pub const TCP: Layer = Layer::Tcp { source: 40_000, destination: 50_000 };

pub fn ipv4() -> Layer {
    let (source, destination) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 19, 0, 1));
    Layer::Ipv4 { source, destination, class: 0x28, ttl: 64 }
}

pub fn ipv6() -> Layer {
    let source = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
    let destination = Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 1);
    Layer::Ipv6 { source, destination, class: 0x28, hop_limit: 64 }
}

pub fn vlan(is_service: bool, id: u16) -> Layer {
    Layer::Vlan { is_service, priority: 3, id }
}

pub fn mpls(label: u32) -> Layer {
    Layer::Mpls { label, class: 5, ttl: 64 }
}

pub fn vary(layer: usize, part: Part, values: Values) -> Vary {
    Vary { layer, part, values }
}

/// Addresses inside routes.
pub fn routed(routes: &[Route], count: usize, width: u8) -> Values {
    Values::Table(Arc::from(hosts(routes, count, width, 1)))
}

/// IPv4 and UDP to destinations in a table.
pub fn routed_v4(flows: u32, sizes: Sizes) -> Stream {
    let destinations = routed(&table_v4(1_000, 1), 5_000, 32);
    let mut stream = Stream::new("IPv4", vec![ETHERNET, ipv4(), UDP], 64);
    stream.vary = vec![
        vary(1, Part::Destination, destinations),
        vary(1, Part::Source, Values::Random { first: 0xc612_0000, bits: 16 }),
        vary(2, Part::Source, Values::count(1_024_u32, 60_000)),
    ];
    (stream.flows, stream.sizes, stream.order) = (flows, sizes, Order::Random);
    stream
}

fn with(name: &str, layers: Vec<Layer>, sizes: Sizes, vary: Vec<Vary>) -> Stream {
    let mut stream = Stream::new(name, layers, 64);
    (stream.sizes, stream.vary, stream.flows) = (sizes, vary, 37);
    stream
}

/// One stream of every kind that the services have, with the names that scapy gives the layers.
pub fn every() -> (Plan, Vec<&'static str>) {
    let random = |first: u128, bits| Values::Random { first, bits };
    let imix = Sizes::imix().at_least(128);
    let v6 = routed(&table_v6(500, 2), 700, 128);
    let ports = |layer| vary(layer, Part::Destination, Values::count(60_000_u32, 11));
    let mac = |layer| vary(layer, Part::Source, random(0x0200_0000_0000, 24));
    let labels = Values::Count { first: 100, step: 3, count: 50, every: 2 };
    let tags = |layer| vary(layer, Part::Vlan, Values::count(1_u32, 4_094));
    let echo = Layer::Echo { identifier: 7 };
    let streams = vec![
        routed_v4(41, Sizes::fixed(64)),
        with("TCP", vec![ETHERNET, ipv4(), TCP], imix.clone(), vec![ports(2)]),
        with(
            "IPv6",
            vec![ETHERNET, ipv6(), UDP],
            Sizes::fixed(78),
            vec![vary(1, Part::Destination, v6), ports(2)],
        ),
        with("IPv6 TCP", vec![ETHERNET, ipv6(), TCP], Sizes::fixed(9_000), vec![ports(2)]),
        with("VLAN", vec![ETHERNET, vlan(false, 5), ipv4(), UDP], imix.clone(), vec![tags(1)]),
        with(
            "QinQ",
            vec![ETHERNET, vlan(true, 5), vlan(false, 6), ipv6(), UDP],
            Sizes::fixed(173),
            vec![tags(1), tags(2), mac(0)],
        ),
        with(
            "VPN",
            vec![ETHERNET, mpls(16), mpls(17), ipv4(), UDP],
            Sizes::fixed(173),
            vec![vary(2, Part::Label, Values::count(1_000_u32, 50)), ports(4)],
        ),
        with(
            "pseudowire",
            vec![ETHERNET, mpls(16), mpls(17), Layer::ControlWord, ETHERNET, ipv4(), TCP],
            Sizes::fixed(1_518),
            vec![mac(4), vary(2, Part::Label, labels)],
        ),
        with(
            "echo",
            vec![ETHERNET, ipv4(), echo.clone()],
            Sizes::fixed(64),
            vec![vary(2, Part::Source, Values::count(0_u32, 65_536))],
        ),
        with("echo v6", vec![ETHERNET, ipv6(), echo], imix, vec![]),
        with("bridged", vec![ETHERNET], Sizes::mix(&[(64, 1), (101, 2)]), vec![mac(0)]),
    ];
    let names = vec![
        "Ether IP UDP",
        "Ether IP TCP",
        "Ether IPv6 UDP",
        "Ether IPv6 TCP",
        "Ether Dot1Q IP UDP",
        "Ether Dot1AD Dot1Q IPv6 UDP",
        "Ether MPLS MPLS IP UDP",
        "Ether MPLS MPLS EoMCW Ether IP TCP",
        "Ether IP ICMP",
        "Ether IPv6 ICMPv6EchoRequest",
        "Ether",
    ];
    (Plan { streams, seed: 11 }, names)
}
