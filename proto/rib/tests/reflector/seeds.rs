//! Worlds by seed: whatever is announced, withdrawn, lost and found again, and however slowly it is
//! read, in the end everybody was told what a slow and simple reference says.

use crate::world::{Spec, World};
use bgp::codec::SegmentKind;
use bgp::codec::{AttributeType, Attributes, prepend, write_attribute};
use bgp::family::{Family, FamilySet};
use rib::{Bounds, Kind, PeerId};

fn plain(kind: Kind) -> Spec {
    Spec {
        kind,
        add_path: false,
        constrained: false,
        four_octet_as: true,
        location: 0,
        import: 0,
        export: 0,
        role: None,
        long_lived: false,
    }
}

fn specs() -> Vec<Spec> {
    vec![
        plain(Kind::Client),
        plain(Kind::Client),
        Spec { constrained: true, ..plain(Kind::Client) },
        Spec { constrained: true, ..plain(Kind::Client) },
        plain(Kind::NonClient),
        plain(Kind::NonClient),
        Spec { add_path: true, ..plain(Kind::Client) },
        Spec { four_octet_as: false, ..plain(Kind::Client) },
        plain(Kind::External),
        Spec { export: 2, ..plain(Kind::External) },
        Spec { location: 1, ..plain(Kind::Client) },
        Spec { import: 2, export: 1, ..plain(Kind::Client) },
        Spec { import: 1, constrained: true, export: 2, ..plain(Kind::NonClient) },
    ]
}

/// A route by numbers, few enough that they meet.
fn key(family: Family, number: u8) -> Vec<u8> {
    match family {
        Family::Ipv4Unicast => vec![24, 10, 0, number],
        Family::Ipv6Unicast => vec![40, 0x20, 1, 0xd, 0xb8, number],
        _ => vec![88, 0, 0, 0xfd, 0xe8, 0, 0, 0, 1, 10, 0, number],
    }
}

fn said(world: &mut World, number: usize, family: Family) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let is_external = world.clients[number].spec.kind == Kind::External;
    let asn = world.asn(number);
    let random = &mut world.random;
    let (mut path, mut out) = (Vec::new(), Vec::new());
    for _ in 0..random.below(3) {
        let mut longer = Vec::new();
        prepend(&path, SegmentKind::Sequence, 70_001 + random.below(2) as u32, &mut longer);
        path = longer;
    }
    if is_external {
        let mut longer = Vec::new();
        prepend(&path, SegmentKind::Sequence, asn, &mut longer);
        path = longer;
    }
    write_attribute(0x40, 1, &[random.below(2) as u8], &mut out);
    write_attribute(0x40, 2, &path, &mut out);
    if family == Family::Ipv4Unicast {
        write_attribute(0x40, 3, &[192, 0, 2, number as u8 + 1], &mut out);
    }
    if random.is(50) {
        write_attribute(0x80, 4, &[0, 0, 0, random.below(3) as u8], &mut out);
    }
    if !is_external {
        write_attribute(0x40, 5, &[0, 0, 0, 99 + random.below(2) as u8], &mut out);
    }
    if random.is(20) && !is_external {
        write_attribute(0x80, 9, &[192, 0, 2, random.below(4) as u8 + 1], &mut out);
        write_attribute(0x80, 10, &[9, 9, 9, 9], &mut out);
    }
    let next_hop = [192, 0, 2, number as u8 + 1];
    match family {
        Family::Ipv4Unicast => (out, vec![], vec![]),
        Family::Ipv6Unicast => (out, [[0x20, 1, 0xd, 0xb8]; 4].concat(), vec![]),
        _ => {
            let mut targets = vec![[0, 2, 0xfd, 0xe8, 0, 0, 0, random.below(4) as u8]];
            if random.is(30) {
                targets.push([0, 2, 0xfd, 0xe8, 0, 0, 0, random.below(4) as u8]);
            }
            write_attribute(0xc0, 16, &targets.concat(), &mut out);
            let label = random.below(3) as u8;
            (out, [&[0; 8][..], &next_hop].concat(), vec![0, label, 0x11])
        }
    }
}

fn act(world: &mut World) {
    let number = world.random.below(world.clients.len() as u64) as usize;
    let families = [Family::Ipv4Unicast, Family::Ipv6Unicast, Family::Vpnv4, Family::Vpnv4];
    let family = families[world.random.below(4) as usize];
    let route = key(family, world.random.below(12) as u8);
    if !world.clients[number].is_up {
        return world.up(number);
    }
    match world.random.below(100) {
        0..55 => {
            let said = said(world, number, family);
            world.announce(number, family, &route, said);
        }
        55..75 => world.withdraw(number, family, &route),
        75..85 if world.clients[number].spec.constrained => {
            let (target, is_wanted) = (world.random.below(4) as u8, world.random.is(60));
            world.want(number, target, is_wanted);
        }
        85..88 => world.refresh(number, family),
        88..90 => world.down(number, FamilySet::EMPTY),
        90 => world.turn_rules(),
        _ => world.run_a_little(),
    }
}

#[test]
fn everybody_is_told_what_the_reference_says() {
    let seeds = std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(150);
    for seed in 1..=seeds {
        let mut world = World::new(seed, specs());
        for _ in 0..4 {
            let count = world.random.below(300);
            (0..count).for_each(|_| act(&mut world));
            world.settle();
            world.check(seed);
        }
    }
}

#[test]
fn everybody_is_told_the_same_where_little_may_wait_and_groups_fall_apart() {
    let seeds = std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(150);
    let mut most = 0;
    for seed in 1..=seeds {
        let chunk_bytes = 1 + 50 * (seed as usize % 5);
        let (behind_bytes, held_bytes) = (100 * (1 + seed % 7), 400 * (1 + seed % 11));
        let cohorts_max = 1 + seed as usize % 4;
        let gone_max = [0, 5, 1 << 20][seed as usize % 3];
        let bounds = Bounds { chunk_bytes, behind_bytes, held_bytes, cohorts_max, gone_max };
        let spec = |at: usize| specs().swap_remove([0, 0, 0, 2, 2, 6, 12][at % 7]);
        let mut world = World::bounded(seed, (0..16).map(spec).collect(), bounds);
        for _ in 0..4 {
            let count = world.random.below(400);
            for _ in 0..count {
                act(&mut world);
                most = most.max(world.rib.counters().cohorts);
            }
            world.settle();
            world.check(seed);
        }
    }
    assert!(most > 12, "groups have fallen apart: {most} cohorts");
}

#[test]
fn stale_routes_stay_until_they_are_purged_and_cost_nothing_if_they_come_again() {
    let mut world = World::new(7, vec![plain(Kind::Client), plain(Kind::Client)]);
    (0..2).for_each(|number| world.up(number));
    let family = Family::Ipv4Unicast;
    let routes: Vec<_> = (0..20).map(|it| (key(family, it), said(&mut world, 0, family))).collect();
    routes.iter().for_each(|(key, said)| world.announce(0, family, key, said.clone()));
    world.settle();
    let kept = world.clients[0].says.clone();
    world.down(0, FamilySet::only(family));
    world.settle();
    world.clients[0].says = kept.clone();
    world.check(7);
    let before = world.clients[1].messages;
    world.up(0);
    routes[..15].iter().for_each(|(key, said)| world.announce(0, family, key, said.clone()));
    world.settle();
    assert_eq!(world.clients[1].messages, before, "the same again says nothing new");
    world.rib.purge(PeerId(0), FamilySet::only(family));
    for (key, _) in &routes[15..] {
        world.clients[0].says.remove(&(family, key.clone(), 0));
    }
    world.settle();
    world.check(7);
    assert_eq!(world.clients[1].told.len(), 15);
}

#[test]
fn what_is_stale_for_long_is_told_as_such_or_goes_where_that_is_not_understood() {
    let understands = Spec { long_lived: true, ..plain(Kind::Client) };
    let specs = vec![plain(Kind::Client), understands, plain(Kind::Client), plain(Kind::Client)];
    let mut world = World::new(3, specs);
    (0..4).for_each(|number| world.up(number));
    let family = Family::Ipv4Unicast;
    let attributes = |number: u8, community: Option<u32>| {
        let mut out = Vec::new();
        write_attribute(0x40, 1, &[0], &mut out);
        write_attribute(0x40, 2, &[], &mut out);
        write_attribute(0x40, 3, &[192, 0, 2, number + 1], &mut out);
        write_attribute(0x40, 5, &[0, 0, 0, 200 - number], &mut out);
        if let Some(community) = community {
            write_attribute(0xc0, 8, &community.to_be_bytes(), &mut out);
        }
        (out, vec![], vec![])
    };
    let (no_llgr, llgr_stale) = (0xFFFF_0007, 0xFFFF_0006u32);
    world.announce(0, family, &key(family, 1), attributes(0, None));
    world.announce(0, family, &key(family, 2), attributes(0, Some(no_llgr)));
    world.announce(0, family, &key(family, 3), attributes(0, None));
    world.announce(3, family, &key(family, 3), attributes(3, None));
    world.settle();
    world.down(0, FamilySet::only(family));
    world.rib.long_lived(PeerId(0), FamilySet::only(family));
    world.settle();
    let told = |number: usize, route: u8| {
        let said = world.clients[number].told.get(&(family, key(family, route), 0))?;
        let all = Attributes::new(&said.0);
        let communities = all.value(AttributeType::Communities).unwrap_or_default().to_vec();
        Some((all.value(AttributeType::NextHop).expect("it has one")[3], communities))
    };
    assert_eq!(told(1, 1), Some((1, llgr_stale.to_be_bytes().to_vec())));
    assert_eq!(told(2, 1), None, "who does not understand it is not told");
    assert_eq!((told(1, 2), told(2, 2)), (None, None), "NO_LLGR");
    assert_eq!((told(1, 3), told(2, 3)), (Some((4, vec![])), Some((4, vec![]))), "behind others");
}

#[test]
fn who_reads_is_not_held_by_most_who_do_not() {
    let bounds = Bounds { behind_bytes: 4 << 20, ..Bounds::default() };
    let mut world = World::bounded(5, vec![plain(Kind::Client); 6], bounds);
    (0..6).for_each(|number| world.up(number));
    world.settle();
    let family = Family::Ipv4Unicast;
    for number in 0..120_000u32 {
        let mut attributes = Vec::new();
        write_attribute(0x40, 1, &[0], &mut attributes);
        write_attribute(0x40, 2, &[], &mut attributes);
        write_attribute(0x40, 3, &[192, 0, 2, 1], &mut attributes);
        write_attribute(0x80, 4, &number.to_be_bytes(), &mut attributes);
        let said = (attributes, vec![], vec![]);
        let [_, first, second, third] = number.to_be_bytes();
        world.announce(0, family, &[32, 10, first, second, third], said);
        if number % 4_000 == 0 {
            world.run_while_reading(&[1]);
        }
    }
    world.run_while_reading(&[1]);
    assert_eq!(world.clients[1].told.len(), 120_000, "it has read everything");
    let behind = |world: &World| {
        let groups = world.rib.groups();
        groups.iter().filter(|it| it.family == family).map(|it| it.cohorts.len()).sum::<usize>()
    };
    assert_eq!(behind(&world), 2);
    assert!(world.rib.waiting(PeerId(2)) < 5 << 20, "no more is encoded for the others");
    for number in 0..100 {
        let said = said(&mut world, 0, family);
        world.announce(0, family, &key(family, number), said);
    }
    world.settle();
    world.check(5);
    assert_eq!(behind(&world), 1, "who has caught up is one with the others again");
}

#[test]
fn what_changes_many_times_before_it_is_read_is_told_once() {
    let mut world = World::new(9, vec![plain(Kind::Client), plain(Kind::Client)]);
    (0..2).for_each(|number| world.up(number));
    world.settle();
    let family = Family::Ipv4Unicast;
    for _ in 0..500 {
        for number in 0..5 {
            let said = said(&mut world, 0, family);
            world.announce(0, family, &key(family, number), said);
        }
    }
    let before = world.clients[1].messages;
    world.settle();
    assert!(world.clients[1].messages - before <= 5);
    world.check(9);
    assert_eq!(world.rib.counters().entries, 5);
    for number in 0..5 {
        world.withdraw(0, family, &key(family, number));
    }
    world.settle();
    assert_eq!((world.rib.counters().entries, world.rib.counters().sets), (0, 0));
}
