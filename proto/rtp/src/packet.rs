//! An RTP packet (RFC 3550 §5.1): read without a copy, written, and its header rewritten in place.

use crate::extension::Extension;
use crate::words::Words;
use wire::{Cursor, Malformed};

/// The version of the protocol.
pub const VERSION: u8 = 2;
/// Octets of the fixed header.
pub const HEADER_BYTES: usize = 12;
/// Contributing sources of a packet at most.
pub const CSRCS_MAX: usize = 15;

const SPEC: &str = "RFC 3550 §5.1";
const PADDING: u8 = 0x20;
const EXTENSION: u8 = 0x10;
const MARKER: u8 = 0x80;
const PAYLOAD_TYPE: u8 = 0x7F;

/// The fixed header, without what only says where the payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// What the profile makes of it; of audio the first packet of a talkspurt (RFC 3551 §4.1).
    pub marker: bool,
    /// The payload type, 0 to 127.
    pub payload_type: u8,
    /// The sequence number.
    pub sequence: u16,
    /// The timestamp, in units of the payload's clock.
    pub timestamp: u32,
    /// The synchronization source.
    pub ssrc: u32,
}

impl Header {
    /// The fixed header of a packet; `None` if it is too short or of another version. What follows
    /// the twelve octets is not looked at.
    #[inline]
    #[must_use]
    pub fn peek(packet: &[u8]) -> Option<Self> {
        let octets = packet.first_chunk::<HEADER_BYTES>()?;
        (octets[0] >> 6 == VERSION).then(|| Self::of(octets))
    }

    #[inline]
    const fn of(octets: &[u8; HEADER_BYTES]) -> Self {
        let &[_, kind, s0, s1, t0, t1, t2, t3, r0, r1, r2, r3] = octets;
        Self {
            marker: kind & MARKER != 0,
            payload_type: kind & PAYLOAD_TYPE,
            sequence: u16::from_be_bytes([s0, s1]),
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            ssrc: u32::from_be_bytes([r0, r1, r2, r3]),
        }
    }

    /// The octets of a header without contributing sources, extension and padding.
    #[inline]
    #[must_use]
    pub fn octets(&self) -> [u8; HEADER_BYTES] {
        let mut octets = [0; HEADER_BYTES];
        octets[0] = VERSION << 6;
        octets[1] = self.payload_type & PAYLOAD_TYPE | if self.marker { MARKER } else { 0 };
        octets[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        octets[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        octets[8..].copy_from_slice(&self.ssrc.to_be_bytes());
        octets
    }
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packet<'a> {
    /// The fixed header.
    pub header: Header,
    /// The contributing sources, of which a packet has [`CSRCS_MAX`] at most.
    pub csrcs: Words<'a>,
    /// The header extension.
    pub extension: Option<Extension<'a>>,
    /// The payload.
    pub payload: &'a [u8],
    /// Octets of padding behind it, the one included that counts them; zero for none.
    pub padding: u8,
}

impl<'a> Packet<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// Another version, parts that are cut off, padding that is longer than what it pads.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes, 0, SPEC);
        let fixed = cursor.array::<HEADER_BYTES>("the header is cut off")?;
        if fixed[0] >> 6 != VERSION {
            return Err(Malformed::new(0, "the version is not 2", SPEC));
        }
        let csrcs = usize::from(fixed[0] & 0x0F) * 4;
        let csrcs = Words::of(cursor.take(csrcs, "the contributing sources are cut off")?);
        let extension = match fixed[0] & EXTENSION {
            0 => None,
            _ => Some(Extension::read(&mut cursor)?),
        };
        let (at, rest) = (cursor.at(), cursor.rest());
        let padding = match (fixed[0] & PADDING, rest.last()) {
            (0, _) => 0,
            (_, Some(&count)) if count > 0 && usize::from(count) <= rest.len() => count,
            _ => return Err(Malformed::new(at, "the padding has no such length", SPEC)),
        };
        let payload = &rest[..rest.len() - usize::from(padding)];
        Ok(Self { header: Header::of(&fixed), csrcs, extension, payload, padding })
    }

    /// Appends the packet. Of more than [`CSRCS_MAX`] contributing sources the first are written.
    pub fn write(&self, out: &mut Vec<u8>) {
        let csrcs = self.csrcs.first(CSRCS_MAX);
        let mut fixed = self.header.octets();
        // At most fifteen.
        fixed[0] |= u8::try_from(csrcs.len() / 4).unwrap_or(0x0F);
        fixed[0] |= if self.extension.is_some() { EXTENSION } else { 0 };
        fixed[0] |= if self.padding > 0 { PADDING } else { 0 };
        out.extend_from_slice(&fixed);
        out.extend_from_slice(csrcs);
        if let Some(extension) = &self.extension {
            extension.write(out);
        }
        out.extend_from_slice(self.payload);
        if let Some(zeros) = self.padding.checked_sub(1) {
            out.resize(out.len() + usize::from(zeros), 0);
            out.push(self.padding);
        }
    }
}

/// What changes in the header of each packet of a stream as it passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rewrite {
    /// The synchronization source; `None` leaves it.
    pub ssrc: Option<u32>,
    /// The payload type; `None` leaves it.
    pub payload_type: Option<u8>,
    /// Added to the sequence number, modulo 2^16.
    pub sequence: u16,
    /// Added to the timestamp, modulo 2^32.
    pub timestamp: u32,
}

impl Rewrite {
    /// Changes the header of a packet in place; whether there was one.
    #[inline]
    pub fn apply(&self, packet: &mut [u8]) -> bool {
        let Some(octets) = packet.first_chunk_mut::<HEADER_BYTES>() else { return false };
        if octets[0] >> 6 != VERSION {
            return false;
        }
        let header = Header::of(octets);
        let payload_type = self.payload_type.unwrap_or(header.payload_type);
        let sequence = header.sequence.wrapping_add(self.sequence);
        let timestamp = header.timestamp.wrapping_add(self.timestamp);
        let ssrc = self.ssrc.unwrap_or(header.ssrc);
        let first = octets[0];
        *octets = Header { payload_type, sequence, timestamp, ssrc, ..header }.octets();
        octets[0] = first;
        true
    }
}
