//! What is remembered of unknown sources: a table of fixed size, eight to a set; where a set is
//! full, the source that was silent for longest gives way.

use super::bucket::Bucket;
use super::prefix::spread;
use machine::narrow::at_most;
use machine::{Duration, Time};

/// Sources in one set.
const WAYS: usize = 8;
/// Sources at least.
const SOURCES_MIN: usize = WAYS;
/// Violations are counted over this time.
pub const WINDOW: Duration = Duration::from_secs(10);
/// No source: all IPv6 addresses that begin so are multicast.
const NOBODY: u64 = u64::MAX;

/// One source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    place: u64,
    seen: Time,
    began: Time,
    bucket: Bucket,
    pub(super) refused: u32,
    pub(super) malformed: u32,
}

impl Entry {
    pub(super) fn take(&mut self, now: Time, rate: u32, burst: u32) -> bool {
        self.bucket.take(now, rate, burst)
    }
}

/// The table.
#[derive(Debug)]
pub(super) struct Sources {
    entries: Box<[Entry]>,
    mask: usize,
    secret: [u64; 2],
    used: usize,
}

impl Sources {
    /// Room for at least `max` sources.
    pub(super) fn new(max: u32, secret: [u64; 2], now: Time) -> Self {
        let count = (max as usize).max(SOURCES_MIN).next_power_of_two();
        let bucket = Bucket::full(0, now);
        let nobody =
            Entry { place: NOBODY, seen: now, began: now, bucket, refused: 0, malformed: 0 };
        Self { entries: vec![nobody; count].into(), mask: count / WAYS - 1, secret, used: 0 }
    }

    /// The source's entry; a new one has a full bucket.
    pub(super) fn entry(&mut self, place: u64, now: Time, burst: u32) -> &mut Entry {
        let first = at_most(spread(place, self.secret) & self.mask as u64, self.mask) * WAYS;
        let set = &mut self.entries[first..first + WAYS];
        let found = set.iter().position(|entry| entry.place == place);
        let at = found.unwrap_or_else(|| {
            let free = set.iter().position(|entry| entry.place == NOBODY);
            self.used += usize::from(free.is_some());
            let oldest = || (0..WAYS).min_by_key(|&way| set[way].seen).unwrap_or(0);
            free.unwrap_or_else(oldest)
        });
        let entry = &mut set[at];
        if found.is_none() {
            let bucket = Bucket::full(burst, now);
            *entry = Entry { place, seen: now, began: now, bucket, refused: 0, malformed: 0 };
        } else if now.since(entry.began) >= WINDOW {
            (entry.began, entry.refused, entry.malformed) = (now, 0, 0);
        }
        entry.seen = now;
        entry
    }

    pub(super) const fn len(&self) -> usize {
        self.used
    }

    pub(super) const fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>()
    }
}
