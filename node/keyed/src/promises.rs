//! Puts that count as taken when they are on disk: who waits for them, and what stands again where
//! they do not get there.

use crate::table::Table;
use machine::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A put that waits.
#[derive(Debug)]
struct Promised {
    mark: u64,
    ticket: u64,
    key: Box<[u8]>,
    /// What the other node of a pair has been told with it.
    change: u64,
}

/// A row and its time; none: there was none.
type Before = Option<(Box<[u8]>, Time)>;

/// All that wait, in the order of their marks.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    waiting: VecDeque<Promised>,
    /// Of each key whose row is such a put: what it took the place of, and those before it.
    before: BTreeMap<Box<[u8]>, VecDeque<(u64, Before)>>,
}

impl Promises {
    /// A put waits until that mark is on disk; it was told to the other node as that change.
    /// `before` is what it took the place of.
    pub fn wait(&mut self, [mark, change]: [u64; 2], ticket: u64, key: &[u8], before: Before) {
        self.before.entry(key.into()).or_default().push_back((mark, before));
        self.waiting.push_back(Promised { mark, ticket, key: key.into(), change });
    }

    /// Nobody waits any more, and what stands stays.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// What stands under a key now was promised to memory, and stays whatever becomes of the disk.
    pub fn stays(&mut self, key: &[u8]) {
        self.before.remove(key);
    }

    /// The next put of those that are on disk up to a mark: its ticket, its key and its change.
    pub fn kept(&mut self, mark: u64) -> Option<(u64, Box<[u8]>, u64)> {
        let Promised { ticket, key, change, .. } =
            self.waiting.pop_front_if(|it| it.mark <= mark)?;
        if let Some(all) = self.before.get_mut(&key) {
            while all.pop_front_if(|it| it.0 <= mark).is_some() {}
            if all.is_empty() {
                self.before.remove(&key);
            }
        }
        Some((ticket, key, change))
    }

    /// None of those that wait for a row of that key is kept: what stood before stands again. The
    /// tickets of those that asked.
    pub fn refused(&mut self, key: &[u8], table: &mut Table) -> Vec<u64> {
        if let Some(mut all) = self.before.remove(key) {
            match all.pop_front() {
                Some((_, Some((row, until)))) => table.set(key, &row, until),
                Some((_, None)) | None => drop(table.take(key)),
            }
        }
        let mut tickets = Vec::new();
        self.waiting.retain(|it| {
            let is_of = *it.key == *key;
            if is_of {
                tickets.push(it.ticket);
            }
            !is_of
        });
        tickets
    }

    /// None of those that wait is kept: what stood before stands again. The tickets of those that
    /// asked, and the keys of which the disk may know better.
    pub fn broken(&mut self, table: &mut Table) -> (Vec<u64>, BTreeSet<Box<[u8]>>) {
        let mut keys = BTreeSet::new();
        for (key, mut all) in core::mem::take(&mut self.before) {
            match all.pop_front() {
                Some((_, Some((row, until)))) => table.set(&key, &row, until),
                Some((_, None)) | None => drop(table.take(&key)),
            }
            keys.insert(key);
        }
        (self.waiting.drain(..).map(|it| it.ticket).collect(), keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stood_before_the_first_put_that_is_not_kept_stands_again() {
        let (mut table, mut promises) = (Table::new(9, 9_000), Promises::default());
        let (until, later) = (Time::from_millis(9), Time::from_millis(8));
        let before =
            |table: &Table, key: &[u8]| table.row(key).map(|(row, until)| (row.into(), until));
        table.set(b"a", b"0", later);
        for (mark, ticket, key, row) in
            [(1, 11, b"a", b"1"), (2, 12, b"b", b"1"), (3, 13, b"a", b"2")]
        {
            promises.wait([mark, mark], ticket, key, before(&table, key));
            table.set(key, row, until);
        }
        assert_eq!(promises.kept(0), None);
        assert_eq!(promises.kept(1), Some((11, b"a"[..].into(), 1)));
        assert_eq!(promises.kept(1), None);
        let (tickets, keys) = promises.broken(&mut table);
        assert_eq!((tickets, keys.len()), (vec![12, 13], 2));
        assert_eq!(table.row(b"a"), Some((&b"1"[..], until)), "it was kept");
        assert_eq!(table.row(b"b"), None);
        // What was put on top for memory alone stays.
        promises.wait([4, 4], 14, b"a", before(&table, b"a"));
        table.set(b"a", b"3", until);
        promises.stays(b"a");
        table.set(b"a", b"4", until);
        assert_eq!(promises.broken(&mut table), (vec![14], BTreeSet::new()));
        assert_eq!(table.row(b"a"), Some((&b"4"[..], until)));
    }
}
