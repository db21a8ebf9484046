//! Tables are the same for the same seed, and like those that the report had.

use bgp::codec::{AsPath, Attributes, Context, MESSAGE_BYTES_MAX, Messages, Peering, Update};
use bgp::family::{Family, FamilySet};
use bgp_load::{Evpn, InternetShape, Keys, Origin, Recorded, Sum, Table};
use std::collections::HashSet;

const EVPN: Evpn =
    Evpn { evis: 2_000, clients: 200, sites: 4, macs: 20_000, asn: 65_000, cluster: 9 };

fn context(families: FamilySet) -> Context {
    Context {
        peering: Peering::Internal,
        four_octet_as: true,
        families,
        add_path: FamilySet::EMPTY,
        extended_next_hop: FamilySet::EMPTY,
        multiple_labels: FamilySet::EMPTY,
        aigp: false,
        first_as: None,
    }
}

#[test]
fn the_same_seed_gives_the_same_table_and_another_one_another() {
    let shape = InternetShape { prefixes: 5_000, sets: 700, seed: 4 };
    assert_eq!(shape.table(), shape.table());
    assert_ne!(shape.table(), InternetShape { seed: 5, ..shape }.table());
    assert_eq!(Table::synthetic(1_000, 50, 1), Table::synthetic(1_000, 50, 1));
}

#[test]
fn a_recorded_table_is_announced_with_its_attributes_and_the_feeders_own() {
    let peers = [mrt::Peer { identifier: 1, address: [192, 0, 2, 1].into(), asn: 65_001 }];
    let mut file = Vec::new();
    mrt::write_peer_index_table(0, 7, "view", &peers, &mut file).unwrap();
    // ORIGIN, AS_PATH 65001, NEXT_HOP, MED 5, LOCAL_PREF 7, a community; then with no-advertise.
    let attributes = |community: u8| {
        let mut all = vec![0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xFD, 0xE9];
        all.extend_from_slice(&[0x40, 3, 4, 192, 0, 2, 1, 0x80, 4, 4, 0, 0, 0, 5]);
        all.extend_from_slice(&[0x40, 5, 4, 0, 0, 0, 7, 0xC0, 8, 4, 0xFF, 0xFF, 0xFF, community]);
        all
    };
    let routes: [(&[u8], u8); 4] =
        [(&[8, 10], 1), (&[16, 172, 16], 1), (&[8, 10], 9), (&[8, 11], 2)];
    for (sequence, (nlri, community)) in (0..).zip(routes) {
        let family = Family::Ipv4Unicast;
        let mut record = mrt::RibRecord::begin(0, sequence, family, false, nlri, &mut file);
        let attributes = &attributes(community);
        let (peer, originated_s, id, next_hop) = (0, 0, 0, None);
        record.path(&mrt::Path { peer, originated_s, id, next_hop, attributes }).unwrap();
        record.finish();
    }
    let recorded = Recorded::read(&file);
    assert_eq!((recorded.table.len(), recorded.passed_over, recorded.malformed), (2, 2, 0));
    let mut keys = Keys::new();
    let feed = recorded.table.announce(&Origin { client: 3, cluster: 9 }, 0, &mut keys);
    let context = context(FamilySet::only(Family::Ipv4Unicast));
    let (_, message) = Messages::new(&feed.octets, MESSAGE_BYTES_MAX).next().unwrap();
    let update = Update::read(message, &context).unwrap();
    assert_eq!((update.violation(), update.announced().count()), (None, 2));
    let numbers: Vec<u8> =
        Attributes::new(update.attributes()).map(|it| it.unwrap().number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 8]);
    assert_eq!(Recorded::read(&file[..file.len() - 3]).malformed, 1);
}

#[test]
fn the_internet_table_has_the_numbers_and_distributions_of_the_report() {
    let table = InternetShape::REPORT.table();
    assert_eq!((table.len(), table.sets.len()), (515_858, 71_900));
    let all: HashSet<_> = table.prefixes.iter().flatten().collect();
    assert_eq!(all.len(), 515_858, "every prefix once");
    let sets: HashSet<_> = table.sets.iter().collect();
    assert_eq!(sets.len(), 71_900, "every attribute set once");
    assert!(table.prefixes.iter().all(|prefixes| !prefixes.is_empty()));
    let share = |bits: u8| {
        let count = all.iter().filter(|prefix| prefix.bits() == bits).count();
        count as f64 / all.len() as f64
    };
    let expected = [(24, 0.56), (23, 0.092), (22, 0.098), (20, 0.07), (16, 0.024)];
    for (bits, expected) in expected {
        let found = share(bits);
        assert!((found - expected).abs() < 0.015, "/{bits}: {found}");
    }
    let hops = table.sets.iter().map(|[head, _]| {
        let path = Attributes::new(head).map_while(Result::ok).find(|it| it.number == 2);
        AsPath::new(path.unwrap().value, true).hops()
    });
    let mean = hops.sum::<usize>() as f64 / table.sets.len() as f64;
    assert!((4.2..4.4).contains(&mean), "{mean}");
    let most = table.prefixes.iter().map(Vec::len).max().unwrap();
    assert!((1_000..6_000).contains(&most), "{most}");
}

#[test]
fn what_is_fed_is_well_formed() {
    let origin = Origin { client: 0, cluster: 1 };
    let tables = [InternetShape::scaled(20_000).table(), Table::synthetic(20_000, 1_000, 1)];
    for table in tables {
        let feed = table.announce(&origin, 3, &mut Keys::new());
        let context = context(FamilySet::only(Family::Ipv4Unicast));
        let mut count = 0;
        for (_, message) in Messages::new(&feed.octets, MESSAGE_BYTES_MAX) {
            let update = Update::read(message, &context).unwrap();
            assert_eq!(update.violation(), None);
            count += update.announced().check().unwrap();
        }
        assert_eq!((count as u64, feed.sum.held), (feed.routes, 20_000));
    }
}

#[test]
fn a_change_of_one_route_is_another_route_for_the_sum() {
    let (table, mut keys) = (InternetShape::scaled(1_000).table(), Keys::new());
    let origin = Origin { client: 0, cluster: 1 };
    let all = table.announce(&origin, 0, &mut keys).sum;
    let [before, after] =
        [0, 1].map(|revision| table.announce_one(5, &origin, revision, &mut keys));
    assert_eq!((before.routes, after.routes), (1, 1));
    assert_ne!(all, all.without(before.sum).and(after.sum));
    assert_eq!(keys.len(), 1_000);
}

#[test]
fn every_evpn_instance_stands_in_four_provider_edges_and_its_macs_are_dealt_out() {
    for evi in [0, 1, 49, 50, 1_999] {
        let members: HashSet<_> = EVPN.members(evi).collect();
        assert_eq!(members.len(), 4);
    }
    assert!((0..200).all(|client| EVPN.evis_of(client).count() == 40));
    let (mut keys, mut all, mut by_evi) = (Keys::new(), Sum::default(), Vec::new());
    let context = context([Family::Evpn, Family::RouteTarget].into_iter().collect());
    for client in 0..200 {
        let feed = EVPN.announce(client, &mut keys, &mut by_evi);
        all = all.and(feed.sum);
        for (_, message) in Messages::new(&feed.octets, MESSAGE_BYTES_MAX) {
            assert_eq!(Update::read(message, &context).unwrap().violation(), None);
        }
        assert_eq!(EVPN.withdraw(client).routes, feed.routes);
        let memberships = EVPN.memberships(client);
        assert_eq!(memberships.routes, 40);
        for (_, message) in Messages::new(&memberships.octets, MESSAGE_BYTES_MAX) {
            assert_eq!(Update::read(message, &context).unwrap().violation(), None);
        }
    }
    assert_eq!(all.held, 20_000 + 8_000, "MACs and one multicast route for each place");
    assert_eq!((keys.len(), by_evi.len()), (28_000, 8_000));
    let sum = by_evi.iter().fold(Sum::default(), |sum, (_, one)| sum.and(*one));
    assert_eq!(sum, all);
}
