//! Ports and flows: how a function names a socket of its own and the far end behind it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// What carries the bytes of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A stream, framed by [`crate::Function::frame`].
    Tcp,
    /// A stream inside TLS 1.2 or 1.3.
    Tls,
}

impl Transport {
    /// As a site file writes it, and a SIP URI's parameter.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
        }
    }

    /// Whether messages need framing and connections.
    #[must_use]
    pub const fn is_stream(self) -> bool {
        !matches!(self, Self::Udp)
    }
}

/// A transport and a socket address as a site file writes them: `udp:127.0.0.1:5060`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// What carries the messages.
    pub transport: Transport,
    /// IP address and port.
    pub socket: SocketAddr,
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (transport, socket) =
            text.split_once(':').ok_or("an address is written transport:host:port")?;
        let transport = match transport {
            "udp" => Transport::Udp,
            "tcp" => Transport::Tcp,
            "tls" => Transport::Tls,
            _ => return Err("the transport is udp, tcp or tls"),
        };
        let socket =
            socket.parse().map_err(|_| "after the transport stands an IP address and a port")?;
        Ok(Self { transport, socket })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.transport.word(), self.socket)
    }
}

/// Index of a port in the function's [`crate::PortSpec`] list; stable across configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u16);

impl PortId {
    /// A number below `count` for the port of that name, which others that come and go leave as it
    /// is: a hash of the name, or the next number that is not taken. `None` when all are taken.
    #[must_use]
    pub fn stable(name: &str, count: u16, is_taken: impl Fn(Self) -> bool) -> Option<Self> {
        // FNV-1a, 32 bits.
        let mix = |hash: u32, octet: u8| (hash ^ u32::from(octet)).wrapping_mul(0x0100_0193);
        let hash = name.bytes().fold(0x811c_9dc5, mix);
        let first = u16::try_from(hash.checked_rem(count.into())?).ok()?;
        (first..count).chain(0..first).map(Self).find(|port| !is_taken(*port))
    }
}

/// A connection of a shard; zero is "none yet" (datagrams, or "open one for me").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ConnId(pub u32);

/// One far end as seen through one port.
///
/// To answer, send to the flow a message came in on. To speak first, make one with
/// [`Flow::to`]: the runtime finds the open connection to that remote, or opens one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The socket of ours.
    pub port: PortId,
    /// What carries the bytes.
    pub transport: Transport,
    /// The connection, for streams.
    pub conn: ConnId,
    /// Our address.
    pub local: SocketAddr,
    /// Theirs.
    pub remote: SocketAddr,
}

impl Flow {
    /// A flow that leads nowhere: what a record has before it has one.
    pub const NOWHERE: Self = Self::to(
        PortId(u16::MAX),
        Transport::Udp,
        SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
    );

    /// The flow from `local` on `port` to a remote that has not spoken yet.
    #[must_use]
    pub const fn to(
        port: PortId,
        transport: Transport,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Self {
        Self { port, transport, conn: ConnId(0), local, remote }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_keeps_its_number_and_makes_way_for_one_that_has_it() {
        let free = |_: PortId| false;
        let port = PortId::stable("10.0.0.1:179", 1_024, free).expect("there is one");
        assert_eq!(port, PortId(0x228), "as in every release before");
        assert_eq!(PortId::stable("10.0.0.1:179", 1_024, free), Some(port));
        let next = PortId::stable("10.0.0.1:179", 1_024, |it| it == port);
        assert_eq!(next, Some(PortId(port.0 + 1)));
        let last = PortId::stable("10.0.0.1:179", 1_024, |it| it.0 >= port.0);
        assert_eq!(last, Some(PortId(0)), "after the last comes the first");
        assert_eq!(PortId::stable("10.0.0.1:179", 1_024, |_| true), None);
        assert_eq!(PortId::stable("10.0.0.1:179", 0, free), None);
    }
}
