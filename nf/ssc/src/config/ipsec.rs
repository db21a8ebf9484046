//! Realms with IPsec: their ports, and what IMS access is told of them.

use super::{IPSEC_PORT, IPSEC_PORTS, Realm, Ssc};
use config::Issue;
use ims::{Door, Settings};
use machine::narrow;
use runtime::{PortId, PortSpec, Transport};
use sip_stack::realm::{Address, Side};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

/// Addresses of a realm with IPsec.
const ADDRESSES_MAX: usize = 8;

impl Realm {
    /// Its addresses in the clear that phones register at.
    fn datagrams(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        let addresses = self.listen.iter().filter_map(|listen| listen.parse::<Address>().ok());
        let udp = addresses.filter(|address| address.transport == Transport::Udp);
        udp.map(|address| address.socket)
    }

    /// Its IP addresses that take ESP, each once.
    fn ips(&self) -> Vec<IpAddr> {
        let mut ips: Vec<IpAddr> = self.datagrams().map(|socket| socket.ip()).collect();
        ips.sort();
        ips.dedup();
        ips
    }

    /// Where it listens, with its protected server ports.
    pub(super) fn listens(&self) -> Cow<'_, [String]> {
        let Some(ipsec) = &self.ipsec else { return Cow::Borrowed(&self.listen) };
        let socket = |ip| SocketAddr::new(ip, ipsec.server_port);
        let protected = self.ips().into_iter().map(|ip| format!("udp:{}", socket(ip)));
        self.listen.iter().cloned().chain(protected).collect()
    }
}

impl Ssc {
    /// What IMS access is told.
    #[must_use]
    pub fn ims(&self) -> Settings {
        let doors = self.doors();
        let mut taken = Vec::new();
        let mut number = |what: String| {
            let is_taken = |port: PortId| taken.contains(&port);
            let port = PortId::stable(&what, IPSEC_PORTS, is_taken)?;
            taken.push(port);
            Some(PortId(IPSEC_PORT.0 + port.0))
        };
        let realms = self.realm.iter().enumerate().filter_map(|(index, realm)| {
            let section = realm.ipsec.clone()?;
            let own = doors.iter().filter(|(id, _, _)| id.0 == narrow::index(index));
            let plain = own.filter(|(_, _, address)| address.transport != Transport::Tls);
            let mut known: Vec<Door> = plain
                .map(|(_, port, address)| Door {
                    port: *port,
                    ip: address.socket.ip(),
                    is_protected: address.transport == Transport::Udp
                        && address.socket.port() == section.server_port,
                    is_known: true,
                })
                .collect();
            let mut addresses = Vec::new();
            for ip in realm.ips() {
                for port in section.client_ports {
                    let number = number(format!("client:{}", SocketAddr::new(ip, port)));
                    let door = |port| Door { port, ip, is_protected: true, is_known: false };
                    known.extend(number.map(door));
                }
                let Some(raw) = number(format!("esp:{ip}")) else { continue };
                let encapsulation = section.encapsulation_port;
                let in_udp = (encapsulation != 0)
                    .then(|| number(format!("esp:{}", SocketAddr::new(ip, encapsulation))))
                    .flatten();
                let in_udp = in_udp.map(|port| (port, encapsulation));
                addresses.push(ipsec::Address { ip, raw, in_udp });
            }
            Some(ims::Realm { name: realm.name.clone(), section, doors: known, addresses })
        });
        Settings { realms: realms.collect() }
    }

    /// The ports of ESP, and those of protected clients, where nothing may come in the clear.
    pub(super) fn ipsec_ports(&self) -> Vec<PortSpec> {
        let mut ports = Vec::new();
        for realm in self.ims().realms {
            let name = format!("{} ipsec", realm.name);
            ports.extend(realm.addresses.iter().flat_map(|address| address.ports(&name)));
            let guards = realm.doors.iter().filter(|door| !door.is_known);
            let numbers = realm.section.client_ports.into_iter().cycle();
            ports.extend(guards.zip(numbers).map(|(door, number)| PortSpec {
                id: door.port,
                name: format!("{name} client"),
                listen: SocketAddr::new(door.ip, number),
                ..PortSpec::default()
            }));
        }
        for port in &mut ports {
            port.ahead = self.holds(port.listen.ip());
        }
        ports
    }

    /// UDP addresses that IPsec takes beside those to listen on, each with the place of its realm.
    #[must_use]
    pub fn ipsec_listens(&self) -> Vec<(usize, SocketAddr)> {
        let realms = self.realm.iter().enumerate();
        let of = |(index, realm): (usize, &Realm)| {
            let Some(section) = &realm.ipsec else { return Vec::new() };
            let [first, second] = section.client_ports;
            let ports = [section.server_port, first, second, section.encapsulation_port];
            let sockets = realm.ips().into_iter().flat_map(move |ip| {
                ports.into_iter().filter(|port| *port != 0).map(move |port| (ip, port))
            });
            sockets.map(|(ip, port)| (index, SocketAddr::new(ip, port))).collect()
        };
        realms.flat_map(of).collect()
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
            let mut own = Vec::new();
            section.validate(&mut own);
            issues.extend(own.into_iter().map(|issue| issue.under(&at)));
            realm.validate_ipsec(&at, issues);
            for ip in realm.ips() {
                if ips.contains(&ip) {
                    let what = format!("{ip} takes ESP for another realm");
                    let hint = "give each realm with IPsec an address of its own";
                    issues.push(Issue::new(at.clone(), what, hint));
                }
                ips.push(ip);
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

impl Realm {
    fn validate_ipsec(&self, at: &str, issues: &mut Vec<Issue>) {
        let Some(section) = &self.ipsec else { return };
        if self.side != Side::Access || self.trusted {
            let hint = "phones are not believed: side = \"access\", trusted = false";
            issues.push(Issue::new(at, "IPsec stands between phones and an access realm", hint));
        }
        let ips = self.ips();
        if ips.is_empty() || ips.len() > ADDRESSES_MAX {
            let what = format!("the realm has {} addresses of UDP", ips.len());
            let hint = format!("give it 1 to {ADDRESSES_MAX}: phones register there at first");
            issues.push(Issue::new(at, what, hint));
        }
        if let Some(ip) = ips.iter().find(|ip| ip.is_unspecified()) {
            let hint = "name the address: packets are protected for it";
            issues.push(Issue::new(at, format!("{ip} is no address that ESP is for"), hint));
        }
        let [first, second] = section.client_ports;
        let own = [section.server_port, first, second, section.encapsulation_port];
        if let Some(socket) = self.datagrams().find(|socket| own.contains(&socket.port())) {
            let what = format!("{socket} is in the clear and would be protected");
            issues.push(Issue::new(at, what, "use other ports for IPsec"));
        }
    }
}
