//! Routes whose neighbour is lost: pairs lead to their backups as packets pass, before anybody has
//! written anything; groups do without it once the writer has looked.

use super::world::{World, address, item, ms, session};
use nodes::Program;
use nodes::program::{Hop, Push};
use std::net::Ipv4Addr;

const BACKUP: u32 = 2;

fn hop(id: u32, hop: Hop) -> Program {
    Program::Hop { id, hop }
}

/// The first router leads `count` destinations by the neighbour at interface 1, each by a pair of
/// its own behind labels of its own where `labelled`, and by interface 2 otherwise.
fn leading(count: u32, labelled: bool) -> World {
    let mut world = World::new(1, 1);
    world.watch(1, ms(10));
    let router = &mut world.routers[0];
    router.say(&hop(10, Hop::Backup { primary: 1, backup: BACKUP }));
    let mut routes = Vec::new();
    for n in 0..count {
        let to = Ipv4Addr::from(0x6400_0000 + n);
        let id = match labelled {
            false => 10,
            true => {
                let push = |over| Push { over, labels: vec![100 + n], ..Push::default() };
                router.say(&hop(1_000 + 3 * n, Hop::Push(push(1))));
                router.say(&hop(1_001 + 3 * n, Hop::Push(push(BACKUP))));
                let (primary, backup) = (1_000 + 3 * n, 1_001 + 3 * n);
                router.say(&hop(1_002 + 3 * n, Hop::Backup { primary, backup }));
                1_002 + 3 * n
            }
        };
        routes.push((to, 32, id));
    }
    router.say(&Program::Routes4 { vrf: 0, routes });
    world.run(ms(4_000));
    assert_eq!(world.states(1), ["Up", "Up"]);
    world
}

fn destinations(count: u32) -> impl Iterator<Item = [u8; 4]> {
    (0..count).step_by(count as usize / 10).map(|n| (0x6400_0000 + n).to_be_bytes())
}

/// Lets the neighbour be lost, and looks where packets go before the writer has done anything.
fn repaired_by_workers(count: u32, labelled: bool) {
    let mut world = leading(count, labelled);
    let now = world.now;
    assert_eq!(world.routers[0].ways(now, destinations(count)), [0; 10], "by the neighbour");
    world.passes[0] = false;
    world.writer_looks = false;
    let written = world.routers[0].plane.tables_written();
    world.run(ms(40));
    let now = world.now;
    assert_eq!(world.routers[0].ways(now, destinations(count)), [1; 10], "by the backup");
    assert_eq!(world.routers[0].plane.tables_written(), written, "nobody has written a hop");
    // Once the writer has looked, and when the neighbour is back.
    world.writer_looks = true;
    world.run(ms(100));
    let now = world.now;
    assert_eq!(world.routers[0].ways(now, destinations(count)), [1; 10]);
    world.passes[0] = true;
    world.run(ms(4_000));
    let now = world.now;
    assert_eq!(world.routers[0].ways(now, destinations(count)), [0; 10], "as before");
}

#[test]
fn ten_destinations_are_repaired_before_anything_is_written() {
    repaired_by_workers(10, false);
    repaired_by_workers(10, true);
}

#[test]
fn ten_thousand_destinations_are_repaired_before_anything_is_written() {
    repaired_by_workers(10_000, false);
    repaired_by_workers(10_000, true);
}

#[test]
fn equal_ways_do_without_a_neighbour_that_is_lost_and_take_it_again() {
    let mut world = World::new(3, 2);
    world.watch(1, ms(10));
    let router = &mut world.routers[0];
    router.say(&hop(10, Hop::Group { members: vec![(1, 1), (2, 1)], resilient: false }));
    let routes = vec![(Ipv4Addr::new(100, 0, 0, 0), 8, 10)];
    router.say(&Program::Routes4 { vrf: 0, routes });
    world.run(ms(4_000));
    let both = |world: &mut World| {
        let (now, to) = (world.now, (0..64_u32).map(|n| (0x6400_0000 + n).to_be_bytes()));
        let ways = world.routers[0].ways(now, to);
        [0, 1].map(|port| ways.iter().filter(|it| **it == port).count())
    };
    let [one, other] = both(&mut world);
    assert!(one > 10 && other > 10, "{one} {other}");
    world.passes[0] = false;
    world.run(ms(45));
    assert_eq!(both(&mut world), [0, 64]);
    world.passes[0] = true;
    world.run(ms(4_000));
    let [one, other] = both(&mut world);
    assert!(one > 10 && other > 10, "{one} {other}");
}

#[test]
fn a_neighbour_whose_session_ends_is_not_lost_any_more() {
    let mut world = leading(10, false);
    world.passes[0] = false;
    world.run(ms(100));
    let now = world.now;
    assert_eq!(world.routers[0].ways(now, destinations(10)), [1; 10]);
    world.routers[0].say(&super::world::end_of(&super::world::name(0, 1)));
    world.run(ms(100));
    let now = world.now;
    assert_eq!(world.routers[0].ways(now, destinations(10)), [0; 10], "as if nobody watched it");
    world.routers[0].say(&item(&session(0, 1, ms(10))));
    world.run(ms(100));
    assert_eq!(world.routers[0].state(super::world::name(0, 1)), "Down");
    let now = world.now;
    assert_eq!(world.routers[0].ways(now, destinations(10)), [0; 10], "it has not been up");
    assert_ne!(address(0, 1), address(1, 1));
}
