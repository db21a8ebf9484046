//! Run lengths: one bit for each packet of an interval (RFC 3611 §4.1, §4.2).
//!
//! ```text
//!   0 r nnnnnnnnnnnnnn   n times the bit r
//!   1 bbbbbbbbbbbbbbb    fifteen bits
//!   0000000000000000     ends them, where a word is to be filled
//! ```

use super::frame::{BlockType, RawBlock, begin, end};
use wire::Malformed;

/// What a run length holds: 14 bits.
const RUN_MAX: u16 = 0x3FFF;
const IS_VECTOR: u16 = 0x8000;
const RUN_BIT: u16 = 0x4000;
/// Bits of a vector, and how long a run is at least to be written as one.
const VECTOR_BITS: u16 = 15;
const THINNING: u8 = 0x0F;

/// A block of run lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLengths<'a> {
    /// The stream.
    pub ssrc: u32,
    /// Only packets whose number is a multiple of two to this power are told, 0 to 15.
    pub thinning: u8,
    /// The first number of the interval.
    pub begin: u16,
    /// The number behind the last, modulo 2^16; the same as the first for an empty interval.
    pub end: u16,
    chunks: &'a [u8],
}

impl<'a> RunLengths<'a> {
    pub(super) fn read(raw: &RawBlock<'a>, kind: BlockType) -> Result<Self, Malformed> {
        let mut cursor = raw.cursor(kind.spec());
        let ssrc = cursor.be32("the stream is cut off")?;
        let begin = cursor.be16("the interval is cut off")?;
        let end = cursor.be16("the interval is cut off")?;
        let thinning = raw.specific & THINNING;
        Ok(Self { ssrc, thinning, begin, end, chunks: cursor.rest() })
    }

    /// The packets that are told and whether each came, or came once. They end with the chunks or
    /// with the interval, whichever ends first.
    #[must_use]
    pub const fn packets(&self) -> Runs<'a> {
        let (count, first) = reported(self.begin, self.end, self.thinning);
        let chunks = self.chunks;
        Runs { chunks, next: first, left: count, step: 1 << self.thinning, run: 0, bits: 0 }
    }
}

/// How many packets of an interval are told, and the first of them.
const fn reported(begin: u16, end: u16, thinning: u8) -> (u32, u16) {
    let step = 1u32 << thinning;
    // To the next multiple; beyond 2^16 the numbers begin anew, with a multiple.
    let skip = (begin as u32).next_multiple_of(step) - begin as u32;
    let length = end.wrapping_sub(begin) as u32;
    let count = length.saturating_sub(skip).div_ceil(step);
    // Fewer than 2^16 are skipped.
    let [_, _, s0, s1] = skip.to_be_bytes();
    (count, begin.wrapping_add(u16::from_be_bytes([s0, s1])))
}

/// The packets of an interval, one after the other.
#[derive(Debug, Clone)]
pub struct Runs<'a> {
    chunks: &'a [u8],
    next: u16,
    left: u32,
    step: u16,
    /// Bits of the chunk that are left.
    run: u16,
    /// They, the next one in the highest bit.
    bits: u16,
}

impl Runs<'_> {
    /// Takes the next chunk.
    fn refill(&mut self) -> Option<()> {
        let (chunk, rest) = self.chunks.split_first_chunk::<2>()?;
        self.chunks = rest;
        let chunk = u16::from_be_bytes(*chunk);
        (self.run, self.bits) = match (chunk & IS_VECTOR, chunk & RUN_BIT) {
            (0, 0) => (chunk & RUN_MAX, 0),
            (0, _) => (chunk & RUN_MAX, u16::MAX),
            _ => (VECTOR_BITS, chunk << 1),
        };
        Some(())
    }
}

impl Iterator for Runs<'_> {
    type Item = (u16, bool);

    fn next(&mut self) -> Option<(u16, bool)> {
        self.left = self.left.checked_sub(1)?;
        while self.run == 0 {
            self.refill()?;
        }
        let came = self.bits & IS_VECTOR != 0;
        // What follows a run's bit is the same.
        self.bits = self.bits << 1 | if self.bits == u16::MAX { 1 } else { 0 };
        self.run -= 1;
        let number = self.next;
        self.next = self.next.wrapping_add(self.step);
        Some((number, came))
    }
}

/// Appends a chunk.
fn put(chunk: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&chunk.to_be_bytes());
}

/// Writes bits as chunks: a run where one fills a vector, a vector else.
#[derive(Default)]
struct Writer {
    /// Bits that are not written yet, fewer than fifteen unless they are all the same.
    bits: u16,
    count: u16,
}

impl Writer {
    const fn is_run(&self) -> bool {
        let ones = (1u32 << if self.count < 15 { self.count } else { 15 }) - 1;
        self.bits == 0 || self.bits as u32 == ones
    }

    fn bit(&mut self, bit: bool, out: &mut Vec<u8>) {
        let is_same = self.count == 0 || bit == (self.bits & 1 == 1);
        if self.count >= VECTOR_BITS && (!is_same || self.count == RUN_MAX) {
            self.flush(out);
        }
        self.bits = (self.bits << 1 | u16::from(bit)) & !IS_VECTOR;
        self.count += 1;
        if self.count == VECTOR_BITS && !self.is_run() {
            put(IS_VECTOR | self.bits, out);
            *self = Self::default();
        }
    }

    /// Writes what is left; zeros fill a vector.
    fn flush(&mut self, out: &mut Vec<u8>) {
        match self.count {
            0 => {}
            count if self.is_run() => {
                put(count | if self.bits == 0 { 0 } else { RUN_BIT }, out);
            }
            count => put(IS_VECTOR | self.bits << (VECTOR_BITS - count), out),
        }
        *self = Self::default();
    }
}

/// What a block of run lengths is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The stream.
    pub ssrc: u32,
    /// Only packets whose number is a multiple of two to this power are told, 0 to 15.
    pub thinning: u8,
    /// The first number.
    pub begin: u16,
    /// The number behind the last.
    pub end: u16,
}

/// Appends a block of run lengths; `came` says of a number whether that packet came, or came once.
pub fn write_run_lengths(
    kind: BlockType,
    interval: Interval,
    came: impl Fn(u16) -> bool,
    out: &mut Vec<u8>,
) {
    let thinning = interval.thinning & THINNING;
    let start = begin(kind, thinning, out);
    out.extend_from_slice(&interval.ssrc.to_be_bytes());
    out.extend_from_slice(&interval.begin.to_be_bytes());
    out.extend_from_slice(&interval.end.to_be_bytes());
    let (count, mut number) = reported(interval.begin, interval.end, thinning);
    let mut writer = Writer::default();
    for _ in 0..count {
        writer.bit(came(number), out);
        number = number.wrapping_add(1 << thinning);
    }
    writer.flush(out);
    end(start, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(bits: &[bool]) -> Vec<u16> {
        let (mut out, mut writer) = (Vec::new(), Writer::default());
        bits.iter().for_each(|bit| writer.bit(*bit, &mut out));
        writer.flush(&mut out);
        out.as_chunks::<2>().0.iter().map(|it| u16::from_be_bytes(*it)).collect()
    }

    #[test]
    fn runs_and_vectors_are_those_of_rfc_3611() {
        assert_eq!(chunks(&[]), []);
        assert_eq!(chunks(&[true; 3]), [0x4003]);
        assert_eq!(chunks(&[false; 20]), [20]);
        assert_eq!(chunks(&vec![true; 20_000]), [0x7FFF, 0x4000 | 3_617]);
        let mixed: Vec<bool> = (0..15).map(|n| n % 2 == 0).collect();
        assert_eq!(chunks(&mixed), [0xD555]);
        assert_eq!(chunks(&mixed[..3]), [0x8000 | 0b101 << 12]);
        let run_then_other: Vec<bool> = (0..31).map(|n| n < 30).collect();
        assert_eq!(chunks(&run_then_other), [0x401E, 1]);
    }

    #[test]
    fn thinned_intervals_tell_the_multiples() {
        assert_eq!(reported(10, 10, 0), (0, 10));
        assert_eq!(reported(10, 20, 0), (10, 10));
        assert_eq!(reported(10, 20, 2), (2, 12));
        assert_eq!(reported(65_535, 5, 2), (2, 0));
        assert_eq!(reported(0, u16::MAX, 15), (2, 0));
        assert_eq!(reported(1, 3, 15), (0, 32_768));
    }
}
