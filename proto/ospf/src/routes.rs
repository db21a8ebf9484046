//! Routes out of the databases (RFC 2328 §16.2 to §16.4, RFC 3101 §2.5): a table made anew after
//! each run of SPF, and what differs from the one before.

use crate::area::Area;
use crate::lsa::{External, INFINITY, Key, LsaType, Network, OPTION_NSSA, Router, Summary};
use crate::lsa::{LinkKind, RouterFlags};
use crate::lsdb::{Entry, Lsdb};
use crate::settings::{AreaKind, Prefix};
use crate::topology::{FirstHop, Vertex, entry_of};
use machine::Time;
use spf::Protections;
use std::collections::BTreeMap;

/// How a destination is reached; the first is preferred (§11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKind {
    /// In an area that we are in.
    IntraArea,
    /// By another area.
    InterArea,
    /// Outside, with a metric like ours.
    External1,
    /// Outside, with a metric larger than any way inside.
    External2,
}

/// A way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHop {
    /// By that interface.
    pub interface: u32,
    /// To that router; none: the destination is on the link.
    pub gateway: Option<std::net::Ipv4Addr>,
}

/// Where a route's packets go while its only way out does not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// By that way.
    pub hop: NextHop,
    /// In a tunnel to that address of another router; none: as they are.
    pub tunnel: Option<Prefix>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// How it is reached.
    pub kind: RouteKind,
    /// What the way costs; to who says it, for type 2.
    pub cost: u32,
    /// The metric of type 2.
    pub metric2: u32,
    /// The area that it goes through; none for what is outside.
    pub area: Option<u32>,
    /// The tag of what is outside.
    pub tag: u32,
    /// Ways out, in order.
    pub hops: Vec<NextHop>,
    /// Its repair, where routes are repaired, there is one way out, and another one helps.
    pub repair: Option<Repair>,
}

impl Route {
    /// What is compared: lower is better.
    fn rank(&self) -> (RouteKind, u32, u32) {
        (self.kind, self.metric2, self.cost)
    }
}

/// A way to an AS boundary router.
#[derive(Debug, Clone)]
struct ToRouter {
    kind: RouteKind,
    area: u32,
    cost: u32,
    hops: Vec<NextHop>,
    repair: Option<Repair>,
}

/// What a way out is by an interface's address and a neighbour: the instance knows both.
pub(crate) trait Links {
    fn next_hop(&self, area: u32, hop: &FirstHop) -> Option<NextHop>;
    /// The way out to a prefix that we are on ourselves.
    fn onto(&self, area: u32, prefix: Prefix) -> Option<NextHop>;
}

/// Routes by prefix.
pub(crate) type Table = BTreeMap<Prefix, Route>;

/// What the table is made of.
pub(crate) struct Sources<'a, L: Links> {
    pub(crate) areas: &'a BTreeMap<u32, Area>,
    pub(crate) domain: &'a Lsdb,
    pub(crate) links: &'a L,
    pub(crate) own: u32,
    pub(crate) is_border: bool,
    pub(crate) paths: usize,
    /// Repairs by area.
    pub(crate) protections: BTreeMap<u32, Protections>,
    pub(crate) now: Time,
}

/// Puts a route in where it is better than what is there; equal ones share their ways out.
fn offer(table: &mut Table, prefix: Prefix, route: Route, paths: usize) {
    let Some(present) = table.get_mut(&prefix) else {
        table.insert(prefix, route);
        return;
    };
    if route.rank() < present.rank() {
        *present = route;
    } else if route.rank() == present.rank() {
        present.hops.extend(route.hops);
        present.hops.sort_unstable();
        present.hops.dedup();
        present.hops.truncate(paths);
        let repair = present.repair.or(route.repair);
        present.repair = repair.filter(|_| present.hops.len() == 1);
        present.area =
            if present.area == route.area { present.area } else { present.area.min(route.area) };
    }
}

impl<L: Links> Sources<'_, L> {
    /// The whole table.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        for (&id, area) in self.areas {
            self.intra_area(id, area, &mut table);
        }
        let summarised = |id: u32| !self.is_border || id == 0;
        for (&id, area) in self.areas.iter().filter(|(id, _)| summarised(**id)) {
            self.inter_area(id, area, &mut table);
        }
        let boundary = self.boundary_routers();
        self.externals(None, self.domain, &boundary, &mut table);
        for (&id, area) in self.areas {
            if matches!(area.kind, AreaKind::Nssa { .. }) {
                self.externals(Some(id), &area.lsdb, &boundary, &mut table);
            }
        }
        table
    }

    fn next_hops(&self, id: u32, area: &Area, vertex: Vertex) -> Vec<NextHop> {
        let hops = area.topology.hops(vertex);
        let mut hops: Vec<NextHop> =
            hops.iter().filter_map(|hop| self.links.next_hop(id, hop)).collect();
        hops.sort_unstable();
        hops.dedup();
        hops.truncate(self.paths);
        hops
    }

    /// The repair of a vertex that is reached by one way out.
    fn repair(&self, id: u32, area: &Area, vertex: Vertex, hops: &[NextHop]) -> Option<Repair> {
        let [only] = hops else { return None };
        only.gateway?;
        let (graph, tree) = area.topology.paths();
        let found = self.protections.get(&id)?.of(graph, tree?, area.topology.node_of(vertex)?)?;
        let hop = self.links.next_hop(id, &area.topology.first_hop(&found.hop)?)?;
        let tunnel = match found.tunnel {
            Some(end) => Some(self.host(area, area.topology.vertex_of(end)?)?),
            None => None,
        };
        (hop != *only).then_some(Repair { hop, tunnel })
    }

    /// An address of a router's own, by which a tunnel to it is known: its number, if that is one.
    fn host(&self, area: &Area, vertex: Vertex) -> Option<Prefix> {
        let (key, entry) = entry_of(&area.lsdb, vertex, self.now)?;
        let links = Router::read(entry.body()).ok()?.links;
        let own = links.iter().filter(|it| it.kind == LinkKind::Stub && it.data == u32::MAX);
        let best = own.map(|it| it.id).min_by_key(|id| (*id != key.router, *id))?;
        Some(Prefix::new(best, 32))
    }

    fn live<'b>(
        &self,
        lsdb: &'b Lsdb,
        kind: LsaType,
    ) -> impl Iterator<Item = (&'b Key, &'b Entry)> {
        let now = self.now;
        lsdb.of_kind(kind).filter(move |(_, entry)| !entry.is_max_age(now))
    }

    fn intra_area(&self, id: u32, area: &Area, table: &mut Table) {
        let route = |cost: u32, hops: Vec<NextHop>, repair| Route {
            kind: RouteKind::IntraArea,
            cost,
            metric2: 0,
            area: Some(id),
            tag: 0,
            hops,
            repair,
        };
        for (key, _) in self.live(&area.lsdb, LsaType::Network) {
            let vertex = Vertex::Network(key.id);
            let Some(cost) = area.topology.distance(vertex) else { continue };
            let Some((named, entry)) = entry_of(&area.lsdb, vertex, self.now) else { continue };
            let Ok(network) = Network::read(entry.body()) else { continue };
            if named == *key {
                let prefix = Prefix::of_mask(key.id, network.mask);
                let hops = self.next_hops(id, area, vertex);
                let repair = self.repair(id, area, vertex, &hops);
                self.offer_intra(table, prefix, route(cost, hops, repair));
            }
        }
        for (key, entry) in self.live(&area.lsdb, LsaType::Router) {
            let vertex = Vertex::Router(key.router);
            let Some(distance) = area.topology.distance(vertex) else { continue };
            let Ok(router) = Router::read(entry.body()) else { continue };
            let hops = self.next_hops(id, area, vertex);
            let repair = self.repair(id, area, vertex, &hops);
            for link in router.links.iter().filter(|link| link.kind == LinkKind::Stub) {
                let cost = distance.saturating_add(link.metric.into());
                let prefix = Prefix::of_mask(link.id, link.data);
                let is_own = key.router == self.own;
                let own = self.links.onto(id, prefix).filter(|_| is_own).into_iter().collect();
                let hops = if is_own { own } else { hops.clone() };
                self.offer_intra(table, prefix, route(cost, hops, repair));
            }
        }
    }

    /// Offers a route that leads somewhere.
    fn offer_intra(&self, table: &mut Table, prefix: Prefix, route: Route) {
        if !route.hops.is_empty() {
            offer(table, prefix, route, self.paths);
        }
    }

    /// Border routers' summaries, and what the way to who says them costs.
    fn summaries(&self, area: &Area, kind: LsaType) -> Vec<(Key, Summary, u32)> {
        let all = self.live(&area.lsdb, kind).filter(|(key, _)| key.router != self.own);
        all.filter_map(|(key, entry)| {
            let summary = Summary::read(entry.body()).ok().filter(|it| it.metric < INFINITY)?;
            let distance = area.topology.distance(Vertex::Router(key.router))?;
            let is_border = self.flags(area, key.router)?.is_border;
            let cost = distance.saturating_add(summary.metric);
            is_border.then_some((*key, summary, cost))
        })
        .collect()
    }

    fn flags(&self, area: &Area, router: u32) -> Option<RouterFlags> {
        let (_, entry) = entry_of(&area.lsdb, Vertex::Router(router), self.now)?;
        Some(Router::read(entry.body()).ok()?.flags)
    }

    fn inter_area(&self, id: u32, area: &Area, table: &mut Table) {
        for (key, summary, cost) in self.summaries(area, LsaType::Summary) {
            let prefix = Prefix::of_mask(key.id, summary.mask);
            let vertex = Vertex::Router(key.router);
            let hops = self.next_hops(id, area, vertex);
            let repair = self.repair(id, area, vertex, &hops);
            let kind = RouteKind::InterArea;
            let route = Route { kind, cost, metric2: 0, area: Some(id), tag: 0, hops, repair };
            self.offer_intra(table, prefix, route);
        }
    }

    /// The ways to AS boundary routers, the preferred one of each (§16.4.1).
    fn boundary_routers(&self) -> BTreeMap<u32, ToRouter> {
        let mut found: BTreeMap<u32, ToRouter> = BTreeMap::new();
        // Ways in areas other than the backbone come first, then the cheapest.
        let rank =
            |it: &ToRouter| (it.kind, it.kind == RouteKind::IntraArea && it.area == 0, it.cost);
        let mut offer = |router: u32, way: ToRouter| {
            let is_better = found.get(&router).is_none_or(|it| rank(&way) < rank(it));
            if is_better {
                found.insert(router, way);
            } else if let Some(it) = found.get_mut(&router).filter(|it| rank(&way) == rank(it)) {
                it.hops.extend(way.hops);
                it.hops.sort_unstable();
                it.hops.dedup();
                it.hops.truncate(self.paths);
                it.repair = it.repair.filter(|_| it.hops.len() == 1);
            }
        };
        for (&id, area) in self.areas {
            for (key, entry) in self.live(&area.lsdb, LsaType::Router) {
                let is_boundary = Router::read(entry.body()).is_ok_and(|it| it.flags.is_boundary);
                let vertex = Vertex::Router(key.router);
                let cost = area.topology.distance(vertex).filter(|_| is_boundary);
                if let Some(cost) = cost.filter(|_| key.router != self.own) {
                    let hops = self.next_hops(id, area, vertex);
                    let repair = self.repair(id, area, vertex, &hops);
                    let kind = RouteKind::IntraArea;
                    offer(key.router, ToRouter { kind, area: id, cost, hops, repair });
                }
            }
            if self.is_border && id != 0 {
                continue;
            }
            for (key, _, cost) in self.summaries(area, LsaType::AsbrSummary) {
                let vertex = Vertex::Router(key.router);
                let hops = self.next_hops(id, area, vertex);
                let repair = self.repair(id, area, vertex, &hops);
                let way = ToRouter { kind: RouteKind::InterArea, area: id, cost, hops, repair };
                if key.id != self.own {
                    offer(key.id, way);
                }
            }
        }
        found
    }

    /// Externals of the domain, or of a not-so-stubby area.
    fn externals(
        &self,
        nssa: Option<u32>,
        lsdb: &Lsdb,
        boundary: &BTreeMap<u32, ToRouter>,
        table: &mut Table,
    ) {
        let kind = if nssa.is_some() { LsaType::Nssa } else { LsaType::External };
        let mut found = Vec::new();
        for (key, entry) in self.live(lsdb, kind).filter(|(key, _)| key.router != self.own) {
            let external = External::read(entry.body()).ok().filter(|it| it.metric < INFINITY);
            let Some(external) = external else { continue };
            let prefix = Prefix::of_mask(key.id, external.mask);
            // The default route of an area is for those who are no border of it (RFC 3101 §2.5).
            let is_own_default = nssa.is_some() && self.is_border && prefix.length == 0;
            let is_ours = is_own_default && entry.header.options & OPTION_NSSA == 0;
            if let Some(way) = self.way(&external, key.router, nssa, boundary, table)
                && !is_ours
            {
                found.push((prefix, self.external_route(&external, way)));
            }
        }
        found.into_iter().for_each(|(prefix, route)| offer(table, prefix, route, self.paths));
    }

    fn external_route(&self, external: &External, way: ToRouter) -> Route {
        let kind = if external.is_type2 { RouteKind::External2 } else { RouteKind::External1 };
        let (cost, metric2) = if external.is_type2 {
            (way.cost, external.metric)
        } else {
            (way.cost.saturating_add(external.metric), 0)
        };
        let ToRouter { hops, repair, .. } = way;
        Route { kind, cost, metric2, area: None, tag: external.tag, hops, repair }
    }

    /// The way to where an external says that packets are sent.
    fn way(
        &self,
        external: &External,
        router: u32,
        nssa: Option<u32>,
        known: &BTreeMap<u32, ToRouter>,
        table: &Table,
    ) -> Option<ToRouter> {
        let boundary = known.get(&router);
        let boundary = boundary.filter(|it| nssa.is_none_or(|area| it.area == area))?;
        if external.forward.is_unspecified() {
            return Some(boundary.clone());
        }
        let forward = u32::from(external.forward);
        let lengths = (0..=32).rev().map(|length| Prefix::new(forward, length));
        let mut routes = lengths.filter_map(|prefix| table.get(&prefix));
        let route = routes.next().filter(|it| it.kind <= RouteKind::InterArea)?;
        let area = route.area.filter(|area| nssa.is_none_or(|nssa| nssa == *area))?;
        // On a link of ours the address itself is the gateway.
        let gateway = Some(external.forward);
        let onto = |hop: &NextHop| NextHop { gateway: hop.gateway.or(gateway), ..*hop };
        let hops = route.hops.iter().map(onto).collect();
        Some(ToRouter { kind: route.kind, area, cost: route.cost, hops, repair: route.repair })
    }
}
