//! AVPs as they stand in a message or a group (RFC 6733 §4.1).
//!
//! ```text
//! | code, 4 | V M P 0 0 0 0 0 | length, 3 | Vendor-Id, 4, with V | data | zeros to 4 octets |
//! ```

use super::{AVP_HEADER_OCTETS, ResultCode, Violation, be24, padded};
use crate::row::Row;

const SPEC: &str = "RFC 6733 §4.1";

/// The flags of an AVP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AvpFlags(pub u8);

impl AvpFlags {
    /// A Vendor-Id is there.
    pub const VENDOR: u8 = 0x80;
    /// Whoever does not know the AVP refuses the message.
    pub const MANDATORY: u8 = 0x40;
    /// Reserved for end-to-end security.
    pub const PROTECTED: u8 = 0x20;
    /// Those with a meaning; the others are ignored (RFC 6733 §4.1).
    pub const KNOWN: u8 = Self::VENDOR | Self::MANDATORY | Self::PROTECTED;

    /// Whether this is set.
    #[must_use]
    pub const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// An AVP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avp<'a> {
    /// Its code.
    pub code: u32,
    /// Its Vendor-Id; 0: it has none, as those of the IETF.
    pub vendor: u32,
    /// V, M, P.
    pub flags: AvpFlags,
    /// The data, without the zeros behind it.
    pub data: &'a [u8],
    /// Header and data.
    pub whole: &'a [u8],
    /// Where it begins in the message.
    pub at: usize,
}

impl Avp<'_> {
    /// Whether it is of that row.
    #[inline]
    #[must_use]
    pub const fn is(&self, row: &Row) -> bool {
        self.code == row.code && self.vendor == row.vendor
    }

    /// Where its data begins in the message.
    pub(crate) const fn data_at(&self) -> usize {
        self.at + self.whole.len() - self.data.len()
    }
}

/// AVPs one after the other: those of a message, or of a group.
#[derive(Debug, Clone, Copy)]
pub struct Avps<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Avps<'a> {
    /// Those in `octets`, which begin `at` octets into the message.
    #[must_use]
    pub const fn new(octets: &'a [u8], at: usize) -> Self {
        Self { rest: octets, at }
    }

    /// The first AVP of that row; what is malformed behind it is not seen.
    #[inline]
    #[must_use]
    pub fn find(&self, row: &Row) -> Option<Avp<'a>> {
        self.map_while(Result::ok).find(|avp| avp.is(row))
    }

    /// All AVPs of that row.
    pub fn all<'r>(self, row: &'r Row) -> impl Iterator<Item = Avp<'a>> + use<'a, 'r> {
        self.map_while(Result::ok).filter(move |avp| avp.is(row))
    }

    fn violation(&mut self, what: &'static str) -> Violation {
        let rest = core::mem::take(&mut self.rest);
        // RFC 6733 §7.1.5: the header of the AVP, with zeros where it is cut off.
        let mut failed = [0; AVP_HEADER_OCTETS + 4];
        let there = rest.len().min(failed.len());
        failed[..there].copy_from_slice(&rest[..there]);
        let has_vendor = AvpFlags(failed[4]).has(AvpFlags::VENDOR);
        let (length, octets) = if has_vendor { (12, 12) } else { (8, AVP_HEADER_OCTETS) };
        failed[5..8].copy_from_slice(&[0, 0, length]);
        Violation::new(ResultCode::InvalidAvpLength, self.at, what, SPEC).with(&failed[..octets])
    }
}

impl<'a> Iterator for Avps<'a> {
    type Item = Result<Avp<'a>, Violation>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(head) = self.rest.first_chunk::<AVP_HEADER_OCTETS>() else {
            return Some(Err(self.violation("the header of an AVP is cut off")));
        };
        let code = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let flags = AvpFlags(head[4]);
        let length = be24(head, 5).unwrap_or_default() as usize;
        let (vendor, header) = match flags.has(AvpFlags::VENDOR) {
            false => (0, AVP_HEADER_OCTETS),
            true => match self.rest[AVP_HEADER_OCTETS..].first_chunk::<4>() {
                Some(vendor) => (u32::from_be_bytes(*vendor), AVP_HEADER_OCTETS + 4),
                None => return Some(Err(self.violation("the Vendor-Id of an AVP is cut off"))),
            },
        };
        if length < header {
            return Some(Err(self.violation("an AVP shorter than its header")));
        }
        let Some(whole) = self.rest.get(..length) else {
            return Some(Err(self.violation("an AVP longer than what it stands in")));
        };
        let avp = Avp { code, vendor, flags, data: &whole[header..], whole, at: self.at };
        // The last AVP of a message that was cut without its zeros is whole all the same.
        let step = padded(length).min(self.rest.len());
        (self.rest, self.at) = (&self.rest[step..], self.at + step);
        Some(Ok(avp))
    }
}
