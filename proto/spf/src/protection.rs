//! Repairs that routes carry: of each destination with one first hop, where its packets go while
//! that hop does not work.

use crate::lfa::{Alternates, RemoteAlternate};
use crate::{Graph, Hop, Node, Tree};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How routes are repaired ahead of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By a neighbour that brings packets there without coming back (RFC 5286).
    Lfa,
    /// Where there is none, by a tunnel to a router that does, for the failure of a link
    /// (RFC 7490).
    RemoteLfa,
}

/// A repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// How packets leave.
    pub hop: Hop,
    /// The end of the tunnel in which they leave; none: they leave as they are.
    pub tunnel: Option<Node>,
}

/// The repairs of one root.
#[derive(Debug)]
pub struct Protections {
    method: Method,
    alternates: Alternates,
    /// Ends of tunnels, by the first hop that fails: looked for when they are asked for.
    remote: RefCell<BTreeMap<Hop, Option<RemoteAlternate>>>,
}

impl Protections {
    /// Those of the tree's root.
    #[must_use]
    pub fn new(graph: &Graph, tree: &Tree, method: Method) -> Self {
        let alternates = Alternates::new(graph, tree.root());
        Self { method, alternates, remote: RefCell::default() }
    }

    /// The repair of a destination. None where it has several first hops, which stand in for each
    /// other, and where the method finds none.
    #[must_use]
    pub fn of(&self, graph: &Graph, tree: &Tree, destination: Node) -> Option<Protection> {
        let [primary] = *tree.hops(destination) else { return None };
        let near = self.alternates.of(graph, tree, destination, primary);
        let own = near.map(|it| Protection { hop: it.hop, tunnel: None });
        let is_enough = near.is_some_and(|it| it.protects_link);
        if is_enough || self.method == Method::Lfa {
            return own;
        }
        self.far(graph, tree, primary).or(own)
    }

    fn far(&self, graph: &Graph, tree: &Tree, primary: Hop) -> Option<Protection> {
        let mut known = self.remote.borrow_mut();
        let found = known.entry(primary).or_insert_with(|| {
            let [root, far] = graph.ends(primary.edge)?;
            debug_assert_eq!(root, tree.root(), "first hops leave the root");
            let twin = graph.back(root).iter().find(|arc| arc.other == far).map(|arc| arc.edge);
            self.alternates.remote(graph, primary, twin)
        });
        let tunnel = |it: &RemoteAlternate| (it.node != it.hop.via).then_some(it.node);
        found.as_ref().map(|it| Protection { hop: it.hop, tunnel: tunnel(it) })
    }
}
