//! Which session keys have associations, and which have had some.
//!
//! Two sets under the same keys would begin with the same numbers: a nonce of GCM and GMAC twice
//! under one key (RFC 4106 §3.1). A home network makes a vector of its own for each challenge
//! (TS 33.102 §6.3.2, RFC 3310 §3.2); a core that repeats one gets no agreement by it.

use aka::digest::SessionKeys;
use machine::slots::Key;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Keys of sets that are over, at most; the oldest is forgotten.
const SPENT_MAX: usize = 2 * ipsec::SETS_MAX as usize;

/// Session keys, each by a number that only this process knows how to make.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    /// Those of sets that stand.
    standing: BTreeMap<u64, Key>,
    /// Those by which something may have left, of sets that are over.
    over: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl Spent {
    /// The number of keys.
    pub fn number(secret: u64, keys: &SessionKeys) -> u64 {
        crate::keys::hash(crate::keys::hash(secret, keys.ck.expose()), keys.ik.expose())
    }

    /// Whether a set has or had these keys.
    pub fn knows(&self, number: u64) -> bool {
        self.standing.contains_key(&number) || self.over.contains(&number)
    }

    /// The set that has these keys.
    pub fn set_of(&self, number: u64) -> Option<Key> {
        self.standing.get(&number).copied()
    }

    /// A set has these keys from now on.
    pub fn begin(&mut self, number: u64, key: Key) {
        self.standing.insert(number, key);
    }

    /// A set is over. Keys that nothing has left by may come again: whoever has lost his challenge
    /// gets a copy of it.
    pub fn end(&mut self, number: u64, key: Key, was_used: bool) {
        if self.standing.get(&number) != Some(&key) {
            return;
        }
        self.standing.remove(&number);
        if was_used {
            self.keep(number);
        }
    }

    /// All sets are over, and another node may have used their keys.
    pub fn end_all(&mut self) {
        let numbers: Vec<u64> = core::mem::take(&mut self.standing).into_keys().collect();
        numbers.into_iter().for_each(|number| self.keep(number));
    }

    fn keep(&mut self, number: u64) {
        if !self.over.insert(number) {
            return;
        }
        self.order.push_back(number);
        if self.order.len() > SPENT_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.over.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(index: u32) -> Key {
        Key { index, generation: 0 }
    }

    #[test]
    fn keys_that_something_left_by_never_come_again_and_the_memory_is_bounded() {
        let mut spent = Spent::default();
        spent.begin(7, key(1));
        assert_eq!((spent.knows(7), spent.set_of(7)), (true, Some(key(1))));
        spent.end(7, key(2), true);
        assert_eq!(spent.set_of(7), Some(key(1)), "another set has ended");
        spent.end(7, key(1), false);
        assert!(!spent.knows(7), "nothing has left by them");
        spent.begin(7, key(1));
        spent.end(7, key(1), true);
        assert_eq!((spent.knows(7), spent.set_of(7)), (true, None));
        spent.begin(8, key(1));
        spent.end_all();
        assert!(spent.knows(8));
        for number in 100..100 + SPENT_MAX as u64 {
            spent.begin(number, key(3));
            spent.end(number, key(3), true);
        }
        assert_eq!((spent.order.len(), spent.over.len()), (SPENT_MAX, SPENT_MAX));
        assert!(!spent.knows(8) && spent.knows(100));
    }
}
