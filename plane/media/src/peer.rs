//! An address with a port as flows and packets keep it: in 20 octets, for there are several of them
//! in each of very many flows, and compared as what it is.

use core::net::{IpAddr, SocketAddr};

/// Where packets of UDP come from or go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Of IPv4 the first four octets.
    address: [u8; 16],
    port: u16,
    is_six: bool,
}

impl Peer {
    /// Nobody, to fill memory with.
    pub(crate) const NONE: Self = Self { address: [0; 16], port: 0, is_six: false };

    /// One of IPv4.
    #[inline]
    pub(crate) const fn four(address: u32, port: u16) -> Self {
        let [a, b, c, d] = address.to_be_bytes();
        let address = [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        Self { address, port, is_six: false }
    }

    /// One of IPv6.
    #[inline]
    pub(crate) const fn six(address: u128, port: u16) -> Self {
        Self { address: address.to_be_bytes(), port, is_six: true }
    }

    /// The address.
    #[must_use]
    pub const fn ip(self) -> IpAddr {
        if self.is_six {
            return IpAddr::V6(core::net::Ipv6Addr::from_octets(self.address));
        }
        let [a, b, c, d, ..] = self.address;
        IpAddr::V4(core::net::Ipv4Addr::new(a, b, c, d))
    }

    /// The port.
    #[must_use]
    pub const fn port(self) -> u16 {
        self.port
    }

    /// Where it is.
    pub(crate) const fn host(self) -> Host {
        Host { address: self.address, is_six: self.is_six }
    }
}

/// An address alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Host {
    address: [u8; 16],
    is_six: bool,
}

impl Host {
    /// Nobody.
    pub const NONE: Self = Peer::NONE.host();
}

impl From<IpAddr> for Host {
    fn from(ip: IpAddr) -> Self {
        Peer::from(SocketAddr::new(ip, 0)).host()
    }
}

impl From<SocketAddr> for Peer {
    fn from(socket: SocketAddr) -> Self {
        match socket.ip() {
            IpAddr::V4(ip) => Self::four(ip.into(), socket.port()),
            IpAddr::V6(ip) => Self::six(ip.into(), socket.port()),
        }
    }
}

impl From<Peer> for SocketAddr {
    fn from(peer: Peer) -> Self {
        Self::new(peer.ip(), peer.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_it_was_and_those_of_two_families_differ() {
        for text in ["192.0.2.1:5004", "[2001:db8::1]:65535", "[c000:201::]:5004", "0.0.0.0:0"] {
            let socket: SocketAddr = text.parse().unwrap();
            let peer = Peer::from(socket);
            assert_eq!(SocketAddr::from(peer), socket);
            assert_eq!((peer.ip(), peer.port()), (socket.ip(), socket.port()));
        }
        let [four, six] = ["192.0.2.1:5004", "[c000:201::]:5004"]
            .map(|text| Peer::from(text.parse::<SocketAddr>().unwrap()));
        assert!(four != six && four.host() != six.host());
        assert_eq!(four.host(), Peer::four(0xc000_0201, 1).host());
        assert_eq!(six.host(), Host::from(six.ip()));
        assert_eq!(size_of::<Peer>(), 20);
    }
}
