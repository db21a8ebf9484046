//! When a segment is sent again (RFC 6298).

use machine::{Duration, Time};

const FIRST: Duration = Duration::from_secs(1);
/// RFC 6298 §2.4 wants a second; a path of one hop that is protected is quicker, and the first
/// estimates of SIP are half a second (RFC 3261 §17.1.1.1).
const LEAST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(60);
/// A deadline is not met to the nanosecond.
const GRANULARITY: Duration = Duration::from_millis(10);

/// How long an acknowledgment is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    smoothed: Option<(Duration, Duration)>,
    rto: Duration,
    /// What is measured: the number that must be acknowledged, and when it left.
    measured: Option<(u32, Time)>,
}

impl Timer {
    pub const fn new() -> Self {
        Self { smoothed: None, rto: FIRST, measured: None }
    }

    pub const fn rto(&self) -> Duration {
        self.rto
    }

    /// Something left for the first time, up to a number.
    pub fn left(&mut self, up_to: u32, now: Time) {
        self.measured.get_or_insert((up_to, now));
    }

    /// Something is sent again: whose acknowledgment comes is not known (§3).
    pub const fn sent_again(&mut self) {
        self.measured = None;
    }

    /// Nothing was acknowledged in time (§5.5).
    pub fn back_off(&mut self) {
        self.sent_again();
        self.rto = (self.rto * 2).min(MOST);
    }

    /// Everything before a number was acknowledged.
    pub fn acknowledged(&mut self, up_to: u32, now: Time) {
        let Some((number, at)) = self.measured else { return };
        if crate::connection::is_before(up_to, number) {
            return;
        }
        self.measured = None;
        let sample = now.since(at);
        let (smoothed, varies) = match self.smoothed {
            None => (sample, sample / 2),
            Some((smoothed, varies)) => {
                let off = smoothed.abs_diff(sample);
                ((smoothed * 7 + sample) / 8, (varies * 3 + off) / 4)
            }
        };
        self.smoothed = Some((smoothed, varies));
        self.rto = (smoothed + (varies * 4).max(GRANULARITY)).clamp(LEAST, MOST);
    }
}
