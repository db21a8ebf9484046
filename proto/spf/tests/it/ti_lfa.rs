//! TI-LFA: every pair that stays connected is repaired, and repaired packets arrive whichever of
//! the equal paths they take, by the tables from before the failure.

use crate::lfa::{all_distances, arrives};
use crate::reference;
use crate::world::{SHAPES, Shape, World};
use spf::ti_lfa::{Repair, Segment, repairs};
use spf::{Failure, Graph, Hop, Node, Tree, UNREACHED};

/// Whether a repaired packet arrives.
fn walk(graph: &Graph, all: &[Vec<u32>], failure: &Failure, repair: &Repair, to: Node) -> bool {
    if failure.has_edge(repair.hop.edge) || failure.has_node(repair.hop.via) {
        return false;
    }
    let mut at = repair.hop.via;
    for segment in &repair.segments {
        match *segment {
            Segment::Node(node) => {
                if !arrives(graph, all, failure, at, node) {
                    return false;
                }
                at = node;
            }
            Segment::Adjacency(hop) => {
                let Some([from, onto]) = graph.ends(hop.edge) else { return false };
                let across = graph.out(onto).iter().find(|arc| arc.other == hop.via);
                let works = onto == hop.via || across.is_some_and(|it| !failure.has_edge(it.edge));
                if from != at || failure.has_edge(hop.edge) || !works {
                    return false;
                }
                at = hop.via;
            }
        }
    }
    arrives(graph, all, failure, at, to)
}

struct Counts {
    pairs: usize,
    longest: usize,
}

fn check(world: &World, all: &[Vec<u32>], failure: &Failure, counts: &mut Counts, seed: u64) {
    let graph = &world.graph;
    let root = world.routers[0];
    let tree = Tree::new(graph, root);
    let found = repairs(graph, &tree, failure);
    let left = reference::distances(graph, root, failure);
    for &to in &world.routers[1..] {
        let repair = found.iter().find(|(node, _)| *node == to).map(|(_, repair)| repair);
        let is_hit = tree.distance(to) != UNREACHED && !arrives(graph, all, failure, root, to);
        let is_left = left[to.0 as usize] != UNREACHED;
        assert_eq!(repair.is_some(), is_hit && is_left, "seed {seed}: {to:?}");
        let Some(repair) = repair else { continue };
        assert!(walk(graph, all, failure, repair, to), "seed {seed}: {to:?} by {repair:?}");
        counts.pairs += 1;
        counts.longest = counts.longest.max(repair.segments.len());
    }
}

fn world(seed: u64) -> World {
    let shape = SHAPES[seed as usize % 3];
    let mut world = World::new(seed, shape, 8 + seed as usize % 6, seed.is_multiple_of(2));
    if seed.is_multiple_of(5) {
        world.network(&[0, 2, 4, 5], 1);
    }
    world
}

#[test]
fn every_pair_that_stays_connected_is_repaired_when_a_link_or_a_node_fails() {
    let mut counts = Counts { pairs: 0, longest: 0 };
    for seed in 0..1_000 {
        let world = world(seed);
        let all = all_distances(&world.graph);
        for arc in world.graph.out(world.routers[0]) {
            let link = Failure::link(arc.edge, world.twin(arc.edge));
            check(&world, &all, &link, &mut counts, seed);
            let node = Failure::node(&world.graph, arc.other);
            check(&world, &all, &node, &mut counts, seed);
        }
    }
    assert!(counts.pairs > 10_000 && counts.longest >= 2, "{} {}", counts.pairs, counts.longest);
}

#[test]
fn every_pair_that_stays_connected_is_repaired_when_links_with_a_risk_in_common_fail() {
    let mut counts = Counts { pairs: 0, longest: 0 };
    for seed in 0..600 {
        let mut world = world(seed);
        for at in 0..world.links.len() {
            let risk = world.below(5) as u32;
            for edge in world.links[at] {
                world.graph.set_risks(edge, &[risk]);
            }
        }
        let all = all_distances(&world.graph);
        for arc in world.graph.out(world.routers[0]) {
            let risk = Failure::shared_risk(&world.graph, arc.edge, world.twin(arc.edge));
            check(&world, &all, &risk, &mut counts, seed);
        }
    }
    assert!(counts.pairs > 1_000, "{}", counts.pairs);
}

#[test]
fn in_a_ring_the_repair_is_a_node_or_where_nothing_else_helps_an_adjacency() {
    let first = |routers: usize, dear: Option<usize>| {
        let mut world = World::new(0, Shape::Ring, routers, true);
        for (at, links) in world.links.clone().into_iter().enumerate() {
            let cost = if dear == Some(at) { 10 } else { 1 };
            links.iter().for_each(|edge| world.graph.set_cost(*edge, cost));
        }
        let [there, back] = world.links[0];
        let tree = Tree::new(&world.graph, world.routers[0]);
        let found = repairs(&world.graph, &tree, &Failure::link(there, Some(back)));
        let next = found.into_iter().find(|(node, _)| *node == world.routers[1]).unwrap().1;
        (world, next.segments)
    };
    let (world, segments) = first(6, None);
    assert_eq!(segments, [Segment::Node(world.routers[3])]);
    let (world, segments) = first(5, None);
    assert_eq!(segments, [Segment::Node(world.routers[2])]);
    let (world, segments) = first(4, Some(2));
    let [_, edge] = world.links[2];
    assert_eq!(segments, [Segment::Adjacency(Hop { edge, via: world.routers[2] })]);
}
