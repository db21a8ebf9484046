//! A bucket of tokens: so many at once, so many a second.

use machine::Time;

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
        if rate.per_second == 0 {
            return false;
        }
        let each = SECOND / u64::from(rate.per_second);
        let now = now.as_nanos();
        let full_at = self.full_at.max(now) + each;
        if full_at - now > each.saturating_mul(u64::from(rate.burst.max(1))) {
            return false;
        }
        self.full_at = full_at;
        true
    }
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
