//! What another node of a cluster of signalling gateways says: posts and changes of dialogues are
//! read or refused, what is read is written and read the same again, and a node that takes it keeps
//! no more than it was told.

use cluster::config::Cluster;
use cluster::{Change, Clustered, Copies, Post, Settings};
use machine::Time;
use runtime::{Grouped, NodeId};

/// Runs one input: a post; the same as a change; and both as what the cluster hands over.
pub fn run(bytes: &[u8]) {
    if let Ok(post) = Post::read(bytes) {
        let mut octets = Vec::new();
        post.write(&mut octets);
        assert_eq!(Post::read(&octets).as_ref(), Ok(&post));
    }
    let now = Time::from_millis(1_000);
    let mut copies = Copies::default();
    let is_read = copies.apply(now, 3, bytes);
    assert_eq!(is_read, Change::read(bytes).is_some());
    assert!(copies.size(3).1 <= bytes.len());
    if let Some(change) = Change::read(bytes) {
        assert_eq!(Change::read(&change.write()), Some(change));
    }
    let Some(section) = section() else { return };
    let mut node = Clustered::new(now, NodeId(1), Settings::of(&section, 7));
    node.notices(now, &Grouped::Node { node: NodeId(2), is_alive: true });
    if let Some((_, post)) = node.came(NodeId(2), bytes) {
        let mut octets = vec![0];
        post.write(&mut octets);
        let again = node.returned(NodeId(2), &octets, false);
        assert!(again.is_none_or(|it| it.1 == post));
        assert!(node.take_early().is_empty(), "this node serves nothing");
    }
    assert!(node.is_empty());
}

/// Two nodes, of which this is the first.
fn section() -> Option<Cluster> {
    let nodes = [(1, "127.0.0.1:5990"), (2, "127.0.0.2:5990")];
    let nodes: Vec<_> = nodes
        .iter()
        .map(|(number, address)| serde_json::json!({ "number": number, "address": address }))
        .collect();
    serde_json::from_value(serde_json::json!({ "node": 1, "nodes": nodes })).ok()
}
