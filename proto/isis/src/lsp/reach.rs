//! Neighbours and prefixes of a fragment.
//!
//! ```text
//! narrow neighbour = metrics, 4 · node, 7                                  ISO 10589 §9.8
//! wide neighbour   = node, 7 · metric, 3 · octets of sub-TLVs, 1 · sub-TLVs   RFC 5305 §3
//! narrow prefix    = metrics, 4 · address, 4 · mask, 4                     RFC 1195 §5.3.3
//! wide prefix      = metric, 4 · U S length, 1 · prefix · [sub-TLVs]          RFC 5305 §4
//! prefix of IPv6   = metric, 4 · U X S, 1 · length, 1 · prefix · [sub-TLVs]   RFC 5308 §2
//! ```

use super::segment::{AdjacencySid, PrefixSid};
use crate::address::NodeId;
use crate::pdu::{Tlv, TlvKind, Tlvs, write_tlv};
use crate::settings::Prefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Cursor, Malformed};

wire::rows! {
    /// Sub-TLVs of neighbours.
    enum NeighbourSubTlv: u8 {
        /// Both numbers of the link.
        LinkIds = 4, "Link Local/Remote Identifiers", "RFC 5307 §1.1";
        /// The own address on the link.
        Address = 6, "IPv4 Interface Address", "RFC 5305 §3.2";
        /// An adjacency SID.
        AdjacencySid = 31, "Adjacency SID", "RFC 8667 §2.2.1";
        /// An adjacency SID of a LAN.
        LanAdjacencySid = 32, "LAN Adjacency SID", "RFC 8667 §2.2.2";
    }
}

wire::rows! {
    /// Sub-TLVs of prefixes.
    enum PrefixSubTlv: u8 {
        /// A tag.
        Tag = 1, "32-bit Administrative Tag", "RFC 5130 §3.1";
        /// A prefix SID.
        PrefixSid = 3, "Prefix SID", "RFC 8667 §2.1";
    }
}

/// The highest metric of a narrow neighbour or prefix.
const NARROW_MAX: u32 = 63;
/// The metric of a wide link that no path may take (RFC 5305 §3).
pub(crate) const LINK_UNUSABLE: u32 = 0x00FF_FFFF;
/// Prefixes of a higher metric are not reached (RFC 5305 §4).
pub(crate) const PATH_METRIC_MAX: u32 = 0xFE00_0000;

/// A neighbour of a system, or a system on a LAN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Neighbour {
    /// Who.
    pub node: NodeId,
    /// What it costs to send there.
    pub metric: u32,
    /// Whether it is said with wide metrics.
    pub is_wide: bool,
    /// The system's number of the link and the neighbour's.
    pub link: Option<[u32; 2]>,
    /// The system's address on the link.
    pub address: Option<Ipv4Addr>,
    /// Adjacency SIDs.
    pub sids: Vec<AdjacencySid>,
}

impl Neighbour {
    pub(super) fn read_all(tlv: &Tlv<'_>, found: &mut Vec<Self>) -> Result<(), Malformed> {
        let is_wide = tlv.kind() == Some(TlvKind::ExtendedIsReachability);
        let mut cursor = tlv.cursor(if is_wide { "RFC 5305 §3" } else { "ISO 10589 §9.8" });
        let what = "a neighbour is cut off";
        if !is_wide {
            cursor.octet(what)?;
        }
        while !cursor.is_empty() {
            if is_wide {
                found.push(Self::read_wide(&mut cursor)?);
                continue;
            }
            let [metric, ..] = cursor.array::<4>(what)?;
            let node = NodeId::from_octets(cursor.array(what)?);
            let metric = u32::from(metric) & NARROW_MAX;
            found.push(Self { node, metric, ..Self::default() });
        }
        Ok(())
    }

    fn read_wide(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let what = "a neighbour is cut off";
        let node = NodeId::from_octets(cursor.array(what)?);
        let [a, b, c] = cursor.array(what)?;
        let metric = u32::from_be_bytes([0, a, b, c]);
        let length = usize::from(cursor.octet(what)?);
        let at = cursor.at();
        let text = cursor.take(length, what)?;
        let mut read = Self { node, metric, is_wide: true, ..Self::default() };
        for sub in Tlvs::new(text, at) {
            let sub = sub?;
            let mut cursor = sub.cursor("RFC 5305 §3");
            match NeighbourSubTlv::of(sub.number) {
                Some(NeighbourSubTlv::LinkIds) => {
                    read.link = Some([cursor.be32(what)?, cursor.be32(what)?]);
                }
                Some(NeighbourSubTlv::Address) => read.address = Some(cursor.be32(what)?.into()),
                Some(NeighbourSubTlv::AdjacencySid) => {
                    read.sids.push(AdjacencySid::read(&mut cursor, false)?);
                }
                Some(NeighbourSubTlv::LanAdjacencySid) => {
                    read.sids.push(AdjacencySid::read(&mut cursor, true)?);
                }
                None => {}
            }
        }
        Ok(read)
    }

    pub(super) fn narrow(&self) -> Vec<u8> {
        let metric = machine::narrow::at_most(self.metric.min(NARROW_MAX).into(), 63u8);
        // The other three kinds of metrics are not there.
        [&[metric, 0x80, 0x80, 0x80][..], &self.node.octets()].concat()
    }

    pub(super) fn wide(&self) -> Vec<u8> {
        let mut subs = Vec::new();
        if let Some(link) = self.link {
            let value = [link[0].to_be_bytes(), link[1].to_be_bytes()].concat();
            write_tlv(&mut subs, NeighbourSubTlv::LinkIds.number(), &value);
        }
        if let Some(address) = self.address {
            write_tlv(&mut subs, NeighbourSubTlv::Address.number(), &address.octets());
        }
        for sid in &self.sids {
            let kind = match sid.neighbour {
                None => NeighbourSubTlv::AdjacencySid,
                Some(_) => NeighbourSubTlv::LanAdjacencySid,
            };
            let value = sid.octets();
            // A piece stands in one TLV with its head of eleven octets.
            if subs.len() + 2 + value.len() <= 240 {
                write_tlv(&mut subs, kind.number(), &value);
            }
        }
        let metric = self.metric.min(LINK_UNUSABLE).to_be_bytes();
        let mut out = self.node.octets().to_vec();
        out.extend_from_slice(&metric[1..]);
        out.push(machine::narrow::at_most(subs.len() as u64, 240u8));
        out.extend_from_slice(&subs);
        out
    }
}

/// A prefix that a system reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Which.
    pub prefix: Prefix,
    /// What it costs from there.
    pub metric: u32,
    /// Whether it is said with wide metrics; those of IPv6 always are.
    pub is_wide: bool,
    /// It comes from level 2 (RFC 5302 §3.1).
    pub is_down: bool,
    /// It lies outside.
    pub is_external: bool,
    /// The metric is larger than any way inside (RFC 1195 §3.2).
    pub has_external_metric: bool,
    /// A tag for others.
    pub tag: Option<u32>,
    /// Its prefix SID of algorithm 0.
    pub sid: Option<PrefixSid>,
}

impl Reach {
    /// Inside, with a wide metric and nothing besides.
    #[must_use]
    pub const fn new(prefix: Prefix, metric: u32) -> Self {
        Self {
            prefix,
            metric,
            is_wide: true,
            is_down: false,
            is_external: false,
            has_external_metric: false,
            tag: None,
            sid: None,
        }
    }

    pub(super) fn read_all(tlv: &Tlv<'_>, found: &mut Vec<Self>) -> Result<(), Malformed> {
        let (kind, spec) = match tlv.kind() {
            Some(kind) => (kind, kind.spec()),
            None => return Ok(()),
        };
        let mut cursor = tlv.cursor(spec);
        while !cursor.is_empty() {
            let reach = match kind {
                TlvKind::ExtendedIp => Self::read_wide(&mut cursor)?,
                TlvKind::Ipv6 => Self::read_ipv6(&mut cursor)?,
                _ => Self::read_narrow(&mut cursor, kind == TlvKind::IpExternal)?,
            };
            found.push(reach);
        }
        Ok(())
    }

    fn read_narrow(cursor: &mut Cursor<'_>, is_external: bool) -> Result<Self, Malformed> {
        let what = "a prefix is cut off";
        let [metric, ..] = cursor.array::<4>(what)?;
        let address: Ipv4Addr = cursor.be32(what)?.into();
        let violation = cursor.violation("a mask with a hole");
        let mask = cursor.be32(what)?;
        if mask != 0 && mask.leading_ones() + mask.trailing_zeros() != 32 {
            return Err(violation);
        }
        let length = machine::narrow::at_most(mask.leading_ones().into(), 32);
        Ok(Self {
            is_wide: false,
            is_down: metric & 0x80 != 0,
            is_external,
            has_external_metric: is_external && metric & 0x40 != 0,
            ..Self::new(Prefix::new(address.into(), length), u32::from(metric) & NARROW_MAX)
        })
    }

    fn read_wide(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let what = "a prefix is cut off";
        let metric = cursor.be32(what)?;
        let violation = cursor.violation("a prefix of IPv4 is longer than 32 bits");
        let control = cursor.octet(what)?;
        let length = control & 0x3F;
        if length > 32 {
            return Err(violation);
        }
        let octets: [u8; 4] = read_prefix(cursor, length)?;
        let mut read = Self {
            is_down: control & 0x80 != 0,
            ..Self::new(Prefix::new(Ipv4Addr::from(octets).into(), length), metric)
        };
        if control & 0x40 != 0 {
            read.read_subs(cursor)?;
        }
        Ok(read)
    }

    fn read_ipv6(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let what = "a prefix is cut off";
        let metric = cursor.be32(what)?;
        let control = cursor.octet(what)?;
        let violation = cursor.violation("a prefix of IPv6 is longer than 128 bits");
        let length = cursor.octet(what)?;
        if length > 128 {
            return Err(violation);
        }
        let octets: [u8; 16] = read_prefix(cursor, length)?;
        let mut read = Self {
            is_down: control & 0x80 != 0,
            is_external: control & 0x40 != 0,
            ..Self::new(Prefix::new(Ipv6Addr::from(octets).into(), length), metric)
        };
        if control & 0x20 != 0 {
            read.read_subs(cursor)?;
        }
        Ok(read)
    }

    fn read_subs(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        let what = "what a prefix has besides is cut off";
        let length = usize::from(cursor.octet(what)?);
        let at = cursor.at();
        for sub in Tlvs::new(cursor.take(length, what)?, at) {
            let sub = sub?;
            let mut cursor = sub.cursor("RFC 8667 §2.1");
            match PrefixSubTlv::of(sub.number) {
                Some(PrefixSubTlv::Tag) => self.tag = Some(cursor.be32(what)?),
                Some(PrefixSubTlv::PrefixSid) => {
                    let sid = PrefixSid::read(&mut cursor)?;
                    // Other algorithms have other paths.
                    self.sid = self.sid.or(sid);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// What fits into a narrow prefix; none where the metric does not.
    pub(super) fn narrow(&self) -> Option<Vec<u8>> {
        let IpAddr::V4(address) = self.prefix.address else { return None };
        let metric = u8::try_from(self.metric.min(NARROW_MAX)).ok()?;
        let bits = u8::from(self.is_down) << 7 | u8::from(self.has_external_metric) << 6;
        let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix.length)).unwrap_or(0);
        let mut out = vec![bits | metric, 0x80, 0x80, 0x80];
        out.extend_from_slice(&address.octets());
        out.extend_from_slice(&mask.to_be_bytes());
        Some(out)
    }

    pub(super) fn wide(&self) -> Vec<u8> {
        let mut subs = Vec::new();
        if let Some(tag) = self.tag {
            write_tlv(&mut subs, PrefixSubTlv::Tag.number(), &tag.to_be_bytes());
        }
        if let Some(sid) = self.sid {
            write_tlv(&mut subs, PrefixSubTlv::PrefixSid.number(), &sid.octets());
        }
        let length = self.prefix.length;
        let down = u8::from(self.is_down) << 7;
        let has_subs = u8::from(!subs.is_empty());
        let mut out = self.metric.to_be_bytes().to_vec();
        let taken = usize::from(length).div_ceil(8);
        match self.prefix.address {
            IpAddr::V4(it) => {
                out.push(down | has_subs << 6 | length.min(32));
                out.extend_from_slice(&it.octets()[..taken.min(4)]);
            }
            IpAddr::V6(it) => {
                out.extend_from_slice(&[
                    down | u8::from(self.is_external) << 6 | has_subs << 5,
                    length.min(128),
                ]);
                out.extend_from_slice(&it.octets()[..taken.min(16)]);
            }
        }
        if !subs.is_empty() {
            out.push(machine::narrow::at_most(subs.len() as u64, u8::MAX));
            out.extend_from_slice(&subs);
        }
        out
    }
}

fn read_prefix<const N: usize>(cursor: &mut Cursor<'_>, length: u8) -> Result<[u8; N], Malformed> {
    let said = cursor.take(usize::from(length).div_ceil(8), "a prefix is cut off")?;
    let mut octets = [0; N];
    let place = octets.get_mut(..said.len()).ok_or(cursor.violation("a prefix is too long"))?;
    place.copy_from_slice(said);
    Ok(octets)
}
