//! What a prefix costs: a table like the Internet's read out of a stream of UPDATEs, and packed
//! into one. `valgrind --tool=callgrind --toggle-collect='*::read_table'` counts instructions of
//! one of the functions that are not inlined.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use bgp::codec::{Context, Messages, Peering, Update, prepend, reflect, write_attribute};
use bgp::family::{Family, FamilySet, Ipv4Prefix, Ipv4Routes, Ipv6Routes, Routes};
use bgp::pack::{Announcement, Limits, Withdrawal};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const PREFIXES: u32 = 100_000;
/// Prefixes of one attribute set, as in the Internet's table: 515,858 of 71,900.
const PREFIXES_PER_SET: usize = 7;
const LIMITS: Limits = Limits { message_max: 4_096, add_path: false };

fn context() -> Context {
    Context {
        peering: Peering::Internal,
        four_octet_as: true,
        families: Family::ALL.iter().copied().collect(),
        add_path: FamilySet::EMPTY,
        extended_next_hop: FamilySet::EMPTY,
        multiple_labels: FamilySet::EMPTY,
        aigp: false,
        first_as: None,
    }
}

fn prefixes() -> Vec<Ipv4Prefix> {
    let mixed = |number: u32| number.wrapping_mul(2_654_435_761);
    // More than half of the Internet's prefixes have 24 bits, few have less than 16.
    let bits = |number: u32| [24, 24, 24, 24, 24, 23, 22, 22, 21, 20, 19, 16][number as usize % 12];
    (0..PREFIXES).map(|it| Ipv4Prefix::new(mixed(it).into(), bits(it)).expect("bits")).collect()
}

/// ORIGIN, an AS_PATH of four, NEXT_HOP, LOCAL_PREF and a community.
fn attributes(number: u32) -> Vec<u8> {
    let (mut path, mut out) = (Vec::new(), Vec::new());
    for asn in [number, 3_356, 1_299, 64_500] {
        let before = std::mem::take(&mut path);
        prepend(&before, bgp::codec::SegmentKind::Sequence, asn + 1, &mut path);
    }
    write_attribute(0x40, 1, &[0], &mut out);
    write_attribute(0x40, 2, &path, &mut out);
    write_attribute(0x40, 3, &[192, 0, 2, 1], &mut out);
    write_attribute(0x40, 5, &[0, 0, 0, 100], &mut out);
    write_attribute(0xC0, 8, &number.to_be_bytes(), &mut out);
    out
}

/// Packs the table, so many prefixes of each set.
#[inline(never)]
fn pack_table(sets: &[Vec<u8>], prefixes: &[Ipv4Prefix], out: &mut Vec<u8>) -> usize {
    out.clear();
    let per_set = prefixes.len().div_ceil(sets.len());
    for (attributes, prefixes) in sets.iter().zip(prefixes.chunks(per_set)) {
        let mut packing = Announcement::plain(LIMITS, attributes, out).expect("they fit");
        prefixes.iter().for_each(|prefix| packing.prefix(0, *prefix));
        packing.finish();
    }
    out.len()
}

#[inline(never)]
fn pack_withdrawals(prefixes: &[Ipv4Prefix], out: &mut Vec<u8>) -> usize {
    out.clear();
    let mut packing = Withdrawal::plain(LIMITS, out);
    prefixes.iter().for_each(|prefix| packing.prefix(0, *prefix));
    packing.finish()
}

/// Reads a stream: every UPDATE checked, its attributes as one slice, every prefix.
#[inline(never)]
fn read_table(stream: &[u8], context: &Context) -> u64 {
    let mut scratch = Vec::new();
    let mut sum = 0;
    for (_, message) in Messages::new(stream, 4_096) {
        let update = Update::read(message, context).expect("it is well-formed");
        sum += update.canonical(&mut scratch).len() as u64;
        for (_, prefix) in Ipv4Routes::new(update.announced().octets(), false) {
            sum = sum.wrapping_add(prefix.packed());
        }
    }
    sum
}

#[inline(never)]
fn read_ipv6(stream: &[u8], context: &Context) -> u64 {
    let mut sum = 0;
    for (_, message) in Messages::new(stream, 4_096) {
        let update = Update::read(message, context).expect("it is well-formed");
        let reach = update.reach().expect("it announces");
        sum += Ipv6Routes::new(reach.routes.octets(), false)
            .map(|(_, prefix)| u64::from(prefix.bits()))
            .sum::<u64>();
    }
    sum
}

/// Reads EVPN routes with their keys and payloads.
#[inline(never)]
fn read_evpn(stream: &[u8], context: &Context, key: &mut Vec<u8>, payload: &mut Vec<u8>) -> usize {
    let mut sum = 0;
    for (_, message) in Messages::new(stream, 4_096) {
        let update = Update::read(message, context).expect("it is well-formed");
        let reach = update.reach().expect("it announces");
        for route in reach.routes {
            key.clear();
            payload.clear();
            route.split(key, payload);
            sum += key.len() + payload.len();
        }
    }
    sum
}

#[inline(never)]
fn reflect_sets(sets: &[Vec<u8>], out: &mut Vec<u8>) -> usize {
    out.clear();
    sets.iter().for_each(|set| assert!(reflect(set, 0xC000_0201, 0xC000_0202, out)));
    out.len()
}

fn evpn_stream(count: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let attributes = attributes(1);
    let hop = [192, 0, 2, 1];
    let family = Family::Evpn;
    let mut packing =
        Announcement::multiprotocol(LIMITS, family, &hop, &attributes, &mut out).expect("it fits");
    for number in 0..count {
        let mut wire = vec![2, 33, 0, 0, 0xFD, 0xE8, 0, 0, 0, 1];
        wire.extend_from_slice(&[0; 14]);
        wire.extend_from_slice(&[48, 2, 0]);
        wire.extend_from_slice(&number.to_be_bytes());
        wire.extend_from_slice(&[0, 0, 6, 0x41]);
        packing.route(0, &wire).expect("it fits");
    }
    packing.finish();
    out
}

fn ipv6_stream(count: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let attributes = attributes(1);
    let hop = [0x20; 16];
    let family = Family::Ipv6Unicast;
    let mut packing =
        Announcement::multiprotocol(LIMITS, family, &hop, &attributes, &mut out).expect("it fits");
    for number in 0..count {
        let address = (0x2001 << 112 | u128::from(number) << 80).into();
        packing.ipv6_prefix(0, bgp::family::Ipv6Prefix::new(address, 48).expect("bits"));
    }
    packing.finish();
    out
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("table");
    group.throughput(Throughput::Elements(u64::from(PREFIXES)));
    let prefixes = prefixes();
    let count = prefixes.len() / PREFIXES_PER_SET;
    let sets: Vec<Vec<u8>> = (0..count as u32).map(attributes).collect();
    let (context, mut out) = (context(), Vec::with_capacity(1 << 23));
    pack_table(&sets, &prefixes, &mut out);
    let table = out.clone();
    pack_table(&sets[..1], &prefixes, &mut out);
    let one_set = out.clone();
    group.bench_function("read_internet_like", |b| {
        b.iter(|| read_table(black_box(&table), &context))
    });
    group.bench_function("read_one_set", |b| b.iter(|| read_table(black_box(&one_set), &context)));
    group.bench_function("pack_internet_like", |b| {
        b.iter(|| pack_table(black_box(&sets), &prefixes, &mut out));
    });
    group.bench_function("pack_one_set", |b| {
        b.iter(|| pack_table(black_box(&sets[..1]), &prefixes, &mut out));
    });
    group.bench_function("withdraw", |b| {
        b.iter(|| pack_withdrawals(black_box(&prefixes), &mut out));
    });
    let ipv6 = ipv6_stream(PREFIXES);
    group.bench_function("read_ipv6", |b| b.iter(|| read_ipv6(black_box(&ipv6), &context)));
    let evpn = evpn_stream(PREFIXES);
    let (mut key, mut payload) = (Vec::new(), Vec::new());
    group.bench_function("read_evpn", |b| {
        b.iter(|| read_evpn(black_box(&evpn), &context, &mut key, &mut payload));
    });
    group.bench_function("check_prefixes", |b| {
        let layout = bgp::family::Layout::default();
        let field: Vec<u8> = {
            let mut field = Vec::new();
            prefixes.iter().for_each(|prefix| prefix.write(&mut field));
            field
        };
        b.iter(|| Routes::new(Family::Ipv4Unicast, layout, black_box(&field)).check());
    });
    group.finish();
    let mut group = criterion.benchmark_group("attributes");
    group.throughput(Throughput::Elements(sets.len() as u64));
    group.bench_function("reflect", |b| b.iter(|| reflect_sets(black_box(&sets), &mut out)));
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
