//! Sender and receiver reports (RFC 3550 §6.4).

use super::frame::{PacketType, Raw, begin, end};
use crate::clock::Ntp;
use wire::{Cursor, Malformed};

/// Octets of a report block.
const BLOCK_BYTES: usize = 24;
/// Report blocks of a packet at most: the count has five bits.
pub const BLOCKS_MAX: usize = 31;
/// What the cumulative number of packets lost holds: 24 bits with a sign (RFC 3550 A.3).
const LOST_RANGE: core::ops::RangeInclusive<i32> = -0x80_0000..=0x7F_FFFF;

/// What a sender says of its own stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderInfo {
    /// The wall clock when the report was written.
    pub ntp: Ntp,
    /// The same time by the stream's clock.
    pub timestamp: u32,
    /// Packets since it began, modulo 2^32.
    pub packets: u32,
    /// Octets of payload since it began, modulo 2^32.
    pub octets: u32,
}

/// What a receiver says of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportBlock {
    /// The source of the stream.
    pub ssrc: u32,
    /// The fraction lost since the last report, in 256ths.
    pub fraction_lost: u8,
    /// Packets lost since it began; fewer than none where duplicates came. Written as the nearest
    /// of what 24 bits hold.
    pub cumulative_lost: i32,
    /// The highest number that came, extended by how often the numbers began anew.
    pub highest: u32,
    /// Interarrival jitter in ticks of the payload's clock.
    pub jitter: u32,
    /// The middle of the NTP timestamp of the sender's last report; zero for none.
    pub last_sr: u32,
    /// How long that is ago, in 1/65,536 s.
    pub delay_since_last_sr: u32,
}

impl ReportBlock {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let cut = "a report block is cut off";
        let ssrc = cursor.be32(cut)?;
        let [fraction_lost, l0, l1, l2] = cursor.array(cut)?;
        Ok(Self {
            ssrc,
            fraction_lost,
            // The sign of 24 bits is that of the upper 24 of 32.
            cumulative_lost: i32::from_be_bytes([l0, l1, l2, 0]) >> 8,
            highest: cursor.be32(cut)?,
            jitter: cursor.be32(cut)?,
            last_sr: cursor.be32(cut)?,
            delay_since_last_sr: cursor.be32(cut)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let lost = self.cumulative_lost.clamp(*LOST_RANGE.start(), *LOST_RANGE.end());
        let [_, l0, l1, l2] = lost.to_be_bytes();
        out.extend_from_slice(&self.ssrc.to_be_bytes());
        out.extend_from_slice(&[self.fraction_lost, l0, l1, l2]);
        for word in [self.highest, self.jitter, self.last_sr, self.delay_since_last_sr] {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
}

/// The report blocks of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks<'a> {
    octets: &'a [u8],
}

impl Iterator for Blocks<'_> {
    type Item = ReportBlock;

    fn next(&mut self) -> Option<ReportBlock> {
        let mut cursor = Cursor::new(self.octets, 0, "RFC 3550 §6.4.1");
        let block = ReportBlock::read(&mut cursor).ok()?;
        self.octets = cursor.rest();
        Some(block)
    }
}

/// A sender or a receiver report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// Who reports.
    pub ssrc: u32,
    /// What it says of its own stream: in a sender report.
    pub sender: Option<SenderInfo>,
    /// What it says of others.
    pub blocks: Blocks<'a>,
    /// What a profile adds (RFC 3550 §6.4.3).
    pub extension: &'a [u8],
}

impl<'a> Report<'a> {
    pub(super) fn read(raw: &Raw<'a>, kind: PacketType) -> Result<Self, Malformed> {
        let mut cursor = raw.cursor(kind.spec());
        let ssrc = cursor.be32("the reporter is cut off")?;
        let sender = match kind {
            PacketType::SenderReport => Some(read_sender(&mut cursor)?),
            _ => None,
        };
        let blocks = usize::from(raw.count) * BLOCK_BYTES;
        let octets = cursor.take(blocks, "the report blocks are cut off")?;
        Ok(Self { ssrc, sender, blocks: Blocks { octets }, extension: cursor.rest() })
    }
}

fn read_sender(cursor: &mut Cursor<'_>) -> Result<SenderInfo, Malformed> {
    let cut = "the sender's information is cut off";
    Ok(SenderInfo {
        ntp: Ntp(cursor.be64(cut)?),
        timestamp: cursor.be32(cut)?,
        packets: cursor.be32(cut)?,
        octets: cursor.be32(cut)?,
    })
}

/// Appends a report: a sender report if there is something to say of an own stream, and of more
/// than [`BLOCKS_MAX`] blocks further receiver reports (RFC 3550 §6.4.2).
pub fn write_report(
    ssrc: u32,
    sender: Option<&SenderInfo>,
    blocks: &[ReportBlock],
    out: &mut Vec<u8>,
) {
    let (first, mut rest) = blocks.split_at(blocks.len().min(BLOCKS_MAX));
    let kind = if sender.is_some() { PacketType::SenderReport } else { PacketType::ReceiverReport };
    let start = begin(kind, first.len(), out);
    out.extend_from_slice(&ssrc.to_be_bytes());
    if let Some(sender) = sender {
        out.extend_from_slice(&sender.ntp.0.to_be_bytes());
        for word in [sender.timestamp, sender.packets, sender.octets] {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
    first.iter().for_each(|block| block.write(out));
    end(start, out);
    while !rest.is_empty() {
        let (next, later) = rest.split_at(rest.len().min(BLOCKS_MAX));
        let start = begin(PacketType::ReceiverReport, next.len(), out);
        out.extend_from_slice(&ssrc.to_be_bytes());
        next.iter().for_each(|block| block.write(out));
        end(start, out);
        rest = later;
    }
}
