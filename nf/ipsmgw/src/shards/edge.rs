//! A further shard: what it has to say to the first one.

use super::{AGAIN, Work};
use crate::effects::In as Input;
use machine::Time;
use runtime::Effects;
use std::collections::VecDeque;

/// Answers that wait for the first shard, at most: flows of those beyond end by their time.
const ANSWERS_MAX: usize = 65_536;
/// Those of one tick.
const AT_ONCE: usize = 1_024;

/// Hands to the first shard what a further one would tell a gateway of its own.
pub(crate) fn hand(input: Input, out: &mut Effects) {
    let work = match input {
        Input::Register { transaction, register } => {
            Work::Registered(transaction, Box::new(register))
        }
        Input::Message { transaction, message } => Work::Came(transaction, Box::new(message)),
        Input::Response { number, status } => Work::Answered(number, status),
        Input::NextHop => Work::NextHop,
        // A further shard has neither store, links nor Diameter, and no operator asks it.
        _ => return,
    };
    out.hand(0, |to| work.write(to));
}

/// What the first shard has to be told.
#[derive(Debug)]
pub(crate) struct Edge {
    /// That this one has begun.
    has_begun: bool,
    /// That a next hop takes messages again.
    is_reached: bool,
    /// What became of messages, as it is handed over.
    answers: VecDeque<Vec<u8>>,
    again: Option<Time>,
}

impl Edge {
    /// One that has just begun.
    pub(crate) const fn new(now: Time) -> Self {
        let answers = VecDeque::new();
        Self { has_begun: true, is_reached: false, answers, again: Some(now) }
    }

    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.again
    }

    /// Something that nobody would say again was not taken.
    pub(crate) fn owe(&mut self, now: Time, work: &Work, octets: &[u8]) {
        match work {
            Work::Born => self.has_begun = true,
            Work::NextHop => self.is_reached = true,
            Work::Answered(..) if self.answers.len() < ANSWERS_MAX => {
                self.answers.push_back(octets.to_vec());
            }
            _ => return,
        }
        self.again.get_or_insert(now + AGAIN);
    }

    /// The first shard has begun anew: it knows nothing of what it asked for.
    pub(crate) fn forget(&mut self) {
        self.answers.clear();
    }

    /// Says again what is due.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) {
        if self.again.is_none_or(|at| at > now) {
            return;
        }
        if std::mem::take(&mut self.has_begun) {
            out.hand(0, |to| Work::Born.write(to));
        }
        if std::mem::take(&mut self.is_reached) {
            out.hand(0, |to| Work::NextHop.write(to));
        }
        let some = self.answers.len().min(AT_ONCE);
        for work in self.answers.drain(..some) {
            out.hand(0, |to| to.extend_from_slice(&work));
        }
        self.again = (!self.answers.is_empty()).then(|| now + AGAIN);
    }
}
