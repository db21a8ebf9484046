//! The header that all report blocks have (RFC 3611 §3).

use wire::{Cursor, Malformed};

/// Octets of the header of a block.
pub(super) const HEADER_BYTES: usize = 4;
const SPEC: &str = "RFC 3611 §3";

wire::rows! {
    /// The report blocks.
    pub enum BlockType: u8 {
        /// Which packets came.
        LossRle = 1, "Loss RLE", "RFC 3611 §4.1";
        /// Which packets came once.
        DuplicateRle = 2, "Duplicate RLE", "RFC 3611 §4.2";
        /// When packets came.
        ReceiptTimes = 3, "Packet Receipt Times", "RFC 3611 §4.3";
        /// The wall clock of a receiver.
        ReferenceTime = 4, "Receiver Reference Time", "RFC 3611 §4.4";
        /// When receivers' wall clocks came.
        Dlrr = 5, "DLRR", "RFC 3611 §4.5";
        /// Losses, jitter and hops.
        StatisticsSummary = 6, "Statistics Summary", "RFC 3611 §4.6";
        /// How a call sounds.
        VoipMetrics = 7, "VoIP Metrics", "RFC 3611 §4.7";
    }
}

/// A block whose length is checked and whose inside is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// The block type, of which [`BlockType`] has those that are known.
    pub number: u8,
    /// What the type makes of it.
    pub specific: u8,
    /// What follows the header.
    pub body: &'a [u8],
    /// Where the block begins in the datagram.
    pub at: usize,
}

impl<'a> RawBlock<'a> {
    pub(super) fn take(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let at = cursor.at();
        let [number, specific, l0, l1] = cursor.array("the header of a block is cut off")?;
        let length = usize::from(u16::from_be_bytes([l0, l1])) * 4;
        Ok(Self { number, specific, body: cursor.take(length, "a block is cut off")?, at })
    }

    pub(super) const fn cursor(&self, spec: &'static str) -> Cursor<'a> {
        Cursor::new(self.body, self.at + HEADER_BYTES, spec)
    }
}

/// What lies behind the last block of a report: [`SPEC`] is offended if it is none.
pub(super) const fn blocks(octets: &[u8], at: usize) -> Cursor<'_> {
    Cursor::new(octets, at, SPEC)
}

/// Begins a block whose length [`end`] sets; gives the offset where it begins.
pub(super) fn begin(kind: BlockType, specific: u8, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[kind.number(), specific, 0, 0]);
    start
}

/// Ends the block that began at `start`: with zeros up to a multiple of four octets.
pub(super) fn end(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start;
    out.resize(start + length.next_multiple_of(4), 0);
    let words = u16::try_from(length.div_ceil(4) - 1).unwrap_or(u16::MAX);
    out[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
}
