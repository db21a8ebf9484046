//! Realms with IPsec: their ports, and what IMS access is told of them.

use super::{IPSEC_PORT, IPSEC_PORTS, Realm, Ssc};
use config::Issue;
use ims::{Listener, Numbers, Settings};
use machine::narrow;
use runtime::{PortId, PortSpec, Transport};
use sip_stack::realm::{Address, Side};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

impl Realm {
    /// Its addresses in the clear that phones register at.
    fn datagrams(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        let addresses = self.listen.iter().filter_map(|listen| listen.parse::<Address>().ok());
        let udp = addresses.filter(|address| address.transport == Transport::Udp);
        udp.map(|address| address.socket)
    }

    /// Its addresses in the clear, of UDP and TCP.
    fn clear(&self) -> Vec<SocketAddr> {
        let addresses = self.listen.iter().filter_map(|listen| listen.parse::<Address>().ok());
        let clear = addresses.filter(|address| address.transport != Transport::Tls);
        clear.map(|address| address.socket).collect()
    }

    /// Its IP addresses that take ESP, each once.
    fn ips(&self) -> Vec<IpAddr> {
        let mut ips: Vec<IpAddr> = self.datagrams().map(|socket| socket.ip()).collect();
        ips.sort();
        ips.dedup();
        ips
    }

    /// Where it listens, with its protected server ports, and those of TCP inside of ESP.
    pub(super) fn listens(&self) -> Cow<'_, [String]> {
        let Some(ipsec) = &self.ipsec else { return Cow::Borrowed(&self.listen) };
        let socket = |ip| SocketAddr::new(ip, ipsec.server_port);
        let ips = self.ips();
        let protected = ips.iter().map(|ip| format!("udp:{}", socket(*ip)));
        let inside = ips.iter().filter(|_| ipsec.tcp_idle_s != 0);
        let inside = inside.map(|ip| format!("tcp:{}", socket(*ip)));
        self.listen.iter().cloned().chain(protected).chain(inside).collect()
    }

    /// Whether a listener of it is that of TCP inside of ESP, which the kernel does not have.
    pub(super) fn is_inside(&self, address: &Address) -> bool {
        let is_it = |ipsec: &ims::Ipsec| {
            let of_tcp = ipsec.tcp_idle_s != 0 && address.transport == Transport::Tcp;
            of_tcp && address.socket.port() == ipsec.server_port
        };
        self.ipsec.as_ref().is_some_and(is_it) && self.ips().contains(&address.socket.ip())
    }
}

impl Ssc {
    /// What IMS access is told.
    #[must_use]
    pub fn ims(&self) -> Settings {
        let listeners = self.listeners();
        let mut numbers = Numbers::new(IPSEC_PORT, IPSEC_PORTS);
        let realms = self.realm.iter().enumerate().filter_map(|(index, realm)| {
            let section = realm.ipsec.clone()?;
            let own = listeners.iter().filter(|(id, _, _)| id.0 == narrow::index(index));
            let listener = |(_, port, address): &(_, PortId, Address)| Listener {
                port: *port,
                ip: address.socket.ip(),
                is_protected: address.transport != Transport::Tls
                    && address.socket.port() == section.server_port,
                is_tls: address.transport == Transport::Tls,
                is_inside: realm.is_inside(address),
                is_known: true,
            };
            let listeners = own.map(listener).collect();
            Some(ims::Realm::new(&realm.name, section, listeners, &realm.ips(), &mut numbers))
        });
        Settings { realms: realms.collect() }
    }

    /// The ports of ESP, and those of protected clients.
    pub(super) fn ipsec_ports(&self) -> Vec<PortSpec> {
        let realms = self.ims().realms;
        let ports = realms.iter().flat_map(ims::Realm::ports);
        ports.map(|port| PortSpec { ahead: self.holds(port.listen.ip()), ..port }).collect()
    }

    /// UDP addresses that IPsec takes beside those to listen on, each with the place of its realm.
    #[must_use]
    pub fn ipsec_listens(&self) -> Vec<(usize, SocketAddr)> {
        let realms = self.realm.iter().enumerate();
        let sockets = realms.filter_map(|(index, realm)| {
            let sockets = realm.ipsec.as_ref()?.sockets(&realm.ips());
            Some(sockets.into_iter().map(move |socket| (index, socket)))
        });
        sockets.flatten().collect()
    }

    /// What `new` interrupts of ESP in the realms that stay.
    #[must_use]
    pub fn ipsec_interruptions(&self, new: &Self) -> Vec<Issue> {
        let of = |(at, realm): (usize, &Realm)| {
            let old = self.realm.iter().find(|it| it.name == realm.name)?.ipsec.as_ref()?;
            let found = old.interruptions(realm.ipsec.as_ref()?).into_iter();
            let named = |it: Issue| {
                let what = format!("the realm {}: {}", realm.name, it.what);
                Issue { what, ..it }.under(&format!("realm[{at}].ipsec"))
            };
            Some(found.map(named).collect::<Vec<_>>())
        };
        new.realm.iter().enumerate().filter_map(of).flatten().collect()
    }

    /// Whether a port is one of IPsec's own.
    pub(crate) fn steers_esp(port: PortId) -> bool {
        (IPSEC_PORT.0..IPSEC_PORT.0 + IPSEC_PORTS).contains(&port.0)
    }

    pub(super) fn validate_ipsec(&self, issues: &mut Vec<Issue>) {
        let mut ips: Vec<IpAddr> = Vec::new();
        for (index, realm) in self.realm.iter().enumerate() {
            let Some(section) = &realm.ipsec else { continue };
            let at = format!("realm[{index}].ipsec");
            if realm.side != Side::Access || realm.trusted {
                let hint = "phones are not believed: side = \"access\", trusted = false";
                let what = "IPsec stands between phones and an access realm";
                issues.push(Issue::new(at.clone(), what, hint));
            }
            let clear = realm.clear();
            section.validate_at(&at, &clear, &realm.ips(), issues);
            section.validate_own(&at, &realm.ips(), &mut ips, issues);
            // The node that stands by has no interface with it to open.
            let held = realm.ips().into_iter().find(|ip| section.bypass && self.holds(*ip));
            if let Some(ip) = held {
                let what = format!("{ip} is on an interface of the pair's active node alone");
                let hint = "leave the key out in a pair that holds the realm's addresses";
                issues.push(Issue::new(format!("{at}.bypass"), what, hint));
            }
        }
        let believes = |realm: &Realm| {
            let is_core = realm.side == Side::Core && realm.trusted;
            is_core && self.next_hop.iter().any(|hop| hop.realm == realm.name)
        };
        if let Some(at) = self.realm.iter().position(|realm| realm.ipsec.is_some())
            && !self.realm.iter().any(believes)
        {
            let what = "no realm of the core is believed that sends keys";
            let hint = "set trusted = true in the realm of the S-CSCF";
            issues.push(Issue::new(format!("realm[{at}].ipsec"), what, hint));
        }
        if !ips.is_empty() && !self.registrar.enabled {
            let hint = "set enabled = true in [ssc.registrar]";
            let what = "phones are reached by their registrations, and the registrar front is off";
            issues.push(Issue::new("registrar.enabled", what, hint));
        }
    }
}
