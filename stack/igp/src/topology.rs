//! Topologies for people to see: nodes and links of each area and level, what changed of them, and
//! the paths between two routers.

use crate::around::Protocol;
use crate::ask::protocol;
use crate::config::Repair;
use crate::history::{Changes, History};
use crate::router::Router;
use crate::rows::{
    IgpChangeRow, IgpEdgeRow, IgpNodeRow, IgpPathRow, IgpStepRow, IgpTopologyRow, wrong,
};
use machine::Time;
use runtime::{Ask, AskError};
use spf::Method;
use std::collections::BTreeSet;

/// Nodes of an area that are shown at most.
const NODES_MAX: usize = 1_000;

/// Of nodes those that are shown, the nearest first, and how many are not.
pub(crate) fn nearest(mut nodes: Vec<IgpNodeRow>) -> (Vec<IgpNodeRow>, BTreeSet<String>, usize) {
    nodes.sort_by_key(|it| (!it.own, it.cost.is_none(), it.cost));
    let more = nodes.len().saturating_sub(NODES_MAX);
    nodes.truncate(NODES_MAX);
    let shown = nodes.iter().map(|it| it.id.clone()).collect();
    (nodes, shown, more)
}

/// The method of a router that repairs routes; the one that finds most, of others'.
pub(crate) fn method(of: Option<Repair>) -> Method {
    of.and_then(Repair::method).unwrap_or(Method::RemoteLfa)
}

/// Paths of a protocol in the words of rows.
pub(crate) struct Said {
    pub(crate) cost: u32,
    pub(crate) path: Vec<IgpStepRow>,
    pub(crate) equal: Vec<IgpStepRow>,
    pub(crate) detour: Option<Vec<IgpStepRow>>,
    pub(crate) tunnel: Option<String>,
}

impl Said {
    /// The row of an area.
    pub(crate) fn row(self, of: Protocol, area: String, ends: [String; 2]) -> IgpPathRow {
        let [from, to] = ends;
        let is_shared = self.equal.iter().filter(|it| it.from == from).count() > 1;
        let repaired_by = match (&self.detour, &self.tunnel) {
            (Some(_), Some(_)) => Some(Repair::RemoteLfa.name()),
            (Some(_), None) => Some(Repair::Lfa.name()),
            (None, _) if is_shared => Some("equal"),
            (None, _) => None,
        };
        IgpPathRow {
            protocol: of.name(),
            area,
            from,
            to,
            cost: self.cost,
            path: self.path,
            equal: self.equal,
            repaired_by,
            repair: self.detour.unwrap_or_default(),
            tunnel: self.tunnel,
        }
    }
}

fn changes<K: Ord + Copy, S: Copy>(
    of: Protocol,
    history: &History<K, S>,
    now: Time,
) -> Vec<IgpChangeRow> {
    let mut rows = Vec::new();
    for Changes { at, run, of: all } in history.changes() {
        let areas: BTreeSet<&String> = all.iter().map(|it| &it.area).collect();
        for area in areas {
            let links = all.iter().filter(|it| it.area == *area).map(|it| IgpEdgeRow {
                from: it.from.clone(),
                to: it.to.clone(),
                before: it.before,
                after: it.after,
            });
            rows.push(IgpChangeRow {
                protocol: of.name(),
                area: area.clone(),
                run: *run,
                ago_ms: machine::narrow::millis(now.since(*at)),
                links: links.collect(),
            });
        }
    }
    rows
}

impl Router {
    /// The topologies, an area or a level a row.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn topology(&self, ask: &Ask) -> Result<Vec<IgpTopologyRow>, AskError> {
        let (of, area) = (protocol(ask)?, ask.params.get("area"));
        let ospf = self.ospf.iter().filter(|_| of != Some(Protocol::Isis));
        let isis = self.isis.iter().filter(|_| of != Some(Protocol::Ospf));
        let watch = &self.watch;
        let ospf = ospf.flat_map(|it| it.topologies(watch));
        let all = ospf.chain(isis.flat_map(|it| it.topologies(watch)));
        Ok(all.filter(|row| area.is_none_or(|area| row.area == *area)).collect())
    }

    /// What runs of SPF saw change of the topologies, the oldest first.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn changes(&self, now: Time, ask: &Ask) -> Result<Vec<IgpChangeRow>, AskError> {
        let (of, area) = (protocol(ask)?, ask.params.get("area"));
        let ospf = self.ospf.iter().filter(|_| of != Some(Protocol::Isis));
        let isis = self.isis.iter().filter(|_| of != Some(Protocol::Ospf));
        let ospf = ospf.flat_map(|it| changes(Protocol::Ospf, &it.history, now));
        let isis = isis.flat_map(|it| changes(Protocol::Isis, &it.history, now));
        let is_wanted = |row: &IgpChangeRow| area.is_none_or(|area| row.area == *area);
        Ok(ospf.chain(isis).filter(is_wanted).collect())
    }

    /// The paths between two routers, `from` and `to`, in each area and level that has both.
    ///
    /// # Errors
    /// A parameter that is missing or cannot be; a router that no topology has.
    pub fn paths(&self, ask: &Ask) -> Result<Vec<IgpPathRow>, AskError> {
        let (of, area) = (protocol(ask)?, ask.params.get("area"));
        let end = |key: &str| {
            let found = ask.params.get(key).map(String::as_str);
            found.ok_or_else(|| wrong(&format!("{key}: a router's number or name")))
        };
        let ends = [end("from")?, end("to")?];
        let ospf = self.ospf.iter().filter(|_| of != Some(Protocol::Isis));
        let isis = self.isis.iter().filter(|_| of != Some(Protocol::Ospf));
        let ospf: Vec<IgpPathRow> = ospf.flat_map(|it| it.paths(ends)).collect();
        let all = ospf.into_iter().chain(isis.flat_map(|it| it.paths(ends)));
        let rows: Vec<IgpPathRow> =
            all.filter(|row| area.is_none_or(|area| row.area == *area)).collect();
        if rows.is_empty() {
            let [from, to] = ends;
            return Err(wrong(&format!("no area or level has a way from {from} to {to}")));
        }
        Ok(rows)
    }
}
