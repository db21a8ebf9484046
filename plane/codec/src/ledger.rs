//! What a control remembers of the streams that it has transcoded, to say them again to a process
//! that took the place of one that died: the numbers of their packets go on.

use crate::message::Message;
use crate::stream::{End, Side};
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// How long a stream may have stood still for its time line to go on by the clock.
const STILL_MAX: Duration = Duration::from_secs(3_600);
/// Packets between two reports beside those of sound: of digits, and of packets that came at once.
const BESIDE: u32 = 16;
/// Milliseconds of a packet unless it is said.
const PACKET_MS: u16 = 20;

/// What packets to an end are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Their source.
    pub ssrc: u32,
    /// Of the last packet, or of the first one.
    pub sequence: u16,
    /// The same.
    pub timestamp: u32,
    /// When the last one had left, if one has.
    pub reached: Option<Time>,
}

impl Numbers {
    /// The end goes on with them, ahead of what may have left since they were told: none is used
    /// twice.
    #[must_use]
    pub fn go_on(&self, now: Time, end: End) -> End {
        let Self { ssrc, sequence, timestamp, reached } = *self;
        let Some(at) = reached else { return End { ssrc, sequence, timestamp, ..end } };
        let passed = now.since(at).min(STILL_MAX);
        let ms = u32::try_from(passed.as_millis()).unwrap_or(0);
        let packet_ms = u32::from(if end.packet_ms == 0 { PACKET_MS } else { end.packet_ms });
        // A distance of less than half of all numbers is one ahead (RFC 3550 A.1).
        let ahead = (ms / packet_ms + BESIDE).min(u32::from(u16::MAX / 4));
        let ahead = u16::try_from(ahead).unwrap_or(u16::MAX / 4);
        let ticks = (ms + packet_ms).saturating_mul(end.format.codec.clock() / 1_000);
        End {
            ssrc,
            sequence: sequence.wrapping_add(ahead),
            timestamp: timestamp.wrapping_add(ticks),
            ..end
        }
    }
}

/// The streams.
#[derive(Debug, Default)]
pub struct Ledger {
    streams: BTreeMap<u32, Entry>,
}

#[derive(Debug)]
struct Entry {
    ends: [End; 2],
    /// The numbers of a packet to each end, the last one at that time.
    last: [Option<(Time, u16, u32)>; 2],
}

impl Entry {
    fn numbers(&self) -> [Numbers; 2] {
        [0, 1].map(|at| {
            let End { ssrc, sequence, timestamp, .. } = self.ends[at];
            match self.last[at] {
                Some((at, sequence, timestamp)) => {
                    Numbers { ssrc, sequence, timestamp, reached: Some(at) }
                }
                None => Numbers { ssrc, sequence, timestamp, reached: None },
            }
        })
    }
}

impl Ledger {
    /// A stream was said.
    pub fn put(&mut self, stream: u32, ends: [End; 2]) {
        let last = self.streams.get(&stream).map_or([None; 2], |it| it.last);
        self.streams.insert(stream, Entry { ends, last });
    }

    /// A stream as it was said last.
    #[must_use]
    pub fn at(&self, stream: u32) -> Option<&[End; 2]> {
        self.streams.get(&stream).map(|it| &it.ends)
    }

    /// What packets to the ends of a stream are counted by.
    #[must_use]
    pub fn numbers(&self, stream: u32) -> Option<[Numbers; 2]> {
        self.streams.get(&stream).map(Entry::numbers)
    }

    /// A stream is over; whether there was one.
    pub fn remove(&mut self, stream: u32) -> bool {
        self.streams.remove(&stream).is_some()
    }

    /// How many streams there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The codecs of the streams.
    pub fn codecs(&self) -> impl Iterator<Item = crate::Codec> + '_ {
        self.streams.values().flat_map(|it| it.ends.map(|end| end.format.codec))
    }

    /// The last packet towards an end had these numbers ([`Message::Reached`]).
    pub fn reached(&mut self, now: Time, stream: u32, to: Side, sequence: u16, timestamp: u32) {
        if let Some(it) = self.streams.get_mut(&stream) {
            it.last[to.index()] = Some((now, sequence, timestamp));
        }
    }

    /// Appends everything, for a process that knows nothing or not all of it. Numbers go on
    /// ([`Numbers::go_on`]). `is_all`: other streams than
    /// these are forgotten.
    pub fn write(&self, now: Time, is_all: bool, out: &mut Vec<u8>) {
        if is_all {
            Message::Begin.write(out);
        }
        for (&stream, it) in &self.streams {
            let [a, b] = it.numbers();
            let ends = [a.go_on(now, it.ends[0]), b.go_on(now, it.ends[1])];
            Message::Put { stream, ends }.write(out);
        }
        if is_all {
            Message::End.write(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Codec, Format};
    use crate::message::whole;

    #[test]
    fn a_stream_that_is_said_again_goes_on_ahead_of_its_numbers() {
        let end = |codec: Codec| End::new(Format::new(codec), 96, 5);
        let (a, b) = (end(Codec::Pcma), end(Codec::Opus));
        let mut ledger = Ledger::default();
        ledger.put(3, [a, b]);
        ledger.put(4, [a, b]);
        ledger.remove(4);
        ledger.reached(Time::from_millis(1_000), 3, Side::B, 65_535, 100);
        ledger.reached(Time::from_millis(1_000), 9, Side::B, 65_535, 100);
        let mut out = Vec::new();
        ledger.write(Time::from_millis(1_100), true, &mut out);
        let mut said = Vec::new();
        let mut rest = &out[..];
        while let Ok(Some(octets)) = whole(rest) {
            said.push(Message::read(&rest[..octets]).unwrap().unwrap());
            rest = &rest[octets..];
        }
        // 100 ms are five packets.
        let goes_on = End { sequence: 5 + 15, timestamp: 100 + 120 * 48, ..b };
        let put = Message::Put { stream: 3, ends: [a, goes_on] };
        assert_eq!(said, [Message::Begin, put, Message::End]);
        assert_eq!(ledger.len(), 1);
    }
}
