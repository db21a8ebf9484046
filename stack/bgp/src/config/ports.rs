//! The ports of a speaker: where it listens, and by which port a peer is reached.

use super::{PeerOptions, Range, Secret as Password, Section};
use bgp::codec::PORT;
use runtime::{Carrier, Flow, Guard, PortId, PortSpec, Secret, StreamSpec, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Addresses that a speaker listens on at most.
pub const LISTENERS_MAX: u16 = 1_024;
/// Port numbers of a speaker: one for each listener, and two for connections whose address family
/// no listener has.
pub const PORTS: u16 = LISTENERS_MAX + 2;

/// A peer or a range, and what it must prove.
pub(crate) struct Entry {
    /// Where it stands.
    pub(crate) path: String,
    pub(crate) range: Range,
    /// The routing table that it is of.
    pub(crate) vrf: Option<String>,
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

impl Section<'_> {
    /// Connections that no listener has the address family of.
    const fn outward(&self, is_ipv4: bool) -> PortId {
        let at = self.first_port.0 + LISTENERS_MAX;
        PortId(if is_ipv4 { at } else { at + 1 })
    }

    fn listeners(&self) -> Vec<(PortId, SocketAddr)> {
        let mut all: Vec<(PortId, SocketAddr)> = Vec::new();
        let listens = self.listen.iter().filter_map(|text| read_listen(text));
        for listen in listens {
            let number = |of: PortId| PortId(self.first_port.0 + of.0);
            let is_taken = |port| all.iter().any(|(taken, _)| *taken == number(port));
            let port = PortId::stable(&listen.to_string(), LISTENERS_MAX, is_taken);
            all.extend(port.map(|port| (number(port), listen)));
        }
        all
    }

    /// The ports that the runtime shall open.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let guards: Arc<[Guard]> = self.guards().into();
        let spec = |name: &str, connect_only, (id, listen)| PortSpec {
            id,
            name: name.to_owned(),
            listen,
            carrier: Carrier::Stream(StreamSpec {
                connect_only,
                paced: true,
                guards: Arc::clone(&guards),
                ..StreamSpec::default()
            }),
            ..PortSpec::default()
        };
        let listeners = self.listeners();
        let mut ports: Vec<PortSpec> =
            listeners.iter().map(|listener| spec("bgp", false, *listener)).collect();
        for any in [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
            let lacks = !listeners.iter().any(|(_, listen)| listen.is_ipv4() == any.is_ipv4());
            let needs = self.peer.iter().any(|it| it.address.is_ipv4() == any.is_ipv4());
            if lacks && needs {
                let source = (self.outward(any.is_ipv4()), SocketAddr::new(any, 0));
                ports.push(spec("bgp out", true, source));
            }
        }
        ports
    }

    /// What peers and ranges must prove. Who need prove nothing is named only where it lies in a
    /// range that must: of several prefixes the longest counts.
    #[must_use]
    pub fn guards(&self) -> Vec<Guard> {
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
        let entry = |path: String, range, options: &PeerOptions| Entry {
            path,
            range,
            vrf: options.vrf.clone(),
            password: options.password.clone(),
            has_password: options.password.is_some() || options.password_file.is_some(),
            hops: options.ttl_security_hops,
        };
        let peers = self.peer.iter().enumerate().map(|(n, peer)| {
            let length = if peer.address.is_ipv4() { 32 } else { 128 };
            let range = Range { prefix: peer.address, length, group: usize::MAX };
            entry(format!("peer[{n}]"), range, &self.options(peer))
        });
        let ranges = self.ranges().into_iter().filter_map(|range| {
            let group = self.group.get(range.group)?;
            Some(entry(format!("group[{}]", range.group), range, &PeerOptions::of_group(group)))
        });
        peers.chain(ranges).collect()
    }

    /// Addresses that are bound, each with its path in the section.
    #[must_use]
    pub fn listen_addresses(&self) -> Vec<(String, SocketAddr)> {
        let listens = self.listen.iter().enumerate();
        let read = |(n, text): (usize, &String)| Some((format!("listen[{n}]"), read_listen(text)?));
        listens.filter_map(read).collect()
    }

    /// The way to a peer: through the listener at its `local` address, else the first of its
    /// address family, else from wherever the routes say.
    pub(super) fn target(&self, options: &PeerOptions, address: IpAddr) -> Flow {
        let remote = SocketAddr::new(address, options.port.unwrap_or(PORT));
        let listeners = self.listeners();
        let of_family =
            || listeners.iter().filter(|(_, listen)| listen.is_ipv4() == remote.is_ipv4());
        let is_local = |it: &&&(PortId, SocketAddr)| options.local == Some(it.1.ip());
        let listener = of_family().find(|it| is_local(&it)).or_else(|| of_family().next());
        let (port, local) = listener.copied().unwrap_or_else(|| {
            let any: IpAddr = match remote {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            (self.outward(remote.is_ipv4()), SocketAddr::new(any, 0))
        });
        let local = SocketAddr::new(options.local.unwrap_or(local.ip()), local.port());
        Flow::to(port, Transport::Tcp, local, remote)
    }
}
