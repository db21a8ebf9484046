//! Losses, jitter and hops of an interval (RFC 3611 §4.6).

use super::frame::{BlockType, RawBlock, begin, end};
use wire::{Cursor, Malformed};

const LOSSES: u8 = 0x80;
const DUPLICATES: u8 = 0x40;
const JITTER: u8 = 0x20;
const HOPS_SHIFT: u8 = 3;

wire::rows! {
    /// Whose hops are told.
    pub enum HopLimit: u8 {
        /// The time to live of IPv4.
        Ipv4 = 1, "IPv4 TTL", "RFC 3611 §4.6";
        /// The hop limit of IPv6.
        Ipv6 = 2, "IPv6 hop limit", "RFC 3611 §4.6";
    }
}

/// The least, the most, the mean and the standard deviation of what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spread<T> {
    /// The least.
    pub min: T,
    /// The most.
    pub max: T,
    /// The mean.
    pub mean: T,
    /// The standard deviation.
    pub deviation: T,
}

/// Losses and duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Packets that did not come; `None` if it is not told.
    pub lost: Option<u32>,
    /// Packets that came again; `None` if it is not told.
    pub duplicates: Option<u32>,
}

/// Hops of the packets that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopLimits {
    /// Whose.
    pub of: HopLimit,
    /// What was seen.
    pub seen: Spread<u8>,
}

/// What happened in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatisticsSummary {
    /// The stream.
    pub ssrc: u32,
    /// The first number of the interval.
    pub begin: u16,
    /// The number behind the last.
    pub end: u16,
    /// Losses and duplicates.
    pub losses: Losses,
    /// Jitter in ticks of the payload's clock; `None` if it is not told.
    pub jitter: Option<Spread<u32>>,
    /// Hops; `None` if it is not told.
    pub hops: Option<HopLimits>,
}

impl StatisticsSummary {
    pub(super) fn read(raw: &RawBlock<'_>) -> Result<Self, Malformed> {
        let cut = "the summary is cut off";
        let mut cursor: Cursor<'_> = raw.cursor(BlockType::StatisticsSummary.spec());
        let (ssrc, begin, end) = (cursor.be32(cut)?, cursor.be16(cut)?, cursor.be16(cut)?);
        let (lost, duplicates) = (cursor.be32(cut)?, cursor.be32(cut)?);
        let jitter = Spread {
            min: cursor.be32(cut)?,
            max: cursor.be32(cut)?,
            mean: cursor.be32(cut)?,
            deviation: cursor.be32(cut)?,
        };
        let [min, max, mean, deviation] = cursor.array(cut)?;
        if !cursor.is_empty() {
            return Err(cursor.violation("octets follow the summary"));
        }
        let has = |flag: u8| raw.specific & flag != 0;
        let of = HopLimit::of(raw.specific >> HOPS_SHIFT & 3);
        Ok(Self {
            ssrc,
            begin,
            end,
            losses: Losses {
                lost: has(LOSSES).then_some(lost),
                duplicates: has(DUPLICATES).then_some(duplicates),
            },
            jitter: has(JITTER).then_some(jitter),
            hops: of.map(|of| HopLimits { of, seen: Spread { min, max, mean, deviation } }),
        })
    }

    /// Appends the block; what is not told is written as zeros.
    pub fn write(&self, out: &mut Vec<u8>) {
        let flag = |is_told: bool, flag: u8| if is_told { flag } else { 0 };
        let specific = flag(self.losses.lost.is_some(), LOSSES)
            | flag(self.losses.duplicates.is_some(), DUPLICATES)
            | flag(self.jitter.is_some(), JITTER)
            | self.hops.map_or(0, |it| it.of.number() << HOPS_SHIFT);
        let start = begin(BlockType::StatisticsSummary, specific, out);
        out.extend_from_slice(&self.ssrc.to_be_bytes());
        out.extend_from_slice(&self.begin.to_be_bytes());
        out.extend_from_slice(&self.end.to_be_bytes());
        let jitter = self.jitter.unwrap_or_default();
        let lost = self.losses.lost.unwrap_or(0);
        let duplicates = self.losses.duplicates.unwrap_or(0);
        let Spread { min, max, mean, deviation } = jitter;
        for word in [lost, duplicates, min, max, mean, deviation] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        let Spread { min, max, mean, deviation } = self.hops.map(|it| it.seen).unwrap_or_default();
        out.extend_from_slice(&[min, max, mean, deviation]);
        end(start, out);
    }
}
