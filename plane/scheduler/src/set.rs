//! The schedulers of all ports of one worker, between its graph and its ports.

use crate::programs::QueuePrograms;
use crate::{Config, Scheduler};
use graph::{Outbox, PORTS_MAX, Pool, Slot};
use machine::Time;
use machine::narrow::{self, index};
use std::sync::Arc;

/// A worker's schedulers: what the graph sent passes through those of its ports.
pub struct Schedulers {
    programs: Arc<QueuePrograms>,
    generation: u64,
    seed: u32,
    ports: Vec<Option<(Arc<Config>, Scheduler)>>,
    ready: Vec<Slot>,
    dropped: Vec<Slot>,
}

impl Schedulers {
    /// The queues of one worker; `seed` is that of early drops.
    #[must_use]
    pub fn new(programs: Arc<QueuePrograms>, seed: u32) -> Self {
        let (ports, ready, dropped) = (Vec::new(), Vec::new(), Vec::new());
        Self { programs, generation: u64::MAX, seed, ports, ready, dropped }
    }

    /// Takes what the graph sent to ports with queues, and puts into the `Outbox` what they send
    /// now: `budget` packets a port at most. After `Graph::run`, and at [`Schedulers::deadline`].
    pub fn pass(&mut self, now: Time, budget: usize, out: &mut Outbox, packets: &mut Pool) {
        if self.generation != self.programs.generation() {
            self.follow(now, packets);
        }
        for (port, scheduler) in self.ports.iter_mut().enumerate() {
            let Some((_, scheduler)) = scheduler else { continue };
            if let Some(sent) = out.port(port) {
                scheduler.enqueue(now, sent, packets, &mut self.dropped);
                sent.clear();
            }
            scheduler.poll(now, budget, packets, &mut self.ready);
            let sent = out.send_all(port, &self.ready);
            debug_assert!(sent.is_ok(), "ports with queues are below PORTS_MAX");
            self.ready.clear();
        }
        packets.free_all(&self.dropped);
        self.dropped.clear();
    }

    /// What changed: queues that go on keep what waits; of those that end it is dropped.
    #[cold]
    fn follow(&mut self, now: Time, packets: &mut Pool) {
        self.generation = self.programs.generation();
        let (programs, workers) = self.programs.all();
        // No longer than the last port that has queues: every round looks at all places.
        let length = programs.keys().next_back().map_or(0, |port| usize::from(*port) + 1);
        let length = length.min(PORTS_MAX);
        self.ports.resize_with(length.max(self.ports.len()), || None);
        for (port, place) in self.ports.iter_mut().enumerate() {
            let wanted = programs.get(&index(port));
            let is_same = match (&place, wanted) {
                (Some((config, scheduler)), Some(wanted)) => {
                    Arc::ptr_eq(config, wanted) && scheduler.share == workers
                }
                (None, None) => true,
                _ => false,
            };
            if is_same {
                continue;
            }
            let made = wanted.and_then(|config| {
                // The writer checked it.
                let made =
                    Scheduler::new(config, workers, self.seed ^ narrow::place(port), now).ok()?;
                Some((Arc::clone(config), made))
            });
            let before = std::mem::replace(place, made);
            match (before, place) {
                (Some((_, before)), Some((_, new))) => {
                    new.follow(now, before, packets, &mut self.dropped);
                }
                (Some((_, mut before)), None) => before.empty(packets, &mut self.dropped),
                (None, _) => {}
            }
        }
        self.ports.truncate(length);
        packets.free_all(&self.dropped);
        self.dropped.clear();
    }

    /// When [`Schedulers::pass`] has something to do although the graph sent nothing.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.ports.iter().flatten().filter_map(|(_, scheduler)| scheduler.deadline()).min()
    }

    /// The queues of a port.
    #[must_use]
    pub fn port(&self, port: usize) -> Option<&Scheduler> {
        self.ports.get(port)?.as_ref().map(|(_, scheduler)| scheduler)
    }
}
