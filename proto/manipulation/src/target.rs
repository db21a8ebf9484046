//! The header that a condition or an action is about.

use sip::{Header, Line, Outline};

/// A header by its row, or by its name when it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The row.
    pub header: Header,
    /// The name as it shall be written.
    pub name: Vec<u8>,
}

/// Bits of unknown headers in a [`Target::bit`]: the rest of the word behind the rows.
const UNKNOWN_BITS: usize = 126 - Header::COUNT;
/// The bit of the Request-URI.
pub const URI_BIT: u128 = 1 << 127;
/// The bit of the reason phrase.
pub const REASON_BIT: u128 = 1 << 126;

const _: () = assert!(UNKNOWN_BITS >= 7, "unknown headers are told apart, most often");

impl Target {
    /// The header of that name.
    pub fn new(name: &str) -> Self {
        let header = Header::parse(name.as_bytes());
        let name = if header == Header::Unknown { name } else { header.name() };
        Self { header, name: name.as_bytes().to_vec() }
    }

    /// The lines of the header in a message.
    #[inline]
    pub fn lines<'m, 't>(
        &'t self,
        message: &Outline<'m>,
    ) -> impl Iterator<Item = Line<'m>> + use<'m, 't> {
        message.lines_of(self.header).filter(|line| {
            self.header != Header::Unknown || line.name.eq_ignore_ascii_case(&self.name)
        })
    }

    /// Whether the header stands in the message.
    #[inline]
    pub fn is_in(&self, message: &Outline<'_>) -> bool {
        message.has(self.header)
            && (self.header != Header::Unknown || self.lines(message).next().is_some())
    }

    /// One bit that tells headers apart: rows surely, unknown names most often.
    pub fn bit(&self) -> u128 {
        if self.header != Header::Unknown {
            return 1 << self.header as u8;
        }
        let sum: usize =
            self.name.iter().map(|octet| usize::from(octet.to_ascii_lowercase())).sum();
        1 << (Header::COUNT + sum % UNKNOWN_BITS)
    }
}
