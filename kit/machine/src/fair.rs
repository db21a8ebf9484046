//! A queue that many fill: each holder has a line of its own, and all are served in turn. When it
//! is full, the newest of the longest line makes room, so that a newcomer finds some however many
//! share the rest (McKenney, "Stochastic Fairness Queueing", INFOCOM 1990, §3.2, with exact
//! holders).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What waits, by holder.
#[derive(Debug)]
pub struct Fair<K, T> {
    lines: BTreeMap<K, VecDeque<T>>,
    /// Everyone who waits, once: the first one is served next.
    turns: VecDeque<K>,
    /// The lines by their length.
    lengths: BTreeSet<(usize, K)>,
    len: usize,
}

impl<K, T> Default for Fair<K, T> {
    fn default() -> Self {
        let (lines, turns) = (BTreeMap::new(), VecDeque::new());
        Self { lines, turns, lengths: BTreeSet::new(), len: 0 }
    }
}

impl<K: Ord + Copy, T> Fair<K, T> {
    /// Puts one at the end of its holder's line; of more than `max` the one that makes room comes
    /// back, which may be this one.
    pub fn push(&mut self, holder: K, item: T, max: usize) -> Option<T> {
        if self.len < max {
            self.append(holder, item);
            return None;
        }
        let own = self.lines.get(&holder).map_or(0, VecDeque::len);
        let Some(&(longest, most)) = self.lengths.last() else { return Some(item) };
        if own + 1 >= longest {
            return Some(item);
        }
        let newest = self.lines.get_mut(&most).and_then(VecDeque::pop_back);
        self.shorten(most, longest);
        self.append(holder, item);
        newest
    }

    /// Takes the first one of the line whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let holder = self.turns.pop_front()?;
        let line = self.lines.get_mut(&holder)?;
        let (length, item) = (line.len(), line.pop_front());
        self.shorten(holder, length);
        if length > 1 {
            self.turns.push_back(holder);
        } else {
            self.lines.remove(&holder);
        }
        item
    }

    fn append(&mut self, holder: K, item: T) {
        let line = self.lines.entry(holder).or_default();
        self.lengths.remove(&(line.len(), holder));
        line.push_back(item);
        self.lengths.insert((line.len(), holder));
        if line.len() == 1 {
            self.turns.push_back(holder);
        }
        self.len += 1;
    }

    /// A line that was so long has one less.
    fn shorten(&mut self, holder: K, length: usize) {
        self.len -= 1;
        self.lengths.remove(&(length, holder));
        if length > 1 {
            self.lengths.insert((length - 1, holder));
        }
    }

    /// How many wait.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nobody waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newcomer_finds_room_in_a_queue_that_thirteen_have_filled_and_is_served_in_its_turn() {
        let mut queue = Fair::default();
        for n in 0..4_096u32 {
            assert!(queue.push(n % 13, n, 4_096).is_none());
        }
        assert_eq!(queue.push(12, 5_000, 4_096), Some(5_000), "who has most gets no more");
        assert_eq!(queue.push(13, 5_001, 4_096), Some(4_095), "the newest of who has most");
        assert_eq!(queue.len(), 4_096);
        let served: Vec<_> = (0..14).filter_map(|_| queue.pop()).collect();
        assert_eq!(served, (0..13).chain([5_001]).collect::<Vec<_>>());
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 4_082);
        assert!(queue.is_empty() && queue.lines.is_empty() && queue.lengths.is_empty());
    }

    #[test]
    fn where_each_has_one_the_newcomer_is_the_one_too_many() {
        let mut queue = Fair::default();
        assert!((0..8).all(|n| queue.push(n, n, 8).is_none()));
        assert_eq!(queue.push(8, 8, 8), Some(8));
        assert_eq!(queue.push(0, 9, 0), Some(9));
        assert_eq!((queue.pop(), queue.push(8, 8, 8)), (Some(0), None));
    }
}
