//! An S-CSCF that dies, and NATs that move: whichever step of a scene they choose, at rest both
//! ends have the same associations, none is left over, and nothing was in the clear that must not.

use crate::pair::{assert_sound, bad, preferring, registered, scene};
use crate::pair_world::{SITE, World};
use crate::world::Phone;
use handset::{Handset, State};
use machine::Duration;
use sim::LinkSpec;

const SECOND: Duration = Duration::from_secs(1);
/// For how long the S-CSCF is away: less than a transaction waits, and more (64 x T1).
const AWAY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(40)];

/// Phones of which the first, the second or both are behind a NAT.
fn behind_nats(seed: u64) -> Vec<Phone> {
    let nat = |number: u64| {
        let shift = 10_000 + (seed * 2 + number) as u16 * 97;
        let is_behind = seed % 3 != number;
        is_behind.then(|| ([198, 51, 100, 9 + 2 * number as u8].into(), shift))
    };
    (0..2).map(|at| Phone::new(seed * 2 + 1 + at, nat(at), preferring(seed + at))).collect()
}

fn perfect() -> LinkSpec {
    LinkSpec::perfect(Duration::from_millis(5))
}

/// A site whose core is asked anew from 20 s on: a phone that registers again then gets other
/// associations, or hears that the core knows nothing of those that it has.
fn site() -> String {
    SITE.replacen("client_expires_s = 600", "client_expires_s = 600\ncore_expires_s = 40", 1)
}

/// A phone registers, by what it has or anew.
fn registers(world: &mut World, phone: usize) {
    world.act(phone, Handset::register);
    for _ in 0..33 {
        world.run(SECOND);
        if world.state(phone) == State::Registered {
            return;
        }
    }
    registered(world, phone);
}

/// Each phone registers once more, which the core wants to be asked for by now, and is reached by
/// the associations that it has then.
fn assert_reached(world: &mut World, what: &str) {
    let before = [0, 1].map(|phone| world.requests(phone).len());
    for phone in 0..2 {
        registers(world, phone);
        world.core_asks(phone, 7);
    }
    world.run(SECOND * 18);
    for (phone, before) in before.into_iter().enumerate() {
        assert!(world.requests(phone).len() > before, "{what}: phone {phone} is not reached");
    }
    // Both in time: an agreement stands for little more than the core has given.
    for _ in 0..8 {
        for phone in 0..2 {
            world.act(phone, Handset::register);
        }
        world.run(SECOND * 12);
        if (0..2).all(|phone| world.state(phone) == State::Registered && world.is_agreed(phone)) {
            return;
        }
        for phone in 0..2 {
            if !world.is_agreed(phone) {
                world.act(phone, |handset, _, _| handset.restart());
            }
        }
    }
    panic!("{what}: {:#?}", world.agreements(false));
}

#[test]
fn whichever_step_is_the_last_of_an_s_cscf_both_ends_agree_at_rest_and_no_set_is_left_over() {
    for (seed, away) in [(0, AWAY[0]), (1, AWAY[1]), (2, AWAY[0])] {
        let mut steps = 0;
        for dies_after in (1..).step_by(if seed == 0 { 1 } else { 3 }) {
            let mut world = World::of(&site(), seed, behind_nats(seed), perfect());
            world.core_dies_after = Some(dies_after);
            world.core_dies_for = away;
            scene(&mut world);
            steps = world.core_steps;
            let what = format!("seed {seed}, the S-CSCF dead after {dies_after} messages");
            assert_reached(&mut world, &what);
            assert_sound(&mut world, &what);
            if steps < dies_after {
                break;
            }
        }
        assert!(steps > 12, "{steps} steps");
    }
}

#[test]
fn whichever_step_nats_move_at_phones_are_followed_by_what_they_prove_and_no_set_is_left_over() {
    for seed in 0..3 {
        let mut steps = 0;
        for moves_after in (1..).step_by(if seed == 0 { 1 } else { 3 }) {
            let mut world = World::of(&site(), seed, behind_nats(seed), perfect());
            world.nats_move_after = Some(moves_after);
            scene(&mut world);
            steps = world.steps;
            let what = format!("seed {seed}, NATs move after {moves_after} steps");
            assert_reached(&mut world, &what);
            assert_sound(&mut world, &what);
            if steps < moves_after {
                break;
            }
        }
        assert!(steps > 20, "{steps} steps");
    }
}

#[test]
fn whatever_dies_moves_is_lost_and_overtaken_at_rest_both_ends_agree_and_no_set_is_left_over() {
    for seed in 0..60_u64 {
        let mut world = World::of(&site(), seed, behind_nats(seed), bad());
        world.core_dies_after = Some(1 + (seed * 5) as u32 % 30);
        world.core_dies_for = AWAY[seed as usize / 2 % 2];
        world.nats_move_after = Some(1 + (seed * 11) as u32 % 60);
        if seed % 2 == 1 {
            world.dies_after = Some(1 + (seed * 7) as u32 % 60);
            world.loses = true;
        }
        scene(&mut world);
        world.nats_move();
        scene(&mut world);
        let what = format!("seed {seed}");
        assert_reached(&mut world, &what);
        assert_sound(&mut world, &what);
    }
}
