//! A rate, exactly: the generic cell rate algorithm (ITU-T I.371 annex A, virtual scheduling).

use crate::{Duration, Time};

/// The burst of a rate that names none: what comes in a twentieth of a second.
const BURST_S: f64 = 0.05;
/// The interval of a rate of zero: nothing ever passes.
const NEVER: u64 = u64::MAX;

/// So many a second, so many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Nanoseconds from one to the next.
    interval_ns: u64,
    /// How far ahead of its time one may come.
    tolerance_ns: u64,
}

impl Rate {
    /// `per_s` of them each second, and `burst` at once after a pause.
    #[must_use]
    pub fn new(per_s: f64, burst: Option<u32>) -> Self {
        if per_s <= 0.0 {
            return Self { interval_ns: NEVER, tolerance_ns: 0 };
        }
        let interval_ns = (1e9 / per_s).round().max(1.0) as u64;
        let burst = burst.map_or(per_s * BURST_S, f64::from).max(1.0);
        Self { interval_ns, tolerance_ns: ((burst - 1.0) * interval_ns as f64) as u64 }
    }
}

/// How much of a rate is used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bucket {
    /// When the next one would come if all came evenly.
    due: Time,
}

impl Bucket {
    /// Whether one more may pass.
    #[must_use]
    pub fn has_room(&self, now: Time, rate: Rate) -> bool {
        rate.interval_ns != NEVER && self.due <= now + Duration::from_nanos(rate.tolerance_ns)
    }

    /// One passes.
    pub fn take(&mut self, now: Time, rate: Rate) {
        self.due = self.due.max(now) + Duration::from_nanos(rate.interval_ns);
    }

    /// Whether nothing of it is used any more.
    #[must_use]
    pub fn is_rested(&self, now: Time) -> bool {
        self.due <= now
    }

    /// When nothing of it is used any more, where more than one is used now: what somebody else has
    /// to know who goes on with it.
    #[must_use]
    pub fn burst_until(&self, now: Time, rate: Rate) -> Option<Time> {
        (self.due > now + Duration::from_nanos(rate.interval_ns)).then_some(self.due)
    }

    /// One that somebody else has used until then, and no more than the rate allows at once.
    #[must_use]
    pub fn used_until(due: Time, now: Time, rate: Rate) -> Self {
        let most = Duration::from_nanos(rate.tolerance_ns.saturating_add(rate.interval_ns));
        Self { due: due.min(now + most) }
    }
}

impl Rate {
    /// So many a second.
    #[must_use]
    pub fn per_s(self) -> f64 {
        if self.interval_ns == NEVER { 0.0 } else { 1e9 / self.interval_ns as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_at_once_and_then_one_at_a_time() {
        let rate = Rate::new(10.0, Some(3));
        let mut bucket = Bucket::default();
        let mut passed = |ms: u64| {
            let now = Time::from_millis(1_000 + ms);
            let has_room = bucket.has_room(now, rate);
            if has_room {
                bucket.take(now, rate);
            }
            has_room
        };
        let first: Vec<bool> = (0..5).map(|_| passed(0)).collect();
        assert_eq!(first, [true, true, true, false, false]);
        let later = (1..=1_000).filter(|&ms| passed(ms)).count();
        assert_eq!(later, 10);
        assert!(!bucket.is_rested(Time::from_millis(2_000)));
        assert!(bucket.is_rested(Time::from_millis(3_000)));
        assert!(!Bucket::default().has_room(Time::MAX, Rate::new(0.0, None)), "none ever passes");
    }

    #[test]
    fn who_goes_on_with_a_burst_lets_no_more_of_it_pass_than_are_left() {
        let (rate, now) = (Rate::new(1.0, Some(4)), Time::from_millis(5_000));
        let mut bucket = Bucket::default();
        bucket.take(now, rate);
        assert_eq!(bucket.burst_until(now, rate), None, "it is the first one");
        bucket.take(now, rate);
        let due = bucket.burst_until(now, rate).unwrap();
        let mut other = Bucket::used_until(due, now, rate);
        let mut left = 0;
        while other.has_room(now, rate) {
            other.take(now, rate);
            left += 1;
        }
        assert_eq!(left, 2);
        // Of a clock that is ahead: nobody waits longer than after a whole burst.
        let ahead = Bucket::used_until(Time::MAX, now, rate);
        assert!(!ahead.has_room(now, rate));
        assert!(ahead.has_room(now + Duration::from_secs(1), rate));
        assert!(ahead.is_rested(now + Duration::from_secs(4)));
    }
}
