//! The generator against real reflectors, which shall pass every check of it.

use bgp::family::{Family, FamilySet};
use bgp_load::{Clients, Evpn, InternetShape, Keys, Origin, Plan, Sum};
use peers::{Reflector, ReflectorKind, ReflectorSpec, free_port};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

const CLUSTER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
const LIMIT: Duration = Duration::from_secs(60);
const CLIENTS: usize = 12;

fn start(kind: ReflectorKind, of: &[Family], directory: &std::path::Path) -> (Reflector, Plan) {
    let families: FamilySet = of.iter().copied().collect();
    let listen = free_port(IpAddr::from([127, 0, 0, 1])).unwrap();
    let spec = ReflectorSpec {
        kind,
        listen,
        asn: 65_000,
        cluster: CLUSTER,
        clients: "127.16.0.0/12".into(),
        clients_max: CLIENTS + 1,
        families: families.iter().map(|family| family.name().to_owned()).collect(),
    };
    let reflector = Reflector::start(&spec, directory).unwrap();
    let cluster = CLUSTER.to_bits();
    let plan = Plan {
        reflector: listen,
        asn: 65_000,
        cluster,
        families,
        hold_time_s: kind.hold_time_s(),
        clients: CLIENTS + 1,
    };
    (reflector, plan)
}

/// Two feeders with half of the table each, and all that may happen to it.
fn exercise(kind: ReflectorKind) {
    let directory = tempfile::tempdir().unwrap();
    let (reflector, plan) = start(kind, &[Family::Ipv4Unicast], directory.path());
    let mut field = Clients::new(plan.clone(), Keys::new()).unwrap();
    field.connect(0..CLIENTS, LIMIT).unwrap();
    let table = InternetShape { prefixes: 3_000, sets: 400, seed: 7 }.table();
    let mut other = InternetShape::scaled(2_000).table();
    let known: std::collections::HashSet<_> = table.prefixes.iter().flatten().collect();
    other.prefixes.iter_mut().for_each(|it| it.retain(|prefix| !known.contains(prefix)));
    let origins = [0, 1].map(|client| Origin { client, cluster: plan.cluster });
    let feeds = [
        table.announce(&origins[0], 0, field.keys()),
        other.announce(&origins[1], 0, field.keys()),
    ];
    let all = feeds[0].sum.and(feeds[1].sum);
    for client in 0..CLIENTS {
        let own = feeds.get(client).map_or(Sum::default(), |feed| feed.sum);
        field.expect(client, Some(all.without(own)));
    }
    for (client, feed) in feeds.iter().enumerate() {
        field.feed(client, feed);
    }
    let found = field.converge(LIMIT).unwrap_or_else(|e| panic!("{e}: {}", reflector.log_end()));
    assert_eq!(found.clients, CLIENTS);
    assert!(found.updates >= all.held * (CLIENTS as u64 - 2), "{found:?}");
    eprintln!("{}: {found:?}", reflector.version);

    // A newcomer gets all while one route changes.
    field.expect(CLIENTS, Some(all));
    field.connect(CLIENTS..CLIENTS + 1, LIMIT).unwrap();
    field.converge(LIMIT).unwrap();
    let change = table.announce_one(17, &origins[0], 5, field.keys());
    let seconds = field.change(0, &change, 1..CLIENTS, LIMIT).unwrap();
    eprintln!("{}: a change in {:.1} ms", reflector.version, seconds * 1e3);

    // One that does not read keeps nobody from reading.
    field.pause(CLIENTS - 1, true).unwrap();
    for client in 0..=CLIENTS {
        field.expect(client, (client > 1).then_some(feeds[1].sum));
    }
    field.feed(0, &table.withdraw());
    field.converge(LIMIT).unwrap();
    field.pause(CLIENTS - 1, false).unwrap();
    field.converge(LIMIT).unwrap();
    assert!(field.holds(CLIENTS - 1));
}

#[test]
fn bird_reflects_what_two_feeders_announce_change_and_withdraw() {
    exercise(ReflectorKind::Bird);
}

#[test]
fn frr_reflects_what_two_feeders_announce_change_and_withdraw() {
    exercise(ReflectorKind::Frr);
}

#[test]
fn gobgp_reflects_what_two_feeders_announce_change_and_withdraw() {
    exercise(ReflectorKind::Gobgp);
}

#[test]
fn openbgpd_reflects_what_two_feeders_announce_change_and_withdraw() {
    exercise(ReflectorKind::Openbgpd);
}

/// Every client feeds MACs, and gets all others or those of its own instances.
fn exercise_evpn(kind: ReflectorKind, is_constrained: bool) {
    let directory = tempfile::tempdir().unwrap();
    let families = [Family::Evpn, Family::RouteTarget];
    let families = if is_constrained { &families[..] } else { &families[..1] };
    let (reflector, plan) = start(kind, families, directory.path());
    let mut field = Clients::new(plan.clone(), Keys::new()).unwrap();
    field.connect(0..CLIENTS, LIMIT).unwrap();
    let (asn, cluster) = (plan.asn, plan.cluster);
    let evpn = Evpn { evis: 30, clients: CLIENTS, sites: 4, macs: 600, asn, cluster };
    let feeds = evpn.prepare(&mut field, is_constrained).unwrap();
    let found = Evpn::feed(&mut field, &feeds);
    let found = found.unwrap_or_else(|e| panic!("{e}: {}", reflector.log_end()));
    eprintln!("{}: {found:?}", reflector.version);
    let routes: u64 = feeds.iter().map(|feed| feed.routes).sum();
    assert_eq!(routes, 600 + 30 * 4);
    for client in 0..CLIENTS {
        field.expect(client, Some(Sum::default()));
    }
    for client in 0..CLIENTS {
        field.feed(client, &evpn.withdraw(client));
    }
    field.converge(LIMIT).unwrap();
}

#[test]
fn frr_reflects_every_mac_to_every_edge() {
    exercise_evpn(ReflectorKind::Frr, false);
}

#[test]
fn gobgp_reflects_macs_to_the_edges_that_want_them() {
    exercise_evpn(ReflectorKind::Gobgp, true);
}

#[test]
fn a_wrong_expectation_is_told_and_not_passed() {
    let directory = tempfile::tempdir().unwrap();
    let (_reflector, plan) = start(ReflectorKind::Bird, &[Family::Ipv4Unicast], directory.path());
    let mut field = Clients::new(plan.clone(), Keys::new()).unwrap();
    field.connect(0..3, LIMIT).unwrap();
    let table = InternetShape::scaled(500).table();
    let origin = Origin { client: 0, cluster: plan.cluster };
    let right = table.announce(&origin, 0, field.keys());
    let wrong = table.announce(&origin, 1, field.keys());
    field.expect(1, Some(right.sum));
    field.expect(2, Some(wrong.sum));
    field.feed(0, &right);
    let (until, mut error) = (Instant::now() + LIMIT, String::new());
    while !error.contains("500 of 500") && Instant::now() < until {
        error = field.converge(Duration::from_secs(5)).unwrap_err().to_string();
    }
    assert!(error.contains("client 2 500 of 500, with other attributes"), "{error}");
    assert!(field.holds(1) && !field.holds(2), "{error}");
}
