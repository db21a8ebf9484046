//! The packets of an event (RFC 4733 §2.5.1).
//!
//! ```text
//!   marker, d=160   d=320   d=480   d=640 end   end   end      all with the timestamp of the start
//!   ├─ interval ───┼───────┼───────┼───────────┼─────┤
//! ```
//! One that lasts longer than a duration can say goes on in segments: each begins where the one
//! before ended, and only the last one has an end (§2.5.1.3).

use super::Event;

/// How often the last packet is sent (RFC 4733 §2.5.1.4).
pub const REPEATS: u8 = 3;

/// A packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emission {
    /// The marker: of the first packet of an event.
    pub marker: bool,
    /// The timestamp.
    pub timestamp: u32,
    /// The payload.
    pub event: Event,
}

/// The packets of one event, each to be sent an interval after the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generator {
    code: u8,
    volume: u8,
    /// How often the last packet is still to be sent.
    repeats: u8,
    is_begun: bool,
    interval: u16,
    /// Where the event began.
    start: u32,
    /// How long the segments before this one are.
    passed: u32,
    /// How long the event has lasted.
    elapsed: u32,
    /// How long it lasts in all; the most while the key is held.
    duration: u32,
}

impl Generator {
    /// An event that begins at that timestamp, and of which a packet leaves each `interval` ticks.
    /// It lasts until [`Generator::end`].
    #[must_use]
    pub const fn new(code: u8, volume: u8, timestamp: u32, interval: u16) -> Self {
        Self {
            code,
            volume,
            repeats: REPEATS,
            is_begun: false,
            interval: if interval == 0 { 1 } else { interval },
            start: timestamp,
            passed: 0,
            elapsed: 0,
            duration: u32::MAX,
        }
    }

    /// The event lasts that many ticks in all, or as long as it has already.
    pub fn end(&mut self, duration: u32) {
        self.duration = duration.max(self.elapsed).max(1);
    }

    /// Whether every packet was sent.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.repeats == 0
    }
}

impl Iterator for Generator {
    type Item = Emission;

    fn next(&mut self) -> Option<Emission> {
        if self.is_over() {
            return None;
        }
        self.elapsed = self.elapsed.saturating_add(u32::from(self.interval)).min(self.duration);
        let timestamp = self.start.wrapping_add(self.passed);
        let (duration, is_end) = match u16::try_from(self.elapsed - self.passed) {
            Ok(duration) => (duration, self.elapsed == self.duration),
            // The next packet begins another segment.
            Err(_) => {
                self.passed += u32::from(u16::MAX);
                (u16::MAX, false)
            }
        };
        self.repeats -= u8::from(is_end);
        let marker = !core::mem::replace(&mut self.is_begun, true);
        let event = Event { code: self.code, is_end, volume: self.volume, duration };
        Some(Emission { marker, timestamp, event })
    }
}
