//! What is taken away: thing by thing, or all that a control process did not say again.

use super::Plane;
use nodes::Refused;
use program::{Program, Removed};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What was said since `Begin`.
pub(super) struct Sweep {
    generation: u64,
    said: BTreeSet<Removed>,
}

impl Sweep {
    pub(super) const fn new(generation: u64) -> Self {
        Self { generation, said: BTreeSet::new() }
    }

    /// Something whose name the program alone does not tell.
    pub(super) fn named(&mut self, name: Removed) {
        self.said.insert(name);
    }

    pub(super) fn said(&mut self, program: &Program) {
        match program {
            Program::Routes4 { vrf, routes } => {
                let said = routes.iter().filter(|(_, _, hop)| *hop != 0);
                self.said.extend(said.map(|(prefix, length, _)| {
                    Removed::Route4(*vrf, masked4(*prefix, *length), *length)
                }));
            }
            Program::Routes6 { vrf, routes } => {
                let said = routes.iter().filter(|(_, _, hop)| *hop != 0);
                self.said.extend(said.map(|(prefix, length, _)| {
                    Removed::Route6(*vrf, masked6(*prefix, *length), *length)
                }));
            }
            Program::Remove(removed) => {
                self.said.remove(removed);
            }
            other => self.said.extend(other.name()),
        }
    }
}

fn masked4(address: Ipv4Addr, length: u8) -> Ipv4Addr {
    (u32::from(address) & u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0)).into()
}

fn masked6(address: Ipv6Addr, length: u8) -> Ipv6Addr {
    let shift = 128 - u32::from(length.min(128));
    (u128::from(address) & u128::MAX.checked_shl(shift).unwrap_or(0)).into()
}

impl Plane {
    /// What was not said since the `Begin` of this generation is removed: what stands on others
    /// first.
    pub(super) fn end_sweep(&mut self, generation: u64) -> Result<(), Refused> {
        let Some(sweep) = self.sweep.take_if(|sweep| sweep.generation == generation) else {
            return Err(Refused::Missing { what: "begin of generation", number: generation });
        };
        self.unsaid_routes(&sweep)?;
        for removed in self.all() {
            if !sweep.said.contains(&removed) {
                self.remove(&removed)?;
            }
        }
        self.unsaid_hops(&sweep)
    }

    fn unsaid_routes(&mut self, sweep: &Sweep) -> Result<(), Refused> {
        for vrf in self.vrfs.iter().collect::<Vec<_>>() {
            for prefix in self.own.ipv4.all_said(&self.vrfs.ipv4, vrf) {
                let (address, length) = (Ipv4Addr::from(prefix.address()), prefix.length());
                if !sweep.said.contains(&Removed::Route4(vrf, address, length)) {
                    self.routes4(vrf, &[(address, length, 0)])?;
                }
            }
            for prefix in self.own.ipv6.all_said(&self.vrfs.ipv6, vrf) {
                let (address, length) = (Ipv6Addr::from(prefix.address()), prefix.length());
                if !sweep.said.contains(&Removed::Route6(vrf, address, length)) {
                    self.routes6(vrf, &[(address, length, 0)])?;
                }
            }
        }
        Ok(())
    }

    /// Everything that has a name but routes and hops, in an order in which it can be removed.
    fn all(&self) -> Vec<Removed> {
        let mut all: Vec<Removed> = Vec::new();
        let fixed = self.neighbours.statics().into_iter();
        all.extend(fixed.map(|(interface, address)| Removed::Neighbour(interface, address)));
        all.extend(self.advertisements.said().map(Removed::Advertisement));
        all.extend(self.features.iter().flat_map(|feature| feature.said()));
        all.extend(self.arcs_said());
        for (interface, addresses) in &self.addresses {
            let one =
                |(address, length): &(IpAddr, u8)| Removed::Address(*interface, *address, *length);
            all.extend(addresses.iter().map(one));
        }
        all.extend(self.links.keys().map(|link| Removed::Interface(*link)));
        all.extend(self.ports.keys().map(|port| Removed::Port(*port)));
        let vrfs = self.vrfs.iter().filter(|vrf| *vrf != table::vrf::GLOBAL);
        all.extend(vrfs.map(Removed::Vrf));
        all
    }

    /// Hops stand on each other: those that nothing stands on go first.
    fn unsaid_hops(&mut self, sweep: &Sweep) -> Result<(), Refused> {
        let unsaid = |id: &u32| !sweep.said.contains(&Removed::Hop(*id));
        let mut left: Vec<u32> = self.numbers.said().into_iter().filter(unsaid).collect();
        for _ in 0..=table::hop::NESTING_MAX {
            left.retain(|id| self.remove_hop(*id).is_err());
        }
        match left.first() {
            Some(id) => self.remove_hop(*id),
            None => Ok(()),
        }
    }

    pub(super) fn remove(&mut self, removed: &Removed) -> Result<(), Refused> {
        match removed {
            Removed::Port(port) => self.remove_port(*port),
            Removed::Interface(interface) => self.remove_interface(*interface),
            Removed::Address(interface, address, length) => {
                self.remove_address(*interface, *address, *length)
            }
            Removed::Neighbour(interface, address) => self.remove_neighbour((*interface, *address)),
            Removed::Advertisement(interface) => {
                self.remove_advertisement(*interface);
                Ok(())
            }
            Removed::Vrf(vrf) => self.remove_vrf(*vrf),
            Removed::Hop(id) => self.remove_hop(*id),
            Removed::Route4(vrf, prefix, length) => self.routes4(*vrf, &[(*prefix, *length, 0)]),
            Removed::Route6(vrf, prefix, length) => self.routes6(*vrf, &[(*prefix, *length, 0)]),
            Removed::Features(arc, interface) => self.said_features(arc, *interface, &[]),
            of_a_feature => self.remove_from_feature(of_a_feature),
        }
    }
}
