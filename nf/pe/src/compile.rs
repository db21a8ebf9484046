//! From the section to what the plane is told.

mod advertise;
mod class;
mod service;

pub(crate) use advertise::HOST_BITS;
pub(crate) use class::source;
pub(crate) use dataplane::GLOBAL;
pub(crate) use service::{Action, action};

use service::tunnel;

use crate::config::{self, Pe, Via, mac, network, prefix};
use crate::hops::{Hops, subnet_of};
use crate::learnt::{Learnt, Programmed};
use dataplane::{Desired, Kind, Numbers, Rank};
use nodes::Program;
use nodes::program::{
    self, Address, Direction, Discard, Family, Hop, Mode, NO_PORT, Removed, Urpf,
};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What stands beside the section.
#[derive(Default)]
pub(crate) struct Beside<'a> {
    /// Routes of its files.
    pub(crate) routes: &'a [FileRoute],
    /// What OSPF, IS-IS and LDP have learnt.
    pub(crate) learnt: Option<&'a Learnt>,
    /// Numbers that are in use no more are not given to others.
    pub(crate) keeps_numbers: bool,
}

/// Gives everything its number and makes of a section what the plane is told, and says which
/// learnt routes are among that. The section must have been found valid.
pub(crate) fn compile(
    pe: &Pe,
    beside: &Beside<'_>,
    numbers: &mut Numbers,
) -> (Desired, Programmed) {
    numbers.begin();
    let modes = modes(pe);
    let mut it = Compiler { pe, numbers, out: Desired::default() };
    it.ports();
    it.tables();
    it.interfaces(&modes);
    it.services();
    it.routes(beside.routes);
    let learnt = beside.learnt.map(|learnt| learnt.merge(pe, &mut it)).unwrap_or_default();
    it.tools();
    let out = it.out;
    if !beside.keeps_numbers {
        numbers.end();
    }
    (out, learnt)
}

/// A route of a file: table (empty: the global one), prefix, gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRoute {
    /// Name of the routing table; empty: the global one.
    pub vrf: String,
    /// Where to.
    pub prefix: (IpAddr, u8),
    /// By which neighbour.
    pub gateway: IpAddr,
}

/// What an interface is part of, by its name.
enum Place<'a> {
    Bridge(&'a str),
    CrossConnect(&'a config::CrossConnect),
}

fn modes(pe: &Pe) -> BTreeMap<&str, Place<'_>> {
    let mut places = BTreeMap::new();
    for bridge in &pe.bridge {
        let of_bridge = bridge.interfaces.iter();
        places.extend(of_bridge.map(|name| (name.as_str(), Place::Bridge(&bridge.name))));
    }
    for connect in &pe.cross_connect {
        places.insert(connect.interface.as_str(), Place::CrossConnect(connect));
        if let Some(to) = &connect.to {
            places.insert(to, Place::CrossConnect(connect));
        }
    }
    places
}

pub(crate) struct Compiler<'a> {
    pe: &'a Pe,
    numbers: &'a mut Numbers,
    out: Desired,
}

impl Hops for Compiler<'_> {
    fn hop(&mut self, rank: Rank, name: &str, hop: Hop) -> u32 {
        let id = self.numbers.of(Kind::Hop, name);
        self.out.put(rank, Removed::Hop(id), Program::Hop { id, hop });
        id
    }

    fn has(&self, rank: Rank, name: &str) -> bool {
        let id = self.numbers.known(Kind::Hop, name);
        id.is_some_and(|id| self.out.things.contains_key(&(rank, Removed::Hop(id))))
    }
}

impl Compiler<'_> {
    /// Whether there is a route of that table, prefix and length.
    pub(crate) fn has_route(&self, key: (u32, IpAddr, u8)) -> bool {
        self.out.has_route(key)
    }

    /// Adds a thing.
    pub(crate) fn put(&mut self, rank: Rank, name: Removed, program: Program) {
        self.out.put(rank, name, program);
    }

    /// Sets a route.
    pub(crate) fn set(&mut self, key: (u32, IpAddr, u8), hop: u32) {
        self.out.route(key, hop);
    }

    fn ports(&mut self) {
        for port in &self.pe.port {
            let number = self.numbers.of_port(&port.name);
            self.out.ports.insert(number, port.spec(number));
        }
    }

    fn tables(&mut self) {
        for vrf in &self.pe.vrf {
            let number = self.numbers.of(Kind::Vrf, &vrf.name);
            self.out.put(Rank::Table, Removed::Vrf(number), Program::Vrf { vrf: number });
            if let Some(label) = self.pe.give_label(vrf, number, self.numbers) {
                let tunnel = tunnel(vrf.tunnel);
                self.label(label, program::LabelAction::PopVrf { vrf: number, tunnel });
            }
        }
    }

    fn interfaces(&mut self, places: &BTreeMap<&str, Place<'_>>) {
        for interface in &self.pe.interface {
            let index = self.numbers.of(Kind::Interface, &interface.name);
            let vrf = self.table(interface.vrf.as_deref());
            let (port, mode) = match &interface.bridge {
                Some(bridge) => {
                    let bridge = self.numbers.of(Kind::Bridge, bridge);
                    (NO_PORT, Mode::BridgeRouted { bridge, vrf })
                }
                None => {
                    let port = interface.port.as_deref().unwrap_or(&interface.name);
                    let port = self.numbers.of_port(port);
                    (port, self.mode(interface, places.get(interface.name.as_str()), vrf))
                }
            };
            let program = program::Interface {
                index,
                port,
                outer: interface.vlan,
                inner: interface.inner_vlan,
                mode,
                mtu: interface.mtu.unwrap_or(0),
                mac: interface.mac.as_deref().and_then(mac),
                mpls: interface.mpls || self.pe.speaks_ldp(interface),
                transit_only: !interface.is_core(),
                urpf: match interface.urpf {
                    config::Urpf::Off => Urpf::Off,
                    config::Urpf::Loose => Urpf::Loose,
                    config::Urpf::Strict => Urpf::Strict,
                },
                proxy_arp: interface.proxy_arp,
                directed_broadcast: interface.directed_broadcast,
                speaks: self.spoken(interface),
            };
            let name = Removed::Interface(index);
            let mut first = program.clone();
            if let Mode::CrossConnect { hop } = &mut first.mode {
                // Its hop may need another interface that needs this one: first without.
                *hop = 0;
                self.out.put(Rank::Use, name.clone(), Program::Interface(program));
            }
            self.out.put(Rank::Interface, name, Program::Interface(first));
            self.addresses(index, interface);
        }
        for neighbour in &self.pe.neighbour {
            let interface = self.numbers.of(Kind::Interface, &neighbour.interface);
            let Some(mac) = mac(&neighbour.mac) else { continue };
            let address = neighbour.address;
            let program = program::Neighbour { interface, address, mac };
            let name = Removed::Neighbour(interface, address);
            self.out.put(Rank::Address, name, Program::Neighbour(program));
        }
    }

    /// Protocols whose packets go up from an interface: those that are spoken there.
    fn spoken(&self, it: &config::Interface) -> Vec<program::Class> {
        let ospf = self.pe.ospf.iter().flat_map(|ospf| ospf.interfaces()).map(|(_, it)| it);
        let ospf = ospf.filter(|of| !of.passive).find(|of| of.name == it.name);
        let isis = self.pe.isis.iter().flat_map(|isis| &isis.interface);
        let isis = isis.filter(|of| !of.passive).find(|of| of.name == it.name);
        let of = program::Class::OF_LINKS.into_iter().filter(|class| match class {
            program::Class::Ospf => ospf.is_some(),
            program::Class::Isis => isis.is_some(),
            program::Class::Ldp => self.pe.speaks_ldp(it),
            _ => ospf.is_some_and(|of| of.bfd.is_some()) || isis.is_some_and(|of| of.bfd.is_some()),
        });
        of.collect()
    }

    /// What becomes of packets of an interface with a port.
    fn mode(&mut self, section: &config::Interface, place: Option<&Place<'_>>, vrf: u32) -> Mode {
        match place {
            Some(Place::Bridge(bridge)) => {
                let bridge = self.numbers.of(Kind::Bridge, bridge);
                let config::Interface { split_horizon, macs_max, .. } = *section;
                Mode::Bridged { bridge, split_horizon, macs_max }
            }
            Some(Place::CrossConnect(connect)) => {
                Mode::CrossConnect { hop: self.cross_hop(connect, &section.name) }
            }
            None => Mode::Routed { vrf },
        }
    }

    fn addresses(&mut self, interface: u32, section: &config::Interface) {
        for (address, length) in section.addresses.iter().filter_map(|text| prefix(text)) {
            let name = Removed::Address(interface, address, length);
            let program = Address { interface, address, length };
            self.out.put(Rank::Address, name, Program::Address(program));
        }
    }

    fn table(&mut self, vrf: Option<&str>) -> u32 {
        vrf.map_or(0, |name| self.numbers.of(Kind::Vrf, name))
    }

    /// The interface of a way: the one that it names, or that whose subnet has the gateway.
    fn interface_of(&mut self, vrf: Option<&str>, via: &Via) -> Option<u32> {
        if let Some(name) = &via.interface {
            return Some(self.numbers.of(Kind::Interface, name));
        }
        let name = &subnet_of(self.pe, vrf, via.gateway?)?.name;
        Some(self.numbers.of(Kind::Interface, name))
    }

    /// The hop of one way. Ways that are alike are one hop.
    fn via(&mut self, vrf: Option<&str>, via: &Via) -> u32 {
        self.way(vrf, via, false, false)
    }

    /// The hop of one way, of a pseudowire with its control word and flow label.
    fn way(&mut self, vrf: Option<&str>, via: &Via, control_word: bool, flow_label: bool) -> u32 {
        let Some(interface) = self.interface_of(vrf, via) else { return 0 };
        let (gateway, labels) = (via.gateway, via.labels.clone());
        let bare = |labels: &[u32]| {
            let hop = Hop::Via { interface, gateway, labels: labels.to_vec() };
            (format!("via {interface} {gateway:?} {labels:?}"), hop)
        };
        let (tunnel, entropy) = (tunnel(via.tunnel), via.entropy);
        if !(control_word || flow_label || entropy || tunnel == program::Tunnel::Uniform) {
            let (name, hop) = bare(&labels);
            return self.hop(Rank::Hop, &name, hop);
        }
        let (name, hop) = bare(&[]);
        let over = self.hop(Rank::Hop, &name, hop);
        let push = program::Push { over, labels, tunnel, entropy, flow_label, control_word };
        self.hop(Rank::Pushed, &format!("{push:?}"), Hop::Push(push))
    }

    /// The hop of several ways and a backup; `resilient`: flows stay where they are.
    fn ways(
        &mut self,
        vrf: Option<&str>,
        via: &[Via],
        backup: Option<&Via>,
        resilient: bool,
    ) -> u32 {
        let members: Vec<_> = via.iter().map(|via| (self.via(vrf, via), via.weight)).collect();
        let primary = match &members[..] {
            [(only, _)] => *only,
            _ => {
                let name = format!("group {resilient} {members:?}");
                self.hop(Rank::Composed, &name, Hop::Group { members, resilient })
            }
        };
        let Some(backup) = backup else { return primary };
        let backup = self.via(vrf, backup);
        self.pair(primary, backup)
    }

    fn pair(&mut self, primary: u32, backup: u32) -> u32 {
        let name = format!("backup {primary} {backup}");
        self.hop(Rank::Paired, &name, Hop::Backup { primary, backup })
    }

    fn routes(&mut self, from_files: &[FileRoute]) {
        for route in &self.pe.route {
            let Some(to) = prefix(&route.prefix) else { continue };
            let vrf = route.vrf.as_deref();
            let hop = match route.discard {
                None => self.ways(vrf, &route.via, route.backup.as_ref(), route.resilient),
                Some(discard) => {
                    let (name, reason) = match discard {
                        config::Discard::Blackhole => ("blackhole", Discard::Blackhole),
                        config::Discard::Unreachable => ("unreachable", Discard::Unreachable),
                        config::Discard::Prohibited => ("prohibited", Discard::Prohibited),
                    };
                    self.hop(Rank::Hop, name, Hop::Drop { reason })
                }
            };
            let table = self.table(vrf);
            self.route(table, network(to), hop);
        }
        let mut hops: BTreeMap<(&str, IpAddr), u32> = BTreeMap::new();
        for route in from_files {
            let key = (route.vrf.as_str(), route.gateway);
            let vrf = Some(route.vrf.as_str()).filter(|name| !name.is_empty());
            let hop = match hops.get(&key) {
                Some(hop) => *hop,
                None => {
                    let gateway = Some(route.gateway);
                    let via = Via { gateway, weight: 1, ..Via::default() };
                    let hop = self.via(vrf, &via);
                    hops.insert(key, hop);
                    hop
                }
            };
            let table = self.table(vrf);
            self.route(table, route.prefix, hop);
        }
    }

    fn route(&mut self, vrf: u32, to: (IpAddr, u8), hop: u32) {
        self.out.route((vrf, to.0, to.1), hop);
    }

    pub(crate) fn label(&mut self, label: u32, action: program::LabelAction) {
        let program = Program::Label { label, action };
        self.out.put(Rank::Tool, Removed::Label(label), program);
    }

    /// Filters and policers of an interface.
    fn uses(&mut self, section: &config::Interface) {
        let interface = self.numbers.of(Kind::Interface, &section.name);
        let ways = [
            (Direction::In, &section.filter_in, &section.policer_in, &section.class_policer_in),
            (Direction::Out, &section.filter_out, &section.policer_out, &section.class_policer_out),
        ];
        for (direction, filters, policer, of_classes) in ways {
            for name in filters {
                let found = self.pe.filter.iter().find(|it| it.name == *name);
                let family = found.map_or(Family::Ip4, service::family);
                let filter = self.numbers.of(Kind::Filter, name);
                let name = Removed::FilterUse(interface, direction, family);
                let program = program::FilterUse { interface, direction, filter };
                self.out.put(Rank::Use, name, Program::FilterUse(program));
            }
            let of_all = policer.iter().map(|name| (None, name));
            let of_classes = of_classes.iter().map(|it| (Some(it.class), &it.policer));
            for (class, name) in of_all.chain(of_classes) {
                let policer = self.numbers.of(Kind::Policer, name);
                let name = Removed::PolicerUse(interface, direction, class);
                let program = program::PolicerUse { interface, direction, class, policer };
                self.out.put(Rank::Use, name, Program::PolicerUse(program));
            }
        }
        self.advertise(interface, section);
        if let Some(name) = &section.marking {
            self.marking(interface, name);
        }
        if let Some(one_in) = section.sample_one_in {
            let program = program::Sampling { interface, one_in, octets: section.sample_octets };
            self.out.put(Rank::Use, Removed::Sampling(interface), Program::Sampling(program));
        }
    }
}
