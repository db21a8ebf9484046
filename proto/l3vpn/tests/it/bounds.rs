//! What others may make grow.

use crate::world::{
    EDGES, World, connected, customer_said, key, target, vpn_key, vpn_said, vrf_settings,
};
use bgp::codec::{ExtendedCommunity, write_attribute};
use bgp::family::{Family, RouteDistinguisher};
use l3vpn::{Refusal, TARGETS_MAX, VrfId, VrfSettings};
use rib::Bounds;

const VRF: VrfId = VrfId(1);

/// Another edge says a route with one target, or withdraws it.
fn say(world: &mut World, rd: u8, number: u8, target: Option<u8>) {
    let (vpn, route) = vpn_key(rd, Family::Ipv4Unicast, number);
    let said = target.map(|number| {
        let (_, next_hop, payload) = vpn_said(&mut world.random, 0, vpn);
        let mut attributes = Vec::new();
        write_attribute(0x40, 1, &[0], &mut attributes);
        write_attribute(0x40, 2, &[], &mut attributes);
        write_attribute(0x40, 5, &[0, 0, 0, 100], &mut attributes);
        write_attribute(0xc0, 16, &crate::world::target(number).0, &mut attributes);
        (attributes, next_hop, payload)
    });
    world.edge_says(0, vpn, &route, said);
}

fn imported(world: &World) -> (u64, u64) {
    let (_, _, counters) = world.vpn.vrfs().next().expect("there is one");
    (counters.imported, counters.refused)
}

#[test]
fn a_vrf_has_no_more_routes_than_it_may_and_takes_the_rest_when_there_is_room() {
    let mut world = World::new(1, Bounds::default());
    world.add(VRF, VrfSettings { routes_max: 40, ..vrf_settings(1) });
    (0..100).for_each(|number| say(&mut world, 9, number, Some(1)));
    world.settle();
    assert_eq!(imported(&world), (40, 60));
    say(&mut world, 8, 3, Some(1));
    world.settle();
    assert_eq!(imported(&world), (41, 60), "another way to a prefix that it has");
    // Customers have limits of their own: theirs are taken.
    let said = customer_said(&mut world.random, 0, Family::Ipv4Unicast);
    world.customer_says((VRF, 0), Family::Ipv4Unicast, &key(Family::Ipv4Unicast, 200), Some(said));
    world.settle();
    assert_eq!(world.vpn.rib(VRF).expect("it is there").sizes(Family::Ipv4Unicast).0, 41);
    // Few that go make no room; more than an eighth do, for as many of the others as fit.
    (0..5).for_each(|number| say(&mut world, 9, number, None));
    world.settle();
    assert_eq!(imported(&world).0, 36);
    (5..20).for_each(|number| say(&mut world, 9, number, None));
    world.settle();
    assert_eq!(world.vpn.rib(VRF).expect("it is there").sizes(Family::Ipv4Unicast).0, 40);
    world.change(VRF, VrfSettings { routes_max: 1_000, ..vrf_settings(1) });
    world.settle();
    assert_eq!(imported(&world).0, 81);
    world.check(1);
}

#[test]
fn routes_around_the_limit_cost_one_walk_in_ten_seconds() {
    let mut world = World::new(5, Bounds::default());
    world.add(VRF, VrfSettings { routes_max: 40, ..vrf_settings(1) });
    (0..100).for_each(|number| say(&mut world, 9, number, Some(1)));
    world.settle();
    assert_eq!((imported(&world), world.vpn.deadline()), ((40, 60), None));
    let gone = |world: &mut World, numbers: std::ops::Range<u8>| {
        numbers.for_each(|number| say(world, 9, number, None));
        world.settle();
        imported(world)
    };
    let (all, refused) = gone(&mut world, 0..20);
    assert_eq!(all, 40, "at once, the first time");
    let (some, same) = gone(&mut world, 20..60);
    assert!(some < 35 && same == refused, "{some} {same} {refused}");
    world.wait(9);
    world.settle();
    assert_eq!(imported(&world), (some, refused));
    assert!(world.vpn.deadline().is_some());
    world.wait(1);
    world.settle();
    assert_eq!(imported(&world), (40, refused));
    assert_eq!(world.vpn.deadline(), None);
    world.check(5);
}

#[test]
fn a_vrf_exports_no_more_routes_of_customers_than_it_may() {
    let mut world = World::new(6, Bounds::default());
    world.add(VRF, VrfSettings { routes_max: 40, ..vrf_settings(1) });
    let family = Family::Ipv4Unicast;
    let customer = |world: &mut World, numbers: std::ops::Range<u8>, stands: bool| {
        for number in numbers {
            let said = stands.then(|| customer_said(&mut world.random, 0, family));
            world.customer_says((VRF, 0), family, &key(family, number), said);
        }
        world.settle();
        let (_, _, counters) = world.vpn.vrfs().next().expect("there is one");
        let told = world.edges[EDGES - 1].told.len() as u64;
        assert_eq!(told, counters.exported);
        (told, counters.withheld, world.vpn.is_withheld(VRF))
    };
    assert_eq!(customer(&mut world, 0..40, true), (40, 0, false));
    assert_eq!(customer(&mut world, 40..60, true), (40, 20, true));
    assert_eq!(customer(&mut world, 0..1, true), (40, 20, true), "what is told may change");
    // A subnet is the operator's own.
    world.originate(VRF, family, &key(family, 200), Some(connected(family)));
    assert_eq!(customer(&mut world, 0..5, false), (36, 20, true), "no room yet");
    let (told, _, is_withheld) = customer(&mut world, 5..8, false);
    assert_eq!((told, is_withheld), (40, true), "33 were left, and all but these again");
    // Around the limit nothing is read again and again.
    let (told, withheld, _) = customer(&mut world, 8..20, false);
    assert!(told < 35 && world.vpn.deadline().is_some());
    world.wait(10);
    assert_eq!(customer(&mut world, 0..0, true), (40, withheld + 1, true), "41 are left");
    world.change(VRF, VrfSettings { routes_max: 100, ..vrf_settings(1) });
    assert_eq!(customer(&mut world, 0..0, true), (41, withheld + 1, false));
    world.check(6);
}

#[test]
fn a_vrf_that_may_have_fewer_keeps_what_it_has_and_is_full_at_once() {
    let mut world = World::new(5, Bounds::default());
    world.add(VRF, VrfSettings { routes_max: 40, ..vrf_settings(1) });
    (0..40).for_each(|number| say(&mut world, 9, number, Some(1)));
    world.settle();
    assert!(!world.vpn.is_full(VRF), "as many as it may, and nothing was refused");
    world.change(VRF, VrfSettings { routes_max: 30, ..vrf_settings(1) });
    world.settle();
    assert_eq!((imported(&world), world.vpn.prefixes(VRF)), ((40, 0), 40));
    assert!(world.vpn.is_full(VRF), "before anything is refused");
    (0..10).for_each(|number| say(&mut world, 9, number, None));
    world.settle();
    assert!(!world.vpn.is_full(VRF));
}

#[test]
fn other_targets_have_only_routes_with_those_judged_anew() {
    let mut world = World::new(2, Bounds::default());
    world.add(VRF, vrf_settings(1));
    for number in 0..100 {
        say(&mut world, 9, number, Some(number % 4));
    }
    world.settle();
    assert_eq!(imported(&world).0, 25);
    let all = world.core.reader([Family::Vpnv4].into_iter().collect(), 1);
    let told = |world: &mut World| {
        let mut told = 0;
        let count = &mut |change: rib::Change<'_>| {
            told += usize::from(matches!(change, rib::Change::Route(_)));
        };
        while world.core.read_changes(all, 1_000, count) {}
        told
    };
    assert_eq!(told(&mut world), 100);
    world.change(VRF, VrfSettings { import: vec![target(1), target(2)], ..vrf_settings(1) });
    assert_eq!(told(&mut world), 25);
    world.settle();
    assert_eq!(imported(&world).0, 50);
    world.change(VRF, VrfSettings { import: vec![target(2), target(3)], ..vrf_settings(1) });
    assert_eq!(told(&mut world), 50, "one goes, one comes");
    world.settle();
    assert_eq!(imported(&world).0, 50);
    world.check(2);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut world = World::new(3, Bounds::default());
    world.add(VRF, vrf_settings(1));
    let other = VrfId(2);
    let no_target = ExtendedCommunity([0, 3, 0, 0, 0, 0, 0, 1]);
    let many = (0..=TARGETS_MAX).map(|number| {
        let number = u32::try_from(number).expect("few");
        ExtendedCommunity(
            [&[0, 2, 1, 1][..], &number.to_be_bytes()].concat().try_into().expect("8"),
        )
    });
    let many: Vec<_> = many.collect();
    for (settings, refusal) in [
        (vrf_settings(1), Refusal::DistinguisherTaken(VRF)),
        (VrfSettings { export: vec![no_target], ..vrf_settings(2) }, Refusal::NoTarget(no_target)),
        (VrfSettings { import: many, ..vrf_settings(2) }, Refusal::TooManyTargets),
    ] {
        assert_eq!(world.vpn.set_vrf(&mut world.core, other, settings), Err(refusal));
    }
    assert_eq!(world.vpn.vrfs().count(), 1);
    let wishes = world.core.received(rib::PeerId::OWN, Family::RouteTarget);
    assert_eq!(wishes, 1, "the wish of the first one");
}

#[test]
fn distinguishers_of_others_leave_nothing_behind() {
    let mut world = World::new(4, Bounds::default());
    world.add(VRF, vrf_settings(1));
    for round in 0..50u32 {
        let mut rd = RouteDistinguisher([0, 2, 0, 0, 0, 0, 0, 0]);
        rd.0[2..6].copy_from_slice(&round.to_be_bytes());
        let (_, plain) = vpn_key(0, Family::Ipv4Unicast, 1);
        let route = [&plain[..1], &rd.0, &plain[9..]].concat();
        let mut said = vpn_said(&mut world.random, 0, Family::Vpnv4);
        said.0.clear();
        write_attribute(0x40, 1, &[0], &mut said.0);
        write_attribute(0x40, 2, &[], &mut said.0);
        write_attribute(0x40, 5, &[0, 0, 0, 100], &mut said.0);
        write_attribute(0xc0, 16, &target(1).0, &mut said.0);
        world.edge_says(0, Family::Vpnv4, &route, Some(said));
        world.settle();
        assert_eq!(world.vpn.distinguisher(1), Some(rd), "the number is used again");
        world.check(4);
        world.edge_says(0, Family::Vpnv4, &route, None);
        world.settle();
        assert_eq!((world.vpn.distinguisher(1), imported(&world).0), (None, 0));
    }
}
