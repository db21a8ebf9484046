//! What reading and writing a table costs: 20,000 prefixes of ten paths each.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use bgp::codec::write_attribute;
use bgp::family::{Family, Ipv4Prefix};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mrt::{Body, Path, Peer, Records, RibEntries, RibRecord, write_peer_index_table};
use std::hint::black_box;

const PREFIXES: u32 = 20_000;
const PATHS: u16 = 10;

fn attributes() -> Vec<u8> {
    let mut out = Vec::new();
    write_attribute(0x40, 1, &[0], &mut out);
    let path = [&[2, 4][..], &[0, 0, 0xFD, 0xE9].repeat(4)].concat();
    write_attribute(0x40, 2, &path, &mut out);
    write_attribute(0x40, 3, &[192, 0, 2, 1], &mut out);
    write_attribute(0xC0, 8, &[0xFD, 0xE9, 0, 1].repeat(4), &mut out);
    out
}

fn write_table(attributes: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let peer = |number: u16| Peer {
        identifier: u32::from(number),
        address: [192, 0, 2, number as u8].into(),
        asn: 65_000 + u32::from(number),
    };
    let peers: Vec<Peer> = (0..PATHS).map(peer).collect();
    write_peer_index_table(0, 1, "", &peers, out).expect("ten peers");
    for number in 0..PREFIXES {
        let prefix = Ipv4Prefix::new((number << 8).into(), 24).expect("bits");
        let mut nlri = Vec::with_capacity(5);
        prefix.write(&mut nlri);
        let mut record = RibRecord::begin(0, number, Family::Ipv4Unicast, false, &nlri, out);
        for peer in 0..PATHS {
            let path = Path { peer, originated_s: 0, id: 0, next_hop: None, attributes };
            record.path(&path).expect("they fit");
        }
        record.finish();
    }
}

fn table(criterion: &mut Criterion) {
    let attributes = attributes();
    let mut file = Vec::new();
    write_table(&attributes, &mut file);
    let mut group = criterion.benchmark_group("table");
    group.throughput(Throughput::Bytes(file.len() as u64));
    let mut again = Vec::with_capacity(file.len());
    group.bench_function("write", |bench| {
        bench.iter(|| write_table(black_box(&attributes), &mut again));
    });
    group.bench_function("records", |bench| {
        bench.iter(|| {
            let bodies = Records::new(black_box(&file)).map(|it| it.and_then(|it| it.read()));
            bodies.filter(|body| matches!(body, Ok(Body::Rib(_)))).count()
        });
    });
    group.bench_function("entries", |bench| {
        bench.iter(|| RibEntries::new(black_box(&file)).filter(Result::is_ok).count());
    });
    group.finish();
}

criterion_group!(benches, table);
criterion_main!(benches);
