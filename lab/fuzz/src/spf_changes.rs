//! Any octets as changes of a graph: an updated tree is that of a full run, and repairs end.

use spf::lfa::Alternates;
use spf::{EdgeId, Failure, Graph, Kind, Limits, Node, Tree, ti_lfa};

const NODES: u8 = 12;

fn change(graph: &mut Graph, edges: &mut Vec<EdgeId>, word: [u8; 4]) {
    let [what, one, two, cost] = word;
    let node = |it: u8| Node(u32::from(it % NODES));
    let edge = edges.get(usize::from(one) % edges.len().max(1)).copied();
    match (what % 5, edge) {
        (0, Some(edge)) => graph.remove_edge(edge),
        (1, Some(edge)) => graph.set_cost(edge, u32::from(cost)),
        (2, _) => graph.set_transit(node(one), cost & 1 == 0),
        (3, Some(edge)) => graph.set_risks(edge, &[u32::from(cost % 4)]),
        _ => edges.extend(graph.add_edge(node(one), node(two), u32::from(cost))),
    }
}

pub fn run(octets: &[u8]) {
    let mut graph = Graph::new(Limits { nodes: 16, edges: 256 });
    for at in 0..NODES {
        let kind = if at % 4 == 3 { Kind::Network } else { Kind::Router };
        graph.add_node(kind).expect("there is room");
    }
    let (mut tree, mut edges) = (Tree::new(&graph, Node(0)), Vec::new());
    for part in octets.chunks(16) {
        part.as_chunks::<4>().0.iter().for_each(|word| change(&mut graph, &mut edges, *word));
        let touched = graph.take_touched();
        tree.update(&graph, &touched);
        let whole = Tree::new(&graph, Node(0));
        for node in graph.nodes() {
            assert_eq!(tree.distance(node), whole.distance(node));
            assert_eq!(tree.hops(node), whole.hops(node));
        }
    }
    let alternates = Alternates::new(&graph, Node(0));
    for arc in graph.out(Node(0)) {
        let failure = Failure::shared_risk(&graph, arc.edge, None);
        for (node, repair) in ti_lfa::repairs(&graph, &tree, &failure) {
            assert!(node != Node(0) && !failure.has_edge(repair.hop.edge));
        }
    }
    for node in graph.nodes() {
        if let Some(&primary) = tree.hops(node).first() {
            let found = alternates.of(&graph, &tree, node, primary);
            assert!(found.is_none_or(|it| it.hop != primary));
        }
    }
}
