//! What one peer may cost all others.

use crate::world::{Spec, World};
use bgp::codec::write_attribute;
use bgp::family::{Family, FamilySet};
use rib::{Bounds, Kind, PeerId};

fn client(constrained: bool) -> Spec {
    Spec {
        kind: Kind::Client,
        add_path: false,
        constrained,
        four_octet_as: true,
        location: 0,
        import: 0,
        export: 0,
        role: None,
        long_lived: false,
    }
}

fn vpn_key(number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    vec![96, 0, 0, 0xfd, 0xe8, 0, 0, 0, 1, 10, 0, high, low]
}

fn said(target: Option<u8>) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let mut attributes = Vec::new();
    write_attribute(0x40, 1, &[0], &mut attributes);
    write_attribute(0x40, 2, &[], &mut attributes);
    if target.is_none() {
        write_attribute(0x40, 3, &[192, 0, 2, 1], &mut attributes);
    }
    write_attribute(0x40, 5, &[0, 0, 0, 100], &mut attributes);
    let Some(target) = target else { return (attributes, Vec::new(), Vec::new()) };
    write_attribute(0xc0, 16, &[0, 2, 0xfd, 0xe8, 0, 0, 0, target], &mut attributes);
    let next_hop = [[0; 8].as_slice(), &[192, 0, 2, 1]].concat();
    (attributes, next_hop, vec![0, 0, 1])
}

/// A peer with VPN routes of target 1, and one that says what it wants.
fn world(bounds: Bounds) -> World {
    let mut world = World::bounded(1, vec![client(false), client(true)], bounds);
    world.up(0);
    for number in 0..200 {
        world.announce(0, Family::Vpnv4, &vpn_key(number), said(Some(1)));
    }
    world.up(1);
    world
}

/// How many of them it was told.
fn vpn_routes(world: &World) -> usize {
    world.clients[1].told.keys().filter(|(family, ..)| *family == Family::Vpnv4).count()
}

#[test]
fn a_route_target_that_comes_back_looped_is_wanted_no_more() {
    let mut world = world(Bounds::default());
    world.want(1, 1, true);
    world.settle();
    assert_eq!(vpn_routes(&world), 200);
    world.want_looped(1, 1);
    world.settle();
    assert_eq!(vpn_routes(&world), 0);
    world.check(1);
}

#[test]
fn who_wants_and_unwants_without_reading_makes_nothing_pile_up() {
    let mut world = world(Bounds { chunk_bytes: 1_000, ..Bounds::default() });
    world.want(1, 1, true);
    world.settle();
    for _ in 0..100 {
        world.want(1, 1, false);
        world.work(100);
        world.want(1, 1, true);
        world.work(100);
    }
    let waiting = world.rib.waiting(PeerId(1));
    assert!(waiting < 20_000, "{waiting} octets");
    world.want(1, 1, false);
    world.settle();
    assert_eq!(vpn_routes(&world), 0);
    world.check(1);
}

#[test]
fn one_peer_has_so_many_paths_of_a_key_and_no_more() {
    let mut world = World::new(1, vec![client(false)]);
    let family = Family::Ipv4Unicast;
    world.up_with(0, FamilySet::only(family));
    let key = [24, 10, 0, 0];
    for path_id in 1..=300 {
        world.announce_path(0, family, (&key, Some(path_id)), said(None));
    }
    let refused =
        |world: &World| world.rib.peer_counters(PeerId(0)).map(|it| it.treated_as_withdrawn);
    assert_eq!(world.rib.received(PeerId(0), family), 256);
    assert_eq!(refused(&world), Some(44));
    let before = world.rib.attribute_octets(PeerId(0));
    let mut other = said(None);
    write_attribute(0xc0, 8, &[0; 4], &mut other.0);
    world.announce_path(0, family, (&key, Some(400)), other);
    assert_eq!(world.rib.attribute_octets(PeerId(0)), before, "of what is refused nothing stays");
    world.announce_path(0, family, (&key, Some(7)), said(None));
    world.announce_path(0, family, (&[24, 10, 0, 1], Some(400)), said(None));
    assert_eq!((world.rib.received(PeerId(0), family), refused(&world)), (257, Some(45)));
}

#[test]
fn a_key_has_so_many_paths_of_all_peers_beside_one_of_each() {
    let mut world = World::new(1, vec![client(false); 8]);
    let family = Family::Ipv4Unicast;
    (0..8).for_each(|peer| world.up_with(peer, FamilySet::only(family)));
    let key = [24, 10, 0, 0];
    for peer in 0..6 {
        for path_id in 1..=256 {
            world.announce_path(peer, family, (&key, Some(path_id)), said(None));
        }
    }
    let paths = |world: &World, peer| world.rib.received(PeerId(peer), family);
    let all: Vec<u32> = (0..6).map(|peer| paths(&world, peer)).collect();
    assert_eq!(all, [256, 256, 256, 256, 1, 1], "whoever comes late has one");
    world.announce_path(6, family, (&key, Some(9)), said(None));
    world.announce_path(5, family, (&key, Some(1)), said(None));
    (1..=2).for_each(|id| world.announce_path(7, family, (&[24, 10, 0, 1], Some(id)), said(None)));
    assert_eq!((paths(&world, 5), paths(&world, 6), paths(&world, 7)), (1, 1, 2));
}

#[test]
fn keys_of_vpns_that_are_gone_wait_for_who_is_behind_by_what_they_take() {
    let (chunk_bytes, behind_bytes, gone_max) = (1_000, 2_000, 2_000);
    let bounds = Bounds { chunk_bytes, behind_bytes, gone_max, ..Bounds::default() };
    let mut world = World::bounded(1, vec![client(false), client(false)], bounds);
    (0..2).for_each(|number| world.up(number));
    for number in 0..1_000 {
        world.announce(0, Family::Vpnv4, &vpn_key(number), said(Some(1)));
    }
    world.settle();
    // Then it reads nothing, and a chunk of something else waits for it.
    for number in 0..400 {
        world.announce(0, Family::Vpnv4, &vpn_key(number), said(Some(2)));
    }
    world.run_while_reading(&[0]);
    let waiting = world.rib.waiting(PeerId(1));
    (0..1_000).for_each(|number| world.withdraw(0, Family::Vpnv4, &vpn_key(number)));
    world.run_while_reading(&[0]);
    assert_eq!(world.rib.waiting(PeerId(1)), waiting, "nobody is told before he can take it");
    world.settle();
    world.check(1);
}
