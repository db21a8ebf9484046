//! Timers as data: each has one time, and the earliest of all is its machine's deadline. For as
//! many as there are peers and the like, whose numbers are bounded; for more, [`crate::Wheel`].

use crate::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Timers, each named by what runs out.
#[derive(Debug)]
pub struct Timers<T> {
    order: BTreeSet<(Time, T)>,
    times: BTreeMap<T, Time>,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { order: BTreeSet::new(), times: BTreeMap::new() }
    }
}

impl<T: Ord + Copy> Timers<T> {
    /// It runs out at `at`, and no more when it was to before.
    pub fn arm(&mut self, timer: T, at: Time) {
        self.cancel(timer);
        self.order.insert((at, timer));
        self.times.insert(timer, at);
    }

    /// It does not run out any more.
    pub fn cancel(&mut self, timer: T) {
        if let Some(at) = self.times.remove(&timer) {
            self.order.remove(&(at, timer));
        }
    }

    /// Whether it is to run out.
    pub fn is_armed(&self, timer: T) -> bool {
        self.times.contains_key(&timer)
    }

    /// When the next one runs out.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes the earliest that is due at `now`.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        let (_, timer) = *self.order.first().filter(|(at, _)| *at <= now)?;
        self.cancel(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_runs_out_once_at_the_time_that_it_was_given_last() {
        let (mut timers, at) = (Timers::default(), Time::from_millis);
        timers.arm('a', at(5));
        timers.arm('b', at(7));
        timers.arm('a', at(9));
        timers.arm('c', at(1));
        timers.cancel('c');
        assert_eq!((timers.deadline(), timers.is_armed('c')), (Some(at(7)), false));
        assert_eq!(timers.pop(at(6)), None);
        assert_eq!([at(20); 3].map(|it| timers.pop(it)), [Some('b'), Some('a'), None]);
        assert_eq!(timers.deadline(), None);
    }
}
