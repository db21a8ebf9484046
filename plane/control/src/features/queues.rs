//! Queues of ports: each worker's loop has its own of what is said here (crate `scheduler`).

use graph::PORTS_MAX;
use machine::Time;
use nodes::Refused;
use nodes::feature::{Change, Feature, Start};
use program::{Program, Removed};
use scheduler::{Config, QueuePrograms};
use std::sync::Arc;

/// The feature. It has no nodes: queues stand behind the graph.
pub(crate) struct PortQueues {
    queues: Arc<QueuePrograms>,
}

impl PortQueues {
    /// What the workers' loops read.
    pub(crate) fn programs(&self) -> Arc<QueuePrograms> {
        Arc::clone(&self.queues)
    }

    fn set(&self, port: u16, queues: Option<&Config>) -> Result<bool, Refused> {
        let set = self.queues.set(port, queues);
        set.map(|()| true).map_err(|why| Refused::Conflict(why.to_string()))
    }
}

impl Feature for PortQueues {
    fn new(_: &Start<'_>) -> Self {
        Self { queues: Arc::default() }
    }

    fn name(&self) -> &'static str {
        "queues"
    }

    fn apply(&mut self, program: &Program, _: &mut Change<'_>) -> Result<bool, Refused> {
        let Program::Scheduler(scheduler) = program else { return Ok(false) };
        Refused::above("port", u32::from(scheduler.port), machine::narrow::place(PORTS_MAX - 1))?;
        let queues = Config::of(scheduler);
        let queues = queues.map_err(|why| Refused::Conflict(why.to_string()))?;
        self.set(scheduler.port, Some(&queues))
    }

    fn remove(&mut self, removed: &Removed, _: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Scheduler(port) = removed else { return Ok(false) };
        self.set(*port, None)
    }

    fn said(&self) -> Vec<Removed> {
        self.queues.ports().into_iter().map(Removed::Scheduler).collect()
    }

    fn workers(&mut self, workers: usize, _: Time) {
        self.queues.serve(workers);
    }
}
