//! SCTP on the wire: common header, chunks, parameters, error causes (RFC 9260 §3 and the
//! extensions named at each row). Reading copies nothing; writing appends to a `Vec<u8>`.
//!
//! ```
//! use sctp::codec::{Chunk, Header, Packet};
//! let header = Header { source_port: 2905, destination_port: 2905, verification_tag: 7 };
//! let mut bytes = Vec::new();
//! header.write(&mut bytes);
//! Chunk::Shutdown { cumulative_tsn_ack: 41 }.write(&mut bytes);
//! sctp::codec::seal(&mut bytes);
//! let packet = Packet::read(&bytes).expect("it was written just now");
//! assert!(packet.checksum_holds() && packet.header == header);
//! let chunk = packet.chunks().next().expect("one").and_then(|raw| Chunk::read(&raw));
//! assert_eq!(chunk, Ok(Chunk::Shutdown { cumulative_tsn_ack: 41 }));
//! ```

mod cause;
mod chunk;
mod chunk_type;
mod data;
mod list;
mod packet;
mod parameter;
mod tlv;

pub use cause::{Cause, Causes};
pub use chunk::{Auth, Chunk, ForwardTsn, IForwardTsn, Init, Sack};
pub use chunk_type::{ChunkType, ChunkTypes, Unknown};
pub use data::{Data, DataFlags, IData};
pub use list::{Gaps, List, Skip, Skips, Words};
pub use packet::{Chunks, Header, Packet, RawChunk, crc32c, seal};
pub use parameter::{Parameter, Parameters, Reset, Response};
pub use tlv::{Tlv, Tlvs};

pub(crate) use tlv::{begin, end};

/// Octets of the common header (RFC 9260 §3.1).
pub const HEADER_BYTES: usize = 12;
/// Octets of a chunk's or parameter's type and length.
pub const TLV_BYTES: usize = 4;
/// Octets of a DATA chunk before the user data (RFC 9260 §3.3.1).
pub const DATA_BYTES: usize = 16;
/// Octets of an I-DATA chunk before the user data (RFC 8260 §2.1).
pub const I_DATA_BYTES: usize = 20;

/// The two octets at `at`, which the caller has measured.
fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The four octets at `at`, which the caller has measured.
fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// `length` rounded up to a multiple of four.
pub(crate) const fn padded(length: usize) -> usize {
    (length + 3) & !3
}
