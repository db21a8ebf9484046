//! What traces say of packets.

use crate::header::{IP4, IP6, address6, long};
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Source, destination, time to live, protocol.
pub fn ip4(packet: &[u8], note: &mut String) {
    if packet.len() >= IP4 {
        let (source, destination) = (long(packet, 12).into(), long(packet, 16).into());
        let (source, destination): (Ipv4Addr, Ipv4Addr) = (source, destination);
        let (ttl, protocol) = (packet[8], packet[9]);
        let written = write!(note, "{source} → {destination} ttl {ttl} protocol {protocol}");
        written.expect("a string takes everything");
    }
}

/// Source, destination, hop limit, next header.
pub fn ip6(packet: &[u8], note: &mut String) {
    if packet.len() >= IP6 {
        let (source, destination) = (address6(packet, 8).into(), address6(packet, 24).into());
        let (source, destination): (Ipv6Addr, Ipv6Addr) = (source, destination);
        let (limit, next) = (packet[7], packet[6]);
        let written = write!(note, "{source} → {destination} hop limit {limit} next {next}");
        written.expect("a string takes everything");
    }
}
