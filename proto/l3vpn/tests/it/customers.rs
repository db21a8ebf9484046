//! What customers say, and what other edges and customers hear of it.

use crate::world::{EDGES, World, customer_as, key, vpn_key, vrf_settings};
use bgp::codec::{SegmentKind, prepend, write_attribute};
use bgp::family::Family;
use l3vpn::VrfId;
use rib::Bounds;
use std::net::Ipv4Addr;

const VRF: VrfId = VrfId(1);

/// The attributes of a customer's route, with a metric.
fn attributes(metric: u8) -> Vec<u8> {
    let (mut out, mut path) = (Vec::new(), Vec::new());
    prepend(&[], SegmentKind::Sequence, customer_as(0), &mut path);
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
        let said = (attributes(round), next_hop.clone(), Vec::new());
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
