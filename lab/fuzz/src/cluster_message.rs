//! Any octets as a datagram of a node of a cluster: what is read does no harm to the machine, and
//! entries are written as they were read.

use bytes::Bytes;
use cluster::message::{Datagram, read, write_entry};
use cluster::{Cluster, In, NodeId, Settings};
use machine::{Duration, Machine, Time};

/// Runs one input.
pub fn run(bytes: &[u8]) {
    if let Ok(Datagram::Entries(_, _, entries)) = read(bytes) {
        for entry in entries.flatten() {
            let mut octets = Vec::new();
            write_entry(&entry, &mut octets);
            assert_eq!(cluster::message::read_entry(&octets), Ok(entry));
        }
    }
    let nodes: Vec<NodeId> = (1..=3).filter_map(NodeId::new).collect();
    let [own, other, _] = nodes[..] else { return };
    let settings = Settings {
        own,
        nodes,
        weight: 1,
        heartbeat: Duration::from_millis(10),
        detect: Duration::from_millis(50),
        digest: 0,
        life: 1,
    };
    let mut now = Time::from_millis(1_000);
    let mut it = Cluster::new(now, settings);
    let mut out = Vec::new();
    for _ in 0..4 {
        it.step(now, In::Datagram(other, Bytes::copy_from_slice(bytes)), &mut out);
        now += Duration::from_millis(200);
        it.tick(now, &mut out);
        assert!(it.deadline().is_none_or(|at| at > now));
    }
}
