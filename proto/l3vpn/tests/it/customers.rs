//! Customers' sessions that end.

use crate::world::{World, customer_said, key, vpn_key, vrf_settings};
use bgp::family::{Family, FamilySet};
use l3vpn::VrfId;
use rib::{Bounds, PeerId};

const VRF: VrfId = VrfId(1);

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
