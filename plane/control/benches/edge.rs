//! What it costs the plane that an edge of VPNs is dead: one hop is said otherwise, and all routes
//! over it are on their backups.

#![allow(missing_docs, reason = "the macros of criterion make public items")]
#![allow(clippy::disallowed_methods, reason = "it measures")]

use criterion::{Criterion, criterion_group, criterion_main};
use nodes::Program;
use nodes::program::{Address, Hop, Interface, Mode, Neighbour, Port, Push, Tunnel, Urpf};
use plane_control::Plane;
use std::net::{IpAddr, Ipv4Addr};

const TABLES: u32 = 1_000;
const ROUTES_OF_A_TABLE: u32 = 1_000;
/// The groups of labels that lead to the two edges.
const EDGES: [u32; 2] = [11, 12];

fn address(at: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, at, host).into()
}

fn link(at: u8) -> Vec<Program> {
    let (index, port) = (u32::from(at), u16::from(at));
    let interface = Interface {
        index,
        port,
        outer: None,
        inner: None,
        mode: Mode::Routed { vrf: 0 },
        mtu: 1_500,
        mac: None,
        mpls: true,
        transit_only: false,
        urpf: Urpf::Off,
        proxy_arp: false,
        directed_broadcast: false,
        speaks: Vec::new(),
    };
    let mac = [2, 0, 0, 0, 0, at];
    vec![
        Program::Port(Port { port, name: format!("port{port}"), mac, mtu: 1_500, up: true }),
        Program::Interface(interface),
        Program::Address(Address { interface: index, address: address(at, 1), length: 24 }),
        Program::Neighbour(Neighbour { interface: index, address: address(at, 2), mac }),
    ]
}

fn hop(id: u32, hop: Hop) -> Program {
    Program::Hop { id, hop }
}

fn push(id: u32, over: u32, label: u32) -> Program {
    let push = Push { over, labels: vec![label], tunnel: Tunnel::Pipe, ..Push::default() };
    hop(id, Hop::Push(push))
}

fn group(id: u32, members: &[u32]) -> Program {
    let members = members.iter().map(|it| (*it, 1)).collect();
    hop(id, Hop::Group { members, resilient: false })
}

fn programs() -> Vec<Program> {
    let mut said: Vec<Program> = [1, 2].into_iter().flat_map(link).collect();
    for (at, edge) in (1_u8..).zip(EDGES) {
        let (interface, gateway) = (u32::from(at), Some(address(at, 2)));
        said.push(hop(interface, Hop::Via { interface, gateway, labels: Vec::new() }));
        said.push(push(20 + interface, interface, 16 + interface));
        said.push(group(edge, &[20 + interface]));
    }
    for vrf in 1..=TABLES {
        let [primary, backup, pair] = [1, 2, 3].map(|it| it * 10_000 + vrf);
        said.push(Program::Vrf { vrf });
        said.push(push(primary, EDGES[0], 200_000 + vrf));
        said.push(push(backup, EDGES[1], 300_000 + vrf));
        said.push(hop(pair, Hop::Backup { primary, backup }));
        let routes =
            (0..ROUTES_OF_A_TABLE).map(|n| (Ipv4Addr::from(0x0a00_0000 | n << 8), 24, pair));
        said.push(Program::Routes4 { vrf, routes: routes.collect() });
    }
    said
}

fn edge(criterion: &mut Criterion) {
    let mut plane = Plane::new(1).expect("memory");
    for program in programs() {
        plane.apply(&program).unwrap_or_else(|why| panic!("{program:?}: {why}"));
    }
    plane.publish();
    let (dead, alive) = (group(EDGES[0], &[]), group(EDGES[0], &[21]));
    let mut group = criterion.benchmark_group("1,000,000 routes of 1,000 tables over an edge");
    group.sample_size(20);
    for (name, first, then) in [("it is dead", &dead, &alive), ("it is back", &alive, &dead)] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| {
                let mut taken = std::time::Duration::ZERO;
                for _ in 0..times {
                    plane.apply(then).expect("it was so before");
                    plane.publish();
                    let from = std::time::Instant::now();
                    plane.apply(first).expect("it can be so");
                    plane.publish();
                    taken += from.elapsed();
                }
                taken
            });
        });
    }
    group.finish();
}

criterion_group!(benches, edge);
criterion_main!(benches);
