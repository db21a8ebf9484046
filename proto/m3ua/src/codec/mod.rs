//! The words of M3UA (RFC 4666 §3): every message and every parameter is a row of a table, and
//! reading, checking, naming and writing follow from the tables.
//!
//! Nothing is copied: a [`Message`] borrows from the octets it was read from.

mod code;
mod frame;
mod key;
mod message;
mod message_type;
mod tag;
mod tlv;
mod value;
mod writer;

pub use code::{
    DeregistrationStatus, ErrorCode, Notification, RegistrationStatus, ServerState, TrafficMode,
};
pub use frame::{Framing, frame};
pub use key::{DeregistrationResult, KeyGroup, RegistrationResult, RoutingKey};
pub use message::Message;
pub use message_type::{MessageClass, MessageType, Rule};
pub use tag::{Shape, Tag};
pub use tlv::{Parameter, Parameters};
pub use value::{
    Affected, Data, NetworkAppearance, PointCode, ProtocolData, RoutingContext, UserCause,
};
pub use writer::Writer;

use wire::Malformed;

/// The version spoken here, Release 1.0 (RFC 4666 §3.1.1).
pub const VERSION: u8 = 1;
/// Octets of the common header (RFC 4666 §3.1).
pub const HEADER_BYTES: usize = 8;
/// Octets of a parameter's tag and length (RFC 4666 §3.2).
pub const TLV_BYTES: usize = 4;
/// Octets of the fields that stand before the user's data in Protocol Data (RFC 4666 §3.3.1).
pub const LABEL_BYTES: usize = 12;
/// Octets of user data at most: what the 16-bit length of Protocol Data leaves.
pub const PAYLOAD_BYTES_MAX: usize = 65_535 - TLV_BYTES - LABEL_BYTES;
/// Octets of a message at most: the largest Protocol Data beside every other parameter of DATA.
/// A stream that announces more is broken.
pub const MESSAGE_BYTES_MAX: usize = 65_536 + 64;
/// Parameters at most in one message; more are refused.
pub const PARAMETERS_MAX: usize = 256;
/// The payload protocol identifier of M3UA in SCTP (RFC 4666 §7.1).
pub const SCTP_PPID: u32 = 3;
/// The registered port (RFC 4666 §7.2).
pub const PORT: u16 = 2905;

/// Octets that do not follow RFC 4666, with the code of the ERR that answers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// The error code to answer with (RFC 4666 §3.8.1).
    pub code: ErrorCode,
    /// Where, what, and the section.
    pub malformed: Malformed,
}

impl Violation {
    pub(crate) const fn new(
        code: ErrorCode,
        at: usize,
        what: &'static str,
        spec: &'static str,
    ) -> Self {
        Self { code, malformed: Malformed::new(at, what, spec) }
    }

    /// The same violation seen from a message that begins `by` octets earlier.
    pub(crate) const fn shifted(self, by: usize) -> Self {
        Self { malformed: self.malformed.shifted(by), ..self }
    }
}

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.malformed)
    }
}

impl core::error::Error for Violation {}

pub(crate) const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

pub(crate) const fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) const fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
