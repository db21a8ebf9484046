//! Full and incremental runs.

use crate::reference;
use crate::world::{SHAPES, Shape, World};
use spf::{EdgeId, Failure, Graph, Kind, Limits, Node, PATHS_MAX, Tree, UNREACHED};

fn compare(graph: &Graph, tree: &Tree, what: &str) {
    let distance = reference::distances(graph, tree.root(), &Failure::none());
    let hops = reference::hops(graph, tree.root(), &distance);
    for node in graph.nodes() {
        let at = node.0 as usize;
        assert_eq!(tree.distance(node), distance[at], "{what}: the distance of {node:?}");
        assert_eq!(tree.hops(node), hops[at], "{what}: the hops to {node:?}");
    }
}

fn with_networks(seed: u64, shape: Shape) -> World {
    let mut world = World::new(seed, shape, 24, seed.is_multiple_of(2));
    for _ in 0..3 {
        let first = world.below(20);
        let cost = 1 + world.below(4) as u32;
        world.network(&[first, first + 1, first + 3], cost);
    }
    world
}

#[test]
fn a_full_run_finds_the_distances_and_first_hops_of_the_reference() {
    for seed in 0..100 {
        for shape in SHAPES {
            let mut world = with_networks(seed, shape);
            let root = world.below(24);
            let tree = Tree::new(&world.graph, world.routers[root]);
            compare(&world.graph, &tree, &format!("seed {seed}, {shape:?}"));
        }
    }
}

/// One change by chance.
fn change(world: &mut World) {
    let at = world.below(world.links.len());
    let way = world.below(2);
    let edge = world.links[at][way];
    match world.below(12) {
        0 | 1 => {
            world.graph.remove_edge(edge);
            world.links[at][way] = EdgeId(u32::MAX);
        }
        2 | 3 => {
            let (one, two) = (world.below(24), world.below(24));
            let cost = 1 + world.below(6) as u32;
            if one != two {
                world.link(one, two, [cost, cost]);
            }
        }
        4 => {
            let node = world.routers[world.routers.len() - 1];
            let is_transit = world.below(2) == 0;
            world.graph.set_transit(node, is_transit);
        }
        5 => {
            let first = world.below(20);
            world.network(&[first, first + 2], 2);
        }
        _ => {
            let cost = 1 + world.below(12) as u32;
            world.graph.set_cost(edge, cost);
        }
    }
}

#[test]
fn an_update_gives_what_a_full_run_gives_and_names_every_node_that_changed() {
    let mut partial = 0;
    for seed in 0..60 {
        let mut world = with_networks(seed, SHAPES[seed as usize % 4]);
        let root = world.below(24);
        let root = world.routers[root];
        world.graph.take_touched();
        let mut tree = Tree::new(&world.graph, root);
        for step in 0..60 {
            for _ in 0..=world.below(3) {
                change(&mut world);
            }
            let before = tree.clone();
            let touched = world.graph.take_touched();
            let changed = tree.update(&world.graph, &touched);
            compare(&world.graph, &tree, &format!("seed {seed}, step {step}"));
            let Some(changed) = changed else { continue };
            partial += 1;
            for node in world.graph.nodes() {
                let is_same = before.distance(node) == tree.distance(node)
                    && before.hops(node) == tree.hops(node);
                assert!(is_same || changed.contains(&node), "seed {seed}, step {step}: {node:?}");
            }
        }
    }
    assert!(partial > 3_000, "{partial} updates were no full runs");
}

#[test]
fn a_node_that_goes_takes_its_paths_along_and_its_place_is_given_again() {
    let mut world = World::new(5, Shape::Ring, 10, true);
    let mut tree = Tree::new(&world.graph, world.routers[0]);
    let gone = world.routers[1];
    world.graph.remove_node(gone);
    let touched = world.graph.take_touched();
    tree.update(&world.graph, &touched);
    assert_eq!((tree.distance(gone), tree.hops(gone)), (UNREACHED, &[][..]));
    compare(&world.graph, &tree, "without it");
    assert_eq!(world.graph.add_node(Kind::Network), Some(gone));
    world.graph.remove_node(world.routers[0]);
    let touched = world.graph.take_touched();
    assert_eq!(tree.update(&world.graph, &touched), None);
    assert_eq!(tree.distance(world.routers[2]), UNREACHED);
}

#[test]
fn of_more_than_64_equal_paths_the_lowest_64_are_kept_in_any_order_of_changes() {
    let mut graph = Graph::new(Limits::default());
    let root = graph.add_node(Kind::Router).unwrap();
    let far = graph.add_node(Kind::Router).unwrap();
    let mut first = Vec::new();
    for _ in 0..100 {
        let middle = graph.add_node(Kind::Router).unwrap();
        first.push(graph.add_edge(root, middle, 5).unwrap());
        graph.add_edge(middle, far, 5).unwrap();
    }
    graph.take_touched();
    let mut tree = Tree::new(&graph, root);
    assert_eq!(tree.hops(far).len(), PATHS_MAX);
    compare(&graph, &tree, "all");
    for edge in first.iter().take(50) {
        graph.set_cost(*edge, 9);
        let touched = graph.take_touched();
        assert!(tree.update(&graph, &touched).is_some());
        compare(&graph, &tree, "one less");
    }
    assert_eq!(tree.hops(far).len(), 50);
}

#[test]
fn a_router_on_the_roots_own_network_is_its_own_next_hop() {
    let mut world = World::new(1, Shape::Tree, 1, true);
    world.routers.extend((0..3).map(|_| world.graph.add_node(Kind::Router).unwrap()));
    let network = world.network(&[0, 1, 2], 10);
    world.link(2, 3, [1, 1]);
    let tree = Tree::new(&world.graph, world.routers[0]);
    let hop = |at: usize| tree.hops(world.routers[at])[0].via;
    assert_eq!([hop(1), hop(2), hop(3)], [world.routers[1], world.routers[2], world.routers[2]]);
    assert_eq!((tree.hops(network)[0].via, tree.distance(world.routers[3])), (network, 11));
}

#[test]
fn what_is_too_much_or_makes_no_sense_is_refused() {
    let mut graph = Graph::new(Limits { nodes: 3, edges: 1 });
    let one = graph.add_node(Kind::Router).unwrap();
    let nets = [(); 2].map(|()| graph.add_node(Kind::Network).unwrap());
    assert_eq!(graph.add_node(Kind::Router), None);
    assert_eq!(graph.add_edge(nets[0], nets[1], 1), None, "networks are not neighbours");
    assert_eq!(graph.add_edge(one, one, 1), None);
    assert_eq!(graph.add_edge(one, Node(77), 1), None);
    let edge = graph.add_edge(one, nets[0], 0).unwrap();
    assert_eq!(graph.cost(edge), Some(1), "a router's edge costs something");
    assert_eq!(graph.add_edge(one, nets[1], 1), None, "there is one edge already");
    graph.set_cost(edge, u32::MAX);
    assert_eq!(graph.cost(edge), Some(spf::COST_MAX));
    let mut other = graph.clone();
    other.remove_edge(edge);
    assert_eq!((other.cost(edge), other.ends(edge)), (None, None));
    assert!(other.add_edge(one, nets[1], 1).is_some());
}

#[test]
fn lists_that_grow_and_shrink_for_long_stay_right() {
    let mut world = World::new(9, Shape::Random, 60, true);
    let mut tree = Tree::new(&world.graph, world.routers[0]);
    world.graph.take_touched();
    for step in 0..4_000 {
        if step % 3 == 2 && world.links.len() > 100 {
            let at = world.below(world.links.len());
            for edge in world.links.swap_remove(at) {
                world.graph.remove_edge(edge);
            }
        } else {
            let (one, two) = (world.below(60), world.below(60));
            if one != two {
                let cost = 1 + world.below(30) as u32;
                world.link(one, two, [cost, cost]);
            }
        }
        let touched = world.graph.take_touched();
        tree.update(&world.graph, &touched);
        if step % 100 == 0 {
            compare(&world.graph, &tree, &format!("step {step}"));
        }
    }
}
