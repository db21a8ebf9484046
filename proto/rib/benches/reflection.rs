//! What a route costs: to be read and decided on, and to be encoded for an update group.

#![allow(missing_docs, reason = "the macros of criterion make public items")]

use bgp::Negotiated;
use bgp::codec::{Context, HEADER_BYTES, Messages, Offer, Peering, write_attribute};
use bgp::family::{Family, FamilySet, Ipv4Prefix};
use bgp::pack::{Announcement, Limits};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use machine::{Duration, Time};
use rib::{Bounds, Customer, Kind, Neighbour, PeerId, Rib, Settings};
use std::hint::black_box;

const SETS: u32 = 71_900;
const ROUTES_OF_A_SET: u32 = 7;

fn feed() -> Vec<u8> {
    let mut out = Vec::new();
    for set in 0..SETS {
        let mut attributes = Vec::new();
        write_attribute(0x40, 1, &[0], &mut attributes);
        let path =
            [&[2, 4][..], &(0..4).flat_map(|at| (set + at).to_be_bytes()).collect::<Vec<_>>()];
        write_attribute(0x40, 2, &path.concat(), &mut attributes);
        write_attribute(0x40, 3, &[192, 0, 2, 1], &mut attributes);
        write_attribute(0x80, 4, &set.to_be_bytes(), &mut attributes);
        write_attribute(0x40, 5, &100u32.to_be_bytes(), &mut attributes);
        write_attribute(0xc0, 8, &[0xfd, 0xe8, 0, 1, 0xfd, 0xe8, 0, 2], &mut attributes);
        let limits = Limits { message_max: 4_096, add_path: false };
        let mut packing = Announcement::plain(limits, &attributes, &mut out).expect("room");
        for route in 0..ROUTES_OF_A_SET {
            let number = (set * ROUTES_OF_A_SET + route).wrapping_mul(0x9E37_79B1);
            let prefix = Ipv4Prefix::new((number & !0xFF).into(), 24);
            packing.prefix(0, prefix.expect("24 bits"));
        }
        packing.finish();
    }
    out
}

fn negotiated() -> Negotiated {
    let families = FamilySet::only(Family::Ipv4Unicast);
    Negotiated {
        context: Context {
            peering: Peering::Internal,
            four_octet_as: true,
            families,
            add_path: FamilySet::EMPTY,
            extended_next_hop: FamilySet::EMPTY,
            multiple_labels: FamilySet::EMPTY,
            aigp: false,
            first_as: None,
        },
        peer: Offer::modern(65_000, 1, 90, families),
        hold_time: Duration::from_secs(90),
        keepalive_time: Duration::from_secs(30),
        send_hold_time: Duration::from_secs(480),
        message_max: 4_096,
        add_path_send: FamilySet::EMPTY,
        multiple_labels_send: FamilySet::EMPTY,
        route_refresh: true,
        enhanced_refresh: false,
        graceful_restart: FamilySet::EMPTY,
        notification_restart: false,
        long_lived: FamilySet::EMPTY,
    }
}

fn up(rib: &mut Rib, number: u32) {
    let about = Neighbour {
        kind: Kind::Client,
        identifier: 1 + number,
        address: core::net::Ipv4Addr::from(0x7f00_0001 + number).into(),
        asn: 65_000,
        import: 0,
        export: 0,
        location: 0,
        allow_own_as: 0,
        role: None,
        next_hop_self: None,
        own_ipv6: None,
        customer: Customer::default(),
        subnets: Vec::new(),
    };
    rib.up(Time::ZERO, PeerId(number), about, &negotiated());
}

fn fed(feed: &[u8]) -> Rib {
    let (asn, identifier) = (65_000, 0x0a00_0001);
    let (policy, bounds) = (None, Bounds::default());
    let settings = Settings { asn, identifier, cluster: identifier, policy, seed: 1, bounds };
    let mut rib = Rib::new(settings);
    up(&mut rib, 0);
    for (_, message) in Messages::new(feed, 4_096) {
        debug_assert!(message.len() > HEADER_BYTES);
        rib.update(PeerId(0), message).expect("nothing offends");
    }
    rib
}

/// Everything that is to be sent, the peers taking all at once.
fn drain(rib: &mut Rib) -> usize {
    let mut octets = 0;
    loop {
        let more = rib.work(Time::ZERO, 10_000);
        let mut any = false;
        while let Some(sending) = rib.next_sending() {
            rib.written(sending.peer, sending.bytes.len() as u64);
            octets += sending.bytes.len();
            any = true;
        }
        if !more && !any {
            return octets;
        }
    }
}

fn reflection(criterion: &mut Criterion) {
    let feed = feed();
    let mut group = criterion.benchmark_group("515,900 routes of 71,900 attribute sets");
    group.sample_size(10).throughput(Throughput::Elements((SETS * ROUTES_OF_A_SET).into()));
    group.bench_function("read and decide", |bencher| {
        bencher.iter_with_large_drop(|| fed(&feed));
    });
    group.bench_function("tell a group that follows", |bencher| {
        let set_up = || {
            let mut rib = fed(&feed);
            drain(&mut rib);
            rib.down(PeerId(0), FamilySet::EMPTY);
            drain(&mut rib);
            (0..100).for_each(|number| up(&mut rib, number));
            drain(&mut rib);
            for (_, message) in Messages::new(&feed, 4_096) {
                rib.update(PeerId(0), message).expect("nothing offends");
            }
            rib
        };
        bencher.iter_batched(
            set_up,
            |mut rib| {
                black_box(drain(&mut rib));
                rib
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("tell a group that comes", |bencher| {
        let mut rib = fed(&feed);
        drain(&mut rib);
        let counters = rib.counters();
        eprintln!("octets of the table: {}", counters.bytes);
        bencher.iter(|| {
            (1..101).for_each(|number| up(&mut rib, number));
            black_box(drain(&mut rib));
            (1..101).for_each(|number| rib.down(PeerId(number), FamilySet::EMPTY));
        });
    });
    group.finish();
}

criterion_group!(benches, reflection);
criterion_main!(benches);
