//! Packets a second through the machine alone.
#![allow(missing_docs, reason = "a bench has no readers of its interface")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use link::{Arrival, Pipe, PipeSpec, Way};
use machine::{Duration, Machine, Time};
use std::hint::black_box;

const PACKETS: u64 = 10_000;
const OCTETS: usize = 1_500;

fn way(toml: &str) -> PipeSpec {
    let way: Way = toml::from_str(toml).expect("a way");
    way.over(&PipeSpec::default()).expect("a pipe")
}

/// Gives packets at the rate of a wire of 1 Gbit/s and takes them out as they are due.
fn carry(pipe: &mut Pipe<Vec<u8>>, begin: Time, out: &mut Vec<Arrival<Vec<u8>>>) -> Time {
    let mut now = begin;
    // Buffers go round, as they would in a pool: what is measured is the machine.
    let mut spare: Vec<Vec<u8>> = Vec::new();
    for _ in 0..PACKETS {
        now += Duration::from_micros(12);
        let packet = spare.pop().unwrap_or_else(|| vec![7; OCTETS]);
        pipe.step(now, packet, out);
        spare.extend(out.drain(..).map(|arrival| arrival.packet));
    }
    now
}

fn pipes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipe");
    group.throughput(Throughput::Elements(PACKETS));
    for (name, spec) in [
        ("delay", way("delay = '10ms'")),
        ("delay, rate", way("delay = '10ms'\nrate = '1gbit'")),
        ("jitter, order kept", way("delay = '10ms'\njitter = '1ms'\ndistribution = 'normal'")),
        ("jitter, overtaking", way("delay = '10ms'\njitter = '1ms'\novertake = true")),
        (
            "everything",
            way("delay = '10ms'\njitter = '1ms'\ndistribution = 'pareto'\ncorrelation = '25%'\n\
                 rate = '1gbit'\ngilbert_elliott = '1%,20%'\nduplicate = '0.1%'\n\
                 reorder = '0.5%'\ncorrupt = '0.1%'"),
        ),
    ] {
        let mut pipe = Pipe::new(1, spec, link::Schedule::default());
        let (mut out, mut now) = (Vec::new(), Time::ZERO);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                now = carry(&mut pipe, now, &mut out);
                black_box(pipe.counts())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, pipes);
criterion_main!(benches);
