//! A node joins a cluster that runs, and another one leaves it, by commits: the dialogues that
//! stand go on.

use super::{DIALOGUES, Node, begin, came, free_tcp, free_udp, go_on, section};
use crate::asp::Asp;
use std::collections::BTreeMap;
use tcap::codec::{MessageType, TransactionId};

/// So many of them go on, by all associations in their turn, and end.
fn end(asps: &mut [Asp], standing: &BTreeMap<u32, TransactionId>, numbers: core::ops::Range<u32>) {
    let count = numbers.len();
    for number in numbers {
        let at = number as usize % asps.len();
        go_on(&mut asps[at], number, standing[&number]);
    }
    let mut ended = BTreeMap::new();
    while ended.len() < count {
        // They come by whichever node serves them.
        asps.iter_mut().for_each(Asp::poll);
        ended.extend(came(asps));
    }
    assert!(ended.values().all(|it| it.0 == MessageType::End), "{ended:?}");
}

#[test]
fn a_node_joins_and_one_leaves_and_no_dialogue_that_stands_ends() {
    let (udp, tcp) = (free_udp::<4>(), free_tcp::<4>());
    let all: Vec<(u8, u16)> = (1..).zip(udp).collect();
    let text = |node: usize, of: &[(u8, u16)]| section(node as u8 + 1, tcp[node], of);
    let start = |node: usize, of: &[(u8, u16)]| Node::start(&text(node, of));
    let mut nodes: Vec<Node> = (0..3).map(|it| start(it, &all[..3])).collect();
    nodes.iter().for_each(|it| it.serves(16, true));
    let mut instances: Vec<_> = nodes.iter().map(Node::application).collect();
    let mut asps: Vec<Asp> = tcp[..3].iter().map(|it| Asp::connect(*it)).collect();

    for number in 0..DIALOGUES {
        begin(&mut asps[number as usize % 3], number);
    }
    let mut standing = BTreeMap::new();
    while standing.len() < DIALOGUES as usize {
        asps.iter_mut().for_each(Asp::poll);
        standing.extend(came(&mut asps).into_iter().map(|(number, (kind, here))| {
            assert_eq!(kind, MessageType::Continue, "{number}");
            (number, here.unwrap())
        }));
    }

    // The fourth joins: each of the others hears of it by its own commit.
    nodes.push(start(3, &all));
    instances.push(nodes[3].application());
    for (at, node) in nodes[..3].iter().enumerate() {
        node.commit(&text(at, &all));
    }
    nodes.iter().for_each(|it| it.serves(12, true));
    asps.push(Asp::connect(tcp[3]));
    end(&mut asps, &standing, 0..DIALOGUES / 2);

    // The first leaves.
    assert!(nodes[0].ctl(&["cluster", "drain"]).status.success());
    nodes[0].serves(0, false);
    for (at, node) in nodes.iter().enumerate().skip(1) {
        node.commit(&text(at, &all[1..]));
    }
    drop(nodes.remove(0));
    drop(asps.remove(0));
    nodes.iter().for_each(|it| it.serves(16, true));
    end(&mut asps, &standing, DIALOGUES / 2..DIALOGUES);
    for node in &nodes {
        // A partition may have gone home just now.
        node.until(&["alarms"], |rows| {
            rows.iter().all(|it| !it["name"].to_string().contains("cluster-"))
        });
        for name in ["sgc_cluster_unserved_total", "cluster_forged_total"] {
            assert_eq!(node.count(name), 0, "{name}");
        }
    }
}
