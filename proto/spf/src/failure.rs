//! What may fail at once: a link, a node, or all links that share a risk; and which shortest paths
//! that would touch.

use crate::graph::{EdgeId, Graph, Node};
use crate::{Direction, Distances};

/// A set of numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn insert(&mut self, at: u32) {
        let word = at as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (at % 64);
    }

    #[inline]
    pub(crate) fn has(&self, at: u32) -> bool {
        self.0.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }
}

/// Edges and perhaps a node that are expected to fail together.
#[derive(Debug, Clone, Default)]
pub struct Failure {
    edges: Bits,
    node: Option<Node>,
}

impl Failure {
    /// Nothing fails.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The link of an edge fails, in both directions: every edge between the same two nodes that
    /// costs the edge's twin is one link with it only if `twin` names it.
    #[must_use]
    pub fn link(edge: EdgeId, twin: Option<EdgeId>) -> Self {
        let mut failure = Self::none();
        failure.edges.insert(edge.0);
        twin.into_iter().for_each(|twin| failure.edges.insert(twin.0));
        failure
    }

    /// A router or a network fails with all of its edges.
    #[must_use]
    pub fn node(graph: &Graph, node: Node) -> Self {
        let mut failure = Self { edges: Bits::default(), node: Some(node) };
        for arc in graph.out(node).iter().chain(graph.back(node)) {
            failure.edges.insert(arc.edge.0);
        }
        failure
    }

    /// The link fails, and with it every link that has one of its risks.
    #[must_use]
    pub fn shared_risk(graph: &Graph, edge: EdgeId, twin: Option<EdgeId>) -> Self {
        let mut failure = Self::link(edge, twin);
        let own = graph.risks(edge);
        for (other, risks) in graph.risky() {
            if risks.iter().any(|risk| own.contains(risk)) {
                failure.edges.insert(other.0);
            }
        }
        failure
    }

    /// Whether the edge fails.
    #[inline]
    #[must_use]
    pub fn has_edge(&self, edge: EdgeId) -> bool {
        self.edges.has(edge.0)
    }

    /// Whether the node fails.
    #[inline]
    #[must_use]
    pub fn has_node(&self, node: Node) -> bool {
        self.node == Some(node)
    }

    /// Nodes of which a shortest path, between them and the root of `distances`, touches what
    /// fails: what is not among them is the P-space of the root, or its Q-space where distances
    /// lead to it (RFC 7490 §4).
    pub(crate) fn touched(&self, graph: &Graph, distances: &Distances) -> Bits {
        let (mut bits, none) = (Bits::default(), Self::none());
        for &node in distances.order() {
            let is_touched = self.has_node(node)
                || distances
                    .tight(graph, node, &none)
                    .any(|arc| self.has_edge(arc.edge) || bits.has(arc.other.0));
            if is_touched && (node != distances.root() || self.has_node(node)) {
                bits.insert(node.0);
            }
        }
        bits
    }
}

/// Nodes that a root reaches without what fails (its P-space), or that reach it (its Q-space),
/// whichever of their equal shortest paths is taken.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    distances: Distances,
    touched: Bits,
}

impl Space {
    pub(crate) fn new(graph: &Graph, root: Node, direction: Direction, failure: &Failure) -> Self {
        let distances = Distances::new(graph, root, direction);
        let touched = failure.touched(graph, &distances);
        Self { distances, touched }
    }

    pub(crate) fn has(&self, node: Node) -> bool {
        self.distances.of(node) != crate::UNREACHED && !self.touched.has(node.0)
    }

    pub(crate) fn distance(&self, node: Node) -> u32 {
        self.distances.of(node)
    }
}
