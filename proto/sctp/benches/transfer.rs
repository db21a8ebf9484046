//! Two endpoints in memory: messages a second from SEND to DATA ARRIVE, with every packet sealed,
//! checked and acknowledged. Both ends run on one core.
#![allow(missing_docs)]

use bytes::{Bytes, BytesMut};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use machine::{Duration, Time};
use sctp::{AssociationId, Endpoint, In, Indication, Out, Outgoing, Packet, Parameters, Settings};
use std::hint::black_box;

const BATCH: usize = 64;

struct Pair {
    ends: [Endpoint; 2],
    ids: [AssociationId; 2],
    now: Time,
    arrived: usize,
    out: Vec<Out>,
}

impl Pair {
    fn new() -> Self {
        let mut parameters = Parameters::rfc9260();
        parameters.max_burst = None;
        parameters.send_buffer = 4 << 20;
        let settings = |side: u8| Settings {
            port: 1000 + u16::from(side),
            addresses: vec![[10, 0, 0, side].into()],
            listens: side == 1,
            associations_max: 1,
            parameters,
        };
        let mut ends = [0, 1].map(|side| Endpoint::new(settings(side), [side; 32]));
        let mut out = Vec::new();
        let peer = ([10, 0, 0, 1], 0).into();
        let id = ends[0].associate(Time::ZERO, &[peer], 1001, &mut out).expect("room");
        let mut pair = Self { ends, ids: [id; 2], now: Time::ZERO, arrived: 0, out };
        pair.carry(0);
        pair
    }

    /// Carries what `side` has sent, and what comes of it, until all is quiet.
    fn carry(&mut self, side: usize) {
        let mut side = side;
        for _ in 0..1000 {
            let sent = std::mem::take(&mut self.out);
            if sent.is_empty() {
                return;
            }
            let to = 1 - side;
            for effect in sent {
                match effect {
                    Out::Transmit(transmit) => {
                        let source = ([10, 0, 0, side as u8], 0).into();
                        let destination = transmit.destination.ip();
                        let bytes = Bytes::copy_from_slice(&transmit.bytes);
                        self.ends[side].recycle(transmit.bytes);
                        let packet = Packet { source, destination, bytes };
                        self.ends[to].step(self.now, In::Packet(packet), &mut self.out);
                    }
                    Out::Indicate(_, Indication::Data(message)) => {
                        self.arrived += 1;
                        black_box(message);
                    }
                    Out::Indicate(..) => {}
                }
            }
            side = to;
        }
    }

    /// Sends a batch and carries it across.
    fn batch(&mut self, arena: &mut BytesMut, size: usize) {
        for _ in 0..BATCH {
            arena.resize(size, 7);
            let payload = arena.split_to(size).freeze();
            let message = Outgoing::new(0, 0, payload);
            self.ends[0].step(self.now, In::Send(self.ids[0], message), &mut self.out);
        }
        self.ends[0].tick(self.now, &mut self.out);
        self.carry(0);
        self.now += Duration::from_micros(50);
        for side in 0..2 {
            self.ends[side].tick(self.now, &mut self.out);
            self.carry(side);
        }
    }
}

fn transfer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("transfer");
    for size in [100, 1024] {
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_with_input(BenchmarkId::new("messages", size), &size, |bencher, &size| {
            let mut pair = Pair::new();
            let mut arena = BytesMut::with_capacity(1 << 16);
            bencher.iter(|| {
                arena.reserve(BATCH * size);
                pair.batch(&mut arena, size);
            });
            assert!(pair.arrived > 0, "messages arrived");
        });
    }
    group.finish();
}

criterion_group!(benches, transfer);
criterion_main!(benches);
