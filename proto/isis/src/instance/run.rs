//! SPF runs, and routes that differ are told (ISO 10589 §7.2.6).

use super::{Instance, Out};
use crate::address::{Level, NodeId};
use crate::repairs::{Protection, SystemRepair, repairs};
use crate::routes::Sources;

impl Instance {
    fn sources(&self) -> Sources<'_> {
        Sources { levels: &self.levels, circuits: &self.circuits, settings: &self.settings }
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
        let mut table = self.sources().table();
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
