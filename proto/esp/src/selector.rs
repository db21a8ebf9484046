//! Selectors: which packets an association carries (RFC 4301 §4.4.1.1).

use crate::Dropped;
use crate::ip::{Head, Walk};
use core::net::IpAddr;
use core::ops::RangeInclusive;

/// One end of the packets that a selector lets pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// The first and the last address.
    pub addresses: RangeInclusive<IpAddr>,
    /// The ports; all of them also where a packet shows none.
    pub ports: RangeInclusive<u16>,
}

impl Side {
    /// One address, all ports.
    #[must_use]
    pub const fn address(address: IpAddr) -> Self {
        Self { addresses: address..=address, ports: 0..=u16::MAX }
    }

    /// One address, one port.
    #[must_use]
    pub const fn port(address: IpAddr, port: u16) -> Self {
        Self { addresses: address..=address, ports: port..=port }
    }

    fn holds(&self, address: IpAddr, port: Option<u16>) -> bool {
        let all = self.ports == (0..=u16::MAX);
        self.addresses.contains(&address)
            && (all || port.is_some_and(|port| self.ports.contains(&port)))
    }
}

/// Packets between two ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selector {
    /// The protocol above IP; `None`: any.
    pub protocol: Option<u8>,
    /// Our end.
    pub local: Side,
    /// The other end.
    pub remote: Side,
}

/// Which way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Out,
    In,
}

/// Whether one of the selectors lets a packet pass; all packets pass where there is none.
pub(crate) fn check(selectors: &[Selector], way: Way, packet: &[u8]) -> Result<(), Dropped> {
    if selectors.is_empty() {
        return Ok(());
    }
    let head = Head::read(packet, Walk::Upper)?;
    let ports = head.ports(packet);
    let source = (head.source(packet), ports.map(|ports| ports.0));
    let destination = (head.destination(packet), ports.map(|ports| ports.1));
    let (local, remote) = match way {
        Way::Out => (source, destination),
        Way::In => (destination, source),
    };
    let passes = |it: &Selector| {
        it.protocol.is_none_or(|protocol| protocol == head.next)
            && it.local.holds(local.0, local.1)
            && it.remote.holds(remote.0, remote.1)
    };
    if selectors.iter().any(passes) { Ok(()) } else { Err(Dropped::Policy) }
}
