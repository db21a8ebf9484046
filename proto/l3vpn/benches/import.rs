//! What it costs to import routes of VPNs, and to go over to their backups when an edge is dead.

#![allow(missing_docs, reason = "the macros of criterion make public items")]

use bgp::Negotiated;
use bgp::codec::{Context, ExtendedCommunity, Messages, Offer, Peering, write_attribute};
use bgp::family::{Family, FamilySet, Label, RouteDistinguisher};
use bgp::pack::{Announcement, Limits};
use core::net::Ipv4Addr;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use l3vpn::{Settings, Vpn, VrfId, VrfSettings};
use machine::{Duration, Time};
use rib::{Bounds, Change, Customer, Kind, Neighbour, PeerId, ReaderId, Rib};

/// VRFs of a small edge, and of one with a million routes.
const FEW: u32 = 100;
const MANY: u32 = 1_000;
const ROUTES_OF_A_VRF: u32 = 1_000;
const EDGES: u8 = 2;
const ASN: u32 = 65_000;

fn target(vrf: u32) -> ExtendedCommunity {
    let [_, _, high, low] = vrf.to_be_bytes();
    ExtendedCommunity([0, 2, 0xfd, 0xe8, 0, 0, high, low])
}

/// The routes of all VPNs as one edge tells them, each edge with distinguishers of its own.
fn feed(vrfs: u32, edge: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for vrf in 0..vrfs {
        let mut attributes = Vec::new();
        write_attribute(0x40, 1, &[0], &mut attributes);
        write_attribute(0x40, 2, &[2, 1, 0, 0, 0xfc, 0], &mut attributes);
        write_attribute(0x40, 5, &[0, 0, 0, 100 - edge], &mut attributes);
        write_attribute(0xc0, 16, &target(vrf).0, &mut attributes);
        let limits = Limits { message_max: 4_096, add_path: false };
        let next_hop = [&[0; 8][..], &hop(edge).octets()].concat();
        let (hop, family) = (&next_hop[..], Family::Vpnv4);
        let mut packing =
            Announcement::multiprotocol(limits, family, hop, &attributes, &mut out).expect("room");
        for route in 0..ROUTES_OF_A_VRF {
            let [_, _, third, fourth] = route.to_be_bytes();
            let [_, _, high, low] = vrf.to_be_bytes();
            let rd = [0, 0, 0xfd, edge, 0, 0, high, low];
            let wire = [&[112, 1, edge, 0x11][..], &rd, &[10, third, fourth]].concat();
            packing.route(0, &wire).expect("room");
        }
        packing.finish();
    }
    out
}

fn hop(edge: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 255, 1, edge)
}

fn negotiated() -> Negotiated {
    let families = FamilySet::only(Family::Vpnv4);
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
        peer: Offer::modern(ASN, 1, 90, families),
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

/// An edge with its VRFs, and a reader of each as a FIB has one.
struct Edge {
    core: Rib,
    vpn: Vpn,
    fibs: Vec<(VrfId, ReaderId)>,
}

impl Edge {
    fn new(vrfs: u32) -> Self {
        let (asn, identifier, seed) = (ASN, 0x0aff_0001, 1);
        let (policy, bounds, cluster) = (None, Bounds::default(), identifier);
        let base = rib::Settings { asn, identifier, cluster, policy, seed, bounds };
        let mut core = Rib::new(base);
        core.follow_next_hops();
        let (policy, next_hop, wishes) = (None, Ipv4Addr::new(10, 255, 0, 1), false);
        let settings = Settings { asn, identifier, next_hop, policy, seed, bounds, wishes };
        let mut vpn = Vpn::new(settings, &mut core);
        let mut fibs = Vec::new();
        for number in 0..vrfs {
            let [_, _, high, low] = number.to_be_bytes();
            let settings = VrfSettings {
                distinguisher: RouteDistinguisher([0, 0, 0xfd, 0xe8, 0, 0, high, low]),
                import: vec![target(number)],
                export: vec![target(number)],
                label: Label::new(1_000 + number).expect("twenty bits"),
                routes_max: 1 << 20,
            };
            let id = VrfId(number);
            vpn.set_vrf(&mut core, id, settings).expect("it can be so");
            let families = FamilySet::only(Family::Ipv4Unicast);
            fibs.push((id, vpn.rib_mut(id).expect("it came").reader(families, 8)));
        }
        for edge in 0..EDGES {
            let about = Neighbour {
                kind: Kind::NonClient,
                identifier: 1 + u32::from(edge),
                address: hop(edge).into(),
                asn: ASN,
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
            core.up(Time::ZERO, PeerId(edge.into()), about, &negotiated());
        }
        Self { core, vpn, fibs }
    }

    fn take(&mut self, edge: u8, feed: &[u8]) {
        for (_, message) in Messages::new(feed, 4_096) {
            self.core.update(PeerId(edge.into()), message).expect("nothing offends");
        }
        for address in self.core.new_next_hops() {
            self.core.set_next_hop(address, Some(10));
        }
    }

    /// How many routes the FIBs are told until everything is imported, and how many of them have a
    /// backup.
    fn import(&mut self) -> (usize, usize) {
        let (mut told, mut backed) = (0, 0);
        while self.vpn.work(&mut self.core, 10_000) {}
        for (id, reader) in &self.fibs {
            let rib = self.vpn.rib_mut(*id).expect("it is there");
            while rib.read_changes(*reader, 10_000, &mut |change| {
                if let Change::Route(choice) = change {
                    told += usize::from(choice.best().is_some());
                    backed += usize::from(choice.backup().is_some());
                }
            }) {}
        }
        (told, backed)
    }
}

fn import(criterion: &mut Criterion) {
    of_size(criterion, FEW, "100,000 routes of 100 VPNs");
    of_size(criterion, MANY, "1,000,000 routes of 1,000 VPNs");
}

fn of_size(criterion: &mut Criterion, vrfs: u32, name: &str) {
    let feeds = [feed(vrfs, 0), feed(vrfs, 1)];
    let routes = vrfs * ROUTES_OF_A_VRF;
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Elements(routes.into()));
    let told = || {
        let mut edge = Edge::new(vrfs);
        edge.import();
        edge.take(0, &feeds[0]);
        edge
    };
    group.bench_function("import, to the FIBs", |bencher| {
        bencher.iter_batched(
            told,
            |mut edge| {
                assert_eq!(edge.import(), (routes as usize, 0));
                edge
            },
            BatchSize::PerIteration,
        );
    });
    let both = || {
        let mut edge = told();
        edge.take(1, &feeds[1]);
        assert_eq!(edge.import(), (routes as usize, routes as usize));
        edge
    };
    group.bench_function("an edge is dead, to the FIBs", |bencher| {
        bencher.iter_batched(
            both,
            |mut edge| {
                edge.core.set_next_hop(hop(0).into(), None);
                assert_eq!(edge.import(), (routes as usize, 0));
                edge
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, import);
criterion_main!(benches);
