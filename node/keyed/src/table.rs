//! Rows in memory, within limits.

use machine::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// Octets that a row costs beside its key and itself.
const ROW_COST: usize = 160;

#[derive(Debug)]
struct Row {
    octets: Box<[u8]>,
    until: Time,
}

/// All rows.
#[derive(Debug)]
pub(crate) struct Table {
    rows: BTreeMap<Arc<[u8]>, Row>,
    due: BTreeSet<(Time, Arc<[u8]>)>,
    octets: usize,
    pub rows_max: usize,
    pub octets_max: usize,
}

impl Table {
    pub const fn new(rows_max: usize, octets_max: usize) -> Self {
        Self { rows: BTreeMap::new(), due: BTreeSet::new(), octets: 0, rows_max, octets_max }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.due.clear();
        self.octets = 0;
    }

    /// A row and its time, whether that is over or not.
    pub fn row(&self, key: &[u8]) -> Option<(&[u8], Time)> {
        self.rows.get(key).map(|it| (&*it.octets, it.until))
    }

    /// A row; nothing of one whose time is over.
    pub fn get(&self, now: Time, key: &[u8]) -> Option<&[u8]> {
        self.rows.get(key).filter(|it| it.until > now).map(|it| &*it.octets)
    }

    /// Puts a row in place of what was there; false if there is no room.
    pub fn put(&mut self, key: &[u8], row: &[u8], until: Time) -> bool {
        let before = self.rows.get(key).map_or(0, |it| cost(key, &it.octets));
        let octets = self.octets - before + cost(key, row);
        if (before == 0 && self.rows.len() >= self.rows_max) || octets > self.octets_max {
            return false;
        }
        self.set(key, row, until);
        true
    }

    /// Puts a row that stood already, whatever the limits.
    pub fn set(&mut self, key: &[u8], row: &[u8], until: Time) {
        self.take(key);
        let key: Arc<[u8]> = key.into();
        self.octets += cost(&key, row);
        self.due.insert((until, Arc::clone(&key)));
        self.rows.insert(key, Row { octets: row.into(), until });
    }

    /// Takes a row out.
    pub fn take(&mut self, key: &[u8]) -> Option<Box<[u8]>> {
        let (key, row) = self.rows.remove_entry(key)?;
        self.octets -= cost(&key, &row.octets);
        self.due.remove(&(row.until, key));
        Some(row.octets)
    }

    /// Lets go of rows whose time is over.
    pub fn tick(&mut self, now: Time) {
        while self.due.first().is_some_and(|it| it.0 <= now)
            && let Some((_, key)) = self.due.first().cloned()
        {
            self.take(&key);
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.due.first().map(|it| it.0)
    }

    pub fn len(&self) -> (usize, usize) {
        (self.rows.len(), self.octets)
    }

    /// Rows whose keys begin so, in the order of their keys.
    pub fn beginning<'a>(
        &'a self,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8], Time)> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let rows = self.rows.range::<[u8], _>(from);
        rows.map(|(key, row)| (&**key, &*row.octets, row.until))
            .take_while(move |it| it.0.starts_with(prefix))
    }

    /// The first key behind one, and before another one.
    pub fn between(&self, behind: Option<&[u8]>, before: Option<&[u8]>) -> Option<&Arc<[u8]>> {
        let key = self.behind(behind, 1).next()?.0;
        before.is_none_or(|before| **key < *before).then_some(key)
    }

    /// At most so many rows behind a key.
    pub fn behind(
        &self,
        key: Option<&[u8]>,
        most: usize,
    ) -> impl Iterator<Item = (&Arc<[u8]>, &[u8], Time)> {
        let from = key.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.rows.range::<[u8], _>((from, Bound::Unbounded));
        rows.take(most).map(|(key, row)| (key, &*row.octets, row.until))
    }
}

const fn cost(key: &[u8], row: &[u8]) -> usize {
    2 * key.len() + row.len() + ROW_COST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_bounded_in_number_and_octets_and_found_by_how_their_keys_begin() {
        let mut table = Table::new(3, 4 * ROW_COST);
        let at = Time::from_millis;
        for (key, until) in [(b"a1", 9), (b"a2", 5), (b"b1", 7)] {
            assert!(table.put(key, b"row", at(until)));
        }
        assert!(!table.put(b"c1", b"row", at(9)), "there are three");
        assert!(!table.put(b"a1", &[0; ROW_COST], at(9)), "it is too large");
        assert!(table.put(b"a1", b"other", at(9)));
        let keys: Vec<_> = table.beginning(b"a").map(|it| it.0.to_vec()).collect();
        assert_eq!(keys, [b"a1", b"a2"]);
        assert_eq!(table.behind(Some(b"a1"), 9).count(), 2);
        assert_eq!((table.get(at(4), b"a2"), table.get(at(5), b"a2")), (Some(&b"row"[..]), None));
        assert_eq!(table.deadline(), Some(at(5)));
        table.tick(at(8));
        assert_eq!(table.len(), (1, cost(b"a1", b"other")));
        assert_eq!(table.take(b"a1").as_deref(), Some(&b"other"[..]));
        assert_eq!((table.len(), table.deadline()), ((0, 0), None));
    }
}
