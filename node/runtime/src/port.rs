//! Ports and flows: how a function names a doorway and the far end behind it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

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
    /// Whether messages need framing and connections.
    #[must_use]
    pub const fn is_stream(self) -> bool {
        !matches!(self, Self::Udp)
    }
}

/// Index of a port in the function's [`crate::PortSpec`] list; stable across configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u16);

/// A connection of a shard; zero is "none yet" (datagrams, or "open one for me").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ConnId(pub u32);

/// One far end as seen through one port.
///
/// To answer, send to the flow a message came in on. To speak first, make one with
/// [`Flow::to`]: the runtime finds the open connection to that remote, or opens one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The doorway.
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
