//! The machine that transcodes streams.

use crate::library::Library;
use crate::stream::{Counts, End, Output, Refused, Side};
use crate::way::{Scratch, Way};
use machine::{Time, Wheel};
use rtp::Packet;
use std::collections::HashMap;

/// Streams at most, unless it is made for fewer.
pub const STREAMS_MAX: usize = 65_536;

/// Streams by number: packets come in, packets go out.
///
/// Nothing waits here: a packet is coded when it comes, and leaves when the samples of one are
/// whole. Of what a peer sends nothing is kept but what [`crate::intake`] does, and no more of it
/// is coded than time passes.
#[derive(Debug)]
pub struct Transcoder {
    library: Library,
    most: usize,
    streams: HashMap<u32, Stream>,
    wheel: Wheel<u32>,
    due: Vec<u32>,
    scratch: Scratch,
    counts: Counts,
}

#[derive(Debug)]
struct Stream {
    ends: [End; 2],
    /// By the end that packets come from.
    ways: [Way; 2],
    /// When the wheel wakes it.
    armed: Option<Time>,
}

impl Transcoder {
    /// No streams yet, of so many at most.
    #[must_use]
    pub fn new(library: Library, most: usize, now: Time) -> Self {
        Self {
            library,
            most: most.min(STREAMS_MAX),
            streams: HashMap::new(),
            wheel: Wheel::new(now),
            due: Vec::new(),
            scratch: Scratch::default(),
            counts: Counts::default(),
        }
    }

    /// Says a stream. One that is as it was goes on undisturbed; one that has changed goes on with
    /// its numbers. Both go on under the sources that they have, whatever is said now: a control
    /// that comes next does not know them.
    ///
    /// # Errors
    /// A codec whose library is not there; too many streams. What was said of it before still
    /// holds.
    pub fn put(&mut self, stream: u32, mut ends: [End; 2]) -> Result<(), Refused> {
        let before = self.streams.get(&stream);
        if let Some(before) = before {
            let known = before.ends.iter().zip(&mut ends);
            known.for_each(|(known, said)| said.ssrc = known.ssrc);
        }
        if before.is_some_and(|it| it.ends.iter().zip(&ends).all(|(old, new)| old.is_as(new))) {
            return Ok(());
        }
        if before.is_none() && self.streams.len() >= self.most {
            return Err(Refused::Full);
        }
        let [a, b] = &ends;
        let mut forth = Way::new(stream, a, b, Side::B, &self.library)?;
        let mut back = Way::new(stream, b, a, Side::A, &self.library)?;
        if let Some(before) = before {
            forth.go_on(&before.ways[0]);
            back.go_on(&before.ways[1]);
        }
        self.streams.insert(stream, Stream { ends, ways: [forth, back], armed: None });
        Ok(())
    }

    /// Forgets a stream; whether there was one.
    pub fn remove(&mut self, stream: u32) -> bool {
        self.streams.remove(&stream).is_some()
    }

    /// Forgets all streams but these.
    pub fn retain(&mut self, mut is_kept: impl FnMut(u32) -> bool) {
        self.streams.retain(|stream, _| is_kept(*stream));
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

    /// A packet of RTP came from an end of a stream.
    pub fn packet(&mut self, now: Time, stream: u32, from: Side, octets: &[u8], out: &mut Output) {
        let Some(it) = self.streams.get_mut(&stream) else {
            self.counts.unknown += 1;
            return;
        };
        let Ok(packet) = Packet::read(octets) else {
            self.counts.malformed += 1;
            return;
        };
        let [a, b] = &mut it.ways;
        let (way, back) = match from {
            Side::A => (a, b),
            Side::B => (b, a),
        };
        way.packet(now, &packet, &mut self.scratch, out);
        if let Some(mode) = way.take_request() {
            back.requested(mode);
        }
        let counts = way.take_counts();
        self.count(counts);
        self.arm(stream);
    }

    /// Plays a digit to an end, by its event (RFC 4733 §3.2); whether it is taken: the stream is
    /// known, the digit is one, not too many wait.
    pub fn digit(&mut self, now: Time, stream: u32, to: Side, code: u8, lasts_ms: u16) -> bool {
        let Some(it) = self.streams.get_mut(&stream) else { return false };
        let is_taken = it.ways[to.other().index()].digit(now, code, lasts_ms);
        self.arm(stream);
        is_taken
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Output) {
        let mut due = core::mem::take(&mut self.due);
        self.wheel.expire(now, &mut due);
        for stream in due.drain(..) {
            let Some(it) = self.streams.get_mut(&stream) else { continue };
            // A key that fires in vain: it was armed for another time, or for one before.
            if it.armed.is_none_or(|at| at > now) {
                continue;
            }
            it.armed = None;
            let mut counts = [Counts::default(); 2];
            for (way, counts) in it.ways.iter_mut().zip(&mut counts) {
                way.tick(now, &mut self.scratch, out);
                *counts = way.take_counts();
            }
            counts.into_iter().for_each(|it| self.count(it));
            self.arm(stream);
        }
        self.due = due;
    }

    /// Tells the numbers of the last packet to each end that one left to since: stream, end,
    /// sequence number, timestamp.
    pub fn reached(&mut self, mut tell: impl FnMut(u32, Side, u16, u32)) {
        for (&stream, it) in &mut self.streams {
            for (way, to) in it.ways.iter_mut().zip([Side::B, Side::A]) {
                if let Some((sequence, timestamp)) = way.reached() {
                    tell(stream, to, sequence, timestamp);
                }
            }
        }
    }

    /// When `tick` wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// What was counted of all streams.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    fn arm(&mut self, stream: u32) {
        let Some(it) = self.streams.get_mut(&stream) else { return };
        let wanted = it.ways.iter().filter_map(Way::deadline).min();
        let is_earlier = |at: &Time| it.armed.is_none_or(|armed| *at < armed);
        if let Some(at) = wanted.filter(is_earlier) {
            it.armed = Some(at);
            self.wheel.arm(at, stream);
        }
    }

    fn count(&mut self, of: Counts) {
        let all = &mut self.counts;
        all.received += of.received;
        all.sent += of.sent;
        all.lost += of.lost;
        all.late += of.late;
        all.malformed += of.malformed;
        all.foreign += of.foreign;
        all.over += of.over;
        all.digits += of.digits;
    }
}
