//! The doorways of a gateway: where it listens, and by which port a peer is reached.

use super::{Carriage, Peer, Sgc};
use crate::links::SCTP_PORTS;
use runtime::{Flow, PortId, PortSpec, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// TCP doorways are numbered below this, by a hash of their address: so that each keeps its number
/// when others come and go.
pub const TCP_PORTS_MAX: u16 = 1_024;
/// TCP connections that no doorway has the address family of.
const OUT_IPV4: PortId = PortId(TCP_PORTS_MAX);
const OUT_IPV6: PortId = PortId(TCP_PORTS_MAX + 1);
/// Captured messages leave by it.
pub(crate) const CAPTURE_PORT: PortId = PortId(TCP_PORTS_MAX + 2);

impl Sgc {
    fn tcp_doors(&self) -> Vec<(PortId, SocketAddr)> {
        let mut doors: Vec<(PortId, SocketAddr)> = Vec::new();
        for listen in &self.tcp.listen {
            let is_taken = |port| doors.iter().any(|(taken, _)| *taken == port);
            let port = PortId::stable(&listen.to_string(), TCP_PORTS_MAX, is_taken);
            doors.extend(port.map(|port| (port, *listen)));
        }
        doors
    }

    /// The doorways that the runtime shall open.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let queue_bytes_max = Some(self.tcp.send_queue_octets_max as usize);
        let spec = |id, listen| PortSpec {
            id,
            name: "m3ua tcp".to_owned(),
            transport: Transport::Tcp,
            listen,
            queue_bytes_max,
            ..PortSpec::default()
        };
        let mut ports: Vec<PortSpec> =
            self.tcp_doors().into_iter().map(|(id, listen)| spec(id, listen)).collect();
        let outward = [
            (OUT_IPV4, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            (OUT_IPV6, IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        ];
        for (id, any) in outward {
            let needs = |peer: &Peer| self.stream_to(peer).is_some_and(|flow| flow.port == id);
            if self.peer.iter().any(needs) {
                let name = "m3ua tcp out".to_owned();
                let listen = SocketAddr::new(any, 0);
                ports.push(PortSpec { name, connect_only: true, ..spec(id, listen) });
            }
        }
        let sctp = self.sctp.iter().flat_map(|sctp| sctp.ports(SCTP_PORTS, "m3ua sctp"));
        ports.extend(sctp);
        ports.extend(self.capture_settings().flow.iter().map(trail::port_of));
        ports
    }

    /// What the capture takes of the section.
    #[must_use]
    pub fn capture_settings(&self) -> trail::Settings {
        let (capture, key) = (self.capture.as_deref(), &self.capture_key);
        trail::settings(CAPTURE_PORT, capture, self.capture_id, key)
    }

    /// Addresses that are bound, each with its path in the section and whether it takes datagrams.
    #[must_use]
    pub fn doorways(&self) -> Vec<(String, bool, SocketAddr)> {
        let streams = self.tcp.listen.iter().enumerate();
        let streams = streams.map(|(n, listen)| (format!("tcp.listen[{n}]"), false, *listen));
        let sctp = self.sctp.iter().flat_map(|sctp| sctp.ports(SCTP_PORTS, "").into_iter());
        // IP packets have no port that could be taken.
        let udp = sctp.enumerate().filter(|(_, port)| port.protocol.is_none());
        let udp = udp.map(|(n, port)| (format!("sctp.addresses[{n}]"), true, port.listen));
        streams.chain(udp).collect()
    }

    /// The way to a peer that this node connects to over TCP: from the first doorway of its address
    /// family, else from wherever the routes say.
    #[must_use]
    pub fn stream_to(&self, peer: &Peer) -> Option<Flow> {
        if peer.transport != Carriage::Tcp || !peer.connect {
            return None;
        }
        let remote =
            SocketAddr::new(*peer.addresses.first()?, peer.port.unwrap_or(m3ua::codec::PORT));
        let mut doors = self.tcp_doors().into_iter();
        let door = doors.find(|(_, listen)| listen.is_ipv4() == remote.is_ipv4());
        let (port, local) = door.unwrap_or(match remote {
            SocketAddr::V4(_) => (OUT_IPV4, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))),
            SocketAddr::V6(_) => (OUT_IPV6, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))),
        });
        Some(Flow::to(port, Transport::Tcp, local, remote))
    }
}
