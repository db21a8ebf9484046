//! Networks by seed: every router learns every subnet, whatever is lost, cut and healed.

use crate::world::{SECOND, World};
use igp::config::Source;
use igp::{External, Prefix, Protocol};
use serde_json::json;
use std::net::IpAddr;

fn random(seed: u64) -> World {
    let count = 4 + (seed % 4) as usize;
    let mut world = World::new(seed, count);
    world.lines = "hello_s = 1\ndead_s = 4\nretransmit_s = 1".to_owned();
    world.loss = if seed.is_multiple_of(3) { 20 } else { 0 };
    for router in 0..count {
        let (cost, back) = (1 + world.below(9) as u16, 1 + world.below(9) as u16);
        let is_broadcast = world.below(2) == 0;
        world.wire(is_broadcast, &[(router, cost), ((router + 1) % count, back)]);
    }
    let all: Vec<(usize, u16)> = (0..count).filter(|it| it % 2 == 0).map(|it| (it, 5)).collect();
    world.wire(true, &all);
    world
}

#[test]
fn routers_of_random_networks_learn_every_subnet_and_follow_what_is_cut_and_healed() {
    for seed in 0..12 {
        let mut world = random(seed);
        world.start_all();
        world.run(SECOND * 40);
        world.check(&format!("seed {seed}"));
        let cut = world.below(world.wires.len());
        world.set_up(cut, false);
        world.run(SECOND * 20);
        world.check(&format!("seed {seed}, wire {cut} is cut"));
        world.set_up(cut, true);
        world.run(SECOND * 40);
        world.check(&format!("seed {seed}, wire {cut} is healed"));
    }
}

#[test]
fn equal_ways_are_shared_up_to_the_number_that_the_section_allows() {
    let mut world = World::new(1, 4);
    for (one, two) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
        world.wire(false, &[(one, 10), (two, 10)]);
    }
    let far = world.wire(true, &[(3, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    let gateways = |world: &World| {
        let route = world.at(0).route(World::prefix(far)).unwrap();
        route.ways.iter().map(|it| it.gateway).collect::<Vec<_>>()
    };
    assert_eq!(gateways(&world), [0, 1].map(|wire| IpAddr::V4(World::address(wire, 1))));
    world.own_lines[0] = "paths = 1".to_owned();
    world.configure(0);
    world.run(SECOND * 10);
    assert_eq!(gateways(&world), [IpAddr::V4(World::address(0, 1))]);
}

#[test]
fn routes_of_the_function_are_told_while_they_hold_and_as_the_section_says() {
    let mut world = World::new(2, 2);
    world.wire(false, &[(0, 10), (1, 10)]);
    let stub = world.wire(true, &[(1, 10)]);
    let to = |text: &str, length| Prefix::new(text.parse().unwrap(), length);
    let (inside, outside) = (to("172.16.1.0", 24), to("198.51.100.0", 24));
    let of = |prefix, by: &[u32]| External {
        prefix,
        from: Source::Static,
        distance: 1,
        by: by.to_vec(),
    };
    world.externals[1] =
        vec![of(inside, &[stub as u32 + 1]), of(outside, &[]), of(to("0.0.0.0", 0), &[])];
    world.own_lines[1] = "[[redistribute]]\nfrom = \"static\"\nwithin = [\"172.16.0.0/12\"]\n\
         metric = 7\nmetric_type = 1\ntag = 9\n[[redistribute]]\nfrom = \"default\"\n"
        .to_owned();
    world.start_all();
    world.run(SECOND * 60);
    let row = |world: &World, to| world.row(0, Protocol::Ospf, to).unwrap();
    let route = row(&world, inside);
    assert_eq!(
        [&route["kind"], &route["cost"], &route["tag"]],
        [&json!("external-1"), &json!(17), &json!(9)]
    );
    assert_eq!(world.at(0).route(outside), None, "it is within no prefix that is told");
    let default = row(&world, to("0.0.0.0", 0));
    assert_eq!([&default["kind"], &default["metric"]], [&json!("external-2"), &json!(20)]);
    world.set_up(stub, false);
    world.run(SECOND * 10);
    assert_eq!(world.at(0).route(inside), None, "its way is gone");
    world.own_lines[1].clear();
    world.configure(1);
    world.run(SECOND * 10);
    assert_eq!(world.at(0).route(to("0.0.0.0", 0)), None, "nothing is told any more");
}
