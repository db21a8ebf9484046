//! An incremental run: only what a change reached is computed again.
//!
//! First, in the order of the old distances, the nodes whose distance nothing supports any more are
//! found (Ramalingam and Reps 1996). Then these and the nodes that came nearer get their new
//! distances as in a full run. Last, in the order of the new distances, first hops are gathered
//! again where the nodes before them changed.

use crate::graph::{Graph, Node, distance_of, node_of};
use crate::hops::{EMPTY, SetId};
use crate::tree::Tree;
use crate::{UNREACHED, further};
use std::cmp::Reverse;

/// The distance lost its support.
const LOST: u8 = 1;
/// The node stands in the list of those whose hops are looked at.
const LISTED: u8 = 2;
/// The distance is not what it was.
const MOVED: u8 = 4;
/// The node waits in the queue.
const QUEUED: u8 = 8;
/// A change that reaches more than one node of so many at once is a full run.
const SHARE: usize = 4;

impl Tree {
    /// Follows changes of the graph that reached `touched` ([`Graph::take_touched`]). Returns the
    /// nodes whose distance or hops may be others than before; `None` after a full run, which
    /// large changes get.
    pub fn update(&mut self, graph: &Graph, touched: &[Node]) -> Option<Vec<Node>> {
        let is_large = touched.len() * SHARE > graph.places().max(64);
        let is_grown = graph.places() != self.distance.len();
        if is_large || self.sets.is_full() || !graph.is_live(self.root) {
            self.run(graph);
            return None;
        }
        if is_grown {
            self.distance.resize(graph.places(), UNREACHED);
            self.set.resize(graph.places(), EMPTY);
            self.marks.resize(graph.places(), 0);
        }
        let mut listed = Vec::with_capacity(touched.len() * 4);
        touched.iter().for_each(|node| self.list(*node, &mut listed));
        self.find_lost(graph, touched, &mut listed);
        self.find_distances(graph, &mut listed);
        let changed = self.gather_hops(graph, &mut listed);
        for node in listed {
            self.marks[node.0 as usize] = 0;
        }
        Some(changed)
    }

    fn list(&mut self, node: Node, listed: &mut Vec<Node>) {
        let mark = &mut self.marks[node.0 as usize];
        if *mark & LISTED == 0 {
            *mark |= LISTED;
            listed.push(node);
        }
    }

    fn enqueue(&mut self, graph: &Graph, node: Node) {
        if node != self.root {
            self.queue.push(Reverse(graph.key(self.distance[node.0 as usize], node)));
        }
    }

    /// Whether a node before this one still gives it its distance.
    fn is_supported(&self, graph: &Graph, node: Node) -> bool {
        let distance = self.distance[node.0 as usize];
        graph.back(node).iter().any(|arc| {
            let before = arc.other.0 as usize;
            self.marks[before] & LOST == 0
                && self.distance[before] != UNREACHED
                && further(self.distance[before], arc.cost) == distance
                && graph.passes(arc.other, self.root)
        })
    }

    fn find_lost(&mut self, graph: &Graph, touched: &[Node], listed: &mut Vec<Node>) {
        self.queue.clear();
        touched.iter().for_each(|node| self.enqueue(graph, *node));
        while let Some(Reverse(key)) = self.queue.pop() {
            let (node, distance) = (node_of(key), distance_of(key));
            let is_done = self.marks[node.0 as usize] & LOST != 0 || distance == UNREACHED;
            if is_done || self.is_supported(graph, node) {
                continue;
            }
            self.marks[node.0 as usize] |= LOST;
            for arc in graph.out(node) {
                if further(distance, arc.cost) == self.distance[arc.other.0 as usize] {
                    self.list(arc.other, listed);
                    self.enqueue(graph, arc.other);
                }
            }
        }
    }

    /// The shortest way to a node from those before it.
    fn nearest(&self, graph: &Graph, node: Node) -> u32 {
        let ways = graph.back(node).iter().filter(|arc| graph.passes(arc.other, self.root));
        ways.map(|arc| further(self.distance[arc.other.0 as usize], arc.cost))
            .min()
            .unwrap_or(UNREACHED)
    }

    fn find_distances(&mut self, graph: &Graph, listed: &mut Vec<Node>) {
        self.queue.clear();
        for node in &*listed {
            let at = node.0 as usize;
            if self.marks[at] & LOST != 0 {
                self.distance[at] = UNREACHED;
                self.marks[at] |= MOVED;
            }
        }
        for node in listed.clone() {
            let nearest = self.nearest(graph, node);
            if node != self.root && nearest < self.distance[node.0 as usize] {
                self.distance[node.0 as usize] = nearest;
                self.marks[node.0 as usize] |= MOVED;
                self.enqueue(graph, node);
            }
        }
        while let Some(Reverse(key)) = self.queue.pop() {
            let node = node_of(key);
            let is_old = distance_of(key) != self.distance[node.0 as usize];
            if is_old || !graph.passes(node, self.root) {
                continue;
            }
            for arc in graph.out(node) {
                let new = further(distance_of(key), arc.cost);
                if new < self.distance[arc.other.0 as usize] {
                    self.distance[arc.other.0 as usize] = new;
                    self.list(arc.other, listed);
                    self.marks[arc.other.0 as usize] |= MOVED;
                    self.enqueue(graph, arc.other);
                }
            }
        }
    }

    fn gathered(&mut self, graph: &Graph, node: Node) -> SetId {
        let distance = self.distance[node.0 as usize];
        let mut set = EMPTY;
        if distance == UNREACHED || node == self.root {
            return set;
        }
        for &arc in graph.back(node) {
            let before = self.distance[arc.other.0 as usize];
            if before != UNREACHED
                && further(before, arc.cost) == distance
                && graph.passes(arc.other, self.root)
            {
                let onward = crate::pool::Arc { other: node, ..arc };
                let more = self.onward(graph, arc.other, onward);
                set = self.sets.union(set, more);
            }
        }
        set
    }

    fn gather_hops(&mut self, graph: &Graph, listed: &mut Vec<Node>) -> Vec<Node> {
        let mut changed = Vec::new();
        self.queue.clear();
        listed.iter().for_each(|node| self.queue_hops(graph, *node));
        while let Some(Reverse(key)) = self.queue.pop() {
            let node = node_of(key);
            self.marks[node.0 as usize] &= !QUEUED;
            let set = self.gathered(graph, node);
            let is_other = core::mem::replace(&mut self.set[node.0 as usize], set) != set;
            let has_moved = self.marks[node.0 as usize] & MOVED != 0;
            if !is_other && !has_moved {
                continue;
            }
            changed.push(node);
            if distance_of(key) == UNREACHED || !graph.passes(node, self.root) {
                continue;
            }
            for arc in graph.out(node) {
                let follows = further(distance_of(key), arc.cost);
                if follows == self.distance[arc.other.0 as usize] {
                    self.list(arc.other, listed);
                    self.queue_hops(graph, arc.other);
                }
            }
        }
        changed
    }

    fn queue_hops(&mut self, graph: &Graph, node: Node) {
        let mark = &mut self.marks[node.0 as usize];
        if *mark & QUEUED == 0 {
            *mark |= QUEUED;
            self.enqueue(graph, node);
            if node == self.root {
                self.marks[node.0 as usize] &= !QUEUED;
            }
        }
    }
}
