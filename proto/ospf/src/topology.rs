//! An area as a graph: router and network LSAs become nodes, and links that both ends describe
//! become edges (RFC 2328 §16.1). What changed is followed vertex by vertex, so that the tree of
//! shortest paths is updated, not made anew.

use crate::lsa::{Key, LinkKind, LsaType, Network, Router};
use crate::lsdb::{Entry, Lsdb};
use machine::Time;
use spf::{EdgeId, Graph, Hop, Kind, Limits, Node, Tree, UNREACHED};
use std::collections::{BTreeMap, BTreeSet};

/// What an LSA describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vertex {
    /// A router, by its number.
    Router(u32),
    /// A network, by the address of its designated router.
    Network(u32),
}

impl Vertex {
    /// The vertex of an LSA, if it has one.
    pub(crate) const fn of(key: Key) -> Option<Self> {
        match key.kind {
            LsaType::Router => Some(Self::Router(key.router)),
            LsaType::Network => Some(Self::Network(key.id)),
            _ => None,
        }
    }
}

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Where it begins.
    pub from: Vertex,
    /// Where it leads.
    pub to: Vertex,
    /// What it costs.
    pub cost: u32,
    /// The address of its router there; 0 from a network.
    pub data: u32,
}

/// One direction of a link that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeChange {
    /// Where it begins.
    pub from: Vertex,
    /// Where it leads.
    pub to: Vertex,
    /// What it cost; none: it was not there.
    pub before: Option<u32>,
    /// What it costs; none: it is gone.
    pub after: Option<u32>,
}

/// Changes that are remembered until they are taken.
const CHANGES_MAX: usize = 512;

/// A link of a vertex as its LSA has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Leads {
    to: Vertex,
    cost: u32,
    data: u32,
}

#[derive(Debug)]
pub(crate) struct Topology {
    graph: Graph,
    nodes: BTreeMap<Vertex, Node>,
    /// The links of each vertex as its LSA has them, in order.
    leads: BTreeMap<Vertex, Vec<Leads>>,
    vertices: BTreeMap<Node, Vertex>,
    /// The link data of each edge: its router's address there.
    data: BTreeMap<EdgeId, u32>,
    tree: Option<Tree>,
    changed: BTreeSet<Vertex>,
    changes: Vec<EdgeChange>,
    pub(crate) full_runs: u64,
    pub(crate) updates: u64,
}

/// How a packet leaves: onto the link where we have the address `data`, to the router's address
/// there; none on the network itself and on links with one neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FirstHop {
    pub(crate) data: u32,
    pub(crate) router: Option<u32>,
    pub(crate) address: Option<u32>,
}

/// The LSA that describes a vertex.
pub(crate) fn entry_of(lsdb: &Lsdb, vertex: Vertex, now: Time) -> Option<(Key, &Entry)> {
    let entry = match vertex {
        Vertex::Router(id) => {
            let key = Key { kind: LsaType::Router, id, router: id };
            lsdb.of(key).map(|entry| (key, entry))
        }
        Vertex::Network(id) => {
            let mut live = lsdb.of_id(LsaType::Network, id).filter(|it| !it.1.is_max_age(now));
            live.next().map(|(key, entry)| (*key, entry))
        }
    };
    entry.filter(|(_, entry)| !entry.is_max_age(now))
}

fn leads(lsdb: &Lsdb, vertex: Vertex, now: Time) -> Option<Vec<Leads>> {
    let (_, entry) = entry_of(lsdb, vertex, now)?;
    Some(match vertex {
        Vertex::Router(_) => {
            let links = Router::read(entry.body()).ok()?.links;
            let found = links.iter().filter_map(|link| {
                let to = match link.kind {
                    LinkKind::PointToPoint => Vertex::Router(link.id),
                    LinkKind::Transit => Vertex::Network(link.id),
                    LinkKind::Stub | LinkKind::Virtual => return None,
                };
                Some(Leads { to, cost: link.metric.into(), data: link.data })
            });
            found.collect()
        }
        Vertex::Network(_) => {
            let routers = Network::read(entry.body()).ok()?.routers;
            let to = |router: &u32| Leads { to: Vertex::Router(*router), cost: 0, data: 0 };
            routers.iter().map(to).collect()
        }
    })
}

/// Those of a vertex's links, in order, that lead to another one.
fn to(links: &[Leads], end: Vertex) -> &[Leads] {
    let from = links.partition_point(|it| it.to < end);
    let links = links.get(from..).unwrap_or_default();
    links.get(..links.partition_point(|it| it.to == end)).unwrap_or_default()
}

impl Topology {
    pub(crate) fn new() -> Self {
        Self {
            graph: Graph::new(Limits::default()),
            nodes: BTreeMap::new(),
            leads: BTreeMap::new(),
            vertices: BTreeMap::new(),
            data: BTreeMap::new(),
            tree: None,
            changed: BTreeSet::new(),
            changes: Vec::new(),
            full_runs: 0,
            updates: 0,
        }
    }

    /// The LSA of a vertex is another one.
    pub(crate) fn change(&mut self, vertex: Vertex) {
        self.changed.insert(vertex);
    }

    /// Follows what changed, and finds the shortest paths from `root`.
    pub(crate) fn run(&mut self, lsdb: &Lsdb, root: u32, now: Time) {
        let changed = core::mem::take(&mut self.changed);
        for vertex in &changed {
            match leads(lsdb, *vertex, now) {
                Some(mut own) => {
                    own.sort_unstable();
                    self.leads.insert(*vertex, own);
                }
                None => drop(self.leads.remove(vertex)),
            }
        }
        for vertex in changed {
            self.follow(lsdb, vertex, now);
        }
        let touched = self.graph.take_touched();
        let Some(&node) = self.nodes.get(&Vertex::Router(root)) else {
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

    fn follow(&mut self, lsdb: &Lsdb, vertex: Vertex, now: Time) {
        let own = self.leads.get(&vertex).cloned();
        let Some(node) = self.node(vertex, own.is_some()) else { return };
        let own = own.unwrap_or_default();
        let arcs = self.graph.out(node).iter().chain(self.graph.back(node));
        let known = arcs.filter_map(|arc| self.vertices.get(&arc.other).copied());
        let ends: BTreeSet<Vertex> = known.chain(own.iter().map(|it| it.to)).collect();
        for end in ends {
            let Some(&other) = self.nodes.get(&end) else { continue };
            let theirs = self.leads.get(&end).map_or(&[][..], Vec::as_slice);
            let (there, back) = (to(&own, end).to_vec(), to(theirs, vertex).to_vec());
            // A link counts where both ends describe it.
            let are_both = !there.is_empty() && !back.is_empty();
            self.lay(node, other, if are_both { there } else { Vec::new() });
            self.lay(other, node, if are_both { back } else { Vec::new() });
        }
        if !entry_exists(lsdb, vertex, now) {
            self.graph.remove_node(node);
            self.nodes.remove(&vertex);
            self.vertices.remove(&node);
        }
    }

    fn node(&mut self, vertex: Vertex, is_there: bool) -> Option<Node> {
        if let Some(&node) = self.nodes.get(&vertex) {
            return Some(node);
        }
        if !is_there {
            return None;
        }
        let kind = match vertex {
            Vertex::Router(_) => Kind::Router,
            Vertex::Network(_) => Kind::Network,
        };
        let node = self.graph.add_node(kind)?;
        self.nodes.insert(vertex, node);
        self.vertices.insert(node, vertex);
        Some(node)
    }

    /// Makes the edges from one node to another those that are wanted.
    fn lay(&mut self, from: Node, to: Node, mut wanted: Vec<Leads>) {
        wanted.sort_unstable();
        let mut wanted: Vec<[u32; 2]> = wanted.iter().map(|it| [it.cost, it.data]).collect();
        let arcs = self.graph.out(from).iter().filter(|arc| arc.other == to);
        let mut present: Vec<(EdgeId, [u32; 2])> = arcs
            .map(|arc| (arc.edge, [arc.cost, self.data.get(&arc.edge).copied().unwrap_or(0)]))
            .collect();
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
            self.data.remove(&edge);
        }
        for [cost, data] in wanted {
            if let Some(edge) = self.graph.add_edge(from, to, cost) {
                self.data.insert(edge, data);
            }
        }
    }

    /// Remembers what goes and comes of the edges from one node to another.
    fn note(&mut self, from: Node, to: Node, gone: &[(EdgeId, [u32; 2])], new: &[[u32; 2]]) {
        let (Some(from), Some(to)) = (self.vertex_of(from), self.vertex_of(to)) else { return };
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
        self.vertices.iter().flat_map(move |(node, from)| {
            let to = |other| self.vertices.get(&other).copied();
            self.graph.out(*node).iter().filter_map(move |arc| {
                let data = self.data_of(arc.edge);
                Some(Edge { from: *from, to: to(arc.other)?, cost: arc.cost, data })
            })
        })
    }

    /// Every vertex.
    pub(crate) fn vertices(&self) -> impl Iterator<Item = Vertex> + '_ {
        self.nodes.keys().copied()
    }

    /// What the way to a vertex costs, if there is one.
    pub(crate) fn distance(&self, vertex: Vertex) -> Option<u32> {
        let distance = self.tree.as_ref()?.distance(*self.nodes.get(&vertex)?);
        (distance != UNREACHED).then_some(distance)
    }

    /// How packets to a vertex leave.
    pub(crate) fn hops(&self, vertex: Vertex) -> Vec<FirstHop> {
        let node = self.nodes.get(&vertex);
        let hops = self.tree.as_ref().zip(node).map_or(&[][..], |(tree, node)| tree.hops(*node));
        hops.iter().filter_map(|hop| self.first_hop(hop)).collect()
    }

    pub(crate) fn node_of(&self, vertex: Vertex) -> Option<Node> {
        self.nodes.get(&vertex).copied()
    }

    pub(crate) fn vertex_of(&self, node: Node) -> Option<Vertex> {
        self.vertices.get(&node).copied()
    }

    /// The link data of an edge; 0 where it has none.
    pub(crate) fn data_of(&self, edge: EdgeId) -> u32 {
        self.data.get(&edge).copied().unwrap_or(0)
    }

    pub(crate) fn first_hop(&self, hop: &Hop) -> Option<FirstHop> {
        let data = *self.data.get(&hop.edge)?;
        let link = self.graph.ends(hop.edge)?[1];
        let router = match *self.vertices.get(&hop.via)? {
            Vertex::Router(id) => Some(id),
            Vertex::Network(_) => None,
        };
        let is_across = link != hop.via;
        let onto = self.graph.out(hop.via).iter().find(|arc| is_across && arc.other == link);
        let address = onto.and_then(|arc| self.data.get(&arc.edge).copied());
        Some(FirstHop { data, router, address })
    }

    /// The graph and the tree, for repairs.
    pub(crate) const fn paths(&self) -> (&Graph, Option<&Tree>) {
        (&self.graph, self.tree.as_ref())
    }
}

fn entry_exists(lsdb: &Lsdb, vertex: Vertex, now: Time) -> bool {
    entry_of(lsdb, vertex, now).is_some()
}
