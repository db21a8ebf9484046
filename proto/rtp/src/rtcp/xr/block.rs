//! The blocks of an extended report (RFC 3611 §2).

use super::frame::{self, BlockType, RawBlock};
use super::reference::{self, Dlrrs};
use super::runs::RunLengths;
use super::summary::StatisticsSummary;
use super::times::ReceiptTimes;
use super::voip::VoipMetrics;
use crate::clock::Ntp;
use crate::rtcp::frame::{HEADER_BYTES, PacketType, Raw, begin, end};
use wire::{Cursor, Malformed};

/// An extended report: the lengths of its blocks are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedReport<'a> {
    /// Who reports.
    pub ssrc: u32,
    /// Its blocks.
    pub blocks: Blocks<'a>,
}

impl<'a> ExtendedReport<'a> {
    pub(in crate::rtcp) fn read(raw: &Raw<'a>) -> Result<Self, Malformed> {
        let mut cursor = raw.cursor(PacketType::ExtendedReport.spec());
        let ssrc = cursor.be32("the reporter is cut off")?;
        let rest = frame::blocks(cursor.rest(), raw.at + HEADER_BYTES + 4);
        let mut all = rest;
        while !all.is_empty() {
            RawBlock::take(&mut all)?;
        }
        Ok(Self { ssrc, blocks: Blocks { octets: rest.rest(), at: rest.at() } })
    }
}

/// The blocks of a report, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Blocks<'a> {
    type Item = RawBlock<'a>;

    fn next(&mut self) -> Option<RawBlock<'a>> {
        let mut cursor: Cursor<'a> = frame::blocks(self.octets, self.at);
        let block = RawBlock::take(&mut cursor).ok()?;
        (self.octets, self.at) = (cursor.rest(), cursor.at());
        Some(block)
    }
}

/// A block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Block<'a> {
    /// Which packets came.
    LossRle(RunLengths<'a>),
    /// Which packets came once.
    DuplicateRle(RunLengths<'a>),
    /// When packets came.
    ReceiptTimes(ReceiptTimes<'a>),
    /// The wall clock of a receiver.
    ReferenceTime(Ntp),
    /// When receivers' wall clocks came.
    Dlrr(Dlrrs<'a>),
    /// Losses, jitter and hops.
    StatisticsSummary(StatisticsSummary),
    /// How a call sounds.
    VoipMetrics(VoipMetrics),
    /// One of a type that is not known: to be passed over, or on.
    Unknown(RawBlock<'a>),
}

impl<'a> Block<'a> {
    /// Reads a block.
    ///
    /// # Errors
    /// What does not follow the block's section.
    pub fn read(raw: &RawBlock<'a>) -> Result<Self, Malformed> {
        let Some(kind) = BlockType::of(raw.number) else { return Ok(Self::Unknown(*raw)) };
        match kind {
            BlockType::LossRle => RunLengths::read(raw, kind).map(Self::LossRle),
            BlockType::DuplicateRle => RunLengths::read(raw, kind).map(Self::DuplicateRle),
            BlockType::ReceiptTimes => ReceiptTimes::read(raw).map(Self::ReceiptTimes),
            BlockType::ReferenceTime => {
                reference::read_reference_time(raw).map(Self::ReferenceTime)
            }
            BlockType::Dlrr => Dlrrs::read(raw).map(Self::Dlrr),
            BlockType::StatisticsSummary => {
                StatisticsSummary::read(raw).map(Self::StatisticsSummary)
            }
            BlockType::VoipMetrics => VoipMetrics::read(raw).map(Self::VoipMetrics),
        }
    }
}

/// Appends an extended report of `ssrc`, whose blocks `blocks` appends.
pub fn write_extended_report(ssrc: u32, out: &mut Vec<u8>, blocks: impl FnOnce(&mut Vec<u8>)) {
    let start = begin(PacketType::ExtendedReport, 0, out);
    out.extend_from_slice(&ssrc.to_be_bytes());
    blocks(out);
    end(start, out);
}
