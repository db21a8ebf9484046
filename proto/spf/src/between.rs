//! The paths between two nodes, for people to see: the shortest, its equals, and the one that
//! packets take while the first link of it does not work.

use crate::{
    Direction, Distances, EdgeId, Failure, Graph, Hop, Kind, Method, Node, Protections, Tree,
    UNREACHED,
};
use std::collections::{BTreeSet, VecDeque};

/// The shortest paths from one node to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Between {
    /// What they cost.
    pub cost: u32,
    /// The edges of one of them, in order.
    pub path: Vec<EdgeId>,
    /// The edges of all of them.
    pub all: BTreeSet<EdgeId>,
}

/// The path of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detour {
    /// Its edges, in order.
    pub path: Vec<EdgeId>,
    /// The end of the tunnel that it begins with, if it does.
    pub tunnel: Option<Node>,
}

impl Between {
    /// The paths from one node to another; none where there is no way.
    #[must_use]
    pub fn new(graph: &Graph, from: Node, to: Node) -> Option<Self> {
        let (distances, nothing) = (Distances::new(graph, from, Direction::From), Failure::none());
        let cost = distances.of(to);
        if cost == UNREACHED {
            return None;
        }
        let (mut all, mut path) = (BTreeSet::new(), Vec::new());
        let (mut seen, mut left) = (BTreeSet::from([to]), VecDeque::from([to]));
        while let Some(node) = left.pop_front() {
            for arc in distances.tight(graph, node, &nothing).filter(|_| node != from) {
                all.insert(arc.edge);
                if seen.insert(arc.other) {
                    left.push_back(arc.other);
                }
            }
        }
        let mut at = to;
        while at != from {
            let arc = distances.tight(graph, at, &nothing).min_by_key(|arc| arc.edge)?;
            path.push(arc.edge);
            at = arc.other;
        }
        path.reverse();
        Some(Self { cost, path, all })
    }
}

impl Detour {
    /// The way from one node to another while the first hop of its shortest path does not work;
    /// none where there are several, or no repair.
    #[must_use]
    pub fn new(graph: &Graph, from: Node, to: Node, method: Method) -> Option<Self> {
        let tree = Tree::new(graph, from);
        let found = Protections::new(graph, &tree, method).of(graph, &tree, to)?;
        let mut path = onto(graph, found.hop)?;
        let mut at = found.hop.via;
        for end in found.tunnel.into_iter().chain([to]) {
            path.extend(Between::new(graph, at, end)?.path);
            at = end;
        }
        Some(Self { path, tunnel: found.tunnel })
    }
}

/// The edges of a first hop: one, or two across a network.
fn onto(graph: &Graph, hop: Hop) -> Option<Vec<EdgeId>> {
    let [_, link] = graph.ends(hop.edge)?;
    if link == hop.via || graph.kind(link) != Some(Kind::Network) {
        return Some(vec![hop.edge]);
    }
    let across = graph.out(link).iter().find(|arc| arc.other == hop.via)?;
    Some(vec![hop.edge, across.edge])
}
