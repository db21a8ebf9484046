//! Counters of what is limited by name, such as a network that requests come from.
//!
//! A new configuration finds its counters by kind and name, so that what is under way stays
//! counted; one that is no longer named counts on until its place is needed.

use crate::limit::{Limit, Violation};
use machine::Time;
use machine::bucket::Bucket;
use machine::narrow::index;

/// Counters of one shard, those of earlier configurations included.
pub const COUNTERS_MAX: usize = 4096;
/// The number of no counter: nothing is counted there.
pub const UNCOUNTED: u16 = u16::MAX;

/// What is limited under one name. `K` is the function's kinds, `A` its answers.
#[derive(Debug)]
pub struct Counter<K, A> {
    /// What it is.
    pub kind: K,
    /// Its name in the configuration.
    pub name: String,
    /// Its limit; off when the configuration names it no more.
    pub limit: Limit<A>,
    /// How many are under way.
    pub live: u32,
    /// How many were refused.
    pub refused: u64,
    bucket: Bucket,
}

/// All counters of a shard.
#[derive(Debug)]
pub struct Counters<K, A> {
    rows: Vec<Counter<K, A>>,
}

impl<K, A> Default for Counters<K, A> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<K: Copy + PartialEq, A: Copy + Default> Counters<K, A> {
    /// Another configuration follows: every limit is off until it is named again.
    pub fn unlimit(&mut self) {
        self.rows.iter_mut().for_each(|row| row.limit = Limit::default());
    }

    /// The number of the counter of that name, which has this limit from now on;
    /// [`UNCOUNTED`] when every place is taken.
    pub fn set(&mut self, kind: K, name: &str, limit: Limit<A>) -> u16 {
        let known = self.rows.iter().position(|row| row.kind == kind && row.name == name);
        if let Some(at) = known {
            self.rows[at].limit = limit;
            return index(at);
        }
        let (name, bucket) = (name.to_owned(), Bucket::default());
        let row = Counter { kind, name, limit, bucket, live: 0, refused: 0 };
        if self.rows.len() < COUNTERS_MAX {
            self.rows.push(row);
            return index(self.rows.len() - 1);
        }
        let is_unused = |row: &Counter<K, A>| row.live == 0 && !row.limit.is_on();
        let Some(at) = self.rows.iter().position(is_unused) else { return UNCOUNTED };
        self.rows[at] = row;
        index(at)
    }

    /// The number of the counter of that name, if there is one.
    #[must_use]
    pub fn find(&self, kind: K, name: &[u8]) -> u16 {
        let is_it = |row: &Counter<K, A>| row.kind == kind && row.name.as_bytes() == name;
        self.rows.iter().position(is_it).map_or(UNCOUNTED, index)
    }

    /// The counter of that number.
    #[must_use]
    pub fn at(&self, number: u16) -> Option<&Counter<K, A>> {
        self.rows.get(usize::from(number))
    }

    /// Every counter.
    pub fn iter(&self) -> impl Iterator<Item = &Counter<K, A>> {
        self.rows.iter()
    }

    /// Whether one more may begin there; counts a refusal.
    ///
    /// # Errors
    /// The kind, what is exceeded, and the answer to that.
    pub fn check(&mut self, now: Time, number: u16) -> Result<(), (K, Violation, A)> {
        let Some(row) = self.rows.get_mut(usize::from(number)) else { return Ok(()) };
        row.limit.check(now, &row.bucket, row.live).map_err(|violation| {
            row.refused += 1;
            (row.kind, violation, row.limit.answer)
        })
    }

    /// One begins there: takes of its rate and counts it.
    pub fn take(&mut self, now: Time, number: u16) {
        let Some(row) = self.rows.get_mut(usize::from(number)) else { return };
        if let Some(rate) = row.limit.rate {
            row.bucket.take(now, rate);
        }
        row.live += 1;
    }

    /// Counts one that began elsewhere; no limit refuses it.
    pub fn count(&mut self, number: u16) {
        if let Some(row) = self.rows.get_mut(usize::from(number)) {
            row.live += 1;
        }
    }

    /// One ended there.
    pub fn release(&mut self, number: u16) {
        if let Some(row) = self.rows.get_mut(usize::from(number)) {
            row.live = row.live.saturating_sub(1);
        }
    }

    /// Nothing is under way any more.
    pub fn forget(&mut self) {
        self.rows.iter_mut().for_each(|row| row.live = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(1_000);

    fn at_most(number_max: u32) -> Limit<u16> {
        Limit { rate: None, number_max: Some(number_max), answer: 7 }
    }

    #[test]
    fn what_is_under_way_stays_counted_over_a_new_configuration() {
        let mut counters = Counters::default();
        let one = counters.set('a', "one", at_most(1));
        counters.take(NOW, one);
        assert_eq!(counters.check(NOW, one), Err(('a', Violation::Number, 7)));
        counters.unlimit();
        assert_eq!(counters.check(NOW, one), Ok(()));
        assert_eq!(counters.set('a', "one", at_most(1)), one);
        assert_ne!(counters.set('b', "one", at_most(1)), one, "another kind is another counter");
        assert!(counters.check(NOW, one).is_err());
        counters.release(one);
        assert_eq!(counters.check(NOW, one), Ok(()));
        let row = counters.at(one).unwrap();
        assert_eq!((row.live, row.refused), (0, 2));
    }

    #[test]
    fn a_full_table_gives_the_place_of_one_that_says_nothing() {
        let mut counters = Counters::default();
        for number in 0..COUNTERS_MAX {
            counters.set((), &number.to_string(), at_most(1));
        }
        assert_eq!(counters.set((), "beyond", at_most(1)), UNCOUNTED);
        assert_eq!(counters.check(NOW, UNCOUNTED), Ok(()));
        counters.unlimit();
        assert_eq!(counters.set((), "beyond", at_most(1)), 0);
        assert_eq!(counters.find((), b"0"), UNCOUNTED);
    }
}
