//! What has happened since a protocol began: adjacencies that came and went, runs of SPF, signs
//! that somebody else has our number.

use machine::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Runs of SPF that are remembered.
const RUNS_MAX: usize = 64;
/// Runs whose changes of links are remembered, and changes of one: whatever saw more is where the
/// memory begins.
const CHANGED_MAX: usize = 64;
const CHANGES_MAX: usize = 512;
/// Neighbours lost that are remembered; the oldest goes.
const LOST_MAX: usize = 1_024;
/// Lines of the log about neighbours of an interface at once, and the time between two of them
/// then.
const LINES_MAX: u32 = 32;
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Something that stands in our name counts for so long.
const DUPLICATE: Duration = Duration::from_secs(60);
/// LSAs in our name within that time that are no remains of ours.
const DUPLICATE_LSAS: u64 = 8;

/// A neighbour that was adjacent.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    pub(crate) at: Time,
    /// Who it is, for people.
    pub(crate) who: String,
    pub(crate) why: String,
}

/// A run of SPF.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) at: Time,
    pub(crate) routes_changed: usize,
}

/// One direction of a link that changed, in the words of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Its area or level.
    pub(crate) area: String,
    pub(crate) from: String,
    pub(crate) to: String,
    /// What it cost; none: it was not there.
    pub(crate) before: Option<u32>,
    /// What it costs; none: it is gone.
    pub(crate) after: Option<u32>,
}

/// What a run of SPF saw change.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    pub(crate) at: Time,
    /// The number of the run, from 1.
    pub(crate) run: u64,
    pub(crate) of: Vec<Change>,
}

/// What has been counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) sent: u64,
    pub(crate) lost: u64,
}

/// How often others spoke as we do: heard on a link, fought back in a database.
#[derive(Debug, Clone, Copy, Default)]
struct Duplicate {
    heard: Option<Time>,
    fought_since: Time,
    fought: u64,
    seen: (u64, u64),
}

/// How another router with our number was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Double {
    /// On a link of this one.
    Near,
    /// In what is flooded.
    Far,
}

/// What has happened; `K` names a neighbour, `S` is its state.
#[derive(Debug)]
pub(crate) struct History<K, S> {
    pub(crate) lost: BTreeMap<K, Lost>,
    pub(crate) since: BTreeMap<K, (Time, S)>,
    runs: VecDeque<Run>,
    changed: VecDeque<Changes>,
    pub(crate) tally: Tally,
    duplicate: Duplicate,
    /// Of interfaces: lines of the log about them.
    lines: BTreeMap<u32, Lines>,
}

/// Lines of the log about neighbours of an interface.
#[derive(Debug)]
struct Lines {
    left: u32,
    next: Time,
    omitted: u64,
}

impl<K: Ord + Copy, S: Copy> History<K, S> {
    pub(crate) fn new() -> Self {
        Self {
            lost: BTreeMap::new(),
            since: BTreeMap::new(),
            runs: VecDeque::new(),
            changed: VecDeque::new(),
            tally: Tally::default(),
            duplicate: Duplicate::default(),
            lines: BTreeMap::new(),
        }
    }

    /// Whether the log has a line about neighbours of an interface: so many at once, and then one
    /// in a while, however often they come and go. How many had none since the last one.
    pub(crate) fn has_line(&mut self, now: Time, interface: u32) -> Option<u64> {
        let first = || Lines { left: LINES_MAX, next: now + LINE_EVERY, omitted: 0 };
        let it = self.lines.entry(interface).or_insert_with(first);
        while it.left < LINES_MAX && it.next <= now {
            (it.left, it.next) = (it.left + 1, it.next + LINE_EVERY);
        }
        if it.left == LINES_MAX {
            it.next = now + LINE_EVERY;
        }
        if it.left == 0 {
            it.omitted += 1;
            return None;
        }
        it.left -= 1;
        Some(std::mem::take(&mut it.omitted))
    }

    /// A neighbour is in another state than before.
    pub(crate) fn note(&mut self, now: Time, id: K, state: S) -> Option<S> {
        self.since.insert(id, (now, state)).map(|(_, state)| state)
    }

    /// For how long a neighbour is in its state.
    pub(crate) fn since(&self, now: Time, id: K) -> u64 {
        self.since.get(&id).map_or(0, |(at, _)| now.since(*at).as_secs())
    }

    pub(crate) fn lose(&mut self, id: K, lost: Lost) {
        self.tally.lost += 1;
        if self.lost.len() >= LOST_MAX && !self.lost.contains_key(&id) {
            let oldest = self.lost.iter().min_by_key(|(_, it)| it.at).map(|(id, _)| *id);
            oldest.and_then(|id| self.lost.remove(&id));
        }
        self.lost.insert(id, lost);
    }

    pub(crate) fn ran(&mut self, at: Time, routes_changed: usize) {
        if self.runs.len() == RUNS_MAX {
            self.runs.pop_front();
        }
        self.runs.push_back(Run { at, routes_changed });
    }

    /// What a run of SPF saw change of the links.
    pub(crate) fn changed(&mut self, at: Time, run: u64, of: Vec<Change>) {
        if of.len() >= CHANGES_MAX {
            self.changed.clear();
            return;
        }
        if of.is_empty() {
            return;
        }
        if self.changed.len() == CHANGED_MAX {
            self.changed.pop_front();
        }
        self.changed.push_back(Changes { at, run, of });
    }

    /// What runs of SPF saw change, the oldest first.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Changes> {
        self.changed.iter()
    }

    pub(crate) fn last_run(&self) -> Option<Run> {
        self.runs.back().copied()
    }

    /// How often others were heard with our number, and said something in our name, so far.
    pub(crate) fn look_for_doubles(&mut self, now: Time, near: u64, far: u64) {
        let it = &mut self.duplicate;
        if near > it.seen.0 {
            it.heard = Some(now);
        }
        if far > it.seen.1 {
            if now.since(it.fought_since) >= DUPLICATE {
                (it.fought_since, it.fought) = (now, 0);
            }
            it.fought += far - it.seen.1;
        }
        it.seen = (near, far);
    }

    /// Whether another router has our number.
    pub(crate) fn double(&self, now: Time) -> Option<Double> {
        let it = &self.duplicate;
        let is_recent = |at: Time| now.since(at) < DUPLICATE;
        if it.heard.is_some_and(is_recent) {
            return Some(Double::Near);
        }
        let is_far = it.fought >= DUPLICATE_LSAS && is_recent(it.fought_since);
        is_far.then_some(Double::Far)
    }

    /// Another number: nothing of before holds.
    pub(crate) fn forget(&mut self) {
        self.lost.clear();
        self.since.clear();
        self.changed.clear();
        self.duplicate = Duplicate::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_and_goes_without_end_has_some_lines_of_the_log() {
        let mut history: History<u32, u8> = History::new();
        let second = |number: u64| Time::from_millis(1_000_000 + 1_000 * number);
        let mut lines = 0;
        for number in 0..100_000 {
            let now = Time::from_millis(1_000_000 + number);
            lines += usize::from(history.has_line(now, 1).is_some());
        }
        assert_eq!(lines, 32 + 19, "one in five seconds");
        assert_eq!(history.has_line(second(100), 2), Some(0), "another interface");
        assert!(history.has_line(second(101), 1).is_some_and(|omitted| omitted > 4_000));
        let again = (0..100).filter(|_| history.has_line(second(1_000), 1).is_some());
        assert_eq!(again.count(), 32);
    }
}
