//! A level as a graph: systems and pseudonodes become nodes, and links that both ends describe
//! become edges (ISO 10589 annex C.2). What changed is followed node by node, so that the tree of
//! shortest paths is updated, not made anew.

use crate::address::NodeId;
use crate::lsdb::Lsdb;
use crate::lsp::LINK_UNUSABLE;
use crate::settings::MetricStyle;
use spf::{Arc, EdgeId, Graph, Hop, Kind, Limits, Node, Tree, UNREACHED};
use std::collections::{BTreeMap, BTreeSet};

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Where it begins.
    pub from: NodeId,
    /// Where it leads.
    pub to: NodeId,
    /// What it costs.
    pub cost: u32,
    /// Its beginning's number of it; 0 where it says none.
    pub link: u32,
}

/// One direction of a link that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeChange {
    /// Where it begins.
    pub from: NodeId,
    /// Where it leads.
    pub to: NodeId,
    /// What it cost; none: it was not there.
    pub before: Option<u32>,
    /// What it costs; none: it is gone.
    pub after: Option<u32>,
}

/// Changes that are remembered until they are taken.
const CHANGES_MAX: usize = 512;

/// A link as an end describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Leads {
    to: NodeId,
    cost: u32,
    /// That end's number of the link; 0 where it says none.
    link: u32,
}

/// How a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FirstHop {
    /// Our number of the link; 0 where we say none.
    pub(crate) link: u32,
    pub(crate) cost: u32,
    /// The next system.
    pub(crate) via: NodeId,
    /// The pseudonode in between, or the next system.
    pub(crate) across: NodeId,
}

/// Links of one pair of nodes that count, the cheapest first.
const PARALLEL_MAX: usize = 64;

/// What a level has.
#[derive(Debug)]
pub(crate) struct LevelData {
    pub(crate) lsdb: Lsdb,
    pub(crate) topology: Topology,
}

#[derive(Debug)]
pub(crate) struct Topology {
    graph: Graph,
    nodes: BTreeMap<NodeId, Node>,
    /// The links of each node as its fragments have them, in order.
    leads: BTreeMap<NodeId, Vec<Leads>>,
    ids: BTreeMap<Node, NodeId>,
    links: BTreeMap<EdgeId, u32>,
    tree: Option<Tree>,
    changed: BTreeSet<NodeId>,
    changes: Vec<EdgeChange>,
    style: MetricStyle,
    pub(crate) full_runs: u64,
    pub(crate) updates: u64,
}

fn leads(lsdb: &Lsdb, node: NodeId, style: MetricStyle) -> Vec<Leads> {
    let all = lsdb.node(node).flat_map(|entry| entry.content().neighbours);
    let mut found: Vec<(bool, Leads)> = all
        .filter(|it| if it.is_wide { style.is_wide() } else { style.is_narrow() })
        .filter(|it| !it.is_wide || it.metric < LINK_UNUSABLE)
        .map(|it| {
            let link = it.link.map_or(0, |link| link[0]);
            // Only a pseudonode's links cost nothing.
            let cost = it.metric.max(u32::from(node.pseudonode == 0));
            (it.is_wide, Leads { to: it.node, cost, link })
        })
        .collect();
    // Where both are said, the wide one is believed.
    let wide: BTreeSet<NodeId> = found.iter().filter(|it| it.0).map(|it| it.1.to).collect();
    found.retain(|(is_wide, it)| *is_wide || !wide.contains(&it.to));
    found.into_iter().map(|it| it.1).collect()
}

/// Those of a node's links, in order, that lead to another one.
fn to(links: &[Leads], end: NodeId) -> &[Leads] {
    let from = links.partition_point(|it| it.to < end);
    let links = links.get(from..).unwrap_or_default();
    let count = links.partition_point(|it| it.to == end).min(PARALLEL_MAX);
    links.get(..count).unwrap_or_default()
}

fn is_there(lsdb: &Lsdb, node: NodeId) -> bool {
    lsdb.node(node).next().is_some()
}

impl Topology {
    pub(crate) fn new(style: MetricStyle) -> Self {
        Self {
            graph: Graph::new(Limits::default()),
            nodes: BTreeMap::new(),
            leads: BTreeMap::new(),
            ids: BTreeMap::new(),
            links: BTreeMap::new(),
            tree: None,
            changed: BTreeSet::new(),
            changes: Vec::new(),
            style,
            full_runs: 0,
            updates: 0,
        }
    }

    /// A fragment of a node is another one.
    pub(crate) fn change(&mut self, node: NodeId) {
        self.changed.insert(node);
    }

    /// Follows what changed, and finds the shortest paths from `root`.
    pub(crate) fn run(&mut self, lsdb: &Lsdb, root: NodeId) {
        let changed = core::mem::take(&mut self.changed);
        for node in &changed {
            let mut own = leads(lsdb, *node, self.style);
            own.sort_unstable();
            if own.is_empty() {
                self.leads.remove(node);
            } else {
                self.leads.insert(*node, own);
            }
        }
        for node in changed {
            self.follow(lsdb, node);
        }
        let touched = self.graph.take_touched();
        let Some(&node) = self.nodes.get(&root) else {
            self.tree = None;
            return;
        };
        match self.tree.as_mut().filter(|tree| tree.root() == node) {
            Some(tree) => {
                let is_partial = tree.update(&self.graph, &touched).is_some();
                self.updates += u64::from(is_partial);
                self.full_runs += u64::from(!is_partial);
            }
            None => {
                self.tree = Some(Tree::new(&self.graph, node));
                self.full_runs += 1;
            }
        }
    }

    fn follow(&mut self, lsdb: &Lsdb, id: NodeId) {
        let is_there = is_there(lsdb, id);
        let Some(node) = self.node(id, is_there) else { return };
        let own = self.leads.get(&id).cloned().unwrap_or_default();
        // Looked at once: a node may have links to tens of thousands of others.
        let (mut out, mut back) =
            (self.laid(self.graph.out(node)), self.laid(self.graph.back(node)));
        let known = out.keys().chain(back.keys()).filter_map(|it| self.ids.get(it).copied());
        let ends: BTreeSet<NodeId> = known.chain(own.iter().map(|it| it.to)).collect();
        for end in ends {
            let Some(&other) = self.nodes.get(&end) else { continue };
            let theirs = self.leads.get(&end).map_or(&[][..], Vec::as_slice);
            let (to_end, from_end) = (to(&own, end).to_vec(), to(theirs, id).to_vec());
            // A link counts where both ends describe it.
            let are_both = !to_end.is_empty() && !from_end.is_empty();
            let wanted = |links| if are_both { links } else { Vec::new() };
            self.lay([node, other], out.remove(&other), wanted(to_end));
            self.lay([other, node], back.remove(&other), wanted(from_end));
        }
        if !is_there {
            self.graph.remove_node(node);
            self.nodes.remove(&id);
            self.ids.remove(&node);
            return;
        }
        let first = lsdb.node(id).next();
        self.graph.set_transit(node, !first.is_some_and(|entry| entry.flags.is_overloaded));
    }

    fn node(&mut self, id: NodeId, is_there: bool) -> Option<Node> {
        if let Some(&node) = self.nodes.get(&id) {
            return Some(node);
        }
        if !is_there {
            return None;
        }
        let kind = if id.pseudonode == 0 { Kind::Router } else { Kind::Network };
        let node = self.graph.add_node(kind)?;
        self.nodes.insert(id, node);
        self.ids.insert(node, id);
        Some(node)
    }

    /// The edges of arcs by the nodes at their other ends.
    fn laid(&self, arcs: &[Arc]) -> BTreeMap<Node, Vec<(EdgeId, [u32; 2])>> {
        let mut found: BTreeMap<Node, Vec<_>> = BTreeMap::new();
        for arc in arcs {
            let laid = (arc.edge, [arc.cost, self.link_of(arc.edge)]);
            found.entry(arc.other).or_default().push(laid);
        }
        found
    }

    /// Makes the edges from one node to another, of which some are there, those that are wanted.
    fn lay(
        &mut self,
        [from, to]: [Node; 2],
        present: Option<Vec<(EdgeId, [u32; 2])>>,
        wanted: Vec<Leads>,
    ) {
        let mut wanted: Vec<[u32; 2]> = wanted.iter().map(|it| [it.cost, it.link]).collect();
        let mut present = present.unwrap_or_default();
        // What is as it should be stays, the rest goes and comes.
        present.retain(|(_, link)| match wanted.iter().position(|it| it == link) {
            Some(at) => {
                wanted.swap_remove(at);
                false
            }
            None => true,
        });
        self.note(from, to, &present, &wanted);
        for (edge, _) in present {
            self.graph.remove_edge(edge);
            self.links.remove(&edge);
        }
        for [cost, link] in wanted {
            if let Some(edge) = self.graph.add_edge(from, to, cost) {
                self.links.insert(edge, link);
            }
        }
    }

    /// Remembers what goes and comes of the edges from one node to another.
    fn note(&mut self, from: Node, to: Node, gone: &[(EdgeId, [u32; 2])], new: &[[u32; 2]]) {
        let (Some(from), Some(to)) = (self.id_of(from), self.id_of(to)) else { return };
        for at in 0..gone.len().max(new.len()) {
            let before = gone.get(at).map(|it| it.1[0]);
            let after = new.get(at).map(|it| it[0]);
            if self.changes.len() < CHANGES_MAX && before != after {
                self.changes.push(EdgeChange { from, to, before, after });
            }
        }
    }

    /// What changed since this was called last.
    pub(crate) fn take_changes(&mut self) -> Vec<EdgeChange> {
        core::mem::take(&mut self.changes)
    }

    /// Every edge.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.ids.iter().flat_map(move |(node, from)| {
            self.graph.out(*node).iter().filter_map(move |arc| {
                let (to, link) = (self.id_of(arc.other)?, self.link_of(arc.edge));
                Some(Edge { from: *from, to, cost: arc.cost, link })
            })
        })
    }

    /// Every node.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.keys().copied()
    }

    /// What the way to a node costs, if there is one.
    pub(crate) fn distance(&self, id: NodeId) -> Option<u32> {
        let distance = self.tree.as_ref()?.distance(*self.nodes.get(&id)?);
        (distance != UNREACHED).then_some(distance)
    }

    /// How packets to a node leave.
    pub(crate) fn hops(&self, id: NodeId) -> Vec<FirstHop> {
        let node = self.nodes.get(&id);
        let hops = self.tree.as_ref().zip(node).map_or(&[][..], |(tree, node)| tree.hops(*node));
        hops.iter().filter_map(|hop| self.first_hop(hop)).collect()
    }

    pub(crate) fn node_of(&self, id: NodeId) -> Option<Node> {
        self.nodes.get(&id).copied()
    }

    pub(crate) fn id_of(&self, node: Node) -> Option<NodeId> {
        self.ids.get(&node).copied()
    }

    /// The number of a link at its beginning; 0 where it has none.
    pub(crate) fn link_of(&self, edge: EdgeId) -> u32 {
        self.links.get(&edge).copied().unwrap_or(0)
    }

    pub(crate) fn first_hop(&self, hop: &Hop) -> Option<FirstHop> {
        let [_, across] = self.graph.ends(hop.edge)?;
        Some(FirstHop {
            link: self.link_of(hop.edge),
            cost: self.graph.cost(hop.edge)?,
            via: self.id_of(hop.via)?,
            across: self.id_of(across)?,
        })
    }

    /// The graph and the tree, for repairs.
    pub(crate) const fn paths(&self) -> (&Graph, Option<&Tree>) {
        (&self.graph, self.tree.as_ref())
    }
}
