//! What is sent in a case of an experiment.

use crate::testbed::{IN_MAC, LEFT_MAC};
use packet_load::{Layer, Order, Part, Plan, Route, Sizes, Stream, Values, Vary, hosts};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Where packets claim to come from: 198.18.0.0/16 (RFC 2544 app. C.2.2).
const FROM_V4: u128 = 0xc612_0000;
/// 2001:2::/48 (RFC 5180 §8).
const FROM_V6: u128 = 0x2001_0002 << 96;
/// Bits of sources that differ.
const FROM_BITS: u8 = 16;
/// The discard port.
const TO_PORT: u16 = 9;
const SEED: u64 = 1;

/// An IP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Flows of one IP version to routed destinations.
#[derive(Debug, Clone)]
pub struct Case {
    /// Of all packets.
    pub version: Version,
    /// Their sizes.
    pub sizes: Sizes,
    /// How many flows.
    pub flows: u32,
}

impl Case {
    /// The stream: each flow goes to another route, as long as there are some, from its own port.
    #[must_use]
    pub fn stream(&self, routes: &[Route]) -> Stream {
        let udp = Layer::Udp { source: 1_024, destination: TO_PORT };
        let ethernet = Layer::Ethernet { destination: IN_MAC, source: LEFT_MAC };
        let (ip, first, width) = match self.version {
            Version::V4 => {
                let (source, destination) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
                (Layer::Ipv4 { source, destination, class: 0, ttl: 64 }, FROM_V4, 32)
            }
            Version::V6 => {
                let (source, destination) = (Ipv6Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
                (Layer::Ipv6 { source, destination, class: 0, hop_limit: 64 }, FROM_V6, 128)
            }
        };
        let to = Values::Table(Arc::from(hosts(routes, self.flows as usize, width, SEED)));
        let from = Values::Random { first, bits: FROM_BITS };
        let ports = Values::count(1_024_u32, 60_000);
        let mut stream = Stream::new("background", vec![ethernet, ip, udp], 64);
        stream.vary = vec![
            Vary { layer: 1, part: Part::Destination, values: to },
            Vary { layer: 1, part: Part::Source, values: from },
            Vary { layer: 2, part: Part::Source, values: ports },
        ];
        stream.sizes = self.sizes.clone();
        (stream.flows, stream.order) = (self.flows, Order::Random);
        stream
    }

    /// The plan of that stream alone.
    #[must_use]
    pub fn plan(&self, routes: &[Route]) -> Plan {
        Plan::of(self.stream(routes), SEED)
    }
}
