//! What a process says to its guardian: one message a word.
//!
//! ```text
//!   hold:     1 · holder 4 · key 8 · count of octets 1 · octets · count of routes 1 · routes
//!   release:  2 · holder 4 · key 8
//!   forget:   3 · holder 4
//!   rest:     4
//!   route:    protocol 1 (0: UDP) · local, remote: 4 or 6 · address 4 or 16 · port 2
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Last words that are held at once.
pub const HELD_MAX: usize = 131_072;
/// Octets of one.
pub const OCTETS_MAX: usize = 128;
/// Ways that one takes.
pub const ROUTES_MAX: usize = 8;
/// Octets of a message.
pub(crate) const MESSAGE_OCTETS_MAX: usize = 15 + OCTETS_MAX + ROUTES_MAX * 39;

/// What carries a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A datagram of UDP.
    Udp,
    /// An IP packet of this protocol; its ports stand in its octets.
    Ip(u8),
}

/// A way to the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// What carries it.
    pub carrier: Carrier,
    /// From where: what the other side knows. The port counts with [`Carrier::Udp`].
    pub local: SocketAddr,
    /// Where to.
    pub remote: SocketAddr,
}

/// What is sent when the process has died.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastWord {
    /// The packet, from the octet behind the carrier's header on.
    pub octets: Vec<u8>,
    /// The ways that it takes, all of them.
    pub routes: Vec<Route>,
}

/// A word of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Hold that, in the place of what is held under the same key.
    Hold(u32, u64, LastWord),
    /// Hold nothing under that key any more.
    Release(u32, u64),
    /// Hold nothing of that holder any more.
    Forget(u32),
    /// The process ends in order: send nothing.
    Rest,
}

const HOLD: u8 = 1;
const RELEASE: u8 = 2;
const FORGET: u8 = 3;
const REST: u8 = 4;

impl Word {
    /// The octets; `None` when it is more than a guardian holds.
    #[must_use]
    pub fn write(&self) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(64);
        match self {
            Self::Hold(holder, key, it) => {
                if it.octets.len() > OCTETS_MAX || it.routes.len() > ROUTES_MAX {
                    return None;
                }
                out.push(HOLD);
                out.extend_from_slice(&holder.to_be_bytes());
                out.extend_from_slice(&key.to_be_bytes());
                out.push(u8::try_from(it.octets.len()).ok()?);
                out.extend_from_slice(&it.octets);
                out.push(u8::try_from(it.routes.len()).ok()?);
                for route in &it.routes {
                    out.push(match route.carrier {
                        Carrier::Udp => 0,
                        Carrier::Ip(protocol) => protocol,
                    });
                    write_address(&mut out, route.local);
                    write_address(&mut out, route.remote);
                }
            }
            Self::Release(holder, key) => {
                out.push(RELEASE);
                out.extend_from_slice(&holder.to_be_bytes());
                out.extend_from_slice(&key.to_be_bytes());
            }
            Self::Forget(holder) => {
                out.push(FORGET);
                out.extend_from_slice(&holder.to_be_bytes());
            }
            Self::Rest => out.push(REST),
        }
        Some(out)
    }

    /// Reads one whole message; `None` for what is none.
    #[must_use]
    pub fn read(message: &[u8]) -> Option<Self> {
        let mut rest = Rest(message);
        let word = match rest.octet()? {
            HOLD => {
                let (holder, key) = (rest.u32()?, rest.u64()?);
                let count = usize::from(rest.octet()?);
                let octets = rest.take(count)?.to_vec();
                let count = usize::from(rest.octet()?);
                if octets.len() > OCTETS_MAX || count > ROUTES_MAX {
                    return None;
                }
                let routes = (0..count).map(|_| rest.route()).collect::<Option<_>>()?;
                Self::Hold(holder, key, LastWord { octets, routes })
            }
            RELEASE => Self::Release(rest.u32()?, rest.u64()?),
            FORGET => Self::Forget(rest.u32()?),
            REST => Self::Rest,
            _ => return None,
        };
        rest.0.is_empty().then_some(word)
    }
}

fn write_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&address.port().to_be_bytes());
}

/// What is left of a message.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn octet(&mut self) -> Option<u8> {
        self.array::<1>().map(|it| it[0])
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn address(&mut self) -> Option<SocketAddr> {
        let ip: IpAddr = match self.octet()? {
            4 => Ipv4Addr::from(self.array::<4>()?).into(),
            6 => Ipv6Addr::from(self.array::<16>()?).into(),
            _ => return None,
        };
        Some(SocketAddr::new(ip, self.array().map(u16::from_be_bytes)?))
    }

    fn route(&mut self) -> Option<Route> {
        let carrier = match self.octet()? {
            0 => Carrier::Udp,
            protocol => Carrier::Ip(protocol),
        };
        let (local, remote) = (self.address()?, self.address()?);
        (local.is_ipv4() == remote.is_ipv4()).then_some(Route { carrier, local, remote })
    }
}
