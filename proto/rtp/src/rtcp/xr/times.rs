//! When packets came (RFC 3611 §4.3).

use super::frame::{BlockType, RawBlock, begin, end};
use super::runs::Interval;
use crate::words::Words;
use wire::Malformed;

const THINNING: u8 = 0x0F;

/// When the packets of an interval came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptTimes<'a> {
    /// What it is about.
    pub interval: Interval,
    /// The times of those that came and are told, by the payload's clock.
    pub times: Words<'a>,
}

impl<'a> ReceiptTimes<'a> {
    pub(super) fn read(raw: &RawBlock<'a>) -> Result<Self, Malformed> {
        let mut cursor = raw.cursor(BlockType::ReceiptTimes.spec());
        let ssrc = cursor.be32("the stream is cut off")?;
        let begin = cursor.be16("the interval is cut off")?;
        let end = cursor.be16("the interval is cut off")?;
        let interval = Interval { ssrc, thinning: raw.specific & THINNING, begin, end };
        Ok(Self { interval, times: Words::of(cursor.rest()) })
    }
}

/// Appends a block with the times of packets.
pub fn write_receipt_times(
    interval: Interval,
    times: impl IntoIterator<Item = u32>,
    out: &mut Vec<u8>,
) {
    let start = begin(BlockType::ReceiptTimes, interval.thinning & THINNING, out);
    out.extend_from_slice(&interval.ssrc.to_be_bytes());
    out.extend_from_slice(&interval.begin.to_be_bytes());
    out.extend_from_slice(&interval.end.to_be_bytes());
    for time in times {
        out.extend_from_slice(&time.to_be_bytes());
    }
    end(start, out);
}
