//! What must hold whatever happens.

use crate::world::{World, node};
use machine::Duration;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// The seeds of a world: a few hundred in all, or as many as `TANDEM_SEEDS` says.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let many = std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok());
    0..many.unwrap_or(few)
}

fn settled(seed: u64, count: u8) -> World {
    let mut world = World::new(seed, count);
    world.settle(0);
    world.run(MS(100), 3);
    world
}

#[test]
fn nodes_that_start_share_the_partitions_evenly_each_with_a_standby() {
    for count in [1, 2, 3, 5, 8, 16] {
        let mut world = World::new(1, count);
        world.settle(1);
        world.run(MS(200), 2);
        world.check();
        assert!(world.standing() > 20);
    }
}

#[test]
fn a_node_that_dies_costs_no_dialogue_and_its_partitions_are_served_within_four_detections() {
    for seed in seeds(20) {
        let mut world = settled(seed, 2 + (seed % 3) as u8);
        let living = world.living();
        let dead = living[world.random.below(living.len() as u64) as usize];
        let lost = world.cluster(dead).serving();
        world.kill(dead);
        world.run(MS(200), 3);
        for partition in lost.iter() {
            let now = world.now;
            let is_served = world.living().iter().any(|it| world.cluster(*it).serves(now, partition));
            assert!(is_served, "seed {seed}: {partition:?}");
        }
        world.settle(3);
        world.check();
        world.start(dead);
        world.settle(3);
        world.check();
    }
}

#[test]
fn a_crash_at_any_step_loses_nothing_that_was_said_when_the_refill_is_over_before_the_next() {
    for seed in seeds(60) {
        let mut world = settled(seed, 3 + (seed % 2) as u8);
        if seed % 5 == 0 {
            world.loss = 5;
        }
        if seed % 7 == 0 {
            world.delay = MS(5);
        }
        for _ in 0..3 {
            let before = world.random.below(40);
            world.run(MS(before), 3);
            let living = world.living();
            let dead = living[world.random.below(living.len() as u64) as usize];
            world.kill(dead);
            let away = world.random.below(300);
            world.run(MS(away), 3);
            world.start(dead);
            world.settle(3);
            world.check();
        }
    }
}

#[test]
fn cut_links_lose_nothing_and_never_make_two_owners() {
    for seed in seeds(60) {
        let mut world = settled(seed, 3 + (seed % 3) as u8);
        for _ in 0..3 {
            let living = world.living();
            let count = living.len() as u64;
            let one = living[world.random.below(count) as usize];
            let other = living[world.random.below(count) as usize];
            match world.random.chance(50) {
                true => world.isolate(one),
                false if one != other => world.cut(one, other),
                false => {}
            }
            let cut = world.random.below(600);
            world.run(MS(cut), 3);
            world.heal();
            world.settle(3);
            world.check();
        }
    }
}

#[test]
fn nodes_join_drain_and_leave_while_dialogues_go_on() {
    for seed in seeds(30) {
        let mut world = settled(seed, 2);
        world.add(node(3));
        world.start(node(3));
        world.run(MS(world_pause(seed)), 3);
        world.settle(3);
        world.check();
        world.drain(node(1), true);
        world.settle(3);
        assert!(world.cluster(node(1)).serving().is_empty());
        world.remove(node(1));
        world.settle(3);
        world.check();
    }
}

const fn world_pause(seed: u64) -> u64 {
    seed * 17 % 300
}

#[test]
fn whatever_dies_whenever_no_partition_has_two_owners_and_all_comes_to_rest() {
    for seed in seeds(60) {
        let mut world = settled(seed, 3 + (seed % 4) as u8);
        world.may_lose = true;
        for _ in 0..12 {
            let all: Vec<u8> = (1..=3 + (seed % 4) as u8).collect();
            let of = node(all[world.random.below(all.len() as u64) as usize]);
            match world.random.below(6) {
                0 | 1 if world.living().contains(&of) => world.kill(of),
                2 | 3 if !world.living().contains(&of) => world.start(of),
                4 => world.isolate(of),
                5 => world.heal(),
                _ => {}
            }
            let pause = world.random.below(150);
            world.run(MS(pause), 3);
        }
        world.heal();
        for number in 1..=3 + (seed % 4) as u8 {
            if !world.living().contains(&node(number)) {
                world.start(node(number));
            }
        }
        world.settle(1);
        world.check();
    }
}

#[test]
fn two_nodes_whose_link_is_cut_both_serve_and_agree_when_it_is_back() {
    for seed in seeds(10) {
        let mut world = settled(seed, 2);
        world.may_split = true;
        world.cut(node(1), node(2));
        world.run(MS(800), 1);
        for number in [1, 2] {
            assert_eq!(world.cluster(node(number)).serving().len(), 48, "seed {seed}");
        }
        world.heal();
        world.settle(0);
    }
}

#[test]
fn a_third_node_of_weight_zero_votes_and_serves_nothing() {
    for seed in seeds(10) {
        let mut world = World::new(seed, 3);
        world.weigh(node(3), 0);
        world.settle(1);
        assert!(world.cluster(node(3)).serving().is_empty());
        world.run(MS(100), 3);
        world.isolate(node(1));
        world.run(MS(400), 3);
        assert!(!world.cluster(node(1)).may_serve(world.now));
        world.heal();
        world.settle(3);
        world.check();
    }
}
