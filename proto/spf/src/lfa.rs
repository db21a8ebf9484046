//! Loop-free alternates (RFC 5286) and remote ones (RFC 7490).

use crate::failure::Space;
use crate::graph::{Graph, Kind, Node};
use crate::{Direction, Distances, EdgeId, Failure, Hop, Tree, UNREACHED, further};
use std::collections::BTreeMap;

/// A neighbour that brings packets to a destination without coming back (RFC 5286 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alternate {
    /// How packets leave.
    pub hop: Hop,
    /// Its shortest paths avoid the primary next hop's router (inequality 3).
    pub protects_node: bool,
    /// Neither the first link nor, where that is a network, what follows uses the protected one
    /// (inequality 4 and its like).
    pub protects_link: bool,
    /// It is nearer to the destination than the root is (inequality 2).
    pub is_downstream: bool,
    /// Its first link has a risk in common with the protected one.
    pub shares_risk: bool,
    /// What the way by it costs.
    pub cost: u32,
}

/// A router to tunnel to for what a link carried (RFC 7490): in the extended P-space of the root
/// and in the Q-space of the link's far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAlternate {
    /// How packets to the tunnel's end leave.
    pub hop: Hop,
    /// The tunnel's end, the PQ node.
    pub node: Node,
    /// What the way to it costs.
    pub cost: u32,
}

/// What is needed to choose alternates of a root: its neighbours, and the distances from each.
#[derive(Debug)]
pub struct Alternates {
    root: Node,
    neighbours: Vec<Hop>,
    from: BTreeMap<Node, Distances>,
}

/// How a packet to `hop.via` leaves `root`: the arc onto the link, and from a network onwards.
fn neighbours(graph: &Graph, root: Node) -> Vec<Hop> {
    let mut found = Vec::new();
    for arc in graph.out(root) {
        if graph.kind(arc.other) == Some(Kind::Router) {
            found.push(Hop { edge: arc.edge, via: arc.other });
            continue;
        }
        let beyond = graph.out(arc.other).iter().filter(|it| it.other != root);
        found.extend(beyond.map(|it| Hop { edge: arc.edge, via: it.other }));
    }
    found.sort_unstable();
    found.dedup();
    found
}

impl Alternates {
    /// Runs Dijkstra's algorithm from each neighbour of `root`, and from each network that it is
    /// on.
    #[must_use]
    pub fn new(graph: &Graph, root: Node) -> Self {
        let neighbours = neighbours(graph, root);
        let networks = graph.out(root).iter().map(|arc| arc.other);
        let sources = neighbours.iter().map(|hop| hop.via).chain(networks);
        let mut from = BTreeMap::new();
        for source in sources {
            from.entry(source).or_insert_with(|| Distances::new(graph, source, Direction::From));
        }
        Self { root, neighbours, from }
    }

    fn distance(&self, from: Node, to: Node) -> u32 {
        self.from.get(&from).map_or(UNREACHED, |distances| distances.of(to))
    }

    /// The best alternate for `destination` when the primary hop `primary` fails (§3.6): one that
    /// protects node and link before one that protects the link, then one without a risk in
    /// common, then the cheapest.
    #[must_use]
    pub fn of(
        &self,
        graph: &Graph,
        tree: &Tree,
        destination: Node,
        primary: Hop,
    ) -> Option<Alternate> {
        let found = self.neighbours.iter().filter(|hop| **hop != primary);
        let found =
            found.filter_map(|hop| self.alternate(graph, tree, destination, [primary, *hop]));
        found.min_by_key(|it| {
            let protects = (it.protects_node, it.protects_link);
            (core::cmp::Reverse(protects), it.shares_risk, it.cost, it.hop)
        })
    }

    fn alternate(&self, graph: &Graph, tree: &Tree, to: Node, hops: [Hop; 2]) -> Option<Alternate> {
        let [primary, hop] = hops;
        let own = self.distance(hop.via, to);
        let back = further(self.distance(hop.via, self.root), tree.distance(to));
        // Inequality 1; and a router that is not passed through can only be the end itself.
        let is_loop_free = own < back && (graph.passes(hop.via, self.root) || hop.via == to);
        if own == UNREACHED || !is_loop_free || hop.via == primary.via && hop.edge == primary.edge {
            return None;
        }
        let by = |node: Node| further(self.distance(hop.via, node), self.distance(node, to));
        let link = graph.ends(primary.edge)?[1];
        let is_network = graph.kind(link) == Some(Kind::Network);
        let protects_node = hop.via != primary.via && own < by(primary.via);
        // On a network, the alternate must neither be reached by it nor go on through it.
        let avoids_link = if is_network { own < by(link) } else { true };
        let protects_link = hop.edge != primary.edge && avoids_link;
        if !protects_link && !protects_node {
            return None;
        }
        let risks = graph.risks(primary.edge);
        Some(Alternate {
            hop,
            protects_node,
            protects_link,
            is_downstream: own < tree.distance(to),
            shares_risk: graph.risks(hop.edge).iter().any(|risk| risks.contains(risk)),
            cost: further(graph.cost(hop.edge)?, own),
        })
    }

    /// The nearest router to tunnel to when the link of `primary` fails, whose twin is `twin`: any
    /// destination beyond the link is reached from there (RFC 7490 §5.3). Neighbours of the root
    /// are alternates themselves and found by [`Alternates::of`] already; they count here too.
    #[must_use]
    pub fn remote(
        &self,
        graph: &Graph,
        primary: Hop,
        twin: Option<EdgeId>,
    ) -> Option<RemoteAlternate> {
        let failure = Failure::link(primary.edge, twin);
        let q_space = Space::new(graph, primary.via, Direction::To, &failure);
        let mut best: Option<RemoteAlternate> = None;
        for &hop in &self.neighbours {
            let is_useless = hop.edge == primary.edge || !graph.passes(hop.via, self.root);
            let Some(first) = graph.cost(hop.edge).filter(|_| !is_useless) else { continue };
            let Some(from) = self.from.get(&hop.via) else { continue };
            let touched = failure.touched(graph, from);
            for &node in from.order().iter().filter(|node| !touched.has(node.0)) {
                let is_router = graph.kind(node) == Some(Kind::Router) && node != self.root;
                if !is_router || !q_space.has(node) {
                    continue;
                }
                let cost = further(first, from.of(node));
                let found = RemoteAlternate { hop, node, cost };
                let key = |it: &RemoteAlternate| (it.cost, it.node, it.hop);
                if best.as_ref().is_none_or(|it| key(&found) < key(it)) {
                    best = Some(found);
                }
            }
        }
        best
    }
}
