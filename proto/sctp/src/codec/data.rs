//! DATA and I-DATA: the chunks that carry user data (RFC 9260 §3.3.1, RFC 8260 §2.1).

use super::{ChunkType, DATA_BYTES, I_DATA_BYTES, RawChunk, TLV_BYTES, be16, be32, padded};
use wire::Malformed;

/// The flags of both (RFC 9260 §3.3.1, RFC 7053 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataFlags(pub u8);

impl DataFlags {
    /// E: the last fragment.
    pub const END: u8 = 1;
    /// B: the first fragment.
    pub const BEGIN: u8 = 2;
    /// U: out of the order of its stream.
    pub const UNORDERED: u8 = 4;
    /// I: acknowledge at once.
    pub const IMMEDIATE: u8 = 8;

    /// Whether it is the last fragment.
    #[must_use]
    pub const fn is_end(self) -> bool {
        self.0 & Self::END != 0
    }
    /// Whether it is the first fragment.
    #[must_use]
    pub const fn is_begin(self) -> bool {
        self.0 & Self::BEGIN != 0
    }
    /// Whether it is out of the order of its stream.
    #[must_use]
    pub const fn is_unordered(self) -> bool {
        self.0 & Self::UNORDERED != 0
    }
    /// Whether it wants to be acknowledged at once.
    #[must_use]
    pub const fn is_immediate(self) -> bool {
        self.0 & Self::IMMEDIATE != 0
    }
}

/// A DATA chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// I, U, B, E.
    pub flags: DataFlags,
    /// Transmission Sequence Number.
    pub tsn: u32,
    /// Stream Identifier.
    pub stream: u16,
    /// Stream Sequence Number.
    pub ssn: u16,
    /// Payload Protocol Identifier.
    pub ppid: u32,
    /// The user data, at least one octet in a proper chunk.
    pub payload: &'a [u8],
}

/// An I-DATA chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IData<'a> {
    /// I, U, B, E.
    pub flags: DataFlags,
    /// Transmission Sequence Number.
    pub tsn: u32,
    /// Stream Identifier.
    pub stream: u16,
    /// Message Identifier.
    pub mid: u32,
    /// Payload Protocol Identifier in the first fragment, Fragment Sequence Number in the others.
    pub ppid_or_fsn: u32,
    /// The user data, at least one octet in a proper chunk.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Reads one. A chunk without user data is read too: the receiver answers it with the cause
    /// "No User Data" (RFC 9260 §6.2).
    ///
    /// # Errors
    /// [`Malformed`] when the header is cut off.
    #[inline]
    pub fn read(raw: &RawChunk<'a>) -> Result<Self, Malformed> {
        let Some((head, payload)) = raw.whole.split_at_checked(DATA_BYTES) else {
            return Err(Malformed::new(raw.at, "the chunk is cut off", ChunkType::Data.spec()));
        };
        Ok(Self {
            flags: DataFlags(raw.flags & 0x0F),
            tsn: be32(head, 4),
            stream: be16(head, 8),
            ssn: be16(head, 10),
            ppid: be32(head, 12),
            payload,
        })
    }

    /// Appends the chunk with its padding.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let length = DATA_BYTES + self.payload.len();
        let mut head = [0; DATA_BYTES];
        head[..TLV_BYTES].copy_from_slice(&first(ChunkType::Data, self.flags, length));
        head[4..8].copy_from_slice(&self.tsn.to_be_bytes());
        head[8..10].copy_from_slice(&self.stream.to_be_bytes());
        head[10..12].copy_from_slice(&self.ssn.to_be_bytes());
        head[12..16].copy_from_slice(&self.ppid.to_be_bytes());
        out.extend_from_slice(&head);
        out.extend_from_slice(self.payload);
        pad(out, length);
    }
}

impl<'a> IData<'a> {
    /// Reads one. A chunk without user data is read too.
    ///
    /// # Errors
    /// [`Malformed`] when the header is cut off.
    #[inline]
    pub fn read(raw: &RawChunk<'a>) -> Result<Self, Malformed> {
        let Some((head, payload)) = raw.whole.split_at_checked(I_DATA_BYTES) else {
            return Err(Malformed::new(raw.at, "the chunk is cut off", ChunkType::IData.spec()));
        };
        Ok(Self {
            flags: DataFlags(raw.flags & 0x0F),
            tsn: be32(head, 4),
            stream: be16(head, 8),
            mid: be32(head, 12),
            ppid_or_fsn: be32(head, 16),
            payload,
        })
    }

    /// Appends the chunk with its padding.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let length = I_DATA_BYTES + self.payload.len();
        let mut head = [0; I_DATA_BYTES];
        head[..TLV_BYTES].copy_from_slice(&first(ChunkType::IData, self.flags, length));
        head[4..8].copy_from_slice(&self.tsn.to_be_bytes());
        head[8..10].copy_from_slice(&self.stream.to_be_bytes());
        head[12..16].copy_from_slice(&self.mid.to_be_bytes());
        head[16..20].copy_from_slice(&self.ppid_or_fsn.to_be_bytes());
        out.extend_from_slice(&head);
        out.extend_from_slice(self.payload);
        pad(out, length);
    }
}

fn first(kind: ChunkType, flags: DataFlags, length: usize) -> [u8; TLV_BYTES] {
    let length = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    [kind.number(), flags.0, length[0], length[1]]
}

#[inline]
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&[0; 3][..padded(length) - length]);
}
