//! A bucket of tokens: so many at once, so many a second.

use machine::Time;
use machine::narrow::slot;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// How many may be, at once and on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// A second.
    pub per_second: u32,
    /// At once.
    pub burst: u32,
}

/// What is left; counted as the time at which the bucket will be full.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    full_at: u64,
}

impl Bucket {
    /// Takes one token if there is one.
    #[inline]
    pub fn take(&mut self, rate: Rate, now: Time) -> bool {
        let after = taken(self.full_at, rate, now);
        self.full_at = after.unwrap_or(self.full_at);
        after.is_some()
    }
}

/// Buckets of many who share them by a keyed hash, so that nobody chooses whose he shares.
#[derive(Debug)]
pub struct Buckets {
    seed: u64,
    all: Box<[Bucket]>,
}

impl Buckets {
    /// So many buckets.
    #[must_use]
    pub fn new(count: usize, seed: u64) -> Self {
        Self { seed, all: vec![Bucket::default(); count.max(1)].into_boxed_slice() }
    }

    /// Takes one token of one of them.
    #[inline]
    pub fn take(&mut self, of: u64, rate: Rate, now: Time) -> bool {
        let place = slot(mixed(of, self.seed), self.all.len());
        self.all[place].take(rate, now)
    }
}

/// A hash that only who knows the seed can aim at (the finisher of MurmurHash3, twice keyed).
#[inline]
pub const fn mixed(of: u64, seed: u64) -> u64 {
    let mut it = of ^ seed;
    it = (it ^ it >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    it = (it ^ it >> 33).wrapping_add(seed).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    it ^ it >> 33
}

/// A bucket that several workers take from.
#[derive(Debug, Default)]
pub struct SharedBucket {
    full_at: AtomicU64,
}

impl SharedBucket {
    /// Takes one token if there is one; if not, nothing is written.
    #[inline]
    pub fn take(&self, rate: Rate, now: Time) -> bool {
        self.full_at.fetch_update(Relaxed, Relaxed, |full_at| taken(full_at, rate, now)).is_ok()
    }
}

/// When the bucket is full after one more token; `None`: there is none.
#[inline]
fn taken(full_at: u64, rate: Rate, now: Time) -> Option<u64> {
    let each = SECOND.checked_div(u64::from(rate.per_second))?;
    let now = now.as_nanos();
    let full_at = full_at.max(now) + each;
    (full_at - now <= each.saturating_mul(u64::from(rate.burst.max(1)))).then_some(full_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_at_once_and_its_rate_after() {
        let rate = Rate { per_second: 100, burst: 5 };
        let mut bucket = Bucket::default();
        let at = |ms: u64| Time::from_millis(10_000 + ms);
        assert_eq!((0..20).filter(|_| bucket.take(rate, at(0))).count(), 5);
        assert_eq!((0..1_000).filter(|ms| bucket.take(rate, at(*ms))).count(), 99);
        assert!(!bucket.take(Rate { per_second: 0, burst: 9 }, at(5_000)));
    }
}
