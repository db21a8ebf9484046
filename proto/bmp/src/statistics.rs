//! What is counted of a peer (RFC 7854 §4.8, RFC 8671 §6.2).

use bgp::family::Family;
use wire::{Cursor, Malformed};

const SPEC: &str = "RFC 7854 §4.8";

wire::rows! {
    /// The statistics.
    pub enum StatisticType: u16 {
        /// Prefixes that the policy refused.
        RejectedByPolicy = 0, "prefixes rejected by inbound policy", "RFC 7854 §4.8";
        /// Prefixes that were announced again without change.
        DuplicatePrefix = 1, "duplicate prefix advertisements", "RFC 7854 §4.8";
        /// Withdrawals of what was not there.
        DuplicateWithdraw = 2, "duplicate withdraws", "RFC 7854 §4.8";
        /// UPDATEs whose CLUSTER_LIST has our cluster.
        ClusterListLoop = 3, "updates invalidated due to CLUSTER_LIST loop", "RFC 7854 §4.8";
        /// UPDATEs whose AS_PATH has our AS.
        AsPathLoop = 4, "updates invalidated due to AS_PATH loop", "RFC 7854 §4.8";
        /// UPDATEs whose ORIGINATOR_ID is ours.
        OriginatorIdLoop = 5, "updates invalidated due to ORIGINATOR_ID", "RFC 7854 §4.8";
        /// UPDATEs whose confederation path has our AS.
        ConfederationLoop = 6, "updates invalidated due to AS_CONFED loop", "RFC 7854 §4.8";
        /// Routes that came.
        AdjRibIn = 7, "routes in Adj-RIBs-In", "RFC 7854 §4.8";
        /// Routes that were chosen.
        LocRib = 8, "routes in Loc-RIB", "RFC 7854 §4.8";
        /// Routes of a family that came.
        AdjRibInOfFamily = 9, "routes in per-AFI/SAFI Adj-RIB-In", "RFC 7854 §4.8";
        /// Routes of a family that were chosen.
        LocRibOfFamily = 10, "routes in per-AFI/SAFI Loc-RIB", "RFC 7854 §4.8";
        /// UPDATEs that were taken for withdrawals.
        TreatAsWithdraw = 11, "updates subjected to treat-as-withdraw", "RFC 7854 §4.8";
        /// Prefixes that were taken for withdrawn.
        PrefixTreatAsWithdraw = 12, "prefixes subjected to treat-as-withdraw", "RFC 7854 §4.8";
        /// UPDATEs that changed nothing.
        DuplicateUpdate = 13, "duplicate update messages", "RFC 7854 §4.8";
        /// Routes to be sent, before the policy.
        AdjRibOutPre = 14, "routes in pre-policy Adj-RIB-Out", "RFC 8671 §6.2";
        /// Routes to be sent, behind the policy.
        AdjRibOutPost = 15, "routes in post-policy Adj-RIB-Out", "RFC 8671 §6.2";
        /// Routes of a family to be sent, before the policy.
        AdjRibOutPreOfFamily = 16, "routes in per-AFI/SAFI pre-policy Adj-RIB-Out", "RFC 8671 §6.2";
        /// Routes of a family to be sent, behind the policy.
        AdjRibOutPostOfFamily = 17, "routes in per-AFI/SAFI post-policy Adj-RIB-Out",
            "RFC 8671 §6.2";
    }
}

/// How a statistic is written.
enum Shape {
    Counter,
    Gauge,
    GaugeOfFamily,
}

impl StatisticType {
    const fn shape(self) -> Shape {
        match self {
            Self::AdjRibIn | Self::LocRib | Self::AdjRibOutPre | Self::AdjRibOutPost => {
                Shape::Gauge
            }
            Self::AdjRibInOfFamily
            | Self::LocRibOfFamily
            | Self::AdjRibOutPreOfFamily
            | Self::AdjRibOutPostOfFamily => Shape::GaugeOfFamily,
            _ => Shape::Counter,
        }
    }

    /// Whether it is counted by family.
    #[must_use]
    pub const fn is_of_family(self) -> bool {
        matches!(self.shape(), Shape::GaugeOfFamily)
    }
}

/// A statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistic {
    /// What is counted.
    pub kind: StatisticType,
    /// The family, of those that are counted by family.
    pub family: Option<Family>,
    /// The number; counters of 32 bits are written modulo 2^32.
    pub value: u64,
}

impl Statistic {
    /// Appends it as a TLV. One by family without a family is left out: whether it was written.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> bool {
        let mut value = [0; 11];
        let octets = match (self.kind.shape(), self.family) {
            (Shape::Counter, _) => &self.value.to_be_bytes()[4..],
            (Shape::Gauge, _) => &self.value.to_be_bytes()[..],
            (Shape::GaugeOfFamily, Some(family)) => {
                value[..2].copy_from_slice(&family.afi().to_be_bytes());
                value[2] = family.safi();
                value[3..].copy_from_slice(&self.value.to_be_bytes());
                &value[..]
            }
            (Shape::GaugeOfFamily, None) => return false,
        };
        crate::information::put(self.kind.number(), octets, out);
        true
    }
}

/// The statistics of a report, checked. Types and families that are not known are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics<'a> {
    left: u32,
    octets: &'a [u8],
}

impl<'a> Statistics<'a> {
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let left = cursor.be32("the count of statistics is cut off")?;
        let all = Self { left, octets: cursor.rest() };
        for _ in 0..left {
            take(cursor)?;
        }
        match cursor.is_empty() {
            true => Ok(all),
            false => Err(cursor.violation("octets follow the last statistic")),
        }
    }
}

/// A statistic; `None` if it is not known.
fn take(cursor: &mut Cursor<'_>) -> Result<Option<Statistic>, Malformed> {
    let number = cursor.be16("the type of a statistic is cut off")?;
    let length = cursor.be16("the length of a statistic is cut off")?;
    let at = *cursor;
    let value = cursor.take(usize::from(length), "a statistic is cut off")?;
    let Some(kind) = StatisticType::of(number) else { return Ok(None) };
    let mut value = Cursor::new(value, at.at(), SPEC);
    let what = "the statistic does not have its length";
    let (family, value) = match (kind.shape(), length) {
        (Shape::Counter, 4) => (None, value.be32(what)?.into()),
        (Shape::Gauge, 8) => (None, value.be64(what)?),
        (Shape::GaugeOfFamily, 11) => {
            let family = Family::of(value.be16(what)?, value.octet(what)?);
            if family.is_none() {
                return Ok(None);
            }
            (family, value.be64(what)?)
        }
        _ => return Err(at.violation(what)),
    };
    Ok(Some(Statistic { kind, family, value }))
}

impl Iterator for Statistics<'_> {
    type Item = Statistic;

    fn next(&mut self) -> Option<Statistic> {
        let mut cursor = Cursor::new(self.octets, 0, SPEC);
        while let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            let statistic = take(&mut cursor).ok()?;
            self.octets = cursor.rest();
            if statistic.is_some() {
                return statistic;
            }
        }
        None
    }
}
