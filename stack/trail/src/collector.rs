//! The way to the collector: a flow, and the port that it leaves by.

use crate::capture::Settings;
use authentication::Password;
use machine::Duration;
use runtime::{Address, Carrier, Flow, PortId, PortSpec, StreamSpec, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// From us to the collector at an address, by `port`.
#[must_use]
pub fn flow_to(port: PortId, collector: Address) -> Flow {
    let any = match collector.socket.ip() {
        IpAddr::V4(ip) if ip.is_loopback() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(ip) if ip.is_loopback() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    Flow::to(port, collector.transport, SocketAddr::new(any, 0), collector.socket)
}

/// The port that such a flow leaves by.
#[must_use]
pub fn port_of(flow: &Flow) -> PortSpec {
    let outward = StreamSpec { connect_only: true, ..StreamSpec::default() };
    PortSpec {
        id: flow.port,
        name: String::from("capture"),
        listen: flow.local,
        carrier: Carrier::of(flow.transport, true, outward),
        ..PortSpec::default()
    }
}

/// How long a packet waits for others where the section does not say.
const WAIT: Duration = Duration::from_millis(5);
/// Octets that wait for the collector where the section does not say.
const OCTETS_MAX: usize = 4 << 20;

/// What a section of three keys says: `capture`, `capture_id`, and the key of `capture_key_file`.
#[must_use]
pub fn settings(port: PortId, capture: Option<&str>, capture_id: u32, key: &Password) -> Settings {
    let address = capture.and_then(|text| text.parse::<Address>().ok());
    Settings {
        flow: address.map(|address| flow_to(port, address)),
        capture_id,
        key: key.clone(),
        wait: WAIT,
        octets_max: OCTETS_MAX,
    }
}

/// Why a collector's address cannot be read or used, and how it is written.
#[must_use]
pub fn objection(capture: Option<&str>) -> Option<(&'static str, &'static str)> {
    let why = match capture?.parse::<Address>() {
        Err(why) => why,
        Ok(to) if to.transport == Transport::Tls => "captures do not travel by TLS",
        Ok(_) => return None,
    };
    Some((why, "write tcp:127.0.0.1:9060"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_reached_from_an_address_of_its_own_family() {
        for (text, local) in [
            ("udp:127.0.0.1:9060", "127.0.0.1:0"),
            ("tcp:192.0.2.1:9060", "0.0.0.0:0"),
            ("tcp:[::1]:9060", "[::1]:0"),
            ("tcp:[2001:db8::1]:9060", "[::]:0"),
        ] {
            let flow = flow_to(PortId(9), text.parse().unwrap());
            assert_eq!(flow.local, local.parse().unwrap(), "{text}");
            let port = port_of(&flow);
            assert_eq!((port.id, port.listens()), (PortId(9), text.starts_with("udp")));
        }
    }

    #[test]
    fn a_section_without_a_collector_captures_nothing_and_a_wrong_address_is_objected_to() {
        let of = |capture| settings(PortId(9), capture, 7, &Password::default());
        assert!(of(None).flow.is_none() && objection(None).is_none());
        assert!(of(Some("udp:127.0.0.1:9060")).flow.is_some());
        assert!(objection(Some("udp:127.0.0.1:9060")).is_none());
        assert!(of(Some("9060")).flow.is_none() && objection(Some("9060")).is_some());
        assert!(objection(Some("tls:127.0.0.1:9060")).is_some(), "no port has keys for it");
    }
}
