//! The slow reference: Bellman and Ford until nothing changes, and hops by their definition.

use spf::{Failure, Graph, Hop, Kind, Node, PATHS_MAX, UNREACHED};
use std::collections::BTreeSet;

/// Distances from `root` over what `failure` leaves.
pub fn distances(graph: &Graph, root: Node, failure: &Failure) -> Vec<u32> {
    let mut distance = vec![UNREACHED; graph.places()];
    if failure.has_node(root) || !graph.is_live(root) {
        return distance;
    }
    distance[root.0 as usize] = 0;
    loop {
        let mut is_still = true;
        for from in graph.nodes() {
            let own = distance[from.0 as usize];
            if own == UNREACHED || !graph.passes(from, root) {
                continue;
            }
            for arc in graph.out(from) {
                let new = own + arc.cost;
                let is_gone = failure.has_edge(arc.edge) || failure.has_node(arc.other);
                if !is_gone && new < distance[arc.other.0 as usize] {
                    distance[arc.other.0 as usize] = new;
                    is_still = false;
                }
            }
        }
        if is_still {
            return distance;
        }
    }
}

/// First hops of all shortest paths, found by walking them backwards.
pub fn hops(graph: &Graph, root: Node, distance: &[u32]) -> Vec<Vec<Hop>> {
    let mut sets: Vec<BTreeSet<Hop>> = vec![BTreeSet::new(); graph.places()];
    loop {
        let before = sets.clone();
        for from in graph.nodes() {
            let own = distance[from.0 as usize];
            if own == UNREACHED || !graph.passes(from, root) {
                continue;
            }
            for arc in graph.out(from) {
                if arc.other == root || own + arc.cost != distance[arc.other.0 as usize] {
                    continue;
                }
                if from == root {
                    sets[arc.other.0 as usize].insert(Hop { edge: arc.edge, via: arc.other });
                    continue;
                }
                let is_network = graph.kind(from) == Some(Kind::Network);
                for hop in before[from.0 as usize].clone() {
                    let via = if is_network && hop.via == from { arc.other } else { hop.via };
                    sets[arc.other.0 as usize].insert(Hop { via, ..hop });
                }
            }
        }
        if before == sets {
            return sets.into_iter().map(|set| set.into_iter().take(PATHS_MAX).collect()).collect();
        }
    }
}
