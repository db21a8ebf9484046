//! Router advertisements as packets (RFC 4861 §4.2, §6.2.3), and what a solicitation must be.

use crate::addresses::group_mac;
use crate::frame;
use crate::header::{ICMP6, IP6, TYPE_IP6, address6, checksum, pseudo6, sum};
use crate::interfaces::Row as Link;
use crate::nd::{ALL_NODES, SOURCE_MAC, option, packet};
use crate::program::{AdvertisedPrefix, Advertisement, Mac, Preference};
use graph::Reason;
use machine::narrow::at_most;
use std::net::Ipv6Addr;

/// A router is asked for.
pub(crate) const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
/// Octets of a solicitation without options.
const SOLICITATION_BYTES: usize = 8;
/// Options: a prefix, the link's MTU, resolvers (RFC 8106 §5.1).
const PREFIX: u8 = 3;
const MTU: u8 = 5;
const RESOLVERS: u8 = 25;
/// Addresses by DHCPv6.
const MANAGED: u8 = 0x80;
/// Other configuration by DHCPv6.
const OTHER: u8 = 0x40;
/// Of a prefix: it is on the link.
const ON_LINK: u8 = 0x80;
/// Of a prefix: hosts make addresses of it.
const AUTONOMOUS: u8 = 0x40;

/// Who asks for routers, and where it is (RFC 4861 §6.1.1). Packets come with a hop limit of 255
/// from here on only.
pub(crate) fn solicited(packet: &[u8]) -> Result<(Ipv6Addr, Option<Mac>), Reason> {
    let body = packet.get(IP6..).filter(|body| body.len() >= SOLICITATION_BYTES);
    let body = body.filter(|body| packet[6] == ICMP6 && body[1] == 0).ok_or(crate::nd::FORM)?;
    if packet[7] != 255 {
        return Err(crate::nd::OFF_LINK);
    }
    if checksum(sum(body, pseudo6(&packet[8..IP6], body.len(), ICMP6))) != 0 {
        return Err(crate::nd::CHECKSUM);
    }
    let source = Ipv6Addr::from(address6(packet, 8));
    let mac = option(&body[SOLICITATION_BYTES..], SOURCE_MAC)?;
    if source.is_unspecified() && mac.is_some() {
        return Err(crate::nd::FORM);
    }
    Ok((source, mac))
}

/// The frame that tells all nodes of a link of this router; `lifetime_s` as it is now.
pub fn frame(link: &Link, own: Ipv6Addr, said: &Advertisement, lifetime_s: u16) -> Vec<u8> {
    let preference = match said.preference {
        Preference::Medium => 0,
        Preference::High => 1,
        Preference::Low => 3,
    };
    // RFC 4191 §2.2: no preference where the router is no default router.
    let preference = if lifetime_s == 0 { 0 } else { preference << 3 };
    let bit = |on: bool, bit: u8| if on { bit } else { 0 };
    let flags = bit(said.managed, MANAGED) | bit(said.other, OTHER) | preference;
    let mut body = vec![ROUTER_ADVERTISEMENT, 0, 0, 0, said.hop_limit, flags];
    body.extend(lifetime_s.to_be_bytes());
    body.extend(said.reachable_ms.to_be_bytes());
    body.extend(said.retransmit_ms.to_be_bytes());
    body.extend([SOURCE_MAC, 1]);
    body.extend(link.mac);
    if said.mtu != 0 {
        body.extend([MTU, 1, 0, 0]);
        body.extend(said.mtu.to_be_bytes());
    }
    said.prefixes.iter().for_each(|prefix| put_prefix(&mut body, prefix));
    if !said.resolvers.is_empty() {
        body.extend([RESOLVERS, at_most(1 + 2 * said.resolvers.len() as u64, u8::MAX), 0, 0]);
        // Until three more should have come (RFC 8106 §5.1).
        body.extend((3 * u32::from(said.interval_max_s)).to_be_bytes());
        said.resolvers.iter().for_each(|resolver| body.extend(resolver.octets()));
    }
    frame::ethernet(link, group_mac(ALL_NODES), TYPE_IP6, &packet(own, ALL_NODES, &body))
}

fn put_prefix(body: &mut Vec<u8>, said: &AdvertisedPrefix) {
    let bit = |on: bool, bit: u8| if on { bit } else { 0 };
    let flags = bit(said.on_link, ON_LINK) | bit(said.autonomous, AUTONOMOUS);
    body.extend([PREFIX, 4, said.length, flags]);
    body.extend(said.valid_s.to_be_bytes());
    body.extend(said.preferred_s.to_be_bytes());
    body.extend([0; 4]);
    let mask = u128::MAX.checked_shl(128 - u32::from(said.length.min(128))).unwrap_or(0);
    body.extend((u128::from(said.prefix) & mask).to_be_bytes());
}
