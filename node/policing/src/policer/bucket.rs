//! A token bucket: so many messages a second, so many at once.

use machine::Time;
use machine::narrow::nanos;

/// Thousandths of a message; a bucket is refilled by them.
const MILLI: u64 = 1_000;
/// Nanoseconds in which one message a second earns a thousandth of one.
const NANOS_PER_MILLI: u64 = 1_000_000;

/// What may still be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    milli: u64,
    filled: Time,
}

impl Bucket {
    pub(super) const fn full(burst: u32, now: Time) -> Self {
        Self { milli: burst as u64 * MILLI, filled: now }
    }

    /// Takes one message out, if there is one.
    pub(super) fn take(&mut self, now: Time, rate: u32, burst: u32) -> bool {
        let nanos = nanos(now.since(self.filled));
        let earned = nanos.saturating_mul(rate.into()) / NANOS_PER_MILLI;
        if earned > 0 {
            // What is left over of a thousandth stays to be earned.
            let most = u64::from(burst) * MILLI;
            self.milli = most.min(self.milli + earned);
            self.filled = now;
        }
        let has = self.milli >= MILLI;
        if has {
            self.milli -= MILLI;
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let start = Time::from_millis(1_000);
        let mut bucket = Bucket::full(5, start);
        let burst = (0..20).filter(|_| bucket.take(start, 100, 5)).count();
        assert_eq!(burst, 5);
        let steps = 1..=1_000u64;
        let at = |ms| start + Duration::from_millis(ms);
        let passed = steps.filter(|&ms| bucket.take(at(ms), 100, 5)).count();
        assert_eq!(passed, 100, "a second at 100 a second, asked every millisecond");
    }

    #[test]
    fn a_bucket_that_is_asked_very_often_still_fills() {
        let start = Time::from_millis(1_000);
        let mut bucket = Bucket::full(1, start);
        let at = |us| start + Duration::from_micros(us);
        let passed = (1..=1_000_000u64).filter(|&us| bucket.take(at(us), 200, 1)).count();
        assert!((195..=201).contains(&passed), "{passed}");
    }
}
