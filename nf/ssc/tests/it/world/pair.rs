//! An active controller and its standby, with what is on its way between them.

use super::World;
use machine::Duration;
use runtime::{Effects, Function, Mirrored};

/// Two controllers of one site.
pub struct Pair {
    pub active: World,
    pub standby: World,
    /// Lives of both nodes so far: no two have the same secrets.
    lives: u8,
}

/// Gives a controller what the pair wants of it.
pub fn mirror(world: &mut World, input: Mirrored<'_>) -> Effects {
    let mut out = Effects::default();
    let now = world.now;
    world.controller.replicate(now, input, &mut out);
    assert_eq!(out.len(), 0, "nothing is said");
    out
}

/// A controller that follows.
pub fn follower(site: &str, life: u8) -> World {
    let mut world = World::seeded(site, life);
    mirror(&mut world, Mirrored::Deactivate);
    world
}

impl Pair {
    /// The one serves, the other has caught up.
    pub fn new(site: &str) -> Self {
        let (active, standby) = (follower(site, 0), follower(site, 1));
        let mut pair = Self { active, standby, lives: 2 };
        mirror(&mut pair.active, Mirrored::Activate { is_current: true });
        pair.catch_up();
        pair
    }

    /// The standby is started again: it knows nothing.
    pub fn restart_standby(&mut self, site: &str) {
        self.standby = follower(site, self.lives);
        self.lives = self.lives.wrapping_add(1);
    }

    /// The standby forgets, and a snapshot for it begins.
    pub fn begin_snapshot(&mut self) {
        mirror(&mut self.standby, Mirrored::Forget);
        self.active.deltas.clear();
        let secret = mirror(&mut self.active, Mirrored::Snapshot(1));
        self.active.deltas.extend(secret.deltas().map(<[u8]>::to_vec));
    }

    /// A snapshot, from its begin to its end.
    pub fn catch_up(&mut self) {
        self.begin_snapshot();
        self.active.pass(Duration::from_millis(1));
        self.replicate();
    }

    /// What the active one told reaches the standby.
    pub fn replicate(&mut self) {
        self.standby.now = self.active.now;
        for delta in std::mem::take(&mut self.active.deltas) {
            mirror(&mut self.standby, Mirrored::Delta(&delta));
        }
        self.standby.expect_nothing();
    }

    /// The standby serves from now on; its far ends talk to it.
    pub fn fail_over(&mut self) -> &mut World {
        self.replicate();
        mirror(&mut self.standby, Mirrored::Activate { is_current: true });
        std::mem::swap(&mut self.active, &mut self.standby);
        &mut self.active
    }
}
