//! The nodes of a graph and how they are joined, before a worker runs it.

use crate::chains::{ARCS_MAX, ArcRow, ChainsWriter};
use crate::graph::{Graph, Placed};
use crate::next::NODES_MAX;
use crate::node::{Node, Row};
use std::collections::BTreeMap;
use std::sync::Arc;
use table::epoch::{Domain, Reader};

/// Features of an arc at most.
pub const FEATURES_MAX: usize = 64;

/// Why a plan makes no graph.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// Two nodes of one name.
    #[error("two nodes are called {0}")]
    Twice(String),
    /// A node names a follower that is not there.
    #[error("{node} is followed by {next}, which is not in the graph")]
    Missing {
        /// Who names it.
        node: String,
        /// Whom it names.
        next: String,
    },
    /// More than [`NODES_MAX`] nodes.
    #[error("a graph has {NODES_MAX} nodes at most")]
    TooMany,
    /// More than [`ARCS_MAX`] arcs, or an arc with more than [`FEATURES_MAX`] features.
    #[error("a graph has {ARCS_MAX} arcs of {FEATURES_MAX} features at most")]
    Arcs,
}

/// Nodes and arcs, to be made into the graphs of all workers.
#[derive(Default)]
pub struct Plan {
    nodes: Vec<Box<dyn Node>>,
    arcs: Vec<ArcRow>,
}

impl Plan {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    #[must_use]
    pub fn node(mut self, node: impl Node + 'static) -> Self {
        self.nodes.push(Box::new(node));
        self
    }

    /// Adds an arc.
    #[must_use]
    pub fn arc(mut self, arc: ArcRow) -> Self {
        self.arcs.push(arc);
        self
    }

    /// The chains of this plan: the first worker's plan makes them, all workers read them.
    ///
    /// # Errors
    /// What is wrong with the plan.
    pub fn chains(&self, domain: &Arc<Domain>) -> Result<ChainsWriter, PlanError> {
        let rows: Vec<Row> = self.nodes.iter().map(|node| node.row()).collect();
        let order = Order::of(&rows, &self.arcs)?;
        let places = order.places(&rows);
        Ok(ChainsWriter::new(domain, self.arcs.clone(), places))
    }

    /// The graph of one worker. Workers whose plans have the same nodes and arcs in the same
    /// order may share `chains`.
    ///
    /// # Errors
    /// What is wrong with the plan.
    pub fn build(self, chains: &ChainsWriter, reader: Reader) -> Result<Graph, PlanError> {
        let rows: Vec<Row> = self.nodes.iter().map(|node| node.row()).collect();
        let order = Order::of(&rows, &self.arcs)?;
        let places = order.places(&rows);
        let mut nodes: Vec<_> = self.nodes.into_iter().zip(rows).map(Some).collect();
        let placed = order.sequence.iter().map(|at| {
            let (node, row) = nodes[*at].take().expect("each node has one place");
            let place = |next: &usize| order.place[*next];
            let edges = row.next.iter().map(|name| places[*name]).collect();
            let back = order.followers[*at].iter().map(place).filter(|to| *to <= order.place[*at]);
            Placed::new(node, row, edges, back.collect())
        });
        Ok(Graph::new(placed.collect(), places, chains.published(), reader))
    }
}

/// Every node's place: followers come after those they follow, as far as the graph has no circle,
/// so that vectors gather before a node runs.
struct Order {
    /// Nodes as planned, by place.
    sequence: Vec<usize>,
    /// Places, by node as planned.
    place: Vec<u16>,
    /// By node as planned: those that may follow it.
    followers: Vec<Vec<usize>>,
}

impl Order {
    fn of(rows: &[Row], arcs: &[ArcRow]) -> Result<Self, PlanError> {
        if rows.len() > NODES_MAX {
            return Err(PlanError::TooMany);
        }
        if arcs.len() > ARCS_MAX || arcs.iter().any(|arc| arc.features.len() > FEATURES_MAX) {
            return Err(PlanError::Arcs);
        }
        let mut by_name = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            if by_name.insert(row.name.as_ref(), at).is_some() {
                return Err(PlanError::Twice(row.name.to_string()));
            }
        }
        let followers = followers(rows, arcs, &by_name)?;
        let (mut seen, mut sequence) = (vec![false; rows.len()], Vec::new());
        for at in 0..rows.len() {
            visit(at, &followers, &mut seen, &mut sequence);
        }
        sequence.reverse();
        let mut place = vec![0; rows.len()];
        for (at, node) in sequence.iter().enumerate() {
            place[*node] = machine::narrow::index(at);
        }
        Ok(Self { sequence, place, followers })
    }

    fn places(&self, rows: &[Row]) -> BTreeMap<String, u16> {
        rows.iter().zip(&self.place).map(|(row, place)| (row.name.to_string(), *place)).collect()
    }
}

/// Who may follow whom: by edges, and along the arcs.
fn followers(
    rows: &[Row],
    arcs: &[ArcRow],
    by_name: &BTreeMap<&str, usize>,
) -> Result<Vec<Vec<usize>>, PlanError> {
    let find = |node: &str, next: &str| {
        let missing = || PlanError::Missing { node: node.to_owned(), next: next.to_owned() };
        by_name.get(next).copied().ok_or_else(missing)
    };
    let mut followers = vec![Vec::new(); rows.len()];
    for (at, row) in rows.iter().enumerate() {
        for next in row.next.iter() {
            followers[at].push(find(&row.name, next)?);
        }
    }
    for arc in arcs {
        let names: Vec<&str> = arc.features.iter().copied().chain([arc.end]).collect();
        let starts = arc.starts.iter().flat_map(|start| names.iter().map(move |to| (*start, *to)));
        for (from, to) in starts.chain(names.windows(2).map(|pair| (pair[0], pair[1]))) {
            followers[find(arc.name, from)?].push(find(arc.name, to)?);
        }
    }
    Ok(followers)
}

/// Depth first; the depth is the number of nodes at most.
fn visit(at: usize, followers: &[Vec<usize>], seen: &mut [bool], left: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[at], true) {
        return;
    }
    for next in &followers[at] {
        visit(*next, followers, seen, left);
    }
    left.push(at);
}
