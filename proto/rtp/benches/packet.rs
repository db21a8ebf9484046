//! What a packet costs: what it is, its header, how it is counted, how its header changes; and a
//! report read and written.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rtp::rtcp::{Compound, Form, Packet as Rtcp, write_report};
use rtp::{ClockRate, Datagram, Header, NtpMiddle, Packet, Reception, Rewrite};
use std::hint::black_box;

fn packet() -> Vec<u8> {
    let header =
        Header { marker: false, payload_type: 8, sequence: 1, timestamp: 160, ssrc: 0x0102_0304 };
    let mut octets = Vec::new();
    Packet { header, payload: &[0xD5; 160], ..Packet::default() }.write(&mut octets);
    octets
}

fn packets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packet");
    group.throughput(Throughput::Elements(1));
    let mut octets = packet();
    group.bench_function("classify", |b| b.iter(|| Datagram::of(black_box(&octets))));
    group.bench_function("peek", |b| b.iter(|| Header::peek(black_box(&octets))));
    group.bench_function("read", |b| b.iter(|| Packet::read(black_box(&octets)).is_ok()));
    let rewrite = Rewrite { ssrc: Some(7), payload_type: Some(0), sequence: 3, timestamp: 1_000 };
    group.bench_function("rewrite", |b| {
        b.iter(|| black_box(&rewrite).apply(black_box(&mut octets)))
    });
    group.finish();
}

fn reception(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reception");
    group.throughput(Throughput::Elements(1));
    for (name, lost) in [("in_order", 0u32), ("one_in_ten_lost", 10)] {
        let mut it = Reception::new(7, 0, 0, 0);
        let (mut number, mut now) = (0u32, 0u64);
        group.bench_function(name, |b| {
            b.iter(|| {
                number = number.wrapping_add(1);
                number = number.wrapping_add(u32::from(lost > 0 && number % lost == 0));
                now += 20_000_000;
                let at = machine::Time::from_nanos(now);
                let arrival = ClockRate::TELEPHONY.ticks(at);
                it.packet(number as u16, number.wrapping_mul(160), black_box(arrival))
            });
        });
    }
    let mut it = Reception::new(7, 0, 0, 0);
    (0..10_000).filter(|n| n % 7 != 0).for_each(|n| _ = it.sequence(n));
    group.bench_function("figures", |b| b.iter(|| black_box(&it).figures()));
    group.finish();
}

fn reports(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("report");
    let mut it = Reception::new(7, 0, 0, 0);
    let mut out = Vec::with_capacity(256);
    group.bench_function("write", |b| {
        b.iter(|| {
            out.clear();
            write_report(9, None, &[it.report(NtpMiddle(5))], &mut out);
        });
    });
    group.bench_function("read", |b| {
        b.iter(|| {
            let compound = Compound::read(black_box(&out), Form::Compound).expect("it is one");
            compound.filter(|raw| Rtcp::read(raw).is_ok()).count()
        });
    });
    group.finish();
}

criterion_group!(all, packets, reception, reports);
criterion_main!(all);
