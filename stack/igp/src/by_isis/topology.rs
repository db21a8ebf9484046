//! Levels as topologies.

use super::IsisRouter;
use crate::around::Protocol;
use crate::paths::{Said, method, nearest};
use crate::rows::{IgpLinkRow, IgpNodeRow, IgpPathRow, IgpStepRow, IgpTopologyRow};
use crate::watch::Watch;
use isis::{Edge, Level, NodeId};

/// A level by its name.
pub(crate) const fn name_of(it: Level) -> &'static str {
    match it {
        Level::One => "level-1",
        Level::Two => "level-2",
    }
}

/// A node by its name.
pub(crate) fn id_of(it: NodeId) -> String {
    if it.pseudonode == 0 { it.system.to_string() } else { it.to_string() }
}

fn step(it: &Edge) -> IgpStepRow {
    IgpStepRow { from: id_of(it.from), to: id_of(it.to), cost: it.cost }
}

impl IsisRouter {
    /// The levels.
    pub(crate) fn topologies(&self, watch: &Watch) -> Vec<IgpTopologyRow> {
        let all = self.section.level.levels().each().map(|level| {
            let nodes = self.instance.nodes(level).map(|it| self.node(level, it));
            let (nodes, shown, more) = nearest(nodes.collect());
            let links = self.instance.edges(level).map(|it| self.link(level, it, watch));
            let links = links.filter(|it| shown.contains(&it.from) && shown.contains(&it.to));
            IgpTopologyRow {
                protocol: Protocol::Isis.name(),
                area: name_of(level).to_owned(),
                repair: self.section.repair.map(crate::config::Repair::name),
                links: links.collect(),
                nodes,
                more,
            }
        });
        all.collect()
    }

    fn node(&self, level: Level, it: NodeId) -> IgpNodeRow {
        let flags = self.instance.flags(level, it);
        IgpNodeRow {
            id: id_of(it),
            name: self.instance.hostname(it.system).filter(|_| it.pseudonode == 0),
            kind: if it.pseudonode == 0 { "router" } else { "network" },
            own: it == NodeId::of(self.instance.settings().system),
            border: flags.is_some_and(|it| it.is_attached),
            boundary: false,
            overloaded: flags.is_some_and(|it| it.is_overloaded),
            cost: self.instance.cost(level, it),
        }
    }

    fn link(&self, level: Level, it: Edge, watch: &Watch) -> IgpLinkRow {
        let own = NodeId::of(self.instance.settings().system);
        let leads = |circuit: &u32| {
            it.from == own
                && if it.to.pseudonode == 0 {
                    let beside = self.instance.adjacencies(*circuit);
                    let is_it = it.link == 0 || it.link == *circuit;
                    is_it && beside.iter().any(|(system, ..)| *system == it.to.system)
                } else {
                    let lan = self.instance.designated(*circuit, level);
                    lan.is_some_and(|(lan, _)| lan == it.to)
                }
        };
        let circuit = self.instance.circuits().find(leads);
        let link = circuit.and_then(|it| self.links.get(&it));
        let sessions = self.watched.keys().filter(|id| Some(id.0) == circuit);
        let sessions = sessions.filter_map(|id| watch.state(*id));
        IgpLinkRow {
            from: id_of(it.from),
            to: id_of(it.to),
            cost: it.cost,
            interface: link.map(|link| link.name.clone()),
            bfd: sessions.map(bfd::State::name).min(),
        }
    }

    /// The paths between two systems by their names or IDs.
    pub(crate) fn paths(&self, ends: [&str; 2]) -> Vec<IgpPathRow> {
        let all = self.section.level.levels().each().filter_map(|level| {
            let node = |text: &str| {
                let mut all = self.instance.nodes(level).filter(|it| it.pseudonode == 0);
                all.find(|it| {
                    let name = self.instance.hostname(it.system);
                    it.system.to_string() == text || name.as_deref() == Some(text)
                })
            };
            let [from, to] = [node(ends[0])?, node(ends[1])?];
            let found = self.instance.between(level, [from, to], method(self.section.repair))?;
            let said = Said {
                cost: found.cost,
                path: found.path.iter().map(step).collect(),
                equal: found.all.iter().map(step).collect(),
                detour: found.detour.map(|it| it.iter().map(step).collect()),
                tunnel: found.tunnel.map(id_of),
            };
            let area = name_of(level).to_owned();
            Some(said.row(Protocol::Isis, area, [id_of(from), id_of(to)]))
        });
        all.collect()
    }
}
