//! Loop-free alternates, by the inequalities of RFC 5286 over distances of the reference, and by
//! walking packets.

use crate::reference;
use crate::world::{SHAPES, Shape, World};
use spf::lfa::Alternates;
use spf::{Failure, Graph, Kind, Node, Tree, UNREACHED};

/// Every way of a packet from `at` by the tables from before the failure; false if one meets what
/// failed, or does not end.
pub fn arrives(graph: &Graph, all: &[Vec<u32>], failure: &Failure, at: Node, to: Node) -> bool {
    let mut next = vec![at];
    let mut left = 10_000;
    while let Some(at) = next.pop() {
        left -= 1;
        if left == 0 || failure.has_node(at) {
            return false;
        }
        if at == to {
            continue;
        }
        let own = all[at.0 as usize][to.0 as usize];
        if own == UNREACHED {
            return false;
        }
        for arc in graph.out(at) {
            let rest = all[arc.other.0 as usize][to.0 as usize];
            let is_usable = arc.other == to || graph.passes(arc.other, at);
            if is_usable && rest != UNREACHED && arc.cost + rest == own {
                if failure.has_edge(arc.edge) {
                    return false;
                }
                next.push(arc.other);
            }
        }
        next.sort_unstable();
        next.dedup();
    }
    true
}

pub fn all_distances(graph: &Graph) -> Vec<Vec<u32>> {
    let nodes = (0..graph.places()).map(|at| Node(at as u32));
    nodes.map(|node| reference::distances(graph, node, &Failure::none())).collect()
}

#[test]
fn an_alternate_brings_packets_past_what_it_protects_and_is_found_where_one_exists() {
    let (mut found, mut node_protecting) = (0, 0);
    for seed in 0..150 {
        let mut world = World::new(seed, SHAPES[seed as usize % 4], 14, seed.is_multiple_of(3));
        world.network(&[0, 1, 2, 3], 2);
        let graph = &world.graph;
        let all = all_distances(graph);
        let d = |from: Node, to: Node| all[from.0 as usize][to.0 as usize];
        let root = world.routers[0];
        let (tree, alternates) = (Tree::new(graph, root), Alternates::new(graph, root));
        for &to in &world.routers[1..] {
            let Some(&primary) = tree.hops(to).first() else { continue };
            let chosen = alternates.of(graph, &tree, to, primary);
            // Inequality 1 for any neighbour by another link.
            let links = graph.out(root).iter().filter(|arc| arc.edge != primary.edge);
            let is_plain = graph.kind(graph.ends(primary.edge).unwrap()[1]) == Some(Kind::Router);
            let exists =
                links.filter(|arc| graph.kind(arc.other) == Some(Kind::Router)).any(|arc| {
                    let back = d(arc.other, root).saturating_add(d(root, to));
                    is_plain && d(arc.other, to) < back
                });
            assert!(chosen.is_some() || !exists, "seed {seed}: {to:?} has an alternate");
            let Some(chosen) = chosen else { continue };
            found += 1;
            let twin = world.twin(primary.edge);
            if chosen.protects_link {
                let link = Failure::link(primary.edge, twin);
                assert!(arrives(graph, &all, &link, chosen.hop.via, to), "seed {seed}: {chosen:?}");
            }
            if chosen.protects_node && to != primary.via {
                node_protecting += 1;
                let node = Failure::node(graph, primary.via);
                assert!(arrives(graph, &all, &node, chosen.hop.via, to), "seed {seed}: {chosen:?}");
            }
            let is_nearer = d(chosen.hop.via, to) < d(root, to);
            assert_eq!(chosen.is_downstream, is_nearer, "seed {seed}");
        }
    }
    assert!(found > 500 && node_protecting > 200, "{found} {node_protecting}");
}

#[test]
fn an_alternate_without_a_risk_in_common_is_preferred() {
    let mut world = World::new(0, Shape::Tree, 1, true);
    world.routers.extend((0..4).map(|_| world.graph.add_node(Kind::Router).unwrap()));
    for (at, cost) in [(1, 1), (2, 2), (3, 3)] {
        world.link(0, at, [cost, cost]);
        world.link(at, 4, [1, 1]);
    }
    world.graph.set_risks(world.links[0][0], &[7]);
    world.graph.set_risks(world.links[2][0], &[3, 7]);
    let root = world.routers[0];
    let tree = Tree::new(&world.graph, root);
    let alternates = Alternates::new(&world.graph, root);
    let primary = tree.hops(world.routers[4])[0];
    let chosen = alternates.of(&world.graph, &tree, world.routers[4], primary).unwrap();
    assert_eq!((chosen.hop.via, chosen.shares_risk, chosen.cost), (world.routers[3], false, 4));
}

#[test]
fn a_router_that_nobody_may_pass_through_is_no_alternate() {
    let mut world = World::new(0, Shape::Ring, 4, true);
    for links in world.links.clone() {
        links.iter().for_each(|edge| world.graph.set_cost(*edge, 1));
    }
    world.link(0, 2, [1, 1]);
    let root = world.routers[0];
    let of = |graph: &Graph| {
        let tree = Tree::new(graph, root);
        let primary = tree.hops(world.routers[2])[0];
        Alternates::new(graph, root).of(graph, &tree, world.routers[2], primary)
    };
    assert!(of(&world.graph).is_some());
    let mut graph = world.graph.clone();
    graph.set_transit(world.routers[1], false);
    graph.set_transit(world.routers[3], false);
    assert_eq!(of(&graph), None);
}

#[test]
fn a_tunnel_to_a_remote_alternate_and_what_leaves_it_avoid_the_link() {
    let mut found = 0;
    for seed in 0..150 {
        let world = World::new(seed, SHAPES[seed as usize % 3], 12, true);
        let graph = &world.graph;
        let all = all_distances(graph);
        let root = world.routers[0];
        let tree = Tree::new(graph, root);
        let alternates = Alternates::new(graph, root);
        for &to in &world.routers[1..] {
            let Some(&primary) = tree.hops(to).first() else { continue };
            let twin = world.twin(primary.edge);
            let Some(remote) = alternates.remote(graph, primary, twin) else { continue };
            found += 1;
            let link = Failure::link(primary.edge, twin);
            assert!(arrives(graph, &all, &link, remote.hop.via, remote.node), "seed {seed}");
            assert!(arrives(graph, &all, &link, remote.node, primary.via), "seed {seed}");
        }
    }
    assert!(found > 300, "{found}");
}

#[test]
fn in_a_ring_of_six_the_far_side_is_the_remote_alternate() {
    let mut world = World::new(0, Shape::Ring, 6, true);
    for links in world.links.clone() {
        links.iter().for_each(|edge| world.graph.set_cost(*edge, 1));
    }
    let tree = Tree::new(&world.graph, world.routers[0]);
    let alternates = Alternates::new(&world.graph, world.routers[0]);
    let primary = tree.hops(world.routers[1])[0];
    assert_eq!(alternates.of(&world.graph, &tree, world.routers[1], primary), None);
    let remote = alternates.remote(&world.graph, primary, world.twin(primary.edge)).unwrap();
    assert_eq!((remote.node, remote.cost), (world.routers[3], 3));
}
