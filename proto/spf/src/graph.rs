//! The graph: routers and networks, and one edge for each direction of a link.

use crate::pool::{Arc, Pool};
use std::collections::BTreeMap;

/// A router or a network, by its place in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// One direction of a link, by its place in the graph. The number of an edge that was removed is
/// given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// What a node is. At the same distance networks come before routers: edges that cost nothing lead
/// from networks to routers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A transit network or pseudo-node.
    Network,
    /// A router or intermediate system.
    Router,
}

/// How large a graph may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Nodes at once; below 2^31.
    pub nodes: u32,
    /// Edges at once.
    pub edges: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { nodes: 1 << 17, edges: 1 << 21 }
    }
}

#[derive(Debug, Clone, Copy)]
struct Vertex {
    kind: Kind,
    live: bool,
    is_transit: bool,
    touched: bool,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    from: Node,
    to: Node,
    cost: u32,
    live: bool,
}

/// Nodes and edges. Which nodes a change reached at once is kept for [`crate::Tree::update`].
#[derive(Debug, Clone)]
pub struct Graph {
    limits: Limits,
    vertices: Vec<Vertex>,
    free_vertices: Vec<Node>,
    edges: Vec<Edge>,
    free_edges: Vec<EdgeId>,
    out: Pool,
    into: Pool,
    risks: BTreeMap<EdgeId, Box<[u32]>>,
    touched: Vec<Node>,
}

/// The highest cost that an edge may have; a higher one counts as this.
pub const COST_MAX: u32 = 0x00FF_FFFF;

impl Graph {
    /// An empty graph.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits: Limits { nodes: limits.nodes.min(1 << 30), ..limits },
            vertices: Vec::new(),
            free_vertices: Vec::new(),
            edges: Vec::new(),
            free_edges: Vec::new(),
            out: Pool::default(),
            into: Pool::default(),
            risks: BTreeMap::new(),
            touched: Vec::new(),
        }
    }

    /// Adds a node; `None` when there are as many as may be.
    pub fn add_node(&mut self, kind: Kind) -> Option<Node> {
        let vertex = Vertex { kind, live: true, is_transit: true, touched: false };
        if let Some(node) = self.free_vertices.pop() {
            let touched = self.vertices[node.0 as usize].touched;
            self.vertices[node.0 as usize] = Vertex { touched, ..vertex };
            return Some(node);
        }
        let number =
            u32::try_from(self.vertices.len()).ok().filter(|it| *it < self.limits.nodes)?;
        self.vertices.push(vertex);
        self.out.add_node();
        self.into.add_node();
        Some(Node(number))
    }

    /// Removes a node with all of its edges.
    pub fn remove_node(&mut self, node: Node) {
        if !self.is_live(node) {
            return;
        }
        let edges: Vec<EdgeId> =
            self.out(node).iter().chain(self.back(node)).map(|a| a.edge).collect();
        edges.into_iter().for_each(|edge| self.remove_edge(edge));
        self.vertices[node.0 as usize].live = false;
        self.touch(node);
        self.free_vertices.push(node);
    }

    /// Adds one direction of a link. `None` when there are as many edges as may be, or a node is
    /// not there, or both are networks. An edge of a router that costs 0 counts as 1 (RFC 2328
    /// §C.3 forbids 0): circles without cost have no order.
    pub fn add_edge(&mut self, from: Node, to: Node, cost: u32) -> Option<EdgeId> {
        let both_are_networks =
            self.kind(from)? == Kind::Network && self.kind(to)? == Kind::Network;
        if both_are_networks || from == to || !self.is_live(from) || !self.is_live(to) {
            return None;
        }
        let cost = self.counted(from, cost);
        let edge = Edge { from, to, cost, live: true };
        let id = if let Some(id) = self.free_edges.pop() {
            self.edges[id.0 as usize] = edge;
            id
        } else {
            let number = u32::try_from(self.edges.len()).ok();
            let number = number.filter(|it| *it < self.limits.edges)?;
            self.edges.push(edge);
            EdgeId(number)
        };
        self.out.push(from, Arc { other: to, cost, edge: id });
        self.into.push(to, Arc { other: from, cost, edge: id });
        self.touch(to);
        Some(id)
    }

    fn counted(&self, from: Node, cost: u32) -> u32 {
        let least = u32::from(self.vertices[from.0 as usize].kind == Kind::Router);
        cost.clamp(least, COST_MAX)
    }

    /// Gives an edge another cost.
    pub fn set_cost(&mut self, edge: EdgeId, cost: u32) {
        let Some(&Edge { from, to, live: true, cost: was }) = self.edges.get(edge.0 as usize)
        else {
            return;
        };
        let cost = self.counted(from, cost);
        if cost != was {
            self.edges[edge.0 as usize].cost = cost;
            self.out.set_cost(from, edge, cost);
            self.into.set_cost(to, edge, cost);
            self.touch(to);
        }
    }

    /// Removes an edge.
    pub fn remove_edge(&mut self, edge: EdgeId) {
        let Some(&Edge { from, to, live: true, .. }) = self.edges.get(edge.0 as usize) else {
            return;
        };
        self.edges[edge.0 as usize].live = false;
        self.out.remove(from, edge);
        self.into.remove(to, edge);
        self.risks.remove(&edge);
        self.free_edges.push(edge);
        self.touch(to);
    }

    /// Whether paths may lead through a node: not where a router is overloaded (ISO 10589
    /// §7.2.8.1) or has no R-bit (RFC 5340 §A.2).
    pub fn set_transit(&mut self, node: Node, is_transit: bool) {
        let Some(vertex) = self.vertices.get_mut(node.0 as usize) else { return };
        if core::mem::replace(&mut vertex.is_transit, is_transit) != is_transit {
            let heads: Vec<Node> = self.out(node).iter().map(|arc| arc.other).collect();
            heads.into_iter().for_each(|head| self.touch(head));
        }
    }

    /// The groups of shared risk (RFC 4203 §1.3) that an edge belongs to.
    pub fn set_risks(&mut self, edge: EdgeId, risks: &[u32]) {
        if risks.is_empty() || !self.edges.get(edge.0 as usize).is_some_and(|it| it.live) {
            self.risks.remove(&edge);
        } else {
            self.risks.insert(edge, risks.into());
        }
    }

    /// The groups of shared risk of an edge.
    #[must_use]
    pub fn risks(&self, edge: EdgeId) -> &[u32] {
        self.risks.get(&edge).map_or(&[], |risks| risks)
    }

    /// Every edge that belongs to a group of shared risk.
    pub fn risky(&self) -> impl Iterator<Item = (EdgeId, &[u32])> {
        self.risks.iter().map(|(edge, risks)| (*edge, &**risks))
    }

    fn touch(&mut self, node: Node) {
        if !core::mem::replace(&mut self.vertices[node.0 as usize].touched, true) {
            self.touched.push(node);
        }
    }

    /// The nodes that changes since the last call lead to at once: what [`crate::Tree::update`]
    /// wants to know. Each stands there once.
    pub fn take_touched(&mut self) -> Vec<Node> {
        for node in &self.touched {
            self.vertices[node.0 as usize].touched = false;
        }
        core::mem::take(&mut self.touched)
    }

    /// What leads away from a node.
    #[inline]
    #[must_use]
    pub fn out(&self, node: Node) -> &[Arc] {
        self.out.of(node)
    }

    /// What leads to a node.
    #[inline]
    #[must_use]
    pub fn back(&self, node: Node) -> &[Arc] {
        self.into.of(node)
    }

    /// The ends of an edge: from, to.
    #[must_use]
    pub fn ends(&self, edge: EdgeId) -> Option<[Node; 2]> {
        let edge = self.edges.get(edge.0 as usize).filter(|it| it.live)?;
        Some([edge.from, edge.to])
    }

    /// What an edge costs.
    #[must_use]
    pub fn cost(&self, edge: EdgeId) -> Option<u32> {
        self.edges.get(edge.0 as usize).filter(|it| it.live).map(|it| it.cost)
    }

    /// What a node is.
    #[inline]
    #[must_use]
    pub fn kind(&self, node: Node) -> Option<Kind> {
        self.vertices.get(node.0 as usize).map(|it| it.kind)
    }

    /// Whether paths from `root` may lead through a node.
    #[inline]
    #[must_use]
    pub fn passes(&self, node: Node, root: Node) -> bool {
        node == root || self.vertices.get(node.0 as usize).is_some_and(|it| it.is_transit)
    }

    /// Whether the node is there.
    #[must_use]
    pub fn is_live(&self, node: Node) -> bool {
        self.vertices.get(node.0 as usize).is_some_and(|it| it.live)
    }

    /// Places of nodes: each has a number below.
    #[must_use]
    pub const fn places(&self) -> usize {
        self.vertices.len()
    }

    /// Places of edges: each has a number below.
    #[must_use]
    pub const fn edge_places(&self) -> usize {
        self.edges.len()
    }

    /// Every node.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        let live = self.vertices.iter().enumerate().filter(|(_, vertex)| vertex.live);
        live.map(|(at, _)| Node(machine::narrow::place(at)))
    }

    /// The key by which nodes are settled: distance, then networks before routers, then number.
    #[inline]
    pub(crate) fn key(&self, distance: u32, node: Node) -> u64 {
        let router = u64::from(self.vertices[node.0 as usize].kind == Kind::Router);
        u64::from(distance) << 32 | router << 31 | u64::from(node.0)
    }
}

/// The node of a key of [`Graph::key`].
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the lowest 31 bits are the node's number")]
pub(crate) const fn node_of(key: u64) -> Node {
    Node((key & 0x7FFF_FFFF) as u32)
}

/// The distance of a key of [`Graph::key`].
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the upper half is the distance")]
pub(crate) const fn distance_of(key: u64) -> u32 {
    (key >> 32) as u32
}
