//! Packets of 172 octets (20 ms of G.711) in batches of 32, each of another stream, protected and
//! opened; one by one beside it.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use srtp::{KeyEntry, MasterKey, Packet, Parameters, Receiver, Sender, Suite};
use std::hint::black_box;

const BATCH: usize = 32;
const LENGTH: usize = 172;
const ROOM: usize = 256;

const SUITES: [Suite; 4] = [
    Suite::AesCm128HmacSha1_80,
    Suite::AesCm256HmacSha1_80,
    Suite::AeadAes128Gcm,
    Suite::AeadAes256Gcm,
];

/// Streams of one suite with both ends.
struct Streams {
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    buffer: Vec<u8>,
    packets: Vec<Packet>,
    sequence: u16,
}

impl Streams {
    fn new(suite: Suite) -> Self {
        let entry = |number: usize| {
            let octets: Vec<u8> =
                (0..MasterKey::octets_of(suite)).map(|at| (at * number) as u8).collect();
            [KeyEntry::alone(MasterKey::of(suite, &octets).expect("it fits"))]
        };
        let parameters = Parameters::of(suite);
        let sender = |number| Sender::new(parameters, &entry(number)).expect("sound");
        let receiver = |number| Receiver::new(parameters, &entry(number)).expect("sound");
        Self {
            senders: (1..=BATCH).map(sender).collect(),
            receivers: (1..=BATCH).map(receiver).collect(),
            buffer: vec![0; BATCH * ROOM],
            packets: Vec::new(),
            sequence: 0,
        }
    }

    /// The next packet of each stream.
    fn fill(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        self.packets.clear();
        for number in 0..BATCH {
            let at = number * ROOM;
            let head = &mut self.buffer[at..at + 12];
            head[..2].copy_from_slice(&[0x80, 0]);
            head[2..4].copy_from_slice(&self.sequence.to_be_bytes());
            head[8..].copy_from_slice(&[1, 2, 3, 4]);
            self.packets.push(Packet::rtp(number, at, LENGTH, ROOM));
        }
    }

    fn protect(&mut self) {
        srtp::protect(&mut self.senders[..], &mut self.buffer, &mut self.packets);
    }

    fn unprotect(&mut self) {
        srtp::unprotect(&mut self.receivers[..], &mut self.buffer, &mut self.packets);
    }
}

fn packets(c: &mut Criterion) {
    let mut group = c.benchmark_group("srtp");
    group.throughput(Throughput::Elements(BATCH as u64));
    for suite in SUITES {
        let mut streams = Streams::new(suite);
        group.bench_function(BenchmarkId::new("protect", suite.name()), |b| {
            b.iter(|| {
                streams.fill();
                streams.protect();
                assert!(black_box(&streams.packets).iter().all(|packet| packet.verdict.is_ok()));
            });
        });
        // A receiver hears a sender from its first packet on.
        let mut streams = Streams::new(suite);
        group.bench_function(BenchmarkId::new("protect and unprotect", suite.name()), |b| {
            b.iter(|| {
                streams.fill();
                streams.protect();
                streams.unprotect();
                assert!(black_box(&streams.packets).iter().all(|packet| packet.verdict.is_ok()));
            });
        });
        group.bench_function(BenchmarkId::new("one by one", suite.name()), |b| {
            b.iter(|| {
                streams.fill();
                for (packet, sender) in streams.packets.iter().zip(&mut streams.senders) {
                    let place = &mut streams.buffer[packet.at..packet.at + ROOM];
                    black_box(sender.protect(place, LENGTH)).expect("its index is new");
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
