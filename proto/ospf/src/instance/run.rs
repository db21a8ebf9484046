//! SPF runs, and routes that differ are told (RFC 2328 §16).

use super::{Instance, Out};
use crate::interface::{Interface, InterfaceState};
use crate::repairs::{Protection, RouterRepair, repairs};
use crate::routes::{Links, NextHop, Sources};
use crate::settings::{LinkType, Prefix};
use crate::topology::FirstHop;
use machine::Time;
use spf::Protections;
use std::collections::BTreeMap;

impl Links for BTreeMap<u32, Interface> {
    fn next_hop(&self, area: u32, hop: &FirstHop) -> Option<NextHop> {
        let up = self.values().filter(|it| it.state != InterfaceState::Down);
        let mut own = up.filter(|it| it.settings.area == area);
        let interface = own.find(|it| u32::from(it.settings.address) == hop.data)?;
        let index = interface.settings.index;
        let gateway = match (interface.settings.link, hop.router) {
            (LinkType::PointToPoint, Some(router)) => {
                let neighbour = interface.neighbours.values().find(|it| it.router == router)?;
                Some(neighbour.address)
            }
            // A gateway is on the link, whatever its LSA says of it.
            (LinkType::Broadcast, Some(_)) => {
                let prefix = interface.settings.prefix();
                Some(hop.address.filter(|address| prefix.has(*address))?.into())
            }
            (_, None) => None,
        };
        Some(NextHop { interface: index, gateway })
    }

    fn onto(&self, area: u32, prefix: Prefix) -> Option<NextHop> {
        let up = self.values().filter(|it| it.state != InterfaceState::Down);
        let mut own = up.filter(|it| it.settings.area == area);
        let interface = own.find(|it| it.settings.prefix() == prefix)?;
        Some(NextHop { interface: interface.settings.index, gateway: None })
    }
}

impl Instance {
    /// How packets to routers of an interface's area go on when its link fails, or a router at its
    /// other end: TI-LFA (RFC 9855), for those that are reached by it.
    #[must_use]
    pub fn repairs(&self, interface: u32, protection: Protection) -> Vec<RouterRepair> {
        let Some(interface) = self.interfaces.get(&interface) else { return Vec::new() };
        let (id, prefix) = (interface.settings.area, interface.settings.prefix());
        let Some(area) = self.areas.get(&id) else { return Vec::new() };
        let next_hop = |hop: &FirstHop| self.interfaces.next_hop(id, hop);
        repairs(&area.topology, self.settings.router, prefix, protection, next_hop)
    }

    /// Whether we are an area border router: in more than one area.
    pub(super) fn is_border(&self) -> bool {
        let up = self.interfaces.values().filter(|it| it.state != InterfaceState::Down);
        let mut areas = up.map(|it| it.settings.area);
        let first = areas.next();
        areas.any(|area| Some(area) != first)
    }

    /// Runs SPF in each area, and makes the table anew.
    pub(super) fn run(&mut self, now: Time, out: &mut Vec<Out>) {
        self.counts.runs += 1;
        if self.own.restarting.is_some() {
            // Packets go on by what stands in the forwarding table (RFC 3623 §2.1 (2)).
            return;
        }
        let own = self.settings.router;
        for area in self.areas.values_mut() {
            area.topology.run(&area.lsdb, own, now);
        }
        let protections = self.settings.repair.map_or_else(BTreeMap::new, |method| {
            let all = self.areas.iter().filter_map(|(id, area)| {
                let (graph, tree) = area.topology.paths();
                Some((*id, Protections::new(graph, tree?, method)))
            });
            all.collect()
        });
        let sources = Sources {
            areas: &self.areas,
            domain: &self.domain,
            links: &self.interfaces,
            own,
            is_border: self.is_border(),
            paths: self.settings.paths,
            protections,
            now,
        };
        let table = sources.table();
        for prefix in self.routes.keys().filter(|prefix| !table.contains_key(prefix)) {
            out.push(Out::Withdraw(*prefix));
        }
        for (prefix, route) in &table {
            if self.routes.get(prefix) != Some(route) {
                out.push(Out::Route(*prefix, route.clone()));
            }
        }
        self.routes = table;
        // Summaries follow the routes.
        self.own.is_stale = true;
    }
}
