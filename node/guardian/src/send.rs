//! The packets of the dead, on the wire.

use crate::words::{Carrier, LastWord, Route};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Time to live of what is sent.
const HOPS: u8 = 64;
/// Octets of the headers of IPv4 and IPv6 without options.
const HEADER_4: u16 = 20;
const HEADER_6: usize = 40;

/// What was not sent, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unsent {
    /// Packets that left.
    pub sent: usize,
    /// Packets that did not.
    pub failed: usize,
}

/// Sockets for IP packets whose header this process writes: they receive nothing.
#[derive(Debug, Default)]
pub struct Sockets {
    raw_4: Option<OwnedFd>,
    raw_6: Option<OwnedFd>,
}

impl Sockets {
    /// Opens those for IP packets, which needs `CAP_NET_RAW`: what cannot be opened lacks.
    ///
    /// # Errors
    /// Neither can be opened.
    pub fn open_raw() -> Result<Self, Errno> {
        let open = |family| {
            let protocol = Some(ipproto::RAW);
            rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
        };
        match (open(AddressFamily::INET), open(AddressFamily::INET6)) {
            (Err(error), Err(_)) => Err(error),
            (raw_4, raw_6) => Ok(Self { raw_4: raw_4.ok(), raw_6: raw_6.ok() }),
        }
    }

    /// Sends every last word on every way of it. What cannot leave is counted: nobody waits.
    pub fn send<'a>(&self, words: impl Iterator<Item = &'a LastWord>) -> Unsent {
        let mut udp: BTreeMap<SocketAddr, Option<OwnedFd>> = BTreeMap::new();
        let mut count = Unsent::default();
        for word in words {
            for route in &word.routes {
                let socket = match route.carrier {
                    Carrier::Udp => {
                        udp.entry(route.local).or_insert_with(|| bound(route.local)).as_ref()
                    }
                    Carrier::Ip(_) if route.local.is_ipv4() => self.raw_4.as_ref(),
                    Carrier::Ip(_) => self.raw_6.as_ref(),
                };
                match socket.is_some_and(|socket| post(socket, route, &word.octets)) {
                    true => count.sent += 1,
                    false => count.failed += 1,
                }
            }
        }
        count
    }
}

/// A UDP socket at an address that the process has left.
fn bound(local: SocketAddr) -> Option<OwnedFd> {
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None).ok()?;
    // The process that takes its place may be there already.
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true).ok()?;
    let _ = rustix::net::sockopt::set_socket_reuseport(&socket, true);
    rustix::net::bind(&socket, &local).ok()?;
    Some(socket)
}

fn post(socket: &OwnedFd, route: &Route, octets: &[u8]) -> bool {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let sent = match route.carrier {
        Carrier::Udp => rustix::net::sendto(socket, octets, flags, &route.remote),
        Carrier::Ip(protocol) => {
            let Some(packet) = packet(route, protocol, octets) else { return false };
            let to = SocketAddr::new(route.remote.ip(), 0);
            rustix::net::sendto(socket, &packet, flags, &to)
        }
    };
    sent.is_ok()
}

/// An IP packet; the kernel fills in the checksum of IPv4 and its identification (raw(7)).
fn packet(route: &Route, protocol: u8, octets: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(octets.len()).ok()?;
    let mut packet = Vec::with_capacity(HEADER_6 + octets.len());
    match (route.local.ip(), route.remote.ip()) {
        (IpAddr::V4(local), IpAddr::V4(remote)) => {
            let total = length.checked_add(HEADER_4)?.to_be_bytes();
            packet.extend_from_slice(&[0x45, 0, total[0], total[1], 0, 0, 0x40, 0, HOPS, protocol]);
            packet.extend_from_slice(&[0, 0]);
            packet.extend_from_slice(&local.octets());
            packet.extend_from_slice(&remote.octets());
        }
        (IpAddr::V6(local), IpAddr::V6(remote)) => {
            let length = length.to_be_bytes();
            packet.extend_from_slice(&[0x60, 0, 0, 0, length[0], length[1], protocol, HOPS]);
            packet.extend_from_slice(&local.octets());
            packet.extend_from_slice(&remote.octets());
        }
        _ => return None,
    }
    packet.extend_from_slice(octets);
    Some(packet)
}
