//! Messages as octets: framing, the five message types, path attributes, and what is wrong with
//! them.
//!
//! Reading borrows and allocates nothing. What is wrong is an [`Violation`]: how to answer it
//! (RFC 7606), which NOTIFICATION would tell it, where it stands and why.

mod as_path;
mod attribute;
mod capability;
mod communities;
mod header;
mod notification;
mod offer;
mod open;
mod reach;
mod refresh;
mod rewrite;
mod tlv;
mod update;
mod value;
mod violation;

pub use as_path::{AS_TRANS, AS_TRANS_SHORT, AsPath, Segment, SegmentKind, prepend};
pub use attribute::{Attribute, AttributeType, Attributes, Flags, write_attribute};
pub use capability::{Capabilities, Capability, CapabilityCode};
pub use communities::{
    Community, ExtendedCommunity, LargeCommunity, WellKnownCommunity, administered,
};
pub use header::{Framing, MessageType, Messages, frame, keepalive};
pub(crate) use header::{begin, end};
pub use notification::{
    CEASE_COMMUNICATION_BYTES_MAX, Cease, ErrorCode, FsmError, HeaderError, Notice, Notification,
    OpenError, RefreshError, UpdateError, write_communication, write_notification,
};
pub use offer::{GracefulRestart, LongLived, Offer, Role};
pub use open::{Open, write_open};
pub use reach::{NextHop, Reach, Unreach};
pub use refresh::{Refresh, RefreshKind, write_refresh};
pub use rewrite::{Edit, reflect, rewrite, to_two_octets};
pub use tlv::{Tlv, Tlvs, TunnelTlvs};
pub use update::{Context, Peering, Update};
pub use value::{Aggregator, Origin, PmsiTunnel, aigp_metric};
pub use violation::{Approach, Data, Violation};

/// The TCP port (RFC 4271 §4.1).
pub const PORT: u16 = 179;
/// The BGP version (RFC 4271 §4.2).
pub const VERSION: u8 = 4;
/// Octets of the message header (RFC 4271 §4.1).
pub const HEADER_BYTES: usize = 19;
/// Octets of a message at most (RFC 4271 §4.1).
pub const MESSAGE_BYTES_MAX: usize = 4_096;
/// Octets of a message at most between speakers of extended messages (RFC 8654 §3).
pub const EXTENDED_MESSAGE_BYTES_MAX: usize = 65_535;

/// An Autonomous System number, of four octets everywhere inside (RFC 6793).
pub type Asn = u32;
/// A BGP Identifier, a Cluster Id, a Router Id: four octets (RFC 6286).
pub type Identifier = u32;

/// A length or an offset inside of a message, for its field of two octets. What it counts is
/// bounded by what frames it; if it were not, the field would say too much, and every reader would
/// refuse it as cut off: no octet of a value can be read as anything else.
#[inline]
pub(crate) fn word(length: usize) -> u16 {
    debug_assert!(length <= usize::from(u16::MAX), "{length} octets in a message");
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// A length for a field of one octet, as in [`word`].
#[inline]
pub(crate) fn octet(length: usize) -> u8 {
    debug_assert!(length <= usize::from(u8::MAX), "{length} octets for a length of one");
    u8::try_from(length).unwrap_or(u8::MAX)
}

/// The 16-bit number at `at`, which must be there.
#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The 32-bit number at `at`, which must be there.
#[inline]
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
