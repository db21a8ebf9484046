//! What customers say, and what other edges and customers hear of it.

use crate::world::{
    EDGES, World, customer_as, customer_said, hop, key, target, vpn_key, vrf_settings,
};
use bgp::codec::{AttributeType, Attributes, SegmentKind, prepend, write_attribute};
use bgp::family::{Family, FamilySet};
use l3vpn::VrfId;
use rib::{Bounds, PeerId};
use std::net::Ipv4Addr;

const VRF: VrfId = VrfId(1);

/// The attributes of a route of an AS, with a metric.
fn attributes(asn: u32, metric: u8) -> Vec<u8> {
    let (mut out, mut path) = (Vec::new(), Vec::new());
    prepend(&[], SegmentKind::Sequence, asn, &mut path);
    write_attribute(0x40, 1, &[0], &mut out);
    write_attribute(0x40, 2, &path, &mut out);
    write_attribute(0x80, 4, &[0, 0, 0, metric], &mut out);
    out
}

#[test]
fn routes_of_both_families_with_the_same_attributes_have_next_hops_of_their_own_family() {
    let mut world = World::new(1, Bounds::default());
    world.add(VRF, vrf_settings(1));
    // A session over IPv6 whose routes of IPv4 have the same next hop (RFC 8950).
    let next_hop = Ipv4Addr::new(10, 1, 0, 1).to_ipv6_mapped().octets().to_vec();
    for round in 0..4 {
        let said = (attributes(customer_as(0), round), next_hop.clone(), Vec::new());
        for family in [Family::Ipv6Unicast, Family::Ipv4Unicast] {
            world.customer_says((VRF, 0), family, &key(family, 1), Some(said.clone()));
        }
        world.settle();
        for (family, octets) in [(Family::Ipv4Unicast, 12), (Family::Ipv6Unicast, 24)] {
            let (_, told, _) = &world.edges[EDGES - 1].told[&vpn_key(1, family, 1)];
            assert_eq!(told.len(), octets, "round {round}");
        }
        world.check(u64::from(round));
        // The other family is read first in every second round.
        world.vpn.rib_mut(VRF);
        for _ in 0..round / 2 {
            world.vpn.work(&mut world.core, 1);
        }
    }
}

const COLOUR: [u8; 8] = [3, 0x0b, 0, 0, 0, 0, 0, 7];
const OF_EVPN: [u8; 8] = [6, 0, 0, 0, 0, 0, 0, 1];
const ORIGIN: [u8; 8] = [0, 3, 0xfd, 0xe8, 0, 0, 0, 9];
/// A route target and a route origin with the address 2001:db8::1 (RFC 5701).
const IPV6_TARGET: [u8; 20] = [0, 2, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];
const IPV6_ORIGIN: [u8; 20] = [0, 3, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];
/// The types of [`steering`] behind 16.
const STEERING: [u8; 6] = [22, 23, 25, 27, 40, 128];

/// Everything that steers the core, behind attributes and communities of a route.
fn steering(mut out: Vec<u8>, communities: &[[u8; 8]]) -> Vec<u8> {
    let all = [communities, &[COLOUR, OF_EVPN, ORIGIN]].concat();
    write_attribute(0xc0, 16, &all.concat(), &mut out);
    write_attribute(0xc0, 22, &[0, 6, 0, 0, 0, 10, 9, 9, 9], &mut out);
    write_attribute(0xc0, 23, &[0, 8, 0, 4, 6, 2, 10, 9], &mut out);
    write_attribute(0xc0, 25, &[IPV6_TARGET, IPV6_ORIGIN].concat(), &mut out);
    write_attribute(0xc0, 27, &[10, 9, 9, 9, 0, 3, 0x21], &mut out);
    write_attribute(0xc0, 40, &[1, 0, 7, 0, 0, 0, 0, 0, 0, 9], &mut out);
    write_attribute(0xc0, 128, &[0, 0, 0xfd, 0xe8], &mut out);
    out
}

/// What of that stands in attributes: the types behind 16, the communities of 16 and of 25.
fn steers(attributes: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let all = Attributes::new(attributes).map_while(Result::ok);
    let kinds = all.map(|it| it.number).filter(|it| *it > 16).collect();
    let value = |kind| Attributes::new(attributes).value(kind).unwrap_or_default().to_vec();
    let of_ipv6 = value(AttributeType::Ipv6ExtendedCommunities);
    (kinds, value(AttributeType::ExtendedCommunities), of_ipv6)
}

#[test]
fn what_steers_the_core_passes_no_border_of_a_vrf_but_where_the_customer_may() {
    let mut world = World::new(2, Bounds::default());
    world.add(VRF, vrf_settings(1));
    let family = Family::Ipv4Unicast;
    let foreign = target(3).0;
    let told = |peer: &crate::world::Peer, routed: &(Family, Vec<u8>)| steers(&peer.told[routed].0);
    // Of the world's customers the second one drops it.
    for customer in [0, 1] {
        let next_hop = Ipv4Addr::new(10, 1, 0, 1 + customer).to_ipv6_mapped().octets().to_vec();
        let customer = usize::from(customer);
        let said = steering(attributes(customer_as(customer), 1), &[foreign]);
        let route = key(family, 1 + u8::try_from(customer).expect("two"));
        world.customer_says((VRF, customer), family, &route, Some((said, next_hop, Vec::new())));
    }
    world.settle();
    let edge = &world.edges[EDGES - 1];
    let passed = [COLOUR, OF_EVPN, ORIGIN, target(1).0].concat();
    let expected = (STEERING.to_vec(), passed, IPV6_ORIGIN.to_vec());
    assert_eq!(told(edge, &vpn_key(1, family, 1)), expected, "targets never pass");
    let expected = (vec![], [ORIGIN, target(1).0].concat(), vec![]);
    assert_eq!(told(edge, &vpn_key(1, family, 2)), expected);
    // And back: another edge's route to both.
    let (vpn, route) = vpn_key(9, family, 3);
    let mut said = attributes(64_700, 1);
    write_attribute(0x40, 5, &[0, 0, 0, 100], &mut said);
    let said = steering(said, &[target(1).0]);
    let next_hop = [&[0; 8][..], &hop(0, 0).octets()].concat();
    world.edge_says(0, vpn, &route, Some((said, next_hop, vec![0, 3, 0x21])));
    world.settle();
    let customers = &world.tables[&VRF].customers;
    let routed = (family, key(family, 3));
    let expected = (STEERING.to_vec(), [COLOUR, OF_EVPN, ORIGIN].concat(), IPV6_ORIGIN.to_vec());
    assert_eq!(told(&customers[0], &routed), expected);
    assert_eq!(told(&customers[1], &routed), (vec![], ORIGIN.to_vec(), vec![]));
}

#[test]
fn what_a_base_takes_out_by_its_own_work_is_exported_by_the_next_turn() {
    let mut world = World::new(6, Bounds::default());
    world.add(VRF, vrf_settings(1));
    let family = Family::Ipv4Unicast;
    for number in 0..3 {
        let said = customer_said(&mut world.random, 0, family);
        world.customer_says((VRF, 0), family, &key(family, number), Some(said));
    }
    world.settle();
    let told = |world: &World| {
        let told = &world.edges.last().expect("there is one").told;
        (0..3).filter(|number| told.contains_key(&vpn_key(1, family, *number))).count()
    };
    assert_eq!(told(&world), 3);
    // The session ends: its routes stand until the base works, after the VPNs have.
    world.vpn.rib_mut(VRF).expect("it is there").down(PeerId(0), FamilySet::EMPTY);
    world.vpn.work(&mut world.core, 100);
    assert!(!world.vpn.has_work() && !world.vpn.has_worked(VRF), "nothing was chosen anew");
    world.vpn.rib_untouched(VRF).expect("it is there").work(world.now, 100);
    assert!(world.vpn.has_worked(VRF) && world.vpn.has_work());
    world.settle();
    assert_eq!(told(&world), 0);
    let exported = world.vpn.vrfs().next().expect("there is one").2.exported;
    assert_eq!((exported, world.vpn.has_work(), world.vpn.has_worked(VRF)), (0, false, false));
}
