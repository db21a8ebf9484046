//! Worlds by seed: links that lose, are cut and heal, and operators who change their minds.

use crate::field::{Field, ms, neighbour};
use bfd::{Diagnostic, In, Role, SessionSettings, State, Timers};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

#[test]
fn whatever_happened_two_machines_agree_when_the_link_is_whole_again() {
    for seed in 0..200 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut below = |end: u64| random.next_u64() % end;
        let mut timers = || Timers {
            required_min_rx: ms(5 + below(200)),
            echo: ms(below(2) * 20),
            required_min_echo_rx: ms(below(2) * 20),
            ..Timers::every(ms(5 + below(200)), 2 + below(3) as u8)
        };
        let all = [timers(), timers(), timers(), timers()];
        let settings = [0, 1].map(|side| SessionSettings {
            role: if side == 0 && seed % 3 == 0 { Role::Passive } else { Role::Active },
            demand: seed % 5 == 0 && side == 1,
            ..SessionSettings::new(neighbour(side), all[side])
        });
        let mut field = Field::new(seed, settings);
        for _ in 0..30 {
            let side = below(2) as usize;
            let id = field.sides[side].id;
            match below(8) {
                0 => field.loss[side] = 100,
                1 => field.loss[side] = below(30),
                2 => field.step(side, In::Disabled(id)),
                3 | 4 => field.step(side, In::Enabled(id)),
                5 => field.step(side, In::PathDown(id, Diagnostic::PathDown)),
                6 => field.step(side, In::PollWanted(id)),
                _ => field.step(side, In::TimersChanged(id, all[below(4) as usize])),
            }
            field.run(ms(below(3_000)));
        }
        field.loss = [0, 0];
        for side in 0..2 {
            let id = field.sides[side].id;
            field.step(side, In::Enabled(id));
            // In demand mode nobody notices that the other one is gone until somebody asks.
            field.step(side, In::PollWanted(id));
        }
        field.run(ms(10_000));
        assert!(field.are_up(), "seed {seed}: {:?} {:?}", field.state(0), field.state(1));
        let downs: Vec<usize> = field.sides.iter().map(|side| side.states.len()).collect();
        field.run(ms(60_000));
        let later: Vec<usize> = field.sides.iter().map(|side| side.states.len()).collect();
        assert_eq!(downs, later, "seed {seed}: it stays up");
        assert_eq!(field.state(0), State::Up);
    }
}
