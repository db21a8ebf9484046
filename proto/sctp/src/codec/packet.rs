//! The packet: common header, CRC32c, and chunk after chunk (RFC 9260 §3, §6.8).

use super::{HEADER_BYTES, TLV_BYTES, be16, be32, padded};
use wire::Malformed;

const SPEC_HEADER: &str = "RFC 9260 §3.1";
const SPEC_CHUNK: &str = "RFC 9260 §3.2";

/// The common header without its checksum (RFC 9260 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Source Port Number.
    pub source_port: u16,
    /// Destination Port Number.
    pub destination_port: u16,
    /// Verification Tag.
    pub verification_tag: u32,
}

impl Header {
    /// Appends the header with a checksum of zero; [`seal`] fills it in.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.octets());
    }

    /// The twelve octets, with a checksum of zero.
    #[must_use]
    pub fn octets(&self) -> [u8; HEADER_BYTES] {
        let mut octets = [0; HEADER_BYTES];
        octets[..2].copy_from_slice(&self.source_port.to_be_bytes());
        octets[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        octets[4..8].copy_from_slice(&self.verification_tag.to_be_bytes());
        octets
    }
}

/// The CRC32c of a packet as if its checksum field were zero (RFC 9260 §6.8, Appendix A). The
/// processor's own instruction is used where there is one.
#[must_use]
pub fn crc32c(packet: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&packet[..8]);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    crc32c::crc32c_append(crc, &packet[HEADER_BYTES..])
}

/// Puts the checksum into a packet whose checksum field is zero.
pub fn seal(packet: &mut [u8]) {
    let crc = crc32c::crc32c(packet);
    packet[8..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
}

/// A packet whose common header was read.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// The common header.
    pub header: Header,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the common header.
    ///
    /// # Errors
    /// [`Malformed`] when there is no room for the header and one chunk.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len() < HEADER_BYTES + TLV_BYTES {
            return Err(Malformed::new(bytes.len(), "the packet is cut off", SPEC_HEADER));
        }
        let header = Header {
            source_port: be16(bytes, 0),
            destination_port: be16(bytes, 2),
            verification_tag: be32(bytes, 4),
        };
        if header.source_port == 0 || header.destination_port == 0 {
            return Err(Malformed::new(0, "a port is zero", SPEC_HEADER));
        }
        Ok(Self { header, bytes })
    }

    /// The checksum as it was sent.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        be32(self.bytes, 8).swap_bytes()
    }

    /// Whether the checksum fits the octets.
    #[must_use]
    pub fn checksum_holds(&self) -> bool {
        self.checksum() == crc32c(self.bytes)
    }

    /// Whether the checksum is zero, which RFC 9653 gives a meaning.
    #[must_use]
    pub fn is_checksum_zero(&self) -> bool {
        self.checksum() == 0
    }

    /// Its chunks; after the first error there are no more.
    #[must_use]
    pub const fn chunks(&self) -> Chunks<'a> {
        Chunks { bytes: self.bytes, at: HEADER_BYTES }
    }
}

/// One chunk as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Offset of its type field from the start of the packet, octets.
    pub at: usize,
    /// Chunk Type.
    pub kind: u8,
    /// Chunk Flags.
    pub flags: u8,
    /// Type, flags, length and value without padding.
    pub whole: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// The value without padding.
    #[must_use]
    pub fn value(&self) -> &'a [u8] {
        &self.whole[TLV_BYTES..]
    }
}

/// The chunks of a packet, one after the other.
#[derive(Debug, Clone)]
pub struct Chunks<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Chunks<'a> {
    fn fail(&mut self, at: usize, what: &'static str) -> Result<RawChunk<'a>, Malformed> {
        self.at = self.bytes.len();
        Err(Malformed::new(at, what, SPEC_CHUNK))
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<RawChunk<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let rest = self.bytes.get(at..).filter(|rest| !rest.is_empty())?;
        if rest.len() < TLV_BYTES {
            return Some(self.fail(at, "type, flags and length are cut off"));
        }
        let length = usize::from(be16(rest, 2));
        if length < TLV_BYTES {
            return Some(self.fail(at + 2, "the chunk length is less than four"));
        }
        if length > rest.len() {
            return Some(self.fail(at + 2, "the chunk length points past the end"));
        }
        self.at = at + padded(length).min(rest.len());
        Some(Ok(RawChunk { at, kind: rest[0], flags: rest[1], whole: &rest[..length] }))
    }
}
