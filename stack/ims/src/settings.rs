//! What a function tells of its realms.

use crate::Ipsec;
use config::Issue;
use ipsec::Address;
use machine::Duration;
use runtime::{PortId, PortSpec};
use secagree::Preference;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Addresses of a realm with IPsec.
const ADDRESSES_MAX: usize = 8;

/// A listener of a realm with IPsec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listener {
    /// Its port.
    pub port: PortId,
    /// Its address.
    pub ip: IpAddr,
    /// Whether it is a protected one: what comes there in the clear is dropped.
    pub is_protected: bool,
    /// Whether it takes TLS: what comes there is in the clear for an agreement on IPsec.
    pub is_tls: bool,
    /// Whether it is that of TCP inside of ESP: no port of the kernel.
    pub is_inside: bool,
    /// Whether the function knows it as the listener of its phones; of the client ports it does
    /// not.
    pub is_known: bool,
}

/// A realm with IPsec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Realm {
    /// Its name.
    pub name: String,
    /// Its section.
    pub section: Ipsec,
    /// Its listeners.
    pub listeners: Vec<Listener>,
    /// Its addresses that take ESP.
    pub addresses: Vec<Address>,
}

/// Numbers for the ports that realms open for IPsec, of those that a function has for them: by a
/// hash of what a port is, so that it keeps its number when others come and go.
#[derive(Debug)]
pub struct Numbers {
    first: PortId,
    count: u16,
    taken: Vec<PortId>,
}

impl Numbers {
    /// `count` numbers from `first`.
    #[must_use]
    pub const fn new(first: PortId, count: u16) -> Self {
        Self { first, count, taken: Vec::new() }
    }

    fn take(&mut self, what: &str) -> Option<PortId> {
        let port = PortId::stable(what, self.count, |port| self.taken.contains(&port))?;
        self.taken.push(port);
        Some(PortId(self.first.0 + port.0))
    }
}

impl Realm {
    /// A realm whose phones register at `listeners`; it takes ESP, and has its protected client
    /// ports, at `ips`.
    #[must_use]
    pub fn new(
        name: &str,
        section: Ipsec,
        mut listeners: Vec<Listener>,
        ips: &[IpAddr],
        numbers: &mut Numbers,
    ) -> Self {
        let mut addresses = Vec::new();
        for ip in ips.iter().copied() {
            for port in section.client_ports {
                let number = numbers.take(&format!("client:{}", SocketAddr::new(ip, port)));
                let (is_protected, is_tls, is_inside, is_known) = (true, false, false, false);
                let listener =
                    |port| Listener { port, ip, is_protected, is_tls, is_inside, is_known };
                listeners.extend(number.map(listener));
            }
            let Some(raw) = numbers.take(&format!("esp:{ip}")) else { continue };
            let number = section.encapsulation_port;
            let in_udp = (number != 0)
                .then(|| numbers.take(&format!("esp:{}", SocketAddr::new(ip, number))))
                .flatten();
            let (bypass, in_udp) = (section.bypass, in_udp.map(|port| (port, number)));
            addresses.push(Address { ip, raw, bypass, in_udp });
        }
        Self { name: name.to_owned(), section, listeners, addresses }
    }

    /// Its ports of ESP, and those of protected clients, where nothing may come in the clear.
    pub fn ports(&self) -> impl Iterator<Item = PortSpec> + '_ {
        let name = format!("{} ipsec", self.name);
        let guard = format!("{name} client");
        let guards = self.listeners.iter().filter(|listener| !listener.is_known);
        let numbers = self.section.client_ports.into_iter().cycle();
        let guards = guards.zip(numbers).map(move |(listener, number)| PortSpec {
            id: listener.port,
            name: guard.clone(),
            listen: SocketAddr::new(listener.ip, number),
            ..PortSpec::default()
        });
        self.addresses.iter().flat_map(move |address| address.ports(&name)).chain(guards)
    }
}

impl Ipsec {
    /// Its ports of UDP at those addresses.
    #[must_use]
    pub fn sockets(&self, ips: &[IpAddr]) -> Vec<SocketAddr> {
        let [first, second] = self.client_ports;
        let ports = [self.server_port, first, second, self.encapsulation_port];
        let ports = ports.into_iter().filter(|port| *port != 0);
        let of = |ip: IpAddr| ports.clone().map(move |port| SocketAddr::new(ip, port));
        ips.iter().copied().flat_map(of).collect()
    }

    /// Pushes what is wrong with it in a realm whose phones register at `clear`, in UDP, and that
    /// takes ESP at `ips`; `at` is the path of the section.
    pub fn validate_at(
        &self,
        at: &str,
        clear: &[SocketAddr],
        ips: &[IpAddr],
        issues: &mut Vec<Issue>,
    ) {
        let mut own = Vec::new();
        self.validate(&mut own);
        issues.extend(own.into_iter().map(|issue| issue.under(at)));
        if ips.is_empty() || ips.len() > ADDRESSES_MAX {
            let what = format!("the realm has {} addresses of UDP", ips.len());
            let hint = format!("give it 1 to {ADDRESSES_MAX}: phones register there at first");
            issues.push(Issue::new(at, what, hint));
        }
        if let Some(ip) = ips.iter().find(|ip| ip.is_unspecified()) {
            let hint = "name the address: packets are protected for it";
            issues.push(Issue::new(at, format!("{ip} is no address that ESP is for"), hint));
        }
        if let (true, Some(ip)) = (self.bypass, ips.iter().find(|ip| ip.is_loopback())) {
            let what = format!("it needs an Ethernet interface, which {ip} is not on");
            let hint = "name addresses of interfaces, or leave the key out";
            issues.push(Issue::new(format!("{at}.bypass"), what, hint));
        }
        let [first, second] = self.client_ports;
        let own = [self.server_port, first, second, self.encapsulation_port];
        if let Some(socket) = clear.iter().find(|socket| own.contains(&socket.port())) {
            let what = format!("{socket} is in the clear and would be protected");
            issues.push(Issue::new(at, what, "use other ports for IPsec"));
        }
    }
}

impl Ipsec {
    /// Pushes what is wrong with its addresses beside those of other realms, which are in `taken`
    /// and have its own from now on.
    pub fn validate_own(
        &self,
        at: &str,
        ips: &[IpAddr],
        taken: &mut Vec<IpAddr>,
        issues: &mut Vec<Issue>,
    ) {
        for ip in ips.iter().copied() {
            if taken.contains(&ip) {
                let what = format!("{ip} takes ESP for another realm");
                let hint = "give each realm with IPsec an address of its own";
                issues.push(Issue::new(at, what, hint));
            }
            taken.push(ip);
        }
    }
}

impl Ipsec {
    /// What `next` interrupts in a realm that has this section; paths are relative to it.
    #[must_use]
    pub fn interruptions(&self, next: &Self) -> Vec<Issue> {
        if self.bypass == next.bypass {
            return Vec::new();
        }
        let what = "packets of ESP that wait at this moment are lost, agreements stand: the way \
            past the kernel changes";
        vec![Issue::new("bypass", what, "")]
    }
}

/// What a function tells of its realms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Those that have IPsec.
    pub realms: Vec<Realm>,
}

impl Settings {
    /// What the endpoint of ESP is made of.
    pub(crate) fn esp(&self) -> ipsec::Settings {
        let addresses = self.realms.iter().flat_map(|realm| realm.addresses.iter().copied());
        let sets = self.realms.iter().map(|realm| realm.section.sets_max);
        ipsec::Settings { addresses: addresses.collect(), sets_max: sets.max().unwrap_or(0) }
    }

    /// After how long a connection of TCP inside of ESP that passes nothing is closed: the longest
    /// of all realms.
    pub(crate) fn tcp_idle(&self) -> Duration {
        let idle = self.realms.iter().map(|realm| realm.section.tcp_idle_s);
        Duration::from_secs(idle.max().unwrap_or(0).into())
    }

    /// Agreements at most, those under way with them.
    pub(crate) fn agreements_max(&self) -> u32 {
        let most =
            |realm: &Realm| realm.section.sets_max.saturating_add(realm.section.under_way_max);
        self.realms.iter().map(most).max().unwrap_or(0)
    }
}

/// A realm as [`crate::Access`] keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub realm: Realm,
    pub preference: Arc<Preference>,
}

impl Row {
    pub fn of(realm: &Realm) -> Self {
        Self { preference: Arc::new(realm.section.preference()), realm: realm.clone() }
    }

    pub fn listener(&self, port: PortId) -> Option<&Listener> {
        self.realm.listeners.iter().find(|listener| listener.port == port)
    }

    /// The listener by which the function knows phones at that address of ours.
    pub fn protected(&self, ip: IpAddr) -> Option<&Listener> {
        let is_it = |listener: &&Listener| {
            listener.is_protected && listener.is_known && !listener.is_inside && listener.ip == ip
        };
        self.realm.listeners.iter().find(is_it)
    }

    /// The listener by which the function knows those that speak TCP inside of ESP there.
    pub fn inside(&self, ip: IpAddr) -> Option<&Listener> {
        self.realm.listeners.iter().find(|listener| listener.is_inside && listener.ip == ip)
    }
}
