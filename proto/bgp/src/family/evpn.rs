//! Ethernet VPN, route types 1 to 5 (RFC 7432 §7, RFC 9136 §3.1). ESI, gateway and labels are
//! payload, except where the ESI is what is routed.

use super::{Label, Layout, RouteDistinguisher, Row};
use crate::codec::{be32, octet};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Malformed;

const SPEC: &str = "RFC 7432 §7";
/// Octets of type and length.
const HEAD_BYTES: usize = 2;
const RD: usize = RouteDistinguisher::BYTES;
const ESI: usize = 10;
const TAG: usize = 4;
const LABEL: usize = 3;
const MAC_BITS: u8 = 48;

pub(super) const ROW: Row = Row {
    afi: 25,
    safi: 70,
    name: "evpn",
    spec: SPEC,
    next_hops: &[4, 16],
    next_hops_extended: &[],
    length,
    is_recognized: |wire| EvpnType::of(wire[0]).is_some(),
    split,
    join,
    withdrawn_payload,
    show,
};

wire::rows! {
    /// The route types that are known.
    pub enum EvpnType: u8 {
        /// A way into an Ethernet segment.
        EthernetAutoDiscovery = 1, "Ethernet Auto-Discovery", "RFC 7432 §7.1";
        /// A host.
        MacIpAdvertisement = 2, "MAC/IP Advertisement", "RFC 7432 §7.2";
        /// Where broadcast goes.
        InclusiveMulticast = 3, "Inclusive Multicast Ethernet Tag", "RFC 7432 §7.3";
        /// Who stands at an Ethernet segment.
        EthernetSegment = 4, "Ethernet Segment", "RFC 7432 §7.4";
        /// A prefix.
        IpPrefix = 5, "IP Prefix", "RFC 9136 §3.1";
    }
}

/// An Ethernet Segment Identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Esi(pub [u8; 10]);

/// A MAC address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn violation<T>(at: usize, what: &'static str) -> Result<T, Malformed> {
    Err(Malformed::new(at, what, SPEC))
}

fn length(bytes: &[u8], _: Layout) -> Result<usize, Malformed> {
    let [kind, length, rest @ ..] = bytes else {
        return violation(0, "type and length of an EVPN route lack");
    };
    let Some(body) = rest.get(..usize::from(*length)) else {
        return violation(1, "the EVPN route is cut off");
    };
    if let Some(kind) = EvpnType::of(*kind) {
        // What lacks stands where the body ends.
        let within = |it: Malformed| Malformed { at: it.at.min(body.len()), ..it };
        check(kind, body).map_err(|it| within(it).shifted(HEAD_BYTES))?;
    }
    Ok(HEAD_BYTES + body.len())
}

/// Octets of an address whose length in bits stands at `at`.
fn address_octets(body: &[u8], at: usize) -> Option<usize> {
    match body.get(at)? {
        0 => Some(0),
        32 => Some(4),
        128 => Some(16),
        _ => None,
    }
}

fn check(kind: EvpnType, body: &[u8]) -> Result<(), Malformed> {
    let is_right = match kind {
        EvpnType::EthernetAutoDiscovery => body.len() == RD + ESI + TAG + LABEL,
        EvpnType::MacIpAdvertisement => {
            let mac_at = RD + ESI + TAG;
            if body.get(mac_at).is_some_and(|bits| *bits != MAC_BITS) {
                return violation(mac_at, "the MAC address does not have 48 bits");
            }
            let fixed = mac_at + 1 + 6 + 1;
            let Some(address) = address_octets(body, fixed - 1) else {
                return violation(fixed - 1, "no IP address has that length");
            };
            let labels = body.len().checked_sub(fixed + address);
            matches!(labels, Some(LABEL | 6))
        }
        EvpnType::InclusiveMulticast | EvpnType::EthernetSegment => {
            let before = if kind == EvpnType::EthernetSegment { ESI } else { TAG };
            let fixed = RD + before + 1;
            let Some(address @ (4 | 16)) = address_octets(body, fixed - 1) else {
                return violation(fixed - 1, "no IP address has that length");
            };
            body.len() == fixed + address
        }
        EvpnType::IpPrefix => {
            let fixed = RD + ESI + TAG + 1;
            let address = match body.len().wrapping_sub(fixed + LABEL) {
                8 => 4,
                32 => 16,
                _ => return violation(0, "no IP prefix route has that length"),
            };
            if usize::from(body[fixed - 1]) > 8 * address {
                return violation(fixed - 1, "the prefix is longer than an address");
            }
            true
        }
    };
    if is_right { Ok(()) } else { violation(0, "the route does not have the length of its type") }
}

/// Where the payload of a body stands: its first part, and where the second begins.
fn payload_of(kind: EvpnType, body: &[u8]) -> (core::ops::Range<usize>, usize) {
    let end = body.len();
    match kind {
        EvpnType::EthernetAutoDiscovery => (end - LABEL..end, end),
        EvpnType::MacIpAdvertisement => {
            let fixed = RD + ESI + TAG + 8;
            (RD..RD + ESI, fixed + address_octets(body, fixed - 1).unwrap_or(0))
        }
        EvpnType::InclusiveMulticast | EvpnType::EthernetSegment => (end..end, end),
        EvpnType::IpPrefix => {
            let fixed = RD + ESI + TAG + 1;
            (RD..RD + ESI, fixed + (end - fixed - LABEL) / 2)
        }
    }
}

/// The key is the type and the body without its payload.
fn split(wire: &[u8], _: Layout, key: &mut Vec<u8>, payload: &mut Vec<u8>) {
    let body = &wire[HEAD_BYTES..];
    key.push(wire[0]);
    let Some(kind) = EvpnType::of(wire[0]) else { return key.extend_from_slice(body) };
    let (first, second) = payload_of(kind, body);
    key.extend_from_slice(&body[..first.start]);
    key.extend_from_slice(&body[first.end..second]);
    payload.extend_from_slice(&body[first]);
    payload.extend_from_slice(&body[second..]);
}

fn join(key: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    let (kind, body) = (key[0], &key[1..]);
    out.extend_from_slice(&[kind, octet(body.len() + payload.len())]);
    match EvpnType::of(kind) {
        Some(EvpnType::MacIpAdvertisement | EvpnType::IpPrefix) => {
            let (esi, rest) = payload.split_at(ESI.min(payload.len()));
            out.extend_from_slice(&body[..RD]);
            out.extend_from_slice(esi);
            out.extend_from_slice(&body[RD..]);
            out.extend_from_slice(rest);
        }
        _ => {
            out.extend_from_slice(body);
            out.extend_from_slice(payload);
        }
    }
}

/// Zeros in the place of ESI, gateway and label: a withdrawal names the key only.
fn withdrawn_payload(key: &[u8]) -> &'static [u8] {
    const ZEROS: [u8; ESI + 16 + LABEL] = [0; ESI + 16 + LABEL];
    let length = match EvpnType::of(key[0]) {
        Some(EvpnType::EthernetAutoDiscovery) => LABEL,
        Some(EvpnType::MacIpAdvertisement) => ESI + LABEL,
        Some(EvpnType::IpPrefix) => ESI + (key.len() - 1 - RD - TAG - 1) + LABEL,
        _ => 0,
    };
    &ZEROS[..length]
}

fn show(key: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut wire = Vec::with_capacity(64);
    join(key, withdrawn_payload(key), &mut wire);
    let Some(route) = EvpnRoute::read(&wire) else {
        write!(f, "{} ", key[0])?;
        return super::show_hex(&key[1..], f);
    };
    write!(f, "{} ", route.distinguisher())?;
    match route {
        EvpnRoute::EthernetAutoDiscovery { esi, tag, .. } => {
            f.write_str("ad ")?;
            super::show_hex(&esi.0, f)?;
            write!(f, " tag {tag}")
        }
        EvpnRoute::MacIpAdvertisement { tag, mac, ip, .. } => {
            write!(f, "mac {mac} tag {tag}")?;
            ip.map_or(Ok(()), |ip| write!(f, " ip {ip}"))
        }
        EvpnRoute::InclusiveMulticast { tag, originator, .. } => {
            write!(f, "imet {originator} tag {tag}")
        }
        EvpnRoute::EthernetSegment { esi, originator, .. } => {
            f.write_str("es ")?;
            super::show_hex(&esi.0, f)?;
            write!(f, " from {originator}")
        }
        EvpnRoute::IpPrefix { tag, prefix, bits, .. } => {
            write!(f, "prefix {prefix}/{bits} tag {tag}")
        }
    }
}

/// A route of a known type, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the sections")]
pub enum EvpnRoute {
    /// Type 1 (RFC 7432 §7.1).
    EthernetAutoDiscovery { rd: RouteDistinguisher, esi: Esi, tag: u32, label: Label },
    /// Type 2 (RFC 7432 §7.2).
    MacIpAdvertisement {
        rd: RouteDistinguisher,
        esi: Esi,
        tag: u32,
        mac: Mac,
        ip: Option<IpAddr>,
        label: Label,
        label2: Option<Label>,
    },
    /// Type 3 (RFC 7432 §7.3).
    InclusiveMulticast { rd: RouteDistinguisher, tag: u32, originator: IpAddr },
    /// Type 4 (RFC 7432 §7.4).
    EthernetSegment { rd: RouteDistinguisher, esi: Esi, originator: IpAddr },
    /// Type 5 (RFC 9136 §3.1).
    IpPrefix {
        rd: RouteDistinguisher,
        esi: Esi,
        tag: u32,
        prefix: IpAddr,
        bits: u8,
        gateway: IpAddr,
        label: Label,
    },
}

/// The address of 4 or 16 octets.
fn ip(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => Some(IpAddr::V4(Ipv4Addr::from(super::address::<4>(octets)))),
        16 => Some(IpAddr::V6(Ipv6Addr::from(super::address::<16>(octets)))),
        _ => None,
    }
}

fn label(octets: &[u8]) -> Label {
    Label::of([octets[0], octets[1], octets[2]])
}

impl EvpnRoute {
    /// Reads one, type and length included. `None` if it is malformed or its type is not known.
    #[must_use]
    pub fn read(wire: &[u8]) -> Option<Self> {
        let whole = length(wire, Layout::default()).ok()?;
        let kind = EvpnType::of(wire[0])?;
        let body = &wire[HEAD_BYTES..whole];
        let rd = RouteDistinguisher::of(&body[..RD]);
        let esi = Esi(super::address(&body[RD..]));
        let (after_esi, end) = (RD + ESI, body.len());
        Some(match kind {
            EvpnType::EthernetAutoDiscovery => {
                let (tag, label) = (be32(body, after_esi), label(&body[after_esi + TAG..]));
                Self::EthernetAutoDiscovery { rd, esi, tag, label }
            }
            EvpnType::MacIpAdvertisement => {
                let (first, second) = payload_of(kind, body);
                let mac = Mac(super::address(&body[first.end + TAG + 1..]));
                let label2 = body.get(second + LABEL..second + 2 * LABEL).map(label);
                let ip = ip(&body[first.end + TAG + 8..second]);
                let (tag, label) = (be32(body, after_esi), label(&body[second..]));
                Self::MacIpAdvertisement { rd, esi, tag, mac, ip, label, label2 }
            }
            EvpnType::InclusiveMulticast => {
                let originator = ip(&body[RD + TAG + 1..])?;
                Self::InclusiveMulticast { rd, tag: be32(body, RD), originator }
            }
            EvpnType::EthernetSegment => {
                Self::EthernetSegment { rd, esi, originator: ip(&body[after_esi + 1..])? }
            }
            EvpnType::IpPrefix => {
                let (_, second) = payload_of(kind, body);
                let fixed = after_esi + TAG + 1;
                let (prefix, gateway) =
                    (ip(&body[fixed..second])?, ip(&body[second..end - LABEL])?);
                let (tag, bits) = (be32(body, after_esi), body[fixed - 1]);
                let label = label(&body[end - LABEL..]);
                Self::IpPrefix { rd, esi, tag, prefix, bits, gateway, label }
            }
        })
    }

    /// Its route distinguisher.
    #[must_use]
    pub const fn distinguisher(&self) -> RouteDistinguisher {
        match self {
            Self::EthernetAutoDiscovery { rd, .. }
            | Self::MacIpAdvertisement { rd, .. }
            | Self::InclusiveMulticast { rd, .. }
            | Self::EthernetSegment { rd, .. }
            | Self::IpPrefix { rd, .. } => *rd,
        }
    }
}
