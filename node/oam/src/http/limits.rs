//! What the API takes of its peers, and by what their budgets are counted.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Live streams at the same time.
pub const STREAMS_MAX: usize = 64;
/// Connections at the same time; for one more, another is ended.
pub const CONNECTIONS_MAX: usize = 512;

/// What one peer may take of the API.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at the same time.
    pub connections_max: usize,
    /// Time for the head of a request, from the connection's start or the answer before.
    pub head: Duration,
    /// Time for the body of a request.
    pub body: Duration,
    /// Longest time in which a peer takes nothing of its answer.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            stall: Duration::from_secs(20),
        }
    }
}

/// Where a connection comes from, as budgets count it: an IPv4 address, an IPv6 /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source(IpAddr);

impl Source {
    /// The socket of this machine.
    pub const MACHINE: Self = Self(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED));
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            IpAddr::V4(ip) if ip.is_unspecified() => f.write_str("this machine"),
            IpAddr::V6(ip) if !ip.is_loopback() => write!(f, "{ip}/64"),
            ip => write!(f, "{ip}"),
        }
    }
}

impl From<SocketAddr> for Source {
    fn from(address: SocketAddr) -> Self {
        Self(match address.ip().to_canonical() {
            IpAddr::V6(ip) if !ip.is_loopback() => {
                IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)))
            }
            ip => ip,
        })
    }
}
