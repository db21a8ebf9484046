//! The way of messages to their collector: UDP (RFC 7011 §10.3).

use graph::{Pool, Slot};
use machine::narrow::index;
use nodes::header::{IP4, IP6, UDP, checksum, pseudo6, seal_ip4, sum};
use nodes::program::Collector;
use std::net::IpAddr;

/// Octets of a UDP header.
const UDP_BYTES: usize = 8;
/// The time to live of messages.
const TTL: u8 = 64;

/// What is wrong with a collector.
pub(crate) fn check(collector: &Collector) -> Result<(), &'static str> {
    match collector {
        it if it.source.is_ipv4() != it.address.is_ipv4() => {
            Err("a collector is told in the name of an address of its family")
        }
        it if it.address.is_multicast() || it.address.is_unspecified() => {
            Err("a collector has an address of its own")
        }
        it if it.port == 0 => Err("a collector has a port"),
        _ => Ok(()),
    }
}

/// Makes the message in a cell a packet to the collector.
pub(crate) fn address(packets: &mut Pool, slot: Slot, collector: &Collector) {
    let payload = packets.bytes(slot).len() + UDP_BYTES;
    let ip = if collector.address.is_ipv4() { IP4 } else { IP6 };
    let Some(_) = packets.prepend(slot, ip + UDP_BYTES) else { return };
    let packet = packets.bytes_mut(slot);
    let port = collector.port.to_be_bytes();
    packet[ip..ip + 2].copy_from_slice(&port);
    packet[ip + 2..ip + 4].copy_from_slice(&port);
    packet[ip + 4..ip + 6].copy_from_slice(&index(payload).to_be_bytes());
    // 0: none, as IPv4 allows where the payload is not worth the walk (RFC 768).
    packet[ip + 6..ip + 8].copy_from_slice(&[0, 0]);
    match (collector.source, collector.address) {
        (IpAddr::V4(source), IpAddr::V4(to)) => {
            packet[..IP4].copy_from_slice(&[0; IP4]);
            (packet[0], packet[8], packet[9]) = (0x45, TTL, UDP);
            packet[2..4].copy_from_slice(&index(IP4 + payload).to_be_bytes());
            packet[12..16].copy_from_slice(&source.octets());
            packet[16..20].copy_from_slice(&to.octets());
            seal_ip4(&mut packet[..IP4]);
        }
        (IpAddr::V6(source), IpAddr::V6(to)) => {
            packet[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, UDP, TTL]);
            packet[4..6].copy_from_slice(&index(payload).to_be_bytes());
            packet[8..24].copy_from_slice(&source.octets());
            packet[24..40].copy_from_slice(&to.octets());
            let so_far = pseudo6(&packet[8..IP6], payload, UDP);
            let check = match checksum(sum(&packet[IP6..], so_far)) {
                0 => u16::MAX,
                check => check,
            };
            packet[IP6 + 6..IP6 + 8].copy_from_slice(&check.to_be_bytes());
        }
        // Refused where it is said.
        _ => {}
    }
}
