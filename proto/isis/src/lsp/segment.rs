//! What segment routing says (RFC 8667).

use crate::address::SystemId;
use crate::pdu::{Tlv, Tlvs, write_tlv};
use std::net::Ipv4Addr;
use wire::{Cursor, Malformed};

wire::rows! {
    /// Sub-TLVs of a router's capabilities.
    enum CapabilitySubTlv: u8 {
        /// Global labels.
        SrCapabilities = 2, "SR-Capabilities", "RFC 8667 §3.1";
        /// Algorithms.
        SrAlgorithm = 19, "SR-Algorithm", "RFC 8667 §3.2";
        /// Local labels.
        LocalBlock = 22, "SR Local Block", "RFC 8667 §3.3";
    }
}

/// The sub-TLV of a label or an index (RFC 8667 §2.3).
const SID_LABEL: u8 = 1;
/// Octets of a capability's head.
const HEAD_OCTETS: usize = 5;
/// Ranges that are believed of a router.
const RANGES_MAX: usize = 8;

/// R: it was said by another router first.
pub const SID_READVERTISED: u8 = 0x80;
/// N: the prefix is that router.
pub const SID_NODE: u8 = 0x40;
/// P: the last but one leaves the label.
pub const SID_NO_PHP: u8 = 0x20;
/// E: the last but one puts explicit null in its place.
pub const SID_EXPLICIT_NULL: u8 = 0x10;
const SID_VALUE: u8 = 0x08;
const SID_LOCAL: u8 = 0x04;
const ADJACENCY_VALUE: u8 = 0x20;
const ADJACENCY_LOCAL: u8 = 0x10;

/// Labels from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelRange {
    /// The first label.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl LabelRange {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let what = "a range of labels is cut off";
        let [a, b, c] = cursor.array(what)?;
        let violation = cursor.violation("a range without its first label");
        let [number, length] = cursor.array(what)?;
        let value = cursor.take(usize::from(length), what)?;
        let first = match (number, value) {
            (SID_LABEL, &[a, b, c]) => u32::from_be_bytes([0, a, b, c]) & 0x000F_FFFF,
            (SID_LABEL, &[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
            _ => return Err(violation),
        };
        Ok(Self { first, count: u32::from_be_bytes([0, a, b, c]) })
    }

    fn octets(&self) -> Vec<u8> {
        let count = self.count.min(0x00FF_FFFF).to_be_bytes();
        let first = self.first.min(0x000F_FFFF).to_be_bytes();
        [&count[1..], &[SID_LABEL, 3], &first[1..]].concat()
    }
}

/// What a router can do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentRouting {
    /// It forwards IPv4 by labels.
    pub is_ipv4: bool,
    /// It forwards IPv6 by labels.
    pub is_ipv6: bool,
    /// Global labels (SRGB), in the order of indices.
    pub global: Vec<LabelRange>,
    /// Local labels (SRLB).
    pub local: Vec<LabelRange>,
    /// Algorithms.
    pub algorithms: Vec<u8>,
}

impl SegmentRouting {
    /// Reads what a capability says; `None` where it says nothing of it.
    pub(super) fn read(tlv: &Tlv<'_>) -> Result<Option<Self>, Malformed> {
        let mut cursor = tlv.cursor("RFC 7981 §2");
        cursor.array::<HEAD_OCTETS>("a capability is cut off")?;
        let mut found = Self::default();
        for sub in Tlvs::new(cursor.rest(), cursor.at()) {
            let sub = sub?;
            let mut cursor = sub.cursor("RFC 8667 §3.1");
            match CapabilitySubTlv::of(sub.number) {
                Some(CapabilitySubTlv::SrCapabilities) => {
                    let flags = cursor.octet("what can be done is cut off")?;
                    (found.is_ipv4, found.is_ipv6) = (flags & 0x80 != 0, flags & 0x40 != 0);
                    read_ranges(&mut cursor, &mut found.global)?;
                }
                Some(CapabilitySubTlv::LocalBlock) => {
                    cursor.octet("a local block is cut off")?;
                    read_ranges(&mut cursor, &mut found.local)?;
                }
                Some(CapabilitySubTlv::SrAlgorithm) => {
                    found.algorithms.extend_from_slice(sub.value);
                }
                None => {}
            }
        }
        Ok((!found.global.is_empty()).then_some(found))
    }

    /// The value of the capability's TLV.
    pub(super) fn capability(&self, router: Ipv4Addr) -> Vec<u8> {
        let mut out = router.octets().to_vec();
        out.push(0);
        let ranges = |ranges: &[LabelRange]| {
            ranges.iter().take(RANGES_MAX).flat_map(LabelRange::octets).collect::<Vec<u8>>()
        };
        let flags = u8::from(self.is_ipv4) << 7 | u8::from(self.is_ipv6) << 6;
        let value = [&[flags][..], &ranges(&self.global)].concat();
        write_tlv(&mut out, CapabilitySubTlv::SrCapabilities.number(), &value);
        let algorithms = &self.algorithms[..self.algorithms.len().min(16)];
        write_tlv(&mut out, CapabilitySubTlv::SrAlgorithm.number(), algorithms);
        if !self.local.is_empty() {
            let value = [&[0][..], &ranges(&self.local)].concat();
            write_tlv(&mut out, CapabilitySubTlv::LocalBlock.number(), &value);
        }
        out
    }

    /// The label that it has for an index (RFC 8667 §3.1).
    #[must_use]
    pub fn label(&self, index: u32) -> Option<u32> {
        let mut rest = index;
        for range in &self.global {
            if rest < range.count {
                return range.first.checked_add(rest).filter(|label| *label <= 0x000F_FFFF);
            }
            rest -= range.count;
        }
        None
    }
}

fn read_ranges(cursor: &mut Cursor<'_>, ranges: &mut Vec<LabelRange>) -> Result<(), Malformed> {
    while !cursor.is_empty() {
        let range = LabelRange::read(cursor)?;
        if ranges.len() < RANGES_MAX {
            ranges.push(range);
        }
    }
    Ok(())
}

/// A prefix SID of algorithm 0 (RFC 8667 §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixSid {
    /// R, N, P and E.
    pub flags: u8,
    /// Its index into everybody's global labels.
    pub index: u32,
}

impl PrefixSid {
    /// Reads one; `None` where it is of another algorithm, or a label.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Option<Self>, Malformed> {
        let what = "a prefix SID is cut off";
        let [flags, algorithm] = cursor.array(what)?;
        if flags & (SID_VALUE | SID_LOCAL) != 0 {
            cursor.array::<3>(what)?;
            return Ok(None);
        }
        let index = cursor.be32(what)?;
        Ok((algorithm == 0).then_some(Self { flags: flags & 0xF0, index }))
    }

    pub(super) fn octets(&self) -> [u8; 6] {
        let index = self.index.to_be_bytes();
        [self.flags & 0xF0, 0, index[0], index[1], index[2], index[3]]
    }
}

/// An adjacency SID (RFC 8667 §2.2): a local label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdjacencySid {
    /// F, B, S and P.
    pub flags: u8,
    /// Its weight among equal ones.
    pub weight: u8,
    /// Whose adjacency, on a LAN.
    pub neighbour: Option<SystemId>,
    /// The label, or an index.
    pub sid: u32,
    /// Whether it is a label.
    pub is_label: bool,
}

impl AdjacencySid {
    pub(super) fn read(cursor: &mut Cursor<'_>, is_lan: bool) -> Result<Self, Malformed> {
        let what = "an adjacency SID is cut off";
        let [flags, weight] = cursor.array(what)?;
        let neighbour = if is_lan { Some(SystemId(cursor.array(what)?)) } else { None };
        let is_label = flags & (ADJACENCY_VALUE | ADJACENCY_LOCAL) != 0;
        let sid = if is_label {
            let [a, b, c] = cursor.array(what)?;
            u32::from_be_bytes([0, a, b, c]) & 0x000F_FFFF
        } else {
            cursor.be32(what)?
        };
        let flags = flags & !(ADJACENCY_VALUE | ADJACENCY_LOCAL);
        Ok(Self { flags, weight, neighbour, sid, is_label })
    }

    pub(super) fn octets(&self) -> Vec<u8> {
        let label = if self.is_label { ADJACENCY_VALUE | ADJACENCY_LOCAL } else { 0 };
        let flags = self.flags & !(ADJACENCY_VALUE | ADJACENCY_LOCAL) | label;
        let mut out = vec![flags, self.weight];
        self.neighbour.iter().for_each(|it| out.extend_from_slice(&it.0));
        let sid = self.sid.to_be_bytes();
        out.extend_from_slice(&sid[usize::from(self.is_label)..]);
        out
    }
}
