//! What a validation costs among 600,000 records, and a change of one of them.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use bgp::family::{Ipv4Prefix, Ipv6Prefix};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rpki::{Change, Table, Validity, Vrp4, Vrp6};
use std::hint::black_box;

const IPV4: u32 = 450_000;
const IPV6: u32 = 150_000;
const ROUTES: u32 = 100_000;

fn mixed(number: u32) -> u32 {
    number.wrapping_mul(2_654_435_761)
}

/// Lengths as in the Internet: most of 24 bits, some from 19 on, few of 16.
fn vrp4(number: u32) -> Vrp4 {
    let usual = [24, 24, 24, 24, 24, 24, 23, 22, 22, 21, 20, 19][number as usize % 12];
    let bits = if number.is_multiple_of(50) { 16 } else { usual };
    let address = mixed(number / 3 * 3) | (number % 3) << 8;
    let prefix = Ipv4Prefix::new(address.into(), bits).expect("bits");
    Vrp4 { prefix, max: 24, asn: number % 70_000 }
}

/// Crowded as the registries' blocks are: 2001::/16, 2400::/12, 2600::/12, 2a00::/12, 2c00::/12.
fn vrp6(number: u32) -> Vrp6 {
    let block = [0x2001u128 << 112, 0x24 << 120, 0x26 << 120, 0x2a << 120, 0x2c << 120];
    let address = block[number as usize % 5] | u128::from(mixed(number) >> 4) << 84;
    let bits = [32, 36, 40, 44, 48][number as usize / 5 % 5];
    let prefix = Ipv6Prefix::new(address.into(), bits).expect("bits");
    Vrp6 { prefix, max: 48, asn: number % 70_000 }
}

fn validate(criterion: &mut Criterion) {
    let mut table = Table::default();
    let ipv4: Vec<Vrp4> = (0..IPV4).map(vrp4).collect();
    let ipv6: Vec<Vrp6> = (0..IPV6).map(vrp6).collect();
    table.replace(&ipv4, &ipv6);
    // Routes of half of the records, in no order.
    let number = |it: u32, of: u32| mixed(it) % of;
    let of4 = |it: u32| (ipv4[number(it, IPV4) as usize].prefix, Some(it % 70_000));
    let of6 = |it: u32| (ipv6[number(it, IPV6) as usize].prefix, Some(it % 70_000));
    let routes4: Vec<_> = (0..ROUTES).map(of4).collect();
    let routes6: Vec<_> = (0..ROUTES).map(of6).collect();
    let mut group = criterion.benchmark_group("validate");
    group.throughput(Throughput::Elements(u64::from(ROUTES)));
    group.bench_function("ipv4", |bench| {
        bench.iter(|| {
            let state = |it: &&(_, _)| table.validate_ipv4(it.0, it.1) == Validity::Invalid;
            black_box(&routes4).iter().filter(state).count()
        });
    });
    group.bench_function("ipv6", |bench| {
        bench.iter(|| {
            let state = |it: &&(_, _)| table.validate_ipv6(it.0, it.1) == Validity::Invalid;
            black_box(&routes6).iter().filter(state).count()
        });
    });
    group.throughput(Throughput::Elements(1));
    let vrp = Vrp4 { prefix: Ipv4Prefix::new([10, 0, 0, 0].into(), 8).expect("8"), max: 8, asn: 1 };
    group.bench_function("change", |bench| {
        let mut comes = false;
        bench.iter(|| {
            comes = !comes;
            table.apply(&[Change { vrp, comes }], &[])
        });
    });
    group.finish();
}

criterion_group!(benches, validate);
criterion_main!(benches);
