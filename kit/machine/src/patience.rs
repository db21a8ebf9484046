//! Patience with calls into the kernel whose time somebody else decides.
//!
//! Waking another process, by an eventfd or a socket, takes as long as that process likes: the
//! kernel walks over all that wait there. The clock of a thread tells such a call from a pause of
//! the machine but costs a call by itself, so that it is read for a while only after a call took
//! long.

use core::time::Duration;

/// A call of that time is nothing to look at.
const SHORT: Duration = Duration::from_micros(100);
/// Calls that are measured after one that took longer.
const MEASURED: u32 = 64;
/// What one call counts at most: one pause of the machine ends nothing.
const CALL_MAX_NS: u64 = 1_000_000;
/// A call is one part of so many of the average.
const WEIGHT: u64 = 8;
/// What calls may take on the average: three of the longest ones in a row are past it.
const AVERAGE_MAX_NS: u64 = 250_000;

/// What calls took lately.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    average_ns: u64,
    /// Calls that are yet to be measured.
    measured: u32,
}

impl Default for Patience {
    /// The first calls are measured.
    fn default() -> Self {
        Self { average_ns: 0, measured: MEASURED }
    }
}

impl Patience {
    /// Whether the thread's own time is to be measured over the next call.
    #[must_use]
    pub fn measures(&self) -> bool {
        self.measured > 0
    }

    /// A call took so long by the clock, and so much time of its thread if that was measured.
    pub fn note(&mut self, took: Duration, spent: Option<Duration>) {
        if spent.unwrap_or(took) > SHORT {
            self.measured = MEASURED;
        } else {
            self.measured = self.measured.saturating_sub(1);
        }
        if let Some(spent) = spent {
            let spent = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX).min(CALL_MAX_NS);
            self.average_ns = self.average_ns - self.average_ns / WEIGHT + spent / WEIGHT;
        }
    }

    /// Whether calls take too much time on the average.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.average_ns > AVERAGE_MAX_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(49);

    fn calls(patience: &mut Patience, count: usize, spent: Duration) {
        for _ in 0..count {
            let measured = patience.measures().then_some(spent);
            patience.note(spent, measured);
        }
    }

    #[test]
    fn a_pause_of_the_machine_ends_nothing_and_calls_that_go_on_taking_long_do() {
        let mut patience = Patience::default();
        calls(&mut patience, 1_000, Duration::from_micros(3));
        assert!(!patience.measures());
        patience.note(LONG, None);
        assert!(patience.measures() && !patience.is_over(), "by the clock alone");
        // The thread did not run meanwhile.
        (0..100).for_each(|_| patience.note(LONG, Some(Duration::from_micros(3))));
        assert!(!patience.is_over());
        for _ in 0..10 {
            patience.note(LONG, None);
            calls(&mut patience, 1, LONG);
            calls(&mut patience, 100, Duration::from_micros(3));
        }
        assert!(!patience.is_over(), "now and then");
        patience.note(LONG, None);
        calls(&mut patience, 2, LONG);
        assert!(!patience.is_over());
        calls(&mut patience, 1, LONG);
        assert!(patience.is_over());
    }

    #[test]
    fn calls_of_less_than_the_longest_count_by_what_they_take() {
        let mut patience = Patience::default();
        calls(&mut patience, 1_000, Duration::from_micros(240));
        assert!(!patience.is_over());
        calls(&mut patience, 100, Duration::from_micros(400));
        assert!(patience.is_over());
    }
}
