//! PDUs (ISO 10589 §9): what follows the octets FE FE 03 of IEEE 802.2.
//!
//! ```text
//! 83 · octets of the header · 1 · 0 · type · 1 · 0 · 0 · fields of the type · TLVs
//! ```

mod authentication;
mod checksum;
mod hello;
mod tlv;

pub use authentication::{Algorithm, Authentication, AuthenticationKey, Means};
pub use hello::{HelloTlvs, Restart, ThreeWay, ThreeWayState, write_hello};
pub(crate) use hello::{area_piece, read_areas};
pub use tlv::{Tlv, TlvKind, Tlvs, VALUE_MAX, write_pieces, write_tlv};

use crate::address::{Level, Levels, LspId, NodeId, SystemId};
use core::cmp::Ordering;
use wire::{Cursor, Malformed};

/// The first octet: routing among systems of the network layer.
const DISCRIMINATOR: u8 = 0x83;
/// Octets that all headers have.
const COMMON_OCTETS: usize = 8;
/// Octets of an LSP's header.
pub const LSP_HEADER_OCTETS: usize = 27;
const SPEC: &str = "ISO 10589 §9";

wire::rows! {
    /// Types of PDUs, and the octets of their headers.
    pub enum PduKind: u8, pub octets: u8 {
        /// A hello of level 1 on a LAN.
        Hello1 = 15, "Level 1 LAN IS to IS Hello", 27, "ISO 10589 §9.5";
        /// A hello of level 2 on a LAN.
        Hello2 = 16, "Level 2 LAN IS to IS Hello", 27, "ISO 10589 §9.6";
        /// A hello on a link of two.
        PointToPointHello = 17, "Point-to-Point IS to IS Hello", 20, "ISO 10589 §9.7";
        /// A fragment of level 1.
        Lsp1 = 18, "Level 1 Link State PDU", 27, "ISO 10589 §9.8";
        /// A fragment of level 2.
        Lsp2 = 20, "Level 2 Link State PDU", 27, "ISO 10589 §9.9";
        /// All that a database of level 1 has, in a range.
        Csnp1 = 24, "Level 1 Complete Sequence Numbers PDU", 33, "ISO 10589 §9.10";
        /// The same of level 2.
        Csnp2 = 25, "Level 2 Complete Sequence Numbers PDU", 33, "ISO 10589 §9.11";
        /// Some of what a database of level 1 has or lacks.
        Psnp1 = 26, "Level 1 Partial Sequence Numbers PDU", 17, "ISO 10589 §9.12";
        /// The same of level 2.
        Psnp2 = 27, "Level 2 Partial Sequence Numbers PDU", 17, "ISO 10589 §9.13";
    }
}

impl PduKind {
    /// Its level; none on links of two.
    #[must_use]
    pub const fn level(self) -> Option<Level> {
        match self {
            Self::Hello1 | Self::Lsp1 | Self::Csnp1 | Self::Psnp1 => Some(Level::One),
            Self::Hello2 | Self::Lsp2 | Self::Csnp2 | Self::Psnp2 => Some(Level::Two),
            Self::PointToPointHello => None,
        }
    }

    /// Whether it is a fragment.
    #[must_use]
    pub const fn is_lsp(self) -> bool {
        matches!(self, Self::Lsp1 | Self::Lsp2)
    }

    const fn lsp(level: Level) -> Self {
        match level {
            Level::One => Self::Lsp1,
            Level::Two => Self::Lsp2,
        }
    }
}

/// Where a hello comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelloKind {
    /// From a LAN.
    Lan {
        /// Priority as designated system.
        priority: u8,
        /// The pseudonode, as the sender has it.
        lan: NodeId,
    },
    /// From a link of two.
    PointToPoint {
        /// The sender's number of the circuit.
        circuit: u8,
    },
}

/// The header of a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Levels of the circuit.
    pub levels: Levels,
    /// Who sent it.
    pub system: SystemId,
    /// Seconds of silence after which it is gone.
    pub hold_s: u16,
    /// Where it comes from.
    pub kind: HelloKind,
}

/// What a sequence numbers PDU says of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Seconds that it has to live; 0: it is purged.
    pub lifetime_s: u16,
    /// Which.
    pub id: LspId,
    /// Which form of it; 0: it is asked for.
    pub sequence: u32,
    /// Its checksum.
    pub checksum: u16,
}

impl Summary {
    /// Whether it is newer than another one of the same fragment, older, or the same (ISO 10589
    /// §7.3.16.4).
    #[must_use]
    pub fn newness(&self, other: &Self) -> Ordering {
        let is_purge = [self.lifetime_s == 0, other.lifetime_s == 0];
        self.sequence.cmp(&other.sequence).then(is_purge[0].cmp(&is_purge[1]))
    }

    /// Whether both claim to be the same and are not (§7.3.16.2).
    #[must_use]
    pub fn is_confused_with(&self, other: &Self) -> bool {
        let are_live = self.lifetime_s != 0 && other.lifetime_s != 0;
        // Its sums are modulo 255: who holds no key may write 0 for 255, and it is the same.
        let sums = |it: &Self| it.checksum.to_be_bytes().map(|octet| octet % 255);
        are_live && self.sequence == other.sequence && sums(self) != sums(other)
    }

    fn octets(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..2].copy_from_slice(&self.lifetime_s.to_be_bytes());
        out[2..10].copy_from_slice(&self.id.octets());
        out[10..14].copy_from_slice(&self.sequence.to_be_bytes());
        out[14..].copy_from_slice(&self.checksum.to_be_bytes());
        out
    }
}

/// Flags of an LSP (ISO 10589 §9.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LspFlags {
    /// ATT: other areas are reached by it.
    pub is_attached: bool,
    /// Nothing shall pass through it.
    pub is_overloaded: bool,
    /// It is a system of level 2 as well.
    pub is_level2: bool,
}

impl LspFlags {
    /// Their octet.
    #[must_use]
    pub const fn octet(self) -> u8 {
        (self.is_attached as u8) << 3
            | (self.is_overloaded as u8) << 2
            | if self.is_level2 { 3 } else { 1 }
    }

    const fn from_octet(octet: u8) -> Self {
        Self {
            is_attached: octet & 0x08 != 0,
            is_overloaded: octet & 0x04 != 0,
            is_level2: octet & 0x02 != 0,
        }
    }
}

/// What a PDU's own fields say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// A hello.
    Hello(Hello),
    /// A fragment, and its flags.
    Lsp(Summary, LspFlags),
    /// All that a database has in a range.
    Csnp {
        /// Who says it.
        source: NodeId,
        /// The first of the range.
        start: LspId,
        /// The last of the range.
        end: LspId,
    },
    /// Some of what a database has or lacks.
    Psnp {
        /// Who says it.
        source: NodeId,
    },
}

/// A PDU.
#[derive(Debug, Clone, Copy)]
pub struct Pdu<'a> {
    /// Its type.
    pub kind: PduKind,
    /// Its own fields.
    pub body: Body,
    /// All of it, without what stands behind it.
    pub octets: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Reads a PDU; its TLVs are not looked at.
    ///
    /// # Errors
    /// What is wrong with its header.
    pub fn read(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(octets, 0, SPEC);
        let what = "the header of a PDU is cut off";
        let [discriminator, header, version, id, kind, version2, _, areas] = cursor.array(what)?;
        let violation = |at, what| Err(Malformed::new(at, what, SPEC));
        if discriminator != DISCRIMINATOR {
            return violation(0, "it is no PDU of IS-IS");
        }
        if version != 1 || version2 != 1 {
            return violation(2, "another version");
        }
        if id != 0 && id != 6 {
            return violation(3, "system IDs of another length");
        }
        if areas != 0 && areas != 3 {
            return violation(7, "another number of area addresses");
        }
        let unknown = Malformed::new(4, "an unknown type of PDU", SPEC);
        let kind = PduKind::of(kind & 0x1F).ok_or(unknown)?;
        if header != kind.octets() {
            return violation(1, "a header of another length");
        }
        let (body, length) = read_body(kind, &mut cursor)?;
        let length = usize::from(length);
        if length < usize::from(header) {
            return violation(COMMON_OCTETS, "a PDU is shorter than its header");
        }
        let cut = Malformed::new(COMMON_OCTETS, "a PDU is cut off", SPEC);
        Ok(Self { kind, body, octets: octets.get(..length).ok_or(cut)? })
    }

    /// Its TLVs.
    #[must_use]
    pub fn tlvs(&self) -> Tlvs<'a> {
        let at = self.tlvs_at();
        Tlvs::new(self.octets.get(at..).unwrap_or_default(), at)
    }

    /// Where its TLVs begin.
    #[must_use]
    pub const fn tlvs_at(&self) -> usize {
        self.kind.octets() as usize
    }

    /// Whether the checksum of a fragment is right.
    #[must_use]
    pub fn has_right_checksum(&self) -> bool {
        checksum::is_right(self.octets)
    }

    /// What its entries say.
    ///
    /// # Errors
    /// When one is cut off.
    pub fn summaries(&self) -> Result<Vec<Summary>, Malformed> {
        let mut found = Vec::new();
        for tlv in self.tlvs() {
            let tlv = tlv?;
            if tlv.kind() != Some(TlvKind::LspEntries) {
                continue;
            }
            let mut cursor = tlv.cursor("ISO 10589 §9.10");
            while !cursor.is_empty() {
                found.push(read_summary(&mut cursor)?);
            }
        }
        Ok(found)
    }
}

fn read_summary(cursor: &mut Cursor<'_>) -> Result<Summary, Malformed> {
    let what = "an entry is cut off";
    let lifetime_s = cursor.be16(what)?;
    let id = LspId::from_octets(cursor.array(what)?);
    Ok(Summary { lifetime_s, id, sequence: cursor.be32(what)?, checksum: cursor.be16(what)? })
}

fn read_body(kind: PduKind, cursor: &mut Cursor<'_>) -> Result<(Body, u16), Malformed> {
    let what = "the header of a PDU is cut off";
    match kind {
        PduKind::Hello1 | PduKind::Hello2 | PduKind::PointToPointHello => {
            let levels = Levels::from_bits(cursor.octet(what)?);
            let system = SystemId(cursor.array(what)?);
            let (hold_s, length) = (cursor.be16(what)?, cursor.be16(what)?);
            let first = cursor.octet(what)?;
            let kind = if kind == PduKind::PointToPointHello {
                HelloKind::PointToPoint { circuit: first }
            } else {
                let lan = NodeId::from_octets(cursor.array(what)?);
                HelloKind::Lan { priority: first & 0x7F, lan }
            };
            if levels == Levels::NONE {
                let what = "a hello of no level";
                return Err(Malformed::new(COMMON_OCTETS, what, "ISO 10589 §9.5"));
            }
            Ok((Body::Hello(Hello { levels, system, hold_s, kind }), length))
        }
        PduKind::Lsp1 | PduKind::Lsp2 => {
            let (length, lifetime_s) = (cursor.be16(what)?, cursor.be16(what)?);
            let id = LspId::from_octets(cursor.array(what)?);
            let (sequence, checksum) = (cursor.be32(what)?, cursor.be16(what)?);
            let flags = LspFlags::from_octet(cursor.octet(what)?);
            if sequence == 0 {
                return Err(Malformed::new(20, "a fragment without a number", "ISO 10589 §9.8"));
            }
            Ok((Body::Lsp(Summary { lifetime_s, id, sequence, checksum }, flags), length))
        }
        PduKind::Csnp1 | PduKind::Csnp2 => {
            let length = cursor.be16(what)?;
            let source = NodeId::from_octets(cursor.array(what)?);
            let start = LspId::from_octets(cursor.array(what)?);
            let end = LspId::from_octets(cursor.array(what)?);
            Ok((Body::Csnp { source, start, end }, length))
        }
        PduKind::Psnp1 | PduKind::Psnp2 => {
            let length = cursor.be16(what)?;
            Ok((Body::Psnp { source: NodeId::from_octets(cursor.array(what)?) }, length))
        }
    }
}

/// The octets that all headers begin with.
fn header(kind: PduKind) -> Vec<u8> {
    vec![DISCRIMINATOR, kind.octets(), 1, 0, kind.number(), 1, 0, 0]
}

/// Fills in the length, which stands at `at`. A PDU longer than can be said has none: circuits and
/// LSPs are bounded far below.
fn fill_length(out: &mut [u8], at: usize) {
    let length = machine::narrow::index(out.len());
    out[at..at + 2].copy_from_slice(&length.to_be_bytes());
}

/// Makes a fragment: header, authentication, TLVs and checksum. Without a lifetime it is a purge.
#[must_use]
pub fn write_lsp(
    level: Level,
    summary: &Summary,
    flags: LspFlags,
    tlvs: &[u8],
    authentication: &Authentication,
) -> Vec<u8> {
    let mut out = header(PduKind::lsp(level));
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&summary.lifetime_s.to_be_bytes());
    out.extend_from_slice(&summary.id.octets());
    out.extend_from_slice(&summary.sequence.to_be_bytes());
    out.extend_from_slice(&[0, 0, flags.octet()]);
    authentication.reserve(&mut out);
    out.extend_from_slice(tlvs);
    fill_length(&mut out, COMMON_OCTETS);
    authentication.seal(&mut out, LSP_HEADER_OCTETS, true);
    checksum::fill(&mut out);
    out
}

/// Entries that fit into PDUs of `octets`.
#[must_use]
pub fn summaries_max(octets: u16, authentication: &Authentication) -> usize {
    let taken = usize::from(PduKind::Csnp1.octets()) + authentication.octets();
    // 15 entries of 16 octets stand in a TLV.
    let room = usize::from(octets).saturating_sub(taken);
    (room / 242 * 15 + (room % 242).saturating_sub(2) / 16).max(1)
}

fn write_snp(
    mut out: Vec<u8>,
    header: usize,
    summaries: &[Summary],
    authentication: &Authentication,
) -> Vec<u8> {
    authentication.reserve(&mut out);
    for some in summaries.chunks(15) {
        write_pieces(&mut out, TlvKind::LspEntries, some.iter().map(Summary::octets));
    }
    fill_length(&mut out, COMMON_OCTETS);
    authentication.seal(&mut out, header, false);
    out
}

/// Makes a CSNP of the fragments between `range`.
#[must_use]
pub fn write_csnp(
    level: Level,
    source: SystemId,
    range: [LspId; 2],
    summaries: &[Summary],
    authentication: &Authentication,
) -> Vec<u8> {
    let kind = if level == Level::One { PduKind::Csnp1 } else { PduKind::Csnp2 };
    let mut out = header(kind);
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&NodeId::of(source).octets());
    range.iter().for_each(|it| out.extend_from_slice(&it.octets()));
    write_snp(out, kind.octets().into(), summaries, authentication)
}

/// Makes a PSNP.
#[must_use]
pub fn write_psnp(
    level: Level,
    source: SystemId,
    summaries: &[Summary],
    authentication: &Authentication,
) -> Vec<u8> {
    let kind = if level == Level::One { PduKind::Psnp1 } else { PduKind::Psnp2 };
    let mut out = header(kind);
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&NodeId::of(source).octets());
    write_snp(out, kind.octets().into(), summaries, authentication)
}
