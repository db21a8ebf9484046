//! SPF runs, and routes that differ are told (ISO 10589 §7.2.6).

use super::{Instance, Out};
use crate::address::{Level, NodeId};
use crate::pdu::LspFlags;
use crate::repairs::{Protection, SystemRepair, repairs};
use crate::routes::Sources;
use crate::topology::{Edge, EdgeChange, LevelData};
use spf::{Between, Detour, EdgeId, Method, Protections};

/// The ways between two nodes of a level, as edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways {
    /// What the shortest ones cost.
    pub cost: u32,
    /// One of them, in order.
    pub path: Vec<Edge>,
    /// All of them.
    pub all: Vec<Edge>,
    /// Where packets go while the first hop of the only one does not work, if they arrive.
    pub detour: Option<Vec<Edge>>,
    /// The end of the tunnel with which that begins.
    pub tunnel: Option<NodeId>,
}

impl Instance {
    fn sources(&self) -> Sources<'_> {
        let (levels, circuits, settings) = (&self.levels, &self.circuits, &self.settings);
        Sources { levels, circuits, settings, protections: [None, None] }
    }

    /// With the repairs that routes carry.
    fn protected(&self) -> Sources<'_> {
        let of = |data: &LevelData| {
            let (graph, tree) = data.topology.paths();
            let (method, tree) = self.settings.repair.zip(tree)?;
            Some(Protections::new(graph, tree, method))
        };
        Sources { protections: self.levels.each_ref().map(of), ..self.sources() }
    }

    /// The nodes of a level, as SPF last saw them.
    pub fn nodes(&self, level: Level) -> impl Iterator<Item = NodeId> + '_ {
        self.data(level).topology.nodes()
    }

    /// What the way to a node costs, if there is one.
    #[must_use]
    pub fn cost(&self, level: Level, node: NodeId) -> Option<u32> {
        self.data(level).topology.distance(node)
    }

    /// What a node's first fragment says of it.
    #[must_use]
    pub fn flags(&self, level: Level, node: NodeId) -> Option<LspFlags> {
        self.data(level).lsdb.node(node).next().map(|it| it.flags)
    }

    /// Its links, each direction by itself: those that both ends describe.
    pub fn edges(&self, level: Level) -> impl Iterator<Item = Edge> + '_ {
        self.data(level).topology.edges()
    }

    /// What of the links SPF saw change since this was called last, by level.
    pub fn take_edge_changes(&mut self) -> Vec<(Level, EdgeChange)> {
        let mut all = Vec::new();
        for level in [Level::One, Level::Two] {
            let changes = self.levels[level.at()].topology.take_changes();
            all.extend(changes.into_iter().map(|it| (level, it)));
        }
        all
    }

    /// The shortest paths between two nodes of a level, and the detour that a method finds.
    #[must_use]
    pub fn between(&self, level: Level, ends: [NodeId; 2], method: Method) -> Option<Ways> {
        let topology = &self.data(level).topology;
        let [from, to] = [topology.node_of(ends[0])?, topology.node_of(ends[1])?];
        let graph = topology.paths().0;
        let edge = |id: &EdgeId| {
            let [from, to] = graph.ends(*id)?;
            let (from, to) = (topology.id_of(from)?, topology.id_of(to)?);
            Some(Edge { from, to, cost: graph.cost(*id)?, link: topology.link_of(*id) })
        };
        let found = Between::new(graph, from, to)?;
        let detour = Detour::new(graph, from, to, method);
        let tunnel = detour.as_ref().and_then(|it| topology.id_of(it.tunnel?));
        Some(Ways {
            cost: found.cost,
            path: found.path.iter().filter_map(edge).collect(),
            all: found.all.iter().filter_map(edge).collect(),
            detour: detour.map(|it| it.path.iter().filter_map(edge).collect()),
            tunnel,
        })
    }

    /// How packets to systems of a level go on when a circuit's link fails, or a system at its
    /// other end: TI-LFA (RFC 9855), for those that are reached by it.
    #[must_use]
    pub fn repairs(&self, level: Level, circuit: u32, protection: Protection) -> Vec<SystemRepair> {
        let sources = self.sources();
        self.circuits
            .get(&circuit)
            .map_or_else(Vec::new, |circuit| repairs(&sources, level, circuit, protection))
    }

    /// Graph and tree of a level, for repairs.
    #[must_use]
    pub fn paths(&self, level: Level) -> Option<(&spf::Graph, &spf::Tree)> {
        let (graph, tree) = self.data(level).topology.paths();
        tree.map(|tree| (graph, tree))
    }

    /// Whether other areas are reached in level 2 (§7.2.9.2).
    fn is_attached(&self) -> bool {
        let data = self.data(Level::Two);
        let firsts = data
            .lsdb
            .iter()
            .filter(|(id, it)| id.fragment == 0 && id.node.pseudonode == 0 && !it.is_purge());
        let mut reached = firsts.filter(|(id, _)| data.topology.distance(id.node).is_some());
        reached.any(|(_, entry)| {
            let areas = entry.content().areas;
            !areas.is_empty() && !areas.iter().any(|area| self.settings.areas.contains(area))
        })
    }

    /// Runs SPF in each level, and makes the table anew.
    pub(super) fn run(&mut self, out: &mut Vec<Out>) {
        self.counts.runs += 1;
        if self.restarting.is_some() {
            // Packets go on by what stands in the forwarding table (RFC 8706 §3.2).
            return;
        }
        let root = NodeId::of(self.settings.system);
        for level in self.settings.levels.each() {
            let data = &mut self.levels[level.at()];
            data.topology.run(&data.lsdb, root);
        }
        let mut own: std::collections::BTreeSet<_> = self.own.advertised.keys().copied().collect();
        let up = self.circuits.values().filter(|it| it.is_up);
        own.extend(up.flat_map(|it| it.settings.prefixes()));
        let mut table = self.protected().table();
        // What we are on ourselves is no route.
        table.retain(|prefix, _| !own.contains(prefix));
        for prefix in self.routes.keys().filter(|prefix| !table.contains_key(prefix)) {
            out.push(Out::Withdraw(*prefix));
        }
        for (prefix, route) in &table {
            if self.routes.get(prefix) != Some(route) {
                out.push(Out::Route(*prefix, route.clone()));
            }
        }
        self.routes = table;
        self.own.is_attached = self.is_attached();
        // What one level tells the other follows the routes.
        self.own.is_stale |= self.settings.levels == crate::address::Levels::BOTH;
    }
}
