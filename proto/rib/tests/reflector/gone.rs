//! Routes that come and go while somebody reads nothing.

use crate::world::{Spec, World};
use bgp::codec::write_attribute;
use bgp::family::{Family, FamilySet};
use machine::Time;
use rib::{Bounds, Kind, PeerId};

const STANDING: u32 = 300;
const GONE_MAX: usize = 2_000;

fn client(add_path: bool) -> Spec {
    Spec {
        kind: Kind::Client,
        add_path,
        constrained: false,
        four_octet_as: true,
        location: 0,
        import: 0,
        export: 0,
        role: None,
        long_lived: false,
    }
}

fn key(number: u32) -> Vec<u8> {
    let [_, b, c, d] = number.to_be_bytes();
    vec![32, 10, b, c, d]
}

fn said(number: u32) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let mut attributes = Vec::new();
    write_attribute(0x40, 1, &[0], &mut attributes);
    write_attribute(0x40, 2, &[], &mut attributes);
    write_attribute(0x40, 3, &[192, 0, 2, 1], &mut attributes);
    write_attribute(0x40, 5, &[0, 0, 0, 100], &mut attributes);
    write_attribute(0xc0, 8, &number.to_be_bytes(), &mut attributes);
    (attributes, Vec::new(), Vec::new())
}

/// Peer 0 has a table, peer 2 reads nothing of it, and peer 1 announces and withdraws keys that
/// nobody has seen before: the most entries that there were.
fn churned(add_path: bool, told_first: bool) -> usize {
    let bounds = Bounds { chunk_bytes: 1_000, gone_max: GONE_MAX, ..Bounds::default() };
    let specs = vec![client(false), client(false), client(add_path)];
    let mut world = World::bounded(1, specs, bounds);
    (0..2).for_each(|number| world.up(number));
    let family = Family::Ipv4Unicast;
    (0..STANDING).for_each(|number| world.announce(0, family, &key(number), said(number)));
    world.up(2);
    if told_first {
        world.settle();
    }
    let mut most = 0;
    for round in 0..20 {
        let fresh = || (0..500).map(|number| (1 + round) * 1_000 + number);
        fresh().for_each(|number| world.announce(1, family, &key(number), said(number % 3)));
        world.run_while_reading(&[0, 1]);
        fresh().for_each(|number| world.withdraw(1, family, &key(number)));
        world.run_while_reading(&[0, 1]);
        most = most.max(world.rib.counters().entries);
    }
    // Of what it was told, and of what it was not.
    (0..STANDING / 2).for_each(|number| world.withdraw(0, family, &key(number)));
    world.settle();
    world.check(1);
    most
}

#[test]
fn what_comes_and_goes_while_a_peer_stalls_takes_no_more_than_its_bound() {
    for (add_path, told_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let most = churned(add_path, told_first);
        assert!(most <= STANDING as usize + GONE_MAX + 500, "{most} entries");
    }
}

#[test]
fn keys_and_payloads_count_for_the_peer_where_they_may_be_long() {
    let mut world = World::new(1, vec![client(false)]);
    world.up(0);
    let octets = |world: &World| world.rib.attribute_octets(PeerId(0));
    let vpn = |last: u8| vec![88, 0, 0, 0xfd, 0xe8, 0, 0, 0, 1, 10, 0, last];
    let mut next_hop = vec![0; 8];
    next_hop.extend([192, 0, 2, 1]);
    let said = |label: u8| (said(7).0, next_hop.clone(), vec![0, label, 1]);
    world.announce(0, Family::Vpnv4, &vpn(0), said(1));
    let first = octets(&world);
    for number in 1..100 {
        world.announce(0, Family::Vpnv4, &vpn(number), said(number));
    }
    assert_eq!(octets(&world), first + 99 * 15);
    world.announce(0, Family::Vpnv4, &vpn(5), said(200));
    assert_eq!(octets(&world), first + 99 * 15, "another payload of the same length");
    (0..100).for_each(|number| world.withdraw(0, Family::Vpnv4, &vpn(number)));
    assert_eq!(octets(&world), 0);
    world.announce(0, Family::Ipv4Unicast, &key(1), self::said(7));
    let first = octets(&world);
    world.announce(0, Family::Ipv4Unicast, &key(2), self::said(7));
    assert_eq!(octets(&world), first, "a prefix counts by limits of routes");
}

/// A peer that asks for everything a hundred times in half a second, and again while it is told.
#[test]
fn who_asks_for_everything_again_and_again_is_told_once_and_then_once_more() {
    let bounds = Bounds { chunk_bytes: 1_000, ..Bounds::default() };
    let mut world = World::bounded(1, vec![client(false), client(true)], bounds);
    (0..2).for_each(|number| world.up(number));
    let family = Family::Ipv4Unicast;
    (0..STANDING).for_each(|number| world.announce(0, family, &key(number), said(number)));
    world.settle();
    let before = world.clients[1].messages;
    for _ in 0..100 {
        world.refresh(1, family);
        world.work(1);
    }
    world.run_while_reading(&[1]);
    let told = world.clients[1].messages - before;
    assert!((STANDING as usize..STANDING as usize + 50).contains(&told), "once: {told}");
    for _ in 0..3 {
        world.run_while_reading(&[1]);
    }
    let told = world.clients[1].messages - before;
    assert!((600..700).contains(&told), "and once more: {told}");
    assert_eq!(world.rib.deadline(), None, "and that is all");
    world.check(1);
}

#[test]
fn tables_that_share_a_budget_take_out_no_more_of_it_together() {
    let vpn = |number: u32| [&[88, 0, 0, 0xfd, 0xe8, 0, 0, 0, 1][..], &key(number)[1..4]].concat();
    let mut worlds = [0, 1].map(|_| World::bounded(1, vec![client(false)], Bounds::default()));
    for world in &mut worlds {
        world.up(0);
        for number in 0..100 {
            world.announce(0, Family::Ipv4Unicast, &key(number), said(number));
            let (attributes, ..) = said(number);
            let next_hop = [&[0; 8][..], &[192, 0, 2, 1]].concat();
            let said = (attributes, next_hop, vec![0, 0x10, 1]);
            world.announce(0, Family::Vpnv4, &vpn(number << 8), said);
        }
        world.settle();
        world.down(0, FamilySet::EMPTY);
    }
    let mut turns = 0;
    let mut has_more = true;
    while has_more {
        let mut left = 30;
        has_more = false;
        for world in &mut worlds {
            has_more |= world.rib.work_within(Time::ZERO, &mut left);
        }
        turns += 1;
        assert!(turns < 20, "of 400 routes in two families of two tables");
    }
    assert!(turns >= 400 / 30, "{turns}");
}
