//! The schedulers of all ports of one worker, between its graph and its ports.

use super::{Config, Refused, Scheduler};
use graph::{Outbox, PORTS_MAX, Pool, Slot};
use machine::Time;

/// A worker's schedulers: what the graph sent passes through those of its ports.
#[derive(Default)]
pub struct Schedulers {
    ports: Vec<Option<Scheduler>>,
    ready: Vec<Slot>,
    dropped: Vec<Slot>,
}

impl Schedulers {
    /// No port has queues.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a port queues, other queues (what waits stays), or none any more (`None`: what waits
    /// is dropped). `new` is the configuration, the number of workers that send by the port, and
    /// a seed.
    ///
    /// # Errors
    /// What cannot be; nothing was changed.
    pub fn set(
        &mut self,
        now: Time,
        port: usize,
        new: Option<(&Config, u16, u32)>,
        packets: &mut Pool,
    ) -> Result<(), Refused> {
        if port >= PORTS_MAX {
            return Ok(());
        }
        let made = match new {
            Some((config, share, seed)) => Some(Scheduler::new(config, share, seed, now)?),
            None => None,
        };
        if self.ports.len() <= port {
            self.ports.resize_with(port + 1, || None);
        }
        let before = std::mem::replace(&mut self.ports[port], made);
        match (before, &mut self.ports[port]) {
            (Some(before), Some(new)) => new.follow(now, before, packets, &mut self.dropped),
            (Some(mut before), None) => before.empty(packets, &mut self.dropped),
            (None, _) => {}
        }
        packets.free_all(&self.dropped);
        self.dropped.clear();
        Ok(())
    }

    /// Takes what the graph sent to ports with queues, and puts into the `Outbox` what they send
    /// now: `budget` packets a port at most. After `Graph::run`, and at [`Schedulers::deadline`].
    pub fn pass(&mut self, now: Time, budget: usize, out: &mut Outbox, packets: &mut Pool) {
        for (port, scheduler) in self.ports.iter_mut().enumerate() {
            let Some(scheduler) = scheduler else { continue };
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

    /// When [`Schedulers::pass`] has something to do although the graph sent nothing.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.ports.iter().flatten().filter_map(Scheduler::deadline).min()
    }

    /// The queues of a port.
    #[must_use]
    pub fn port(&self, port: usize) -> Option<&Scheduler> {
        self.ports.get(port)?.as_ref()
    }
}
