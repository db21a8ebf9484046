//! The ports: where this node listens, and by which port a peer is reached.

use super::{Carriage, Peer, Section};
use runtime::{Carrier, Flow, PortId, PortSpec, StreamSpec, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Addresses that are listened on over TCP and TLS at most.
pub const LISTENERS_MAX: u16 = 1_024;
/// Port numbers of streams: one for each listener, and two each over TCP and TLS for connections
/// whose address family no listener has. Those from here to [`SCTP_PORTS`] are the function's own.
pub const STREAM_PORTS: u16 = LISTENERS_MAX + 4;
/// Ports over SCTP are numbered from here on, counted from the first port of the section.
pub const SCTP_PORTS: u16 = 2_048;

impl Section<'_> {
    /// Connections that no listener has the address family of.
    const fn outward(&self, is_ipv4: bool, is_tls: bool) -> PortId {
        let family = if is_ipv4 { 0 } else { 1 };
        let transport = if is_tls { 2 } else { 0 };
        PortId(self.first_port.0 + LISTENERS_MAX + family + transport)
    }

    /// The first port of the SCTP endpoint.
    pub(crate) const fn sctp_ports(&self) -> PortId {
        PortId(self.first_port.0 + SCTP_PORTS)
    }

    /// Listeners: number, whether over TLS, address.
    fn listeners(&self) -> Vec<(PortId, bool, SocketAddr)> {
        let mut all: Vec<(PortId, bool, SocketAddr)> = Vec::new();
        let tcp = self.node.tcp.listen.iter().map(|it| (false, *it));
        let tls = self.node.tls.iter().flat_map(|tls| tls.listen.iter().map(|it| (true, *it)));
        for (is_tls, listen) in tcp.chain(tls) {
            let number = |of: PortId| PortId(self.first_port.0 + of.0);
            let is_taken = |port| all.iter().any(|it| it.0 == number(port));
            let port = PortId::stable(&listen.to_string(), LISTENERS_MAX, is_taken);
            all.extend(port.map(|port| (number(port), is_tls, listen)));
        }
        all
    }

    fn stream(&self, is_tls: bool, connect_only: bool) -> StreamSpec {
        let tls = self.node.tls.as_ref().filter(|_| is_tls);
        StreamSpec {
            tls: tls.map(|tls| Arc::new(tls.spec())),
            connect_only,
            queue_bytes_max: Some(self.node.tcp.send_queue_octets_max as usize),
            ..StreamSpec::default()
        }
    }

    /// The ports that the runtime shall open.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let spec = |is_tls, connect_only, id, listen| PortSpec {
            id,
            name: format!("diameter {}", if is_tls { "tls" } else { "tcp" }),
            listen,
            carrier: Carrier::Stream(self.stream(is_tls, connect_only)),
            ..PortSpec::default()
        };
        let listeners = self.listeners().into_iter();
        let mut ports: Vec<PortSpec> =
            listeners.map(|(id, is_tls, listen)| spec(is_tls, false, id, listen)).collect();
        for any in [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
            for is_tls in [false, true] {
                let id = self.outward(any.is_ipv4(), is_tls);
                let needs = |peer: &Peer| self.stream_to(peer).is_some_and(|flow| flow.port == id);
                if self.peer.iter().any(needs) {
                    ports.push(spec(is_tls, true, id, SocketAddr::new(any, 0)));
                }
            }
        }
        let sctp = self.node.sctp.iter();
        ports.extend(sctp.flat_map(|sctp| sctp.ports(self.sctp_ports(), "diameter sctp")));
        ports
    }

    /// Addresses that are bound, each with its path in the section and whether it takes datagrams.
    #[must_use]
    pub fn bound(&self) -> Vec<(String, bool, SocketAddr)> {
        let of = |name: &'static str| {
            move |(n, listen): (usize, &SocketAddr)| (format!("{name}.listen[{n}]"), false, *listen)
        };
        let tcp = self.node.tcp.listen.iter().enumerate().map(of("tcp"));
        let tls = self.node.tls.iter().flat_map(|tls| tls.listen.iter().enumerate().map(of("tls")));
        let sctp = self.node.sctp.iter().flat_map(|sctp| sctp.ports(self.sctp_ports(), ""));
        // IP packets have no port that could be taken.
        let udp = sctp.enumerate().filter(|(_, port)| matches!(port.carrier, Carrier::Udp { .. }));
        let udp = udp.map(|(n, port)| (format!("sctp.addresses[{n}]"), true, port.listen));
        tcp.chain(tls).chain(udp).collect()
    }

    /// The way to a peer that this node connects to over TCP or TLS: from the first listener of its
    /// address family, else from wherever the routes say.
    #[must_use]
    pub fn stream_to(&self, peer: &Peer) -> Option<Flow> {
        let is_tls = match peer.transport {
            Carriage::Tcp => false,
            Carriage::Tls => true,
            Carriage::Sctp => return None,
        };
        if !peer.connect {
            return None;
        }
        let remote = SocketAddr::new(*peer.addresses.first()?, peer.port());
        let fits =
            |it: &(PortId, bool, SocketAddr)| it.1 == is_tls && it.2.is_ipv4() == remote.is_ipv4();
        let listener = self.listeners().into_iter().find(fits).map(|it| (it.0, it.2));
        let (port, local) = listener.unwrap_or_else(|| {
            let any: IpAddr = match remote {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            (self.outward(remote.is_ipv4(), is_tls), SocketAddr::new(any, 0))
        });
        let transport = if is_tls { Transport::Tls } else { Transport::Tcp };
        Some(Flow::to(port, transport, local, remote))
    }
}
