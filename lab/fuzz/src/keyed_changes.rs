//! Any octets as changes of rows that the active node of a pair tells: what stands then is told to
//! another standby, which has the same.
//!
//! ```text
//! change = octets of it, 1 · that
//! ```

use keyed::{Backend, Limits, Store};
use machine::Time;
use runtime::{Effects, Mirrored, PortId};

const NOW: Time = Time::from_millis(1_000);
const LIMITS: Limits = Limits { rows_max: 100, octets_max: 1 << 16 };
/// Turns in which a snapshot is told.
const TURNS: usize = 64;

fn standby() -> Store {
    let mut store = Store::new(LIMITS, Backend::Memory, PortId(1), NOW);
    store.mirrored(NOW, Mirrored::Deactivate);
    store.mirrored(NOW, Mirrored::Forget);
    store
}

fn rows(store: &Store) -> Vec<(Vec<u8>, Vec<u8>)> {
    store.beginning(NOW, b"").map(|it| (it.0.to_vec(), it.1.to_vec())).collect()
}

/// Looks at the octets as changes.
pub fn run(octets: &[u8]) {
    let mut store = standby();
    store.mirrored(NOW, Mirrored::Delta(b"v\x01"));
    let mut rest = octets;
    while let Some((length, more)) = rest.split_first() {
        let (delta, more) = more.split_at(more.len().min(usize::from(*length)));
        store.mirrored(NOW, Mirrored::Delta(delta));
        rest = more;
    }
    store.mirrored(NOW, Mirrored::Activate { is_current: true });
    store.mirrored(NOW, Mirrored::Snapshot(1));
    let (mut other, mut is_told) = (standby(), false);
    for _ in 0..TURNS {
        store.tick(NOW);
        let mut out = Effects::default();
        store.flush(NOW, &mut out);
        out.deltas().for_each(|it| other.mirrored(NOW, Mirrored::Delta(it)));
        is_told |= out.snapshot_ended == Some(1);
    }
    assert!(is_told && rows(&store) == rows(&other));
}
