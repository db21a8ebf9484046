//! The doorways of a reflector: where it listens, and by which port a peer is reached.

use super::{Manner, Peer, Range, Rr, Secret as Password};
use bgp::codec::PORT;
use runtime::{Flow, Guard, PortId, PortSpec, Secret, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Doorways that listen are numbered below this, by a hash of their address: so that each keeps
/// its number when others come and go.
pub const PORTS_MAX: u16 = 1_024;
/// Connections that no doorway has the address family of.
const OUT_IPV4: PortId = PortId(PORTS_MAX);
const OUT_IPV6: PortId = PortId(PORTS_MAX + 1);
/// Connections with caches of validated prefixes.
pub(super) const RPKI_IPV4: PortId = PortId(PORTS_MAX + 2);
pub(super) const RPKI_IPV6: PortId = PortId(PORTS_MAX + 3);
/// Connections with monitoring stations.
pub(super) const BMP_IPV4: PortId = PortId(PORTS_MAX + 4);
pub(super) const BMP_IPV6: PortId = PortId(PORTS_MAX + 5);

/// Captured messages and events leave by it.
pub(crate) const CAPTURE_PORT: PortId = PortId(PORTS_MAX + 6);

/// What is spoken behind a doorway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Bgp,
    Rpki,
    Bmp,
}

impl Door {
    pub(crate) fn of(port: PortId) -> Self {
        match port {
            RPKI_IPV4 | RPKI_IPV6 => Self::Rpki,
            BMP_IPV4 | BMP_IPV6 => Self::Bmp,
            _ => Self::Bgp,
        }
    }
}

/// A peer or a range, and what it must prove.
pub(crate) struct Entry {
    /// Where it stands.
    pub(crate) path: String,
    pub(crate) range: Range,
    pub(crate) password: Option<Password>,
    /// It has one, here or in a file.
    pub(crate) has_password: bool,
    pub(crate) hops: Option<u8>,
}

/// Reads `10.0.0.1`, `10.0.0.1:1179`, `::1` or `[::1]:1179`.
pub(crate) fn read_listen(text: &str) -> Option<SocketAddr> {
    let whole = text.parse::<SocketAddr>().ok();
    whole.or_else(|| text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, PORT)))
}

impl Rr {
    fn doors(&self) -> Vec<(PortId, SocketAddr)> {
        let mut doors: Vec<(PortId, SocketAddr)> = Vec::new();
        let listens = self.listen.iter().filter_map(|text| read_listen(text));
        for listen in listens {
            let is_taken = |port| doors.iter().any(|(taken, _)| *taken == port);
            let port = PortId::stable(&listen.to_string(), PORTS_MAX, is_taken);
            doors.extend(port.map(|port| (port, listen)));
        }
        doors
    }

    /// The doorways that the runtime shall open.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let guards: Arc<[Guard]> = self.guards().into();
        let spec = |id, listen: SocketAddr| PortSpec {
            id,
            name: "bgp".to_owned(),
            transport: Transport::Tcp,
            listen,
            paced: true,
            guards: Arc::clone(&guards),
            ..PortSpec::default()
        };
        let doors = self.doors();
        let mut ports: Vec<PortSpec> =
            doors.iter().map(|(id, listen)| spec(*id, *listen)).collect();
        let outward = [
            (OUT_IPV4, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            (OUT_IPV6, IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        ];
        for (id, any) in outward {
            let lacks = !doors.iter().any(|(_, listen)| listen.is_ipv4() == any.is_ipv4());
            let needs = self.peer.iter().any(|it| it.address.is_ipv4() == any.is_ipv4());
            if lacks && needs {
                let name = "bgp out".to_owned();
                let listen = SocketAddr::new(any, 0);
                ports.push(PortSpec { name, connect_only: true, ..spec(id, listen) });
            }
        }
        ports.extend(self.feeds());
        ports.extend(self.capture_settings().flow.iter().map(trail::port_of));
        ports
    }

    /// What the capture takes of the section.
    #[must_use]
    pub fn capture_settings(&self) -> trail::Settings {
        let (capture, key) = (self.capture.as_deref(), &self.capture_key);
        trail::settings(CAPTURE_PORT, capture, self.capture_id, key)
    }

    /// What peers and ranges must prove. Who need prove nothing is named only where it lies in a
    /// range that must: of several prefixes the longest counts.
    fn guards(&self) -> Vec<Guard> {
        let entries = self.proofs();
        let is_open = |it: &Entry| it.password.is_none() && it.hops.is_none();
        let outer: Vec<Range> =
            entries.iter().filter(|it| !is_open(it)).map(|it| it.range).collect();
        let is_inside = |inner: &Range| outer.iter().any(|outer| outer.is_around(inner));
        let named = entries.iter().filter(|it| !is_open(it) || is_inside(&it.range));
        let guard = |it: &Entry| Guard {
            prefix: (it.range.prefix, it.range.length),
            md5: it.password.as_ref().map(|password| Secret::new(password.octets())),
            // RFC 5082 §3: sent with 255, each router takes one.
            ttl: it.hops.map(|_| u8::MAX),
            ttl_min: it.hops.map(|hops| u8::MAX - hops + 1),
        };
        named.map(guard).collect()
    }

    /// Peers and ranges with what they must prove.
    pub(crate) fn proofs(&self) -> Vec<Entry> {
        let entry = |path: String, range, manner: &Manner| Entry {
            path,
            range,
            password: manner.password.clone(),
            has_password: manner.password.is_some() || manner.password_file.is_some(),
            hops: manner.ttl_security_hops,
        };
        let peers = self.peer.iter().enumerate().map(|(n, peer)| {
            let length = if peer.address.is_ipv4() { 32 } else { 128 };
            let range = Range { prefix: peer.address, length, group: usize::MAX };
            entry(format!("peer[{n}]"), range, &self.manner(peer))
        });
        let ranges = self.ranges().into_iter().filter_map(|range| {
            let group = self.group.get(range.group)?;
            Some(entry(format!("group[{}]", range.group), range, &Manner::of_group(group)))
        });
        peers.chain(ranges).collect()
    }

    /// What holds for a peer.
    pub(crate) fn manner(&self, peer: &Peer) -> Manner {
        let group = peer.group.as_ref();
        let group = group.and_then(|name| self.group.iter().find(|it| it.name == *name));
        Manner::of(Some(peer), group)
    }

    /// Addresses that are bound, each with its path in the section.
    #[must_use]
    pub fn doorways(&self) -> Vec<(String, SocketAddr)> {
        let listens = self.listen.iter().enumerate();
        let read = |(n, text): (usize, &String)| Some((format!("listen[{n}]"), read_listen(text)?));
        listens.filter_map(read).collect()
    }

    /// The way to a peer: through the doorway of its `local` address, else the first of its address
    /// family, else from wherever the routes say.
    pub(crate) fn target(&self, manner: &Manner, address: IpAddr) -> Flow {
        let remote = SocketAddr::new(address, manner.port.unwrap_or(PORT));
        let doors = self.doors();
        let of_family = || doors.iter().filter(|(_, listen)| listen.is_ipv4() == remote.is_ipv4());
        let is_local = |it: &&&(PortId, SocketAddr)| manner.local == Some(it.1.ip());
        let door = of_family().find(|it| is_local(&it)).or_else(|| of_family().next());
        let (port, local) = door.copied().unwrap_or(match remote {
            SocketAddr::V4(_) => (OUT_IPV4, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))),
            SocketAddr::V6(_) => (OUT_IPV6, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))),
        });
        let local = SocketAddr::new(manner.local.unwrap_or(local.ip()), local.port());
        Flow::to(port, Transport::Tcp, local, remote)
    }
}
