//! Link state advertisements: their header, age, checksum, and which of two instances is newer.
//!
//! ```text
//! age, 2 · options, 1 · type, 1 · link state ID, 4 · advertising router, 4
//! sequence number, 4 · checksum, 2 · length, 2 · body                          RFC 2328 §A.4.1
//! ```

mod body;
mod opaque;
mod tlv;

pub use body::{External, Link, LinkKind, Network, Router, RouterFlags, Summary};
pub use opaque::{ExtendedLink, ExtendedPrefix, LinkSid};
pub use opaque::{
    Flood, Grace, OpaqueType, PrefixSid, Range, RouterInformation, SegmentRouting, opaque_id,
};
pub use tlv::{Tlv, Tlvs, write_tlv};

use core::cmp::Ordering;
use wire::{Cursor, Malformed};

/// Octets of a header.
pub const HEADER_OCTETS: usize = 20;
/// The age at which an LSA is flushed, seconds (RFC 2328 §B).
pub const MAX_AGE: u16 = 3_600;
/// Ages further apart than this tell which of two instances is newer, seconds.
const MAX_AGE_DIFF: u16 = 900;
/// The first sequence number.
pub const INITIAL_SEQUENCE: i32 = -0x7FFF_FFFF;
/// The last one; the next instance must begin anew.
pub const MAX_SEQUENCE: i32 = 0x7FFF_FFFF;
/// The metric that means unreachable in summaries and externals.
pub const INFINITY: u32 = 0x00FF_FFFF;
/// The metric of a stub router's links (RFC 6987 §3).
pub const MAX_LINK_METRIC: u16 = 0xFFFF;
const SPEC: &str = "RFC 2328 §A.4.1";

/// How far an LSA is flooded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// On one link.
    Link,
    /// In one area.
    Area,
    /// In the whole domain, but for stub areas.
    Domain,
}

wire::rows! {
    /// Types of LSAs, and how far each goes.
    pub enum LsaType: u8, pub scope: Scope {
        /// What a router is connected to.
        Router = 1, "Router", Scope::Area, "RFC 2328 §A.4.2";
        /// Who is on a network.
        Network = 2, "Network", Scope::Area, "RFC 2328 §A.4.3";
        /// A network of another area.
        Summary = 3, "Summary", Scope::Area, "RFC 2328 §A.4.4";
        /// An AS boundary router of another area.
        AsbrSummary = 4, "ASBR Summary", Scope::Area, "RFC 2328 §A.4.4";
        /// A destination outside.
        External = 5, "AS External", Scope::Domain, "RFC 2328 §A.4.5";
        /// A destination outside, of a not-so-stubby area.
        Nssa = 7, "NSSA", Scope::Area, "RFC 3101 §2.2";
        /// Opaque, on one link.
        OpaqueLink = 9, "Opaque Link", Scope::Link, "RFC 5250 §3";
        /// Opaque, in an area.
        OpaqueArea = 10, "Opaque Area", Scope::Area, "RFC 5250 §3";
        /// Opaque, in the domain.
        OpaqueDomain = 11, "Opaque AS", Scope::Domain, "RFC 5250 §3";
    }
}

/// The E-bit: AS externals are flooded.
pub const OPTION_EXTERNAL: u8 = 0x02;
/// The N-bit of hellos, the P-bit of NSSA LSAs (RFC 3101 §2.1, §2.3).
pub const OPTION_NSSA: u8 = 0x08;
/// The O-bit: opaque LSAs are understood (RFC 5250 §4).
pub const OPTION_OPAQUE: u8 = 0x40;

/// What names an LSA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its type.
    pub kind: LsaType,
    /// Link state ID.
    pub id: u32,
    /// Who said it.
    pub router: u32,
}

/// The header of an LSA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Its age, seconds.
    pub age: u16,
    /// Options.
    pub options: u8,
    /// Its name.
    pub key: Key,
    /// Which instance.
    pub sequence: i32,
    /// Fletcher's checksum over all but the age.
    pub checksum: u16,
    /// Octets, the header included.
    pub length: u16,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// When it is cut off, or of an unknown type.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let what = "the header of an LSA is cut off";
        let age = cursor.be16(what)?;
        let options = cursor.octet(what)?;
        let unknown = Malformed::new(cursor.at(), "an LSA of an unknown type", SPEC);
        let kind = LsaType::of(cursor.octet(what)?).ok_or(unknown)?;
        let key = Key { kind, id: cursor.be32(what)?, router: cursor.be32(what)? };
        let sequence = i32::from_be_bytes(cursor.array(what)?);
        let (checksum, length) = (cursor.be16(what)?, cursor.be16(what)?);
        Ok(Self { age, options, key, sequence, checksum, length })
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.age.to_be_bytes());
        out.extend_from_slice(&[self.options, self.key.kind.number()]);
        out.extend_from_slice(&self.key.id.to_be_bytes());
        out.extend_from_slice(&self.key.router.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.checksum.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
    }

    /// Whether it is newer than another instance, older, or the same (RFC 2328 §13.1).
    #[must_use]
    pub fn newness(&self, other: &Self) -> Ordering {
        let by_number = self.sequence.cmp(&other.sequence).then(self.checksum.cmp(&other.checksum));
        by_number.then_with(|| {
            let old = [self.age >= MAX_AGE, other.age >= MAX_AGE];
            match old {
                [true, false] => Ordering::Greater,
                [false, true] => Ordering::Less,
                _ if self.age.abs_diff(other.age) > MAX_AGE_DIFF => other.age.cmp(&self.age),
                _ => Ordering::Equal,
            }
        })
    }
}

/// An LSA that was read whole: its header, and all of its octets.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    /// Its header.
    pub header: Header,
    /// All of it.
    pub octets: &'a [u8],
}

/// Reads an LSA from the front of an update; its checksum is looked at.
///
/// # Errors
/// What is wrong with it, which makes it unreadable (`Err`) or only unusable (`Ok(Err)`): then what
/// follows can still be read.
pub fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Result<Read<'a>, Malformed>, Malformed> {
    let start = cursor.at();
    let rest = cursor.rest();
    let length = match rest.get(18..20) {
        Some(octets) => usize::from(u16::from_be_bytes([octets[0], octets[1]])),
        None => return Err(cursor.violation("the header of an LSA is cut off")),
    };
    if length < HEADER_OCTETS {
        return Err(Malformed::new(start + 18, "an LSA is shorter than its header", SPEC));
    }
    let octets = cursor.take(length, "an LSA is cut off")?;
    Ok(checked(octets, start))
}

fn checked(octets: &[u8], at: usize) -> Result<Read<'_>, Malformed> {
    let header = Header::read(&mut Cursor::new(octets, at, SPEC))?;
    if header.age > MAX_AGE {
        return Err(Malformed::new(at, "an LSA is older than can be", SPEC));
    }
    if !has_right_checksum(octets) {
        return Err(Malformed::new(at + 16, "the checksum of an LSA is wrong", SPEC));
    }
    Ok(Read { header, octets })
}

/// Makes an LSA: header, checksum and body. `None` when the body is longer than one can be.
#[must_use]
pub fn make(key: Key, options: u8, sequence: i32, body: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(HEADER_OCTETS + body.len()).ok()?;
    let mut octets = Vec::with_capacity(usize::from(length));
    Header { age: 0, options, key, sequence, checksum: 0, length }.write(&mut octets);
    octets.extend_from_slice(body);
    let sum = checksum(&octets);
    octets[16..18].copy_from_slice(&sum.to_be_bytes());
    Some(octets)
}

/// The two sums of Fletcher's checksum over all but the age.
fn sums(octets: &[u8]) -> (u32, u32) {
    let (mut c0, mut c1) = (0u32, 0u32);
    // 4,000 octets do not overflow 32 bits.
    for part in octets.get(2..).unwrap_or_default().chunks(4_000) {
        for &octet in part {
            c0 += u32::from(octet);
            c1 += c0;
        }
        (c0, c1) = (c0 % 255, c1 % 255);
    }
    (c0, c1)
}

fn has_right_checksum(octets: &[u8]) -> bool {
    sums(octets) == (0, 0)
}

/// The checksum of an LSA whose own is zero (RFC 905 annex B).
#[allow(clippy::cast_possible_truncation, reason = "both sums are below 256")]
fn checksum(octets: &[u8]) -> u16 {
    let (c0, c1) = sums(octets);
    // Octets from the checksum to the end: 16 of the header come before it, age included.
    let behind = (octets.len() - 16 - 1) as u32 % 255;
    let x = (behind * c0 + 255 * 255 - c1) % 255;
    let y = (2 * 255 - c0 - x) % 255;
    let [x, y] = [x, y].map(|it| if it == 0 { 255 } else { it });
    (x as u16) << 8 | y as u16
}
