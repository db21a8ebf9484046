//! The clocks of the management side: one for people, one for deadlines.

use machine::Time;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Now, since the UNIX epoch: to be shown, never to wait by, for it may be set.
#[must_use]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::ZERO + since
}

/// Time since the first call, from a clock that nobody sets: deadlines are of this one.
#[must_use]
pub fn steady() -> Time {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    Time::ZERO + START.elapsed()
}
