//! Repairs that routes carry: walked with the tables from before the failure, and found wherever
//! their method promises one.

use crate::lfa::{all_distances, arrives};
use crate::reference;
use crate::world::{SHAPES, World};
use spf::{Between, Detour, Failure, Graph, Hop, Kind, Method, Node, Protections, Tree, UNREACHED};

/// Whether a neighbour of the root by another link is one, or leads to one, from where packets
/// reach the far end of the link without it (RFC 7490 §5).
fn has_remote(world: &World, all: &[Vec<u32>], link: &Failure, primary: Hop) -> bool {
    let (graph, root) = (&world.graph, world.routers[0]);
    let beside = graph.out(root).iter().filter(|arc| arc.edge != primary.edge);
    let near: Vec<Node> = beside.map(|arc| arc.other).collect();
    let ends = world.routers.iter().filter(|it| **it != root);
    let mut ends = ends.filter(|end| arrives(graph, all, link, **end, primary.via));
    ends.any(|end| near.iter().any(|it| arrives(graph, all, link, *it, *end)))
}

#[test]
fn every_pair_is_repaired_where_the_method_promises_it_and_repaired_packets_arrive() {
    let mut counts = [0; 3];
    for seed in 0..400 {
        let world = World::new(seed, SHAPES[seed as usize % 4], 12, seed % 3 != 0);
        let (graph, root) = (&world.graph, world.routers[0]);
        let all = all_distances(graph);
        let tree = Tree::new(graph, root);
        let near = Protections::new(graph, &tree, Method::Lfa);
        let far = Protections::new(graph, &tree, Method::RemoteLfa);
        for &to in &world.routers[1..] {
            let [primary] = *tree.hops(to) else {
                assert_eq!((near.of(graph, &tree, to), far.of(graph, &tree, to)), (None, None));
                continue;
            };
            let link = Failure::link(primary.edge, world.twin(primary.edge));
            let [near, far] = [&near, &far].map(|it| it.of(graph, &tree, to));
            assert!(near.is_none_or(|it| it.tunnel.is_none()), "seed {seed}");
            let by_neighbour = graph.out(root).iter().any(|arc| {
                arc.edge != primary.edge
                    && all[arc.other.0 as usize][to.0 as usize]
                        < all[arc.other.0 as usize][root.0 as usize]
                            .saturating_add(tree.distance(to))
            });
            assert!(near.is_some() || !by_neighbour, "seed {seed}: {to:?}");
            let is_promised = by_neighbour || has_remote(&world, &all, &link, primary);
            assert!(far.is_some() || !is_promised, "seed {seed}: {to:?}");
            counts[0] += usize::from(near.is_some());
            let Some(far) = far.filter(|_| is_promised) else { continue };
            counts[1] += 1;
            assert_ne!(far.hop.edge, primary.edge, "seed {seed}");
            let end = far.tunnel.unwrap_or(to);
            counts[2] += usize::from(far.tunnel.is_some());
            assert!(arrives(graph, &all, &link, far.hop.via, end), "seed {seed}: {far:?}");
            assert!(arrives(graph, &all, &link, end, to), "seed {seed}: {far:?}");
        }
    }
    assert!(counts[0] > 800 && counts[2] > 100, "{counts:?}");
}

/// The nodes of a path.
fn nodes(graph: &Graph, from: Node, path: &[spf::EdgeId]) -> Vec<Node> {
    let mut at = from;
    let mut all = vec![from];
    for edge in path {
        let [one, other] = graph.ends(*edge).unwrap();
        assert_eq!(one, at, "edges follow each other");
        at = other;
        all.push(at);
    }
    all
}

#[test]
fn paths_for_people_are_shortest_and_a_detour_avoids_the_first_hop() {
    let mut detours = 0;
    for seed in 0..200 {
        let mut world = World::new(seed, SHAPES[seed as usize % 4], 12, true);
        world.network(&[0, 3, 5], 2);
        let graph = &world.graph;
        for &from in &world.routers {
            let distances = reference::distances(graph, from, &Failure::none());
            // Another router of the same network is another hop.
            let hop = |path: &[spf::EdgeId]| {
                let mut way = nodes(graph, from, path).into_iter().skip(1);
                (path[0], way.find(|it| graph.kind(*it) == Some(Kind::Router)))
            };
            for &to in world.routers.iter().filter(|to| **to != from) {
                let wanted = distances[to.0 as usize];
                let Some(found) = Between::new(graph, from, to) else {
                    assert_eq!(wanted, UNREACHED);
                    continue;
                };
                let cost: u32 = found.path.iter().map(|it| graph.cost(*it).unwrap()).sum();
                assert_eq!((cost, found.cost), (wanted, wanted), "seed {seed}");
                assert_eq!(nodes(graph, from, &found.path).last(), Some(&to));
                assert!(found.path.iter().all(|it| found.all.contains(it)));
                let Some(detour) = Detour::new(graph, from, to, Method::RemoteLfa) else {
                    continue;
                };
                detours += 1;
                assert_ne!(hop(&detour.path), hop(&found.path), "seed {seed}");
                let way = nodes(graph, from, &detour.path);
                assert_eq!(way.last(), Some(&to));
                assert!(detour.tunnel.is_none_or(|end| way.contains(&end)));
                assert!(way.iter().any(|it| graph.kind(*it) == Some(Kind::Router)));
            }
        }
    }
    assert!(detours > 1_000, "{detours}");
}
