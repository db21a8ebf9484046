//! A rate, exactly: the generic cell rate algorithm (ITU-T I.371 annex A, virtual scheduling).

use machine::{Duration, Time};

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
    pub fn has_room(&self, now: Time, rate: Rate) -> bool {
        rate.interval_ns != NEVER && self.due <= now + Duration::from_nanos(rate.tolerance_ns)
    }

    /// One passes.
    pub fn take(&mut self, now: Time, rate: Rate) {
        self.due = self.due.max(now) + Duration::from_nanos(rate.interval_ns);
    }

    /// Whether nothing of it is used any more.
    pub fn is_rested(&self, now: Time) -> bool {
        self.due <= now
    }
}

impl Rate {
    /// So many a second.
    pub fn per_s(self) -> f64 {
        if self.interval_ns == NEVER { 0.0 } else { 1e9 / self.interval_ns as f64 }
    }
}
