//! Packets to an end: one source, numbers without a hole, and the time line of what was coded.

use crate::stream::{End, Output, Side};
use rtp::Header;

/// What leaves towards an end.
#[derive(Debug)]
pub(crate) struct Outgoing {
    stream: u32,
    to: Side,
    ssrc: u32,
    sequence: u16,
    /// The time of the first sample that was not sent.
    timestamp: u32,
    /// Ticks a millisecond.
    ticks_per_ms: u32,
    /// The next packet of sound begins a talkspurt.
    begins: bool,
    pub(crate) sent: u64,
    /// The sequence number that was told last.
    told: u16,
}

impl Outgoing {
    pub(crate) fn new(stream: u32, to: Side, end: &End) -> Self {
        Self {
            stream,
            to,
            ssrc: end.ssrc,
            sequence: end.sequence,
            timestamp: end.timestamp,
            ticks_per_ms: end.format.codec.clock() / 1_000,
            begins: true,
            sent: 0,
            told: end.sequence,
        }
    }

    /// Goes on where another one is, under the source of this one.
    pub(crate) const fn go_on(&mut self, before: &Self) {
        if self.ssrc == before.ssrc {
            (self.sequence, self.timestamp) = (before.sequence, before.timestamp);
        }
    }

    /// The numbers of the last packet, if one left since they were told.
    pub(crate) fn reached(&mut self) -> Option<(u16, u32)> {
        let is_new = core::mem::replace(&mut self.told, self.sequence) != self.sequence;
        is_new.then_some((self.sequence.wrapping_sub(1), self.timestamp))
    }

    pub(crate) const fn stream(&self) -> u32 {
        self.stream
    }

    pub(crate) const fn to(&self) -> Side {
        self.to
    }

    pub(crate) const fn timestamp(&self) -> u32 {
        self.timestamp
    }

    pub(crate) const fn ticks_per_ms(&self) -> u32 {
        self.ticks_per_ms
    }

    /// Time passes in which nothing is sent: what comes then begins anew.
    pub(crate) const fn pause(&mut self, ticks: u32) {
        self.advance(ticks);
        self.begins = true;
    }

    /// Time passes.
    pub(crate) const fn advance(&mut self, ticks: u32) {
        self.timestamp = self.timestamp.wrapping_add(ticks);
    }

    /// Sends a packet of sound, if `write` appends a payload and says that there is one.
    pub(crate) fn sound(
        &mut self,
        payload_type: u8,
        out: &mut Output,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let marker = self.begins;
        let is_sent = self.packet(payload_type, marker, self.timestamp, out, write);
        self.begins &= !is_sent;
        is_sent
    }

    /// Sends a packet with a time and a marker of its own.
    pub(crate) fn packet(
        &mut self,
        payload_type: u8,
        marker: bool,
        timestamp: u32,
        out: &mut Output,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let (sequence, ssrc) = (self.sequence, self.ssrc);
        let header = Header { marker, payload_type, sequence, timestamp, ssrc };
        let mut is_sent = false;
        out.push(self.stream, self.to, |octets| {
            let start = octets.len();
            octets.extend_from_slice(&header.octets());
            is_sent = write(octets);
            if !is_sent {
                octets.truncate(start);
            }
        });
        if is_sent {
            self.sequence = sequence.wrapping_add(1);
            self.sent += 1;
        }
        is_sent
    }
}
