//! The ports of the links: where they listen, and by which port a peer is reached.

use super::{Carriage, Peer, Section};
use runtime::{Carrier, Flow, PortId, PortSpec, StreamSpec, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Addresses that are listened on over TCP at most.
pub const TCP_LISTENERS_MAX: u16 = 1_024;
/// Port numbers over TCP: one for each listener, and two for connections whose address family no
/// listener has. Those from here to [`SCTP_PORTS`] are the function's own.
pub const TCP_PORTS: u16 = TCP_LISTENERS_MAX + 2;
/// Ports over SCTP are numbered from here on, counted from the first port of the section.
pub const SCTP_PORTS: u16 = 2_048;

impl Section<'_> {
    /// TCP connections that no listener has the address family of.
    const fn outward(&self, is_ipv4: bool) -> PortId {
        let at = self.first_port.0 + TCP_LISTENERS_MAX;
        PortId(if is_ipv4 { at } else { at + 1 })
    }

    /// The first port of the SCTP endpoint.
    pub(crate) const fn sctp_ports(&self) -> PortId {
        PortId(self.first_port.0 + SCTP_PORTS)
    }

    fn listeners(&self) -> Vec<(PortId, SocketAddr)> {
        let mut all: Vec<(PortId, SocketAddr)> = Vec::new();
        for listen in &self.tcp.listen {
            let number = |of: PortId| PortId(self.first_port.0 + of.0);
            let is_taken = |port| all.iter().any(|(taken, _)| *taken == number(port));
            let port = PortId::stable(&listen.to_string(), TCP_LISTENERS_MAX, is_taken);
            all.extend(port.map(|port| (number(port), *listen)));
        }
        all
    }

    /// The ports that the runtime shall open.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let queue_bytes_max = Some(self.tcp.send_queue_octets_max as usize);
        let spec = |name: &str, connect_only, (id, listen)| PortSpec {
            id,
            name: name.to_owned(),
            listen,
            carrier: Carrier::Stream(StreamSpec {
                connect_only,
                queue_bytes_max,
                ..StreamSpec::default()
            }),
            ..PortSpec::default()
        };
        let listeners = self.listeners().into_iter();
        let mut ports: Vec<PortSpec> =
            listeners.map(|listener| spec("m3ua tcp", false, listener)).collect();
        for any in [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
            let id = self.outward(any.is_ipv4());
            let needs = |peer: &Peer| self.stream_to(peer).is_some_and(|flow| flow.port == id);
            if self.peer.iter().any(needs) {
                ports.push(spec("m3ua tcp out", true, (id, SocketAddr::new(any, 0))));
            }
        }
        let sctp = self.sctp.iter().flat_map(|sctp| sctp.ports(self.sctp_ports(), "m3ua sctp"));
        ports.extend(sctp);
        ports
    }

    /// Addresses that are bound, each with its path in the section and whether it takes datagrams.
    #[must_use]
    pub fn listen_addresses(&self) -> Vec<(String, bool, SocketAddr)> {
        let streams = self.tcp.listen.iter().enumerate();
        let streams = streams.map(|(n, listen)| (format!("tcp.listen[{n}]"), false, *listen));
        let sctp = self.sctp.iter().flat_map(|sctp| sctp.ports(self.sctp_ports(), "").into_iter());
        // IP packets have no port that could be taken.
        let udp = sctp.enumerate().filter(|(_, port)| matches!(port.carrier, Carrier::Udp { .. }));
        let udp = udp.map(|(n, port)| (format!("sctp.addresses[{n}]"), true, port.listen));
        streams.chain(udp).collect()
    }

    /// The way to a peer that this node connects to over TCP: from the first listener of its
    /// address family, else from wherever the routes say.
    #[must_use]
    pub fn stream_to(&self, peer: &Peer) -> Option<Flow> {
        if peer.transport != Carriage::Tcp || !peer.connect {
            return None;
        }
        let remote =
            SocketAddr::new(*peer.addresses.first()?, peer.port.unwrap_or(m3ua::codec::PORT));
        let mut listeners = self.listeners().into_iter();
        let listener = listeners.find(|(_, listen)| listen.is_ipv4() == remote.is_ipv4());
        let (port, local) = listener.unwrap_or_else(|| {
            let any: IpAddr = match remote {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            (self.outward(remote.is_ipv4()), SocketAddr::new(any, 0))
        });
        Some(Flow::to(port, Transport::Tcp, local, remote))
    }
}
