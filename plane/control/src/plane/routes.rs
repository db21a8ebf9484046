//! Routes: those that the control process says, and the plane's own of addresses, subnets and
//! neighbours, which come before them.

use super::Plane;
use nodes::Refused;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use table::Full;
use table::lpm::{Address, NO_HOP, Prefix, Routes};

/// Why the plane has a route of its own; the first of several for one prefix holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Why {
    /// The address is this system's.
    Address,
    /// The broadcast address of a subnet.
    Broadcast,
    /// The subnet is at an interface.
    Subnet,
    /// A neighbour was found there.
    Neighbour,
}

/// Why the plane has a route of its own, and the interface that it is for.
type Reason = (Why, u32);

/// Hops by reason and interface.
type Reasons = BTreeMap<Reason, u32>;

/// The plane's own routes of one family, and what they hide.
#[derive(Default)]
pub(super) struct OwnRoutes<A: Address> {
    own: BTreeMap<(u32, Prefix<A>), Reasons>,
    hidden: BTreeMap<(u32, Prefix<A>), u32>,
}

/// The plane's own routes.
#[derive(Default)]
pub(super) struct Own {
    pub(super) ipv4: OwnRoutes<u32>,
    pub(super) ipv6: OwnRoutes<u128>,
}

impl<A: Address> OwnRoutes<A> {
    /// Adds one of the plane's own routes, or takes it away.
    fn set(
        &mut self,
        routes: &mut Routes<A>,
        vrf: u32,
        prefix: Option<Prefix<A>>,
        reason: Reason,
        hop: Option<u32>,
    ) -> Result<(), Full> {
        let Some(prefix) = prefix else { return Ok(()) };
        match hop {
            Some(hop) => self.add(routes, (vrf, prefix), reason, hop),
            None => self.drop(routes, (vrf, prefix), reason),
        }
    }

    fn add(
        &mut self,
        routes: &mut Routes<A>,
        at: (u32, Prefix<A>),
        reason: Reason,
        hop: u32,
    ) -> Result<(), Full> {
        let (vrf, prefix) = at;
        let is_first = !self.own.contains_key(&at);
        let before = routes.route(vrf, prefix);
        let reasons = self.own.entry(at).or_default();
        reasons.insert(reason, hop);
        let Some(first) = reasons.values().next().copied() else { return Ok(()) };
        routes.insert(vrf, prefix, first)?;
        if let (true, Some(before)) = (is_first, before) {
            self.hidden.insert(at, before);
        }
        Ok(())
    }

    fn drop(
        &mut self,
        routes: &mut Routes<A>,
        at: (u32, Prefix<A>),
        reason: Reason,
    ) -> Result<(), Full> {
        let (vrf, prefix) = at;
        let Some(reasons) = self.own.get_mut(&at) else { return Ok(()) };
        reasons.remove(&reason);
        if let Some(first) = reasons.values().next() {
            routes.insert(vrf, prefix, *first)?;
            return Ok(());
        }
        self.own.remove(&at);
        match self.hidden.remove(&at) {
            Some(hop) => routes.insert(vrf, prefix, hop)?,
            None => routes.remove(vrf, prefix)?,
        };
        Ok(())
    }

    /// Routes that the control process says; hop 0 removes one.
    fn said(
        &mut self,
        routes: &mut Routes<A>,
        vrf: u32,
        said: Vec<(Prefix<A>, u32)>,
    ) -> Result<(), Full> {
        for (prefix, hop) in said {
            let at = (vrf, prefix);
            let is_hidden = !self.own.is_empty() && self.own.contains_key(&at);
            match (is_hidden, hop) {
                (true, NO_HOP) => drop(self.hidden.remove(&at)),
                (true, hop) => drop(self.hidden.insert(at, hop)),
                (false, NO_HOP) => drop(routes.remove(vrf, prefix)?),
                (false, hop) => drop(routes.insert(vrf, prefix, hop)?),
            }
        }
        Ok(())
    }

    /// What the control process said of a table.
    pub(super) fn all_said(&self, routes: &Routes<A>, vrf: u32) -> Vec<Prefix<A>> {
        let shown = routes.iter(vrf).map(|(prefix, _)| prefix);
        let shown = shown.filter(|prefix| !self.own.contains_key(&(vrf, *prefix)));
        let hidden = self.hidden.keys().filter(|(of, _)| *of == vrf).map(|(_, prefix)| *prefix);
        shown.chain(hidden).collect()
    }

    fn forget(&mut self, vrf: u32) {
        self.own.retain(|(of, _), _| *of != vrf);
        self.hidden.retain(|(of, _), _| *of != vrf);
    }
}

impl Plane {
    pub(super) fn vrf(&mut self, vrf: u32) -> Result<(), Refused> {
        let limit = table::vrf::VRFS_MAX as u64 - 1;
        if u64::from(vrf) > limit {
            return Err(Refused::Number { what: "vrf", number: vrf.into(), limit });
        }
        // One that is there stays as it is.
        self.vrfs.create(vrf);
        Ok(())
    }

    pub(super) fn remove_vrf(&mut self, vrf: u32) -> Result<(), Refused> {
        if self.links.keys().any(|link| self.vrf_of(*link) == Some(vrf)) {
            return Err(Refused::Conflict(format!("vrf {vrf} has interfaces")));
        }
        if !self.vrfs.remove(vrf) {
            return Err(Refused::Missing { what: "vrf", number: vrf.into() });
        }
        self.own.ipv4.forget(vrf);
        self.own.ipv6.forget(vrf);
        Ok(())
    }

    pub(super) fn routes4(
        &mut self,
        vrf: u32,
        routes: &[(Ipv4Addr, u8, u32)],
    ) -> Result<(), Refused> {
        let checked = self.checked(vrf, routes, u32::from)?;
        let said = self.own.ipv4.said(&mut self.vrfs.ipv4, vrf, checked);
        said.map_err(|_| Refused::Full("ipv4 routes"))
    }

    pub(super) fn routes6(
        &mut self,
        vrf: u32,
        routes: &[(Ipv6Addr, u8, u32)],
    ) -> Result<(), Refused> {
        let checked = self.checked(vrf, routes, u128::from)?;
        let said = self.own.ipv6.said(&mut self.vrfs.ipv6, vrf, checked);
        said.map_err(|_| Refused::Full("ipv6 routes"))
    }

    /// All of them are sound before the first is installed.
    fn checked<I: Copy, A: Address>(
        &self,
        vrf: u32,
        routes: &[(I, u8, u32)],
        number: impl Fn(I) -> A,
    ) -> Result<Vec<(Prefix<A>, u32)>, Refused> {
        if !self.vrfs.has(vrf) {
            return Err(Refused::Missing { what: "vrf", number: vrf.into() });
        }
        let limit = u64::from(A::BITS);
        let one = |(address, length, id): &(I, u8, u32)| {
            let number_of = u64::from(*length);
            let prefix = Prefix::new(number(*address), *length);
            let prefix = prefix.ok_or(Refused::Number {
                what: "prefix length",
                number: number_of,
                limit,
            })?;
            let hop = match id {
                0 => NO_HOP,
                id => self.numbers.of(*id)?,
            };
            Ok((prefix, hop))
        };
        routes.iter().map(one).collect()
    }

    /// The routes of an address: to it, to its subnet, to all hosts of it.
    pub(super) fn install(
        &mut self,
        interface: u32,
        address: IpAddr,
        length: u8,
    ) -> Result<(), Refused> {
        let Some(vrf) = self.vrf_of(interface) else { return Ok(()) };
        for ((address, length), why) in own_prefixes(address, length) {
            let hop = match why {
                Why::Address => self.numbers.local(),
                Why::Broadcast => self.broadcast_hop(interface)?,
                Why::Subnet | Why::Neighbour => self.glean_hop(interface)?,
            };
            self.own_route(vrf, address, length, (why, interface), Some(hop))?;
        }
        Ok(())
    }

    pub(super) fn withdraw(
        &mut self,
        interface: u32,
        address: IpAddr,
        length: u8,
    ) -> Result<(), Refused> {
        let Some(vrf) = self.vrf_of(interface) else { return Ok(()) };
        let remaining = self.addresses.get(&interface).cloned().unwrap_or_default();
        let still: Vec<_> = remaining
            .iter()
            .filter(|one| **one != (address, length))
            .flat_map(|(address, length)| own_prefixes(*address, *length))
            .collect();
        for own in own_prefixes(address, length) {
            if !still.contains(&own) {
                let ((address, length), why) = own;
                self.own_route(vrf, address, length, (why, interface), None)?;
            }
        }
        Ok(())
    }

    /// Adds one of the plane's own routes, or takes it away.
    pub(super) fn own_route(
        &mut self,
        vrf: u32,
        address: IpAddr,
        length: u8,
        reason: Reason,
        hop: Option<u32>,
    ) -> Result<(), Refused> {
        let done = match address {
            IpAddr::V4(address) => {
                let prefix = Prefix::new(u32::from(address), length);
                self.own.ipv4.set(&mut self.vrfs.ipv4, vrf, prefix, reason, hop)
            }
            IpAddr::V6(address) => {
                let prefix = Prefix::new(u128::from(address), length);
                self.own.ipv6.set(&mut self.vrfs.ipv6, vrf, prefix, reason, hop)
            }
        };
        done.map_err(|_| Refused::Full("routes"))
    }
}

/// The prefixes of an address of an interface. Link-local addresses have none: they mean nothing
/// in a table of many links.
fn own_prefixes(address: IpAddr, length: u8) -> Vec<((IpAddr, u8), Why)> {
    match address {
        IpAddr::V4(own) => {
            let mut made = vec![((address, 32), Why::Address)];
            if length < 32 {
                let bits = u32::from(own);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                made.push(((Ipv4Addr::from(bits & mask).into(), length), Why::Subnet));
                if length < 31 {
                    made.push(((Ipv4Addr::from(bits | !mask).into(), 32), Why::Broadcast));
                }
            }
            made
        }
        IpAddr::V6(own) if own.is_unicast_link_local() => Vec::new(),
        IpAddr::V6(own) => {
            let mut made = vec![((address, 128), Why::Address)];
            if length < 128 {
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                let subnet = Ipv6Addr::from(u128::from(own) & mask);
                made.push(((subnet.into(), length), Why::Subnet));
            }
            made
        }
    }
}
