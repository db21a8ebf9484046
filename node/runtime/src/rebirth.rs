//! What a panic costs: one shard's state. The thread, its sockets and its queues stay; the function
//! is made anew at once and serves on, connections of the shard are closed so that their far ends
//! see it. Work that siblings have handed to it waits for the new function, all but the piece that
//! the old one died of ([`crate::work`]). A shard that dies again within a minute rests before it
//! serves, longer each time.

use crate::function::{Effects, Function, Mirrored};
use crate::replication::ReplicationRef;
use crate::shard::Shard;
use driver::ReceiveBatch;
use machine::narrow::nanos;
use machine::{Duration, Time};
use std::time::Duration as StdDuration;

/// A death this long after the last one is the first again.
const FORGIVEN: Duration = Duration::from_secs(60);
/// The rest after a second death within that time; it doubles with each further one …
const REST: Duration = Duration::from_millis(500);
/// … up to this.
const REST_MAX: Duration = Duration::from_secs(60);
/// How often a resting shard looks at what it is told.
const REST_LOOK: StdDuration = StdDuration::from_millis(20);

/// The deaths of one shard, one upon the other.
#[derive(Debug, Default)]
pub(crate) struct Deaths {
    last: Option<Time>,
    in_a_row: u32,
}

impl Deaths {
    /// Takes account of one; how long the shard rests.
    pub(crate) fn rest(&mut self, now: Time) -> Duration {
        let is_again = self.last.is_some_and(|last| now.since(last) < FORGIVEN);
        self.in_a_row = if is_again { self.in_a_row + 1 } else { 0 };
        self.last = Some(now);
        match self.in_a_row {
            0 => Duration::ZERO,
            again => {
                let ns = nanos(REST);
                let ns = ns.saturating_mul(1 << (again - 1).min(16));
                Duration::from_nanos(ns.min(nanos(REST_MAX)))
            }
        }
    }
}

impl<F: Function> Shard<F> {
    /// Puts a new function in the place of one that panicked.
    pub(crate) fn begin_anew(&mut self, function: F) {
        let now = self.now();
        self.engine.function = function;
        self.engine.effects = Effects::default();
        self.receive = ReceiveBatch::new();
        self.reader.begin_anew();
        self.io.begin_anew();
        self.ready.clear();
        for id in self.io.streams.table.all() {
            self.io.lose(id, "its shard crashed");
        }
        if self.draining {
            self.engine.step(now, crate::function::In::Drain);
        }
        self.publish();
        if let Some(ReplicationRef(mirror)) = self.io.mirror.clone() {
            let own = self.engine.rings.own;
            self.engine.function.replicate(now, Mirrored::Deactivate, &mut self.engine.effects);
            mirror.crashed(own);
        }
    }

    /// Only takes commands, until then or until told to stop.
    pub(crate) fn rest(&mut self, until: Time) {
        while self.now() < until && !self.stopping {
            let now = self.now();
            self.commands(now);
            self.mirrored(now);
            self.flush(now);
            std::thread::sleep(REST_LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_death_costs_no_rest_and_those_within_a_minute_ever_more() {
        let (mut deaths, mut now) = (Deaths::default(), Time::from_millis(1));
        assert_eq!(deaths.rest(now), Duration::ZERO);
        let mut rests = Vec::new();
        for _ in 0..9 {
            now += Duration::from_secs(1);
            rests.push(deaths.rest(now).as_millis());
        }
        assert_eq!(rests, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(deaths.rest(now + FORGIVEN), Duration::ZERO);
    }
}
