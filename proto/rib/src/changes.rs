//! The log of changed entries. An entry counts at its last place only, which it knows itself.
//!
//! A *minor* change is one of anything but the best path: it concerns those who look at all paths.

use std::collections::VecDeque;

/// Places of the log that may be dead before it is made shorter, for each that lives.
const DEAD_MAX: usize = 3;
/// A log of fewer places is left as it is.
const FEW: usize = 4_096;
/// Set in an item beside the number of its entry: the change is a minor one.
const MINOR: u32 = 1 << 31;

/// Entries of a table at most: the numbers of all stand in the log.
pub(crate) const ENTRIES_MAX: usize = MINOR as usize;

/// Entries in the order in which they changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    items: VecDeque<u32>,
    /// The position of the first item.
    base: u64,
}

impl Changes {
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// The position behind the last item.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.items.len() as u64
    }

    /// Appends an entry; its position.
    pub(crate) fn push(&mut self, entry: u32) -> u64 {
        self.items.push_back(entry);
        self.end() - 1
    }

    /// What an entry remembers of a position: positions differ by less than 2^32 while one of them
    /// is in the log.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
    pub(crate) const fn low(position: u64) -> u32 {
        position as u32
    }

    /// Appends an entry of which something changed that few look at. Whoever was yet to be told of
    /// its last change, at the place that is `last` in 32 bits, finds it here.
    pub(crate) fn push_minor(&mut self, entry: u32, last: u32) -> u64 {
        let behind = u64::from(last.wrapping_sub(Self::low(self.base)));
        let known = usize::try_from(behind).ok().and_then(|at| self.items.get(at));
        let is_unread = known.is_some_and(|item| *item == entry);
        self.push(if is_unread { entry } else { entry | MINOR })
    }

    fn item(&self, position: u64) -> u32 {
        let at = usize::try_from(position - self.base).expect("memory holds the log");
        self.items[at]
    }

    /// The entry at a position of the log.
    pub(crate) fn at(&self, position: u64) -> u32 {
        self.item(position) & !MINOR
    }

    /// The entry at a position of the log, and whether the change is a minor one.
    #[inline]
    pub(crate) fn change_at(&self, position: u64) -> (u32, bool) {
        let item = self.item(position);
        (item & !MINOR, item & MINOR != 0)
    }

    /// Takes the first item out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, u32)> {
        let entry = self.items.pop_front()?;
        self.base += 1;
        if self.items.is_empty() {
            self.items.shrink_to(FEW);
        }
        Some((self.base - 1, entry & !MINOR))
    }

    /// Whether most of it is dead, with so many entries alive at most.
    pub(crate) fn is_long(&self, entries: usize) -> bool {
        self.items.len() > FEW + DEAD_MAX * entries
    }

    /// Leaves the living items only. `live` is told the old and the new position of each item and
    /// says whether it lives; positions in `standing` are moved along.
    pub(crate) fn compact(
        &mut self,
        standing: &mut [&mut u64],
        mut live: impl FnMut(u32, u64, u64) -> bool,
    ) {
        standing.sort_unstable_by_key(|position| **position);
        let (base, mut next) = (self.base, 0);
        let mut kept = VecDeque::new();
        for (offset, &item) in self.items.iter().enumerate() {
            let (old, new) = (base + offset as u64, base + kept.len() as u64);
            while next < standing.len() && *standing[next] <= old {
                *standing[next] = new;
                next += 1;
            }
            if live(item & !MINOR, old, new) {
                kept.push_back(item);
            }
        }
        let end = base + kept.len() as u64;
        standing[next..].iter_mut().for_each(|position| **position = end);
        self.items = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_change_takes_over_what_somebody_is_yet_to_be_told_of_its_entry() {
        let mut changes = Changes::default();
        let mut last = Changes::low(changes.push(7));
        last = Changes::low(changes.push_minor(7, last));
        assert_eq!(changes.change_at(1), (7, false), "the first was not read");
        changes.pop();
        changes.push(8);
        last = Changes::low(changes.push_minor(7, last));
        assert_eq!(changes.change_at(3), (7, false), "nor was the second");
        assert_eq!((changes.pop(), changes.pop()), (Some((1, 7)), Some((2, 8))));
        assert_eq!(changes.pop(), Some((3, 7)));
        last = Changes::low(changes.push_minor(7, last));
        assert_eq!(changes.change_at(4), (7, true), "all has been read");
        let again = changes.push_minor(7, last);
        assert_eq!(changes.change_at(again), (7, true));
        assert_eq!((changes.at(4), changes.pop()), (7, Some((4, 7))));
    }

    #[test]
    fn compacting_keeps_the_last_place_of_each_entry_and_moves_who_stands_in_the_log() {
        let mut changes = Changes::default();
        let mut last = [0u64; 5];
        for number in 0..100u32 {
            let entry = number * number % 5;
            last[entry as usize] = changes.push(entry);
        }
        let mut standing = [0, 50, 99, 100];
        let before: Vec<Vec<u32>> = standing
            .iter()
            .map(|&from| {
                let live = (from..100).filter(|&at| last[changes.at(at) as usize] == at);
                live.map(|at| changes.at(at)).collect()
            })
            .collect();
        let mut places: Vec<&mut u64> = standing.iter_mut().collect();
        changes.compact(&mut places, |entry, old, new| {
            let is_live = last[entry as usize] == old;
            if is_live {
                last[entry as usize] = new;
            }
            is_live
        });
        for (from, expected) in standing.into_iter().zip(before) {
            let left: Vec<u32> = (from..changes.end()).map(|at| changes.at(at)).collect();
            assert_eq!(left, expected);
        }
        assert_eq!(changes.end(), 3); // squares modulo 5 are 0, 1 and 4
    }
}
