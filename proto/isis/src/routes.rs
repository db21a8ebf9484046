//! Routes out of the databases (ISO 10589 §7.2.9, RFC 1195 §3.10, RFC 5302, RFC 5308): a table made
//! anew after each run of SPF, and what differs from the one before.

use crate::address::{Level, NodeId, SystemId};
use crate::adjacency::Adjacency;
use crate::circuit::Circuit;
use crate::lsp::{
    Content, PATH_METRIC_MAX, PrefixSid, Reach, SID_EXPLICIT_NULL, SID_NO_PHP, SegmentRouting,
};
use crate::settings::{Prefix, Settings};
use crate::topology::{FirstHop, LevelData};
use spf::Protections;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How a destination is reached; the first is preferred (RFC 5302 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKind {
    /// In our area.
    Level1,
    /// Between areas.
    Level2,
    /// Said in our area by who knows it from level 2.
    Leaked,
    /// By the nearest system that reaches other areas.
    Attached,
}

/// The label that the last but one takes away: there is none.
pub const IMPLICIT_NULL: u32 = 3;
/// The label of explicit null, IPv4.
pub const EXPLICIT_NULL_IPV4: u32 = 0;
/// The label of explicit null, IPv6.
pub const EXPLICIT_NULL_IPV6: u32 = 2;

/// A way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHop {
    /// By that circuit.
    pub circuit: u32,
    /// To that address of the next system.
    pub gateway: IpAddr,
    /// The next system.
    pub system: SystemId,
    /// The label that it has for the destination's prefix SID (RFC 8667).
    pub label: Option<u32>,
}

/// Where a route's packets go while its only way out does not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// By that way.
    pub hop: NextHop,
    /// In a tunnel to that address of another system; none: as they are.
    pub tunnel: Option<Prefix>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// How it is reached.
    pub kind: RouteKind,
    /// The cost is that outside, larger than any way inside (RFC 1195 §3.2).
    pub has_external_metric: bool,
    /// What the way costs.
    pub cost: u32,
    /// A tag.
    pub tag: Option<u32>,
    /// Its prefix SID.
    pub sid: Option<PrefixSid>,
    /// Ways out, in order.
    pub hops: Vec<NextHop>,
    /// Its repair, where routes are repaired, there is one way out, and another one helps.
    pub repair: Option<Repair>,
}

impl Route {
    /// What is compared: lower is better.
    const fn rank(&self) -> (bool, RouteKind, u32) {
        (self.has_external_metric, self.kind, self.cost)
    }
}

/// Routes by prefix.
pub(crate) type Table = BTreeMap<Prefix, Route>;

/// What the table is made of.
pub(crate) struct Sources<'a> {
    pub(crate) levels: &'a [LevelData; 2],
    pub(crate) circuits: &'a BTreeMap<u32, Circuit>,
    pub(crate) settings: &'a Settings,
    /// Repairs by level.
    pub(crate) protections: [Option<Protections>; 2],
}

/// What next systems say of segment routing; nothing where we do not speak it.
type Segments = BTreeMap<SystemId, SegmentRouting>;

/// A system that is reached.
struct Reached {
    level: Level,
    system: SystemId,
    distance: u32,
    hops: Vec<FirstHop>,
}

impl Sources<'_> {
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        for level in self.settings.levels.each() {
            self.level(level, &mut table);
        }
        if !self.settings.levels.has(Level::Two) {
            self.attached(&mut table);
        }
        table
    }

    /// Every system of a level that is reached, but ourselves.
    fn reached(&self, level: Level) -> impl Iterator<Item = Reached> + '_ {
        let data = &self.levels[level.at()];
        let own = self.settings.system;
        let firsts = data.lsdb.iter().filter(move |(id, _)| {
            id.fragment == 0 && id.node.pseudonode == 0 && id.node.system != own
        });
        firsts.filter_map(move |(id, _)| {
            let distance = data.topology.distance(id.node)?;
            let hops = data.topology.hops(id.node);
            Some(Reached { level, system: id.node.system, distance, hops })
        })
    }

    /// Looked up once in a run: whose fragments are many has each of them read for it.
    fn segments(&self, level: Level) -> Segments {
        let mut found = Segments::new();
        if self.settings.segment_routing.is_none() {
            return found;
        }
        let lsdb = &self.levels[level.at()].lsdb;
        let next = self.circuits.values().flat_map(|it| it.up(level)).map(|it| it.system);
        for system in next.collect::<BTreeSet<_>>() {
            let mut said = lsdb.node(NodeId::of(system)).map(crate::lsdb::Entry::content);
            found.extend(said.find_map(|it| it.segment_routing).map(|it| (system, it)));
        }
        found
    }

    fn level(&self, level: Level, table: &mut Table) {
        let segments = self.segments(level);
        let lsdb = &self.levels[level.at()].lsdb;
        for reached in self.reached(level) {
            for entry in lsdb.node(NodeId::of(reached.system)) {
                for reach in entry.content().reaches {
                    self.reach(&reached, &reach, &segments, table);
                }
            }
        }
    }

    fn reach(&self, reached: &Reached, reach: &Reach, segments: &Segments, table: &mut Table) {
        let style = self.settings.style;
        let is_said = if reach.is_wide { style.is_wide() } else { style.is_narrow() };
        let is_believed = is_said || reach.prefix.is_ipv6();
        if !is_believed || reach.metric > PATH_METRIC_MAX {
            return;
        }
        let hops = self.next_hops(reached.level, &reached.hops, reach.prefix.is_ipv6());
        if hops.is_empty() {
            return;
        }
        let kind = match (reached.level, reach.is_down) {
            (Level::One, false) => RouteKind::Level1,
            (Level::One, true) => RouteKind::Leaked,
            (Level::Two, _) => RouteKind::Level2,
        };
        let cost = if reach.has_external_metric {
            reach.metric
        } else {
            reached.distance.saturating_add(reach.metric)
        };
        let hops = hops.into_iter().map(|hop| {
            let said = reach.sid.zip(segments.get(&hop.system));
            let label = said.and_then(|(sid, next)| {
                label(hop.system == reached.system, reach.prefix, sid, next)
            });
            NextHop { label, ..hop }
        });
        let route = Route {
            kind,
            has_external_metric: reach.has_external_metric,
            cost,
            tag: reach.tag,
            sid: reach.sid,
            hops: hops.collect(),
            repair: None,
        };
        let repair = self.repair(reached, &route.hops);
        let route = Route { repair, ..route };
        self.offer(table, reach.prefix, route);
    }

    /// Puts a route in where it is better than what is there; equal ones share their ways out.
    fn offer(&self, table: &mut Table, prefix: Prefix, route: Route) {
        let paths = self.settings.paths;
        let route = match table.get_mut(&prefix) {
            Some(present) if present.rank() < route.rank() => return,
            Some(present) if present.rank() == route.rank() => {
                present.hops.extend(route.hops);
                present.repair = present.repair.or(route.repair);
                present
            }
            _ => {
                table.insert(prefix, route);
                let Some(present) = table.get_mut(&prefix) else { return };
                present
            }
        };
        route.hops.sort_unstable();
        route.hops.dedup_by_key(|hop| (hop.circuit, hop.gateway));
        route.hops.truncate(paths);
        route.repair = route.repair.filter(|_| route.hops.len() == 1);
    }

    /// The repair of a system that is reached by one way out.
    fn repair(&self, reached: &Reached, hops: &[NextHop]) -> Option<Repair> {
        let [only] = hops else { return None };
        let topology = &self.levels[reached.level.at()].topology;
        let (graph, tree) = topology.paths();
        let protections = self.protections[reached.level.at()].as_ref()?;
        let node = topology.node_of(NodeId::of(reached.system))?;
        let found = protections.of(graph, tree?, node)?;
        let first = topology.first_hop(&found.hop)?;
        let is_ipv6 = only.gateway.is_ipv6();
        let hop = self.next_hops(reached.level, &[first], is_ipv6).into_iter().next()?;
        let tunnel = match found.tunnel {
            // What comes out of a tunnel without a label is taken for IPv4.
            Some(_) if is_ipv6 => return None,
            Some(end) => Some(self.host(reached.level, topology.id_of(end)?)?),
            None => None,
        };
        let is_same = (hop.circuit, hop.gateway) == (only.circuit, only.gateway);
        (!is_same).then_some(Repair { hop, tunnel })
    }

    /// An address of a system's own, by which a tunnel to it is known.
    fn host(&self, level: Level, of: NodeId) -> Option<Prefix> {
        let said = self.levels[level.at()].lsdb.node(of);
        let all = said.flat_map(|entry| entry.content().reaches);
        let own = all.map(|it| it.prefix).filter(|it| !it.is_ipv6() && it.length == 32);
        own.min()
    }

    /// Ways out that first hops stand for.
    pub(crate) fn next_hops(&self, level: Level, hops: &[FirstHop], is_ipv6: bool) -> Vec<NextHop> {
        let mut found = Vec::new();
        for hop in hops {
            let up = self.circuits.values().filter(|it| it.is_up && it.active.has(level));
            for circuit in up.filter(|it| hop.link == 0 || hop.link == it.settings.index) {
                let next = neighbour(circuit, level, hop);
                let gateway = next.and_then(|it| gateway(circuit, it, is_ipv6));
                found.extend(gateway.map(|gateway| NextHop {
                    circuit: circuit.settings.index,
                    gateway,
                    system: hop.via.system,
                    label: None,
                }));
            }
        }
        found
    }

    /// Default routes by the nearest systems that reach other areas (ISO 10589 §7.2.9.1).
    fn attached(&self, table: &mut Table) {
        let data = &self.levels[Level::One.at()];
        let attached = self.reached(Level::One).filter(|it| {
            let first = data.lsdb.node(NodeId::of(it.system)).next();
            first.is_some_and(|entry| entry.flags.is_attached && !entry.flags.is_overloaded)
        });
        let families: [(IpAddr, u8); 2] = [
            (Ipv4Addr::UNSPECIFIED.into(), crate::lsp::NLPID_IPV4),
            (Ipv6Addr::UNSPECIFIED.into(), crate::lsp::NLPID_IPV6),
        ];
        for reached in attached {
            let first = data.lsdb.node(NodeId::of(reached.system)).next();
            let Content { protocols, .. } = first.map(|it| it.content()).unwrap_or_default();
            for (address, nlpid) in families.iter().filter(|it| protocols.contains(&it.1)) {
                let is_ipv6 = *nlpid == crate::lsp::NLPID_IPV6;
                let hops = self.next_hops(Level::One, &reached.hops, is_ipv6);
                if hops.is_empty() {
                    continue;
                }
                let route = Route {
                    kind: RouteKind::Attached,
                    has_external_metric: false,
                    cost: reached.distance,
                    tag: None,
                    sid: None,
                    hops,
                    repair: None,
                };
                let repair = self.repair(&reached, &route.hops);
                let route = Route { repair, ..route };
                self.offer(table, Prefix::new(*address, 0), route);
            }
        }
    }
}

/// The label that the next system, which is the last or not, has for a prefix SID (RFC 8667 §2.1).
fn label(is_last: bool, prefix: Prefix, sid: PrefixSid, next: &SegmentRouting) -> Option<u32> {
    match sid.flags {
        flags if is_last && flags & SID_NO_PHP == 0 => Some(IMPLICIT_NULL),
        flags if is_last && flags & SID_EXPLICIT_NULL != 0 => {
            Some(if prefix.is_ipv6() { EXPLICIT_NULL_IPV6 } else { EXPLICIT_NULL_IPV4 })
        }
        _ => next.label(sid.index),
    }
}

/// The adjacency of a circuit that a first hop stands for.
fn neighbour<'a>(circuit: &'a Circuit, level: Level, hop: &FirstHop) -> Option<&'a Adjacency> {
    let is_it = if circuit.is_lan() {
        circuit.level(level).lan == Some(hop.across)
    } else {
        hop.across == hop.via && circuit.settings.metric == hop.cost
    };
    circuit.up(level).find(|it| is_it && it.system == hop.via.system)
}

/// The neighbour's address on a circuit: one that lies on its prefixes, if there is one.
fn gateway(circuit: &Circuit, it: &Adjacency, is_ipv6: bool) -> Option<IpAddr> {
    if is_ipv6 {
        return it.ipv6.first().map(|it| IpAddr::V6(*it));
    }
    let lies_on = |address: &Ipv4Addr| {
        let address = IpAddr::V4(*address);
        circuit
            .settings
            .prefixes()
            .any(|prefix| !prefix.is_ipv6() && Prefix::new(address, prefix.length) == prefix)
    };
    let near = it.addresses.iter().find(|it| lies_on(it));
    near.or_else(|| it.addresses.first()).map(|it| IpAddr::V4(*it))
}
