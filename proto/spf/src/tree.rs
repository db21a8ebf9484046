//! The tree of shortest paths from one root: a full run (RFC 2328 §16.1 (1) to (5)).

use crate::graph::{Graph, Kind, Node, distance_of, node_of};
use crate::hops::{EMPTY, Hop, HopSets, SetId};
use crate::pool::Arc;
use crate::{UNREACHED, further};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Distances and first hops from one root.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(crate) root: Node,
    pub(crate) distance: Vec<u32>,
    pub(crate) set: Vec<SetId>,
    pub(crate) sets: HopSets,
    pub(crate) queue: BinaryHeap<Reverse<u64>>,
    pub(crate) marks: Vec<u8>,
}

impl Tree {
    /// The tree of `root`, computed.
    #[must_use]
    pub fn new(graph: &Graph, root: Node) -> Self {
        let mut tree = Self {
            root,
            distance: Vec::new(),
            set: Vec::new(),
            sets: HopSets::new(),
            queue: BinaryHeap::new(),
            marks: Vec::new(),
        };
        tree.run(graph);
        tree
    }

    /// Its root.
    #[must_use]
    pub const fn root(&self) -> Node {
        self.root
    }

    /// What the way to a node costs; [`UNREACHED`] if there is none.
    #[must_use]
    pub fn distance(&self, node: Node) -> u32 {
        self.distance.get(node.0 as usize).copied().unwrap_or(UNREACHED)
    }

    /// The first hops of the equal shortest paths to a node, at most [`crate::PATHS_MAX`]: none of
    /// the root and of what cannot be reached.
    #[must_use]
    pub fn hops(&self, node: Node) -> &[Hop] {
        self.set.get(node.0 as usize).map_or(&[], |set| self.sets.hops(*set))
    }

    /// A full run.
    pub fn run(&mut self, graph: &Graph) {
        let places = graph.places();
        self.distance.clear();
        self.distance.resize(places, UNREACHED);
        self.set.clear();
        self.set.resize(places, EMPTY);
        self.marks.clear();
        self.marks.resize(places, 0);
        self.sets.clear();
        self.queue.clear();
        if !graph.is_live(self.root) {
            return;
        }
        self.distance[self.root.0 as usize] = 0;
        self.queue.push(Reverse(graph.key(0, self.root)));
        while let Some(Reverse(key)) = self.queue.pop() {
            let node = node_of(key);
            if distance_of(key) == self.distance[node.0 as usize] && graph.passes(node, self.root) {
                self.settle(graph, node);
            }
        }
    }

    fn settle(&mut self, graph: &Graph, node: Node) {
        let distance = self.distance[node.0 as usize];
        let is_plain = node != self.root && graph.kind(node) == Some(Kind::Router);
        let own = self.set[node.0 as usize];
        for arc in graph.out(node) {
            let at = arc.other.0 as usize;
            let new = further(distance, arc.cost);
            if new > self.distance[at] || new == UNREACHED || arc.other == self.root {
                continue;
            }
            let set = if is_plain { own } else { self.onward(graph, node, *arc) };
            if new < self.distance[at] {
                self.distance[at] = new;
                self.set[at] = set;
                self.queue.push(Reverse(graph.key(new, arc.other)));
            } else {
                self.set[at] = self.sets.union(self.set[at], set);
            }
        }
    }

    /// The hops of a path that goes on from `node` by `arc`.
    pub(crate) fn onward(&mut self, graph: &Graph, node: Node, arc: Arc) -> SetId {
        if node == self.root {
            return self.sets.one(Hop { edge: arc.edge, via: arc.other });
        }
        let set = self.set[node.0 as usize];
        if graph.kind(node) == Some(Kind::Network) {
            return self.sets.across(set, node, arc.other);
        }
        set
    }
}
