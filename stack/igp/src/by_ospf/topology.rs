//! Areas as topologies.

use super::{Id, OspfRouter};
use crate::around::Protocol;
use crate::paths::{Said, method, nearest};
use crate::rows::{IgpLinkRow, IgpNodeRow, IgpPathRow, IgpStepRow, IgpTopologyRow};
use crate::watch::Watch;
use ospf::lsa::{Key, LsaType, Router};
use ospf::{Edge, Vertex};
use std::net::Ipv4Addr;

/// A vertex by its name.
pub(crate) fn id_of(it: Vertex) -> String {
    match it {
        Vertex::Router(id) => Ipv4Addr::from(id).to_string(),
        Vertex::Network(id) => format!("lan {}", Ipv4Addr::from(id)),
    }
}

fn step(it: &Edge) -> IgpStepRow {
    IgpStepRow { from: id_of(it.from), to: id_of(it.to), cost: it.cost }
}

impl OspfRouter {
    /// The areas.
    pub(crate) fn topologies(&self, watch: &Watch) -> Vec<IgpTopologyRow> {
        let all = self.instance.areas().map(|(area, _)| {
            let nodes = self.instance.vertices(area).map(|it| self.node(area, it));
            let (nodes, shown, more) = nearest(nodes.collect());
            let links = self.instance.edges(area).map(|it| self.link(it, watch));
            let links = links.filter(|it| shown.contains(&it.from) && shown.contains(&it.to));
            IgpTopologyRow {
                protocol: Protocol::Ospf.name(),
                area: Ipv4Addr::from(area).to_string(),
                repair: self.section.repair.map(crate::config::Repair::name),
                links: links.collect(),
                nodes,
                more,
            }
        });
        all.collect()
    }

    fn node(&self, area: u32, it: Vertex) -> IgpNodeRow {
        let key = |id| Key { kind: LsaType::Router, id, router: id };
        let flags = match it {
            Vertex::Router(id) => {
                let body = self.instance.body(area, key(id)).map(Router::read);
                body.and_then(Result::ok).map(|it| it.flags)
            }
            Vertex::Network(_) => None,
        };
        IgpNodeRow {
            id: id_of(it),
            name: None,
            kind: if matches!(it, Vertex::Router(_)) { "router" } else { "network" },
            own: it == Vertex::Router(self.section.router_id.into()),
            border: flags.is_some_and(|it| it.is_border),
            boundary: flags.is_some_and(|it| it.is_boundary),
            overloaded: false,
            cost: self.instance.cost(area, it),
        }
    }

    fn link(&self, it: Edge, watch: &Watch) -> IgpLinkRow {
        let own = Vertex::Router(self.section.router_id.into());
        let by = self.links.values().filter(|_| it.from == own);
        let mut by = by.filter(|link| link.address.is_some_and(|own| u32::from(own.0) == it.data));
        let link = by.next();
        let sessions = link.into_iter().flat_map(|link| {
            let ids = self.history.since.keys().filter(|id: &&Id| id.0 == link.index);
            ids.filter_map(|id| watch.state(*id))
        });
        IgpLinkRow {
            from: id_of(it.from),
            to: id_of(it.to),
            cost: it.cost,
            interface: link.map(|link| link.name.clone()),
            bfd: sessions.map(bfd::State::name).min(),
        }
    }

    /// The paths between two routers by their numbers.
    pub(crate) fn paths(&self, ends: [&str; 2]) -> Vec<IgpPathRow> {
        let vertex = |text: &str| text.parse::<Ipv4Addr>().ok().map(|it| Vertex::Router(it.into()));
        let [Some(from), Some(to)] = ends.map(vertex) else { return Vec::new() };
        let all = self.instance.areas().filter_map(|(area, _)| {
            let found = self.instance.between(area, [from, to], method(self.section.repair))?;
            let said = Said {
                cost: found.cost,
                path: found.path.iter().map(step).collect(),
                equal: found.all.iter().map(step).collect(),
                detour: found.detour.map(|it| it.iter().map(step).collect()),
                tunnel: found.tunnel.map(id_of),
            };
            let area = Ipv4Addr::from(area).to_string();
            Some(said.row(Protocol::Ospf, area, [id_of(from), id_of(to)]))
        });
        all.collect()
    }
}
