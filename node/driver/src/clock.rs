//! The one clock: UNIX time at the start, monotonic since.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the UNIX epoch that never go back, whatever the operator does to the date.
/// Copies agree with each other, so that all shards of a function share one.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    unix_ns: u64,
}

impl Clock {
    /// Reads the date once.
    #[must_use]
    pub fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            started: Instant::now(),
            unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2),
        }
    }

    /// The system's date, nanoseconds since the UNIX epoch: what the kernel stamps arrivals with.
    /// It jumps when the operator sets it, so that only short differences mean something.
    #[must_use]
    pub fn date_ns() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2)
    }

    /// Nanoseconds since the UNIX epoch.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.unix_ns + u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(0)
    }
}
