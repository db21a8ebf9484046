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

    /// The address and the port, if there is one of each.
    fn only(&self) -> Option<(IpAddr, u16)> {
        let (addresses, ports) = (&self.addresses, &self.ports);
        let is_one = addresses.start() == addresses.end() && ports.start() == ports.end();
        is_one.then(|| (*addresses.start(), *ports.start()))
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

/// The selectors of an association as it keeps them.
#[derive(Debug)]
pub(crate) enum Carried {
    /// There is none: all packets pass.
    Everything,
    /// Those of a phone: they take no memory of their own.
    Between(Between),
    /// All others.
    Any(Box<[Selector]>),
}

/// One address and one port at each end, and one protocol or two.
#[derive(Debug)]
pub(crate) struct Between {
    local: IpAddr,
    remote: IpAddr,
    local_port: u16,
    remote_port: u16,
    protocols: [u8; 2],
}

impl Between {
    fn of(one: &Selector, other: &Selector) -> Option<Self> {
        if one.local != other.local || one.remote != other.remote {
            return None;
        }
        let ((local, local_port), (remote, remote_port)) = (one.local.only()?, one.remote.only()?);
        let protocols = [one.protocol?, other.protocol?];
        Some(Self { local, remote, local_port, remote_port, protocols })
    }
}

impl Carried {
    pub fn new(selectors: Vec<Selector>) -> Self {
        let between = match &selectors[..] {
            [] => return Self::Everything,
            [one] => Between::of(one, one),
            [one, other] => Between::of(one, other),
            _ => None,
        };
        between.map_or_else(|| Self::Any(selectors.into()), Self::Between)
    }

    /// Octets on the heap.
    pub fn size(&self) -> usize {
        match self {
            Self::Everything | Self::Between(_) => 0,
            Self::Any(selectors) => size_of_val(&**selectors),
        }
    }

    /// Whether one of the selectors lets a packet pass.
    pub fn check(&self, way: Way, packet: &[u8]) -> Result<(), Dropped> {
        if matches!(self, Self::Everything) {
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
        let passes = match self {
            Self::Everything => true,
            Self::Between(it) => {
                it.protocols.contains(&head.next)
                    && local == (it.local, Some(it.local_port))
                    && remote == (it.remote, Some(it.remote_port))
            }
            Self::Any(selectors) => selectors.iter().any(|it| {
                it.protocol.is_none_or(|protocol| protocol == head.next)
                    && it.local.holds(local.0, local.1)
                    && it.remote.holds(remote.0, remote.1)
            }),
        };
        if passes { Ok(()) } else { Err(Dropped::Policy) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [u8; 4] = [192, 0, 2, 1];
    const B: [u8; 4] = [192, 0, 2, 2];

    /// A packet of UDP or TCP.
    fn packet(protocol: u8, from: ([u8; 4], u16), to: ([u8; 4], u16)) -> Vec<u8> {
        let head = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0];
        let ports = [from.1.to_be_bytes(), to.1.to_be_bytes()];
        [&head[..], &from.0, &to.0, ports.as_flattened(), &[0, 8, 0, 0]].concat()
    }

    #[test]
    fn selectors_that_are_kept_in_brief_let_pass_what_they_do_written_out() {
        let selector = |protocol| Selector {
            protocol,
            local: Side::port(A.into(), 5_062),
            remote: Side::port(B.into(), 6_200),
        };
        let brief = [
            vec![selector(Some(17))],
            vec![selector(Some(17)), selector(Some(6))],
            vec![selector(Some(6)), selector(Some(6))],
        ];
        for selectors in brief {
            let any = Carried::Any(selectors.clone().into());
            let brief = Carried::new(selectors);
            assert!(matches!(brief, Carried::Between(_)) && brief.size() == 0);
            for protocol in [6, 17, 50] {
                for (local, remote) in [(A, B), (B, A), (A, A)] {
                    for ports in [(5_062, 6_200), (6_200, 5_062), (5_062, 6_201), (0, 0)] {
                        let packet = packet(protocol, (local, ports.0), (remote, ports.1));
                        for way in [Way::Out, Way::In] {
                            let verdicts = [&any, &brief].map(|it| it.check(way, &packet));
                            assert_eq!(verdicts[0], verdicts[1], "{protocol} {way:?}");
                        }
                    }
                }
            }
        }
        let wide = Side { addresses: A.into()..=B.into(), ports: 1..=1 };
        let others = [
            vec![selector(None)],
            vec![Selector { local: Side::address(A.into()), ..selector(Some(17)) }],
            vec![Selector { remote: wide.clone(), ..selector(Some(17)) }],
            vec![selector(Some(17)), Selector { remote: wide, ..selector(Some(17)) }],
            vec![selector(Some(17)); 3],
        ];
        for selectors in others {
            assert!(matches!(Carried::new(selectors), Carried::Any(_)));
        }
        assert!(matches!(Carried::new(Vec::new()), Carried::Everything));
    }
}
