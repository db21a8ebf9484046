//! An HLR's turn: a DATA of M3UA with a BEGIN and sendRoutingInfoForSM in it is read, the END with
//! its result written, from M3UA to MAP and back; by our codecs, and by crates of others.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

mod ours;
mod theirs;

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

fn hlr(criterion: &mut Criterion) {
    let (message, mut buffers) = (ours::request(), ours::Buffers::default());
    ours::turn(&message, &mut buffers);
    criterion.bench_function("an HLR's turn", |bench| {
        bench.iter(|| ours::turn(black_box(&message), &mut buffers));
    });
    criterion.bench_function("an HLR's turn, by m3ua, sccp, tcap and gsm_map", |bench| {
        bench.iter(|| theirs::turn(black_box(&message)));
    });
}

criterion_group!(benches, hlr);
criterion_main!(benches);
