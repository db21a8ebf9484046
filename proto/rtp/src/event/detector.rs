//! Digits out of packets, of which any may be lost, repeated or late (RFC 4733 §2.5.2).
//!
//! The timestamp tells events apart: packets of one have the same, and a later one begins another
//! event or the next segment of the same.

use super::Event;
use machine::{Duration, Time};
use wire::Malformed;

/// Without a packet for so long an event is over: three intervals of 50 ms (RFC 4733 §2.5.2.2),
/// and one more.
pub const PATIENCE: Duration = Duration::from_millis(200);
/// Ticks by which a timestamp is that of an event which is over; one that differs by more began
/// anew.
const REPEAT_TICKS: u32 = 1 << 20;

/// What was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    /// An event has begun.
    Began {
        /// The event.
        code: u8,
        /// How loud it is, in dBm0 without the sign.
        volume: u8,
    },
    /// It is over.
    Ended {
        /// The event.
        code: u8,
        /// How long it lasted in ticks, as far as its packets told.
        duration: u32,
    },
}

/// An event that lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lasting {
    code: u8,
    /// Ticks of the segments before this one.
    passed: u32,
    duration: u16,
    /// When its last packet came.
    at: Time,
}

impl Lasting {
    const fn ended(&self) -> Detected {
        let duration = self.passed.saturating_add(self.duration as u32);
        Detected::Ended { code: self.code, duration }
    }
}

/// Finds the events of a stream: each begins once and ends once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Detector {
    /// The timestamp of the latest segment; `None` before the first.
    latest: Option<u32>,
    lasting: Option<Lasting>,
}

impl Detector {
    /// A packet of events came.
    ///
    /// # Errors
    /// A payload that holds none, or one that is cut off; nothing of it is taken.
    pub fn packet(
        &mut self,
        now: Time,
        timestamp: u32,
        payload: &[u8],
        out: &mut Vec<Detected>,
    ) -> Result<(), Malformed> {
        let mut timestamp = timestamp;
        for event in Event::read_all(payload)? {
            self.event(now, timestamp, event, out);
            // Each further one begins where the one before ended (RFC 4733 §2.5.1.5).
            timestamp = timestamp.wrapping_add(u32::from(event.duration));
        }
        Ok(())
    }

    fn event(&mut self, now: Time, timestamp: u32, event: Event, out: &mut Vec<Detected>) {
        let behind = self.latest.map(|latest| latest.wrapping_sub(timestamp));
        match (behind, &mut self.lasting) {
            (Some(0), Some(lasting)) if lasting.code == event.code => {
                lasting.duration = lasting.duration.max(event.duration);
                lasting.at = now;
            }
            // Another event at the same time, a packet of one that is over, or a late one.
            (Some(..=REPEAT_TICKS), _) => return,
            (_, Some(lasting)) if is_next_segment(behind, lasting, event) => {
                lasting.passed = lasting.passed.saturating_add(u32::from(u16::MAX));
                (lasting.duration, lasting.at) = (event.duration, now);
                self.latest = Some(timestamp);
            }
            _ => {
                self.close(out);
                let Event { code, volume, duration, .. } = event;
                out.push(Detected::Began { code, volume });
                self.lasting = Some(Lasting { code, passed: 0, duration, at: now });
                self.latest = Some(timestamp);
            }
        }
        if event.is_end {
            self.close(out);
        }
    }

    /// Ends what lasts.
    fn close(&mut self, out: &mut Vec<Detected>) {
        out.extend(self.lasting.take().map(|lasting| lasting.ended()));
    }

    /// Lets time pass: an event of which no packet comes any more ends.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Detected>) {
        if self.deadline().is_some_and(|at| at <= now) {
            self.close(out);
        }
    }

    /// When `tick` wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.lasting.map(|lasting| lasting.at + PATIENCE)
    }
}

/// Whether a packet that is ahead by `behind` backwards goes on with the event: a segment is as
/// long as a duration can say.
fn is_next_segment(behind: Option<u32>, lasting: &Lasting, event: Event) -> bool {
    let ahead = behind.map(u32::wrapping_neg);
    ahead == Some(u32::from(u16::MAX)) && lasting.code == event.code
}
