//! A player whose roles are inside, in virtual time: for tests, and to count what a play costs.

use crate::inside::Inside;
use crate::player::{In, Player, Want, Wanted};
use crate::program::Program;
use crate::report::{Phase, Report};
use machine::{Duration, Machine as _, Time};
use std::sync::Arc;

/// Turns of one run, at most.
const TURNS_MAX: usize = 100_000_000;

/// A player and its roles.
#[derive(Debug)]
pub struct World {
    /// Who plays.
    pub player: Player,
    /// TCAP of its roles.
    pub inside: Inside,
    /// The time.
    pub now: Time,
}

impl World {
    /// One in which nothing has begun.
    #[must_use]
    pub fn new(program: Program, seed: u64) -> Self {
        let now = Time::from_millis(1_000);
        let inside = Inside::new(&program.roles, seed, now);
        let is_here = vec![true; program.roles.len()];
        let player = Player::new(Arc::new(program), is_here, seed, now);
        Self { player, inside, now }
    }

    fn carry_out(&mut self, mut wants: Vec<Want>) {
        let mut told = Vec::new();
        while !wants.is_empty() {
            for want in core::mem::take(&mut wants) {
                let Wanted::Request(request) = want.what else { continue };
                self.inside.request(self.now, want.role, &request, &mut told);
            }
            for (role, it) in told.drain(..) {
                self.player.step(self.now, In::Indication(role, it), &mut wants);
            }
        }
    }

    /// Plays until all is over, or that long.
    pub fn play(&mut self, count: Option<u64>, limit: Duration) -> Report {
        self.player.start(self.now, count);
        let end = self.now + limit;
        for _ in 0..TURNS_MAX {
            if self.player.phase(self.now) == Phase::Over {
                break;
            }
            let next = [self.player.deadline(), self.inside.deadline()];
            let next = next.into_iter().flatten().min().map_or(end, |it| it.max(self.now));
            self.now = next.min(end);
            if self.now == end {
                break;
            }
            let (mut wants, mut told) = (Vec::new(), Vec::new());
            self.player.tick(self.now, &mut wants);
            self.inside.tick(self.now, &mut told);
            for (role, it) in told {
                self.player.step(self.now, In::Indication(role, it), &mut wants);
            }
            self.carry_out(wants);
        }
        let mut wants = Vec::new();
        self.player.stop(&mut wants);
        self.carry_out(wants);
        self.player.report(self.now)
    }
}
