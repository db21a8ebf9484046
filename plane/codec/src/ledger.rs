//! What a control remembers of the streams that it has transcoded, to say them again to a process
//! that took the place of one that died: the numbers of their packets go on.

use crate::message::Message;
use crate::stream::{End, Side};
use machine::{Duration, Time};
use rtp::Header;
use std::collections::BTreeMap;

/// How long a stream may have stood still for its time line to go on by the clock.
const STILL_MAX: Duration = Duration::from_secs(3_600);

/// The streams.
#[derive(Debug, Default)]
pub struct Ledger {
    streams: BTreeMap<u32, Entry>,
}

#[derive(Debug)]
struct Entry {
    ends: [End; 2],
    /// The numbers of the last packet to each end, and when it left.
    last: [Option<(Time, u16, u32)>; 2],
}

impl Ledger {
    /// A stream was said.
    pub fn put(&mut self, stream: u32, ends: [End; 2]) {
        let last = self.streams.get(&stream).map_or([None; 2], |it| it.last);
        self.streams.insert(stream, Entry { ends, last });
    }

    /// A stream is over.
    pub fn remove(&mut self, stream: u32) {
        self.streams.remove(&stream);
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

    /// A packet left towards an end.
    pub fn left(&mut self, now: Time, stream: u32, to: Side, packet: &[u8]) {
        if let (Some(it), Some(header)) = (self.streams.get_mut(&stream), Header::peek(packet)) {
            it.last[to.index()] = Some((now, header.sequence, header.timestamp));
        }
    }

    /// Appends everything, for a process that knows nothing or not all of it.
    pub fn write(&self, now: Time, out: &mut Vec<u8>) {
        Message::Begin.write(out);
        for (&stream, it) in &self.streams {
            let mut ends = it.ends;
            for (end, last) in ends.iter_mut().zip(it.last) {
                let Some((at, sequence, timestamp)) = last else { continue };
                let passed = now.since(at).min(STILL_MAX);
                let ms = u32::try_from(passed.as_millis()).unwrap_or(0);
                let ticks = ms.saturating_mul(end.format.codec.clock() / 1_000);
                // At least a packet behind the last one.
                let least = u32::from(end.packet_ms.max(20)) * (end.format.codec.clock() / 1_000);
                end.sequence = sequence.wrapping_add(1);
                end.timestamp = timestamp.wrapping_add(ticks.max(least));
            }
            Message::Put { stream, ends }.write(out);
        }
        Message::End.write(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Codec, Format};
    use crate::message::whole;

    #[test]
    fn a_stream_that_is_said_again_goes_on_with_its_numbers() {
        let end = |codec: Codec| End::new(Format::new(codec), 96, 5);
        let (a, b) = (end(Codec::Pcma), end(Codec::Opus));
        let mut ledger = Ledger::default();
        ledger.put(3, [a, b]);
        ledger.put(4, [a, b]);
        ledger.remove(4);
        let header = Header { sequence: 65_535, timestamp: 100, ssrc: 5, ..Header::default() };
        ledger.left(Time::from_millis(1_000), 3, Side::B, &header.octets());
        ledger.left(Time::from_millis(1_000), 9, Side::B, &header.octets());
        let mut out = Vec::new();
        ledger.write(Time::from_millis(1_100), &mut out);
        let mut said = Vec::new();
        let mut rest = &out[..];
        while let Ok(Some(octets)) = whole(rest) {
            said.push(Message::read(&rest[..octets]).unwrap().unwrap());
            rest = &rest[octets..];
        }
        let goes_on = End { sequence: 0, timestamp: 100 + 4_800, ..b };
        let put = Message::Put { stream: 3, ends: [a, goes_on] };
        assert_eq!(said, [Message::Begin, put, Message::End]);
        assert_eq!(ledger.len(), 1);
    }
}
