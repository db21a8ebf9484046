//! HEP3, Homer's capture protocol ("The Extensible Encapsulation Protocol", EEP, revision 3).
//!
//! A capture agent wraps each message it saw into one packet: `HEP3`, the length of everything,
//! then chunks of vendor, type, length and body. [`Packet`] is what a collector needs of it;
//! [`chunks`] walks everything else. Unknown and vendor chunks are skipped. Over TCP packets
//! follow each other without more; [`frame`] cuts them.
//!
//! ```text
//!  0        4     6        8        10       12
//!  | "HEP3" | len | vendor | type   | length | body … | vendor | type | length | body …
//! ```
//!
//! Messages that went over TLS carry protocol number [`TLS`] (22), as Kamailio writes them.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod chunk;
mod packet;

pub use chunk::{Chunk, Chunks, Generic, chunks};
pub use packet::{Framing, Packet, compressed_payload, frame, tags_of};

/// Largest packet: the length field has 16 bits.
pub const PACKET_BYTES_MAX: usize = 65_535;
/// Octets before the first chunk.
pub const HEADER_BYTES: usize = 6;
/// Chunks that one packet may have; more is a violation.
pub const CHUNKS_MAX: usize = 256;

/// `protocol` of a message that went over UDP.
pub const UDP: u8 = 17;
/// `protocol` of a message that went over TCP.
pub const TCP: u8 = 6;
/// `protocol` of a message that went over TLS: Kamailio's choice (`IPPROTO_IDP`), which others
/// understand; EEP itself has no number for it.
pub const TLS: u8 = 22;

/// `protocol` of a message that went over SCTP.
pub const SCTP: u8 = 132;

/// `kind` of SIP.
pub const KIND_SIP: u8 = 1;
/// `kind` of RTCP, told as JSON: reports that an agent read (Homer's agents, rtpengine).
pub const KIND_RTCP: u8 = 5;
/// `kind` of M3UA (RFC 4666).
pub const KIND_M3UA: u8 = 9;
/// `kind` of Diameter (RFC 6733).
pub const KIND_DIAMETER: u8 = 56;
/// The protocol of a `kind` whose messages are octets: what a collector keeps besides SIP.
#[must_use]
pub const fn signalling(kind: u8) -> Option<&'static str> {
    match kind {
        8 => Some("m2ua"),
        KIND_M3UA => Some("m3ua"),
        13 => Some("m2pa"),
        KIND_DIAMETER => Some("diameter"),
        _ => None,
    }
}

/// `kind` of a log line or event, here always JSON.
pub const KIND_LOG: u8 = 100;
