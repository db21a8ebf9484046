//! What a check costs: read, answered, and what a stranger's costs.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::{Duration, Time};
use std::hint::black_box;
use stun::ice::{Agent, Credentials, Pair, Role, Settings};
use stun::{Algorithm, AttributeType, BINDING, Class, Message, TransactionId, Writer};

fn check(local: &Credentials, password: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let name = format!("{}:them", local.fragment());
    Writer::new(Class::Request, BINDING, TransactionId([7; 12]), &mut octets)
        .attribute(AttributeType::Username, name.as_bytes())
        .attribute(AttributeType::Priority, &[0x6E, 0, 1, 0xFF])
        .attribute(AttributeType::IceControlling, &[1; 8])
        .attribute(AttributeType::UseCandidate, &[])
        .integrity(Algorithm::Sha1, password)
        .fingerprint();
    octets
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    group.throughput(Throughput::Elements(1));
    let local = Credentials::generate([1; 32]);
    let good = check(&local, local.password().as_bytes());
    let strange = check(&local, b"wrong");
    let stranger = check(&Credentials::generate([3; 32]), b"wrong");
    group.bench_function("read", |b| b.iter(|| Message::read(black_box(&good)).is_ok()));
    group.bench_function("fingerprint", |b| {
        let message = Message::read(&good).expect("it is one");
        b.iter(|| black_box(&message).fingerprint());
    });
    let pair = Pair {
        component: 1,
        local: ([192, 0, 2, 1], 4_000).into(),
        remote: ([192, 0, 2, 7], 5_000).into(),
    };
    for (name, octets, step) in [
        ("answered", &good, Duration::from_millis(10)),
        ("refused", &strange, Duration::from_millis(500)),
        ("shed", &stranger, Duration::ZERO),
    ] {
        let role = Role::Controlled;
        let settings = Settings { local: local.clone(), remote: None, role, asks_consent: false };
        let (mut agent, mut out) = (Agent::new(settings, [2; 32]), Vec::new());
        let mut now = Time::from_millis(1_000);
        group.bench_function(name, |b| {
            b.iter(|| {
                now += step;
                out.clear();
                agent.datagram(now, pair, black_box(octets), &mut out);
            });
        });
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
