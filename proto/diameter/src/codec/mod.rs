//! Octets of Diameter (RFC 6733 §3, §4): header, AVPs and their values, read without a copy and
//! written in place.

mod avp;
mod frame;
mod header;
mod value;
mod violation;
mod writer;

pub use avp::{Avp, AvpFlags, Avps};
pub use frame::{Framing, frame};
pub use header::{Flags, Header, Message};
pub(crate) use value::{address_octets, time_octets};
pub use violation::{ResultCode, Violation};
pub use writer::{AvpWriter, TooLong, Writer};
pub(crate) use writer::{append, stamp};

/// The version spoken here (RFC 6733 §3).
pub const VERSION: u8 = 1;
/// Octets of the header (RFC 6733 §3).
pub const HEADER_OCTETS: usize = 20;
/// Octets of an AVP's header without Vendor-Id (RFC 6733 §4.1).
pub const AVP_HEADER_OCTETS: usize = 8;
/// Octets of a message at most. The field has room for 16 MB; no command here needs a part of it,
/// and a peer that announces more is not waited for.
pub const MESSAGE_OCTETS_MAX: usize = 128 << 10;
/// AVPs of a message at most, those within groups included.
pub const AVPS_MAX: usize = 4_096;
/// Groups within each other at most.
pub const DEPTH_MAX: usize = 8;
/// The registered port over TCP and SCTP (RFC 6733 §11.4).
pub const PORT: u16 = 3868;
/// The registered port over TLS and DTLS (RFC 6733 §11.4).
pub const SECURE_PORT: u16 = 5658;
/// The payload protocol identifier of Diameter in SCTP (RFC 6733 §11.5).
pub const SCTP_PPID: u32 = 46;

pub(crate) const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// A number of 24 bits; `None` when there are fewer than three octets.
pub(crate) fn be24(octets: &[u8], at: usize) -> Option<u32> {
    let octets = octets.get(at..at + 3)?;
    Some(u32::from_be_bytes([0, octets[0], octets[1], octets[2]]))
}
