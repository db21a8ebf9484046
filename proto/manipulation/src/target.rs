//! The header that a condition or an action is about.

use sip::{Header, HeaderIndex, HeaderSet, Line};

/// A header by its row, or by its name when it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The row.
    pub header: Header,
    /// The name as it shall be written.
    pub name: Vec<u8>,
}

/// The bit of the Request-URI.
pub const URI_BIT: HeaderSet = HeaderSet::bit(255);
/// The bit of the reason phrase.
pub const REASON_BIT: HeaderSet = HeaderSet::bit(254);
/// The bits between the rows and those two tell unknown headers apart, most often.
const UNKNOWN_BITS: usize = 254 - Header::COUNT;

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
        message: &HeaderIndex<'m>,
    ) -> impl Iterator<Item = Line<'m>> + use<'m, 't> {
        message.lines_of(self.header).filter(|line| {
            self.header != Header::Unknown || line.name.eq_ignore_ascii_case(&self.name)
        })
    }

    /// Whether the header stands in the message.
    #[inline]
    pub fn is_in(&self, message: &HeaderIndex<'_>) -> bool {
        message.has(self.header)
            && (self.header != Header::Unknown || self.lines(message).next().is_some())
    }

    /// One bit that tells headers apart: rows surely, unknown names most often.
    pub fn bit(&self) -> HeaderSet {
        if self.header != Header::Unknown {
            return HeaderSet::of(&[self.header]);
        }
        let sum: usize =
            self.name.iter().map(|octet| usize::from(octet.to_ascii_lowercase())).sum();
        let number = Header::COUNT + sum % UNKNOWN_BITS;
        HeaderSet::bit(u8::try_from(number).unwrap_or(u8::MAX))
    }
}
