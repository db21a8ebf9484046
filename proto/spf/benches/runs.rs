//! What runs of SPF cost in a network of 10,000 routers and 50,000 links: a full run, and one link
//! of all that changes its cost and changes back.

#![allow(missing_docs, reason = "the macros of criterion make public items")]

use criterion::{Criterion, criterion_group, criterion_main};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use spf::{EdgeId, Graph, Kind, Limits, Node, Tree};
use std::hint::black_box;

const ROUTERS: u64 = 10_000;
const LINKS: u64 = 50_000;

fn network() -> (Graph, Vec<Node>, Vec<EdgeId>) {
    let mut graph = Graph::new(Limits::default());
    let mut random = ChaCha8Rng::seed_from_u64(26);
    let nodes: Vec<Node> =
        (0..ROUTERS).map(|_| graph.add_node(Kind::Router).expect("there is room")).collect();
    let mut edges = Vec::new();
    for link in 0..LINKS {
        // The first links make it connected.
        let one = if link < ROUTERS - 1 { link + 1 } else { random.next_u64() % ROUTERS };
        let two = random.next_u64() % if link < ROUTERS - 1 { link + 1 } else { ROUTERS };
        if one == two {
            continue;
        }
        let cost = 10 + (random.next_u64() % 91) as u32;
        let (one, two) = (nodes[one as usize], nodes[two as usize]);
        edges.push(graph.add_edge(one, two, cost).expect("there is room"));
        graph.add_edge(two, one, cost).expect("there is room");
    }
    graph.take_touched();
    (graph, nodes, edges)
}

fn runs(c: &mut Criterion) {
    let (mut graph, nodes, edges) = network();
    let mut tree = Tree::new(&graph, nodes[0]);
    c.bench_function("full run, 10,000 routers, 50,000 links", |b| {
        b.iter(|| tree.run(black_box(&graph)));
    });
    let mut at = 0;
    c.bench_function("one changed link", |b| {
        b.iter(|| {
            at = (at + 7_919) % edges.len();
            let was = graph.cost(edges[at]).expect("it is there");
            let other = if was == 65_535 { 10 + (at % 91) as u32 } else { 65_535 };
            graph.set_cost(edges[at], other);
            let touched = graph.take_touched();
            black_box(tree.update(&graph, &touched))
        });
    });
}

criterion_group!(benches, runs);
criterion_main!(benches);
