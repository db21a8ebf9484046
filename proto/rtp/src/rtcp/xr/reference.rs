//! The round trip of one who sends nothing: a receiver tells its wall clock, and others tell when
//! that came (RFC 3611 §4.4, §4.5).

use super::frame::{BlockType, RawBlock, begin, end};
use crate::clock::Ntp;
use wire::{Cursor, Malformed};

/// Octets of a sub-block.
const DLRR_BYTES: usize = 12;

pub(super) fn read_reference_time(raw: &RawBlock<'_>) -> Result<Ntp, Malformed> {
    let mut cursor = raw.cursor(BlockType::ReferenceTime.spec());
    let ntp = cursor.be64("the time is cut off")?;
    match cursor.is_empty() {
        true => Ok(Ntp(ntp)),
        false => Err(cursor.violation("octets follow the time")),
    }
}

/// Appends a block with the wall clock of who reports.
pub fn write_reference_time(ntp: Ntp, out: &mut Vec<u8>) {
    let start = begin(BlockType::ReferenceTime, 0, out);
    out.extend_from_slice(&ntp.0.to_be_bytes());
    end(start, out);
}

/// When a receiver's wall clock came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dlrr {
    /// The receiver.
    pub ssrc: u32,
    /// The middle of its last wall clock; zero for none.
    pub last_rr: u32,
    /// How long that is ago, in 1/65,536 s.
    pub delay_since_last_rr: u32,
}

/// When receivers' wall clocks came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dlrrs<'a> {
    octets: &'a [u8],
}

impl<'a> Dlrrs<'a> {
    pub(super) fn read(raw: &RawBlock<'a>) -> Result<Self, Malformed> {
        match raw.body.len().is_multiple_of(DLRR_BYTES) {
            true => Ok(Self { octets: raw.body }),
            false => Err(raw.cursor(BlockType::Dlrr.spec()).violation("a sub-block is cut off")),
        }
    }
}

impl Iterator for Dlrrs<'_> {
    type Item = Dlrr;

    fn next(&mut self) -> Option<Dlrr> {
        let mut cursor = Cursor::new(self.octets, 0, BlockType::Dlrr.spec());
        let cut = "a sub-block is cut off";
        let [ssrc, last_rr, delay_since_last_rr] =
            [cursor.be32(cut).ok()?, cursor.be32(cut).ok()?, cursor.be32(cut).ok()?];
        self.octets = cursor.rest();
        Some(Dlrr { ssrc, last_rr, delay_since_last_rr })
    }
}

/// Appends a block that says when these receivers' wall clocks came.
pub fn write_dlrr(receivers: &[Dlrr], out: &mut Vec<u8>) {
    let start = begin(BlockType::Dlrr, 0, out);
    for it in receivers {
        for word in [it.ssrc, it.last_rr, it.delay_since_last_rr] {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
    end(start, out);
}
