//! How much sound a direction may have coded: as much as time passes, and a little at once. What a
//! payload says of its length is the sender's word, and each 20 ms of it cost the same however few
//! octets it has.

use machine::{Duration, Time};

/// So much more than has passed may be coded at once: what a network held up.
pub(super) const AHEAD: Duration = Duration::from_millis(500);
/// One part in so many counts nothing: clocks of senders that are fast.
const DRIFT: u64 = 32;

/// What of it is used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    /// When what was coded would end if it were played as it was coded.
    due: Time,
}

impl Budget {
    /// Whether so much more is within the budget; if it is, it is counted.
    pub(super) fn takes(&mut self, now: Time, sound: Duration) -> bool {
        let sound = Duration::from_nanos(machine::narrow::nanos(sound) / DRIFT * (DRIFT - 1));
        let due = self.due.max(now) + sound;
        let is_within = due <= now + AHEAD;
        if is_within {
            self.due = due;
        }
        is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(1_000_000 + ms)
    }

    #[test]
    fn over_any_time_no_more_is_taken_than_has_passed_and_half_a_second() {
        let mut budget = Budget::default();
        let long = Duration::from_millis(240);
        let taken = (0..10_000).filter(|ms| budget.takes(at(*ms), long)).count();
        assert!((40..=45).contains(&taken), "{taken}: ten seconds and a half of 240 ms each");
    }

    #[test]
    fn a_clock_that_is_fast_by_a_hundredth_is_followed_for_ever() {
        let mut budget = Budget::default();
        let packet = Duration::from_millis(20);
        let fast = |at: u64| Time::from_nanos(1_000_000_000_000 + at * 19_800_000);
        assert!((0..1_000_000).all(|number| budget.takes(fast(number), packet)));
    }
}
