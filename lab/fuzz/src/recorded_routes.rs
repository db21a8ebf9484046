//! A file of routes that somebody recorded (MRT): it is read whole whatever is in it, and what was
//! read can be announced.

use bgp_load::{Keys, Origin, Recorded};

pub fn run(octets: &[u8]) {
    let recorded = Recorded::read(octets);
    let mut keys = Keys::new();
    let origin = Origin { client: 0, cluster: 1 };
    let feed = recorded.table.announce(&origin, 0, &mut keys);
    assert!(recorded.table.is_empty() || !feed.octets.is_empty());
}
