//! Ports, interfaces and their addresses.

use super::Plane;
use crate::features::bridge_number;
use nodes::Refused;
use nodes::addresses::{ADDRESSES_MAX, Addresses, Own, link_local};
use nodes::interfaces::{Interfaces, Row};
use program::{Address, INTERFACES_MAX, Interface, Mode, NO_PORT, Port};
use std::collections::BTreeMap;
use std::net::IpAddr;

impl Plane {
    pub(super) fn port(&mut self, port: &Port) -> Result<(), Refused> {
        let limit = graph::PORTS_MAX as u64 - 1;
        if u64::from(port.port) > limit {
            return Err(Refused::Number { what: "port", number: port.port.into(), limit });
        }
        self.ports.insert(port.port, port.clone());
        self.changed.links = true;
        let on_it = self.links.values().filter(|link| link.port == port.port);
        let on_it: Vec<u32> = on_it.map(|link| link.index).collect();
        on_it.into_iter().try_for_each(|interface| self.refresh_interface(interface))
    }

    pub(super) fn interface(&mut self, new: &Interface) -> Result<(), Refused> {
        self.check_interface(new)?;
        let index = new.index;
        let before = self.links.get(&index).cloned();
        let addresses = self.addresses.get(&index).cloned().unwrap_or_default();
        self.tell_interface(before.as_ref(), Some(new))?;
        if before.as_ref().is_some_and(|before| before.mode != new.mode) {
            for (address, length) in &addresses {
                self.withdraw(index, *address, *length)?;
            }
        }
        self.links.insert(index, new.clone());
        self.changed.links = true;
        self.refresh_interface(index)?;
        if before.as_ref().is_some_and(|before| before.mode != new.mode) {
            for (address, length) in &addresses {
                self.install(index, *address, *length)?;
            }
        }
        Ok(())
    }

    fn check_interface(&self, new: &Interface) -> Result<(), Refused> {
        let limit = u64::from(INTERFACES_MAX) - 1;
        if new.index == 0 || u64::from(new.index) > limit {
            return Err(Refused::Number { what: "interface", number: new.index.into(), limit });
        }
        if let Mode::BridgeRouted { bridge, .. } = new.mode {
            return self.check_bridge_routed(new, bridge);
        }
        if !self.ports.contains_key(&new.port) {
            return Err(Refused::Missing { what: "port", number: new.port.into() });
        }
        let vlan = new.outer.into_iter().chain(new.inner).find(|vlan| *vlan == 0 || *vlan > 4_094);
        if let Some(vlan) = vlan {
            return Err(Refused::Number { what: "VLAN", number: vlan.into(), limit: 4_094 });
        }
        if new.inner.is_some() && new.outer.is_none() {
            return Err(Refused::Conflict("an inner VLAN needs an outer one".to_owned()));
        }
        let twin = self.links.values().find(|link| {
            (link.port, link.outer, link.inner) == (new.port, new.outer, new.inner)
                && link.index != new.index
        });
        if let Some(twin) = twin {
            let why = format!("interface {} has that port and those VLANs", twin.index);
            return Err(Refused::Conflict(why));
        }
        match new.mode {
            Mode::Routed { vrf } if !self.vrfs.has(vrf) => {
                Err(Refused::Missing { what: "vrf", number: vrf.into() })
            }
            Mode::Routed { .. } | Mode::BridgeRouted { .. } => Ok(()),
            Mode::CrossConnect { hop } if hop != 0 && self.numbers.of(hop).is_err() => {
                Err(Refused::Missing { what: "hop", number: hop.into() })
            }
            Mode::Bridged { bridge, .. } if bridge_number(bridge).is_err() => bridge_number(bridge),
            Mode::Bridged { .. } | Mode::CrossConnect { .. } => {
                let bare = self.addresses.get(&new.index).is_none_or(Vec::is_empty);
                let why = || Refused::Conflict("the interface has addresses".to_owned());
                bare.then_some(()).ok_or_else(why)
            }
        }
    }

    /// The routed side of a bridge has a MAC address and no port, and is the only one.
    fn check_bridge_routed(&self, new: &Interface, bridge: u32) -> Result<(), Refused> {
        let conflict = |why: &str| Err(Refused::Conflict(why.to_owned()));
        let twin = self.links.values().any(|link| {
            link.index != new.index
                && matches!(link.mode, Mode::BridgeRouted { bridge: of, .. } if of == bridge)
        });
        match new.mac {
            Some(mac) if mac[0] & 1 == 0 => {}
            _ => return conflict("the routed side of a bridge has a MAC address of its own"),
        }
        if new.port != NO_PORT || new.outer.is_some() {
            return conflict("the routed side of a bridge has no port and no VLAN");
        }
        if twin {
            return conflict("the bridge has another routed side");
        }
        let vrf = mode_vrf(&new.mode).unwrap_or(0);
        match self.vrfs.has(vrf) {
            true => Ok(()),
            false => Err(Refused::Missing { what: "vrf", number: vrf.into() }),
        }
    }

    /// An interface as its rows are; it need not be published yet.
    pub(super) fn link(&self, interface: u32) -> Option<Row> {
        let link = self.links.get(&interface)?;
        Interfaces::describe(link, &self.ports)
    }

    pub(super) fn vrf_of(&self, interface: u32) -> Option<u32> {
        mode_vrf(&self.links.get(&interface)?.mode)
    }

    /// Everything that leads over an interface is made anew.
    fn refresh_interface(&mut self, interface: u32) -> Result<(), Refused> {
        self.announce_late(interface);
        self.refresh_own_hops(interface)?;
        self.refresh_neighbours(interface)
    }

    pub(super) fn address(&mut self, new: &Address) -> Result<(), Refused> {
        let Some(link) = self.links.get(&new.interface) else {
            return Err(Refused::Missing { what: "interface", number: new.interface.into() });
        };
        if mode_vrf(&link.mode).is_none() {
            return Err(Refused::Conflict("the interface does not route".to_owned()));
        }
        let bits = if new.address.is_ipv4() { 32 } else { 128 };
        if new.length > bits {
            let number = new.length.into();
            return Err(Refused::Number { what: "prefix length", number, limit: bits.into() });
        }
        if new.address.is_multicast() || new.address.is_unspecified() {
            return Err(Refused::Conflict("no address of an interface".to_owned()));
        }
        let known = self.addresses.get(&new.interface);
        if known.is_some_and(|known| known.contains(&(new.address, new.length))) {
            return Ok(());
        }
        if known.is_some_and(|known| known.iter().any(|(address, _)| *address == new.address)) {
            return Err(Refused::Conflict("the address is there with another length".to_owned()));
        }
        if self.addresses.values().map(Vec::len).sum::<usize>() >= ADDRESSES_MAX {
            return Err(Refused::Full("addresses"));
        }
        self.install(new.interface, new.address, new.length)?;
        let known = self.addresses.entry(new.interface).or_default();
        known.push((new.address, new.length));
        self.changed.addresses = true;
        self.announce(new.interface, new.address);
        Ok(())
    }

    pub(super) fn remove_address(
        &mut self,
        interface: u32,
        address: IpAddr,
        length: u8,
    ) -> Result<(), Refused> {
        let known = self.addresses.get_mut(&interface);
        let at =
            known.as_ref().and_then(|known| known.iter().position(|one| *one == (address, length)));
        let (Some(known), Some(at)) = (known, at) else {
            return Err(Refused::Missing {
                what: "address of interface",
                number: interface.into(),
            });
        };
        known.remove(at);
        self.changed.addresses = true;
        self.unannounce(interface, address);
        self.withdraw(interface, address, length)?;
        self.forget_neighbours_of(interface, address, length)
    }

    pub(super) fn remove_interface(&mut self, interface: u32) -> Result<(), Refused> {
        if !self.links.contains_key(&interface) {
            return Err(Refused::Missing { what: "interface", number: interface.into() });
        }
        self.remove_advertisement(interface);
        for (address, length) in self.addresses.remove(&interface).unwrap_or_default() {
            self.unannounce(interface, address);
            self.withdraw(interface, address, length)?;
        }
        let arcs: Vec<String> = self
            .joined
            .keys()
            .filter(|(_, of)| *of == interface)
            .map(|(arc, _)| arc.clone())
            .collect();
        for arc in arcs {
            self.set_joined(&arc, interface, BTreeMap::new())?;
        }
        let gone = self.links.remove(&interface);
        self.tell_interface(gone.as_ref(), None)?;
        self.changed.links = true;
        self.forget_neighbours(interface)?;
        self.refresh_interface(interface)
    }

    pub(super) fn remove_port(&mut self, port: u16) -> Result<(), Refused> {
        if self.links.values().any(|link| link.port == port) {
            return Err(Refused::Conflict(format!("port {port} has interfaces")));
        }
        self.changed.links = true;
        let gone = self.ports.remove(&port).map(|_| ());
        gone.ok_or(Refused::Missing { what: "port", number: port.into() })
    }

    /// The addresses as workers read them. An interface with an IPv6 address has a link-local one.
    pub(super) fn own_addresses(&self) -> Addresses {
        let mut made: BTreeMap<u32, Own> = BTreeMap::new();
        for (interface, addresses) in &self.addresses {
            let own = made.entry(*interface).or_default();
            for (address, _) in addresses {
                match address {
                    IpAddr::V4(address) => own.ipv4.push(*address),
                    IpAddr::V6(address) if address.is_unicast_link_local() => {
                        own.link_local.push(*address);
                    }
                    IpAddr::V6(address) => own.ipv6.push(*address),
                }
            }
            if let Some(link) = self.link(*interface)
                && own.link_local.is_empty()
                && !own.ipv6.is_empty()
            {
                own.link_local.push(link_local(link.mac));
            }
        }
        Addresses::new(made)
    }
}

/// The routing table of an interface that routes.
const fn mode_vrf(mode: &Mode) -> Option<u32> {
    match mode {
        Mode::Routed { vrf } | Mode::BridgeRouted { vrf, .. } => Some(*vrf),
        Mode::Bridged { .. } | Mode::CrossConnect { .. } => None,
    }
}
