//! Distances alone: from a node to all others, or from all others to a node.

use crate::graph::{Graph, Node, distance_of, node_of};
use crate::{Arc, Failure, UNREACHED, further};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which way paths lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the root to all others.
    From,
    /// From all others to the root.
    To,
}

/// Distances between one node and all others.
#[derive(Debug, Clone)]
pub struct Distances {
    root: Node,
    direction: Direction,
    distance: Vec<u32>,
    /// Nodes in the order in which they were settled.
    order: Vec<Node>,
}

impl Distances {
    /// Those of the whole graph.
    #[must_use]
    pub fn new(graph: &Graph, root: Node, direction: Direction) -> Self {
        Self::without(graph, root, direction, &Failure::none())
    }

    /// Those of what `failure` leaves over.
    #[must_use]
    pub fn without(graph: &Graph, root: Node, direction: Direction, failure: &Failure) -> Self {
        let distance = vec![UNREACHED; graph.places()];
        let mut made = Self { root, direction, distance, order: Vec::new() };
        if graph.is_live(root) && !failure.has_node(root) {
            made.run(graph, failure);
        }
        made
    }

    fn run(&mut self, graph: &Graph, failure: &Failure) {
        let mut queue = BinaryHeap::new();
        self.distance[self.root.0 as usize] = 0;
        queue.push(Reverse(graph.key(0, self.root)));
        while let Some(Reverse(key)) = queue.pop() {
            let (node, distance) = (node_of(key), distance_of(key));
            if distance != self.distance[node.0 as usize] {
                continue;
            }
            self.order.push(node);
            if !graph.passes(node, self.root) {
                continue;
            }
            for arc in self.arcs(graph, node) {
                let new = further(distance, arc.cost);
                let is_nearer = new < self.distance[arc.other.0 as usize];
                if is_nearer && !failure.has_edge(arc.edge) && !failure.has_node(arc.other) {
                    self.distance[arc.other.0 as usize] = new;
                    queue.push(Reverse(graph.key(new, arc.other)));
                }
            }
        }
    }

    fn arcs<'a>(&self, graph: &'a Graph, node: Node) -> &'a [Arc] {
        match self.direction {
            Direction::From => graph.out(node),
            Direction::To => graph.back(node),
        }
    }

    /// The node that all distances are from, or to.
    #[must_use]
    pub const fn root(&self) -> Node {
        self.root
    }

    /// The distance of a node; [`UNREACHED`] where there is no way.
    #[must_use]
    pub fn of(&self, node: Node) -> u32 {
        self.distance.get(node.0 as usize).copied().unwrap_or(UNREACHED)
    }

    /// Nodes that are reached, the nearest first.
    #[must_use]
    pub fn order(&self) -> &[Node] {
        &self.order
    }

    /// The arcs by which shortest paths come to `node` from the side of the root.
    pub(crate) fn tight<'a>(
        &'a self,
        graph: &'a Graph,
        node: Node,
        failure: &'a Failure,
    ) -> impl Iterator<Item = Arc> + 'a {
        let arcs = match self.direction {
            Direction::From => graph.back(node),
            Direction::To => graph.out(node),
        };
        let distance = self.of(node);
        arcs.iter().copied().filter(move |arc| {
            let before = self.of(arc.other);
            before != UNREACHED
                && further(before, arc.cost) == distance
                && graph.passes(arc.other, self.root)
                && !failure.has_edge(arc.edge)
        })
    }
}
