//! Telephone events (RFC 4733): DTMF digits and tones as packets of a stream.

mod detector;
mod generator;

pub use detector::{Detected, Detector, PATIENCE};
pub use generator::{Emission, Generator, REPEATS};

use wire::{Cursor, Malformed};

/// Octets of an event.
pub const EVENT_BYTES: usize = 4;
/// Events of a packet at most (a packet of one event is what is sent).
pub const EVENTS_MAX: usize = 16;

const SPEC: &str = "RFC 4733 §2.3";
const END: u8 = 0x80;
const VOLUME: u8 = 0x3F;
/// The keys by their events, 0 to 15 (RFC 4733 §3.2).
const KEYS: [u8; 16] = *b"0123456789*#ABCD";

/// The key of an event; `None` if it is none of DTMF.
#[must_use]
pub fn key(code: u8) -> Option<char> {
    KEYS.get(usize::from(code)).map(|&key| char::from(key))
}

/// The event of a key; letters may be small.
#[must_use]
pub fn code(key: char) -> Option<u8> {
    let key = key.to_ascii_uppercase();
    (0..).zip(KEYS).find(|&(_, it)| char::from(it) == key).map(|(code, _)| code)
}

/// What a packet says of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Event {
    /// The event: 0 to 15 are the keys of DTMF.
    pub code: u8,
    /// Whether it is over.
    pub is_end: bool,
    /// How loud it is, in dBm0 without the sign, 0 to 63.
    pub volume: u8,
    /// How long it lasts so far, in ticks of the stream's clock since the packet's timestamp.
    pub duration: u16,
}

impl Event {
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let [code, flags, d0, d1] = cursor.array("an event is cut off")?;
        let duration = u16::from_be_bytes([d0, d1]);
        Ok(Self { code, is_end: flags & END != 0, volume: flags & VOLUME, duration })
    }

    /// Reads a payload's events: one behind the other, at most [`EVENTS_MAX`].
    ///
    /// # Errors
    /// No event, one that is cut off, more than the most.
    pub fn read_all(payload: &[u8]) -> Result<Events<'_>, Malformed> {
        let mut cursor = Cursor::new(payload, 0, SPEC);
        Event::take(&mut cursor)?;
        while !cursor.is_empty() {
            Event::take(&mut cursor)?;
        }
        match payload.len() > EVENTS_MAX * EVENT_BYTES {
            true => {
                Err(Malformed::new(EVENTS_MAX * EVENT_BYTES, "there are too many events", SPEC))
            }
            false => Ok(Events { payload }),
        }
    }

    /// The payload that says it.
    #[must_use]
    pub const fn octets(&self) -> [u8; EVENT_BYTES] {
        let [d0, d1] = self.duration.to_be_bytes();
        [self.code, self.volume & VOLUME | if self.is_end { END } else { 0 }, d0, d1]
    }
}

/// The events of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Events<'a> {
    payload: &'a [u8],
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut cursor = Cursor::new(self.payload, 0, SPEC);
        let event = Event::take(&mut cursor).ok()?;
        self.payload = cursor.rest();
        Some(event)
    }
}
