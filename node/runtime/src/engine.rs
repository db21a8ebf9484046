//! The function side of a shard: what came in goes to the function, or to the shard that owns it.

use crate::function::{Effects, Function, In};
use crate::metrics::RuntimeMetric;
use crate::port::Flow;
use crate::ring::{Rings, ShardMessage};
use event::Metrics;
use machine::narrow::nanos;
use machine::{Duration, Time};
use std::rc::Rc;
use std::sync::Arc;

/// A message that seems to have waited longer came over a change of the system's date.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A function, its configuration and what it wants done.
pub(crate) struct Engine<F: Function> {
    pub(crate) function: F,
    pub(crate) config: Arc<F::Config>,
    pub(crate) effects: Effects,
    pub(crate) rings: Rings,
    pub(crate) metrics: Rc<Metrics<RuntimeMetric>>,
    /// How long the messages that are given now have waited.
    pub(crate) waited: Duration,
}

impl<F: Function> Engine<F> {
    /// The next messages arrived at that time by the system's date, which is this one now; says how
    /// long they waited.
    pub(crate) fn arrived(&mut self, now: Time, date_ns: u64, arrived_ns: u64) {
        self.waited(now, Duration::from_nanos(date_ns.saturating_sub(arrived_ns)));
    }

    /// The next messages waited so long.
    pub(crate) fn waited(&mut self, now: Time, delay: Duration) {
        self.waited = if delay > WAIT_MAX { Duration::ZERO } else { delay };
        self.function.waited(now, self.waited);
    }

    /// A message came in from outside; `paced`: it must not be lost on its way to its owner.
    pub(crate) fn message(&mut self, now: Time, flow: &Flow, paced: bool, bytes: &[u8]) {
        self.metrics.add(RuntimeMetric::MessageIn, 1);
        self.metrics.add(RuntimeMetric::BytesIn, bytes.len() as u64);
        let shards = self.rings.shards();
        if shards > 1
            && let Some(owner) = F::steer(&self.config, flow, bytes, shards)
            && self.rings.is_other(owner)
        {
            self.metrics.add(RuntimeMetric::Steered, 1);
            let waited_ns = nanos(self.waited); // a minute at most
            let arrived = Time::from_nanos(now.as_nanos().saturating_sub(waited_ns));
            self.rings.arrived(owner, arrived);
            return match paced {
                true => {
                    self.rings.push_paced(owner, ShardMessage::Take, *flow, bytes, &self.metrics)
                }
                false => self.rings.push(owner, ShardMessage::Take, *flow, bytes, &self.metrics),
            };
        }
        self.step(now, In::Message { flow: *flow, bytes });
    }

    /// The other shard that owns the connections of this flow, if they are not ours.
    pub(crate) fn owner(&self, flow: &Flow) -> Option<u16> {
        let shards = self.rings.shards();
        let owner = (shards > 1).then(|| F::steer(&self.config, flow, &[], shards))?;
        owner.filter(|&owner| self.rings.is_other(owner))
    }

    /// A connection stands.
    pub(crate) fn up(&mut self, now: Time, flow: Flow, paced: bool) {
        let owner = if paced { self.owner(&flow) } else { None };
        match owner {
            Some(owner) => self.rings.push_paced(owner, ShardMessage::Up, flow, &[], &self.metrics),
            None => self.step(now, In::Up { flow }),
        }
    }

    /// The kernel took so many octets of a paced connection, so many still wait.
    pub(crate) fn written(&mut self, now: Time, flow: Flow, octets: u64, left: u64) {
        match self.owner(&flow) {
            Some(owner) => {
                let message = ShardMessage::Written(octets, left);
                self.rings.push_paced(owner, message, flow, &[], &self.metrics);
            }
            None => self.step(now, In::Written { flow, octets, left }),
        }
    }

    /// Something happened that is ours.
    pub(crate) fn step(&mut self, now: Time, input: In<'_>) {
        self.effects.about(0);
        self.function.step(now, input, &mut self.effects);
    }

    /// Fires the function's timers when they are due.
    pub(crate) fn tick(&mut self, now: Time) {
        if self.function.deadline().is_some_and(|at| at <= now) {
            self.effects.about(0);
            self.function.tick(now, &mut self.effects);
        }
    }
}
