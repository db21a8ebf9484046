//! The function side of a shard: what came in goes to the function, or to the shard that owns it.

use crate::facts::RuntimeFact;
use crate::function::{Effects, Function, In};
use crate::port::Flow;
use crate::ring::{Errand, Rings};
use event::Sheet;
use machine::Time;
use std::rc::Rc;
use std::sync::Arc;

/// A function, its configuration and what it wants done.
pub(crate) struct Engine<F: Function> {
    pub(crate) function: F,
    pub(crate) config: Arc<F::Config>,
    pub(crate) effects: Effects,
    pub(crate) rings: Rings,
    pub(crate) sheet: Rc<Sheet<RuntimeFact>>,
}

impl<F: Function> Engine<F> {
    /// A message came in from outside.
    pub(crate) fn message(&mut self, now: Time, flow: Flow, bytes: &[u8]) {
        self.sheet.add(RuntimeFact::MessageIn, 1);
        self.sheet.add(RuntimeFact::BytesIn, bytes.len() as u64);
        let shards = self.rings.shards();
        if shards > 1
            && let Some(owner) = F::steer(&self.config, &flow, bytes, shards)
            && self.rings.is_other(owner)
        {
            self.sheet.add(RuntimeFact::Steered, 1);
            self.rings.push(owner, (Errand::Take, flow, bytes), &self.sheet);
            return;
        }
        self.step(now, In::Message { flow, bytes });
    }

    /// Something happened that is ours.
    pub(crate) fn step(&mut self, now: Time, input: In<'_>) {
        self.function.step(now, input, &mut self.effects);
    }

    /// Fires the function's timers when they are due.
    pub(crate) fn tick(&mut self, now: Time) {
        if self.function.deadline().is_some_and(|at| at <= now) {
            self.function.tick(now, &mut self.effects);
        }
    }
}
