//! The clock of the management side.

use machine::Time;
use std::time::{SystemTime, UNIX_EPOCH};

/// Now, since the UNIX epoch.
#[must_use]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::ZERO + since
}
