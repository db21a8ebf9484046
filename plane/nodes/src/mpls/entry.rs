//! An entry of the label stack (RFC 3032 §2.1), and what labels below 16 mean.
//!
//! ```text
//!   0                   20      23  24       32
//!   |       label       | class | S |  TTL   |
//! ```

/// Octets of an entry.
pub const ENTRY: usize = 4;
/// Labels are below this.
pub const LABELS: u32 = 1 << 20;
/// The payload is IPv4 (RFC 3032 §2.1).
pub const IPV4_EXPLICIT_NULL: u32 = 0;
/// The packet is for the router's eyes (RFC 3032 §2.1).
pub const ROUTER_ALERT: u32 = 1;
/// The payload is IPv6 (RFC 3032 §2.1).
pub const IPV6_EXPLICIT_NULL: u32 = 2;
/// Never on the wire: the label is popped before the last hop (RFC 3032 §2.1).
pub const IMPLICIT_NULL: u32 = 3;
/// The label after this one only feeds the hash (RFC 6790 §3).
pub const ENTROPY_INDICATOR: u32 = 7;
/// Labels below this are reserved (RFC 3032 §2.1).
pub const UNRESERVED: u32 = 16;

/// An entry of the label stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry(pub u32);

impl Entry {
    /// Of its parts: label below [`LABELS`], traffic class 0 to 7.
    #[inline]
    #[must_use]
    pub const fn new(label: u32, class: u8, bottom: bool, ttl: u8) -> Self {
        Self(label << 12 | (class as u32 & 7) << 9 | (bottom as u32) << 8 | ttl as u32)
    }

    /// As it stands at the start of `octets`; `None` if they are fewer than four.
    #[inline]
    #[must_use]
    pub fn at(octets: &[u8]) -> Option<Self> {
        octets.first_chunk().map(|octets| Self(u32::from_be_bytes(*octets)))
    }

    /// The label.
    #[inline]
    #[must_use]
    pub const fn label(self) -> u32 {
        self.0 >> 12
    }

    /// The traffic class (EXP; RFC 5462).
    #[inline]
    #[must_use]
    pub const fn class(self) -> u8 {
        (self.0 >> 9 & 7) as u8
    }

    /// Whether it is the last of the stack.
    #[inline]
    #[must_use]
    pub const fn is_bottom(self) -> bool {
        self.0 & 0x100 != 0
    }

    /// The time to live.
    #[inline]
    #[must_use]
    pub const fn ttl(self) -> u8 {
        (self.0 & 0xff) as u8
    }

    /// As it stands on the wire.
    #[inline]
    #[must_use]
    pub const fn octets(self) -> [u8; ENTRY] {
        self.0.to_be_bytes()
    }
}
