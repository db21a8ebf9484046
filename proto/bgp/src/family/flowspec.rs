//! Flow specifications (RFC 8955 §4, RFC 8956 §3), also those of VPNs (RFC 8955 §8). Routes are
//! carried as they are; their components can be read.

use super::{Layout, RouteDistinguisher, Row, all_recognized, no_payload, octets_of, show_hex};
use crate::codec::{octet, word};
use core::fmt;
use wire::Malformed;

const SPEC: &str = "RFC 8955 §4.1";
/// From this length on, the length takes two octets, the first four bits set.
const LONG_LENGTH: usize = 240;

pub(super) const IPV4: Row = Row {
    afi: 1,
    safi: 133,
    name: "ipv4-flowspec",
    spec: "RFC 8955 §4",
    next_hops: &[],
    next_hops_extended: &[],
    length: length::<0>,
    is_recognized: all_recognized,
    split,
    join,
    withdrawn_payload: no_payload,
    show: show::<false, 0>,
};

pub(super) const IPV6: Row =
    Row { afi: 2, name: "ipv6-flowspec", spec: "RFC 8956 §3", show: show::<true, 0>, ..IPV4 };

pub(super) const VPNV4: Row = Row {
    safi: 134,
    name: "vpnv4-flowspec",
    spec: "RFC 8955 §8",
    length: length::<{ RouteDistinguisher::BYTES }>,
    show: show::<false, { RouteDistinguisher::BYTES }>,
    ..IPV4
};

pub(super) const VPNV6: Row = Row {
    afi: 2,
    name: "vpnv6-flowspec",
    spec: "RFC 8956 §4",
    show: show::<true, { RouteDistinguisher::BYTES }>,
    ..VPNV4
};

/// Octets of the length, and the length.
fn head(bytes: &[u8]) -> Option<(usize, usize)> {
    match *bytes {
        [first, ..] if usize::from(first) < LONG_LENGTH => Some((1, usize::from(first))),
        [first, second, ..] => Some((2, usize::from(first & 0x0F) << 8 | usize::from(second))),
        _ => None,
    }
}

fn length<const MIN: usize>(bytes: &[u8], _: Layout) -> Result<usize, Malformed> {
    let Some((head, length)) = head(bytes) else {
        return Err(Malformed::new(0, "the length of a flow specification lacks", SPEC));
    };
    if head + length > bytes.len() {
        return Err(Malformed::new(0, "the flow specification is cut off", SPEC));
    }
    if length < MIN {
        return Err(Malformed::new(0, "the route distinguisher is cut off", "RFC 8955 §8"));
    }
    Ok(head + length)
}

/// The key is the value without its length, which a sender may write in two ways.
fn split(wire: &[u8], _: Layout, key: &mut Vec<u8>, _: &mut Vec<u8>) {
    let (head, length) = head(wire).unwrap_or((0, 0));
    key.extend_from_slice(&wire[head..head + length]);
}

fn join(key: &[u8], _: &[u8], out: &mut Vec<u8>) {
    if key.len() < LONG_LENGTH {
        out.push(octet(key.len()));
    } else {
        out.extend_from_slice(&(0xF000 | word(key.len())).to_be_bytes());
    }
    out.extend_from_slice(key);
}

fn show<const IS_IPV6: bool, const RD: usize>(
    key: &[u8],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let (distinguisher, value) = key.split_at(RD.min(key.len()));
    if RD > 0 {
        write!(f, "{} ", RouteDistinguisher::of(distinguisher))?;
    }
    if value.is_empty() {
        return f.write_str("everything");
    }
    for (index, component) in Components::new(value, IS_IPV6).enumerate() {
        let Ok(component) = component else { return f.write_str(" (malformed)") };
        let gap = if index == 0 { "" } else { " " };
        let kind = component.kind.map_or("unknown", ComponentType::name);
        write!(f, "{gap}{kind} ")?;
        show_hex(component.value, f)?;
    }
    Ok(())
}

wire::rows! {
    /// What a component matches.
    pub enum ComponentType: u8 {
        /// Destination prefix.
        DestinationPrefix = 1, "destination", "RFC 8955 §4.2.2.1";
        /// Source prefix.
        SourcePrefix = 2, "source", "RFC 8955 §4.2.2.2";
        /// IP protocol, or upper-layer protocol.
        Protocol = 3, "protocol", "RFC 8955 §4.2.2.3";
        /// Source or destination port.
        Port = 4, "port", "RFC 8955 §4.2.2.4";
        /// Destination port.
        DestinationPort = 5, "destination-port", "RFC 8955 §4.2.2.5";
        /// Source port.
        SourcePort = 6, "source-port", "RFC 8955 §4.2.2.6";
        /// ICMP type.
        IcmpType = 7, "icmp-type", "RFC 8955 §4.2.2.7";
        /// ICMP code.
        IcmpCode = 8, "icmp-code", "RFC 8955 §4.2.2.8";
        /// TCP flags.
        TcpFlags = 9, "tcp-flags", "RFC 8955 §4.2.2.9";
        /// Length of the packet.
        PacketLength = 10, "packet-length", "RFC 8955 §4.2.2.10";
        /// DSCP.
        Dscp = 11, "dscp", "RFC 8955 §4.2.2.11";
        /// Fragment.
        Fragment = 12, "fragment", "RFC 8955 §4.2.2.12";
        /// Flow label, IPv6 only.
        FlowLabel = 13, "flow-label", "RFC 8956 §3.7";
    }
}

/// A component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component<'a> {
    /// What it matches; `None` if nobody here knows it, and then it is the last that can be read.
    pub kind: Option<ComponentType>,
    /// Its octets behind the type: a prefix, or operators with their values.
    pub value: &'a [u8],
}

/// The components of a flow specification: its value without length and distinguisher.
#[derive(Debug, Clone, Copy)]
pub struct Components<'a> {
    rest: &'a [u8],
    at: usize,
    last: u8,
    is_ipv6: bool,
}

impl<'a> Components<'a> {
    /// The components of `value`.
    #[must_use]
    pub const fn new(value: &'a [u8], is_ipv6: bool) -> Self {
        Self { rest: value, at: 0, last: 0, is_ipv6 }
    }

    /// Octets of the value that begins the rest.
    fn value_octets(&self, kind: ComponentType, rest: &[u8]) -> Option<usize> {
        if matches!(kind, ComponentType::DestinationPrefix | ComponentType::SourcePrefix) {
            let bits = *rest.first()?;
            if !self.is_ipv6 {
                return (bits <= 32).then(|| 1 + octets_of(bits));
            }
            let offset = *rest.get(1)?;
            return (bits <= 128 && (offset < bits || bits == 0))
                .then(|| 2 + octets_of(bits - offset.min(bits)));
        }
        let mut octets = 0;
        loop {
            let operator = *rest.get(octets)?;
            octets += 1 + (1 << (operator >> 4 & 3));
            if operator & 0x80 != 0 {
                return Some(octets);
            }
        }
    }
}

impl<'a> Iterator for Components<'a> {
    type Item = Result<Component<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&number, rest) = self.rest.split_first()?;
        self.rest = &[];
        let violation = |what| Some(Err(Malformed::new(self.at, what, "RFC 8955 §4.2")));
        if number <= self.last {
            return violation("the components are not in the order of their types");
        }
        let kind = ComponentType::of(number)
            .filter(|kind| self.is_ipv6 || *kind != ComponentType::FlowLabel);
        let Some(kind) = kind else { return Some(Ok(Component { kind: None, value: rest })) };
        let octets = self.value_octets(kind, rest).filter(|octets| *octets <= rest.len());
        let Some(octets) = octets else { return violation("the component is cut off") };
        let (value, rest) = rest.split_at(octets);
        (self.rest, self.last, self.at) = (rest, number, self.at + 1 + octets);
        Some(Ok(Component { kind: Some(kind), value }))
    }
}
