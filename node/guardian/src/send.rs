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

/// What a guardian may send: datagrams of UDP, as anybody may; IP packets where it has sockets for
/// them, whose header this process writes. They receive nothing.
#[derive(Debug, Default)]
pub struct Sockets {
    raw_4: Option<OwnedFd>,
    raw_6: Option<OwnedFd>,
    may: Option<Packets>,
}

/// Which IP packets may be sent: the process that leaves them has no right to send any, and does
/// not get one by dying.
#[derive(Debug, Clone, Copy)]
pub struct Packets {
    /// Their protocol.
    pub protocol: u8,
    /// Whether the octets behind the IP header are what a guardian is there for.
    pub are: fn(&[u8]) -> bool,
}

impl Packets {
    /// Whether they may be sent on a way: from an address of this machine.
    fn may_leave(&self, protocol: u8, route: &Route, octets: &[u8]) -> bool {
        // What nobody here may bind to is another's.
        let is_own = || bound(SocketAddr::new(route.local.ip(), 0)).is_some();
        protocol == self.protocol && (self.are)(octets) && is_own()
    }
}

impl Sockets {
    /// Opens those for such IP packets, which needs `CAP_NET_RAW`: what cannot be opened lacks.
    ///
    /// # Errors
    /// Neither can be opened.
    pub fn open_raw(may: Packets) -> Result<Self, Errno> {
        let open = |family| {
            let protocol = Some(ipproto::RAW);
            rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
        };
        match (open(AddressFamily::INET), open(AddressFamily::INET6)) {
            (Err(error), Err(_)) => Err(error),
            (raw_4, raw_6) => Ok(Self { raw_4: raw_4.ok(), raw_6: raw_6.ok(), may: Some(may) }),
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
                    Carrier::Ip(protocol) => self.raw(protocol, route, &word.octets),
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

impl Sockets {
    /// The socket for an IP packet, if it may leave.
    fn raw(&self, protocol: u8, route: &Route, octets: &[u8]) -> Option<&OwnedFd> {
        let may = self.may.filter(|it| it.may_leave(protocol, route, octets));
        may.and(if route.local.is_ipv4() { self.raw_4.as_ref() } else { self.raw_6.as_ref() })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packets_that_a_guardian_is_there_for_leave_from_an_address_of_this_machine() {
        let may = Packets { protocol: 132, are: |octets| octets == b"abort" };
        let route = |local: &str| {
            let remote = "192.0.2.9:0".parse().expect("an address");
            let local = local.parse().expect("an address");
            Route { carrier: Carrier::Ip(132), local, remote }
        };
        let (own, others) = (route("127.0.0.1:0"), route("192.0.2.1:0"));
        assert!(may.may_leave(132, &own, b"abort"));
        for (protocol, route, octets) in
            [(6, &own, &b"abort"[..]), (132, &others, b"abort"), (132, &own, b"data")]
        {
            assert!(!may.may_leave(protocol, route, octets), "{protocol} {route:?} {octets:?}");
        }
    }
}
