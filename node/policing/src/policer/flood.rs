//! Floods: recognised while they come, over when it stays calm.

use super::KINDS_MAX;
use machine::{Duration, Time};

/// Messages are counted over this time: the longest that a recognition takes.
const WINDOW: Duration = Duration::from_millis(100);
/// Windows in a second.
const WINDOWS_PER_SECOND: u32 = 10;
/// It must be calm for this long before a flood is over.
const CALM: Duration = Duration::from_secs(5);

/// A flood that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flood {
    /// The kind that most of it is of.
    pub kind: usize,
    /// When it was recognised.
    pub since: Time,
    /// The most in a second, of one tenth of a second.
    pub peak_per_s: u64,
    /// Messages of it.
    pub count: u64,
}

/// Counts what comes and says when it is too much.
#[derive(Debug)]
pub(super) struct Recognition {
    /// Messages in one window that raise it, and below which it is calm.
    raise: u32,
    calm: u32,
    began: Time,
    counts: [u32; KINDS_MAX],
    total: u32,
    calm_since: Time,
    raised: Option<Flood>,
    times: u64,
}

impl Recognition {
    /// Raised at `raise` a second, over when less than `calm` a second came for [`CALM`].
    pub(super) fn new(raise: u32, calm: u32, now: Time) -> Self {
        Self {
            raise: (raise / WINDOWS_PER_SECOND).max(1),
            calm: (calm / WINDOWS_PER_SECOND).max(1),
            began: now,
            counts: [0; KINDS_MAX],
            total: 0,
            calm_since: now,
            raised: None,
            times: 0,
        }
    }

    /// One message.
    pub(super) fn see(&mut self, now: Time, kind: usize) {
        self.roll(now);
        self.counts[kind % KINDS_MAX] += 1;
        self.total += 1;
        if let Some(flood) = &mut self.raised {
            flood.count += 1;
        } else if self.total >= self.raise {
            self.times += 1;
            let (kind, count) = (self.kind(), u64::from(self.total));
            let peak_per_s = count * u64::from(WINDOWS_PER_SECOND);
            self.raised = Some(Flood { kind, since: now, peak_per_s, count });
        }
    }

    /// The kind that most of this window is of.
    fn kind(&self) -> usize {
        (0..KINDS_MAX).max_by_key(|&kind| self.counts[kind]).unwrap_or_default()
    }

    /// Ends windows that are over.
    pub(super) fn roll(&mut self, now: Time) {
        if now.since(self.began) < WINDOW {
            return;
        }
        let over = self.began + WINDOW;
        let kind = self.kind();
        if let Some(flood) = &mut self.raised {
            let per_s = u64::from(self.total) * u64::from(WINDOWS_PER_SECOND);
            flood.peak_per_s = flood.peak_per_s.max(per_s);
            if self.total >= self.calm {
                flood.kind = kind;
                self.calm_since = over;
            }
            if now.since(self.calm_since.max(flood.since)) >= CALM {
                self.raised = None;
            }
        }
        (self.began, self.counts, self.total) = (now, [0; KINDS_MAX], 0);
    }

    pub(super) const fn raised(&self) -> Option<Flood> {
        self.raised
    }

    pub(super) const fn times(&self) -> u64 {
        self.times
    }
}
