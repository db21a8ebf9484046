//! A player and its roles inside, in virtual time.

use machine::{Duration, Machine as _, Time};
use scenario::{Inside, Phase, Player, Program, Report, Told, Want, built_in};
use std::path::Path;
use std::sync::Arc;

pub struct World {
    pub player: Player,
    pub inside: Inside,
    pub now: Time,
}

/// A program; what is wrong with it is a failure.
pub fn program(text: &str) -> Program {
    scenario::read(text, Path::new(".")).unwrap_or_else(|wrong| {
        panic!("{}", config::render("scenario.toml", text, &wrong.0));
    })
}

/// One that comes with Tandem.
pub fn named(name: &str) -> Program {
    program(built_in().iter().find(|it| it.name == name).unwrap().text)
}

impl World {
    pub fn new(program: Program, seed: u64) -> Self {
        let now = Time::from_millis(1_000);
        let inside = Inside::new(&program.roles, seed, now);
        let is_here = vec![true; program.roles.len()];
        let player = Player::new(Arc::new(program), is_here, seed, now);
        Self { player, inside, now }
    }

    /// Something that is told to a player: what it wants is carried out, and so on.
    pub fn carry_out(&mut self, mut wants: Vec<Want>) {
        let mut told = Vec::new();
        while !wants.is_empty() {
            for want in core::mem::take(&mut wants) {
                self.inside.request(self.now, want.role, &want.request, &mut told);
            }
            for (role, it) in told.drain(..) {
                self.player.step(self.now, Told::Indication(role, it), &mut wants);
            }
        }
    }

    /// Plays until all is over, or that long.
    pub fn play(&mut self, count: Option<u64>, limit: Duration) -> Report {
        self.player.start(self.now, count);
        let end = self.now + limit;
        for _ in 0..10_000_000 {
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
                self.player.step(self.now, Told::Indication(role, it), &mut wants);
            }
            self.carry_out(wants);
        }
        let mut wants = Vec::new();
        self.player.stop(self.now, &mut wants);
        self.carry_out(wants);
        self.player.report(self.now)
    }
}
