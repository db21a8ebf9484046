//! Which rows of a kind stand, as far as this process has put them: no kind takes the room of all
//! others.

use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of a kind, each with what is known of it, until its time is over.
#[derive(Debug)]
pub struct Standing<K, V> {
    all: BTreeMap<K, (V, Time)>,
    due: BTreeSet<(Time, K)>,
    max: usize,
}

impl<K: Ord + Clone, V> Standing<K, V> {
    /// At most so many.
    pub const fn new(max: usize) -> Self {
        Self { all: BTreeMap::new(), due: BTreeSet::new(), max }
    }

    /// Takes another limit; what stands beyond it stands on.
    pub const fn configure(&mut self, max: usize) {
        self.max = max;
    }

    /// What is known of one.
    pub fn at(&self, key: &K) -> Option<&V> {
        self.all.get(key).map(|it| &it.0)
    }

    /// Whether there is room for one.
    pub fn has_room(&self, key: &K) -> bool {
        self.all.len() < self.max || self.all.contains_key(key)
    }

    /// One stands for so long.
    pub fn put(&mut self, now: Time, key: &K, value: V, time: Duration) {
        self.take(key);
        let due = now + time;
        self.due.insert((due, key.clone()));
        self.all.insert(key.clone(), (value, due));
    }

    /// One stands no more.
    pub fn take(&mut self, key: &K) {
        if let Some((_, due)) = self.all.remove(key) {
            self.due.remove(&(due, key.clone()));
        }
    }

    /// Lets go of those whose time is over: what was known of each.
    pub fn tick(&mut self, now: Time, mut over: impl FnMut(V)) {
        while self.due.first().is_some_and(|it| it.0 <= now)
            && let Some((_, key)) = self.due.pop_first()
        {
            self.all.remove(&key).into_iter().for_each(|it| over(it.0));
        }
    }

    /// When the next one's time is over.
    pub fn deadline(&self) -> Option<Time> {
        self.due.first().map(|it| it.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_has_room_once_more_and_ends_with_its_time() {
        let (mut standing, now) = (Standing::new(1), Time::from_millis(1));
        standing.put(now, &"a", 7, Duration::from_secs(1));
        assert!(standing.has_room(&"a") && !standing.has_room(&"b"));
        standing.put(now, &"a", 8, Duration::from_secs(2));
        assert_eq!(standing.at(&"a"), Some(&8));
        standing.tick(now + Duration::from_secs(1), |_| panic!("its time is not over"));
        assert_eq!(standing.at(&"a"), Some(&8), "its time began anew");
        let mut over = Vec::new();
        standing.tick(now + Duration::from_secs(2), |it| over.push(it));
        assert_eq!(over, [8]);
        assert!(standing.at(&"a").is_none() && standing.deadline().is_none());
    }
}
