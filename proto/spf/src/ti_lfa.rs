//! Topology-independent loop-free alternates (RFC 9855): what the root does with packets to a
//! destination once what it protects against has failed, and all others do not know of it yet.
//!
//! ```text
//! root ── hop ──→ N ══ shortest paths ══→ p ── adjacency ──→ q ══ shortest paths ══→ destination
//!                      node segment p          q's segment         the packet's own
//! ```
//!
//! Packets follow the path that the root will use after convergence. From each router on it the
//! furthest one is taken that its shortest paths reach without what fails, whichever of the equal
//! ones is taken (P-space, Q-space); where they reach not even the next one, its adjacency is.

use crate::failure::{Bits, Space};
use crate::graph::{Graph, Kind, Node};
use crate::{Direction, Distances, Failure, Hop, Tree, UNREACHED};
use std::collections::BTreeMap;

/// A segment (RFC 8402 §3), by what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Segment {
    /// By the shortest path to that router: its prefix segment.
    Node(Node),
    /// By that adjacency of the router where the packet is: its adjacency segment. `edge` is that
    /// router's, onto the link; `via` the router at the other end.
    Adjacency(Hop),
}

/// How the root repairs its way to a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// How packets leave the root.
    pub hop: Hop,
    /// Segments in front of the packet's own, the first one first; none where `hop.via` is a
    /// loop-free alternate.
    pub segments: Vec<Segment>,
}

/// Routers between the root and the destination; [`repairs`] gives up on longer paths.
const PATH_MAX: usize = 1_024;

/// The repair of each router that `root` reaches by a shortest path that `failure` touches, and
/// still reaches without: destinations in the order of their numbers.
///
/// A node that fails is no destination: its packets are repaired for the failure of the link.
#[must_use]
pub fn repairs(graph: &Graph, tree: &Tree, failure: &Failure) -> Vec<(Node, Repair)> {
    let root = tree.root();
    let now = Space::new(graph, root, Direction::From, failure);
    let after = Distances::without(graph, root, Direction::From, failure);
    let mut spaces = Spaces { graph, failure, touched: BTreeMap::new() };
    let routers = graph.nodes().filter(|node| graph.kind(*node) == Some(Kind::Router));
    let hit =
        routers.filter(|node| *node != root && now.distance(*node) != UNREACHED && !now.has(*node));
    hit.filter(|node| after.of(*node) != UNREACHED)
        .filter_map(|node| {
            let path = path(graph, &after, node, failure)?;
            Some((node, spaces.repair(&path)?))
        })
        .collect()
}

/// The routers of the path to `node`, each with the edge by which the one before reaches it; the
/// root is left out.
fn path(graph: &Graph, after: &Distances, node: Node, failure: &Failure) -> Option<Vec<Hop>> {
    let mut path = Vec::new();
    let mut at = node;
    while at != after.root() {
        if path.len() >= PATH_MAX {
            return None;
        }
        // The lowest edge of a network's or a router's equal ones: every destination beyond takes
        // the same way.
        let arc = after.tight(graph, at, failure).min_by_key(|arc| arc.edge)?;
        let mut hop = Hop { edge: arc.edge, via: at };
        at = arc.other;
        if graph.kind(at) == Some(Kind::Network) {
            let onto = after.tight(graph, at, failure).min_by_key(|arc| arc.edge)?;
            (hop.edge, at) = (onto.edge, onto.other);
        }
        path.push(hop);
    }
    path.reverse();
    Some(path)
}

/// What is touched of the shortest paths of each router that was asked for.
struct Spaces<'a> {
    graph: &'a Graph,
    failure: &'a Failure,
    touched: BTreeMap<Node, Bits>,
}

impl Spaces<'_> {
    /// Whether all shortest paths from one router to another avoid what fails.
    fn reaches(&mut self, from: Node, to: Node) -> bool {
        let (graph, failure) = (self.graph, self.failure);
        let touched = self.touched.entry(from).or_insert_with(|| {
            let distances = Distances::new(graph, from, Direction::From);
            let mut bits = failure.touched(graph, &distances);
            // What is not reached at all is not reached without the failure either.
            let far = graph.nodes().filter(|node| distances.of(*node) == UNREACHED);
            far.for_each(|node| bits.insert(node.0));
            bits
        });
        !touched.has(to.0)
    }

    fn repair(&mut self, path: &[Hop]) -> Option<Repair> {
        let (&hop, &last) = (path.first()?, path.last()?);
        let mut segments = Vec::new();
        let mut at = 0;
        while path[at].via != last.via && !self.reaches(path[at].via, last.via) {
            let mut beyond = (at + 1..path.len() - 1).rev();
            let furthest = beyond.find(|to| self.reaches(path[at].via, path[*to].via));
            if let Some(to) = furthest {
                segments.push(Segment::Node(path[to].via));
                at = to;
            } else {
                at += 1;
                segments.push(Segment::Adjacency(path[at]));
            }
        }
        Some(Repair { hop, segments })
    }
}
