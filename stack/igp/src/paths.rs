//! Topologies and paths of both protocols in the words of rows.

use crate::around::Protocol;
use crate::config::Repair;
use crate::rows::{IgpNodeRow, IgpPathRow, IgpStepRow};
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
