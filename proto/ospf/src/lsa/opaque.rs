//! Opaque LSAs: grace (RFC 3623), router information (RFC 7770), extended prefixes and links
//! (RFC 7684), and what segment routing says in them (RFC 8665).

use super::tlv::{Tlvs, write_tlv};
use std::net::Ipv4Addr;
use wire::{Cursor, Malformed};

wire::rows! {
    /// Types of opaque LSAs: the first octet of the link state ID.
    pub enum OpaqueType: u8 {
        /// A router asks its neighbours for patience.
        Grace = 3, "Grace", "RFC 3623 §A";
        /// What a router can do.
        RouterInformation = 4, "Router Information", "RFC 7770 §2.2";
        /// Attributes of prefixes.
        ExtendedPrefix = 7, "Extended Prefix", "RFC 7684 §2";
        /// Attributes of links.
        ExtendedLink = 8, "Extended Link", "RFC 7684 §3";
    }
}

wire::rows! {
    /// TLVs of these LSAs, and the LSA that each stands in.
    pub enum TlvType: u16, pub lsa: OpaqueType {
        /// Seconds of patience.
        GracePeriod = 1, "Grace Period", OpaqueType::Grace, "RFC 3623 §A";
        /// Why.
        GraceReason = 2, "Graceful Restart Reason", OpaqueType::Grace, "RFC 3623 §A";
        /// The address on the link.
        GraceAddress = 3, "IP Interface Address", OpaqueType::Grace, "RFC 3623 §A";
        /// Algorithms of segment routing.
        SrAlgorithm = 8, "SR-Algorithm", OpaqueType::RouterInformation, "RFC 8665 §3.1";
        /// A range of global labels.
        SidRange = 9, "SID/Label Range", OpaqueType::RouterInformation, "RFC 8665 §3.2";
        /// A range of local labels.
        LocalBlock = 14, "SR Local Block", OpaqueType::RouterInformation, "RFC 8665 §3.3";
    }
}

const EXTENDED: u16 = 1;
const SID_LABEL: u16 = 1;
const PREFIX_SID: u16 = 2;
const ADJACENCY_SID: u16 = 2;
const LAN_ADJACENCY_SID: u16 = 3;
const SPEC: &str = "RFC 8665";

/// The link state ID of an opaque LSA.
#[must_use]
pub const fn opaque_id(kind: OpaqueType, number: u32) -> u32 {
    (kind.number() as u32) << 24 | number & 0x00FF_FFFF
}

/// A grace LSA's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace {
    /// Seconds that the neighbours shall wait from its origin.
    pub period_s: u32,
    /// 0 unknown, 1 software restart, 2 reload, 3 switch to another processor.
    pub reason: u8,
    /// Who restarts, on networks.
    pub address: Option<Ipv4Addr>,
}

impl Grace {
    /// Reads the body.
    ///
    /// # Errors
    /// When a TLV is cut off or the period lacks.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let (mut period, mut reason, mut address) = (None, 0, None);
        for tlv in Tlvs::new(body, super::HEADER_OCTETS) {
            let tlv = tlv?;
            match (tlv.number, tlv.value) {
                (1, &[a, b, c, d]) => period = Some(u32::from_be_bytes([a, b, c, d])),
                (2, &[it]) => reason = it,
                (3, &[a, b, c, d]) => address = Some(Ipv4Addr::new(a, b, c, d)),
                _ => {}
            }
        }
        let lacks = Malformed::new(super::HEADER_OCTETS, "the grace period lacks", "RFC 3623 §A");
        Ok(Self { period_s: period.ok_or(lacks)?, reason, address })
    }

    /// The body's octets.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_tlv(&mut out, 1, |it| it.extend_from_slice(&self.period_s.to_be_bytes()));
        write_tlv(&mut out, 2, |it| it.push(self.reason));
        if let Some(address) = self.address {
            write_tlv(&mut out, 3, |it| it.extend_from_slice(&address.octets()));
        }
        out
    }
}

/// Labels from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first label.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Range {
    fn read(value: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(value, 0, "RFC 8665 §3.2");
        let count = cursor.be32("a range is cut off")? >> 8;
        for tlv in Tlvs::new(cursor.rest(), 4) {
            let tlv = tlv?;
            if tlv.number == SID_LABEL {
                return Ok(Self { first: sid(tlv.value)?, count });
            }
        }
        Err(cursor.violation("a range without its first label"))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.count << 8).to_be_bytes());
        write_tlv(out, SID_LABEL, |it| write_label(it, self.first));
    }
}

/// A label of three octets, or an index of four.
fn sid(value: &[u8]) -> Result<u32, Malformed> {
    match *value {
        [a, b, c] => Ok(u32::from_be_bytes([0, a, b, c]) & 0x000F_FFFF),
        [a, b, c, d] => Ok(u32::from_be_bytes([a, b, c, d])),
        _ => Err(Malformed::new(0, "a SID of neither three nor four octets", "RFC 8665 §2.1")),
    }
}

fn write_label(out: &mut Vec<u8>, label: u32) {
    out.extend_from_slice(&label.to_be_bytes()[1..]);
}

/// What segment routing says of a router (RFC 8665 §3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentRouting {
    /// Algorithms; 0 is the shortest path.
    pub algorithms: Vec<u8>,
    /// Global labels (SRGB), in order.
    pub global: Vec<Range>,
    /// Local labels (SRLB).
    pub local: Vec<Range>,
}

/// A router information LSA's body, as far as it is used here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouterInformation {
    /// Segment routing.
    pub segment_routing: SegmentRouting,
}

impl RouterInformation {
    /// Reads the body; TLVs that are not known are passed over.
    ///
    /// # Errors
    /// When a TLV is cut off.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut found = SegmentRouting::default();
        for tlv in Tlvs::new(body, super::HEADER_OCTETS) {
            let tlv = tlv?;
            match TlvType::of(tlv.number) {
                Some(TlvType::SrAlgorithm) => found.algorithms = tlv.value.to_vec(),
                Some(TlvType::SidRange) => found.global.push(Range::read(tlv.value)?),
                Some(TlvType::LocalBlock) => found.local.push(Range::read(tlv.value)?),
                _ => {}
            }
        }
        Ok(Self { segment_routing: found })
    }

    /// The body's octets.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let routing = &self.segment_routing;
        if !routing.algorithms.is_empty() {
            let number = TlvType::SrAlgorithm.number();
            write_tlv(&mut out, number, |it| it.extend_from_slice(&routing.algorithms));
        }
        for range in &routing.global {
            write_tlv(&mut out, TlvType::SidRange.number(), |it| range.write(it));
        }
        for range in &routing.local {
            write_tlv(&mut out, TlvType::LocalBlock.number(), |it| range.write(it));
        }
        out
    }
}

/// How a prefix was reached by who says it (RFC 7684 §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flood {
    /// Whatever way.
    Unspecified,
    /// Within the area.
    IntraArea,
    /// From another area.
    InterArea,
    /// From outside.
    External,
    /// From outside, by an NSSA.
    Nssa,
}

const FLOODS: [(Flood, u8); 5] = [
    (Flood::Unspecified, 0),
    (Flood::IntraArea, 1),
    (Flood::InterArea, 3),
    (Flood::External, 5),
    (Flood::Nssa, 7),
];

/// A prefix SID (RFC 8665 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixSid {
    /// NP 0x40, M 0x20, E 0x10, V 0x08, L 0x04.
    pub flags: u8,
    /// The algorithm.
    pub algorithm: u8,
    /// Index into the SRGB, or a label where V and L are set.
    pub sid: u32,
}

/// Attributes of a prefix, with its SIDs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendedPrefix {
    /// How it is reached.
    pub route: Flood,
    /// A 0x80 (attach), N 0x40 (node).
    pub flags: u8,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its length.
    pub length: u8,
    /// SIDs.
    pub sids: Vec<PrefixSid>,
}

impl ExtendedPrefix {
    /// Reads the prefixes of an LSA's body.
    ///
    /// # Errors
    /// When a TLV is cut off or a prefix is too long.
    pub fn read(body: &[u8]) -> Result<Vec<Self>, Malformed> {
        let tlvs = Tlvs::new(body, super::HEADER_OCTETS);
        let mut found = Vec::new();
        for tlv in tlvs {
            let tlv = tlv?;
            if tlv.number == EXTENDED {
                found.push(Self::read_one(tlv.value)?);
            }
        }
        Ok(found)
    }

    fn read_one(value: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(value, 0, "RFC 7684 §2.1");
        let what = "an extended prefix is cut off";
        let [route, length, _family, flags] = cursor.array(what)?;
        let address: [u8; 4] = cursor.array(what)?;
        if length > 32 {
            return Err(cursor.violation("a prefix of more than 32 bits"));
        }
        let route = FLOODS.iter().find(|it| it.1 == route).map_or(Flood::Unspecified, |it| it.0);
        let mut sids = Vec::new();
        for tlv in Tlvs::new(cursor.rest(), 8) {
            let tlv = tlv?;
            if let (PREFIX_SID, [flags, _, _topology, algorithm, rest @ ..]) =
                (tlv.number, tlv.value)
            {
                sids.push(PrefixSid { flags: *flags, algorithm: *algorithm, sid: sid(rest)? });
            }
        }
        Ok(Self { route, flags, address: address.into(), length, sids })
    }

    /// Appends it to an LSA's body.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_tlv(out, EXTENDED, |it| {
            let route = FLOODS.iter().find(|row| row.0 == self.route).map_or(0, |row| row.1);
            it.extend_from_slice(&[route, self.length, 0, self.flags]);
            it.extend_from_slice(&self.address.octets());
            for sid in &self.sids {
                write_tlv(it, PREFIX_SID, |it| {
                    it.extend_from_slice(&[sid.flags, 0, 0, sid.algorithm]);
                    write_sid(it, sid.flags, [0x08, 0x04], sid.sid);
                });
            }
        });
    }
}

/// A label where both bits are set, an index otherwise.
fn write_sid(out: &mut Vec<u8>, flags: u8, bits: [u8; 2], sid: u32) {
    if bits.iter().all(|bit| flags & bit != 0) {
        write_label(out, sid);
    } else {
        out.extend_from_slice(&sid.to_be_bytes());
    }
}

/// A SID of an adjacency (RFC 8665 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSid {
    /// B 0x80 (protected), V 0x40, L 0x20, G 0x10, P 0x08.
    pub flags: u8,
    /// Share of traffic.
    pub weight: u8,
    /// The neighbour, where the link is a network.
    pub neighbour: Option<u32>,
    /// A label where V and L are set, or an index.
    pub sid: u32,
}

/// Attributes of a link, with its SIDs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendedLink {
    /// The kind of the link, as in a router LSA.
    pub kind: u8,
    /// What it leads to, as in a router LSA.
    pub id: u32,
    /// The router's address on it, as in a router LSA.
    pub data: u32,
    /// SIDs.
    pub sids: Vec<LinkSid>,
}

impl ExtendedLink {
    /// Reads the link of an LSA's body.
    ///
    /// # Errors
    /// When a TLV is cut off, or there is no link in it.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        for tlv in Tlvs::new(body, super::HEADER_OCTETS) {
            let tlv = tlv?;
            if tlv.number == EXTENDED {
                return Self::read_one(tlv.value);
            }
        }
        Err(Malformed::new(super::HEADER_OCTETS, "there is no link in it", "RFC 7684 §3.1"))
    }

    fn read_one(value: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(value, 0, "RFC 7684 §3.1");
        let what = "an extended link is cut off";
        let [kind, ..] = cursor.array::<4>(what)?;
        let (id, data) = (cursor.be32(what)?, cursor.be32(what)?);
        let mut sids = Vec::new();
        for tlv in Tlvs::new(cursor.rest(), 12) {
            let tlv = tlv?;
            let is_lan = tlv.number == LAN_ADJACENCY_SID;
            if !is_lan && tlv.number != ADJACENCY_SID {
                continue;
            }
            let mut cursor = Cursor::new(tlv.value, 0, SPEC);
            let [flags, _, _topology, weight] = cursor.array("an adjacency SID is cut off")?;
            let neighbour = is_lan.then(|| cursor.be32("a neighbour is cut off")).transpose()?;
            sids.push(LinkSid { flags, weight, neighbour, sid: sid(cursor.rest())? });
        }
        Ok(Self { kind, id, data, sids })
    }

    /// The body's octets.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_tlv(&mut out, EXTENDED, |it| {
            it.extend_from_slice(&[self.kind, 0, 0, 0]);
            it.extend_from_slice(&self.id.to_be_bytes());
            it.extend_from_slice(&self.data.to_be_bytes());
            for sid in &self.sids {
                let number = sid.neighbour.map_or(ADJACENCY_SID, |_| LAN_ADJACENCY_SID);
                write_tlv(it, number, |it| {
                    it.extend_from_slice(&[sid.flags, 0, 0, sid.weight]);
                    sid.neighbour
                        .into_iter()
                        .for_each(|id| it.extend_from_slice(&id.to_be_bytes()));
                    write_sid(it, sid.flags, [0x40, 0x20], sid.sid);
                });
            }
        });
        out
    }
}
